//! DASH-JS, the browser client of the newCWV study.
//!
//! Reference: dazedsheep/DASH-JS; Rainer et al., "Seamless Multimedia Integration within the Web" (2012).
//! estimate = 0.9 · (1.1 · estimate + 0.9 · sample) / 2 after each segment, at most 8 Mibit/s; the highest rate strictly
//! below it. For a constant sample s the fixed point is 0.405 s / (1 − 0.495) = 0.802 s: the rule leaves a fifth unused.
//! Differences from the reference:
//! 1. The buffer policy (30 s full, 20 s critical) is the player's ([`crate::dash::DashConfig`]), not the rule's.
//! 2. The start value is a setting of its web page; ours is the parameter `initial`, 0 as there.
//!
//! Tested here: the worked step, the fixed point, the cap, the strict comparison; by `tests/abr_traces.rs`.

use super::{Abr, AbrEntry, Context, Decision, Download};
use playpath_units::ParamSpec;

pub(super) static ENTRY: AbrEntry = AbrEntry {
    name: "dash-js",
    summary: "DASH-JS: damped last throughput; settles at 0.80 of the link",
    reference: "dazedsheep/DASH-JS; newCWV study (2014)",
    params: PARAMS,
    build: |params| Box::new(DashJs { estimate: params.number("initial") * 1e3 }),
};

const PARAMS: &[ParamSpec] = &[ParamSpec::number(
    "initial",
    0.0,
    (0.0, 1e6),
    "kbit/s",
    "estimate before the first segment; 0 starts with the lowest rate (the page's default)",
)];

/// Largest estimate, bit/s.
const CAP: f64 = 8.0 * 1024.0 * 1024.0;

struct DashJs {
    estimate: f64,
}

fn step(estimate: f64, sample: f64) -> f64 {
    (0.9 * (1.1 * estimate + 0.9 * sample) / 2.0).min(CAP)
}

impl Abr for DashJs {
    fn choose(&mut self, context: &Context) -> Decision {
        let choice = context.ladder.highest_below(self.estimate);
        let fits = context.ladder.bits_per_sec(choice) < self.estimate;
        let reason = if fits { "highest rate below estimate" } else { "no rate below estimate" };
        Decision::fetch(choice, reason).with_estimate(self.estimate)
    }

    fn on_download(&mut self, _context: &Context, download: &Download) {
        self.estimate = step(self.estimate, download.bits_per_sec());
    }
}

#[cfg(test)]
mod tests;
