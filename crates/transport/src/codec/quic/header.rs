//! Headers of packets, and their numbers.
//!
//! Reference: RFC 9000 §17, appendix A.3.

use super::Reader;
use crate::quic::packet::{Kind, Packet, TAG_BYTES};
use crate::quic::varint;
use std::ops::Range;

/// Version 1 (RFC 9000 §15).
pub const VERSION: u32 = 1;
/// Longest connection id of version 1 (§17.2).
pub const MAX_CID: usize = 20;

/// The fields of a packet's header that are readable without removing header protection (§17.2, §17.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Header {
    /// A long header of version 1.
    Long {
        /// Initial, 0-RTT or Handshake.
        kind: Kind,
        /// Position of the destination connection id in the packet.
        destination: Range<usize>,
        source: Range<usize>,
        /// An Initial's token (§8.1).
        token: Range<usize>,
        number_at: usize,
        end: usize,
    },
    Short {
        destination: Range<usize>,
        number_at: usize,
    },
    /// Another version: both connection ids.
    Unknown {
        destination: Range<usize>,
        source: Range<usize>,
    },
}

impl Header {
    /// Parse the header of the first packet in `bytes`; own connection ids are `cid_bytes` long. `None` if it is not a packet, or one that
    /// a server ignores (Retry, version negotiation).
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
        let token_bytes = if kind == Kind::Initial { reader.prefixed()?.len() } else { 0 };
        let token = reader.position() - token_bytes..reader.position();
        let length = usize::try_from(reader.varint()?).ok()?;
        let number_at = reader.position();
        let end = number_at.checked_add(length).filter(|&end| end <= bytes.len())?;
        Some(Header::Long { kind, destination, source, token, number_at, end })
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

/// A Retry packet (§17.2.5) without its integrity tag, and the pseudo-packet that the tag covers (RFC 9001 §5.8). The client with
/// connection id `peer` has to start again with `own` as the destination and this token; its first packet was addressed to `original`.
pub fn retry((peer, own, original): (&[u8], &[u8], &[u8]), token: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let mut packet = vec![0xf0, 0, 0, 0, VERSION as u8];
    for cid in [peer, own] {
        packet.push(cid.len() as u8);
        packet.extend(cid);
    }
    packet.extend(token);
    let sealed = [&[original.len() as u8], original, &packet].concat();
    (packet, sealed)
}
