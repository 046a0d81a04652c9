//! Loss models against their formulas.

mod support;

use playpath_link::loss::{LossModel, LossPattern};
use playpath_link::{
    BernoulliConfig, BurstsConfig, GilbertElliottConfig, LinkConfig, LossConfig, LossPlace, PatternConfig,
};
use playpath_units::random::RootSeed;
use playpath_units::{Duration, Ratio, Time};
use std::sync::Arc;
use support::{TestPacket, config, drain, link};

fn ratio(x: f64) -> Ratio {
    Ratio::new(x).unwrap()
}

fn sequence(config: &LossConfig, stream: &str, packets: usize) -> Vec<bool> {
    let mut model = LossModel::new(config, RootSeed(7).stream(stream));
    (0..packets).map(|_| model.as_mut().is_some_and(|model| model.loses(Time::ZERO))).collect()
}

fn share(lost: &[bool]) -> f64 {
    lost.iter().filter(|lost| **lost).count() as f64 / lost.len() as f64
}

/// Lengths of the runs of `value`.
fn run_lengths(lost: &[bool], value: bool) -> Vec<usize> {
    lost.chunk_by(|a, b| a == b).filter(|run| run[0] == value).map(<[bool]>::len).collect()
}

fn mean(values: &[usize]) -> f64 {
    values.iter().sum::<usize>() as f64 / values.len() as f64
}

/// One million packets: the standard error of a share p is sqrt(p (1 − p) / 10^6); the bound is five of them.
#[test]
fn bernoulli_loses_the_stated_share_without_memory() {
    for p in [0.0, 0.0001, 0.005, 0.02, 0.5, 1.0] {
        let lost = sequence(&LossConfig::Bernoulli(BernoulliConfig { loss: ratio(p) }), "a", 1_000_000);
        let bound = 5.0 * (p * (1.0 - p) / 1e6f64).sqrt();
        assert!((share(&lost) - p).abs() <= bound, "{p}: {}", share(&lost));
        // Without memory the packet after a lost one is lost with the same probability.
        let after: Vec<bool> = lost.windows(2).filter(|pair| pair[0]).map(|pair| pair[1]).collect();
        if !after.is_empty() {
            let bound = 5.0 * (p * (1.0 - p) / after.len() as f64).sqrt();
            assert!((share(&after) - p).abs() <= bound, "{p} after a loss: {}", share(&after));
        }
    }
}

/// Same stream, higher probability: all that was lost before is lost again. So a comparison over loss rates is paired.
#[test]
fn bernoulli_losses_are_nested() {
    let lost = |p| sequence(&LossConfig::Bernoulli(BernoulliConfig { loss: ratio(p) }), "a", 100_000);
    let (low, high) = (lost(0.01), lost(0.02));
    assert!(low.iter().zip(&high).all(|(low, high)| !low || *high));
}

/// p 1 %, r 25 %: loss 0.01 / 0.26 = 3.846 %, mean burst 4, mean good run 100. Of 10 million packets about
/// 96 000 bursts: standard error of the mean burst sqrt(12) / sqrt(96 000) = 0.011, of a good run about 100 / 310 = 0.32, of the
/// loss about 0.04 × sqrt(2 / 96 000) = 0.02 %. Bounds: five of them.
#[test]
fn gilbert_elliott_has_the_stated_loss_and_bursts() {
    let simple = LossConfig::GilbertElliott(GilbertElliottConfig {
        p: ratio(0.01),
        r: ratio(0.25),
        ..GilbertElliottConfig::default()
    });
    assert!((simple.mean_loss() - 0.038_461_538).abs() < 1e-9);
    let lost = sequence(&simple, "a", 10_000_000);
    assert!((share(&lost) - simple.mean_loss()).abs() < 0.001, "{}", share(&lost));
    assert!((mean(&run_lengths(&lost, true)) - 4.0).abs() < 0.055, "{}", mean(&run_lengths(&lost, true)));
    assert!((mean(&run_lengths(&lost, false)) - 100.0).abs() < 1.6, "{}", mean(&run_lengths(&lost, false)));
}

/// With loss 0.1 % in good and 50 % in bad: (0.02 × 0.5 + 0.2 × 0.001) / 0.22 = 4.636 %. Standard error over 10 million packets
/// with a memory of 1 / 0.22 packets about 0.01 %; bound 0.06 %.
#[test]
fn gilbert_elliott_with_loss_in_both_states() {
    let config = LossConfig::GilbertElliott(GilbertElliottConfig {
        p: ratio(0.02),
        r: ratio(0.2),
        loss_in_good: ratio(0.001),
        loss_in_bad: ratio(0.5),
    });
    assert!((config.mean_loss() - 0.046_363_6).abs() < 1e-7);
    let lost = sequence(&config, "a", 10_000_000);
    assert!((share(&lost) - config.mean_loss()).abs() < 0.0006, "{}", share(&lost));
}

/// p = r = 1: the chain alternates. The state before the move decides, and it starts in good: kept, lost, kept, lost.
#[test]
fn gilbert_elliott_judges_by_the_state_before_the_move() {
    let alternating = GilbertElliottConfig { p: ratio(1.0), r: ratio(1.0), ..GilbertElliottConfig::default() };
    assert_eq!(sequence(&LossConfig::GilbertElliott(alternating), "a", 4), [false, true, false, true]);
}

fn bursts(every: Duration, duration: Duration, loss_in_good: f64, loss_in_bad: f64) -> LossConfig {
    LossConfig::Bursts(BurstsConfig {
        every,
        duration,
        loss_in_good: ratio(loss_in_good),
        loss_in_bad: ratio(loss_in_bad),
    })
}

/// What a packet each `gap` finds, over this time.
fn at_a_pace(config: &LossConfig, gap: Duration, over: Duration) -> Vec<bool> {
    let mut model = LossModel::new(config, RootSeed(7).stream("a")).expect("not none");
    (0..over.as_nanos() / gap.as_nanos()).map(|n| model.loses(Time::ZERO + gap * n)).collect()
}

/// Every 2 s for 100 ms: share of time 5 %. In 100 000 s there are 50 000 bad periods. Standard error of their mean duration
/// 100 ms / sqrt(50 000) = 0.45 ms, of the mean gap 1900 ms / 224 = 8.5 ms, of the share about 0.05 × sqrt(2 / 50 000) = 0.032 %.
/// Bounds: five of them. A packet each 1 ms sees a period of 100 ms as 100 packets (a period between two packets is not seen: periods
/// under 1 ms are 1 %, half of them missed, which lifts the mean of the seen ones by half a packet).
#[test]
fn bursts_have_the_stated_share_duration_and_rate() {
    let config = bursts(Duration::from_secs(2), Duration::from_millis(100), 0.0, 1.0);
    assert!((config.mean_loss() - 0.05).abs() < 1e-12);
    let lost = at_a_pace(&config, Duration::from_millis(1), Duration::from_secs(100_000));
    assert!((share(&lost) - 0.05).abs() < 0.0016, "{}", share(&lost));
    let (bad, good) = (run_lengths(&lost, true), run_lengths(&lost, false));
    assert!((mean(&bad) - 100.5).abs() < 2.3, "mean burst {} ms", mean(&bad));
    assert!((mean(&good) - 1910.0).abs() < 45.0, "mean gap {} ms", mean(&good));
    assert!((bad.len() as f64 - 49_750.0).abs() < 5.0 * 224.0, "{} bursts", bad.len());
}

/// The same bad periods for every pace: over 20 000 s the sender of a packet each 7 s and the one of ten packets in each ms meet the same
/// share in the long run, and where both send at once they meet the same state. With the chain that moves per packet the slow one would
/// see a burst last 7 s × packets.
#[test]
fn bursts_do_not_depend_on_the_pace() {
    let config = bursts(Duration::from_secs(1), Duration::from_millis(250), 0.0, 1.0);
    let over = Duration::from_secs(20_000);
    let fast = at_a_pace(&config, Duration::from_micros(500), over);
    let slow = at_a_pace(&config, Duration::from_secs(7), over);
    let at_the_same_times: Vec<bool> = fast.iter().step_by(14_000).copied().take(slow.len()).collect();
    assert_eq!(slow, at_the_same_times);
    // Periods of 1/4 s are forgotten within 7 s: 2857 looks, standard error sqrt(0.25 × 0.75 / 2857) = 0.81 %.
    assert!((share(&slow) - 0.25).abs() < 0.041, "{}", share(&slow));
    assert!(run_lengths(&slow, true).iter().all(|run| *run < 12), "a burst of minutes for the slow one");
}

/// With loss 1 % in good and 60 % in bad, a tenth of the time: 0.9 × 0.01 + 0.1 × 0.6 = 6.9 %. 100 000 periods of 10 ms seen each 1 ms:
/// standard error about 0.6 × 0.1 × sqrt(2 / 100 000) = 0.027 %; bound 0.14 %.
#[test]
fn bursts_with_loss_in_both_states() {
    let config = bursts(Duration::from_millis(100), Duration::from_millis(10), 0.01, 0.6);
    assert!((config.mean_loss() - 0.069).abs() < 1e-12);
    let lost = at_a_pace(&config, Duration::from_millis(1), Duration::from_secs(10_000));
    assert!((share(&lost) - 0.069).abs() < 0.0014, "{}", share(&lost));
}

/// Over 4000 seeds the first packet is lost as often as any: standard error sqrt(0.3 × 0.7 / 4000) = 0.72 %.
#[test]
fn bursts_begin_in_the_long_run() {
    let config = bursts(Duration::from_secs(100), Duration::from_secs(30), 0.0, 1.0);
    let first = |seed| LossModel::new(&config, RootSeed(seed).stream("a")).expect("not none").loses(Time::ZERO);
    let lost: Vec<bool> = (0..4000).map(first).collect();
    assert!((share(&lost) - 0.3).abs() < 0.036, "{}", share(&lost));
}

#[test]
fn bursts_refuse_what_cannot_be() {
    let error = |every, duration| {
        let loss = bursts(every, duration, 0.0, 1.0);
        LinkConfig { loss, ..config(10, 20) }.validate().unwrap_err().to_string()
    };
    let ms = Duration::from_millis;
    assert_eq!(error(ms(20), ms(20)), "bursts.every = 20 ms is not allowed; allowed: 100 us above `duration`, or more");
    assert_eq!(
        error(ms(20), Duration::from_micros(99)),
        "bursts.duration = 99 us is not allowed; allowed: 100 us or more"
    );
}

#[test]
fn a_pattern_repeats_and_reads_both_forms() {
    let flags = LossPattern::parse("# channel 6\n0 1 0\n0 1\n").unwrap();
    assert_eq!(flags, LossPattern::parse("length 5\n1\n4 # the last\n").unwrap());
    assert_eq!(flags.mean_loss(), 0.4);
    let lost = sequence(&LossConfig::Pattern(PatternConfig { file: Arc::new(flags) }), "a", 10);
    assert_eq!(lost, [false, true, false, false, true, false, true, false, false, true]);
    for (text, expected) in [
        ("", "loss pattern: the pattern is empty"),
        ("01\n02\n", "loss pattern, line 2: '2' is neither 0 nor 1"),
        ("length 0\n", "loss pattern, line 1: length 0 is not within 1 to"),
        ("length 3\n3\n", "loss pattern, line 2: packet 3 is not below the length 3"),
        ("length x\n", "loss pattern, line 1: \"x\" is not a packet number"),
    ] {
        let message = LossPattern::parse(text).unwrap_err().to_string();
        assert!(message.starts_with(expected), "{text:?}: {message}");
    }
}

/// Two links of one run lose different packets; the same link in another run with the same seed the same ones, also if something else
/// in its configuration differs.
#[test]
fn each_link_has_its_own_stream() {
    let survivors = |name: &str, mbps| {
        let mut config = config(mbps, 1);
        config.name = name.into();
        config.loss = LossConfig::Bernoulli(BernoulliConfig { loss: ratio(0.3) });
        config.loss_place = LossPlace::AfterQueue;
        let mut link = link(config);
        (0..500).for_each(|number| link.handle_packet(Time::ZERO, TestPacket::new(number, 1500)));
        drain(&mut link, Time::from_secs(60)).iter().map(|(_, packet)| packet.number).collect::<Vec<_>>()
    };
    assert_eq!(survivors("wifi/down", 10), survivors("wifi/down", 20));
    assert_ne!(survivors("wifi/down", 10), survivors("wifi/up", 10));
}
