//! Ladders: worked sizes, refusals, moments of the size model.

use playpath_units::random::RootSeed;
use playpath_units::{Duration, Rate};
use playpath_video::ladder::{LadderError, cut};
use playpath_video::{Ladder, ObjectKind, SizeModel};

fn rates(kbps: &[u64]) -> Vec<Rate> {
    kbps.iter().map(|r| Rate::from_bits_per_sec(r * 1000)).collect()
}

/// 700 kbit/s · 2 s / 8 = 175 000 B; the last segment of a 5 s medium lasts 1 s: 87 500 B.
#[test]
fn nominal_sizes() {
    let ladder =
        Ladder::of_rates(ObjectKind::Video, &rates(&[200, 700]), Duration::from_secs(2), Duration::from_secs(5))
            .unwrap();
    assert_eq!(ladder.segments(), 3);
    assert_eq!(ladder.sizes_of(0), [50_000, 175_000]);
    assert_eq!(ladder.bytes(2, 1), 87_500);
    assert_eq!(ladder.start_of(2), Duration::from_secs(4));
    assert_eq!(ladder.duration_of(2), Duration::from_secs(1));
    assert_eq!(ladder.media_duration(), Duration::from_secs(5));
}

#[test]
fn comparisons_at_a_rung_are_strict_or_not_as_named() {
    let ladder =
        Ladder::of_rates(ObjectKind::Video, &rates(&[200, 700]), Duration::from_secs(2), Duration::from_secs(4))
            .unwrap();
    assert_eq!((ladder.highest_at_most(700e3), ladder.highest_below(700e3)), (1, 0));
    assert_eq!((ladder.highest_at_most(1.0), ladder.highest_below(-1.0)), (0, 0));
}

#[test]
fn what_is_refused_says_why() {
    let two = [Duration::from_secs(2)];
    let refuse = |kbps: &[u64], durations: &[Duration]| {
        Ladder::nominal(
            ObjectKind::Video,
            rates(kbps).into_iter().map(playpath_video::Representation::of_rate).collect(),
            durations,
        )
        .unwrap_err()
    };
    assert_eq!(refuse(&[], &two), LadderError::Representations(0));
    assert_eq!(refuse(&[300, 200], &two), LadderError::Rates { index: 1, rate: Rate::from_bits_per_sec(200_000) });
    assert_eq!(refuse(&[0], &two), LadderError::Rates { index: 0, rate: Rate::default() });
    assert_eq!(refuse(&[300], &[]), LadderError::Segments(0));
    assert_eq!(refuse(&[300], &[two[0], Duration::ZERO]), LadderError::Duration { segment: 1 });
    assert_eq!(cut(Duration::from_nanos(1), Duration::from_secs(1)).unwrap_err(), LadderError::Segments(1_000_000_000));
    assert!(refuse(&[300, 300], &two).to_string().contains("rise strictly"));
}

/// 20 000 segments: the standard error of a CV estimate is about cv / sqrt(2 n) = 0.5 % of it (a little more for a lognormal);
/// 5 % is far outside. Shared variance 0.8 means a correlation of logs of 0.8 (standard error (1 − 0.64) / sqrt(n) = 0.0025).
#[test]
fn drawn_sizes_have_the_stated_moments() {
    let drawn =
        Ladder::of_rates(ObjectKind::Video, &rates(&[300, 4300]), Duration::from_secs(4), Duration::from_secs(80_000))
            .unwrap()
            .with_drawn_sizes(SizeModel { cv: 0.3, shared: 0.8 }, &mut RootSeed(3).stream("sizes"));
    let column = |r: usize| (0..drawn.segments()).map(|s| drawn.bytes(s, r) as f64).collect::<Vec<_>>();
    let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
    let covariance = |x: &[f64], y: &[f64]| {
        let (mx, my) = (mean(x), mean(y));
        x.iter().zip(y).map(|(a, b)| (a - mx) * (b - my)).sum::<f64>() / x.len() as f64
    };
    for (r, nominal) in [(0, 150_000.0), (1, 2_150_000.0)] {
        let sizes = column(r);
        // Scaled to the nominal total; rounding to bytes leaves less than half a byte per segment.
        assert!((mean(&sizes) - nominal).abs() < 0.5);
        let cv = covariance(&sizes, &sizes).sqrt() / mean(&sizes);
        assert!((cv - 0.3).abs() < 0.015, "cv {cv}");
    }
    let logs: Vec<Vec<f64>> = (0..2).map(|r| column(r).iter().map(|x| x.ln()).collect()).collect();
    let correlation =
        covariance(&logs[0], &logs[1]) / (covariance(&logs[0], &logs[0]) * covariance(&logs[1], &logs[1])).sqrt();
    assert!((correlation - 0.8).abs() < 0.02, "correlation {correlation}");
}
