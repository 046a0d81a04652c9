//! Rounds in which nothing happens: the window keeps the link busy, the queue holds it, and each packet that leaves lets in another.
//!
//! After so many packets everything that is on its way is as it was, so many packets' time later. So the sender hears of a round trip at a
//! time, and what is out is moved. Slow start, losses and their repair are played packet by packet, and so is who is paced.

use super::flow::{Flow, Sent};
use super::link::{Fifo, Link};
use super::{Connection, length};
use playpath_cc::{Ack, RateSample};

/// Fewer packets than this are sent one by one.
const FEWEST: u64 = 8;

impl Connection<'_> {
    /// Send up to `left` packets of a transfer in whole rounds from `now` on: how many, and when it is then.
    pub(super) fn cruise(&mut self, now: f64, left: u64) -> Option<(u64, f64)> {
        if left < FEWEST || !self.flow.is_full() {
            return None;
        }
        let (service, most) = self.link.steadily(self.flow.deployed.mss + self.flow.deployed.header)?;
        let left = left.min(most);
        if left < FEWEST || !self.flow.is_steady(service) {
            return None;
        }
        let held = self.link.holds(self.link.rtt_s / service);
        let (mut sent, mut at) = (0, now);
        while sent < left {
            let window = libm::floor(self.flow.control.cwnd());
            if window + 1.0 > held {
                break;
            }
            let round = (window as u64).min(left - sent);
            let clear = self.link.spared(round);
            sent += clear;
            at += clear as f64 * service;
            if clear > 0 {
                self.flow.hear_of(clear as u32, at, service);
            }
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
            && self.control.cwnd() >= self.control.ssthresh()
            && f64::from(self.out_packets) >= libm::floor(self.control.cwnd())
    }

    /// All of it leaves the link one behind the other, a round trip of it or more, and nothing is paced.
    fn is_steady(&self, service: f64) -> bool {
        let (Some(first), Some(last)) = (self.out.front(), self.out.back()) else { return false };
        let count = f64::from(self.out_packets);
        self.pacing_rate().is_none_or(|rate| rate * service >= 8.0 * self.deployed.mss)
            && count * service >= self.rtt_s + 2.0 * service
            && last.acked_at - first.acked_at <= (count - 0.5) * service
    }

    /// The ACKs of so many packets, the last of them at `now`.
    fn hear_of(&mut self, packets: u32, now: f64, service: f64) {
        let (mss, out) = (self.deployed.mss as u32, self.out_packets);
        let rtt = f64::from(out) * service;
        self.srtt += (rtt - self.srtt) * f64::from(packets.min(8)) / 8.0;
        let rate = RateSample::new(packets, length(f64::from(packets) * service), mss);
        let ack = Ack {
            rtt: Some(length(rtt)),
            rate: Some(rate),
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
    }
}

impl Link<'_> {
    /// Seconds that a packet of so many bytes takes, and how many packets behind those in the queue take as long; none where somebody else
    /// is in the queue.
    fn steadily(&self, bytes: f64) -> Option<(f64, u64)> {
        if self.neighbour.is_some() {
            return None;
        }
        let Fifo { course, free_at, lag, .. } = &self.fifo;
        let Some(course) = course else { return Some((self.service(bytes), u64::MAX)) };
        let next = course.partition_point(|piece| piece.0 <= free_at - lag);
        let service = 8.0 * bytes / course[next.saturating_sub(1)].1;
        let until = course.get(next).map_or(f64::INFINITY, |piece| piece.0 + lag);
        Some((service, ((until - free_at) / service) as u64))
    }

    /// Packets that may be out, of which `path` are on their way outside the queue.
    fn holds(&self, path: f64) -> f64 {
        self.fifo.limit.map_or(f64::INFINITY, |limit| limit as f64 + path)
    }

    /// Of the next `packets`, those before the first that is lost at random; it is remembered.
    fn spared(&mut self, packets: u64) -> u64 {
        self.loss.as_mut().map_or(packets, |loss| loss.spared(packets))
    }

    /// All that is in the queue is there so much later.
    fn pass(&mut self, seconds: f64) {
        self.fifo.free_at += seconds;
        self.fifo.leaving.iter_mut().for_each(|at| *at += seconds);
    }
}
