//! CCPLB: CCP with a large buffer. The player's buffer counts as further room for packets.
//!
//! Reference, differences from it, tests: docs/models/cc-ccplb.md.
//!
//! The term raises the steady window by `2 POB / (POBRate (3 + Kp))` when the link is full, by `2 POB / (3 POBRate)` when it is
//! not. Where the queue has no room for that, packets are lost for nothing: the paper's "overbooking hurts". With POB at its cap
//! of B the window feeds its own storage: W = (4 B + 2 BDP) / 5 with B = W settles at 2 BDP, by 4/5 per memory of rtt_max.
//!
//! Units: packets.

use crate::controls::ccp::law::{CCPS_MODE, COMMON, POB, URGENT, law};
use crate::controls::ccp::{self, Ccp, PathState, Variation, family_params};
use crate::controls::ccpd::{Base, KD_BESIDE};
use crate::kernel::{InKernel, Law, Slot};
use crate::registry::Entry;
use crate::{AppParameters, ParamSpec, Params};

pub static ENTRY: Entry = Entry {
    name: "ccplb",
    aliases: &[],
    summary: "CCP with the player's buffer counted as room for packets",
    reference: "Cavendish et al., INTERNET 2015, equation 5",
    params: family_params![POB_RATE, POB_MODE, ccp::KP, KD_BESIDE, ccp::MODE],
    in_kernel: Some(InKernel::ours(&LAW)),
    is_coupled: false,
    behaviour: ccp::BEHAVIOUR,
    build: |params, initial_window| Box::new(Ccp::new(params, initial_window, PlayoutBuffer::new(params))),
};

static LAW: Law = law("ccplb", ENTRY.summary, &[COMMON, CCPS_MODE, &[POB, Slot::new(8, 1000, POB_RATE), URGENT]]);

const POB_RATE: ParamSpec = ParamSpec::number(
    "pob_rate",
    1.0,
    (0.1, 100.0),
    "",
    "divisor of the playout buffer; the paper's CCPLB(n), n = 0.5, 1, 2, 3",
);
const POB_MODE: ParamSpec = ParamSpec::word(
    "pob_mode",
    "size",
    &["size", "free"],
    "what of the playout buffer counts: all of it (paper), or the free part as reported",
);

pub(crate) struct PlayoutBuffer {
    base: Base,
    rate: f64,
    counts_free: bool,
    is_paper: bool,
    bytes: u64,
    is_urgent: bool,
}

impl PlayoutBuffer {
    pub(crate) fn new(params: &Params) -> PlayoutBuffer {
        PlayoutBuffer {
            base: Base::new(params),
            rate: params.number("pob_rate"),
            counts_free: params.word("pob_mode") == "free",
            is_paper: params.word("mode") == "paper",
            bytes: 0,
            is_urgent: false,
        }
    }

    fn term(&self, path: &PathState) -> f64 {
        let packets = (self.bytes / u64::from(path.mss.max(1))) as f64;
        if self.is_paper {
            return packets / self.rate;
        }
        let rate = if self.is_urgent { self.rate.min(1.0) } else { self.rate };
        (packets / rate).min(path.storage)
    }
}

impl Variation for PlayoutBuffer {
    fn window(&mut self, path: &PathState) -> f64 {
        self.base.window(path) + self.term(path)
    }
    fn on_app_parameters(&mut self, parameters: &AppParameters) {
        let free = parameters.playout_buffer_free_bytes.filter(|_| self.counts_free);
        self.bytes = free.unwrap_or(parameters.playout_buffer_bytes).min(ccp::MAX_PLAYOUT_BUFFER_BYTES);
        self.is_urgent = parameters.is_urgent;
    }
}
