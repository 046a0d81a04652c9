//! DASH-JS, the browser client of the newCWV study.
//!
//! Rules, reference, differences from it, tests: docs/models/abr-dash-js.md.

use super::{Abr, AbrEntry, Context, Decision, Download};
use playpath_units::{ParamSpec, Params};

pub(super) static ENTRY: AbrEntry = AbrEntry {
    name: "dash-js",
    summary: "DASH-JS: damped last throughput; settles at 0.80 of the link",
    reference: "dazedsheep/DASH-JS; newCWV study (2014)",
    params: PARAMS,
    build: |params| Box::new(DashJs::new(params)),
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

impl DashJs {
    fn new(params: &Params) -> DashJs {
        DashJs { estimate: params.number("initial") * 1e3 }
    }
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
