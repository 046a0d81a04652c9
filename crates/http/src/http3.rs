//! HTTP/3 over the streams of one connection, modelled in bytes: each request on a stream of its own, so that a loss in one response does
//! not delay the others. The transport chooses the stream that sends next, by the priorities of RFC 9218.
//!
//! References: RFC 9114 §4.1 (a stream for each request), §7.1 (frames: type and length before the payload), §4.1.1 (a client that cancels
//! a response sends STOP_SENDING); RFC 9218 §4, §10 (priorities).
//! Differences from the references:
//! 1. Field sections have the size that the request states, as in the other versions; the savings of QPACK are not computed. SETTINGS and
//!    QPACK's own streams, some 30 bytes each way in all, are left out.
//! 2. A body is one DATA frame, also where the server's program produces it in pieces. No PUSH, no GOAWAY, no PRIORITY_UPDATE.
//! 3. A server that implements RFC 9218 in full, as in [`http2`](crate::http2).
//!
//! Units: bytes. Tested by the simulator's `tests/quic.rs`.

use crate::{Carrier, Received};
use playpath_transport::quic::varint;
use playpath_transport::transports::Streams;
use playpath_units::Time;
use playpath_video::cmsd::Cmsd;
use playpath_video::{Delivery, Priority, Request, RequestId};

/// Both ends of a connection, and the messages in transit between them.
#[derive(Default)]
pub struct Http3 {
    /// In the order of the requests; those whose response was read, or abandoned by both ends, are removed.
    exchanges: Vec<Exchange>,
}

struct Exchange {
    request: Request,
    /// Its stream; `None`: the client may not open one yet.
    stream: Option<u64>,
    /// Bytes of the request that the server has read.
    arrived: u64,
    response: Response,
    /// Bytes of the response's header that the client has not read.
    header_left: u64,
    body_left: u64,
    /// The server's data in the header (CMSD).
    cmsd: Option<Cmsd>,
    is_abandoned: bool,
}

enum Response {
    /// The request is not complete.
    Awaited,
    Open {
        header: u64,
        began: Time,
        taken: u64,
    },
    Over,
}

impl Http3 {
    pub fn send(&mut self, carrier: &mut impl Carrier, request: Request) {
        self.exchanges.push(Exchange {
            header_left: header_bytes(&request, None),
            body_left: request.body_bytes,
            request,
            stream: None,
            arrived: 0,
            response: Response::Awaited,
            cmsd: None,
            is_abandoned: false,
        });
        self.open_streams(carrier);
    }

    /// The client opens what streams it may for requests that wait.
    pub fn open_streams(&mut self, carrier: &mut impl Carrier) {
        if self.exchanges.iter().all(|exchange| exchange.stream.is_some()) {
            return;
        }
        let waiting = self.exchanges.iter_mut().filter(|exchange| exchange.stream.is_none());
        carrier.at_client(|streams, _| {
            for exchange in waiting {
                let Some(stream) = streams.open() else { break };
                exchange.stream = Some(stream);
                streams.set_priority(stream, priority(&exchange.request));
                streams.write(stream, request_bytes(&exchange.request));
                streams.finish(stream);
            }
        });
    }

    pub fn abandon(&mut self, carrier: &mut impl Carrier, id: RequestId) {
        for exchange in self.exchanges.iter_mut().filter(|exchange| exchange.request.id == id) {
            exchange.is_abandoned = true;
            let Some(stream) = exchange.stream else { continue };
            carrier.at_client(|streams, _| streams.stop(stream));
        }
        self.exchanges.retain(|exchange| exchange.stream.is_some() || !exchange.is_abandoned);
    }

    pub fn is_idle(&self) -> bool {
        self.exchanges.iter().all(|exchange| exchange.is_abandoned)
    }

    /// The server reads. Returns the requests that are complete, to be answered by [`respond`](Self::respond).
    pub fn receive(&mut self, carrier: &mut impl Carrier) -> Vec<Request> {
        let mut complete = Vec::new();
        let exchanges = &mut self.exchanges;
        carrier.at_server(|streams, now| {
            for exchange in exchanges.iter_mut().filter(|exchange| matches!(exchange.response, Response::Awaited)) {
                let Some(stream) = exchange.stream else { continue };
                exchange.arrived += streams.read(now, stream, u64::MAX);
                if exchange.arrived == request_bytes(&exchange.request) {
                    streams.set_priority(stream, priority(&exchange.request));
                    complete.push(exchange.request.clone());
                }
            }
        });
        complete
    }

    pub fn respond(&mut self, now: Time, request: &Request, cmsd: Option<Cmsd>) {
        let header = header_bytes(request, cmsd.as_ref());
        for exchange in self.exchanges.iter_mut().filter(|exchange| exchange.request.id == request.id) {
            exchange.response = Response::Open { header, began: now, taken: 0 };
            (exchange.cmsd, exchange.header_left) = (cmsd, header);
        }
    }

    /// The server's program writes what it has produced as far as the buffers accept it; at most `lowat` bytes stay unsent.
    pub fn serve(&mut self, carrier: &mut impl Carrier) {
        let lowat = carrier.lowat();
        loop {
            let exchanges = &mut self.exchanges;
            let written = carrier.at_server(|streams, now| write(exchanges, streams, now, lowat));
            let Some(Written { bytes, is_waiting }) = written else { return };
            if bytes == 0 || lowat.is_none() {
                return carrier.notify_of_room(is_waiting);
            }
        }
    }

    pub fn next_write(&self, now: Time) -> Time {
        self.exchanges.iter().map(|exchange| exchange.next_write(now)).min().unwrap_or(Time::MAX)
    }

    /// Bytes of responses that the client has not read, wherever they are.
    pub fn unread(&self) -> u64 {
        let wanted = self.exchanges.iter().filter(|exchange| !exchange.is_abandoned);
        wanted.map(|exchange| exchange.header_left + exchange.body_left).sum()
    }

    pub fn read(&mut self, carrier: &mut impl Carrier, limit: u64, mut take: impl FnMut(RequestId, Received)) -> bool {
        let exchanges = &mut self.exchanges;
        let read = carrier.at_client(|streams, now| {
            exchanges.iter_mut().map(|exchange| exchange.read(streams, now, limit, &mut take)).sum()
        });
        let read: u64 = read.unwrap_or(0);
        carrier.count_read(read);
        self.exchanges.retain(|exchange| !exchange.is_over());
        self.open_streams(carrier);
        read > 0
    }
}

/// Output of one turn of the server's program.
struct Written {
    bytes: u64,
    /// More is produced than could be written.
    is_waiting: bool,
}

/// One turn: the most urgent first, of one urgency in the order of the requests.
fn write(exchanges: &mut [Exchange], streams: &mut dyn Streams, now: Time, lowat: Option<u64>) -> Written {
    let mut written = Written { bytes: 0, is_waiting: false };
    for urgency in 0..=7 {
        for exchange in exchanges.iter_mut().filter(|exchange| priority(&exchange.request).urgency == urgency) {
            let room = lowat.map_or(u64::MAX, |lowat| lowat.saturating_sub(streams.unsent_bytes()));
            let (bytes, is_waiting) = exchange.write(streams, now, room);
            written.bytes += bytes;
            written.is_waiting |= is_waiting;
        }
    }
    written
}

impl Exchange {
    /// The server writes at most `room` bytes; how many, and whether more is produced than could be written.
    fn write(&mut self, streams: &mut dyn Streams, now: Time, room: u64) -> (u64, bool) {
        let (Response::Open { header, began, taken }, Some(stream)) = (&mut self.response, self.stream) else {
            return (0, false);
        };
        if !streams.is_writable(stream) {
            self.response = Response::Over; // the client gave it up
            return (0, false);
        }
        let body = self.request.body_bytes;
        let wanted = self.request.delivery.written(*header, body, *began, now) - *taken;
        let bytes = if wanted == 0 || room == 0 { 0 } else { streams.write(stream, wanted.min(room)) };
        *taken += bytes;
        if *taken == *header + body {
            streams.finish(stream);
            self.response = Response::Over;
        }
        (bytes, bytes < wanted)
    }

    fn next_write(&self, now: Time) -> Time {
        match self.response {
            Response::Open { header, began, .. } if self.request.delivery != Delivery::AsFastAsPossible => {
                self.request.delivery.next_write(header, self.request.body_bytes, began, now)
            }
            _ => Time::MAX,
        }
    }

    /// The client reads; how many bytes.
    fn read(
        &mut self,
        streams: &mut dyn Streams,
        now: Time,
        limit: u64,
        take: &mut impl FnMut(RequestId, Received),
    ) -> u64 {
        let Some(stream) = self.stream else { return 0 };
        let is_limited = self.request.priority.is_none() && !self.is_abandoned;
        let most = if is_limited { limit.saturating_add(self.header_left) } else { u64::MAX };
        let bytes = streams.read(now, stream, most);
        if self.is_abandoned {
            let has_ended = streams.is_read_to_end(stream);
            (self.header_left, self.body_left) = if has_ended { (0, 0) } else { (self.header_left, self.body_left) };
            return bytes;
        }
        let header = bytes.min(self.header_left);
        self.header_left -= header;
        self.body_left -= bytes - header;
        if self.header_left == 0
            && let Some(cmsd) = self.cmsd.take()
        {
            take(self.request.id, Received::ServerData(cmsd));
        }
        if bytes > header {
            take(self.request.id, Received::Body(bytes - header));
        }
        bytes
    }

    /// Whether it is finished at both ends.
    fn is_over(&self) -> bool {
        self.header_left + self.body_left == 0 && (matches!(self.response, Response::Over) || self.is_abandoned)
    }
}

fn priority(request: &Request) -> Priority {
    request.priority.unwrap_or_default()
}

/// Type and length of a frame (RFC 9114 §7.1).
fn frame_header(payload: u64) -> u64 {
    1 + u64::from(varint::size(payload))
}

fn request_bytes(request: &Request) -> u64 {
    let fields = u64::from(request.request_header_bytes);
    frame_header(fields) + fields
}

/// Bytes of a response other than the body: a HEADERS frame, and the header of the DATA frame.
fn header_bytes(request: &Request, cmsd: Option<&Cmsd>) -> u64 {
    let fields = u64::from(request.response_header_bytes) + cmsd.map_or(0, Cmsd::header_bytes);
    let data = if request.body_bytes > 0 { frame_header(request.body_bytes) } else { 0 };
    frame_header(fields) + fields + data
}
