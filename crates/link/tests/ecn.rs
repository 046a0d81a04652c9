//! Hops that do not leave the ECN field alone, marking by a threshold of delay, and counters by class: each figure by arithmetic.

mod support;

use playpath_link::{
    CeThreshold, CoDelConfig, DualPi2Config, EcnRewrite, FqCoDelConfig, Link, LinkConfig, QueueConfig,
};
use playpath_units::random::RootSeed;
use playpath_units::{Duration, QueueLimit, Time};
use support::{TestPacket, config, drain, link, run_out};

fn ect0(number: u64) -> TestPacket {
    TestPacket { is_ecn_capable: true, ..TestPacket::new(number, 1500) }
}

/// One packet of each kind: Not-ECT, ECT(0), ECT(1). Bleaching changes the last two, the others one each, and everything is
/// delivered.
#[test]
fn a_hop_rewrites_and_counts() {
    for (rewrite, changed, low_latency, capable) in [
        (Some(EcnRewrite::Bleach), Some(2), [false; 3], [false; 3]),
        (Some(EcnRewrite::Ect1ToEct0), Some(1), [false; 3], [false, true, true]),
        (Some(EcnRewrite::Ect0ToEct1), Some(1), [false, true, true], [false, true, true]),
        (None, None, [false, false, true], [false, true, true]),
    ] {
        let mut link = link(LinkConfig { ecn_rewrite: rewrite, ..config(10, 0) });
        for packet in [TestPacket::new(0, 1500), ect0(1), TestPacket::scalable(2, 1500)] {
            link.handle_packet(Time::ZERO, packet);
        }
        let behind: Vec<TestPacket> = run_out(&mut link).into_iter().map(|(_, packet)| packet).collect();
        assert_eq!(behind.iter().map(|p| p.is_low_latency).collect::<Vec<_>>(), low_latency, "{rewrite:?}");
        assert_eq!(behind.iter().map(|p| p.is_ecn_capable).collect::<Vec<_>>(), capable, "{rewrite:?}");
        assert_eq!(link.stats(Time::from_secs(1)).rewritten_packets, changed, "{rewrite:?}");
    }
}

/// A mark of a hop before is gone behind one that bleaches, and stays behind one that writes ECT(0) for ECT(1).
#[test]
fn bleaching_takes_marks_along() {
    for (rewrite, is_ce) in [(EcnRewrite::Bleach, false), (EcnRewrite::Ect1ToEct0, true)] {
        let mut link = link(LinkConfig { ecn_rewrite: Some(rewrite), ..config(10, 0) });
        link.handle_packet(Time::ZERO, TestPacket { is_ce: true, ..TestPacket::scalable(0, 1500) });
        assert_eq!(run_out(&mut link)[0].1.is_ce, is_ce, "{rewrite:?}");
    }
}

/// What an L4S queue sees is what the hop leaves: ECT(1) that becomes ECT(0) waits with the classic packets.
#[test]
fn the_queue_sees_the_field_behind_the_rewrite() {
    let queue = QueueConfig::DualPi2(DualPi2Config::default());
    for (rewrite, low_latency) in [(None, 2), (Some(EcnRewrite::Ect1ToEct0), 0), (Some(EcnRewrite::Ect0ToEct1), 4)] {
        let mut link = link(LinkConfig { queue: queue.clone(), ecn_rewrite: rewrite, ..config(10, 0) });
        for number in 0..2 {
            link.handle_packet(Time::ZERO, ect0(number));
            link.handle_packet(Time::ZERO, TestPacket::scalable(number, 1500));
        }
        run_out(&mut link);
        let [Some((_, class)), Some(_)] = link.stats(Time::from_secs(1)).classes else { panic!("two classes") };
        assert_eq!(class.arrived.packets, low_latency, "{rewrite:?}");
    }
}

/// 20 packets at once at 10 Mbit/s: packet n waits n × 1.2 ms. A threshold of 5 ms marks those from the fifth on (6 ms), 15 of them,
/// long before an interval of CoDel is over; for ECT(1) only, none of ECT(0). What is not ECN-capable is neither marked nor dropped.
#[test]
fn ce_threshold_marks_by_delay_alone() {
    let five = CeThreshold(Some(Duration::from_millis(5)));
    let codel = |only| {
        QueueConfig::CoDel(CoDelConfig { ce_threshold: five, ce_threshold_ect1: only, ..CoDelConfig::default() })
    };
    let fq = |only| {
        QueueConfig::FqCoDel(FqCoDelConfig { ce_threshold: five, ce_threshold_ect1: only, ..FqCoDelConfig::default() })
    };
    for queue in [&codel as &dyn Fn(bool) -> QueueConfig, &fq] {
        for (only_ect1, packet, marked) in [
            (false, ect0 as fn(u64) -> TestPacket, 15),
            (true, ect0, 0),
            (true, |n| TestPacket::scalable(n, 1500), 15),
            (false, |n| TestPacket::new(n, 1500), 0),
        ] {
            let mut link = link(LinkConfig { queue: queue(only_ect1), ..config(10, 0) });
            (0..20).for_each(|number| link.handle_packet(Time::ZERO, packet(number)));
            let marks: Vec<bool> = run_out(&mut link).iter().map(|(_, p)| p.is_ce).collect();
            assert_eq!(marks.len(), 20);
            assert_eq!(marks.iter().filter(|mark| **mark).count(), marked);
            assert_eq!(link.stats(Time::from_secs(1)).ce_marked_packets, marked as u64);
            assert!(!marks[4] && (marked == 0 || marks[5]), "{marks:?}");
        }
    }
}

/// At 10 Mbit/s 6000 B take 4.8 ms.
#[test]
fn a_threshold_beyond_the_limit_is_refused() {
    let ce_threshold = CeThreshold(Some(Duration::from_millis(5)));
    let limit = QueueLimit::Bytes(6_000);
    let codel = QueueConfig::CoDel(CoDelConfig { ce_threshold, limit, ..CoDelConfig::default() });
    let fq_codel = QueueConfig::FqCoDel(FqCoDelConfig { ce_threshold, limit, ..FqCoDelConfig::default() });
    for (queue, name) in [(codel, "codel"), (fq_codel, "fq_codel")] {
        let error = LinkConfig { queue, ..config(10, 0) }.validate().unwrap_err().to_string();
        assert_eq!(
            error,
            format!(
                "{name}.ce_threshold = 5 ms is not allowed; allowed: less than what the limit of 6 kB holds, 4.8 ms"
            )
        );
    }
}

/// Random packets of both kinds, twice what the link carries: at every moment each class balances, and both together are the link's
/// own counters.
#[test]
fn classes_balance_and_add_up() {
    let limit = QueueLimit::Packets(50);
    let queue = QueueConfig::DualPi2(DualPi2Config { limit, ..DualPi2Config::default() });
    let mut link: Link<TestPacket> = link(LinkConfig { queue, ..config(10, 0) });
    let (mut stream, mut now, mut offered) = (RootSeed(3).stream("arrivals"), 0.0, [0; 2]);
    for number in 0..20_000 {
        let at = Time::ZERO + Duration::from_secs_f64(now);
        drain(&mut link, at);
        let is_scalable = stream.chance(0.5);
        offered[usize::from(!is_scalable)] += 1;
        link.handle_packet(
            at,
            if is_scalable { TestPacket::scalable(number, 1500) } else { TestPacket::new(number, 1500) },
        );
        let stats = link.stats(at);
        let [Some((first, low_latency)), Some((second, classic))] = stats.classes else { panic!("two classes") };
        assert_eq!((first, second), ("low_latency", "classic"));
        assert!(low_latency.arrived.packets + 1 >= offered[0], "but for one that passed an idle link");
        let (dropped, waiting) = (stats.dropped.aqm + stats.dropped.queue_full, link.ledger().queued);
        assert_eq!(low_latency.dropped + classic.dropped, dropped);
        assert_eq!(low_latency.waiting() + classic.waiting(), waiting);
        assert_eq!(low_latency.ce_marked_packets + classic.ce_marked_packets, stats.ce_marked_packets);
        now += stream.exponential(0.0006);
    }
    let [Some((_, low_latency)), Some((_, classic))] = link.stats(link_end(now)).classes else { panic!("two classes") };
    let (short, long) = (low_latency.mean_wait().unwrap(), classic.mean_wait().unwrap());
    assert!(short < long && low_latency.longest_wait >= short && classic.longest_wait >= long, "{short} {long}");
    assert!(low_latency.ce_marked_packets > 1000 && classic.ce_marked_packets == 0);
}

fn link_end(now: f64) -> Time {
    Time::ZERO + Duration::from_secs_f64(now)
}
