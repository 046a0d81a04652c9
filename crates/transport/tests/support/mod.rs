//! A pair of endpoints over two one-way pipes in virtual time, and a Reno controller with a fixed-window variant.
#![allow(dead_code)]

use playpath_cc::*;
use playpath_transport::{Config, Connection, Segment};
use playpath_units::{Duration, Rate, Time};
use std::collections::VecDeque;

/// RFC 5681 slow start and congestion avoidance; `growth` off keeps the window.
pub struct Reno {
    pub cwnd: f64,
    pub ssthresh: f64,
    prior: (f64, f64),
    grows: bool,
}

impl Reno {
    pub fn growing(iw: f64) -> Box<dyn CongestionControl> {
        Box::new(Reno { cwnd: iw, ssthresh: f64::INFINITY, prior: (iw, f64::INFINITY), grows: true })
    }
    pub fn fixed(cwnd: f64) -> Box<dyn CongestionControl> {
        Box::new(Reno { cwnd, ssthresh: f64::INFINITY, prior: (cwnd, f64::INFINITY), grows: false })
    }
    fn cut(&mut self, flight: u32) {
        self.prior = (self.cwnd, self.ssthresh);
        self.ssthresh = (f64::from(flight) / 2.0).floor().max(2.0);
    }
}

impl CongestionControl for Reno {
    fn cwnd(&self) -> f64 {
        self.cwnd
    }
    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }
    fn recovery_window(&self) -> RecoveryWindow {
        if self.grows { RecoveryWindow::Transport } else { RecoveryWindow::Controller }
    }
    fn on_ack(&mut self, _view: &View, event: &Ack) {
        if !event.may_grow || !self.grows {
            return;
        }
        if self.cwnd < self.ssthresh {
            self.cwnd += f64::from(event.counted);
        } else {
            self.cwnd += f64::from(event.counted) / self.cwnd;
        }
    }
    fn on_congestion(&mut self, _view: &View, event: &CongestionEvent) {
        if self.grows {
            self.cut(event.flight_size);
            self.cwnd = self.ssthresh;
        }
    }
    fn on_rto(&mut self, _view: &View, event: &Rto) {
        if self.grows {
            if event.reduces {
                self.cut(event.flight_size);
            }
            self.cwnd = 1.0;
        }
    }
    fn on_undo(&mut self, _view: &View, _event: &Undo) {
        (self.cwnd, self.ssthresh) = (self.prior.0.max(self.cwnd), self.prior.1);
    }
    fn on_window_change(&mut self, _view: &View, change: &WindowChange) {
        (self.cwnd, self.ssthresh) = (change.cwnd, change.ssthresh);
    }
}

/// One direction: a server with a rate, then a delay. `fate` decides about each segment: `None` loses it.
pub struct Pipe {
    pub rate: Option<Rate>,
    pub delay: Duration,
    pub queue_packets: usize,
    free_at: Time,
    in_transit: VecDeque<(Time, Segment)>,
    pub carried: u64,
}

impl Pipe {
    pub fn new(rate: Option<Rate>, delay: Duration) -> Pipe {
        Pipe { rate, delay, queue_packets: usize::MAX, free_at: Time::ZERO, in_transit: VecDeque::new(), carried: 0 }
    }
    pub fn push(&mut self, now: Time, segment: Segment) {
        let start = self.free_at.max(now);
        if let Some(rate) = self.rate {
            let packet = rate.time_to_send(u64::from(segment.wire_bytes()));
            if start.saturating_since(now) > packet * self.queue_packets as u64 && self.queue_packets != usize::MAX {
                return; // drop-tail
            }
            self.free_at = start + packet;
        } else {
            self.free_at = now;
        }
        self.carried += 1;
        self.in_transit.push_back((self.free_at + self.delay, segment));
    }
    pub fn next_at(&self) -> Time {
        self.in_transit.front().map_or(Time::MAX, |x| x.0)
    }
    pub fn pop(&mut self) -> Segment {
        self.in_transit.pop_front().unwrap().1
    }
}

/// Client and server over two pipes. `fate(is_from_client, nth segment of that direction, segment)`: `false` drops it.
pub struct Pair<F: FnMut(bool, u64, &Segment) -> bool> {
    pub now: Time,
    pub client: Connection,
    pub server: Connection,
    pub up: Pipe,
    pub down: Pipe,
    pub fate: F,
    counts: [u64; 2],
    pub trace: bool,
    /// The server and the client read at once what arrives.
    pub reads: bool,
}

impl<F: FnMut(bool, u64, &Segment) -> bool> Pair<F> {
    pub fn new(
        client: Config,
        server: Config,
        cc: [Box<dyn CongestionControl>; 2],
        pipes: [Pipe; 2],
        fate: F,
    ) -> Pair<F> {
        let [client_cc, server_cc] = cc;
        let [up, down] = pipes;
        Pair {
            now: Time::ZERO,
            client: Connection::connect(Time::ZERO, client, client_cc),
            server: Connection::listen(server, server_cc),
            up,
            down,
            fate,
            counts: [0, 0],
            trace: false,
            reads: true,
        }
    }

    /// Header bytes of the client's data segments.
    pub fn up_header(&self) -> u32 {
        match self.client.config().header {
            playpath_transport::config::HeaderSize::Fixed(bytes) => u32::from(bytes),
            playpath_transport::config::HeaderSize::Computed => {
                if self.client.config().timestamps {
                    52
                } else {
                    40
                }
            }
        }
    }

    /// Send what both want to send.
    pub fn drain(&mut self) {
        while let Some(segment) = self.client.poll_transmit(self.now) {
            self.counts[0] += 1;
            if self.trace {
                println!("{} > {segment:?}", self.now);
            }
            if (self.fate)(true, self.counts[0], &segment) {
                self.up.push(self.now, segment);
            }
        }
        while let Some(segment) = self.server.poll_transmit(self.now) {
            self.counts[1] += 1;
            if self.trace {
                println!("{} < {segment:?}", self.now);
            }
            if (self.fate)(false, self.counts[1], &segment) {
                self.down.push(self.now, segment);
            }
        }
    }

    pub fn next_at(&self) -> Time {
        let timeouts = self.client.poll_timeout().min(self.server.poll_timeout());
        self.up.next_at().min(self.down.next_at()).min(timeouts)
    }

    /// One event. `false`: nothing will ever happen again.
    pub fn step(&mut self) -> bool {
        self.drain();
        let at = self.next_at();
        if at == Time::MAX {
            return false;
        }
        assert!(at >= self.now, "time runs backwards");
        self.now = at;
        if self.up.next_at() == at {
            let segment = self.up.pop();
            self.server.handle_segment(at, &segment);
            if self.reads {
                self.server.read(u64::MAX);
            }
        } else if self.down.next_at() == at {
            let segment = self.down.pop();
            self.client.handle_segment(at, &segment);
            if self.reads {
                self.client.read(u64::MAX);
            }
        } else {
            if self.client.poll_timeout() <= at {
                self.client.handle_timeout(at);
            }
            if self.server.poll_timeout() <= at {
                self.server.handle_timeout(at);
            }
        }
        true
    }

    pub fn run_until(&mut self, end: Time) {
        loop {
            self.drain();
            if self.next_at() > end {
                break;
            }
            self.step();
        }
        self.now = end;
    }

    /// Run until `done` or nothing is left.
    pub fn run_while(&mut self, limit: Time, mut busy: impl FnMut(&Self) -> bool) {
        while busy(self) && self.now < limit && self.step() {}
    }
}
