//! The manifest readers beside well-known libraries, on drawn manifests: what both read must be equal.
//! Why the libraries are not the readers: docs/decisions/manifests.md.

use dash_mpd_core as library;
use playpath_video::manifest::{Manifest, hls, mpd};
use proptest::prelude::*;

/// (duration, ms; size, bytes) of each segment.
fn segments() -> impl Strategy<Value = Vec<(u32, u32)>> {
    prop::collection::vec((200_u32..20_000, 1_u32..5_000_000), 1..40)
}

fn playlist(segments: &[(u32, u32)], is_ended: bool) -> String {
    let mut text = String::from("#EXTM3U\n#EXT-X-VERSION:4\n#EXT-X-TARGETDURATION:20\n");
    for (i, (ms, bytes)) in segments.iter().enumerate() {
        let seconds = f64::from(*ms) / 1e3;
        text += &format!("#EXTINF:{seconds:.3},\n#EXT-X-BYTERANGE:{bytes}@{}\ns{i}.m4s\n", i * 10);
    }
    text + if is_ended { "#EXT-X-ENDLIST\n" } else { "" }
}

fn template(segments: &[(u32, u32)], rates: &[u32]) -> String {
    let timeline: String = segments.iter().map(|(ms, _)| format!("<S d=\"{ms}\"/>")).collect();
    let total: u32 = segments.iter().map(|(ms, _)| ms).sum();
    let representations: String =
        rates.iter().map(|rate| format!("<Representation id=\"r{rate}\" bandwidth=\"{rate}\"/>")).collect();
    format!(
        "<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" type=\"static\" mediaPresentationDuration=\"PT{:.3}S\"><Period>\
         <AdaptationSet contentType=\"video\"><SegmentTemplate timescale=\"1000\" media=\"$Number$.m4s\">\
         <SegmentTimeline>{timeline}</SegmentTimeline></SegmentTemplate>{representations}</AdaptationSet></Period></MPD>",
        f64::from(total) / 1e3
    )
}

/// Milliseconds of each segment.
fn durations(manifest: &Manifest) -> Vec<u64> {
    let video = &manifest.presentation.video;
    (0..video.segments()).map(|segment| video.duration_of(segment).as_nanos() / 1_000_000).collect()
}

proptest! {
    #[test]
    fn media_playlists_read_as_m3u8_rs_reads_them(segments in segments(), is_ended: bool) {
        let text = playlist(&segments, is_ended);
        let ours = hls::parse(&text, |_| None).unwrap();
        let theirs = m3u8_rs::parse_media_playlist_res(text.as_bytes()).unwrap();
        let video = &ours.presentation.video;
        prop_assert_eq!(ours.presentation.is_live, !theirs.end_list);
        // A live one goes on like its last segment: the described ones are its beginning.
        let described = theirs.segments.len();
        prop_assert!(video.segments() >= described && (!is_ended || video.segments() == described));
        for (i, segment) in theirs.segments.iter().enumerate() {
            // Theirs has 24 bits: 20 s to 2 µs.
            let seconds = video.duration_of(i).as_secs_f64();
            prop_assert!((seconds - f64::from(segment.duration)).abs() < 2e-6, "{seconds} {}", segment.duration);
            prop_assert_eq!(video.bytes(i, 0), segment.byte_range.as_ref().unwrap().length);
        }
    }

    #[test]
    fn master_playlists_read_as_m3u8_rs_reads_them(rates in prop::collection::btree_set(10_000_u32..50_000_000, 1..8)) {
        let variants: String =
            rates.iter().rev().map(|rate| format!("#EXT-X-STREAM-INF:BANDWIDTH={rate}\nv{rate}.m3u8\n")).collect();
        let text = format!("#EXTM3U\n{variants}");
        let media = "#EXTM3U\n#EXTINF:4,\ns1.m4s\n#EXTINF:4,\ns2.m4s\n#EXT-X-ENDLIST\n";
        let ours = hls::parse(&text, |_| Some(media.into())).unwrap();
        let theirs = m3u8_rs::parse_master_playlist_res(text.as_bytes()).unwrap();
        let mut expected: Vec<u64> = theirs.variants.iter().map(|variant| variant.bandwidth).collect();
        expected.sort_unstable();
        let got: Vec<u64> = ours.presentation.video.bitrates().iter().map(|rate| rate.as_bits_per_sec()).collect();
        prop_assert_eq!(got, expected);
    }

    #[test]
    fn mpds_read_as_dash_mpd_reads_them(
        segments in segments(),
        rates in prop::collection::btree_set(10_000_u32..50_000_000, 1..8),
    ) {
        let rates: Vec<u32> = rates.into_iter().rev().collect();
        let text = template(&segments, &rates);
        let ours = mpd::parse(&text).unwrap();
        let theirs = library::parse(&text).unwrap();
        let set = &theirs.periods[0].adaptations[0];
        let mut expected: Vec<u64> = set.representations.iter().map(|r| r.bandwidth.unwrap()).collect();
        expected.sort_unstable();
        let got: Vec<u64> = ours.presentation.video.bitrates().iter().map(|rate| rate.as_bits_per_sec()).collect();
        prop_assert_eq!(got, expected);
        let timeline = set.SegmentTemplate.as_ref().unwrap().SegmentTimeline.as_ref().unwrap();
        let expected: Vec<u64> = timeline.segments.iter().map(|s| s.d).collect();
        prop_assert_eq!(durations(&ours), expected);
        let total = theirs.mediaPresentationDuration.unwrap().as_secs_f64();
        prop_assert!((ours.presentation.video.media_duration().as_secs_f64() - total).abs() < 1e-6);
    }
}

/// Why they are not the readers: what they do with faults. If this fails after an update, read the decision again.
#[test]
fn the_libraries_pass_over_faults_that_the_readers_name() {
    let bad_duration = "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:abc,\na.ts\n#EXT-X-ENDLIST\n";
    let line = hls::parse(bad_duration, |_| None).unwrap_err().to_string();
    assert!(line.starts_with("line 3: EXTINF \"abc\""), "{line}");
    let theirs = m3u8_rs::parse_media_playlist_res(bad_duration.as_bytes());
    assert!(theirs.map_or_else(|error| !error.to_string().contains("line 3"), |read| read.segments.len() < 2));
    let zero = template(&[(1000, 1)], &[500_000]).replace("<S d=\"1000\"/>", "<S d=\"0\"/>");
    let line = mpd::parse(&zero).unwrap_err().to_string();
    assert!(line.starts_with("line 1, column "), "{line}");
    assert!(library::parse(&zero).is_ok());
}
