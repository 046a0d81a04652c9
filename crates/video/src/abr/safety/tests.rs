use super::super::testing::{context, download, ladder};
use super::super::{Download, Progress};
use super::*;
use crate::ladder::Ladder;

/// 0.9 · (1.5 − 0.1) s · 1 Mbit/s / 2 s = 630: rung 600; then 0.81: 567, rung 500; after many 0.5: 350, rung 200.
#[test]
fn a_low_buffer_limits_the_rate() {
    let ladder = ladder(&[200, 500, 600, 900]);
    let at = context(&ladder, 1.5, 30.0, Some(0));
    let mut guard = InsufficientBuffer::new();
    assert_eq!([0; 2].map(|_| guard.limit(&at, 1e6, 0.1)), [2, 1]);
    assert_eq!((0..10).map(|_| guard.limit(&at, 1e6, 0.1)).last(), Some(0));
    // 0.5 · 1.4 s · 1 Mbit/s / 2 s = 350 kbit/s is where it ends.
    let fine = super::super::testing::ladder(&[345, 355]);
    assert_eq!(guard.limit(&context(&fine, 1.5, 30.0, None), 1e6, 0.1), 0);
    assert_eq!(guard.limit(&context(&fine, 1.5, 30.0, None), 1.02e6, 0.1), 1);
}

fn progress(ladder: &Ladder, kbit: u64, seconds: f64) -> Progress {
    let so_far = Download { representation: 3, ..download(kbit, seconds, 0.0) };
    Progress { so_far, total_bytes: ladder.bytes(49, 3), reports: 1 }
}

/// Segments of 2 s, 900 kbit/s: 1800 kbit. 400 kbit in 1 s: 1 + 1400 / 400 = 4.5 s, more than 1.8 · 2 = 3.6 s. 0.9 · 400 = 360
/// kbit/s carries 200: 400 kbit, less than the 1400 left: give up. Not before 0.5 s, and not at 600 kbit/s (3 s). With 1500 kbit
/// read in 4 s (4.8 s), 300 are left, less than 400: go on.
#[test]
fn a_slow_download_is_given_up_if_it_is_worth_it() {
    let ladder = ladder(&[200, 500, 600, 900]);
    let at = context(&ladder, 10.0, 30.0, Some(3));
    let estimate = ThroughputEstimate::new(0.0);
    let ask = |kbit, seconds| abandon(&estimate, &at, &progress(&ladder, kbit, seconds)).map(|a| a.representation);
    assert_eq!([ask(400, 1.0), ask(200, 0.5), ask(200, 0.49)], [Some(0), Some(0), None]);
    assert_eq!([ask(600, 1.0), ask(1500, 4.0)], [None, None]);
}

/// A segment of 112.5 kB at 900 kbit/s, half of what the rate says, would have 25 kB at 200 kbit/s.
#[test]
fn sizes_of_other_rungs_are_nominal() {
    let ladder = ladder(&[200, 500, 600, 900]);
    assert_eq!(nominal_size(&ladder, 112_500, 3, 0), 25_000.0);
}
