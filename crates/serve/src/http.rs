//! HTTP/1.1 over a connection's bytes: requests in, answers out, one at a time (RFC 9112 section 9.3.2).
//!
//! Reference: RFC 9110 (semantics; section 14 ranges), RFC 9112 (syntax, by the crate `httparse`), CTA-5004 (CMCD).
//! Differences from the reference:
//! 1. One range at most: a request for several is answered with the whole (RFC 9110 section 14.2 allows it).
//! 2. An upload (PUT, POST) is measured, not kept: the answer says how many bytes came, and their SHA-256. It needs a
//!    Content-Length; a chunked one is answered 411.
//! 3. Except one of `application/cmcd`: that is reports of a player (CTA-5004-B, event mode), handed on and answered 204,
//!    wherever it is sent.
//!
//! Tested here and, against curl, by `tests/testbed/test_wire.py`.

use crate::outgoing::Source;
use crate::store::{Found, Missing, Store};
use playpath_http::DELIVERY;
use playpath_video::cmcd::{self, Cmcd};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::time::SystemTime;

/// Most bytes of a request before its body.
pub const MOST_HEAD_BYTES: usize = 16 * 1024;
const MOST_HEADERS: usize = 100;
/// Most bytes of reports in one request.
const MOST_REPORT_BYTES: usize = 64 * 1024;

/// What is to be sent.
#[derive(Debug, Default)]
pub struct Answer {
    /// Status line and headers, or an interim response.
    pub head: String,
    /// Body: how long, and from where.
    pub body: Option<(u64, Source)>,
    /// No more requests are read after it.
    pub is_last: bool,
    /// What the client told of itself, with the size of the body.
    pub told: Option<(Cmcd, u64)>,
    /// What a player has reported, a dictionary in each line.
    pub reports: Option<String>,
    /// How our own client asks for it to be written ([`DELIVERY`]).
    pub delivery: Option<String>,
    /// First line of the request, where it could be read.
    pub request: String,
    /// Status code; zero of an interim response.
    pub status: u16,
}

/// What some input came to.
#[derive(Debug, Default)]
pub struct Step {
    /// Bytes of it that are done with.
    pub consumed: usize,
    /// The answer, if one is due.
    pub answer: Option<Answer>,
}

impl Answer {
    /// One more header.
    pub fn add(&mut self, name: &str, value: &str) {
        self.head.truncate(self.head.len() - "\r\n".len());
        let _ = write!(self.head, "{name}: {value}\r\n\r\n");
    }
}

/// One side of a connection, between requests or within an upload.
#[derive(Debug, Default)]
pub struct Http {
    upload: Option<Upload>,
    /// Requests answered.
    pub requests: u64,
}

#[derive(Debug)]
struct Upload {
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

    /// Read on. Call again with what is left, and more, until nothing is consumed.
    pub fn handle(&mut self, input: &[u8], store: &Store, date: SystemTime) -> Step {
        if self.upload.is_some() {
            return self.read_upload(input, date);
        }
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        let refused = |status| Step { consumed: input.len(), answer: Some(plain(status, "", true, date)) };
        let mut step = match request.parse(input) {
            Ok(httparse::Status::Complete(consumed)) => {
                let answer = self.answer(&request, store, date);
                self.requests += u64::from(!self.is_aside(answer.as_ref()));
                Step { consumed, answer }
            }
            Ok(httparse::Status::Partial) if input.len() < MOST_HEAD_BYTES => Step::default(),
            Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
                refused("431 Request Header Fields Too Large")
            }
            Err(httparse::Error::Version) => refused("505 HTTP Version Not Supported"),
            Err(_) => refused("400 Bad Request"),
        };
        if let Some(answer) = &mut step.answer {
            let (method, target) = (request.method.unwrap_or_default(), request.path.unwrap_or_default());
            answer.request = format!("{method} {target} HTTP/1.{}", request.version.unwrap_or(1));
        }
        step
    }

    /// No request for something: an interim response, or reports.
    fn is_aside(&self, answer: Option<&Answer>) -> bool {
        let is_report = self.upload.as_ref().is_some_and(|upload| upload.reports.is_some());
        is_report || answer.is_some_and(|answer| answer.reports.is_some() || answer.head.starts_with(CONTINUE))
    }

    fn answer(&mut self, request: &httparse::Request, store: &Store, date: SystemTime) -> Option<Answer> {
        let asked = match Asked::new(request) {
            Ok(asked) => asked,
            Err(status) => return Some(plain(status, "", true, date)),
        };
        Some(match asked.method {
            "GET" | "HEAD" => match store.find(asked.target) {
                Ok(found) => asked.file(found, date),
                Err(Missing::NotFound) => plain("404 Not Found", "", asked.is_last, date),
                Err(Missing::Forbidden) => plain("403 Forbidden", "", asked.is_last, date),
            },
            "PUT" | "POST" => return self.begin_upload(&asked, date),
            "OPTIONS" => plain("204 No Content", ALLOWED, asked.is_last, date),
            _ => plain("405 Method Not Allowed", ALLOWED, true, date),
        })
    }

    fn begin_upload(&mut self, asked: &Asked, date: SystemTime) -> Option<Answer> {
        let Some(size) = asked.body else {
            return Some(plain("411 Length Required", "", true, date));
        };
        let is_reports = asked.header("content-type").is_some_and(|kind| kind.eq_ignore_ascii_case("application/cmcd"));
        if is_reports && size > MOST_REPORT_BYTES as u64 {
            return Some(plain("413 Content Too Large", "", true, date));
        }
        let reports = is_reports.then(Vec::new);
        self.upload = Some(Upload { left: size, size, hash: Sha256::new(), is_last: asked.is_last, reports });
        let expects = asked.header("expect").is_some_and(|text| text.eq_ignore_ascii_case("100-continue"));
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
        let Upload { size, hash, is_last, reports, .. } = self.upload.take()?;
        if let Some(reports) = reports {
            let reports = Some(String::from_utf8_lossy(&reports).into_owned());
            return Some(Answer { reports, ..plain("204 No Content", "", is_last, date) });
        }
        let hash = hash.finalize().iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
        let body = format!("{{\"bytes\":{size},\"sha256\":\"{hash}\"}}\n");
        let headers = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
        Some(Answer {
            head: head("200 OK", &headers, is_last, date),
            body: Some((body.len() as u64, Source::Bytes(body.into_bytes().into()))),
            is_last,
            status: 200,
            ..Answer::default()
        })
    }
}

const CONTINUE: &str = "HTTP/1.1 100 Continue";
const ALLOWED: &str = "Allow: GET, HEAD, PUT, POST, OPTIONS\r\nAccess-Control-Allow-Methods: GET, HEAD, PUT, POST\r\n\
    Access-Control-Allow-Headers: *\r\n";

/// A request.
struct Asked<'a, 'b> {
    method: &'a str,
    target: &'a str,
    headers: &'a [httparse::Header<'b>],
    /// Bytes that follow the head, if it says so.
    body: Option<u64>,
    /// The connection ends after it.
    is_last: bool,
}

impl<'a, 'b> Asked<'a, 'b> {
    /// Error: the status of what must not be answered, for who reads it in another way reads another request.
    fn new(request: &'a httparse::Request<'_, 'b>) -> Result<Asked<'a, 'b>, &'static str> {
        let mut asked = Asked {
            method: request.method.unwrap_or_default(),
            target: origin_form(request.path.unwrap_or_default()),
            headers: &*request.headers,
            body: None,
            is_last: false,
        };
        if asked.all("host").count() > 1 || (request.version == Some(1) && asked.header("host").is_none()) {
            return Err("400 Bad Request"); // RFC 9112 §3.2
        }
        asked.body = asked.body_length()?;

        let connection = asked.header("connection").unwrap_or_default().to_ascii_lowercase();
        let has = |word| connection.split(',').any(|part| part.trim() == word);
        // A body that nothing reads would pass for the next request.
        let is_unread = !matches!(asked.method, "PUT" | "POST") && asked.body.is_some_and(|size| size > 0);
        asked.is_last = has("close") || is_unread || (request.version == Some(0) && !has("keep-alive"));
        Ok(asked)
    }

    /// RFC 9112 §6.3. A chunked body is not read here, and one whose length two headers tell differently by nobody.
    fn body_length(&self) -> Result<Option<u64>, &'static str> {
        let mut lengths = self.all("content-length").flat_map(|text| text.unwrap_or("").split(',')).map(str::trim);
        if self.all("transfer-encoding").next().is_some() {
            return Err(if lengths.next().is_some() { "400 Bad Request" } else { "411 Length Required" });
        }
        let Some(first) = lengths.next() else { return Ok(None) };
        let is_number = !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit());
        match first.parse() {
            Ok(length) if is_number && lengths.all(|other| other == first) => Ok(Some(length)),
            _ => Err("400 Bad Request"),
        }
    }

    /// The values of a header, as text.
    fn all(&self, name: &str) -> impl Iterator<Item = Option<&'b str>> {
        let found = self.headers.iter().filter(move |header| header.name.eq_ignore_ascii_case(name));
        found.map(|header| std::str::from_utf8(header.value).ok().map(str::trim))
    }

    fn header(&self, name: &str) -> Option<&'b str> {
        self.all(name).next().flatten()
    }

    fn file(&self, found: Found, date: SystemTime) -> Answer {
        let tag = entity_tag(&found);
        let is_same = |wanted: &str| wanted == tag || wanted == httpdate::fmt_http_date(found.modified);
        let range = self.header("range").filter(|_| self.header("if-range").is_none_or(is_same));
        let mut headers = format!(
            "Accept-Ranges: bytes\r\nContent-Type: {}\r\nLast-Modified: {}\r\nETag: {tag}\r\n",
            found.media_type,
            httpdate::fmt_http_date(found.modified)
        );
        let (status, from, len) = match range.map_or(Range::Whole, |text| Range::parse(text, found.len)) {
            Range::Whole => ("200 OK", 0, found.len),
            Range::Part(first, last) => {
                let _ = write!(headers, "Content-Range: bytes {first}-{last}/{}\r\n", found.len);
                ("206 Partial Content", first, last - first + 1)
            }
            Range::Beyond => {
                let range = format!("Content-Range: bytes */{}\r\n", found.len);
                return plain("416 Range Not Satisfiable", &range, self.is_last, date);
            }
        };
        let _ = write!(headers, "Content-Length: {len}\r\n");
        let body = (self.method != "HEAD").then(|| (len, Source::File(found.file, from)));
        let head = head(status, &headers, self.is_last, date);
        let told = self.told(len);
        let delivery = self.header(DELIVERY).map(str::to_string);
        Answer { head, body, is_last: self.is_last, told, delivery, status: code(status), ..Answer::default() }
    }

    /// CMCD of the query, or else of the headers.
    fn told(&self, len: u64) -> Option<(Cmcd, u64)> {
        let pairs = self.headers.iter().map(|header| (header.name, std::str::from_utf8(header.value).unwrap_or("")));
        let found = [cmcd::parse_query(self.target).cmcd, cmcd::parse_headers(pairs).cmcd];
        found.into_iter().find(|cmcd| *cmcd != Cmcd::default()).map(|cmcd| (cmcd, len))
    }
}

/// The path of a target; a proxy's clients name the host before it (RFC 9112 §3.2.2).
fn origin_form(target: &str) -> &str {
    let scheme =
        target.find("://").filter(|end| ["http", "https"].iter().any(|s| target[..*end].eq_ignore_ascii_case(s)));
    let Some(authority) = scheme.map(|end| &target[end + "://".len()..]) else { return target };
    authority.find('/').map_or("/", |path| &authority[path..])
}

/// Changes when the file does.
fn entity_tag(found: &Found) -> String {
    let since = found.modified.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    format!("\"{:x}-{:x}\"", since.as_nanos(), found.len)
}

/// What part of a file is asked for.
#[derive(Debug, PartialEq, Eq)]
enum Range {
    Whole,
    /// First and last byte.
    Part(u64, u64),
    /// Nothing of it exists.
    Beyond,
}

impl Range {
    /// `bytes=0-99`, `bytes=100-`, `bytes=-100` (RFC 9110 section 14.1.2) of `len` bytes. What is not understood counts for nothing.
    fn parse(text: &str, len: u64) -> Range {
        let Some((first, last)) = text.strip_prefix("bytes=").and_then(|text| text.trim().split_once('-')) else {
            return Range::Whole;
        };
        let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse::<u64>().ok()).flatten();
        match (first.is_empty(), number(first), last.is_empty(), number(last)) {
            (true, _, false, Some(0)) => Range::Beyond,
            (true, _, false, Some(_)) if len == 0 => Range::Beyond,
            (true, _, false, Some(count)) => Range::Part(len - count.min(len), len - 1),
            (false, Some(first), true, _) if first < len => Range::Part(first, len - 1),
            (false, Some(first), false, Some(last)) if first <= last && first < len => {
                Range::Part(first, last.min(len - 1))
            }
            (false, Some(first), false, Some(last)) if last < first => Range::Whole,
            (false, Some(_), true, _) | (false, Some(_), false, Some(_)) => Range::Beyond,
            _ => Range::Whole,
        }
    }
}

/// An answer without a file.
fn plain(status: &str, headers: &str, is_last: bool, date: SystemTime) -> Answer {
    let length = if status.starts_with("204") { "" } else { "Content-Length: 0\r\n" };
    let head = head(status, &format!("{headers}{length}"), is_last, date);
    Answer { head, is_last, status: code(status), ..Answer::default() }
}

/// To a request that changes something and may be a copy (RFC 8470 §5.2): the client sends it again when the handshake is done.
pub fn too_early(request: &str, date: SystemTime) -> Answer {
    Answer { request: request.to_owned(), ..plain("425 Too Early", "", false, date) }
}

/// The number that a status line begins with.
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
