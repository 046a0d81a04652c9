//! The link of a connection: a FIFO queue of limited length, random loss after it, and possibly a neighbour in the queue.
//!
//! The rate is constant, or a course of rates over the connection's clock. A neighbour is an endless transfer with its own congestion
//! control and the same round trip; it is played packet by packet up to the connection's clock.
//!
//! Units: seconds, bytes, bit/s. The packet being transmitted does not count towards the limit, as in Linux.

use super::flow::Flow;
use crate::deployed::Deployed;
use crate::readings::limits_around;
use playpath_units::random::{RootSeed, Stream};
use std::collections::VecDeque;

const PHASE_S: f64 = 1.3;

pub(crate) struct Link<'a> {
    pub(super) fifo: Fifo<'a>,
    /// Round-trip time without queueing.
    pub(super) rtt_s: f64,
    pub(super) loss: Option<Loss>,
    pub(super) neighbour: Option<Flow<'a>>,
    /// The connection's packets that the queue dropped.
    pub(super) dropped: f64,
    /// The queue's limit in packets, and the shortest and the longest that it stands for.
    queue: Option<(usize, (usize, usize))>,
    /// Once so many are dropped, the longest limit holds, since the log counts no more losses.
    enough: f64,
}

/// Packets that are lost at random.
pub(super) struct Loss {
    share: f64,
    draws: Stream,
    /// If the number of lost packets of a transfer is known: (packets, lost packets).
    of_transfer: Option<(f64, f64)>,
    /// The losses that the log counts, minus the queue's drops so far, which must not count as random losses as well.
    counted: f64,
    /// The number of next packets that are known not to be lost, and whether the one after them is known to be lost.
    pub(super) before_loss: u64,
    is_next: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Fate {
    /// When the last bit has left; of a dropped packet, when the queue at that time has drained.
    pub left_at: f64,
    pub is_lost: bool,
}

/// Packets that are offered together and not lost, and the fate of the one after them if it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Together {
    pub packets: u32,
    /// When the first and the last of them have left.
    pub first_left_at: f64,
    pub left_at: f64,
    pub lost: Option<Fate>,
}

impl<'a> Link<'a> {
    pub fn new(bits_per_s: f64, rtt_s: f64) -> Link<'a> {
        let fifo = Fifo {
            bytes_per_s: bits_per_s / 8.0,
            before: (0.0, 0.0),
            course: None,
            piece: 0,
            lag: 0.0,
            free_at: 0.0,
            limit: None,
            leaving: VecDeque::new(),
        };
        Link { fifo, rtt_s, loss: None, neighbour: None, dropped: 0.0, queue: None, enough: f64::INFINITY }
    }

    /// bit/s from each second on.
    pub fn on(course: &'a [(f64, f64)], rtt_s: f64) -> Link<'a> {
        let most = course.iter().map(|c| c.1).fold(0.0, f64::max);
        let mut link = Link::new(most, rtt_s);
        link.fifo.course = Some(course);
        link
    }

    /// Limit the queue to this many packets; `None`: unlimited.
    pub fn queueing(mut self, packets: Option<u32>) -> Link<'a> {
        self.queue = packets.map(|packets| (packets as usize, limits_around(packets)));
        self.fifo.limit = self.queue.map(|queue| queue.0);
        self
    }

    /// The link loses this share of the packets at random; `seed` says which.
    pub fn losing(mut self, share: f64, seed: u64) -> Link<'a> {
        let draws = || RootSeed(seed).stream("losses");
        self.loss = (share > 0.0).then(|| Loss {
            share,
            draws: draws(),
            of_transfer: None,
            counted: 0.0,
            before_loss: 0,
            is_next: false,
        });
        self
    }

    /// Of the next `packets`, `lost` are lost at random if the link has random losses, so that the sender's state follows the log.
    pub(super) fn expect(&mut self, packets: f64, lost: Option<f64>) {
        if let Some(loss) = self.loss.as_mut() {
            // Retransmissions can be lost as well, so new packets account for only part of the losses.
            let of_new = |lost| random_losses(loss.share, packets, lost) * (1.0 - loss.share);
            loss.of_transfer = lost.map(|lost| (packets, of_new(lost)));
            loss.counted = lost.unwrap_or(0.0);
        }
    }

    /// Limit the queue by what the log counts as lost in the next transfer, within the limits that the queue stands for.
    pub(super) fn limit_by(&mut self, lost: Option<f64>, is_window_based: bool) {
        let (Some((limit, (shortest, longest))), None) = (self.queue, &self.neighbour) else { return };
        let is_overflow = is_window_based && self.loss.is_none();
        let (limit, enough) = match lost {
            Some(lost) if lost < 0.5 => (longest, f64::INFINITY),
            Some(lost) if is_overflow => (shortest, self.dropped + lost),
            _ => (limit, f64::INFINITY),
        };
        (self.fifo.limit, self.enough) = (Some(limit), enough);
    }

    /// Add an endless competing transfer to the queue; `number` selects its phase.
    pub fn shared_with(mut self, neighbour: &'a Deployed, number: u64) -> Link<'a> {
        let mut flow = Flow::new(neighbour, self.rtt_s);
        flow.last_sent_at = Some(PHASE_S * number as f64);
        self.neighbour = Some(flow);
        self
    }

    pub(super) fn offer(&mut self, now: f64, bytes: f64, is_retransmission: bool) -> Fate {
        self.catch_up(now);
        self.offer_next(now, bytes, is_retransmission)
    }

    /// Offer up to `most` new packets at once, the first `left` but one of `full` bytes and that one of `last`, until one is lost.
    pub(super) fn offer_group(&mut self, now: f64, most: u64, left: u64, (full, last): (f64, f64)) -> Together {
        self.catch_up(now);
        let mut together = Together { packets: 0, first_left_at: 0.0, left_at: 0.0, lost: None };
        for number in 1..=most {
            let fate = self.offer_next(now, if number == left { last } else { full }, false);
            if fate.is_lost {
                together.lost = Some(fate);
                break;
            }
            if together.packets == 0 {
                together.first_left_at = fate.left_at;
            }
            together.left_at = fate.left_at;
            together.packets += 1;
        }
        together
    }

    /// The neighbour sends what it may until `now`.
    fn catch_up(&mut self, now: f64) {
        if let Some(neighbour) = self.neighbour.as_mut() {
            neighbour.send_until(now, &mut self.fifo);
        }
    }

    #[inline(always)]
    fn offer_next(&mut self, now: f64, bytes: f64, is_retransmission: bool) -> Fate {
        let fate = self.fifo.offer(now, bytes);
        let is_random_loss = self.loss.as_mut().is_some_and(|loss| loss.loses(is_retransmission)) && !fate.is_lost;
        if fate.is_lost {
            self.dropped += 1.0;
            if self.dropped >= self.enough {
                self.fifo.limit = self.queue.map(|(_, (_, longest))| longest);
            }
            if let Some(loss) = self.loss.as_mut() {
                loss.count_drop();
            }
        }
        Fate { is_lost: fate.is_lost || is_random_loss, ..fate }
    }

    /// Whether the link is plain: nothing is lost, whatever the window, and there is no neighbour.
    pub(super) fn is_plain(&self) -> bool {
        self.fifo.limit.is_none() && self.loss.is_none() && self.neighbour.is_none()
    }

    /// Shift the course by this many seconds relative to the connection's clock from now on.
    pub(super) fn lag(&mut self, seconds: f64) {
        self.fifo.lag = seconds;
    }

    /// Transmission time of this many bytes at the link's rate, or at the maximum rate of its course.
    pub(super) fn service(&self, bytes: f64) -> f64 {
        bytes / self.fifo.bytes_per_s
    }
}

/// How many of `lost` packets were random losses of a path that loses this share. If there are too many (more than two deviations above the
/// mean of a Poisson distribution, and at least one), the queue or a burst lost most of them, and the mean is assumed.
fn random_losses(share: f64, packets: f64, lost: f64) -> f64 {
    let mean = share * packets;
    let most = (mean + 2.0 * libm::sqrt(mean)).max(1.0);
    (if lost > most { mean } else { lost }).min(packets)
}

impl Loss {
    /// The number of the next `packets` before the first lost one.
    pub(super) fn before_loss(&mut self, packets: u64) -> u64 {
        let loses_no_more = !self.is_next && self.of_transfer.is_some_and(|(_, lost)| lost <= 0.0);
        if loses_no_more {
            self.before_loss = self.before_loss.max(packets);
        }
        while self.before_loss < packets && !self.is_next {
            self.is_next = self.draw();
            self.before_loss += u64::from(!self.is_next);
        }
        self.before_loss.min(packets)
    }

    /// The queue dropped one of the losses that the log counts.
    fn count_drop(&mut self) {
        self.counted -= 1.0;
        if let Some((_, lost)) = self.of_transfer.as_mut() {
            *lost = lost.min(self.counted.max(0.0));
        }
    }

    #[inline]
    pub(super) fn loses(&mut self, is_retransmission: bool) -> bool {
        if is_retransmission {
            return self.draws.chance(self.share);
        }
        if self.before_loss > 0 {
            self.before_loss -= 1;
            return false;
        }
        std::mem::take(&mut self.is_next) || self.draw()
    }

    /// Whether a new packet is lost.
    fn draw(&mut self) -> bool {
        let Some((packets, lost)) = self.of_transfer.as_mut() else { return self.draws.chance(self.share) };
        let loses = self.draws.chance(*lost / packets.max(1.0));
        *packets -= 1.0;
        *lost -= f64::from(u8::from(loses));
        loses
    }
}

pub(super) struct Fifo<'a> {
    /// Wire bytes per second; the maximum of a course.
    bytes_per_s: f64,
    /// Size and transmission time of the previous packet, a cache, since most packets are full.
    before: (f64, f64),
    pub(super) course: Option<&'a [(f64, f64)]>,
    /// The piece of the course in which the previous packet began; the next one begins there or little later.
    piece: usize,
    /// How far the clock is ahead of the course.
    pub(super) lag: f64,
    pub(super) free_at: f64,
    pub(super) limit: Option<usize>,
    /// When each queued packet leaves, if there is a limit. Those that have left are removed once it could be reached.
    pub(super) leaving: VecDeque<f64>,
}

impl Fifo<'_> {
    #[inline(always)]
    pub(super) fn offer(&mut self, now: f64, bytes: f64) -> Fate {
        if let Some(limit) = self.limit.filter(|limit| self.leaving.len() > *limit) {
            while self.leaving.front().is_some_and(|at| *at <= now) {
                self.leaving.pop_front();
            }
            if self.leaving.len() > limit {
                return Fate { left_at: self.free_at, is_lost: true };
            }
        }
        let start = self.free_at.max(now);
        self.free_at = match self.course {
            None => {
                if bytes != self.before.0 {
                    self.before = (bytes, bytes / self.bytes_per_s);
                }
                start + self.before.1
            }
            Some(course) => {
                self.piece = piece_at(course, self.piece, start - self.lag);
                served(&course[self.piece..], start - self.lag, bytes) + self.lag
            }
        };
        if self.limit.is_some() {
            self.leaving.push_back(self.free_at);
        }
        Fate { left_at: self.free_at, is_lost: false }
    }
}

/// The piece of a course that a moment is in, looked for from another one on.
fn piece_at(course: &[(f64, f64)], mut piece: usize, at: f64) -> usize {
    while course.get(piece + 1).is_some_and(|next| next.0 <= at) {
        piece += 1;
    }
    while piece > 0 && course[piece].0 > at {
        piece -= 1;
    }
    piece
}

/// When `bytes` are through from `start` on, which is in the first piece of the course.
fn served(course: &[(f64, f64)], start: f64, bytes: f64) -> f64 {
    let (mut index, mut at, mut left) = (0, start, bytes);
    loop {
        let rate = course[index].1 / 8.0;
        let until = course.get(index + 1).map_or(f64::INFINITY, |next| next.0);
        if left <= rate * (until - at) {
            return at + left / rate;
        }
        left -= rate * (until - at).max(0.0);
        at = at.max(until);
        index += 1;
    }
}
