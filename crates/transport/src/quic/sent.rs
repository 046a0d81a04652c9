//! Packets sent in one packet-number space: acknowledgement and loss.
//!
//! Reference: RFC 9002 §6.1 (packet and time threshold), appendix A.1, A.7, A.10. Packet numbers rise without gaps and are never used
//! again, so the packets are a queue.
//! Differences from the reference:
//! 1. A lost packet is remembered for a while: a late ACK shows that the loss was spurious.
//!
//! A packet that asks for no ACK is forgotten while none that does is out, as at a client that only reads: of them only the last is known,
//! for the ACK that it carried.
//!
//! Bounded by the congestion window: everything below what an ACK and the time threshold settle leaves the queue.
//! Tested here and by `tests/quic_rules.rs`.

use super::packet::{Ack, Frame, FrameList};
use super::path::Stamp;
use playpath_units::{Duration, Time};
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Outstanding,
    Lost,
    Settled,
}

/// A packet that was sent. Small, since each waits a round trip: two lines of the processor's cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub number: u64,
    pub stamp: Stamp,
    /// The first of its frames, which most packets have no more of; the others lie beside the [`Packets`].
    frame: Frame,
    frames: u8,
    pub fate: Fate,
    pub is_eliciting: bool,
    /// Counts as in flight (RFC 9002 §2).
    pub is_in_flight: bool,
    pub is_ect: bool,
    bytes: u16,
    stream_bytes: u16,
    /// Where the other frames begin among all that were ever put there, modulo 2^32.
    others: u32,
    pub path: u32,
    /// Several paths: those that carry or carried its frames, too, a bit each; of a packet that was not copied none.
    pub carriers: u32,
    /// One more than Largest Acknowledged of the ACK frame in it; 0: it has none.
    acked_below: u64,
}

impl Sent {
    /// A packet that asks for an ACK, counts as in flight and just left, on the first path and without frames.
    pub fn eliciting(number: u64, stamp: Stamp, bytes: u32, stream_bytes: u32) -> Sent {
        Sent {
            number,
            stamp,
            frame: Frame::Ping,
            frames: 0,
            fate: Fate::Outstanding,
            is_eliciting: true,
            is_in_flight: true,
            is_ect: false,
            bytes: bytes as u16,
            stream_bytes: stream_bytes as u16,
            others: 0,
            path: 0,
            carriers: 0,
            acked_below: 0,
        }
    }
    pub fn carry_ack(&mut self, largest: u64) {
        self.acked_below = largest + 1;
    }
    pub fn bytes(&self) -> u32 {
        u32::from(self.bytes)
    }
    pub fn stream_bytes(&self) -> u32 {
        u32::from(self.stream_bytes)
    }
    /// Largest Acknowledged of the ACK frame in it.
    pub fn acked_up_to(&self) -> Option<u64> {
        self.acked_below.checked_sub(1)
    }
}

/// Packets in the order in which they left, with their frames.
#[derive(Debug, Default)]
#[repr(C)]
struct Packets {
    queue: VecDeque<Sent>,
    /// The frames but the first of each, one after the other, and how many there were before them.
    others: VecDeque<Frame>,
    others_before: u32,
}

impl Packets {
    #[inline(always)]
    fn push(&mut self, mut sent: Sent, frames: &[Frame]) {
        sent.frames = frames.len() as u8;
        match frames {
            [] => {}
            [first] => sent.frame = *first,
            [first, others @ ..] => {
                sent.frame = *first;
                sent.others = self.push_others(others);
            }
        }
        self.queue.push_back(sent);
    }
    /// Where they begin.
    #[cold]
    fn push_others(&mut self, others: &[Frame]) -> u32 {
        let place = self.others_before.wrapping_add(self.others.len() as u32);
        self.others.extend(others);
        place
    }
    fn pop_front(&mut self) {
        let others = self.queue.front().map_or(0, |sent| u32::from(sent.frames.saturating_sub(1)));
        self.queue.pop_front();
        if others > 0 {
            self.others.drain(..others as usize);
            self.others_before = self.others_before.wrapping_add(others);
        }
    }
    fn frames_of<'p>(&'p self, sent: &'p Sent) -> impl Iterator<Item = &'p Frame> {
        let own = (sent.frames > 0).then_some(&sent.frame);
        own.into_iter().chain(others_of(&self.others, self.others_before, sent))
    }
}

/// Its frames but the first.
fn others_of<'p>(others: &'p VecDeque<Frame>, before: u32, sent: &Sent) -> impl Iterator<Item = &'p Frame> + use<'p> {
    let first = if sent.frames > 1 { sent.others.wrapping_sub(before) as usize } else { 0 };
    others.range(first..first + usize::from(sent.frames.saturating_sub(1)))
}

fn collect<'f>(frames: impl Iterator<Item = &'f Frame>) -> FrameList {
    let mut list = FrameList::default();
    frames.for_each(|frame| list.push(*frame));
    list
}

/// Packets declared lost, in rising order; an ACK may still arrive.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct GivenUp {
    /// Their numbers side by side: every ACK is held against them.
    numbers: VecDeque<u64>,
    packets: Packets,
}

/// Most lost packets that are remembered.
const MAX_REMEMBERED: usize = 1024;

impl GivenUp {
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    fn push(&mut self, sent: Sent, frames: &[Frame]) {
        if self.numbers.len() >= MAX_REMEMBERED {
            self.pop_front();
        }
        self.numbers.push_back(sent.number);
        self.packets.push(sent, frames);
    }
    fn pop_front(&mut self) {
        self.numbers.pop_front();
        self.packets.pop_front();
    }

    /// Where those lie that the ACK names, from the newest. Both are in order, and most gaps of an ACK are of one packet: a step goes on by a
    /// range or by a number, and only over many of one gap by a search.
    fn named<'a>(&'a self, ack: &'a Ack) -> impl Iterator<Item = usize> + 'a {
        let (mut ranges, mut end) = (ack.ranges(), self.numbers.len());
        let mut range = ranges.next();
        std::iter::from_fn(move || {
            while let (Some((low, high)), Some(place)) = (range, end.checked_sub(1)) {
                let number = self.numbers[place];
                if number < low {
                    range = ranges.next();
                    continue;
                }
                end = place;
                if number <= high {
                    return Some(place);
                }
                if place > 0 && self.numbers[place - 1] > high {
                    end = self.numbers.partition_point(|&of| of <= high);
                }
            }
            None
        })
    }
    pub fn names_any(&self, ack: &Ack) -> bool {
        self.named(ack).any(|place| self.packets.queue[place].fate == Fate::Lost)
    }

    /// The lost packets that the ACK acknowledges after all, from the newest.
    pub fn acknowledge(&mut self, ack: &Ack, mut each: impl FnMut(&Sent, &[Frame])) {
        let places: Vec<_> = self.named(ack).collect();
        for index in places {
            if self.packets.queue[index].fate == Fate::Lost {
                self.packets.queue[index].fate = Fate::Settled;
                let sent = &self.packets.queue[index];
                each(sent, collect(self.packets.frames_of(sent)).as_slice());
            }
        }
    }

    /// Forget those that were sent before `horizon`.
    pub fn trim(&mut self, horizon: Time) {
        while self.packets.queue.front().is_some_and(|front| front.stamp.sent_at < horizon) {
            self.pop_front();
        }
    }
}

/// In this order: what each packet needs lies in two lines of the processor's cache, with the queue's head and length behind them.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Scoreboard {
    /// Number of the first of the packets.
    base: u64,
    next: u64,
    largest_acked: Option<u64>,
    largest_acked_sent_at: Time,
    last_eliciting_at: Time,
    loss_time: Time,
    eliciting_in_flight: u32,
    packets: Packets,
    /// The last packet that was forgotten without having been acknowledged, and one more than the largest that its ACK names.
    forgotten: Option<(u64, u64)>,
    /// All below are acknowledged or lost.
    settled: u64,
    pub given_up: GivenUp,
}

impl Default for Scoreboard {
    fn default() -> Scoreboard {
        Scoreboard {
            packets: Packets::default(),
            given_up: GivenUp::default(),
            base: 0,
            forgotten: None,
            next: 0,
            settled: 0,
            largest_acked: None,
            largest_acked_sent_at: Time::ZERO,
            last_eliciting_at: Time::ZERO,
            eliciting_in_flight: 0,
            loss_time: Time::MAX,
        }
    }
}

impl Scoreboard {
    pub fn next_number(&self) -> u64 {
        self.next
    }
    pub fn largest_acked(&self) -> Option<u64> {
        self.largest_acked
    }
    pub fn largest_acked_sent_at(&self) -> Time {
        self.largest_acked_sent_at
    }
    pub fn last_eliciting_at(&self) -> Time {
        self.last_eliciting_at
    }
    pub fn eliciting_in_flight(&self) -> u32 {
        self.eliciting_in_flight
    }
    /// When a packet will be given up by the time threshold.
    pub fn loss_time(&self) -> Time {
        self.loss_time
    }

    #[inline(always)]
    pub fn push(&mut self, sent: Sent, frames: &[Frame]) {
        debug_assert_eq!(sent.number, self.next);
        self.next += 1;
        if sent.is_eliciting {
            self.last_eliciting_at = sent.stamp.sent_at;
            self.eliciting_in_flight += 1;
        } else if self.packets.queue.is_empty() && !sent.is_in_flight {
            (self.base, self.forgotten) = (self.next, Some((sent.number, sent.acked_below)));
            return;
        }
        self.packets.push(sent, frames);
    }

    pub fn frames_of<'b>(&'b self, sent: &'b Sent) -> impl Iterator<Item = &'b Frame> {
        self.packets.frames_of(sent)
    }
    pub fn list_of(&self, sent: &Sent) -> FrameList {
        collect(self.frames_of(sent))
    }

    fn slot(&mut self, number: u64) -> Option<&mut Sent> {
        self.packets.queue.get_mut(usize::try_from(number.checked_sub(self.base)?).ok()?)
    }

    /// All packets below are settled.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// The same, of the last packet that was forgotten: the largest that its ACK named.
    pub fn acknowledge_forgotten(&mut self, low: u64, high: u64) -> Option<u64> {
        let (_, acked_below) = self.forgotten.take_if(|(number, _)| (low..=high).contains(number))?;
        acked_below.checked_sub(1)
    }

    /// An ACK names `low..=high`: each packet of them that is outstanding, and each of its frames.
    #[inline(always)]
    pub fn acknowledge(&mut self, low: u64, high: u64, mut each: impl FnMut(&Sent), mut settle: impl FnMut(&Frame)) {
        let (first, end) = (low.max(self.base), (high + 1).min(self.next));
        if first >= end {
            return;
        }
        let Packets { queue, others, others_before } = &mut self.packets;
        for sent in queue.range_mut((first - self.base) as usize..(end - self.base) as usize) {
            if sent.fate != Fate::Outstanding {
                continue;
            }
            sent.fate = Fate::Settled;
            self.eliciting_in_flight -= u32::from(sent.is_eliciting);
            each(sent);
            if sent.frames > 0 {
                settle(&sent.frame);
            }
            if sent.frames > 1 {
                others_of(others, *others_before, sent).for_each(&mut settle);
            }
        }
    }

    /// The largest number of an ACK. `true`: larger than all before.
    pub fn on_largest(&mut self, largest: u64) -> bool {
        if self.largest_acked.is_some_and(|before| largest <= before) {
            return false;
        }
        self.largest_acked = Some(largest);
        if let Some(slot) = self.slot(largest) {
            let sent_at = slot.stamp.sent_at;
            self.largest_acked_sent_at = sent_at;
        }
        true
    }

    /// After [`trim_settled`](Self::trim_settled): no packet below the largest acknowledged is out, so none can be lost.
    #[inline]
    pub fn has_no_gap(&mut self) -> bool {
        let has_none = self.largest_acked.is_some_and(|largest| largest < self.base);
        if has_none {
            self.loss_time = Time::MAX;
        }
        has_none
    }

    /// The next packet that is lost by now, from the oldest (§6.1); sets [`loss_time`](Self::loss_time). Call until `None`.
    pub fn next_lost(&mut self, now: Time, delay: Duration, threshold: u64) -> Option<Sent> {
        self.loss_time = Time::MAX;
        let largest = self.largest_acked?;
        self.settled = self.settled.max(self.base);
        let mut is_front = true;
        for number in self.settled..largest {
            let index = (number - self.base) as usize;
            let slot = self.packets.queue.get_mut(index)?;
            if slot.fate != Fate::Outstanding {
                if is_front {
                    self.settled = number + 1;
                }
                continue;
            }
            let due = slot.stamp.sent_at + delay;
            if largest - number >= threshold || due <= now {
                slot.fate = Fate::Lost;
                let sent = *slot;
                if sent.is_eliciting {
                    self.eliciting_in_flight -= 1;
                }
                let frames = self.list_of(&sent);
                self.given_up.push(sent, frames.as_slice());
                return Some(sent);
            }
            is_front = false;
            self.loss_time = self.loss_time.min(due);
        }
        None
    }

    /// Drop acknowledged packets at the front.
    #[inline]
    pub fn trim_settled(&mut self) {
        while self.packets.queue.front().is_some_and(|front| front.fate == Fate::Settled) {
            self.packets.pop_front();
            self.base += 1;
        }
    }

    /// Drop settled packets.
    #[inline]
    pub fn trim(&mut self) {
        let is_all_silent = self.eliciting_in_flight == 0;
        while let Some(front) = self.packets.queue.front() {
            if front.fate == Fate::Outstanding {
                if !is_all_silent || front.is_in_flight {
                    break;
                }
                self.forgotten = Some((front.number, front.acked_below));
            }
            self.packets.pop_front();
            self.base += 1;
        }
    }

    /// The oldest packet that may have to be sent again by a probe.
    pub fn oldest_eliciting(&self) -> Option<&Sent> {
        self.packets.queue.iter().find(|sent| sent.fate == Fate::Outstanding && sent.is_eliciting)
    }

    /// The oldest of which `fits` says so.
    pub fn find_outstanding(&mut self, fits: impl Fn(&Sent) -> bool) -> Option<&mut Sent> {
        self.packets.queue.iter_mut().find(|sent| sent.fate == Fate::Outstanding && fits(sent))
    }

    pub fn outstanding(&self) -> impl Iterator<Item = &Sent> {
        self.packets.queue.iter().filter(|sent| sent.fate == Fate::Outstanding)
    }

    /// §6.4: the keys are gone, nothing of this space counts any more. Returns bytes and packets that were in flight.
    pub fn discard(&mut self) -> (u64, u32) {
        let in_flight = self.outstanding().filter(|sent| sent.is_in_flight);
        let sum = in_flight.fold((0, 0), |(bytes, packets), sent| (bytes + u64::from(sent.bytes), packets + 1));
        self.base = self.next;
        (self.packets, self.given_up) = (Packets::default(), GivenUp::default());
        (self.eliciting_in_flight, self.loss_time) = (0, Time::MAX);
        sum
    }

    /// A packet is known not to have left; `None`: it is settled.
    pub fn give_up(&mut self, number: u64) -> Option<Sent> {
        let sent = self.slot(number).filter(|sent| sent.fate == Fate::Outstanding)?;
        sent.fate = Fate::Settled;
        let sent = *sent;
        self.eliciting_in_flight -= u32::from(sent.is_eliciting);
        Some(sent)
    }

    /// 0-RTT was rejected: packets `0..next` are taken as lost, without what losses bring (RFC 9001 §4.6.2).
    pub fn give_up_all(&mut self) -> Vec<Sent> {
        let given_up = self.outstanding().copied().collect();
        self.packets
            .queue
            .iter_mut()
            .filter(|sent| sent.fate == Fate::Outstanding)
            .for_each(|sent| sent.fate = Fate::Settled);
        self.eliciting_in_flight = 0;
        given_up
    }
}

#[cfg(test)]
mod tests;
