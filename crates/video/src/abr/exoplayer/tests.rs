use super::super::LiveState;
use super::super::testing::{context, download, ladder};
use super::*;

/// Weights 3, 4, 5 with 10, 30, 20: half of 12 is 6: 10 (3), then 20 (8): 20. A weight of 1995 more leaves 2000: the oldest goes (3),
/// the next shrinks by 4 (and goes), the third has 5: 1995 + 5, half is 1000: that of 1995.
#[test]
fn the_median_slides_by_weight() {
    let mut window = SlidingMedian::EMPTY;
    [(3, 10.0), (4, 30.0), (5, 20.0)].iter().for_each(|&(weight, value)| window.add(weight, value));
    assert_eq!(window.median(), 20.0);
    window.add(1995, 7.0);
    assert_eq!((window.count, window.total(), window.median()), (2, 2000, 7.0));
}

/// 4000 kbit in 1 s after 0.3 s to the first byte: 4 Mbit/s, but 1 s and 500 kB are not yet trusted (512 KiB); the second one is:
/// 0.7 · 4 = 2.8 Mbit/s.
#[test]
fn the_estimate_begins_with_2_s_or_512_kib() {
    let ladder = ladder(&[600, 1000, 2500, 3000]);
    let at = context(&ladder, 20.0, 50.0, Some(0));
    let mut rule = ExoPlayer::new(&Params::defaults(PARAMS));
    let mut choose = |level: Option<f64>| {
        rule.on_download(&at, &download(4000, 1.3, 0.3));
        rule.choose(&Context { buffer_level: playpath_units::Duration::from_secs_f64(level.unwrap_or(20.0)), ..at })
            .representation()
    };
    assert_eq!([choose(None), choose(None)], [Some(0), Some(2)]);
    // Below 10 s it stays.
    assert_eq!(choose(Some(9.9)), Some(0));
}

/// 0.7 of 1 Mbit/s carries rung 0: not from 25 s on.
#[test]
fn a_full_buffer_puts_a_step_down_off() {
    let ladder = ladder(&[600, 1000]);
    let choose = |level: f64| {
        let mut rule = ExoPlayer::new(&Params::defaults(PARAMS));
        rule.choose(&context(&ladder, level, 50.0, Some(1))).representation()
    };
    assert_eq!([choose(24.9), choose(25.0)], [Some(0), Some(1)]);
}

/// Media3's `minDurationForQualityIncreaseUs` at the live edge: 6 s from the picture to the end of the last whole segment, of which the one
/// of 2 s that is chosen for cannot be there: 0.75 · 4 = 3 s are enough for a step up. 60 s would want more than the usual 10.
#[test]
fn a_step_up_at_the_live_edge_wants_what_can_be_there() {
    let ladder = ladder(&[300, 600]);
    let choose = |available: u64, level: f64| {
        let mut rule = ExoPlayer::new(&Params::defaults(PARAMS));
        let [target, available] = [6, available].map(playpath_units::Duration::from_secs);
        let live = LiveState { latency: available, available, target, speed: 1.0, is_low_latency: false };
        rule.choose(&Context { live: Some(live), ..context(&ladder, level, 50.0, Some(0)) }).representation()
    };
    assert_eq!(
        [choose(6, 2.9), choose(6, 3.0), choose(60, 9.9), choose(60, 10.0)],
        [Some(0), Some(1), Some(0), Some(1)]
    );
}

/// In parts or chunks, or mixed with the server's estimate, the given rate counts, not the time: 4 Mbit in 3.9 s, at 4 Mbit/s.
#[test]
fn the_pauses_between_parts_do_not_count() {
    let ladder = ladder(&[600, 1000, 2500, 3000]);
    let at = context(&ladder, 20.0, 50.0, Some(0));
    let mut rule = ExoPlayer::new(&Params::defaults(PARAMS));
    let parts = Download { burst_bits_per_sec: Some(4e6), ..download(8000, 4.0, 0.1) };
    rule.on_download(&at, &parts);
    assert_eq!(rule.choose(&at).representation(), Some(2));
}
