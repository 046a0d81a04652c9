//! No order of operations on a pair of endpoints, TCP or MPTCP, over a network that loses, doubles and delays, makes one panic, send
//! without end, or read what was not written; when the network recovers, all that was written is read and both sides close.
#![no_main]

use libfuzzer_sys::fuzz_target;
use playpath_transport::mptcp::{MptcpConfig, MptcpConnection, PathConfig, scheduler};
use playpath_transport::{Config, Connection, Event, Segment};
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

    fn handle_segment(&mut self, now: Time, path: usize, segment: &Segment) {
        match self {
            Endpoint::Tcp(tcp) => tcp.handle_segment(now, segment),
            Endpoint::Mptcp(mptcp) => mptcp.handle_segment(now, path, segment),
        }
    }
}

struct End {
    endpoint: Endpoint,
    written: u64,
    read: u64,
    has_closed: bool,
    is_reset: bool,
    /// On the way to the peer, in the order of arrival.
    sent: VecDeque<(Time, usize, Segment)>,
}

impl End {
    fn new(endpoint: Endpoint) -> End {
        End { endpoint, written: 0, read: 0, has_closed: false, is_reset: false, sent: VecDeque::new() }
    }

    fn write(&mut self, bytes: u64) {
        if !self.has_closed {
            self.written += either!(&mut self.endpoint, end => end.write(bytes));
        }
    }

    fn read(&mut self, bytes: u64) {
        self.read += either!(&mut self.endpoint, end => end.read(bytes));
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
            let Some((path, segment)) = self.endpoint.poll_transmit(now) else { break };
            self.sent.push_back((now + DELAY, path, segment));
        }
        while let Some(event) = either!(&mut self.endpoint, end => end.poll_event()) {
            self.is_reset |= event == Event::Reset;
        }
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
            let (_, path, segment) = ends[from].sent.pop_front().expect("looked at");
            ends[1 - from].endpoint.handle_segment(now, path, &segment);
            ends[1 - from].drain(now);
        }
    }
    ends.iter_mut().for_each(|end| end.drain(now));
}

fn operate(ends: &mut [End; 2], now: &mut Time, code: u8, size: u16) {
    let end = &mut ends[usize::from(code >> 7)];
    let size = u64::from(size);
    match code & 0x7f {
        0..16 => end.write(size),
        16..32 => end.read(size),
        32..80 => *now += Duration::from_micros(size),
        80..90 => *now += Duration::from_millis(size),
        90..104 => drop(end.sent.pop_front()),
        104..112 => end.sent.extend(end.sent.front().copied()),
        112..120 => end.sent.rotate_left(usize::from(!end.sent.is_empty())),
        120..124 => end.sent.clear(),
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
        for end in &mut ends {
            end.close(now);
            end.read(u64::MAX);
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
