//! A peer that sends what it likes: nothing panics, and memory stays bounded.

mod quic_support;

use playpath_transport::Ecn;
use playpath_transport::quic::packet::{Ack, Address, Datagram, EcnCounts, Frame, FrameList, Kind, Packet};
use playpath_transport::quic::ranges::RangeSet;
use playpath_transport::quic::varint;
use playpath_units::random::{RootSeed, Stream};
use playpath_units::{Duration, Time};
use proptest::prelude::*;
use quic_support::{Pair, Wire, ends};
use std::collections::BTreeSet;

/// Mostly small, at times at the limits of the encoding.
fn number(random: &mut Stream) -> u64 {
    match random.bits() % 8 {
        0 => varint::MAX,
        1 => random.bits() & varint::MAX,
        2 => random.bits() % 2_000_000,
        _ => random.bits() % 12,
    }
}

fn frame(random: &mut Stream) -> Frame {
    let (id, value) = (number(random), number(random));
    let len = (random.bits() % 1200) as u32;
    let flag = random.chance(0.1);
    match random.bits() % 15 {
        0 => Frame::ResetStream { id, code: 0, final_size: value },
        1 => Frame::StopSending { id, code: 0 },
        2 => Frame::Crypto { offset: value, len, is_end: flag },
        3 => Frame::MaxData(value),
        4 => Frame::MaxStreamData { id, max: value },
        5 => Frame::MaxStreams(value),
        6 => Frame::DataBlocked(value),
        7 => Frame::StreamDataBlocked { id, limit: value },
        8 => Frame::NewConnectionId { path_id: 0, sequence: value },
        9 if value % 2 == 0 => Frame::RetireConnectionId { path_id: 0, sequence: value },
        9 => Frame::PathChallenge(value),
        10 => Frame::PathResponse(value),
        11 => Frame::HandshakeDone,
        _ => Frame::Stream { id, offset: value, len, fin: flag },
    }
}

fn packet(random: &mut Stream) -> Packet {
    let kind = [Kind::Initial, Kind::ZeroRtt, Kind::Handshake, Kind::OneRtt, Kind::OneRtt, Kind::OneRtt];
    let mut frames = FrameList::default();
    for _ in 0..random.bits() % 4 {
        frames.push(frame(random));
    }
    let mut ranges = vec![];
    let mut top = number(random).max(1);
    for _ in 0..random.bits() % 5 {
        let low = top.saturating_sub(random.bits() % 40 + 1);
        ranges.push(low..top);
        top = low.saturating_sub(random.bits() % 9 + 1).max(1);
    }
    let counts = EcnCounts { ect0: number(random), ect1: 0, ce: number(random) };
    let ack = Ack::new(ranges.iter(), number(random), random.chance(0.3).then_some(counts));
    let parameters = None;
    let kind = kind[(random.bits() % 6) as usize];
    Packet { kind, number: number(random), frames, bytes: 1200, parameters, ..Packet::default() }.with_ack(ack)
}

#[test]
fn nothing_a_peer_sends_breaks_an_endpoint() {
    let mut violations = 0;
    for seed in 0..400 {
        let mut random = RootSeed(seed).stream("hostile");
        let [client, server] = ends(|config| config.marking = [Ecn::Ect0, Ecn::NotEct][seed as usize % 2]);
        let mut pair = Pair::new(client, server, [Wire::new(None, 5), Wire::new(None, 5)], |_, _, _| true);
        pair.run_until(Time::from_millis(random.bits() % 60));
        for _ in 0..300 {
            let datagram = Datagram {
                from: Address { host: (random.bits() % 3) as u16, port: 50_000 },
                to: Address::default(),
                ecn: [Ecn::NotEct, Ecn::Ect0, Ecn::Ce][(random.bits() % 3) as usize],
                packet: packet(&mut random),
                ..Datagram::default()
            };
            let end = if random.chance(0.5) { &mut pair.server } else { &mut pair.client };
            end.handle_datagram(pair.now, &datagram);
            pair.run_until(pair.now + Duration::from_millis(random.bits() % 30));
        }
        violations += u32::from(!pair.server.is_established());
    }
    assert!(violations > 100, "hostile enough: {violations}");
}

/// Stream bytes of `len` at each second place of that length; whether the server is still there.
fn stands(len: u32, pieces: u64) -> bool {
    let [client, server] = ends(|config| (config.flow.connection, config.flow.stream) = (1 << 24, 1 << 24));
    let mut pair = Pair::new(client, server, [Wire::new(None, 5), Wire::new(None, 5)], |_, _, _| true);
    pair.run_until(Time::from_millis(100));
    let before = pair.server.stats().packets_dropped;
    for i in 0..pieces {
        let mut frames = FrameList::default();
        frames.push(Frame::Stream { id: 0, offset: (2 * i + 1) * u64::from(len), len, fin: false });
        let packet = Packet { kind: Kind::OneRtt, number: 100 + i, frames, bytes: 60 + len, ..Packet::default() };
        let from = Address { host: 1, port: 50_000 };
        let to = Address { host: 0, port: 443 };
        let datagram = Datagram { from, to, packet, ..Datagram::default() };
        pair.server.handle_datagram(pair.now, &datagram);
    }
    assert_eq!(pair.server.stats().packets_dropped, before);
    pair.server.is_established()
}

/// Single bytes with holes between are an attack; every second packet lost is a slow start beyond the queue.
#[test]
fn holes_do_not_grow_memory() {
    assert!(!stands(1, 20_000), "1024 pieces and no more");
    assert!(stands(1200, 6000), "as many as packets in the window");
}

proptest! {
    /// The set of ranges against a set of integers.
    #[test]
    fn ranges_are_a_set(steps in proptest::collection::vec((any::<bool>(), 0u64..60, 0u64..12), 1..60)) {
        let (mut ranges, mut set) = (RangeSet::default(), BTreeSet::new());
        for (adds, start, len) in steps {
            if adds {
                ranges.insert(start..start + len);
                set.extend(start..start + len);
            } else {
                ranges.remove(start..start + len);
                set.retain(|&value| value < start || value >= start + len);
            }
            prop_assert_eq!(ranges.iter().flat_map(|range| range.clone()).collect::<Vec<_>>(), set.iter().copied().collect::<Vec<_>>());
            prop_assert!(ranges.iter().zip(ranges.iter().skip(1)).all(|(a, b)| a.end < b.start));
            prop_assert_eq!(ranges.overlap(&(10..40)), set.range(10..40).count() as u64);
            prop_assert_eq!(ranges.covers(&(10..20)), set.range(10..20).count() == 10);
        }
    }
}
