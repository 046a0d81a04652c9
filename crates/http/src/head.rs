//! Heads of HTTP/1.1 messages, as bytes of a real socket (RFC 9112 §2.1, by the crate `httparse`).

/// Most bytes of a head.
pub const MAX_HEAD_BYTES: usize = 16 * 1024;
const MAX_FIELDS: usize = 100;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Request line or status line.
    pub first: String,
    pub method: String,
    /// Request target as sent: a path, or an absolute URL.
    pub target: String,
    /// The x of HTTP/1.x.
    pub minor: u8,
    /// Status code of a response; 0 for a request.
    pub status: u16,
    pub fields: Vec<(String, String)>,
    /// Bytes that it takes, up to its empty line and with it.
    pub length: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// Or it has too many fields.
    #[error("a head of more than 16 KiB")]
    TooLarge,
    #[error("no HTTP/1.1: another version")]
    Version,
    #[error("no HTTP/1.1: {0}")]
    Syntax(httparse::Error),
}

impl Head {
    /// Parse the head of a request; `None` if it is incomplete.
    pub fn of_request(input: &[u8]) -> Result<Option<Head>, Broken> {
        let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
        let mut request = httparse::Request::new(&mut fields);
        let parsed = request.parse(input);
        if parsed == Err(httparse::Error::Version)
            && let Some(known) = in_known_version(input)
        {
            return Head::of_request(&known);
        }
        let Some(length) = complete(parsed, input)? else { return Ok(None) };
        let (method, target) = (request.method.unwrap_or_default(), request.path.unwrap_or_default());
        let minor = request.version.unwrap_or(1);
        Ok(Some(Head {
            first: format!("{method} {target} HTTP/1.{minor}"),
            method: method.to_string(),
            target: target.to_string(),
            minor,
            status: 0,
            fields: owned(request.headers),
            length,
        }))
    }

    /// Parse the head of a response; `None` if it is incomplete.
    pub fn of_response(input: &[u8]) -> Result<Option<Head>, Broken> {
        let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
        let mut response = httparse::Response::new(&mut fields);
        let Some(length) = complete(response.parse(input), input)? else { return Ok(None) };
        let status = response.code.unwrap_or_default();
        let minor = response.version.unwrap_or(1);
        let first = format!("HTTP/1.{minor} {status} {}", response.reason.unwrap_or_default());
        Ok(Some(Head { first, minor, status, fields: owned(response.headers), length, ..Head::default() }))
    }

    pub fn field(&self, wanted: &str) -> Option<&str> {
        self.all(wanted).next()
    }

    pub fn all(&self, wanted: &str) -> impl Iterator<Item = &str> {
        let found = self.fields.iter().filter(move |(name, _)| name.eq_ignore_ascii_case(wanted));
        found.map(|(_, value)| value.trim())
    }
}

/// A request of a later HTTP/1.x, as one of HTTP/1.1, which is how it is to be read (RFC 9110 §2.5).
fn in_known_version(input: &[u8]) -> Option<Vec<u8>> {
    let is_break = |byte: &u8| b"\r\n".contains(byte);
    let start = input.iter().position(|byte| !is_break(byte))?;
    let end = input[start..].iter().position(is_break).map_or(input.len(), |length| start + length);
    let (&minor, before) = input[start..end].split_last()?;
    let mut known = input.to_vec();
    known[end - 1] = b'1';
    (before.ends_with(b" HTTP/1.") && (b'2'..=b'9').contains(&minor)).then_some(known)
}

fn complete(parsed: httparse::Result<usize>, input: &[u8]) -> Result<Option<usize>, Broken> {
    match parsed {
        Ok(httparse::Status::Complete(length)) if length <= MAX_HEAD_BYTES => Ok(Some(length)),
        Ok(httparse::Status::Partial) if input.len() < MAX_HEAD_BYTES => Ok(None),
        Ok(_) | Err(httparse::Error::TooManyHeaders) => Err(Broken::TooLarge),
        Err(httparse::Error::Version) => Err(Broken::Version),
        Err(error) => Err(Broken::Syntax(error)),
    }
}

fn owned(fields: &[httparse::Header]) -> Vec<(String, String)> {
    fields.iter().map(|field| (field.name.to_string(), String::from_utf8_lossy(field.value).into_owned())).collect()
}

#[cfg(test)]
mod tests;
