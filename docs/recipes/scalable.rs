//! Scalable TCP: a fixed share of a packet per ACK, and a cut by an eighth, so that recovery takes as many round trips at any
//! rate. The example of the recipe "add a congestion control"; compiled and tested with the crate, not registered.
//!
//! Reference: Kelly, "Scalable TCP: improving performance in highspeed wide area networks", ACM CCR 33(2), 2003, section 3.
//!
//! Differences from the reference:
//! 1. No legacy window: below 16 packets the paper keeps standard TCP.
//! 2. Slow start, timeout and undo are TCP's (RFC 5681), which the paper does not treat.
//!
//! Units: packets. Tested here by worked examples.

use crate::parts::slow_start::{ABC_LIMIT, PACED, SlowStart, slow_start_spec};
use crate::parts::windows::{REDUCE_FROM, ReduceFrom, Windows};
use crate::registry::{Behaviour, Entry};
use crate::{Ack, CongestionControl, CongestionEvent, ParamSpec, Params, Rto, Undo, View, WindowChange};

/// Registry entry.
pub static ENTRY: Entry = Entry {
    name: "scalable",
    aliases: &[],
    summary: "a hundredth of a packet per ACK, an eighth less on loss",
    reference: "Kelly 2003",
    params: &[
        ParamSpec::number("a", 0.01, (0.001, 1.0), "packets", "added per packet acknowledged (Kelly: 0.01)"),
        ParamSpec::number("b", 0.125, (0.01, 0.9), "", "share of the window that a loss takes (Kelly: 1/8)"),
        slow_start_spec("classic"),
        ABC_LIMIT,
        PACED,
        REDUCE_FROM,
    ],
    in_kernel: None,
    is_coupled: false,
    behaviour: Behaviour::LOSS_BASED,
    build: |params, initial_window| Box::new(Scalable::new(params, initial_window)),
};

/// State of Scalable TCP.
pub struct Scalable {
    a: f64,
    b: f64,
    slow_start: SlowStart,
    reduce_from: ReduceFrom,
    windows: Windows,
}

impl Scalable {
    fn new(params: &Params, initial_window: f64) -> Scalable {
        Scalable {
            a: params.number("a"),
            b: params.number("b"),
            slow_start: SlowStart::from_params(params),
            reduce_from: ReduceFrom::from_params(params),
            windows: Windows::new(initial_window),
        }
    }
}

impl CongestionControl for Scalable {
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
        // Slow start takes its part and returns the packets that congestion avoidance may count.
        let acked = self.slow_start.on_ack(&mut self.windows, view, event);
        self.windows.cwnd += self.a * acked;
    }

    fn on_congestion(&mut self, _view: &View, event: &CongestionEvent) {
        let from = self.windows.reducible(self.reduce_from, event.flight_size);
        self.windows.reduce_to((1.0 - self.b) * from, event.signal);
    }

    fn on_rto(&mut self, _view: &View, event: &Rto) {
        let from = self.windows.reducible_at_rto(self.reduce_from, event.flight_size);
        self.windows.collapse((1.0 - self.b) * from, event);
        self.slow_start.on_rto();
    }

    fn on_undo(&mut self, _view: &View, _event: &Undo) {
        self.windows.undo();
    }

    fn on_window_change(&mut self, _view: &View, change: &WindowChange) {
        self.windows.set(change);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::{Script, assert_close};

    /// At 16 packets in congestion avoidance.
    fn scalable() -> Script {
        let mut script = Script::new("newreno", 16.0);
        script.cc = Box::new(Scalable::new(&Params::defaults(ENTRY.params), 16.0));
        script.avoid_congestion_at(16.0);
        script
    }

    #[test]
    fn adds_a_hundredth_per_packet() {
        // 16 + 3 * 0.01.
        let mut script = scalable();
        script.ack(3);
        assert_close(script.cwnd(), 16.03);
    }

    #[test]
    fn a_loss_takes_an_eighth() {
        // 16 * 7/8.
        let mut script = scalable();
        script.lose();
        assert_close(script.cwnd(), 14.0);
    }
}
