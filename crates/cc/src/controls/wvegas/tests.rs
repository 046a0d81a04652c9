use super::*;
use crate::parts::coupled::testing::{subflow, view};
use crate::testbed::assert_close;

/// A subflow at `cwnd` packets in congestion avoidance with a base RTT of 100 ms and the round's mean RTT.
fn subflow_in_round(cwnd: f64, rtt_millis: u64, drains: bool) -> WeightedVegas {
    let mut params = Params::defaults(ENTRY.params);
    params.set_flag("drain", drains).expect("a switch");
    let mut subflow = WeightedVegas::new(&params, cwnd);
    subflow.reno.windows.ssthresh = 2.0;
    subflow.rounds.base_rtt = Duration::from_millis(100);
    subflow.rounds.round = RttRound { min: Duration::ZERO, sum: Duration::from_millis(rtt_millis) * 10, count: 10 };
    subflow
}

fn ack() -> Ack {
    Ack { prior_in_flight: 20, round_start: true, ..Ack::new(1, 1460) }
}

#[test]
fn the_backlog_is_shared_by_rate() {
    // Rates 30/0.125 = 240 and 10/0.125 = 80 packets/s: weight 0.75, alpha 7.5. Diff = 30 (1 - 100/125) = 6: grows.
    let siblings = [subflow(30.0, 125), subflow(10.0, 125)];
    let mut big = subflow_in_round(30.0, 125, false);
    big.end_round(&view(&siblings, 0), &ack());
    assert_close(big.alpha, 7.5);
    assert_close(big.reno.windows.cwnd, 31.0);
    // The small one: weight 0.25, alpha 2.5; diff = 10 * 0.2 = 2, at least initial_alpha: 2 < 2.5 grows.
    let mut small = subflow_in_round(10.0, 125, false);
    small.end_round(&view(&siblings, 1), &ack());
    assert_close(small.alpha, 2.5);
    assert_close(small.reno.windows.cwnd, 11.0);
    // Weight 10/160 of 10 packets would be less than 1: alpha is 2 at least. Diff 2: held.
    let siblings = [subflow(150.0, 125), subflow(10.0, 125)];
    let mut tiny = subflow_in_round(10.0, 125, false);
    tiny.end_round(&view(&siblings, 1), &ack());
    assert_close(tiny.alpha, 2.0);
    assert_close(tiny.reno.windows.cwnd, 10.0);
}

#[test]
fn alone_it_is_vegas_with_the_whole_backlog() {
    // Weight 1, alpha 10. 50 packets at 125 ms: diff 10, held. 55: 11, shrinks. 45: 9, grows.
    for (cwnd, after) in [(50.0, 50.0), (55.0, 54.0), (45.0, 46.0)] {
        let mut alone = subflow_in_round(cwnd, 125, false);
        alone.end_round(&view(&[subflow(cwnd, 125)], 0), &ack());
        assert_close(alone.reno.windows.cwnd, after);
    }
}

#[test]
fn drains_when_the_queueing_delay_has_doubled() {
    let siblings = [subflow(50.0, 125)];
    let mut subflow = subflow_in_round(50.0, 125, true);
    subflow.queue_delay = Some(Duration::from_millis(13));
    subflow.end_round(&view(&siblings, 0), &ack());
    assert_close(subflow.reno.windows.cwnd, 50.0); // 25 ms are less than 2 * 13
    subflow = subflow_in_round(50.0, 125, true);
    subflow.queue_delay = Some(Duration::from_micros(12_500));
    subflow.end_round(&view(&siblings, 0), &ack());
    // 50 * 100/(2 * 125) = 20.
    assert_close(subflow.reno.windows.cwnd, 20.0);
    assert_eq!(subflow.queue_delay, None);
}

#[test]
fn an_empty_queue_is_not_drained() {
    let mut subflow = subflow_in_round(50.0, 100, true);
    subflow.end_round(&view(&[subflow_of_50()], 0), &ack());
    assert_close(subflow.reno.windows.cwnd, 51.0);
}

fn subflow_of_50() -> crate::Sibling {
    subflow(50.0, 100)
}

#[test]
fn slow_start_ends_at_the_rate_of_the_acks() {
    let mut subflow = subflow_in_round(25.0, 125, true);
    subflow.reno.windows.ssthresh = f64::INFINITY;
    // Diff 25 * 0.2 = 5 > 1: 25 * 100/125 + 1 = 21, ssthresh 20.
    subflow.end_round(&view(&[subflow_of_50()], 0), &ack());
    assert_eq!((subflow.reno.windows.cwnd, subflow.reno.windows.ssthresh), (21.0, 20.0));
}
