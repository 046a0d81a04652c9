//! BBR version 1, as Linux ships it.
//!
//! Reference: Cardwell, Cheng, Gunn, Hassas Yeganeh, Jacobson, "BBR: Congestion-Based Congestion Control", ACM Queue 14(5),
//! 2016; the behaviour of `net/ipv4/tcp_bbr.c` (Linux 5.19 and later) where the two differ.
//!
//! Differences from the reference (Linux):
//! 1. Floating point instead of fixed point: gains are 2/ln 2, 5/4, 3/4 exactly, not multiples of 1/256.
//! 2. The phase that PROBE_BW begins with is drawn as described in `draws.rs`, not by the kernel's generator.
//! 3. `quantum = "packet"` drops the three TSO bursts from the window's budget, for senders that have none. Default: Linux's.
//! 4. When min_rtt has expired any RTT sample replaces it. Linux skips the one of a lone packet shorter than an MSS, as the ACK
//!    may have been delayed; the transport does not tell it apart.
//! 5. Windows set from outside are taken over (an MPTCP scheduler's). Window validation leaves it alone, as in Linux.
//! 6. Over QUIC an undo leaves the search for start-up's plateau alone. In Linux it begins anew (`bbr_undo_cwnd`), where RACK widens its window
//!    at a spurious loss; over QUIC the next comes in the next round trip, and start-up would never end.
//! 7. `law = "quinn"` is another algorithm, told in `bbr/quinn.rs`.
//!
//! Units: packets, packets/s; the pacing rate in bit/s of payload. Invariants: `cwnd >= 4` except in the round trips after a loss
//! or timeout; outside PROBE_RTT and start-up `cwnd` is at most the budget for 2 BDP plus aggregation. The loss of packets
//! does not reduce the model. Tested by `bbr/tests.rs`: closed forms (start-up's doubling, its exit, drain, the window cap, the
//! schedule of PROBE_RTT), a policer, aggregation, recovery, idle restart.

mod aggregation;
mod model;
mod output;
mod policer;
mod quinn;
#[cfg(test)]
mod tests;

use crate::kernel::InKernel;
use crate::parts::draws;
use crate::parts::estimators::{AppLimitedMark, WindowedMax};
use crate::registry::{Behaviour, EcnUse, Entry};
use crate::{
    Ack, CongestionControl, CongestionEvent, CongestionSignal, IdleRestart, ParamSpec, Params, RecoveryExit,
    RecoveryWindow, Rto, Undo, View, WindowChange,
};
use aggregation::Aggregation;
use output::Quantum;
use playpath_units::{Duration, Rate, Time};
use policer::Policer;
use quinn::QuinnBbr;

pub static ENTRY: Entry = Entry {
    name: "bbr",
    aliases: &["bbr1"],
    summary: "paces at the measured bandwidth, keeps two bandwidth-delay products; version 1",
    reference: "Cardwell et al., ACM Queue 14(5), 2016; Linux tcp_bbr.c",
    params: &[CWND_GAIN, PROBE_RTT, QUANTUM, LAW, draws::SEED],
    in_kernel: Some(InKernel::linux("bbr")),
    is_coupled: false,
    behaviour: BEHAVIOUR,
    build: |params, initial_window| match params.word("law") {
        "quinn" => Box::new(QuinnBbr::new()),
        _ => Box::new(Bbr::new(params, initial_window)),
    },
};

/// The model rules: losses cost a round trip of packet conservation, growth needs deliveries and not a full window.
pub(crate) const BEHAVIOUR: Behaviour = Behaviour {
    paces: true,
    responds_to_loss: false,
    responds_to_ecn: false,
    collapses_on_rto: true,
    shrinks_without_loss: true,
    grows_only_if_allowed: false,
    undo_restores: true,
    ecn: EcnUse::Echo,
};

const CWND_GAIN: ParamSpec = ParamSpec::number(
    "cwnd_gain",
    2.0,
    (1.0, 4.0),
    "",
    "window in PROBE_BW in bandwidth-delay products (Linux: 2, room for delayed and stretched ACKs)",
);
const PROBE_RTT: ParamSpec =
    ParamSpec::flag("probe_rtt", true, "drain the queue for 200 ms when min_rtt is 10 s old; off only for study");
pub(crate) const QUANTUM: ParamSpec = ParamSpec::word(
    "quantum",
    "linux",
    &["linux", "packet"],
    "bursts that the window leaves room for: TSO as in Linux (1 ms of the rate, at least 2 packets), or single packets",
);

const LAW: ParamSpec = ParamSpec::word(
    "law",
    "linux",
    &["linux", "quinn"],
    "quinn: its BBR (quinn-proto 0.11.19), which replaces what is lost at once and loses half of what it sends",
)
.since("0.3");

/// 2/ln 2: the smallest gain that lets the delivery rate double every round trip.
const HIGH_GAIN: f64 = 2.0 / std::f64::consts::LN_2;
/// Gains of PROBE_BW, a phase per min_rtt: probe, drain, cruise.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Round trips that a bandwidth sample stays: a cycle and two.
const BW_ROUNDS: u64 = 10;
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
const MIN_CWND: f64 = 4.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Mode::Startup => "startup",
            Mode::Drain => "drain",
            Mode::ProbeBw => "probe_bw",
            Mode::ProbeRtt => "probe_rtt",
        }
    }
}

/// Recovery state, as in Linux's `icsk_ca_state`, without the states that BBR does not distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recovery {
    Open,
    Fast,
    Timeout,
}

pub struct Bbr {
    mode: Mode,
    cwnd: f64,
    prior_cwnd: f64,
    initial_window: f64,
    ssthresh: f64,
    pacing_bits_per_sec: Option<f64>,
    has_seen_rtt: bool,
    max_bw: WindowedMax<f64>,
    round_count: u64,
    round_start: bool,
    next_round_delivered: u64,
    full_bw: f64,
    full_bw_count: u32,
    full_bw_reached: bool,
    min_rtt: Option<Duration>,
    min_rtt_stamp: Time,
    probe_rtt_done: Option<Time>,
    probe_rtt_round_done: bool,
    cycle_index: usize,
    cycle_stamp: Time,
    recovery: Recovery,
    /// Recovery state at the previous ACK: consecutive loss episodes count as one recovery.
    prior_recovery: Recovery,
    packet_conservation: bool,
    idle_restart: bool,
    policer: Policer,
    aggregation: Aggregation,
    mark: AppLimitedMark,
    settings: Settings,
}

#[derive(Clone, Copy, Debug)]
struct Settings {
    cwnd_gain: f64,
    probes_rtt: bool,
    quantum: Quantum,
    seed: u64,
}

impl Bbr {
    fn new(params: &Params, initial_window: f64) -> Bbr {
        Bbr {
            mode: Mode::Startup,
            cwnd: initial_window.max(1.0),
            prior_cwnd: 0.0,
            initial_window: initial_window.max(1.0),
            ssthresh: f64::INFINITY,
            pacing_bits_per_sec: None,
            has_seen_rtt: false,
            max_bw: WindowedMax::new(),
            round_count: 0,
            round_start: false,
            next_round_delivered: 0,
            full_bw: 0.0,
            full_bw_count: 0,
            full_bw_reached: false,
            min_rtt: None,
            min_rtt_stamp: Time::ZERO,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            cycle_index: 0,
            cycle_stamp: Time::ZERO,
            recovery: Recovery::Open,
            prior_recovery: Recovery::Open,
            packet_conservation: false,
            idle_restart: false,
            policer: Policer::new(),
            aggregation: Aggregation::new(),
            mark: AppLimitedMark::default(),
            settings: Settings {
                cwnd_gain: params.number("cwnd_gain"),
                probes_rtt: params.flag("probe_rtt"),
                quantum: Quantum::from_params(params),
                seed: params.number("seed") as u64,
            },
        }
    }

    /// Largest delivery rate of the window, packets/s.
    fn max_bw(&self) -> f64 {
        self.max_bw.get().unwrap_or(0.0)
    }

    /// The bandwidth in use: the policer's rate if one was found.
    fn bw(&self) -> f64 {
        self.policer.rate().unwrap_or(self.max_bw())
    }
}

impl CongestionControl for Bbr {
    fn cwnd(&self) -> f64 {
        self.cwnd
    }
    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }
    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing_bits_per_sec.map(|rate| Rate::from_bits_per_sec_f64(rate.max(1.0)))
    }
    fn phase(&self) -> &'static str {
        self.mode.name()
    }
    fn recovery_window(&self) -> RecoveryWindow {
        RecoveryWindow::ControllerAlone
    }

    fn on_connection_start(&mut self, view: &View) {
        self.min_rtt = (view.min_rtt != Duration::MAX).then_some(view.min_rtt);
        self.min_rtt_stamp = view.now;
        self.cycle_stamp = view.now;
        self.next_round_delivered = view.delivered;
        self.aggregation.restart(view.now);
        self.init_pacing_rate(view);
    }

    fn on_ack(&mut self, view: &View, event: &Ack) {
        self.update_model(view, event);
        self.set_pacing_rate(view, self.pacing_gain());
        self.set_cwnd(view, event);
    }

    fn on_congestion(&mut self, _view: &View, event: &CongestionEvent) {
        self.save_cwnd();
        // ECN-Echo is the state CWR in Linux, in which BBR does nothing.
        if event.signal != CongestionSignal::Ecn {
            self.recovery = Recovery::Fast;
        }
    }

    fn on_recovery_exit(&mut self, _view: &View, _event: &RecoveryExit) {
        self.recovery = Recovery::Open;
    }

    /// Window: one packet more than is in flight. The search for start-up's plateau restarts, and the timeout counts as the end of a round
    /// with losses for the policer.
    fn on_rto(&mut self, view: &View, _event: &Rto) {
        self.save_cwnd();
        (self.recovery, self.prior_recovery) = (Recovery::Timeout, Recovery::Timeout);
        self.packet_conservation = false;
        self.full_bw = 0.0;
        self.round_start = true;
        self.sample_policer(view, true, false);
        self.cwnd = f64::from(view.in_flight) + 1.0;
    }

    fn on_undo(&mut self, view: &View, _event: &Undo) {
        self.full_bw = 0.0;
        self.full_bw_count = 0;
        self.on_quic_undo(view);
    }

    fn on_quic_undo(&mut self, view: &View) {
        self.policer.reset(view);
        (self.recovery, self.prior_recovery) = (Recovery::Open, Recovery::Open);
        self.packet_conservation = false;
        self.restore_cwnd();
    }

    /// Linux: transmission starts with nothing in flight after the application had nothing to send, or in PROBE_RTT. A pause
    /// caused by pacing does not count: with less than a packet per round trip every packet follows one, and probing would never be faster
    /// than the estimate.
    fn on_idle_restart(&mut self, view: &View, event: &IdleRestart) {
        if !event.is_app_limited && !self.mark.stands(view) {
            return;
        }
        self.idle_restart = true;
        self.aggregation.restart(view.now);
        match self.mode {
            Mode::ProbeBw => self.set_pacing_rate(view, 1.0),
            Mode::ProbeRtt => self.check_probe_rtt_done(view),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn on_window_change(&mut self, _view: &View, change: &WindowChange) {
        self.cwnd = change.cwnd.max(1.0);
        self.ssthresh = change.ssthresh;
    }
}
