use super::super::testing::{context, download, ladder};
use super::*;

/// 2000 kbit in 1.5 s, the first byte after 0.5 s, segments of 2 s: 2000 kbit/s after the latency; 0.9 · 2000 · (1 − 0.5 / 2) =
/// 1350: rung 1300.
#[test]
fn latency_is_an_average_of_its_own() {
    let ladder = ladder(&[1000, 1250, 1300, 1500]);
    let at = context(&ladder, 10.0, 30.0, None);
    let mut estimate = ThroughputEstimate::new(0.0);
    assert_eq!(estimate.choice(&at, SAFETY), None);
    estimate.push(&at, &download(2000, 1.5, 0.5));
    assert!((estimate.bits_per_sec().expect("a sample") - 2e6).abs() < 0.1);
    assert!((estimate.latency() - 0.5).abs() < 1e-9);
    assert_eq!(estimate.choice(&at, SAFETY), Some(2));
}

/// Before the first download the parameter counts: 0.9 · 1500 = 1350.
#[test]
fn an_initial_estimate_chooses_the_first_segment() {
    let ladder = ladder(&[1000, 1250, 1300, 1500]);
    assert_eq!(ThroughputEstimate::new(1500.0).choice(&context(&ladder, 0.0, 30.0, None), SAFETY), Some(2));
}
