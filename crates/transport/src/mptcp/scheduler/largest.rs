//! Largest packet credits (LPC) and largest estimated throughput (LET).
//!
//! Reference: the authors' earlier schedulers as summarised in Nguyen, Cavendish et al.: LPC takes the path with the largest
//! cwnd − in flight, LET the one with the largest cwnd/srtt.
//!
//! Differences from the reference: only the one-line descriptions are published; eligibility, ties (lower SRTT, then lower
//! index) and window relief are those of `dft`.
//!
//! Tested here.

use super::dft::{OPPORTUNISTIC, PENALISE, WindowRelief};
use super::{Blockage, Context, Decision, Entry, Relief, STATE_DRIVEN, Scheduler, is_open, pick};
use playpath_cc::Params;

pub(super) static LPC: Entry = Entry {
    name: "lpc",
    summary: "largest packet credits: most room in the window",
    reference: "Nguyen, Cavendish et al.",
    params: &[STATE_DRIVEN, OPPORTUNISTIC, PENALISE],
    build: |params| Box::new(Largest::new(Measure::Credits, params)),
};

pub(super) static LET: Entry = Entry {
    name: "let",
    summary: "largest estimated throughput: highest cwnd/srtt with room",
    reference: "Nguyen, Cavendish et al.",
    params: &[STATE_DRIVEN, OPPORTUNISTIC, PENALISE],
    build: |params| Box::new(Largest::new(Measure::Throughput, params)),
};

#[derive(Clone, Copy, Debug)]
enum Measure {
    Credits,
    Throughput,
}

#[derive(Debug)]
struct Largest {
    measure: Measure,
    state_driven: bool,
    relief: WindowRelief,
}

impl Largest {
    fn new(measure: Measure, params: &Params) -> Largest {
        Largest { measure, state_driven: params.flag("state_driven"), relief: WindowRelief::new(params) }
    }
}

impl Scheduler for Largest {
    fn select(&mut self, context: &Context) -> Decision {
        let measure = self.measure;
        let best = pick(context.subflows, is_open(context.subflows, self.state_driven), |s| match measure {
            Measure::Credits => -s.credits(),
            Measure::Throughput => -s.window_rate(),
        });
        match (best, measure) {
            (Some(subflow), Measure::Credits) => Decision::send(subflow.path, "most room"),
            (Some(subflow), Measure::Throughput) => Decision::send(subflow.path, "highest estimated throughput"),
            (None, _) => Decision::wait("no window has room"),
        }
    }

    fn relieve(&mut self, context: &Context, blockage: Blockage) -> Option<Relief> {
        self.relief.relieve(context, blockage)
    }
}

#[cfg(test)]
mod tests;
