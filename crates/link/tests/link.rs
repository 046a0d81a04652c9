//! The link as a whole: timing, balance, and independence from when it is called.

mod support;

use playpath_link::{LossConfig, LossPlace, QueueConfig, ServerConfig};
use playpath_units::Ratio;
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
        config.loss = LossConfig::Bernoulli { loss: Ratio::new(1.0).unwrap() };
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
        config.queue = QueueConfig::DropTail { limit };
        let mut link = link(config);
        for number in 0..20 {
            link.handle_packet(Time::ZERO, TestPacket::new(number, 1500));
        }
        assert_eq!(link.queue_packets(), expected, "{limit}");
        assert_eq!(link.ledger().dropped.queue_full.packets, 20 - 1 - u64::from(expected));
        assert_eq!(run_out(&mut link).len() as u32, expected + 1);
    }
}
