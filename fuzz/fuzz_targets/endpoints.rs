//! No order of operations on a pair of endpoints, TCP or MPTCP, over a network that loses, doubles, delays and, where MPTCP has checksums,
//! alters, makes one panic, send without end, or read what was not written; when the network recovers, all that was written is read and
//! both sides close.
#![no_main]

use libfuzzer_sys::fuzz_target;
use playpath_transport::mptcp::{MptcpConfig, MptcpConnection, PathConfig, scheduler};
use playpath_transport::{Config, Connection, Event, MptcpOption, Segment};
use playpath_units::{Duration, Time};
use std::collections::VecDeque;

const DELAY: Duration = Duration::from_millis(20);
const PATHS: usize = 3;

/// What TCP and MPTCP have in common for their owner.
enum Endpoint {
    Tcp(Box<Connection>),
    Mptcp(Box<MptcpConnection>),
}

/// Calls the same verb of either.
macro_rules! either {
    ($end:expr, $name:ident => $call:expr) => {
        match $end {
            Endpoint::Tcp($name) => $call,
            Endpoint::Mptcp($name) => $call,
        }
    };
}

impl Endpoint {
    fn poll_transmit(&mut self, now: Time) -> Option<(usize, Segment)> {
        match self {
            Endpoint::Tcp(tcp) => tcp.poll_transmit(now).map(|segment| (0, segment)),
            Endpoint::Mptcp(mptcp) => mptcp.poll_transmit(now),
        }
    }
}

/// The byte at this offset of either stream.
fn byte(at: u64) -> u8 {
    (at * 31 + at / 256) as u8
}

/// Bytes that arrived, by offset.
#[derive(Default)]
struct Bytes(Vec<Option<u8>>);

impl Bytes {
    fn put(&mut self, from: u64, bytes: &[u8]) {
        let from = from as usize;
        self.0.resize(self.0.len().max(from + bytes.len()), None);
        self.0[from..].iter_mut().zip(bytes).for_each(|(place, byte)| *place = Some(*byte));
    }

    fn take(&self, from: u64, len: u64) -> Vec<u8> {
        let taken = self.0[from as usize..].iter().take(len as usize);
        taken.map(|byte| byte.expect("acknowledged and never arrived")).collect()
    }
}

/// On the way: when it arrives, its path, and its payload.
type Sent = (Time, usize, Segment, Vec<u8>);

struct End {
    endpoint: Endpoint,
    written: u64,
    read: u64,
    has_closed: bool,
    is_reset: bool,
    /// On the way to the peer, in the order of arrival.
    sent: VecDeque<Sent>,
    /// Something on the way to the peer was altered.
    is_altered: bool,
    /// By path, what waits for its checksum, and how far it was accepted.
    unchecked: [(Bytes, u64); PATHS],
    arrived: Bytes,
}

impl End {
    fn new(endpoint: Endpoint) -> End {
        End {
            endpoint,
            written: 0,
            read: 0,
            has_closed: false,
            is_reset: false,
            sent: VecDeque::new(),
            is_altered: false,
            unchecked: Default::default(),
            arrived: Bytes::default(),
        }
    }

    fn write(&mut self, bytes: u64) {
        if !self.has_closed {
            self.written += either!(&mut self.endpoint, end => end.write(bytes));
        }
    }

    fn read(&mut self, bytes: u64, is_altered: bool) {
        let taken = either!(&mut self.endpoint, end => end.read(bytes));
        let is_right =
            self.arrived.take(self.read, taken).into_iter().zip(self.read..).all(|(read, at)| read == byte(at));
        assert!(is_right || is_altered, "reads what was not written");
        self.read += taken;
    }

    /// An end that listens, or waits for the answer to its SYN, has nothing to close.
    fn close(&mut self, now: Time) {
        if !self.has_closed && either!(&self.endpoint, end => end.is_established()) {
            self.has_closed = true;
            match &mut self.endpoint {
                Endpoint::Tcp(tcp) => tcp.close(),
                Endpoint::Mptcp(mptcp) => mptcp.close(now),
            }
        }
    }

    /// What the contract asks for after each operation: segments, events, the timer.
    fn drain(&mut self, now: Time) {
        if self.poll_timeout() <= now {
            either!(&mut self.endpoint, end => end.handle_timeout(now));
        }
        for count in 0.. {
            assert!(count < 50_000, "sends without end");
            let Some((path, mut segment)) = self.endpoint.poll_transmit(now) else { break };
            let payload = self.payload(path, &segment);
            if let Endpoint::Mptcp(mptcp) = &self.endpoint {
                mptcp.seal(&mut segment, &payload);
            }
            self.sent.push_back((now + DELAY, path, segment, payload));
        }
        while let Some(event) = either!(&mut self.endpoint, end => end.poll_event()) {
            self.is_reset |= event == Event::Reset;
        }
    }

    fn payload(&self, path: usize, segment: &Segment) -> Vec<u8> {
        if segment.payload_len == 0 {
            return vec![];
        }
        let from = match &self.endpoint {
            Endpoint::Tcp(tcp) => tcp.transmit_offset(segment),
            Endpoint::Mptcp(mptcp) => mptcp.transmit_offset(path, segment).expect("a place"),
        };
        let end = from + u64::from(segment.payload_len);
        assert!(end <= self.written, "sends what was not written");
        (from..end).map(byte).collect()
    }

    /// A segment arrives.
    fn take(&mut self, now: Time, (_, path, segment, payload): Sent) {
        let mptcp = match &mut self.endpoint {
            Endpoint::Mptcp(mptcp) => mptcp,
            Endpoint::Tcp(tcp) => {
                self.arrived.put(tcp.receive_offset(&segment), &payload);
                return tcp.handle_segment(now, &segment);
            }
        };
        let (unchecked, accepted) = &mut self.unchecked[path];
        let place = mptcp.receive_offset(path, &segment);
        match place {
            None if !payload.is_empty() => return, // as if it were lost
            Some(_) if mptcp.checks() => {
                unchecked.put(mptcp.subflow(path).map_or(0, |tcp| tcp.receive_offset(&segment)), &payload);
            }
            Some(place) => self.arrived.put(place, &payload),
            None => {}
        }
        mptcp.handle_segment(now, path, &segment);
        while let Some(len) = mptcp.whole_mapping(path) {
            let bytes = unchecked.take(*accepted, len.into());
            if let Some(data) = mptcp.accept_mapping(now, path, &bytes) {
                *accepted += u64::from(len);
                self.arrived.put(data, &bytes);
            }
        }
        if mptcp.is_fallback() && path == 0 {
            let left = std::mem::take(&mut unchecked.0).into_iter().zip(0u64..).skip(*accepted as usize);
            left.for_each(|(byte, at)| byte.iter().for_each(|byte| self.arrived.put(at, &[*byte])));
        }
    }

    /// Data or checksum of the next segment is altered.
    fn alter(&mut self, bits: u8) {
        let Some((_, _, segment, payload)) = self.sent.front_mut() else { return };
        let MptcpOption::Dss { checksum: Some(checksum), .. } = &mut segment.mptcp else { return };
        match payload.first_mut() {
            Some(first) => *first ^= bits,
            None => *checksum ^= u16::from(bits),
        }
        self.is_altered |= bits != 0;
    }

    fn poll_timeout(&self) -> Time {
        either!(&self.endpoint, end => end.poll_timeout())
    }

    fn is_closed(&self) -> bool {
        either!(&self.endpoint, end => end.is_closed())
    }
}

fn pair(choice: [u8; 4]) -> [End; 2] {
    let [kind, profile, cc, rule] = choice.map(usize::from);
    let (profile, _) = Config::PROFILES[profile % Config::PROFILES.len()];
    let tcp = Config { receive_buffer: 1 << 17, ..Config::profile(profile).expect("listed") };
    let controls = playpath_cc::entries();
    let control = || {
        let found = controls.iter().cycle().skip(cc % controls.len()).find(|entry| !entry.is_coupled);
        playpath_cc::build(found.expect("some control is not coupled").name, tcp.initial_window()).expect("listed")
    };
    if kind % 2 == 0 {
        let client = Connection::connect(Time::ZERO, tcp, control());
        return [client, Connection::listen(tcp, control())].map(|end| End::new(Endpoint::Tcp(Box::new(end))));
    }
    let rules = scheduler::entries();
    let rule = || scheduler::build(rules[rule % rules.len()].name).expect("listed");
    let tcp = Config { tunes_window: kind % 4 == 1, ..tcp };
    let paths = || (0..PATHS).map(|path| PathConfig { tcp, cc: control(), is_backup: path == 2 }).collect();
    let config = |key| MptcpConfig {
        key,
        nonce: 7,
        send_buffer: 1 << 17,
        receive_buffer: 1 << 17,
        is_coupled: false,
        requires_checksums: kind % 8 == 3,
    };
    let client = MptcpConnection::connect(Time::ZERO, config(1), rule(), paths());
    [client, MptcpConnection::listen(config(2), rule(), paths())].map(|end| End::new(Endpoint::Mptcp(Box::new(end))))
}

/// Deliver what arrives by `now`, and what that leads to.
fn deliver(ends: &mut [End; 2], now: Time) {
    for from in 0..2 {
        while ends[from].sent.front().is_some_and(|sent| sent.0 <= now) {
            let sent = ends[from].sent.pop_front().expect("looked at");
            ends[1 - from].take(now, sent);
            ends[1 - from].drain(now);
        }
    }
    ends.iter_mut().for_each(|end| end.drain(now));
}

fn operate(ends: &mut [End; 2], now: &mut Time, code: u8, size: u16) {
    let is_altered = ends.iter().any(|end| end.is_altered);
    let end = &mut ends[usize::from(code >> 7)];
    let (bits, size) = (size as u8, u64::from(size));
    match code & 0x7f {
        0..16 => end.write(size),
        16..32 => end.read(size, is_altered),
        32..80 => *now += Duration::from_micros(size),
        80..90 => *now += Duration::from_millis(size),
        90..104 => drop(end.sent.pop_front()),
        104..112 => end.sent.extend(end.sent.front().cloned()),
        112..120 => end.sent.rotate_left(usize::from(!end.sent.is_empty())),
        120..122 => end.sent.clear(),
        122..124 => end.alter(bits),
        _ => end.close(*now),
    }
    deliver(ends, *now);
}

fuzz_target!(|input: ([u8; 4], Vec<(u8, u16)>)| {
    let (choice, operations) = input;
    let mut ends = pair(choice);
    let mut now = Time::ZERO;
    deliver(&mut ends, now);
    for (code, size) in operations {
        operate(&mut ends, &mut now, code, size);
        assert!(ends[0].read <= ends[1].written && ends[1].read <= ends[0].written, "reads what was not written");
    }
    // The network is sound from here on.
    for _ in 0..20_000 {
        deliver(&mut ends, now);
        let is_altered = ends.iter().any(|end| end.is_altered);
        for end in &mut ends {
            end.close(now);
            end.read(u64::MAX, is_altered);
        }
        deliver(&mut ends, now);
        let arrivals = ends.iter().filter_map(|end| end.sent.iter().map(|sent| sent.0).min());
        let next = arrivals.chain(ends.iter().map(End::poll_timeout)).min().expect("two timers");
        if next == Time::MAX {
            break;
        }
        // What was rotated may lie behind what comes later.
        ends.iter_mut().for_each(|end| end.sent.make_contiguous().sort_by_key(|sent| sent.0));
        now = now.max(next);
    }
    if ends.iter().all(|end| !end.is_reset) {
        assert_eq!([ends[0].read, ends[1].read], [ends[1].written, ends[0].written], "written and not read");
        assert!(ends.iter().all(End::is_closed), "does not close");
    }
});
