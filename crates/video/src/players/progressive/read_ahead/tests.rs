use super::*;

/// At 5.24 Mbit/s 10 s are 6.55 MB; at 1 Mbit/s they are 1.25 MB and the least of 2 MiB counts, at 20 Mbit/s 25 MB and the most.
#[test]
fn marks_of_players() {
    let marks = |text: &str, kbps: u64| {
        let Marks { low, high, growth } =
            text.parse::<ReadAhead>().unwrap().marks(Rate::from_bits_per_sec(kbps * 1000));
        [low, high, growth]
    };
    assert_eq!(marks("none", 5240), [0, 0, 0]);
    assert_eq!(marks("vlc", 5240), [16_777_216, 26_214_400, 0]);
    assert_eq!(marks("chromium", 5240), [6_550_000 + 2_097_152, 6_550_000 + 4_194_304, 6_550_000]);
    assert_eq!(marks("chromium", 1000), [4_194_304, 6_291_456, 2_097_152]);
    assert_eq!(marks("chromium", 20_000), [23_068_672, 25_165_824, 20_971_520]);
    assert_eq!(marks("2 s", 5240), [1_310_000, 1_310_000, 0]);
    for wrong in ["vlx", "1", "1 bdp"] {
        assert!(wrong.parse::<ReadAhead>().is_err(), "{wrong}");
    }
}

/// What was measured with Chromium at 5 Mbit/s, ahead of the playhead and its demuxer's 2 s: 8.35 and 10.4 MB around a piece that it
/// read with 3.2 s played, 13.2 and 15.2 MB with 55.8 s played. Ours within 1.3 MB.
#[test]
fn chromium_as_measured() {
    let marks = ReadAhead::Chromium.marks(Rate::from_bits_per_sec(5_000_000));
    for (seconds, low, high) in [(3.2, 8.35e6, 10.4e6), (55.8, 13.2e6, 15.2e6)] {
        let now = marks.after(((seconds + 2.0) * 625_000.0) as u64);
        assert!((now.low as f64 - low).abs() < 1.3e6 && (now.high as f64 - high).abs() < 1.3e6, "{now:?}");
    }
}
