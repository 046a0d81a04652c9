use super::*;
use crate::testbed::{Script, assert_close};

#[test]
fn the_filter_has_two_stages_of_an_eighth() {
    let mut bandwidth = Bandwidth { stages: None, sample_started_at: None, delivered: 0 };
    bandwidth.filter(1000.0);
    assert_eq!(bandwidth.stages, Some((1000.0, 1000.0)));
    // Then 1800: first 7000/8 + 225 = 1100, second 7000/8 + 137.5 = 1012.5. Again: 1187.5 and 1034.375.
    bandwidth.filter(1800.0);
    assert_eq!(bandwidth.stages, Some((1100.0, 1012.5)));
    bandwidth.filter(1800.0);
    assert_eq!(bandwidth.stages, Some((1187.5, 1034.375)));
}

#[test]
fn one_sample_per_rtt_and_at_least_50_ms() {
    let samples = |rtt_millis: u64| {
        let mut bandwidth = Bandwidth { stages: None, sample_started_at: Some(Time::ZERO), delivered: 0 };
        let mut last = None;
        // A packet every millisecond for a second.
        (1..=1000)
            .filter(|millis| {
                bandwidth.take(Time::from_millis(*millis), Duration::from_millis(rtt_millis), 1);
                std::mem::replace(&mut last, bandwidth.sample_started_at) != bandwidth.sample_started_at
            })
            .count()
    };
    // Longer than 100 ms: every 101 ms, 9 in a second. 10 ms: every 51 ms, 19. The first ACK shows the start: one more.
    assert_eq!((samples(100), samples(10)), (10, 20));
}

#[test]
fn a_loss_leaves_what_the_measured_bandwidth_fills() {
    // 40 packets per 120 ms while the smallest RTT was 100 ms: 333 packets/s * 0.1 s = 33.3 packets. Reno would have 20.
    let mut script = Script::new("westwood", 40.0);
    script.ack(0);
    script.avoid_congestion_at(40.0);
    script.may_grow = false;
    script.rtt = Duration::from_millis(120);
    (0..30).for_each(|_| script.round());
    script.lose();
    assert!((script.cwnd() - 33.33).abs() < 0.5, "{}", script.cwnd());
    assert_close(script.cc.ssthresh(), script.cwnd());
}

#[test]
fn random_loss_costs_little() {
    // No queue: bandwidth times smallest RTT is the window itself.
    let mut script = Script::new("westwood", 40.0);
    script.avoid_congestion_at(40.0);
    script.may_grow = false;
    (0..30).for_each(|_| script.round());
    script.lose();
    assert!(script.cwnd() > 39.0, "{}", script.cwnd());
}

#[test]
fn a_loss_never_raises_the_window() {
    let mut westwood = Westwood::new(&Params::defaults(ENTRY.params), 40.0);
    westwood.bandwidth.stages = Some((1000.0, 1000.0)); // 1000 packets/s * 0.1 s are 100 packets
    westwood.rtt_min = Some(Duration::from_millis(100));
    let mut script = Script::new("newreno", 40.0);
    script.cc = Box::new(westwood);
    script.lose();
    assert_eq!((script.cwnd(), script.cc.ssthresh()), (40.0, 40.0));
}

#[test]
fn unmeasured_it_halves() {
    let mut script = Script::new("westwood", 40.0);
    script.lose();
    assert_eq!(script.cwnd(), 20.0);
}

#[test]
fn a_timeout_forgets_the_smallest_rtt() {
    // 40 packets per 100 ms; then the path takes 200 ms: 200 packets/s * 0.2 s are 40 packets, not 20.
    let mut script = Script::new("westwood", 40.0);
    script.may_grow = false;
    (0..30).for_each(|_| script.round());
    script.time_out(40);
    script.avoid_congestion_at(40.0);
    script.rtt = Duration::from_millis(200);
    (0..60).for_each(|_| script.round());
    script.lose();
    assert!(script.cwnd() > 38.0, "{}", script.cwnd());
}

#[test]
fn a_timeout_keeps_the_pipe_as_threshold() {
    let mut script = Script::new("westwood", 40.0);
    script.avoid_congestion_at(40.0);
    script.may_grow = false;
    (0..30).for_each(|_| script.round());
    script.time_out(40);
    assert_eq!(script.cwnd(), 1.0);
    assert!(script.cc.ssthresh() > 39.0, "{}", script.cc.ssthresh());
}
