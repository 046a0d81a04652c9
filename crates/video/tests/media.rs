//! Media: tables, importers, the model, and the players' index.

use playpath_units::{Duration, Rate};
use playpath_video::media::{FrameTable, GopModel, Media, Sample, SampleKind, big_buck_bunny, parse_mp4};
use proptest::prelude::*;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn sample(kind: SampleKind, size_bytes: u32, at_ms: u64) -> Sample {
    Sample { kind, size_bytes, presentation: ms(at_ms), is_reference: matches!(kind, SampleKind::I | SampleKind::P) }
}

/// I0 P3 B1 B2 in file order, audio between, 40 ms each.
fn reordered() -> FrameTable {
    use SampleKind::*;
    let samples = vec![
        sample(I, 1000, 0),
        sample(Audio, 10, 0),
        sample(P, 300, 120),
        sample(B, 100, 40),
        sample(Audio, 10, 50),
        sample(B, 50, 80),
        sample(Audio, 7, 90),
    ];
    FrameTable { header_bytes: 200, stated_duration: Some(ms(160)), samples }
}

#[test]
fn index_of_reordered_pictures() {
    let media = Media::new(&reordered()).unwrap();
    // Ends in file order: 200+1000 = 1200; +10+300 = 1510; +100 = 1610; +10+50 = 1670; 7 bytes of audio follow.
    let ends: Vec<u64> = media.pictures.iter().map(|p| p.end_offset).collect();
    assert_eq!(ends, [1200, 1610, 1670, 1510]);
    let held: Vec<u64> = media.pictures.iter().map(|p| p.held_bytes).collect();
    assert_eq!(held, [1200, 100, 60, 310]);
    // After I0 the picture at 40 ms is the first that is missing; after P3 still; after B1 that at 80 ms; then nothing.
    let marks: Vec<(u64, Duration)> = media.marks.iter().map(|m| (m.end_offset, m.playable_until)).collect();
    assert_eq!(marks, [(1200, ms(40)), (1510, ms(40)), (1610, ms(80)), (1670, ms(160))]);
    assert_eq!(media.total_bytes, 1677);
    // 1677 B x 8 / 0.16 s = 83 850 bit/s; 4 pictures / 0.16 s = 25.
    assert_eq!(media.mean_rate, Rate::from_bits_per_sec(83_850));
    assert!((media.fps() - 25.0).abs() < 1e-9);
}

#[test]
fn dependencies_follow_groups() {
    use SampleKind::*;
    // Open group: I3 is decoded before B2, which is presented before it and needs the old group too.
    let samples = vec![sample(I, 9, 0), sample(P, 9, 40), sample(I, 9, 120), sample(B, 9, 80), sample(P, 9, 160)];
    let media = Media::new(&FrameTable { header_bytes: 0, stated_duration: None, samples }).unwrap();
    let from: Vec<(u32, u32)> = media.pictures.iter().map(|p| (p.decode_index, p.depends_from)).collect();
    assert_eq!(from, [(0, 0), (1, 0), (3, 0), (2, 2), (4, 2)]);
}

#[test]
fn text_form_round_trips() {
    let table = reordered();
    assert_eq!(FrameTable::parse(&table.to_text(&["a comment"])).unwrap(), table);
}

#[test]
fn bad_tables_give_one_clear_line() {
    let head = "# playpath frame table 1\n";
    let cases = [
        ("hello", "not a frame table"),
        ("# playpath frame table 1\nI,100,0", "line 2: is_reference is missing (truncated file?)"),
        (&format!("{head}X,100,0,1"), "kind is not I, P, B or A"),
        (&format!("{head}I,-5,0,1"), "size_bytes is not a whole number"),
        (&format!("{head}I,5,zero,1"), "presentation_ns is not a whole number"),
        (&format!("{head}I,5,0,1,9"), "too many columns"),
        (&format!("{head}# header_bytes many"), "header_bytes needs a whole number"),
    ];
    for (text, expected) in cases {
        let error = FrameTable::parse(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert_eq!(error.lines().count(), 1);
    }
    let empty = Media::new(&FrameTable::parse(head).unwrap()).unwrap_err();
    assert_eq!(empty.to_string(), "the media has no video picture");
}

#[test]
fn committed_clip() {
    // ffprobe: 1 055 736 bytes, 132 pictures in 5.28 s, 249 audio frames, one key picture of 105 222 bytes.
    let table = big_buck_bunny();
    let count = |kind| table.samples.iter().filter(|s| s.kind == kind).count();
    assert_eq!(
        (count(SampleKind::I), count(SampleKind::P), count(SampleKind::B), count(SampleKind::Audio)),
        (1, 131, 0, 249)
    );
    let media = Media::new(&table).unwrap();
    assert_eq!(media.total_bytes, 1_055_736);
    assert_eq!(media.duration, ms(5280));
    assert!((media.fps() - 25.0).abs() < 1e-9);
    // 1 055 736 x 8 / 5.28 = 1 599 600 bit/s.
    assert_eq!(media.mean_rate, Rate::from_bits_per_sec(1_599_600));
}

#[test]
fn loop_and_scale_to_the_papers_video() {
    // CCP paper: 409 MB in 624 s. 5.24 Mbit/s x 624 s / 8 = 408 720 000 B.
    let rate = Rate::from_bits_per_sec(5_240_000);
    let table = big_buck_bunny().looped(Duration::from_secs(624)).scaled(rate).unwrap();
    let media = Media::new(&table).unwrap();
    assert_eq!(media.total_bytes, 408_720_000);
    assert_eq!(media.duration, Duration::from_secs(624));
    assert_eq!(media.mean_rate, rate);
    // 624 s x 25 pictures; 118 whole rounds of 5.28 s and 0.96 s more.
    assert_eq!(media.pictures.len(), 15_600);
    assert_eq!(table.samples.iter().filter(|s| s.kind == SampleKind::I).count(), 119);
    let last = media.pictures.last().unwrap();
    assert_eq!(last.presentation + last.duration, Duration::from_secs(624));
    assert!(big_buck_bunny().scaled(Rate::from_bits_per_sec(1000)).is_err());
}

/// A skeleton is the file without the content of its `mdat` boxes: put zeros back.
fn expand(skeleton: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut rest = skeleton;
    while !rest.is_empty() {
        let size = u32::from_be_bytes(rest[..4].try_into().unwrap()) as usize;
        let kept = if &rest[4..8] == b"mdat" { 8 } else { size };
        file.extend_from_slice(&rest[..kept]);
        file.resize(file.len() + size - kept, 0);
        rest = &rest[kept..];
    }
    file
}

fn plain() -> Vec<u8> {
    expand(include_bytes!("data/testsrc_plain.mp4.skeleton"))
}
fn fragmented() -> Vec<u8> {
    expand(include_bytes!("data/testsrc_frag.mp4.skeleton"))
}

/// What `ffprobe -show_packets -show_format -of json` says of a file of one video and one audio stream. A key packet is an I picture, one
/// that is presented before an earlier packet a B picture.
fn of_ffprobe(json: &str) -> FrameTable {
    let found: serde_json::Value = serde_json::from_str(json).unwrap();
    let number = |value: &serde_json::Value| value.as_str().unwrap().parse::<f64>().unwrap();
    let mut packets = found["packets"].as_array().unwrap().clone();
    // In the order of the file, though ffprobe reads ahead in one stream.
    packets.sort_by_key(|packet| number(&packet["pos"]) as u64);
    let is_video = |packet: &&serde_json::Value| packet["codec_type"] == "video";
    let first = packets.iter().filter(is_video).map(|packet| number(&packet["pts_time"])).fold(f64::MAX, f64::min);
    let mut latest = f64::MIN;
    let mut samples = Vec::new();
    for packet in &packets {
        let time = number(&packet["pts_time"]);
        let kind = match (is_video(&packet), packet["flags"].as_str().unwrap().starts_with('K')) {
            (false, _) => SampleKind::Audio,
            (true, true) => SampleKind::I,
            (true, false) if time < latest => SampleKind::B,
            (true, false) => SampleKind::P,
        };
        if kind != SampleKind::Audio {
            latest = latest.max(time);
        }
        samples.push(Sample {
            kind,
            size_bytes: number(&packet["size"]) as u32,
            presentation: Duration::from_secs_f64((time - first).max(0.0)),
            is_reference: matches!(kind, SampleKind::I | SampleKind::P),
        });
    }
    let payload: u64 = samples.iter().map(|sample| u64::from(sample.size_bytes)).sum();
    let header_bytes = number(&found["format"]["size"]) as u64 - payload;
    FrameTable { header_bytes, stated_duration: None, samples }
}

/// The same file by ffprobe and by our parser: same kinds, sizes, order; times within ffprobe's microsecond.
fn assert_same(mp4: &FrameTable, ffprobe: &FrameTable) {
    assert_eq!(mp4.header_bytes, ffprobe.header_bytes);
    assert_eq!(mp4.samples.len(), ffprobe.samples.len());
    for (a, b) in mp4.samples.iter().zip(&ffprobe.samples) {
        assert_eq!((a.kind, a.size_bytes, a.is_reference), (b.kind, b.size_bytes, b.is_reference));
        if a.kind != SampleKind::Audio {
            assert!(a.presentation.abs_diff(b.presentation) <= Duration::from_micros(1), "{a:?} {b:?}");
        }
    }
}

#[test]
fn mp4_parser_agrees_with_ffprobe() {
    assert_same(&parse_mp4(&plain()).unwrap(), &of_ffprobe(include_str!("data/testsrc_plain.ffprobe.json")));
    assert_same(&parse_mp4(&fragmented()).unwrap(), &of_ffprobe(include_str!("data/testsrc_frag.ffprobe.json")));
    // 2 s at 30 fps with two B pictures between references: I B B P ..., 24 to a group; 60 pictures.
    let media = Media::new(&parse_mp4(&plain()).unwrap()).unwrap();
    assert_eq!(media.pictures.len(), 60);
    assert_eq!(media.duration, Duration::from_secs(2));
}

#[test]
fn mp4_of_the_clip_gives_the_committed_table() {
    let file = expand(include_bytes!("data/bigbuckbunny.mp4.skeleton"));
    assert_eq!(file.len(), 1_055_736);
    let (parsed, committed) = (parse_mp4(&file).unwrap(), big_buck_bunny());
    assert_eq!(parsed.samples, committed.samples);
    assert_eq!((parsed.header_bytes, parsed.duration()), (committed.header_bytes, committed.duration()));
}

#[test]
fn cut_off_mp4_is_refused_at_every_byte() {
    for file in [plain(), fragmented()] {
        for end in (0..file.len()).step_by(7) {
            // A fragmented file cut between two boxes is a shorter file; every other cut is an error of one line.
            if let Err(error) = parse_mp4(&file[..end]) {
                assert_eq!(error.to_string().lines().count(), 1);
            }
        }
    }
    let error = parse_mp4(&plain()[..plain().len() - 1]).unwrap_err().to_string();
    assert!(error.contains("cut off inside box `mdat`"), "{error}");
    assert!(parse_mp4(b"not a video at all, just some text").is_err());
    assert!(parse_mp4(b"").is_err());
}

#[test]
fn model_hits_rate_and_structure() {
    let model = GopModel { gop_pictures: 12, ..GopModel::new(Rate::from_bits_per_sec(1_000_000), ms(1000), 30.0) };
    let table = model.frame_table().unwrap();
    assert_eq!(table.total_bytes(), 125_000);
    let kinds: String = table.samples.iter().map(|s| format!("{:?}", s.kind)).collect();
    assert_eq!(kinds, "IPPPPPPPPPPPIPPPPPPPPPPPIPPPPP");
    assert_eq!(table, model.frame_table().unwrap());
    assert_ne!(table, GopModel { seed: 2, ..model }.frame_table().unwrap());
}

#[test]
fn model_refuses_values_out_of_range() {
    let good = GopModel::new(Rate::from_bits_per_sec(1_000_000), ms(1000), 30.0);
    let bad = [
        GopModel { fps: 0.0, ..good },
        GopModel { fps: f64::NAN, ..good },
        GopModel { rate: Rate::from_bits_per_sec(100), ..good },
        GopModel { gop_pictures: 0, ..good },
        GopModel { log_sd: -1.0, ..good },
        GopModel { duration: Duration::ZERO, ..good },
    ];
    for model in bad {
        let error = model.frame_table().unwrap_err().to_string();
        assert!(error.starts_with("video model: ") && error.contains("out of range"), "{error}");
    }
}

/// Drawn sizes have the declared statistics. 200 000 P pictures; slow part's correlation time 13.75 pictures, so about
/// 200 000 / (2 x 13.75) = 7 300 independent groups of it: the standard error of the log-sd is near 0.48/sqrt(2 x 7300) =
/// 0.004, of the correlations near 0.01. Bounds are four standard errors.
#[test]
fn model_statistics() {
    let model = GopModel {
        gop_pictures: 1_000_000,
        fps: 25.0,
        ..GopModel::new(Rate::from_bits_per_sec(40_000_000), Duration::from_secs(8_000), 25.0)
    };
    let table = model.frame_table().unwrap();
    let logs: Vec<f64> = table.samples[1..].iter().map(|s| libm::log(f64::from(s.size_bytes))).collect();
    let n = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / n;
    let covariance = |lag: usize| logs.iter().zip(&logs[lag..]).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>() / n;
    let variance = covariance(0);
    assert!((libm::sqrt(variance) - 0.48).abs() < 0.016, "{}", libm::sqrt(variance));
    // rho = exp(-40 ms / 550 ms) = 0.9298; 0.8 rho = 0.744, 0.8 rho^4 = 0.598, 0.8 rho^12 = 0.334.
    for (lag, expected) in [(1, 0.744), (4, 0.598), (12, 0.334)] {
        let correlation = covariance(lag) / variance;
        assert!((correlation - expected).abs() < 0.04, "lag {lag}: {correlation}");
    }
}

/// Scenes: the same P pictures times factors that last 8 s on average, 200 of them in 1600 s. Ratios of one picture with and
/// without scenes are the factors, up to one scale: their logarithm has a deviation of 0.4 over scenes (standard error
/// 0.4/sqrt(2 x 200) = 0.02, four of them allowed), and about one picture in 200 changes it.
#[test]
fn scenes_multiply_what_is_drawn() {
    let plain = GopModel::new(Rate::from_bits_per_sec(40_000_000), Duration::from_secs(1_600), 25.0);
    let sizes = |model: GopModel| -> Vec<f64> {
        model.frame_table().unwrap().samples.iter().map(|s| f64::from(s.size_bytes)).collect()
    };
    let with_scenes = GopModel { scene_sd: 0.4, ..plain };
    let logs: Vec<f64> = sizes(with_scenes).iter().zip(sizes(plain)).map(|(a, b)| libm::log(a / b)).collect();
    // Sizes are whole bytes: a step of a thousandth is rounding.
    let mut scenes = vec![logs[0]];
    for pair in logs.windows(2) {
        if (pair[0] - pair[1]).abs() > 0.01 {
            scenes.push(pair[1]);
        }
    }
    let mean = scenes.iter().sum::<f64>() / scenes.len() as f64;
    let sd = libm::sqrt(scenes.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / scenes.len() as f64);
    assert!((140..260).contains(&scenes.len()), "{} scenes", scenes.len());
    assert!((sd - 0.4).abs() < 0.08, "{sd}");
    assert!(GopModel { scene_sd: 3.0, ..plain }.frame_table().is_err());
}

/// Variance over mean of the bytes in windows of so many pictures.
fn dispersion(sizes: &[u32], window: usize) -> f64 {
    let sums: Vec<f64> = sizes.windows(window).map(|w| w.iter().map(|&s| f64::from(s)).sum()).collect();
    let mean = sums.iter().sum::<f64>() / sums.len() as f64;
    sums.iter().map(|s| (s - mean) * (s - mean)).sum::<f64>() / sums.len() as f64 / mean
}

/// The clip could be one of the model's draws: its burstiness over 40 ms, 0.2 s, 1 s lies within the middle 90 % of 200 seeds of the
/// same length and rate (docs/figures/media_model.png shows all windows). The key picture is left out: its place is fixed.
#[test]
fn model_is_as_bursty_as_the_clip() {
    let pictures = |table: FrameTable| -> Vec<u32> {
        let video = table.samples.iter().filter(|s| s.kind != SampleKind::Audio);
        video.skip(1).map(|s| s.size_bytes).collect()
    };
    let clip = pictures(big_buck_bunny());
    let model = GopModel::new(Rate::from_bits_per_sec(1_205_959), ms(5280), 25.0);
    let draws: Vec<Vec<u32>> =
        (1..=200).map(|seed| pictures(GopModel { seed, ..model }.frame_table().unwrap())).collect();
    for window in [1, 5, 25] {
        let mut of_draws: Vec<f64> = draws.iter().map(|d| dispersion(d, window)).collect();
        of_draws.sort_by(f64::total_cmp);
        let of_clip = dispersion(&clip, window);
        assert!((of_draws[10]..=of_draws[189]).contains(&of_clip), "window {window}: {of_clip}");
    }
}

fn any_table() -> impl Strategy<Value = FrameTable> {
    let kinds = prop_oneof![Just(SampleKind::I), Just(SampleKind::P), Just(SampleKind::B), Just(SampleKind::Audio)];
    let one = (kinds, 0u32..5000, 0u64..2000).prop_map(|(kind, size, at)| sample(kind, size, at));
    (0u64..2000, proptest::collection::vec(one, 1..60), proptest::option::of(0u64..4000)).prop_map(
        |(header_bytes, samples, stated)| FrameTable { header_bytes, stated_duration: stated.map(ms), samples },
    )
}

proptest! {
    #[test]
    fn index_invariants(table in any_table()) {
        let Ok(media) = Media::new(&table) else { return Ok(()) };
        let pictures = &media.pictures;
        prop_assert!(pictures.windows(2).all(|w| w[0].presentation <= w[1].presentation));
        prop_assert!(media.marks.windows(2).all(|w| w[0].end_offset <= w[1].end_offset && w[0].playable_until <= w[1].playable_until));
        let span = pictures.iter().fold(Duration::ZERO, |sum, p| sum + p.duration);
        prop_assert_eq!(span, media.duration);
        prop_assert_eq!(pictures[0].presentation, Duration::ZERO);
        let held: u64 = pictures.iter().map(|p| p.held_bytes).sum();
        prop_assert_eq!(held, media.marks.last().unwrap().end_offset);
        prop_assert!(held <= media.total_bytes);
        prop_assert_eq!(media.marks.last().unwrap().playable_until, media.duration);
    }

    #[test]
    fn text_parser_never_panics(text in "(# playpath frame table 1\n)?[IPBA,0-9\n# a-z_-]{0,200}") {
        if let Ok(table) = FrameTable::parse(&text) {
            let _ = Media::new(&table);
        }
    }

    #[test]
    fn damaged_mp4_never_panics(damage in proptest::collection::vec((0usize..14_000, any::<u8>()), 1..20), is_fragmented in any::<bool>()) {
        let mut file = if is_fragmented { fragmented() } else { plain() };
        // Half of the damage goes into the index, where it hurts.
        for (i, (at, value)) in damage.into_iter().enumerate() {
            let len = file.len();
            let at = if i % 2 == 0 { at % 3000 } else { at % len };
            file[at] = value;
        }
        if let Ok(table) = parse_mp4(&file) {
            let _ = Media::new(&table).map(|m| m.mean_rate);
        }
    }

    #[test]
    fn scaling_is_exact(table in any_table(), kbps in 500u64..20_000, seconds in 1u64..10) {
        let looped = table.looped(Duration::from_secs(seconds));
        if let Ok(scaled) = looped.scaled(Rate::from_bits_per_sec(kbps * 1000)) {
            prop_assert_eq!(scaled.total_bytes(), Rate::from_bits_per_sec(kbps * 1000).bytes_in(scaled.duration()));
        }
    }
}
