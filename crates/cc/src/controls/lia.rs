//! LIA, linked increases: an MPTCP connection takes as much as its best path would alone, and moves away from congestion.
//!
//! Reference: RFC 6356 §3 and §4.
//!
//! Differences from the reference:
//! 1. alpha is computed at every increase. RFC 6356 §4.1 suggests less often; Linux recomputes when a window
//!    changes by a packet.
//! 2. RTTs are smoothed ones (§3: "an estimate").
//!
//! Units: packets, with bytes where segment sizes differ between subflows. Tested here by the worked examples of the equations,
//! and on a fluid model of two paths in `tests/comparisons.rs`.

use crate::kernel::{InKernel, Law, PHASES};
use crate::parts::coupled::{Coupled, Coupling, GROUP, LAW_DETAILS, Paths};
use crate::parts::slow_start::{ABC_LIMIT, PACED, slow_start_spec};
use crate::parts::windows::REDUCE_FROM;
use crate::registry::{Behaviour, Entry};

/// Registry entry.
pub static ENTRY: Entry = Entry {
    name: "lia",
    aliases: &["coupled"],
    summary: "MPTCP linked increases: as much as the best path alone, shared over all",
    reference: "RFC 6356",
    params: &[slow_start_spec("classic"), ABC_LIMIT, PACED, REDUCE_FROM],
    in_kernel: Some(InKernel::ours(&LAW)),
    is_coupled: true,
    behaviour: Behaviour::LOSS_BASED,
    build: |params, initial_window| Box::new(Coupled::new(Lia, params, initial_window)),
};

/// The eBPF control.
static LAW: Law = Law {
    name: "lia",
    family: "coupled",
    summary: ENTRY.summary,
    slots: &[&[GROUP]],
    phases: PHASES,
    details: LAW_DETAILS,
};

/// The coupling.
struct Lia;

impl Coupling for Lia {
    const NAME: &'static str = ENTRY.name;

    /// §3: `min(alpha mss_i / cwnd_total, mss_i / cwnd_i)` bytes per byte acknowledged, here per packet.
    fn increase(&self, paths: &Paths) -> f64 {
        let (mut total, mut best, mut rate) = (0.0, 0.0_f64, 0.0);
        for path in paths.iter() {
            let bytes = path.cwnd * f64::from(path.sibling.mss);
            total += bytes;
            best = best.max(bytes / (path.rtt * path.rtt));
            rate += bytes / path.rtt;
        }
        let own = paths.own();
        // §3, equation 2: alpha = cwnd_total max(cwnd_i / rtt_i^2) / (sum cwnd_i / rtt_i)^2.
        let alpha = total * best / (rate * rate);
        (alpha * f64::from(own.sibling.mss) / total).min(1.0 / own.cwnd)
    }
}

#[cfg(test)]
mod tests {
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
}
