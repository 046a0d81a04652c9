//! QUIC's headers, frames and transport parameters as real bytes, without encryption, which is up to the caller.
//!
//! Reference: RFC 9000 §16 (integers), §17 (headers), §18 (transport parameters), §19 (frames), appendix A.3 (packet numbers);
//! draft-ietf-quic-multipath-21 §2.1 (its parameter), §4 (its frames).
//! Differences from the reference:
//! 1. RESET_STREAM and STOP_SENDING carry error code 0, which HTTP/3 reads as H3_NO_ERROR; CONNECTION_CLOSE has no reason phrase.
//! 2. Of an ACK frame the newest [`Ack::CAPACITY`](crate::quic::packet::Ack::CAPACITY) ranges are read; the older ones are
//!    repeated later, or were reported before.
//!
//! Nothing here panics on any input. Tested by `tests/quic_codec.rs`: the RFC's examples, round trips, sizes, hostile bytes.
//!
//! Integers are here; other parts are `header`, `written` and `read` (sent and received frames), `kinds` (frame types), `parameters`.

mod header;
mod kinds;
mod parameters;
mod read;
mod written;

pub use header::{Header, MAX_CID, VERSION, packet_number, put_header, retry, version_negotiation};
pub use parameters::{OfClient, OfServer, TRANSPORT_PARAMETER_ERROR, put_parameters, read_parameters};
pub use read::{FRAME_ENCODING_ERROR, NewId, Opened, PROTOCOL_VIOLATION, read_frames};
pub use written::{Data, put_frames};

use crate::quic::varint;

/// Bytes that are read from the front; `None`: there are not so many.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, at: 0 }
    }
    /// Bytes read so far.
    pub fn position(&self) -> usize {
        self.at
    }
    pub fn is_empty(&self) -> bool {
        self.at >= self.bytes.len()
    }
    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(count)?)?;
        self.at += count;
        Some(taken)
    }
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

/// At most 2^60 streams (RFC 9000 §19.11).
fn bounded(count: u64) -> Option<u64> {
    (count <= 1 << 60).then_some(count)
}
