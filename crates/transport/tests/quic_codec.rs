//! QUIC as bytes: the RFC's examples, round trips, sizes, and any bytes at all.

use playpath_transport::codec::quic::{
    Data, FRAME_ENCODING_ERROR, Header, NewId, OfServer, Opened, PROTOCOL_VIOLATION, Reader, packet_number, put_frames,
    put_header, put_parameters, put_varint, read_frames, read_parameters,
};
use playpath_transport::quic::config::Config;
use playpath_transport::quic::packet::{Ack, EcnCounts, Frame, FrameList, Kind, Packet, TAG_BYTES};
use proptest::collection::vec;
use proptest::prelude::*;
use std::convert::Infallible;

/// RFC 9000 appendix A.1.
#[test]
fn integers_of_the_rfc() {
    for (bytes, value) in [
        (&[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c][..], 151_288_809_941_952_652),
        (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
        (&[0x7b, 0xbd], 15_293),
        (&[0x25], 37),
    ] {
        assert_eq!(Reader::new(bytes).varint(), Some(value));
        let mut out = vec![];
        put_varint(&mut out, value);
        assert_eq!(out, bytes);
        assert_eq!(Reader::new(&bytes[..bytes.len() - 1]).varint(), None, "cut");
    }
    assert_eq!(Reader::new(&[0x40, 0x25]).varint(), Some(37), "not the shortest form, but allowed");
}

/// RFC 9000 appendix A.3: 0xa82f30ea was received, 0x9b32 of 16 bits stands for 0xa82f9b32.
#[test]
fn packet_numbers_of_the_rfc() {
    assert_eq!(packet_number(Some(0xa82f_30ea), 0x9b32, 2), 0xa82f_9b32);
    assert_eq!(packet_number(None, 0, 1), 0);
    assert_eq!(packet_number(Some(255), 0, 1), 256, "over the turn");
    assert_eq!(packet_number(Some(256), 0xff, 1), 255, "back over it");
}

/// By hand: two bytes of number, connection ids 0102 and 03, payload of 20 bytes and 16 of tag: Length 38.
#[test]
fn a_long_header_by_hand() {
    let bytes = Kind::Initial.overhead((2, 1), 2) + 20;
    let packet = Packet { kind: Kind::Initial, number: 0x1234, padding: 20, bytes, ..Packet::default() };
    let mut out = vec![];
    put_header(&mut out, &packet, (&[1, 2], &[3]), (2, false));
    assert_eq!(out, [0xc1, 0, 0, 0, 1, 2, 1, 2, 1, 3, 0, 0x40, 38, 0x12, 0x34]);
    out.resize(bytes as usize, 0);
    let header = Header::parse(&out, 8).unwrap();
    assert_eq!(
        header,
        Header::Long {
            kind: Kind::Initial,
            destination: 6..8,
            source: 9..10,
            token: 11..11,
            number_at: 13,
            end: out.len()
        }
    );
    assert_eq!(Header::parse(&out[..out.len() - 1], 8), None, "cut");
}

fn frame() -> impl Strategy<Value = Frame> {
    let number = 0..1u64 << 40;
    prop_oneof![
        Just(Frame::Ping),
        (number.clone(), any::<u32>(), number.clone()).prop_map(|(id, code, final_size)| Frame::ResetStream {
            id,
            code,
            final_size
        }),
        (number.clone(), any::<u32>()).prop_map(|(id, code)| Frame::StopSending { id, code }),
        (number.clone(), 1..300u32).prop_map(|(offset, len)| Frame::Crypto { offset, len, is_end: false }),
        (number.clone(), prop_oneof![Just(0), number.clone()], 0..300u32, any::<bool>())
            .prop_map(|(id, offset, len, fin)| Frame::Stream { id, offset, len, fin }),
        number.clone().prop_map(Frame::MaxData),
        (number.clone(), number.clone()).prop_map(|(id, max)| Frame::MaxStreamData { id, max }),
        number.clone().prop_map(Frame::MaxStreams),
        number.clone().prop_map(Frame::DataBlocked),
        (number.clone(), number.clone()).prop_map(|(id, limit)| Frame::StreamDataBlocked { id, limit }),
        (0..9u8, number.clone()).prop_map(|(path_id, sequence)| Frame::NewConnectionId { path_id, sequence }),
        (0..9u8, number.clone()).prop_map(|(path_id, sequence)| Frame::RetireConnectionId { path_id, sequence }),
        (0..9u8, number.clone(), any::<bool>()).prop_map(|(path_id, sequence, is_backup)| Frame::PathStatus {
            path_id,
            sequence,
            is_backup
        }),
        (0..9u8).prop_map(|path_id| Frame::PathAbandon { path_id }),
        any::<u64>().prop_map(Frame::PathChallenge),
        any::<u64>().prop_map(Frame::PathResponse),
    ]
}

fn ack() -> impl Strategy<Value = Ack> {
    let counts = (0..1000u64, 0..5u64, 0..90u64).prop_map(|(ect0, ect1, ce)| EcnCounts { ect0, ect1, ce });
    (vec((1..50u64, 2..90u64), 1..20), 0..5000u64, proptest::option::of(counts)).prop_map(|(pairs, delay, ecn)| {
        let mut end = 0;
        let mut ranges: Vec<_> = pairs
            .into_iter()
            .map(|(length, gap)| {
                let start = end + gap;
                end = start + length;
                start..end
            })
            .collect();
        ranges.reverse();
        Ack::new(ranges.iter(), delay, ecn).expect("there are ranges")
    })
}

/// A byte of somebody's data that tells where it stands.
fn byte(whose: Data, at: u64) -> u8 {
    let salt = if let Data::Stream(id) | Data::Id(_, id) = whose { id + 1 } else { 0 };
    (at.wrapping_mul(31) ^ salt.wrapping_mul(17)) as u8
}

fn written(packet: &Packet, length: u32) -> Vec<u8> {
    let mut out = vec![];
    let fill = |whose: Data, offset: u64, bytes: &mut [u8]| -> Result<(), Infallible> {
        bytes.iter_mut().enumerate().for_each(|(i, place)| *place = byte(whose, offset + i as u64));
        Ok(())
    };
    put_frames(&mut out, packet, (length as usize, false, None), fill).unwrap();
    out
}

fn read(payload: &[u8]) -> Opened {
    let opened = read_frames(payload).unwrap();
    for (whose, offset, range) in &opened.data {
        for (i, place) in payload[range.clone()].iter().enumerate() {
            assert_eq!(*place, byte(*whose, offset + i as u64));
        }
    }
    opened
}

proptest! {
    /// What is written has the size that the endpoint reckons with, and says the same when it is read.
    #[test]
    fn frames_there_and_back(ack in proptest::option::of(ack()), frames in vec(frame(), 1..=6), fills in any::<bool>(), padding in 0..40u32) {
        let mut list = FrameList::default();
        frames.iter().for_each(|frame| list.push(*frame));
        let fills = fills && matches!(frames.last(), Some(Frame::Stream { .. }));
        let (last, others) = frames.split_last().unwrap();
        let mut length = others.iter().map(|frame| frame.bytes(false)).sum::<u32>() + last.bytes(fills);
        length += ack.as_ref().map_or(0, Ack::bytes) + if fills { 0 } else { padding };
        let bytes = Kind::OneRtt.overhead((8, 8), 2) + length;
        let packet = Packet { kind: Kind::OneRtt, number: 7, frames: list, bytes, ..Packet::default() }.with_ack(ack);
        let payload = written(&packet, length);
        prop_assert_eq!(payload.len() as u32, length);
        let opened = read(&payload);
        prop_assert_eq!(&opened.frames, &frames);
        let announced = |ack: Option<&Ack>| ack.map(|ack| (ack.ranges().collect::<Vec<_>>(), ack.delay, ack.ecn));
        prop_assert_eq!(announced(opened.ack.as_ref()), announced(packet.ack()));
    }

    /// Nobody's bytes can do more than be refused.
    #[test]
    fn any_bytes(bytes in vec(any::<u8>(), 0..300), cid in 0..20usize) {
        if let Ok(opened) = read_frames(&bytes) {
            prop_assert!(opened.data.iter().all(|(_, _, range)| range.end <= bytes.len()));
        }
        match Header::parse(&bytes, cid) {
            Some(Header::Long { number_at, end, .. }) => prop_assert!(number_at <= end && end <= bytes.len()),
            Some(Header::Short { number_at, .. }) => prop_assert!(number_at <= bytes.len()),
            _ => {}
        }
        let _ = read_parameters(&bytes, &bytes[..cid.min(bytes.len())]);
    }
}

/// draft-ietf-quic-multipath-21 §4: PATH_ACK is an ACK with a path before it; that limits are told changes nothing but the limit.
#[test]
fn frames_of_several_paths() {
    let ack = Ack::new([4..9, 0..2].iter(), 3, None).unwrap();
    let packet = Packet { kind: Kind::OneRtt, ..Packet::default() }.with_ack(Some(ack));
    let mut out = vec![];
    let none = |_: Data, _: u64, _: &mut [u8]| -> Result<(), Infallible> { Ok(()) };
    put_frames(&mut out, &packet, (ack.bytes() as usize + 1, false, Some(2)), none).unwrap();
    assert_eq!(out, [0x3e, 2, 8, 3, 1, 4, 1, 1]);
    let opened = read_frames(&out).unwrap();
    let (path_id, read) = opened.path_acks[0];
    assert!(opened.is_multipath && opened.ack.is_none());
    assert_eq!((path_id, read.ranges().collect::<Vec<_>>()), (2, ack.ranges().collect()));
    let opened = read_frames(&[0x7e, 0x7a, 5, 0x7e, 0x7b, 3, 0x7e, 0x7c, 3, 0, 0x7e, 0x75, 1, 0x3e]).unwrap();
    assert_eq!(opened.max_path_id, Some(5));
    assert_eq!(opened.frames, [Frame::Ping, Frame::Ping, Frame::Ping, Frame::PathAbandon { path_id: 1 }]);
}

/// RFC 9000 §12.4, §19: what a client must not send, and what is no frame.
#[test]
fn frames_that_are_refused() {
    for (payload, code, why) in [
        (&[][..], PROTOCOL_VIOLATION, "no frame at all"),
        (&[0x07, 0x01, 0x05], PROTOCOL_VIOLATION, "NEW_TOKEN is a server's"),
        (&[0x1e], PROTOCOL_VIOLATION, "HANDSHAKE_DONE is a server's"),
        (&[0x40, 0x01], PROTOCOL_VIOLATION, "a type that is not in its shortest form"),
        (&[0x21], FRAME_ENCODING_ERROR, "an unknown type"),
        (&[0x30, 0x00], FRAME_ENCODING_ERROR, "DATAGRAM was not offered"),
        (&[0x02, 0x05, 0x00, 0x00, 0x06], FRAME_ENCODING_ERROR, "ranges below zero"),
        (&[0x02, 0x05, 0x00, 0x01, 0x00, 0x04, 0x00], FRAME_ENCODING_ERROR, "a gap below zero"),
        (
            &[0x0e, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x00],
            FRAME_ENCODING_ERROR,
            "beyond 2^62",
        ),
        (&[0x12, 0xd0, 0, 0, 0, 0, 0, 0, 1], FRAME_ENCODING_ERROR, "more than 2^60 streams"),
        (&[0x06, 0x00, 0x05, 0x01], FRAME_ENCODING_ERROR, "CRYPTO cut"),
        (&[0x18, 0x01, 0x02, 0x08], FRAME_ENCODING_ERROR, "it retires more than it gives"),
    ] {
        assert_eq!(read_frames(payload).map(|opened| opened.frames), Err(code), "{why}");
    }
    let given = [&[0x18, 0x03, 0x01, 0x02, 0x09, 0x08][..], &[0; 16]].concat();
    let id = NewId { path_id: 0, sequence: 3, retire_prior_to: 1, cid: vec![9, 8] };
    assert_eq!(read_frames(&given).map(|opened| opened.ids), Ok(vec![id]));
}

fn parameters(pairs: &[(u64, &[u8])]) -> Vec<u8> {
    let mut out = vec![];
    for (id, value) in pairs {
        put_varint(&mut out, *id);
        put_varint(&mut out, value.len() as u64);
        out.extend(*value);
    }
    out
}

/// What Chromium sends, shortened: 15 MiB and 6 MiB, 100 streams, 103 of one direction, and a grease value that nobody knows.
#[test]
fn parameters_of_a_client() {
    let bytes = parameters(&[
        (0x01, &[0x80, 0x00, 0x75, 0x30]),
        (0x03, &[0x45, 0xc0]),
        (0x04, &[0x80, 0xf0, 0x00, 0x00]),
        (0x05, &[0x80, 0x60, 0x00, 0x00]),
        (0x07, &[0x80, 0x60, 0x00, 0x00]),
        (0x08, &[0x40, 0x64]),
        (0x09, &[0x40, 0x67]),
        (0x0f, &[]),
        (27 + 31 * 8, &[1, 2, 3]),
    ]);
    let found = read_parameters(&bytes, &[]).unwrap();
    assert_eq!((found.max_datagram, found.max_uni_streams, found.max_uni_data), (1472, 103, 6 << 20));
    let common = found.common;
    assert_eq!((common.initial_max_data, common.initial_max_stream_data), (15 << 20, 6 << 20));
    assert_eq!((common.max_idle_timeout_ms, common.ack_delay_exponent, common.max_ack_delay_ms), (30_000, 3, 25));
}

/// RFC 9000 §7.3, §7.4, §18.2.
#[test]
fn parameters_that_are_refused() {
    let own: (u64, &[u8]) = (0x0f, &[9]);
    for (pairs, why) in [
        (&[(0x0f, &[8][..])][..], "another source"),
        (&[], "no source"),
        (&[own, own], "twice"),
        (&[own, (0x00, &[1])], "of a server"),
        (&[own, (0x03, &[0x44, 0xaf])], "datagrams under 1200"),
        (&[own, (0x0a, &[21])], "an exponent over 20"),
        (&[own, (0x0b, &[0x80, 0x00, 0x40, 0x00])], "a delay of 2^14 ms"),
        (&[own, (0x0e, &[1])], "fewer than two connection ids"),
        (&[own, (0x04, &[1, 2])], "more than the number"),
        (&[own, (0x04, &[])], "no number"),
        (&[own, (0x0c, &[1])], "disable_active_migration has no value"),
    ] {
        assert_eq!(read_parameters(&parameters(pairs), &[9]), None, "{why}");
    }
}

/// What a server says can be read: ids of both ends, and nothing twice.
#[test]
fn parameters_of_a_server() {
    let config = Config::default();
    let mut announced = OfServer {
        original: &[1, 2, 3],
        retry: None,
        own: &[4],
        reset_token: [7; 16],
        max_uni_streams: 8,
        max_ids: 4,
        max_path_id: 3,
    };
    let bytes = put_parameters(&config.parameters(), &announced);
    let (mut reader, mut found) = (Reader::new(&bytes), std::collections::BTreeMap::new());
    while !reader.is_empty() {
        let (id, value) = (reader.varint().unwrap(), reader.prefixed().unwrap());
        assert_eq!(found.insert(id, value), None);
    }
    assert_eq!((found[&0x00], found[&0x0f], found[&0x02]), (&[1, 2, 3][..], &[4][..], &[7; 16][..]));
    assert!(!found.contains_key(&0x10), "there was no Retry");
    announced.retry = Some(&[5, 6]);
    assert!(put_parameters(&config.parameters(), &announced).windows(4).any(|bytes| bytes == [0x10, 2, 5, 6]));
    assert_eq!(Reader::new(found[&0x04]).varint(), Some(config.flow.connection));
    assert_eq!(Reader::new(found[&0x09]).varint(), Some(8));
    assert_eq!(Reader::new(found[&0x0e]).varint(), Some(4));
    assert!(!found.contains_key(&0x0c), "a client may move");
}

/// The tag is part of the size that a header tells.
#[test]
fn the_tag_counts() {
    assert_eq!(Kind::OneRtt.overhead((8, 8), 2), 1 + 8 + 2 + TAG_BYTES);
}
