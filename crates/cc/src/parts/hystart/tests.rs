use super::*;
use crate::testbed::Script;

fn script(initial_window: f64) -> Script {
    Script::with("newreno", initial_window, |params| params.set_word("slow_start", "hystart"))
}

#[test]
fn leaves_on_the_ninth_sample_of_a_longer_rtt() {
    let mut script = script(16.0);
    // Spaced by 5 ms there is no ACK train.
    let spacing = Duration::from_millis(5);
    (0..16).for_each(|i| script.ack_after(spacing, 1, i == 0));
    // Base 100 ms: threshold 100 + clamp(12.5, 4, 16). Just above it.
    script.rtt = Duration::from_micros(112_501);
    (0..8).for_each(|i| script.ack_after(spacing, 1, i == 0));
    assert_eq!((script.cwnd(), script.cc.ssthresh()), (40.0, f64::INFINITY));
    script.ack_after(spacing, 1, false);
    assert_eq!((script.cwnd(), script.cc.ssthresh()), (41.0, 41.0));
}

#[test]
fn the_threshold_itself_does_not_end_slow_start() {
    let mut script = script(16.0);
    script.round();
    script.rtt = Duration::from_micros(112_500);
    (0..40).for_each(|i| script.ack_after(Duration::from_millis(5), 1, i == 0));
    assert_eq!(script.cc.ssthresh(), f64::INFINITY);
}

#[test]
fn leaves_when_a_train_of_acks_lasts_half_the_rtt() {
    let mut script = script(16.0);
    // 2 ms apart: a train. It lasts 50 ms with the 26th ACK, more than that with the 27th.
    let spacing = Duration::from_millis(2);
    script.ack_after(spacing, 1, true);
    (0..25).for_each(|_| script.ack_after(spacing, 1, false));
    assert_eq!(script.cc.ssthresh(), f64::INFINITY);
    script.ack_after(spacing, 1, false);
    assert_eq!((script.cwnd(), script.cc.ssthresh()), (43.0, 43.0));
}

#[test]
fn a_gap_breaks_the_train() {
    let mut script = script(16.0);
    script.ack_after(Duration::ZERO, 1, true);
    script.ack_after(Duration::from_micros(2_001), 1, false);
    (0..100).for_each(|_| script.ack_after(Duration::from_millis(1), 1, false));
    assert_eq!(script.cc.ssthresh(), f64::INFINITY, "no train before the next round");
}

#[test]
fn a_paced_sender_has_a_whole_rtt() {
    let mut script = Script::with("newreno", 16.0, |params| {
        params.set_flag("paced", true)?;
        params.set_word("slow_start", "hystart")
    });
    script.ack_after(Duration::ZERO, 1, true);
    (0..50).for_each(|_| script.ack_after(Duration::from_millis(2), 1, false));
    assert_eq!(script.cc.ssthresh(), f64::INFINITY, "100 ms are not more than the RTT");
    script.ack_after(Duration::from_millis(2), 1, false);
    assert!(script.cc.ssthresh().is_finite());
}

#[test]
fn small_windows_are_left_alone() {
    let mut script = script(2.0);
    script.rtt = Duration::from_millis(100);
    script.ack_after(Duration::ZERO, 1, true);
    script.rtt = Duration::from_millis(500);
    // 2 + 13 = 15 packets: below 16 nothing is measured.
    (0..12).for_each(|_| script.ack(1));
    assert_eq!(script.cwnd(), 15.0);
    // The nine samples are counted from the window of 16 on.
    (0..9).for_each(|_| script.ack(1));
    assert_eq!(script.cc.ssthresh(), f64::INFINITY);
}
