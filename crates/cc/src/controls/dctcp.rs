//! DCTCP: the window falls by half the share of packets that were marked.
//!
//! Reference: RFC 8257 §3.3 (alpha, reduction), §3.5 (losses), §4.2 (the gain).
//!
//! Differences from the reference:
//! 1. Shares are of packets, not of bytes, and an observation window is a round trip as the transport counts it.
//! 2. Marks are known from the counter of accurate ECN (RFC 9768), not from RFC 8257's own use of ECN-Echo; with a peer that has
//!    only RFC 3168's, alpha stays at 1 and a mark halves the window.
//! 3. Growth is NewReno's, without any in the round of a reduction, as in Linux.
//!
//! Units: packets. Tested here by worked examples and by `tests/contract.rs`; over a marking link in the crate `sim`.

use crate::parts::marks::MarkedShare;
use crate::parts::reno::{Reno, RenoBased};
use crate::parts::slow_start::{ABC_LIMIT, PACED, slow_start_spec};
use crate::parts::windows::REDUCE_FROM;
use crate::registry::{Behaviour, EcnUse, Entry};
use crate::{Ack, CongestionEvent, CongestionSignal, ParamSpec, View};

pub static ENTRY: Entry = Entry {
    name: "dctcp",
    aliases: &[],
    summary: "falls by half the share of packets that were marked (ECT(0), accurate ECN)",
    reference: "RFC 8257",
    params: &[
        ParamSpec::number("gain", 1.0 / 16.0, (0.001, 1.0), "", "g: weight of the newest round (RFC 8257 §4.2: 1/16)")
            .since("0.3"),
        slow_start_spec("classic"),
        ABC_LIMIT,
        PACED,
        REDUCE_FROM,
    ],
    in_kernel: None,
    is_coupled: false,
    behaviour: Behaviour { ecn: EcnUse::Counts, ..Behaviour::LOSS_BASED },
    build: |params, initial_window| {
        // RFC 8257 §3.3: alpha begins at 1.
        let marks = MarkedShare::new(1.0, params.number("gain"));
        Box::new(Dctcp { reno: Reno::new(params, initial_window), marks })
    },
};

pub struct Dctcp {
    reno: Reno,
    marks: MarkedShare,
}

impl RenoBased for Dctcp {
    fn reno(&self) -> &Reno {
        &self.reno
    }
    fn reno_mut(&mut self) -> &mut Reno {
        &mut self.reno
    }

    fn grow(&mut self, view: &View, event: &Ack) {
        self.marks.take(event);
        if event.round_start {
            self.marks.end_round();
        }
        self.reno.grow(view, event);
    }

    /// RFC 8257 §3.3, step 9; a loss halves (§3.5).
    fn reduce(&mut self, _view: &View, event: &CongestionEvent) {
        let taken = if event.signal == CongestionSignal::Ecn { self.marks.alpha / 2.0 } else { 0.5 };
        let window = (1.0 - taken) * self.reno.reducible(event);
        self.reno.windows.reduce_to(window, event.signal);
    }
}

#[cfg(test)]
mod tests;
