use super::*;
use crate::testbed::Script;

/// Congestion avoidance at `cwnd` packets; the round under way has seen RTTs of `rtt_millis`, the base RTT is 100 ms.
fn in_round(cwnd: f64, rtt_millis: u64) -> Script {
    let mut script = Script::new("vegas-linux", cwnd);
    script.ack_after(Duration::ZERO, 1, true);
    script.avoid_congestion_at(cwnd);
    script.rtt = Duration::from_millis(rtt_millis);
    // Ends the round that saw the base RTT; the window it leaves is set back.
    script.ack_after(Duration::ZERO, 1, true);
    script.avoid_congestion_at(cwnd);
    (0..5).for_each(|_| script.ack(1));
    script
}

#[test]
fn diff_divides_by_the_base_rtt() {
    // 20 packets, 125 ms: 20 (125 - 100) / 100 = 5 (Brakmo's is 4), above beta 4: -1. 16 packets: 4, held. 8: 2, held.
    // 7: 1.75, which is 1 in whole packets, below alpha 2: +1.
    for (cwnd, after) in [(20.0, 19.0), (16.0, 16.0), (8.0, 8.0), (7.0, 8.0)] {
        let mut script = in_round(cwnd, 125);
        script.ack_after(Duration::ZERO, 1, true);
        assert_eq!(script.cwnd(), after, "{cwnd} packets");
    }
}

#[test]
fn needs_three_samples() {
    let mut script = Script::new("vegas-linux", 20.0);
    script.ack_after(Duration::ZERO, 1, true);
    script.avoid_congestion_at(20.0);
    script.rtt = Duration::from_millis(200);
    script.ack_after(Duration::ZERO, 1, true);
    let before = script.cwnd();
    script.ack_after(Duration::ZERO, 1, true); // one sample of its own and no other: Reno
    assert_eq!(script.cwnd(), before + 1.0 / before);
}

#[test]
fn slow_start_ends_at_the_rate_of_the_acks() {
    let mut script = Script::new("vegas-linux", 10.0);
    script.round();
    script.rtt = Duration::from_millis(125);
    script.ack_after(Duration::ZERO, 1, true); // 20 packets and its own: 21
    (0..4).for_each(|_| script.ack(1)); // 25
    // Diff 25 * 25/100 = 6 > 1. Target 25 * 100/125 = 20, plus 1.
    script.ack_after(Duration::ZERO, 1, true);
    assert_eq!((script.cwnd(), script.cc.ssthresh()), (21.0, 21.0));
}

#[test]
fn the_threshold_follows_at_three_quarters() {
    let mut script = in_round(40.0, 100);
    script.ack_after(Duration::ZERO, 1, true); // no queue: 41; 0.75 * 41
    assert_eq!((script.cwnd(), script.cc.ssthresh()), (41.0, 30.75));
}

#[test]
fn is_reno_in_recovery() {
    let mut script = in_round(20.0, 125);
    script.view.in_recovery = true;
    script.ack_after(Duration::ZERO, 1, true); // Diff 5 would shrink
    assert_eq!(script.cwnd(), 20.05);
}

#[test]
fn idle_forgets_the_base_rtt() {
    let mut script = in_round(20.0, 125);
    script.cc.on_idle_restart(
        &script.view,
        &IdleRestart { idle: Duration::from_secs(5), silent: Duration::from_secs(5), is_app_limited: true },
    );
    (0..5).for_each(|_| script.ack(1));
    script.ack_after(Duration::ZERO, 1, true);
    assert_eq!(script.cwnd(), 21.0, "125 ms is the base RTT now: no queue");
}

#[test]
fn losses_are_renos() {
    let mut script = in_round(20.0, 100);
    script.lose();
    assert_eq!(script.cwnd(), 10.0);
}
