//! Worked numbers of the CCP family, and its closed forms on the packet-level bottleneck of `tests/bed`: C = 1000 packets/s,
//! rtt_min = 100 ms, BDP = 100, queue 100. The model's RTT has the service time of 1 ms on top, so its pipe holds 101.

use super::*;
use crate::controls::ccpd::Derivative;
use crate::controls::ccplb::PlayoutBuffer;
use crate::controls::ccplca::VideoRate;
use crate::controls::{ccpd, ccplb, ccplca};
use crate::testbed::{Any, Link, Network, Stats, ack, loss, view};
use crate::{RateSample, RecoveryExit};
use playpath_units::{Duration, Rate, Time};

fn params(entry: &'static Entry, words: &[(&str, &str)], numbers: &[(&str, f64)]) -> Params {
    let mut params = Params::defaults(entry.params);
    for (name, word) in words {
        params.set_word(name, word).expect("a word");
    }
    for (name, number) in numbers {
        params.set_number(name, *number).expect("a number");
    }
    params
}

fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn path(kp: f64, storage: f64, backlog: f64, in_flight: f64) -> PathState {
    PathState {
        now: Time::from_secs(1),
        kp,
        storage,
        backlog,
        smoothed_backlog: backlog,
        in_flight,
        rtt: Duration::from_millis(100),
        rtt_min: Duration::from_millis(100),
        mss: 1460,
    }
}

/// The closed forms of the steady window with pipe BDP.
fn steady(kp: f64, storage: f64, bdp: f64) -> f64 {
    let unsaturated = kp * storage / 3.0;
    if unsaturated < bdp { unsaturated } else { kp * (storage + bdp) / (3.0 + kp) }
}

#[test]
fn worked_numbers_of_the_law() {
    // Kp 2, B 200, x 20, in flight 120: (2 (200 - 20) - 120) / 2 = (360 - 120) / 2 = 120, a fixed point.
    assert_eq!(path(2.0, 200.0, 20.0, 120.0).law(), 120.0);
    // Kp 2, B 200, BDP 100: 2 * 300 / 5 = 120, backlog 20.
    assert_eq!(steady(2.0, 200.0, 100.0), 120.0);
    // Kp 2, B 130, BDP 100: 2 * 130 / 3 = 86.7 < 100: not saturated, x = 0, and a fixed point of the law.
    let window = steady(2.0, 130.0, 100.0);
    assert!((window - 86.666_666).abs() < 1e-5);
    assert!((path(2.0, 130.0, 0.0, window).law() - window).abs() < 1e-9);
    // Full use of the link needs B = 3/Kp BDP = 150.
    assert!((steady(2.0, 150.0, 100.0) - 100.0).abs() < 1e-9);
    // The map in_flight -> window has slope -1/2.
    assert_eq!(path(2.0, 200.0, 20.0, 122.0).law() - path(2.0, 200.0, 20.0, 120.0).law(), -1.0);
}

#[test]
fn worked_numbers_of_the_video_rate() {
    let mut video = VideoRate::new(&params(&ccplca::ENTRY, &[], &[]));
    let rate = |mbit: f64| AppParameters { video_rate: Rate::from_bits_per_sec_f64(mbit * 1e6), ..Default::default() };
    video.on_app_parameters(&rate(5.24));
    let mut window =
        |rtt_ms| video.window(&PathState { rtt: Duration::from_millis(rtt_ms), ..path(2.0, 0.0, 0.0, 0.0) });
    // 5.24e6 * 0.003 / 11680 = 1.35; 44.9; 89.7.
    assert_eq!([3, 100, 200].map(&mut window), [2.0, 45.0, 90.0]);
    video.on_app_parameters(&rate(1e9));
    // Clamped to 1 Gbit/s: 1e9 * 0.1 / 11680 = 8561.6.
    assert_eq!(video.window(&path(2.0, 0.0, 0.0, 0.0)), 8562.0);
    assert_eq!(video.window(&path(2.0, 1e6, 0.0, 0.0)), 1e6, "the law where it is larger");
}

#[test]
fn worked_numbers_of_the_printed_video_rate() {
    let mut video = VideoRate::new(&params(&ccplca::ENTRY, &[("bound", "printed")], &[]));
    let rate = Rate::from_bits_per_sec_f64(5.24e6);
    video.on_app_parameters(&AppParameters { video_rate: rate, ..Default::default() });
    let mut window =
        |rtt_ms| video.window(&PathState { rtt: Duration::from_millis(rtt_ms), ..path(2.0, 0.0, 0.0, 0.0) });
    // 5.24e6 / 11680 = 448.63 packets/s; over 0.1 s and 0.2 s.
    assert_eq!([100, 200].map(&mut window), [4487.0, 2244.0]);
}

#[test]
fn worked_numbers_of_the_playout_buffer() {
    let reported = |mode, pob_rate, parameters: AppParameters| {
        let settings = [("mode", mode), ("pob_mode", "size")];
        let mut buffer = PlayoutBuffer::new(&params(&ccplb::ENTRY, &settings, &[("pob_rate", pob_rate)]));
        buffer.on_app_parameters(&parameters);
        // B = 1000 and the law at 0: the window is the term.
        buffer.window(&path(2.0, 1000.0, 1000.0, 0.0))
    };
    let size = |bytes| AppParameters { playout_buffer_bytes: bytes, ..Default::default() };
    // n seconds of 5.24 Mbit/s: 655 000 n bytes / 1460 = 448.6, 897.3, 1345.9.
    assert_eq!([1, 2, 3].map(|n| reported("paper", 1.0, size(655_000 * n))), [448.0, 897.0, 1345.0]);
    // CMCD: 1000 ms * 5240 kbit/s = 5.24 Mbit.
    assert_eq!(reported("paper", 1.0, size(1000 * 5240 / 8)), 448.0);
    // CCPLB(2) uses half of it, CCPLB(0.5) twice as much.
    assert_eq!([2.0, 0.5].map(|n| reported("paper", n, size(655_000))), [224.0, 896.0]);
    // 30 s: 13 458 packets; at most B outside mode paper. 1 GB at most: 684 931 packets.
    assert_eq!(reported("paper", 1.0, size(655_000 * 30)), 13_458.0);
    assert_eq!(reported("default", 1.0, size(655_000 * 30)), 1000.0);
    assert_eq!(reported("paper", 1.0, size(u64::MAX)), 684_931.0);
    // Urgent: at least the full buffer.
    let urgent = AppParameters { is_urgent: true, ..size(655_000) };
    assert_eq!([3.0, 0.5].map(|n| reported("default", n, urgent)), [448.0, 896.0]);
}

#[test]
fn free_space_counts_in_mode_free() {
    let mut buffer = PlayoutBuffer::new(&params(&ccplb::ENTRY, &[("pob_mode", "free")], &[]));
    let mut term = |free| {
        let reported =
            AppParameters { playout_buffer_bytes: 655_000, playout_buffer_free_bytes: free, ..Default::default() };
        buffer.on_app_parameters(&reported);
        buffer.window(&path(2.0, 1000.0, 1000.0, 0.0))
    };
    // 146 000 bytes are 100 packets; a full buffer asks for nothing; without a report the size counts.
    assert_eq!([Some(146_000), Some(0), None].map(&mut term), [100.0, 0.0, 448.0]);
}

#[test]
fn worked_numbers_of_the_derivative() {
    let mut derivative = Derivative::new(&params(&ccpd::ENTRY, &[], &[]));
    let mut at =
        |ms, backlog| derivative.window(&PathState { now: Time::from_millis(ms), ..path(2.0, 200.0, backlog, 120.0) });
    assert_eq!(at(0, 20.0), 120.0, "no history: the law");
    assert_eq!(at(50, 20.0), 120.0);
    // 100 ms ago the backlog was 20, now 28: (2 * 172 - 0.25 * 8 - 120) / 2 = 111.
    assert_eq!(at(100, 28.0), 111.0);
    // At 160 ms the newest one at least 100 ms old is that of 50 ms: 20. (2 * 184 - 0.25 * (16 - 20) - 120) / 2 = 124.5.
    assert_eq!(at(160, 16.0), 124.5);
}

/// The variations take CCPD's derivative on request: the numbers above, and the playout buffer's 448 or the video's rate besides.
#[test]
fn worked_numbers_of_the_variations_of_ccpd() {
    let grown = PathState { now: Time::from_millis(1100), ..path(2.0, 200.0, 28.0, 120.0) };
    let windows = |variation: &mut dyn Variation| {
        variation.on_app_parameters(&AppParameters {
            video_rate: Rate::from_bits_per_sec(5_240_000),
            playout_buffer_bytes: 655_000,
            ..AppParameters::default()
        });
        [path(2.0, 200.0, 20.0, 120.0), grown].map(|path| variation.window(&path))
    };
    let lb = |kd| windows(&mut PlayoutBuffer::new(&params(&ccplb::ENTRY, &[("mode", "paper")], &[("kd", kd)])));
    assert_eq!([lb(0.0), lb(0.25)], [[568.0, 560.0], [568.0, 559.0]]);
    // 5.24 Mbit/s for 100 ms are 44.9 packets: the law's window is larger and counts.
    let lca = |kd| windows(&mut VideoRate::new(&params(&ccplca::ENTRY, &[], &[("kd", kd)])));
    assert_eq!([lca(0.0), lca(0.25)], [[120.0, 112.0], [120.0, 111.0]]);
}

#[test]
fn worked_numbers_of_the_literal_derivative() {
    let mut derivative = Derivative::new(&params(&ccpd::ENTRY, &[("mode", "literal")], &[]));
    let mut at =
        |ms, backlog| derivative.window(&PathState { now: Time::from_millis(ms), ..path(2.0, 200.0, backlog, 100.0) });
    // 200 - 20 - 100, Kp = 1 whatever the parameter.
    assert_eq!(at(0, 20.0), 80.0);
    // One packet more after 1 ms: 0.25 / 0.001 * -1 = -250. That is the noise: 200 - 21 - 100 - 250 = -171.
    assert_eq!(at(1, 21.0), -171.0);
}

fn sample(rtt_ms: u64, packets_per_sec: u32) -> Ack {
    let rate = Some(RateSample::new(packets_per_sec, secs(1), 1460));
    Ack { rtt: Some(Duration::from_millis(rtt_ms)), rate, ..ack() }
}

#[test]
fn storage_and_backlog_by_hand() {
    let path_of = |words: &[(&str, &str)]| {
        Path::new(PathSettings::from_params(&params(&ENTRY, words, &[]), words.contains(&("mode", "paper"))))
    };
    let mut path = path_of(&[]);
    assert!(path.state(&view(0), 1.0).is_none(), "nothing is known");
    path.on_ack(&view(0), &sample(100, 1000), false);
    // No queue seen: B = 1000 * 1.25 * 1.5 * 0.1 = 187.5, x = 0.
    let state = path.state(&view(0), 1.0).expect("known");
    assert!((state.storage - 187.5).abs() < 1e-9 && state.backlog == 0.0, "{state:?}");
    path.on_ack(&view(1), &sample(300, 1000), false);
    // B = 1000 * 0.3; smoothed (7 * 100 + 300) / 8 = 125 ms: x = 25. Half of the storage on request.
    let state = path.state(&view(1), 0.5).expect("known");
    assert!((state.storage - 150.0).abs() < 1e-9 && (state.backlog - 25.0).abs() < 1e-9, "{state:?}");
    path.on_ack(&view(2), &sample(900, 1000), true);
    assert!((path.state(&view(2), 1.0).expect("known").storage - 300.0).abs() < 1e-9, "no samples in backoff");
    path.on_ack(&view(3), &sample(900, 1000), false);
    // Capped at 4 rtt_min.
    assert!((path.state(&view(3), 1.0).expect("known").storage - 400.0).abs() < 1e-9);
    // 10 s later rtt_max is forgotten, rtt_min is not.
    path.on_ack(&view(10_004), &sample(100, 1000), false);
    assert!((path.state(&view(10_004), 1.0).expect("known").storage - 187.5).abs() < 1e-9);

    let mut raw = path_of(&[("rtt", "raw"), ("mode", "paper"), ("estimator", "maxrate")]);
    raw.on_ack(&view(0), &sample(100, 1000), false);
    raw.on_ack(&view(1), &sample(130, 1000), false);
    // No floor: B = 130; x = 30 from the last sample.
    let state = raw.state(&view(1), 1.0).expect("known");
    assert!((state.storage - 130.0).abs() < 1e-9 && (state.backlog - 30.0).abs() < 1e-9, "{state:?}");
}

/// The law on the bottleneck with the capacity told and everything remembered.
fn on_plain<V: Variation>(params: &Params, variation: V) -> Network<Ccp<V>> {
    Network::new(Link::PLAIN, Ccp::new(params, 10.0, variation))
}

/// mode paper: no floor, no guard, no cap.
const REPORTED: [(&str, &str); 2] = [("mode", "paper"), ("estimator", "given")];

fn table(kp: f64, rtt: &str) -> (Stats, f64) {
    let params = params(&ENTRY, &[REPORTED[0], REPORTED[1], ("rtt", rtt)], &[("kp", kp)]);
    let mut network = on_plain(&params, Plain);
    let stats = network.measure(secs(10), secs(20));
    (stats, stats.rate(network.now) / network.link.packets_per_sec)
}

/// B = C rtt_max = 200. In flight by the closed forms: Kp 1: 66.7; 1.5: 100; 2: 120; 2.5: 136.4.
#[test]
fn steady_windows_follow_the_closed_forms() {
    for (kp, rtt) in
        [(1.0, "raw"), (1.0, "ewma"), (1.5, "raw"), (1.5, "ewma"), (2.0, "raw"), (2.0, "ewma"), (2.5, "ewma")]
    {
        let (stats, utilisation) = table(kp, rtt);
        let expected = steady(kp, 200.0, 100.0);
        assert!((stats.in_flight() - expected).abs() < 2.0, "Kp {kp} {rtt}: {} for {expected}", stats.in_flight());
        // 66 % with Kp 1, 98 to 99 % with 1.5 (the model's pipe holds 101), then all.
        let full = (expected / 101.0).min(1.0);
        assert!((utilisation - full).abs() < 0.03, "Kp {kp} {rtt}: {utilisation}");
        assert_eq!(stats.lost, 0, "Kp {kp} {rtt}: no loss after slow start");
    }
}

#[test]
fn gains_above_the_limit_oscillate() {
    // Raw RTT: 2 is the last good one of the table. At 2.5 it swings over the whole queue; whether it then overflows and
    // collapses hangs on where it began.
    let (stats, _) = table(2.5, "raw");
    assert!(stats.cwnd.1 - stats.cwnd.0 > 80.0, "{stats:?}");
    // Smoothed: at the limit of 3 (slope -Kp/3 = -1) it swings without end; beyond, over the whole queue.
    let (stats, _) = table(3.0, "ewma");
    assert!(stats.cwnd.1 - stats.cwnd.0 > 20.0, "{stats:?}");
    let (stats, _) = table(4.0, "ewma");
    assert!(stats.cwnd.1 - stats.cwnd.0 > 80.0, "{stats:?}");
    let (stats, _) = table(2.0, "ewma");
    assert!(stats.cwnd.1 - stats.cwnd.0 < 2.0, "{stats:?}");
}

/// B must hold the pipe: with `B = C (rtt_max - rtt_min)` the window swings between nothing and the pipe.
#[test]
fn storage_without_the_pipe_starves() {
    let mut network = on_plain(&params(&ENTRY, &[REPORTED[0], REPORTED[1], ("storage", "queue")], &[]), Plain);
    let stats = network.measure(secs(10), secs(20));
    // Kp B / 3 = 2 * 99 / 3 = 66 of 101.
    assert!(stats.rate(network.now) < 700.0, "{stats:?}");
}

/// Terms of 50, 100, 200, 400: the sheet's model has 141, 161, 202 and 335 in flight, the last with 40 % lost. Closed form for
/// the first two: 120 + 2 term / 5 = 140, 160; 200 fills the queue exactly.
#[test]
fn playout_buffer_raises_the_window_and_overbooking_hurts() {
    let run = |packets: u64| {
        let params = params(&ccplb::ENTRY, &REPORTED, &[]);
        let mut network = on_plain(&params, PlayoutBuffer::new(&params));
        let reported = AppParameters { playout_buffer_bytes: packets * 1460, ..Default::default() };
        network.flows[0].cc.on_app_parameters(&view(0), &reported);
        let stats = network.measure(secs(10), secs(20));
        (stats, stats.rate(network.now))
    };
    for (packets, expected) in [(50, 140.0), (100, 160.0), (200, 200.0)] {
        let (stats, rate) = run(packets);
        assert!((stats.in_flight() - expected).abs() < 2.0, "{packets}: {}", stats.in_flight());
        assert!(rate > 995.0 && stats.loss_rate() < 0.01, "{packets}: {stats:?}");
    }
    let (stats, rate) = run(400);
    assert!(stats.loss_rate() > 0.3 && rate < 700.0, "{stats:?}");
}

#[test]
fn derivative_keeps_the_steady_window_and_has_its_own_limit() {
    let run = |mode, kd| {
        let params = params(&ccpd::ENTRY, &[("mode", mode), ("estimator", "given")], &[("kd", kd)]);
        let mut network = on_plain(&params, Derivative::new(&params));
        let stats = network.measure(secs(10), secs(20));
        (stats, stats.cwnd.1 - stats.cwnd.0)
    };
    let (stats, swing) = run("paper", 0.25);
    assert!((stats.in_flight() - 120.0).abs() < 2.0 && swing < 2.0 && stats.lost == 0, "{stats:?}");
    assert!(run("paper", 0.5).1 > 4.0, "oscillation begins");
    assert!(run("paper", 1.0).1 > 40.0);
    // The literal form: noise of +-250 packets per packet of queue.
    assert!(run("literal", 0.25).0.loss_rate() > 0.5);
}

#[test]
fn video_rate_above_the_link_fills_the_queue() {
    let run = |mbit: f64| {
        let params = params(&ccplca::ENTRY, &[], &[]);
        let mut network = on_plain(&params, VideoRate::new(&params));
        let reported = AppParameters { video_rate: Rate::from_bits_per_sec_f64(mbit * 1e6), ..Default::default() };
        network.flows[0].cc.on_app_parameters(&view(0), &reported);
        network.measure(secs(15), secs(15))
    };
    // The link carries 11.68 Mbit/s: 5 Mbit/s changes nothing, 20 Mbit/s loses 1 - 11.68/20 = 42 % for ever.
    assert!((run(5.0).in_flight() - 116.0).abs() < 2.0);
    assert!((run(20.0).loss_rate() - 0.416).abs() < 0.03, "{:?}", run(20.0));
}

/// Defaults. After rtt_max is forgotten the floor rules: B = 1.875 * 101, W = 2 (189.4 + 101) / 5 = 116.2: 0.15 pipes queued.
#[test]
fn defaults_fill_the_link_with_little_queue() {
    let mut network = on_plain(&params(&ENTRY, &[], &[]), Plain);
    let stats = network.measure(secs(15), secs(45));
    assert!((stats.in_flight() - 116.2).abs() < 1.5, "{}", stats.in_flight());
    assert!(stats.rate(network.now) > 999.0 && stats.lost == 0, "{stats:?}");
    assert!((100..=400).contains(&network.flows[0].lost), "slow start overshoot, once: {}", network.flows[0].lost);
}

#[test]
fn random_loss_costs_nothing_but_the_packets() {
    for recovery in ["follow", "freeze"] {
        let params = params(&ENTRY, &[("recovery", recovery)], &[]);
        let link = Link { loss: 0.02, ..Link::PLAIN };
        let mut network = Network::new(link, Ccp::new(&params, 10.0, Plain));
        let stats = network.measure(secs(5), secs(20));
        assert!(stats.rate(network.now) > 985.0, "{recovery}: {stats:?}");
        assert!(network.flows[0].episodes > 50, "nearly always in recovery");
    }
}

/// Why the floor is there. From 10 packets, out of slow start: B = C 1.875 rtt_min with C what was sent, so the next window is
/// (2 * 1.875 W - W') / 2, settling at 2 * 1.875 W / 3 = 1.25 W per round trip. Without the floor it is 2 W / 3.
#[test]
fn the_floor_makes_the_window_grow_until_a_queue_appears() {
    let run = |mode| {
        let params = params(&ENTRY, &[("mode", mode), ("estimator", "maxrate")], &[]);
        let mut network = on_plain(&params, Plain);
        network.flows[0].cc.on_window_change(&view(0), &WindowChange { cwnd: 10.0, ssthresh: 10.0 });
        network.run_for(secs(1));
        let early = network.cc().cwnd();
        network.run_for(secs(9));
        (early, network.cc().cwnd(), network.flows[0].lost)
    };
    let (early, late, lost) = run("default");
    // 9 round trips, of which the first two show no rate yet: at most 10 * 1.25^8 = 60, at least 10 * 1.25^6 = 38.
    assert!((38.0..60.0).contains(&early), "{early}");
    assert!((late - 116.2).abs() < 2.0 && lost == 0, "{late}, and nothing lost: no slow start, no overshoot");
    let (_, late, _) = run("paper");
    assert!(late <= 3.0, "{late}");
}

/// A forgotten rtt_min is replaced by one with the queue in it: 15 % more window per memory.
#[test]
fn a_short_memory_of_rtt_min_inflates_the_queue() {
    let mut network = on_plain(&params(&ENTRY, &[], &[("rtt_min_window", 10.0)]), Plain);
    let stats = network.measure(secs(50), secs(10));
    assert!(stats.in_flight() > 170.0, "{}", stats.in_flight());
}

/// A paced sender has no back-to-back pairs; CapProbe then falls back on the delivery rate instead of knowing nothing.
#[test]
fn capprobe_measures_pairs_and_survives_pacing() {
    for (gain, expected) in [(None, 120.0), (Some(1.2), 120.0)] {
        let mut network = on_plain(&params(&ENTRY, &[("mode", "paper")], &[]), Plain);
        network.flows[0].pacing_gain = gain;
        let stats = network.measure(secs(10), secs(10));
        assert!((stats.in_flight() - expected).abs() < 3.0, "{gain:?}: {}", stats.in_flight());
    }
}

/// In congestion avoidance with a known path: 200 of storage, x = 0.
fn settled(words: &[(&str, &str)]) -> Ccp<Plain> {
    let params = params(&ENTRY, &[&REPORTED[..], words].concat(), &[]);
    let mut control = Ccp::new(&params, 10.0, Plain);
    control.on_window_change(&view(0), &WindowChange { cwnd: 100.0, ssthresh: 100.0 });
    control.on_ack(&view(0), &sample(200, 1000));
    for ms in 1..100 {
        control.on_ack(&View { in_flight: 100, ..view(ms) }, &sample(100, 1000));
    }
    control
}

/// Kp (B - x) = 400, in flight 100 -> 150; 40 packets marked lost: in flight 60 -> 170, +n/2.
#[test]
fn marking_losses_raises_the_window_unless_frozen() {
    for (words, expected) in [(&[][..], 170.0), (&[("recovery", "freeze")][..], 150.0)] {
        let mut control = settled(words);
        assert!((control.cwnd() - 150.0).abs() < 0.1, "{}", control.cwnd());
        let lossy = View { in_flight: 60, in_recovery: true, ..view(100) };
        control.on_congestion(&lossy, &loss(100));
        assert!((control.cwnd() - 150.0).abs() < 0.1, "no adjustment");
        control.on_ack(&lossy, &sample(100, 1000));
        assert!((control.cwnd() - expected).abs() < 0.1, "{words:?}: {}", control.cwnd());
        // More in flight than the storage can hold: the window falls even if frozen. (400 - 200) / 2 = 100.
        control.on_ack(&View { in_flight: 200, ..lossy }, &sample(100, 1000));
        assert!((control.cwnd() - 100.0).abs() < 0.1, "{words:?}: {}", control.cwnd());
    }
}

/// Held both ways: 150 whatever the law says, until the recovery is over.
#[test]
fn a_held_window_keeps_still_until_all_is_repaired() {
    let mut control = settled(&[("recovery", "hold")]);
    let lossy = View { in_flight: 60, in_recovery: true, ..view(100) };
    for in_flight in [60, 200] {
        control.on_ack(&View { in_flight, ..lossy }, &sample(100, 1000));
        assert!((control.cwnd() - 150.0).abs() < 0.1, "{in_flight}: {}", control.cwnd());
    }
    control.on_ack(&View { in_flight: 200, ..view(101) }, &sample(100, 1000));
    assert!((control.cwnd() - 100.0).abs() < 0.1, "{}", control.cwnd());
}

/// A spike of 1000 ms on a path of 100 ms: B counts 400 ms of it, all of it in mode paper, 150 ms where told so.
#[test]
fn the_largest_rtt_is_capped_outside_mode_paper() {
    let storage = |mode, cap| {
        let params =
            params(&ENTRY, &[("mode", mode), ("estimator", "given")], &[("rtt_max_cap", cap), ("floor_gain", 1.0)]);
        let mut path = Path::new(PathSettings::from_params(&params, mode == "paper"));
        path.on_ack(&view(0), &sample(100, 1000), false);
        path.on_ack(&view(1), &sample(1000, 1000), false);
        path.state(&view(1), 1.0).expect("a path").storage
    };
    let found = [("default", 4.0), ("default", 2.0), ("paper", 4.0)].map(|(mode, cap)| storage(mode, cap));
    assert!(
        found.iter().zip([400.0, 200.0, 1000.0]).all(|(found, expected)| (found - expected).abs() < 1e-6),
        "{found:?}"
    );
}

/// "On every ACK": also where an idle sender's growth would not be due. Kp B / 2 = 200 at an empty pipe.
#[test]
fn mode_paper_follows_the_law_on_every_ack() {
    let mut control = settled(&[("mode", "paper")]);
    let before = control.cwnd();
    control.on_ack(&View { in_flight: 5, ..view(100) }, &Ack { may_grow: false, ..sample(100, 1000) });
    assert!(control.cwnd() > before + 10.0, "{before} and {}", control.cwnd());
}

#[test]
fn an_idle_pipe_does_not_raise_the_window() {
    let mut control = settled(&[("mode", "default")]);
    let limited = Ack { may_grow: false, ..sample(100, 1000) };
    control.on_ack(&View { in_flight: 5, ..view(100) }, &limited);
    assert!((control.cwnd() - 150.0).abs() < 0.1, "not (400 - 5) / 2");
    control.on_ack(&View { in_flight: 300, ..view(100) }, &limited);
    assert!((control.cwnd() - 50.0).abs() < 0.1, "down it may go");
    control.on_ack(&View { in_flight: 1000, ..view(100) }, &limited);
    assert_eq!(control.cwnd(), 2.0, "lower clamp");
}

/// Linux lets a half-used window grow while it is below ssthresh, which means slow start there: here it is over.
#[test]
fn the_threshold_does_not_stay_above_a_window_that_follows_the_law() {
    let mut control = settled(&[]);
    assert_eq!(control.ssthresh(), 100.0);
    control.on_ack(&View { in_flight: 300, ..view(100) }, &sample(100, 1000));
    assert!((control.cwnd() - 50.0).abs() < 0.1, "(400 - 300) / 2");
    assert_eq!(control.ssthresh(), control.cwnd());
}

#[test]
fn slow_start_ends_at_the_first_loss_without_a_reduction() {
    let mut control = Ccp::new(&params(&ENTRY, &[], &[]), 10.0, Plain);
    control.on_ack(&view(0), &sample(100, 100));
    assert_eq!((control.cwnd(), control.phase()), (11.0, "slow_start"));
    control.on_congestion(&view(1), &loss(11));
    assert_eq!((control.cwnd(), control.ssthresh(), control.phase()), (11.0, 11.0, "congestion_avoidance"));
    control.on_undo(&view(2), &Undo { was_rto: false });
    assert_eq!((control.ssthresh(), control.phase()), (f64::INFINITY, "slow_start"));
}

#[test]
fn a_timeout_follows_rfc_5681() {
    let mut control = settled(&[]);
    control.on_rto(&view(100), &Rto { flight_size: 90, reduces: true });
    assert_eq!((control.cwnd(), control.ssthresh(), control.phase()), (1.0, 45.0, "slow_start"));
    // Slow start to 45, then the law; RTT samples count again after the recovery.
    control.on_ack(&View { in_recovery: true, ..view(101) }, &sample(5000, 10));
    assert_eq!(control.cwnd(), 2.0);
    control.on_recovery_exit(&view(102), &RecoveryExit { retransmitted: 1, after_rto: true });
    for ms in 103..150 {
        control.on_ack(&View { in_flight: 100, ..view(ms) }, &sample(100, 1000));
    }
    assert_eq!(control.phase(), "congestion_avoidance");
    assert!((control.cwnd() - 150.0).abs() < 0.1, "storage still 200: {}", control.cwnd());
}

#[test]
fn an_undone_timeout_returns_to_the_law() {
    let mut control = settled(&[]);
    control.on_rto(&view(100), &Rto { flight_size: 90, reduces: true });
    control.on_rto(&view(400), &Rto { flight_size: 90, reduces: false });
    control.on_undo(&view(401), &Undo { was_rto: true });
    assert!((control.cwnd() - 150.0).abs() < 0.1);
    assert_eq!(control.phase(), "congestion_avoidance");
}

/// A capacity told 2.5 times too high: B = 2.5 * 200, far more than the path stores.
#[test]
fn the_guard_bounds_persistent_loss() {
    let run = |guarded| {
        let mut params = params(&ENTRY, &[("estimator", "given")], &[("capacity", 2500.0)]);
        params.set_flag("loss_guard", guarded).expect("a flag");
        let mut network = on_plain(&params, Plain);
        network.measure(secs(10), secs(50))
    };
    let (without, with) = (run(false), run(true));
    assert!(without.loss_rate() > 0.3, "{without:?}");
    assert!(with.loss_rate() < 0.6 * without.loss_rate(), "{} and {}", with.loss_rate(), without.loss_rate());
}

/// With `maxrate` everything in the law scales with the rate that the flow has: no share is better than another, and one that
/// fills the queue takes all. With CapProbe B is the path's, whoever uses it.
#[test]
fn sharing_depends_on_the_estimator() {
    let share = |estimator: &str| {
        let params = params(&ENTRY, &[("estimator", estimator)], &[]);
        let mut network = Network::new(Link::PLAIN, Any::new("newreno"));
        network.run_for(secs(10));
        network.add_flow(Any((ENTRY.build)(&params, 10.0)));
        network.run_for(secs(30));
        network.reset_stats();
        network.run_for(secs(90));
        network.flows[1].stats.rate(network.now) / 1000.0
    };
    assert!(share("maxrate") < 0.1, "{}", share("maxrate"));
    assert!((0.3..0.7).contains(&share("capprobe")), "{}", share("capprobe"));
}
