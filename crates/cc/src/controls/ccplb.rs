//! CCPLB: CCP with a large buffer. The player's buffer counts as further room for packets.
//!
//! Reference: the paper of `ccp.rs`, equation 5: `cwnd = (Kp (B - x) - in_flight) / 2 + POB / POBRate`, POB in packets.
//!
//! Differences from the reference:
//! 1. POBRate divides: CCPLB(2) uses half of the buffer, CCPLB(0.5) twice as much. The paper calls it "a percentage".
//! 2. POB is `floor(bytes / MSS)`; with 1460 bytes of MSS this gives the paper's 448, 897 and 1345 packets for 1, 2 and 3
//!    seconds of 5.24 Mbit/s. At most 1 GB, because the client claims it.
//! 3. `pob_mode = "free"`: the free part of the buffer, as a player with CMCD can report; the size if it is not reported. The paper
//!    uses the size and stresses that the server does not know the level.
//! 4. The term is at most B (not in mode paper). 30 s of 5.24 Mbit/s are 13 458 packets.
//! 5. A player that starts or has run dry gets at least the full buffer, whatever POBRate is (not in mode paper).
//! 6. `kd` adds CCPD's derivative: the paper's changes "can be equally applied to CCPD".
//! 7. Everything in `ccp.rs`.
//!
//! The term raises the steady window by `2 POB / (POBRate (3 + Kp))` when the link is full, by `2 POB / (3 POBRate)` when it is
//! not. Where the queue has no room for that, packets are lost for nothing: the paper's "overbooking hurts". With POB at its cap
//! of B the window feeds its own storage: W = (4 B + 2 BDP) / 5 with B = W settles at 2 BDP, by 4/5 per memory of rtt_max.
//!
//! Units: packets. Tested by `ccp/tests.rs`.

use crate::controls::ccp::law::{CCPS_MODE, COMMON, POB, URGENT, law};
use crate::controls::ccp::{self, Ccp, PathState, Variation, family_params};
use crate::controls::ccpd::{Base, KD_OF_VARIANTS};
use crate::kernel::{InKernel, Law, Slot};
use crate::registry::Entry;
use crate::{AppParameters, ParamSpec, Params};

pub static ENTRY: Entry = Entry {
    name: "ccplb",
    aliases: &[],
    summary: "CCP with the player's buffer counted as room for packets",
    reference: "Cavendish et al., INTERNET 2015, equation 5",
    params: family_params![POB_RATE, POB_MODE, ccp::KP, KD_OF_VARIANTS, ccp::MODE],
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
