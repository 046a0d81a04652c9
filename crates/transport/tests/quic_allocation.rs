//! No allocation per packet in steady state. A binary of its own: it counts every allocation of the process.

mod quic_support;

use playpath_transport::quic::Connection;
use playpath_transport::quic::config::Config;
use playpath_units::random::RootSeed;
use playpath_units::{Rate, Time};
use quic_support::{Pair, Wire};

/// With losses in both directions, after buffers have grown to what they need.
#[test]
fn quic_allocates_nothing_per_packet() {
    let mut config = Config { send_buffer: 1 << 40, ..Config::default() };
    config.flow.max_stream = config.flow.stream;
    let control = || playpath_cc::build("newreno", 10.0).unwrap();
    let client = Connection::connect(Time::ZERO, config, control());
    let server = Connection::listen(config, control());
    let mut random = RootSeed(3).stream("loss");
    let mut wires = [Wire::new(None, 10), Wire::new(None, 10)];
    wires[1].rate = Some(Rate::from_bits_per_sec(20_000_000));
    wires[1].queue_bytes = 60_000;
    let mut pair = Pair::new(client, server, wires, move |_, _, _| !random.chance(0.005));
    pair.keeps_events = false;
    pair.run_until(Time::from_secs(5));
    let id = pair.client.open().unwrap();
    pair.client.write(id, 100);
    pair.run_until(Time::from_secs(6));
    assert_eq!(pair.server.write(id, 1 << 39), 1 << 39);
    pair.run_until(Time::from_secs(45));
    let (lost, acked) = (pair.server.stats().packets_lost, pair.server.stats().bytes_acked);
    let count = allocation_counter::measure(|| pair.run_until(Time::from_secs(75)));
    let stats = pair.server.stats();
    assert!(stats.packets_lost > lost + 50 && stats.bytes_acked > acked + 10_000_000, "{stats:?}");
    assert_eq!(count.count_total, 0, "allocations");
}
