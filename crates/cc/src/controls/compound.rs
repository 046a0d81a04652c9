//! Compound TCP: Reno's window plus a delay window that grows fast while the queue is short.
//!
//! Reference: Tan, Song, Zhang and Sridharan, "A Compound TCP Approach for High-Speed and Long Distance Networks", INFOCOM
//! 2006; draft-sridharan-tcpm-ctcp-02; constants also as in Linux's `tcp_compound.c` of 2006.
//!
//! Differences from the reference:
//! 1. k is 3/4, as in the implementations (the theory has 0.8).
//! 2. The RTT of a round is the smallest of its samples, and a round needs more than 2, as in Linux's module.
//! 3. Below `low_window` (38 packets) the delay window does not grow: alpha win^k is below 2 there anyway.
//! 4. Gamma tuning (TUBE) is left out: no public specification fixes its constants.
//! 5. The delay window grows only if the round ends with an ACK that may grow the window; it may shrink any time.
//! 6. A window set from outside clears the delay window.
//! 7. `mode = "seed-literal"` prints the published misprint, where the increment is computed from the delay window alone: from
//!    0 it is alpha 0^k - 1 < 0, so the window never leaves Reno. For demonstration only.
//!
//! Units: packets. Invariants: delay window 0 or more; window = loss window + delay window. Tested here by worked examples; its
//! growth against the fluid formula in `tests/comparisons.rs`.

use crate::kernel::{InKernel, Law, PHASES, Slot};
use crate::parts::reno::{Reno, RenoBased};
use crate::parts::round::{RttRound, RttRounds};
use crate::parts::slow_start::{ABC_LIMIT, PACED, slow_start_spec};
use crate::parts::windows::REDUCE_FROM;
use crate::registry::{Behaviour, Entry};
use crate::{Ack, CongestionEvent, ParamSpec, Params, Rto, View};

pub static ENTRY: Entry = Entry {
    name: "compound",
    aliases: &["ctcp"],
    summary: "Reno plus a delay window: fast while the queue is short, Reno when it is not",
    reference: "Tan et al. 2006; draft-sridharan-tcpm-ctcp-02",
    params: &[
        ALPHA,
        ParamSpec::number("beta", 0.5, (0.1, 0.9), "", "share of the window that a loss takes (draft: 1/2)"),
        ParamSpec::number("k", 0.75, (0.1, 1.0), "", "exponent of the growth (draft: 3/4)"),
        GAMMA,
        ZETA,
        LOW_WINDOW,
        ParamSpec::word(
            "mode",
            "draft",
            &["draft", "seed-literal"],
            "the draft's growth, or a published misprint of it",
        ),
        slow_start_spec("classic"),
        ABC_LIMIT,
        PACED,
        REDUCE_FROM,
    ],
    in_kernel: Some(InKernel::ours(&LAW)),
    is_coupled: false,
    behaviour: Behaviour::DELAY_BASED,
    build: |params, initial_window| Box::new(Compound::new(params, initial_window)),
};

const ALPHA: ParamSpec =
    ParamSpec::number("alpha", 0.125, (0.0, 10.0), "", "growth per round is alpha win^k packets (draft: 1/8)");
const GAMMA: ParamSpec =
    ParamSpec::number("gamma", 30.0, (1.0, 10_000.0), "packets", "backlog that makes it retreat (draft: 30)");
const ZETA: ParamSpec =
    ParamSpec::number("zeta", 1.0, (0.0, 10.0), "", "packets of retreat per packet of backlog (draft: 1)");
const LOW_WINDOW: ParamSpec =
    ParamSpec::number("low_window", 38.0, (0.0, 1000.0), "packets", "Reno below this window (38 to 41 published)");

static LAW: Law = Law {
    name: "compound",
    family: "compound",
    summary: ENTRY.summary,
    slots: &[&[
        Slot::new(0, 1000, GAMMA),
        Slot::new(1, 1000, ALPHA),
        Slot::new(2, 1000, LOW_WINDOW),
        Slot::new(3, 1000, ZETA),
    ]],
    phases: PHASES,
    details: &["base_rtt_us", "delay_window_packets", "backlog_packets"],
};

pub struct Compound {
    rules: Rules,
    /// `delay_window` of the window is Compound's own.
    reno: Reno,
    delay_window: f64,
    delay_window_before: f64,
    rounds: RttRounds,
}

#[derive(Clone, Copy, Debug)]
struct Rules {
    alpha: f64,
    beta: f64,
    k: f64,
    gamma: f64,
    zeta: f64,
    low_window: f64,
    is_literal: bool,
}

impl Rules {
    fn after_round(&self, window: f64, delay_window: f64, backlog: f64, may_grow: bool) -> f64 {
        if backlog >= self.gamma {
            return (delay_window - self.zeta * backlog).max(0.0);
        }
        if !may_grow || window < self.low_window {
            return delay_window;
        }
        if self.is_literal {
            return (delay_window + self.alpha * libm::pow(delay_window, self.k) - 1.0).max(0.0);
        }
        delay_window + (self.alpha * libm::pow(window, self.k) - 1.0).max(0.0)
    }

    /// The delay window after a loss that halves the loss window.
    fn after_loss(&self, window: f64, delay_window: f64) -> f64 {
        let half_loss_window = (window - delay_window) / 2.0;
        let from = if self.is_literal { delay_window } else { window };
        (from * (1.0 - self.beta) - half_loss_window).max(0.0)
    }
}

impl Compound {
    fn new(params: &Params, initial_window: f64) -> Compound {
        Compound {
            rules: Rules {
                alpha: params.number("alpha"),
                beta: params.number("beta"),
                k: params.number("k"),
                gamma: params.number("gamma"),
                zeta: params.number("zeta"),
                low_window: params.number("low_window"),
                is_literal: params.word("mode") == "seed-literal",
            },
            reno: Reno::new(params, initial_window),
            delay_window: 0.0,
            delay_window_before: 0.0,
            rounds: RttRounds::NEW,
        }
    }

    fn end_round(&mut self, event: &Ack) {
        let round = self.rounds.end().filter(|_| !self.reno.windows.in_slow_start());
        let Some(round) = round else { return };
        let window = self.reno.windows.cwnd;
        // Vegas's backlog: (expected - actual) base_rtt.
        let backlog = window * (1.0 - self.rounds.base_rtt.ratio(round.min));
        let delay_window = self.rules.after_round(window, self.delay_window, backlog, event.may_grow);
        self.reno.windows.cwnd = (window + delay_window - self.delay_window).max(1.0);
        self.delay_window = delay_window;
    }
}

impl RenoBased for Compound {
    fn reno(&self) -> &Reno {
        &self.reno
    }
    fn reno_mut(&mut self) -> &mut Reno {
        &mut self.reno
    }

    fn grow(&mut self, view: &View, event: &Ack) {
        if event.round_start && !view.in_recovery {
            self.end_round(event);
        }
        self.rounds.take(event);
        self.reno.grow(view, event);
    }

    fn reduce(&mut self, _view: &View, event: &CongestionEvent) {
        self.delay_window_before = self.delay_window;
        // The flight is reduced; both window parts shrink in proportion.
        let from = self.reno.reducible(event);
        let share = from / self.reno.windows.cwnd;
        let delay_window = self.rules.after_loss(from, share * self.delay_window);
        let loss_window = (from - share * self.delay_window) / 2.0;
        self.reno.windows.reduce_to(loss_window + delay_window, event.signal);
        self.delay_window = delay_window.min(self.reno.windows.cwnd - 1.0);
    }

    /// Discard the measurements of the recovery, which say nothing about the queue of the next round.
    fn recovered(&mut self) {
        self.rounds.round = RttRound::NEW;
    }

    fn collapse(&mut self, _view: &View, event: &Rto) {
        if event.reduces {
            self.delay_window_before = self.delay_window;
        }
        let window = (1.0 - self.rules.beta) * self.reno.reducible_at_rto(event);
        self.reno.collapse(window, event);
        self.delay_window = 0.0;
    }

    fn undone(&mut self) {
        self.delay_window = self.delay_window_before;
    }

    fn moved(&mut self) {
        self.delay_window = 0.0;
    }
}

#[cfg(test)]
mod tests;
