//! Streams: bidirectional ones of both sides, their flow control and the connection's, and which stream sends next.
//!
//! Reference: RFC 9000 §2 (streams), §3 (states), §4 (flow control), §4.6 (how many); RFC 9218 §4 (urgency, incremental) for the order.
//! Differences from the reference:
//! 1. A peer may open [`Config::max_uni_streams`] unidirectional streams in the life of a connection, none in the simulator; HTTP/3
//!    has three on each side. No MAX_STREAMS is sent for them.
//! 2. A stream is forgotten when both directions are over; frames for it are then ignored.
//!
//! Bounded: a peer opens at most `max_streams` at a time, and their bytes stay below the connection's window.
//! Tested by `tests/quic_rules.rs` and `tests/quic_pair.rs`.

mod halves;
mod receiving;
mod sending;
mod table;

use super::config::Config;
use super::flow::Grant;
use super::packet::TransportParameters;
use super::ranges::RangeSet;
use super::send_buffer::SendBuffer;
use halves::{Incoming, Outgoing, Pending, Stream};
use playpath_units::{Duration, Priority, Time};
pub(super) use sending::Chosen;
use table::Table;

/// A peer broke a rule: the connection closes with this code (RFC 9000 §20.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Violation {
    FlowControl,
    StreamLimit,
    StreamState,
    FinalSize,
    CryptoBuffer,
    Protocol,
}

impl Violation {
    /// Error code (§20.1).
    pub const fn code(self) -> u64 {
        match self {
            Violation::FlowControl => 0x03,
            Violation::StreamLimit => 0x04,
            Violation::StreamState => 0x05,
            Violation::FinalSize => 0x06,
            Violation::Protocol => 0x0a,
            Violation::CryptoBuffer => 0x0d,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamUpdate {
    Nothing,
    Opened,
    Readable,
}

/// Field order: those that each packet needs are together, before the counts of streams.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Streams {
    map: Table,
    /// Streams with something to send, lowest id first.
    ready: Vec<u64>,
    max_streams_due: bool,
    data_blocked: Pending,
    /// A frame that says so was sent at some time.
    has_announced_blocked: bool,
    is_client: bool,
    is_write_cut: bool,
    grant: Grant,
    /// The peer's limit, and the bytes sent, on all streams.
    limit: u64,
    sent: u64,
    turn: u64,
    acked_bytes: u64,
    received: u64,
    read_bytes: u64,
    /// Bytes in order, of all streams, that wait for the reader.
    unread: u64,
    peer_opened: u64,
    /// Unidirectional ones, of the peer and of this end.
    peer_uni_opened: u64,
    uni_opened: u64,
    opened: u64,
    may_open: u64,
    peer_may_open: u64,
    peer_stream_limit: u64,
}

impl Streams {
    pub fn new(is_client: bool, config: &Config) -> Streams {
        Streams {
            is_client,
            map: Table::default(),
            ready: vec![],
            opened: 0,
            may_open: 0,
            peer_opened: 0,
            peer_may_open: config.max_streams,
            uni_opened: 0,
            peer_uni_opened: 0,
            max_streams_due: false,
            limit: 0,
            sent: 0,
            data_blocked: Pending::Idle,
            has_announced_blocked: false,
            grant: Grant::new(config.flow.connection, config.flow.max_connection),
            received: 0,
            peer_stream_limit: 0,
            turn: 0,
            acked_bytes: 0,
            read_bytes: 0,
            unread: 0,
            is_write_cut: false,
        }
    }

    /// Set the peer's limits. They never fall (§7.4.1).
    pub fn set_limits(&mut self, parameters: &TransportParameters) {
        self.on_max_data(parameters.initial_max_data);
        self.may_open = self.may_open.max(parameters.initial_max_streams);
        self.peer_stream_limit = self.peer_stream_limit.max(parameters.initial_max_stream_data);
        let ids: Vec<u64> = self.map.iter().map(|(id, _)| id).collect();
        for id in ids {
            self.raise_limit(id, self.peer_stream_limit);
            Self::wake(&mut self.ready, id);
        }
    }

    #[inline]
    fn wake(ready: &mut Vec<u64>, id: u64) {
        if **ready != [id] {
            Self::wake_among(ready, id);
        }
    }
    fn wake_among(ready: &mut Vec<u64>, id: u64) {
        if let Err(place) = ready.binary_search(&id) {
            ready.insert(place, id);
        }
    }

    fn is_own(&self, id: u64) -> bool {
        (id & 1 == 0) == self.is_client
    }

    fn make(&self, config: &Config) -> Stream {
        Stream {
            send: Outgoing {
                buffer: SendBuffer::default(),
                limit: self.peer_stream_limit,
                is_finished: false,
                fin_sent: false,
                fin_acked: false,
                reset: None,
                reset_code: 0,
                blocked: Pending::Idle,
                priority: Priority::default(),
                served: 0,
            },
            receive: Incoming {
                received: RangeSet::default(),
                highest: 0,
                read: 0,
                final_size: None,
                is_reset: false,
                stop: Pending::Idle,
                grant: Grant::new(config.flow.stream, config.flow.max_stream),
            },
        }
    }

    // The application.

    pub fn open(&mut self, config: &Config) -> Option<u64> {
        if self.opened >= self.may_open {
            return None;
        }
        let id = 4 * self.opened + u64::from(!self.is_client);
        self.opened += 1;
        let stream = self.make(config);
        self.map.insert(id, stream);
        Some(id)
    }
    /// A stream of this end alone; the caller knows that the peer allows it.
    pub fn open_uni(&mut self, config: &Config) -> u64 {
        let id = 4 * self.uni_opened + 2 + u64::from(!self.is_client);
        self.uni_opened += 1;
        let mut stream = self.make(config);
        stream.receive.final_size = Some(0);
        self.map.insert(id, stream);
        id
    }
    /// Bytes that [`write`](Self::write) would take.
    pub fn send_space(&self, id: u64, config: &Config) -> u64 {
        self.map.get(id).map_or(0, |stream| stream.send.space(config))
    }
    /// Neither finished nor reset.
    pub fn is_writable(&self, id: u64) -> bool {
        self.map.get(id).is_some_and(|stream| !stream.send.is_finished && stream.send.reset.is_none())
    }
    pub fn write(&mut self, id: u64, bytes: u64, config: &Config) -> u64 {
        self.is_write_cut = bytes > 0;
        let Some(stream) = self.map.get_mut(id) else { return 0 };
        let taken = bytes.min(stream.send.space(config));
        self.is_write_cut = taken < bytes;
        if taken > 0 {
            stream.send.buffer.write(taken);
            let is_at_limit = stream.send.buffer.next() >= stream.send.limit;
            Self::wake(&mut self.ready, id);
            if is_at_limit || self.sent >= self.limit {
                self.note_blocked(id);
            }
        }
        taken
    }
    pub fn finish(&mut self, id: u64) {
        if let Some(stream) = self.map.get_mut(id) {
            stream.send.is_finished = true;
            Self::wake(&mut self.ready, id);
        }
    }
    /// RESET_STREAM: nothing more of it is sent (§3.1).
    pub fn reset(&mut self, id: u64, code: u32) {
        if let Some(stream) = self.map.get_mut(id)
            && stream.send.reset.is_none()
            && !stream.send.fin_acked
        {
            (stream.send.reset, stream.send.blocked) = (Some(Pending::Due), Pending::Idle);
            stream.send.reset_code = code;
            stream.send.buffer.drop_unsent();
            Self::wake(&mut self.ready, id);
        }
    }
    pub fn peer_may_open(&self) -> u64 {
        self.peer_may_open
    }
    pub fn set_priority(&mut self, id: u64, priority: Priority) {
        if let Some(stream) = self.map.get_mut(id) {
            stream.send.priority = priority;
        }
    }
    /// Bytes up to `end` are within what the peer may send.
    pub fn may_receive(&self, id: u64, end: u64) -> bool {
        self.map.get(id).is_some_and(|stream| end <= stream.receive.grant.limit())
    }
    pub fn readable(&self, id: u64) -> u64 {
        self.map.get(id).map_or(0, |stream| stream.receive.in_order() - stream.receive.read)
    }
    pub fn is_read_to_end(&self, id: u64) -> bool {
        self.map.get(id).is_none_or(|stream| stream.receive.final_size == Some(stream.receive.read))
    }
    pub fn is_sent(&self, id: u64) -> bool {
        let send = self.map.get(id).map(|stream| &stream.send);
        send.is_none_or(|send| send.fin_sent && send.buffer.unsent() == 0 && !send.buffer.has_lost())
    }
    pub fn ends_after(&self, id: u64, bytes: u64) -> bool {
        let receive = self.map.get(id).map(|stream| &stream.receive);
        receive.is_some_and(|receive| receive.final_size == Some(receive.read + bytes))
    }
    pub fn read(&mut self, now: Time, id: u64, most: u64, srtt: impl Fn() -> Duration, config: &Config) -> u64 {
        let Some(stream) = self.map.get_mut(id) else { return 0 };
        let bytes = (stream.receive.in_order() - stream.receive.read).min(most);
        if bytes > 0 {
            stream.receive.read += bytes;
            self.read_bytes += bytes;
            self.unread -= bytes;
            self.grant.on_read(now, bytes, &srtt, &config.flow);
            if stream.receive.final_size.is_none() {
                stream.receive.grant.on_read(now, bytes, &srtt, &config.flow);
                if stream.receive.grant.is_pending() {
                    Self::wake(&mut self.ready, id);
                }
            }
        }
        if stream.is_over() {
            self.forget_if_over(id);
        }
        bytes
    }
    /// Everything below was acknowledged; `None`: the stream is over.
    pub fn acked_up_to(&self, id: u64) -> Option<u64> {
        self.map.get(id).map(|stream| stream.send.buffer.acked_up_to())
    }
    /// STOP_SENDING: further data are not wanted (§3.5).
    pub fn stop(&mut self, id: u64) {
        if let Some(stream) = self.map.get_mut(id)
            && stream.receive.final_size.is_none()
            && stream.receive.stop == Pending::Idle
        {
            stream.receive.stop = Pending::Due;
            Self::wake(&mut self.ready, id);
        }
    }
    pub fn unread(&self) -> u64 {
        self.unread
    }
    pub fn acked_bytes(&self) -> u64 {
        self.acked_bytes
    }
    pub fn read_bytes(&self) -> u64 {
        self.read_bytes
    }
    /// Bytes that the peer's window of the connection still takes.
    pub fn window_left(&self) -> u64 {
        self.limit - self.sent
    }
    /// The writer waits, and less than a third of a stream's buffer is free: whether it has no room at all.
    pub fn held_up(&self, config: &Config) -> Option<bool> {
        let buffers = self.map.iter().filter(|_| self.is_write_cut).map(|(_, stream)| &stream.send.buffer);
        let held = buffers.map(|buffer| buffer.written() - buffer.acked_up_to()).max()?;
        let space = config.send_buffer.saturating_sub(held);
        (space < held / 2).then_some(space == 0)
    }
    /// Bytes that wait behind gaps, of all streams.
    pub fn out_of_order(&self) -> u64 {
        let behind = |stream: &Stream| -> u64 {
            let received = &stream.receive.received;
            received.iter().filter(|range| range.start > 0).map(|range| range.end - range.start).sum()
        };
        self.map.iter().map(|(_, stream)| behind(stream)).sum()
    }
    /// Bytes written and not sent, on all streams.
    pub fn unsent(&self) -> u64 {
        self.sum_of(SendBuffer::unsent)
    }
    /// Bytes sent before that go again, on all streams.
    pub fn lost(&self) -> u64 {
        self.sum_of(SendBuffer::lost)
    }
    fn sum_of(&self, bytes: impl Fn(&SendBuffer) -> u64) -> u64 {
        self.ready.iter().filter_map(|&id| self.map.get(id)).map(|stream| bytes(&stream.send.buffer)).sum()
    }
}
