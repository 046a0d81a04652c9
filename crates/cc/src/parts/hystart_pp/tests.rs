use super::*;
use crate::testbed::Script;

fn script(initial_window: f64) -> Script {
    Script::with("newreno", initial_window, |params| params.set_word("slow_start", "hystart++"))
}

#[test]
fn threshold_is_an_eighth_between_4_and_16_ms() {
    for (last, thresh_micros) in [(20, 4_000), (32, 4_000), (50, 6_250), (100, 12_500), (128, 16_000), (200, 16_000)] {
        assert_eq!(rtt_thresh(Duration::from_millis(last)), Duration::from_micros(thresh_micros), "{last} ms");
    }
}

#[test]
fn enters_conservative_slow_start_at_the_eighth_sample() {
    let mut script = script(16.0);
    script.round(); // 100 ms, cwnd 32
    // 100 + 12.5 ms is the threshold. Seven samples do not decide.
    script.rtt = Duration::from_micros(112_500);
    script.ack_after(Duration::ZERO, 1, true);
    (0..6).for_each(|_| script.ack(1));
    assert_eq!((script.cwnd(), script.cc.phase()), (39.0, "slow_start"));
    // The eighth does, and grows by a quarter already.
    script.ack(1);
    assert_eq!((script.cwnd(), script.cc.phase()), (39.25, "conservative_slow_start"));
    // min(N, L) / 4 with L = 8: an ACK for 12 adds 2.
    script.ack(12);
    assert_eq!(script.cwnd(), 41.25);
}

#[test]
fn one_nanosecond_below_the_threshold_is_not_enough() {
    let mut script = script(16.0);
    script.round();
    script.rtt = Duration::from_nanos(112_499_999);
    script.round();
    assert_eq!((script.cwnd(), script.cc.phase()), (64.0, "slow_start"));
}

#[test]
fn five_conservative_rounds_end_slow_start() {
    let mut script = script(16.0);
    script.round();
    script.rtt = Duration::from_millis(120);
    script.round(); // enters in its eighth ACK: round 1 of 5
    (2..=5).for_each(|_| script.round());
    assert_eq!(script.cc.phase(), "conservative_slow_start");
    assert_eq!(script.cc.ssthresh(), f64::INFINITY);
    script.ack_after(Duration::ZERO, 1, true); // the fifth round is complete
    assert_eq!((script.cc.phase(), script.cc.ssthresh()), ("congestion_avoidance", script.cwnd()));
}

/// ngtcp2, whose CUBIC leaves a round earlier.
#[test]
fn four_conservative_rounds_under_ngtcp2s_law() {
    let mut script = Script::with("cubic", 16.0, |params| params.set_word("growth", "ngtcp2"));
    script.round();
    script.rtt = Duration::from_millis(120);
    script.round();
    (2..=4).for_each(|_| script.round());
    assert_eq!(script.cc.phase(), "conservative_slow_start");
    script.ack_after(Duration::ZERO, 1, true);
    assert_eq!(script.cc.phase(), "congestion_avoidance");
}

#[test]
fn resumes_when_the_rtt_falls_below_the_baseline() {
    let mut script = script(16.0);
    script.round();
    script.rtt = Duration::from_millis(120);
    script.round();
    assert_eq!(script.cc.phase(), "conservative_slow_start");
    script.rtt = Duration::from_millis(119);
    script.ack_after(Duration::ZERO, 1, true);
    (0..6).for_each(|_| script.ack(1));
    assert_eq!(script.cc.phase(), "conservative_slow_start", "seven samples");
    script.ack(1);
    assert_eq!(script.cc.phase(), "slow_start");
}

#[test]
fn serves_the_first_slow_start_only() {
    let mut script = script(64.0);
    script.time_out(200); // ssthresh 32 is finite now
    script.round();
    for _ in 0..4 {
        script.rtt += Duration::from_millis(50);
        script.round();
    }
    assert_eq!(script.cwnd(), 32.0);
}
