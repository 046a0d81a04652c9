//! What the delay-based controls measure in a round trip.

use crate::parts::reno::Reno;
use crate::parts::windows::Windows;
use crate::{Ack, View};
use playpath_units::Duration;

/// Fewer samples of a round may all come from delayed ACKs, and are not trusted (Linux).
const MIN_SAMPLES: u32 = 3;
/// Linux's Vegas and wVegas do not shrink the window below it.
const MIN_WINDOW: f64 = 2.0;

/// The smallest RTT so far and the round under way, as Linux's Vegas and Compound keep them.
#[derive(Clone, Copy, Debug)]
pub struct RttRounds {
    /// Smallest sample; [`Duration::MAX`] before the first.
    pub base_rtt: Duration,
    pub round: RttRound,
}

impl RttRounds {
    pub const NEW: RttRounds = RttRounds { base_rtt: Duration::MAX, round: RttRound::NEW };

    pub fn take(&mut self, event: &Ack) {
        if let Some(rtt) = event.rtt.filter(|rtt| !rtt.is_zero()) {
            self.base_rtt = self.base_rtt.min(rtt);
            self.round.take(rtt);
        }
    }

    /// The round is over; none if it had too few samples.
    pub fn end(&mut self) -> Option<RttRound> {
        let round = std::mem::replace(&mut self.round, RttRound::NEW);
        (round.count >= MIN_SAMPLES).then_some(round)
    }

    /// An ACK as Linux's Vegas and wVegas take it, active in the state Open only: within a round slow start alone grows. Whether
    /// it ends a round, which the control then judges.
    pub fn ends_with(&mut self, reno: &mut Reno, view: &View, event: &Ack) -> bool {
        // The samples of an ACK are taken before the round that it ends is judged.
        self.take(event);
        if view.in_recovery {
            reno.grow(view, event);
        } else if !event.round_start && reno.windows.in_slow_start() {
            reno.take(view, event);
        }
        event.round_start && !view.in_recovery
    }
}

/// Packets of the stream. As in ns-2 and Linux a round ends with the first ACK of something sent after it began, and one that does
/// not move SND.UNA ends none: a round in which a packet is lost lasts until the packet has been repaired.
#[derive(Clone, Copy, Debug, Default)]
pub struct Position {
    /// Packets acknowledged cumulatively.
    pub una: u64,
    /// The round ends when more are acknowledged.
    pub round_end: u64,
}

impl Position {
    pub fn advance(&mut self, event: &Ack) {
        self.una += u64::from(event.acked);
    }

    /// After that: whether the ACK ends the round, and begins the next.
    pub fn ends_round(&mut self, view: &View) -> bool {
        let ends = self.una > self.round_end;
        if ends {
            self.round_end = self.una + u64::from(view.flight_size);
        }
        ends
    }
}

/// What both leave after a round that began with `before` packets.
pub fn bound(windows: &mut Windows, before: f64) {
    windows.cwnd = windows.cwnd.max(MIN_WINDOW.min(before));
    // Linux's tcp_current_ssthresh: never below 3/4 of the window.
    windows.ssthresh = windows.ssthresh.max(0.75 * windows.cwnd).max(Windows::MIN_SSTHRESH);
}

#[derive(Clone, Copy, Debug)]
pub struct RttRound {
    /// Smallest sample; [`Duration::MAX`] before the first.
    pub min: Duration,
    pub sum: Duration,
    pub count: u32,
}

impl RttRound {
    pub const NEW: RttRound = RttRound { min: Duration::MAX, sum: Duration::ZERO, count: 0 };

    pub fn take(&mut self, rtt: Duration) {
        self.min = self.min.min(rtt);
        self.sum += rtt;
        self.count += 1;
    }
}

/// `packets * numerator / denominator`, exact where the result is a whole number, because callers round it down.
pub fn scale(packets: f64, numerator: Duration, denominator: Duration) -> f64 {
    packets * numerator.as_nanos() as f64 / denominator.as_nanos() as f64
}
