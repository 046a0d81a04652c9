//! dash.js Dynamic: throughput rule at low buffer, BOLA at high buffer.
//!
//! References: dash.js AbrController (`_updateDynamicAbrStrategy`); Spiteri et al., MMSys 2018. BOLA takes over at the stable
//! buffer time (18 s), the throughput rule again below half of it. Both are told of every download, whoever chose.
//! Differences from the references:
//! 1. Sabre's `Dynamic` (10 s, and only when BOLA's choice is not below the throughput's) and `DynamicDash` (10 s and 5 s) use
//!    other thresholds; they are parameters here, the comparison of choices is not included.
//! 2. dash.js's guards for dropped frames and switch history are not included: no frame is dropped here for lack of CPU.
//!
//! Tested by `tests/abr_traces.rs` and the contract suite.

use super::safety::Flavour;
use super::throughput::{FLAVOUR, INITIAL, Throughput};
use super::{Abandonment, Abr, AbrEntry, Context, Decision, Download, Progress, bola};
use playpath_units::{ParamSpec, Params};

pub(super) static ENTRY: AbrEntry = AbrEntry {
    name: "dynamic",
    summary: "dash.js default: throughput rule at low buffer, BOLA-E at high buffer",
    reference: "dash.js AbrController; Spiteri et al., MMSys 2018",
    params: PARAMS,
    build: |params| Box::new(Dynamic::new(params)),
};

const PARAMS: &[ParamSpec] = &[
    ParamSpec::number(
        "switch_on",
        18.0,
        (1.0, 600.0),
        "s",
        "buffer level from which BOLA decides (stable buffer time)",
    ),
    ParamSpec::number("switch_off", 9.0, (0.0, 600.0), "s", "level below which the throughput rule decides again"),
    FLAVOUR,
    INITIAL,
];

struct Dynamic {
    bola: Box<dyn Abr>,
    throughput: Throughput,
    uses_bola: bool,
    switch_on: f64,
    switch_off: f64,
}

impl Dynamic {
    fn new(params: &Params) -> Dynamic {
        let flavour = Flavour::of_word(params.word("flavour"));
        let (switch_on, initial) = (params.number("switch_on"), params.number("initial"));
        Dynamic {
            bola: Box::new(bola::enhanced(flavour, switch_on, initial)),
            throughput: Throughput::guarded(flavour, initial),
            uses_bola: false,
            switch_on,
            switch_off: params.number("switch_off").min(switch_on),
        }
    }
}

impl Abr for Dynamic {
    fn name(&self) -> &'static str {
        "dynamic"
    }

    fn choose(&mut self, context: &Context) -> Decision {
        let threshold = if self.uses_bola { self.switch_off } else { self.switch_on };
        self.uses_bola = context.buffer_level.as_secs_f64() >= threshold;
        if self.uses_bola { self.bola.choose(context) } else { self.throughput.choose(context) }
    }

    fn on_download(&mut self, context: &Context, download: &Download) {
        self.bola.on_download(context, download);
        self.throughput.on_download(context, download);
    }

    fn abandon(&mut self, context: &Context, progress: &Progress) -> Option<Abandonment> {
        let rule: &mut dyn Abr = if self.uses_bola { self.bola.as_mut() } else { &mut self.throughput };
        rule.abandon(context, progress)
    }
}
