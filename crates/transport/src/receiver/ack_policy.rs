//! When the receiver acknowledges.
//!
//! Reference: RFC 5681 §4.2 (at least every second full segment, at once on a gap), RFC 1122 §4.2.3.2 (under 0.5 s);
//! Linux: up to 16 quick ACKs at the start and after a pause of the sender longer than the RTO, and one for each segment that lets
//! the receive window grow (`autotuning.rs`); then 40 ms.
//! Tested by the packet scripts `delayed_ack_*.pkt`.

use crate::config::{Config, DelayedAck};
use playpath_units::{Duration, Time};

/// TCP_MAX_QUICKACKS.
const QUICK_ACKS: u8 = 16;
/// TCP_DELACK_MIN at HZ = 1000.
const LINUX_DELAY: Duration = Duration::from_millis(40);

#[derive(Debug)]
pub(crate) struct AckPolicy {
    rule: DelayedAck,
    mss: u32,
    /// Largest payload seen: the sender's full segment, as far as the receiver knows (Linux `rcv_mss`).
    full_segment: u32,
    /// An ACK must leave now.
    pub is_due: bool,
    /// A delayed ACK must leave at this time.
    pub deadline: Time,
    /// Bytes received and not acknowledged.
    waiting_bytes: u32,
    quick_left: u8,
    last_arrival: Option<Time>,
}

impl AckPolicy {
    pub fn new(config: &Config) -> AckPolicy {
        AckPolicy {
            rule: config.delayed_ack,
            mss: config.mss,
            full_segment: 1,
            is_due: false,
            deadline: Time::MAX,
            waiting_bytes: 0,
            quick_left: 0,
            last_arrival: None,
        }
    }

    /// The receive window grew: Linux acknowledges this segment at once (`quick |= 1`).
    pub fn on_window_growth(&mut self) {
        self.quick_left |= 1;
    }

    /// Data arrived in order.
    pub fn on_in_order(&mut self, now: Time, bytes: u32) {
        self.waiting_bytes += bytes;
        self.full_segment = self.full_segment.max(bytes.min(self.mss));
        let delay = match self.rule {
            DelayedAck::Off => Duration::ZERO,
            DelayedAck::Rfc(_) if self.waiting_bytes >= 2 * self.full_segment => Duration::ZERO,
            DelayedAck::Rfc(delay) => delay,
            DelayedAck::Linux if self.quick_left > 0 || self.waiting_bytes > self.full_segment => Duration::ZERO,
            DelayedAck::Linux => LINUX_DELAY,
        };
        if delay.is_zero() {
            self.is_due = true;
        } else {
            self.deadline = self.deadline.min(now + delay);
        }
    }

    /// Data arrived above a gap, or filled one: at once (RFC 5681 §4.2).
    pub fn on_gap(&mut self, _now: Time) {
        self.is_due = true;
    }

    /// Data arrived that was there: at once; Linux sees a sender in trouble and acknowledges quickly for a while.
    pub fn on_duplicate(&mut self, _now: Time) {
        self.is_due = true;
        self.quick_left = QUICK_ACKS;
    }

    /// Data arrived: the first, or after a pause of the sender, brings quick ACKs.
    pub fn note_arrival(&mut self, now: Time, rto: Duration) {
        if self.rule == DelayedAck::Linux {
            if self.last_arrival.is_none_or(|last| now.saturating_since(last) > rto) {
                self.quick_left = QUICK_ACKS;
            }
            self.last_arrival = Some(now);
        }
    }

    pub fn on_ack_sent(&mut self) {
        if self.waiting_bytes > 0 {
            self.quick_left = self.quick_left.saturating_sub(1);
        }
        self.is_due = false;
        self.deadline = Time::MAX;
        self.waiting_bytes = 0;
    }

    /// The connection is gone.
    pub fn drop(&mut self) {
        self.is_due = false;
        self.deadline = Time::MAX;
    }

    pub fn handle_timeout(&mut self, now: Time) {
        if self.deadline <= now {
            self.is_due = true;
            self.deadline = Time::MAX;
        }
    }
}
