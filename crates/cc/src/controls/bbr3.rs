//! BBR version 3 by the IETF's draft.
//!
//! Reference: draft-ietf-ccwg-bbr-06 (6 July 2026, Experimental, work in progress), sections cited as §; its appendix A of test
//! cases. Names are the draft's.
//!
//! Differences from the reference:
//! 1. Packets instead of bytes, floating point. Every packet is full-sized, which is how the transport counts.
//! 2. The model before a loss is saved once per ACK or timeout, at its first lost packet (§5.5.10.2). The draft saves it again on
//!    entering recovery (§5.6.4.4), when that loss may have changed it, and forgets the state to return to.
//! 3. `inflight_at_loss` stays within the lost packet (as in Google's Linux code).
//! 4. ECN: the draft asks to treat CE as congestion and leaves the way open (§3.7). The rules are those of Google's Linux code
//!    (`marks.rs`), at every RTT (there up to 5 ms alone), and a probe's marks are those of a whole round trip.
//! 5. `C.has_selective_acks` is taken to be true; without SACK start-up would end at the first loss (§5.3.1.3).
//! 6. Random waits (§5.3.3.8) are drawn as described in `draws.rs`.
//! 7. The window before PROBE_RTT is saved before the state changes; the draft's order would keep an older, larger one.
//! 8. `ssthresh` is set to one bandwidth-delay product on leaving start-up, as in Linux; the draft has none.
//! 9. `law = "noq"` and `"ngtcp2"` keep to the letter that §5.3.3.6 had before -06, as noq-proto 1.4.0 (`congestion/bbr3/mod.rs`)
//!    and ngtcp2 1.11.0 (`lib/ngtcp2_bbr.c`) do: ACKS_PROBE_STOPPING does not end, nor do the samples of a probe. Their start-up is
//!    not paced: the rate is set before the first RTT and only rises. They count bytes where a handshake's packets are small. ngtcp2
//!    also sees growth (§5.3.1.2) in any sample, not only in a round trip's first; begins a recovery with what is in flight at the
//!    next ACK (`bbr_handle_recovery`); and probes after as many round trips as its target has whole packets
//!    (`bbr_is_reno_coexistence_probe_time`).
//! 10. The volume that aggregation is estimated from starts anew after idling, with its interval (Google's `bbr_cwnd_event`). §5.4.1 has
//!     only the interval start anew: what came before it then counts as extra, burst by burst, and the window grows for ever. So it does
//!     with `law = "noq"` and `"ngtcp2"`.
//! 11. Windows set from outside (by an MPTCP scheduler) are adopted. Window validation does not apply (§5.4).
//!
//! Units: packets, packets/s, bit/s for pacing; unset bounds are infinite. Invariants: `bw <= max_bw`; `cwnd >= 4` except after a
//! timeout; a model bound once set is lowered at most by `beta`, and by `ecn_factor`, per round trip. Tested by `bbr3/tests.rs`: the draft's appendix
//! A as far as it concerns the controller, formulas by hand, the schedule of PROBE_RTT, and the loss threshold.

mod marks;
mod model;
mod output;
mod probe_bw;
mod probe_rtt;
#[cfg(test)]
mod tests;

use crate::controls::bbr;
use crate::kernel::{InKernel, Law, Slot};
use crate::parts::draws;
use crate::parts::estimators::{AppLimitedMark, WindowedMax};
use crate::registry::Entry;
use crate::{
    Ack, CongestionControl, CongestionEvent, CongestionSignal, IdleRestart, PacketLost, PacketSent, ParamSpec, Params,
    RecoveryExit, RecoveryWindow, Rto, Undo, View, WindowChange,
};
use marks::Marks;
use model::{Latest, Sample, Saved};
use playpath_units::{Duration, Rate, Time};
use probe_bw::Probing;
use probe_rtt::MinRtt;

pub static ENTRY: Entry = Entry {
    name: "bbr3",
    aliases: &[],
    summary: "BBR that bounds what it has in flight by loss; version 3",
    reference: "draft-ietf-ccwg-bbr-06",
    params: &[LOSS_THRESH, BETA, HEADROOM, ECN_THRESH, ECN_FACTOR, LAW_OF, bbr::QUANTUM, draws::SEED],
    in_kernel: Some(InKernel::ours(&LAW)),
    is_coupled: false,
    behaviour: bbr::BEHAVIOUR,
    build: |params, initial_window| Box::new(Bbr3::new(params, initial_window)),
};

static LAW: Law = Law {
    name: "bbr3",
    family: "bbr3",
    summary: ENTRY.summary,
    slots: &[&[
        Slot::new(0, 1000, LOSS_THRESH),
        Slot::new(1, 1000, BETA),
        Slot::new(2, 1000, HEADROOM),
        Slot::new(3, 1, bbr::QUANTUM),
    ]],
    phases: &["startup", "drain", "probe_bw_down", "probe_bw_cruise", "probe_bw_refill", "probe_bw_up", "probe_rtt"],
    details: &[
        "bw_packets_per_s",
        "max_bw_packets_per_s",
        "min_rtt_us",
        "inflight_shortterm_packets",
        "inflight_longterm_packets",
        "extra_acked_packets",
        "rounds",
    ],
};

const LOSS_THRESH: ParamSpec = ParamSpec::number(
    "loss_thresh",
    0.02,
    (0.0, 0.5),
    "",
    "tolerated loss per round trip of a probe (draft §2.8: 2 %)",
);
const BETA: ParamSpec = ParamSpec::number(
    "beta",
    0.7,
    (0.1, 1.0),
    "",
    "least that a round trip with loss leaves of a short-term bound (draft §2.8: 0.7, CUBIC's)",
);
const HEADROOM: ParamSpec = ParamSpec::number(
    "headroom",
    0.15,
    (0.0, 0.9),
    "",
    "part of the long-term bound left free for others while cruising (draft §2.8: 0.15)",
);

const ECN_THRESH: ParamSpec = ParamSpec::number(
    "ecn_thresh",
    0.5,
    (0.0, 1.0),
    "",
    "share of marked packets in a round trip that ends a probe, and in two start-up (Google's tcp_bbr.c: 1/2)",
)
.since("0.3");
const ECN_FACTOR: ParamSpec = ParamSpec::number(
    "ecn_factor",
    1.0 / 3.0,
    (0.0, 1.0),
    "",
    "what a round trip with marks takes of the short-term volume, times their smoothed share (Google's tcp_bbr.c: 1/3)",
)
.since("0.3");

const LAW_OF: ParamSpec = ParamSpec::word(
    "law",
    "draft",
    &["draft", "noq", "ngtcp2"],
    "noq and ngtcp2: a probe's samples never end, as older drafts read, so that each round trip until the next probe moves the \
     bandwidth's filter on, and no probe is precautionary",
)
.since("0.3");

/// §2.8 MinPipeCwnd.
const MIN_PIPE_CWND: f64 = 4.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    ProbeBwDown,
    ProbeBwCruise,
    ProbeBwRefill,
    ProbeBwUp,
    ProbeRtt,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recovery {
    Open,
    Fast,
    Timeout,
}

pub struct Bbr3 {
    state: State,
    settings: Settings,
    // Outputs.
    cwnd: f64,
    prior_cwnd: f64,
    ssthresh: f64,
    pacing_bits_per_sec: Option<f64>,
    has_seen_rtt: bool,
    // Rounds (§5.5.1).
    round_count: u64,
    round_start: bool,
    next_round_delivered: u64,
    // Rate and volume model (§2.9).
    /// Largest delivery rate of the two cycles before and of this one; the first stays empty but under noq's and ngtcp2's law.
    max_bw_filter: [f64; 3],
    bw: f64,
    bw_shortterm: f64,
    inflight_shortterm: f64,
    inflight_longterm: f64,
    min_rtt: MinRtt,
    extra_acked: ExtraAcked,
    // Signals of the present round trip (§2.10).
    sample: Sample,
    /// The last that had a rate.
    rate_before: Sample,
    latest: Latest,
    marks: Marks,
    // Full pipe (§2.13).
    full_bw: f64,
    full_bw_count: u32,
    full_bw_now: bool,
    full_bw_reached: bool,
    drain_start_round: u64,
    // ProbeBW (§2.14).
    probing: Probing,
    // Recovery and undo (§2.15).
    recovery: Recovery,
    /// ngtcp2's: it begins with the next ACK; the round trip in which it began.
    begins_recovery: bool,
    recovery_round: u64,
    saved: Saved,
    idle_restart: bool,
    cwnd_limited: CwndLimited,
    mark: AppLimitedMark,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LawOf {
    Draft,
    Noq,
    Ngtcp2,
}

impl LawOf {
    fn from_params(params: &Params) -> LawOf {
        match params.word("law") {
            "noq" => LawOf::Noq,
            "ngtcp2" => LawOf::Ngtcp2,
            _ => LawOf::Draft,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Settings {
    initial_window: f64,
    loss_thresh: f64,
    beta: f64,
    headroom: f64,
    ecn_thresh: f64,
    ecn_factor: f64,
    law: LawOf,
    has_bursts: bool,
    seed: u64,
}

/// §2.12.
#[derive(Debug)]
struct ExtraAcked {
    interval_start: Time,
    delivered: f64,
    filter: WindowedMax<f64>,
    /// BBR.extra_acked.
    volume: f64,
}

/// C.is_cwnd_limited: the window was full at some time of the last round trip.
#[derive(Clone, Copy, Debug, Default)]
struct CwndLimited {
    this_round: bool,
    last_round: bool,
}

impl Bbr3 {
    fn new(params: &Params, initial_window: f64) -> Bbr3 {
        let initial_window = initial_window.max(1.0);
        Bbr3 {
            state: State::Startup,
            settings: Settings {
                initial_window,
                loss_thresh: params.number("loss_thresh"),
                beta: params.number("beta"),
                headroom: params.number("headroom"),
                ecn_thresh: params.number("ecn_thresh"),
                ecn_factor: params.number("ecn_factor"),
                law: LawOf::from_params(params),
                has_bursts: params.word("quantum") == "linux",
                seed: params.number("seed") as u64,
            },
            cwnd: initial_window,
            prior_cwnd: 0.0,
            ssthresh: f64::INFINITY,
            pacing_bits_per_sec: None,
            has_seen_rtt: false,
            round_count: 0,
            round_start: false,
            next_round_delivered: 0,
            max_bw_filter: [0.0; 3],
            bw: 0.0,
            bw_shortterm: f64::INFINITY,
            inflight_shortterm: f64::INFINITY,
            inflight_longterm: f64::INFINITY,
            min_rtt: MinRtt::new(),
            extra_acked: ExtraAcked {
                interval_start: Time::ZERO,
                delivered: 0.0,
                filter: WindowedMax::new(),
                volume: 0.0,
            },
            sample: Sample::default(),
            rate_before: Sample::default(),
            latest: Latest::default(),
            marks: Marks::new(),
            full_bw: 0.0,
            full_bw_count: 0,
            full_bw_now: false,
            full_bw_reached: false,
            drain_start_round: 0,
            probing: Probing::new(),
            recovery: Recovery::Open,
            begins_recovery: false,
            recovery_round: 0,
            saved: Saved::default(),
            idle_restart: false,
            cwnd_limited: CwndLimited::default(),
            mark: AppLimitedMark::default(),
        }
    }

    /// §5.2.3 UpdateModelAndState, in the draft's order.
    fn update_model_and_state(&mut self, view: &View) {
        self.update_latest_delivery_signals(view);
        self.update_congestion_signals(view);
        self.update_ack_aggregation(view);
        self.check_full_bw_reached();
        self.check_startup_high_ecn();
        self.check_startup_done(view);
        self.check_drain_done(view);
        self.update_probe_bw_cycle_phase(view);
        self.update_min_rtt(view);
        self.check_probe_rtt(view);
        self.advance_latest_delivery_signals();
        self.bw = self.max_bw().min(self.bw_shortterm);
    }

    /// §5.3.1.1 EnterStartup; gains go with the state (§5.6.1).
    fn enter_startup(&mut self) {
        self.state = State::Startup;
    }

    /// §5.3.1.1.
    fn check_startup_done(&mut self, view: &View) {
        self.check_startup_high_loss();
        if self.state == State::Startup && self.full_bw_reached {
            // §5.3.2 EnterDrain.
            self.state = State::Drain;
            self.drain_start_round = self.round_count;
            self.ssthresh = self.inflight(self.max_bw(), view.mss);
        }
    }

    /// §5.3.2.
    fn check_drain_done(&mut self, view: &View) {
        if self.state != State::Drain {
            return;
        }
        let is_drained = f64::from(view.in_flight) <= self.inflight(self.bw, view.mss);
        let is_late = self.settings.law != LawOf::Ngtcp2 && self.round_count > self.drain_start_round + 3;
        if is_drained || is_late {
            self.start_probe_bw_down(view);
        }
    }

    fn is_in_probe_bw(&self) -> bool {
        use State::{ProbeBwCruise, ProbeBwDown, ProbeBwRefill, ProbeBwUp};
        matches!(self.state, ProbeBwDown | ProbeBwCruise | ProbeBwRefill | ProbeBwUp)
    }

    /// §5.3.3.9 IsProbingBW: the states in which a loss is the probe's affair, not the short-term model's.
    fn is_probing_bw(&self) -> bool {
        matches!(self.state, State::Startup | State::ProbeBwRefill | State::ProbeBwUp)
    }

    /// §5.5.1 StartRound.
    fn start_round(&mut self, view: &View) {
        self.next_round_delivered = view.delivered;
    }

    /// §5.6.4.4 SaveCwnd: the last window that neither recovery nor PROBE_RTT held down.
    fn save_cwnd(&mut self) {
        let is_held = self.recovery != Recovery::Open || self.state == State::ProbeRtt;
        self.prior_cwnd = if is_held { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }

    /// §5.6.4.4 RestoreCwnd.
    fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }
}

impl CongestionControl for Bbr3 {
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
        match self.state {
            State::Startup => "startup",
            State::Drain => "drain",
            State::ProbeBwDown => "probe_bw_down",
            State::ProbeBwCruise => "probe_bw_cruise",
            State::ProbeBwRefill => "probe_bw_refill",
            State::ProbeBwUp => "probe_bw_up",
            State::ProbeRtt => "probe_rtt",
        }
    }
    fn recovery_window(&self) -> RecoveryWindow {
        RecoveryWindow::Controller
    }

    /// §5.2.1 OnInit.
    fn on_connection_start(&mut self, view: &View) {
        self.min_rtt.start(view.now, (!view.srtt.is_zero()).then_some(view.srtt));
        self.extra_acked.interval_start = view.now;
        self.next_round_delivered = view.delivered;
        self.init_pacing_rate(view);
    }

    fn on_packet_sent(&mut self, event: &PacketSent) {
        self.cwnd_limited.this_round |= f64::from(event.prior_in_flight) + 1.0 >= self.cwnd.floor();
    }

    /// §5.5.10.2 HandleLostPacket.
    fn on_packet_lost(&mut self, view: &View, event: &PacketLost) {
        self.handle_lost_packet(view, event);
    }

    fn on_ack(&mut self, view: &View, event: &Ack) {
        let sample = Sample::new(event, &self.mark);
        let is_noq = self.settings.law == LawOf::Noq;
        // noq: `on_ack` of each packet runs the model before `on_end_acks` has this ACK's rate, and what is in flight.
        let in_flight = if is_noq { event.prior_in_flight } else { view.in_flight };
        let view = &View { in_flight, ..*view };
        self.sample = if is_noq { sample.with_rate_of(&self.rate_before) } else { sample };
        if sample.delivery_rate > 0.0 {
            self.rate_before = sample;
        }
        self.marks.take(event);
        if std::mem::take(&mut self.begins_recovery) {
            // bbr_handle_recovery: what is in flight and what the ACK delivers, also where a timer had found the loss.
            self.recovery_round = self.round_count + u64::from(!self.round_start);
            self.cwnd = f64::from(view.in_flight) + self.sample.newly_acked.max(1.0);
        }
        self.update_model_and_state(view);
        self.set_pacing_rate(view);
        self.set_cwnd(view);
    }

    /// §5.6.4.4 OnEnterFastRecovery.
    fn on_congestion(&mut self, view: &View, event: &CongestionEvent) {
        if event.signal != CongestionSignal::Ecn {
            self.save_cwnd();
            self.save_state_upon_loss(view);
            self.begins_recovery |= self.settings.law == LawOf::Ngtcp2 && self.recovery != Recovery::Fast;
            self.recovery = Recovery::Fast;
        }
    }

    fn on_recovery_exit(&mut self, _view: &View, _event: &RecoveryExit) {
        if self.recovery != Recovery::Open {
            self.recovery = Recovery::Open;
            self.restore_cwnd();
        }
    }

    /// §5.6.4.4 OnEnterRTO.
    fn on_rto(&mut self, view: &View, _event: &Rto) {
        self.save_cwnd();
        self.save_state_upon_loss(view);
        self.recovery = Recovery::Timeout;
        self.cwnd = f64::from(view.in_flight) + 1.0;
    }

    fn on_undo(&mut self, view: &View, _event: &Undo) {
        self.recovery = Recovery::Open;
        self.handle_spurious_loss_detection(view);
    }

    /// §5.4.1 HandleRestartFromIdle.
    fn on_idle_restart(&mut self, view: &View, event: &IdleRestart) {
        if !event.is_app_limited && !self.mark.stands(view) {
            return;
        }
        self.idle_restart = true;
        self.extra_acked.interval_start = view.now;
        if self.settings.law == LawOf::Draft {
            self.extra_acked.delivered = 0.0;
        }
        if self.is_in_probe_bw() {
            self.set_pacing_rate_with_gain(view, 1.0);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(view);
        }
    }

    fn on_window_change(&mut self, _view: &View, change: &WindowChange) {
        self.cwnd = change.cwnd.max(1.0);
        self.ssthresh = change.ssthresh;
    }
}

/// Zero where the draft divides by an RTT that is not known.
fn seconds(length: Option<Duration>) -> f64 {
    length.map_or(0.0, Duration::as_secs_f64)
}
