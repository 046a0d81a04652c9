use super::*;
use playpath_transport::SackBlocks;
use playpath_transport::codec::{Envelope, Payload, encode};
use playpath_transport::mptcp::option::DSS_SEQ8;

fn at(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

fn flow() -> Flow {
    let end = SocketAddr::from(([10, 0, 0, 1], 80));
    Flow::new(0, (end, end, TCP))
}

fn data(seq: u32, payload_len: u32) -> Segment {
    Segment { seq, payload_len, flags: Flags::ACK, ..Segment::default() }
}

fn ack(ack: u32, sack: &[(u32, u32)]) -> Segment {
    let mut blocks = SackBlocks::EMPTY;
    sack.iter().for_each(|(left, right)| assert!(blocks.push(*left, *right)));
    Segment { ack, sack: blocks, ..data(0, 0) }
}

fn samples(flow: &Flow) -> (u64, u64) {
    (flow.rtt_samples, flow.rtt_sum.as_nanos() / 1_000_000)
}

#[test]
fn an_ack_of_two_segments_is_timed_from_the_first() {
    let mut flow = flow();
    // Across the wrap of the sequence space.
    flow.note_sent(&data(u32::MAX - 50, 100), at(0));
    flow.note_sent(&data(49, 100), at(10));
    flow.note_ack(&ack(149, &[]), at(60));
    assert_eq!(samples(&flow), (1, 60));
    flow.note_ack(&ack(149, &[]), at(70));
    assert_eq!(samples(&flow), (1, 60), "nothing new");
}

#[test]
fn what_was_sent_twice_gives_no_sample() {
    let mut flow = flow();
    flow.note_sent(&data(0, 100), at(0));
    flow.note_sent(&data(0, 100), at(200));
    flow.note_sent(&data(100, 100), at(201));
    flow.note_ack(&ack(100, &[]), at(250));
    assert_eq!(samples(&flow), (0, 0));
    flow.note_ack(&ack(200, &[]), at(251));
    assert_eq!(samples(&flow), (1, 50));
}

/// The first segment is lost; the second is acknowledged out of order, and not timed again when the hole is filled.
#[test]
fn a_sacked_segment_is_timed_once() {
    let mut flow = flow();
    flow.note_sent(&data(0, 100), at(0));
    flow.note_sent(&data(100, 100), at(1));
    flow.note_ack(&ack(0, &[(100, 200)]), at(51));
    assert_eq!(samples(&flow), (1, 50));
    flow.note_sent(&data(0, 100), at(52));
    flow.note_ack(&ack(200, &[]), at(102));
    assert_eq!(samples(&flow), (1, 50));
}

/// A client that gives up with a queue full of packets under way.
#[test]
fn what_arrives_after_the_clients_end_of_a_flow_is_not_counted() {
    let end = |host| SocketAddr::from(([10, 0, 0, host], 80));
    for (flags, counted) in [(Flags::ACK, 100), (Flags::ACK.with(Flags::FIN), 50), (Flags::RST, 50)] {
        let flows = Flows::default();
        let packet = |segment: Segment, source, destination| {
            let envelope = Envelope { source, destination, window_scale: 0, identification: 0 };
            let mut bytes = Vec::new();
            encode(&segment, &[], &envelope, Payload::Zeros, &mut bytes).unwrap();
            bytes
        };
        let data = packet(data(0, 10), end(1), end(2));
        let sent = || flows.note_sent(0, &Packet::parse(&data).unwrap(), at(0)).unwrap();
        let (first, second) = (sent(), sent());
        first.note_arrived(data.len());
        let last = packet(Segment { flags, ..Segment::default() }, end(2), end(1));
        flows.note_client_sent(0, &Packet::parse(&last).unwrap());
        second.note_arrived(data.len());
        assert_eq!(flows.take().0[0].arrived_bytes, counted, "{flags:?}");
    }
}

/// Ten bytes each: path, sequence number there, data sequence number. The last is a copy of the second path's first.
#[test]
fn data_on_another_path_is_a_switch_in_the_order_of_the_data() {
    let flows = Flows::default();
    let end = |host, port| SocketAddr::from(([10, 0, host, 1], port));
    for (path, seq, data_seq) in
        [(0, 0, 0), (0, 10, 10), (1, 0, 20), (0, 10, 10), (1, 10, 30), (0, 20, 40), (0, 30, 20)]
    {
        let (source, destination) = (end(path as u8, 80), end(9, 256));
        let envelope = Envelope { source, destination, window_scale: 0, identification: 0 };
        let flags = DSS_MAP | DSS_SEQ8;
        let mptcp = MptcpOption::Dss { flags, data_ack: 0, data_seq, subflow_seq: seq, len: 10, checksum: None };
        let mut bytes = Vec::new();
        encode(&Segment { mptcp, ..data(seq, 10) }, &[], &envelope, Payload::Zeros, &mut bytes).unwrap();
        let mark = flows.note_sent(path, &Packet::parse(&bytes).unwrap(), at(1)).unwrap();
        if seq == 20 {
            mark.note_drop();
        } else {
            mark.note_arrived(bytes.len());
        }
    }
    // Data: 0 0 1 1 0, two changes. As it leaves 0 0 1 0 1 0 0: four.
    let (found, switches) = flows.take();
    let counts: Vec<_> = switches.iter().map(|(port, c)| (*port, c.of_data(), c.on_the_wire)).collect();
    assert_eq!(counts, [(80, 2, 4)]);
    assert_eq!(found.iter().map(|flow| flow.data_packets).collect::<Vec<_>>(), [5, 2]);
    assert_eq!(found.iter().map(|flow| flow.dropped_data_packets).collect::<Vec<_>>(), [1, 0]);
}
