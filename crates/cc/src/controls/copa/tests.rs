//! Copa against the closed forms of the paper's section 3 on the packet-level bottleneck of `tests/bed`: 1000 packets/s, 100 ms, the
//! pipe holds 101. A lone flow's queue swings between 0 and 2.5/delta packets with a period of five round trips.

use super::*;
use crate::testbed::{Any, Link, Network, ack, loss, view};

fn copa(mode: &str, delta: f64) -> Copa {
    let mut params = Params::defaults(ENTRY.params);
    params.set_word("mode", mode).expect("a mode");
    params.set_number("delta", delta).expect("in range");
    Copa::new(&params, 10.0)
}

fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

const DEEP: Link = Link { queue_limit: 200, ..Link::PLAIN };

/// delta 0.5: at most 5 packets queued, 2.5 on average; delta 0.1: 25 and 12.5.
#[test]
fn amplitude_of_the_queue() {
    for delta in [0.5, 0.1] {
        let mut network = Network::new(DEEP, copa("default", delta));
        let stats = network.measure(secs(5), secs(20));
        assert!(stats.rate(network.now) > 998.0, "{stats:?}");
        // An RTT of 101 ms + n ms has n packets queued.
        let longest = (stats.rtt.1 - Duration::from_millis(101)).as_millis_f64();
        assert!((longest - 2.5 / delta).abs() <= 2.0 + 0.1 / delta, "{delta}: {longest}");
        assert!(stats.rtt.0 <= Duration::from_millis(102), "the queue empties: {stats:?}");
        let mean = stats.in_flight() - 101.0;
        assert!((mean - 1.25 / delta).abs() <= 0.3 / delta, "{delta}: {mean}");
        assert_eq!(network.flows[0].lost, 0, "slow start ends by delay, not by loss");
    }
}

/// Two changes of direction in five round trips: at 103.5 ms 77 in 20 s, one or two more where the target is met twice.
#[test]
fn period_of_the_queue() {
    let mut network = Network::new(DEEP, copa("default", 0.1));
    network.run_for(secs(5));
    let (mut changes, mut last) = (0, None);
    for _ in 0..20_000 {
        network.run_for(Duration::from_millis(1));
        let direction = network.cc().velocity.direction;
        changes += u32::from(direction != last);
        last = direction;
    }
    // RTT 113 ms on average: 20 / (5 * 0.113) * 2 = 71.
    assert!((60..=90).contains(&changes), "{changes}");
}

/// The equilibrium of n flows: equal rates, n / delta packets of queue at most 2.5 n / delta.
#[test]
fn flows_share_equally() {
    let mut network = Network::new(DEEP, copa("default", 0.5));
    network.run_for(secs(5));
    network.add_flow(copa("default", 0.5));
    network.run_for(secs(20));
    network.reset_stats();
    network.run_for(secs(30));
    let rates = [0, 1].map(|i| network.flows[i].stats.rate(network.now));
    assert!((rates[0] - rates[1]).abs() < 100.0 && rates[0] + rates[1] > 990.0, "{rates:?}");
    assert!(network.flows[0].stats.rtt.1 < Duration::from_millis(101 + 13), "{:?}", network.flows[0].stats.rtt);
}

/// Beside NewReno the default mode gets next to nothing and the competitive mode about half (section 2.2, figure 9).
#[test]
fn competes_with_a_flow_that_fills_the_queue() {
    let share = |mode| {
        let mut network = Network::new(Link::PLAIN, Any::new("newreno"));
        network.run_for(secs(10));
        network.add_flow(Any(Box::new(copa(mode, 0.5))));
        network.run_for(secs(30));
        network.reset_stats();
        network.run_for(secs(90));
        network.flows[1].stats.rate(network.now) / 1000.0
    };
    assert!(share("default") < 0.15, "{}", share("default"));
    assert!((0.3..0.6).contains(&share("auto")), "{}", share("auto"));
}

/// Alone it is in default mode but for moments, also under random loss, which costs it nothing else.
#[test]
fn alone_it_does_not_compete() {
    for loss in [0.0, 0.02] {
        let mut network = Network::new(Link { loss, ..DEEP }, copa("auto", 0.5));
        network.run_for(secs(5));
        network.reset_stats();
        let mut competing = 0;
        for _ in 0..10_000 {
            network.run_for(Duration::from_millis(1));
            competing += u32::from(network.cc().is_competitive);
        }
        assert!(competing < 1_500, "{loss}: {competing} ms of 10 s");
        assert!(network.flows[0].stats.rate(network.now) > 985.0, "{loss}");
    }
}

/// Doubling begins when the direction has been the same for three rounds; a change of direction starts over.
#[test]
fn velocity_by_hand() {
    let mut velocity = Velocity { round_cwnd: 10.0, ..Velocity::new() };
    let v: Vec<f64> = (1..=6)
        .map(|n| {
            velocity.end_round(10.0 + f64::from(n));
            velocity.v
        })
        .collect();
    // First round: a direction. Then the same one, two, three times: 2, 4, 8.
    assert_eq!(v, [1.0, 1.0, 1.0, 2.0, 4.0, 8.0]);
    velocity.end_round(12.0);
    assert_eq!((velocity.v, velocity.direction), (1.0, Some(Direction::Down)));
}

/// delta 0.5, window 50: 1 / (0.5 * 50) = 0.04 per packet, 2 packets per round trip; at v = 8 eight times that; never more than a
/// window per round trip; a step against the direction falls back to v = 1.
#[test]
fn steps_by_hand() {
    let mut velocity = Velocity { v: 8.0, direction: Some(Direction::Up), ..Velocity::new() };
    assert_eq!(velocity.step(Direction::Up, 50.0, 2.0), 0.32);
    assert_eq!(velocity.step(Direction::Down, 50.0, 2.0), 0.04);
    velocity = Velocity { v: 64.0, direction: Some(Direction::Up), ..Velocity::new() };
    assert_eq!(velocity.step(Direction::Up, 50.0, 2.0), 1.0, "v at most 0.5 * 50 = 25");
    assert_eq!(velocity.v, 25.0);
}

/// RTTstanding 110 ms, d_q 10 ms, delta 0.5: target 1 / (0.5 * 0.01) = 200/s, that is a window of 22.
#[test]
fn target_by_hand() {
    let mut control = copa("default", 0.5);
    let delay = Delay { standing: Duration::from_millis(110), queueing: Duration::from_millis(10) };
    control.cwnd = 21.9;
    assert!(control.is_below_target(delay));
    control.cwnd = 22.1;
    assert!(!control.is_below_target(delay));
    assert!(control.is_below_target(Delay { queueing: Duration::ZERO, ..delay }));
}

fn acked(at_ms: u64, rtt_ms: u64, round_start: bool) -> (View<'static>, Ack) {
    (view(at_ms), Ack { rtt: Some(Duration::from_millis(rtt_ms)), round_start, ..ack() })
}

/// RTTmin 100, RTTmax 200: up to 10 ms of delay is nearly empty. The mode changes when that is 5 * 100 ms ago, and back at once.
#[test]
fn mode_by_hand() {
    let mut control = copa("auto", 0.5);
    control.on_connection_start(&view(0));
    let mut take = |at_ms, rtt_ms| {
        let (view, ack) = acked(at_ms, rtt_ms, false);
        control.on_ack(&view, &ack);
        control.is_competitive
    };
    assert!(!take(0, 100));
    assert!(!take(100, 200) && !take(300, 150) && !take(500, 150));
    assert!(take(501, 150), "501 ms after the empty queue");
    assert!(take(560, 150) && !take(600, 104), "4 ms of 50 are nearly nothing");
}

/// 1/delta: 2, +1 per round trip without loss, halved by a loss but not below 2; 2 again when the mode ends.
#[test]
fn competitive_delta_by_hand() {
    let mut control = copa("competitive", 0.5);
    let mut delta = |at_ms, is_lost: bool| {
        if is_lost {
            control.on_congestion(&view(at_ms), &loss(10));
        }
        let (view, ack) = acked(at_ms, 150, true);
        control.on_ack(&view, &ack);
        control.inverse_delta
    };
    assert_eq!([1, 2, 3, 4, 5, 6].map(|n| delta(n * 100, false)), [3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    assert_eq!(delta(700, true), 4.0, "halved, and no increase in that round");
    assert_eq!(delta(800, false), 5.0);
    assert_eq!([900, 1000].map(|at| delta(at, true)), [2.5, 2.0]);
}

#[test]
fn a_timeout_restarts_and_can_be_undone() {
    let mut control = copa("auto", 0.5);
    control.cwnd = 80.0;
    control.in_slow_start = false;
    control.on_rto(&view(0), &Rto { flight_size: 80, reduces: true });
    assert_eq!((control.cwnd, control.phase()), (1.0, "slow_start"));
    control.on_undo(&view(1), &Undo { was_rto: true });
    assert_eq!((control.cwnd, control.phase()), (80.0, "default_mode"));
}

/// Paced at twice the window per standing RTT: 2 * 11 * 11 680 bits / 100 ms.
#[test]
fn pacing_by_hand() {
    let mut control = copa("auto", 0.5);
    let (view, ack) = acked(0, 100, false);
    control.on_ack(&view, &ack);
    assert_eq!(control.pacing_rate(), Some(Rate::from_bits_per_sec(2_569_600)));
}
