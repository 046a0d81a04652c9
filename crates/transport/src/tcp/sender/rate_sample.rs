//! Delivery rate estimation.
//!
//! Reference: draft-cheng-iccrg-delivery-rate-estimation-02; fields of BBR v3's draft (`lost`, `tx_in_flight`).
//! Differences from the reference:
//! 1. Counts are packets, as in Linux.
//! 2. A subflow of MPTCP is never application-limited, as in Linux, whose MPTCP does not look (`mptcp/mod.rs`).
//!
//! Invariant: `delivered` never falls. Tested by `tests/pair.rs` against a constant-rate link.

use super::scoreboard::{APP_LIMITED, SentPacket};
use playpath_cc::RateSample;
use playpath_units::{Duration, Rate, Time};

#[derive(Debug, Default)]
pub(crate) struct RateEstimator {
    delivered: u64,
    delivered_at: Time,
    first_sent_at: Time,
    /// C.app_limited: the sample is limited until this many are delivered; zero: it is not.
    app_limited_until: u64,
    /// A scheduler writes to this subflow, so an empty queue does not mean that the application is the limit.
    is_fed: bool,
    /// Packets marked lost since the start.
    lost: u64,
    /// Latest good rate, for `TcpInfo`.
    latest: Rate,
    latest_is_limited: bool,
    /// `delivered` when the round trip began.
    round_end: u64,
}

impl RateEstimator {
    /// Before a packet is sent: the fields that travel with it. `is_first`: nothing else is outstanding, in flight or lost.
    pub fn stamp(&mut self, now: Time, packet: &mut SentPacket, is_first: bool, tx_in_flight: u32) {
        if is_first {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        packet.sent_at = now;
        packet.first_sent_at = self.first_sent_at;
        packet.delivered = self.delivered;
        packet.delivered_at = self.delivered_at;
        packet.lost = self.lost as u32;
        packet.tx_in_flight = tx_in_flight;
        if self.is_app_limited() {
            packet.flags |= APP_LIMITED;
        }
    }

    pub fn on_delivered(&mut self, now: Time, packets: u32) {
        self.delivered += u64::from(packets);
        self.delivered_at = now;
        if self.app_limited_until != 0 && self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
    }

    pub fn delivered(&self) -> u64 {
        self.delivered
    }
    pub fn lost(&self) -> u64 {
        self.lost
    }
    pub fn on_lost(&mut self, packets: u32) {
        self.lost += u64::from(packets);
    }
    pub fn latest(&self) -> Rate {
        self.latest
    }

    /// A packet was delivered that was sent when `prior_delivered` packets had been. Returns whether it begins a new round trip.
    pub fn is_round_start(&mut self, prior_delivered: u64) -> bool {
        let is_start = prior_delivered >= self.round_end;
        if is_start {
            self.round_end = self.delivered;
        }
        is_start
    }

    /// From now on a scheduler writes, segment by segment.
    pub fn set_fed(&mut self) {
        self.is_fed = true;
    }

    /// The application leaves the window unused with `in_flight` packets out.
    pub fn mark_app_limited(&mut self, in_flight: u32) {
        if self.is_fed {
            return;
        }
        self.app_limited_until = (self.delivered + u64::from(in_flight)).max(1);
    }

    pub fn is_app_limited(&self) -> bool {
        self.app_limited_until != 0
    }

    /// The sample of this ACK, from the packet sent last among those it delivered.
    pub fn sample(&mut self, now: Time, newest: &SentPacket, mss: u32, min_rtt: Duration) -> Option<RateSample> {
        self.first_sent_at = newest.sent_at;
        let send_interval = newest.sent_at.saturating_since(newest.first_sent_at);
        let ack_interval = now.saturating_since(newest.delivered_at);
        let interval = send_interval.max(ack_interval);
        // Shorter than the smallest RTT: this measures a burst, not the path.
        if interval.is_zero() || (min_rtt < Duration::MAX && interval < min_rtt) {
            return None;
        }
        let delivered = (self.delivered - newest.delivered) as u32;
        let is_app_limited = newest.is(APP_LIMITED);
        let rate = rate_of(u64::from(delivered) * u64::from(mss), interval);
        if !is_app_limited || self.latest_is_limited || rate > self.latest {
            self.latest = rate;
            self.latest_is_limited = is_app_limited;
        }
        Some(RateSample {
            delivered,
            interval,
            delivery_rate: rate,
            is_app_limited,
            lost: (self.lost as u32).wrapping_sub(newest.lost),
            prior_delivered: newest.delivered,
            tx_in_flight: newest.tx_in_flight,
        })
    }
}

fn rate_of(bytes: u64, interval: Duration) -> Rate {
    if bytes < 1 << 31 {
        Rate::from_bits_per_sec(bytes * 8_000_000_000 / interval.as_nanos())
    } else {
        Rate::from_bits_per_sec_f64(bytes as f64 * 8e9 / interval.as_nanos() as f64)
    }
}
