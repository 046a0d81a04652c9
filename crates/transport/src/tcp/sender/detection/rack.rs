//! RACK loss detection.
//!
//! Reference: RFC 8985.
//! Differences from the reference:
//! 1. `min_rtt` is that of the connection, not of a recent window.
//! 2. The delivery of a retransmission is not doubted for an old timestamp echo (§6.2 step 2), as in Linux (`tcp_rack_advance`): the echo
//!    of a SACK is that of the last segment in order (RFC 7323 §4.3), so no retransmission above a hole would ever count, and
//!    the lost repair of the hole would be found by the timeout alone.
//! 3. Reordering is also learned from a packet that was sent again before its original arrived, as in Linux (§6.2 step 3 looks at packets
//!    never sent again alone): from an undo by the ACK that fills a hole in recovery (`tcp_try_undo_partial`), and from a DSACK of a
//!    retransmitted packet that is SACKed (`tcp_sacktag_one`). Else a path that delays packets by less than the window
//!    has them all sent twice.
//! 4. A DSACK widens the window only after reordering was seen, and not for a tail loss probe, which no reordering has caused (Linux
//!    `tcp_dsack_seen`).
//! 5. RACK.rtt is of the last packet that an ACK delivers, those that it acknowledges after those that it SACKs, as in Linux
//!    (`tcp_rack_advance`); in §6.2 step 2 it is of the one sent last.
//!
//! Tested here (worked numbers) and by the packet scripts `rack_*.pkt`.

use super::{DUP_THRESH, Found, Situation};
use crate::tcp::sender::recovery::Phase;
use crate::tcp::sender::scoreboard::{EVER_RETRANS, Scoreboard, SentPacket, Verdict};
use playpath_units::{Duration, Time};

/// Recoveries after which a widened window returns to normal (§6.2 step 4).
const WINDOW_PERSIST: u8 = 16;
#[derive(Debug, Default)]
pub(crate) struct Rack {
    /// RACK.xmit_ts and RACK.end_seq: the packet sent last among the delivered.
    sent_at: Time,
    end: u64,
    rtt: Duration,
    /// RACK.fack: highest offset delivered.
    fack: u64,
    reordering_seen: bool,
    /// Most bytes that were delivered before an original below them (Linux `tcp_sock.reordering`).
    overtaken: u32,
    /// RACK.reo_wnd_mult, less one.
    widened: u32,
    persist: u8,
    /// RACK.dsack_round: no second widening before this offset is acknowledged.
    dsack_round: u64,
}

impl Rack {
    /// A packet was delivered (§6.2 steps 1 to 3); whether it is an original that others overtook. `is_ambiguous`: it was retransmitted, and
    /// judging by the RTT, the ACK may be for an earlier transmission.
    pub fn on_delivered(&mut self, now: Time, packet: &SentPacket, is_ambiguous: bool) -> bool {
        let end = packet.end();
        if end > self.fack {
            self.fack = end;
        }
        let is_late = end < self.fack && !packet.is(EVER_RETRANS);
        self.reordering_seen |= is_late;
        if is_ambiguous {
            return is_late;
        }
        self.rtt = now.saturating_since(packet.sent_at);
        if sent_after(packet.sent_at, end, self.sent_at, self.end) {
            (self.sent_at, self.end) = (packet.sent_at, end);
        }
        is_late
    }

    /// RTT of the last delivered packet.
    pub fn rtt(&self) -> Duration {
        self.rtt
    }
    pub fn set_rtt(&mut self, rtt: Duration) {
        self.rtt = rtt;
    }

    /// The original from `start` arrived late.
    pub fn note_reordering(&mut self, start: u64) {
        self.reordering_seen = true;
        self.overtaken = self.overtaken.max(self.fack.saturating_sub(start) as u32);
    }

    /// Duplicates are no sign of loss on this path, so SACKs let the window grow, too (Linux `tcp_may_raise_cwnd`).
    pub fn is_reordering(&self, mss: u32) -> bool {
        self.overtaken > DUP_THRESH * mss
    }

    /// A DSACK arrived (§6.2 step 4): tolerate more reordering, if there was any.
    pub fn on_dsack(&mut self, una: u64, nxt: u64) {
        if self.reordering_seen && una >= self.dsack_round {
            self.dsack_round = nxt;
            self.widened += 1;
            self.persist = WINDOW_PERSIST;
        }
    }

    pub fn on_recovery_exit(&mut self) {
        if self.persist > 0 {
            self.persist -= 1;
            if self.persist == 0 {
                self.widened = 0;
            }
        }
    }

    /// Sent so recently that a timeout does not prove it lost: its ACK takes a round trip (Linux `tcp_timeout_mark_lost`).
    pub fn is_recent(&self, now: Time, packet: &SentPacket) -> bool {
        now < packet.sent_at + self.rtt
    }

    /// Mark packets lost, with the reordering window as of this event (§6.2 steps 4 and 5).
    pub fn detect(&mut self, board: &mut Scoreboard, at: &Situation) -> Found {
        let window = self.reordering_window(at, board.sacked_out());
        board.judge(|packet| self.verdict(at.now, packet, window))
    }

    /// §6.2 step 4.
    fn reordering_window(&self, at: &Situation, sacked_out: u32) -> Duration {
        let is_repairing = matches!(at.phase, Phase::Recovery | Phase::Loss) || sacked_out >= DUP_THRESH;
        if (!self.reordering_seen && is_repairing) || at.min_rtt == Duration::MAX {
            return Duration::ZERO;
        }
        (at.min_rtt * u64::from(1 + self.widened) / 4).min(at.srtt)
    }

    /// Whether this packet is lost (§6.2 step 5).
    fn verdict(&self, now: Time, packet: &SentPacket, window: Duration) -> Verdict {
        if !sent_after(self.sent_at, self.end, packet.sent_at, packet.end()) {
            return Verdict::TooRecent;
        }
        let deadline = packet.sent_at + self.rtt + window;
        if now >= deadline { Verdict::Lost } else { Verdict::Open(deadline) }
    }
}

/// RACK_sent_after: with equal times, the sequence number decides.
fn sent_after(t1: Time, end1: u64, t2: Time, end2: u64) -> bool {
    t1 > t2 || (t1 == t2 && end1 > end2)
}

#[cfg(test)]
mod tests;
