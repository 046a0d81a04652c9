use super::*;
use crate::testbed::{Script, assert_close};

fn script(initial_window: f64) -> Script {
    Script::with("newreno", initial_window, |params| params.set_word("slow_start", "hystart"))
}

#[test]
fn leaves_on_the_ninth_sample_of_a_longer_rtt_before_the_window_grows() {
    let mut script = script(16.0);
    // Spaced by 5 ms there is no ACK train.
    let spacing = Duration::from_millis(5);
    (0..16).for_each(|_| script.ack_after(spacing, 1, false));
    // Base 100 ms: threshold 100 + clamp(12.5, 4, 16). Just above it.
    script.rtt = Duration::from_micros(112_501);
    (0..8).for_each(|_| script.ack_after(spacing, 1, false));
    assert_eq!((script.cwnd(), script.cc.ssthresh()), (40.0, f64::INFINITY));
    script.ack_after(spacing, 1, false);
    assert_eq!(script.cc.ssthresh(), 40.0);
    assert_close(script.cwnd(), 40.0 + 1.0 / 40.0);
}

#[test]
fn the_threshold_itself_does_not_end_slow_start_and_the_handshake_does_not_count() {
    let mut script = script(16.0);
    script.view.min_rtt = Duration::from_millis(99);
    script.round();
    script.rtt = Duration::from_micros(112_500);
    (0..31).for_each(|_| script.ack_after(Duration::from_millis(5), 1, false));
    assert_eq!(script.cc.ssthresh(), f64::INFINITY);
}

#[test]
fn leaves_when_a_train_of_acks_lasts_half_of_the_rtt_and_a_millisecond() {
    let mut script = script(64.0);
    // 2 ms apart: a train. It lasts 50 ms with the 26th ACK, 50.5 with the 27th, more than that with the 28th.
    script.ack(1);
    (0..25).for_each(|_| script.ack_after(Duration::from_millis(2), 1, false));
    script.ack_after(Duration::from_micros(500), 1, false);
    assert_eq!((script.cwnd(), script.cc.ssthresh()), (91.0, f64::INFINITY));
    script.ack_after(Duration::from_micros(1), 1, false);
    assert_eq!(script.cc.ssthresh(), 91.0);
}

#[test]
fn a_gap_breaks_the_train_of_its_round() {
    let mut script = script(16.0);
    script.rtt = Duration::from_millis(10);
    script.ack(1);
    script.ack_after(Duration::from_micros(2_001), 1, false);
    // All that was out when the round began is acknowledged; a train of more than 5.5 ms would have ended slow start.
    (0..14).for_each(|_| script.ack_after(Duration::from_millis(1), 1, false));
    assert_eq!(script.cwnd(), 32.0);
    // The next round begins: 0 to 5 ms, then 6.
    (0..6).for_each(|_| script.ack_after(Duration::from_millis(1), 1, false));
    assert_eq!(script.cc.ssthresh(), f64::INFINITY);
    script.ack_after(Duration::from_millis(1), 1, false);
    assert_eq!(script.cc.ssthresh(), 38.0);
}

#[test]
fn a_paced_sender_has_a_whole_rtt_and_a_millisecond() {
    let mut script = Script::with("newreno", 64.0, |params| {
        params.set_flag("paced", true)?;
        params.set_word("slow_start", "hystart")
    });
    script.ack(1);
    (0..50).for_each(|_| script.ack_after(Duration::from_millis(2), 1, false));
    script.ack_after(Duration::from_millis(1), 1, false);
    assert_eq!(script.cc.ssthresh(), f64::INFINITY);
    script.ack_after(Duration::from_micros(1), 1, false);
    assert!(script.cc.ssthresh().is_finite());
}

#[test]
fn small_windows_are_left_alone_but_have_rounds() {
    let mut script = script(2.0);
    script.ack(1);
    script.rtt = Duration::from_millis(500);
    // 2 + 13 = 15 packets; the ACK after that finds 15 too. Whatever rounds the transport counts, those of the stream begin with
    // its packets 1, 3 and 7, and the next with the 15th, so the samples of windows of 16 to 24 packets are of one round.
    (0..12).for_each(|i| script.ack_after(Duration::ZERO, 1, i % 4 == 0));
    assert_eq!(script.cwnd(), 15.0);
    (0..9).for_each(|_| script.ack(1));
    assert_eq!(script.cc.ssthresh(), f64::INFINITY);
    script.ack(1);
    assert_eq!(script.cc.ssthresh(), 24.0);
}

#[test]
fn a_timeout_forgets_the_base_rtt_and_what_was_out_is_of_no_round() {
    let mut script = script(64.0);
    script.round();
    script.time_out(40);
    script.cc.on_window_change(&script.view, &crate::WindowChange { cwnd: 16.0, ssthresh: f64::INFINITY });
    script.rtt = Duration::from_millis(500);
    // More than the old base RTT and an eighth, but this is the base now.
    (0..20).for_each(|_| script.ack_after(Duration::from_millis(5), 1, false));
    assert_eq!(script.cc.ssthresh(), f64::INFINITY);
}
