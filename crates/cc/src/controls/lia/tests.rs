use super::*;
use crate::parts::coupled::testing::{increases, subflow};

#[test]
fn two_equal_paths_share_one_increase() {
    // alpha = 20 (10/0.01) / (100 + 100)^2 = 0.5; 0.5 / 20 = 0.025 per packet on each path.
    for increase in increases(&Lia, &[subflow(10.0, 100), subflow(10.0, 100)]) {
        assert!((increase - 0.025).abs() < 1e-12, "{increase}");
    }
}

#[test]
fn three_unequal_paths() {
    // Rates 400, 100, 100: alpha = 40 (20/0.0025) / 600^2 = 320000/360000 = 0.8889; 0.8889/40 = 0.02222 on each.
    for increase in increases(&Lia, &[subflow(20.0, 50), subflow(10.0, 100), subflow(10.0, 100)]) {
        assert!((increase - 0.8888888889 / 40.0).abs() < 1e-9, "{increase}");
    }
}

#[test]
fn never_faster_than_a_single_tcp() {
    // Rates 10 and 100/s. alpha = 101 (1/0.0001) / (100 + 100)^2 = 25.25, over 101: 0.25 per packet on each path; a lone TCP
    // on the second would add 1/100.
    let increase = increases(&Lia, &[subflow(1.0, 10), subflow(100.0, 1000)]);
    assert!((increase[0] - 0.25).abs() < 1e-9, "{increase:?}");
    assert!((increase[1] - 0.01).abs() < 1e-12, "{increase:?}");
}

#[test]
fn windows_count_in_bytes() {
    // Halved segments on path 2: windows 14600 and 7300 bytes at 100 ms. alpha = 21900 (14600/0.01) / 219000^2 = 0.66667.
    // Path 1: 0.66667 * 1460 / 21900 = 0.04444; path 2: half of that.
    let mut siblings = [subflow(10.0, 100), subflow(10.0, 100)];
    siblings[1].mss = 730;
    let increase = increases(&Lia, &siblings);
    assert!((increase[0] - 0.0444444444).abs() < 1e-9, "{increase:?}");
    assert!((increase[1] - 0.0222222222).abs() < 1e-9, "{increase:?}");
}
