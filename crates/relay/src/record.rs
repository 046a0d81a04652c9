//! What the two relays say to each other on a TCP connection: records with a header of 12 bytes.
//!
//! | bytes | content |
//! |---|---|
//! | 0 | kind: 1 hello, 2 accept, 3 data, 4 ack, 5 fin, 6 reset |
//! | 1 | flags: of an ack, 1 = "answer with an ack" |
//! | 2–3 | length of what follows the header |
//! | 4–11 | data offset (data, fin), next offset expected (ack), the word "PLAYPATH" (hello, accept) |
//!
//! After the header: hello: version, path index, flags (1 = joins a session that the server has accepted), session id (16),
//! name of the path; accept: version; data: payload; ack: right edge of the window (8); reset: the reason in words.
//! Numbers are in network byte order. An endpoint may send up to [`INITIAL_WINDOW`] bytes before the first ack.
//!
//! Tested here: every record survives any cutting of the byte stream; what is no record is refused.

/// Bytes of a header.
pub const HEADER: usize = 12;
/// Most payload of one record.
pub const MAX_PAYLOAD: usize = 16 << 10;
/// Window that each side has before it hears of the other's.
pub const INITIAL_WINDOW: u64 = 64 << 10;
/// Most paths of a session.
pub const MOST_PATHS: usize = 32;
/// Of this format.
pub const VERSION: u8 = 1;

const MAGIC: u64 = u64::from_be_bytes(*b"PLAYPATH");
const MAX_NAME: usize = 64;
const MAX_REASON: usize = 512;

/// Tells a session's connections from those of others.
pub type SessionId = [u8; 16];

/// First record of a connection, from the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Session that the connection belongs to.
    pub session: SessionId,
    /// Index of the path.
    pub path: u8,
    /// The server has accepted this session before.
    pub is_known: bool,
    /// Name of the path, for the server's log.
    pub name: String,
}

/// One record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// See [`Hello`].
    Hello(Hello),
    /// The server takes the connection.
    Accept,
    /// Bytes of the stream from `offset` on.
    Data {
        /// Of the first byte.
        offset: u64,
        /// The bytes.
        payload: &'a [u8],
    },
    /// Everything before `next` has arrived; up to `edge` there is room.
    Ack {
        /// Next offset expected.
        next: u64,
        /// Right edge of the window.
        edge: u64,
        /// The peer is to answer with an ack.
        wants_answer: bool,
    },
    /// The stream ends at `end`. It counts as one byte.
    Fin {
        /// Bytes of the stream.
        end: u64,
    },
    /// The session is over, for this reason.
    Reset {
        /// In words.
        reason: String,
    },
}

/// What arrived is not a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum BadRecord {
    #[error("no record of a playpath relay")]
    Stranger,
    #[error("a record of kind {kind} with {length} bytes, at most {most}")]
    TooLong { kind: u8, length: usize, most: usize },
    #[error("path {0} of a session; the last is {last}", last = MOST_PATHS - 1)]
    NoPath(u8),
    #[error("a record of kind {kind} with {length} bytes")]
    Malformed { kind: u8, length: usize },
}

impl Record<'_> {
    /// In a word, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Record::Hello(_) => "hello",
            Record::Accept => "accept",
            Record::Data { .. } => "data",
            Record::Ack { .. } => "ack",
            Record::Fin { .. } => "fin",
            Record::Reset { .. } => "reset",
        }
    }

    /// Append the record's bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Record::Hello(hello) => {
                let name = cut(&hello.name, MAX_NAME);
                header(out, 1, 0, 19 + name.len(), MAGIC);
                out.extend([VERSION, hello.path, u8::from(hello.is_known)]);
                out.extend(hello.session);
                out.extend(name.as_bytes());
            }
            Record::Accept => {
                header(out, 2, 0, 1, MAGIC);
                out.push(VERSION);
            }
            Record::Data { offset, payload } => {
                debug_assert!(payload.len() <= MAX_PAYLOAD);
                header(out, 3, 0, payload.len(), *offset);
                out.extend_from_slice(payload);
            }
            Record::Ack { next, edge, wants_answer } => {
                header(out, 4, u8::from(*wants_answer), 8, *next);
                out.extend(edge.to_be_bytes());
            }
            Record::Fin { end } => header(out, 5, 0, 0, *end),
            Record::Reset { reason } => {
                let reason = cut(reason, MAX_REASON);
                header(out, 6, 0, reason.len(), 0);
                out.extend(reason.as_bytes());
            }
        }
    }

    fn decode(header: [u8; HEADER], body: &[u8]) -> Result<Record<'_>, BadRecord> {
        let number = u64::from_be_bytes(header[4..].try_into().expect("eight bytes"));
        match (header[0], body) {
            (1, [_, path, _, rest @ ..]) if rest.len() >= 16 && usize::from(*path) >= MOST_PATHS => {
                Err(BadRecord::NoPath(*path))
            }
            (1, [_, path, flags, rest @ ..]) if rest.len() >= 16 => Ok(Record::Hello(Hello {
                session: rest[..16].try_into().expect("sixteen bytes"),
                path: *path,
                is_known: flags & 1 != 0,
                name: String::from_utf8_lossy(&rest[16..]).into_owned(),
            })),
            (2, [_]) => Ok(Record::Accept),
            (3, payload) => Ok(Record::Data { offset: number, payload }),
            (4, edge) if edge.len() == 8 => {
                let edge = u64::from_be_bytes(edge.try_into().expect("eight bytes"));
                Ok(Record::Ack { next: number, edge, wants_answer: header[1] & 1 != 0 })
            }
            (5, []) => Ok(Record::Fin { end: number }),
            (6, reason) => Ok(Record::Reset { reason: String::from_utf8_lossy(reason).into_owned() }),
            (kind, body) => Err(BadRecord::Malformed { kind, length: body.len() }),
        }
    }
}

/// Cuts a connection's bytes into records.
#[derive(Debug, Default)]
pub struct Decoder {
    buffer: Vec<u8>,
    at: usize,
}

impl Decoder {
    /// Bytes that arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.at);
        self.at = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole record.
    pub fn next_record(&mut self) -> Result<Option<Record<'_>>, BadRecord> {
        let rest = &self.buffer[self.at..];
        let Some(header) = rest.first_chunk::<HEADER>() else {
            return rest.first().map_or(Ok(()), |kind| check_kind(*kind)).map(|()| None);
        };
        let length = check_header(header)?;
        if rest.len() < HEADER + length {
            return Ok(None);
        }
        let start = self.at + HEADER;
        self.at = start + length;
        Record::decode(*header, &self.buffer[start..self.at]).map(Some)
    }
}

fn check_kind(kind: u8) -> Result<(), BadRecord> {
    if (1..=6).contains(&kind) { Ok(()) } else { Err(BadRecord::Stranger) }
}

/// Before the body is there: an endpoint that is no relay is recognised by its first bytes. Returns the body's length.
fn check_header(header: &[u8; HEADER]) -> Result<usize, BadRecord> {
    check_kind(header[0])?;
    let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
    let most = [0, 19 + MAX_NAME, 256, MAX_PAYLOAD, 8, 0, MAX_REASON][usize::from(header[0])];
    if length > most {
        return Err(BadRecord::TooLong { kind: header[0], length, most });
    }
    if header[0] <= 2 && header[4..] != MAGIC.to_be_bytes() {
        return Err(BadRecord::Stranger);
    }
    Ok(length)
}

fn header(out: &mut Vec<u8>, kind: u8, flags: u8, length: usize, number: u64) {
    let length = u16::try_from(length).expect("records are shorter than 64 kB");
    out.extend([kind, flags]);
    out.extend(length.to_be_bytes());
    out.extend(number.to_be_bytes());
}

/// At most `most` bytes, whole characters.
fn cut(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0);
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_record() -> impl Strategy<Value = (u8, u64, Vec<u8>, String, bool)> {
        (1u8..=6, any::<u64>(), prop::collection::vec(any::<u8>(), 0..200), "[a-zé]{0,32}", any::<bool>())
    }

    fn record<'a>((kind, number, bytes, text, flag): &'a (u8, u64, Vec<u8>, String, bool)) -> Record<'a> {
        match kind {
            1 => {
                let (path, name) = (*number as u8 % MOST_PATHS as u8, text.clone());
                Record::Hello(Hello { session: [*number as u8; 16], path, is_known: *flag, name })
            }
            2 => Record::Accept,
            3 => Record::Data { offset: *number, payload: bytes },
            4 => Record::Ack { next: *number, edge: number / 2, wants_answer: *flag },
            5 => Record::Fin { end: *number },
            _ => Record::Reset { reason: text.clone() },
        }
    }

    proptest! {
        #[test]
        fn records_survive_any_cutting(parts in prop::collection::vec(any_record(), 1..20), cuts in prop::collection::vec(1usize..50, 1..20)) {
            let mut bytes = Vec::new();
            parts.iter().for_each(|part| record(part).encode(&mut bytes));
            let mut decoder = Decoder::default();
            let (mut rest, mut found) = (&bytes[..], 0);
            for cut in cuts.iter().cycle() {
                let (now, later) = rest.split_at((*cut).min(rest.len()));
                decoder.push(now);
                while let Some(got) = decoder.next_record().unwrap() {
                    prop_assert_eq!(&got, &record(&parts[found]));
                    found += 1;
                }
                rest = later;
                if rest.is_empty() {
                    break;
                }
            }
            prop_assert_eq!(found, parts.len());
        }

        #[test]
        fn any_bytes_are_records_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let mut decoder = Decoder::default();
            decoder.push(&bytes);
            while let Ok(Some(_)) = decoder.next_record() {}
        }
    }

    /// It opened a session, whose connection to the origin was held for half a minute.
    #[test]
    fn a_path_that_cannot_be_is_refused_with_its_hello() {
        let mut decoder = Decoder::default();
        let hello = Hello { session: [7; 16], path: 32, is_known: false, name: "x".into() };
        let mut bytes = Vec::new();
        Record::Hello(hello).encode(&mut bytes);
        decoder.push(&bytes);
        assert_eq!(decoder.next_record().unwrap_err().to_string(), "path 32 of a session; the last is 31");
    }

    #[test]
    fn a_web_server_is_no_relay() {
        let mut decoder = Decoder::default();
        decoder.push(b"H");
        assert_eq!(decoder.next_record().unwrap_err().to_string(), "no record of a playpath relay");
        let mut long = Vec::new();
        header(&mut long, 3, 0, MAX_PAYLOAD + 1, 0);
        decoder = Decoder::default();
        decoder.push(&long);
        assert!(decoder.next_record().unwrap_err().to_string().contains("at most 16384"));
    }
}
