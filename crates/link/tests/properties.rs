//! What must hold for every chain: the balance, and independence from when the link is called.

mod support;

use playpath_link::loss::LossPattern;
use playpath_link::trace::Trace;
use playpath_link::{
    BernoulliConfig, BurstsConfig, CeThreshold, CoDelConfig, Count, DropTailConfig, DualPi2Config, EcnRewrite,
    FqCoDelConfig, GilbertElliottConfig, JitterConfig, JitterDistribution, Link, LinkConfig, LinkStats, LossConfig,
    LossPlace, Mtu, Outage, PatternConfig, PieConfig, PieDelay, QueueConfig, RedConfig, ReorderConfig, ServerConfig,
    WifiConfig, WifiStandard,
};
use playpath_units::{Duration, QueueLimit, Rate, Ratio, Time};
use proptest::prelude::*;
use std::sync::Arc;
use support::{TestPacket, config, drain, floyd_1993, link};

fn ratio(x: f64) -> Ratio {
    Ratio::new(x).unwrap()
}

fn queues() -> impl Strategy<Value = QueueConfig> {
    let small = QueueLimit::Packets(20);
    let red = RedConfig { limit: small, ecn: true, adaptive: true, ..RedConfig::default() };
    // Short times, so that a few hundred packets reach every state.
    let [target, interval] = [1, 10].map(Duration::from_millis);
    let pie = PieConfig {
        limit: small,
        target,
        update_interval: target,
        max_burst: interval,
        alpha: 100.0,
        beta: 1000.0,
        ecn: true,
        derandomize: true,
        ..PieConfig::default()
    };
    let dualpi2 = DualPi2Config {
        limit: small,
        target,
        update_interval: target,
        alpha: 10.0,
        beta: 50.0,
        ..DualPi2Config::default()
    };
    prop::sample::select(vec![
        QueueConfig::DropTail(DropTailConfig { limit: QueueLimit::Bytes(20_000) }),
        QueueConfig::DropTail(DropTailConfig { limit: QueueLimit::Packets(0) }),
        QueueConfig::DropTail(DropTailConfig { limit: QueueLimit::Time(Duration::from_millis(15)) }),
        QueueConfig::Red(RedConfig { queue_weight: Some(0.2), ..red }),
        QueueConfig::Red(RedConfig { queue_weight: Some(0.1), ..floyd_1993(QueueLimit::Packets(30)) }),
        QueueConfig::CoDel(CoDelConfig { limit: small, target, interval, ..CoDelConfig::default() }),
        QueueConfig::CoDel(CoDelConfig { target, interval, ecn: true, ..CoDelConfig::default() }),
        QueueConfig::FqCoDel(FqCoDelConfig { limit: small, target, interval, flows: 4, ..FqCoDelConfig::default() }),
        QueueConfig::FqCoDel(FqCoDelConfig {
            ce_threshold: CeThreshold(Some(Duration::from_micros(500))),
            target,
            interval,
            flows: 4,
            ..FqCoDelConfig::default()
        }),
        QueueConfig::Pie(PieConfig { delay: PieDelay::DepartureRate, ..pie.clone() }),
        QueueConfig::Pie(pie),
        QueueConfig::DualPi2(dualpi2),
    ])
}

fn servers() -> impl Strategy<Value = ServerConfig> {
    let trace = |text| Trace::parse(text, None).unwrap().into_server();
    prop::sample::select(vec![
        ServerConfig::Constant { rate: Rate::from_bits_per_sec(10_000_000) },
        ServerConfig::Constant { rate: Rate::from_bits_per_sec(7_777_777) },
        ServerConfig::Unlimited,
        ServerConfig::TokenBucket { rate: Rate::from_bits_per_sec(10_000_000), depth: 9_000 },
        ServerConfig::TokenBucket { rate: Rate::from_bits_per_sec(7_777_777), depth: 100 },
        ServerConfig::Wifi(WifiConfig { snr: 15.0, snr_sd: 6.0, aggregate: 8, ..WifiConfig::default() }),
        ServerConfig::Wifi(WifiConfig {
            standard: WifiStandard::Legacy,
            snr: 12.0,
            retries: 1,
            stations: 3,
            ..WifiConfig::default()
        }),
        trace("1\n2\n2\n7\n"),
        trace("0 0\n0.004 20\n0.009 0\n0.013 5\n"),
    ])
}

fn losses() -> impl Strategy<Value = LossConfig> {
    let gilbert_elliott =
        GilbertElliottConfig { p: ratio(0.1), r: ratio(0.3), loss_in_good: ratio(0.01), loss_in_bad: ratio(0.7) };
    let [every, duration] = [10, 2].map(Duration::from_millis);
    let bursts = BurstsConfig { every, duration, ..BurstsConfig::default() };
    let pattern = Arc::new(LossPattern::parse("0001011").unwrap());
    prop::sample::select(vec![
        LossConfig::None,
        LossConfig::Bernoulli(BernoulliConfig { loss: ratio(0.1) }),
        LossConfig::GilbertElliott(gilbert_elliott),
        LossConfig::Bursts(bursts),
        LossConfig::Pattern(PatternConfig { file: pattern }),
    ])
}

fn delays() -> impl Strategy<Value = (Option<JitterConfig>, Option<ReorderConfig>)> {
    let jitter = |distribution| Some(JitterConfig { amplitude: Duration::from_millis(4), distribution });
    let reordering = Some(ReorderConfig { probability: ratio(0.2), extra_delay: Duration::from_millis(9), gap: 2 });
    prop::sample::select(vec![
        (None, None),
        (jitter(JitterDistribution::Uniform), None),
        (jitter(JitterDistribution::Normal), None),
        (None, reordering),
        (jitter(JitterDistribution::Uniform), reordering),
        (jitter(JitterDistribution::Normal), reordering),
    ])
}

/// None, in the midst of the arrivals, or from some time on for good.
fn outages() -> impl Strategy<Value = Option<Outage>> {
    let ms = Time::from_millis;
    prop::sample::select(vec![
        None,
        Some(Outage { from: ms(20), until: ms(90), spread: Duration::ZERO }),
        Some(Outage { from: ms(60), until: Time::MAX, spread: Duration::ZERO }),
    ])
}

fn configs() -> impl Strategy<Value = LinkConfig> {
    let places = prop::sample::select(vec![LossPlace::BeforeQueue, LossPlace::AfterQueue]);
    let rewrites = prop::sample::select(vec![None, None, Some(EcnRewrite::Bleach), Some(EcnRewrite::Ect0ToEct1)]);
    (queues(), servers(), losses(), places, outages(), delays(), rewrites).prop_map(
        |(queue, server, loss, loss_place, outage, (jitter, reordering), ecn_rewrite)| LinkConfig {
            server,
            ecn_rewrite,
            jitter,
            reordering,
            loss,
            loss_place,
            outage,
            queue,
            ..config(10, 3)
        },
    )
}

/// (gap in µs to the one before, size, flow, ECN-capable)
type Arrival = (u64, u32, u64, bool);

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let gap = prop_oneof![3 => Just(0u64), 6 => 0u64..2_000, 1 => 10_000u64..60_000];
    prop::collection::vec((gap, 40u32..1500, 0u64..5, any::<bool>()), 1..250)
}

fn packets(arrivals: &[Arrival]) -> Vec<(Time, TestPacket)> {
    let mut now = Time::ZERO;
    let mut packets = Vec::new();
    for (number, &(gap, bytes, flow, is_ecn_capable)) in (0..).zip(arrivals) {
        now += Duration::from_micros(gap);
        // One of the flows is scalable.
        let packet = match flow {
            1 => TestPacket::scalable(number, bytes),
            _ => TestPacket { is_ecn_capable, ..TestPacket::of_flow(number, bytes, flow) },
        };
        packets.push((now, packet));
    }
    packets
}

const END: Time = Time::from_secs(30);

/// The plainest use: hand in everything, take everything at the end.
fn deliveries_without_extra_calls(
    config: &LinkConfig,
    arrivals: &[Arrival],
) -> (Vec<(Time, TestPacket)>, Link<TestPacket>) {
    let mut link = link(config.clone());
    for (at, packet) in packets(arrivals) {
        link.handle_packet(at, packet);
        link.ledger().check().unwrap();
    }
    let delivered = drain(&mut link, END);
    link.ledger().check().unwrap();
    (delivered, link)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Calls at any times, timers followed or not: the same packets at the same times, the same statistics.
    #[test]
    fn extra_calls_change_nothing(config in configs(), arrivals in arrivals(), extra in prop::collection::vec(0u64..300_000, 0..60)) {
        let (expected, mut plain) = deliveries_without_extra_calls(&config, &arrivals);

        let mut link = link(config);
        let mut extra: Vec<Time> = extra.into_iter().map(Time::from_micros).collect();
        extra.sort();
        let mut extra = extra.into_iter().peekable();
        let mut delivered = Vec::new();
        for (at, packet) in packets(&arrivals) {
            while let Some(now) = extra.next_if(|now| *now <= at) {
                if now.as_nanos() % 2 == 0 {
                    link.handle_timeout(now);
                } else {
                    delivered.extend(drain(&mut link, now));
                    link.stats(now);
                }
                link.ledger().check().unwrap();
            }
            // Half of the time, be exactly on time.
            while link.poll_timeout() <= at && at.as_nanos() % 4_000 < 2_000 {
                let due = link.poll_timeout();
                delivered.extend(drain(&mut link, due));
            }
            link.handle_packet(at, packet);
        }
        delivered.extend(drain(&mut link, END));
        prop_assert_eq!(&delivered, &expected);
        prop_assert_eq!(link.stats(END), plain.stats(END));
    }

    /// Following the link's own timers delivers everything exactly when it is due.
    #[test]
    fn timers_are_never_late(config in configs(), arrivals in arrivals()) {
        let (expected, _) = deliveries_without_extra_calls(&config, &arrivals);
        let mut link = link(config);
        let mut delivered = Vec::new();
        let follow_timers = |link: &mut Link<TestPacket>, until: Time, delivered: &mut Vec<_>| {
            while link.poll_timeout() <= until {
                let now = link.poll_timeout();
                for (at, packet) in drain(link, now) {
                    assert_eq!(at, now, "delivered when due");
                    delivered.push((at, packet));
                }
                assert!(link.poll_timeout() > now, "the timer moves on");
            }
        };
        for (at, packet) in packets(&arrivals) {
            follow_timers(&mut link, at, &mut delivered);
            link.handle_packet(at, packet);
        }
        follow_timers(&mut link, END, &mut delivered);
        prop_assert_eq!(delivered, expected);
        prop_assert_eq!(link.poll_timeout(), Time::MAX);
        let ledger = link.ledger();
        ledger.check().unwrap();
        prop_assert_eq!(ledger.queued.packets + ledger.in_service.packets + ledger.propagating.packets, 0);
    }

    /// Whether a packet's way is decided when it arrives, or step by step, as with an MTU that all packets keep: the same at every moment.
    #[test]
    fn a_way_that_is_certain_is_the_same_step_by_step(config in configs(), arrivals in arrivals()) {
        let config = LinkConfig { outage: None, ..config };
        let mut certain = link(config.clone());
        let mut stepped = link(LinkConfig { mtu: Some(Mtu { bytes: u32::MAX, is_reported: false }), ..config });
        for (at, packet) in packets(&arrivals).into_iter().chain([(END, TestPacket::of_flow(0, 40, 0))]) {
            prop_assert_eq!(drain(&mut certain, at), drain(&mut stepped, at));
            certain.handle_packet(at, packet);
            stepped.handle_packet(at, packet);
            prop_assert_eq!(certain.poll_timeout(), stepped.poll_timeout());
            let state = |link: &mut Link<TestPacket>| {
                let (mut stats, mut ledger) = (link.stats(at), link.ledger());
                (stats.dropped.too_big, ledger.dropped.too_big) = (None, None);
                (stats, ledger, link.queue_packets(), link.queue_bytes())
            };
            prop_assert_eq!(state(&mut certain), state(&mut stepped));
        }
    }

    /// An outage takes exactly the packets that come in it, and the link is the same as if nobody had sent them.
    #[test]
    fn an_outage_is_as_if_its_packets_had_not_been_sent(config in configs(), arrivals in arrivals()) {
        let (delivered, mut link) = deliveries_without_extra_calls(&config, &arrivals);
        let refused = |at: Time| config.outage.is_some_and(|outage| outage.from <= at && at < outage.until);
        let mut without = support::link(LinkConfig { outage: None, ..config.clone() });
        let mut refused_bytes = Vec::new();
        for (at, packet) in packets(&arrivals) {
            if refused(at) {
                refused_bytes.push(u64::from(packet.bytes));
            } else {
                without.handle_packet(at, packet);
            }
        }
        prop_assert_eq!(delivered, drain(&mut without, END));
        let (mut stats, expected) = (link.stats(END), without.stats(END));
        let count = Count { packets: refused_bytes.len() as u64, bytes: refused_bytes.iter().sum() };
        prop_assert_eq!(stats.dropped.outage.take(), config.outage.map(|_| count));
        prop_assert_eq!(stats.offered, expected.offered + count);
        prop_assert_eq!(LinkStats { offered: expected.offered, ..stats }, expected);
    }

    /// Nothing arrives earlier than the delay allows, in order of time; a flow's packets in order unless reordering is on.
    #[test]
    fn deliveries_respect_the_delay_and_the_order(config in configs(), arrivals in arrivals()) {
        let (delivered, mut link) = deliveries_without_extra_calls(&config, &arrivals);
        let sent = packets(&arrivals);
        prop_assert!(delivered.is_sorted_by_key(|(at, _)| *at));
        for (at, packet) in &delivered {
            let least = if config.jitter.is_none() { config.one_way_delay } else { Duration::ZERO };
            prop_assert!(*at >= sent[packet.number as usize].0 + least);
        }
        // Where ECT(0) becomes ECT(1), an L4S queue parts those of a flow that are ECN-capable from the others.
        if config.reordering.is_none() && config.ecn_rewrite != Some(EcnRewrite::Ect0ToEct1) {
            for flow in 0..5 {
                prop_assert!(delivered.iter().map(|(_, p)| p).filter(|p| p.flow == flow).is_sorted_by_key(|p| p.number));
            }
        }
        let marked = delivered.iter().filter(|(_, packet)| packet.is_ce).count() as u64;
        let stats = link.stats(END);
        prop_assert!(marked <= stats.ce_marked_packets);
        let is_lost_later = config.loss_place == LossPlace::AfterQueue || matches!(config.server, ServerConfig::Wifi(_));
        prop_assert!(is_lost_later || marked == stats.ce_marked_packets);
        prop_assert!((0.0..=1.0).contains(&stats.utilisation));
    }
}

proptest! {
    /// Over any span a token bucket lets at most its depth and what its rate brings through; and with something always waiting,
    /// no less either.
    #[test]
    fn a_token_bucket_keeps_its_envelope(arrivals in arrivals(), depth in 1_500u64..40_000) {
        let rate = Rate::from_bits_per_sec(2_000_000);
        let queue = QueueConfig::DropTail(DropTailConfig { limit: QueueLimit::Packets(1000) });
        let settings = LinkConfig { server: ServerConfig::TokenBucket { rate, depth }, queue, ..config(10, 0) };
        let (delivered, _) = deliveries_without_extra_calls(&settings, &arrivals);
        for (first, (from, _)) in delivered.iter().enumerate() {
            let mut bytes = 0;
            for (at, packet) in &delivered[first..] {
                bytes += u64::from(playpath_link::Packet::wire_bytes(packet));
                // A byte for the rounding of each packet's nanoseconds.
                prop_assert!(bytes <= depth + rate.bytes_in(*at - *from) + delivered.len() as u64);
            }
        }
        let total: u64 = delivered.iter().map(|(_, p)| u64::from(playpath_link::Packet::wire_bytes(p))).sum();
        let last_arrival = packets(&arrivals).last().expect("not empty").0;
        let end = delivered.last().expect("nothing is dropped").0;
        // Whatever still waited when the last packet came left at the rate.
        prop_assert!(end <= last_arrival + rate.time_to_send(total) + Duration::from_micros(delivered.len() as u64));
    }
}
