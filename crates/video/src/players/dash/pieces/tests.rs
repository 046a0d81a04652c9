use super::*;

fn ms(n: u64) -> Time {
    Time::from_millis(n)
}

/// 2 s in chunks of 0.5 s, 40 kB: 10 kB each. Number 0 from 10 to 20 ms: 8 Mbit/s; 1 from 510 to 514 ms: 20; 2 from 1010 to 1015:
/// 16; 3 is the last and does not count. Mean 14.667; over the whole response it would be 0.21.
#[test]
fn the_rate_is_that_of_the_bursts() {
    let low_latency = LowLatency {
        delivery: super::super::LiveDelivery::Chunks,
        piece: Duration::from_millis(500),
        playlist_bytes: 0,
    };
    let pieces = Pieces::of(Duration::from_secs(2), &low_latency);
    assert_eq!((pieces.count, pieces.media(3, Duration::from_secs(2))), (4, Duration::from_millis(1500)));
    let mut arrivals = Arrivals::new(pieces);
    assert_eq!(arrivals.next_mark(40_000), 1);
    for (at, received, completes) in [
        (10, 1, false),
        (20, 10_000, true),
        (510, 11_000, false),
        (514, 20_000, true),
        (1010, 20_001, false),
        (1015, 30_000, true),
        (1510, 30_001, false),
        (1511, 40_000, true),
    ] {
        assert_eq!(arrivals.note(ms(at), received, 40_000), completes, "{at}");
    }
    assert!((arrivals.bits_per_sec().expect("three bursts") - 14_666_666.7).abs() < 1.0);
}

/// Chunks that come at once are counted together until that took more than 1 ms: three of 10 kB from 10.0 to 11.6 ms: 150 Mbit/s.
#[test]
fn short_ones_are_counted_together() {
    let mut arrivals = Arrivals::new(Pieces { count: 5, each: Duration::from_millis(500) });
    for (at, received) in [(10_000, 10_000), (10_200, 10_001), (10_900, 20_000), (11_000, 20_001), (11_600, 30_000)] {
        arrivals.note(Time::from_micros(at), received, 50_000);
    }
    assert_eq!(arrivals.count, 3);
    assert!(arrivals.bits_per_sec().is_some_and(|rate| (rate / 1e6 - 150.0).abs() < 1e-6));
}
