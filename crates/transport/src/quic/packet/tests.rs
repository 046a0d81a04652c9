use super::*;

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
}
