//! Packets sent and not cumulatively acknowledged, with the state of each.
//!
//! Reference: RFC 6675 §3 (scoreboard); counters named as in Linux: in_flight = packets_out − sacked_out − lost_out +
//! retrans_out.
//! Differences from the reference:
//! 1. Counts are in packets, as in Linux, not bytes.
//! 2. Packets lie in one ring in sequence order. Time order, which RACK needs, is sequence order for originals plus a
//!    queue of retransmissions, so that every step is amortised constant.
//!
//! Units: stream offsets (the FIN counts one). Invariants: offsets are contiguous; the four counters equal a recount
//! (`check`, run by the property tests after every step).

use super::detection::Found;
use playpath_units::Time;
use std::collections::VecDeque;

/// A packet in the ring. 64 bytes or less: one cache line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SentPacket {
    /// Stream offset of the first byte.
    pub start: u64,
    pub sent_at: Time,
    /// Packets delivered when it was sent last (draft-cheng P.delivered).
    pub delivered: u64,
    /// When that count was reached (P.delivered_time).
    pub delivered_at: Time,
    /// Send time of the packet that began the sampling interval (P.first_sent_time).
    pub first_sent_at: Time,
    /// Packets marked lost when it was sent last, modulo 2^32 (BBR v3 P.lost).
    pub lost: u32,
    /// Packets in flight when it was sent last, itself included (P.tx_in_flight).
    pub tx_in_flight: u32,
    /// Sequence numbers used.
    pub len: u32,
    pub flags: u8,
}

pub(crate) const SACKED: u8 = 1;
pub(crate) const LOST: u8 = 2;
pub(crate) const RETRANS: u8 = 4;
pub(crate) const EVER_RETRANS: u8 = 8;
/// Sent while limited by the application.
pub(crate) const APP_LIMITED: u8 = 16;
pub(crate) const FIN: u8 = 32;

impl SentPacket {
    /// Offset after the last byte.
    pub fn end(&self) -> u64 {
        self.start + u64::from(self.len)
    }
    pub fn is(&self, mask: u8) -> bool {
        self.flags & mask == mask
    }
    pub fn any(&self, mask: u8) -> bool {
        self.flags & mask != 0
    }
}

/// The ring, its counters and its cursors. Cursors are absolute indices: the n-th packet pushed since the start.
#[derive(Debug, Default)]
pub(crate) struct Scoreboard {
    packets: VecDeque<SentPacket>,
    /// Absolute index of the front packet.
    first: u64,
    sacked_out: u32,
    lost_out: u32,
    retrans_out: u32,
    /// Packets marked lost and not yet retransmitted.
    awaiting: u32,
    /// Allocated with the first loss or the first SACK: of many connections most are idle or short.
    loss_state: Option<Box<LossState>>,
}

/// State that is needed only once a packet is missing. The cursors may lie below `first`, where no packets remain.
#[derive(Debug, Default)]
struct LossState {
    /// No packet below this index waits for its retransmission.
    retransmit_cursor: u64,
    /// Every original below this index is known to be delivered, lost or retransmitted.
    judged: u64,
    /// One past the highest SACKed packet.
    sacked_end: u64,
    /// Retransmissions in the order of sending; entries that are no longer in flight are dropped lazily.
    retransmissions: VecDeque<(u64, Time)>,
    /// Marked lost and not yet reported to the controller.
    unreported: VecDeque<SentPacket>,
    /// SACK blocks of the last ACK, as stream offsets.
    cache: [(u64, u64); 4],
}

impl Scoreboard {
    /// Packets sent and not cumulatively acknowledged.
    pub fn packets_out(&self) -> u32 {
        self.packets.len() as u32
    }
    /// Whether nothing is outstanding.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
    /// Packets held by the receiver above the cumulative ACK.
    pub fn sacked_out(&self) -> u32 {
        self.sacked_out
    }
    /// Packets marked lost and not delivered since.
    pub fn lost_out(&self) -> u32 {
        self.lost_out
    }
    pub fn retrans_out(&self) -> u32 {
        self.retrans_out
    }
    /// Retransmissions in flight, if one of them may still be answered (Linux `tcp_any_retrans_done`).
    pub fn unsettled(&self) -> Option<u32> {
        let is_head = || self.front().is_some_and(|head| head.is(EVER_RETRANS));
        (self.retrans_out > 0 || is_head()).then_some(self.retrans_out)
    }
    pub fn awaiting(&self) -> u32 {
        self.awaiting
    }
    /// A repair may leave. Not while more are out than packets are lost, as an undo leaves them (Linux `tcp_xmit_retransmit_queue`).
    pub fn may_repair(&self) -> bool {
        self.awaiting > 0 && self.retrans_out < self.lost_out
    }
    /// RFC 6675 pipe in packets.
    pub fn in_flight(&self) -> u32 {
        self.packets_out() + self.retrans_out - self.sacked_out - self.lost_out
    }
    pub fn first(&self) -> u64 {
        self.first
    }
    /// Absolute index after the last packet.
    pub fn end(&self) -> u64 {
        self.first + self.packets.len() as u64
    }
    /// One past the highest SACKed packet; at least `first`.
    pub fn sacked_end(&self) -> u64 {
        self.loss_state.as_ref().map_or(0, |loss_state| loss_state.sacked_end).max(self.first)
    }
    pub fn front(&self) -> Option<&SentPacket> {
        self.packets.front()
    }
    pub fn get(&self, index: u64) -> Option<&SentPacket> {
        self.packets.get(index.checked_sub(self.first)? as usize)
    }

    /// Append a packet sent for the first time.
    pub fn push(&mut self, packet: SentPacket) {
        debug_assert!(self.packets.back().is_none_or(|last| last.end() == packet.start));
        self.packets.push_back(packet);
    }

    /// Remove the packets below `una`; `deliver` is called for each of them before its flags are cleared. Returns the number of
    /// packets removed.
    pub fn acknowledge(&mut self, una: u64, mut deliver: impl FnMut(&SentPacket)) -> u32 {
        let before = self.first;
        while let Some(packet) = self.packets.front() {
            if packet.end() > una {
                break;
            }
            deliver(packet);
            let flags = packet.flags;
            if flags & (SACKED | LOST | RETRANS) != 0 {
                self.forget(flags);
            }
            self.packets.pop_front();
            self.first += 1;
        }
        if let Some(packet) = self.packets.front_mut()
            && packet.start < una
        {
            packet.len = (packet.end() - una) as u32;
            packet.start = una;
        }
        (self.first - before) as u32
    }

    /// Mark the packets within `[left, right)` as held by the receiver; `deliver` is called for each that was not marked before.
    pub fn sack(&mut self, left: u64, right: u64, deliver: &mut impl FnMut(&SentPacket)) {
        // The part that the last ACK already reported can be skipped.
        let cache: &[(u64, u64)] = self.loss_state.as_ref().map_or(&[], |loss_state| &loss_state.cache);
        let seen = cache.iter().copied().find(|&(l, r)| l >= left && r <= right && l < r);
        match seen {
            Some((l, r)) => {
                self.sack_range(left, l, deliver);
                self.sack_range(r, right, deliver);
            }
            None if cache.iter().any(|&(l, r)| l <= left && right <= r) => {}
            None => self.sack_range(left, right, deliver),
        }
    }

    /// The packet at `offset` was sent again and is SACKed.
    pub fn had_repaired(&self, offset: u64) -> bool {
        let is_it = |packet: &SentPacket| packet.start == offset && packet.is(SACKED) && packet.is(EVER_RETRANS);
        self.packets.get(self.position(offset)).is_some_and(is_it)
    }

    /// Packets within `[left, right)` that were sent again.
    pub fn repaired_within(&self, left: u64, right: u64) -> u32 {
        let within = self.packets.range(self.position(left)..).take_while(|packet| packet.end() <= right);
        within.filter(|packet| packet.is(EVER_RETRANS)).count() as u32
    }

    /// Remember the blocks of this ACK for the next one.
    pub fn remember_blocks(&mut self, blocks: [(u64, u64); 4]) {
        self.loss_state().cache = blocks;
    }

    /// Mark a packet lost. Returns `true` if it (or its retransmission) was not marked before.
    pub fn mark_lost(&mut self, index: u64) -> bool {
        let packet = &mut self.packets[(index - self.first) as usize];
        if packet.is(SACKED) || (packet.is(LOST) && !packet.is(RETRANS)) {
            return false;
        }
        if !packet.is(LOST) {
            self.lost_out += 1;
        }
        if packet.is(RETRANS) {
            self.retrans_out -= 1;
        }
        packet.flags = (packet.flags | LOST) & !RETRANS;
        self.awaiting += 1;
        let loss_state = self.loss_state.get_or_insert_default();
        loss_state.unreported.push_back(*packet);
        loss_state.retransmit_cursor = loss_state.retransmit_cursor.min(index);
        true
    }

    /// Mark the first packet lost, if there is one. Returns how many packets were newly marked.
    pub fn mark_head_lost(&mut self) -> u32 {
        u32::from(!self.is_empty() && self.mark_lost(self.first))
    }

    /// Whether there are lost packets that have not been reported to the controller.
    #[inline]
    pub fn has_unreported(&self) -> bool {
        self.loss_state.as_ref().is_some_and(|loss_state| !loss_state.unreported.is_empty())
    }

    /// The next packet marked lost, and how many more follow.
    pub fn next_unreported(&mut self) -> Option<(SentPacket, u32)> {
        let unreported = &mut self.loss_state.as_mut()?.unreported;
        let packet = unreported.pop_front()?;
        Some((packet, unreported.len() as u32))
    }

    /// After a retransmission timeout everything not SACKed is lost, except for recent packets; the first packet always is. Returns how
    /// many packets were newly marked.
    pub fn mark_lost_by_timeout(&mut self, is_recent: impl Fn(&SentPacket) -> bool) -> u32 {
        let mut newly = 0;
        let mut judged = self.end();
        for index in self.first..self.end() {
            let packet = &self.packets[(index - self.first) as usize];
            if index == self.first || !is_recent(packet) {
                newly += u32::from(self.mark_lost(index));
            } else if !packet.any(SACKED | LOST | EVER_RETRANS) {
                judged = judged.min(index);
            }
        }
        self.loss_state().judged = judged;
        newly
    }

    /// The receiver may have discarded data that it only SACKed (RFC 2018 §8): clear all SACK marks.
    pub fn forget_sacks(&mut self) {
        for packet in &mut self.packets {
            packet.flags &= !SACKED;
        }
        self.sacked_out = 0;
        let first = self.first;
        let loss_state = self.loss_state();
        loss_state.sacked_end = first;
        loss_state.cache = Default::default();
    }

    /// The reduction was spurious: nothing is lost any more (RFC 4015 §3.2). Retransmissions in flight stay counted.
    pub fn forget_losses(&mut self) {
        let loss_state = self.loss_state.get_or_insert_default();
        for (packet, index) in self.packets.iter_mut().zip(self.first..) {
            // A packet whose retransmission was lost as well would not be examined again: it is neither an original nor a
            // retransmission in flight. So it is queued once more.
            if packet.any(LOST) && packet.is(EVER_RETRANS) && !packet.any(SACKED | RETRANS) {
                loss_state.retransmissions.push_back((index, packet.sent_at));
            }
            packet.flags &= !LOST;
        }
        loss_state.retransmissions.make_contiguous().sort_by_key(|&(index, sent_at)| (sent_at, index));
        loss_state.judged = self.first;
        self.lost_out = 0;
        self.awaiting = 0;
    }

    /// First packet that waits for its retransmission.
    pub fn next_awaiting(&mut self) -> Option<u64> {
        if self.awaiting == 0 {
            return None;
        }
        let mut index = self.loss_state().retransmit_cursor.max(self.first);
        while let Some(packet) = self.get(index) {
            if packet.flags & (LOST | RETRANS | SACKED) == LOST {
                self.loss_state().retransmit_cursor = index;
                return Some(index);
            }
            index += 1;
        }
        None
    }

    /// First packet below the highest SACKed one that was neither SACKed nor ever retransmitted (RFC 6675 NextSeg rule 3).
    pub fn next_hole(&self) -> Option<u64> {
        (self.judged()..self.sacked_end()).find(|&i| !self.get(i).is_some_and(|p| p.any(SACKED | EVER_RETRANS)))
    }

    /// A packet is sent again. `stamp` fills the fields of the rate sample. A tail loss probe is not in flight (Linux
    /// `tcp_send_loss_probe`): `is_probe`.
    pub fn retransmit(&mut self, index: u64, is_probe: bool, stamp: impl FnOnce(&mut SentPacket)) -> &SentPacket {
        let packet = &mut self.packets[(index - self.first) as usize];
        debug_assert!(is_probe || !packet.is(SACKED));
        if packet.is(LOST) && !packet.is(RETRANS) {
            self.awaiting -= 1;
        }
        if !packet.is(RETRANS) && !is_probe {
            self.retrans_out += 1;
            packet.flags |= RETRANS;
        }
        packet.flags = (packet.flags | EVER_RETRANS) & !APP_LIMITED;
        stamp(packet);
        self.loss_state.get_or_insert_default().retransmissions.push_back((index, packet.sent_at));
        packet
    }

    /// Examine packets in the order of sending. `verdict` says whether a packet is lost now ([`Verdict::Lost`]), not yet, or was
    /// sent too recently to decide. Returns (packets newly lost, the time at which all those may be lost that are not yet).
    pub fn judge(&mut self, mut verdict: impl FnMut(&SentPacket) -> Verdict) -> Found {
        let (mut lost, mut wake) = (0, None);
        let (mut index, mut judged) = (self.judged(), None);
        while let Some(packet) = self.get(index) {
            if !packet.any(SACKED | LOST | EVER_RETRANS) {
                match verdict(packet) {
                    Verdict::Lost => lost += u32::from(self.mark_lost(index)),
                    Verdict::Open(at) => {
                        judged = judged.or(Some(index));
                        wake = wake.max(Some(at));
                    }
                    Verdict::TooRecent => break,
                }
            }
            index += 1;
        }
        self.loss_state().judged = judged.unwrap_or(index);
        let mut retransmissions = std::mem::take(&mut self.loss_state().retransmissions);
        let mut place = 0;
        while let Some(&(index, sent_at)) = retransmissions.get(place) {
            if let Some(packet) = self.get(index)
                && packet.is(EVER_RETRANS)
                && !packet.any(SACKED)
                && (packet.is(RETRANS) || !packet.any(LOST))
                && packet.sent_at == sent_at
            {
                match verdict(packet) {
                    Verdict::Lost => lost += u32::from(self.mark_lost(index)),
                    Verdict::Open(at) => {
                        wake = wake.max(Some(at));
                        place += 1;
                        continue;
                    }
                    Verdict::TooRecent => break,
                }
            }
            retransmissions.remove(place);
        }
        self.loss_state().retransmissions = retransmissions;
        Found { lost, look_again: wake.unwrap_or(Time::MAX) }
    }

    /// Mark the originals below absolute index `end` lost, unless SACKed. Returns how many are new.
    pub fn mark_originals_lost_below(&mut self, end: u64) -> u32 {
        let mut lost = 0;
        let from = self.judged();
        for index in from..end {
            if !self.packets[(index - self.first) as usize].any(SACKED | LOST | EVER_RETRANS) {
                lost += u32::from(self.mark_lost(index));
            }
        }
        self.loss_state().judged = from.max(end);
        lost
    }

    fn sack_range(&mut self, left: u64, right: u64, deliver: &mut impl FnMut(&SentPacket)) {
        if left >= right {
            return;
        }
        let mut position = self.position(left);
        while let Some(packet) = self.packets.get_mut(position) {
            if packet.end() > right {
                break;
            }
            if !packet.is(SACKED) {
                deliver(packet);
                let flags = packet.flags;
                packet.flags = (flags | SACKED) & !(LOST | RETRANS);
                self.forget(flags);
                self.sacked_out += 1;
                let loss_state = self.loss_state.get_or_insert_default();
                loss_state.sacked_end = loss_state.sacked_end.max(self.first + position as u64 + 1);
            }
            position += 1;
        }
    }

    fn loss_state(&mut self) -> &mut LossState {
        self.loss_state.get_or_insert_default()
    }

    /// First packet of which it is not known whether it is delivered, lost or retransmitted.
    fn judged(&self) -> u64 {
        self.loss_state.as_ref().map_or(0, |loss_state| loss_state.judged).max(self.first)
    }

    /// Position in the ring of the first packet that starts at or after `offset`.
    fn position(&self, offset: u64) -> usize {
        let Some(front) = self.packets.front() else { return 0 };
        if offset <= front.start {
            return 0;
        }
        // Packets mostly have equal lengths: guess the position, then correct it.
        let guess = ((offset - front.start) / u64::from(front.len.max(1))) as usize;
        if self.packets.get(guess).is_some_and(|p| p.start == offset) {
            return guess;
        }
        self.packets.partition_point(|p| p.start < offset)
    }

    /// Remove a packet with these flags from the counters.
    fn forget(&mut self, flags: u8) {
        self.sacked_out -= u32::from(flags & SACKED != 0);
        self.lost_out -= u32::from(flags & LOST != 0);
        self.retrans_out -= u32::from(flags & RETRANS != 0);
        self.awaiting -= u32::from(flags & (LOST | RETRANS) == LOST);
    }

    /// Recount everything. Panics if an invariant is broken; for tests.
    #[cfg(test)]
    pub fn check(&self) {
        let count = |f: fn(&SentPacket) -> bool| self.packets.iter().filter(|p| f(p)).count() as u32;
        assert_eq!(self.sacked_out, count(|p| p.is(SACKED)), "sacked_out");
        assert_eq!(self.lost_out, count(|p| p.is(LOST)), "lost_out");
        assert_eq!(self.retrans_out, count(|p| p.is(RETRANS)), "retrans_out");
        assert_eq!(self.awaiting, count(|p| p.is(LOST) && !p.is(RETRANS)), "awaiting");
        assert_eq!(
            count(|p| p.is(SACKED) && p.any(LOST | RETRANS)),
            0,
            "SACKed packets are neither lost nor in flight"
        );
        for (a, b) in self.packets.iter().zip(self.packets.iter().skip(1)) {
            assert_eq!(a.end(), b.start, "offsets are contiguous");
        }
    }
}

/// Answer of the loss detection about one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Lost,
    /// Not known before this time.
    Open(Time),
    /// Only an ACK can tell.
    TooRecent,
}

#[cfg(test)]
mod tests;
