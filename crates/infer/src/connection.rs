//! A connection that serves the transfers of a session over a link, packet by packet.
//!
//! The congestion control is the engine's, and so is the restart of its window after idle. The link is a FIFO that may be limited,
//! lose packets at random and carry a neighbour; [`crate::emission`] compares the simulated time and retransmissions with the log.
//!
//! Differences from the engine's own transport: 1. every packet is acknowledged; 2. the receiver's window is never the limit;
//! 3. a lost packet is noticed by the ACK of the next one that is not, or two round trips later where none is; 4. there is no timeout;
//! 5. packets of a paced sender leave together and have one ACK, up to 16 or a sixteenth of its window.
//!
//! A queue stands for limits from half-way to the next shorter one (the shortest: from its own) to half-way to the next longer one. The
//! log's losses decide between them: a transfer that lost nothing has the longest limit, and one that lost some the shortest until as
//! many are dropped (unless the loss may be random, or the sender measures rates, which overflows any queue). Otherwise a play overflows
//! in another transfer than the sender did, and its window is another one for the rest of the session.
//!
//! In return a transfer over a link without limit, loss and neighbour costs a microsecond: once the window covers the path, and only loss
//! could shrink it, the rest is computed in closed form; and while the queue holds the window, each round trip is one step (`cruise.rs`).
//!
//! Units: seconds, bytes, bit/s.

mod cruise;
mod flow;
mod link;
mod recovery;
#[cfg(test)]
mod tests;

use crate::deployed::Deployed;
use crate::log::{Socket, Transfer};
use flow::{Flow, Group};
pub(crate) use link::Link;
use link::{Fate, Together};
use playpath_cc::{IdleRestart, View, WindowChange};
use playpath_transport::window_after_idle;
use playpath_units::{Duration, Time};

pub(crate) struct Connection<'a> {
    flow: Flow<'a>,
    link: Link<'a>,
    /// When the client has the last byte.
    complete_at: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Served {
    /// Time from the request to the last byte.
    pub took_s: f64,
    pub first_byte_s: f64,
    /// Retransmitted packets, and packets dropped by the queue.
    pub again: f64,
    pub dropped: f64,
}

impl<'a> Connection<'a> {
    pub fn new(deployed: &'a Deployed, link: Link<'a>) -> Connection<'a> {
        Connection { flow: Flow::new(deployed, link.rtt_s), link, complete_at: 0.0 }
    }

    /// Serve a transfer that is requested `gap_s` after the previous one was complete.
    ///
    /// The connection has its own clock, because at another rate than the path's a transfer ends at another time than logged; only the idle
    /// time is taken from the log.
    pub fn serve(&mut self, transfer: &Transfer, gap_s: f64) -> Served {
        let begin = self.complete_at + gap_s + self.link.rtt_s / 2.0;
        self.serve_from(transfer, begin)
    }

    /// As [`serve`](Self::serve), with the course aligned to the logged request time, so that earlier delays do not shift it.
    pub fn serve_at(&mut self, transfer: &Transfer, gap_s: f64) -> Served {
        self.link.lag(self.complete_at + gap_s - transfer.at_s);
        self.serve(transfer, gap_s)
    }

    fn serve_from(&mut self, transfer: &Transfer, begin: f64) -> Served {
        if self.is_known(transfer.socket.as_ref()) {
            self.flow.forget();
        } else {
            self.flow.before(begin);
        }
        self.start(begin, transfer.socket.as_ref());
        let before = self.link.dropped;
        let (first, last, again) = self.send(begin, transfer.bytes, transfer.again);
        let dropped = self.link.dropped - before;
        let rtt_s = self.link.rtt_s;
        self.complete_at = last + rtt_s / 2.0;
        Served { took_s: last - begin + rtt_s, first_byte_s: first - begin + rtt_s, again, dropped }
    }

    /// Whether the window of this transfer is logged.
    fn is_known(&self, socket: Option<&Socket>) -> bool {
        self.flow.deployed.is_window_based() && socket.is_some_and(|socket| socket.cwnd.is_some())
    }

    /// Set the windows at the beginning of a transfer.
    fn start(&mut self, now: f64, socket: Option<&Socket>) {
        self.flow.begin(now);
        self.flow.mark_app_limited();
        let deployed = self.flow.deployed;
        if let Some(socket) = socket
            && self.is_known(Some(socket))
        {
            let cwnd = socket.cwnd.unwrap_or(deployed.initial_window).max(1.0);
            let ssthresh = socket.ssthresh.unwrap_or(f64::INFINITY);
            let view = self.flow.view(now);
            self.flow.control = deployed.start();
            self.flow.control.on_window_change(&view, &WindowChange { cwnd, ssthresh });
        }
        let logged = socket.and_then(|socket| socket.idle_s);
        let Some(idle) = logged.or(self.flow.last_sent_at.map(|last| now - last)) else { return };
        let rto = socket.and_then(|socket| socket.rto_s).unwrap_or(self.flow.rtt.base_rto().as_secs_f64());
        self.restart_after_idle(now, idle, rto);
    }

    /// Restart the control and its windows after `idle` seconds.
    fn restart_after_idle(&mut self, now: f64, idle: f64, rto: f64) {
        let deployed = self.flow.deployed;
        let view = self.flow.view(now);
        let control = &mut self.flow.control;
        control.on_idle_restart(&view, &IdleRestart { idle: length(idle), silent: length(idle), is_app_limited: true });
        if !deployed.restarts_after_idle || control.pacing_rate().is_some() {
            return;
        }
        let windows = WindowChange { cwnd: control.cwnd(), ssthresh: control.ssthresh() };
        let change = window_after_idle(windows, length(idle), length(rto), deployed.initial_window);
        if let Some(change) = change {
            control.on_window_change(&View { now: time(now), ..view }, &change);
        }
    }

    /// Send `bytes` from `begin` on; `lost`: how many packets are lost at random, if known. Returns when the first and the last of them have
    /// left the link, and the number of retransmissions.
    fn send(&mut self, begin: f64, bytes: f64, lost: Option<f64>) -> (f64, f64, f64) {
        let (mss, header) = (self.flow.deployed.mss, self.flow.deployed.header);
        let full = mss + header;
        let packets = libm::ceil(bytes / mss).max(1.0) as u64;
        self.link.expect(packets as f64, lost);
        self.link.limit_by(lost, self.flow.deployed.is_window_based());
        let last_size = bytes - (packets - 1) as f64 * mss + header;
        let service = self.link.service(full);
        let (mut now, mut left, mut again, mut first) = (begin, packets, 0.0, None);
        let mut end = begin;
        while left > 0 || self.flow.is_repairing() {
            if self.link.is_plain() && self.covers_the_path(service) {
                let rest = (left - 1) as f64 * full + last_size;
                end = self.link.offer(now, rest, false).left_at;
                self.flow.skip(left, end);
                break;
            }
            while (left > 0 || self.flow.has_retransmissions()) && self.flow.may_send(now) {
                let fate = if self.flow.has_retransmissions() {
                    again += 1.0;
                    let fate = self.link.offer(now, full, true);
                    let first_left_at = fate.left_at;
                    self.flow.transmit(
                        now,
                        Group { packets: 1, payload_bytes: mss, first_left_at, is_retransmission: true },
                        fate,
                    );
                    fate
                } else {
                    let (fate, sent) = self.send_group(now, left, last_size);
                    left -= sent;
                    fate
                };
                end = end.max(fate.left_at);
                first = first.or(Some(fate.left_at));
            }
            let is_left = left > 0 || self.flow.has_retransmissions();
            self.flow.pause(is_left);
            if !is_left {
                self.flow.mark_app_limited();
            }
            if let Some((cruised, at)) = self.cruise(now, left.saturating_sub(1)) {
                left -= cruised;
                now = at;
            }
            if is_left {
                now = self.flow.next_event(now).max(now);
            } else if self.flow.is_repairing() {
                now = self.flow.acknowledge().max(now);
            }
        }
        (first.unwrap_or(begin + service), end, again)
    }

    /// Send a group of new packets, up to the first that is lost. Returns the fate of the last and the size of the group.
    fn send_group(&mut self, now: f64, left: u64, last_size: f64) -> (Fate, u64) {
        let (mss, header) = (self.flow.deployed.mss, self.flow.deployed.header);
        let most = self.flow.together().min(left);
        let Together { packets, first_left_at, left_at, lost } =
            self.link.offer_group(now, most, left, (mss + header, last_size));
        let payload = |from: u64, to: u64| {
            let full = (to - from) as f64 * mss;
            if to == left { full - mss + (last_size - header) } else { full }
        };
        let sent = u64::from(packets);
        let delivered = Fate { left_at, is_lost: false };
        if packets > 0 {
            let payload_bytes = payload(0, sent);
            self.flow.transmit(
                now,
                Group { packets, payload_bytes, first_left_at, is_retransmission: false },
                delivered,
            );
        }
        let Some(fate) = lost else { return (delivered, sent) };
        let payload_bytes = payload(sent, sent + 1);
        let first_left_at = fate.left_at;
        self.flow.transmit(now, Group { packets: 1, payload_bytes, first_left_at, is_retransmission: false }, fate);
        (fate, sent + 1)
    }

    /// The window keeps the link busy until the transfer ends.
    fn covers_the_path(&self, service: f64) -> bool {
        self.flow.deployed.is_window_based()
            && libm::floor(self.flow.control.cwnd()) * service >= self.link.rtt_s + 2.0 * service
    }
}

fn time(s: f64) -> Time {
    Time::from_nanos(nanos(s))
}
fn length(s: f64) -> Duration {
    Duration::from_nanos(nanos(s))
}
/// As `Duration::from_secs_f64`, for less than 292 years: a conversion to a signed number is one instruction.
fn nanos(s: f64) -> u64 {
    ((s * 1e9 + 0.5) as i64).max(0).cast_unsigned()
}
