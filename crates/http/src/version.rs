//! A connection of any version of HTTP.

use crate::http1::Http1;
use crate::http2::Http2Connection;
use crate::http3::Http3;
use crate::{Carrier, Received};
use playpath_units::Time;
use playpath_video::cmsd::Cmsd;
use playpath_video::{Request, RequestId};

/// Both ends of a connection, over one ordered stream or over several.
pub struct Http(Version);

enum Version {
    /// The version is that of its first request.
    Ordered(Box<dyn Ordered>),
    Streams(Http3),
}

impl Http {
    /// HTTP on streams of the transport, or on one ordered stream.
    pub fn new(has_streams: bool) -> Http {
        Http(if has_streams { Version::Streams(Http3::default()) } else { Version::Ordered(Box::<Http1>::default()) })
    }

    /// No response is awaited.
    pub fn is_idle(&self) -> bool {
        match &self.0 {
            Version::Ordered(http) => http.is_idle(),
            Version::Streams(http3) => http3.is_idle(),
        }
    }

    /// The connection was reset: the server writes no more.
    pub fn stop(&mut self) {
        *self = Http::new(matches!(self.0, Version::Streams(_)));
    }

    /// The client is connected: what waited for it goes.
    pub fn connected(&mut self, carrier: &mut impl Carrier) {
        if let Version::Streams(http3) = &mut self.0 {
            http3.open_streams(carrier);
        }
    }

    /// The client asks. `false`: with no bytes, so that the server knows at once.
    pub fn send(&mut self, carrier: &mut impl Carrier, request: Request) -> bool {
        match &mut self.0 {
            Version::Streams(http3) => {
                http3.send(carrier, request);
                true
            }
            Version::Ordered(http) => {
                let mut bytes = 0;
                if request.priority.is_some() && !http.has_priorities() {
                    let http2 = Box::<Http2Connection>::default();
                    bytes = http2.begin();
                    *http = http2;
                }
                bytes += http.send(request);
                if bytes > 0 {
                    carrier.write_at_client(bytes);
                }
                bytes > 0
            }
        }
    }

    /// The client does not want a response any more.
    pub fn abandon(&mut self, carrier: &mut impl Carrier, id: RequestId) {
        match &mut self.0 {
            Version::Streams(http3) => http3.abandon(carrier, id),
            Version::Ordered(http) => {
                let bytes = http.abandon(id);
                if bytes > 0 {
                    carrier.write_at_client(bytes);
                }
            }
        }
    }

    /// The server reads. Returns the requests that are complete, to be answered by [`respond`](Self::respond).
    pub fn receive(&mut self, carrier: &mut impl Carrier) -> Vec<Request> {
        match &mut self.0 {
            Version::Streams(http3) => http3.receive(carrier),
            Version::Ordered(http) => http.handle_at_server(carrier.read_at_server()),
        }
    }

    /// The server answers, with its data in the header (CMSD).
    pub fn respond(&mut self, now: Time, request: &Request, cmsd: Option<Cmsd>) {
        match &mut self.0 {
            Version::Ordered(http) => http.respond(now, request, cmsd),
            Version::Streams(http3) => http3.respond(now, request, cmsd),
        }
    }

    /// The server's program produces due data and writes as much as the transport accepts.
    pub fn serve(&mut self, carrier: &mut impl Carrier) {
        let http = match &mut self.0 {
            Version::Streams(http3) => return http3.serve(carrier),
            Version::Ordered(http) => http,
        };
        loop {
            let wanted = http.poll_write(carrier.now());
            let bytes = wanted.min(carrier.room());
            if bytes == 0 {
                return carrier.notify_of_room(wanted > 0);
            }
            let taken = carrier.write_at_server(bytes);
            http.wrote(taken);
            if taken < bytes {
                return;
            }
        }
    }

    /// When the server has more to write though nothing arrives.
    pub fn next_write(&self, now: Time) -> Time {
        match &self.0 {
            Version::Ordered(http) => http.next_write(now),
            Version::Streams(http3) => http3.next_write(now),
        }
    }

    /// The client reads: everything of concurrent streams, or up to `limit` body bytes of a single one. `take` gets the data of requests
    /// that were not abandoned. Returns `true` if anything was read.
    pub fn read(&mut self, carrier: &mut impl Carrier, limit: u64, mut take: impl FnMut(RequestId, Received)) -> bool {
        let http = match &mut self.0 {
            Version::Streams(http3) => return http3.read(carrier, limit, take),
            Version::Ordered(http) => http,
        };
        let bytes = carrier.read_at_client(http.read_limit(limit));
        let answer = if bytes > 0 { http.handle_at_client(bytes, &mut take) } else { 0 };
        if answer > 0 {
            carrier.write_at_client(answer);
        }
        bytes > 0
    }

    /// Bytes of responses that the client has not read, wherever they are; `None`: not known of HTTP/2.
    #[inline]
    pub fn unread(&self) -> Option<u64> {
        match &self.0 {
            Version::Ordered(http) => http.unread(),
            Version::Streams(http3) => Some(http3.unread()),
        }
    }
}

/// Both ends of a connection of one ordered stream, whose owner carries the bytes.
pub trait Ordered: Send {
    /// Whether it has concurrent streams that share the connection by their priorities.
    fn has_priorities(&self) -> bool;

    /// The client asks: bytes that it writes.
    fn send(&mut self, request: Request) -> u64;

    /// The client does not want a response any more: bytes that it writes.
    fn abandon(&mut self, id: RequestId) -> u64;

    fn is_idle(&self) -> bool;

    /// `bytes` were read at the server. Returns the requests that are complete with them, to be answered by
    /// [`respond`](Self::respond).
    fn handle_at_server(&mut self, bytes: u64) -> Vec<Request>;

    /// The server answers, with its data in the header (CMSD).
    fn respond(&mut self, now: Time, request: &Request, cmsd: Option<Cmsd>);

    /// Bytes that the server wants to write now. Followed by [`wrote`](Self::wrote).
    fn poll_write(&mut self, now: Time) -> u64;

    /// The socket has taken so many of them.
    fn wrote(&mut self, bytes: u64);

    fn next_write(&self, now: Time) -> Time;

    /// Bytes that the client reads if it is willing to read `limit` of a body; of streams side by side it reads all.
    fn read_limit(&self, limit: u64) -> u64;

    /// Bytes of responses that the client has not read, wherever they are; `None`: not known.
    fn unread(&self) -> Option<u64>;

    /// `bytes` were read at the client: `take` gets what of it is wanted. Returns the bytes that the client writes.
    fn handle_at_client(&mut self, bytes: u64, take: &mut dyn FnMut(RequestId, Received)) -> u64;
}
