//! Behaviour of the queues on a link: by hand where short, against theory where long.

mod support;

use playpath_link::{
    CoDelConfig, DropTailConfig, DualPi2Config, FqCoDelConfig, Link, LinkConfig, LinkError, LinkStats, PieConfig,
    PieDelay, QueueConfig, RedConfig, RedUnit,
};
use playpath_units::random::{RootSeed, Stream};
use playpath_units::{Duration, QueueLimit, Time};
use support::{TestPacket, config, drain, floyd_1993, link, run_out};

/// A 10 Mbit/s link without delay: 1.2 ms per 1500 B.
fn link_with(queue: QueueConfig) -> Link<TestPacket> {
    link(LinkConfig { queue, ..config(10, 0) })
}

const SERVICE: Duration = Duration::from_micros(1_200);

/// Hand in 1500-byte packets at the times given by `gap`, one flow; everything delivered, with the wait of each packet.
fn offer(link: &mut Link<TestPacket>, packets: u64, mut gap: impl FnMut() -> Duration) -> Vec<(Time, Duration)> {
    let mut sent = Vec::new();
    let mut waits = Vec::new();
    let mut now = Time::ZERO;
    for number in 0..packets {
        let arrived = drain(link, now);
        waits.extend(arrived.iter().map(|(at, p)| (*at, *at - sent[p.number as usize])));
        sent.push(now);
        link.handle_packet(now, TestPacket::new(number, 1500));
        now += gap();
    }
    let arrived = run_out(link);
    waits.extend(arrived.iter().map(|(at, p)| (*at, *at - sent[p.number as usize])));
    waits
}

fn poisson(load: f64) -> impl FnMut() -> Duration {
    let mut stream: Stream = RootSeed(11).stream("arrivals");
    move || Duration::from_secs_f64(stream.exponential(SERVICE.as_secs_f64() / load))
}

/// M/D/1 at load 0.8: mean number waiting 0.8² / (2 × 0.2) = 1.6, utilisation 0.8. Over 400 000 packets the standard error of
/// the mean is about 1.5 %; bound 6 %.
#[test]
fn an_unbounded_queue_with_poisson_arrivals_is_m_d_1() {
    let mut link = link_with(QueueConfig::DropTail(DropTailConfig { limit: QueueLimit::Packets(1_000_000) }));
    let waits = offer(&mut link, 400_000, poisson(0.8));
    let end = waits.last().unwrap().0;
    let stats = link.stats(end);
    assert!((stats.mean_queue_packets / 1.6 - 1.0).abs() < 0.06, "{}", stats.mean_queue_packets);
    assert!((stats.utilisation - 0.8).abs() < 0.01, "{}", stats.utilisation);
    assert_eq!(stats.dropped.total().packets, 0);
}

/// Without a queue the link is M/D/1/1: Erlang's loss formula for one server, load / (1 + load) = 0.5 at load 1, holds for any
/// distribution of service times. Standard error over 100 000 packets 0.16 %; bound 1 %.
#[test]
fn a_link_without_a_queue_loses_as_erlang_says() {
    let mut link = link_with(QueueConfig::DropTail(DropTailConfig { limit: QueueLimit::Packets(0) }));
    offer(&mut link, 100_000, poisson(1.0));
    let ledger = link.ledger();
    let loss = ledger.dropped.queue_full.packets as f64 / ledger.offered.packets as f64;
    assert!((loss - 0.5).abs() < 0.01, "{loss}");
}

/// Steady overload at 1.25 times the rate: the share dropped must be 20 % whatever the queue; standing delays differ.
fn overload(queue: QueueConfig) -> (LinkStats, Vec<f64>) {
    let mut link = link_with(queue);
    let waits = offer(&mut link, 50_000, || Duration::from_micros(960));
    let last_half = waits.iter().skip(waits.len() / 2).map(|(_, wait)| wait.as_millis_f64()).collect();
    let end = Time::from_micros(960 * 50_000);
    (link.stats(end), last_half)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Thresholds 5 and 15 packets, gentle to 30, max_p 0.1, weight 0.002, packets of the mean size. The queue settles where
/// p_a balances 20 % of drops. In wait mode the count c runs from 0; drops come every 5th packet on average. Uniform gaps of
/// mean 5 mean 1 / p_b between 3.3 and 5, so p_b is 0.2 to 0.3 and the average is 15 + 15 × (p_b − 0.1) / 0.9 = 16.7 to 18.3 packets.
#[test]
fn red_settles_where_its_drop_rate_balances_the_load() {
    let red = RedConfig {
        limit: QueueLimit::Packets(100),
        queue_unit: RedUnit::Packets,
        drop_unit: RedUnit::Packets,
        min_threshold_packets: Some(5.0),
        max_threshold_packets: Some(15.0),
        queue_weight: Some(0.002),
        ..RedConfig::default()
    };
    let (stats, waits) = overload(QueueConfig::Red(red));
    let loss = stats.dropped.aqm.packets as f64 / stats.offered.packets as f64;
    assert!((loss - 0.2).abs() < 0.005, "{loss}");
    assert_eq!(stats.dropped.queue_full.packets, 0);
    let queue = (mean(&waits) - 1.2) / 1.2;
    assert!((16.0..19.0).contains(&queue), "{queue}");
}

/// Floyd 1993, section 8: with p_a = p_b / (1 − c p_b) the gap between drops is uniform over 1 to 1/p_b. Above the thresholds
/// of 5 and 15 with max_p 1 and the average held near 10 by the load, p_b is near 0.2 (balance: mean gap 5 = (1 + 1/p_b) / 2, so
/// 1/p_b = 9). No gap is longer than
/// twice that, while of geometric gaps 1.8 % would be.
#[test]
fn red_spaces_its_drops_uniformly() {
    let red = RedConfig {
        limit: QueueLimit::Packets(100),
        max_p: 1.0,
        queue_weight: Some(0.0005),
        ..floyd_1993(QueueLimit::Packets(100))
    };
    let mut link = link_with(QueueConfig::Red(red));
    let (mut gaps, mut gap, mut dropped) = (Vec::new(), 0, 0);
    for number in 0..50_000 {
        let now = Time::from_micros(960 * number);
        drain(&mut link, now);
        link.handle_packet(now, TestPacket::new(number, 1500));
        gap += 1;
        let total = link.ledger().dropped.aqm.packets;
        if total > dropped {
            dropped = total;
            gaps.push(f64::from(gap));
            gap = 0;
        }
    }
    let settled = &gaps[gaps.len() / 2..];
    assert!((mean(settled) - 5.0).abs() < 0.1, "{}", mean(settled));
    assert!(settled.iter().all(|gap| *gap <= 18.0), "{:?}", settled.iter().copied().fold(0.0, f64::max));
    // Uniform over 1 to 9: standard deviation sqrt(80 / 12) = 2.58; geometric gaps of mean 5 have sqrt(20) = 4.47.
    let variance = settled.iter().map(|gap| (gap - 5.0) * (gap - 5.0)).sum::<f64>() / settled.len() as f64;
    assert!((2.2..3.2).contains(&variance.sqrt()), "{}", variance.sqrt());
}

/// In byte mode a packet of 100 B is dropped fifteen times less often than one of 1500 B; in packet mode as often.
#[test]
fn red_byte_mode_spares_small_packets() {
    for (drop_unit, least, most) in [(RedUnit::Bytes, 10.0, 22.0), (RedUnit::Packets, 0.85, 1.18)] {
        let red = RedConfig {
            limit: QueueLimit::Packets(200),
            drop_unit,
            wait: false,
            queue_weight: Some(0.002),
            ..RedConfig::default()
        };
        let mut link = link_with(QueueConfig::Red(red));
        let mut lost = [0u64; 2];
        for number in 0..200_000u64 {
            let now = Time::from_micros(512 * number); // 800 B on average at 10 Mbit/s is 640 µs: load 1.25
            drain(&mut link, now);
            let size = [100, 1500][(number % 2) as usize];
            let before = link.ledger().dropped.aqm.packets;
            link.handle_packet(now, TestPacket::new(number, size));
            lost[(number % 2) as usize] += link.ledger().dropped.aqm.packets - before;
        }
        let ratio = lost[1] as f64 / lost[0] as f64;
        assert!((least..most).contains(&ratio), "{drop_unit:?}: {lost:?}");
    }
}

/// Adaptive RED moves max_p until the average is in the middle: between 5 + 0.4 × 10 = 9 and 11 packets, although max_p
/// starts at 0.01, where plain RED needs an average above 15 for 20 % of drops. Bounds allow for the oscillation.
#[test]
fn adaptive_red_brings_the_queue_to_the_middle_of_its_thresholds() {
    let red = |adaptive| {
        QueueConfig::Red(RedConfig {
            limit: QueueLimit::Packets(200),
            queue_unit: RedUnit::Packets,
            drop_unit: RedUnit::Packets,
            min_threshold_packets: Some(5.0),
            max_threshold_packets: Some(15.0),
            queue_weight: Some(0.002),
            max_p: 0.01,
            adaptive,
            ..RedConfig::default()
        })
    };
    let queue = |adaptive| (mean(&overload(red(adaptive)).1) - 1.2) / 1.2;
    assert!((8.0..12.5).contains(&queue(true)), "{}", queue(true));
    assert!(queue(false) > 15.0, "{}", queue(false));
}

/// Two packets a service time, from 0: packet n comes at 0.6 n and waits 0.6 n. The sojourn time passes 5 ms at the first packet
/// that leaves the queue at 1.2 n with 0.6 n ≥ 5 ms: n = 9 at 10.8 ms. An interval of 100 ms later, at the first departure at or
/// after 110.8 ms (111.6 ms, the server's 93rd start), the first drop. Then after 100 / sqrt(1), sqrt(2), sqrt(3) … ms.
#[test]
fn codel_drops_at_the_times_of_its_control_law() {
    let mut link = link_with(QueueConfig::CoDel(CoDelConfig::default()));
    let mut drops = Vec::new();
    let mut sent = 0;
    for step in 0..400u64 {
        let now = Time::from_micros(1_200 * step);
        for _ in 0..2 {
            let at = Time::from_micros(600 * sent);
            link.handle_packet(at.max(now), TestPacket::new(sent, 1500));
            sent += 1;
        }
        // Ask just before the next departure.
        let before_next = now + Duration::from_nanos(1_199_999);
        drain(&mut link, before_next);
        let dropped = link.ledger().dropped.aqm.packets;
        while (drops.len() as u64) < dropped {
            drops.push(1.2 * step as f64);
        }
    }
    let first = drops[0];
    assert!((first - 111.6).abs() < 1.3, "{first}");
    // control_law: the nth next drop comes 100 × (1 + 1/√2 + … + 1/√n) ms after the first, at the next departure.
    let mut expected = first;
    for (n, at) in (1..).zip(&drops[1..]) {
        expected += 100.0 / f64::from(n).sqrt();
        assert!(*at >= expected - 1e-9 && *at < expected + 1.3, "drop {n} at {at}, expected {expected}");
    }
    assert!(drops.len() >= 5, "{drops:?}");
}

/// At 100 kbit/s a packet takes 120 ms, far above the target. With never more than one left behind nothing is
/// dropped (RFC 8289, 5.6: a queue of at most one full packet is not a standing queue). FQ-CoDel's quantum has no part in that.
#[test]
fn codel_spares_a_queue_of_one_packet() {
    let small_quantum = FqCoDelConfig { quantum_bytes: 300, ..FqCoDelConfig::default() };
    for queue in [QueueConfig::CoDel(CoDelConfig::default()), QueueConfig::FqCoDel(small_quantum)] {
        let rate = playpath_units::Rate::from_bits_per_sec(100_000);
        let server = playpath_link::ServerConfig::Constant { rate };
        let mut link = link(LinkConfig { queue, server, ..config(10, 0) });
        (0..2).for_each(|number| link.handle_packet(Time::ZERO, TestPacket::new(number, 1500)));
        for number in 2..100 {
            link.handle_packet(Time::from_millis(120 * (number - 2) + 1), TestPacket::new(number, 1500));
            assert_eq!(link.queue_packets(), 2);
        }
        assert_eq!(link.ledger().dropped.total().packets, 0);
    }
}

/// Load 0.8 with Poisson arrivals: the sojourn time comes back below 5 ms within any 100 ms, so next to nothing is dropped,
/// while a burst of 100 packets, 120 ms of queue, passes whole.
#[test]
fn codel_leaves_good_queues_alone() {
    let mut link = link_with(QueueConfig::CoDel(CoDelConfig::default()));
    offer(&mut link, 50_000, poisson(0.8));
    let ledger = link.ledger();
    assert!(ledger.dropped.aqm.packets * 2_000 < ledger.offered.packets, "{:?}", ledger.dropped);
    let mut burst = link_with(QueueConfig::CoDel(CoDelConfig::default()));
    (0..80).for_each(|number| burst.handle_packet(Time::ZERO, TestPacket::new(number, 1500)));
    assert_eq!(drain(&mut burst, Time::from_secs(1)).len(), 80);
}

/// Against senders that do not yield, 208 packets/s too many, CoDel's drop rate of 10 √count per second must grow to count 433.
/// That takes 0.2 √433 = 4.2 s, in which 208 × 4.2 − 433 = 433 packets pile up: 520 ms. Later episodes resume at a lower count than
/// they ended with (RFC 8289, 5.5), so the delay goes up and down below that; drop-tail would stand at 1.2 s. PIE holds its target.
#[test]
fn codel_and_pie_bound_the_delay_under_overload() {
    let (stats, waits) = overload(QueueConfig::CoDel(CoDelConfig::default()));
    assert!((stats.dropped.total().packets as f64 / 50_000.0 - 0.2).abs() < 0.01, "{:?}", stats.dropped);
    assert_eq!(stats.dropped.queue_full.packets, 0);
    assert!(waits.iter().all(|wait| *wait < 520.0) && mean(&waits) < 260.0, "{}", mean(&waits));

    for delay in [PieDelay::Timestamp, PieDelay::DepartureRate] {
        let (stats, waits) = overload(QueueConfig::Pie(PieConfig { delay, ..PieConfig::default() }));
        assert!((stats.dropped.total().packets as f64 / 50_000.0 - 0.2).abs() < 0.01, "{:?}", stats.dropped);
        assert!((mean(&waits) - 16.2).abs() < 3.0, "{delay:?}: {}", mean(&waits)); // target 15 ms + 1.2 ms of service
    }
}

/// A burst shorter than MAX_BURST into an idle PIE queue passes; the hard limit does not bind.
#[test]
fn pie_lets_a_first_burst_pass() {
    let mut link = link_with(QueueConfig::Pie(PieConfig::default()));
    (0..100).for_each(|number| link.handle_packet(Time::ZERO, TestPacket::new(number, 1500)));
    assert_eq!(drain(&mut link, Time::from_secs(1)).len(), 100);
}

/// Congestion marks take the place of drops for ECN-capable packets, and for those only.
#[test]
fn ecn_marks_instead_of_dropping() {
    let queues = [
        QueueConfig::Red(RedConfig { ecn: true, limit: QueueLimit::Packets(500), max_p: 0.5, ..RedConfig::default() }),
        QueueConfig::CoDel(CoDelConfig { ecn: true, ..CoDelConfig::default() }),
        QueueConfig::FqCoDel(FqCoDelConfig::default()),
        QueueConfig::Pie(PieConfig { ecn: true, ..PieConfig::default() }),
        QueueConfig::DualPi2(DualPi2Config::default()),
    ];
    for queue in queues {
        let run = |is_ecn_capable| {
            let mut link = link_with(queue.clone());
            for number in 0..600 {
                let now = Time::from_micros(1_080 * number);
                drain(&mut link, now);
                link.handle_packet(now, TestPacket { is_ecn_capable, ..TestPacket::new(number, 1500) });
            }
            let stats = link.stats(Time::from_millis(650));
            (stats.ce_marked_packets, stats.dropped.aqm.packets)
        };
        let (marked, dropped) = run(true);
        assert!(marked > 0 && dropped == 0, "{queue:?}: {marked} marked, {dropped} dropped");
        let (marked, dropped) = run(false);
        assert!(marked == 0 && dropped > 0, "{queue:?}: {marked} marked, {dropped} dropped");
    }
}

/// Ten flows take turns with a packet each, the next when one has left: 9 x 1.2 ms in the queue, above 5 ms. No flow ever has more than a
/// packet waiting, but the queue has (Linux `sch_fq_codel`: CoDel is given the backlog of all flows). So after 100 ms flows lose theirs, until
/// five are left, whose packets wait 4.8 ms.
#[test]
fn fq_codel_spares_a_packet_of_the_queue_and_not_of_each_flow() {
    let queue = FqCoDelConfig { quantum_bytes: 1500, ..FqCoDelConfig::default() };
    let mut link = link_with(QueueConfig::FqCoDel(queue));
    (0..10).for_each(|flow| link.handle_packet(Time::ZERO, TestPacket::of_flow(flow, 1500, flow)));
    let mut dropped_by = |until| {
        while link.poll_timeout() < until {
            let now = link.poll_timeout();
            for (at, packet) in drain(&mut link, now) {
                link.handle_packet(at, packet);
            }
        }
        link.ledger().dropped.aqm.packets
    };
    assert_eq!([100, 1000, 2000].map(|ms| dropped_by(Time::from_millis(ms))), [0, 5, 5]);
}

/// Two saturating flows, one with packets of 1500 B, one of 300 B, sent equally often: equal bytes, not equal packets.
#[test]
fn fq_codel_shares_bytes_between_flows() {
    let queue = FqCoDelConfig { limit: QueueLimit::Packets(100), ..FqCoDelConfig::default() };
    let mut link = link_with(QueueConfig::FqCoDel(queue));
    let mut bytes = [0u64; 2];
    for number in 0..40_000u64 {
        let now = Time::from_micros(200 * number);
        for (at, packet) in drain(&mut link, now) {
            if at > Time::from_secs(1) {
                bytes[packet.flow as usize] += u64::from(packet.bytes);
            }
        }
        let flow = number % 2;
        link.handle_packet(now, TestPacket::of_flow(number, [1500, 300][flow as usize], flow));
    }
    let ratio = bytes[0] as f64 / bytes[1] as f64;
    assert!((ratio - 1.0).abs() < 0.02, "{bytes:?}");
}

/// A flow that sends one small packet every 20 ms past a saturating one waits for at most the packet in service and one quantum of
/// the other flow: 2 × 1.2 ms, and 0.08 ms for itself. In drop-tail it would wait for the whole queue, 120 ms.
#[test]
fn fq_codel_gives_a_sparse_flow_priority() {
    let mut link = link_with(QueueConfig::FqCoDel(FqCoDelConfig::default()));
    let mut sparse_sent: Vec<Time> = Vec::new();
    for number in 0..10_000u64 {
        let now = Time::from_micros(1_000 * number);
        for (at, packet) in drain(&mut link, now) {
            if packet.flow == 1 {
                let wait = (at - sparse_sent[packet.number as usize]).as_millis_f64();
                assert!(wait <= 2.481, "{wait}");
            }
        }
        link.handle_packet(now, TestPacket::of_flow(number, 1500, 0));
        if number % 20 == 0 {
            link.handle_packet(now, TestPacket::of_flow(sparse_sent.len() as u64, 100, 1));
            sparse_sent.push(now);
        }
    }
    assert_eq!(sparse_sent.len(), 500);
}

/// 20 packets of flow 0 and 3 of flow 1 at once, limit 20: the first to overflow is packet 21 in all (one is in service). Half of
/// flow 0's 20 waiting packets go, from the head; flow 1 loses nothing.
#[test]
fn fq_codel_makes_room_at_the_expense_of_the_fattest_flow() {
    let queue = FqCoDelConfig { limit: QueueLimit::Packets(20), ..FqCoDelConfig::default() };
    let mut link = link_with(QueueConfig::FqCoDel(queue));
    (0..21).for_each(|number| link.handle_packet(Time::ZERO, TestPacket::of_flow(number, 1500, 0)));
    (21..24).for_each(|number| link.handle_packet(Time::ZERO, TestPacket::of_flow(number, 1500, 1)));
    assert_eq!(link.ledger().dropped.queue_full.packets, 10);
    let delivered: Vec<_> = drain(&mut link, Time::from_secs(1)).iter().map(|(_, p)| (p.flow, p.number)).collect();
    let of_flow = |flow| delivered.iter().filter(|d| d.0 == flow).map(|d| d.1).collect::<Vec<_>>();
    assert_eq!(of_flow(1), [21, 22, 23]);
    assert_eq!(of_flow(0), [&[0][..], &(11..21).collect::<Vec<_>>()].concat());
}

/// Packets of 500 B (0.4 ms), quantum 1514 B. A sends 12 at 0: A1 goes at once, leaving A 1014 B of credit. b1 comes at 0.1 ms as a new flow
/// behind A, which has credit for A2, A3 and A4 (to -486). A becomes an old flow, b1 goes. Then B is empty: it must wait a turn
/// among the old ones. So b2, which comes at 2.1 ms, does not overtake A6 and A7 (A had 1028 B of credit; 528 after A5).
#[test]
fn fq_codel_does_not_let_an_emptied_flow_jump_the_queue_again() {
    let mut link = link_with(QueueConfig::FqCoDel(FqCoDelConfig::default()));
    (1..=12).for_each(|number| link.handle_packet(Time::ZERO, TestPacket::of_flow(number, 500, 0)));
    link.handle_packet(Time::from_micros(100), TestPacket::of_flow(101, 500, 1));
    link.handle_packet(Time::from_micros(2_100), TestPacket::of_flow(102, 500, 1));
    let order: Vec<_> = drain(&mut link, Time::from_secs(1)).iter().map(|(_, packet)| packet.number).collect();
    assert_eq!(order[..10], [1, 2, 3, 4, 101, 5, 6, 7, 102, 8]);
}

/// With the salt of another seed the same flows fall into other queues.
#[test]
fn fq_codel_sorts_flows_with_a_seeded_salt() {
    let order = |seed| {
        let queue = QueueConfig::FqCoDel(FqCoDelConfig { flows: 4, ..FqCoDelConfig::default() });
        let mut link: Link<TestPacket> = Link::new(LinkConfig { queue, ..config(10, 0) }, RootSeed(seed)).unwrap();
        (0..40).for_each(|number| link.handle_packet(Time::ZERO, TestPacket::of_flow(number, 1500, number % 10)));
        drain(&mut link, Time::from_secs(1)).iter().map(|(_, p)| p.number).collect::<Vec<_>>()
    };
    assert_eq!(order(1), order(1));
    assert_ne!(order(1), order(2));
}

/// What is not allowed is refused with the value and the range.
#[test]
fn bad_settings_are_refused() {
    let error = |queue| -> LinkError { LinkConfig { queue, ..config(10, 5) }.validate().unwrap_err() };
    let red = RedConfig::default;
    let cases = [
        (QueueConfig::DropTail(DropTailConfig { limit: QueueLimit::Bdp(f64::NAN) }), "droptail.limit = NaN bdp"),
        (QueueConfig::Red(RedConfig { max_p: 0.0, ..red() }), "red.max_p = 0 is not allowed; allowed: above 0 to 1"),
        (QueueConfig::Red(RedConfig { queue_weight: Some(1.5), ..red() }), "red.queue_weight = 1.5"),
        (QueueConfig::Red(RedConfig { max_threshold_packets: Some(2.0), ..red() }), "red.max_threshold_packets = 2"),
        (QueueConfig::Red(RedConfig { limit: QueueLimit::Packets(0), ..red() }), "queue.limit = 0 packets"),
        (
            QueueConfig::CoDel(CoDelConfig { interval: Duration::ZERO, ..CoDelConfig::default() }),
            "codel.interval = 0 s",
        ),
        (QueueConfig::FqCoDel(FqCoDelConfig { flows: 0, ..FqCoDelConfig::default() }), "fq_codel.flows = 0"),
        (QueueConfig::Pie(PieConfig { alpha: -1.0, ..PieConfig::default() }), "pie.alpha = -1"),
    ];
    for (queue, expected) in cases {
        let message = error(queue).to_string();
        assert!(message.starts_with(expected), "{message}");
    }
    let mut down = config(10, 5);
    down.server = playpath_link::ServerConfig::Constant { rate: playpath_units::Rate::default() };
    assert_eq!(down.validate().unwrap_err().to_string(), "rate = 0 bit/s is not allowed; allowed: above 0");
}
