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

use crate::parts::reno::{Reno, RenoBased};
use crate::parts::slow_start::{ABC_LIMIT, PACED, slow_start_spec};
use crate::parts::windows::REDUCE_FROM;
use crate::registry::{Behaviour, Entry};
use crate::{Ack, ParamSpec, Params, View};

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
    reno: Reno,
}

impl Scalable {
    fn new(params: &Params, initial_window: f64) -> Scalable {
        Scalable { a: params.number("a"), b: params.number("b"), reno: Reno::new(params, initial_window) }
    }
}

impl RenoBased for Scalable {
    fn reno(&self) -> &Reno {
        &self.reno
    }
    fn reno_mut(&mut self) -> &mut Reno {
        &mut self.reno
    }

    fn grow(&mut self, view: &View, event: &Ack) {
        // Slow start takes its part and returns the packets that congestion avoidance may count.
        let acked = self.reno.take(view, event);
        self.reno.windows.cwnd += self.a * acked;
    }

    fn remaining(&self, _view: &View) -> f64 {
        1.0 - self.b
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
