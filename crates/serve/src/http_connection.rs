//! One client: the endpoint, the bytes that it carries, and HTTP above them.

use crate::client_data::ClientData;
use crate::clients::Client;
use crate::h2::{Broken, Http2};
use crate::http::{Answer, Http};
use crate::incoming::Incoming;
use crate::outgoing::{Outgoing, Source};
use crate::paced::Paced;
use crate::pair::AddressPair;
use crate::record::Recorder;
use crate::secure::Secure;
use crate::settings::Limits;
use crate::store::Store;
use playpath_cc::AppParameters;
use playpath_transport::mptcp::PathConfig;
use playpath_transport::transports::Segments;
use playpath_transport::{Connection, Event, MptcpOption, Segment};
use playpath_units::{Duration, Time};
use playpath_video::cmcd::Cmcd;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::SystemTime;

/// An answer that has arrived in whole.
#[derive(Debug)]
pub struct Access {
    pub remote: SocketAddr,
    pub request: String,
    pub status: u16,
    pub body_bytes: u64,
    /// From the first byte of the request to the acknowledgement of the last one of the answer.
    pub took: Duration,
    /// Offset at which it ends, in plain text and in the stream that is sent, and the time its request arrived.
    clear_end: u64,
    end: u64,
    asked: Time,
}

impl Access {
    /// Describe the answer being sent to a request made at `asked`: status and body size, bytes.
    pub(crate) fn new(remote: SocketAddr, request: String, (status, body_bytes): (u16, u64), asked: Time) -> Access {
        Access { remote, request, status, body_bytes, took: Duration::ZERO, clear_end: 0, end: 0, asked }
    }

    pub(crate) fn arrived(self, now: Time) -> Access {
        Access { took: now.saturating_since(self.asked), ..self }
    }
}

pub struct HttpConnection {
    pub transport: Box<dyn Segments>,
    pub paths: Vec<AddressPair>,
    /// Arrival time of the first SYN.
    pub opened: Time,
    incoming: Incoming,
    /// Data whose MPTCP checksum has not been verified yet, by path and in that path's own offsets.
    unchecked: BTreeMap<usize, Incoming>,
    outgoing: Outgoing,
    /// TLS between these and HTTP, if it is spoken.
    pub secure: Option<Secure>,
    /// Told with every answer: where else it is served (RFC 7838).
    pub alt_svc: Option<String>,
    http: Http,
    /// HTTP/2, used instead of `http` if it was negotiated in TLS (ALPN).
    two: Option<Box<Http2>>,
    pub client_data: ClientData,
    /// Reports of the client that have not been taken yet, one dictionary per line.
    pub reports: Vec<String>,
    /// Set if the current response is written at the pace its client asked for.
    paced: Option<Paced>,
    next_write: Time,
    /// Bytes of the stream handed to the transport.
    written: u64,
    stage: Stage,
    /// The peer will send no more.
    is_peer_done: bool,
    /// When anything moved last, and the bytes acknowledged then.
    moved: Time,
    acked: u64,
    /// Arrival time of the first byte of the current request.
    asked: Option<Time>,
    buffer: Vec<u8>,
    answers: VecDeque<Access>,
}

/// Most bytes of HTTP/2 frames that are queued ahead of transmission: the most that an urgent frame has to wait for.
const MAX_UNSENT: u64 = 32 * 1024;
/// Most unfinished answers that are kept for the log.
const MAX_ANSWERS: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Serving,
    /// The last answer is being written; nothing more is read.
    Finishing,
    /// Closed by us; waiting for the peer, or for stray segments.
    Closed,
    /// To be forgotten once its last segments have left.
    Gone,
}

impl Client for HttpConnection {
    /// Timers of the transport, and limits on patience.
    fn handle_timeout(&mut self, now: Time, limits: &Limits) {
        if self.transport.poll_timeout() <= now {
            self.transport.handle_timeout(now);
        }
        if now >= self.deadline(limits) {
            self.time_out(now);
        }
    }

    fn serve(&mut self, now: Time, store: &Store) {
        self.take_events();
        if self.transport.bytes_acked() > self.acked {
            (self.acked, self.moved) = (self.transport.bytes_acked(), now);
        }
        self.write(now); // what waited for room: the next request is read behind it
        // HTTP/2 has other requests, and windows, while an answer is written.
        while self.stage == Stage::Serving
            && (self.two.is_some() || self.has_written_all())
            && self.read_request(now, store)
        {
            self.write(now);
        }
        self.write(now);
        if self.stage != Stage::Serving {
            self.discard(now);
        }
        if self.has_written_all()
            && (self.stage == Stage::Finishing || self.stage == Stage::Serving && self.is_peer_done)
        {
            if let Some(secure) = &mut self.secure {
                secure.end();
                self.write(now);
            }
            self.transport.close(now);
            self.stage = Stage::Closed;
        }
    }

    fn is_idle(&self) -> bool {
        self.stage != Stage::Serving
            || (self.asked.is_none() && self.acked == self.outgoing.end && self.has_written_all())
    }

    fn note(&mut self, now: Time, id: u64, recorder: &mut Recorder) {
        recorder.note(now, id, self);
    }
}

impl HttpConnection {
    /// Open a connection for a SYN that arrived at `now` over `path`.
    pub fn new(now: Time, transport: Box<dyn Segments>, path: AddressPair) -> HttpConnection {
        HttpConnection {
            transport,
            paths: vec![path],
            opened: now,
            incoming: Incoming::default(),
            unchecked: BTreeMap::new(),
            outgoing: Outgoing::default(),
            secure: None,
            alt_svc: None,
            http: Http::default(),
            two: None,
            client_data: ClientData::default(),
            reports: Vec::new(),
            paced: None,
            next_write: Time::MAX,
            written: 0,
            stage: Stage::Serving,
            is_peer_done: false,
            moved: now,
            acked: 0,
            asked: None,
            buffer: Vec::new(),
            answers: VecDeque::new(),
        }
    }

    /// Answers that have arrived since the last call.
    pub fn take_accesses(&mut self, now: Time) -> Vec<Access> {
        let arrived = self.answers.iter().take_while(|access| access.end <= self.acked).count();
        self.answers.drain(..arrived).map(|access| access.arrived(now)).collect()
    }

    /// Handle a report that arrived over any connection. Returns `false` if it belongs to another session.
    pub fn handle_report(&mut self, now: Time, cmcd: &Cmcd) -> bool {
        if !self.client_data.is_about_session_of(cmcd) {
            return false;
        }
        let parameters = self.client_data.handle_report(cmcd);
        parameters.into_iter().for_each(|parameters| self.set_app_parameters(now, parameters));
        true
    }

    pub fn handle_segment(
        &mut self,
        now: Time,
        path: usize,
        (segment, more): (&Segment, &[MptcpOption]),
        payload: &[u8],
    ) {
        let (window, accepted) = (self.transport.window_end(), self.incoming.start + self.transport.readable());
        let unchecked = self.transport.unchecked_offset(path, segment);
        let taken = self.transport.take_segment(now, path, segment, more);
        if let Some(offset) = taken.filter(|_| !payload.is_empty()) {
            let room = window.saturating_sub(offset).min(payload.len() as u64) as usize;
            match unchecked {
                Some(within) => self.unchecked.entry(path).or_default().store(within, payload),
                None => self.incoming.store_beyond(accepted, offset, &payload[..room]),
            }
            self.moved = now;
        }
        self.check(now, path);
    }

    /// Move data with a correct checksum into the stream; after a fallback to TCP, all data.
    fn check(&mut self, now: Time, path: usize) {
        let (Some(mptcp), Some(bytes)) = (self.transport.mptcp_mut(), self.unchecked.get_mut(&path)) else {
            return;
        };
        while let Some(len) = mptcp.whole_mapping(path) {
            let accepted = self.incoming.start + mptcp.readable();
            if let Some(offset) = mptcp.accept_mapping(now, path, bytes.peek(len.into())) {
                self.incoming.store_beyond(accepted, offset, bytes.peek(len.into()));
                bytes.consume(len.into());
            }
        }
        if mptcp.is_fallback() {
            self.incoming.store(bytes.start, bytes.peek(u64::from(u32::MAX)));
            self.unchecked.clear();
        }
    }

    /// Accept a join that arrived over `pair`, at this server's address with this identifier; the caller handles its SYN next. `None`
    /// if it is refused.
    pub fn join(&mut self, pair: AddressPair, path: PathConfig, address_id: u8) -> Option<usize> {
        let index = self.transport.add_path(path, address_id)?;
        self.unchecked.remove(&index);
        if index < self.paths.len() {
            self.paths[index] = pair;
        } else {
            self.paths.push(pair);
        }
        Some(index)
    }

    /// When [`handle_timeout`](Self::handle_timeout) wants to be called.
    pub fn poll_timeout(&self, limits: &Limits) -> Time {
        self.transport.poll_timeout().min(self.deadline(limits)).min(self.next_write)
    }

    fn has_written_all(&self) -> bool {
        let is_idle = self.two.as_ref().is_none_or(|two| two.is_idle());
        is_idle && self.written == self.outgoing.end && self.secure.as_ref().is_none_or(Secure::has_sealed_all)
    }

    /// The next packet is in `out` (emptied before); `None`: there is none now.
    pub fn poll_packet(&mut self, now: Time, out: &mut Vec<u8>) -> Option<()> {
        let mut segment = Segment::default();
        let path = self.transport.poll_segment(now, &mut segment)?;
        self.buffer.resize(segment.payload_len as usize, 0);
        if segment.payload_len > 0 {
            let offset = self.transport.transmit_offset(path, &segment);
            let is_read = offset.is_some_and(|offset| self.outgoing.read(offset, &mut self.buffer).is_ok());
            if !is_read {
                // The file has changed on disk, so the rest of the answer would be wrong.
                self.transport.abort(now);
                return self.poll_packet(now, out);
            }
        }
        if let Some(mptcp) = self.transport.mptcp() {
            mptcp.seal(&mut segment, &self.buffer);
        }
        out.clear();
        let encoded = self.paths[path].encode(&mut segment, &self.buffer, out);
        debug_assert_eq!(encoded, Ok(()));
        Some(())
    }

    /// Closed, and good for nothing but stray segments.
    pub fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Closed | Stage::Gone)
            && self.transport.subflow(0).is_some_and(Connection::is_closed)
    }

    /// Whether nothing remains to be done once no packet is queued.
    pub fn is_gone(&self) -> bool {
        self.stage == Stage::Gone
    }

    pub fn requests(&self) -> u64 {
        self.http.requests + self.two.as_ref().map_or(0, |two| two.requests)
    }

    /// Memory that grows with what the peer sends, bytes.
    pub fn footprint(&self) -> usize {
        let unchecked = self.unchecked.values().map(Incoming::footprint).sum::<usize>();
        let opened = self.secure.as_ref().map_or(0, Secure::footprint);
        let two = self.two.as_ref().map_or(0, |two| two.footprint());
        self.incoming.footprint() + unchecked + opened + two + 64 * self.outgoing.pieces()
    }

    pub fn abort(&mut self, now: Time) {
        self.transport.abort(now);
        self.take_events();
    }

    /// End it in order.
    pub fn close(&mut self, now: Time) {
        if self.stage == Stage::Serving {
            self.stage = Stage::Finishing;
            self.moved = now;
        }
    }

    pub fn set_app_parameters(&mut self, now: Time, parameters: AppParameters) {
        self.transport.set_app_parameters(now, parameters);
    }

    fn take_events(&mut self) {
        let events = self.transport.take_events();
        self.is_peer_done |= events.contains(Event::PeerClosed);
        if events.contains(Event::Closed) {
            self.stage = Stage::Closed;
        }
        if events.contains(Event::Reset) || self.stage == Stage::Closed && self.transport.is_over() {
            self.stage = Stage::Gone;
        }
    }

    /// Decrypt what has arrived. Returns whether anything was decrypted.
    fn open(&mut self, now: Time) -> bool {
        let readable = self.transport.readable();
        let Some(secure) = &mut self.secure else { return false };
        let was_handshaking = secure.is_handshaking();
        if secure.take(self.incoming.peek(readable)).is_err() {
            self.stage = Stage::Finishing; // its alert still leaves
            return false;
        }
        // What the client says until TLS is done has as long as a request's head.
        if was_handshaking && readable > 0 {
            self.asked = secure.is_handshaking().then(|| self.asked.unwrap_or(now));
        }
        self.discard(now);
        readable > 0
    }

    fn read_request(&mut self, now: Time, store: &Store) -> bool {
        let has_opened = self.open(now);
        if self.secure.as_ref().is_some_and(|secure| secure.is_http2() && !secure.is_handshaking()) {
            return self.read_frames(now, store) || has_opened;
        }
        let input = match &self.secure {
            Some(secure) => &secure.opened,
            None => self.incoming.peek(self.transport.readable()),
        };
        if input.is_empty() && !has_opened {
            return false;
        }
        if !input.is_empty() {
            self.asked.get_or_insert(now);
        }
        let step = self.http.handle(input, store, SystemTime::now());
        match &mut self.secure {
            Some(secure) => secure.consume(step.consumed),
            None => {
                self.transport.read(now, step.consumed as u64);
                self.incoming.consume(step.consumed as u64);
            }
        }
        let Some(mut answer) = step.answer else { return step.consumed > 0 || has_opened };
        let asked = self.asked.unwrap_or(now);
        if !self.http.is_within_request() {
            self.asked = None;
        }
        self.complete(now, &mut answer);
        let body_bytes = answer.body.as_ref().map_or(0, |(len, _)| *len);
        let sizes = (answer.head.len() as u64, body_bytes);
        let field = answer.delivery.filter(|_| self.secure.is_none()); // records of TLS are sealed as they leave
        self.paced = field.and_then(|field| Paced::new(&field, now, self.outgoing.end, sizes));
        let mut clear_end = self.push(answer.head.len() as u64, Source::Bytes(answer.head.as_bytes().into()));
        if let Some((len, source)) = answer.body {
            clear_end = self.push(len, source);
        }
        let is_interim = answer.status == 0; // 100 (Continue)
        if !is_interim {
            self.log(Access::new(self.paths[0].remote, answer.request, (answer.status, body_bytes), asked), clear_end);
        }
        if answer.is_last {
            self.stage = Stage::Finishing;
        }
        true
    }

    /// Takes the client data of a request, and adds the server data to the answer.
    fn complete(&mut self, now: Time, answer: &mut Answer) {
        let client_data = answer.cmcd.take();
        let parameters = client_data.and_then(|(cmcd, body_bytes)| self.client_data.handle_request(&cmcd, body_bytes));
        parameters.into_iter().for_each(|parameters| self.set_app_parameters(now, parameters));
        self.reports.extend(answer.reports.take());
        let paths = (0..self.paths.len()).filter_map(|path| self.transport.subflow(path));
        self.client_data.add_server_data(answer, paths.map(|path| path.info().path));
        self.alt_svc.iter().for_each(|alternative| answer.add("Alt-Svc", alternative));
    }

    /// An answer ends at this offset of the bytes in the clear.
    fn log(&mut self, access: Access, clear_end: u64) {
        if self.answers.len() < MAX_ANSWERS {
            let end = if self.secure.is_some() { u64::MAX } else { clear_end };
            self.answers.push_back(Access { clear_end, end, ..access });
        }
    }

    /// The same as [`read_request`](Self::read_request), over HTTP/2.
    fn read_frames(&mut self, now: Time, store: &Store) -> bool {
        let mut two = self.two.take().unwrap_or_default();
        let mut has_read = false;
        while let Some(secure) = &mut self.secure {
            match two.handle(now, &secure.opened, store) {
                Ok((0, _)) => break,
                Ok((consumed, answer)) => {
                    secure.consume(consumed);
                    has_read = true;
                    if let Some((id, mut answer)) = answer {
                        self.complete(now, &mut answer);
                        let body_bytes = answer.body.as_ref().map_or(0, |(len, _)| *len);
                        let (request, asked) = (std::mem::take(&mut answer.request), two.asked(id).unwrap_or(now));
                        let remote = self.paths[0].remote;
                        let access = Access::new(remote, request, (answer.status, body_bytes), asked);
                        two.respond(id, answer, access);
                    }
                }
                Err(Broken(code)) => {
                    let goaway = two.break_off(code);
                    self.push(goaway.len() as u64, Source::Bytes(goaway.into()));
                    self.stage = Stage::Finishing;
                    break;
                }
            }
        }
        self.asked = two.begun;
        self.two = Some(two);
        has_read
    }

    /// HTTP/2's next frames, as long as little waits below them.
    fn fill(&mut self) {
        let Some(mut two) = self.two.take() else { return };
        while self.unsent() < MAX_UNSENT
            && let Some(piece) = two.poll()
        {
            let mut clear_end = self.push(piece.bytes.len() as u64, Source::Bytes(piece.bytes.into()));
            if let Some((len, source)) = piece.body {
                clear_end = self.push(len, source);
            }
            piece.ended.into_iter().for_each(|access| self.log(access, clear_end));
        }
        self.two = Some(two);
    }

    fn unsent(&self) -> u64 {
        self.secure.as_ref().map_or(0, Secure::unsealed) + self.outgoing.end - self.written
    }

    /// Bytes to be sent, in the clear; the offset where they end.
    fn push(&mut self, len: u64, source: Source) -> u64 {
        if let Some(secure) = &mut self.secure {
            return secure.push(len, source);
        }
        self.outgoing.push(len, source);
        self.outgoing.end
    }

    fn write(&mut self, now: Time) {
        self.next_write = self.paced.map_or(Time::MAX, |paced| paced.next(now));
        loop {
            self.fill();
            let end = self.paced.map_or(u64::MAX, |paced| paced.end(now)).min(self.outgoing.end);
            if end > self.written {
                self.written += self.transport.write(end - self.written);
            }
            if self.written < self.outgoing.end || !self.seal(now) {
                break;
            }
        }
        self.outgoing.release(self.transport.needed_from());
    }

    /// The next record becomes part of the stream that is sent; `false`: there is none.
    fn seal(&mut self, now: Time) -> bool {
        let Some(secure) = &mut self.secure else { return false };
        let Ok(record) = secure.seal() else {
            self.transport.abort(now);
            return false;
        };
        self.outgoing.push(record.len() as u64, Source::Bytes(record.as_slice().into()));
        for access in self.answers.iter_mut().filter(|access| access.end == u64::MAX) {
            if access.clear_end <= secure.sealed {
                access.end = self.outgoing.end;
            }
        }
        !record.is_empty()
    }

    fn discard(&mut self, now: Time) {
        let readable = self.transport.readable();
        self.transport.read(now, readable);
        self.incoming.consume(readable);
    }

    /// When patience ends: a request must be complete in time, and something must move.
    fn deadline(&self, limits: &Limits) -> Time {
        let is_head = self.asked.is_some() && !self.http.is_within_request();
        let asked = self.asked.filter(|_| is_head).map_or(Time::MAX, |asked| asked + limits.request_timeout);
        let timeout = if self.transport.is_established() { limits.idle_timeout } else { limits.open_timeout };
        asked.min(self.moved + timeout)
    }

    /// Close the connection of an idle client in an orderly way; reset one that neither receives nor sends.
    fn time_out(&mut self, now: Time) {
        let is_idle = self.stage == Stage::Serving && self.is_idle() && self.transport.is_established();
        if is_idle {
            self.close(now);
        } else {
            self.abort(now);
        }
    }
}

#[cfg(test)]
mod tests;
