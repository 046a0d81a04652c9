//! The rules of the control by hand, and its equilibria on the packet-level bottleneck of `tests/bed`: 1000 packets/s, 100 ms, the
//! pipe holds 101.

use super::*;
use crate::testbed::{Link, MSS, Network, ack, assert_close, assert_near, loss, view};
use playpath_units::{Duration, Time};

const DEEP: Link = Link { queue_limit: 200, ..Link::PLAIN };

fn slack() -> Slack {
    Slack::new(&Params::defaults(ENTRY.params), 10.0)
}

fn with(set: &[(&str, f64)]) -> Slack {
    let mut params = Params::defaults(ENTRY.params);
    for (name, value) in set {
        params.set_number(name, *value).expect("in range");
    }
    Slack::new(&params, 10.0)
}

fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// 1 Mbit/s, 10 s of buffer; an object of 2 s that is as large as the rate says. `level` in seconds.
fn told(level: f64) -> AppParameters {
    AppParameters {
        playout_buffer_bytes: 1_250_000,
        playout_buffer_free_bytes: Some(1_250_000 - (level * 125_000.0) as u64),
        video_rate: Rate::from_bits_per_sec(1_000_000),
        object_bytes: Some(250_000),
        object_duration: Some(secs(2)),
        top_rate: Some(Rate::from_bits_per_sec(1_000_000)),
        ..AppParameters::default()
    }
}

/// A video that is far too fast for the link, so that only the buffer rules: its `level` hardly moves in a minute.
fn vast(level: f64) -> AppParameters {
    let second = 125_000_000_000_u64;
    AppParameters {
        playout_buffer_bytes: 1000 * second,
        playout_buffer_free_bytes: Some(((1000.0 - level) * second as f64) as u64),
        video_rate: Rate::from_bits_per_sec(8 * second),
        object_bytes: Some(1000 * second),
        object_duration: Some(secs(1000)),
        top_rate: Some(Rate::from_bits_per_sec(8 * second)),
        ..AppParameters::default()
    }
}

/// 0.5 MB of 1.25 MB are free: 6 s of 10 s are there. One second later with 1 s of media more it is 6 s again, 2 s later
/// without any 4 s. Calm from 8 s, alarmed below 4 s: urgency (8 - 6) / (8 - 4) = 0.5, then 1.
#[test]
fn the_level_is_reckoned_between_reports() {
    let mut playout = Playout::told(Time::ZERO, None, &told(6.0)).expect("a buffer");
    let urgency = |playout: &Playout| playout.urgency(0.8, 0.4, Duration::ZERO);
    playout.advance(Time::from_secs(1), 125_000);
    assert_close(urgency(&playout), 0.5);
    playout.advance(Time::from_secs(2), 0);
    assert_close(urgency(&playout), 0.75);
    playout.advance(Time::from_secs(4), 0);
    assert_close(urgency(&playout), 1.0);
    // A reserve of 12 s makes the calm level 12 s and the alarm 6 s: with 6 s left all is urgent.
    let playout = Playout::told(Time::ZERO, None, &told(6.0)).expect("a buffer");
    assert_close(playout.urgency(0.8, 0.4, secs(12)), 1.0);
}

/// Nothing is played before half the buffer is there: 5 s of media in 3 s. Then it drains.
#[test]
fn a_player_that_starts_does_not_drain() {
    let start = AppParameters { playout_buffer_free_bytes: None, ..told(0.0) };
    let mut playout = Playout::told(Time::ZERO, None, &start).expect("a buffer");
    playout.advance(Time::from_secs(2), 250_000);
    assert_close(playout.urgency(0.8, 0.1, Duration::ZERO), 1.0);
    playout.advance(Time::from_secs(3), 375_000);
    playout.advance(Time::from_secs(4), 0);
    // 5 - 1 = 4 s: (8 - 4) / (8 - 1).
    assert_near(playout.urgency(0.8, 0.1, Duration::ZERO), 4.0 / 7.0, 1e-9);
}

/// Over several paths the level grows by what all of them deliver: 0.5 s of media over this path, 1 s in all, in a second. From 6.4 s
/// the level stays, at an urgency of 0.4.
#[test]
fn the_level_counts_all_paths() {
    let mut cc = with(&[("reserve", 0.0)]);
    cc.on_app_parameters(&view(0), &told(6.4));
    let later = View { stream_acked: Some(125_000), ..view(1000) };
    cc.on_ack(&later, &Ack { delivered: 62_500 / MSS, may_grow: false, ..ack() });
    assert_near(cc.urgency(&later), 0.4, 1e-9);
}

/// Without the object's size and length, or with zeros, nothing is known.
#[test]
fn half_a_report_is_none() {
    let cases = [
        AppParameters { object_bytes: None, ..told(9.0) },
        AppParameters { object_duration: Some(Duration::ZERO), ..told(9.0) },
        AppParameters { video_rate: Rate::from_bits_per_sec(0), ..told(9.0) },
        AppParameters { playout_buffer_bytes: 0, ..told(9.0) },
    ];
    for case in cases {
        assert!(Playout::told(Time::ZERO, None, &case).is_none(), "{case:?}");
    }
}

fn measured(rtt_ms: u64) -> Slack {
    let mut cc = slack();
    cc.on_window_change(&view(0), &WindowChange { cwnd: 100.0, ssthresh: 100.0 });
    for at in 0..40 {
        cc.on_ack(&view(at), &Ack { rtt: Some(Duration::from_millis(rtt_ms)), may_grow: false, ..ack() });
    }
    cc
}

/// min_rtt 100 ms. At 105 ms 4.8 % of the RTT is queueing: no congestion. At 150 ms a third: CUBIC's 0.7. ECN always counts.
#[test]
fn a_loss_counts_if_it_comes_with_a_queue() {
    for (rtt_ms, after) in [(100, 100.0), (105, 100.0), (150, 70.0)] {
        let mut cc = measured(rtt_ms);
        cc.on_congestion(&view(40), &loss(100));
        assert_close(cc.cwnd(), after);
    }
    let mut cc = measured(100);
    cc.on_congestion(&view(40), &CongestionEvent { signal: CongestionSignal::Ecn, ..loss(100) });
    assert_close(cc.cwnd(), 70.0);
    let mut cc = measured(100);
    cc.settings.tolerance = 0.0;
    cc.on_congestion(&view(40), &loss(100));
    assert_close(cc.cwnd(), 70.0);
}

/// Six of 106 packets are 5.7 %, above the tolerance of 5 %, and the losses let pass become one reduction; five of 105 do not.
#[test]
fn too_many_losses_count_without_a_queue() {
    for (lost, after) in [(5, 100.0), (6, 70.0)] {
        let mut cc = measured(100);
        cc.on_congestion(&view(40), &loss(100));
        let later = View { delivered: 100, lost, flight_size: 100, ..view(140) };
        cc.on_ack(&later, &Ack { round_start: true, may_grow: false, ..ack() });
        assert_close(cc.cwnd(), after);
    }
}

/// Nothing is undone that was not done.
#[test]
fn an_ignored_loss_has_no_undo() {
    let mut cc = measured(150);
    cc.on_congestion(&view(40), &loss(100));
    for at in 41..80 {
        cc.on_ack(&view(at), &Ack { rtt: Some(Duration::from_millis(100)), may_grow: false, ..ack() });
    }
    cc.on_congestion(&view(80), &loss(70));
    cc.on_undo(&view(81), &Undo { was_rto: false });
    assert_close(cc.cwnd(), 70.0);
}

/// The pipe of 101 packets stays full under 1 % random loss, with which the square-root law gives Reno 12 packets.
#[test]
fn random_loss_leaves_the_pipe_full() {
    let mut network = Network::new(Link { loss: 0.01, ..DEEP }, slack());
    let stats = network.measure(secs(10), secs(30));
    assert!(stats.rate(network.now) > 950.0, "{stats:?}");
}

/// A shallow queue of a tenth of the pipe: after a loss the window is the pipe, not seven tenths of it.
#[test]
fn a_reduction_leaves_the_pipe() {
    let mut network = Network::new(Link { queue_limit: 20, ..Link::PLAIN }, slack());
    let stats = network.measure(secs(10), secs(30));
    assert!(stats.rate(network.now) > 990.0 && stats.loss_rate() < 0.02, "{stats:?}");
    assert!(stats.cwnd.0 > 95.0, "{stats:?}");
}

/// With a full buffer the flow keeps its allowance in the queue, 8 packets, and the link full; at urgency 0.5 twice that.
#[test]
fn the_backlog_follows_the_urgency() {
    for (level, packets) in [(900.0, 8.0), (600.0, 16.0)] {
        let mut network = Network::new(DEEP, with(&[("reserve", 0.0)]));
        network.run_for(Duration::from_millis(500));
        let now = network.now;
        network.flows[0].cc.on_app_parameters(&view(now.as_nanos() / 1_000_000), &vast(level));
        let stats = network.measure(secs(10), secs(10));
        assert!(stats.rate(network.now) > 995.0, "{stats:?}");
        assert_near(stats.in_flight() - 101.0, packets, 2.0);
    }
}

/// FAST's equilibrium: flows share in proportion to what each keeps in the queue, so the viewer with less time gets more: 2 to 1
/// for urgencies 0.5 and 0. Both found the empty path.
#[test]
fn shares_follow_the_urgency() {
    let mut network = Network::new(DEEP, with(&[("reserve", 0.0)]));
    network.add_flow(with(&[("reserve", 0.0)]));
    network.run_for(Duration::from_millis(300));
    let at = view(network.now.as_nanos() / 1_000_000);
    network.flows[0].cc.on_app_parameters(&at, &vast(600.0));
    network.flows[1].cc.on_app_parameters(&at, &vast(900.0));
    network.run_for(secs(20));
    network.reset_stats();
    network.run_for(secs(20));
    let shares = network.flows.iter().map(|flow| flow.stats.rate(network.now)).collect::<Vec<_>>();
    assert!((1.4..2.8).contains(&(shares[0] / shares[1])), "{shares:?}");
}

/// A client that always claims to be dry gets exactly what one gets that says nothing, packet for packet.
#[test]
fn a_hostile_claim_gains_nothing() {
    let run = |claim: Option<AppParameters>| {
        let mut network = Network::new(Link::PLAIN, slack());
        network.add_flow(slack());
        let mut windows = Vec::new();
        for _ in 0..200 {
            if let Some(claim) = &claim {
                let at = view(network.now.as_nanos() / 1_000_000);
                network.flows[0].cc.on_app_parameters(&at, claim);
            }
            network.run_for(Duration::from_millis(100));
            windows.push((network.flows[0].cc.cwnd(), network.flows[0].delivered, network.flows[1].delivered));
        }
        windows
    };
    let honest = run(None);
    assert_eq!(honest, run(Some(AppParameters { is_urgent: true, ..told(0.0) })));
    assert_eq!(honest, run(Some(AppParameters { playout_buffer_free_bytes: Some(u64::MAX), ..vast(0.0) })));
}

/// 100 packets in 100 ms are paced at twice 11.68 Mbit/s; with a full buffer and nothing better to fetch, at 1.5 Mbit/s; where
/// the player could choose better, by the window again.
#[test]
fn pacing_by_hand() {
    let rate = |report: Option<AppParameters>| {
        let mut cc = measured(100);
        if let Some(report) = &report {
            cc.on_app_parameters(&view(40), report);
        }
        cc.on_ack(&View { now: view(40).now, ..view(40) }, &Ack { may_grow: false, ..ack() });
        cc.pacing_rate().expect("paced").as_bits_per_sec() as f64
    };
    assert_near(rate(None), 2.0 * 100.0 * f64::from(MSS) * 8.0 / 0.1, 1.0);
    assert_near(rate(Some(told(9.0))), 1.5e6, 1.0);
    let hungry = AppParameters { top_rate: Some(Rate::from_bits_per_sec(5_000_000)), ..told(9.0) };
    assert_near(rate(Some(hungry)), rate(None), 1.0);
}
