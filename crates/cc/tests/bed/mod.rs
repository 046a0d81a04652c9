//! Test bed: builders of events, and a packet-level model of flows over one bottleneck, for tests that look inside a controller.
//!
//! The model: FIFO served at a constant rate, tail drop, then the whole propagation delay; random loss, a policer, ACKs in
//! batches. The sender is clocked by ACKs and paced if its controller gives a rate. Transmissions have numbers of their own, so
//! every sample is unambiguous; a loss is found after three later ones were delivered. Recovery is TCP's: it ends when all
//! below the recovery point is delivered, and the next episode begins at once if losses are then outstanding. RTO only when
//! no ACK will come. Delivery rate samples by draft-ietf-ccwg-bbr-06 §4.1.2.

mod any;
mod flow;
mod script;

pub use any::Any;
pub use flow::{Flow, Stats};
pub use script::{Script, assert_close, assert_near};

use crate::{Ack, CongestionControl, CongestionEvent, View};
use flow::What;
use playpath_units::random::{RootSeed, Stream};
use playpath_units::{Duration, Time};
use std::collections::VecDeque;

pub const MSS: u32 = 1460;

/// A quiet connection at `at_ms`.
pub fn view(at_ms: u64) -> View<'static> {
    let rtt = Duration::from_millis(100);
    View { srtt: rtt, rttvar: rtt / 10, min_rtt: rtt, ..View::new(Time::from_millis(at_ms), MSS) }
}

/// An ACK of one packet, without samples.
pub fn ack() -> Ack {
    Ack::new(1, MSS)
}

/// A loss episode that begins with `flight_size` packets out.
pub fn loss(flight_size: u32) -> CongestionEvent {
    CongestionEvent::loss(flight_size, Time::ZERO)
}

#[derive(Clone, Copy, Debug)]
pub struct Link {
    pub packets_per_sec: f64,
    pub base_rtt: Duration,
    /// Packets waiting or in service.
    pub queue_limit: usize,
    pub loss: f64,
    /// Token bucket before the queue: packets/s and depth in packets.
    pub policer: Option<(f64, f64)>,
    /// ACKs arrive only at multiples of this.
    pub ack_batch: Option<Duration>,
}

impl Link {
    /// C = 1000 packets/s, 100 ms, buffer 100: bandwidth-delay product 100. The link of the tables of CCP.
    pub const PLAIN: Link = Link {
        packets_per_sec: 1000.0,
        base_rtt: Duration::from_millis(100),
        queue_limit: 100,
        loss: 0.0,
        policer: None,
        ack_batch: None,
    };
}

/// Flows over one bottleneck.
pub struct Network<C> {
    pub now: Time,
    pub link: Link,
    pub flows: Vec<Flow<C>>,
    free_at: Time,
    departures: VecDeque<Time>,
    tokens: (f64, Time),
    noise: Stream,
}

impl<C: CongestionControl> Network<C> {
    pub fn new(link: Link, cc: C) -> Network<C> {
        let start = Time::ZERO + link.base_rtt;
        let mut network = Network {
            now: start,
            link,
            flows: Vec::new(),
            free_at: Time::ZERO,
            departures: VecDeque::new(),
            tokens: (link.policer.map_or(0.0, |(_, depth)| depth), start),
            noise: RootSeed(3).stream("link"),
        };
        network.add_flow(cc);
        network
    }

    pub fn add_flow(&mut self, cc: C) {
        let mut flow = Flow::new(cc, self.now, self.link.base_rtt);
        let view = flow.view(self.now);
        flow.cc.on_connection_start(&view);
        self.flows.push(flow);
    }

    pub fn cc(&self) -> &C {
        &self.flows[0].cc
    }

    /// Packets in the queue, the one in service included.
    pub fn queue(&self) -> usize {
        self.departures.iter().filter(|at| **at > self.now).count()
    }

    pub fn run_for(&mut self, length: Duration) {
        let end = self.now + length;
        while self.step(end) {}
        self.now = end;
    }

    /// Until `done`, at most for `limit`. `false`: it did not happen.
    pub fn run_until(&mut self, limit: Duration, mut done: impl FnMut(&Network<C>) -> bool) -> bool {
        let end = self.now + limit;
        while !done(self) {
            if !self.step(end) {
                return false;
            }
        }
        true
    }

    pub fn reset_stats(&mut self) {
        for flow in &mut self.flows {
            flow.stats = Stats::new(self.now);
        }
    }

    /// Run for `warm_up`, then for `length` with fresh statistics; returns flow 0's.
    pub fn measure(&mut self, warm_up: Duration, length: Duration) -> Stats {
        self.run_for(warm_up);
        self.reset_stats();
        self.run_for(length);
        self.flows[0].stats
    }

    /// The next event before `end`.
    fn step(&mut self, end: Time) -> bool {
        let now = self.now;
        let next = self.flows.iter().enumerate().filter_map(|(i, flow)| flow.next_event(now).map(|(t, w)| (t, w, i)));
        let Some((at, what, index)) = next.min().filter(|(at, _, _)| *at <= end) else { return false };
        self.now = at.max(self.now);
        match what {
            What::Ack => self.flows[index].take_ack(self.now),
            What::Timeout => self.flows[index].time_out(self.now),
            What::Send => {
                let acked_at = self.through_link();
                self.flows[index].send(self.now, acked_at);
            }
        }
        true
    }

    fn through_link(&mut self) -> Option<Time> {
        while self.departures.front().is_some_and(|at| *at <= self.now) {
            self.departures.pop_front();
        }
        if let Some((rate, depth)) = self.link.policer {
            let earned = rate * self.now.saturating_since(self.tokens.1).as_secs_f64();
            self.tokens = ((self.tokens.0 + earned).min(depth), self.now);
            if self.tokens.0 < 1.0 {
                return None;
            }
            self.tokens.0 -= 1.0;
        }
        if self.departures.len() >= self.link.queue_limit || self.noise.chance(self.link.loss) {
            return None;
        }
        self.free_at = self.free_at.max(self.now) + Duration::from_secs_f64(1.0 / self.link.packets_per_sec);
        self.departures.push_back(self.free_at);
        let arrival = self.free_at + self.link.base_rtt;
        Some(match self.link.ack_batch {
            Some(batch) => Time::from_nanos(arrival.as_nanos().div_ceil(batch.as_nanos()) * batch.as_nanos()),
            None => arrival,
        })
    }
}
