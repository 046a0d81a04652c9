use crate::testbed::{Script, assert_close};
use crate::{View, WindowChange};
use playpath_units::Time;

#[test]
fn one_packet_per_round_trip() {
    let mut script = Script::new("newreno", 20.0);
    script.lose(); // 20 * 0.5
    script.exit_recovery();
    assert_eq!((script.cwnd(), script.cc.ssthresh()), (10.0, 10.0));
    // Ten ACKs: w^2 grows by a little over 2 each (2 + 1/w^2), so w goes to about sqrt(100 + 20.09) = 10.9586.
    script.round();
    assert!((script.cwnd() - 10.9586).abs() < 1e-3, "{}", script.cwnd());
    // With delayed ACKs the same number of packets: 10 + 5 * 2/10.4 or so; eleven packets make at least a whole one.
    let mut delayed = Script::new("newreno", 20.0);
    delayed.lose();
    (0..6).for_each(|_| delayed.ack(2));
    assert!(delayed.cwnd() > 11.0 && delayed.cwnd() < 11.2, "{}", delayed.cwnd());
}

#[test]
fn halves_what_was_in_flight() {
    let mut script = Script::new("newreno", 40.0);
    script.lose_of(24); // RFC 5681 equation 4: 24 / 2
    assert_eq!((script.cwnd(), script.cc.ssthresh()), (12.0, 12.0));
    let mut linux = Script::with("reno", 40.0, |params| params.set_word("reduce_from", "cwnd"));
    linux.lose_of(24); // Linux: 40 / 2
    assert_eq!(linux.cwnd(), 20.0);
    let mut small = Script::new("newreno", 3.0);
    small.lose(); // at least 2
    assert_eq!(small.cwnd(), 2.0);
}

#[test]
fn ecn_halves_as_a_loss_does() {
    let mut script = Script::new("newreno", 40.0);
    script.congest_by_ecn(40);
    assert_eq!(script.cwnd(), 20.0);
}

/// RFC 8511: 40 × 0.8 after a mark; a loss halves as ever.
#[test]
fn a_mark_costs_less_under_abe() {
    let mut script = Script::with("newreno", 40.0, |params| params.set_number("ecn_beta", 0.8));
    script.congest_by_ecn(40);
    assert_eq!((script.cwnd(), script.cc.ssthresh()), (32.0, 32.0));
    script.exit_recovery();
    script.lose_of(32);
    assert_eq!(script.cwnd(), 16.0);
}

#[test]
fn timeout_then_slow_start_to_half() {
    let mut script = Script::new("newreno", 32.0);
    script.time_out(32);
    assert_eq!((script.cwnd(), script.cc.ssthresh(), script.cc.phase()), (1.0, 16.0, "slow_start"));
    (0..15).for_each(|_| script.ack(1));
    assert_eq!((script.cwnd(), script.cc.phase()), (16.0, "congestion_avoidance"));
    script.ack(1);
    assert_close(script.cwnd(), 16.0 + 1.0 / 16.0);
}

/// Linux: half of eleven is five; five acknowledged packets are one more, and what was counted before a loss is forgotten.
#[test]
fn linux_counts_whole_packets() {
    let mut linux = Script::with("newreno", 11.0, |params| {
        params.set_word("reduce_from", "cwnd").and_then(|()| params.set_word("growth", "linux"))
    });
    linux.lose();
    linux.exit_recovery();
    assert_eq!((linux.cwnd(), linux.cc.ssthresh()), (5.0, 5.0));
    linux.ack(4);
    assert_eq!(linux.cwnd(), 5.0);
    linux.ack(1);
    assert_eq!(linux.cwnd(), 6.0);
    linux.ack(5);
    linux.lose();
    linux.exit_recovery();
    linux.ack(2);
    assert_eq!(linux.cwnd(), 3.0);
    linux.ack(1);
    assert_eq!(linux.cwnd(), 4.0);
}

/// A threshold from outside is whole as well: a window of whole packets never reaches 39.75, and would stay at 39 in slow start where each ACK
/// is of one packet.
#[test]
fn linux_rounds_a_threshold_that_is_set_from_outside() {
    for control in ["newreno", "cubic"] {
        let mut linux = Script::with(control, 53.0, |params| {
            params.set_word("reduce_from", "cwnd").and_then(|()| params.set_word("growth", "linux"))
        });
        linux.cc.on_window_change(&View::new(Time::ZERO, 1448), &WindowChange { cwnd: 10.0, ssthresh: 39.75 });
        assert_eq!(linux.cc.ssthresh(), 39.0);
        (0..29).for_each(|_| linux.ack(1));
        assert_eq!((linux.cwnd(), linux.cc.phase()), (39.0, "congestion_avoidance"), "{control}");
        (0..80).for_each(|_| linux.ack(1));
        assert!(linux.cwnd() > 39.0, "{control}");
    }
}
