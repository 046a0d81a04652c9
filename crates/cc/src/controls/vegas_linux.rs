//! Vegas as Linux has it: Brakmo's congestion avoidance over Linux's loss recovery.
//!
//! Reference, differences from it, tests: docs/models/cc-vegas.md.
//!
//! Units: packets; Diff in packets. Linux's Diff is `cwnd (rtt - base) / base`: larger than Brakmo's by `rtt / base`.

use playpath_units::Duration;

use crate::kernel::InKernel;
use crate::parts::reno::{Reno, RenoBased};
use crate::parts::round::{RttRound, RttRounds, bound, scale};
use crate::parts::slow_start::{ABC_LIMIT, PACED, slow_start_spec};
use crate::parts::windows::REDUCE_FROM;
use crate::registry::{Behaviour, Entry};
use crate::{Ack, IdleRestart, ParamSpec, Params, View};

pub static ENTRY: Entry = Entry {
    name: "vegas-linux",
    aliases: &[],
    summary: "delay-based: holds alpha to beta packets in the queue (Linux's variant)",
    reference: "Linux tcp_vegas.c; Brakmo and Peterson 1995",
    params: &[
        ParamSpec::number("alpha", 2.0, (0.0, 1000.0), "packets", "backlog below which the window grows (Linux: 2)"),
        ParamSpec::number("beta", 4.0, (0.0, 1000.0), "packets", "backlog above which the window shrinks (Linux: 4)"),
        ParamSpec::number("gamma", 1.0, (0.0, 1000.0), "packets", "backlog that ends slow start (Linux: 1)"),
        slow_start_spec("classic"),
        ABC_LIMIT,
        PACED,
        REDUCE_FROM,
    ],
    in_kernel: Some(InKernel::linux("vegas")),
    is_coupled: false,
    behaviour: Behaviour::DELAY_BASED,
    build: |params, initial_window| Box::new(VegasLinux::new(params, initial_window)),
};

pub struct VegasLinux {
    alpha: f64,
    beta: f64,
    gamma: f64,
    reno: Reno,
    rounds: RttRounds,
}

impl VegasLinux {
    fn new(params: &Params, initial_window: f64) -> VegasLinux {
        VegasLinux {
            alpha: params.number("alpha"),
            beta: params.number("beta"),
            gamma: params.number("gamma"),
            reno: Reno::new(params, initial_window),
            rounds: RttRounds::NEW,
        }
    }

    fn end_round(&mut self, view: &View, event: &Ack) {
        let Some(round) = self.rounds.end() else { return self.reno.grow(view, event) };
        let cwnd = self.reno.windows.cwnd;
        let target = libm::floor(scale(cwnd, self.rounds.base_rtt, round.min));
        let diff = libm::floor(scale(cwnd, round.min.saturating_sub(self.rounds.base_rtt), self.rounds.base_rtt));
        if self.reno.windows.in_slow_start() {
            if diff > self.gamma {
                // Match the rate at which ACKs come back, plus one against the truncation.
                self.reno.windows.cwnd = cwnd.min(target + 1.0);
                self.reno.windows.ssthresh = self.reno.windows.ssthresh.min(self.reno.windows.cwnd);
            } else {
                self.reno.take(view, event);
            }
        } else if diff > self.beta {
            self.reno.windows.cwnd -= 1.0;
            self.reno.windows.ssthresh = self.reno.windows.ssthresh.min(self.reno.windows.cwnd);
        } else if diff < self.alpha && event.may_grow {
            self.reno.windows.cwnd += 1.0;
        }
        bound(&mut self.reno.windows, cwnd);
    }
}

impl RenoBased for VegasLinux {
    fn reno(&self) -> &Reno {
        &self.reno
    }
    fn reno_mut(&mut self) -> &mut Reno {
        &mut self.reno
    }

    fn grow(&mut self, view: &View, event: &Ack) {
        if self.rounds.ends_with(&mut self.reno, view, event) {
            self.end_round(view, event);
        }
    }

    fn recovered(&mut self) {
        self.rounds.round = RttRound::NEW;
    }

    /// Linux forgets the base RTT: the path may have changed.
    fn wake(&mut self, _view: &View, _event: &IdleRestart) {
        self.rounds.base_rtt = Duration::MAX;
        self.rounds.round = RttRound::NEW;
    }
}

#[cfg(test)]
mod tests;
