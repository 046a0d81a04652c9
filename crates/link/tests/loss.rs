//! Loss models against their formulas.

mod support;

use playpath_link::loss::{LossModel, LossPattern};
use playpath_link::{BernoulliConfig, GilbertElliottConfig, LossConfig, LossPlace, PatternConfig};
use playpath_units::random::RootSeed;
use playpath_units::{Ratio, Time};
use std::sync::Arc;
use support::{TestPacket, config, drain, link};

fn ratio(x: f64) -> Ratio {
    Ratio::new(x).unwrap()
}

fn sequence(config: &LossConfig, stream: &str, packets: usize) -> Vec<bool> {
    let mut model = LossModel::new(config, RootSeed(7).stream(stream));
    (0..packets).map(|_| model.as_mut().is_some_and(LossModel::loses_next)).collect()
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

/// p 1 %, r 25 %: loss 0.01 / 0.26 = 3.846 %, mean burst 4, mean good run 100 (algorithms.md 12.2). Of 10 million packets about
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
