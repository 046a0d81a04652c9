//! No allocation per packet in steady state. A binary of its own: it counts every allocation of the process.

mod support;

use playpath_transport::mptcp::{MptcpConfig, MptcpConnection, PathConfig, scheduler};
use playpath_transport::{Config, Connection};
use playpath_units::random::RootSeed;
use playpath_units::{Duration, Rate, Time};
use support::{Pair, Pipe, Reno};

/// With losses, a window that keeps its size, and after buffers have grown to what they need.
#[test]
fn tcp_allocates_nothing_per_packet() {
    for (profile, _) in Config::PROFILES {
        let config = Config::profile(profile).unwrap();
        let mut random = RootSeed(3).stream("loss");
        let fate = move |from_client: bool, _, segment: &playpath_transport::Segment| {
            !(from_client && segment.payload_len > 0 && random.chance(0.005))
        };
        let pipes = [
            Pipe::new(Some(Rate::from_bits_per_sec(50_000_000)), Duration::from_millis(10)),
            Pipe::new(None, Duration::from_millis(10)),
        ];
        let mut pair = Pair::new(config, config, [Reno::fixed(80.0), Reno::fixed(10.0)], pipes, fate);
        let mut run = |until| {
            while pair.now < Time::from_secs(until) {
                pair.client.write(u64::MAX);
                pair.step();
            }
        };
        run(30);
        let count = allocation_counter::measure(|| run(40));
        assert_eq!(count.count_total, 0, "{profile} allocates");
        assert!(pair.client.stats().retransmitted_packets > 50, "{profile}");
    }
}

/// Memory limits crowds of idle connections: what only data, or only a loss needs is made with the first.
#[test]
#[cfg(target_pointer_width = "64")]
fn an_idle_connection_is_small() {
    assert!(size_of::<Connection>() <= 912, "{} bytes", size_of::<Connection>());
    let config = std::sync::Arc::new(Config::linux());
    let control = Reno::fixed(10.0);
    let held = allocation_counter::measure(|| drop(Connection::listen(config, control)));
    assert_eq!(held.count_total, 0, "{} bytes beside it", held.bytes_max);
}

/// Two paths of unlike delay, so that data waits in order at the receiver.
#[test]
fn mptcp_allocates_nothing_per_packet() {
    let config = |key| MptcpConfig {
        key,
        nonce: 1,
        send_buffer: 1 << 40,
        receive_buffer: 4 << 20,
        is_coupled: false,
        requires_checksums: false,
    };
    let tcp = Config { tunes_window: false, ..Config::linux() };
    let paths = || (0..2).map(|_| PathConfig { tcp, cc: Reno::fixed(40.0), is_backup: false }).collect();
    let build = || scheduler::build("dft").unwrap();
    let mut client = MptcpConnection::connect(Time::ZERO, config(1), build(), paths());
    let mut server = MptcpConnection::listen(config(2), build(), paths());
    client.write(1 << 39);
    let pipe = |millis| Pipe::new(Some(Rate::from_bits_per_sec(20_000_000)), Duration::from_millis(millis));
    let mut pipes = [pipe(10), pipe(30), pipe(10), pipe(30)];
    let mut now = Time::ZERO;
    let mut run = |until| {
        while now < Time::from_secs(until) {
            while let Some((path, segment)) = client.poll_transmit(now) {
                pipes[path].push(now, segment);
            }
            while let Some((path, segment)) = server.poll_transmit(now) {
                pipes[2 + path].push(now, segment);
            }
            let first = (0..4).min_by_key(|&i| pipes[i].next_at()).unwrap();
            now = pipes[first].next_at().min(client.poll_timeout()).min(server.poll_timeout());
            if pipes[first].next_at() > now {
                client.handle_timeout(now);
                server.handle_timeout(now);
            } else if first < 2 {
                server.handle_segment(now, first, &pipes[first].pop());
                server.read(u64::MAX);
                while server.poll_event().is_some() {}
            } else {
                client.handle_segment(now, first - 2, &pipes[first].pop());
            }
        }
    };
    run(10);
    let count = allocation_counter::measure(|| run(15));
    assert_eq!(count.count_total, 0);
    assert!(server.bytes_delivered() > 20_000_000, "{}", server.bytes_delivered());
}
