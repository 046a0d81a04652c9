//! BALIA, balanced linked adaptation: between LIA's responsiveness and OLIA's friendliness.
//!
//! Reference: draft-walid-mptcp-congestion-control-04; Peng, Walid, Hwang and Low, "Multipath TCP: Analysis, Design, and
//! Implementation", IEEE/ACM ToN 24 (2016).
//!
//! Differences from the reference:
//! 1. `alpha_r` is a real number in the cut, as in the draft; the Linux implementation truncates it to an integer there.
//! 2. After a cut the window is at least 2 packets, as for every control here; the Linux implementation allows 1.
//!
//! Units: packets, packets/s. Tested here by worked examples, and on a fluid model of two paths in `tests/comparisons.rs`.

use crate::parts::coupled::{Coupled, Coupling, Paths};
use crate::parts::slow_start::{ABC_LIMIT, PACED, slow_start_spec};
use crate::parts::windows::REDUCE_FROM;
use crate::registry::{Behaviour, Entry};

pub static ENTRY: Entry = Entry {
    name: "balia",
    aliases: &[],
    summary: "MPTCP balanced linked adaptation: between LIA and OLIA, in its reductions too",
    reference: "draft-walid-mptcp-congestion-control-04; Peng et al. 2016",
    params: &[slow_start_spec("classic"), ABC_LIMIT, PACED, REDUCE_FROM],
    in_kernel: None,
    is_coupled: true,
    behaviour: Behaviour::LOSS_BASED,
    build: |params, initial_window| Box::new(Coupled::new(Balia, params, initial_window)),
};

struct Balia;

/// `alpha_r`: the largest rate over the own one.
fn alpha(paths: &Paths) -> f64 {
    paths.iter().map(|path| path.rate()).fold(0.0, f64::max) / paths.own().rate()
}

impl Coupling for Balia {
    /// `x_r / (rtt_r (sum x)^2) (1 + alpha_r)/2 (4 + alpha_r)/5`.
    fn increase(&self, paths: &Paths) -> f64 {
        let (own, total, alpha) = (paths.own(), paths.total_rate(), alpha(paths));
        own.rate() / (own.rtt * total * total) * (1.0 + alpha) / 2.0 * (4.0 + alpha) / 5.0
    }

    /// `w_r -= w_r / 2 min(alpha_r, 1.5)`.
    fn remaining(&self, paths: &Paths) -> f64 {
        1.0 - alpha(paths).min(1.5) / 2.0
    }
}

#[cfg(test)]
mod tests;
