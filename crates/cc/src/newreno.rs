//! NewReno: the window of standard TCP.
//!
//! Reference: RFC 5681 §3.1 (slow start, congestion avoidance) and §4.3; RFC 6582 and RFC 6675 for when a reduction happens,
//! which is the transport's part; RFC 3168 §6.1.2 for ECN.
//!
//! Differences from the reference:
//! 1. Congestion avoidance counts acknowledged packets, `cwnd += acked / cwnd` (RFC 5681 §3.1, second and recommended form;
//!    RFC 3465): one packet per round trip with delayed ACKs, too.
//! 2. The window may be fractional; the transport sends whole packets.
//! 3. Reductions start from `min(FlightSize, cwnd)`; `reduce_from = "cwnd"` is Linux's `reno`. See `windows.rs`.
//!
//! Units: packets. Tested here by worked examples and by `tests/contract.rs`; against the square-root law in the crate `sim`.

use crate::registry::{Behaviour, Entry};
use crate::slow_start::{ABC_LIMIT, PACED, SlowStart, slow_start_spec};
use crate::windows::{REDUCE_FROM, ReduceFrom, Windows};
use crate::{Ack, CongestionControl, CongestionEvent, Params, Rto, Undo, View, WindowChange};

/// Registry entry.
pub static ENTRY: Entry = Entry {
    name: "newreno",
    aliases: &["reno"],
    summary: "standard TCP: +1 packet per round trip, halved on loss",
    reference: "RFC 5681, RFC 6582",
    params: &[slow_start_spec("classic"), ABC_LIMIT, PACED, REDUCE_FROM],
    kernel_twin: Some("reno"),
    is_coupled: false,
    behaviour: Behaviour::LOSS_BASED,
    build: |params, initial_window| Box::new(NewReno::new(params, initial_window)),
};

/// What remains of the window after a congestion event (RFC 5681 equation 4).
const BETA: f64 = 0.5;

/// NewReno's window.
pub struct NewReno {
    windows: Windows,
    slow_start: SlowStart,
    reduce_from: ReduceFrom,
}

impl NewReno {
    fn new(params: &Params, initial_window: f64) -> NewReno {
        NewReno {
            windows: Windows::new(initial_window),
            slow_start: SlowStart::from_params(params),
            reduce_from: ReduceFrom::from_params(params),
        }
    }
}

impl CongestionControl for NewReno {
    fn name(&self) -> &'static str {
        ENTRY.name
    }
    fn cwnd(&self) -> f64 {
        self.windows.cwnd
    }
    fn ssthresh(&self) -> f64 {
        self.windows.ssthresh
    }
    fn phase(&self) -> &'static str {
        self.slow_start.phase(&self.windows)
    }

    fn on_ack(&mut self, view: &View, event: &Ack) {
        let acked = self.slow_start.on_ack(&mut self.windows, view, event);
        self.windows.cwnd += acked / self.windows.cwnd;
    }

    fn on_congestion(&mut self, _view: &View, event: &CongestionEvent) {
        self.windows.reduce_to(BETA * self.windows.reducible(self.reduce_from, event.flight_size), event.signal);
    }

    fn on_rto(&mut self, _view: &View, event: &Rto) {
        self.windows.collapse(BETA * self.windows.reducible_at_rto(self.reduce_from, event.flight_size), event);
        self.slow_start.on_rto();
    }

    fn on_undo(&mut self, _view: &View, _event: &Undo) {
        self.windows.undo();
    }

    fn on_window_change(&mut self, _view: &View, change: &WindowChange) {
        self.windows.set(change);
    }
}
