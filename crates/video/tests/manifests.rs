//! Manifests: what common tools write, one-line errors with their place, and no panic whatever the text.

use playpath_units::{Duration, Rate};
use playpath_video::manifest::{Manifest, hls, mpd, sabre};
use playpath_video::{Ladder, ObjectKind};
use proptest::prelude::*;

fn secs(s: f64) -> Duration {
    Duration::from_secs_f64(s)
}

fn kbps(ladder: &Ladder) -> Vec<u64> {
    ladder.bitrates().iter().map(|rate| rate.as_bits_per_sec() / 1000).collect()
}

fn read_mpd(text: &str) -> Manifest {
    mpd::parse(text).unwrap_or_else(|error| panic!("{error}"))
}

/// As `ffmpeg -f dash` writes it: a timeline per representation, numbers with five digits, 17.5 s in segments of 2 s.
const FFMPEG: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<MPD xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns="urn:mpeg:dash:schema:mpd:2011"
	profiles="urn:mpeg:dash:profile:isoff-live:2011" type="static" mediaPresentationDuration="PT17.5S" minBufferTime="PT4.0S">
	<Period id="0" start="PT0.0S">
		<AdaptationSet id="0" contentType="video" startWithSAP="1" segmentAlignment="true" frameRate="25/1">
			<Representation id="0" mimeType="video/mp4" codecs="avc1.64001e" bandwidth="700000" width="480" height="360">
				<SegmentTemplate timescale="12800" initialization="init-stream$RepresentationID$.m4s"
					media="chunk-stream$RepresentationID$-$Number%05d$.m4s" startNumber="1">
					<SegmentTimeline><S t="0" d="25600" r="7" /><S d="19200" /></SegmentTimeline>
				</SegmentTemplate>
			</Representation>
			<Representation id="1" mimeType="video/mp4" codecs="avc1.64001e" bandwidth="200000" width="480" height="360">
				<SegmentTemplate timescale="12800" initialization="init-stream$RepresentationID$.m4s"
					media="chunk-stream$RepresentationID$-$Number%05d$.m4s" startNumber="1">
					<SegmentTimeline><S t="0" d="25600" r="7" /><S d="19200" /></SegmentTimeline>
				</SegmentTemplate>
			</Representation>
		</AdaptationSet>
		<AdaptationSet id="1" contentType="audio">
			<Representation id="2" mimeType="audio/mp4" codecs="mp4a.40.2" bandwidth="128000" audioSamplingRate="48000">
				<SegmentTemplate timescale="48000" initialization="i.m4s" media="a-$Time$.m4s" startNumber="1">
					<SegmentTimeline><S t="0" d="95232" /><S d="96256" r="7" /><S d="0" /></SegmentTimeline>
				</SegmentTemplate>
			</Representation>
		</AdaptationSet>
	</Period>
</MPD>"#;

#[test]
fn an_mpd_as_ffmpeg_writes_it() {
    // ffmpeg does not write empty segments.
    let manifest = read_mpd(&FFMPEG.replace("<S d=\"0\" />", ""));
    let video = &manifest.presentation.video;
    assert_eq!(kbps(video), [200, 700]);
    assert_eq!(video.segments(), 9);
    assert_eq!((video.duration_of(0), video.duration_of(8)), (secs(2.0), secs(1.5)));
    assert_eq!(video.media_duration(), secs(17.5));
    // Nominal: 700 kbit/s · 1.5 s / 8 = 131 250 B; the size of the initialisation segment is assumed.
    assert_eq!(video.bytes(8, 1), 131_250);
    assert_eq!(video.representations()[1].init_bytes, 800);
    assert!(!manifest.presentation.is_live && manifest.warnings.is_empty());
    let audio = manifest.presentation.audio.as_ref().unwrap();
    assert_eq!(audio.duration_of(0), secs(1.984));
}

/// Without `-adaptation_sets` ffmpeg puts each rung into a set of its own: one ladder all the same. Another codec is told.
#[test]
fn sets_that_can_be_switched_between_are_one_ladder() {
    let set = |id: u32, codec: &str, rate: u32| {
        format!(
            r#"<AdaptationSet id="{id}" contentType="video"><Representation id="{id}" codecs="{codec}" bandwidth="{rate}">
            <SegmentTemplate timescale="1" duration="2" media="$RepresentationID$-$Number$.m4s"/></Representation></AdaptationSet>"#
        )
    };
    let sets =
        [set(0, "avc1.64001f", 3_000_000), set(1, "avc1.64001e", 700_000), set(2, "hvc1.1.6.L93", 500_000)].concat();
    let manifest = read_mpd(&format!(r#"<MPD mediaPresentationDuration="PT8S"><Period>{sets}</Period></MPD>"#));
    assert_eq!(kbps(&manifest.presentation.video), [700, 3000]);
    assert_eq!(manifest.warnings, ["an adaptation set of video is left out: its codec is hvc1, the first has avc1"]);
}

/// DASH-IF style: template on the adaptation set, number and constant duration; 30 s in segments of 4 s: the last has 2 s.
#[test]
fn a_template_with_constant_duration() {
    let manifest = read_mpd(
        r#"<MPD mediaPresentationDuration="PT0H0M30S"><Period><AdaptationSet mimeType="video/mp4">
        <SegmentTemplate timescale="1000" duration="4000" media="v$Bandwidth$/$Number$.m4s" startNumber="0"/>
        <Representation id="a" bandwidth="500000"/><Representation id="b" bandwidth="1000000"/>
        <Representation id="c" bandwidth="1000000"/></AdaptationSet>
        <AdaptationSet mimeType="video/mp4"><Role value="sign"/><Representation bandwidth="1"/></AdaptationSet></Period><Period/></MPD>"#,
    );
    let video = &manifest.presentation.video;
    assert_eq!((video.segments(), video.duration_of(7)), (8, secs(2.0)));
    assert_eq!(
        manifest.warnings,
        [
            "2 periods: the first is used",
            "an adaptation set of video is left out: its role is sign, the first has none",
            "1 representations of equal rate: the first of each is used"
        ]
    );
}

/// An MPD of this length with these periods, and a period of these adaptation sets; segments are of 4 s.
fn read_periods(length: u32, periods: &str) -> Result<Manifest, playpath_video::manifest::ManifestError> {
    let text = format!("<MPD mediaPresentationDuration=\"PT{length}S\">{periods}</MPD>");
    mpd::parse(&text)
}

fn period(attributes: &str, sets: &str) -> String {
    format!("<Period {attributes}>{sets}</Period>")
}

fn set_of(inside: &str, rate: u32) -> String {
    format!(
        "<AdaptationSet contentType=\"video\">{inside}<Representation bandwidth=\"{rate}\">\
         <SegmentTemplate timescale=\"1\" duration=\"4\"/></Representation></AdaptationSet>"
    )
}

/// ISO/IEC 23009-1 §5.3.2.1.
#[test]
fn a_period_ends_where_the_next_begins() {
    let length = |periods: &str| read_periods(120, periods).map(|found| found.presentation.video.media_duration());
    let set = set_of("", 500_000);
    let next = period("start=\"PT40S\"", &set);
    assert_eq!(length(&(period("start=\"PT0S\"", &set) + &next)), Ok(secs(40.0)));
    assert_eq!(length(&(period("start=\"PT10S\"", &set) + &next)), Ok(secs(30.0)));
    assert_eq!(length(&period("start=\"PT20S\"", &set)), Ok(secs(100.0)));
    assert_eq!(length(&period("start=\"PT20S\" duration=\"PT8S\"", &set)), Ok(secs(8.0)));
    let error = length(&period("start=\"PT120S\"", &set)).unwrap_err().to_string();
    assert!(error.contains("length of the Period \"0 s\" is not allowed; allowed: more than 0 s"), "{error}");
}

/// §5.8.4.8: what is not understood and essential is left out; colours are understood.
#[test]
fn a_set_for_trick_play_is_no_rung() {
    let property = |scheme: &str| format!("<EssentialProperty schemeIdUri=\"{scheme}\"/>");
    let trick = set_of(&property("http://dashif.org/guidelines/trickmode"), 100_000);
    let film = set_of(&property("urn:mpeg:mpegB:cicp:ColourPrimaries"), 1_000_000);
    let manifest = read_periods(40, &period("", &(trick + &film))).unwrap();
    assert_eq!(kbps(&manifest.presentation.video), [1000]);
    assert_eq!(
        manifest.warnings,
        [
            "an adaptation set of video is left out: its essential property \"http://dashif.org/guidelines/trickmode\" is not understood"
        ]
    );
}

/// §5.3.9.6: any negative `r` repeats to the end. Segments that begin after the end are not played. A rung that is cut elsewhere is refused.
#[test]
fn timelines_fill_their_period_and_are_cut_alike() {
    let rung = |entries: &str, rate: u32| {
        format!(
            "<Representation bandwidth=\"{rate}\"><SegmentTemplate timescale=\"1\"><SegmentTimeline>{entries}\
             </SegmentTimeline></SegmentTemplate></Representation>"
        )
    };
    let read = |rungs: &str| {
        let set = format!("<AdaptationSet contentType=\"video\">{rungs}</AdaptationSet>");
        read_periods(40, &period("", &set)).map(|found| found.presentation.video.segments())
    };
    assert_eq!(read(&rung("<S d=\"4\" r=\"-2\"/>", 1000)), Ok(10));
    assert_eq!(read(&rung("<S d=\"6\" r=\"9\"/>", 1000)), Ok(7));
    let alike = rung("<S d=\"4\" r=\"9\"/>", 1000);
    let elsewhere = rung("<S d=\"4\"/><S d=\"2\"/><S d=\"6\"/><S d=\"4\" r=\"6\"/>", 2000);
    let error = read(&(alike + &elsewhere)).unwrap_err().to_string();
    assert!(
        error.ends_with("segment 2 is not that of the set's first representation; all must be cut alike"),
        "{error}"
    );
}

/// A list with byte ranges has real sizes: 0-999 is 1000 B.
#[test]
fn a_segment_list_with_ranges() {
    let manifest = read_mpd(
        r#"<MPD mediaPresentationDuration="PT6S"><Period><AdaptationSet contentType="video"><Representation id="v" bandwidth="8000">
        <SegmentList timescale="1" duration="2"><Initialization range="0-599"/><SegmentURL mediaRange="600-1599"/>
        <SegmentURL mediaRange="1600-4599"/><SegmentURL mediaRange="4600-4600"/></SegmentList>
        </Representation></AdaptationSet></Period></MPD>"#,
    );
    let video = &manifest.presentation.video;
    assert_eq!([0, 1, 2].map(|segment| video.bytes(segment, 0)), [1000, 3000, 1]);
    assert_eq!(video.representations()[0].init_bytes, 600);
}

/// On-demand profile: one file per representation; cut into pieces of 4 s.
#[test]
fn a_segment_base_is_cut() {
    let manifest = read_mpd(
        r#"<MPD mediaPresentationDuration="PT10S"><Period><AdaptationSet mimeType="video/mp4">
        <Representation bandwidth="1000000"><BaseURL>v.mp4</BaseURL><SegmentBase indexRange="900-1500">
        <Initialization range="0-899"/></SegmentBase></Representation></AdaptationSet></Period></MPD>"#,
    );
    let video = &manifest.presentation.video;
    assert_eq!((video.segments(), video.duration_of(2), video.representations()[0].init_bytes), (3, secs(2.0), 900));
}

#[test]
fn live_mpds_and_repeats_to_the_end() {
    let live = read_mpd(
        r#"<MPD type="dynamic"><Period><AdaptationSet contentType="video"><SegmentTemplate timescale="10" media="$Time$">
        <SegmentTimeline><S t="100" d="20" r="1"/></SegmentTimeline></SegmentTemplate><Representation bandwidth="1000"/>
        </AdaptationSet></Period></MPD>"#,
    );
    assert!(live.presentation.is_live);
    assert_eq!(live.presentation.video.media_duration(), secs(600.0));
    let repeated = read_mpd(
        r#"<MPD mediaPresentationDuration="PT9S"><Period><AdaptationSet contentType="video"><SegmentTemplate timescale="10">
        <SegmentTimeline><S t="0" d="10" r="-1"/><S t="40" d="20" r="-1"/></SegmentTimeline></SegmentTemplate>
        <Representation bandwidth="1000"/></AdaptationSet></Period></MPD>"#,
    );
    // Four of 1 s up to 4 s; then 2 s each up to 9 s: three.
    assert_eq!(repeated.presentation.video.segments(), 7);
}

#[test]
fn mpd_errors_are_one_line_with_their_place() {
    let error = |text: &str| {
        let line = mpd::parse(text).unwrap_err().to_string();
        assert!(!line.contains('\n') && line.len() < 200, "{line}");
        line
    };
    let fragment =
        |inside: &str| format!("<MPD mediaPresentationDuration=\"PT8S\">\n<Period>\n  {inside}</Period></MPD>");
    let set = |inside: &str| fragment(&format!("<AdaptationSet contentType=\"video\">{inside}</AdaptationSet>"));
    assert_eq!(error("<MPD><Period></MPD>"), "line 1, column 14: expected 'Period' tag, not 'MPD'");
    assert_eq!(error("<html/>"), "line 1, column 1: root element \"html\" is not allowed; allowed: MPD");
    assert_eq!(error("<MPD/>"), "line 1, column 1: a Period is missing");
    assert_eq!(error(&fragment("")), "line 2, column 1: an AdaptationSet of video is missing");
    assert_eq!(error(&set("")), "line 3, column 3: a Representation is missing");
    assert_eq!(error(&set("<Representation/>")), "line 3, column 38: bandwidth is missing");
    assert_eq!(
        error(&set("<Representation bandwidth=\"-5\"/>")),
        "line 3, column 38: bandwidth \"-5\" is not allowed; allowed: 1 to 10^12 bit/s"
    );
    assert_eq!(
        error(&set("<SegmentTemplate duration=\"0\"/><Representation bandwidth=\"5\"/>")),
        "line 3, column 38: duration \"0\" is not allowed; allowed: a whole number from 1 to 18446744073709551615"
    );
    assert_eq!(
        error(FFMPEG),
        "line 22, column 65: d \"0\" is not allowed; allowed: a whole number from 1 to 4611686018427387903"
    );
    assert_eq!(
        error(&set("<SegmentTemplate duration=\"1\" timescale=\"4000000000\"/><Representation bandwidth=\"5\"/>")),
        "line 3, column 38: segment 0 has no duration, or the presentation is longer than 500 years"
    );
    assert!(
        error("<MPD mediaPresentationDuration=\"ten\"><Period/></MPD>").contains("duration \"ten\" is not allowed")
    );
    // No entity expansion: no billion laughs.
    assert!(error("<!DOCTYPE x [<!ENTITY a \"b\">]><MPD/>").starts_with("line 1, column "));
}

const MASTER: &str = "#EXTM3U\n#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",NAME=\"en, us\",DEFAULT=YES,URI=\"audio.m3u8\"\n\
    #EXT-X-STREAM-INF:BANDWIDTH=2000000,AVERAGE-BANDWIDTH=1628000,RESOLUTION=1280x720,CODECS=\"avc1.1,mp4a.2\",AUDIO=\"a\"\n\
    high.m3u8\n\n#EXT-X-STREAM-INF:BANDWIDTH=628000,AUDIO=\"a\"\r\nlow.m3u8\r\n";
const MEDIA: &str = "#EXTM3U\n#EXT-X-TARGETDURATION:6\n#EXT-X-MAP:URI=\"i.mp4\",BYTERANGE=\"700@0\"\n#EXTINF:6.000,\n#EXT-X-BYTERANGE:90000@700\n\
    s.mp4\n#EXT-X-BITRATE:800\n#EXTINF:4.5,title\ns2.mp4\n#EXT-X-ENDLIST\n";

fn load(uri: &str) -> Option<String> {
    let audio = "#EXTM3U\n#EXTINF:10.5,\na.aac\n#EXT-X-ENDLIST";
    match uri {
        "audio.m3u8" => Some(audio.into()),
        "low.m3u8" | "high.m3u8" => Some(MEDIA.into()),
        _ => None,
    }
}

/// Audio of unknown rate counts 128 kbit/s and is taken off: 1628 − 128 = 1500, 628 − 128 = 500.
/// The second segment: 800 kbit/s · 4.5 s / 8 = 450 000 B.
#[test]
fn an_hls_master_playlist() {
    let manifest = hls::parse(MASTER, load).unwrap();
    let video = &manifest.presentation.video;
    assert_eq!(kbps(video), [500, 1500]);
    assert_eq!(video.sizes_of(0), [90_000, 90_000]);
    assert_eq!(video.sizes_of(1), [450_000, 450_000]);
    assert_eq!(video.representations()[0].init_bytes, 700);
    assert_eq!(video.media_duration(), secs(10.5));
    let audio = manifest.presentation.audio.as_ref().unwrap();
    assert_eq!((audio.kind(), audio.bytes(0, 0)), (ObjectKind::Audio, 168_000));
    assert!(!manifest.presentation.is_live);
}

/// A master playlist whose playlists are all [`MEDIA`].
fn read_master(lines: &str) -> Manifest {
    let media = |_: &str| Some(MEDIA.to_string());
    hls::parse(&format!("#EXTM3U\n{lines}"), media).unwrap_or_else(|error| panic!("{error}"))
}

const TWO_RUNGS: &str = "#EXT-X-STREAM-INF:BANDWIDTH=1000000,CODECS=\"avc1.64001f,mp4a.40.2\",AUDIO=\"a\"\nv.m3u8\n\
    #EXT-X-STREAM-INF:BANDWIDTH=2000000,CODECS=\"avc1.64001f,mp4a.40.2\",AUDIO=\"a\"\nv2.m3u8\n";

#[test]
fn a_variant_of_sound_alone_is_no_rung_of_a_film() {
    let sound = "#EXT-X-STREAM-INF:BANDWIDTH=64000,CODECS=\"mp4a.40.2\"\nsound.m3u8\n";
    let manifest = read_master(&format!("{sound}{TWO_RUNGS}"));
    assert_eq!(kbps(&manifest.presentation.video), [1000, 2000]);
    assert_eq!(manifest.warnings, ["left out: variants of sound alone, 1 of 3"]);
    assert_eq!(kbps(&read_master(sound).presentation.video), [64]);
}

/// RFC 8216 §4.3.4.2.1: a rendition without a URI is in the segments of the variants that name its group.
#[test]
fn audio_is_that_of_the_first_variant_s_group() {
    let rendition =
        |group: &str, more: &str| format!("#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"{group}\",NAME=\"n\",{more}\n");
    let muxed = rendition("a", "DEFAULT=YES") + &rendition("a", "DEFAULT=NO,URI=\"fr.m3u8\"");
    let found = read_master(&(muxed + TWO_RUNGS)).presentation;
    assert!(found.audio.is_none());
    assert_eq!(kbps(&found.video), [1000, 2000]);
    // Of no variant's group.
    assert!(read_master(&(rendition("b", "URI=\"b.m3u8\"") + TWO_RUNGS)).presentation.audio.is_none());
    // The rate of [`MEDIA`], 411 kbit/s, is taken off.
    let separate = rendition("a", "URI=\"a.m3u8\"");
    assert_eq!(kbps(&read_master(&format!("{separate}{TWO_RUNGS}")).presentation.video), [588, 1588]);
    // The same playlists with other audio are no further rungs.
    let twice = separate + TWO_RUNGS + &TWO_RUNGS.replace("AUDIO=\"a\"", "AUDIO=\"b\"").replace("000000", "256000");
    let manifest = read_master(&twice);
    assert_eq!(kbps(&manifest.presentation.video), [588, 1588]);
    assert_eq!(manifest.warnings, ["left out: variants of a playlist that another has, 2 of 4"]);
}

/// By itself: (90 000 + 450 000) · 8 / 10.5 = 411 429 bit/s. Without an end it is live and goes on like its last segment.
#[test]
fn a_media_playlist_alone() {
    let manifest = hls::parse(MEDIA, |_| None).unwrap();
    assert_eq!(manifest.presentation.video.bitrates(), [Rate::from_bits_per_sec(411_429)]);
    let endless = MEDIA.replace("#EXT-X-ENDLIST\n", "");
    let live = hls::parse(&endless, |_| None).unwrap().presentation;
    assert!(live.is_live && live.video.media_duration() >= secs(600.0));
}

#[test]
fn hls_errors_are_one_line_with_their_place() {
    let error = |text: &str| hls::parse(text, load).unwrap_err().to_string();
    assert_eq!(error(""), "line 1: first line \"\" is not allowed; allowed: #EXTM3U");
    assert_eq!(
        error(&MEDIA.replace("6.000", "abc")),
        "line 4: EXTINF \"abc\" is not allowed; allowed: seconds, more than 0, at most 86400"
    );
    assert_eq!(error(&MASTER.replace("BANDWIDTH=628000,", "")), "line 6: BANDWIDTH is missing");
    assert_eq!(error(&MASTER.replace("low.m3u8\r\n", "")), "line 6: the variant's URI is missing");
    assert_eq!(error(&MASTER.replace("low.m3u8", "gone.m3u8")), "playlist \"gone.m3u8\" cannot be read");
    for outside in
        ["../low.m3u8", "/etc/passwd", "a/../../low.m3u8", "file:///etc/passwd", "..\\low.m3u8", "~/low.m3u8"]
    {
        let text = MASTER.replace("low.m3u8", outside);
        let error = hls::parse(&text, load).unwrap_err().to_string();
        let expected = format!("playlist \"{outside}\" is not in this playlist's folder; put it there, or below it");
        assert_eq!(error, expected);
    }
    let other = hls::parse(MASTER, |_| Some("root:x:0:0".into())).unwrap_err().to_string();
    assert!(other.ends_with("is no playlist: its first line must be #EXTM3U") && !other.contains("root"), "{other}");
    assert_eq!(error("#EXTM3U\nx.ts"), "line 2: #EXTINF before this URI is missing");
    assert_eq!(
        error(&MEDIA.replace("90000@700", "9e4")),
        "line 5: byte range \"9e4\" is not allowed; allowed: length[@offset], 1 to 2^40 bytes"
    );
    assert_eq!(
        error("#EXTM3U\n#EXTINF:4,\na.ts"),
        "a media playlist that does not tell its rate (no EXT-X-BITRATE, no EXT-X-BYTERANGE); give its master playlist"
    );
}

/// 1 875 001 bits are 234 376 B.
#[test]
fn a_sabre_movie() {
    let text = r#"{"segment_duration_ms": 3000, "bitrates_kbps": [230, 331], "segment_sizes_bits": [[886360, 1180512], [1875001, 1]]}"#;
    let manifest = sabre::parse(text).unwrap();
    let video = &manifest.presentation.video;
    assert_eq!(kbps(video), [230, 331]);
    assert_eq!((video.sizes_of(0), video.bytes(1, 0)), (&[110_795, 147_564][..], 234_376));
    assert_eq!(video.segment_duration(), secs(3.0));
    let error = |text: &str| sabre::parse(text).unwrap_err().to_string();
    assert_eq!(
        error("{\"segment_duration_ms\": 3000,\n\"bitrates_kbps\": 7}"),
        "line 2, column 18: invalid type: integer `7`, expected a sequence"
    );
    assert_eq!(
        error(&text.replace("[1875001, 1]", "[1]")),
        "1 segments, but 2 in the set's first representation; all must be cut alike"
    );
    assert_eq!(error(&text.replace("331", "-331")), "bitrates_kbps \"-331\" is not allowed; allowed: 0 to 1e9 kbit/s");
    // Rates in any order: sizes go with them.
    let reversed = sabre::parse(&text.replace("[230, 331]", "[331, 230]")).unwrap();
    assert_eq!(reversed.presentation.video.sizes_of(0), [147_564, 110_795]);
}

/// A valid text with some of it cut, doubled or replaced: reaches deeper than random text.
fn mutated(base: &'static str) -> impl Strategy<Value = String> {
    let pieces = prop_oneof![
        Just("0".to_string()),
        Just("-1".to_string()),
        Just("99999999999999999999".to_string()),
        Just("\"".to_string()),
        Just("<".to_string()),
        Just("\n".to_string()),
        "\\PC{0,6}",
    ];
    let length = base.chars().count();
    proptest::collection::vec((0..length, 0usize..12, pieces), 1..5).prop_map(move |edits| {
        let mut text: Vec<char> = base.chars().collect();
        for (at, cut, piece) in edits {
            let at = at.min(text.len());
            let end = (at + cut).min(text.len());
            text.splice(at..end, piece.chars());
        }
        text.into_iter().collect()
    })
}

fn check(result: Result<Manifest, playpath_video::manifest::ManifestError>) -> Result<(), TestCaseError> {
    match result {
        Ok(manifest) => {
            let video = &manifest.presentation.video;
            prop_assert!(video.segments() > 0 && video.sizes_of(0).iter().all(|&bytes| bytes > 0));
        }
        Err(error) => prop_assert!(!error.to_string().contains('\n')),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn no_mpd_makes_it_panic(text in prop_oneof![mutated(FFMPEG), "\\PC{0,60}"]) {
        check(mpd::parse(&text))?;
    }

    #[test]
    fn no_playlist_makes_it_panic(master in prop_oneof![mutated(MASTER), mutated(MEDIA)], media in mutated(MEDIA)) {
        check(hls::parse(&master, |_| Some(media.clone())))?;
    }

    #[test]
    fn no_movie_makes_it_panic(
        text in mutated(r#"{"segment_duration_ms": 3000, "bitrates_kbps": [230, 331], "segment_sizes_bits": [[886360, 1180512]]}"#)
    ) {
        check(sabre::parse(&text))?;
    }
}
