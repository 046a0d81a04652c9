//! HTTP/2 on a connection with TLS: frames in, frames out. `http.rs` interprets the requests of every HTTP version.
//!
//! Usage: call [`Http2::handle`] with the received bytes until it consumes none, [`Http2::respond`] for each answer it returns, and
//! [`Http2::poll`] while there is room below.
//!
//! Reference: RFC 9113; RFC 9218 (priorities: the most urgent first, of those what is not incremental in the order of the requests, then
//! the others by turns).
//! Differences from the reference:
//! 1. No push. Trailers (if they are right) and the older priorities (RFC 9113 §5.3) are passed over.
//! 2. What a client may make this end keep or answer is bounded; beyond it the connection ends with ENHANCE_YOUR_CALM.
//!
//! Tested here, and by curl and Chromium (`tests/testbed/test_wire.py`).

mod hpack;

use crate::h3::fields::Field;
use crate::h3::request::{CONTINUE, Early, announced, fits, head, is_allowed, priority, regular_fields};
use crate::http::{Answer, Http};
use crate::http_connection::Access;
use crate::outgoing::Source;
use crate::store::Store;
use hpack::Decoder;
use playpath_transport::quic::Priority;
use playpath_units::Time;
use std::collections::{BTreeMap, VecDeque};
use std::time::SystemTime;

/// What a client says first (§3.4).
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Size of a frame header, bytes (§4.1).
const FRAME_HEAD: usize = 9;
/// `SETTINGS_MAX_FRAME_SIZE`, ours and at first the client's (§6.5.2).
const MAX_FRAME: u64 = 16_384;
/// Windows at the beginning (§6.9.2), and the largest (§6.9.1).
const FIRST_WINDOW: i64 = 65_535;
const MAX_WINDOW: i64 = 0x7fff_ffff;
/// `SETTINGS_MAX_CONCURRENT_STREAMS`.
const MAX_STREAMS: usize = 100;
/// Bytes of a field section in several frames.
const MAX_SECTION: usize = 16 * 1024;
/// Bytes of frames that answer the client's, and have not left.
const MAX_REPLIES: usize = 16 * 1024;
/// Requests that a client may take back without reading an answer.
const MAX_RESETS: u64 = 1000;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const PRIORITY: u8 = 2;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
const PRIORITY_UPDATE: u8 = 0x10;

const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const PADDED: u8 = 8;
const WITH_PRIORITY: u8 = 0x20;

/// An error that ends the connection (§7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken(pub u32);

const PROTOCOL_ERROR: Broken = Broken(1);
const FLOW_CONTROL_ERROR: Broken = Broken(3);
const STREAM_CLOSED: Broken = Broken(5);
const FRAME_SIZE_ERROR: Broken = Broken(6);
const REFUSED_STREAM: u32 = 7;
const COMPRESSION_ERROR: Broken = Broken(9);
const ENHANCE_YOUR_CALM: Broken = Broken(11);

#[derive(Debug)]
struct Stream {
    http: Http,
    /// Bytes of the body that `content-length` announces and no frame has brought yet.
    announced: Option<u64>,
    is_ended: bool,
    asked: Time,
    access: Option<Access>,
    priority: Priority,
    window: i64,
    /// Head of its answer, until it is framed, and the rest of the body.
    head: Option<Vec<u8>>,
    body: Option<(u64, Source)>,
    turn: u64,
}

/// Bytes that leave: a frame's head or more, then a part of a body.
#[derive(Debug)]
pub struct Piece {
    pub bytes: Vec<u8>,
    pub body: Option<(u64, Source)>,
    pub ended: Option<Access>,
}

#[derive(Debug)]
pub struct Http2 {
    decoder: Decoder,
    has_preface: bool,
    has_settings: bool,
    /// When what has begun and is not complete began to come: a frame that is no part of a body, or a field section.
    pub begun: Option<Time>,
    /// A field section that goes on in the next frame, its stream, and whether that ends with it.
    section: Option<(u32, bool, Vec<u8>)>,
    streams: BTreeMap<u32, Stream>,
    /// The latest that are over, and whether the client had ended them: of others it may have sent more before it knew (§5.1).
    over: VecDeque<(u32, bool)>,
    early: Early,
    latest: u32,
    window: i64,
    first_window: i64,
    max_frame_size: u64,
    replies: Vec<u8>,
    turns: u64,
    resets: u64,
    pub requests: u64,
}

impl Default for Http2 {
    fn default() -> Http2 {
        let mut replies = Vec::new();
        let limit = (MAX_STREAMS as u32).to_be_bytes();
        put_frame(&mut replies, (SETTINGS, 0, 0), &[&[0, 3], &limit[..]].concat());
        Http2 {
            decoder: Decoder::default(),
            has_preface: false,
            has_settings: false,
            begun: None,
            section: None,
            streams: BTreeMap::new(),
            over: VecDeque::new(),
            early: Early::default(),
            latest: 0,
            window: FIRST_WINDOW,
            first_window: FIRST_WINDOW,
            max_frame_size: MAX_FRAME,
            replies,
            turns: 0,
            resets: 0,
            requests: 0,
        }
    }
}

impl Http2 {
    pub fn is_idle(&self) -> bool {
        self.streams.is_empty()
    }
    /// Memory that grows with what the peer sends, bytes.
    pub fn footprint(&self) -> usize {
        self.section.as_ref().map_or(0, |(_, _, block)| block.capacity()) + self.replies.capacity()
    }
    pub fn asked(&self, stream: u32) -> Option<Time> {
        self.streams.get(&stream).map(|stream| stream.asked)
    }

    /// Read on: bytes that are done with, and an answer to be sent by [`respond`](Self::respond). Errors end the connection.
    pub fn handle(&mut self, now: Time, input: &[u8], store: &Store) -> Result<(usize, Option<(u32, Answer)>), Broken> {
        let (consumed, answer) = self.read(now, input, store)?;
        let is_cut = consumed == 0 && !input.is_empty() && input.get(3) != Some(&DATA);
        let begun = self.begun.filter(|_| consumed == 0 || self.section.is_some()).unwrap_or(now);
        self.begun = (is_cut || self.section.is_some()).then_some(begun);
        Ok((consumed, answer))
    }

    fn read(&mut self, now: Time, input: &[u8], store: &Store) -> Result<(usize, Option<(u32, Answer)>), Broken> {
        if !self.has_preface {
            let Some(begin) = input.get(..PREFACE.len()) else {
                return if PREFACE.starts_with(input) { Ok((0, None)) } else { Err(PROTOCOL_ERROR) };
            };
            self.has_preface = begin == PREFACE;
            return if self.has_preface { Ok((PREFACE.len(), None)) } else { Err(PROTOCOL_ERROR) };
        }
        let Some(head) = input.get(..FRAME_HEAD) else { return Ok((0, None)) };
        let length = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
        let (kind, flags, id) = (head[3], head[4], u32_at(head, 5) & 0x7fff_ffff);
        if !self.has_settings && (kind, flags & ACK) != (SETTINGS, 0) {
            return Err(PROTOCOL_ERROR); // §3.4
        }
        if length as u64 > MAX_FRAME {
            return Err(FRAME_SIZE_ERROR);
        }
        let Some(payload) = input.get(FRAME_HEAD..FRAME_HEAD + length) else { return Ok((0, None)) };
        if self.section.as_ref().is_some_and(|(open, ..)| kind != CONTINUATION || id != *open) {
            return Err(PROTOCOL_ERROR); // §6.10
        }
        let answer = match kind {
            DATA => self.take_data((id, flags), payload, store)?,
            HEADERS => {
                let payload = unpadded(flags, payload).ok_or(PROTOCOL_ERROR)?;
                let block =
                    if flags & WITH_PRIORITY != 0 { payload.get(5..).ok_or(FRAME_SIZE_ERROR)? } else { payload };
                self.section = Some((id, flags & END_STREAM != 0, Vec::new()));
                self.take_section(now, flags, block, store)?
            }
            CONTINUATION if self.section.is_some() => self.take_section(now, flags, payload, store)?,
            CONTINUATION | PUSH_PROMISE => return Err(PROTOCOL_ERROR),
            _ => {
                self.take_control((kind, flags, id), payload)?;
                None
            }
        };
        if self.replies.len() > MAX_REPLIES || self.resets > self.requests + MAX_RESETS {
            return Err(ENHANCE_YOUR_CALM);
        }
        Ok((FRAME_HEAD + length, answer.map(|answer| (id, answer))))
    }

    fn take_control(&mut self, (kind, flags, id): (u8, u8, u32), payload: &[u8]) -> Result<(), Broken> {
        let is_of_connection = matches!(kind, SETTINGS | PING | GOAWAY | PRIORITY_UPDATE);
        let is_of_stream = matches!(kind, PRIORITY | RST_STREAM);
        if is_of_connection && id != 0 || is_of_stream && id == 0 {
            return Err(PROTOCOL_ERROR);
        }
        match kind {
            SETTINGS if flags & ACK == 0 => self.take_settings(payload)?,
            SETTINGS if !payload.is_empty() => return Err(FRAME_SIZE_ERROR),
            PING if payload.len() != 8 => return Err(FRAME_SIZE_ERROR),
            PING if flags & ACK == 0 => put_frame(&mut self.replies, (PING, ACK, 0), payload),
            RST_STREAM if payload.len() != 4 => return Err(FRAME_SIZE_ERROR),
            RST_STREAM if id > self.latest => return Err(PROTOCOL_ERROR), // §6.4
            RST_STREAM => self.resets += u64::from(self.end(id, true).is_some()),
            WINDOW_UPDATE if payload.len() != 4 => return Err(FRAME_SIZE_ERROR),
            WINDOW_UPDATE => self.take_window(id, i64::from(u32_at(payload, 0) & 0x7fff_ffff))?,
            PRIORITY_UPDATE if payload.len() < 4 => return Err(FRAME_SIZE_ERROR),
            PRIORITY_UPDATE => {
                let value = String::from_utf8_lossy(&payload[4..]);
                self.prioritise(u32_at(payload, 0) & 0x7fff_ffff, priority(&value))?;
            }
            _ => {} // §5.5
        }
        Ok(())
    }

    /// Set the priority of a request, which may be in progress, not yet received, or finished (RFC 9218 §7.1).
    fn prioritise(&mut self, id: u32, priority: Priority) -> Result<(), Broken> {
        if id.is_multiple_of(2) {
            return Err(PROTOCOL_ERROR);
        }
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.priority = priority;
        } else if id > self.latest {
            self.early.keep(u64::from(id), priority);
            if self.early.len() + self.streams.len() > MAX_STREAMS {
                return Err(PROTOCOL_ERROR);
            }
        }
        Ok(())
    }

    fn take_settings(&mut self, payload: &[u8]) -> Result<(), Broken> {
        if !payload.len().is_multiple_of(6) {
            return Err(FRAME_SIZE_ERROR);
        }
        for setting in payload.chunks(6) {
            let value = u32_at(setting, 2);
            match u16::from_be_bytes([setting[0], setting[1]]) {
                2 if value > 1 => return Err(PROTOCOL_ERROR), // SETTINGS_ENABLE_PUSH
                4 if i64::from(value) > MAX_WINDOW => return Err(FLOW_CONTROL_ERROR),
                4 => {
                    let more = i64::from(value) - self.first_window;
                    self.first_window += more;
                    self.streams.values_mut().for_each(|stream| stream.window += more); // §6.9.2
                    if self.streams.values().any(|stream| stream.window > MAX_WINDOW) {
                        return Err(FLOW_CONTROL_ERROR);
                    }
                }
                5 if !(MAX_FRAME..1 << 24).contains(&u64::from(value)) => return Err(PROTOCOL_ERROR),
                _ => {}
            }
        }
        put_frame(&mut self.replies, (SETTINGS, ACK, 0), &[]);
        self.has_settings = true;
        Ok(())
    }

    fn take_window(&mut self, id: u32, more: i64) -> Result<(), Broken> {
        let window = match id {
            0 => &mut self.window,
            id => match self.streams.get_mut(&id) {
                Some(stream) => &mut stream.window,
                None if id > self.latest => return Err(PROTOCOL_ERROR), // §5.1: idle
                None => return Ok(()),
            },
        };
        *window += more;
        match (more == 0, *window > MAX_WINDOW, id) {
            (true, _, 0) => Err(PROTOCOL_ERROR),
            (_, true, 0) => Err(FLOW_CONTROL_ERROR),
            (true, _, id) => self.give_up(id, PROTOCOL_ERROR.0),
            (_, true, id) => self.give_up(id, FLOW_CONTROL_ERROR.0),
            _ => Ok(()),
        }
    }

    /// A request ends without an answer.
    fn give_up(&mut self, id: u32, code: u32) -> Result<(), Broken> {
        self.end(id, false);
        self.resets += 1;
        put_frame(&mut self.replies, (RST_STREAM, 0, id), &code.to_be_bytes());
        Ok(())
    }

    /// Take a fragment of the current field section; the request begins with the last one.
    fn take_section(&mut self, now: Time, flags: u8, part: &[u8], store: &Store) -> Result<Option<Answer>, Broken> {
        let Some((id, is_end, mut block)) = self.section.take() else { return Err(PROTOCOL_ERROR) };
        block.extend(part);
        if block.len() > MAX_SECTION {
            return Err(ENHANCE_YOUR_CALM);
        }
        if flags & END_HEADERS == 0 {
            self.section = Some((id, is_end, block));
            return Ok(None);
        }
        let fields = self.decoder.decode(&block).ok_or(COMPRESSION_ERROR)?;
        if self.streams.contains_key(&id) {
            return self.take_trailers((id, is_end), &fields).map(|()| None);
        }
        if id % 2 == 0 || id <= self.latest {
            return match self.was_ended(id) {
                Some(true) => Err(STREAM_CLOSED),
                Some(false) => Ok(None),
                None => Err(PROTOCOL_ERROR), // §5.1.1
            };
        }
        self.latest = id;
        let updated = self.early.take(u64::from(id));
        if self.streams.len() >= MAX_STREAMS {
            return self.give_up(id, REFUSED_STREAM).map(|()| None);
        }
        let Some(text) = head(&fields).filter(|_| are_bare(&fields)) else {
            return self.give_up(id, PROTOCOL_ERROR.0).map(|()| None);
        };
        let announced = announced(&fields);
        if is_end && announced.is_some_and(|bytes| bytes > 0) {
            return self.give_up(id, PROTOCOL_ERROR.0).map(|()| None); // §8.1.1: it has no body
        }
        let stated = fields.iter().find(|(name, _)| name == "priority").map(|(_, value)| priority(value));
        let mut stream = Stream {
            http: Http::default(),
            announced,
            is_ended: is_end,
            asked: now,
            access: None,
            priority: updated.or(stated).unwrap_or_default(),
            window: self.first_window,
            head: None,
            body: None,
            turn: 0,
        };
        let answer = stream.http.handle(text.as_bytes(), store, SystemTime::now()).answer;
        if answer.as_ref().is_some_and(|answer| answer.status == 0) {
            put_frame(&mut self.replies, (HEADERS, END_HEADERS, id), &hpack::encode(CONTINUE.into_iter()));
        }
        self.streams.insert(id, stream);
        Ok(named(answer))
    }

    /// The second field section of a request: it ends it, and has no pseudo-fields (§8.1).
    fn take_trailers(&mut self, (id, is_end): (u32, bool), fields: &[Field]) -> Result<(), Broken> {
        let Some(stream) = self.streams.get_mut(&id) else { return Ok(()) };
        if std::mem::replace(&mut stream.is_ended, is_end) {
            return self.give_up(id, STREAM_CLOSED.0); // §5.1
        }
        let is_right = are_bare(fields) && fields.iter().all(|(name, value)| is_allowed(name, value));
        let is_whole = stream.announced.is_none_or(|left| left == 0); // §8.1.1
        if is_end && is_right && is_whole { Ok(()) } else { self.give_up(id, PROTOCOL_ERROR.0) }
    }

    /// Of a stream that is over, if that is still known: the client had ended it.
    fn was_ended(&self, id: u32) -> Option<bool> {
        self.over.iter().find(|(over, _)| *over == id).map(|(_, was_ended)| *was_ended)
    }

    /// A part of a request's body. The windows are opened again at once: what comes is hashed, not kept.
    fn take_data(&mut self, (id, flags): (u32, u8), payload: &[u8], store: &Store) -> Result<Option<Answer>, Broken> {
        if id == 0 || id > self.latest {
            return Err(PROTOCOL_ERROR);
        }
        let mut part = unpadded(flags, payload).ok_or(PROTOCOL_ERROR)?;
        let is_end = flags & END_STREAM != 0;
        if !payload.is_empty() {
            let more = (payload.len() as u32).to_be_bytes();
            put_frame(&mut self.replies, (WINDOW_UPDATE, 0, 0), &more);
            if !is_end {
                put_frame(&mut self.replies, (WINDOW_UPDATE, 0, id), &more);
            }
        }
        let Some(stream) = self.streams.get_mut(&id) else {
            return if self.was_ended(id) == Some(true) { Err(STREAM_CLOSED) } else { Ok(None) };
        };
        if std::mem::replace(&mut stream.is_ended, is_end) {
            return self.give_up(id, STREAM_CLOSED.0).map(|()| None); // §5.1
        }
        if !fits(&mut stream.announced, part.len() as u64) || is_end && stream.announced.is_some_and(|left| left > 0) {
            return self.give_up(id, PROTOCOL_ERROR.0).map(|()| None); // §8.1.1: longer or shorter than it said
        }
        let mut answer = None;
        while !part.is_empty() && stream.http.is_within_request() {
            let step = stream.http.handle(part, store, SystemTime::now());
            part = &part[step.consumed..];
            answer = answer.or(step.answer);
        }
        Ok(named(answer))
    }

    /// Set the answer to a request, and the log entry to be reported once it has been sent.
    pub fn respond(&mut self, id: u32, answer: Answer, access: Access) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let status = answer.status.to_string();
        let regular = regular_fields(&answer);
        let regular = regular.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let section = hpack::encode(std::iter::once((":status", status.as_str())).chain(regular));
        stream.body = answer.body.filter(|(len, _)| *len > 0);
        let flags = END_HEADERS | if stream.body.is_none() { END_STREAM } else { 0 };
        let mut bytes = Vec::new();
        put_frame(&mut bytes, (HEADERS, flags, id), &section);
        (stream.head, stream.access) = (Some(bytes), Some(access));
        self.requests += 1;
    }

    /// The next piece to send: control frames first, then heads, then bodies by priority. `None` if there is nothing to send or the
    /// windows are full.
    pub fn poll(&mut self) -> Option<Piece> {
        if self.has_preface && !self.replies.is_empty() {
            return Some(Piece { bytes: std::mem::take(&mut self.replies), body: None, ended: None });
        }
        if let Some((&id, stream)) = self.streams.iter_mut().find(|(_, stream)| stream.head.is_some()) {
            let (bytes, is_all) = (stream.head.take()?, stream.body.is_none());
            return Some(Piece { bytes, body: None, ended: if is_all { self.finish(id) } else { None } });
        }
        let window = u64::try_from(self.window).ok().filter(|window| *window > 0)?;
        let ready = self.streams.iter_mut().filter(|(_, stream)| stream.body.is_some() && stream.window > 0);
        let (&id, stream) = ready.min_by_key(|(id, stream)| {
            let Priority { urgency, incremental } = stream.priority;
            (urgency, incremental, if incremental { stream.turn } else { 0 }, **id)
        })?;
        let (left, source) = stream.body.take()?;
        let len = left.min(window).min(stream.window as u64).min(self.max_frame_size);
        self.turns += 1;
        stream.turn = self.turns;
        stream.window -= len as i64;
        self.window -= len as i64;
        let is_last = len == left;
        if !is_last {
            stream.body = Some((left - len, source.clone().behind(len)));
        }
        let mut bytes = Vec::with_capacity(FRAME_HEAD);
        put_head(&mut bytes, len as usize, (DATA, if is_last { END_STREAM } else { 0 }, id));
        Some(Piece { bytes, body: Some((len, source)), ended: if is_last { self.finish(id) } else { None } })
    }

    /// The answer has left.
    fn finish(&mut self, id: u32) -> Option<Access> {
        self.end(id, false)?.access
    }

    /// A stream is over. `is_reset`: by the client.
    fn end(&mut self, id: u32, is_reset: bool) -> Option<Stream> {
        let stream = self.streams.remove(&id)?;
        self.over.push_front((id, is_reset || stream.is_ended));
        self.over.truncate(MAX_STREAMS);
        Some(stream)
    }

    /// Stop answering; returns the GOAWAY frame to be sent last.
    pub fn break_off(&mut self, code: u32) -> Vec<u8> {
        self.streams.clear();
        let mut out = std::mem::take(&mut self.replies); // SETTINGS come first (§3.4)
        put_frame(&mut out, (GOAWAY, 0, 0), &[self.latest.to_be_bytes(), code.to_be_bytes()].concat());
        out
    }
}

/// An interim response is no answer; the request's first line names the version.
fn named(answer: Option<Answer>) -> Option<Answer> {
    let mut answer = answer.filter(|answer| answer.status != 0)?;
    answer.request = answer.request.replace("HTTP/1.1", "HTTP/2");
    Some(answer)
}

/// §8.2.1: no white space around values.
fn are_bare(fields: &[Field]) -> bool {
    fields.iter().all(|(_, value)| value.trim_matches([' ', '\t']) == value)
}

fn unpadded(flags: u8, payload: &[u8]) -> Option<&[u8]> {
    if flags & PADDED == 0 {
        return Some(payload);
    }
    let (&padding, rest) = payload.split_first()?;
    rest.get(..rest.len().checked_sub(usize::from(padding))?)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].iter().fold(0, |value, byte| value << 8 | u32::from(*byte))
}

fn put_head(out: &mut Vec<u8>, length: usize, (kind, flags, id): (u8, u8, u32)) {
    out.extend(&(length as u32).to_be_bytes()[1..]);
    out.extend([kind, flags]);
    out.extend(id.to_be_bytes());
}

fn put_frame(out: &mut Vec<u8>, head: (u8, u8, u32), payload: &[u8]) {
    put_head(out, payload.len(), head);
    out.extend(payload);
}

#[cfg(test)]
mod tests;
