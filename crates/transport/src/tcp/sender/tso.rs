//! Groups of segments, each of which Linux passes to segmentation offload as one buffer: they are sent at one pacing deadline. Also which
//! segments are marked PSH.
//!
//! Reference: Linux 6.18 `tcp_tso_autosize` (what the pacing rate sends in 1/1024 s, more on very short paths, at least two segments),
//! `tcp_cwnd_test` (at most half of the window), `tcp_mss_split_point` (a group that has begun ends where the peer's window does),
//! `tcp_tso_should_defer` (wait for a near ACK rather than send part of a group),
//! `__tcp_transmit_skb` (PSH on what has more than one segment; segmentation leaves it on the last), `tcp_push` (PSH at the end of
//! what was written).
//! A receiver that has read everything acknowledges a segment with PSH at once (`receiver/ack_policy.rs`), so this decides how long an
//! odd segment waits for its ACK. Pacing by groups: `pacing.rs`.
//!
//! Differences from Linux:
//! 1. Writes of the application end where the send buffer does: one PSH in some twenty segments of a bulk flow is missing. Linux's
//!    buffers, of half of the peer's window at most, also end groups.
//! 2. Retransmissions that follow each other in the stream are a group, whether or not they were one when they left first.
//!
//! Units: packets. Tested here, by `tests/packets/pacing*.pkt` and `group_*.pkt`, and by `tests/pair.rs` (which packets are marked).

use super::Sender;
use super::pacing::linux_rate;
use super::transmit::Outgoing;
use crate::SCALABLE_BURST;
use crate::segment::Flags;
use crate::tcp::config::PacingBurst;
use playpath_cc::EcnUse;
use playpath_units::{Duration, Rate, Time};

/// Largest payload of one buffer, in bytes: 64 kB less room for headers (`sk_gso_max_size`).
const MAX_BYTES: u64 = 65_215;
/// Before the first RTT Linux knows no rate and takes the largest.
const UNKNOWN_RATE: Rate = Rate::from_bits_per_sec(u64::MAX);
/// An ACK is waited for if it is expected within this time.
const NEAR: Duration = Duration::from_millis(1);
/// With this part of the window free the sender does not wait for an ACK (`tcp_tso_win_divisor`).
const FREE_PART: f64 = 3.0;

#[derive(Debug, Default)]
pub(crate) struct Group {
    at: Time,
    len: u32,
    most: u32,
    /// Stream offset after its last segment.
    end: u64,
    is_new: bool,
}

/// A segment's number in its group, from 1; new data or a retransmission.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub number: u32,
    pub is_new: bool,
}

impl Group {
    /// A segment from `start` that leaves now belongs to it.
    pub fn takes(&self, now: Time, start: u64, is_new: bool) -> bool {
        self.len < self.most && self.at == now && self.end == start && self.is_new == is_new
    }

    fn begin(&mut self, now: Time, most: u32, is_new: bool) {
        *self = Group { at: now, len: 0, most, end: 0, is_new };
    }

    fn add(&mut self, end: u64) -> Place {
        self.len += 1;
        self.end = end;
        Place { number: self.len, is_new: self.is_new }
    }
}

impl Sender {
    /// The segment that leaves now gets its place in a group.
    #[inline(always)]
    pub(super) fn join_group(&mut self, now: Time, start: u64, len: u32, is_new: bool) -> Place {
        if !self.group.takes(now, start, is_new) {
            let window = self.send_window();
            let size = self.group_size(window);
            let most = if is_new { size.min(half_window(window)) } else { size };
            self.group.begin(now, most, is_new);
        }
        self.group.add(start + u64::from(len))
    }

    /// Set PSH at the end of the data written and of each group of two or more. Must be called last, after all other state is updated.
    #[inline(always)]
    pub(super) fn mark_push(&mut self, now: Time, place: Place, out: &mut Outgoing) {
        if !self.config.push || out.len == 0 {
            return;
        }
        let ends_group = place.number > 1 && (place.number >= self.group.most || !self.has_more_now(now));
        if ends_group || self.stream.is_at_end() {
            out.flags = out.flags.with(Flags::PSH);
        }
    }

    /// `tcp_tso_should_defer`: too little of `window` is free for a whole group, and the next ACK is near.
    pub(super) fn should_defer(&self, now: Time, window: f64) -> bool {
        let mss = f64::from(self.features.mss);
        let unsent = self.stream.unsent() as f64;
        let is_open = self.group.takes(now, self.stream.nxt(), true);
        if unsent <= mss || is_open || self.config.pacing_burst != PacingBurst::Linux {
            return false;
        }
        let last = self.pacer.next().max(self.usage.last_sent_at()); // `tcp_wstamp_ns`
        let has_paused = now.saturating_since(last) > NEAR;
        if has_paused || self.recovery.phase().is_repairing() {
            return false;
        }
        let due = now + NEAR.min(self.rtt.srtt() / 2);
        if self.scoreboard.front().is_none_or(|head| head.sent_at + self.rtt.srtt() > due) {
            return false;
        }
        let free = self.room(window).min(self.stream.window_left() as f64);
        let takes_the_end = free >= unsent && self.stream.is_closing();
        !takes_the_end && free < window * mss / FREE_PART && free < f64::from(self.group_size(window)) * mss
    }

    /// New data is held back by the congestion window, not by the peer's (`tcp_tso_should_defer`: `cong_win < send_win`).
    pub(super) fn is_deferred_by_window(&self) -> bool {
        self.is_deferred && self.room(self.send_window()) < self.stream.window_left() as f64
    }

    /// Bytes of full segments that the congestion `window` lets leave.
    fn room(&self, window: f64) -> f64 {
        (window - f64::from(self.counted_in_flight())).floor() * f64::from(self.features.mss)
    }

    /// Linux keeps a pacing rate for every sender, paced or not, and sizes groups by it.
    #[inline(always)]
    fn group_size(&self, window: f64) -> u32 {
        let packets_out = self.scoreboard.packets_out();
        let rate = self
            .pacing_rate()
            .or_else(|| linux_rate(window, self.control.ssthresh(), packets_out, self.config.mss, self.rtt.srtt()));
        let (rate, mss) = (rate.unwrap_or(UNKNOWN_RATE), self.features.mss);
        match self.config.ecn_use {
            EcnUse::LowLatency => scalable_group_size(rate, mss),
            EcnUse::Echo | EcnUse::Counts => group_size(rate, self.rtt.min_rtt(), mss, self.control.min_tso_segs()),
        }
    }

    /// A further full segment can leave at this moment.
    #[inline(always)]
    fn has_more_now(&self, now: Time) -> bool {
        let mss = u64::from(self.features.mss);
        let is_due = self.config.pacing_burst == PacingBurst::Linux || self.pacer.next() <= now;
        let is_there = if self.group.is_new {
            let left = self.stream.window_left();
            left > 0 && mss.min(left) <= self.stream.unsent()
        } else {
            self.scoreboard.awaiting() > 0
        };
        is_there && is_due && f64::from(self.counted_in_flight()) + 1.0 <= self.send_window()
    }
}

/// `tcp_cwnd_test`: two groups at least fit into the window.
fn half_window(window: f64) -> u32 {
    ((window / 2.0) as u32).max(1)
}

fn group_size(rate: Rate, min_rtt: Duration, mss: u32, fewest: u32) -> u32 {
    let near = (min_rtt.as_nanos() / 1000) >> 9; // tcp_tso_rtt_log
    let bonus = if near < 32 { MAX_BYTES >> near } else { 0 };
    let bytes = (rate.as_bits_per_sec() / 8 / 1024 + bonus).min(MAX_BYTES);
    (bytes / u64::from(mss)).max(u64::from(fewest)) as u32
}

/// Segments of `mss` in one group of a scalable sender (L4STeam's Linux, `prague_tso_segs`).
fn scalable_group_size(rate: Rate, mss: u32) -> u32 {
    (rate.bytes_in(SCALABLE_BURST).min(MAX_BYTES) / u64::from(mss)).max(1) as u32
}

#[cfg(test)]
mod tests;
