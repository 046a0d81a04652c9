//! The loop on a machine whose clock the tests hold: what it does at which moment is exact, however busy the real machine is.

use super::*;
use playpath_transport::codec::{Envelope, Payload, encode};
use playpath_transport::{Flags, Segment};
use serde_json::{Value, json};
use std::cell::Cell;
use std::collections::VecDeque;
use std::net::SocketAddr;

/// What a look at the clock takes, so that watching it comes to an end.
const LOOK: u64 = 50;
/// What the clock shows when the emulator starts.
const BOOT: u64 = 5_000_000_000;

/// A machine that sleeps as long as it is told and `late` longer.
struct FakeMachine {
    clock: Cell<u64>,
    late: u64,
    /// When which device gets which packet.
    packets: VecDeque<(u64, usize, Vec<u8>)>,
    words: VecDeque<(u64, Order)>,
    /// When which device was handed which packet: time since `BOOT`.
    delivered: Vec<(u64, usize, Vec<u8>)>,
}

impl FakeMachine {
    fn next(&self) -> u64 {
        let packet = self.packets.front().map(|(at, ..)| *at);
        let word = self.words.front().map(|(at, _)| *at);
        packet.into_iter().chain(word).min().unwrap_or(u64::MAX)
    }
}

impl Machine for FakeMachine {
    fn now_nanos(&self) -> u64 {
        self.clock.set(self.clock.get() + LOOK);
        self.clock.get()
    }

    fn wait(&mut self, nanos: Option<u64>) -> Result<bool, EmulatorError> {
        let now = self.clock.get();
        let until = nanos.map_or(u64::MAX, |nanos| now + nanos);
        let woken = self.next().min(until);
        assert!(woken < u64::MAX, "it would sleep for ever");
        if woken > now {
            self.clock.set(woken + self.late);
        }
        Ok(self.next() <= self.clock.get())
    }

    fn next_order(&mut self) -> Result<Order, EmulatorError> {
        let is_due = self.words.front().is_some_and(|(at, _)| *at <= self.clock.get());
        Ok(if is_due { self.words.pop_front().map_or(Order::Nothing, |(_, order)| order) } else { Order::Nothing })
    }

    fn has_packet(&self, device: usize) -> bool {
        self.packets.front().is_some_and(|(at, to, _)| *at <= self.clock.get() && *to == device)
    }

    fn read(&mut self, device: usize, buffer: &mut [u8]) -> Result<Option<usize>, EmulatorError> {
        if !self.has_packet(device) {
            return Ok(None);
        }
        let (_, _, packet) = self.packets.pop_front().expect("it has come");
        buffer[..packet.len()].copy_from_slice(&packet);
        Ok(Some(packet.len()))
    }

    fn write(&mut self, device: usize, packet: &[u8]) {
        self.delivered.push((self.clock.get() - BOOT, device, packet.to_vec()));
    }
}

/// What a run gave: the measurements, and the packets that reached the client, by number, with the time in microseconds.
struct Outcome {
    measure: RunMeasure,
    arrived: Vec<(u32, u64)>,
}

impl Outcome {
    fn numbers(&self) -> Vec<u32> {
        self.arrived.iter().map(|(number, _)| *number).collect()
    }
}

/// Play `packets` (microseconds, number; 1250 bytes of payload each) of the server's over the path that `keys` describe, on a machine
/// that wakes up `late` nanoseconds late. `begin`: the run begins then. It ends after 10 s.
fn play(mut keys: Value, packets: &[(u64, u32)], begin: Option<u64>, late: u64) -> Outcome {
    keys["name"] = json!("p");
    let end = |device: &str| json!({ "namespace": null, "device": device });
    let config = json!({
        "scenario": { "path": [keys], "traffic": [{ "kind": "bulk" }] },
        "ends": [{ "path": "p", "server": end("a"), "client": end("b") }],
        "run": { "seed": 5 },
    });
    let config = Config::parse(&config.to_string()).expect("a configuration");
    let at = |micros: u64| BOOT + micros * 1000;
    let begun = begin.map(|micros| (at(micros) - 1_000_000, Order::Start(at(micros))));
    let machine = FakeMachine {
        clock: Cell::new(BOOT),
        late,
        packets: packets.iter().map(|(micros, number)| (at(*micros), 0, packet(*number))).collect(),
        words: begun.into_iter().chain([(at(10_000_000), Order::End)]).collect(),
        delivered: Vec::new(),
    };
    let mut engine = Engine::new(&config, machine).expect("links");
    engine.run().expect("a run");
    let (measure, machine, written) = engine.finish();
    written.expect("nothing is written");
    let to_client = machine.delivered.iter().filter(|(_, device, _)| *device == 1);
    let arrived = to_client.map(|(at, _, bytes)| (Packet::parse(bytes).unwrap().segment(0).unwrap().seq, at / 1000));
    Outcome { measure, arrived: arrived.collect() }
}

/// 1290 bytes: headers of 40 and 1250 of payload. The number is TCP's sequence number.
fn packet(number: u32) -> Vec<u8> {
    let end = |host| SocketAddr::from(([10, 0, 0, host], 80));
    let envelope = Envelope { source: end(1), destination: end(2), window_scale: 0, identification: 0 };
    let segment = Segment { seq: number, payload_len: 1250, flags: Flags::ACK, ..Segment::default() };
    let mut bytes = Vec::new();
    encode(&segment, &[], &envelope, Payload::Zeros, &mut bytes).expect("it fits");
    bytes
}

/// 40 packets of 1290 B at once into 1 Mbit/s with room for 20: one in service, 20 waiting, 19 dropped. Each of the others takes
/// 10.32 ms, and 1 ms of propagation.
#[test]
fn a_burst_fills_the_queue_and_drains_at_the_rate() {
    let keys = || json!({ "rate": "1 Mbit/s", "rtt": "2 ms", "queue": "20 packets" });
    let burst: Vec<(u64, u32)> = (0..40).map(|number| (0, number)).collect();
    for late in [0, 80_000, 5_000_000] {
        let outcome = play(keys(), &burst, None, late);
        assert_eq!(outcome.numbers(), (0..21).collect::<Vec<_>>());
        for (number, micros) in &outcome.arrived {
            let due = 1_000 + 10_320 * (u64::from(*number) + 1);
            // All were read in one turn of the loop; a late machine hands over late, and not ever later.
            assert!(
                (due..=due + 60 + late / 1000).contains(micros),
                "{number} at {micros} instead of {due} ({late} late)"
            );
        }
        let down = &outcome.measure.link_stats[0];
        assert_eq!((down.dropped.queue_full.packets, down.max_queue_packets), (19, 20));
        assert_eq!(outcome.measure.flows[0].dropped_data_packets, 19);
        assert_eq!(outcome.measure.flows[0].arrived_bytes, 21 * 1290);
        let slips = outcome.measure.routes[0].slips;
        assert_eq!(slips > 0, late > 1_000_000, "{slips}");
    }
}

/// Preparation takes two packets. Then the run begins: the pattern of losses starts anew, and so do the outage, which is of the run's time,
/// and the counts.
#[test]
fn losses_and_outages_begin_with_the_run() {
    let keys = json!({ "rate": "unlimited", "rtt": "10 ms", "loss": { "kind": "pattern", "file": { "content": "01" } },
        "outage": { "from": "100 ms", "until": "400 ms" } });
    // The second packet of each phase is lost; 5 is in the outage.
    let packets = [(450_000, 1), (451_000, 2), (560_000, 3), (561_000, 4), (700_000, 5), (960_000, 6), (961_000, 7)];
    let outcome = play(keys, &packets, Some(500_000), 0);
    assert_eq!(outcome.numbers(), [1, 3, 6]);
    let link = &outcome.measure.link_stats[0];
    assert_eq!((link.offered.packets, link.delivered.packets), (5, 2));
    assert_eq!((link.dropped.loss.packets, link.dropped.outage.map(|count| count.packets)), (2, Some(1)));
    // A flow counts all that it sent, before the word too.
    let flow = &outcome.measure.flows[0];
    assert_eq!((flow.data_packets, flow.dropped_data_packets), (7, 4));
    assert_eq!(outcome.measure.start_nanos, BOOT + 500_000_000);
}

/// What is on its way when the run begins arrives at once, and is not of the run.
#[test]
fn the_run_begins_with_empty_links() {
    let keys = json!({ "rate": "unlimited", "rtt": "1 s" });
    let outcome = play(keys, &[(400_000, 1), (600_000, 2)], Some(500_000), 0);
    assert_eq!(outcome.numbers(), [1, 2]);
    assert!((500_000..500_100).contains(&outcome.arrived[0].1), "{:?}", outcome.arrived);
    assert!((1_100_000..1_100_060).contains(&outcome.arrived[1].1), "{:?}", outcome.arrived);
    assert_eq!(outcome.measure.link_stats[0].offered.packets, 1);
}
