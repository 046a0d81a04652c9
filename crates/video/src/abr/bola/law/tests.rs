use super::*;
use crate::ObjectKind;
use playpath_units::{Duration, Rate};

fn ladder(mbps: &[f64], segment: u64) -> Ladder {
    let rates: Vec<_> = mbps.iter().map(|r| Rate::from_bits_per_sec_f64(r * 1e6)).collect();
    Ladder::of_rates(ObjectKind::Video, &rates, Duration::from_secs(segment), Duration::from_secs(300)).unwrap()
}

/// u = 0, ln 2.5 = 0.91629, ln 5 = 1.60944. V = (25 − 3) / (1.60944 + 5) = 22 / 6.60944 = 3.32858.
/// 1 → 2.5: crossing (2.5 · 0 − 1 · 0.91629) / 1.5 = −0.61086: 3.32858 · 4.38914 = 14.6096 s.
/// 2.5 → 5: (5 · 0.91629 − 2.5 · 1.60944) / 2.5 = 0.22314: 3.32858 · 5.22314 = 17.3857 s.
#[test]
fn worked_ladder_basic() {
    let ladder = ladder(&[1.0, 2.5, 5.0], 3);
    let law = Law::basic(&ladder, 5.0, 25.0);
    assert!((law.v - 3.32858).abs() < 1e-5);
    assert!((law.min_level(&ladder, 1) - 14.6096).abs() < 1e-4);
    assert!((law.min_level(&ladder, 2) - 17.3857).abs() < 1e-4);
    // Above V (u_M + gp) = Qmax − p = 22 s every score is negative.
    assert!((law.max_level(2) - 22.0).abs() < 1e-9);
    for (level, best) in [(0.0, 0), (14.60, 0), (14.62, 1), (17.38, 1), (17.39, 2), (21.0, 2)] {
        assert_eq!(law.best(&ladder, level), best, "at {level} s");
    }
}

/// Target max(16, 10 + 2 · 3) = 16 s: 1.60944 / 0.6 = 2.68240; V = 10 / 2.68240 = 3.72801, gp = 3.68240.
/// Thresholds 3.72801 · (3.68240 − 0.61086) = 11.4507 and 3.72801 · (3.68240 + 0.22314) = 14.5599 s.
/// Levels: lowest 3.72801 · 3.6824 = 13.7280 s, highest 3.72801 · (1.60944 + 3.6824) = 19.7280 s.
#[test]
fn worked_ladder_enhanced() {
    let ladder = ladder(&[1.0, 2.5, 5.0], 3);
    let law = Law::enhanced(&ladder, 16.0);
    assert!((law.gp - 3.68240).abs() < 1e-5);
    assert!((law.v - 3.72801).abs() < 1e-5);
    assert!((law.min_level(&ladder, 1) - 11.4507).abs() < 1e-3);
    assert!((law.min_level(&ladder, 2) - 14.5599).abs() < 1e-3);
    assert!((law.max_level(0) - 13.7280).abs() < 1e-3);
    assert!((law.max_level(2) - 19.7280).abs() < 1e-3);
}

/// Seven rungs push the target to 10 + 2 · 7 = 24 s whatever is configured below. The highest level is the target and V more.
#[test]
fn many_rungs_raise_the_target() {
    let ladder = ladder(&[0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7], 2);
    for (target, expected) in [(18.0, 24.0), (30.0, 30.0)] {
        let law = Law::enhanced(&ladder, target);
        assert!((law.max_level(6) - law.v - expected).abs() < 1e-9);
    }
}
