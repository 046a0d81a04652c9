//! HTTP/3 on a session's streams: requests in, answers out, and the client's CMCD reports of its playback.

use crate::client_data::ClientData;
use crate::h3::request::{Early, Outcome, Request, priority, put_answer, put_continue};
use crate::h3::{Broken, CONTROL_PREFACE, Control, FRAME_ERROR, ID_ERROR, NO_ERROR};
use crate::http::Answer;
use crate::http_connection::Access;
use crate::incoming::Incoming;
use crate::outgoing::{Outgoing, Source};
use crate::store::Store;
use playpath_transport::codec::quic::OfClient;
use playpath_transport::quic::packet::Address;
use playpath_transport::quic::{Connection, Event, Priority, Reason};
use playpath_units::Time;
use playpath_video::cmcd::{parse, report_lines};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::SystemTime;

#[derive(Default)]
struct Stream {
    incoming: Incoming,
    read: u64,
    outgoing: Outgoing,
    /// Bytes handed to the endpoint.
    written: u64,
    is_finished: bool,
    request: Request,
    /// Priority by PRIORITY_UPDATE, which overrides the request's own header field (RFC 9218 §7).
    priority: Option<Priority>,
    /// Arrival time of its first byte, and its answer for the log.
    asked: Option<Time>,
    access: Option<Access>,
}

pub struct Streams {
    streams: BTreeMap<u64, Stream>,
    /// The next stream of each kind that the client may open, by the two low bits of its id.
    next: [u64; 4],
    control: Control,
    early: Early,
    pub client_data: ClientData,
    /// Reports of the client that have not been taken yet.
    pub reports: Vec<String>,
    /// Delivered answers that have not been taken yet.
    pub accesses: Vec<Access>,
    pub requests: u64,
    /// The client has proved that it is at another address now.
    pub migrated: Option<Address>,
}

impl Default for Streams {
    fn default() -> Streams {
        Streams {
            streams: BTreeMap::new(),
            next: [0, 1, 2, 3],
            control: Control::default(),
            early: Early::default(),
            client_data: ClientData::default(),
            reports: Vec::new(),
            accesses: Vec::new(),
            requests: 0,
            migrated: None,
        }
    }
}

impl Streams {
    /// No request is under way.
    pub fn is_idle(&self) -> bool {
        self.streams.keys().all(|id| id & 2 != 0)
    }

    /// Start of the oldest request whose head is still incomplete.
    pub fn oldest_head(&self) -> Option<Time> {
        let waiting = self.streams.iter().filter(|(id, stream)| *id & 2 == 0 && !stream.request.has_head);
        waiting.filter_map(|(_, stream)| stream.asked).min()
    }

    /// Bytes of a stream that the endpoint has let in; it has opened all below it (RFC 9000 §3.2).
    pub fn keep(&mut self, id: u64, offset: u64, bytes: &[u8]) {
        let next = &mut self.next[(id & 3) as usize];
        while *next <= id {
            let priority = (*next & 2 == 0).then(|| self.early.take(*next)).flatten();
            self.streams.insert(*next, Stream { priority, ..Stream::default() });
            *next += 4;
        }
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.incoming.store(offset, bytes);
        }
    }

    /// Write the bytes of a stream from `offset` on. Error: the stream's file has changed on disk.
    pub fn copy(&self, id: u64, offset: u64, out: &mut [u8]) -> Result<(), u64> {
        self.streams.get(&id).and_then(|stream| stream.outgoing.read(offset, out).ok()).ok_or(id)
    }

    /// Our control stream (RFC 9114 §6.2.1). A client that allows none is one that HTTP/3 forbids; it gets none.
    pub fn open_control(&mut self, endpoint: &mut Connection, client: &OfClient) {
        if client.max_uni_streams > 0 && client.max_uni_data >= CONTROL_PREFACE.len() as u64 {
            let mut stream = Stream::default();
            stream.outgoing.push(CONTROL_PREFACE.len() as u64, Source::Bytes(CONTROL_PREFACE[..].into()));
            self.streams.insert(endpoint.open_uni(), stream);
        }
    }

    /// Read requests and write answers as far as both go. Errors end the connection.
    pub fn serve(
        &mut self,
        now: Time,
        endpoint: &mut Connection,
        remote: SocketAddr,
        store: &Store,
    ) -> Result<(), Broken> {
        let mut readable = Vec::new();
        while let Some(event) = endpoint.poll_event() {
            match event {
                Event::Readable(id) => readable.push(id),
                Event::Closed(reason) => self.end(now, endpoint, reason),
                Event::Migrated(address) => self.migrated = Some(address),
                _ => {}
            }
        }
        for id in readable {
            self.read(now, endpoint, id, (remote, store))?;
        }
        self.write(now, endpoint);
        Ok(())
    }

    /// Log the answers at the end. A client that closes without an error has received what it was sent, although it need not have
    /// acknowledged the last packets.
    fn end(&mut self, now: Time, endpoint: &Connection, reason: Reason) {
        for (id, stream) in std::mem::take(&mut self.streams) {
            let access = stream.access.filter(|_| reason == Reason::Peer(NO_ERROR) && endpoint.is_sent(id));
            self.accesses.extend(access.map(|access| access.arrived(now)));
        }
    }

    fn read(
        &mut self,
        now: Time,
        endpoint: &mut Connection,
        id: u64,
        (remote, store): (SocketAddr, &Store),
    ) -> Result<(), Broken> {
        loop {
            let readable = endpoint.readable(id);
            let Some(Stream { incoming, outgoing, request, asked, read, .. }) = self.streams.get_mut(&id) else {
                endpoint.read(now, id, readable);
                return Ok(());
            };
            asked.get_or_insert(now);
            let input = incoming.peek(readable);
            let is_end = endpoint.ends_after(id, readable);
            let consumed = if id & 2 != 0 {
                // A stream that is gone was reset (RFC 9114 §6.2.1).
                let is_end = is_end || endpoint.acked_up_to(id).is_none();
                let (consumed, update) = self.control.handle(id, (*read == 0, is_end), input)?;
                if let Some(update) = update {
                    if update.stream / 4 >= endpoint.peer_may_open() {
                        return Err(ID_ERROR); // RFC 9218 §7.2
                    }
                    self.prioritise(endpoint, update.stream, priority(&update.value));
                }
                consumed
            } else {
                request.is_early = !endpoint.is_established();
                let (consumed, outcome) = request.handle(input, store, SystemTime::now())?;
                let missing = request.missing().filter(|_| is_end && consumed as u64 == readable);
                match (outcome, missing) {
                    // RFC 9114 §7.1: it ends in the middle of a frame.
                    (Outcome::Nothing, _) if is_end && consumed == 0 && readable > 0 => return Err(FRAME_ERROR),
                    (Outcome::Refused(code), _) | (_, Some(code)) => self.give_up(endpoint, id, code),
                    (Outcome::Answer(answer), None) => self.answer(now, endpoint, (id, remote), *answer),
                    (Outcome::Continue, None) => put_continue(outgoing),
                    (Outcome::Nothing, None) => {}
                }
                consumed
            };
            if consumed == 0 {
                return Ok(());
            }
            if let Some(stream) = self.streams.get_mut(&id) {
                stream.incoming.consume(consumed as u64);
                stream.read += consumed as u64;
            }
            endpoint.read(now, id, consumed as u64);
        }
    }

    /// Set the priority of a request, which may be in progress, not yet received, or finished.
    fn prioritise(&mut self, endpoint: &mut Connection, id: u64, priority: Priority) {
        if id >= self.next[0] {
            self.early.keep(id, priority);
        } else if let Some(stream) = self.streams.get_mut(&id) {
            stream.priority = Some(priority);
            endpoint.set_priority(id, priority);
        }
    }

    fn give_up(&mut self, endpoint: &mut Connection, id: u64, code: u32) {
        endpoint.reset(id, code);
        self.streams.remove(&id);
    }

    fn answer(&mut self, now: Time, endpoint: &mut Connection, (id, remote): (u64, SocketAddr), mut answer: Answer) {
        let client_data = answer.cmcd.take();
        let parameters = client_data.and_then(|(cmcd, body_bytes)| self.client_data.handle_request(&cmcd, body_bytes));
        parameters.into_iter().for_each(|parameters| endpoint.set_app_parameters(now, parameters));
        if let Some(reports) = answer.reports.take() {
            self.take_reports_of(now, endpoint, reports);
        }
        let paths = (0..endpoint.path_count()).filter_map(|path| endpoint.path_info(path));
        self.client_data.add_server_data(&mut answer, paths.map(|path| path.path));
        let Some(stream) = self.streams.get_mut(&id) else { return };
        if let Some(priority) = stream.priority.or(stream.request.priority) {
            endpoint.set_priority(id, priority);
        }
        let body_bytes = answer.body.as_ref().map_or(0, |(len, _)| *len);
        self.requests += 1;
        let request = std::mem::take(&mut answer.request);
        let asked = stream.asked.unwrap_or(now);
        stream.access = Some(Access::new(remote, request, (answer.status, body_bytes), asked));
        put_answer(answer, &mut stream.outgoing);
    }

    fn take_reports_of(&mut self, now: Time, endpoint: &mut Connection, reports: String) {
        for line in report_lines(&reports) {
            let report = parse(line).cmcd;
            if self.client_data.is_about_session_of(&report) {
                let parameters = self.client_data.handle_report(&report);
                parameters.into_iter().for_each(|parameters| endpoint.set_app_parameters(now, parameters));
            }
        }
        self.reports.push(reports);
    }

    /// Pass answers to the endpoint as far as it accepts them, and free what has been delivered.
    fn write(&mut self, now: Time, endpoint: &mut Connection) {
        let mut over = Vec::new();
        for (&id, stream) in &mut self.streams {
            let wanted = stream.outgoing.end - stream.written;
            if wanted > 0 {
                stream.written += endpoint.write(id, wanted);
            }
            let is_answered = stream.access.is_some() && stream.written == stream.outgoing.end;
            if is_answered && !stream.is_finished {
                endpoint.finish(id);
                stream.is_finished = true;
            }
            match endpoint.acked_up_to(id) {
                Some(acked) => stream.outgoing.release(acked),
                None => over.push(id),
            }
        }
        for id in over {
            if let Some(access) = self.streams.remove(&id).and_then(|stream| stream.access) {
                self.accesses.push(access.arrived(now));
            }
        }
    }
}
