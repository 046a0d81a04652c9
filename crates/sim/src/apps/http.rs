//! A connection of a video session, whichever version of HTTP it speaks.

use super::http1::Http1;
use super::http3::Http3;
use playpath_units::Time;
use playpath_video::cmsd::Cmsd;
use playpath_video::http2::{self, Came};
use playpath_video::{Request, RequestId};

/// Both ends of a connection, over one ordered stream or over several.
pub enum Http {
    Ordered(Ordered),
    Streams(Http3),
}

impl Http {
    /// On streams of the transport, or on one ordered stream.
    pub fn new(has_streams: bool) -> Http {
        if has_streams { Http::Streams(Http3::default()) } else { Http::Ordered(Ordered::new()) }
    }

    /// No response is awaited.
    pub fn is_idle(&self) -> bool {
        match self {
            Http::Ordered(http) => http.is_idle(),
            Http::Streams(http3) => http3.is_idle(),
        }
    }

    /// The connection was reset: the server writes no more.
    pub fn stop(&mut self) {
        *self = Http::new(matches!(self, Http::Streams(_)));
    }

    /// The server answers, and tells of itself in the header.
    pub fn respond(&mut self, now: Time, request: &Request, told: Option<Cmsd>) {
        match self {
            Http::Ordered(http) => http.respond(now, request, told),
            Http::Streams(http3) => http3.respond(now, request, told),
        }
    }

    /// When the server has more to write though nothing arrives.
    pub fn next_write(&self, now: Time) -> Time {
        match self {
            Http::Ordered(http) => http.next_write(now),
            Http::Streams(http3) => http3.next_write(now),
        }
    }

    /// Bytes of responses that the client has not read, wherever they are; `None`: not known of HTTP/2.
    pub fn unread(&self) -> Option<u64> {
        match self {
            Http::Ordered(Ordered::One(http1)) => Some(http1.unread()),
            Http::Ordered(Ordered::Two(_)) => None,
            Http::Streams(http3) => Some(http3.unread()),
        }
    }
}

/// Both ends of a connection of one ordered stream. The version is that of its first request.
pub enum Ordered {
    One(Http1),
    Two(Box<http2::Http2Connection>),
}

impl Ordered {
    fn new() -> Ordered {
        Ordered::One(Http1::default())
    }

    /// The client asks: bytes that it writes.
    pub fn send(&mut self, request: Request) -> u64 {
        match self {
            Ordered::One(http1) if request.priority.is_none() => http1.send(request),
            Ordered::Two(http2) => http2.send(request),
            Ordered::One(_) => {
                let mut http2 = Box::<http2::Http2Connection>::default();
                let bytes = http2.begin() + http2.send(request);
                *self = Ordered::Two(http2);
                bytes
            }
        }
    }

    /// The client does not want a response any more: bytes that it writes.
    pub fn abandon(&mut self, id: RequestId) -> u64 {
        match self {
            Ordered::One(http1) => {
                http1.abandon(id);
                0
            }
            Ordered::Two(http2) => http2.abandon(id),
        }
    }

    /// No response is awaited.
    pub fn is_idle(&self) -> bool {
        match self {
            Ordered::One(http1) => http1.is_idle(),
            Ordered::Two(http2) => http2.is_idle(),
        }
    }

    /// `bytes` were read at the server. Returns the requests that are complete with them, to be answered by
    /// [`respond`](Self::respond).
    pub fn handle_at_server(&mut self, bytes: u64) -> Vec<Request> {
        match self {
            Ordered::One(http1) => http1.handle_at_server(bytes),
            Ordered::Two(http2) => http2.handle_at_server(bytes),
        }
    }

    /// The server answers, and tells of itself in the header.
    pub fn respond(&mut self, now: Time, request: &Request, told: Option<Cmsd>) {
        match self {
            Ordered::One(http1) => http1.respond(now, request, told),
            Ordered::Two(http2) => http2.respond(now, request, told),
        }
    }

    /// Bytes that the server wants to write now. Followed by [`wrote`](Self::wrote).
    pub fn poll_write(&mut self, now: Time) -> u64 {
        match self {
            Ordered::One(http1) => http1.poll_write(now),
            Ordered::Two(http2) => http2.poll_write(now),
        }
    }

    /// The socket has taken so many of them.
    pub fn wrote(&mut self, bytes: u64) {
        match self {
            Ordered::One(http1) => http1.wrote(bytes),
            Ordered::Two(http2) => http2.wrote(bytes),
        }
    }

    /// When the server has more to write though nothing arrives.
    pub fn next_write(&self, now: Time) -> Time {
        match self {
            Ordered::One(http1) => http1.next_write(now),
            Ordered::Two(http2) => http2.next_write(now),
        }
    }

    /// Bytes that the client reads if it is willing to read `limit` of a body; of streams side by side it reads all.
    pub fn read_limit(&self, limit: u64) -> u64 {
        match self {
            Ordered::One(http1) => http1.read_limit(limit),
            Ordered::Two(_) => u64::MAX,
        }
    }

    /// `bytes` were read at the client: `take` gets what of it is wanted. Returns the bytes that the client
    /// writes.
    pub fn handle_at_client(&mut self, bytes: u64, take: impl FnMut(RequestId, Came)) -> u64 {
        match self {
            Ordered::One(http1) => {
                http1.handle_at_client(bytes, take);
                0
            }
            Ordered::Two(http2) => http2.handle_at_client(bytes, take),
        }
    }
}
