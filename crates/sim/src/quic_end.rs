//! One end of a QUIC flow: the connection, and what the simulator's applications know of its streams.
//!
//! Video sessions open a stream for each request (`apps/http3.rs`). Bulk and web traffic has no requests: its server writes of its own
//! accord, on the one stream that it opens.

use playpath_cc::CongestionControl;
use playpath_transport::quic::config::Config;
use playpath_transport::quic::{Connection, Event};
use playpath_transport::{self as transport, Events};
use playpath_units::Time;
use std::sync::Arc;

/// The first stream that a server opens (RFC 9000 §2.1).
const OWN_STREAM: u64 = 1;

/// One end of a QUIC flow.
pub struct QuicEnd {
    pub connection: Connection,
    /// The server's own stream is open.
    has_own: bool,
    /// The application may send, and was told so: with 0-RTT data before the handshake is over.
    is_told: bool,
    /// Streams whose buffer took less than was written, until there is room again.
    cut: Vec<u64>,
}

impl QuicEnd {
    /// Client and server of a new connection; the server's control is `cc`, the client sends requests only, under NewReno, and without
    /// ECT(1): they are no scalable sender's.
    pub fn pair(server: &Arc<Config>, now: Time, cc: Box<dyn CongestionControl>) -> (QuicEnd, QuicEnd) {
        let client = match server.marking {
            transport::Ecn::Ect1 => Arc::new(Config { marking: transport::Ecn::Ect0, ..**server }),
            _ => server.clone(),
        };
        let client_cc = playpath_cc::build("newreno", client.initial_window).expect("newreno is registered");
        let end = |connection| QuicEnd { connection, has_own: false, is_told: false, cut: Vec::new() };
        (end(Connection::connect(now, client, client_cc)), end(Connection::listen(server.clone(), cc)))
    }

    /// Writes on a stream; returns how many bytes its buffer took. If not all, there is a `Writable` when it has room again.
    pub fn write(&mut self, stream: u64, bytes: u64) -> u64 {
        let taken = self.connection.write(stream, bytes);
        if taken < bytes && !self.cut.contains(&stream) {
            self.cut.push(stream);
        }
        taken
    }

    /// Writes on the server's own stream.
    pub fn write_own(&mut self, bytes: u64) -> u64 {
        if !self.has_own {
            self.has_own = self.connection.open() == Some(OWN_STREAM);
        }
        self.write(OWN_STREAM, bytes)
    }

    /// Reads from the server's own stream.
    pub fn read_own(&mut self, now: Time, max: u64) -> u64 {
        self.connection.read(now, OWN_STREAM, max)
    }

    fn tell_connected(&mut self, events: Events) -> Events {
        self.is_told = true;
        events.with(transport::Event::Connected)
    }

    /// What happened, as applications over TCP are told it.
    pub fn take_events(&mut self) -> Events {
        let mut events = Events::NONE;
        if !self.is_told && self.connection.sends_early_data() {
            events = self.tell_connected(events);
        }
        while let Some(event) = self.connection.poll_event() {
            events = match event {
                Event::Connected if self.is_told => events,
                Event::Connected => self.tell_connected(events),
                Event::Closed(_) => events.with(transport::Event::Closed),
                // Readable is what has bytes in order.
                Event::Opened(_) | Event::Readable(_) | Event::EarlyDataRejected | Event::Migrated(_) => events,
            };
        }
        if self.cut.is_empty() {
            return events;
        }
        let cut = self.cut.len();
        self.cut.retain(|&stream| self.connection.send_space(stream) == 0);
        if self.cut.len() < cut { events.with(transport::Event::Writable) } else { events }
    }
}
