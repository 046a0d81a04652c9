//! When the receiver acknowledges.
//!
//! Reference: RFC 5681 §4.2 (at least every second full segment, at once on a gap), RFC 1122 §4.2.3.2 (under 0.5 s);
//! Linux: up to 16 quick ACKs at the start and after a pause of the sender longer than the RTO, and one for each segment that lets
//! the receive window grow (`autotuning.rs`), but the one that finds the buffer more than half full is the last of them; then a delay of
//! 40 ms, but at once when the reader has read everything and a segment had PSH or was smaller than the largest (`tcp_measure_rcv_mss`,
//! `tcp_cleanup_rbuf`), or when more arrives in the last quarter of the delay (`tcp_send_delayed_ack`); after a gap the first three
//! segments at once, the others together after a twentieth of the RTT, at most a millisecond (`__tcp_ack_snd_check`, "compressed"
//! SACKs). An end that answers within 40 ms of data is interactive ("ping-pong" mode, `tcp_event_data_sent`): its ACKs, quick or for PSH,
//! wait for its own data, until a duplicate comes or the delay passes without any.
//! Differences from Linux:
//! 1. The timer of compressed SACKs always uses its slack of 100 us, as it does on a machine with nothing else to do.
//! 2. When a segment that starts a third or later block arrives while SACKs are waiting, one ACK reports both at once; Linux sends the
//!    waiting one and delays the ACK of the segment.
//! 3. Segments above a gap do not cause a quick ACK by letting the receive window grow.
//! 4. The delay is constant, and with it the time within which an answer counts (Linux `ato`); a mark does not start quick ACKs.
//!
//! Tested here and by the packet scripts `delayed_ack_*.pkt` and `sack_compression.pkt`.

use crate::tcp::config::{Config, DelayedAck};
use playpath_units::{Duration, Time};

/// TCP_MAX_QUICKACKS.
const QUICK_ACKS: u8 = 16;
/// TCP_DELACK_MIN at HZ = 1000.
const LINUX_DELAY: Duration = Duration::from_millis(40);
/// TCP_FASTRETRANS_THRESH: this many ACKs after a gap are sent at once.
const DUPLICATE_ACKS: u8 = 3;
/// `tcp_comp_sack_nr`, `tcp_comp_sack_delay_ns`, `tcp_comp_sack_slack_ns`, and the part of the RTT.
const MAX_COMPRESSED: u8 = 44;
const SACK_DELAY: Duration = Duration::from_millis(1);
const SACK_SLACK: Duration = Duration::from_micros(100);
const SACK_RTT_PART: u64 = 20;

#[derive(Debug)]
pub(crate) struct AckPolicy {
    is_linux: bool,
    delay: Duration,
    mss: u32,
    /// Largest payload seen: the sender's full segment, as far as the receiver knows (Linux `rcv_mss`).
    full_segment: u32,
    pub is_due: bool,
    deadline: Time,
    /// Compressed SACKs must be sent at this time.
    sack_deadline: Time,
    /// Segments above the gap at `gap_at` that were acknowledged at once, and segments that wait.
    gap_at: u64,
    duplicate_acks: u8,
    compressed: u8,
    /// Whether data have arrived since the last ACK.
    has_new_data: bool,
    /// Bytes received and not acknowledged.
    waiting_bytes: u32,
    quick_left: u8,
    last_arrival: Time,
    /// Whether any data has arrived.
    has_arrived: bool,
    /// A segment with PSH, or a small one, waits for its ACK (Linux `ICSK_ACK_PUSHED`).
    is_pushed: bool,
    /// It has answered what arrived, so ACKs can wait for its data (Linux `pingpong`).
    is_interactive: bool,
}

impl AckPolicy {
    pub fn new(config: &Config) -> AckPolicy {
        AckPolicy {
            is_linux: config.delayed_ack == DelayedAck::Linux,
            delay: match config.delayed_ack {
                DelayedAck::Off => Duration::ZERO,
                DelayedAck::Rfc(delay) => delay,
                DelayedAck::Linux => LINUX_DELAY,
            },
            mss: config.mss,
            full_segment: 1,
            is_due: false,
            deadline: Time::MAX,
            sack_deadline: Time::MAX,
            gap_at: 0,
            duplicate_acks: 0,
            compressed: 0,
            has_new_data: false,
            waiting_bytes: 0,
            quick_left: 0,
            last_arrival: Time::ZERO,
            has_arrived: false,
            is_pushed: false,
            is_interactive: false,
        }
    }

    pub fn deadline(&self) -> Time {
        self.deadline.min(self.sack_deadline)
    }

    /// The receive window grew: Linux acknowledges this segment at once (`quick |= 1`).
    pub fn on_window_growth(&mut self) {
        self.quick_left |= 1;
    }

    /// More than half of the buffer is taken: no quick ACKs (`__tcp_select_window`).
    pub fn on_crowded_buffer(&mut self) {
        self.quick_left = 0;
    }

    /// The reader read something, or `all` that has arrived: Linux then sends an ACK that waited for the window, and one for a pushed or
    /// small segment (`tcp_cleanup_rbuf`).
    pub fn on_read(&mut self, all: bool) {
        self.is_due |= self.waits_for_reader(all);
    }

    /// See [`on_read`](Self::on_read).
    pub fn waits_for_reader(&self, all: bool) -> bool {
        let is_held_back = self.is_linux && self.waiting_bytes > self.full_segment;
        is_held_back || (all && self.is_pushed && !self.is_interactive)
    }

    /// Data arrived in order; [`schedule`](Self::schedule) comes next.
    #[inline]
    pub fn on_in_order(&mut self, bytes: u32, is_push: bool) {
        self.has_new_data = true;
        self.waiting_bytes += bytes;
        self.full_segment = self.full_segment.max(bytes.min(self.mss));
        self.is_pushed |= self.is_linux && (is_push || bytes < self.full_segment);
    }

    /// Own data leave.
    #[inline]
    pub fn on_data_sent(&mut self, now: Time) {
        self.is_interactive |=
            self.is_linux && self.has_arrived && now.saturating_since(self.last_arrival) < self.delay;
    }

    #[inline]
    fn is_quick(&self) -> bool {
        self.quick_left > 0 && !self.is_interactive
    }

    /// Whether the time of the next ACK of in-order data depends on the window.
    #[inline]
    pub fn asks_for_window(&self) -> bool {
        self.is_linux && !self.is_quick() && self.waiting_bytes > self.full_segment
    }

    /// Schedule the ACK of in-order data. `is_open`: the window matters, and one at least as large as the last can be advertised;
    /// otherwise Linux waits for the reader.
    #[inline]
    pub fn schedule(&mut self, now: Time, is_open: bool) {
        let may_wait =
            if self.is_linux { !self.is_quick() && !is_open } else { self.waiting_bytes < 2 * self.full_segment };
        let delay = if may_wait { self.delay } else { Duration::ZERO };
        let is_about_to_leave = self.is_linux && self.deadline <= now + delay / 4;
        if delay.is_zero() || is_about_to_leave {
            self.is_due = true;
        } else {
            self.deadline = self.deadline.min(now + delay);
        }
    }

    /// Data arrived that filled a gap, or a part of it; `next` is expected next: at once (RFC 5681 §4.2).
    pub fn on_filled(&mut self, next: u64) {
        self.has_new_data = true;
        self.is_due = true;
        (self.gap_at, self.duplicate_acks) = (next, 1);
    }

    /// Data arrived above a gap at `next`: at once (RFC 5681 §4.2). Linux compresses SACKs to a sender that takes them, whose `rtt` is
    /// given; waiting SACKs are sent when a third block must be reported (`is_crowded`).
    pub fn on_gap(&mut self, now: Time, next: u64, rtt: Option<Duration>, is_crowded: bool) {
        self.has_new_data = true;
        let Some(rtt) = rtt.filter(|_| self.is_linux && !self.is_quick()) else {
            self.is_due = true;
            return;
        };
        if self.gap_at != next {
            (self.gap_at, self.duplicate_acks) = (next, 0);
        }
        let is_waiting = self.compressed > 0;
        if self.duplicate_acks < DUPLICATE_ACKS {
            self.duplicate_acks += 1;
            self.is_due = true;
        } else if self.compressed >= MAX_COMPRESSED || (is_waiting && is_crowded) {
            self.is_due = true;
        } else {
            self.compressed += 1;
            self.sack_deadline = self.sack_deadline.min(now + (rtt / SACK_RTT_PART).min(SACK_DELAY) + SACK_SLACK);
        }
    }

    /// Duplicate data arrived: acknowledged at once; Linux assumes losses and sends quick ACKs for a while.
    pub fn on_duplicate(&mut self) {
        self.is_due = true;
        self.quick_left = QUICK_ACKS;
        self.is_interactive = false;
    }

    /// Data arrived: the first data, and the first after a pause of the sender, starts quick ACKs.
    pub fn note_arrival(&mut self, now: Time, rto: Duration) {
        if self.is_linux {
            if !self.has_arrived || now.saturating_since(self.last_arrival) > rto {
                self.quick_left = QUICK_ACKS;
            }
            (self.last_arrival, self.has_arrived) = (now, true);
        }
    }

    pub fn on_ack_sent(&mut self) {
        if self.has_new_data {
            self.quick_left = self.quick_left.saturating_sub(1);
        }
        self.is_due = false;
        (self.deadline, self.sack_deadline) = (Time::MAX, Time::MAX);
        (self.waiting_bytes, self.compressed) = (0, 0);
        (self.has_new_data, self.is_pushed) = (false, false);
    }

    pub fn drop(&mut self) {
        self.is_due = false;
        self.is_pushed = false;
        (self.deadline, self.sack_deadline) = (Time::MAX, Time::MAX);
    }

    pub fn handle_timeout(&mut self, now: Time) {
        if self.deadline() <= now {
            self.is_interactive &= self.deadline > now;
            self.is_due = true;
            (self.deadline, self.sack_deadline) = (Time::MAX, Time::MAX);
        }
    }
}

#[cfg(test)]
mod tests;
