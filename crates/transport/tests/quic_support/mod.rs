//! A pair of QUIC endpoints over two one-way wires in virtual time.
#![allow(dead_code)]

pub mod lone;

use playpath_transport::Ecn;
use playpath_transport::quic::config::Config;
use playpath_transport::quic::packet::{Address, Datagram};
use playpath_transport::quic::{Connection, Event};
use playpath_units::{Duration, Rate, Time};
use std::collections::VecDeque;

/// One direction: a drop-tail queue of bytes before a server with a rate, then a delay.
pub struct Wire {
    pub rate: Option<Rate>,
    pub delay: Duration,
    pub queue_bytes: u64,
    pub marks_above: u64,
    free_at: Time,
    in_transit: VecDeque<(Time, Datagram)>,
    pub carried: u64,
    pub dropped: u64,
}

impl Wire {
    pub fn new(mbps: Option<f64>, millis: u64) -> Wire {
        Wire {
            rate: mbps.map(|mbps| Rate::from_bits_per_sec_f64(mbps * 1e6)),
            delay: Duration::from_millis(millis),
            queue_bytes: u64::MAX,
            marks_above: u64::MAX,
            free_at: Time::ZERO,
            in_transit: VecDeque::new(),
            carried: 0,
            dropped: 0,
        }
    }
    pub fn push(&mut self, now: Time, mut datagram: Datagram) {
        let start = self.free_at.max(now);
        if let Some(rate) = self.rate {
            let waiting = rate.bytes_in(start.saturating_since(now));
            if waiting > self.queue_bytes {
                self.dropped += 1;
                return;
            }
            if waiting > self.marks_above && datagram.ecn != Ecn::NotEct {
                datagram.ecn = Ecn::Ce;
            }
            self.free_at = start + rate.time_to_send(u64::from(datagram.wire_bytes()));
        } else {
            self.free_at = now;
        }
        self.carried += 1;
        self.in_transit.push_back((self.free_at + self.delay, datagram));
    }
    pub fn next_at(&self) -> Time {
        self.in_transit.front().map_or(Time::MAX, |x| x.0)
    }
    pub fn pop(&mut self) -> Datagram {
        self.in_transit.pop_front().unwrap().1
    }
}

/// `fate(is_from_client, nth datagram of that direction, datagram)`: `false` drops it; it may change it, too.
pub struct Pair<F: FnMut(bool, u64, &mut Datagram) -> bool> {
    pub now: Time,
    pub client: Connection,
    pub server: Connection,
    pub up: Wire,
    pub down: Wire,
    pub fate: F,
    pub counts: [u64; 2],
    /// A NAT shows the client at this address.
    pub nat: Option<Address>,
    pub events: Vec<(Time, bool, Event)>,
    pub keeps_events: bool,
    /// Both read at once what arrives.
    pub reads: bool,
    repeats: u32,
}

impl<F: FnMut(bool, u64, &mut Datagram) -> bool> Pair<F> {
    pub fn new(client: Connection, server: Connection, wires: [Wire; 2], fate: F) -> Pair<F> {
        let [up, down] = wires;
        Pair {
            now: Time::ZERO,
            client,
            server,
            up,
            down,
            fate,
            counts: [0, 0],
            nat: None,
            events: vec![],
            keeps_events: true,
            reads: true,
            repeats: 0,
        }
    }

    pub fn drain(&mut self) {
        while let Some(mut datagram) = self.client.poll_transmit(self.now) {
            self.counts[0] += 1;
            assert!(self.counts[0] < 1_000_000, "no end of {datagram:?}");
            datagram.from = self.nat.unwrap_or(datagram.from);
            if (self.fate)(true, self.counts[0], &mut datagram) {
                self.up.push(self.now, datagram);
            }
        }
        while let Some(mut datagram) = self.server.poll_transmit(self.now) {
            self.counts[1] += 1;
            assert!(self.counts[1] < 1_000_000, "no end of {datagram:?}");
            if (self.fate)(false, self.counts[1], &mut datagram) {
                self.down.push(self.now, datagram);
            }
        }
        for is_client in [true, false] {
            let end = if is_client { &mut self.client } else { &mut self.server };
            while let Some(event) = end.poll_event() {
                if let (Event::Readable(id), true) = (event, self.reads) {
                    end.read(self.now, id, u64::MAX);
                }
                if self.keeps_events {
                    self.events.push((self.now, is_client, event));
                }
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
        assert!(at >= self.now, "time runs backwards: {at} after {}", self.now);
        self.repeats = if at == self.now { self.repeats + 1 } else { 0 };
        assert!(self.repeats < 10_000, "at {at} nothing moves: {:?} {:?}", self.client.info(), self.server.info());
        self.now = at;
        if self.up.next_at() == at {
            let datagram = self.up.pop();
            self.server.handle_datagram(at, &datagram);
        } else if self.down.next_at() == at {
            let datagram = self.down.pop();
            self.client.handle_datagram(at, &datagram);
        } else {
            self.client.handle_timeout(at);
            self.server.handle_timeout(at);
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
    pub fn run_while(&mut self, limit: Time, mut busy: impl FnMut(&Self) -> bool) {
        while busy(self) && self.now < limit && self.step() {}
    }
    pub fn at(&self, is_client: bool, event: Event) -> Option<Time> {
        self.events.iter().find(|&&(_, client, e)| client == is_client && e == event).map(|e| e.0)
    }
}

/// Default settings, NewReno at both ends.
pub fn ends(change: impl Fn(&mut Config)) -> [Connection; 2] {
    ends_with("newreno", change)
}

pub fn ends_with(control: &str, change: impl Fn(&mut Config)) -> [Connection; 2] {
    let mut config = Config::default();
    change(&mut config);
    let control = || playpath_cc::build(control, config.initial_window).unwrap();
    [Connection::connect(Time::ZERO, config, control()), Connection::listen(config, control())]
}
