//! CCP: Capacity and Congestion Probing, and the part that its variations (CCPD, CCPLCA, CCPLB) share.
//!
//! Reference: Cavendish, Kumazoe, Watanabe, Nobayashi, Ikenaga, Oie, "Congestion Avoidance TCP Improvements for Video
//! Streaming", INTERNET 2015, equation 4. On every ACK in congestion avoidance
//! `cwnd = (Kp (B - x) - in_flight) / 2`: B is the storage of the path (queue and pipe), x the backlog, in packets. A
//! proportional controller on the free storage with a Smith predictor: what is in flight is subtracted because it will arrive.
//!
//! Differences from the reference, which gives the law and nothing about its estimators and gains:
//! 1. Capacity C is the largest delivery rate of ten round trips (`maxrate`) or passive CapProbe (`capprobe`); `given` separates
//!    the law from its estimator.
//! 2. `B = C max(rtt_max, floor_gain 3/Kp rtt_min)`. The second term is a floor: the largest rate seen is at most the rate
//!    sent, and without the floor B and the window fall together until nothing is left. `mode = "paper"` has no floor.
//! 3. `x = C max(rtt - rtt_min, 0)` from the smoothed RTT (weight 1/8); `rtt = "raw"` takes the last sample.
//! 4. Kp = 2. The paper took its gain from an unpublished study. Below 1.5 a queue shorter than the pipe stays unused; above
//!    2.5 the loop through the queue oscillates (its slope is -Kp/3 per round trip: unstable from 3 on).
//! 5. After a timeout: RFC 5681. The paper says nothing.
//! 6. ECN-Echo ends slow start and does nothing more, as loss. RFC 3168 asks for a reduction; so does any fairness.
//! 7. rtt_min is remembered for 300 s, not for the 10 s of rtt_max. The law keeps a standing queue of 0.15 bandwidth-delay
//!    products or more, so nothing refreshes rtt_min: each time it is forgotten it grows to the RTT with queue, and the window
//!    with it, by 15 % per memory. With 10 s the queue would be full after a minute.
//! 8. `loss_guard`: the law is blind to loss, and an overestimated B can lose half of what it sends for ever.
//! 9. `rtt_max_cap`: rtt_max counts up to four rtt_min, so that one late ACK on a short path does not make a storage of
//!    hundreds of pipes. It decides how a jittery path of a few milliseconds is read; `mode = "paper"` has no cap.
//! 10. `storage = "queue"` reads B as the room of the queue alone, `C (rtt_max - rtt_min)`. The paper calls B the "storage
//!     capacity of the TCP session path", which has the pipe in it; without it the window starves below the pipe.
//!
//! Recovery. The window follows the law while lost packets are repaired ([`RecoveryWindow::Controller`]), and `in_flight` is
//! the transport's pipe, so marking n packets lost raises the window by n/2 at once. From W = pipe the sender then repairs n
//! packets and adds n/2; with these in flight the law answers W - n/4, and so on: a damped overshoot of half the loss. After
//! a loss by overflow this is the wrong direction for one round trip. RFC 5681's FlightSize instead of the pipe would be worse:
//! it grows by every packet sent above a hole, and W = (Kp (B - x) - FlightSize) / 2 falls to its minimum while one lost
//! retransmission holds the hole open. `recovery = "freeze"` lets the window fall but not rise, which is packet conservation: n
//! lost, n sent.
//! `recovery = "hold"` keeps the window as it was when the loss was found until all is repaired, whatever the law says: one
//! reading of "no special adjustment". A window that was too large then stays too large.
//! Outside recovery the window grows only on ACKs with `may_grow`; otherwise an idle sender's empty pipe would raise it to
//! Kp B / 2. `mode = "paper"` follows the law on every ACK, up and down, as in the paper.
//!
//! Units: packets, packets/s. Invariants: `2 <= cwnd <= max_cwnd` in congestion avoidance, 1 after a timeout; losses never
//! reduce the window. Tested by `ccp/tests.rs`: worked numbers, and the law's closed forms on a packet-level bottleneck.

mod guard;
pub(crate) mod law;
mod path;
#[cfg(test)]
mod tests;

pub(crate) use path::PathState;

use crate::kernel::{InKernel, Law};
use crate::parts::slow_start::SlowStart;
use crate::parts::windows::Windows;
use crate::registry::{Behaviour, Entry};
use crate::{
    Ack, AppParameters, CongestionControl, CongestionEvent, ParamSpec, Params, RecoveryWindow, Rto, Undo, View,
    WindowChange,
};
use guard::LossGuard;
use law::{CCPS_MODE, COMMON, law};
use path::{Path, PathSettings};

/// The parameters of a member of the family: its own, then those of all.
macro_rules! family_params {
    ($($own:expr),*) => {
        &[
            $($own,)*
            $crate::controls::ccp::ESTIMATOR,
            $crate::controls::ccp::CAPACITY,
            $crate::controls::ccp::STORAGE,
            $crate::controls::ccp::RTT,
            $crate::controls::ccp::RTT_MIN_WINDOW,
            $crate::controls::ccp::RTT_MAX_WINDOW,
            $crate::controls::ccp::RTT_MAX_CAP,
            $crate::controls::ccp::FLOOR_GAIN,
            $crate::controls::ccp::RECOVERY,
            $crate::controls::ccp::LOSS_GUARD,
            $crate::controls::ccp::MAX_CWND,
            $crate::parts::slow_start::slow_start_spec("classic"),
            $crate::parts::slow_start::ABC_LIMIT,
            $crate::parts::slow_start::PACED,
        ]
    };
}
pub(crate) use family_params;

pub static ENTRY: Entry = Entry {
    name: "ccp",
    aliases: &[],
    summary: "fills the path's estimated storage by a proportional controller; ignores loss",
    reference: "Cavendish et al., INTERNET 2015, equation 4",
    params: family_params![KP, MODE],
    in_kernel: Some(InKernel::ours(&LAW)),
    is_coupled: false,
    behaviour: BEHAVIOUR,
    build: |params, initial_window| Box::new(Ccp::new(params, initial_window, Plain)),
};

static LAW: Law = law("ccp", ENTRY.summary, &[COMMON, CCPS_MODE]);

/// The law ignores loss and ECN, follows the delay in both directions, and otherwise obeys its parameters.
pub(crate) const BEHAVIOUR: Behaviour =
    Behaviour { responds_to_loss: false, responds_to_ecn: false, ..Behaviour::DELAY_BASED };

pub(crate) const KP: ParamSpec =
    ParamSpec::number("kp", 2.0, (0.1, 8.0), "", "gain Kp; useful from 1.5 to 2.5, unstable from 3 on (our default)");
pub(crate) const MODE: ParamSpec = ParamSpec::word(
    "mode",
    "default",
    &["default", "paper"],
    "paper: the window follows the law on every ACK, capprobe, long memory of rtt_max; no floor, guard or cap on the storage, rtt_max or the playout buffer's term",
);
/// Parameters without effect in mode `paper`.
const IN_MODE_PAPER: &[(&str, &str)] = &[("mode", "paper")];
pub(crate) const ESTIMATOR: ParamSpec = ParamSpec::word(
    "estimator",
    "auto",
    &["auto", "maxrate", "capprobe", "given"],
    "capacity: largest delivery rate, CapProbe, or given by `capacity`; auto: maxrate, in mode paper capprobe",
);
pub(crate) const CAPACITY: ParamSpec =
    ParamSpec::number("capacity", 1000.0, (1.0, 1e9), "packets/s", "capacity with estimator = given").idle_with(&[
        ("estimator", "auto"),
        ("estimator", "maxrate"),
        ("estimator", "capprobe"),
    ]);
pub(crate) const STORAGE: ParamSpec = ParamSpec::word(
    "storage",
    "path",
    &["path", "queue"],
    "what B counts: queue and pipe, or the queue alone (a reading that starves where the queue is shorter than the pipe)",
)
.since("0.2");
pub(crate) const RTT: ParamSpec = ParamSpec::word(
    "rtt",
    "ewma",
    &["ewma", "raw"],
    "RTT of the backlog: smoothed with weight 1/8, or the last sample",
);
pub(crate) const RTT_MIN_WINDOW: ParamSpec = ParamSpec::number(
    "rtt_min_window",
    300.0,
    (0.1, 3600.0),
    "s",
    "memory of the smallest RTT (Linux tcp_min_rtt_wlen); a standing queue enters it after this time",
);
pub(crate) const RTT_MAX_WINDOW: ParamSpec = ParamSpec::number(
    "rtt_max_window",
    10.0,
    (0.1, 3600.0),
    "s",
    "memory of the largest RTT; in mode paper that of the smallest one counts (our default)",
)
.idle_with(IN_MODE_PAPER);
pub(crate) const RTT_MAX_CAP: ParamSpec = ParamSpec::number(
    "rtt_max_cap",
    4.0,
    (1.0, 1000.0),
    "",
    "rtt_max counts up to this many rtt_min; in mode paper without a limit (our default)",
)
.idle_with(IN_MODE_PAPER);
pub(crate) const FLOOR_GAIN: ParamSpec = ParamSpec::number(
    "floor_gain",
    1.25,
    (1.0, 3.0),
    "",
    "growth per measured round trip while no queue is seen; the floor of the storage is floor_gain 3/Kp bandwidth-delay products",
)
.idle_with(IN_MODE_PAPER);
pub(crate) const RECOVERY: ParamSpec = ParamSpec::word(
    "recovery",
    "follow",
    &["follow", "freeze", "hold"],
    "window during loss recovery: by the law as at other times (paper), no growth, or no change",
);
pub(crate) const LOSS_GUARD: ParamSpec = ParamSpec::flag(
    "loss_guard",
    true,
    "shrink the storage by 0.7 per round trip once three in a row lost more than a tenth of the window",
)
.idle_with(IN_MODE_PAPER);
pub(crate) const MAX_CWND: ParamSpec =
    ParamSpec::number("max_cwnd", 1e5, (10.0, 1e7), "packets", "upper clamp of the law");

const MIN_CWND: f64 = 2.0;
/// Application parameters are claims of a client: no video is faster than this (1 Gbit/s), no buffer larger (1 GB).
pub(crate) const MAX_VIDEO_BITS_PER_SEC: f64 = 1e9;
pub(crate) const MAX_PLAYOUT_BUFFER_BYTES: u64 = 1_000_000_000;

/// The part in which a member of the family differs.
pub(crate) trait Variation: Send {
    /// The window in congestion avoidance, before clamping.
    fn window(&mut self, path: &PathState) -> f64;
    /// New parameters of the video from the application.
    fn on_app_parameters(&mut self, _parameters: &AppParameters) {}
}

struct Plain;

impl Variation for Plain {
    fn window(&mut self, path: &PathState) -> f64 {
        path.law()
    }
}

pub(crate) struct Ccp<V> {
    variation: V,
    windows: Windows,
    slow_start: SlowStart,
    in_slow_start: bool,
    path: Path,
    guard: Option<LossGuard>,
    in_recovery: InRecovery,
    /// Whether the window follows the law on every ACK, up and down, and not only when it may grow.
    follows_always: bool,
    max_cwnd: f64,
    /// Between a timeout and the end of its recovery RTT samples say more about the timer than about the path.
    in_backoff: bool,
    before: Option<Before>,
}

/// Behaviour of the window while losses are repaired.
#[derive(Clone, Copy, PartialEq)]
enum InRecovery {
    Follow,
    Freeze,
    Hold,
}

#[derive(Clone, Copy)]
struct Before {
    cwnd: f64,
    ssthresh: f64,
    in_slow_start: bool,
}

impl<V: Variation> Ccp<V> {
    pub(crate) fn new(params: &Params, initial_window: f64, variation: V) -> Ccp<V> {
        let is_paper = params.word("mode") == "paper";
        Ccp {
            variation,
            windows: Windows::new(initial_window),
            slow_start: SlowStart::from_params(params),
            in_slow_start: true,
            path: Path::new(PathSettings::from_params(params, is_paper)),
            guard: (params.flag("loss_guard") && !is_paper).then(LossGuard::new),
            in_recovery: match params.word("recovery") {
                "freeze" => InRecovery::Freeze,
                "hold" => InRecovery::Hold,
                _ => InRecovery::Follow,
            },
            follows_always: is_paper,
            max_cwnd: params.number("max_cwnd"),
            in_backoff: false,
            before: None,
        }
    }

    /// Equation 4 and its variations.
    fn follow_law(&mut self, view: &View, ack: &Ack) {
        let storage_factor = self.guard.as_ref().map_or(1.0, LossGuard::factor);
        let Some(path) = self.path.state(view, storage_factor) else { return };
        let window = self.variation.window(&path).clamp(MIN_CWND, self.max_cwnd);
        let may_grow = ack.may_grow || self.follows_always;
        let (may_rise, may_fall) = match self.in_recovery {
            InRecovery::Freeze if view.in_recovery => (false, true),
            InRecovery::Hold if view.in_recovery => (false, false),
            _ => (may_grow, true),
        };
        if if window > self.windows.cwnd { may_rise } else { may_fall } {
            self.windows.cwnd = window;
        }
    }

    fn remember(&mut self) {
        let Windows { cwnd, ssthresh, .. } = self.windows;
        self.before = Some(Before { cwnd, ssthresh, in_slow_start: self.in_slow_start });
    }
}

impl<V: Variation> CongestionControl for Ccp<V> {
    fn cwnd(&self) -> f64 {
        self.windows.cwnd
    }
    /// Never above the window once slow start is over: below it a half-used window may grow, as in slow start.
    fn ssthresh(&self) -> f64 {
        let Windows { cwnd, ssthresh, .. } = self.windows;
        if self.in_slow_start { ssthresh } else { ssthresh.min(cwnd) }
    }
    fn phase(&self) -> &'static str {
        if self.in_slow_start { self.slow_start.phase(&self.windows) } else { "congestion_avoidance" }
    }
    fn recovery_window(&self) -> RecoveryWindow {
        RecoveryWindow::Controller
    }

    fn on_ack(&mut self, view: &View, event: &Ack) {
        self.path.on_ack(view, event, self.in_backoff);
        if let Some(guard) = &mut self.guard {
            guard.on_ack(event, self.windows.cwnd);
        }
        if self.in_slow_start {
            self.slow_start.on_ack(&mut self.windows, view, event);
            self.in_slow_start = self.windows.in_slow_start();
        } else {
            self.follow_law(view, event);
        }
    }

    /// The first loss ends slow start; otherwise loss "does not trigger any special cwnd adjustment".
    fn on_congestion(&mut self, _view: &View, _event: &CongestionEvent) {
        self.remember();
        if self.in_slow_start {
            self.in_slow_start = false;
            self.windows.ssthresh = self.windows.cwnd.max(Windows::MIN_SSTHRESH);
        }
    }

    fn on_recovery_exit(&mut self, _view: &View, _event: &crate::RecoveryExit) {
        self.in_backoff = false;
    }

    /// RFC 5681 §3.1.
    fn on_rto(&mut self, _view: &View, event: &Rto) {
        if event.reduces {
            self.remember();
        }
        self.windows.collapse(f64::from(event.flight_size) / 2.0, event);
        self.in_slow_start = true;
        self.in_backoff = true;
        self.slow_start.on_rto(event);
    }

    fn on_undo(&mut self, _view: &View, _event: &Undo) {
        let Some(before) = self.before.take() else { return };
        self.windows.cwnd = self.windows.cwnd.max(before.cwnd);
        self.windows.ssthresh = self.windows.ssthresh.max(before.ssthresh);
        self.in_slow_start = before.in_slow_start;
        self.in_backoff = false;
    }

    /// The law does not depend on the old window: a window set from outside applies in slow start, and otherwise until the next ACK.
    fn on_window_change(&mut self, _view: &View, change: &WindowChange) {
        self.windows.set(change);
        self.in_slow_start = self.windows.in_slow_start();
    }

    fn on_app_parameters(&mut self, _view: &View, parameters: &AppParameters) {
        self.variation.on_app_parameters(parameters);
    }
}
