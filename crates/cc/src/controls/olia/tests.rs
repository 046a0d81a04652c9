use super::*;
use crate::parts::coupled::testing::{increases, subflow, with_paths};
use crate::{Sibling, registry::find};

const PAPER: Olia = Olia { best_by_draft: false };
const DRAFT: Olia = Olia { best_by_draft: true };

fn with_loss_distance(cwnd: f64, rtt_millis: u64, bytes: u64) -> Sibling {
    Sibling { bytes_between_losses: bytes, ..subflow(cwnd, rtt_millis) }
}

#[test]
fn moves_from_the_big_window_to_the_best_path() {
    // Rates 400 and 200, total 600. Big: 8000/360000 - 1/(2*1)/20 = 0.02222 - 0.025 = -0.002778.
    // Best: 4000/360000 + 1/(2*1)/10 = 0.01111 + 0.05 = 0.06111.
    let paths = [with_loss_distance(20.0, 50, 10_000), with_loss_distance(10.0, 50, 100_000)];
    let increase = increases(&PAPER, &paths);
    assert!((increase[0] + 0.0027777778).abs() < 1e-9, "{increase:?}");
    assert!((increase[1] - 0.0611111111).abs() < 1e-9, "{increase:?}");
}

#[test]
fn equal_paths_share_one_increase() {
    // Both are best and largest, nothing is collected: (40/0.0025) / 1600^2 = 0.00625 = 1/160.
    for increase in increases(&PAPER, &[subflow(40.0, 50), subflow(40.0, 50)]) {
        assert!((increase - 1.0 / 160.0).abs() < 1e-12, "{increase}");
    }
}

#[test]
fn three_unequal_paths_without_transfer() {
    // Equal l: path 1 has the shortest RTT and the largest window. Terms 8000, 1000, 1000 over 600^2.
    let paths = [subflow(20.0, 50), subflow(10.0, 100), subflow(10.0, 100)];
    let paths = paths.map(|path| Sibling { bytes_since_loss: 50_000, ..path });
    let increase = increases(&PAPER, &paths);
    assert!((increase[0] - 0.0222222222).abs() < 1e-9, "{increase:?}");
    assert!((increase[1] - 0.0027777778).abs() < 1e-9, "{increase:?}");
    assert!((increase[2] - 0.0027777778).abs() < 1e-9, "{increase:?}");
}

#[test]
fn the_draft_ranks_paths_otherwise() {
    // l 20 kB at 50 ms and 60 kB at 100 ms. Paper: 8e6 beats 6e6, path 1 is best and largest, nothing moves.
    // Draft: 4e8/0.05 = 8e9 is below 3.6e9/0.1 = 3.6e10: path 2 collects 1/(2*1).
    let paths = [with_loss_distance(20.0, 50, 20_000), with_loss_distance(10.0, 100, 60_000)];
    let (paper, draft) = (increases(&PAPER, &paths), increases(&DRAFT, &paths));
    assert!((draft[1] - paper[1] - 0.5 / 10.0).abs() < 1e-12, "{paper:?} {draft:?}");
    assert!((draft[0] - paper[0] + 0.5 / 20.0).abs() < 1e-12, "{paper:?} {draft:?}");
}

#[test]
fn alphas_sum_to_zero() {
    let mut paths: Vec<_> = (1..6).map(|i| with_loss_distance(f64::from(i % 4) * 5.0 + 5.0, 50, 1000)).collect();
    paths[2].bytes_since_loss = 5000;
    let sum: f64 = (0..5).map(|own| with_paths(&paths, own, |paths| PAPER.alpha(paths))).sum();
    assert!(sum.abs() < 1e-12, "{sum}");
}

#[test]
fn is_found() {
    assert!(find("olia").is_some_and(|entry| entry.is_coupled));
}
