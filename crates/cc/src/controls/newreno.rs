//! NewReno: the window of standard TCP.
//!
//! Reference: RFC 5681 §3.1 (slow start, congestion avoidance); RFC 6582 and RFC 6675 for when a reduction happens,
//! which is up to the transport; RFC 3168 §6.1.2 and RFC 8511 for ECN.
//!
//! Differences from the reference:
//! 1. Congestion avoidance counts acknowledged packets, `cwnd += acked / cwnd` (the recommended form of RFC 5681 §3.1;
//!    RFC 3465): one packet per round trip with delayed ACKs, too.
//! 2. The window may be fractional; the transport sends whole packets. With `growth = "linux"` it is whole, and half of an odd one is
//!    rounded down (Linux 6.18, `tcp_reno_ssthresh`, `tcp_cong_avoid_ai`).
//! 3. Reductions start from `min(FlightSize, cwnd)`; `reduce_from = "cwnd"` and `growth = "linux"` are Linux's `reno`. See `windows.rs`.
//!
//! Units: packets. Tested here by worked examples and by `tests/contract.rs`; against the square-root law in the crate `sim`.

use crate::kernel::{self, InKernel};
use crate::parts::reno::{Reno, RenoBased, whole_growth};
use crate::parts::slow_start::{ABC_LIMIT, PACED, slow_start_spec};
use crate::parts::windows::{ECN_BETA, REDUCE_FROM, Windows, remaining_after};
use crate::registry::{Behaviour, Entry};
use crate::{Ack, CongestionEvent, ParamSpec, Rto, View};

pub static ENTRY: Entry = Entry {
    name: "newreno",
    aliases: &["reno"],
    summary: "standard TCP: +1 packet per round trip, halved on loss",
    reference: "RFC 5681, RFC 6582",
    params: &[slow_start_spec("classic"), ABC_LIMIT, PACED, REDUCE_FROM, ECN_BETA, GROWTH],
    in_kernel: Some(InKernel { newcwv: Some(&kernel::NEWCWV), ..InKernel::linux("reno") }),
    is_coupled: false,
    behaviour: Behaviour::LOSS_BASED,
    build: |params, initial_window| {
        Box::new(NewReno {
            reno: Reno::new(params, initial_window),
            ecn_beta: params.number("ecn_beta"),
            credit: (params.word("growth") == "linux").then_some(0),
        })
    },
};

const GROWTH: ParamSpec = ParamSpec::word(
    "growth",
    "rfc",
    &["rfc", "linux"],
    "by RFC 5681 in fractions of a packet, or as Linux's reno in whole packets",
)
.since("0.3");

/// RFC 5681 unmodified: the window is halved after a loss (equation 4).
pub struct NewReno {
    reno: Reno,
    ecn_beta: f64,
    /// Packets acknowledged since the last growth of an integer window (`snd_cwnd_cnt`).
    credit: Option<u32>,
}

impl NewReno {
    /// A reduced window; where it is whole, in whole packets and at least two (`tcp_reno_ssthresh`).
    fn reduced(&mut self, window: f64) -> f64 {
        self.credit.as_mut().map_or(window, |credit| {
            *credit = 0;
            libm::floor(window).max(Windows::MIN_SSTHRESH)
        })
    }
}

impl RenoBased for NewReno {
    fn reno(&self) -> &Reno {
        &self.reno
    }
    fn reno_mut(&mut self) -> &mut Reno {
        &mut self.reno
    }

    fn grow(&mut self, view: &View, event: &Ack) {
        let Some(credit) = &mut self.credit else { return self.reno.grow(view, event) };
        let acked = self.reno.take(view, event) as u32;
        let cwnd = self.reno.windows.cwnd as u32;
        self.reno.windows.cwnd = f64::from(whole_growth(credit, cwnd, cwnd, acked));
    }

    fn reduce(&mut self, view: &View, event: &CongestionEvent) {
        let remaining = remaining_after(event.signal, self.ecn_beta, self.remaining(view));
        let window = self.reduced(remaining * self.reno.reducible(event));
        self.reno.windows.reduce_to(window, event.signal);
    }

    fn collapse(&mut self, view: &View, event: &Rto) {
        let window = self.reduced(self.remaining(view) * self.reno.reducible_at_rto(event));
        self.reno.collapse(window, event);
    }

    fn moved(&mut self) {
        // Linux leaves the credit as it is (`tcp_cwnd_restart`): a sender that pauses often would never grow without it.
        if self.credit.is_some() {
            self.reno.windows.round_down();
        }
    }
}

#[cfg(test)]
mod tests;
