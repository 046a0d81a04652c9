//! Jitter and reordering against what they promise.

mod support;

use playpath_link::{JitterConfig, JitterDistribution, ReorderConfig};
use playpath_units::{Duration, Ratio, Time};
use support::{TestPacket, config, drain, link};

/// Delays in ms of `packets` small packets, one each 100 ms (so that no packet touches another), on a fast link of 50 ms.
fn delays(jitter: Option<JitterConfig>, reordering: Option<ReorderConfig>, packets: u64) -> Vec<f64> {
    let mut config = config(1000, 50);
    (config.jitter, config.reordering) = (jitter, reordering);
    let mut link = link(config);
    let mut delays = vec![0.0; packets as usize];
    for number in 0..packets {
        let now = Time::from_millis(100 * number);
        link.handle_packet(now, TestPacket::new(number, 125)); // 1 µs on the wire
        for (at, packet) in drain(&mut link, now + Duration::from_millis(99)) {
            delays[packet.number as usize] = (at - Time::from_millis(100 * packet.number)).as_millis_f64() - 0.001;
        }
    }
    delays
}

fn moments(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (mean, (values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / values.len() as f64).sqrt())
}

/// Uniform ± 6 ms: mean 50, sd 6 / sqrt(3) = 3.464; normal: mean 50, sd 6. Over 20 000 packets the standard error of the mean is
/// below 0.043 ms and that of the sd below 0.03 ms; bounds are five of them.
#[test]
fn jitter_has_the_stated_mean_and_spread() {
    for (distribution, sd) in [(JitterDistribution::Uniform, 3.464), (JitterDistribution::Normal, 6.0)] {
        let jitter = JitterConfig { amplitude: Duration::from_millis(6), distribution };
        let values = delays(Some(jitter), None, 20_000);
        let (mean, spread) = moments(&values);
        assert!((mean - 50.0).abs() < 0.21, "{mean}");
        assert!((spread - sd).abs() < 0.15, "{spread}");
        if distribution == JitterDistribution::Uniform {
            assert!(values.iter().all(|x| (44.0..=56.0).contains(x)));
        }
    }
}

/// Packets 0.1 ms apart with ± 20 ms of jitter would overtake each other; they do not.
#[test]
fn jitter_keeps_the_order_of_dense_packets() {
    let mut config = config(1000, 50);
    config.jitter =
        Some(JitterConfig { amplitude: Duration::from_millis(20), distribution: JitterDistribution::Normal });
    let mut link = link(config);
    for number in 0..2000 {
        link.handle_packet(Time::from_micros(100 * number), TestPacket::new(number, 125));
    }
    let delivered = drain(&mut link, Time::from_secs(10));
    assert_eq!(delivered.len(), 2000);
    assert!(delivered.is_sorted_by_key(|(_, packet)| packet.number));
    assert!(delivered.is_sorted_by_key(|(at, _)| *at));
}

/// Every packet a candidate, 10 %: 2000 of 20 000, standard error 42; every fifth: 400, standard error 19. Bounds: five.
#[test]
fn the_stated_share_is_held_back_by_the_stated_time() {
    for (gap, expected, bound) in [(1, 2000.0, 212.0), (5, 400.0, 95.0)] {
        let reordering =
            ReorderConfig { probability: Ratio::new(0.1).unwrap(), extra_delay: Duration::from_millis(30), gap };
        let values = delays(None, Some(reordering), 20_000);
        let held_back = values.iter().filter(|x| (*x - 80.0).abs() < 1e-6).count();
        assert_eq!(values.iter().filter(|x| (*x - 50.0).abs() < 1e-6).count() + held_back, 20_000);
        assert!((held_back as f64 - expected).abs() < bound, "{held_back}");
    }
}

/// Every second packet is held back by 2.5 ms, packets are 1 ms apart: packet 1 (due 52.5) is passed by 2 (52) and so on.
#[test]
fn later_packets_overtake_the_ones_held_back() {
    let mut config = config(1000, 50);
    let always = Ratio::new(1.0).unwrap();
    config.reordering = Some(ReorderConfig { probability: always, extra_delay: Duration::from_micros(1_500), gap: 2 });
    let mut link = link(config);
    for number in 0..6 {
        link.handle_packet(Time::from_millis(number), TestPacket::new(number, 125));
    }
    let order: Vec<_> = drain(&mut link, Time::from_secs(1)).iter().map(|(_, packet)| packet.number).collect();
    assert_eq!(order, [0, 2, 1, 4, 3, 5]);
}
