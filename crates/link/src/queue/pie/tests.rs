use super::*;
use crate::queue::Plain;

fn controller(drop_probability: f64, old_delay: f64) -> Controller {
    let burst_allowance = Duration::from_millis(20);
    Controller { drop_probability, old_delay, burst_allowance, accumulated: 0.0 }
}

fn pie(config: PieConfig) -> Pie {
    let link = LinkFacts {
        rate: Some(playpath_units::Rate::from_bits_per_sec(10_000_000)),
        one_way_delay: Duration::ZERO,
        base_rtt: Duration::from_millis(10),
    };
    Pie::new(&config, link, playpath_units::random::RootSeed(1).stream("pie")).unwrap()
}

#[test]
fn updates_by_the_nanosecond_are_refused() {
    let link = LinkFacts { rate: None, one_way_delay: Duration::ZERO, base_rtt: Duration::from_millis(10) };
    let config = PieConfig { update_interval: Duration::from_nanos(1), ..PieConfig::default() };
    let Err(error) = Pie::new(&config, link, playpath_units::random::RootSeed(1).stream("pie")) else {
        panic!("it is refused")
    };
    assert_eq!(error.to_string(), "pie.update_interval = 1 ns is not allowed; allowed: 10 us or longer");
}

/// RFC 8033, 4.1. (drop probability, old delay in ms, queue in bytes, burst allowance in ms) → share dropped of 10 000; the
/// standard error at 0.19 is 0.4 %.
#[test]
fn work_conserving_exceptions() {
    for (probability, old_delay_ms, queue_bytes, burst_ms, expected) in [
        (0.19, 20.0, 10_000, 0, 0.19),
        (1.0, 20.0, 2_049, 0, 1.0),
        (1.0, 20.0, 2_048, 0, 0.0),  // at most two packets of mean size wait
        (0.19, 7.4, 10_000, 0, 0.0), // calm: delay below half the target, probability below 0.2
        (0.19, 7.6, 10_000, 0, 0.19),
        (1.0, 7.4, 10_000, 0, 1.0),
        (1.0, 20.0, 10_000, 1, 0.0), // burst allowance
    ] {
        let mut store = Store::new(crate::ledger::Drops::default());
        let mut pie = pie(PieConfig::default());
        pie.controller = controller(probability, old_delay_ms / 1e3);
        pie.controller.burst_allowance = Duration::from_millis(burst_ms);
        pie.fifo.push(store.put(Time::ZERO, queue_bytes, || Plain(queue_bytes)));
        let packet = store.put(Time::ZERO, 1500, || Plain(1500));
        let drops = (0..10_000).filter(|_| matches!(pie.judge(packet, &store), Verdict::Drop)).count();
        assert!((drops as f64 / 1e4 - expected).abs() < 0.02, "{probability} {old_delay_ms} {queue_bytes}: {drops}");
    }
}

/// target 15 ms, delay 35 ms after 31 ms: 0.125 × 0.020 + 1.25 × 0.004 = 0.0075, scaled by the present probability.
#[test]
fn update_by_hand() {
    for (before, scale) in
        [(0.0, 2048.0), (5e-6, 512.0), (5e-5, 128.0), (5e-4, 32.0), (5e-3, 8.0), (0.05, 2.0), (0.5, 1.0)]
    {
        let mut controller = controller(before, 0.031);
        controller.update(&PieConfig::default(), 0.035);
        assert!((controller.drop_probability - (before + 0.0075 / scale)).abs() < 1e-12, "{before}");
        assert_eq!(controller.burst_allowance, Duration::from_millis(5));
    }
}

/// 0.125 × 0.185 + 1.25 × 0.1 = 0.148, capped at 0.02 from a probability of 0.1 on. With no delay now and before:
/// (0.5 − 0.125 × 0.015) × 0.98 = 0.4881625.
#[test]
fn step_is_capped_and_decays_without_delay() {
    let mut rising = controller(0.5, 0.1);
    rising.update(&PieConfig::default(), 0.2);
    assert!((rising.drop_probability - 0.52).abs() < 1e-12);
    let mut falling = controller(0.5, 0.0);
    falling.update(&PieConfig::default(), 0.0);
    assert!((falling.drop_probability - 0.488_162_5).abs() < 1e-12);
}

#[test]
fn burst_allowance_returns_when_congestion_is_over() {
    let mut controller = controller(0.0, 0.007);
    controller.burst_allowance = Duration::ZERO;
    controller.update(&PieConfig::default(), 0.007);
    assert_eq!(controller.burst_allowance, Duration::from_millis(150));
}

/// Probability 0.1: no drop before 0.85 / 0.1, that is 9 packets after the last one, and none later than 8.5 / 0.1 = 85 after
/// it. Plain draws hit neighbours too.
#[test]
fn derandomized_drops_keep_their_distance() {
    let gaps = |derandomize| {
        let mut pie = pie(PieConfig { derandomize, ..PieConfig::default() });
        let hits: Vec<usize> = (0..20_000).filter(|_| pie.draw(0.1)).collect();
        let gaps: Vec<usize> = hits.windows(2).map(|pair| pair[1] - pair[0]).collect();
        (*gaps.iter().min().unwrap(), *gaps.iter().max().unwrap())
    };
    let (least, most) = gaps(true);
    assert!(least == 9 && most <= 85, "{least} to {most}");
    assert_eq!(gaps(false).0, 1);
}

/// 11 packets of 1500 B pass 16 384 B; at 1.2 ms each the cycle lasts 12 ms from its first departure. 32 768 B then
/// take 24 ms.
#[test]
fn departure_rate_by_hand() {
    let mut departures = DepartureRate::default();
    for n in 0..11 {
        departures.note_departure(Time::from_micros(1_200 * n), 1500, 30_000);
    }
    assert!((departures.delay(32_768) - 0.024).abs() < 1e-12);
}
