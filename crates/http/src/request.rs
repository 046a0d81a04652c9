//! Interpretation of an HTTP/1.1 request: the length of its body, whether the connection ends after it (RFC 9112 §6.3, §9.3), and the
//! requested range of a
//! file (RFC 9110 §14).
//!
//! Differences from the reference: at most one range; a request for several gets the whole file (RFC 9110 §14.2 allows it).

use crate::Head;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedRequest {
    pub head: Head,
    /// Bytes that follow the head, if it says so.
    pub body: Option<u64>,
    /// The connection ends after it.
    pub is_last: bool,
}

impl ParsedRequest {
    /// Error: the status of what must not be answered, for who reads it in another way reads another request.
    pub fn new(head: Head) -> Result<ParsedRequest, &'static str> {
        let is_named = head.field("host").map_or(head.minor == 0, is_host);
        if !is_named || head.all("host").count() > 1 {
            return Err("400 Bad Request"); // RFC 9112 §3.2
        }
        let body = body_length(&head)?;
        let has = |word: &str| {
            let mut options = head.all("connection").flat_map(|line| line.split(',')); // RFC 9110 §5.3
            options.any(|option| option.trim().eq_ignore_ascii_case(word))
        };
        // A body that nothing reads would pass for the next request.
        let is_unread = !matches!(&*head.method, "PUT" | "POST") && body.is_some_and(|size| size > 0);
        let is_last = has("close") || is_unread || (head.minor == 0 && !has("keep-alive"));
        Ok(ParsedRequest { head, body, is_last })
    }

    /// The path of its target; a proxy's clients name the host before it (RFC 9112 §3.2.2).
    pub fn path(&self) -> &str {
        let target = &*self.head.target;
        let scheme =
            target.find("://").filter(|end| ["http", "https"].iter().any(|s| target[..*end].eq_ignore_ascii_case(s)));
        let Some(authority) = scheme.map(|end| &target[end + "://".len()..]) else { return target };
        authority.find('/').map_or("/", |path| &authority[path..])
    }
}

/// A host, and a port or none (RFC 9112 §3.2, RFC 3986 §3.2.2); both may be empty.
fn is_host(text: &str) -> bool {
    let (host, port) = text.rsplit_once(':').filter(|(_, port)| !port.contains(']')).unwrap_or((text, ""));
    let literal = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let is_right = |byte: u8| {
        byte.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=".contains(&byte) || literal.is_some() && byte == b':'
    };
    literal.unwrap_or(host).bytes().all(is_right) && port.bytes().all(|byte| byte.is_ascii_digit())
}

/// A chunked body is not read here, and one whose length two fields tell differently by nobody.
fn body_length(head: &Head) -> Result<Option<u64>, &'static str> {
    let mut lengths = head.all("content-length").flat_map(|text| text.split(',')).map(str::trim);
    if head.field("transfer-encoding").is_some() {
        return Err(if lengths.next().is_some() { "400 Bad Request" } else { "411 Length Required" });
    }
    let Some(first) = lengths.next() else { return Ok(None) };
    let is_number = !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit());
    match first.parse() {
        Ok(length) if is_number && lengths.all(|other| other == first) => Ok(Some(length)),
        _ => Err("400 Bad Request"),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    Whole,
    /// First and last byte.
    Part(u64, u64),
    /// The range lies beyond the end of the file.
    Beyond,
}

impl Range {
    /// `bytes=0-99`, `bytes=100-`, `bytes=-100` (RFC 9110 §14.1.2) of `len` bytes. A range that cannot be parsed is ignored.
    pub fn parse(text: &str, len: u64) -> Range {
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

#[cfg(test)]
mod tests;
