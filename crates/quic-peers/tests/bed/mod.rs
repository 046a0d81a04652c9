//! The same links for several stacks: a bulk transfer from client to server in virtual time.

mod both;
pub mod laws;
mod noq;
mod ours;
mod quinn;

pub use noq::{Noq, cubic, noq_s_pacer};
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
    /// Up to so much earlier or later, each way; nothing overtakes.
    pub jitter: Duration,
    /// The client is driven as a server on a socket is; otherwise it answers each datagram, and one call makes one.
    pub on_socket: bool,
}

pub const RATE: Rate = Rate::from_bits_per_sec(20_000_000);
/// A server on a socket reads all that comes within this time before it sends, and makes so many datagrams by a call (quinn,
/// `MAX_TRANSMIT_SEGMENTS`).
const WAKE: Duration = Duration::from_micros(50);
pub const SEGMENTS: usize = 10;
/// UDP payload of a full datagram with 16 bytes of tag.
pub const DATAGRAM: u32 = 1208;

/// What a run measures.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcome {
    pub goodput_mbps: f64,
    pub packets_lost: f64,
    /// Of them those after the first five seconds.
    pub lost_later: f64,
    pub mean_rtt_ms: f64,
}

impl Outcome {
    pub fn mean(all: impl Iterator<Item = Outcome>) -> Outcome {
        let all: Vec<_> = all.collect();
        let mean = |of: fn(&Outcome) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
        Outcome {
            goodput_mbps: mean(|one| one.goodput_mbps),
            packets_lost: mean(|one| one.packets_lost),
            lost_later: mean(|one| one.lost_later),
            mean_rtt_ms: mean(|one| one.mean_rtt_ms),
        }
    }
}

/// The two ends of a stack.
pub trait Ends {
    type Datagram;
    /// The client's or the server's next datagram, its path, and its bytes on the wire; one call makes `most` at most.
    fn poll(&mut self, now: Time, is_client: bool, most: usize) -> Option<(Self::Datagram, usize, u64)>;
    fn handle(&mut self, now: Time, is_client: bool, path: usize, datagram: Self::Datagram);
    fn timeout(&mut self) -> Time;
    fn handle_timeout(&mut self, now: Time);
    /// The client keeps its buffer full, the server reads.
    fn pump(&mut self, now: Time);
    fn delivered(&self) -> u64;
    fn lost(&mut self, path: usize) -> u64;
    /// Why the sender's connection is over, if it is.
    fn ended(&self) -> Option<&str> {
        None
    }
}

struct Wire<D> {
    queue_bytes: u64,
    delay: Duration,
    jitter: Duration,
    free_at: Time,
    loss: f64,
    random: Stream,
    transit: VecDeque<(Time, D)>,
    waits: (f64, u64),
    measured_bytes: u64,
}

impl<D> Wire<D> {
    fn new(cell: &Cell, queue_bytes: u64, loss: f64, random: Stream) -> Wire<D> {
        Wire {
            queue_bytes,
            delay: cell.rtt / 2,
            jitter: cell.jitter,
            free_at: Time::ZERO,
            loss,
            random,
            transit: VecDeque::new(),
            waits: (0.0, 0),
            measured_bytes: 0,
        }
    }
    fn push(&mut self, now: Time, datagram: D, bytes: u64, measures: bool) {
        let start = self.free_at.max(now);
        let waiting = RATE.bytes_in(start.saturating_since(now));
        if waiting + bytes > self.queue_bytes || (self.loss > 0.0 && self.random.chance(self.loss)) {
            return;
        }
        self.free_at = start + RATE.time_to_send(bytes);
        let mut arrives = self.free_at + self.delay;
        if !self.jitter.is_zero() {
            let drawn = (self.jitter * 2).mul_f64(self.random.uniform());
            let before = self.transit.back().map_or(Time::ZERO, |back| back.0);
            arrives = (arrives + drawn - self.jitter).max(before);
        }
        if measures {
            self.waits.0 += arrives.saturating_since(now).as_millis_f64();
            self.waits.1 += 1;
            self.measured_bytes += bytes;
        }
        self.transit.push_back((arrives, datagram));
    }
    fn next(&self) -> Time {
        self.transit.front().map_or(Time::MAX, |front| front.0)
    }
}

/// A path: what goes up is limited and lossy, what comes down is not.
struct Wires<D> {
    up: Wire<D>,
    down: Wire<D>,
}

impl<D> Wires<D> {
    fn new(cell: &Cell, path: usize, seed: u64) -> Wires<D> {
        let name = |way: &str| if path == 0 { way.to_owned() } else { format!("{way}{path}") };
        let random = |way| RootSeed(seed).stream(&name(way));
        let bdp = RATE.bytes_in(cell.rtt) as f64;
        let queue_bytes = ((cell.queue * bdp) as u64).max(6000);
        Wires {
            up: Wire::new(cell, queue_bytes, cell.loss, random("up")),
            down: Wire::new(cell, u64::MAX, 0.0, random("down")),
        }
    }
}

/// As [`play_over`] one path.
pub fn play<E: Ends>(ends: E, cell: &Cell, seed: u64, length: Duration) -> Outcome {
    play_over(ends, std::slice::from_ref(cell), seed, length)[0]
}

/// Plays `ends` for `length` over these paths, and measures each: of the goodput the part that the path carried. Goodput and RTT are of
/// what follows the first five seconds, losses of all: in an empty network they are few.
pub fn play_over<E: Ends>(mut ends: E, cells: &[Cell], seed: u64, length: Duration) -> Vec<Outcome> {
    let mut paths: Vec<_> = (0..).zip(cells).map(|(path, cell)| Wires::new(cell, path, seed)).collect();
    let (mut now, end) = (Time::ZERO, Time::ZERO + length);
    let warm = Time::from_secs(5);
    let mut start = None;
    let mut reads_until = None;
    let most = if cells[0].on_socket { SEGMENTS } else { 1 };
    while now < end {
        ends.pump(now);
        reads_until = reads_until.filter(|until| *until > now);
        while reads_until.is_none()
            && let Some((datagram, path, bytes)) = ends.poll(now, true, most)
        {
            paths[path].up.push(now, datagram, bytes, now > warm);
        }
        while let Some((datagram, path, bytes)) = ends.poll(now, false, 1) {
            paths[path].down.push(now, datagram, bytes, false);
        }
        let arrives = |wires: &Wires<_>| wires.up.next().min(wires.down.next());
        let next = paths
            .iter()
            .map(arrives)
            .min()
            .unwrap_or(Time::MAX)
            .min(ends.timeout())
            .min(reads_until.unwrap_or(Time::MAX));
        assert!(next < Time::MAX, "nothing will happen: {:?}", ends.ended());
        now = next.max(now);
        if now > warm && start.is_none() {
            let lost: Vec<_> = (0..cells.len()).map(|path| ends.lost(path)).collect();
            start = Some((ends.delivered(), lost));
        }
        let Some(path) = paths.iter().position(|wires| arrives(wires) <= now) else {
            ends.handle_timeout(now);
            continue;
        };
        let is_up = paths[path].up.next() <= now;
        let wire = if is_up { &mut paths[path].up } else { &mut paths[path].down };
        let datagram = wire.transit.pop_front().unwrap().1;
        ends.handle(now, !is_up, path, datagram);
        if !is_up && cells[0].on_socket {
            reads_until = reads_until.or(Some(now + WAKE));
        }
    }
    let (delivered, lost) = start.unwrap();
    let bytes = (ends.delivered() - delivered) as f64;
    let seconds = end.saturating_since(warm).as_secs_f64();
    let carried: u64 = paths.iter().map(|wires| wires.up.measured_bytes).sum();
    let measured = |(path, Wires { up, .. }): (usize, &Wires<_>)| Outcome {
        goodput_mbps: bytes * 8e-6 / seconds * (up.measured_bytes as f64 / carried as f64),
        packets_lost: ends.lost(path) as f64,
        lost_later: (ends.lost(path) - lost[path]) as f64,
        mean_rtt_ms: up.waits.0 / up.waits.1 as f64 + up.delay.as_millis_f64(),
    };
    paths.iter().enumerate().map(measured).collect()
}
