//! Prague: the scalable control of L4S. Like DCTCP its window falls by half the share of marked packets; it also grows in the round of a
//! reduction, is paced, and competes as if no round trip were shorter than 25 ms.
//!
//! Reference: draft-briscoe-iccrg-prague-congestion-control-04, section 2; Linux `tcp_prague` (L4STeam) for the values.
//!
//! Differences from the reference:
//! 1. Shares are of packets, not of bytes. The state is the window, not the rate.
//! 2. Pacing is at cwnd / SRTT, twice that in slow start (Linux: in its first half).
//! 3. The fall-back where marks look like those of a classic queue (`parts/classic_queue.rs`) is off unless asked for, as in Linux.
//! 4. A peer without accurate ECN gets ECT(0), and a mark then halves the window (RFC 9331, 4.3).
//! 5. A loss halves the window, as Linux does; the draft also allows CUBIC's 0.7.
//!
//! Units: packets, s. Invariants: 2 ≤ cwnd after a reduction; one reduction by marks in a virtual round trip.
//! Tested here by worked examples and by `tests/contract.rs`; sharing DualPI2 with CUBIC in the crate `sim`.

use crate::parts::classic_queue::ClassicQueue;
use crate::parts::marks::MarkedShare;
use crate::parts::reno::Reno;
use crate::parts::slow_start::{ABC_LIMIT, PACED, slow_start_spec};
use crate::parts::windows::{REDUCE_FROM, Windows};
use crate::registry::{Behaviour, EcnUse, Entry};
use crate::{
    Ack, CongestionControl, CongestionEvent, CongestionSignal, ParamSpec, Params, RecoveryWindow, Rto, Undo, View,
    WindowChange,
};
use playpath_units::{Duration, Rate, Time};

pub static ENTRY: Entry = Entry {
    name: "prague",
    aliases: &[],
    summary: "L4S: ECT(1), paced, falls by half the share of packets that were marked",
    reference: "draft-briscoe-iccrg-prague-congestion-control-04",
    params: &[
        ParamSpec::number(
            "gain",
            1.0 / 16.0,
            (0.001, 1.0),
            "",
            "weight of the newest round in the share of marks (Linux: 1/16)",
        )
        .since("0.3"),
        ParamSpec::number(
            "reference_rtt",
            0.025,
            (0.0, 1.0),
            "s",
            "competes as if no round trip were shorter (Linux: 25 ms)",
        )
        .since("0.3"),
        ParamSpec::number(
            "transition",
            500.0,
            (0.0, 1e6),
            "rounds",
            "round trips before reference_rtt counts (Linux: 500)",
        )
        .since("0.3"),
        ParamSpec::flag(
            "classic_fallback",
            false,
            "falls as far as CUBIC where the round trip varies and rises as in a classic queue (Linux: off)",
        )
        .since("0.3"),
        slow_start_spec("classic"),
        ABC_LIMIT,
        PACED,
        REDUCE_FROM,
    ],
    in_kernel: None,
    is_coupled: false,
    behaviour: Behaviour { paces: true, ecn: EcnUse::LowLatency, ..Behaviour::LOSS_BASED },
    build: |params, initial_window| Box::new(Prague::new(params, initial_window)),
};

pub struct Prague {
    reno: Reno,
    marks: MarkedShare,
    has_seen_mark: bool,
    reference_rtt: Duration,
    transition: f64,
    rounds: f64,
    /// The virtual round trip of alpha began then.
    round_began: Time,
    reduced_at: Option<Time>,
    pacing_rate: Option<Rate>,
    classic_queue: Option<ClassicQueue>,
}

impl Prague {
    fn new(params: &Params, initial_window: f64) -> Prague {
        Prague {
            reno: Reno::new(params, initial_window),
            marks: MarkedShare::new(0.0, params.number("gain")),
            has_seen_mark: false,
            reference_rtt: Duration::from_secs_f64(params.number("reference_rtt")),
            transition: params.number("transition"),
            rounds: 0.0,
            round_began: Time::ZERO,
            reduced_at: None,
            pacing_rate: None,
            classic_queue: params.flag("classic_fallback").then(ClassicQueue::default),
        }
    }

    /// The round trip that it competes with: its own, but not below the reference once the transition is over.
    fn virtual_rtt(&self, view: &View) -> Duration {
        if self.rounds < self.transition { view.srtt } else { view.srtt.max(self.reference_rtt) }
    }

    /// Additive increase by unmarked packets; (R / R_virt)² of a packet in a round trip R, so that the rate grows as that of a
    /// flow with R_virt does.
    fn grow(&mut self, view: &View, event: &Ack) {
        let acked = self.reno.take(view, event);
        let unmarked = (acked - f64::from(event.ce_marked)).max(0.0);
        let ratio = match self.virtual_rtt(view) {
            Duration::ZERO => 1.0,
            virtual_rtt => view.srtt.ratio(virtual_rtt),
        };
        self.reno.windows.cwnd += unmarked * ratio * ratio / self.reno.windows.cwnd;
    }

    fn update_pacing(&mut self, view: &View) {
        if !view.srtt.is_zero() {
            let gain = if self.reno.windows.in_slow_start() { 2.0 } else { 1.0 };
            let bits = gain * self.reno.windows.cwnd * f64::from(view.mss) * 8.0;
            self.pacing_rate = Some(Rate::from_bits_per_sec_f64((bits / view.srtt.as_secs_f64()).max(1.0)));
        }
    }
}

impl CongestionControl for Prague {
    fn cwnd(&self) -> f64 {
        self.reno.windows.cwnd
    }
    fn ssthresh(&self) -> f64 {
        self.reno.windows.ssthresh
    }
    fn phase(&self) -> &'static str {
        self.reno.slow_start.phase(&self.reno.windows)
    }
    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing_rate
    }
    /// The window also grows in the round of a reduction.
    fn recovery_window(&self) -> RecoveryWindow {
        RecoveryWindow::Controller
    }

    fn on_connection_start(&mut self, view: &View) {
        self.update_pacing(view);
    }

    fn on_ack(&mut self, view: &View, event: &Ack) {
        self.marks.take(event);
        if let (Some(queue), Some(rtt)) = (&mut self.classic_queue, event.rtt) {
            queue.take(rtt.as_secs_f64(), self.reno.windows.ssthresh);
        }
        if event.round_start {
            self.rounds += 1.0;
            if view.now.saturating_since(self.round_began) >= self.virtual_rtt(view) {
                self.marks.end_round();
                if let Some(queue) = self.classic_queue.as_mut().filter(|_| self.has_seen_mark) {
                    queue.end_round(view);
                }
                self.round_began = view.now;
            }
        }
        self.grow(view, event);
        self.update_pacing(view);
    }

    fn on_congestion(&mut self, view: &View, event: &CongestionEvent) {
        let taken = if event.signal == CongestionSignal::Ecn {
            let is_too_soon = self.reduced_at.is_some_and(|at| view.now.saturating_since(at) < self.virtual_rtt(view));
            if is_too_soon && self.rounds >= self.transition {
                return;
            }
            if !std::mem::replace(&mut self.has_seen_mark, true) {
                self.marks.alpha = 1.0; // nothing is known yet: as a classic control would
            }
            self.marks.alpha.max(self.classic_queue.as_ref().map_or(0.0, ClassicQueue::floor)) / 2.0
        } else {
            0.5
        };
        self.reduced_at = Some(view.now);
        let window = (1.0 - taken) * self.reno.reducible(event);
        self.reno.windows.reduce_to(window.max(Windows::MIN_SSTHRESH), event.signal);
        self.update_pacing(view);
    }

    fn on_rto(&mut self, view: &View, event: &Rto) {
        let window = self.reno.reducible_at_rto(event) / 2.0;
        self.reno.collapse(window, event);
        self.update_pacing(view);
    }

    fn on_undo(&mut self, view: &View, _event: &Undo) {
        self.reno.windows.undo();
        self.update_pacing(view);
    }

    fn on_window_change(&mut self, view: &View, change: &WindowChange) {
        self.reno.windows.set(change);
        self.update_pacing(view);
    }
}

#[cfg(test)]
mod tests;
