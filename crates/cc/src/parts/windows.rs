//! The two windows of a loss-based control, and what an undo needs.
//!
//! Reference: RFC 5681 §3.1 (slow start threshold, equation 4; loss window), RFC 6582 §3.2.
//!
//! Differences from the reference:
//! 1. A reduction starts from `min(FlightSize, cwnd)`. RFC 5681 §3.2 step 2 wants FlightSize without the segments of limited
//!    transmit, and these are the ones beyond `cwnd`. A reduction therefore never raises the window.
//! 2. A timeout's reduction starts from `min(FlightSize, max(cwnd, ssthresh))`: after an earlier timeout FlightSize still
//!    counts the old flight, and the threshold must not rise again from it. RFC 5681 allows less than equation 4.
//! 3. Undo does nothing once the window has outgrown what it was (RFC 9438 §4.9.2, here for every control).
//!
//! Units: packets. Invariants: `1 <= cwnd < infinity`, `ssthresh >= 2` after any reduction.
//! Tested here and, through every control, by `tests/contract.rs`.

use crate::{CongestionSignal, ParamSpec, Params, Rto, WindowChange};

/// Parameter `reduce_from`: which window a reduction starts from.
pub const REDUCE_FROM: ParamSpec = ParamSpec::word(
    "reduce_from",
    "flight_size",
    &["flight_size", "cwnd"],
    "window that a congestion event reduces: data in flight (RFC 5681 equation 4) or cwnd (Linux)",
);

/// What remains of the window after a mark, where that is not what remains after a loss.
pub const ECN_BETA: ParamSpec = ParamSpec::number(
    "ecn_beta",
    0.0,
    (0.0, 0.99),
    "",
    "what remains of the window after ECN-Echo (ABE, RFC 8511: 0.8 of NewReno, 0.85 of CUBIC); 0: as after a loss",
)
.since("0.3");

/// RFC 8511 §4.1: a queue that marks is short, so that less has to go. `loss` is what remains after a loss.
pub fn remaining_after(signal: CongestionSignal, ecn_beta: f64, loss: f64) -> f64 {
    if signal == CongestionSignal::Ecn && ecn_beta > 0.0 { ecn_beta } else { loss }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReduceFrom {
    /// RFC 5681 equation 4.
    FlightSize,
    /// Linux and others; right as long as window validation keeps `cwnd` honest.
    Cwnd,
}

impl ReduceFrom {
    pub fn from_params(params: &Params) -> ReduceFrom {
        match params.word("reduce_from") {
            "cwnd" => ReduceFrom::Cwnd,
            _ => ReduceFrom::FlightSize,
        }
    }
}

/// `cwnd` and `ssthresh` in packets.
#[derive(Clone, Copy, Debug)]
pub struct Windows {
    pub cwnd: f64,
    /// Slow start threshold; infinite until the first reduction or the end of slow start.
    pub ssthresh: f64,
    before: Option<(f64, f64)>,
}

impl Windows {
    /// Smallest `ssthresh` (RFC 5681 equation 4: 2 SMSS).
    pub const MIN_SSTHRESH: f64 = 2.0;

    pub fn new(initial_window: f64) -> Windows {
        Windows { cwnd: initial_window.max(1.0), ssthresh: f64::INFINITY, before: None }
    }

    /// RFC 5681 §3.1: slow start below the threshold.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// The window that a congestion event reduces (difference 1).
    pub fn reducible(&self, from: ReduceFrom, flight_size: u32) -> f64 {
        match from {
            ReduceFrom::FlightSize => self.cwnd.min(f64::from(flight_size)),
            ReduceFrom::Cwnd => self.cwnd,
        }
    }

    /// The window that a timeout reduces (difference 2).
    pub fn reducible_at_rto(&self, from: ReduceFrom, flight_size: u32) -> f64 {
        match from {
            ReduceFrom::FlightSize => self.cwnd.max(self.ssthresh).min(f64::from(flight_size)),
            ReduceFrom::Cwnd => self.cwnd,
        }
    }

    /// A congestion event: the window falls to `window`, at least 2 packets, after ECN-Echo at least 1 (RFC 9438 §4.6, RFC
    /// 3168 §6.1.2). Never above the present window.
    pub fn reduce_to(&mut self, window: f64, signal: CongestionSignal) {
        self.before = Some((self.cwnd, self.ssthresh));
        self.ssthresh = window.max(Self::MIN_SSTHRESH);
        let floor = if signal == CongestionSignal::Ecn { 1.0 } else { Self::MIN_SSTHRESH };
        self.cwnd = self.cwnd.min(window.max(floor));
    }

    /// A timeout: loss window of one packet (RFC 5681 §3.1); the threshold falls at the first expiry only.
    pub fn collapse(&mut self, ssthresh: f64, event: &Rto) {
        if event.reduces {
            self.before = Some((self.cwnd, self.ssthresh));
            self.ssthresh = ssthresh.max(Self::MIN_SSTHRESH);
        }
        self.cwnd = 1.0;
    }

    /// The last reduction was spurious: take it back (difference 3). `true` if that was done.
    pub fn undo(&mut self) -> bool {
        let Some((cwnd, ssthresh)) = self.before.take().filter(|(cwnd, _)| self.cwnd <= *cwnd) else { return false };
        self.cwnd = cwnd;
        self.ssthresh = self.ssthresh.max(ssthresh);
        true
    }

    pub fn set(&mut self, change: &WindowChange) {
        self.cwnd = change.cwnd.max(1.0);
        self.ssthresh = change.ssthresh;
    }

    /// Down to whole packets, which is what Linux counts in: a whole window never reaches a threshold of 39.75.
    pub fn round_down(&mut self) {
        self.cwnd = libm::floor(self.cwnd).max(1.0);
        self.ssthresh = libm::floor(self.ssthresh);
    }
}

#[cfg(test)]
mod tests;
