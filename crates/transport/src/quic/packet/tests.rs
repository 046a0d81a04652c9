use super::*;
use crate::segment::Segment;

/// Largest 1000 (2), delay 5 (1), count 1 (1), first range 990..=1000: 10 (1); gap to 980..=985: 990 - 985 - 2 = 3 (1), length 5
/// (1); type 1. 1+2+1+1+1+1+1 = 8; with counts 100, 0, 1: 2+1+1 more.
#[test]
fn worked_size_of_an_ack() {
    let ranges = [990..1001, 980..986];
    let ack = Ack::new(ranges.iter(), 5, None).unwrap();
    assert_eq!(ack.bytes(), 8);
    assert_eq!(ack.ranges().collect::<Vec<_>>(), [(990, 1000), (980, 985)]);
    let counts = EcnCounts { ect0: 100, ect1: 0, ce: 1 };
    assert_eq!(Ack::new(ranges.iter(), 5, Some(counts)).unwrap().bytes(), 12);
}

/// Type 1, id 4: 1, offset 20000: 4, length 1150: 2. At the packet's end no length; at offset 0 no offset.
#[test]
fn worked_size_of_a_stream_frame() {
    let frame = |offset| Frame::Stream { id: 4, offset, len: 1150, fin: false };
    assert_eq!((frame(20_000).bytes(false), frame(20_000).bytes(true), frame(0).bytes(true)), (1158, 1156, 1152));
}

/// Short header with an 8-byte id and a 2-byte number: 1+8+2+16 = 27. Initial with ids of 8 and 0: 1+4+1+8+1+0+2+1+1+16 = 35.
#[test]
fn worked_overheads() {
    assert_eq!(Kind::OneRtt.overhead((8, 8), 2), 27);
    assert_eq!(Kind::Initial.overhead((8, 0), 1), 35);
    assert_eq!(Kind::Handshake.overhead((8, 0), 1), 34);
}

#[test]
fn a_packet_needs_no_memory_of_its_own() {
    assert!(size_of::<Frame>() <= 24, "{}", size_of::<Frame>());
    assert!(size_of::<Datagram>() <= 640, "{}", size_of::<Datagram>());
    assert!(size_of::<Short>() <= size_of::<Segment>(), "{}, else every packet would grow", size_of::<Short>());
}

/// What is alike of two datagrams is what a peer reads of them.
#[test]
fn short_datagrams_come_whole_and_others_are_not_short() {
    let range = |first, end| first..end;
    let ranges = [range(40, 50), range(20, 30), range(1, 10)];
    let mut sent = Datagram { path_id: 1, from: Address { host: 1, port: 7 }, ..Datagram::default() };
    sent.packet.kind = Kind::OneRtt;
    (sent.packet.number, sent.packet.bytes) = (1 << 40, 1200);
    let mut came = Datagram::default();
    for (with_frame, ack) in
        [(true, None), (false, Ack::new(ranges.iter(), 25, None)), (true, Ack::new(ranges.iter(), 3, None))]
    {
        sent.packet.frames.clear();
        if with_frame {
            sent.packet.frames.push(Frame::Stream { id: 4, offset: 1 << 33, len: 1100, fin: false });
        }
        sent.packet = sent.packet.clone().with_ack(ack);
        assert!(Short::fits(&sent));
        Short::of(&sent).unpack(&mut came);
        assert_eq!((came.from, came.to, came.path_id, came.packet.number), (sent.from, sent.to, 1, 1 << 40));
        assert_eq!((came.packet.kind, came.payload_bytes()), (Kind::OneRtt, 1200));
        assert_eq!(came.packet.frames.as_slice(), sent.packet.frames.as_slice());
        let of = |packet: &Packet| packet.ack().map(|ack| (ack.delay, ack.ranges().collect::<Vec<_>>()));
        assert_eq!(of(&came.packet), of(&sent.packet));
    }
    let many: Vec<_> = (0..5).rev().map(|number| range(3 * number, 3 * number + 1)).collect();
    let counts = Some(EcnCounts { ce: 1, ..EcnCounts::default() });
    let acks =
        [Ack::new(many.iter(), 0, None), Ack::new(ranges.iter(), 0, counts), Ack::new(ranges.iter(), 1 << 32, None)];
    for ack in acks {
        sent.packet = sent.packet.clone().with_ack(ack);
        assert!(!Short::fits(&sent));
    }
    sent.packet = sent.packet.clone().with_ack(None);
    for spoil in [
        |datagram: &mut Datagram| datagram.coalesced.push(Packet::default()),
        |datagram: &mut Datagram| datagram.packet.frames.push(Frame::Ping),
        |datagram: &mut Datagram| datagram.packet.padding = 1,
        |datagram: &mut Datagram| datagram.packet.kind = Kind::Initial,
        |datagram: &mut Datagram| {
            datagram.packet.parameters = Some(Box::new(crate::quic::Config::default().parameters()))
        },
    ] {
        let mut other = sent.clone();
        spoil(&mut other);
        assert!(!Short::fits(&other));
    }
}
