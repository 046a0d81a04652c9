//! TLS 1.3 over one end of a TCP or MPTCP flow: a round trip before the application's bytes, and records around them.
//!
//! The application is connected when its TLS is: the client when the server's flight has come, the server when the
//! client's Finished has; with 0-RTT data at once, and when the ClientHello has. What is written before waits.
//! Sizes and differences: [`tls`](crate::tls). Tested by the simulator's `tests/tls.rs`.

use super::{Drawn, Endpoint, Multipath, Packet, PathInfo, PayloadPool, Totals, Transport};
use crate::tls::{Resumption, Tls, in_records, of_records};
use crate::{Event, Events};
use playpath_cc::AppParameters;
use playpath_units::Time;

pub struct TlsEnd {
    inner: Endpoint,
    tls: Tls,
    is_client: bool,
    state: State,
    /// TCP's events that have not been reported.
    events: Events,
    /// Whether the application still has to be notified that it is connected.
    is_news: bool,
    /// Of the handshake, before the application's next byte.
    skipped: u64,
    sent: Place,
    read: Place,
    /// Written before the handshake was over.
    waiting: u64,
}

/// Position in a stream of records: bytes of the application, and of records.
#[derive(Default)]
struct Place {
    plain: u64,
    records: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Connecting,
    /// The peer's flight is awaited: the server's, or the ClientHello.
    Hello,
    /// The server waits for the client's Finished.
    Finish,
    Open,
}

impl TlsEnd {
    /// Over an end that has just been opened.
    pub fn new(inner: Endpoint, tls: Tls, is_client: bool) -> TlsEnd {
        let (sent, read) = <(Place, Place)>::default();
        let (state, events) = (State::Connecting, Events::NONE);
        TlsEnd { inner, tls, is_client, state, events, is_news: false, skipped: 0, sent, read, waiting: 0 }
    }

    fn has_early_data(&self) -> bool {
        self.tls.resumption == Resumption::EarlyData
    }

    /// Read and answer received handshake messages.
    fn advance(&mut self, now: Time) {
        while self.state != State::Open {
            let awaited = match (self.state, self.is_client) {
                (State::Hello, true) => self.tls.server_records(),
                (State::Hello, false) => self.tls.first_records(),
                (State::Finish, _) => self.tls.last_records(),
                (State::Connecting | State::Open, _) => return,
            };
            if self.inner.readable() < awaited {
                return;
            }
            self.inner.read(now, awaited);
            match (self.state, self.is_client) {
                (State::Hello, true) => {
                    self.inner.write(self.tls.last_records());
                    self.skipped = self.tls.ticket_records();
                    self.open();
                }
                (State::Hello, false) => {
                    self.inner.write(self.tls.server_records());
                    if self.has_early_data() { self.open() } else { self.state = State::Finish }
                }
                _ => self.open(),
            }
        }
        if self.skipped > 0 {
            self.skipped -= self.inner.read(now, self.skipped);
        }
    }

    fn open(&mut self) {
        (self.state, self.is_news) = (State::Open, true);
        if !self.is_client {
            self.inner.write(self.tls.ticket_records());
        }
        let waiting = std::mem::take(&mut self.waiting);
        self.write(waiting);
    }

    /// TCP is connected when its handshake is, or, in a profile without one, before the first packet.
    fn note_events(&mut self) {
        self.events = self.events.union(self.inner.take_events());
        if self.events.contains(Event::Connected) && self.state == State::Connecting {
            self.begin();
        }
    }

    fn begin(&mut self) {
        self.state = State::Hello;
        if !self.is_client {
            return;
        }
        self.inner.write(self.tls.first_records());
        if self.has_early_data() {
            self.skipped = self.tls.server_records() + self.tls.ticket_records();
            self.open();
        }
    }
}

impl Transport for TlsEnd {
    /// What it brings of the handshake comes before the application looks.
    fn handle_packet(&mut self, now: Time, packet: &Packet, payload_pool: &mut PayloadPool) {
        self.inner.handle_packet(now, packet, payload_pool);
        self.note_events();
        self.advance(now);
    }

    fn take_events(&mut self) -> Events {
        self.note_events();
        let events = std::mem::take(&mut self.events).without(Event::Connected);
        if std::mem::take(&mut self.is_news) { events.with(Event::Connected) } else { events }
    }

    /// As TCP's; what does not fit now is in part of a record, whose rest the next write completes.
    fn write(&mut self, bytes: u64) -> u64 {
        if self.state != State::Open {
            self.waiting += bytes;
            return bytes;
        }
        let until = in_records(self.sent.plain + bytes);
        self.sent.records += self.inner.write(until - self.sent.records);
        let plain = of_records(self.sent.records);
        plain - std::mem::replace(&mut self.sent.plain, plain)
    }

    fn readable(&self) -> u64 {
        if self.state != State::Open {
            return 0;
        }
        of_records(self.read.records + self.inner.readable().saturating_sub(self.skipped)) - self.read.plain
    }

    fn read(&mut self, now: Time, max: u64) -> u64 {
        let bytes = self.readable().min(max);
        if bytes > 0 {
            let until = in_records(self.read.plain + bytes);
            self.inner.read(now, until - self.read.records);
            self.read = Place { plain: self.read.plain + bytes, records: until };
        }
        bytes
    }

    fn unsent_bytes(&self) -> u64 {
        self.inner.unsent_bytes() + self.waiting
    }

    fn handle_timeout(&mut self, now: Time) {
        self.inner.handle_timeout(now);
    }
    fn poll_transmit(&mut self, now: Time, out: &mut Packet, payload_pool: &mut PayloadPool) -> bool {
        self.inner.poll_transmit(now, out, payload_pool)
    }
    fn may_have_more(&self) -> bool {
        self.inner.may_have_more()
    }
    fn poll_timeout(&self) -> Time {
        self.inner.poll_timeout()
    }
    fn has_packet_waiting(&self) -> bool {
        self.inner.has_packet_waiting()
    }
    fn has_more_than_a_packet_waiting(&self) -> bool {
        self.inner.has_more_than_a_packet_waiting()
    }
    fn may_answer_read(&self) -> bool {
        self.inner.may_answer_read()
    }
    fn close(&mut self, now: Time) {
        self.inner.close(now);
    }
    fn abort(&mut self, now: Time) {
        self.inner.abort(now);
    }
    fn refuse(&mut self, now: Time, packet: &Packet) {
        self.inner.refuse(now, packet);
    }
    fn set_app_parameters(&mut self, now: Time, parameters: AppParameters) {
        self.inner.set_app_parameters(now, parameters);
    }
    fn path_count(&self) -> usize {
        self.inner.path_count()
    }
    fn path_info(&self, path: usize) -> Option<PathInfo> {
        self.inner.path_info(path)
    }
    fn path_totals(&self, path: usize) -> Totals {
        self.inner.path_totals(path)
    }
    fn multipath(&self) -> Option<&dyn Multipath> {
        self.inner.multipath()
    }
    fn multipath_mut(&mut self) -> Option<&mut dyn Multipath> {
        self.inner.multipath_mut()
    }
    fn is_drawn(&self) -> bool {
        self.inner.is_drawn()
    }
    fn drawn(&self, packet: &Packet) -> Option<Drawn> {
        self.inner.drawn(packet)
    }
}
