use super::*;

/// 1 to 200 ms, one frame each, from two sources: half within 100 ms, 99 % within the 198th, 99.9 % (199.8 of 200) within the
/// 200th; 150 and 100 of 200 are above 50 and 100 ms.
#[test]
fn nearest_rank_over_all_sources() {
    let source = |from: u64| Flow {
        frame_delays: (0..100).map(|i| Duration::from_millis(from - 2 * i)).collect(),
        ..Flow::default()
    };
    let shown = FrameDelays::of([source(200), source(199)].iter()).expect("there are frames").record();
    assert_eq!((shown.count, shown.p50_ms, shown.p99_ms, shown.p999_ms), (200, 100.0, 198.0, 200.0));
    assert_eq!((shown.over_50ms, shown.over_100ms), (0.75, 0.5));
    assert!(FrameDelays::of([Flow::default()].iter()).is_none());
}
