//! Skips rounds in a steady state: each packet that arrives releases another, and either the window keeps the link busy without overflowing
//! the queue, or it leaves the link partly idle and the queue empty.
//!
//! On a busy link the packets in flight look the same after n packets, shifted by n transmission times; on an idle one after a window,
//! shifted by a round trip. So the sender is updated one round trip at a time, and the packets in flight are shifted. Slow start, loss
//! recovery and paced senders are simulated packet by packet.

use super::flow::{Flow, Sent};
use super::link::{Fifo, Link};
use super::{Connection, length};
use playpath_cc::{Ack, RateSample};

/// Fewer packets than this are sent one by one.
const MIN_PACKETS: u64 = 8;
/// On an idle link the window determines the sender's rate. A round trip is acknowledged in this many parts: with a single one, a control
/// that grows towards a target would grow by 3 to 5 % too much; with these by less than 1 %.
const PARTS: u64 = 8;
/// After this many equal round-trip times, the smoothed one and its deviation are within 7 % of where more would bring them.
const SAMPLES: u32 = 20;
const AT_THE_END: f64 = 3.0;

impl Connection<'_> {
    /// Send up to `left` packets of a transfer in whole rounds from `now` on. Returns how many, and the time afterwards.
    pub(super) fn cruise(&mut self, now: f64, left: u64) -> Option<(u64, f64)> {
        if left < MIN_PACKETS || !self.flow.is_full() {
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
            let clear = self.link.before_loss(round);
            // On an idle link, part of a window does not shift the packets in flight, and the packets that the window grew by leave at
            // once.
            let is_shifted = clear == window as u64
                && window <= f64::from(self.flow.packets_out) + AT_THE_END
                && at + 2.0 * round_s <= now + lasts_s;
            if clear == 0 || !is_busy && !is_shifted {
                break;
            }
            self.link.leave(clear);
            sent += clear;
            let (takes, most) =
                if is_busy { (clear as f64 * service, clear) } else { (round_s, clear.div_ceil(PARTS)) };
            let mut acknowledged = 0;
            while acknowledged < clear {
                let packets = most.min(clear - acknowledged);
                acknowledged += packets;
                self.flow.acknowledge_together(
                    packets as u32,
                    self.flow.delivered + sent - clear + acknowledged,
                    at + takes * acknowledged as f64 / clear as f64,
                    service,
                );
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
    /// The whole window is in flight, past slow start, and nothing is lost.
    fn is_full(&self) -> bool {
        self.deployed.is_window_based()
            && !self.is_repairing()
            && self.recovery.is_none()
            && self.control.cwnd() < f64::from(self.packets_out) + 1.0
            && self.control.cwnd() >= self.control.ssthresh()
    }

    /// Without pacing: true if the packets in flight leave the link back to back for at least a round trip, false if none of them waits.
    fn is_steady(&self, service: f64) -> Option<bool> {
        let count = f64::from(self.packets_out);
        let spread = self.out.back()?.acked_at - self.out.front()?.acked_at;
        let is_paced = self.pacing_rate().is_some_and(|rate| rate * service < 8.0 * self.deployed.mss);
        let is_busy = count * service >= self.rtt_s + 2.0 * service;
        let most = if is_busy { (count - 0.5) * service } else { self.rtt_s };
        (!is_paced && spread <= most).then_some(is_busy)
    }

    /// Process the ACKs of this many packets as one, the last of them at `now`; `delivered` packets have been delivered with it.
    fn acknowledge_together(&mut self, packets: u32, delivered: u64, now: f64, service: f64) {
        let (mss, out) = (self.deployed.mss as u32, self.packets_out);
        let rtt = length((f64::from(out) * service).max(self.rtt_s + service));
        (0..packets.min(SAMPLES)).for_each(|_| self.measure(rtt, delivered));
        let rate = (!self.ignores_rates).then(|| RateSample::new(packets, length(f64::from(packets) * service), mss));
        let ack = Ack {
            rtt: Some(rtt),
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
    /// Transmission time of a packet, and for how many seconds after the queued packets it stays the same; `None` with a neighbour.
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

    /// Maximum number of packets in flight, of which `path` are outside the queue.
    fn holds(&self, path: f64) -> f64 {
        self.fifo.limit.map_or(f64::INFINITY, |limit| limit as f64 + path)
    }

    /// The number of the next `packets` before the first one that is lost at random.
    fn before_loss(&mut self, packets: u64) -> u64 {
        self.loss.as_mut().map_or(packets, |loss| loss.before_loss(packets))
    }

    /// Send this many of those packets.
    fn leave(&mut self, packets: u64) {
        if let Some(loss) = self.loss.as_mut() {
            loss.before_loss -= packets;
        }
    }

    /// Shift the queue by this time.
    fn pass(&mut self, seconds: f64) {
        self.fifo.free_at += seconds;
        self.fifo.leaving.iter_mut().for_each(|at| *at += seconds);
    }
}
