//! QUIC's headers, frames and transport parameters as real bytes, without encryption: that is the caller's.
//!
//! Reference: RFC 9000 §16 (integers), §17 (headers), §18 (transport parameters), §19 (frames), appendix A.3 (packet numbers).
//! Differences from the reference:
//! 1. RESET_STREAM and STOP_SENDING carry error code 0, which HTTP/3 reads as H3_NO_ERROR; CONNECTION_CLOSE has no reason phrase.
//! 2. Of an ACK frame the newest [`Ack::CAPACITY`] ranges are read; the older ones are told again, or were told before.
//!
//! 3. A peer that retires the connection id in use (§5.1.2) is told INTERNAL_ERROR: further ones of it are not kept.
//!
//! Nothing here panics on any input. Tested by `tests/quic_codec.rs`: the RFC's examples, round trips, sizes, hostile bytes.

use crate::quic::packet::{Ack, EcnCounts, Frame, Kind, Packet, TAG_BYTES, TransportParameters};
use crate::quic::varint;
use std::ops::Range;

/// Version 1 (RFC 9000 §15).
pub const VERSION: u32 = 1;
/// Longest connection id of version 1 (§17.2).
pub const MAX_CID: usize = 20;

/// Bytes that are read from the front; `None`: there are not so many.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// From the first byte on.
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, at: 0 }
    }
    /// Bytes read so far.
    pub fn position(&self) -> usize {
        self.at
    }
    /// There are no more.
    pub fn is_empty(&self) -> bool {
        self.at >= self.bytes.len()
    }
    /// The next `count` bytes.
    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(count)?)?;
        self.at += count;
        Some(taken)
    }
    /// One byte.
    pub fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }
    /// A variable-length integer (§16).
    pub fn varint(&mut self) -> Option<u64> {
        let first = *self.bytes.get(self.at)?;
        let bytes = self.take(1 << (first >> 6))?;
        Some(bytes[1..].iter().fold(u64::from(first & 0x3f), |value, byte| value << 8 | u64::from(*byte)))
    }
    /// An integer, and as many bytes.
    pub fn prefixed(&mut self) -> Option<&'a [u8]> {
        let count = usize::try_from(self.varint()?).ok()?;
        self.take(count)
    }
}

/// Append a variable-length integer in its shortest form (§16).
pub fn put_varint(out: &mut Vec<u8>, value: u64) {
    match varint::size(value) {
        1 => out.push(value as u8),
        2 => out.extend((value as u16 | 0x4000).to_be_bytes()),
        4 => out.extend((value as u32 | 0x8000_0000).to_be_bytes()),
        _ => out.extend((value | 0xc000_0000_0000_0000).to_be_bytes()),
    }
}

/// What a packet's header says before its protection is taken off (§17.2, §17.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Header {
    /// A long header of version 1.
    Long {
        /// Initial, 0-RTT or Handshake.
        kind: Kind,
        /// Where the destination's connection id lies in the packet.
        destination: Range<usize>,
        /// And the source's.
        source: Range<usize>,
        /// Where the packet number begins.
        number_at: usize,
        /// Where the packet ends.
        end: usize,
    },
    /// A short header: all of the rest.
    Short {
        /// Where the destination's connection id lies.
        destination: Range<usize>,
        /// Where the packet number begins.
        number_at: usize,
    },
    /// Another version: both connection ids.
    Unknown {
        /// As said.
        destination: Range<usize>,
        /// As said.
        source: Range<usize>,
    },
}

impl Header {
    /// Of the packet at the front of `bytes`; own connection ids are `cid_bytes` long. `None`: it is no packet, or one that a server
    /// has no use for (Retry, version negotiation).
    pub fn parse(bytes: &[u8], cid_bytes: usize) -> Option<Header> {
        let mut reader = Reader::new(bytes);
        let first = reader.byte()?;
        if first & 0x80 == 0 {
            let destination = 1..1 + cid_bytes;
            reader.take(cid_bytes)?;
            return (first & 0x40 != 0).then_some(Header::Short { destination, number_at: reader.position() });
        }
        let version = u32::from_be_bytes(reader.take(4)?.try_into().ok()?);
        let destination = cid(&mut reader)?;
        let source = cid(&mut reader)?;
        if version == 0 {
            return None;
        }
        if version != VERSION {
            return Some(Header::Unknown { destination, source });
        }
        if destination.len() > MAX_CID || source.len() > MAX_CID || first & 0x40 == 0 {
            return None;
        }
        let kind = match first >> 4 & 3 {
            0 => Kind::Initial,
            1 => Kind::ZeroRtt,
            2 => Kind::Handshake,
            _ => return None,
        };
        if kind == Kind::Initial {
            reader.prefixed()?; // token
        }
        let length = usize::try_from(reader.varint()?).ok()?;
        let number_at = reader.position();
        let end = number_at.checked_add(length).filter(|&end| end <= bytes.len())?;
        Some(Header::Long { kind, destination, source, number_at, end })
    }
}

fn cid(reader: &mut Reader) -> Option<Range<usize>> {
    let length = usize::from(reader.byte()?);
    let start = reader.position();
    reader.take(length)?;
    Some(start..start + length)
}

/// The packet number whose last `bytes` bytes are `truncated`, next to the largest one that was received (appendix A.3).
pub fn packet_number(largest: Option<u64>, truncated: u64, bytes: u32) -> u64 {
    let expected = largest.map_or(0, |largest| largest + 1);
    let window = 1u64 << (8 * bytes);
    let candidate = (expected & !(window - 1)) | truncated;
    if candidate + window / 2 <= expected && candidate + window <= varint::MAX {
        candidate + window
    } else if candidate > expected + window / 2 && candidate >= window {
        candidate - window
    } else {
        candidate
    }
}

/// Append the header of a packet to be sent, with its number in the clear. Length counts what follows it.
pub fn put_header(
    out: &mut Vec<u8>,
    packet: &Packet,
    (destination, source): (&[u8], &[u8]),
    (number_bytes, key_phase): (u32, bool),
) {
    let low_bits = (number_bytes - 1) as u8;
    let form = match packet.kind {
        Kind::Initial => Some(0xc0),
        Kind::ZeroRtt => Some(0xd0),
        Kind::Handshake => Some(0xe0),
        Kind::OneRtt => None,
    };
    match form {
        None => {
            out.push(0x40 | u8::from(key_phase) << 2 | low_bits);
            out.extend(destination);
        }
        Some(form) => {
            out.push(form | low_bits);
            out.extend(VERSION.to_be_bytes());
            for cid in [destination, source] {
                out.push(cid.len() as u8);
                out.extend(cid);
            }
            if packet.kind == Kind::Initial {
                out.push(0); // no token
            }
            let cids = (destination.len() as u32, source.len() as u32);
            let length = packet.bytes - packet.kind.overhead(cids, number_bytes) + number_bytes + TAG_BYTES;
            out.extend((length as u16 | 0x4000).to_be_bytes());
        }
    }
    out.extend(&packet.number.to_be_bytes()[8 - number_bytes as usize..]);
}

/// Whose data a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// TLS's, in the packet's space.
    Crypto,
    /// A stream's.
    Stream(u64),
}

/// Append a packet's frames, `length` bytes in all, filled with PADDING. `data` writes the bytes from an offset on into a slice.
/// `is_application`: a CONNECTION_CLOSE is the application's. Errors: those of `data`.
pub fn put_frames<E>(
    out: &mut Vec<u8>,
    packet: &Packet,
    (length, is_application): (usize, bool),
    mut data: impl FnMut(Data, u64, &mut [u8]) -> Result<(), E>,
) -> Result<(), E> {
    let start = out.len();
    let frames = packet.frames.as_slice();
    if let Some(ack) = &packet.ack {
        put_ack(out, ack);
    }
    let whole = (out.len() - start) as u32 + frames.iter().map(|frame| frame.bytes(false)).sum::<u32>();
    for (index, frame) in frames.iter().enumerate() {
        // The last frame leaves its length out where the packet has no room for it (§19.8).
        let fills = index + 1 == frames.len() && whole as usize > length;
        if let Frame::Close { code } = *frame {
            put_close(out, code, (is_application, packet.kind == Kind::OneRtt));
            continue;
        }
        let range = put_frame(out, frame, fills);
        if let Some((whose, offset, range)) = range {
            data(whose, offset, &mut out[range])?;
        }
    }
    debug_assert!(out.len() - start <= length, "{} of {length}: {packet:?}", out.len() - start);
    out.resize(start + length, 0);
    Ok(())
}

fn put_ack(out: &mut Vec<u8>, ack: &Ack) {
    out.push(if ack.ecn.is_some() { 3 } else { 2 });
    put_varint(out, ack.largest);
    put_varint(out, ack.delay);
    put_varint(out, ack.ranges().count() as u64 - 1);
    let mut above = None;
    for (low, high) in ack.ranges() {
        if let Some(above) = above {
            put_varint(out, above - high - 2);
        }
        put_varint(out, high - low);
        above = Some(low);
    }
    for count in ack.ecn.iter().flat_map(|ecn| [ecn.ect0, ecn.ect1, ecn.ce]) {
        put_varint(out, count);
    }
}

/// Data that a frame asks for: whose, from which offset, and where in the output it goes.
type Wanted = (Data, u64, Range<usize>);

fn put_frame(out: &mut Vec<u8>, frame: &Frame, fills: bool) -> Option<Wanted> {
    match *frame {
        Frame::Ping => out.push(0x01),
        Frame::ResetStream { id, final_size } => put(out, 0x04, &[id, 0, final_size]),
        Frame::StopSending { id } => put(out, 0x05, &[id, 0]),
        Frame::Crypto { offset, len, .. } => {
            put(out, 0x06, &[offset, u64::from(len)]);
            return Some((Data::Crypto, offset, room(out, len)));
        }
        Frame::Stream { id, offset, len, fin } => {
            let kind = 0x08 | u8::from(offset > 0) << 2 | u8::from(!fills) << 1 | u8::from(fin);
            put(out, kind, &[id]);
            if offset > 0 {
                put_varint(out, offset);
            }
            if !fills {
                put_varint(out, u64::from(len));
            }
            return Some((Data::Stream(id), offset, room(out, len)));
        }
        Frame::MaxData(max) => put(out, 0x10, &[max]),
        Frame::MaxStreamData { id, max } => put(out, 0x11, &[id, max]),
        Frame::MaxStreams(max) => put(out, 0x12, &[max]),
        Frame::DataBlocked(limit) => put(out, 0x14, &[limit]),
        Frame::StreamDataBlocked { id, limit } => put(out, 0x15, &[id, limit]),
        // Never sent: this end has one connection id (§5.1.1 asks for no more).
        Frame::NewConnectionId { .. } | Frame::Close { .. } => {}
        Frame::PathChallenge(token) | Frame::PathResponse(token) => {
            out.push(if matches!(frame, Frame::PathChallenge(_)) { 0x1a } else { 0x1b });
            out.extend(token.to_be_bytes());
        }
        Frame::HandshakeDone => out.push(0x1e),
    }
    None
}

fn put(out: &mut Vec<u8>, kind: u8, values: &[u64]) {
    out.push(kind);
    values.iter().for_each(|value| put_varint(out, *value));
}

/// APPLICATION_ERROR: what an application's code becomes where it must not be told yet (§10.2.3).
const APPLICATION_ERROR: u64 = 0x0c;

fn put_close(out: &mut Vec<u8>, code: u64, (is_application, is_one_rtt): (bool, bool)) {
    match (is_application, is_one_rtt) {
        (true, true) => put(out, 0x1d, &[code, 0]),
        (true, false) => put(out, 0x1c, &[APPLICATION_ERROR, 0, 0]),
        (false, _) => put(out, 0x1c, &[code, 0, 0]),
    }
}

fn room(out: &mut Vec<u8>, len: u32) -> Range<usize> {
    let start = out.len();
    out.resize(start + len as usize, 0);
    start..out.len()
}

/// The frames of a packet as they came.
#[derive(Clone, Debug, Default)]
pub struct Opened {
    /// ACK frame; of several the last.
    pub ack: Option<Ack>,
    /// All others but PADDING; those that change nothing here stand as [`Frame::Ping`].
    pub frames: Vec<Frame>,
    /// Data of CRYPTO and STREAM frames: whose, from which offset, and where in the payload.
    pub data: Vec<(Data, u64, Range<usize>)>,
}

/// FRAME_ENCODING_ERROR (§20.1).
pub const FRAME_ENCODING_ERROR: u64 = 0x07;
/// INTERNAL_ERROR.
pub const INTERNAL_ERROR: u64 = 0x01;
/// PROTOCOL_VIOLATION.
pub const PROTOCOL_VIOLATION: u64 = 0x0a;

/// Read a payload that a client has sent. Errors: the code to close with.
pub fn read_frames(payload: &[u8]) -> Result<Opened, u64> {
    let mut opened = Opened::default();
    let mut reader = Reader::new(payload);
    if reader.is_empty() {
        return Err(PROTOCOL_VIOLATION); // §12.4
    }
    while !reader.is_empty() {
        read_frame(&mut reader, &mut opened).ok_or(FRAME_ENCODING_ERROR)??;
    }
    Ok(opened)
}

fn read_frame(reader: &mut Reader, opened: &mut Opened) -> Option<Result<(), u64>> {
    let at = reader.position();
    let kind = reader.varint()?;
    if reader.position() - at != varint::size(kind) as usize {
        return Some(Err(PROTOCOL_VIOLATION)); // §12.4: in its shortest form
    }
    let frame = match kind {
        0x00 => return Some(Ok(())),
        0x01 => Frame::Ping,
        0x02 | 0x03 => {
            opened.ack = Some(read_ack(reader, kind == 3)?);
            return Some(Ok(()));
        }
        0x04 => {
            let (id, _, final_size) = (reader.varint()?, reader.varint()?, reader.varint()?);
            Frame::ResetStream { id, final_size }
        }
        0x05 => {
            let (id, _) = (reader.varint()?, reader.varint()?);
            Frame::StopSending { id }
        }
        0x06 => {
            let offset = reader.varint()?;
            let bytes = reader.prefixed()?;
            let end = reader.position();
            opened.data.push((Data::Crypto, offset, end - bytes.len()..end));
            Frame::Crypto { offset, len: bytes.len() as u32, is_end: false }
        }
        0x08..=0x0f => read_stream(reader, kind, opened)?,
        0x10 => Frame::MaxData(reader.varint()?),
        0x11 => Frame::MaxStreamData { id: reader.varint()?, max: reader.varint()? },
        0x12 => Frame::MaxStreams(bounded(reader.varint()?)?),
        0x14 => Frame::DataBlocked(reader.varint()?),
        0x15 => Frame::StreamDataBlocked { id: reader.varint()?, limit: reader.varint()? },
        // Unidirectional streams of ours are one, and streams that are blocked change nothing.
        0x13 | 0x16 | 0x17 => {
            bounded(reader.varint()?)?;
            Frame::Ping
        }
        0x18 => return read_new_cid(reader).map(|frame| frame.map(|frame| opened.frames.push(frame))),
        0x19 => {
            let _sequence = reader.varint()?;
            return Some(Err(PROTOCOL_VIOLATION)); // §19.16: there is one, and it is in use
        }
        0x1a | 0x1b => {
            let token = u64::from_be_bytes(reader.take(8)?.try_into().ok()?);
            if kind == 0x1a { Frame::PathChallenge(token) } else { Frame::PathResponse(token) }
        }
        0x1c | 0x1d => {
            let code = reader.varint()?;
            if kind == 0x1c {
                reader.varint()?;
            }
            reader.prefixed()?;
            Frame::Close { code }
        }
        0x07 | 0x1e => return Some(Err(PROTOCOL_VIOLATION)), // §19.7, §19.20: a server sends these
        _ => return None,
    };
    opened.frames.push(frame);
    Some(Ok(()))
}

/// At most 2^60 streams (§19.11).
fn bounded(count: u64) -> Option<u64> {
    (count <= 1 << 60).then_some(count)
}

fn read_stream(reader: &mut Reader, kind: u64, opened: &mut Opened) -> Option<Frame> {
    let id = reader.varint()?;
    let offset = if kind & 4 != 0 { reader.varint()? } else { 0 };
    let bytes = if kind & 2 != 0 { reader.prefixed()? } else { reader.take(reader.bytes.len() - reader.at)? };
    offset.checked_add(bytes.len() as u64).filter(|&end| end <= varint::MAX)?;
    let end = reader.position();
    opened.data.push((Data::Stream(id), offset, end - bytes.len()..end));
    Some(Frame::Stream { id, offset, len: bytes.len() as u32, fin: kind & 1 != 0 })
}

/// §19.15. The peer's further ids are not used; `Err`: it wants the first one back, and gets the connection's end.
fn read_new_cid(reader: &mut Reader) -> Option<Result<Frame, u64>> {
    let (sequence, retire_prior_to) = (reader.varint()?, reader.varint()?);
    let length = usize::from(reader.byte()?);
    if !(1..=MAX_CID).contains(&length) || retire_prior_to > sequence {
        return None;
    }
    reader.take(length + 16)?;
    Some(if retire_prior_to > 0 { Err(INTERNAL_ERROR) } else { Ok(Frame::NewConnectionId { sequence }) })
}

fn read_ack(reader: &mut Reader, has_counts: bool) -> Option<Ack> {
    let (largest, delay, count) = (reader.varint()?, reader.varint()?, reader.varint()?);
    let mut low = largest.checked_sub(reader.varint()?)?;
    let mut ranges = Vec::from([Range { start: low, end: largest + 1 }]);
    for _ in 0..count {
        let high = low.checked_sub(reader.varint()?.checked_add(2)?)?;
        low = high.checked_sub(reader.varint()?)?;
        if ranges.len() < Ack::CAPACITY {
            ranges.push(low..high + 1);
        }
    }
    let mut counts = EcnCounts::default();
    if has_counts {
        counts = EcnCounts { ect0: reader.varint()?, ect1: reader.varint()?, ce: reader.varint()? };
    }
    Ack::new(ranges.iter(), delay, has_counts.then_some(counts))
}

/// TRANSPORT_PARAMETER_ERROR.
pub const TRANSPORT_PARAMETER_ERROR: u64 = 0x08;

/// What a client told of itself beside the common parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfClient {
    /// Common ones; `initial_max_stream_data` is what a server's answers may use, `_bidi_local`.
    pub common: TransportParameters,
    /// `max_udp_payload_size`.
    pub max_datagram: u64,
    /// `initial_max_streams_uni`.
    pub max_uni_streams: u64,
    /// `initial_max_stream_data_uni`.
    pub max_uni_data: u64,
}

/// Read a client's parameters; `source` is the connection id that it calls itself. `None`: TRANSPORT_PARAMETER_ERROR.
pub fn read_parameters(bytes: &[u8], source: &[u8]) -> Option<OfClient> {
    let mut found = OfClient {
        common: TransportParameters {
            max_idle_timeout_ms: 0,
            initial_max_data: 0,
            initial_max_stream_data: 0,
            initial_max_streams: 0,
            ack_delay_exponent: 3,
            max_ack_delay_ms: 25,
            accepts_early_data: false,
        },
        max_datagram: 65_527,
        max_uni_streams: 0,
        max_uni_data: 0,
    };
    let (mut reader, mut seen, mut is_named) = (Reader::new(bytes), Vec::new(), false);
    while !reader.is_empty() {
        let (id, value) = (reader.varint()?, reader.prefixed()?);
        if seen.contains(&id) {
            return None; // §7.4
        }
        seen.push(id);
        let number = || {
            let mut reader = Reader::new(value);
            reader.varint().filter(|_| reader.is_empty())
        };
        match id {
            0x00 | 0x02 | 0x0d | 0x10 => return None, // §18.2: of a server
            0x01 => found.common.max_idle_timeout_ms = number()?,
            0x03 => found.max_datagram = number().filter(|&most| most >= 1200)?,
            0x04 => found.common.initial_max_data = number()?,
            0x05 => found.common.initial_max_stream_data = number()?,
            0x07 => found.max_uni_data = number()?,
            0x08 => found.common.initial_max_streams = bounded(number()?)?,
            0x09 => found.max_uni_streams = bounded(number()?)?,
            0x0a => found.common.ack_delay_exponent = number().filter(|&exponent| exponent <= 20)? as u8,
            0x0b => found.common.max_ack_delay_ms = number().filter(|&delay| delay < 1 << 14)?,
            0x0e => drop(number().filter(|&limit| limit >= 2)?),
            0x0f => is_named = value == source,
            _ => {}
        }
    }
    is_named.then_some(found) // §7.3
}

/// A server's parameters. `original`: the connection id that the client's first packet went to; `own`: this end's.
pub fn put_parameters(
    parameters: &TransportParameters,
    max_uni_streams: u64,
    (original, own): (&[u8], &[u8]),
) -> Vec<u8> {
    let mut out = Vec::new();
    let mut bytes = |id: u64, value: &[u8]| {
        put_varint(&mut out, id);
        put_varint(&mut out, value.len() as u64);
        out.extend(value);
    };
    bytes(0x00, original);
    bytes(0x0f, own);
    bytes(0x0c, &[]); // disable_active_migration: the client gets no second id to move with
    for (id, value) in [
        (0x01, parameters.max_idle_timeout_ms),
        (0x04, parameters.initial_max_data),
        (0x05, parameters.initial_max_stream_data),
        (0x06, parameters.initial_max_stream_data),
        (0x07, parameters.initial_max_stream_data),
        (0x08, parameters.initial_max_streams),
        (0x09, max_uni_streams),
        (0x0a, u64::from(parameters.ack_delay_exponent)),
        (0x0b, parameters.max_ack_delay_ms),
    ] {
        let mut number = Vec::new();
        put_varint(&mut number, value);
        bytes(id, &number);
    }
    out
}

/// A version negotiation packet (§17.2.1) for who spoke another version: its connection ids turned round.
pub fn version_negotiation(destination: &[u8], source: &[u8]) -> Vec<u8> {
    let mut out = vec![0xc0, 0, 0, 0, 0];
    for cid in [source, destination] {
        out.push(cid.len() as u8);
        out.extend(cid);
    }
    out.extend(VERSION.to_be_bytes());
    out
}
