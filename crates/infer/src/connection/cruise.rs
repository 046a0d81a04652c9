//! Skips rounds in which nothing special happens: each packet that arrives releases another, and either the window keeps the link busy and
//! the queue holds it, or the window leaves the link idle and nothing waits.
//!
//! On a busy link, after so many packets, everything in flight is as before but so many packets' time later; on an idle one the same holds
//! after a window, a round trip later. So the sender is updated one round trip at a time, and the packets in flight are shifted. Slow
//! start, losses and their repair are played packet by packet, and so are paced senders.

use super::flow::{Flow, Sent};
use super::link::{Fifo, Link};
use super::{Connection, length};
use playpath_cc::{Ack, RateSample};

/// Fewer packets than this are sent one by one.
const FEWEST: u64 = 8;
/// On an idle link the window is the sender's rate, and a control that grows towards a target hears of a round trip in so many parts: of one
/// it would grow by 3 to 5 % too much, of so many by less than 1 %.
const PARTS: u64 = 8;
const AT_THE_END: f64 = 3.0;

impl Connection<'_> {
    /// Send up to `left` packets of a transfer in whole rounds from `now` on: how many, and when it is then.
    pub(super) fn cruise(&mut self, now: f64, left: u64) -> Option<(u64, f64)> {
        if left < FEWEST || !self.flow.is_full() {
            return None;
        }
        let (service, lasts_s) = self.link.steadily(now, self.flow.deployed.mss + self.flow.deployed.header)?;
        let is_busy = self.flow.is_steady(service)?;
        let round_s = self.link.rtt_s + service;
        if !is_busy && self.link.fifo.free_at > now + (AT_THE_END + 1.5) * service {
            return None;
        }
        let left = if is_busy { left.min((lasts_s / service) as u64) } else { left };
        let held = if is_busy { self.link.holds(self.link.rtt_s / service) } else { self.link.rtt_s / service };
        let (mut sent, mut at) = (0, now);
        while sent < left {
            let window = libm::floor(self.flow.control.cwnd());
            if window + 1.0 > held {
                break;
            }
            let round = (window as u64).min(left - sent);
            let clear = self.link.spared(round);
            // On an idle link, part of a window does not shift the packets in flight, and the packets that the window grew by leave at
            // once.
            let is_shifted = clear == window as u64
                && window <= f64::from(self.flow.out_packets) + AT_THE_END
                && at + 2.0 * round_s <= now + lasts_s;
            if clear == 0 || !is_busy && !is_shifted {
                break;
            }
            self.link.leave(clear);
            sent += clear;
            let (takes, most) =
                if is_busy { (clear as f64 * service, clear) } else { (round_s, clear.div_ceil(PARTS)) };
            let mut heard = 0;
            while heard < clear {
                let packets = most.min(clear - heard);
                heard += packets;
                self.flow.hear_of(packets as u32, at + takes * heard as f64 / clear as f64, service);
            }
            at += takes;
            if clear < round {
                break;
            }
        }
        if sent == 0 {
            return None;
        }
        self.flow.pass(sent, at - now);
        self.link.pass(at - now);
        Some((sent, at))
    }
}

impl Flow<'_> {
    /// The window is out, past slow start, and nothing is lost.
    fn is_full(&self) -> bool {
        self.deployed.is_window_based()
            && !self.is_repairing()
            && self.recovery.is_none()
            && self.control.cwnd() < f64::from(self.out_packets) + 1.0
            && self.control.cwnd() >= self.control.ssthresh()
    }

    /// Nothing is paced, and all of it leaves the link one behind the other, a round trip of it or more (true); or none waits for another
    /// (false).
    fn is_steady(&self, service: f64) -> Option<bool> {
        let count = f64::from(self.out_packets);
        let spread = self.out.back()?.acked_at - self.out.front()?.acked_at;
        let is_paced = self.pacing_rate().is_some_and(|rate| rate * service < 8.0 * self.deployed.mss);
        let is_busy = count * service >= self.rtt_s + 2.0 * service;
        let most = if is_busy { (count - 0.5) * service } else { self.rtt_s };
        (!is_paced && spread <= most).then_some(is_busy)
    }

    /// The ACKs of so many packets, the last of them at `now`.
    fn hear_of(&mut self, packets: u32, now: f64, service: f64) {
        let (mss, out) = (self.deployed.mss as u32, self.out_packets);
        let rtt = (f64::from(out) * service).max(self.rtt_s + service);
        self.srtt += (rtt - self.srtt) * f64::from(packets.min(8)) / 8.0;
        let rate =
            (!self.is_deaf_to_rates).then(|| RateSample::new(packets, length(f64::from(packets) * service), mss));
        let ack = Ack {
            rtt: Some(length(rtt)),
            rate,
            prior_in_flight: out,
            may_grow: true,
            round_start: true,
            ..Ack::new(packets, mss)
        };
        let view = self.view(now);
        self.control.on_ack(&view, &ack);
    }

    fn pass(&mut self, packets: u64, seconds: f64) {
        self.sent += packets;
        self.places += packets;
        self.settled += packets;
        self.delivered += packets;
        self.round_end += packets;
        self.delivered_at += seconds;
        self.first_sent_at += seconds;
        self.last_sent_at = self.last_sent_at.map(|at| at + seconds);
        self.out.iter_mut().for_each(|sent| sent.pass(packets, seconds));
    }
}

impl Sent {
    fn pass(&mut self, packets: u64, seconds: f64) {
        self.at += seconds;
        self.acked_at += seconds;
        self.first_sent_at += seconds;
        self.delivered += packets;
        self.delivered_at += seconds;
        self.place += packets;
    }
}

impl Link<'_> {
    /// Seconds that a packet of so many bytes takes, and for how many seconds behind those in the queue it does; none where somebody else
    /// is in the queue.
    fn steadily(&self, now: f64, bytes: f64) -> Option<(f64, f64)> {
        if self.neighbour.is_some() {
            return None;
        }
        let Fifo { course, free_at, lag, .. } = &self.fifo;
        let Some(course) = course else { return Some((self.service(bytes), f64::INFINITY)) };
        let begin = free_at.max(now);
        let next = course.partition_point(|piece| piece.0 <= begin - lag);
        let service = 8.0 * bytes / course[next.saturating_sub(1)].1;
        Some((service, course.get(next).map_or(f64::INFINITY, |piece| piece.0 + lag - begin)))
    }

    /// Packets that may be out, of which `path` are on their way outside the queue.
    fn holds(&self, path: f64) -> f64 {
        self.fifo.limit.map_or(f64::INFINITY, |limit| limit as f64 + path)
    }

    /// The number of the next `packets` before the first one that is lost at random.
    fn spared(&mut self, packets: u64) -> u64 {
        self.loss.as_mut().map_or(packets, |loss| loss.spared(packets))
    }

    /// Let so many of those packets leave.
    fn leave(&mut self, packets: u64) {
        if let Some(loss) = self.loss.as_mut() {
            loss.spared -= packets;
        }
    }

    /// All that is in the queue is there so much later.
    fn pass(&mut self, seconds: f64) {
        self.fifo.free_at += seconds;
        self.fifo.leaving.iter_mut().for_each(|at| *at += seconds);
    }
}
