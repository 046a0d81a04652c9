//! The server, the device, and what happens to packets in between.

use crate::{ADDRESSES, Draw, Start, stream};
use playpath_emulator::sys;
use playpath_serve::device::Device;
use playpath_serve::server::Server;
use playpath_shell::monotonic_nanos;
use playpath_transport::codec::Packet;
use playpath_transport::{Flags, MptcpOption, Segment};
use playpath_units::random::Stream;
use playpath_units::{Duration, Time};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicBool, Ordering};

/// A packet on its way: when it arrives, its number, whether to the server.
type Flying = (Time, u64, bool, Vec<u8>);

/// See the module.
pub(crate) struct Network {
    server: Server,
    device: Device,
    random: Stream,
    loss: [f64; 2],
    duplication: f64,
    reordering: f64,
    alteration: f64,
    delay: Duration,
    jitter_us: u64,
    start_nanos: u64,
    air: BinaryHeap<Reverse<Flying>>,
    pub(crate) packets: u64,
    pub(crate) lost: u64,
    pub(crate) altered: u64,
    /// Resets of connections, and to strangers: what comes twice comes late.
    resets: u64,
    /// The most of one connection; whether it is MPTCP.
    pub(crate) paths: (usize, bool),
    /// Whether sequence numbers of a path, of data in 32 and in 64 bits began anew, of starts that are late in them.
    wrapped: [bool; 3],
    /// No packet overtakes another unless it is drawn to.
    last: [Time; 2],
}

impl Network {
    pub(crate) fn new(draw: &Draw, server: Server, device: Device) -> Network {
        Network {
            server,
            device,
            random: stream(draw.seed, "network"),
            loss: draw.loss,
            duplication: draw.duplication,
            reordering: draw.reordering,
            alteration: draw.alteration,
            delay: Duration::from_micros(draw.delay_us),
            jitter_us: draw.jitter_us,
            start_nanos: monotonic_nanos(),
            air: BinaryHeap::new(),
            packets: 0,
            lost: 0,
            altered: 0,
            resets: 0,
            paths: (0, false),
            wrapped: [false; 3],
            last: [Time::ZERO; 2],
        }
    }

    fn now(&self) -> Time {
        Time::from_nanos(monotonic_nanos() - self.start_nanos)
    }

    pub(crate) fn run(&mut self, is_over: &AtomicBool) {
        let _ = sys::set_min_timer_slack();
        let mut buffer = vec![0; 65_536];
        while !is_over.load(Ordering::Relaxed) {
            self.deliver();
            let next = self.air.peek().map_or(Time::MAX, |Reverse((at, ..))| *at).min(self.server.poll_timeout());
            let nanos = next.saturating_since(self.now()).as_nanos().min(20_000_000);
            let timeout = Timespec { tv_sec: 0, tv_nsec: nanos as i64 };
            let _ = poll(&mut [PollFd::new(&self.device, PollFlags::IN)], Some(&timeout));
            for _ in 0..64 {
                let Ok(Some(length)) = self.device.read(&mut buffer) else { break };
                let now = self.now();
                self.launch(now, true, buffer[..length].to_vec());
            }
        }
    }

    fn deliver(&mut self) {
        let now = self.now();
        self.server.handle_timeout(now);
        self.flush(now);
        while self.air.peek().is_some_and(|Reverse((at, ..))| *at <= now) {
            let Some(Reverse((_, _, is_up, packet))) = self.air.pop() else { return };
            if is_up {
                self.server.handle_packet(now, &packet);
                self.flush(now);
            } else {
                self.device.write(&packet);
            }
        }
    }

    fn flush(&mut self, now: Time) {
        let mut out = Vec::new();
        while self.server.poll_packet(now, &mut out) {
            if let Ok(segment) = Packet::parse(&out).and_then(|packet| packet.segment(0)) {
                self.note(&segment);
            }
            self.launch(now, false, out.clone());
        }
    }

    fn note(&mut self, segment: &Segment) {
        self.resets += u64::from(segment.flags.contains(Flags::RST));
        if segment.flags.contains(Flags::SYN) {
            let most = self.server.clients.by_id.values().map(|c| (c.paths.len(), c.transport.mptcp().is_some())).max();
            self.paths = self.paths.max(most.unwrap_or_default());
        }
        self.wrapped[0] |= segment.payload_len > 0 && segment.seq < 1 << 31;
        if let MptcpOption::Dss { data_seq, len: 1.., .. } = segment.mptcp {
            self.wrapped[1] |= (data_seq as u32) < 1 << 31;
            self.wrapped[2] |= data_seq < 1 << 63;
        }
    }

    /// What nobody who only looks at the bytes sees.
    pub(crate) fn judge(&self, draw: &Draw) -> Result<(), String> {
        let resets = self.resets - self.server.counts.refused_segments;
        // A path that alters data is ended by a reset.
        if resets > self.altered {
            return Err(format!("{resets} segments reset a connection"));
        }
        let has_wrapped = match draw.start {
            Start::Random => true,
            Start::Before(_) => self.wrapped[0] && (self.wrapped[1] || !draw.is_mptcp),
            Start::Key(_) => self.wrapped[2],
        };
        if !has_wrapped {
            return Err("sequence numbers never began anew".into());
        }
        if self.paths.1 == draw.is_mptcp { Ok(()) } else { Err("the client got another protocol".into()) }
    }

    fn launch(&mut self, now: Time, is_up: bool, mut packet: Vec<u8>) {
        self.packets += 1;
        if self.alteration > 0.0 && self.random.uniform() < self.alteration {
            self.altered += u64::from(alter(&mut packet));
        }
        if self.random.uniform() < self.loss[usize::from(is_up)] {
            self.lost += 1;
            return;
        }
        let copies = 1 + usize::from(self.random.uniform() < self.duplication);
        for _ in 0..copies {
            let jitter = (self.random.uniform() * self.jitter_us as f64) as u64;
            let mut at = now + self.delay + Duration::from_micros(jitter);
            if self.random.uniform() < self.reordering {
                at += Duration::from_micros((self.random.uniform() * 8_000.0) as u64);
            } else {
                at = at.max(self.last[usize::from(is_up)]);
                self.last[usize::from(is_up)] = at;
            }
            self.air.push(Reverse((at, self.packets * 2 + copies as u64, is_up, packet.clone())));
        }
    }
}

/// Changes two bytes of the data, and the TCP checksum with them (RFC 1624, equation 3), if the packet is one of the second path's.
fn alter(bytes: &mut [u8]) -> bool {
    let Ok(packet) = Packet::parse(bytes) else { return false };
    let is_second = [packet.source, packet.destination].iter().any(|end| end.ip() == ADDRESSES[1]);
    if !is_second || packet.payload.len() < 4 {
        return false;
    }
    let (at, sum) = (packet.header_bytes + 2, 4 * usize::from(bytes[0] & 15) + 16);
    let word = |bytes: &[u8], at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    let (before, checksum) = (word(bytes, at), word(bytes, sum));
    let after = before ^ 0x0410;
    let added = u32::from(!checksum) + u32::from(!before) + u32::from(after);
    let folded = (added & 0xffff) + (added >> 16);
    let mended = !((folded & 0xffff) + (folded >> 16)) as u16;
    bytes[at..at + 2].copy_from_slice(&after.to_be_bytes());
    bytes[sum..sum + 2].copy_from_slice(&mended.to_be_bytes());
    true
}
