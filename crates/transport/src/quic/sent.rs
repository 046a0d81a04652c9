//! Packets sent in one packet-number space: what was acknowledged, what is lost.
//!
//! Reference: RFC 9002 §6.1 (packet and time threshold), appendix A.1, A.7, A.10. Packet numbers rise without gaps and are never used
//! again, so the packets are a queue.
//! Differences from the reference:
//! 1. A lost packet is remembered for a while: an ACK that comes late shows that the loss was none.
//!
//! Bounded by the congestion window: everything below what an ACK and the time threshold settle leaves the queue.
//! Tested here and by `tests/quic_rules.rs`.

use super::config::LossConfig;
use super::packet::{Ack, Frame, FrameList};
use super::path::Stamp;
use playpath_units::{Duration, Time};
use std::collections::VecDeque;

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Outstanding,
    Lost,
    /// Acknowledged, or forgotten.
    Settled,
}

/// A packet that was sent; its frames lie in the [`Scoreboard`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub number: u64,
    pub stamp: Stamp,
    pub bytes: u32,
    pub stream_bytes: u32,
    pub fate: Fate,
    pub is_eliciting: bool,
    /// Counts as in flight (RFC 9002 §2).
    pub is_in_flight: bool,
    pub is_ect: bool,
    /// Number of the path it left on.
    pub path: u32,
    /// Several paths: those that carry or carried its frames, too, a bit each; of a packet that was not copied none.
    pub carriers: u32,
    /// Where its frames begin among all that the space ever sent, and how many they are: [`Scoreboard::push`] says.
    pub frames: (u64, u8),
    /// Largest Acknowledged of the ACK frame in it.
    pub acked_up_to: Option<u64>,
}

impl Sent {
    /// A packet that asks for an ACK and just left, on the first path and without frames.
    pub fn eliciting(number: u64, stamp: Stamp, bytes: u32, stream_bytes: u32) -> Sent {
        Sent {
            number,
            stamp,
            bytes,
            stream_bytes,
            fate: Fate::Outstanding,
            is_eliciting: true,
            is_in_flight: true,
            is_ect: false,
            path: 0,
            carriers: 0,
            frames: (0, 0),
            acked_up_to: None,
        }
    }
}

/// Packets that were given up, in rising order; an ACK may still come.
#[derive(Debug, Default)]
pub(crate) struct GivenUp(VecDeque<(Sent, FrameList)>);

/// Most lost packets that are remembered.
const MAX_REMEMBERED: usize = 1024;

impl GivenUp {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn push(&mut self, sent: Sent, frames: FrameList) {
        if self.0.len() >= MAX_REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back((sent, frames));
    }

    /// Those that the ACK names after all.
    pub fn acknowledge(&mut self, ack: &Ack, mut each: impl FnMut(&Sent, &[Frame])) {
        let mut ranges = ack.ranges();
        let mut range = ranges.next();
        for (sent, frames) in self.0.iter_mut().rev() {
            while range.is_some_and(|(low, _)| sent.number < low) {
                range = ranges.next();
            }
            if range.is_some_and(|(_, high)| sent.number <= high) && sent.fate == Fate::Lost {
                sent.fate = Fate::Settled;
                each(sent, frames.as_slice());
            }
        }
    }

    fn trim(&mut self, horizon: Time) {
        while self.0.front().is_some_and(|(front, _)| front.stamp.sent_at < horizon) {
            self.0.pop_front();
        }
    }
}

#[derive(Debug)]
pub(crate) struct Scoreboard {
    queue: VecDeque<Sent>,
    /// The frames of the packets in the queue one after the other, and how many there were before them.
    frames: VecDeque<Frame>,
    frames_before: u64,
    pub given_up: GivenUp,
    /// Number of the first in the queue.
    base: u64,
    next: u64,
    /// All below are acknowledged or lost.
    settled: u64,
    largest_acked: Option<u64>,
    largest_acked_sent_at: Time,
    last_eliciting_at: Time,
    eliciting_in_flight: u32,
    loss_time: Time,
}

impl Default for Scoreboard {
    fn default() -> Scoreboard {
        Scoreboard {
            queue: VecDeque::new(),
            frames: VecDeque::new(),
            frames_before: 0,
            given_up: GivenUp::default(),
            base: 0,
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
    /// Number of the next packet.
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

    #[inline]
    pub fn push(&mut self, mut sent: Sent, frames: &[Frame]) {
        debug_assert_eq!(sent.number, self.next);
        sent.frames = (self.frames_before + self.frames.len() as u64, frames.len() as u8);
        frames.iter().for_each(|frame| self.frames.push_back(*frame));
        if sent.is_eliciting {
            self.last_eliciting_at = sent.stamp.sent_at;
            self.eliciting_in_flight += 1;
        }
        self.next += 1;
        self.queue.push_back(sent);
    }

    /// The frames of a packet that is in the queue.
    pub fn frames_of(&self, sent: &Sent) -> impl Iterator<Item = &Frame> {
        let (first, count) = sent.frames;
        let first = (first - self.frames_before) as usize;
        (first..first + usize::from(count)).map(|index| &self.frames[index])
    }
    /// One of them.
    pub fn frame(&self, sent: &Sent, index: u8) -> Frame {
        self.frames[(sent.frames.0 - self.frames_before) as usize + usize::from(index)]
    }

    fn slot(&mut self, number: u64) -> Option<&mut Sent> {
        self.queue.get_mut(usize::try_from(number.checked_sub(self.base)?).ok()?)
    }

    /// The numbers of `smallest..=largest` that may still be acknowledged.
    pub fn known(&self, smallest: u64, largest: u64) -> std::ops::Range<u64> {
        smallest.max(self.base)..(largest + 1).min(self.next)
    }

    /// An ACK names `number`: the packet, if it is outstanding.
    pub fn acknowledge(&mut self, number: u64) -> Option<Sent> {
        let slot = self.slot(number).filter(|slot| slot.fate == Fate::Outstanding)?;
        slot.fate = Fate::Settled;
        let sent = *slot;
        if sent.is_eliciting {
            self.eliciting_in_flight -= 1;
        }
        Some(sent)
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

    /// The next packet that is lost by now, from the oldest (§6.1); sets [`loss_time`](Self::loss_time). Call until `None`.
    pub fn next_lost(&mut self, now: Time, delay: Duration, config: &LossConfig) -> Option<Sent> {
        self.loss_time = Time::MAX;
        let largest = self.largest_acked?;
        self.settled = self.settled.max(self.base);
        let mut is_front = true;
        for number in self.settled..largest {
            let index = (number - self.base) as usize;
            let slot = self.queue.get_mut(index)?;
            if slot.fate != Fate::Outstanding {
                if is_front {
                    self.settled = number + 1;
                }
                continue;
            }
            let due = slot.stamp.sent_at + delay;
            if largest - number >= config.packet_threshold || due <= now {
                slot.fate = Fate::Lost;
                let sent = *slot;
                if sent.is_eliciting {
                    self.eliciting_in_flight -= 1;
                }
                let mut frames = FrameList::default();
                self.frames_of(&sent).for_each(|frame| frames.push(*frame));
                self.given_up.push(sent, frames);
                return Some(sent);
            }
            is_front = false;
            self.loss_time = self.loss_time.min(due);
        }
        None
    }

    /// Forget what is settled, and lost packets that were sent before `horizon`.
    pub fn trim(&mut self, horizon: Time) {
        while let Some(front) = self.queue.front()
            && front.fate != Fate::Outstanding
        {
            let (first, count) = front.frames;
            for _ in 0..count {
                self.frames.pop_front();
            }
            self.frames_before = first + u64::from(count);
            self.queue.pop_front();
            self.base += 1;
        }
        self.given_up.trim(horizon);
    }

    /// The oldest packet that may have to be sent again by a probe.
    pub fn oldest_eliciting(&self) -> Option<&Sent> {
        self.queue.iter().find(|sent| sent.fate == Fate::Outstanding && sent.is_eliciting)
    }

    /// The oldest of which `fits` says so.
    pub fn find_outstanding(&mut self, fits: impl Fn(&Sent) -> bool) -> Option<&mut Sent> {
        self.queue.iter_mut().find(|sent| sent.fate == Fate::Outstanding && fits(sent))
    }

    /// All that are outstanding.
    pub fn outstanding(&self) -> impl Iterator<Item = &Sent> {
        self.queue.iter().filter(|sent| sent.fate == Fate::Outstanding)
    }

    /// §6.4: the keys are gone, nothing of this space counts any more. Returns bytes and packets that were in flight.
    pub fn discard(&mut self) -> (u64, u32) {
        let in_flight = self.outstanding().filter(|sent| sent.is_in_flight);
        let sum = in_flight.fold((0, 0), |(bytes, packets), sent| (bytes + u64::from(sent.bytes), packets + 1));
        self.base = self.next;
        self.frames_before += self.frames.len() as u64;
        (self.queue, self.frames, self.given_up) = (VecDeque::new(), VecDeque::new(), GivenUp::default());
        (self.eliciting_in_flight, self.loss_time) = (0, Time::MAX);
        sum
    }

    /// 0-RTT was rejected: packets `0..next` are taken as lost, without what losses bring (RFC 9001 §4.6.2).
    pub fn give_up_all(&mut self) -> Vec<Sent> {
        let given_up = self.outstanding().copied().collect();
        self.queue.iter_mut().filter(|sent| sent.fate == Fate::Outstanding).for_each(|sent| sent.fate = Fate::Settled);
        self.eliciting_in_flight = 0;
        given_up
    }
}

#[cfg(test)]
mod tests;
