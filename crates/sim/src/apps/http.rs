//! A connection of a video session, whichever version of HTTP it speaks.

use super::http1::Http1;
use playpath_units::Time;
use playpath_video::cmsd::Cmsd;
use playpath_video::http2::{self, Came};
use playpath_video::{Request, RequestId};

/// Both ends of a connection. The version is that of its first request.
pub enum Http {
    One(Http1),
    Two(Box<http2::Http2Connection>),
}

impl Http {
    pub fn new() -> Http {
        Http::One(Http1::default())
    }

    /// The client asks: bytes that it writes.
    pub fn send(&mut self, request: Request) -> u64 {
        match self {
            Http::One(http1) if request.priority.is_none() => http1.send(request),
            Http::Two(http2) => http2.send(request),
            Http::One(_) => {
                let mut http2 = Box::<http2::Http2Connection>::default();
                let bytes = http2.begin() + http2.send(request);
                *self = Http::Two(http2);
                bytes
            }
        }
    }

    /// The client does not want a response any more: bytes that it writes.
    pub fn abandon(&mut self, id: RequestId) -> u64 {
        match self {
            Http::One(http1) => {
                http1.abandon(id);
                0
            }
            Http::Two(http2) => http2.abandon(id),
        }
    }

    /// No response is awaited.
    pub fn is_idle(&self) -> bool {
        match self {
            Http::One(http1) => http1.is_idle(),
            Http::Two(http2) => http2.is_idle(),
        }
    }

    /// The connection was reset: the server writes no more.
    pub fn stop(&mut self) {
        *self = Http::new();
    }

    /// `bytes` were read at the server. Returns the requests that are complete with them, to be answered by
    /// [`respond`](Self::respond).
    pub fn handle_at_server(&mut self, bytes: u64) -> Vec<Request> {
        match self {
            Http::One(http1) => http1.handle_at_server(bytes),
            Http::Two(http2) => http2.handle_at_server(bytes),
        }
    }

    /// The server answers, and tells of itself in the header.
    pub fn respond(&mut self, now: Time, request: &Request, told: Option<Cmsd>) {
        match self {
            Http::One(http1) => http1.respond(now, request, told),
            Http::Two(http2) => http2.respond(now, request, told),
        }
    }

    /// Bytes that the server wants to write now. Followed by [`wrote`](Self::wrote).
    pub fn poll_write(&mut self, now: Time) -> u64 {
        match self {
            Http::One(http1) => http1.poll_write(now),
            Http::Two(http2) => http2.poll_write(now),
        }
    }

    /// The socket has taken so many of them.
    pub fn wrote(&mut self, bytes: u64) {
        match self {
            Http::One(http1) => http1.wrote(bytes),
            Http::Two(http2) => http2.wrote(bytes),
        }
    }

    /// When the server has more to write though nothing arrives.
    pub fn next_write(&self, now: Time) -> Time {
        match self {
            Http::One(http1) => http1.next_write(now),
            Http::Two(http2) => http2.next_write(now),
        }
    }

    /// Bytes that the client reads if it is willing to read `limit` of a body; of streams side by side it reads all.
    pub fn read_limit(&self, limit: u64) -> u64 {
        match self {
            Http::One(http1) => http1.read_limit(limit),
            Http::Two(_) => u64::MAX,
        }
    }

    /// `bytes` were read at the client: `take` gets what of it is wanted. Returns the bytes that the client
    /// writes.
    pub fn handle_at_client(&mut self, bytes: u64, take: impl FnMut(RequestId, Came)) -> u64 {
        match self {
            Http::One(http1) => {
                http1.handle_at_client(bytes, take);
                0
            }
            Http::Two(http2) => http2.handle_at_client(bytes, take),
        }
    }
}
