//! Throughput rule at low buffer, BOLA at high buffer: dash.js 5's, or one of Sabre's two.
//!
//! References: dash.js 5.2.1 (`dash_js_5`); Sabre `DynamicDash` and `Dynamic` (Spiteri et al., MMSys 2018).
//! `flavour=dash.js`: BOLA from 12 s on and until the level falls below half of that. `flavour=sabre`, `variant=dynamicdash`: BOLA-E
//! above 10 s until below 5 s, its target the player's buffer. `variant=dynamic` (MMSys 2018): BOLA, U or O, takes over above 10 s if its choice is no lower than the
//! throughput rule's, and hands back below 10 s if it is lower; the throughput rule abandons downloads in both cases. Both rules see
//! every download, whichever chose it. Differences from the references: those of the rules, and that BOLA hears of no seek.
//!
//! Tested by the worked examples here and by the contract suite.

use super::bola::{self, Bola};
use super::dash_js_5::{DashJs, Settings, Strategy};
use super::safety::Flavour;
use super::throughput::{INITIAL, Throughput};
use super::{Abandonment, Abr, AbrEntry, Context, Decision, Download, Progress};
use playpath_units::{ParamSpec, Params};

pub(super) static ENTRY: AbrEntry = AbrEntry {
    name: "dynamic",
    summary: "throughput rule at low buffer, BOLA at high buffer: of dash.js 5, or Sabre's two",
    reference: "dash.js 5.2.1 AbrController; Sabre Dynamic, DynamicDash (MMSys 2018)",
    params: PARAMS,
    build,
};

const PARAMS: &[ParamSpec] = &[
    Flavour::PARAM,
    ParamSpec::word("variant", "dynamicdash", &["dynamicdash", "dynamic"], "which of Sabre's two; dynamic: MMSys 2018"),
    ParamSpec::number(
        "switch_on",
        0.0,
        (0.0, 600.0),
        "s",
        "buffer level from which BOLA decides; 0: the reference's (dash.js 12 s, Sabre 10 s)",
    ),
    ParamSpec::number(
        "switch_off",
        0.0,
        (0.0, 600.0),
        "s",
        "level below which the throughput rule decides again; 0: the reference's (half of switch_on; variant dynamic: all)",
    ),
    bola::OSC,
    bola::FINITE,
    INITIAL,
];

fn build(params: &Params) -> Box<dyn Abr> {
    let initial_kbps = params.number("initial");
    let set = |name: &str| Some(params.number(name)).filter(|level| *level > 0.0);
    let switch_on = |default: f64| set("switch_on").unwrap_or(default);
    let switch_off = |share: f64, on: f64| set("switch_off").unwrap_or(share * on).min(on);
    if Flavour::of_word(params.word("flavour")) == Flavour::DashJs {
        let on = switch_on(12.0);
        let settings = Settings { switch_on: on, switch_off: switch_off(0.5, on), initial_kbps, ..Settings::default() };
        return Box::new(DashJs::new(Strategy::Dynamic, settings));
    }
    let compares = params.word("variant") == "dynamic";
    let (on, osc) = (switch_on(10.0), params.flag("osc"));
    Box::new(Dynamic {
        bola: if compares {
            Bola::plain(osc, params.flag("finite"), initial_kbps)
        } else {
            Bola::enhanced(osc, initial_kbps)
        },
        throughput: Throughput::guarded(initial_kbps),
        uses_bola: false,
        compares,
        switch_on: on,
        switch_off: switch_off(if compares { 1.0 } else { 0.5 }, on),
    })
}

struct Dynamic {
    bola: Bola,
    throughput: Throughput,
    uses_bola: bool,
    /// The two choices are compared (`Dynamic`), not the level alone (`DynamicDash`).
    compares: bool,
    switch_on: f64,
    switch_off: f64,
}

impl Dynamic {
    fn choose_by_comparison(&mut self, context: &Context) -> Decision {
        let by_bola = self.bola.choose(context);
        let by_throughput = self.throughput.choose(context);
        let wants_less = self.bola.wants_less_than(&by_throughput);
        let level = context.level();
        if self.uses_bola {
            self.uses_bola = !(level < self.switch_off && wants_less);
        } else {
            self.uses_bola = level > self.switch_on && !wants_less;
        }
        if self.uses_bola { by_bola } else { by_throughput }
    }
}

impl Abr for Dynamic {
    fn choose(&mut self, context: &Context) -> Decision {
        if self.compares {
            return self.choose_by_comparison(context);
        }
        let level = context.level();
        self.uses_bola = if self.uses_bola { level >= self.switch_off } else { level > self.switch_on };
        if self.uses_bola { self.bola.choose(context) } else { self.throughput.choose(context) }
    }

    fn on_download(&mut self, context: &Context, download: &Download) {
        self.bola.on_download(context, download);
        self.throughput.on_download(context, download);
    }

    fn abandon(&mut self, context: &Context, progress: &Progress) -> Option<Abandonment> {
        let rule: &mut dyn Abr = if self.uses_bola && !self.compares { &mut self.bola } else { &mut self.throughput };
        rule.abandon(context, progress)
    }
}

#[cfg(test)]
mod tests;
