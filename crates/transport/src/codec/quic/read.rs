//! Frames that a client has sent.
//!
//! Reference: RFC 9000 §12.4, §19; draft-ietf-quic-multipath-21 §4.
//! Differences from the reference:
//! 1. A client's request for more paths or ids (PATHS_BLOCKED, PATH_CIDS_BLOCKED) is ignored: each path gets its ids at once, and the
//!    number of paths is fixed.

use super::kinds::*;
use super::{Data, MAX_CID, Reader, bounded};
use crate::quic::packet::{Ack, EcnCounts, Frame};
use crate::quic::varint;
use std::ops::Range;

/// The frames of a packet, in their order.
#[derive(Clone, Debug, Default)]
pub struct Opened {
    /// ACK frame; of several the last.
    pub ack: Option<Ack>,
    pub path_acks: Vec<(u8, Ack)>,
    /// MAX_PATH_ID: of several the largest.
    pub max_path_id: Option<u64>,
    /// Frames that only a connection over several paths may have are among them.
    pub is_multipath: bool,
    /// All others except PADDING; those without effect here appear as [`Frame::Ping`].
    pub frames: Vec<Frame>,
    /// Connection ids of the client's that NEW_CONNECTION_ID frames bring.
    pub ids: Vec<NewId>,
    /// Data of CRYPTO and STREAM frames: whose, from which offset, and where in the payload.
    pub data: Vec<(Data, u64, Range<usize>)>,
}

/// A new connection id (§19.15), without its token, since a client's stateless resets are not detected here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewId {
    pub path_id: u8,
    pub sequence: u64,
    /// All before this one are to be retired.
    pub retire_prior_to: u64,
    /// The id, 1 to 20 bytes.
    pub cid: Vec<u8>,
}

/// FRAME_ENCODING_ERROR (§20.1).
pub const FRAME_ENCODING_ERROR: u64 = 0x07;
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
    opened.is_multipath |= matches!(kind, PATH_ACK | PATH_ACK_ECN | PATH_ABANDON..=PATH_CIDS_BLOCKED);
    let frame = match kind {
        0x00 => return Some(Ok(())),
        0x01 => Frame::Ping,
        0x02 | 0x03 => {
            opened.ack = Some(read_ack(reader, kind == 3)?);
            return Some(Ok(()));
        }
        0x04 => {
            let (id, code, final_size) = (reader.varint()?, reader.varint()?, reader.varint()?);
            Frame::ResetStream { id, code: u32::try_from(code).unwrap_or(u32::MAX), final_size }
        }
        0x05 => {
            let (id, code) = (reader.varint()?, reader.varint()?);
            Frame::StopSending { id, code: u32::try_from(code).unwrap_or(u32::MAX) }
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
        0x18 | PATH_NEW_CONNECTION_ID => {
            let path_id = if kind == 0x18 { 0 } else { read_path(reader)? };
            let id = read_new_cid(reader, path_id)?;
            let sequence = id.sequence;
            opened.ids.push(id);
            Frame::NewConnectionId { path_id, sequence }
        }
        0x19 => Frame::RetireConnectionId { path_id: 0, sequence: reader.varint()? },
        PATH_RETIRE_CONNECTION_ID => {
            Frame::RetireConnectionId { path_id: read_path(reader)?, sequence: reader.varint()? }
        }
        PATH_ACK | PATH_ACK_ECN => {
            let path_id = read_path(reader)?;
            opened.path_acks.push((path_id, read_ack(reader, kind == PATH_ACK_ECN)?));
            return Some(Ok(()));
        }
        PATH_ABANDON => {
            let (path_id, _) = (read_path(reader)?, reader.varint()?);
            Frame::PathAbandon { path_id }
        }
        PATH_STATUS_BACKUP | PATH_STATUS_AVAILABLE => Frame::PathStatus {
            path_id: read_path(reader)?,
            sequence: reader.varint()?,
            is_backup: kind == PATH_STATUS_BACKUP,
        },
        MAX_PATH_ID => {
            opened.max_path_id = opened.max_path_id.max(Some(reader.varint()?));
            Frame::Ping
        }
        PATHS_BLOCKED => {
            reader.varint()?;
            Frame::Ping
        }
        PATH_CIDS_BLOCKED => {
            let (_, _) = (reader.varint()?, reader.varint()?);
            Frame::Ping
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

fn read_stream(reader: &mut Reader, kind: u64, opened: &mut Opened) -> Option<Frame> {
    let id = reader.varint()?;
    let offset = if kind & 4 != 0 { reader.varint()? } else { 0 };
    let bytes = if kind & 2 != 0 { reader.prefixed()? } else { reader.take(reader.bytes.len() - reader.at)? };
    offset.checked_add(bytes.len() as u64).filter(|&end| end <= varint::MAX)?;
    let end = reader.position();
    opened.data.push((Data::Stream(id), offset, end - bytes.len()..end));
    Some(Frame::Stream { id, offset, len: bytes.len() as u32, fin: kind & 1 != 0 })
}

/// Read a path's number; all from 255 on are mapped to one unused number.
fn read_path(reader: &mut Reader) -> Option<u8> {
    Some(u8::try_from(reader.varint()?).unwrap_or(u8::MAX))
}

/// §19.15.
fn read_new_cid(reader: &mut Reader, path_id: u8) -> Option<NewId> {
    let (sequence, retire_prior_to) = (reader.varint()?, reader.varint()?);
    let length = usize::from(reader.byte()?);
    if !(1..=MAX_CID).contains(&length) || retire_prior_to > sequence {
        return None;
    }
    let cid = reader.take(length)?.to_vec();
    reader.take(16)?;
    Some(NewId { path_id, sequence, retire_prior_to, cid })
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
