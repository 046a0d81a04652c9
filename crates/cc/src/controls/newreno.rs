//! NewReno: the window of standard TCP.
//!
//! Reference, differences from it, tests: docs/models/cc-newreno.md.
//!
//! Units: packets.

use crate::kernel::{self, InKernel};
use crate::parts::reno::{Reno, RenoBased};
use crate::parts::slow_start::{ABC_LIMIT, PACED, slow_start_spec};
use crate::parts::windows::{ECN_BETA, REDUCE_FROM, remaining_after};
use crate::registry::{Behaviour, Entry};
use crate::{CongestionEvent, View};

pub static ENTRY: Entry = Entry {
    name: "newreno",
    aliases: &["reno"],
    summary: "standard TCP: +1 packet per round trip, halved on loss",
    reference: "RFC 5681, RFC 6582",
    params: &[slow_start_spec("classic"), ABC_LIMIT, PACED, REDUCE_FROM, ECN_BETA],
    in_kernel: Some(InKernel { newcwv: Some(&kernel::NEWCWV), ..InKernel::linux("reno") }),
    is_coupled: false,
    behaviour: Behaviour::LOSS_BASED,
    build: |params, initial_window| {
        Box::new(NewReno { reno: Reno::new(params, initial_window), ecn_beta: params.number("ecn_beta") })
    },
};

/// RFC 5681 as it is: a half remains after a loss (equation 4).
pub struct NewReno {
    reno: Reno,
    ecn_beta: f64,
}

impl RenoBased for NewReno {
    fn reno(&self) -> &Reno {
        &self.reno
    }
    fn reno_mut(&mut self) -> &mut Reno {
        &mut self.reno
    }

    fn reduce(&mut self, view: &View, event: &CongestionEvent) {
        let remaining = remaining_after(event.signal, self.ecn_beta, self.remaining(view));
        let window = remaining * self.reno.reducible(event);
        self.reno.windows.reduce_to(window, event.signal);
    }
}

#[cfg(test)]
mod tests;
