//! The sender's use of its window, and its idle time.
//!
//! Reference: Linux `tcp_cwnd_validate`, `tcp_is_cwnd_limited`; RFC 2861 §3 (idle). Tested by `idle_*.pkt`,
//! `application_limited.pkt` and `tests/pair.rs`.

use playpath_units::{Duration, Time};

#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// Most packets out in this round.
    max_packets_out: u32,
    is_full: bool,
    /// New data was sent since the last pause; retransmissions say nothing of the window's use (Linux `tcp_write_xmit`).
    has_sent: bool,
    /// A packet was ever sent, the last one at `last_sent_at`.
    has_ever_sent: bool,
    /// The round ends when this offset is acknowledged.
    end: u64,
    last_sent_at: Time,
    /// Nothing has been in flight since this time.
    emptied_at: Time,
}

impl Usage {
    pub fn on_packet_sent(&mut self, now: Time, is_new: bool) {
        self.has_sent |= is_new;
        self.has_ever_sent = true;
        self.last_sent_at = now;
    }
    /// Nothing is in flight any more.
    pub fn on_emptied(&mut self, now: Time) {
        self.emptied_at = now;
    }
    pub fn last_sent_at(&self) -> Time {
        self.last_sent_at
    }
    pub fn has_sent(&self) -> bool {
        self.has_sent
    }
    /// What was sent since the last pause does not show how the window is used.
    pub fn forget_sent(&mut self) {
        self.has_sent = false;
    }

    /// How long nothing has been in flight, and how long nothing has been sent; `None`: nothing was ever sent.
    pub fn idle(&self, now: Time) -> Option<(Duration, Duration)> {
        let last = self.last_sent_at;
        self.has_ever_sent.then(|| (now.saturating_since(self.emptied_at.max(last)), now.saturating_since(last)))
    }

    /// Nothing more is sent now. `false`: nothing was sent since the last call, and no full window holds anything back.
    pub fn on_pause(&mut self, (una, nxt): (u64, u64), packets_out: u32, is_full: bool) -> bool {
        if !std::mem::take(&mut self.has_sent) && !is_full {
            return false;
        }
        if una >= self.end || is_full || (!self.is_full && packets_out > self.max_packets_out) {
            (self.is_full, self.max_packets_out, self.end) = (is_full, packets_out, nxt);
        }
        true
    }

    pub fn is_full(&self) -> bool {
        self.is_full
    }
    /// The window was the limit, or in slow start at least half of it was used.
    pub fn is_limited(&self, cwnd: f64, ssthresh: f64) -> bool {
        self.is_full || (cwnd < ssthresh && cwnd < 2.0 * f64::from(self.max_packets_out))
    }
}
