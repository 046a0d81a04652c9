//! HTTP/1.1 over a connection's bytes: requests in, answers out, one at a time (RFC 9112 section 9.3.2). Requests are
//! parsed by [`playpath_http`].
//!
//! Reference: RFC 9110 (semantics), CTA-5004 (CMCD). Differences from the reference:
//! 1. An upload (PUT, POST) is measured, not kept: the answer says how many bytes came, and their SHA-256. It needs a
//!    Content-Length; a chunked one is answered 411.
//! 2. Except one of `application/cmcd`: that is reports of a player (CTA-5004-B, event mode), handed on and answered 204,
//!    wherever it is sent.
//! 3. Conditions (RFC 9110 §13) count for GET and HEAD: no upload changes anything.
//!
//! Tested here and, against curl, by `tests/testbed/test_wire.py`.

use crate::outgoing::Source;
use crate::store::{Found, Missing, Store};
use playpath_http::{Broken, DELIVERY, Head, ParsedRequest, Range};
use playpath_video::cmcd::{self, Cmcd};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::time::{Duration, SystemTime};

/// Most bytes of reports in one request.
const MAX_REPORT_BYTES: usize = 64 * 1024;

#[derive(Debug, Default)]
pub struct Answer {
    /// Status line and headers, or an interim response.
    pub head: String,
    /// Body: how long, and from where.
    pub body: Option<(u64, Source)>,
    /// No more requests are read after it.
    pub is_last: bool,
    /// CMCD data of the request, and the size of the answer's body, bytes.
    pub cmcd: Option<(Cmcd, u64)>,
    /// Reports of a player, one dictionary per line.
    pub reports: Option<String>,
    /// How our own client asks for it to be written ([`DELIVERY`]).
    pub delivery: Option<String>,
    /// First line of the request, where it could be read.
    pub request: String,
    /// Status code; zero of an interim response.
    pub status: u16,
}

/// Result of handling some input.
#[derive(Debug, Default)]
pub struct Step {
    pub consumed: usize,
    pub answer: Option<Answer>,
}

impl Answer {
    pub fn add(&mut self, name: &str, value: &str) {
        self.head.truncate(self.head.len() - "\r\n".len());
        let _ = write!(self.head, "{name}: {value}\r\n\r\n");
    }
}

/// One side of a connection, between requests or within an upload.
#[derive(Debug, Default)]
pub struct Http {
    upload: Option<Upload>,
    pub requests: u64,
}

#[derive(Debug)]
struct Upload {
    request: String,
    left: u64,
    size: u64,
    hash: Sha256,
    is_last: bool,
    /// Kept, if it is reports.
    reports: Option<Vec<u8>>,
}

impl Http {
    /// A request has begun and is not complete.
    pub fn is_within_request(&self) -> bool {
        self.upload.is_some()
    }

    /// Parse further input. Call again with the unconsumed bytes, and more, until nothing is consumed.
    pub fn handle(&mut self, input: &[u8], store: &Store, date: SystemTime) -> Step {
        let mut step = self.step(input, store, date);
        // RFC 9112 §9.3: who speaks HTTP/1.0 takes it that the connection ends with an answer that does not say this.
        let is_old = |answer: &&mut Answer| !answer.is_last && answer.request.ends_with(" HTTP/1.0");
        step.answer.as_mut().filter(is_old).into_iter().for_each(|answer| answer.add("Connection", "keep-alive"));
        step
    }

    fn step(&mut self, input: &[u8], store: &Store, date: SystemTime) -> Step {
        if self.upload.is_some() {
            return self.read_upload(input, date);
        }
        let head = match Head::of_request(input) {
            Ok(None) => return Step::default(),
            Ok(Some(head)) => head,
            Err(broken) => {
                let status = match broken {
                    Broken::TooLarge => "431 Request Header Fields Too Large",
                    Broken::Version => "505 HTTP Version Not Supported",
                    Broken::Syntax(_) => "400 Bad Request",
                };
                return Step { consumed: input.len(), answer: Some(plain(status, "", true, date)) };
            }
        };
        let (consumed, request) = (head.length, head.first.clone());
        let answer = self.answer(head, store, date).map(|answer| Answer { request, ..answer });
        self.requests += u64::from(!self.is_aside(answer.as_ref()));
        Step { consumed, answer }
    }

    /// No request for something: an interim response, or reports.
    fn is_aside(&self, answer: Option<&Answer>) -> bool {
        let is_report = self.upload.as_ref().is_some_and(|upload| upload.reports.is_some());
        is_report || answer.is_some_and(|answer| answer.reports.is_some() || answer.head.starts_with(CONTINUE))
    }

    fn answer(&mut self, head: Head, store: &Store, date: SystemTime) -> Option<Answer> {
        let asked = match ParsedRequest::new(head) {
            Ok(asked) => asked,
            Err(status) => return Some(plain(status, "", true, date)),
        };
        Some(match &*asked.head.method {
            "GET" | "HEAD" => match store.find(asked.path()) {
                Ok(found) => file(&asked, found, date),
                Err(Missing::NotFound) => plain("404 Not Found", "", asked.is_last, date),
                Err(Missing::Folder) => moved(&asked, date),
                Err(Missing::Forbidden) => plain("403 Forbidden", "", asked.is_last, date),
                Err(Missing::Unavailable) => plain("503 Service Unavailable", "", asked.is_last, date),
            },
            "PUT" | "POST" => return self.begin_upload(&asked, date),
            "OPTIONS" => plain("204 No Content", ALLOWED, asked.is_last, date),
            _ => plain("405 Method Not Allowed", ALLOWED, true, date),
        })
    }

    fn begin_upload(&mut self, asked: &ParsedRequest, date: SystemTime) -> Option<Answer> {
        let Some(size) = asked.body else {
            return Some(plain("411 Length Required", "", true, date));
        };
        let is_reports =
            asked.head.field("content-type").is_some_and(|kind| kind.eq_ignore_ascii_case("application/cmcd"));
        if is_reports && size > MAX_REPORT_BYTES as u64 {
            return Some(plain("413 Content Too Large", "", true, date));
        }
        let reports = is_reports.then(Vec::new);
        let (request, is_last) = (asked.head.first.clone(), asked.is_last);
        self.upload = Some(Upload { request, left: size, size, hash: Sha256::new(), is_last, reports });
        // RFC 9110 §10.1.1: of a client that may not know it, it counts for nothing.
        let expects = asked.head.minor > 0
            && asked.head.field("expect").is_some_and(|text| text.eq_ignore_ascii_case("100-continue"));
        match size {
            0 => self.finish_upload(date),
            _ => expects.then(|| Answer { head: format!("{CONTINUE}\r\n\r\n"), ..Answer::default() }),
        }
    }

    fn read_upload(&mut self, input: &[u8], date: SystemTime) -> Step {
        let Some(upload) = &mut self.upload else { return Step::default() };
        let consumed = upload.left.min(input.len() as u64) as usize;
        match &mut upload.reports {
            Some(reports) => reports.extend_from_slice(&input[..consumed]),
            None => upload.hash.update(&input[..consumed]),
        }
        upload.left -= consumed as u64;
        let answer = if upload.left == 0 { self.finish_upload(date) } else { None };
        Step { consumed, answer }
    }

    fn finish_upload(&mut self, date: SystemTime) -> Option<Answer> {
        let Upload { request, size, hash, is_last, reports, .. } = self.upload.take()?;
        if let Some(reports) = reports {
            let reports = Some(String::from_utf8_lossy(&reports).into_owned());
            return Some(Answer { request, reports, ..plain("204 No Content", "", is_last, date) });
        }
        let hash = hash.finalize().iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
        let body = format!("{{\"bytes\":{size},\"sha256\":\"{hash}\"}}\n");
        let headers = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
        Some(Answer {
            head: head("200 OK", &headers, is_last, date),
            body: Some((body.len() as u64, Source::Bytes(body.into_bytes().into()))),
            request,
            is_last,
            status: 200,
            ..Answer::default()
        })
    }
}

const CONTINUE: &str = "HTTP/1.1 100 Continue";
const ALLOWED: &str = "Allow: GET, HEAD, PUT, POST, OPTIONS\r\nAccess-Control-Allow-Methods: GET, HEAD, PUT, POST\r\n\
    Access-Control-Allow-Headers: *\r\n";

fn file(asked: &ParsedRequest, found: Found, date: SystemTime) -> Answer {
    let tag = &found.tag;
    let dates = format!("Last-Modified: {}\r\nETag: {tag}\r\n", httpdate::fmt_http_date(found.modified));
    if let Some(status) = refusal(&asked.head, &found) {
        return plain(status, &dates, asked.is_last, date);
    }
    let is_same = |wanted: &str| wanted == *tag || wanted == httpdate::fmt_http_date(found.modified);
    // RFC 9110 §14.2: of GET alone.
    let is_wanted = asked.head.method == "GET" && asked.head.field("if-range").is_none_or(is_same);
    let range = asked.head.field("range").filter(|_| is_wanted);
    let mut headers = format!("Accept-Ranges: bytes\r\nContent-Type: {}\r\n{dates}", found.media_type);
    let (status, from, len) = match range.map_or(Range::Whole, |text| Range::parse(text, found.len)) {
        Range::Whole => ("200 OK", 0, found.len),
        Range::Part(first, last) => {
            let _ = write!(headers, "Content-Range: bytes {first}-{last}/{}\r\n", found.len);
            ("206 Partial Content", first, last - first + 1)
        }
        Range::Beyond => {
            let range = format!("Content-Range: bytes */{}\r\n", found.len);
            return plain("416 Range Not Satisfiable", &range, asked.is_last, date);
        }
    };
    let _ = write!(headers, "Content-Length: {len}\r\n");
    let body = (asked.head.method != "HEAD").then(|| (len, Source::File(found.file, from)));
    let head = head(status, &headers, asked.is_last, date);
    let cmcd = client_data(asked).map(|cmcd| (cmcd, len));
    let delivery = asked.head.field(DELIVERY).map(str::to_string);
    Answer { head, body, is_last: asked.is_last, cmcd, delivery, status: code(status), ..Answer::default() }
}

/// To the folder's own address (RFC 9110 §15.4.2). One slash begins it: behind two there would be another host's name.
fn moved(asked: &ParsedRequest, date: SystemTime) -> Answer {
    let target = asked.path();
    let (path, rest) = target.split_at(target.find(['?', '#']).unwrap_or(target.len()));
    let location = format!("Location: /{}/{rest}\r\n", path.trim_start_matches('/'));
    plain("301 Moved Permanently", &location, asked.is_last, date)
}

/// What the conditions of a request for a file come to, in their order (RFC 9110 §13.2.2); `None`: it is sent.
fn refusal(head: &Head, found: &Found) -> Option<&'static str> {
    if is_current(head, found, ("if-match", "", "if-unmodified-since")) == Some(false) {
        return Some("412 Precondition Failed");
    }
    let is_known = is_current(head, found, ("if-none-match", "W/", "if-modified-since")) == Some(true);
    is_known.then_some("304 Not Modified")
}

/// The file is one of those that a field of entity tags names, or else not newer than a field with a date says; `None`: there is neither.
/// `weak`: what a tag may have before it (§8.8.3.2).
fn is_current(head: &Head, found: &Found, (tags, weak, date): (&str, &str, &str)) -> Option<bool> {
    let mut named = head.all(tags).flat_map(|text| text.split(',')).map(str::trim).peekable();
    if named.peek().is_some() {
        return Some(named.any(|tag| tag == "*" || tag.strip_prefix(weak).unwrap_or(tag) == found.tag));
    }
    let since = httpdate::parse_http_date(head.field(date)?).ok()?;
    // Dates are in whole seconds.
    Some(found.modified < since + Duration::from_secs(1))
}

/// CMCD of the query, or else of the headers.
fn client_data(asked: &ParsedRequest) -> Option<Cmcd> {
    let pairs = asked.head.fields.iter().map(|(name, value)| (&**name, &**value));
    let found = [cmcd::parse_query(asked.path()).cmcd, cmcd::parse_headers(pairs).cmcd];
    found.into_iter().find(|cmcd| *cmcd != Cmcd::default())
}

/// An answer without a file.
fn plain(status: &str, headers: &str, is_last: bool, date: SystemTime) -> Answer {
    let length = if status.starts_with("204") || status.starts_with("304") { "" } else { "Content-Length: 0\r\n" };
    let head = head(status, &format!("{headers}{length}"), is_last, date);
    Answer { head, is_last, status: code(status), ..Answer::default() }
}

/// To a request that changes something and may be a copy (RFC 8470 §5.2): the client sends it again when the handshake is done.
pub fn too_early(request: &str, date: SystemTime) -> Answer {
    Answer { request: request.to_owned(), ..plain("425 Too Early", "", false, date) }
}

fn code(status: &str) -> u16 {
    status.split(' ').next().and_then(|code| code.parse().ok()).unwrap_or(0)
}

fn head(status: &str, headers: &str, is_last: bool, date: SystemTime) -> String {
    let close = if is_last { "Connection: close\r\n" } else { "" };
    format!(
        "HTTP/1.1 {status}\r\nDate: {}\r\nServer: playpath\r\nAccess-Control-Allow-Origin: *\r\n{headers}{close}\r\n",
        httpdate::fmt_http_date(date)
    )
}

#[cfg(test)]
mod tests;
