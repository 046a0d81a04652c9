//! QUIC endpoints, sans-IO: packets and frames as records, their sizes as on the wire.
//!
//! Usage is that of the TCP endpoint: one mutating method (`handle_datagram`, `handle_timeout`, `write`, `read`, `close`), then
//! `poll_transmit` until `None`, then `poll_event` until `None`, then a timer for `poll_timeout`.
//!
//! A sender of a scenario chooses it by `transport = "quic"`; `crates/quic-peers` holds it to quinn-proto.
//!
//! Reference: RFC 9000, RFC 9001 (keys and handshake), RFC 9002 (loss detection, congestion control).
//! Parts with a file each, each with its sections and differences: `packet` and `varint` (what is sent, and its size), `acknowledging`,
//! `sent` (scoreboard and loss), `rtt`, `path` (window, pacing, the control), `ecn`, `streams`, `send_buffer`, `flow`, `handshake`, `qlog`
//! (event log for external tools); and
//! the code that combines them: `receiving`, `recovery` (ACKs and timers), `sending`, `migration`, `closing`.

mod acknowledging;
mod closing;
pub mod config;
mod driven;
mod ecn;
pub mod external;
mod flow;
mod handshake;
mod lane;
mod migration;
mod multipath;
pub mod packet;
mod path;
pub mod qlog;
pub mod ranges;
pub mod receiving;
mod recovery;
mod rtt;
mod send_buffer;
mod sending;
mod sent;
mod stats;
mod streams;
pub mod varint;

use acknowledging::Arrivals;
use closing::State;
use config::Config;
pub use driven::Driven;
use external::Announcements;
use handshake::Handshake;
use lane::Lane;
use migration::{Renewal, Route};
use multipath::Multi;
use packet::{Address, Space};
use playpath_cc::{AppParameters, CongestionControl};
pub use playpath_units::Priority;
use playpath_units::Time;
use sent::Scoreboard;
pub use stats::{Info, Stats};
use std::collections::VecDeque;
use std::sync::Arc;
use streams::Streams;
pub use streams::Violation;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Connected,
    /// The server rejected the 0-RTT data; they are retransmitted automatically.
    EarlyDataRejected,
    /// The peer opened streams up to this one.
    Opened(u64),
    /// A stream has bytes in order, or its end.
    Readable(u64),
    /// The peer's address changed, and is validated.
    Migrated(Address),
    Closed(Reason),
}

/// Why a connection is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    Local,
    Peer(u64),
    /// Nothing arrived for too long (RFC 9000 §10.1).
    Idle,
    /// The peer broke a rule.
    Violation(Violation),
    /// The only path failed its validation (RFC 9000 §9.3.2).
    Path,
}

#[derive(Default)]
#[repr(C, align(64))]
struct Numbers {
    /// Packets that must go whatever the window says (RFC 9002 §6.2.4).
    probes: u32,
    arrivals: Arrivals,
    board: Scoreboard,
    /// ECT-marked packets sent.
    marked: u64,
    /// Persistent congestion: when the run of lost packets began, and its last number.
    run: Option<(Time, u64)>,
}

/// Field order: those that each packet needs are together, before the streams.
#[repr(C, align(64))]
pub struct Connection {
    /// The current path: the only one, or the one of several being processed.
    lane: Box<Lane>,
    config: Arc<Config>,
    multi: Option<Box<Multi>>,
    idle_at: Time,
    handshake: Handshake,
    is_client: bool,
    /// An ack-eliciting packet left since something arrived (RFC 9000 §10.1).
    has_sent_since_arrival: bool,
    /// No events for streams that open or have bytes are reported.
    is_quiet: bool,
    /// Whether nothing more can be sent for now.
    is_spent: bool,
    /// Whether, in addition, a poll has no effect until something other than stream data arrives.
    is_settled: bool,
    state: State,
    events: VecDeque<Event>,
    streams: Streams,
    announcements: Announcements,
    renewal: Option<Box<Renewal>>,
    /// Packets that were given up, with their paths, if somebody wants to hear of them.
    lost: Option<Vec<(u8, Space, u64)>>,
}

impl Connection {
    /// A client that sends its first flight at `now`.
    pub fn connect(now: Time, config: impl Into<Arc<Config>>, control: Box<dyn CongestionControl>) -> Connection {
        let mut connection = Connection::new(true, config.into(), control);
        connection.lane.route = Route::to_server();
        let own = connection.config.parameters();
        if connection.config.tls.resumption == config::Resumption::EarlyData {
            connection.handshake.remember(own);
            connection.streams.set_limits(&own);
        }
        connection.restart_idle(now);
        connection
    }

    /// A server that waits for the first datagram.
    pub fn listen(config: impl Into<Arc<Config>>, control: Box<dyn CongestionControl>) -> Connection {
        Connection::new(false, config.into(), control)
    }

    fn new(is_client: bool, config: Arc<Config>, control: Box<dyn CongestionControl>) -> Connection {
        Connection {
            is_client,
            handshake: Handshake::new(is_client, config.tls),
            streams: Streams::new(is_client, &config),
            lane: Box::new(Lane::new(&config, control)),
            multi: None,
            state: State::Open,
            idle_at: Time::MAX,
            has_sent_since_arrival: false,
            events: VecDeque::new(),
            is_quiet: false,
            is_spent: false,
            is_settled: false,
            renewal: None,
            lost: None,
            announcements: Announcements::default(),
            config,
        }
    }

    /// Open a bidirectional stream; `None`: the peer allows no more, or is not known yet.
    pub fn open(&mut self) -> Option<u64> {
        self.streams.open(&self.config)
    }
    /// Append up to `bytes` to a stream; returns how many its buffer took.
    pub fn write(&mut self, id: u64, bytes: u64) -> u64 {
        self.streams.write(id, bytes, &self.config)
    }
    /// Bytes that [`write`](Self::write) would take.
    pub fn send_space(&self, id: u64) -> u64 {
        self.streams.send_space(id, &self.config)
    }
    pub fn is_writable(&self, id: u64) -> bool {
        self.streams.is_writable(id)
    }
    pub fn finish(&mut self, id: u64) {
        self.streams.finish(id);
    }
    /// Reset a stream; undelivered data are lost. `code` is the application protocol's.
    pub fn reset(&mut self, id: u64, code: u32) {
        self.streams.reset(id, code);
    }
    /// Ask the peer to give its half of a stream up (STOP_SENDING).
    pub fn stop(&mut self, id: u64) {
        self.streams.stop(id);
    }
    /// Bytes in order, of all streams, that wait for the reader.
    pub fn unread(&self) -> u64 {
        self.streams.unread()
    }
    /// Bytes written and never sent, of all streams.
    pub fn unsent(&self) -> u64 {
        self.streams.unsent()
    }
    /// How many bidirectional streams the peer may have opened until now.
    pub fn peer_may_open(&self) -> u64 {
        self.streams.peer_may_open()
    }
    pub fn set_priority(&mut self, id: u64, priority: Priority) {
        self.streams.set_priority(id, priority);
    }
    pub fn readable(&self, id: u64) -> u64 {
        self.streams.readable(id)
    }
    pub fn is_read_to_end(&self, id: u64) -> bool {
        self.streams.is_read_to_end(id)
    }
    /// Take up to `most` bytes in order.
    #[inline]
    pub fn read(&mut self, now: Time, id: u64, most: u64) -> u64 {
        let Connection { streams, lane, multi, .. } = self;
        let bytes = streams.read(now, id, most, || Connection::longest_rtt(lane, multi.as_deref()), &self.config);
        self.is_settled &= !self.streams.has_frames();
        bytes
    }
    pub fn set_app_parameters(&mut self, now: Time, parameters: AppParameters) {
        self.renewal.iter_mut().for_each(|renewal| renewal.app_parameters = Some(parameters));
        self.lane.path.set_app_parameters(now, parameters);
        if let Some(multi) = &mut self.multi {
            multi.set_app_parameters(now, parameters);
        }
    }

    /// Streams that open or have bytes are no events: who drives it looks at [`unread`](Self::unread).
    pub fn quiet(self) -> Connection {
        Connection { is_quiet: true, ..self }
    }
    #[inline]
    pub(crate) fn has_events(&self) -> bool {
        !self.events.is_empty()
    }
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }
    /// When [`handle_timeout`](Self::handle_timeout) wants to be called; [`Time::MAX`]: never.
    #[inline]
    pub fn poll_timeout(&self) -> Time {
        if self.state != State::Open {
            return self.state.deadline();
        }
        let is_over = self.handshake.is_over();
        let deadline = |lane: &Lane| lane.deadline(self.allowed_by(lane).is_some(), is_over);
        let due = match self.multi {
            None => deadline(&self.lane),
            Some(_) => self.lanes().map(deadline).min().unwrap_or(Time::MAX),
        };
        let reminds_at = if self.streams.has_announced_blocked() { self.reminds_at() } else { Time::MAX };
        due.min(self.idle_at).min(reminds_at)
    }

    pub fn config(&self) -> &Config {
        &self.config
    }
    pub fn control(&self) -> &dyn CongestionControl {
        self.lane.path.control()
    }
    /// Whether the handshake is complete and neither end has closed.
    pub fn is_established(&self) -> bool {
        self.handshake.is_complete() && self.state == State::Open
    }
    /// A client whose first flight may have data in it.
    pub fn sends_early_data(&self) -> bool {
        self.is_client && self.config.tls.resumption == config::Resumption::EarlyData
    }
    pub fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    fn raise(&mut self, event: Event) {
        if !self.events.contains(&event) {
            self.events.push_back(event);
        }
    }
    fn numbers(&mut self, space: Space) -> &mut Numbers {
        &mut self.lane.spaces[space as usize]
    }
}
