//! Received packets of one packet-number space, and the timing of their acknowledgement.
//!
//! Reference: RFC 9000 §13.2.1 (at once: Initial and Handshake, out of order, CE), §13.2.2 (every second), §13.2.3 (ranges),
//! §13.2.4 (ranges are dropped once their ACK is acknowledged), §13.2.5 (ACK Delay). Every n-th after a number of packets is Chromium's
//! habit.
//! Differences from the reference:
//! 1. At most [`MAX_TRACKED`] ranges are remembered; then the lowest is dropped, and a packet below the remembered ranges counts as
//!    a duplicate.
//!
//! Tested here and by `tests/quic_rules.rs`.

use super::config::AckPolicy;
use super::packet::{Ack, EcnCounts, Space};
use super::ranges::RangeSet;
use crate::segment::Ecn;
use playpath_units::{Duration, Time};

/// Most ranges that are remembered.
const MAX_TRACKED: usize = 64;

/// Field order: those needed for a received ACK first.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Arrivals {
    received: RangeSet,
    /// All below arrived, or is forgotten.
    floor: u64,
    /// Ack-eliciting packets since the last ACK.
    since_ack: u32,
    is_due: bool,
    largest: Option<(u64, Time)>,
    deadline: Time,
    largest_eliciting: Option<u64>,
    /// Ack-eliciting packets of all time.
    eliciting: u64,
    counts: EcnCounts,
}

impl Default for Arrivals {
    fn default() -> Arrivals {
        Arrivals {
            received: RangeSet::default(),
            floor: 0,
            largest: None,
            largest_eliciting: None,
            since_ack: 0,
            eliciting: 0,
            is_due: false,
            deadline: Time::MAX,
            counts: EcnCounts::default(),
        }
    }
}

impl Arrivals {
    /// Packet `number` arrived. `false`: it was there before, or may have been.
    #[inline(always)]
    pub fn take(&mut self, now: Time, number: u64, ecn: Ecn) -> bool {
        if number < self.floor || self.received.contains(number) {
            return false;
        }
        self.received.insert(number..number + 1);
        if self.received.len() > MAX_TRACKED {
            self.received.forget_first();
            self.floor = self.received.first().map_or(self.floor, |first| first.start);
        }
        if self.largest.is_none_or(|(largest, _)| number > largest) {
            self.largest = Some((number, now));
        }
        self.counts.add(ecn);
        true
    }

    /// Schedule the ACK of an ack-eliciting packet.
    #[inline(always)]
    pub fn on_eliciting(
        &mut self,
        now: Time,
        number: u64,
        ecn: Ecn,
        min_rtt: Duration,
        (space, policy): (Space, &AckPolicy),
    ) {
        self.eliciting += 1;
        self.since_ack += 1;
        let (every, max_delay) = policy.in_force(self.eliciting, min_rtt);
        let is_out_of_order = match self.largest_eliciting {
            Some(before) => number < before || !self.has_all_between(before, number),
            None => false,
        };
        self.largest_eliciting = self.largest_eliciting.max(Some(number));
        self.is_due |= space != Space::Data // §13.2.1: MUST at once
            || self.since_ack >= every
            || (policy.immediate_on_reordering && is_out_of_order)
            || (policy.immediate_on_ce && ecn == Ecn::Ce);
        self.deadline = self.deadline.min(now + max_delay);
    }

    fn has_all_between(&self, low: u64, high: u64) -> bool {
        low.max(self.floor) + 1 >= high || self.received.covers(&(low.max(self.floor) + 1..high))
    }

    /// An ACK must go at once, alone if need be.
    pub fn is_due(&self, now: Time) -> bool {
        self.since_ack > 0 && (self.is_due || self.deadline <= now)
    }
    /// An ACK is owed, if anything goes anyhow.
    pub fn is_pending(&self) -> bool {
        self.since_ack > 0
    }
    /// An ACK must go then.
    pub fn deadline(&self) -> Time {
        if self.since_ack > 0 { self.deadline } else { Time::MAX }
    }

    /// The frame as of now (§13.2.5: ACK Delay is that of the largest) is in `ack`; `false`: there is none.
    #[inline]
    pub fn put_frame(&self, now: Time, exponent: u8, ack: &mut Ack) -> bool {
        let Some((_, came_at)) = self.largest else { return false };
        let delay = (now.saturating_since(came_at).as_nanos() / 1000) >> exponent;
        ack.set(self.received.descending(), delay, self.counts.is_any().then_some(self.counts))
    }
    pub fn on_ack_sent(&mut self) {
        self.since_ack = 0;
        self.is_due = false;
        self.deadline = Time::MAX;
    }
    /// A packet of ours that carried an ACK up to `largest` was acknowledged (§13.2.4): ranges up to there need no further reporting.
    pub fn on_ack_acked(&mut self, largest: u64) {
        let keep = self.received.last().map_or(0, |last| last.start);
        let bound = largest.min(keep).max(self.floor);
        self.received.forget_below(bound);
        self.floor = bound;
    }
    pub fn largest(&self) -> Option<u64> {
        self.largest.map(|(number, _)| number)
    }
}

impl AckPolicy {
    /// Packets and delay in force with the connection's `eliciting`-th ack-eliciting packet.
    fn in_force(&self, eliciting: u64, min_rtt: Duration) -> (u32, Duration) {
        match self.later {
            Some(later) if eliciting >= later.from => {
                let part = if later.rtt_eighths > 0 && min_rtt < Duration::MAX {
                    min_rtt * u64::from(later.rtt_eighths) / 8
                } else {
                    self.max_delay
                };
                (later.every, part.min(self.max_delay))
            }
            _ => (self.every, self.max_delay),
        }
    }
}

#[cfg(test)]
mod tests;
