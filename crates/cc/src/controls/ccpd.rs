//! CCPD: CCP plus a derivative term.
//!
//! Reference: the "capacity congestion plus derivative" control of Cavendish et al., named and not printed in the paper of
//! `ccp.rs`. Its form is recalled, not verified: `cwnd = Kp (B - x_k - in_flight_k) + Kd / (t_k - t_{k-1}) (x_{k-1} - x_k)`
//! with t_k the times of consecutive ACKs.
//!
//! Differences from the reference:
//! 1. `cwnd = (Kp (B - x) - Kd dx - in_flight) / 2` with dx the change of the smoothed backlog over one rtt_min. The halving is
//!    equation 4's. A difference of consecutive ACKs is the granularity of the queue, one packet or none, divided by a time
//!    between ACKs: noise. Kd = 0.25 without unit; from 0.5 on the loop oscillates, at 1 it loses packets.
//! 2. `mode = "literal"` is the recalled form with Kp = 1 (it diverges above) and Kd in seconds.
//! 3. Everything in `ccp.rs`.
//!
//! Units: packets. Tested by `ccp/tests.rs`: worked numbers, steady window and gain limit on the bottleneck, and why the literal
//! form fails.

use crate::controls::ccp::law::{COMMON, law};
use crate::controls::ccp::{self, Ccp, PathState, Variation, family_params};
use crate::kernel::{InKernel, Law, Slot};
use crate::registry::Entry;
use crate::{ParamSpec, Params};
use playpath_units::{Duration, Time};

pub static ENTRY: Entry = Entry {
    name: "ccpd",
    aliases: &[],
    summary: "CCP with a derivative of the backlog",
    reference: "Cavendish et al., INTERNET 2015, reference 4 (form recalled)",
    params: family_params![ccp::KP, KD, MODE],
    in_kernel: Some(InKernel::ours(&LAW)),
    is_coupled: false,
    behaviour: ccp::BEHAVIOUR,
    build: |params, initial_window| Box::new(Ccp::new(params, initial_window, Derivative::new(params))),
};

static LAW: Law = law("ccpd", ENTRY.summary, &[COMMON, &[Slot::new(1, 1000, KD), Slot::new(14, 1, MODE)]]);

const KD: ParamSpec = ParamSpec::number(
    "kd",
    0.25,
    (0.0, 4.0),
    "",
    "derivative gain; stable below 0.5 (our default). In mode literal in seconds",
);
const MODE: ParamSpec = ParamSpec::word(
    "mode",
    "default",
    &["default", "paper", "literal"],
    "paper: as for ccp; literal: the recalled form, Kp = 1, derivative over consecutive ACKs",
);

/// Parameter `kd` of CCPLCA and CCPLB: their changes "can be equally applied to CCPD".
pub(crate) const KD_OF_VARIANTS: ParamSpec =
    ParamSpec::number("kd", 0.0, (0.0, 4.0), "", "CCPD's derivative gain, 0.25 there; 0: CCP's law").since("0.2");

/// The law that a variation changes: CCP's, with CCPD's derivative where it is asked for.
pub(crate) struct Base(Option<Derivative>);

impl Base {
    pub(crate) fn new(params: &Params) -> Base {
        Base((params.number("kd") > 0.0).then(|| Derivative::new(params)))
    }

    pub(crate) fn window(&mut self, path: &PathState) -> f64 {
        self.0.as_mut().map_or_else(|| path.law(), |derivative| derivative.window(path))
    }
}

pub(crate) struct Derivative {
    kd: f64,
    is_literal: bool,
    history: History,
    previous: Option<(Time, f64)>,
}

impl Derivative {
    pub(crate) fn new(params: &Params) -> Derivative {
        let is_literal = params.word("mode") == "literal";
        Derivative { kd: params.number("kd"), is_literal, history: History::new(), previous: None }
    }

    fn literal(&mut self, path: &PathState) -> f64 {
        let (previous_at, previous) = self.previous.replace((path.now, path.backlog)).unwrap_or((path.now, 0.0));
        let elapsed = path.now.saturating_since(previous_at).as_secs_f64();
        let slope = if elapsed > 0.0 { (previous - path.backlog) / elapsed } else { 0.0 };
        path.storage - path.backlog - path.in_flight + self.kd * slope
    }
}

impl Variation for Derivative {
    fn window(&mut self, path: &PathState) -> f64 {
        if self.is_literal {
            return self.literal(path);
        }
        let before = self.history.exchange(path.now, path.smoothed_backlog, path.rtt_min);
        let change = before.map_or(0.0, |before| path.smoothed_backlog - before);
        path.law() - self.kd * change / 2.0
    }
}

/// The backlog of the last two rtt_min, sixteen samples each.
struct History {
    samples: [(Time, f64); Self::LENGTH],
    next: usize,
    count: usize,
}

impl History {
    const LENGTH: usize = 32;
    const PER_RTT: u64 = 16;

    const fn new() -> History {
        History { samples: [(Time::ZERO, 0.0); Self::LENGTH], next: 0, count: 0 }
    }

    /// Note `backlog` and get the newest one at least `age` old.
    fn exchange(&mut self, now: Time, backlog: f64, age: Duration) -> Option<f64> {
        let newest_at = self.newest_first().next().map(|(at, _)| at);
        if newest_at.is_none_or(|at| now.saturating_since(at) >= age / Self::PER_RTT) {
            self.samples[self.next] = (now, backlog);
            self.next = (self.next + 1) % Self::LENGTH;
            self.count = (self.count + 1).min(Self::LENGTH);
        }
        self.newest_first().find(|(at, _)| now.saturating_since(*at) >= age).map(|(_, backlog)| backlog)
    }

    fn newest_first(&self) -> impl Iterator<Item = (Time, f64)> + '_ {
        (1..=self.count).map(|back| self.samples[(self.next + Self::LENGTH - back) % Self::LENGTH])
    }
}
