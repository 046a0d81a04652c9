//! One link for two stacks: a bulk transfer from client to server in virtual time.

mod both;
pub mod laws;
mod noq;
mod ours;
mod quinn;

pub use noq::Noq;
pub use ours::{Ours, habits, stock};
pub use quinn::Quinn;

use playpath_units::random::{RootSeed, Stream};
use playpath_units::{Duration, Rate, Time};
use std::collections::VecDeque;

/// What a run is.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    pub control: &'static str,
    pub rtt: Duration,
    pub loss: f64,
    /// In bandwidth-delay products.
    pub queue: f64,
}

pub const RATE: Rate = Rate::from_bits_per_sec(20_000_000);
/// UDP payload of a full datagram with 16 bytes of tag.
pub const DATAGRAM: u32 = 1208;

/// What a run measures.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcome {
    pub goodput_mbps: f64,
    pub packets_lost: f64,
    pub mean_rtt_ms: f64,
}

/// The two ends of a stack.
pub trait Ends {
    type Datagram;
    /// The client's or the server's next datagram, and its bytes on the wire.
    fn poll(&mut self, now: Time, is_client: bool) -> Option<(Self::Datagram, u64)>;
    fn handle(&mut self, now: Time, is_client: bool, datagram: Self::Datagram);
    fn timeout(&mut self) -> Time;
    fn handle_timeout(&mut self, now: Time);
    /// The client keeps its buffer full, the server reads.
    fn pump(&mut self, now: Time);
    fn delivered(&self) -> u64;
    fn lost(&mut self) -> u64;
}

struct Wire<D> {
    queue_bytes: u64,
    delay: Duration,
    free_at: Time,
    loss: f64,
    random: Stream,
    transit: VecDeque<(Time, D)>,
    waits: (f64, u64),
}

impl<D> Wire<D> {
    fn push(&mut self, now: Time, datagram: D, bytes: u64, measures: bool) {
        let start = self.free_at.max(now);
        let waiting = RATE.bytes_in(start.saturating_since(now));
        if waiting + bytes > self.queue_bytes || (self.loss > 0.0 && self.random.chance(self.loss)) {
            return;
        }
        self.free_at = start + RATE.time_to_send(bytes);
        let arrives = self.free_at + self.delay;
        if measures {
            self.waits.0 += arrives.saturating_since(now).as_millis_f64();
            self.waits.1 += 1;
        }
        self.transit.push_back((arrives, datagram));
    }
    fn next(&self) -> Time {
        self.transit.front().map_or(Time::MAX, |front| front.0)
    }
}

/// Plays `ends` for `length`. Goodput and RTT are of what follows the first five seconds, losses of all: in an empty network they are few.
pub fn play<E: Ends>(mut ends: E, cell: &Cell, seed: u64, length: Duration) -> Outcome {
    let bdp = RATE.bytes_in(cell.rtt) as f64;
    let wire = |loss, queue_bytes, name| Wire {
        queue_bytes,
        delay: cell.rtt / 2,
        free_at: Time::ZERO,
        loss,
        random: RootSeed(seed).stream(name),
        transit: VecDeque::new(),
        waits: (0.0, 0),
    };
    let mut up = wire(cell.loss, ((cell.queue * bdp) as u64).max(6000), "up");
    let mut down = wire(0.0, u64::MAX, "down");
    let (mut now, end) = (Time::ZERO, Time::ZERO + length);
    let warm = Time::from_secs(5);
    let mut start = None;
    while now < end {
        ends.pump(now);
        while let Some((datagram, bytes)) = ends.poll(now, true) {
            up.push(now, datagram, bytes, now > warm);
        }
        while let Some((datagram, bytes)) = ends.poll(now, false) {
            down.push(now, datagram, bytes, false);
        }
        let next = up.next().min(down.next()).min(ends.timeout());
        assert!(next < Time::MAX, "nothing will happen");
        now = next.max(now);
        if now > warm && start.is_none() {
            start = Some(ends.delivered());
        }
        if up.next() <= now {
            let datagram = up.transit.pop_front().unwrap().1;
            ends.handle(now, false, datagram);
        } else if down.next() <= now {
            let datagram = down.transit.pop_front().unwrap().1;
            ends.handle(now, true, datagram);
        } else {
            ends.handle_timeout(now);
        }
    }
    let bytes = start.unwrap();
    let seconds = end.saturating_since(warm).as_secs_f64();
    Outcome {
        goodput_mbps: (ends.delivered() - bytes) as f64 * 8e-6 / seconds,
        packets_lost: ends.lost() as f64,
        mean_rtt_ms: up.waits.0 / up.waits.1 as f64 + cell.rtt.as_millis_f64() / 2.0,
    }
}
