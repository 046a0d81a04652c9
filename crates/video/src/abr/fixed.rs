//! Always the same representation.
//!
//! Reference: none; the control case of every ABR study, and the way to model a client without adaptation.
//! Tested by `tests/abr_traces.rs` and the contract suite.

use super::{Abr, AbrEntry, Context, Decision};
use playpath_units::ParamSpec;

pub(super) static ENTRY: AbrEntry = AbrEntry {
    name: "fixed",
    summary: "Always the same representation",
    reference: "control case",
    params: PARAMS,
    build: |params| Box::new(Fixed { index: params.number("representation") as i64 }),
};

const PARAMS: &[ParamSpec] = &[ParamSpec::number(
    "representation",
    0.0,
    (-32.0, 31.0),
    "",
    "index from the lowest rate (0), or from the highest (-1); beyond the ladder means its end",
)];

struct Fixed {
    index: i64,
}

impl Abr for Fixed {
    fn choose(&mut self, context: &Context) -> Decision {
        let count = context.ladder.count() as i64;
        let index = if self.index < 0 { count + self.index } else { self.index };
        Decision::fetch(index.clamp(0, count - 1) as usize, "fixed")
    }
}
