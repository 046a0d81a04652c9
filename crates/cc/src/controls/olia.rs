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

use crate::ParamSpec;
use crate::kernel::{InKernel, Law, PHASES};
use crate::parts::coupled::{Coupled, Coupling, LAW_DETAILS, Path, Paths};
use crate::parts::slow_start::{ABC_LIMIT, PACED, slow_start_spec};
use crate::parts::windows::REDUCE_FROM;
use crate::registry::{Behaviour, Entry};

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
    build: |params, initial_window| {
        let rule = Olia { best_by_draft: params.word("best_path") == "draft" };
        Box::new(Coupled::new(rule, params, initial_window))
    },
};

static LAW: Law =
    Law { name: "olia", family: "coupled", summary: ENTRY.summary, slots: &[], phases: PHASES, details: LAW_DETAILS };

struct Olia {
    best_by_draft: bool,
}

impl Olia {
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
    /// `(w_r / rtt_r^2) / (sum w_p / rtt_p)^2 + alpha_r / w_r`.
    fn increase(&self, paths: &Paths) -> f64 {
        let own = paths.own();
        let total = paths.total_rate();
        own.rate() / own.rtt / (total * total) + self.alpha(paths) / own.cwnd
    }
}

#[cfg(test)]
mod tests;
