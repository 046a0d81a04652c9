//! The 802.11 hop: throughput against Bianchi as ns-3 tabulates it and against sums of the standard's durations; retries, rates, order.

mod support;

use playpath_link::{
    DualPi2Config, Link, LinkConfig, QueueConfig, RateControl, ServerConfig, WifiConfig, WifiStandard,
};
use playpath_units::{QueueLimit, Time};
use support::{TestPacket, config, link, run_out};

fn hop(wifi: WifiConfig) -> Link<TestPacket> {
    let queue = QueueConfig::DropTail(playpath_link::DropTailConfig { limit: QueueLimit::Packets(200) });
    link(LinkConfig { server: ServerConfig::Wifi(wifi), queue, ..config(10, 0) })
}

fn legacy() -> WifiConfig {
    WifiConfig {
        standard: WifiStandard::Legacy,
        rate_control: RateControl::Fixed,
        snr: 50.0,
        retries: 255,
        ..WifiConfig::default()
    }
}

/// Packets of 1500 B without a pause: Mbit/s delivered, share lost.
fn saturated(wifi: WifiConfig, packets: u64) -> (f64, f64) {
    let mut link = hop(wifi);
    let (mut delivered, mut last) = (0u64, Time::ZERO);
    let mut offered = 0;
    let mut now = Time::ZERO;
    while offered < packets {
        while link.queue_packets() < 100 && offered < packets {
            link.handle_packet(now, TestPacket::new(offered, 1500));
            offered += 1;
        }
        now = link.poll_timeout();
        while let Some((at, _)) = link.poll_output(now) {
            (delivered, last) = (delivered + 1, at);
        }
    }
    let rest = run_out(&mut link);
    last = rest.last().map_or(last, |(at, _)| *at);
    delivered += rest.len() as u64;
    let mbps = delivered as f64 * 12_000.0 / (last - Time::ZERO).as_secs_f64() / 1e6;
    (mbps, 1.0 - delivered as f64 / packets as f64)
}

/// Saturation throughput of n stations in all at 54 Mbit/s with frames of 1500 B, by Bianchi's model: ns-3's wifi-bianchi.cc has
/// it for waits of EIFS and of DIFS after a collision; ours lies between (a missing answer lasts as long as one at 24 Mbit/s).
#[test]
fn contention_costs_what_bianchi_says() {
    for (stations, eifs, difs) in [(5, 29.2861, 29.8324), (10, 27.3763, 28.1519), (20, 25.3325, 26.2925)] {
        let (share, lost) = saturated(WifiConfig { stations: stations - 1, ..legacy() }, 30_000);
        let sum = share * f64::from(stations);
        assert!((0.985 * eifs..1.015 * difs).contains(&sum), "{stations} stations: {sum} against {eifs} to {difs}");
        assert_eq!(lost, 0.0);
    }
}

/// One station, no aggregates. 802.11g at 54 Mbit/s: DIFS 34, on average 7.5 slots of 9, frame 248, SIFS 16, answer 28: 393.5 µs
/// for 12 000 bits, 30.5 Mbit/s. 802.11n at 65: 43 + 67.5 + 228 + 16 + 28 = 382.5 µs, 31.4 Mbit/s.
#[test]
fn without_aggregates_the_overhead_takes_half() {
    let single = WifiConfig { standard: WifiStandard::Ht, aggregate: 1, ..legacy() };
    for (wifi, cycle) in [(legacy(), 393.5), (single, 382.5)] {
        let (found, _) = saturated(wifi, 20_000);
        assert!((found / (12_000.0 / cycle) - 1.0).abs() < 0.01, "{found} against {}", 12_000.0 / cycle);
    }
}

/// 802.11n at 65 Mbit/s: 4 ms of airtime hold 20 frames of 1544 B, 951 symbols after 36 µs. 43 + 67.5 + 3840 + 16 + 32 =
/// 3998.5 µs for 240 000 bits, 60.0 Mbit/s: 92 % of the rate. And what a queue's limit is reckoned with is the same.
#[test]
fn aggregates_bring_it_to_nine_tenths() {
    let wifi = WifiConfig { standard: WifiStandard::Ht, ..legacy() };
    let (found, _) = saturated(wifi.clone(), 60_000);
    assert!((found / 60.02 - 1.0).abs() < 0.01, "{found}");
    assert!((wifi.nominal_rate().as_bits_per_sec() as f64 / 60.02e6 - 1.0).abs() < 0.01);
}

/// 54 Mbit/s at 20 dB, a dB under what loses a tenth of 1000 B: odds of 10 / 9 for 1000 B, so 1 - (19/9)^-1.536 = 0.683 of the
/// frames of 1536 B are lost. With two retries 0.683^3 = 0.318 of the packets.
#[test]
fn a_packet_is_lost_when_its_retries_are_used_up() {
    let (_, lost) = saturated(WifiConfig { snr: 20.0, retries: 2, ..legacy() }, 20_000);
    assert!((lost - 0.683_f64.powi(3)).abs() < 0.01, "{lost}");
}

/// Minstrel against the rate that delivers most, at fixed signals: never more than 2 % better, never less than four fifths, for a
/// tenth of its transmissions are samples and retries go down its chain. More signal is never slower by more than chance.
#[test]
fn rate_adaptation_finds_the_rate() {
    for standard in [WifiStandard::Legacy, WifiStandard::Ht] {
        let mut before = 0.0;
        for snr in [6.0, 11.0, 15.0, 19.0, 24.0, 30.0] {
            let wifi = |rate_control| WifiConfig { standard, snr, rate_control, ..WifiConfig::default() };
            let (ideal, _) = saturated(wifi(RateControl::Ideal), 20_000);
            let (found, _) = saturated(wifi(RateControl::Minstrel), 20_000);
            assert!((0.8..1.02).contains(&(found / ideal)), "{standard:?} at {snr} dB: {found} of {ideal} Mbit/s");
            assert!(found > 0.97 * before, "{standard:?} at {snr} dB: {found} after {before} Mbit/s");
            before = found;
        }
    }
}

/// A packet alone leaves after its airtime and no backoff; with a bad signal packets come later, never earlier, and in order.
#[test]
fn delay_varies_to_one_side() {
    let delays = |snr| {
        let mut link = hop(WifiConfig { snr, ..legacy() });
        let mut found = Vec::new();
        for number in 0..2000 {
            link.handle_packet(Time::from_millis(5 * number), TestPacket::new(number, 1500));
            found.extend(link.poll_output(Time::from_millis(5 * number)));
        }
        found.extend(run_out(&mut link));
        assert!(found.windows(2).all(|w| w[0].0 <= w[1].0 && w[0].1.number < w[1].1.number));
        found.into_iter().map(|(at, packet)| (at - Time::from_millis(5 * packet.number)).as_nanos() / 1000).collect()
    };
    let clear: Vec<u64> = delays(50.0);
    assert!(clear.iter().all(|&delay| delay == 248));
    let noisy: Vec<u64> = delays(21.0);
    assert!(noisy.iter().all(|&delay| delay >= 248) && noisy.iter().any(|&delay| delay > 1000));
}

/// Ten packets at once: one leaves by itself, in 228 µs at 65 Mbit/s, and the others as an aggregate that begins then. That is how long they
/// wait in the queue, and a millisecond on the air is no wait: none is marked.
#[test]
fn time_on_the_air_is_no_wait() {
    let queue = QueueConfig::DualPi2(DualPi2Config::default());
    let wifi = WifiConfig { standard: WifiStandard::Ht, ..legacy() };
    let mut link = link(LinkConfig { server: ServerConfig::Wifi(wifi), queue, ..config(10, 0) });
    (0..10).for_each(|number| link.handle_packet(Time::ZERO, TestPacket::scalable(number, 1500)));
    let delivered: Vec<_> = run_out(&mut link).iter().map(|(at, _)| at.as_nanos() / 1000).collect();
    assert!(delivered[0] < 300 && delivered[1..].iter().all(|&at| at > 1500 && at == delivered[9]), "{delivered:?}");
    let low_latency = link.stats(Time::from_millis(10)).classes[0].expect("two classes").1;
    assert_eq!((low_latency.longest_wait.as_nanos() / 1000, low_latency.ce_marked_packets), (delivered[0], 0));
}
