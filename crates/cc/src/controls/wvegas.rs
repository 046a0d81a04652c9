//! wVegas, weighted Vegas: the subflows of a connection share one backlog, in proportion to their rates.
//!
//! Reference, differences from it, tests: docs/models/cc-coupled.md.
//!
//! Units: packets; Diff in whole packets, rounded down.

use playpath_units::Duration;

use crate::parts::coupled::Paths;
use crate::parts::reno::{Reno, RenoBased};
use crate::parts::round::{RttRound, RttRounds, bound, scale};
use crate::parts::slow_start::{ABC_LIMIT, PACED, slow_start_spec};
use crate::parts::windows::REDUCE_FROM;
use crate::registry::{Behaviour, Entry};
use crate::{Ack, IdleRestart, ParamSpec, Params, View};

pub static ENTRY: Entry = Entry {
    name: "wvegas",
    aliases: &[],
    summary: "MPTCP weighted Vegas: one backlog of total_alpha packets shared by all subflows",
    reference: "Cao, Xu and Fu 2012",
    params: &[
        ParamSpec::number(
            "total_alpha",
            10.0,
            (2.0, 1000.0),
            "packets",
            "backlog of the whole connection (kernel: 10)",
        ),
        ParamSpec::number("initial_alpha", 2.0, (1.0, 1000.0), "packets", "backlog before rates are known (kernel: 2)"),
        ParamSpec::number("gamma", 1.0, (0.0, 1000.0), "packets", "backlog that ends slow start (kernel: 1)"),
        ParamSpec::flag("drain", true, "shrink by base/(2 rtt) when the queueing delay has doubled (kernel: yes)"),
        slow_start_spec("classic"),
        ABC_LIMIT,
        PACED,
        REDUCE_FROM,
    ],
    in_kernel: None,
    is_coupled: true,
    behaviour: Behaviour::DELAY_BASED,
    build: |params, initial_window| Box::new(WeightedVegas::new(params, initial_window)),
};

/// Smallest backlog of a subflow.
const MIN_ALPHA: f64 = 2.0;

pub struct WeightedVegas {
    total_alpha: f64,
    initial_alpha: f64,
    gamma: f64,
    drains: bool,
    reno: Reno,
    /// This subflow's share of the backlog.
    alpha: f64,
    /// Smallest queueing delay since the queue was drained last.
    queue_delay: Option<Duration>,
    rounds: RttRounds,
}

impl WeightedVegas {
    fn new(params: &Params, initial_window: f64) -> WeightedVegas {
        WeightedVegas {
            total_alpha: params.number("total_alpha"),
            initial_alpha: params.number("initial_alpha"),
            gamma: params.number("gamma"),
            drains: params.flag("drain"),
            reno: Reno::new(params, initial_window),
            alpha: params.number("initial_alpha"),
            queue_delay: None,
            rounds: RttRounds::NEW,
        }
    }

    /// Measure anew: after a recovery and after idle.
    fn restart(&mut self) {
        self.rounds.round = RttRound::NEW;
        self.alpha = self.initial_alpha;
        self.queue_delay = None;
    }

    fn end_round(&mut self, view: &View, event: &Ack) {
        let Some(round) = self.rounds.end() else { return self.reno.grow(view, event) };
        let before = self.reno.windows.cwnd;
        let rtt = round.sum / u64::from(round.count);
        let diff = libm::floor(scale(before, rtt.saturating_sub(self.rounds.base_rtt), rtt));
        if !self.reno.windows.in_slow_start() {
            self.avoid_congestion(view, event, rtt, diff);
        } else if diff > self.gamma {
            self.reno.windows.cwnd = before.min(libm::floor(scale(before, self.rounds.base_rtt, rtt)) + 1.0);
            self.reno.windows.ssthresh = self.reno.windows.ssthresh.min(self.reno.windows.cwnd - 1.0);
        } else {
            self.reno.take(view, event);
        }
        bound(&mut self.reno.windows, before);
    }

    fn avoid_congestion(&mut self, view: &View, event: &Ack, rtt: Duration, diff: f64) {
        if diff >= self.alpha {
            self.alpha = (self.weight(view) * self.total_alpha).max(MIN_ALPHA);
        }
        if diff > self.alpha {
            self.reno.windows.cwnd -= 1.0;
            self.reno.windows.ssthresh = self.reno.windows.ssthresh.min(self.reno.windows.cwnd - 1.0);
        } else if diff < self.alpha && event.may_grow {
            self.reno.windows.cwnd += 1.0;
        }
        if self.drains {
            self.drain(rtt);
        }
    }

    /// The own rate over that of all subflows.
    fn weight(&self, view: &View) -> f64 {
        Paths::new(view, self.reno.windows.cwnd).map_or(1.0, |paths| paths.own().rate() / paths.total_rate())
    }

    /// The queueing delay has doubled since its minimum: let the queue run empty to see the base RTT again.
    fn drain(&mut self, rtt: Duration) {
        let delay = rtt.saturating_sub(self.rounds.base_rtt);
        let least = self.queue_delay.map_or(delay, |least| least.min(delay));
        self.queue_delay = Some(least).filter(|least| !least.is_zero());
        if self.queue_delay.is_some_and(|least| delay >= least * 2) {
            self.reno.windows.cwnd *= self.rounds.base_rtt.ratio(rtt) / 2.0;
            self.queue_delay = None;
        }
    }
}

impl RenoBased for WeightedVegas {
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
        self.restart();
    }

    fn wake(&mut self, _view: &View, _event: &IdleRestart) {
        self.rounds.base_rtt = Duration::MAX;
        self.restart();
    }
}

#[cfg(test)]
mod tests;
