use super::*;
use crate::queue::Plain;

fn link() -> LinkFacts {
    LinkFacts {
        rate: Some(Rate::from_bits_per_sec(10_000_000)),
        one_way_delay: Duration::from_millis(25),
        base_rtt: Duration::from_millis(50),
    }
}

fn rule(mean_packet_bytes: u32) -> RedRule {
    RedConfig { mean_packet_bytes, ..RedConfig::default() }.resolve(link()).unwrap()
}

/// ns-2 at 10 Mbit/s and 25 ms. Mean size 500: ptc = 2500/s, target queue 5 ms × 2500 = 12.5 packets, half of it 6.25, so
/// min = 6.25 × 500 = 3125 B, max = 9375 B; rtt = max(0.1, 3 × 25.4 ms) = 0.1 s; w = 1 − exp(−1 / 2500) = 0.00039992;
/// limit 50 × 500 B. Mean size 1000: ptc = 1250/s, 6.25 packets, half 3.125 → 5; w = 1 − exp(−1 / 1250) = 0.00079968.
#[test]
fn automatic_values_are_those_of_ns2() {
    for (mean, min, max, weight, limit) in
        [(500, 3_125.0, 9_375.0, 0.000_399_92, 25_000), (1000, 5_000.0, 15_000.0, 0.000_799_68, 50_000)]
    {
        let rule = rule(mean);
        assert_eq!((rule.min, rule.max, rule.limit), (min, max, limit));
        assert!((rule.weight - weight).abs() < 5e-9, "{}", rule.weight);
    }
}

fn red(config: RedConfig) -> Red {
    Red::new(&config, link(), playpath_units::random::RootSeed(1).stream("red")).unwrap()
}

/// Idle for 1 s at ptc = 1250/s: as if 1250 packets had met an empty queue, and this one: 10 000 × (1 − w)^1251 with
/// w = 1 − exp(−1/1250), that is 10 000 × exp(−1251/1250) = 3675.85.
#[test]
fn the_average_decays_while_the_link_is_idle() {
    let mut red = red(RedConfig::default());
    red.average = 10_000.0;
    red.update_average(Time::from_secs(1), 0);
    assert!((red.average - 3_675.85).abs() < 0.01, "{}", red.average);
}

/// Although every packet would be dropped (average half-way, max_p 1, p_a ≥ 0.5 from the second packet on), the first one above
/// the threshold only starts the count, at one: the second one is dropped for certain (p_b / (1 − 2 p_b) with c p_b = 1).
#[test]
fn the_first_packet_above_the_threshold_only_starts_the_count() {
    let mut store = Store::new(crate::ledger::Drops::default());
    let mut red = red(RedConfig { max_p: 1.0, ..floyd_1993(QueueLimit::Packets(100)) });
    (0..10).for_each(|_| red.fifo.push(store.put(Time::ZERO, 1000, || Plain(1000))));
    red.average = 10.0;
    red.idle_since = None;
    let packet = store.put(Time::ZERO, 1000, || Plain(1000));
    assert!(matches!(red.judge(Time::ZERO, packet, &store), Verdict::Accept));
    assert_eq!((red.count_packets, red.count_bytes), (1, 1000));
    assert!(matches!(red.judge(Time::ZERO, packet, &store), Verdict::Drop(DropCause::Aqm)));
    assert_eq!(red.count_packets, 0);
}

/// min 5000, max 15 000, max_p 0.1: half-way 0.05, at max 0.1, at 1.5 max 0.1 + 0.9 / 2 = 0.55, at 2 max 1.
#[test]
fn base_probability_by_hand() {
    let rule = rule(1000);
    for (average, expected) in [(5_000.0, 0.0), (10_000.0, 0.05), (15_000.0, 0.1), (22_500.0, 0.55), (30_000.0, 1.0)] {
        assert!((base_probability(average, &rule, 0.1) - expected).abs() < 1e-12, "{average}");
    }
}

/// p_b = 0.05. Floyd: c = 10 → 0.05 / 0.5 = 0.1; c = 20 → 1. Wait: c = 19 → 0; c = 30 → 0.05 / 0.5 = 0.1; c = 40 → 1.
#[test]
fn spaced_probability_by_hand() {
    for (count, wait, expected) in [
        (0.0, false, 0.05),
        (10.0, false, 0.1),
        (20.0, false, 1.0),
        (19.0, true, 0.0),
        (30.0, true, 0.1),
        (40.0, true, 1.0),
    ] {
        assert!((spaced_probability(0.05, count, wait) - expected).abs() < 1e-12, "{count} {wait}");
    }
}

/// The configuration of the 1993 paper: counted in packets, thresholds 5 and 15, w 0.002, max_p 0.02, neither gentle nor wait.
fn floyd_1993(limit: QueueLimit) -> RedConfig {
    RedConfig {
        limit,
        queue_unit: RedUnit::Packets,
        drop_unit: RedUnit::Packets,
        min_threshold_packets: Some(5.0),
        max_threshold_packets: Some(15.0),
        queue_weight: Some(0.002),
        max_p: 0.02,
        gentle: false,
        wait: false,
        ..RedConfig::default()
    }
}
