//! Copa: steers the window towards the rate `1 / (delta d_q)`, d_q the queueing delay; in default mode at most 2.5/delta packets of queue.
//!
//! Reference: Arun, Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the Internet", NSDI 2018, sections 2.1
//! (default mode) and 2.2 (competitive mode). Where the paper is silent: the authors' genericCC, Meta's mvfst.
//!
//! Differences from the reference:
//! 1. "Once per window" is once per packet-timed round trip; the window it compares with is that of the round's start, which is
//!    what the packet acknowledged at its end was sent under.
//! 2. When the rate crosses the target in the middle of a round with v > 1, v falls to 1 at once (as in mvfst). The paper waits
//!    for the end of the round, with a velocity meant for the other direction.
//! 3. v is at most delta cwnd: one window per round trip (as in genericCC).
//! 4. A queue without delay is empty, though the paper's test `d_q < 0.1 (RTTmax - RTTmin)` is then 0 < 0.
//! 5. The window grows only on ACKs with `may_grow`; the paper's senders always have data.
//! 6. Competitive mode is NewReno on 1/delta, as in the authors' implementation: +1 per round trip without loss, halved per loss
//!    episode, never below the default mode's.
//! 7. After a timeout: one packet and slow start (RFC 5681). The paper says nothing; mvfst goes to its smallest window.
//! 8. ECN-Echo counts as a loss in competitive mode and is ignored in default mode, as loss is.
//!
//! Units: packets, packets/s. Invariants: `2 <= cwnd <= max_cwnd` but for timeouts, `1 <= v`, `delta` at most the parameter.
//! Tested by `copa/tests.rs`: the closed forms of the paper's section 3 (amplitude and period of the queue), velocity by hand,
//! sharing with itself and with NewReno in both modes.

#[cfg(test)]
mod tests;

use crate::kernel::{InKernel, Law, MAX_WINDOW, Slot};
use crate::parts::estimators::{WindowedMax, WindowedMin};
use crate::registry::{Behaviour, Entry};
use crate::{
    Ack, CongestionControl, CongestionEvent, ParamSpec, Params, RecoveryWindow, Rto, Undo, View, WindowChange,
};
use playpath_units::{Duration, Rate, Time};

pub static ENTRY: Entry = Entry {
    name: "copa",
    aliases: &[],
    summary: "holds a few packets of queue; competes by loss where others fill the queue",
    reference: "Arun, Balakrishnan, NSDI 2018",
    params: &[DELTA, MODE, MAX_CWND],
    in_kernel: Some(InKernel::ours(&LAW)),
    is_coupled: false,
    behaviour: Behaviour { paces: true, responds_to_loss: false, responds_to_ecn: false, ..Behaviour::DELAY_BASED },
    build: |params, initial_window| Box::new(Copa::new(params, initial_window)),
};

static LAW: Law = Law {
    name: "copa",
    family: "copa",
    summary: ENTRY.summary,
    slots: &[&[
        Slot::new(0, 1000, DELTA),
        Slot::new(1, 1, MODE),
        Slot::new(2, 1, MAX_CWND.within(MAX_CWND.range().0, MAX_WINDOW)),
    ]],
    phases: &["slow_start", "default_mode", "competitive_mode"],
    details: &[
        "rtt_min_us",
        "rtt_standing_us",
        "rtt_max_us",
        "queueing_us",
        "velocity",
        "inverse_delta_beyond_the_defaults_packets",
        "rounds",
    ],
};

const DELTA: ParamSpec = ParamSpec::number(
    "delta",
    0.5,
    (0.004, 10.0),
    "",
    "weight of delay against throughput in default mode; 2.5/delta packets of queue (paper 0.5, mvfst 0.04)",
);
const MODE: ParamSpec = ParamSpec::word(
    "mode",
    "auto",
    &["auto", "default", "competitive"],
    "auto: competitive when the queue has not been nearly empty for five round trips (paper), for which a flow that is alone on a path with a small bandwidth-delay product mistakes its own queue; or always one of them (mvfst: default)",
);
const MAX_CWND: ParamSpec = ParamSpec::number("max_cwnd", 1e5, (10.0, 1e7), "packets", "upper clamp of the window");

const MIN_CWND: f64 = 2.0;
const RTT_MIN_WINDOW: Duration = Duration::from_secs(10);
/// Section 2.2: RTTmax of four round trips, nearly empty within a tenth of the spread, within five round trips.
const RTT_MAX_ROUNDS: u64 = 4;
const NEARLY_EMPTY: f64 = 0.1;
const EMPTY_ROUNDS: u64 = 5;
/// Rounds in one direction before the velocity doubles.
const PATIENCE: u32 = 3;
/// Pacing, in windows per standing RTT: spaces packets and leaves the window in charge.
const PACING_GAIN: f64 = 2.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Policy {
    Auto,
    Default,
    Competitive,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

pub struct Copa {
    cwnd: f64,
    ssthresh: f64,
    in_slow_start: bool,
    rtts: Rtts,
    velocity: Velocity,
    /// 1/delta in packets.
    inverse_delta: f64,
    is_competitive: bool,
    has_lost_in_round: bool,
    pacing_bits_per_sec: Option<f64>,
    before: Option<Before>,
    settings: Settings,
}

#[derive(Clone, Copy, Debug)]
struct Settings {
    inverse_delta: f64,
    policy: Policy,
    max_cwnd: f64,
}

#[derive(Clone, Copy, Debug)]
struct Before {
    cwnd: f64,
    in_slow_start: bool,
    inverse_delta: f64,
}

/// RTT filters (sections 2.1, 2.2).
#[derive(Clone, Debug)]
struct Rtts {
    min: WindowedMin<Duration>,
    standing: WindowedMin<Duration>,
    max: WindowedMax<Duration>,
    /// When the queue was nearly empty last.
    emptied_at: Time,
}

#[derive(Clone, Copy, Debug)]
struct Delay {
    standing: Duration,
    queueing: Duration,
}

#[derive(Clone, Copy, Debug)]
struct Velocity {
    v: f64,
    direction: Option<Direction>,
    same_rounds: u32,
    round_cwnd: f64,
}

impl Rtts {
    fn update(&mut self, view: &View, rtt: Duration) -> Delay {
        let now = view.now.as_nanos();
        let srtt = if view.srtt.is_zero() { rtt } else { view.srtt };
        let min = self.min.update(now, rtt, RTT_MIN_WINDOW.as_nanos());
        let standing = self.standing.update(now, rtt, srtt.as_nanos() / 2);
        let max = self.max.update(now, rtt, srtt.as_nanos().saturating_mul(RTT_MAX_ROUNDS));
        let queueing = standing.saturating_sub(min);
        if queueing <= max.saturating_sub(min).mul_f64(NEARLY_EMPTY) {
            self.emptied_at = view.now;
        }
        Delay { standing, queueing }
    }

    /// Someone else fills the queue: it has not been nearly empty for five round trips.
    fn is_queue_held(&self, view: &View) -> bool {
        view.now.saturating_since(self.emptied_at) > view.srtt * EMPTY_ROUNDS
    }
}

impl Velocity {
    const fn new() -> Velocity {
        Velocity { v: 1.0, direction: None, same_rounds: 0, round_cwnd: 0.0 }
    }

    /// Section 2.1: once per window.
    fn end_round(&mut self, cwnd: f64) {
        let direction = if cwnd > self.round_cwnd { Direction::Up } else { Direction::Down };
        self.round_cwnd = cwnd;
        if self.direction != Some(direction) {
            (self.direction, self.same_rounds, self.v) = (Some(direction), 0, 1.0);
            return;
        }
        self.same_rounds += 1;
        if self.same_rounds >= PATIENCE {
            self.v *= 2.0;
        }
    }

    /// The step now goes `direction` (differences 2 and 3).
    fn step(&mut self, direction: Direction, cwnd: f64, inverse_delta: f64) -> f64 {
        if self.v > 1.0 && self.direction != Some(direction) {
            *self = Velocity { v: 1.0, direction: Some(direction), same_rounds: 0, round_cwnd: cwnd };
        }
        self.v = self.v.min((cwnd / inverse_delta).max(1.0));
        self.v * inverse_delta / cwnd
    }
}

impl Copa {
    fn new(params: &Params, initial_window: f64) -> Copa {
        let policy = match params.word("mode") {
            "default" => Policy::Default,
            "competitive" => Policy::Competitive,
            _ => Policy::Auto,
        };
        let inverse_delta = 1.0 / params.number("delta");
        Copa {
            cwnd: initial_window.max(1.0),
            ssthresh: f64::INFINITY,
            in_slow_start: true,
            rtts: Rtts {
                min: WindowedMin::new(),
                standing: WindowedMin::new(),
                max: WindowedMax::new(),
                emptied_at: Time::ZERO,
            },
            velocity: Velocity::new(),
            inverse_delta,
            is_competitive: policy == Policy::Competitive,
            has_lost_in_round: false,
            pacing_bits_per_sec: None,
            before: None,
            settings: Settings { inverse_delta, policy, max_cwnd: params.number("max_cwnd") },
        }
    }

    /// Section 2.2.
    fn choose_mode(&mut self, view: &View) {
        if self.settings.policy == Policy::Auto {
            let was_competitive = self.is_competitive;
            self.is_competitive = self.rtts.is_queue_held(view);
            if was_competitive && !self.is_competitive {
                self.inverse_delta = self.settings.inverse_delta;
            }
        }
    }

    fn end_round(&mut self) {
        if !self.in_slow_start {
            self.velocity.end_round(self.cwnd);
        }
        if self.is_competitive && !self.has_lost_in_round {
            self.inverse_delta += 1.0;
        }
        self.has_lost_in_round = false;
    }

    /// `cwnd / RTTstanding <= 1 / (delta d_q)`, without the divisions.
    fn is_below_target(&self, delay: Delay) -> bool {
        self.cwnd * delay.queueing.as_secs_f64() <= self.inverse_delta * delay.standing.as_secs_f64()
    }

    /// Section 2.1, steps 3 and 5.
    fn move_window(&mut self, ack: &Ack, delay: Delay) {
        let packets = f64::from(ack.delivered);
        if self.is_below_target(delay) {
            if !ack.may_grow {
                return;
            }
            if self.in_slow_start {
                self.cwnd += packets;
            } else {
                self.cwnd += packets * self.velocity.step(Direction::Up, self.cwnd, self.inverse_delta);
            }
        } else {
            if self.in_slow_start {
                self.in_slow_start = false;
                self.velocity = Velocity { round_cwnd: self.cwnd, ..Velocity::new() };
            }
            self.cwnd -= packets * self.velocity.step(Direction::Down, self.cwnd, self.inverse_delta);
        }
        self.cwnd = self.cwnd.clamp(MIN_CWND, self.settings.max_cwnd);
    }

    fn set_pacing_rate(&mut self, view: &View, rtt: Duration) {
        let rate = PACING_GAIN * self.cwnd * f64::from(view.mss) * 8.0 / rtt.as_secs_f64().max(1e-6);
        self.pacing_bits_per_sec = Some(rate.max(1.0));
    }
}

impl CongestionControl for Copa {
    fn cwnd(&self) -> f64 {
        self.cwnd
    }
    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }
    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing_bits_per_sec.map(Rate::from_bits_per_sec_f64)
    }
    fn phase(&self) -> &'static str {
        match (self.in_slow_start, self.is_competitive) {
            (true, _) => "slow_start",
            (false, false) => "default_mode",
            (false, true) => "competitive_mode",
        }
    }
    fn recovery_window(&self) -> RecoveryWindow {
        RecoveryWindow::Controller
    }

    fn on_connection_start(&mut self, view: &View) {
        self.rtts.emptied_at = view.now;
        if !view.srtt.is_zero() {
            self.set_pacing_rate(view, view.srtt);
        }
    }

    fn on_ack(&mut self, view: &View, event: &Ack) {
        let Some(rtt) = event.rtt.filter(|rtt| !rtt.is_zero()) else { return };
        let delay = self.rtts.update(view, rtt);
        self.choose_mode(view);
        if event.round_start {
            self.end_round();
        }
        self.move_window(event, delay);
        self.set_pacing_rate(view, delay.standing);
    }

    fn on_congestion(&mut self, _view: &View, _event: &CongestionEvent) {
        let Copa { cwnd, in_slow_start, inverse_delta, .. } = *self;
        self.before = Some(Before { cwnd, in_slow_start, inverse_delta });
        self.has_lost_in_round = true;
        if self.is_competitive {
            self.inverse_delta = (self.inverse_delta / 2.0).max(self.settings.inverse_delta);
        }
    }

    fn on_rto(&mut self, _view: &View, event: &Rto) {
        if event.reduces {
            let Copa { cwnd, in_slow_start, inverse_delta, .. } = *self;
            self.before = Some(Before { cwnd, in_slow_start, inverse_delta });
        }
        self.cwnd = 1.0;
        self.in_slow_start = true;
        self.inverse_delta = self.settings.inverse_delta;
        self.velocity = Velocity::new();
    }

    fn on_undo(&mut self, _view: &View, _event: &Undo) {
        let Some(before) = self.before.take() else { return };
        self.cwnd = self.cwnd.max(before.cwnd);
        self.in_slow_start = before.in_slow_start;
        self.inverse_delta = self.inverse_delta.max(before.inverse_delta);
    }

    fn on_window_change(&mut self, _view: &View, change: &WindowChange) {
        self.cwnd = change.cwnd.max(1.0);
        self.ssthresh = change.ssthresh;
        self.velocity = Velocity { round_cwnd: self.cwnd, ..Velocity::new() };
    }
}
