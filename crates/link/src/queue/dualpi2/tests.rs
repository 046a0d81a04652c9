use super::*;

fn link() -> LinkFacts {
    LinkFacts {
        rate: Some(playpath_units::Rate::from_bits_per_sec(10_000_000)),
        one_way_delay: Duration::ZERO,
        base_rtt: Duration::from_millis(10),
    }
}

fn built(config: DualPi2Config) -> Result<DualPi2, LinkError> {
    DualPi2::new(&config, link(), playpath_units::random::RootSeed(1).stream("dualpi2"))
}

/// Steps from p' = 0.1: 0.16015625 × (25 ms − 15 ms) + 3.19921875 × (25 ms − 20 ms) = 0.0016015625 + 0.01599609375;
/// at the target and steady: nothing; empty after 5 ms: −0.16015625 × 15 ms − 3.19921875 × 5 ms = −0.01839843750.
#[test]
fn an_update_follows_distance_and_trend() {
    let config = DualPi2Config::default();
    for (last, delay, step) in [(0.020, 0.025, 0.017_597_656_25), (0.015, 0.015, 0.0), (0.005, 0.0, -0.018_398_437_5)] {
        let updated = Controller { probability: 0.1, last_delay: last }.updated(&config, delay);
        assert!((updated.probability - 0.1 - step).abs() < 1e-12, "{last} {delay}: {updated:?}");
        assert_eq!(updated.last_delay, delay);
    }
}

/// p' stays within 0 and 1; without drops on overload within 1 / k, so that low-latency packets are all marked there.
#[test]
fn the_probability_keeps_its_bounds() {
    let drop = DualPi2Config::default();
    let overflow = DualPi2Config { overload: DualPi2Overload::Overflow, ..DualPi2Config::default() };
    for (config, from, delay, expected) in
        [(&drop, 0.9, 1.0, 1.0), (&drop, 0.001, 0.0, 0.0), (&overflow, 0.4, 1.0, 0.5)]
    {
        let controller = Controller { probability: from, last_delay: 0.0 };
        assert_eq!(controller.updated(config, delay).probability, expected);
    }
}

/// Linux: 1514 B × (10 % − 90 %).
#[test]
fn the_classic_queue_starts_in_debt() {
    assert!((built(DualPi2Config::default()).unwrap().classic_credit + 1211.2).abs() < 1e-9);
}

#[test]
fn thresholds_that_no_packet_can_reach_are_refused() {
    let limit = QueueLimit::Time(Duration::from_millis(15));
    let error = |config| built(config).err().expect("it is refused").to_string();
    assert_eq!(
        error(DualPi2Config { limit, ..DualPi2Config::default() }),
        "dualpi2.target = 15 ms is not allowed; allowed: less than what the limit of 15 ms holds, 15 ms"
    );
    let short = DualPi2Config { limit, target: Duration::from_millis(5), ..DualPi2Config::default() };
    assert!(built(short.clone()).is_ok());
    let step = Duration::from_millis(20);
    assert_eq!(
        error(DualPi2Config { step, ..short }),
        "dualpi2.step = 20 ms is not allowed; allowed: less than what the limit of 15 ms holds, 15 ms"
    );
    assert_eq!(
        error(DualPi2Config { update_interval: Duration::from_nanos(1), ..DualPi2Config::default() }),
        "dualpi2.update_interval = 1 ns is not allowed; allowed: 10 us or longer"
    );
}
