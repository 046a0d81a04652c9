//! One TCP endpoint: a sender and a receiver, the handshake around them, and events for the owner.
//!
//! Reference: RFC 9293 §3.10.7.4 (order of the checks), RFC 5961 (challenge ACKs), RFC 7323 §5 (PAWS). The model card
//! `docs/models/tcp.md` lists the differences from Linux and from the RFCs.
//!
//! Units: stream offsets count payload bytes from 0; the FIN counts one more. Offset 0 has sequence number ISN + 1.
//! Tested by packet scripts (`tests/packets`), the stream property test, pair tests in virtual time.

mod accurate;
pub mod config;
mod handshake;
mod moment;
mod output;
mod profile;
pub(crate) mod receiver;
mod sender;
mod stats;
mod subflow;

pub use moment::Moment;
pub use sender::{RttEstimator, Usage, window_after_idle};
pub use stats::{Stats, TcpInfo};

use crate::segment::{Flags, Segment};
use config::{Config, Handshake};
use handshake::{Opening, State};
use playpath_cc::{AppParameters, CongestionControl, Sibling};
use playpath_units::{Duration, Time};
pub(crate) use receiver::Reassembly;
use receiver::Receiver;
pub(crate) use receiver::unwrap_near;
pub(crate) use sender::Phase;
use sender::Sender;
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Event {
    Connected,
    /// New bytes can be read.
    Readable,
    /// The send buffer has room again after a write that it cut short.
    Writable,
    /// The peer will send no more; received data can still be read.
    PeerClosed,
    Closed,
    Reset,
}

const EVENTS: [Event; 6] =
    [Event::Connected, Event::Readable, Event::Writable, Event::PeerClosed, Event::Closed, Event::Reset];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Events(pub(crate) u8);

impl Events {
    pub const NONE: Events = Events(0);

    pub const fn contains(self, event: Event) -> bool {
        self.0 & 1 << event as u8 != 0
    }
    pub const fn with(self, event: Event) -> Events {
        Events(self.0 | 1 << event as u8)
    }
    pub const fn union(self, others: Events) -> Events {
        Events(self.0 | others.0)
    }
    pub const fn without(self, event: Event) -> Events {
        Events(self.0 & !(1 << event as u8))
    }
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// One TCP endpoint, full duplex. Payload is virtual: lengths and stream offsets.
pub struct Connection {
    state: State,
    events: u8,
    sender: Sender,
    receiver: Receiver,
    opening: Opening,
    /// Segments sent and received, wire bytes sent.
    segments_sent: u64,
    segments_received: u64,
    wire_bytes_sent: u64,
    /// Interval in which the last challenge ACK went out, counted from 1.
    challenged_in: u32,
}

/// A connection sends one challenge ACK in it; the length is that of Linux's `tcp_invalid_ratelimit`.
const CHALLENGE_INTERVAL: Duration = Duration::from_millis(500);

impl Connection {
    /// Active open. Connections with the same settings may share them.
    pub fn connect(now: Time, config: impl Into<Arc<Config>>, cc: Box<dyn CongestionControl>) -> Connection {
        let mut connection = Connection::new(config.into(), cc, State::SynSent);
        if connection.sender.config().handshake == Handshake::Skip {
            connection.skip_handshake(now);
        } else {
            connection.begin_opening(now);
        }
        connection
    }

    pub fn listen(config: impl Into<Arc<Config>>, cc: Box<dyn CongestionControl>) -> Connection {
        let mut connection = Connection::new(config.into(), cc, State::Listen);
        if connection.sender.config().handshake == Handshake::Skip {
            connection.skip_handshake(Time::ZERO);
        }
        connection
    }

    pub fn handle_segment<'a>(&mut self, at: impl Into<Moment<'a>>, segment: &Segment) {
        let at = at.into();
        self.handle_checked(at, segment, self.passes(at.now, segment));
    }

    /// The same as [`handle_segment`](Self::handle_segment), for an owner who has asked whether the segment [`passes`](Self::passes).
    #[inline(always)]
    pub(crate) fn handle_checked(&mut self, at: Moment<'_>, segment: &Segment, passes: bool) {
        self.segments_received += 1;
        self.sender.on_event();
        match self.state {
            State::Established => self.handle_established(at, segment, passes),
            _ => self.handle_handshake(at, segment),
        }
    }

    /// Nothing in the header of an established connection's segment calls for more than its ACK and its data, as mostly.
    #[inline(always)]
    pub(crate) fn passes(&self, now: Time, segment: &Segment) -> bool {
        let (is_ack, is_odd) =
            (segment.flags.contains(Flags::ACK), segment.flags.intersects(Flags::RST.with(Flags::SYN)));
        self.state == State::Established
            && is_ack
            && !is_odd
            && self.is_timely(now, segment)
            && self.receiver.is_acceptable(segment)
            && self.sender.is_plausible_ack(segment.ack)
    }

    /// The time of [`poll_timeout`](Self::poll_timeout) has come. Too early is harmless.
    pub fn handle_timeout<'a>(&mut self, at: impl Into<Moment<'a>>) {
        let at = at.into();
        self.receiver.handle_timeout(at.now);
        self.expire_opening(at.now);
        if !self.sender.handle_timeout(at) {
            self.finish(Event::Reset);
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) wants to be called; [`Time::MAX`]: never.
    pub fn poll_timeout(&self) -> Time {
        self.sender.poll_timeout().min(self.receiver.ack_deadline()).min(self.opening.deadline())
    }

    /// Next segment to send. Call until `None` after every event.
    pub fn poll_transmit<'a>(&mut self, at: impl Into<Moment<'a>>) -> Option<Segment> {
        self.next_segment(at.into())
    }

    /// As [`poll_transmit`](Self::poll_transmit), written to a place of the caller's; `false`: nothing to send, `out` holds
    /// no segment.
    pub fn poll_transmit_into<'a>(&mut self, at: impl Into<Moment<'a>>, out: &mut Segment) -> bool {
        self.transmit_at(at.into(), out).is_some()
    }

    /// Whether another poll after one that gave a segment could give a further one: cheaper than the poll, `true` when in doubt.
    /// A receiver that has just acknowledged has nothing more.
    #[inline]
    pub fn may_have_more(&self) -> bool {
        self.sender.may_have_more() || self.receiver.must_ack() || self.opening.has_segment()
    }

    /// A poll would find nothing, and change nothing.
    #[inline]
    pub(crate) fn has_nothing(&self) -> bool {
        self.sender.is_settled()
            && self.state == State::Established
            && !self.receiver.must_ack()
            && !self.opening.has_segment()
    }

    /// Next event for the owner, in the order of [`Event`].
    pub fn poll_event(&mut self) -> Option<Event> {
        let event = Event::from_bits(self.events)?;
        self.events &= self.events - 1;
        Some(event)
    }

    /// All events for the owner at once, instead of [`poll_event`](Self::poll_event).
    #[inline]
    pub fn take_events(&mut self) -> Events {
        Events(std::mem::take(&mut self.events))
    }

    /// Append up to `bytes` to the stream; returns how many the send buffer took. Takes nothing after `close`.
    pub fn write(&mut self, bytes: u64) -> u64 {
        if self.state == State::Closed { 0 } else { self.sender.write(bytes) }
    }

    /// Bytes written and never sent.
    pub fn unsent_bytes(&self) -> u64 {
        self.sender.stream().unsent()
    }

    pub fn readable(&self) -> u64 {
        self.receiver.readable()
    }

    /// Take up to `max` bytes in order; returns how many. Poll for a segment after it: the window may have opened.
    pub fn read(&mut self, max: u64) -> u64 {
        self.receiver.read(max)
    }

    /// End the stream; data already written are still delivered.
    pub fn close(&mut self) {
        match self.state {
            State::Listen | State::SynSent => self.finish(Event::Closed),
            _ => self.sender.close(),
        }
    }

    /// Reset the connection: the peer gets an RST, nothing more is delivered.
    pub fn abort(&mut self) {
        let is_known = matches!(self.state, State::SynReceived | State::Established);
        self.finish(Event::Reset);
        if is_known {
            self.opening.send(Flags::RST.with(Flags::ACK));
        }
    }

    /// The peer's segment came from a port at which we have no connection: it is reset (RFC 9293 §3.10.7.1).
    pub fn refuse(&mut self, segment: &Segment) {
        if self.state != State::Closed {
            self.finish(Event::Reset);
        }
        if !segment.flags.contains(Flags::RST) {
            self.opening.refuse(segment.ack);
        }
    }

    pub fn set_app_parameters(&mut self, now: Time, parameters: AppParameters) {
        self.sender.set_app_parameters(now, parameters);
    }

    pub fn info(&self) -> TcpInfo {
        TcpInfo {
            rcv_wnd: self.receiver.window(),
            rcv_ooo_bytes: self.receiver.out_of_order_bytes(),
            ..self.sender.info()
        }
    }

    pub fn stats(&self) -> Stats {
        Stats {
            segments_sent: self.segments_sent,
            wire_bytes_sent: self.wire_bytes_sent,
            segments_received: self.segments_received,
            data_segments_received: self.receiver.data_segments(),
            duplicate_bytes_received: self.receiver.duplicate_bytes(),
            bytes_delivered: self.receiver.bytes_read(),
            ..self.sender.stats()
        }
    }

    pub fn config(&self) -> &Config {
        self.sender.config()
    }

    pub fn congestion_control(&self) -> &dyn CongestionControl {
        self.sender.control()
    }

    /// The handshake is complete and the connection is not closed.
    pub fn is_established(&self) -> bool {
        self.state == State::Established
    }

    /// Whether nothing more will be sent or received.
    pub fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed | State::TimeWait)
    }

    /// RFC 9293 §3.3.2 name of the state.
    pub fn state_name(&self) -> &'static str {
        self.rfc_state_name()
    }

    pub fn sibling(&self) -> Sibling {
        Sibling { established: self.state == State::Established, ..self.sender.sibling() }
    }

    /// Stream offset of the first payload byte of a segment that this endpoint sent.
    pub fn transmit_offset(&self, segment: &Segment) -> u64 {
        unwrap_near(segment.seq, self.sender.config().isn.wrapping_add(1), self.sender.stream().nxt())
    }

    /// Stream offset of the first payload byte of a segment that arrived here; ask before or after handling it.
    pub fn receive_offset(&self, segment: &Segment) -> u64 {
        self.receiver.offset(segment.seq)
    }

    /// Offset after everything written.
    pub fn written_offset(&self) -> u64 {
        self.sender.stream().written()
    }

    /// Offset up to which everything written has been acknowledged.
    pub fn acknowledged_offset(&self) -> u64 {
        self.sender.stream().una().min(self.written_offset())
    }

    /// The same by this segment, which is not handled yet.
    pub(crate) fn offset_acknowledged_by(&self, segment: &Segment) -> u64 {
        unwrap_near(segment.ack, self.sender.config().isn.wrapping_add(1), self.sender.stream().una())
    }
}

impl Event {
    pub(crate) fn from_bits(events: u8) -> Option<Event> {
        EVENTS.get(events.trailing_zeros() as usize).copied()
    }
}

impl Connection {
    fn new(config: Arc<Config>, cc: Box<dyn CongestionControl>, state: State) -> Connection {
        debug_assert_eq!(config.validate(), Ok(()));
        Connection {
            state,
            events: 0,
            receiver: Receiver::new(&config),
            sender: Sender::new(config, cc),
            opening: Opening::default(),
            segments_sent: 0,
            segments_received: 0,
            wire_bytes_sent: 0,
            challenged_in: 0,
        }
    }

    fn raise(&mut self, event: Event) {
        self.events |= 1 << event as u8;
    }

    /// The end, by whatever way.
    fn finish(&mut self, event: Event) {
        self.state = State::Closed;
        self.sender.stop();
        self.sender.forget_outstanding();
        self.opening.stop();
        self.receiver.drop_ack();
        self.raise(event);
    }

    /// RFC 9293 §3.10.7.4.
    fn handle_established(&mut self, at: Moment<'_>, segment: &Segment, passes: bool) {
        if !passes {
            return self.handle_refused(at.now, segment);
        }
        self.check_first_ace(segment);
        self.sender.handle_ack(at, segment);
        if self.sender.take_room_again() {
            self.raise(Event::Writable);
        }
        if segment.payload_len > 0 || segment.flags.contains(Flags::FIN) {
            self.handle_payload(at.now, segment);
        } else if segment.timestamps.is_some() || self.sender.features().ecn {
            self.receiver.handle_bare(at.now, segment);
        }
        self.finish_if_closed(at.now);
    }

    /// A segment that does not [pass](Self::passes): steps 1 to 5.
    #[cold]
    fn handle_refused(&mut self, now: Time, segment: &Segment) {
        if self.sender.features().timestamps && !segment.flags.contains(Flags::RST) {
            let Some(timestamps) = segment.timestamps else { return }; // RFC 7323 §3.2
            if self.receiver.is_old_timestamp(now, timestamps) {
                return self.receiver.report(segment);
            }
        }
        if segment.flags.intersects(Flags::RST.with(Flags::SYN)) {
            if segment.flags.contains(Flags::RST) && self.receiver.is_next(segment) {
                self.finish(Event::Reset);
            } else if segment.flags.contains(Flags::SYN) || self.receiver.is_acceptable(segment) {
                self.reflect_answer(segment);
                self.challenge(now); // RFC 5961 §3.2 and §4
            }
        } else if !self.receiver.is_acceptable(segment) {
            self.receiver.refuse(now, segment);
        } else if segment.flags.contains(Flags::ACK) {
            self.challenge(now);
        }
        // What acknowledges nothing is not the peer's: none of it counts.
    }

    /// An ACK that only the true peer can answer: it resets a connection that it does not know. Not for each of a flood (RFC 5961 §7).
    fn challenge(&mut self, now: Time) {
        let interval = 1 + (now.as_nanos() / CHALLENGE_INTERVAL.as_nanos()) as u32;
        if interval != self.challenged_in {
            self.challenged_in = interval;
            self.receiver.request_ack();
        }
    }

    fn handle_payload(&mut self, now: Time, segment: &Segment) {
        self.receiver.note_arrival(now, self.sender.rtt().base_rto());
        let sack_rtt = self.sender.features().sack.then(|| self.sender.rtt().srtt());
        let received = self.receiver.handle_data(now, segment, sack_rtt);
        if received.is_readable {
            self.raise(Event::Readable);
        }
        if received.is_fin {
            self.raise(Event::PeerClosed);
        }
    }
}
