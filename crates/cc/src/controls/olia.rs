//! OLIA, opportunistic linked increases: Pareto-optimal LIA that also moves window towards the best paths that it uses least.
//!
//! Reference: draft-khalili-mptcp-congestion-control-05; Khalili et al., "MPTCP is not Pareto-optimal", CoNEXT 2012.
//!
//! Differences from the reference:
//! 1. The best paths maximise `l / rtt^2`, as in the paper and in Linux: the square of the rate that TCP would get is
//!    proportional to it. The draft's text has `l^2 / rtt`; parameter `best_path = "draft"`.
//! 2. Windows are compared in whole packets, as Linux does: fractions would make every set of largest windows a set of one.
//! 3. Windows count in packets; the draft's terms for subflows with different segment sizes are left out.
//!
//! Units: packets; l in bytes. The increase may be negative; the window never falls below 1. Tested here by worked examples,
//! and on a fluid model of two paths in `tests/comparisons.rs`.

use crate::kernel::{InKernel, Law, PHASES};
use crate::parts::coupled::{Coupled, Coupling, GROUP, LAW_DETAILS, Path, Paths};
use crate::parts::slow_start::{ABC_LIMIT, PACED, slow_start_spec};
use crate::parts::windows::REDUCE_FROM;
use crate::registry::{Behaviour, Entry};
use crate::{ParamSpec, Params};

/// Registry entry.
pub static ENTRY: Entry = Entry {
    name: "olia",
    aliases: &[],
    summary: "MPTCP opportunistic linked increases: Pareto-optimal, shifts window to the best paths",
    reference: "draft-khalili-mptcp-congestion-control-05; Khalili et al. 2012",
    params: &[
        ParamSpec::word(
            "best_path",
            "paper",
            &["paper", "draft"],
            "best paths maximise l/rtt^2 (paper, Linux) or l^2/rtt (draft), l: bytes between losses",
        ),
        slow_start_spec("classic"),
        ABC_LIMIT,
        PACED,
        REDUCE_FROM,
    ],
    in_kernel: Some(InKernel::ours(&LAW)),
    is_coupled: true,
    behaviour: Behaviour::DELAY_BASED,
    build: |params, initial_window| Box::new(Coupled::new(Olia::new(params), params, initial_window)),
};

/// The eBPF control.
static LAW: Law = Law {
    name: "olia",
    family: "coupled",
    summary: ENTRY.summary,
    slots: &[&[GROUP]],
    phases: PHASES,
    details: LAW_DETAILS,
};

/// The coupling.
struct Olia {
    best_by_draft: bool,
}

impl Olia {
    fn new(params: &Params) -> Olia {
        Olia { best_by_draft: params.word("best_path") == "draft" }
    }

    /// What the best paths maximise.
    fn quality(&self, path: &Path) -> f64 {
        let l = path.sibling.bytes_between_losses.max(path.sibling.bytes_since_loss) as f64;
        if self.best_by_draft { l * l / path.rtt } else { l / (path.rtt * path.rtt) }
    }

    /// The draft's alpha of the own path: takes from the largest windows, gives to the best paths that are not among them.
    fn alpha(&self, paths: &Paths) -> f64 {
        let best = paths.iter().map(|path| self.quality(&path)).fold(0.0, f64::max);
        let largest = paths.iter().map(|path| libm::floor(path.cwnd)).fold(0.0, f64::max);
        let is_largest = |path: &Path| libm::floor(path.cwnd) == largest;
        let is_collected = |path: &Path| !is_largest(path) && self.quality(path) == best;
        let collected = paths.iter().filter(is_collected).count();
        let own = paths.own();
        let share = |members: usize| 1.0 / (paths.iter().count() * members) as f64;
        match collected {
            0 => 0.0,
            _ if is_collected(&own) => share(collected),
            _ if is_largest(&own) => -share(paths.iter().filter(is_largest).count()),
            _ => 0.0,
        }
    }
}

impl Coupling for Olia {
    const NAME: &'static str = ENTRY.name;

    /// `(w_r / rtt_r^2) / (sum w_p / rtt_p)^2 + alpha_r / w_r`.
    fn increase(&self, paths: &Paths) -> f64 {
        let own = paths.own();
        let total = paths.total_rate();
        own.rate() / own.rtt / (total * total) + self.alpha(paths) / own.cwnd
    }
}

#[cfg(test)]
mod tests {
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
}
