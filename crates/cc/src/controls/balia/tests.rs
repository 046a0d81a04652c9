use super::*;
use crate::parts::coupled::testing::{increases, subflow, with_paths};

#[test]
fn two_equal_paths_share_one_increase() {
    // x = 100 each, alpha 1: 100 / (0.1 * 200^2) * 1 * 1 = 0.025.
    for increase in increases(&Balia, &[subflow(10.0, 100), subflow(10.0, 100)]) {
        assert!((increase - 0.025).abs() < 1e-12, "{increase}");
    }
}

#[test]
fn three_unequal_paths() {
    // x = 400, 100, 100. Path 1: 400 / (0.05 * 600^2) = 0.02222, alpha 1. Others: alpha 4, 100 / (0.1 * 600^2) = 0.002778,
    // times 5/2 * 8/5 = 4: 0.01111.
    let paths = [subflow(20.0, 50), subflow(10.0, 100), subflow(10.0, 100)];
    let increase = increases(&Balia, &paths);
    assert!((increase[0] - 0.0222222222).abs() < 1e-9, "{increase:?}");
    assert!((increase[1] - 0.0111111111).abs() < 1e-9, "{increase:?}");
    // Cuts: path 1 alpha 1 takes 10 of 20; path 2 min(4, 1.5) / 2 = 0.75 takes 7.5 of 10.
    assert_eq!(with_paths(&paths, 0, |paths| Balia.remaining(paths)), 0.5);
    assert_eq!(with_paths(&paths, 1, |paths| Balia.remaining(paths)), 0.25);
}
