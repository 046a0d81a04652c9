//! HTTP/3 on the streams of a connection. `http.rs` interprets the requests of every HTTP version.
//!
//! `fields` (QPACK without a dynamic table), `request` (one request and its answer), and here the frames and the control stream.
//!
//! Reference: RFC 9114, RFC 9204, RFC 9218.
//! Differences from the reference:
//! 1. No push, no dynamic table, no GOAWAY: a server that ends closes the connection.

pub mod fields;
pub mod request;

use playpath_transport::codec::quic::{Reader, put_varint};

/// An error that ends the connection (RFC 9114 §8.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken(pub u64);

/// H3_NO_ERROR.
pub const NO_ERROR: u64 = 0x100;
const STREAM_CREATION_ERROR: Broken = Broken(0x103);
const CLOSED_CRITICAL_STREAM: Broken = Broken(0x104);
const FRAME_UNEXPECTED: Broken = Broken(0x105);
pub const FRAME_ERROR: Broken = Broken(0x106);
pub const EXCESSIVE_LOAD: Broken = Broken(0x107);
pub const ID_ERROR: Broken = Broken(0x108);
const SETTINGS_ERROR: Broken = Broken(0x109);
const MISSING_SETTINGS: Broken = Broken(0x10a);
const DECOMPRESSION_FAILED: Broken = Broken(0x200);
const ENCODER_STREAM_ERROR: Broken = Broken(0x201);
const DECODER_STREAM_ERROR: Broken = Broken(0x202);

/// Errors that end a stream: H3_INTERNAL_ERROR, H3_EXCESSIVE_LOAD, H3_REQUEST_INCOMPLETE, H3_MESSAGE_ERROR.
pub const INTERNAL_ERROR: u32 = 0x102;
pub const TOO_LARGE: u32 = 0x107;
pub const REQUEST_INCOMPLETE: u32 = 0x10d;
pub const MESSAGE_ERROR: u32 = 0x10e;

/// Frame types (§7.2), and PRIORITY_UPDATE of a request and of a push (RFC 9218 §7.2).
const DATA: u64 = 0x00;
const HEADERS: u64 = 0x01;
const CANCEL_PUSH: u64 = 0x03;
const SETTINGS: u64 = 0x04;
const PUSH_PROMISE: u64 = 0x05;
const GOAWAY: u64 = 0x07;
const MAX_PUSH_ID: u64 = 0x0d;
const PRIORITY_UPDATE: u64 = 0xf0700;
const PRIORITY_UPDATE_OF_PUSH: u64 = 0xf0701;
/// Frame types of HTTP/2 that are forbidden in HTTP/3 (§7.2.8).
const RESERVED: [u64; 4] = [0x02, 0x06, 0x08, 0x09];

/// First bytes of the server's control stream: the stream type and an empty SETTINGS frame (§6.2.1, §7.2.4).
pub const CONTROL_PREFACE: [u8; 3] = [0x00, SETTINGS as u8, 0x00];

/// A HEADERS frame of these fields (RFC 9114 §7.2.2).
pub fn headers<'a>(fields: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<u8> {
    let section = fields::encode(fields);
    let mut frame = Vec::with_capacity(section.len() + 16);
    put_varint(&mut frame, HEADERS);
    put_varint(&mut frame, section.len() as u64);
    frame.extend(section);
    frame
}

/// A frame's type and length, and the bytes that they take; `None`: not all there yet.
fn frame_head(input: &[u8]) -> Option<(u64, u64, usize)> {
    let mut reader = Reader::new(input);
    Some((reader.varint()?, reader.varint()?, reader.position()))
}

/// Most bytes of a frame on the control stream that are read; longer ones are an attack.
const MAX_CONTROL_BYTES: u64 = 4096;

/// The client's unidirectional streams: their types, and the frames of the control stream (§6.2).
#[derive(Debug, Default)]
pub struct Control {
    control: Option<u64>,
    encoder: Option<u64>,
    decoder: Option<u64>,
    has_settings: bool,
    /// MAX_PUSH_ID only grows (§7.2.7), GOAWAY's identifier only shrinks (§5.2).
    max_push_id: u64,
    goaway: Option<u64>,
    /// Bytes left of a frame that is skipped.
    skipping: u64,
}

/// A priority that the client gave to a request after it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    pub stream: u64,
    /// Priority field value (RFC 9218 §5).
    pub value: String,
}

impl Control {
    /// Handle bytes of unidirectional stream `id`, which start at its first byte if `is_begin`. Returns the number of bytes consumed
    /// and what they mean.
    pub fn handle(
        &mut self,
        id: u64,
        (is_begin, is_end): (bool, bool),
        input: &[u8],
    ) -> Result<(usize, Option<Update>), Broken> {
        if is_begin && ![self.control, self.encoder, self.decoder].contains(&Some(id)) {
            let mut reader = Reader::new(input);
            let Some(kind) = reader.varint() else { return Ok((0, None)) };
            let place = match kind {
                0x00 => &mut self.control,
                0x01 => return Err(STREAM_CREATION_ERROR), // only servers push
                0x02 => &mut self.encoder,
                0x03 => &mut self.decoder,
                _ => return Ok((input.len(), None)), // §6.2.3
            };
            if place.replace(id).is_some() {
                return Err(STREAM_CREATION_ERROR);
            }
            return if is_end { Err(CLOSED_CRITICAL_STREAM) } else { Ok((reader.position(), None)) };
        }
        let is = |place: Option<u64>| place == Some(id);
        match (is(self.control), is(self.encoder), is(self.decoder)) {
            (false, false, false) => Ok((input.len(), None)),
            _ if is_end => Err(CLOSED_CRITICAL_STREAM),
            (true, ..) => self.read_frame(input),
            (_, true, _) => Ok((read_encoder(input)?, None)),
            _ => Ok((read_decoder(input)?, None)),
        }
    }

    fn read_frame(&mut self, input: &[u8]) -> Result<(usize, Option<Update>), Broken> {
        if self.skipping > 0 {
            let skipped = self.skipping.min(input.len() as u64);
            self.skipping -= skipped;
            return Ok((skipped as usize, None));
        }
        let Some((kind, length, head)) = frame_head(input) else { return Ok((0, None)) };
        if !self.has_settings && kind != SETTINGS {
            return Err(MISSING_SETTINGS);
        }
        match kind {
            SETTINGS if self.has_settings => return Err(FRAME_UNEXPECTED),
            DATA | HEADERS | PUSH_PROMISE => return Err(FRAME_UNEXPECTED),
            kind if RESERVED.contains(&kind) => return Err(FRAME_UNEXPECTED),
            SETTINGS | CANCEL_PUSH | GOAWAY | MAX_PUSH_ID | PRIORITY_UPDATE | PRIORITY_UPDATE_OF_PUSH => {}
            _ => {
                self.skipping = length;
                return Ok((head, None));
            }
        }
        if length > MAX_CONTROL_BYTES {
            return Err(EXCESSIVE_LOAD);
        }
        let Some(payload) = input.get(head..head + length as usize) else { return Ok((0, None)) };
        let mut update = None;
        if kind == SETTINGS {
            self.read_settings(Reader::new(payload))?;
        } else {
            update = self.read_id(kind, payload)?;
        }
        Ok((head + length as usize, update))
    }

    /// Read a frame that begins with an identifier. A push identifier is valid only as a limit, since no push was promised.
    fn read_id(&mut self, kind: u64, payload: &[u8]) -> Result<Option<Update>, Broken> {
        let mut reader = Reader::new(payload);
        let id = reader.varint().ok_or(FRAME_ERROR)?;
        let rest = &payload[reader.position()..];
        if kind == PRIORITY_UPDATE && id % 4 == 0 {
            return Ok(Some(Update { stream: id, value: String::from_utf8_lossy(rest).into_owned() }));
        }
        let is_right = match kind {
            MAX_PUSH_ID => id >= std::mem::replace(&mut self.max_push_id, id),
            GOAWAY => self.goaway.replace(id).is_none_or(|before| id <= before),
            _ => return Err(ID_ERROR), // RFC 9114 §7.2.3, RFC 9218 §7.2
        };
        match (rest.is_empty(), is_right) {
            (false, _) => Err(FRAME_ERROR),
            (true, false) => Err(ID_ERROR),
            (true, true) => Ok(None),
        }
    }

    /// Check the client's settings. None of them matters to a server that neither pushes nor uses the dynamic table.
    fn read_settings(&mut self, mut reader: Reader) -> Result<(), Broken> {
        let mut seen = Vec::new();
        while !reader.is_empty() {
            let (id, _) = reader.varint().zip(reader.varint()).ok_or(FRAME_ERROR)?;
            // §7.2.4.1, §11.2.2: HTTP/2's, and no two of one kind.
            if [0x00, 0x02, 0x03, 0x04, 0x05].contains(&id) || seen.contains(&id) {
                return Err(SETTINGS_ERROR);
            }
            seen.push(id);
        }
        self.has_settings = true;
        Ok(())
    }
}

/// The client may say that its table has no room, which it has not (RFC 9204 §4.3.1), and can insert nothing.
fn read_encoder(input: &[u8]) -> Result<usize, Broken> {
    if input.iter().all(|byte| *byte == 0x20) { Ok(input.len()) } else { Err(ENCODER_STREAM_ERROR) }
}

/// The client may cancel a stream (RFC 9204 §4.4.2); there is nothing that it could acknowledge. One instruction, 0: not all there yet.
fn read_decoder(input: &[u8]) -> Result<usize, Broken> {
    const MAX_BYTES: usize = 11;
    match input.first() {
        None => Ok(0),
        Some(first) if first & 0xc0 != 0x40 => Err(DECODER_STREAM_ERROR),
        Some(first) if first & 0x3f != 0x3f => Ok(1),
        Some(_) => match input[1..].iter().position(|byte| byte & 0x80 == 0) {
            Some(more) => Ok(more + 2),
            None if input.len() < MAX_BYTES => Ok(0),
            None => Err(DECODER_STREAM_ERROR),
        },
    }
}

#[cfg(test)]
mod tests;
