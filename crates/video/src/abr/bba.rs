//! BBA-0: the rate is a function of the buffer level.
//!
//! Rules, reference, differences from it, tests: docs/models/abr-bba.md.

use super::{Abr, AbrEntry, Context, Decision};
use crate::ladder::Ladder;
use playpath_units::{ParamSpec, Params};

pub(super) static ENTRY: AbrEntry = AbrEntry {
    name: "bba",
    summary: "BBA-0: rate linear in the buffer level between reservoir and cushion",
    reference: "Huang et al., SIGCOMM 2014, Algorithm 1",
    params: PARAMS,
    build: |params| Box::new(Bba::new(params)),
};

const PARAMS: &[ParamSpec] = &[
    ParamSpec::word("variant", "bba-0", &["bba-0", "pensieve"], "bba-0, or the step map of Pensieve's comparison"),
    ParamSpec::number(
        "reservoir",
        0.375,
        (0.0, 0.9),
        "",
        "share of the buffer that gives the lowest rate (90 s of 240 s)",
    ),
    ParamSpec::number("cushion", 0.525, (0.01, 1.0), "", "share over which the rate rises (126 s of 240 s)"),
];

/// Pensieve's constants, seconds.
const PENSIEVE_RESERVOIR: f64 = 5.0;
const PENSIEVE_CUSHION: f64 = 10.0;

struct Bba {
    pensieve: bool,
    reservoir: f64,
    cushion: f64,
}

impl Bba {
    fn new(params: &Params) -> Bba {
        Bba {
            pensieve: params.word("variant") == "pensieve",
            reservoir: params.number("reservoir"),
            cushion: params.number("cushion"),
        }
    }

    fn choose_bba0(&self, context: &Context) -> Decision {
        let capacity = context.buffer_capacity.as_secs_f64();
        let level = context.buffer_level.as_secs_f64();
        let (reservoir, cushion) = (self.reservoir * capacity, self.cushion * capacity);
        let ladder = context.ladder;
        let top = ladder.count() - 1;
        let previous = context.previous.unwrap_or(0).min(top);
        if level <= reservoir {
            return Decision::fetch(0, "reservoir");
        }
        if level >= reservoir + cushion {
            return Decision::fetch(top, "beyond cushion");
        }
        let mapped = map(ladder, level, reservoir, cushion);
        if mapped >= ladder.bits_per_sec((previous + 1).min(top)) {
            Decision::fetch(ladder.highest_below(mapped), "map reached the next rate up")
        } else if mapped <= ladder.bits_per_sec(previous.saturating_sub(1)) {
            let above = (0..=top).find(|&i| ladder.bits_per_sec(i) > mapped).unwrap_or(top);
            Decision::fetch(above, "map reached the next rate down")
        } else {
            Decision::fetch(previous, "map between the neighbours")
        }
    }

    fn choose_pensieve(&self, context: &Context) -> Decision {
        let level = context.buffer_level.as_secs_f64();
        let top = context.ladder.count() - 1;
        if level < PENSIEVE_RESERVOIR {
            Decision::fetch(0, "reservoir")
        } else if level >= PENSIEVE_RESERVOIR + PENSIEVE_CUSHION {
            Decision::fetch(top, "beyond cushion")
        } else {
            let index = (top as f64 * (level - PENSIEVE_RESERVOIR) / PENSIEVE_CUSHION) as usize;
            Decision::fetch(index.min(top), "index linear in the buffer")
        }
    }
}

/// f(B): from the lowest to the highest rate over the cushion, bit/s.
fn map(ladder: &Ladder, level: f64, reservoir: f64, cushion: f64) -> f64 {
    let (low, high) = (ladder.bits_per_sec(0), ladder.bits_per_sec(ladder.count() - 1));
    low + (high - low) * (level - reservoir) / cushion
}

impl Abr for Bba {
    fn choose(&mut self, context: &Context) -> Decision {
        if self.pensieve { self.choose_pensieve(context) } else { self.choose_bba0(context) }
    }
}

#[cfg(test)]
mod tests;
