//! BBR on the packet-level bottleneck of `tests/bed`: 1000 packets/s, 100 ms. A packet's service takes 1 ms, so the smallest RTT
//! is 101 ms and the bandwidth-delay product 101 packets. TSO bursts at these rates are 2 packets: a budget of 6.

use super::*;
use crate::RateSample;
use crate::testbed::{Link, MSS, Network, ack, loss, view};

fn bbr() -> Bbr {
    Bbr::new(&Params::defaults(ENTRY.params), 10.0)
}

fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}

const DEEP: Link = Link { queue_limit: 1000, ..Link::PLAIN };

fn reach(network: &mut Network<Bbr>, mode: Mode) {
    assert!(network.run_until(secs(30), |n| n.cc().mode == mode), "{mode:?} is never reached");
}

/// Past start-up, at its operating point.
fn settled(link: Link) -> Network<Bbr> {
    let mut network = Network::new(link, bbr());
    network.run_for(secs(5));
    assert_eq!(network.cc().mode, Mode::ProbeBw);
    network
}

#[test]
fn initial_pacing_rate() {
    let mut control = bbr();
    assert_eq!(control.pacing_rate(), None);
    control.on_connection_start(&view(0));
    // 2/ln 2 * 10 packets / 100 ms * 11 680 bits * 0.99 = 3.336 Mbit/s.
    let expected = 2.885_390 * 100.0 * 11_680.0 * 0.99;
    assert!((control.pacing_bits_per_sec.unwrap_or(0.0) - expected).abs() < 10.0);
    // Without an RTT 1 ms stands in: a hundred times as much.
    let mut control = bbr();
    control.on_connection_start(&View { srtt: Duration::ZERO, min_rtt: Duration::MAX, ..view(0) });
    assert!((control.pacing_bits_per_sec.unwrap_or(0.0) / expected - 100.0).abs() < 0.01);
}

/// 2/ln 2 is the gain at which the delivery rate doubles every round trip.
#[test]
fn startup_doubles_the_rate_each_round() {
    let mut network = Network::new(Link { packets_per_sec: 100_000.0, queue_limit: 100_000, ..Link::PLAIN }, bbr());
    let mut rates = Vec::new();
    for round in 2..9 {
        assert!(network.run_until(secs(5), |n| n.cc().round_count == round));
        rates.push(network.cc().max_bw());
    }
    for pair in rates.windows(2) {
        assert!((1.7..2.3).contains(&(pair[1] / pair[0])), "{rates:?}");
    }
    // Six doublings are 64; the first rounds are held up by the initial window.
    assert!(rates[6] / rates[0] > 48.0, "{rates:?}");
}

/// The pipe is full after log2(100/10) = 3.3 round trips; full bandwidth is believed after three rounds without 25 % more.
#[test]
fn startup_ends_three_rounds_after_the_plateau() {
    let mut network = Network::new(DEEP, bbr());
    assert!(network.run_until(secs(5), |n| n.cc().max_bw() >= 999.0));
    let plateau = network.cc().round_count;
    reach(&mut network, Mode::Drain);
    let rounds = network.cc().round_count - plateau;
    assert!((3..=4).contains(&rounds), "{rounds}");
    // The window bounds what start-up queues: ceil(2.885 * 100) + 6 = 295, even: 296 (min_rtt is still the handshake's).
    assert!((294..=296).contains(&network.flows[0].in_flight()), "{}", network.flows[0].in_flight());
    assert!((106.0..=108.0).contains(&network.cc().ssthresh), "one product and the budget: {}", network.cc().ssthresh);
    assert_eq!(network.flows[0].lost, 0);
}

/// Drain paces at ln 2 / 2 = 0.35: the surplus of 296 - 106 leaves at 1000 * (1 - 0.343) per second, in 0.29 s. It ends with 106
/// to 108 in flight (`ssthresh` above) and the two that are delivered until the next departure, at most 1/343 s away; 99 or more
/// are under way.
#[test]
fn drain_empties_the_queue() {
    let mut network = Network::new(DEEP, bbr());
    reach(&mut network, Mode::Drain);
    let start = network.now;
    reach(&mut network, Mode::ProbeBw);
    assert!((network.now - start).abs_diff(millis(290)) < millis(30), "{}", network.now - start);
    assert!(network.flows[0].in_flight() <= 110 && network.queue() <= 11, "{}", network.queue());
}

#[test]
fn probe_bw_cycles_around_the_product() {
    let mut network = settled(DEEP);
    let stats = network.measure(Duration::ZERO, secs(4));
    assert!(stats.rate(network.now) > 990.0, "{stats:?}");
    // Probing adds a quarter of a product: RTT up to 1.25 * 101 plus budget and burst.
    assert!(stats.rtt.1 < millis(136) && stats.rtt.1 > millis(120), "{stats:?}");
    assert!(stats.in_flight() < 112.0, "{}", stats.in_flight());
    // Window: 2 * 101 + 6 + extra acked, two more in the probing phase, even.
    assert!(stats.cwnd.0 >= 208.0 && stats.cwnd.1 <= 214.0, "{stats:?}");
}

/// If pacing were useless the window would be the bound: with a sender that sends all at once, in flight reaches it.
#[test]
fn the_window_caps_what_pacing_lets_through() {
    let mut network = settled(DEEP);
    // A path five times slower: for ten rounds the old bandwidth rules, and only the window limits what is in flight.
    network.link.packets_per_sec = 200.0;
    network.run_for(secs(1));
    let in_flight = network.flows[0].in_flight();
    assert!((200..=214).contains(&in_flight), "{in_flight}");
    // Ten rounds of an RTT that the full window makes 1 s long: then the new rate rules.
    network.run_for(secs(15));
    assert!((network.cc().max_bw() - 200.0).abs() < 20.0, "{}", network.cc().max_bw());
}

/// min_rtt older than 10 s: 4 packets for 200 ms and a round trip, then the old window; again after 10 s.
#[test]
fn probe_rtt_every_ten_seconds() {
    let mut network = settled(DEEP);
    reach(&mut network, Mode::ProbeRtt);
    let (start, expired) = (network.now, network.cc().min_rtt_stamp);
    assert_eq!(network.cc().cwnd, 4.0);
    let before = network.cc().prior_cwnd;
    reach(&mut network, Mode::ProbeBw);
    let length = network.now - start;
    // A round trip until 104 in flight are gone, then 200 ms.
    assert!(length >= millis(200) && length < millis(350), "{length}");
    assert!(network.cc().cwnd >= before, "restored");
    assert_eq!(network.cc().min_rtt, Some(millis(101)), "measured on an empty queue");
    let left = network.now;
    reach(&mut network, Mode::ProbeRtt);
    assert!((network.now - left).abs_diff(secs(10)) < millis(20), "{}", network.now - left);
    assert!(start.saturating_since(expired) < secs(1), "a min_rtt sample came with the expiry");
    assert!((network.cc().max_bw() - 1000.0).abs() < 1.0, "slow samples of PROBE_RTT do not count");
}

#[test]
fn the_first_phase_is_drawn_and_never_the_draining_one() {
    let mut seen = [0; 8];
    for ms in 0..400 {
        let mut control = bbr();
        control.enter_probe_bw(&view(ms));
        let first = control.cycle_index;
        control.enter_probe_bw(&view(ms));
        assert_eq!(control.cycle_index, first, "the same time, the same draw");
        seen[first] += 1;
    }
    assert_eq!(seen[1], 0);
    // 400 draws over seven phases: 57 each, standard deviation 7.
    assert!(seen.iter().enumerate().all(|(i, count)| i == 1 || (30..90).contains(count)), "{seen:?}");
}

/// Published: BBR fills a lossy link up to the loss rate itself; goodput (1 - p) C at 10 % (ACM Queue 2016, figure 8).
#[test]
fn random_loss_does_not_collapse_it() {
    let mut network = settled(Link { loss: 0.1, ..Link::PLAIN });
    let stats = network.measure(Duration::ZERO, secs(5));
    assert!(stats.rate(network.now) > 0.95 * 900.0, "{stats:?}");
    assert!((stats.loss_rate() - 0.1).abs() < 0.02);
}

/// A bucket of 100 packets refilled at half the link's rate. Without the sampler the estimate stays at the burst's rate of 1000
/// and half of all packets are lost; with it the policer's rate rules for 48 rounds at a time.
#[test]
fn policers_are_found() {
    let mut network = Network::new(Link { policer: Some((500.0, 100.0)), ..Link::PLAIN }, bbr());
    assert!(network.run_until(secs(10), |n| n.cc().policer.rate().is_some()));
    let found = network.cc().policer.rate().unwrap_or(0.0);
    assert!((found - 500.0).abs() < 50.0, "{found}");
    assert_eq!(network.cc().pacing_gain(), 1.0, "no probing while it rules");
    let start = network.cc().round_count;
    assert!(network.run_until(secs(20), |n| n.cc().policer.rate().is_none()));
    assert!((network.cc().round_count - start).abs_diff(48) <= 2, "{}", network.cc().round_count - start);
    let stats = network.measure(secs(10), secs(20));
    assert!(stats.loss_rate() < 0.12 && stats.rate(network.now) > 450.0, "{stats:?}");
}

/// ACKs in batches every 50 ms: 50 packets of room keep the link busy.
#[test]
fn aggregated_acks_get_room() {
    let mut network = settled(Link { ack_batch: Some(millis(50)), queue_limit: 500, ..Link::PLAIN });
    let stats = network.measure(Duration::ZERO, secs(4));
    assert!(stats.rate(network.now) > 980.0, "{stats:?}");
    let room = network.cc().aggregation.room(1000.0);
    assert!((40.0..=60.0).contains(&room), "{room}");
}

#[test]
fn an_application_limit_does_not_lower_the_estimate() {
    let mut network = settled(DEEP);
    let now = network.now;
    network.flows[0].set_app_rate(now, Some(100.0));
    network.run_for(secs(3));
    assert!((network.cc().max_bw() - 1000.0).abs() < 1.0, "{}", network.cc().max_bw());
    assert_eq!(network.cc().mode, Mode::ProbeBw);
}

/// After 30 s of silence: pacing at the bandwidth, no PROBE_RTT though min_rtt has expired.
#[test]
fn idle_restart_paces_at_the_bandwidth() {
    let mut network = settled(DEEP);
    network.flows[0].backlog = Some(0);
    network.run_for(secs(30));
    assert_eq!(network.flows[0].in_flight(), 0);
    network.flows[0].backlog = Some(2000);
    assert!(network.run_until(secs(1), |n| n.flows[0].in_flight() == 1));
    assert!((network.cc().pacing_bits_per_sec.unwrap_or(0.0) - 0.99 * 11_680.0 * 1000.0).abs() < 1e4);
    assert!(!network.run_until(millis(500), |n| n.cc().mode == Mode::ProbeRtt));
}

/// Only a pause of the application's ends probing: 1.25 of 1000 packets/s goes on after one that pacing made.
#[test]
fn a_pause_of_pacing_is_no_restart() {
    let pacing_after = |is_app_limited| {
        let mut control = by_hand();
        control.cycle_index = 0;
        control.set_pacing_rate(&view(50), control.pacing_gain());
        control.on_idle_restart(&view(50), &IdleRestart { idle: millis(5), silent: millis(5), is_app_limited });
        control.pacing_bits_per_sec.unwrap_or(0.0) / (0.99 * 11_680.0)
    };
    assert!((pacing_after(false) - 1250.0).abs() < 0.1);
    assert!((pacing_after(true) - 1000.0).abs() < 0.1);
}

/// A filled pipe with a model of 100 packets, as a starting point for events by hand.
fn by_hand() -> Bbr {
    let mut control = bbr();
    control.on_connection_start(&view(0));
    control.max_bw.reset(0, 1000.0);
    control.full_bw_reached = true;
    control.enter_probe_bw(&view(0));
    control.cycle_index = 2;
    control.cwnd = 206.0;
    control
}

fn sampled(prior_delivered: u64) -> Ack {
    let rate = RateSample { prior_delivered, ..RateSample::new(100, millis(100), 1460) };
    Ack { rate: Some(rate), rtt: Some(millis(100)), prior_in_flight: 100, ..ack() }
}

/// Window 206, 100 in flight. Loss: the window is what is in flight plus what was delivered, for a round trip; then it grows by
/// what is delivered; at the end of recovery it is 206 again.
#[test]
fn recovery_conserves_packets_for_a_round() {
    let mut control = by_hand();
    control.next_round_delivered = 1000;
    let at = |delivered, in_flight| View { in_flight, delivered, in_recovery: true, ..view(50) };
    control.on_congestion(&at(1000, 98), &loss(100));
    control.on_ack(&at(1000, 98), &Ack { newly_lost: 1, ..sampled(900) });
    assert_eq!(control.cwnd, 99.0);
    control.on_ack(&at(1001, 97), &Ack { newly_lost: 1, ..sampled(901) });
    assert_eq!(control.cwnd, 98.0, "max(99 - 1, 97 + 1)");
    // A packet sent after 1000 were delivered: the round is over.
    control.on_ack(&at(1002, 97), &sampled(1000));
    assert_eq!(control.cwnd, 99.0, "growth by what was delivered");
    control.on_recovery_exit(&at(1003, 97), &RecoveryExit { retransmitted: 2, after_rto: false });
    control.on_ack(&View { in_recovery: false, ..at(1003, 97) }, &sampled(1001));
    assert_eq!(control.cwnd, 207.0, "restored, and one delivered: the target is 200 + 6 + 1 extra acked, even");
}

/// The next episode begins in the ACK that ends the last one: Linux's BBR sees one recovery, without another conservation.
#[test]
fn back_to_back_episodes_are_one_recovery() {
    let mut control = by_hand();
    let at = |delivered| View { in_flight: 98, delivered, in_recovery: true, ..view(50) };
    control.on_congestion(&at(1000), &loss(100));
    control.on_ack(&at(1000), &Ack { newly_lost: 1, ..sampled(900) });
    control.on_ack(&at(1001), &sampled(1000));
    control.on_recovery_exit(&at(1002), &RecoveryExit { retransmitted: 1, after_rto: false });
    control.on_congestion(&at(1002), &loss(100));
    let before = control.cwnd;
    control.on_ack(&at(1002), &sampled(1001));
    assert_eq!(control.cwnd, before + 1.0);
    assert_eq!(control.prior_cwnd, 206.0);
}

#[test]
fn a_timeout_leaves_one_packet_and_the_model() {
    let mut control = by_hand();
    control.on_rto(&view(50), &Rto { flight_size: 100, reduces: true });
    assert_eq!(control.cwnd, 1.0);
    assert_eq!(control.max_bw(), 1000.0);
    control.on_rto(&view(350), &Rto { flight_size: 100, reduces: false });
    assert_eq!(control.prior_cwnd, 206.0);
    control.on_undo(&view(351), &Undo { was_rto: true });
    assert_eq!(control.cwnd, 206.0);
}

#[test]
fn tso_bursts() {
    let packets = |mbit: f64| Quantum::Linux.packets(mbit * 1e6, MSS);
    // 1 Mbit/s: 1. 11.68 Mbit/s: 1426 bytes, at least 2. 100 Mbit/s: 12 207 / 1460 = 8. 10 Gbit/s: 65 215 / 1460 = 44.
    assert_eq!([1.0, 11.68, 100.0, 10_000.0].map(packets), [1.0, 2.0, 8.0, 44.0]);
    assert_eq!(Quantum::Packet.packets(1e10, MSS), 1.0);
}

/// Two flows, the second 10 s late: within a minute neither has less than a third.
#[test]
fn two_flows_share() {
    let mut network = settled(DEEP);
    network.add_flow(bbr());
    network.run_for(secs(30));
    network.reset_stats();
    network.run_for(secs(30));
    let rates = [0, 1].map(|i| network.flows[i].stats.rate(network.now));
    assert!(rates.iter().all(|rate| *rate > 333.0), "{rates:?}");
    assert!(rates[0] + rates[1] > 950.0, "{rates:?}");
}

/// A spurious loss in every round trip of a full link, as reordering beyond QUIC's three packets makes it: an undo that begins the search for
/// the plateau anew (Linux) keeps start-up for ever, over QUIC it ends after three rounds.
#[test]
fn start_up_ends_over_quic_whatever_is_undone() {
    let mode_after = |undo: fn(&mut Bbr, &View)| {
        let mut control = bbr();
        control.on_connection_start(&view(0));
        for round in 1..20 {
            let at = View { in_flight: 100, delivered: 100 * round, ..view(100 * round) };
            control.on_congestion(&at, &loss(100));
            undo(&mut control, &at);
            control.on_ack(&at, &sampled(100 * (round - 1)));
        }
        control.mode
    };
    assert_eq!(mode_after(|control, view| control.on_undo(view, &Undo { was_rto: false })), Mode::Startup);
    assert_ne!(mode_after(|control, view| control.on_quic_undo(view)), Mode::Startup);
}
