//! Cost per data packet of a pair of endpoints in memory: both ends together (send, receive and acknowledge, process the ACK).
//!
//! `cargo run --release -p playpath-transport --example cost [PROFILE [WINDOW]]`

#[path = "../tests/support/mod.rs"]
mod support;

use playpath_transport::mptcp::{MptcpConfig, MptcpConnection, PathConfig, scheduler};
use playpath_transport::{Config, Connection, Segment};
use playpath_units::random::{RootSeed, Stream};
use playpath_units::{Duration, Time};
use std::collections::VecDeque;
use support::Reno;

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    println!("{:>10} {:>7} {:>7} {:>14} {:>10}", "profile", "window", "loss", "ns/data packet", "rexmit %");
    for profile in ["linux", "ns2", "rfc"] {
        for window in [10.0, 100.0, 1000.0] {
            if wanted.first().is_some_and(|w| w != profile) || wanted.get(1).is_some_and(|w| *w != window.to_string()) {
                continue;
            }
            for loss in [0.0, 0.01] {
                let config =
                    Config { send_buffer: 1 << 40, receive_buffer: 64 << 20, ..Config::profile(profile).unwrap() };
                let (packets, nanos, rexmit) = run(config, window, loss);
                println!(
                    "{profile:>10} {window:>7} {loss:>7} {:>14.1} {:>10.2}",
                    nanos as f64 / packets as f64,
                    100.0 * rexmit as f64 / packets as f64
                );
            }
        }
    }
    if wanted.is_empty() || wanted[0] == "mptcp" {
        for (paths, scheduler) in [(1, "dft"), (3, "dft"), (3, "tr-sty"), (3, "linux"), (3, "blest")] {
            let (packets, nanos) = run_mptcp(paths, scheduler);
            println!("mptcp, {paths} paths, {scheduler}: {:.1} ns/data packet", nanos as f64 / packets as f64);
        }
    }
    println!("idle connection: {} bytes", std::mem::size_of::<Connection>());
    println!("segment: {} bytes", std::mem::size_of::<Segment>());
}

/// Time that this process has spent on a processor (Linux): other load does not count.
fn cpu_nanos() -> u64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").expect("/proc/self/schedstat (Linux)");
    text.split(' ').next().and_then(|field| field.parse().ok()).expect("nanoseconds")
}

/// A fixed window over a path of 50 ms each way, packets a fiftieth of the window's RTT apart.
fn run(config: Config, window: f64, loss: f64) -> (u64, u64, u64) {
    let mut client = Connection::connect(Time::ZERO, config, Reno::fixed(window));
    let mut server = Connection::listen(config, Reno::fixed(10.0));
    let mut random: Stream = RootSeed(1).stream("loss");
    let (mut up, mut down) = (VecDeque::<(Time, Segment)>::new(), VecDeque::<(Time, Segment)>::new());
    client.write(1 << 39);
    let delay = Duration::from_millis(50);
    let gap = Duration::from_nanos((100e6 / window) as u64);
    let (mut free, mut now) = (Time::ZERO, Time::ZERO);
    let target = 300_000;
    let start = cpu_nanos();
    let (mut client_turn, mut server_turn) = (true, false);
    while client.stats().data_segments_sent < target {
        // Only the endpoint that an event touched is polled, as an engine does.
        while client_turn && let Some(segment) = client.poll_transmit(now) {
            if loss == 0.0 || segment.payload_len == 0 || !random.chance(loss) {
                free = free.max(now) + gap;
                up.push_back((free + delay, segment));
            }
        }
        while server_turn && let Some(segment) = server.poll_transmit(now) {
            down.push_back((now + delay, segment));
        }
        let (a, b) = (up.front().map_or(Time::MAX, |x| x.0), down.front().map_or(Time::MAX, |x| x.0));
        let timer = client.poll_timeout().min(server.poll_timeout());
        now = a.min(b).min(timer);
        (client_turn, server_turn) = (a != now, b != now || a == now);
        if a == now {
            let (_, segment) = up.pop_front().unwrap();
            server.handle_segment(now, &segment);
            server.read(u64::MAX);
            while server.poll_event().is_some() {}
        } else if b == now {
            let (_, segment) = down.pop_front().unwrap();
            client.handle_segment(now, &segment);
        } else {
            client.handle_timeout(now);
            server.handle_timeout(now);
        }
    }
    (client.stats().data_segments_sent, cpu_nanos() - start, client.stats().retransmitted_packets)
}

/// Fixed windows of 100 packets on each of some paths of 50 ms each way.
fn run_mptcp(paths: usize, scheduler: &str) -> (u64, u64) {
    let config = |key| MptcpConfig {
        key,
        nonce: 1,
        send_buffer: 1 << 40,
        receive_buffer: 64 << 20,
        has_tuned_window: false,
        is_coupled: false,
        requires_checksums: false,
    };
    let path = |_| PathConfig { tcp: Config::linux(), cc: Reno::fixed(100.0), is_backup: false };
    let all = || (0..paths).map(path).collect::<Vec<_>>();
    let build = || scheduler::build(scheduler).unwrap();
    let mut client = MptcpConnection::connect(Time::ZERO, config(1), build(), all());
    let mut server = MptcpConnection::listen(config(2), build(), all());
    client.write(1 << 39);
    let (delay, gap) = (Duration::from_millis(50), Duration::from_millis(1));
    let mut up = vec![(Time::ZERO, VecDeque::<(Time, Segment)>::new()); paths];
    let mut down = up.clone();
    let (mut now, mut sent) = (Time::ZERO, 0);
    let (mut client_turn, mut server_turn) = (true, false);
    let start = cpu_nanos();
    while sent < 300_000 {
        while client_turn && let Some((path, segment)) = client.poll_transmit(now) {
            sent += u64::from(segment.payload_len > 0);
            let (free, queue) = &mut up[path];
            *free = (*free).max(now) + gap;
            queue.push_back((*free + delay, segment));
        }
        while server_turn && let Some((path, segment)) = server.poll_transmit(now) {
            down[path].1.push_back((now + delay, segment));
        }
        let next = |pipes: &[(Time, VecDeque<(Time, Segment)>)]| {
            (0..paths).map(|p| (pipes[p].1.front().map_or(Time::MAX, |x| x.0), p)).min().unwrap()
        };
        let (a, b) = (next(&up), next(&down));
        now = a.0.min(b.0).min(client.poll_timeout()).min(server.poll_timeout());
        (client_turn, server_turn) = (a.0 != now, b.0 != now || a.0 == now);
        if a.0 == now {
            let (_, segment) = up[a.1].1.pop_front().unwrap();
            server.handle_segment(now, a.1, &segment);
            server.read(u64::MAX);
            while server.poll_event().is_some() {}
        } else if b.0 == now {
            let (_, segment) = down[b.1].1.pop_front().unwrap();
            client.handle_segment(now, b.1, &segment);
        } else {
            client.handle_timeout(now);
            server.handle_timeout(now);
        }
    }
    (sent, cpu_nanos() - start)
}
