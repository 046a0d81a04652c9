//! A connection that serves the transfers of a session over a link of constant rate, packet by packet.
//!
//! The congestion control is the engine's, and so is the restart of its window after idle. The link is a FIFO, as long as it need
//! be, that may lose packets at random; the time of a transfer on it is what [`crate::emission`] compares with the log.
//!
//! Differences from the engine's own transport: 1. every packet is acknowledged; 2. the receiver's window is never the limit;
//! 3. the queue loses nothing: what its losses do to a transfer is in the noise of the emission; 4. a lost packet is noticed when its
//! ACK would have come, at the end of a transfer, too, and its retransmission is not held back by PRR. In return a transfer without
//! random loss costs a microsecond: once a window that only loss can shrink covers the round trip, the rest of it is arithmetic.
//!
//! Units: seconds, bytes, bit/s.

mod losses;
#[cfg(test)]
mod tests;

use crate::deployed::Deployed;
use crate::log::{Socket, Transfer};
use losses::Losses;
use playpath_cc::{Ack, CongestionControl, IdleRestart, PacketSent, RateSample, View, WindowChange};
use playpath_transport::window_after_idle;
use playpath_units::{Duration, Rate, Time};
use std::collections::VecDeque;

/// Linux's least RTO.
const LEAST_RTO_S: f64 = 0.2;

/// The connection.
pub(crate) struct Connection<'a> {
    deployed: &'a Deployed,
    control: Box<dyn CongestionControl>,
    link: Link<'a>,
    /// Sent and not acknowledged.
    out: VecDeque<Sent>,
    delivered: u64,
    delivered_at: f64,
    first_sent_at: f64,
    sent: u64,
    last_sent_at: Option<f64>,
    paced_until: f64,
    round_end: u64,
    srtt: f64,
    min_rtt: f64,
    /// Most packets out in this transfer.
    most_out: u32,
    has_started: bool,
    /// The client has the last byte.
    complete_at: f64,
    losses: Option<Losses>,
}

/// What the packets go through: a FIFO whose rate is one, or a course of rates by the connection's own clock.
#[derive(Clone, Debug)]
pub(crate) struct Link<'a> {
    /// Bytes on the wire per second; on a course the greatest.
    bytes_per_s: f64,
    /// Without queueing.
    rtt_s: f64,
    course: Option<&'a [(f64, f64)]>,
    free_at: f64,
}

impl<'a> Link<'a> {
    pub fn new(bits_per_s: f64, rtt_s: f64) -> Link<'a> {
        Link { bytes_per_s: bits_per_s / 8.0, rtt_s, course: None, free_at: 0.0 }
    }

    /// bit/s from each second on.
    pub fn on(course: &'a [(f64, f64)], rtt_s: f64) -> Link<'a> {
        let most = course.iter().map(|c| c.1).fold(0.0, f64::max);
        Link { course: Some(course), ..Link::new(most, rtt_s) }
    }

    /// When `bytes` that come at `now` have left.
    fn leave(&mut self, now: f64, bytes: f64) -> f64 {
        let start = self.free_at.max(now);
        self.free_at = match self.course {
            None => start + bytes / self.bytes_per_s,
            Some(course) => served(course, start, bytes),
        };
        self.free_at
    }
}

/// When `bytes` are through from `start` on.
fn served(course: &[(f64, f64)], start: f64, bytes: f64) -> f64 {
    let mut index = course.partition_point(|c| c.0 <= start).saturating_sub(1);
    let (mut at, mut left) = (start, bytes);
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

#[derive(Clone, Copy, Debug)]
struct Sent {
    at: f64,
    acked_at: f64,
    first_sent_at: f64,
    delivered: u64,
    delivered_at: f64,
    is_app_limited: bool,
    is_lost: bool,
    lost_until_then: u64,
}

impl<'a> Connection<'a> {
    pub fn new(deployed: &'a Deployed, link: Link<'a>) -> Connection<'a> {
        Connection {
            deployed,
            control: deployed.start(),
            out: VecDeque::with_capacity(64),
            delivered: 0,
            delivered_at: 0.0,
            first_sent_at: 0.0,
            sent: 0,
            last_sent_at: None,
            paced_until: 0.0,
            round_end: 0,
            srtt: link.rtt_s,
            min_rtt: link.rtt_s,
            link,
            most_out: 0,
            has_started: false,
            complete_at: 0.0,
            losses: None,
        }
    }

    /// From the request, `gap_s` after the transfer before was complete, to the last byte.
    ///
    /// The clock is the connection's own: at another rate than the path's a transfer ends at another time than it did, and the log
    /// says no more than how long nothing was asked for.
    pub fn serve(&mut self, transfer: &Transfer, gap_s: f64) -> f64 {
        let begin = self.complete_at + gap_s + self.link.rtt_s / 2.0;
        self.serve_from(transfer, begin)
    }

    /// As [`serve`](Self::serve), at the moment that the log has: what was late before does not count again.
    pub fn serve_at(&mut self, transfer: &Transfer) -> f64 {
        self.link.free_at = 0.0;
        self.serve_from(transfer, transfer.at_s + self.link.rtt_s / 2.0)
    }

    fn serve_from(&mut self, transfer: &Transfer, begin: f64) -> f64 {
        if self.is_known(transfer.socket.as_ref()) {
            self.out.clear();
            self.losses.iter_mut().for_each(Losses::forget_recovery);
        } else {
            self.before(begin);
        }
        self.start(begin, transfer.socket.as_ref());
        self.most_out = 0;
        let last = self.send(begin, transfer.bytes);
        self.complete_at = last + self.link.rtt_s / 2.0;
        last - begin + self.link.rtt_s
    }

    /// The log tells the windows.
    fn is_known(&self, socket: Option<&Socket>) -> bool {
        self.deployed.is_window_based() && socket.is_some_and(|socket| socket.cwnd.is_some())
    }

    /// The windows at the beginning of a transfer.
    fn start(&mut self, now: f64, socket: Option<&Socket>) {
        let at = time(now);
        if !self.has_started {
            self.has_started = true;
            let view = self.view(now);
            self.control.on_connection_start(&view);
        }
        if let Some(socket) = socket
            && self.is_known(Some(socket))
        {
            let cwnd = socket.cwnd.unwrap_or(self.deployed.initial_window).max(1.0);
            let ssthresh = socket.ssthresh.unwrap_or(f64::INFINITY);
            let view = self.view(now);
            self.control = self.deployed.start();
            self.control.on_window_change(&view, &WindowChange { cwnd, ssthresh });
        }
        let told = socket.and_then(|socket| socket.idle_s);
        let Some(idle) = told.or(self.last_sent_at.map(|last| now - last)) else { return };
        let rto = socket.and_then(|socket| socket.rto_s).unwrap_or(self.srtt + LEAST_RTO_S);
        let view = self.view(now);
        let idle_restart = IdleRestart { idle: length(idle), is_app_limited: true };
        self.control.on_idle_restart(&view, &idle_restart);
        if !self.deployed.restarts_after_idle || self.control.pacing_rate().is_some() {
            return;
        }
        let windows = WindowChange { cwnd: self.control.cwnd(), ssthresh: self.control.ssthresh() };
        let change = window_after_idle(windows, length(idle), length(rto), self.deployed.initial_window);
        if let Some(change) = change {
            self.control.on_window_change(&View { now: at, ..view }, &change);
        }
    }

    /// Send `bytes` from `begin` on; when the last of them has left the link.
    fn send(&mut self, begin: f64, bytes: f64) -> f64 {
        let (mss, full) = (self.deployed.mss, self.deployed.mss + self.deployed.header);
        let packets = libm::ceil(bytes / mss).max(1.0) as u64;
        let last_size = bytes - (packets - 1) as f64 * mss + self.deployed.header;
        let service = full / self.link.bytes_per_s;
        let mut now = begin;
        let mut left = packets;
        while left > 0 || self.is_repairing() {
            if self.losses.is_none() && self.covers_the_path(service) {
                let rest = (left - 1) as f64 * full + last_size;
                return self.skip(now, left, rest);
            }
            while self.repair(now, full) {}
            while left > 0 && self.may_send(now) {
                left -= 1;
                self.transmit(now, if left == 0 { last_size } else { full }, left == 0);
            }
            if left > 0 || self.losses.as_ref().is_some_and(Losses::is_due) {
                now = self.next_event(now);
            } else if self.is_repairing() {
                now = self.acknowledge();
            }
        }
        self.link.free_at
    }

    /// The window keeps the link busy until the transfer ends.
    fn covers_the_path(&self, service: f64) -> bool {
        self.deployed.is_window_based() && libm::floor(self.control.cwnd()) * service >= self.link.rtt_s + 2.0 * service
    }

    /// The rest leaves back to back.
    fn skip(&mut self, now: f64, packets: u64, bytes: f64) -> f64 {
        let end = self.link.leave(now, bytes);
        self.sent += packets;
        self.delivered = self.sent - self.out.len() as u64;
        self.last_sent_at = Some((end - self.link.rtt_s).max(self.last_sent_at.unwrap_or(0.0)));
        end
    }

    fn may_send(&self, now: f64) -> bool {
        (self.out.len() as f64) < libm::floor(self.control.cwnd()).max(1.0) && self.paced_until <= now + 1e-9
    }

    fn transmit(&mut self, now: f64, size: f64, is_last: bool) {
        if self.out.is_empty() {
            (self.first_sent_at, self.delivered_at) = (now, now);
        }
        let left_at = self.link.leave(now, size);
        let view = self.view(now);
        let prior_in_flight = self.out.len() as u32;
        let payload_bytes = (size - self.deployed.header) as u32;
        self.control.on_packet_sent(&view, &PacketSent { payload_bytes, is_retransmission: false, prior_in_flight });
        let is_lost = self.losses.as_mut().is_some_and(Losses::strike);
        let lost_until_then = self.lost();
        self.out.push_back(Sent {
            is_lost,
            lost_until_then,
            at: now,
            acked_at: left_at + self.link.rtt_s,
            first_sent_at: self.first_sent_at,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            is_app_limited: is_last,
        });
        self.sent += 1;
        self.last_sent_at = Some(now);
        self.most_out = self.most_out.max(self.out.len() as u32);
        if let Some(rate) = self.control.pacing_rate() {
            let takes = f64::from(payload_bytes) * 8.0 / (rate.as_bits_per_sec() as f64).max(1.0);
            self.paced_until = self.paced_until.max(now) + takes;
        }
    }

    /// The next ACK, or the pacer.
    fn next_event(&mut self, now: f64) -> f64 {
        let has_room = (self.out.len() as f64) < libm::floor(self.control.cwnd()).max(1.0);
        let paced = if has_room { self.paced_until } else { f64::INFINITY };
        match self.out.front() {
            Some(sent) if sent.acked_at <= paced => self.acknowledge(),
            _ => paced.max(now),
        }
    }

    /// All ACKs that come before `until`.
    fn before(&mut self, until: f64) {
        while self.out.front().is_some_and(|sent| sent.acked_at <= until) {
            self.acknowledge();
        }
    }

    fn acknowledge(&mut self) -> f64 {
        let prior_in_flight = self.out.len() as u32;
        let Some(sent) = self.out.pop_front() else { return f64::INFINITY };
        let now = sent.acked_at;
        if sent.is_lost {
            self.notice(&sent, prior_in_flight);
            return now;
        }
        self.recover(now);
        self.delivered += 1;
        self.delivered_at = now;
        self.first_sent_at = sent.at;
        let rtt = now - sent.at;
        self.srtt += (rtt - self.srtt) / 8.0;
        self.min_rtt = self.min_rtt.min(rtt);
        let round_start = sent.delivered >= self.round_end;
        if round_start {
            self.round_end = self.delivered;
        }
        let mss = self.deployed.mss as u32;
        let interval = (now - sent.delivered_at).max(sent.at - sent.first_sent_at);
        let delivered = (self.delivered - sent.delivered) as u32;
        let rate = RateSample {
            is_app_limited: sent.is_app_limited,
            prior_delivered: sent.delivered,
            lost: (self.lost() - sent.lost_until_then) as u32,
            delivery_rate: Rate::from_bits_per_sec_f64(f64::from(delivered * mss) * 8.0 / interval.max(1e-9)),
            ..RateSample::new(delivered, length(interval), mss)
        };
        let cwnd = self.control.cwnd();
        let may_grow = !self.is_recovering() && f64::from(self.most_out) >= libm::floor(cwnd)
            || (cwnd < self.control.ssthresh() && cwnd < 2.0 * f64::from(self.most_out));
        let view = self.view(now);
        let ack = Ack {
            rtt: Some(length(rtt)),
            rate: Some(rate),
            prior_in_flight,
            may_grow,
            round_start,
            ..Ack::new(1, mss)
        };
        self.control.on_ack(&view, &ack);
        now
    }

    fn view(&self, now: f64) -> View<'static> {
        let out = self.out.len() as u32;
        View {
            srtt: length(self.srtt),
            rttvar: length(self.srtt / 10.0),
            min_rtt: length(self.min_rtt),
            in_flight: out,
            flight_size: out,
            delivered: self.delivered,
            sent: self.sent,
            lost: self.lost(),
            in_recovery: self.is_recovering(),
            ..View::new(time(now), self.deployed.mss as u32)
        }
    }
}

fn time(s: f64) -> Time {
    Time::from_secs_f64(s)
}
fn length(s: f64) -> Duration {
    Duration::from_secs_f64(s)
}
