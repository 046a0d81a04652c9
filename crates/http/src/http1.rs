//! HTTP/1.1 over one connection, modelled in bytes: responses follow one another in the order of their requests (RFC 9112 §9.3.2).

use crate::{Ordered, Received};
use playpath_units::Time;
use playpath_video::cmsd::Cmsd;
use playpath_video::{Delivery, Request, RequestId};
use std::collections::VecDeque;

/// Both ends of a connection, and the messages in transit between them.
#[derive(Default)]
pub struct Http1 {
    /// Requests sent, whose response is not complete at the client; oldest first.
    awaited: VecDeque<Awaited>,
    /// Bytes of them that the client has not read.
    unread: u64,
    /// Requests that the server has not yet received completely.
    arriving: VecDeque<Request>,
    /// Bytes of `arriving[0]` that the server has.
    arrived_bytes: u64,
    /// Responses that the server has not yet written completely.
    responding: VecDeque<Response>,
}

struct Awaited {
    id: RequestId,
    header_left: u64,
    body_left: u64,
    is_abandoned: bool,
    /// The server's data in the header (CMSD).
    cmsd: Option<Cmsd>,
}

struct Response {
    header: u64,
    body: u64,
    delivery: Delivery,
    began: Time,
    /// Bytes that the server's program had produced when last looked at.
    written: u64,
    /// Time of the next chunk; computed once per chunk, since it is queried with every packet.
    next_at: Time,
    taken: u64,
}

impl Ordered for Http1 {
    fn has_priorities(&self) -> bool {
        false
    }

    fn send(&mut self, request: Request) -> u64 {
        self.awaited.push_back(Awaited {
            id: request.id,
            header_left: u64::from(request.response_header_bytes),
            body_left: request.body_bytes,
            is_abandoned: false,
            cmsd: None,
        });
        self.unread += u64::from(request.response_header_bytes) + request.body_bytes;
        let bytes = u64::from(request.request_header_bytes);
        self.arriving.push_back(request);
        bytes
    }

    /// Read and ignore the response. The server still writes the rest of it: this models a client
    /// that keeps its connection; a client that wants to stop the response closes the connection as well.
    fn abandon(&mut self, id: RequestId) -> u64 {
        self.awaited.iter_mut().filter(|awaited| awaited.id == id).for_each(|awaited| awaited.is_abandoned = true);
        0
    }

    fn is_idle(&self) -> bool {
        self.awaited.is_empty()
    }

    fn handle_at_server(&mut self, bytes: u64) -> Vec<Request> {
        self.arrived_bytes += bytes;
        std::iter::from_fn(|| self.next_request()).collect()
    }

    fn respond(&mut self, now: Time, request: &Request, cmsd: Option<Cmsd>) {
        let cmsd_bytes = cmsd.map_or(0, |cmsd| cmsd.header_bytes());
        if let Some(awaited) = self.awaited.iter_mut().find(|awaited| awaited.id == request.id) {
            (awaited.cmsd, awaited.header_left) = (cmsd, awaited.header_left + cmsd_bytes);
            self.unread += cmsd_bytes;
        }
        self.responding.push_back(Response {
            header: u64::from(request.response_header_bytes) + cmsd_bytes,
            body: request.body_bytes,
            delivery: request.delivery,
            began: now,
            written: 0,
            next_at: Time::ZERO,
            taken: 0,
        });
    }

    fn poll_write(&mut self, now: Time) -> u64 {
        while self.responding.front().is_some_and(|response| response.taken == response.header + response.body) {
            self.responding.pop_front();
        }
        self.responding.front_mut().map_or(0, |response| response.written(now) - response.taken)
    }

    fn wrote(&mut self, bytes: u64) {
        if let Some(response) = self.responding.front_mut() {
            response.taken += bytes;
        }
    }

    fn next_write(&self, now: Time) -> Time {
        self.responding.front().map_or(Time::MAX, |response| response.next_write(now))
    }

    fn read_limit(&self, limit: u64) -> u64 {
        match self.awaited.front() {
            Some(awaited) if awaited.is_abandoned => u64::MAX,
            Some(awaited) => limit.saturating_add(awaited.header_left),
            None => limit,
        }
    }

    fn unread(&self) -> Option<u64> {
        Some(self.unread)
    }

    fn handle_at_client(&mut self, mut bytes: u64, take: &mut dyn FnMut(RequestId, Received)) -> u64 {
        while bytes > 0 {
            let Some(awaited) = self.awaited.front_mut() else {
                unreachable!("{bytes} bytes without a request");
            };
            let header = bytes.min(awaited.header_left);
            awaited.header_left -= header;
            let body = (bytes - header).min(awaited.body_left);
            awaited.body_left -= body;
            let cmsd = if awaited.header_left == 0 && awaited.cmsd.is_some() { awaited.cmsd.take() } else { None };
            bytes -= header + body;
            self.unread -= header + body;
            let (id, is_wanted) = (awaited.id, !awaited.is_abandoned);
            if awaited.header_left == 0 && awaited.body_left == 0 {
                self.awaited.pop_front();
            }
            if let Some(cmsd) = cmsd.filter(|_| is_wanted) {
                take(id, Received::ServerData(cmsd));
            }
            if body > 0 && is_wanted {
                take(id, Received::Body(body));
            }
        }
        0
    }
}

impl Http1 {
    fn next_request(&mut self) -> Option<Request> {
        let needed = u64::from(self.arriving.front()?.request_header_bytes);
        if self.arrived_bytes < needed {
            return None;
        }
        self.arrived_bytes -= needed;
        self.arriving.pop_front()
    }
}

impl Response {
    /// Bytes that the server's program has produced.
    fn written(&mut self, now: Time) -> u64 {
        if now >= self.next_at {
            self.written = self.delivery.written(self.header, self.body, self.began, now);
            self.next_at = self.next_write(now);
        }
        self.written
    }

    fn next_write(&self, now: Time) -> Time {
        if now < self.next_at {
            return self.next_at;
        }
        self.delivery.next_write(self.header, self.body, self.began, now)
    }
}
