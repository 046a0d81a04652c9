//! Frames that are sent.
//!
//! Reference: RFC 9000 §19, §10.2.3; draft-ietf-quic-multipath-21 §4.

use super::kinds::*;
use super::put_varint;
use crate::quic::packet::{ABANDONED, Ack, Frame, Kind, Packet};
use std::ops::Range;

/// Type of the data that a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// TLS's, in the packet's space.
    Crypto,
    Stream(u64),
    /// A connection id of this end with its token, 24 bytes, by its path and number.
    Id(u8, u64),
}

/// Append a packet's frames, `length` bytes in all, filled with PADDING. `data` writes the bytes from an offset on into a slice.
/// `is_application`: a CONNECTION_CLOSE is the application's; `path_id`: of the path that its ACK frame is of, where there are several.
/// Errors: those of `data`.
pub fn put_frames<E>(
    out: &mut Vec<u8>,
    packet: &Packet,
    (length, is_application, path_id): (usize, bool, Option<u8>),
    mut data: impl FnMut(Data, u64, &mut [u8]) -> Result<(), E>,
) -> Result<(), E> {
    let start = out.len();
    let frames = packet.frames.as_slice();
    if let Some(ack) = packet.ack() {
        put_ack(out, ack, path_id.filter(|_| packet.kind == Kind::OneRtt));
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

fn put_ack(out: &mut Vec<u8>, ack: &Ack, path_id: Option<u8>) {
    let has_counts = u64::from(ack.ecn.is_some());
    match path_id {
        None => put(out, ACK | has_counts, &[]),
        Some(path_id) => put(out, PATH_ACK | has_counts, &[path_id.into()]),
    }
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
        Frame::ResetStream { id, code, final_size } => put(out, 0x04, &[id, u64::from(code), final_size]),
        Frame::StopSending { id, code } => put(out, 0x05, &[id, u64::from(code)]),
        Frame::Crypto { offset, len, .. } => {
            put(out, 0x06, &[offset, u64::from(len)]);
            return Some((Data::Crypto, offset, room(out, len)));
        }
        Frame::Stream { id, offset, len, fin } => {
            let kind = 0x08 | u64::from(offset > 0) << 2 | u64::from(!fills) << 1 | u64::from(fin);
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
        Frame::NewConnectionId { path_id, sequence } => {
            match path_id {
                0 => put(out, 0x18, &[]),
                path_id => put(out, PATH_NEW_CONNECTION_ID, &[path_id.into()]),
            }
            [sequence, 0].iter().for_each(|value| put_varint(out, *value)); // none before it is to be retired
            out.push(8);
            return Some((Data::Id(path_id, sequence), 0, room(out, 24)));
        }
        Frame::RetireConnectionId { path_id: 0, sequence } => put(out, 0x19, &[sequence]),
        Frame::RetireConnectionId { path_id, sequence } => {
            put(out, PATH_RETIRE_CONNECTION_ID, &[path_id.into(), sequence]);
        }
        Frame::PathStatus { path_id, sequence, is_backup } => {
            let kind = if is_backup { PATH_STATUS_BACKUP } else { PATH_STATUS_AVAILABLE };
            put(out, kind, &[path_id.into(), sequence]);
        }
        Frame::PathAbandon { path_id } => put(out, PATH_ABANDON, &[path_id.into(), ABANDONED]),
        Frame::Close { .. } => {} // by put_close
        Frame::PathChallenge(token) | Frame::PathResponse(token) => {
            out.push(if matches!(frame, Frame::PathChallenge(_)) { 0x1a } else { 0x1b });
            out.extend(token.to_be_bytes());
        }
        Frame::HandshakeDone => out.push(0x1e),
    }
    None
}

fn put(out: &mut Vec<u8>, kind: u64, values: &[u64]) {
    put_varint(out, kind);
    values.iter().for_each(|value| put_varint(out, *value));
}

/// APPLICATION_ERROR: what an application's code becomes where it must not be sent yet (§10.2.3).
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
