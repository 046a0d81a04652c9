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
use crate::parts::coupled::{Coupled, Coupling, LAW_DETAILS, Paths};
use crate::parts::slow_start::{ABC_LIMIT, PACED, slow_start_spec};
use crate::parts::windows::REDUCE_FROM;
use crate::registry::{Behaviour, Entry};

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

static LAW: Law =
    Law { name: "lia", family: "coupled", summary: ENTRY.summary, slots: &[], phases: PHASES, details: LAW_DETAILS };

struct Lia;

impl Coupling for Lia {
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
mod tests;
