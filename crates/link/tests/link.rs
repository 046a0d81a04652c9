//! The link as a whole: timing, balance, and independence from when it is called.

mod support;

use playpath_link::{
    BernoulliConfig, Count, DropTailConfig, Link, LinkConfig, LossConfig, LossPlace, Outage, QueueConfig, ServerConfig,
};
use playpath_units::Ratio;
use playpath_units::random::RootSeed;
use playpath_units::{Duration, QueueLimit, Time};
use support::{TestPacket, config, drain, link, run_out};

/// 1500 B at 10 Mbit/s take 1.2 ms; with 20 ms of delay the nth back-to-back packet arrives at 20 + 1.2 n ms.
#[test]
fn back_to_back_packets_leave_at_the_rate_and_arrive_after_the_delay() {
    let mut link = link(config(10, 20));
    for number in 1..=5 {
        link.handle_packet(Time::ZERO, TestPacket::new(number, 1500));
    }
    assert_eq!(link.queue_packets(), 4, "the packet on the wire is not in the queue");
    assert_eq!(link.queue_bytes(), 6000);
    for (at, packet) in run_out(&mut link) {
        assert_eq!(at, Time::from_micros(20_000 + 1_200 * packet.number));
    }
    assert_eq!(link.ledger().delivered.packets, 5);
}

/// A wake-up 100 ms late finds all packets with their due times: the rate is not lowered.
#[test]
fn a_late_call_changes_no_delivery_time() {
    let mut link = link(config(10, 20));
    for number in 1..=5 {
        link.handle_packet(Time::ZERO, TestPacket::new(number, 1500));
    }
    let delivered = drain(&mut link, Time::from_millis(100));
    let times: Vec<_> = delivered.iter().map(|(at, _)| at.as_nanos() / 1000).collect();
    assert_eq!(times, [21_200, 22_400, 23_600, 24_800, 26_000]);
}

/// 4 packets of 1.2 ms from time 0: waiting 3, 2, 1, 0 for 1.2 ms each. Until 9.6 ms the mean queue is
/// (3 + 2 + 1) × 1.2 / 9.6 = 0.75, the mean square (9 + 4 + 1) × 1.2 / 9.6 = 1.75, sd = sqrt(1.75 - 0.5625) = 1.0897;
/// the transmitter is busy for 4.8 of 9.6 ms.
#[test]
fn queue_mean_deviation_and_utilisation_by_hand() {
    let mut link = link(config(10, 0));
    for number in 0..4 {
        link.handle_packet(Time::ZERO, TestPacket::new(number, 1500));
    }
    let stats = link.stats(Time::from_micros(9_600));
    assert!((stats.mean_queue_packets - 0.75).abs() < 1e-12);
    assert!((stats.sd_queue_packets - 1.1875f64.sqrt()).abs() < 1e-12);
    assert_eq!(stats.max_queue_packets, 3);
    assert_eq!(stats.busy_time, Duration::from_micros(4_800));
    assert!((stats.utilisation - 0.5).abs() < 1e-12);
}

/// Half-way through a packet the link has been busy for half of its service time, all the time so far.
#[test]
fn a_packet_in_service_counts_as_far_as_it_is_sent() {
    let mut link = link(config(10, 0));
    link.handle_packet(Time::ZERO, TestPacket::new(0, 1500));
    let stats = link.stats(Time::from_micros(600));
    assert_eq!((stats.busy_time, stats.utilisation), (Duration::from_micros(600), 1.0));
    assert_eq!(link.ledger().in_service.packets, 1);
}

#[test]
fn an_unlimited_link_only_delays() {
    let mut config = config(1, 7);
    config.server = ServerConfig::Unlimited;
    let mut link = link(config);
    for number in 0..100 {
        link.handle_packet(Time::from_millis(1), TestPacket::new(number, 1500));
        assert_eq!(link.queue_packets(), 0);
    }
    let delivered = run_out(&mut link);
    assert_eq!(delivered.len(), 100);
    assert!(delivered.iter().all(|(at, _)| *at == Time::from_millis(8)));
}

/// Before the queue a lost packet costs no time; after it, it has used the transmitter.
#[test]
fn the_place_of_the_loss_decides_whether_a_lost_packet_uses_the_link() {
    let busy_time = |place| {
        let mut config = config(10, 0);
        config.loss = LossConfig::Bernoulli(BernoulliConfig { loss: Ratio::new(1.0).unwrap() });
        config.loss_place = place;
        let mut link = link(config);
        link.handle_packet(Time::ZERO, TestPacket::new(0, 1500));
        assert_eq!(run_out(&mut link), []);
        assert_eq!(link.ledger().dropped.loss.packets, 1);
        link.stats(Time::from_secs(1)).busy_time
    };
    assert_eq!(busy_time(LossPlace::BeforeQueue), Duration::ZERO);
    assert_eq!(busy_time(LossPlace::AfterQueue), Duration::from_micros(1_200));
}

/// Packets of 1.2 ms at 19, 20, 29 and 30 ms: the first moment of the outage belongs to it, the last one does not. What was taken before
/// still arrives in it: 19 + 1.2 + 20 ms of delay = 40.2 ms, and 51.2 ms. Two packets of 1500 B are refused.
#[test]
fn an_outage_refuses_what_comes_and_delivers_what_was_taken() {
    let outage = Some(Outage { from: Time::from_millis(20), until: Time::from_millis(30), spread: Duration::ZERO });
    let mut link = link(LinkConfig { outage, ..config(10, 20) });
    for (number, ms) in (0..).zip([19, 20, 29, 30]) {
        link.handle_packet(Time::from_millis(ms), TestPacket::new(number, 1500));
        link.ledger().check().expect("balance");
    }
    let delivered: Vec<_> =
        run_out(&mut link).iter().map(|(at, packet)| (at.as_nanos() / 1000, packet.number)).collect();
    assert_eq!(delivered, [(40_200, 0), (51_200, 3)]);
    let ledger = link.ledger();
    assert_eq!((ledger.offered.packets, ledger.delivered.packets), (4, 2));
    assert_eq!(ledger.dropped.outage, Some(Count { packets: 2, bytes: 3000 }));
    assert_eq!(ledger.dropped.total().packets, 2);
}

/// A link without an outage has no such cause; one whose outage met nobody says zero.
#[test]
fn only_links_with_an_outage_list_it_as_a_cause() {
    let causes = |outage| {
        let mut link = link(LinkConfig { outage, ..config(10, 20) });
        link.stats(Time::from_secs(1))
            .dropped
            .by_cause()
            .map(|(cause, count)| (cause.name(), count.packets))
            .collect::<Vec<_>>()
    };
    let always = [("loss", 0), ("queue_full", 0), ("aqm", 0)];
    assert_eq!(causes(None), always);
    let outage = Outage { from: Time::from_millis(20), until: Time::MAX, spread: Duration::ZERO };
    assert_eq!(causes(Some(outage)), [always.as_slice(), &[("outage", 0)]].concat());
}

/// Spread over 1 s: over 400 seeds it begins at 20 to 1020 ms, on average at 520 (standard error 289 / 20 = 14 ms; bound five of them),
/// and lasts 10 ms under each; both directions of a path have it at once.
#[test]
fn a_spread_moves_an_outage_by_the_seed() {
    let outage = Outage { from: Time::from_millis(20), until: Time::from_millis(30), spread: Duration::from_secs(1) };
    let refused = |name: &str, seed| {
        let config = LinkConfig { outage: Some(outage), name: name.into(), ..config(1000, 20) };
        let mut link = Link::new(config, RootSeed(seed)).expect("valid");
        link.log_drops();
        (0..1100).for_each(|ms| link.handle_packet(Time::from_millis(ms), TestPacket::new(ms, 100)));
        link.take_dropped().iter().map(|dropped| dropped.packet.number).collect::<Vec<_>>()
    };
    let begins: Vec<u64> = (0..400).map(|seed| refused("path.a/down", seed)[0]).collect();
    assert!(begins.iter().all(|ms| (20..=1021).contains(ms)));
    let mean = begins.iter().sum::<u64>() as f64 / 400.0;
    assert!((mean - 520.5).abs() < 72.0, "{mean}");
    assert_eq!(refused("path.a/down", 3).len(), 10);
    assert_eq!(refused("path.a/down", 3), refused("path.a/up", 3));
    assert_ne!(refused("path.a/down", 3), refused("path.b/down", 3));
}

#[test]
fn an_outage_that_ends_before_it_begins_is_refused() {
    let outage = Some(Outage { from: Time::from_millis(20), until: Time::from_millis(20), spread: Duration::ZERO });
    let error = LinkConfig { outage, ..config(10, 20) }.validate().unwrap_err();
    assert!(error.to_string().contains("later than `from`"), "{error}");
}

#[test]
fn a_drop_tail_queue_fills_exactly_to_its_limit() {
    // 10 Mbit/s: 12 ms drain 15 000 B; base RTT 2 × 6 ms = 12 ms, so 1 bdp is the same.
    let limits = [
        (QueueLimit::Packets(10), 10),
        (QueueLimit::Bytes(15_000), 10),
        (QueueLimit::Bytes(14_999), 9),
        (QueueLimit::Time(Duration::from_millis(12)), 10),
        (QueueLimit::Bdp(1.0), 10),
        (QueueLimit::Bdp(0.5), 5),
        (QueueLimit::Packets(0), 0),
    ];
    for (limit, expected) in limits {
        let mut config = config(10, 6);
        config.queue = QueueConfig::DropTail(DropTailConfig { limit });
        let mut link = link(config);
        for number in 0..20 {
            link.handle_packet(Time::ZERO, TestPacket::new(number, 1500));
        }
        assert_eq!(link.queue_packets(), expected, "{limit}");
        assert_eq!(link.ledger().dropped.queue_full.packets, 20 - 1 - u64::from(expected));
        assert_eq!(run_out(&mut link).len() as u32, expected + 1);
    }
}
