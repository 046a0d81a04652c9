//! AIMD: adds `a` packets per round trip and keeps a share `b` of the window on loss. The example of the recipe "add a congestion
//! control"; compiled and tested with the crate, not registered.
//!
//! Reference: Chiu and Jain, "Analysis of the increase and decrease algorithms for congestion avoidance in computer networks",
//! Computer Networks 17 (1989).
//!
//! Differences from the reference:
//! 1. Slow start, timeout and undo are TCP's (RFC 5681), which the paper does not treat.
//!
//! Units: packets. Tested here by worked examples.

use crate::parts::slow_start::{ABC_LIMIT, PACED, SlowStart, slow_start_spec};
use crate::parts::windows::{REDUCE_FROM, ReduceFrom, Windows};
use crate::registry::{Behaviour, Entry};
use crate::{Ack, CongestionControl, CongestionEvent, ParamSpec, Params, Rto, Undo, View, WindowChange};

/// Registry entry.
pub static ENTRY: Entry = Entry {
    name: "aimd",
    aliases: &[],
    summary: "additive increase, multiplicative decrease",
    reference: "Chiu and Jain 1989",
    params: &[
        ParamSpec::number("a", 1.0, (0.01, 100.0), "packets", "added per round trip (TCP: 1)"),
        ParamSpec::number("b", 0.5, (0.1, 0.99), "", "share of the window kept on loss (TCP: 1/2)"),
        slow_start_spec("classic"),
        ABC_LIMIT,
        PACED,
        REDUCE_FROM,
    ],
    kernel_twin: None,
    is_coupled: false,
    behaviour: Behaviour::LOSS_BASED,
    build: |params, initial_window| Box::new(Aimd::new(params, initial_window)),
};

/// State of AIMD.
pub struct Aimd {
    a: f64,
    b: f64,
    slow_start: SlowStart,
    reduce_from: ReduceFrom,
    windows: Windows,
}

impl Aimd {
    fn new(params: &Params, initial_window: f64) -> Aimd {
        Aimd {
            a: params.number("a"),
            b: params.number("b"),
            slow_start: SlowStart::from_params(params),
            reduce_from: ReduceFrom::from_params(params),
            windows: Windows::new(initial_window),
        }
    }
}

impl CongestionControl for Aimd {
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
        self.windows.cwnd += self.a * acked / self.windows.cwnd;
    }

    fn on_congestion(&mut self, _view: &View, event: &CongestionEvent) {
        self.windows.reduce_to(self.b * self.windows.reducible(self.reduce_from, event.flight_size), event.signal);
    }

    fn on_rto(&mut self, _view: &View, event: &Rto) {
        self.windows.collapse(self.b * self.windows.reducible_at_rto(self.reduce_from, event.flight_size), event);
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

    fn aimd(a: f64, b: f64) -> Script {
        let mut params = Params::defaults(ENTRY.params);
        params.set_number("a", a).expect("in range");
        params.set_number("b", b).expect("in range");
        let mut script = Script::new("newreno", 10.0);
        script.cc = Box::new(Aimd::new(&params, 10.0));
        script.avoid_congestion_at(10.0);
        script
    }

    #[test]
    fn adds_a_per_round_trip() {
        // The first ACK of a round adds a / cwnd: 0.5 / 10.
        let mut script = aimd(0.5, 0.5);
        script.ack(1);
        assert_close(script.cwnd(), 10.05);
    }

    #[test]
    fn keeps_b_on_loss() {
        // 10 * 0.8.
        let mut script = aimd(1.0, 0.8);
        script.lose();
        assert_close(script.cwnd(), 8.0);
    }
}
