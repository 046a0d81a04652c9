//! One request, from the bytes of its stream to the bytes of its answer.
//!
//! A request is passed to [`Http`] as an HTTP/1.1 head, so that ranges, uploads, CMCD and reports behave the same in every version.
//! Fields that would change the meaning of that head are treated as malformed (request smuggling; RFC 9114 §4.2, §4.3, §10.3).
//!
//! Reference: RFC 9114 §4.1 (exchanges), §7.2.1, §7.2.2; RFC 9218 §5 (the priority field).

use super::fields::{Field, decode};
use super::{
    Broken, DATA, DECOMPRESSION_FAILED, FRAME_UNEXPECTED, HEADERS, MESSAGE_ERROR, PRIORITY_UPDATE,
    PRIORITY_UPDATE_OF_PUSH, REQUEST_INCOMPLETE, RESERVED, TOO_LARGE, frame_head, headers,
};
use super::{CANCEL_PUSH, GOAWAY, MAX_PUSH_ID, PUSH_PROMISE, SETTINGS};
use crate::http::{Answer, Http, too_early};
use crate::outgoing::{Outgoing, Source};
use crate::store::Store;
use playpath_transport::codec::quic::put_varint;
use playpath_transport::quic::Priority;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::SystemTime;

/// Most bytes of a HEADERS frame: it is read when all of it is there, and must fit into the stream's window.
pub const MAX_HEAD_BYTES: u64 = 12 * 1024;

#[derive(Debug, Default)]
pub struct Request {
    http: Http,
    pub has_head: bool,
    has_trailers: bool,
    /// Bytes left of the current frame, and whether they belong to the request's body.
    left: u64,
    is_body: bool,
    /// Bytes of the body that `content-length` announces and no frame has brought yet.
    announced: Option<u64>,
    /// Priority that the client asked for.
    pub priority: Option<Priority>,
    /// Whether it arrived before the handshake was complete and may be a replay: only safe methods are answered (RFC 8470).
    pub is_early: bool,
}

/// Result of handling some input.
#[derive(Debug)]
pub enum Outcome {
    Nothing,
    /// The client waits for 100 (Continue) with the body.
    Continue,
    Answer(Box<Answer>),
    /// The stream is to be reset, with this code.
    Refused(u32),
}

impl Request {
    /// Parse further input. Call again with the unconsumed bytes, and more, until nothing is consumed. Errors end the connection.
    pub fn handle(&mut self, input: &[u8], store: &Store, date: SystemTime) -> Result<(usize, Outcome), Broken> {
        if self.left > 0 {
            return Ok(self.read_payload(input, store, date));
        }
        let Some((kind, length, head)) = frame_head(input) else { return Ok((0, Outcome::Nothing)) };
        match kind {
            DATA if !self.has_head => return Err(FRAME_UNEXPECTED),
            DATA | HEADERS if self.has_trailers => return Err(FRAME_UNEXPECTED),
            SETTINGS
            | CANCEL_PUSH
            | PUSH_PROMISE
            | GOAWAY
            | MAX_PUSH_ID
            | PRIORITY_UPDATE
            | PRIORITY_UPDATE_OF_PUSH => return Err(FRAME_UNEXPECTED),
            kind if RESERVED.contains(&kind) => return Err(FRAME_UNEXPECTED),
            HEADERS => {
                if length > MAX_HEAD_BYTES {
                    return Ok((input.len(), Outcome::Refused(TOO_LARGE)));
                }
                let Some(section) = input.get(head..head + length as usize) else { return Ok((0, Outcome::Nothing)) };
                let fields = decode(section).ok_or(DECOMPRESSION_FAILED)?;
                let outcome = if self.has_head { self.end_by(&fields) } else { self.ask(&fields, store, date) };
                self.has_head = true;
                return Ok((head + length as usize, outcome));
            }
            _ => {}
        }
        if kind == DATA && !fits(&mut self.announced, length) {
            return Ok((input.len(), Outcome::Refused(MESSAGE_ERROR)));
        }
        // Frames of no known type are passed over.
        (self.left, self.is_body) = (length, kind == DATA);
        Ok((head, Outcome::Nothing))
    }

    /// Error code of a request that is incomplete when the client ends its stream (§4.1, §4.1.2); `None` if it is complete.
    pub fn missing(&self) -> Option<u32> {
        if !self.has_head {
            return Some(REQUEST_INCOMPLETE);
        }
        (self.left > 0 || self.announced.is_some_and(|left| left > 0)).then_some(MESSAGE_ERROR)
    }

    /// Check the trailers, which are otherwise ignored (§4.3: no pseudo-fields).
    fn end_by(&mut self, fields: &[Field]) -> Outcome {
        self.has_trailers = true;
        let is_right = fields.iter().all(|(name, value)| is_allowed(name, value));
        if is_right { Outcome::Nothing } else { Outcome::Refused(MESSAGE_ERROR) }
    }

    fn read_payload(&mut self, input: &[u8], store: &Store, date: SystemTime) -> (usize, Outcome) {
        let part = &input[..self.left.min(input.len() as u64) as usize];
        // An unexpected body must not be taken for a request.
        if !self.is_body || !self.http.is_within_request() {
            self.left -= part.len() as u64;
            return (part.len(), Outcome::Nothing);
        }
        let step = self.http.handle(part, store, date);
        self.left -= step.consumed as u64;
        (step.consumed, outcome(step.answer))
    }

    fn ask(&mut self, fields: &[Field], store: &Store, date: SystemTime) -> Outcome {
        let Some(head) = head(fields) else { return Outcome::Refused(MESSAGE_ERROR) };
        self.announced = announced(fields);
        self.priority = fields.iter().find(|(name, _)| name == "priority").map(|(_, value)| priority(value));
        let is_safe = ["GET ", "HEAD ", "OPTIONS "].iter().any(|method| head.starts_with(method));
        let answer = if self.is_early && !is_safe {
            Some(too_early(head.lines().next().unwrap_or_default(), date))
        } else {
            self.http.handle(head.as_bytes(), store, date).answer
        };
        outcome(answer)
    }
}

fn outcome(answer: Option<Answer>) -> Outcome {
    match answer {
        None => Outcome::Nothing,
        Some(answer) if answer.status == 0 => Outcome::Continue,
        Some(answer) => {
            let request = answer.request.replace("HTTP/1.1", "HTTP/3");
            Outcome::Answer(Box::new(Answer { request, ..answer }))
        }
    }
}

/// The fields of 100 (Continue) (RFC 9110 §10.1.1).
pub(crate) const CONTINUE: [(&str, &str); 1] = [(":status", "100")];

/// Put 100 (Continue) onto the stream of its request, before the answer.
pub fn put_continue(out: &mut Outgoing) {
    let bytes = headers(CONTINUE.into_iter());
    out.push(bytes.len() as u64, Source::Bytes(bytes.into()));
}

/// The request head in HTTP/1.1 form; `None` if it is malformed.
pub(crate) fn head(fields: &[Field]) -> Option<String> {
    let pseudo = fields.iter().take_while(|(name, _)| name.starts_with(':')).count();
    let (pseudo, regular) = fields.split_at(pseudo);
    let known = [":method", ":scheme", ":path", ":authority"];
    if pseudo.iter().any(|(name, _)| !known.contains(&name.as_str())) {
        return None;
    }
    let one = |wanted: &str| {
        let mut found = pseudo.iter().filter(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
        let first = found.next();
        if found.next().is_some() { Err(()) } else { Ok(first) }
    };
    let (method, path) = (one(":method").ok()??, one(":path").ok()??);
    one(":scheme").ok()??;
    let host = regular.iter().find(|(name, _)| name == "host").map(|(_, value)| value.as_str());
    let authority = one(":authority").ok()?.or(host)?;
    let is_plain = |text: &str| !text.is_empty() && text.bytes().all(|byte| (0x21..=0x7e).contains(&byte));
    if ![method, path, authority].into_iter().all(is_plain) || host.is_some_and(|host| host != authority) {
        return None;
    }
    let mut head = format!("{method} {path} HTTP/1.1\r\nhost: {authority}\r\n");
    for (name, value) in regular.iter().filter(|(name, _)| name != "host") {
        if !is_allowed(name, value) {
            return None;
        }
        let _ = write!(head, "{name}: {value}\r\n");
    }
    head.push_str("\r\n");
    Some(head)
}

/// Bytes of the body by `content-length`. [`Http`] rejects an invalid number, or two that differ.
pub(crate) fn announced(fields: &[Field]) -> Option<u64> {
    fields.iter().find(|(name, _)| name == "content-length").and_then(|(_, value)| value.parse().ok())
}

/// Whether `more` further bytes of a body fit into the announced length, which is reduced by them.
pub(crate) fn fits(announced: &mut Option<u64>, more: u64) -> bool {
    let Some(left) = announced else { return true };
    let fits = more <= *left;
    *left = left.saturating_sub(more);
    fits
}

/// §4.2: lower case, a token, nothing that speaks of a connection, and no line break in a value.
pub(crate) fn is_allowed(name: &str, value: &str) -> bool {
    let is_token = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let of_connection = ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"];
    !name.is_empty()
        && name.bytes().all(is_token)
        && !of_connection.contains(&name)
        && (name != "te" || value == "trailers")
        && !value.bytes().any(|byte| matches!(byte, b'\r' | b'\n' | 0))
}

/// Most priorities kept for requests that have not arrived yet.
const MAX_EARLY: usize = 128;

/// Latest priority of each request that has not arrived yet (RFC 9218 §7).
#[derive(Debug, Default)]
pub(crate) struct Early(BTreeMap<u64, Priority>);

impl Early {
    /// Keep the priority of request `id`. If there are too many, the one with the lowest identifier is dropped.
    pub fn keep(&mut self, id: u64, priority: Priority) {
        self.0.insert(id, priority);
        if self.0.len() > MAX_EARLY {
            self.0.pop_first();
        }
    }
    /// Take the priority of request `id`, which has arrived; earlier requests have arrived already or never will.
    pub fn take(&mut self, id: u64) -> Option<Priority> {
        let later = self.0.split_off(&(id + 1));
        std::mem::replace(&mut self.0, later).remove(&id)
    }
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

/// Parse a priority field such as `u=1, i` (RFC 9218 §4); unknown parameters are ignored.
pub fn priority(value: &str) -> Priority {
    let mut found = Priority::default();
    for item in value.split(',').map(str::trim) {
        match item.split_once('=') {
            Some(("u", urgency)) => found.urgency = urgency.parse().ok().filter(|u| *u <= 7).unwrap_or(found.urgency),
            Some(("i", flag)) => found.incremental = flag == "?1",
            None if item == "i" => found.incremental = true,
            _ => {}
        }
    }
    found
}

/// The fields of an answer but its status, as HTTP/2 and HTTP/3 have them.
pub(crate) fn regular_fields(answer: &Answer) -> Vec<Field> {
    let lines = answer.head.split("\r\n").skip(1).filter_map(|line| line.split_once(": "));
    let named = lines.map(|(name, value)| (name.to_ascii_lowercase(), value.to_string()));
    named.filter(|(name, _)| name != "connection").collect()
}

/// Put an answer onto its stream: a HEADERS frame, and DATA if it has a body.
pub fn put_answer(answer: Answer, out: &mut Outgoing) {
    let status = answer.status.to_string();
    let regular = regular_fields(&answer);
    let mut bytes = headers(
        std::iter::once((":status", status.as_str()))
            .chain(regular.iter().map(|(name, value)| (name.as_str(), value.as_str()))),
    );
    if let Some((len, _)) = &answer.body {
        put_varint(&mut bytes, DATA);
        put_varint(&mut bytes, *len);
    }
    out.push(bytes.len() as u64, Source::Bytes(bytes.into()));
    if let Some((len, source)) = answer.body {
        out.push(len, source);
    }
}

#[cfg(test)]
mod tests;
