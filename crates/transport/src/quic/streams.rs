//! Streams: bidirectional ones of both sides, their flow control and the connection's, and which stream sends next.
//!
//! Reference: RFC 9000 §2 (streams), §3 (states), §4 (flow control), §4.6 (how many); RFC 9218 §4 (urgency, incremental) for the order.
//! Differences from the reference:
//! 1. Bidirectional streams only. HTTP/3's unidirectional control and QPACK streams are ordinary streams of few bytes to a simulator.
//! 2. A stream is forgotten when both directions are over; frames for it are then ignored.
//!
//! Bounded: a peer opens at most `max_streams` at a time, and their bytes stay below the connection's window.
//! Tested by `tests/quic_rules.rs` and `tests/quic_pair.rs`.

use super::config::Config;
use super::flow::Grant;
use super::packet::{Frame, TransportParameters};
use super::ranges::RangeSet;
use super::send_buffer::SendBuffer;
use playpath_units::{Duration, Time};
use std::collections::BTreeMap;

/// A peer broke a rule: the connection closes with this code (RFC 9000 §20.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Violation {
    /// FLOW_CONTROL_ERROR.
    FlowControl,
    /// STREAM_LIMIT_ERROR.
    StreamLimit,
    /// STREAM_STATE_ERROR.
    StreamState,
    /// FINAL_SIZE_ERROR.
    FinalSize,
    /// CRYPTO_BUFFER_EXCEEDED.
    CryptoBuffer,
    /// PROTOCOL_VIOLATION.
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

/// Order of sending (RFC 9218 §4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Priority {
    /// 0, first, to 7.
    pub urgency: u8,
    /// Streams of one urgency take turns; others go one after the other.
    pub incremental: bool,
}

impl Default for Priority {
    fn default() -> Priority {
        Priority { urgency: 3, incremental: false }
    }
}

#[derive(Debug)]
struct Outgoing {
    buffer: SendBuffer,
    limit: u64,
    is_finished: bool,
    fin_sent: bool,
    fin_acked: bool,
    reset: Option<Pending>,
    blocked: Pending,
    priority: Priority,
    served: u64,
}

/// A frame that is sent until it is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pending {
    Idle,
    Due,
    Sent,
}

#[derive(Debug)]
struct Incoming {
    received: RangeSet,
    highest: u64,
    read: u64,
    final_size: Option<u64>,
    is_reset: bool,
    grant: Grant,
}

#[derive(Debug)]
struct Stream {
    send: Outgoing,
    receive: Incoming,
}

/// What arrived for the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    Nothing,
    Opened,
    Readable,
}

#[derive(Debug)]
pub(crate) struct Streams {
    is_client: bool,
    map: BTreeMap<u64, Stream>,
    /// Streams with something to send, lowest id first.
    ready: Vec<u64>,
    opened: u64,
    may_open: u64,
    peer_opened: u64,
    peer_may_open: u64,
    max_streams_due: bool,
    /// What the peer lets us send, and what was sent, on all streams.
    limit: u64,
    sent: u64,
    data_blocked: Pending,
    grant: Grant,
    received: u64,
    peer_stream_limit: u64,
    turn: u64,
    acked_bytes: u64,
    read_bytes: u64,
}

impl Streams {
    pub fn new(is_client: bool, config: &Config) -> Streams {
        Streams {
            is_client,
            map: BTreeMap::new(),
            ready: vec![],
            opened: 0,
            may_open: 0,
            peer_opened: 0,
            peer_may_open: config.max_streams,
            max_streams_due: false,
            limit: 0,
            sent: 0,
            data_blocked: Pending::Idle,
            grant: Grant::new(config.flow.connection, config.flow.max_connection),
            received: 0,
            peer_stream_limit: 0,
            turn: 0,
            acked_bytes: 0,
            read_bytes: 0,
        }
    }

    /// The peer's limits are known. They never fall (§7.4.1).
    pub fn set_limits(&mut self, parameters: &TransportParameters) {
        self.limit = self.limit.max(parameters.initial_max_data);
        self.may_open = self.may_open.max(parameters.initial_max_streams);
        self.peer_stream_limit = self.peer_stream_limit.max(parameters.initial_max_stream_data);
        for (&id, stream) in &mut self.map {
            stream.send.limit = stream.send.limit.max(self.peer_stream_limit);
            Self::wake(&mut self.ready, id);
        }
    }

    fn wake(ready: &mut Vec<u64>, id: u64) {
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
    /// Bytes that [`write`](Self::write) would take.
    pub fn send_space(&self, id: u64, config: &Config) -> u64 {
        let Some(send) = self.map.get(&id).map(|stream| &stream.send) else { return 0 };
        if send.is_finished || send.reset.is_some() {
            return 0;
        }
        config.send_buffer.saturating_sub(send.buffer.written() - send.buffer.acked_up_to())
    }
    pub fn write(&mut self, id: u64, bytes: u64, config: &Config) -> u64 {
        let taken = bytes.min(self.send_space(id, config));
        if taken > 0
            && let Some(stream) = self.map.get_mut(&id)
        {
            stream.send.buffer.write(taken);
            Self::wake(&mut self.ready, id);
        }
        taken
    }
    pub fn finish(&mut self, id: u64) {
        if let Some(stream) = self.map.get_mut(&id) {
            stream.send.is_finished = true;
            Self::wake(&mut self.ready, id);
        }
    }
    /// RESET_STREAM: nothing more of it is sent (§3.1).
    pub fn reset(&mut self, id: u64) {
        if let Some(stream) = self.map.get_mut(&id)
            && stream.send.reset.is_none()
            && !stream.send.fin_acked
        {
            stream.send.reset = Some(Pending::Due);
            Self::wake(&mut self.ready, id);
        }
    }
    pub fn set_priority(&mut self, id: u64, priority: Priority) {
        if let Some(stream) = self.map.get_mut(&id) {
            stream.send.priority = priority;
        }
    }
    /// Bytes in order that wait for the reader.
    pub fn readable(&self, id: u64) -> u64 {
        self.map.get(&id).map_or(0, |stream| stream.receive.in_order() - stream.receive.read)
    }
    /// All bytes of the stream were read, and it ended.
    pub fn is_read_to_end(&self, id: u64) -> bool {
        self.map.get(&id).is_none_or(|stream| stream.receive.final_size == Some(stream.receive.read))
    }
    pub fn read(&mut self, now: Time, id: u64, most: u64, srtt: Duration, config: &Config) -> u64 {
        let bytes = self.readable(id).min(most);
        if let Some(stream) = self.map.get_mut(&id)
            && bytes > 0
        {
            stream.receive.read += bytes;
            self.read_bytes += bytes;
            self.grant.on_read(now, bytes, srtt, &config.flow);
            if stream.receive.final_size.is_none() {
                stream.receive.grant.on_read(now, bytes, srtt, &config.flow);
                if stream.receive.grant.is_pending() {
                    Self::wake(&mut self.ready, id);
                }
            }
        }
        self.forget_if_over(id);
        bytes
    }
    pub fn acked_bytes(&self) -> u64 {
        self.acked_bytes
    }
    pub fn read_bytes(&self) -> u64 {
        self.read_bytes
    }
    /// Bytes written and not sent, on all streams.
    pub fn unsent(&self) -> u64 {
        self.ready.iter().filter_map(|id| self.map.get(id)).map(|stream| stream.send.buffer.unsent()).sum()
    }

    // What arrives.

    /// The stream that a frame of the peer names; opened if the peer may (§3.2, §4.6). `Ok(false)`: it is over.
    fn admit(&mut self, id: u64, config: &Config) -> Result<bool, Violation> {
        if self.map.contains_key(&id) {
            return Ok(true);
        }
        let index = id >> 2;
        if id & 2 != 0 {
            return Err(Violation::StreamState);
        }
        if self.is_own(id) {
            return if index < self.opened { Ok(false) } else { Err(Violation::StreamState) };
        }
        if index < self.peer_opened {
            return Ok(false);
        }
        if index >= self.peer_may_open {
            return Err(Violation::StreamLimit);
        }
        // All below open, too (§3.2).
        for index in self.peer_opened..=index {
            let stream = self.make(config);
            self.map.insert(4 * index + (id & 3), stream);
        }
        self.peer_opened = index + 1;
        Ok(true)
    }

    pub fn on_stream(&mut self, frame: (u64, u64, u32, bool), config: &Config) -> Result<News, Violation> {
        let (id, offset, len, fin) = frame;
        let before = self.peer_opened;
        if !self.admit(id, config)? {
            return Ok(News::Nothing);
        }
        let end = offset + u64::from(len);
        let Some(stream) = self.map.get_mut(&id) else { return Ok(News::Nothing) };
        let receive = &mut stream.receive;
        if end > receive.grant.limit() {
            return Err(Violation::FlowControl);
        }
        receive.check_final(end, fin)?;
        self.received += end.saturating_sub(receive.highest);
        receive.highest = receive.highest.max(end);
        if self.received > self.grant.limit() {
            return Err(Violation::FlowControl);
        }
        if fin {
            receive.final_size = Some(end);
        }
        let was = receive.in_order();
        if !receive.is_reset && !receive.received.insert(offset..end) {
            return Err(Violation::Protocol);
        }
        let is_news = receive.in_order() > was || fin;
        Ok(match (self.peer_opened > before, is_news) {
            (true, _) => News::Opened,
            (false, true) => News::Readable,
            _ => News::Nothing,
        })
    }

    pub fn on_reset(&mut self, now: Time, id: u64, final_size: u64, config: &Config) -> Result<News, Violation> {
        if !self.admit(id, config)? {
            return Ok(News::Nothing);
        }
        let Some(stream) = self.map.get_mut(&id) else { return Ok(News::Nothing) };
        let receive = &mut stream.receive;
        if final_size > receive.grant.limit() {
            return Err(Violation::FlowControl);
        }
        receive.check_final(final_size, true)?;
        self.received += final_size.saturating_sub(receive.highest);
        if self.received > self.grant.limit() {
            return Err(Violation::FlowControl);
        }
        // What will never be read counts as read (§4.5).
        let unread = final_size - receive.read;
        (receive.highest, receive.read, receive.final_size) = (final_size, final_size, Some(final_size));
        receive.is_reset = true;
        receive.received.clear();
        self.grant.on_read(now, unread, Duration::ZERO, &config.flow);
        self.forget_if_over(id);
        Ok(News::Readable)
    }

    pub fn on_stop_sending(&mut self, id: u64, config: &Config) -> Result<(), Violation> {
        if self.admit(id, config)? {
            self.reset(id); // §3.5
        }
        Ok(())
    }
    pub fn on_max_data(&mut self, max: u64) {
        if max > self.limit {
            (self.limit, self.data_blocked) = (max, Pending::Idle);
        }
    }
    pub fn on_max_stream_data(&mut self, id: u64, max: u64, config: &Config) -> Result<(), Violation> {
        if self.admit(id, config)?
            && let Some(stream) = self.map.get_mut(&id)
            && max > stream.send.limit
        {
            (stream.send.limit, stream.send.blocked) = (max, Pending::Idle);
            Self::wake(&mut self.ready, id);
        }
        Ok(())
    }
    pub fn on_max_streams(&mut self, max: u64) {
        self.may_open = self.may_open.max(max);
    }

    // What is acknowledged or lost.

    pub fn on_frame_acked(&mut self, frame: &Frame) {
        let id = match *frame {
            Frame::Stream { id, .. } | Frame::ResetStream { id, .. } => id,
            _ => return,
        };
        let Some(stream) = self.map.get_mut(&id) else { return };
        match *frame {
            Frame::Stream { offset, len, fin, .. } => {
                self.acked_bytes += stream.send.buffer.on_acked(offset..offset + u64::from(len));
                stream.send.fin_acked |= fin;
            }
            _ => stream.send.fin_acked = true,
        }
        self.forget_if_over(id);
    }

    pub fn on_frame_lost(&mut self, frame: &Frame) {
        match *frame {
            Frame::Stream { id, offset, len, fin } => {
                let Some(stream) = self.map.get_mut(&id) else { return };
                if stream.send.reset.is_none() {
                    stream.send.buffer.on_lost(offset..offset + u64::from(len));
                    stream.send.fin_sent &= !fin || stream.send.fin_acked;
                    Self::wake(&mut self.ready, id);
                }
            }
            Frame::ResetStream { id, .. } => {
                if let Some(stream) = self.map.get_mut(&id) {
                    stream.send.reset = Some(Pending::Due);
                    Self::wake(&mut self.ready, id);
                }
            }
            Frame::MaxData(_) => self.grant.tell_again(),
            Frame::MaxStreams(_) => self.max_streams_due = true,
            Frame::MaxStreamData { id, .. } => {
                if let Some(stream) = self.map.get_mut(&id)
                    && stream.receive.final_size.is_none()
                {
                    stream.receive.grant.tell_again();
                    Self::wake(&mut self.ready, id);
                }
            }
            Frame::DataBlocked(limit) if limit == self.limit => self.data_blocked = Pending::Due,
            Frame::StreamDataBlocked { id, limit } => {
                if let Some(stream) = self.map.get_mut(&id)
                    && stream.send.limit == limit
                {
                    stream.send.blocked = Pending::Due;
                    Self::wake(&mut self.ready, id);
                }
            }
            _ => {}
        }
    }

    fn forget_if_over(&mut self, id: u64) {
        let is_over = self.map.get(&id).is_some_and(Stream::is_over);
        if is_over {
            self.map.remove(&id);
            self.ready.retain(|&ready| ready != id);
            if !self.is_own(id) {
                self.peer_may_open += 1;
                self.max_streams_due = true;
            }
        }
    }

    // What goes.

    /// Something waits that may be sent.
    pub fn has_frames(&self) -> bool {
        self.grant.is_pending()
            || self.max_streams_due
            || self.data_blocked == Pending::Due
            || self.ready.iter().any(|id| self.map.get(id).is_some_and(|stream| self.sends(stream)))
    }

    fn sends(&self, stream: &Stream) -> bool {
        let send = &stream.send;
        let control = stream.receive.grant.is_pending() || send.blocked == Pending::Due;
        if send.reset.is_some() {
            return control || send.reset == Some(Pending::Due);
        }
        control || send.buffer.has_lost() || send.is_fin_due() || self.may_send_new(send)
    }

    fn may_send_new(&self, send: &Outgoing) -> bool {
        send.buffer.unsent() > 0 && send.buffer.next() < send.limit && self.sent < self.limit
    }

    /// The next frame of at most `room` bytes; `true` with it: stream data that was sent before.
    pub fn next_frame(&mut self, room: u32) -> Option<(Frame, bool)> {
        if let Some(frame) = self.next_of_connection(room) {
            return Some((frame, false));
        }
        let mut best: Option<(u8, bool, u64, u64)> = None;
        let mut index = 0;
        while let Some(&id) = self.ready.get(index) {
            self.note_blocked(id);
            let Some(stream) = self.map.get(&id) else { break };
            let (waits, sends) = (stream.send.buffer.unsent() > 0, self.sends(stream));
            if !waits && !sends {
                self.ready.remove(index);
                continue;
            }
            let Priority { urgency, incremental } = stream.send.priority;
            let key = (urgency, incremental, if incremental { stream.send.served } else { 0 }, id);
            if sends && best.is_none_or(|best| key < best) {
                best = Some(key);
            }
            index += 1;
        }
        self.next_of_stream(best?.3, room)
    }

    fn next_of_connection(&mut self, room: u32) -> Option<Frame> {
        let fits = |frame: Frame| (frame.bytes(false) <= room).then_some(frame);
        if self.grant.is_pending() && room >= 9 {
            return Some(Frame::MaxData(self.grant.tell()));
        }
        if self.max_streams_due && room >= 9 {
            self.max_streams_due = false;
            return Some(Frame::MaxStreams(self.peer_may_open));
        }
        if self.data_blocked == Pending::Due {
            let frame = fits(Frame::DataBlocked(self.limit))?;
            self.data_blocked = Pending::Sent;
            return Some(frame);
        }
        None
    }

    /// A stream waits for the peer's limits: it is told once each (§4.1).
    fn note_blocked(&mut self, id: u64) {
        let (limit, sent) = (self.limit, self.sent);
        let Some(send) = self.map.get_mut(&id).map(|stream| &mut stream.send) else { return };
        if send.buffer.unsent() == 0 || send.reset.is_some() {
            return;
        }
        if send.buffer.next() >= send.limit && send.blocked == Pending::Idle {
            send.blocked = Pending::Due;
        } else if sent >= limit && self.data_blocked == Pending::Idle {
            self.data_blocked = Pending::Due;
        }
    }

    fn next_of_stream(&mut self, id: u64, room: u32) -> Option<(Frame, bool)> {
        let connection_room = self.limit - self.sent;
        let turn = self.turn;
        let stream = self.map.get_mut(&id)?;
        let send = &mut stream.send;
        if stream.receive.grant.is_pending() && room >= 17 {
            return Some((Frame::MaxStreamData { id, max: stream.receive.grant.tell() }, false));
        }
        if send.reset == Some(Pending::Due) {
            let frame = Frame::ResetStream { id, final_size: send.buffer.next() };
            if frame.bytes(false) > room {
                return None;
            }
            send.reset = Some(Pending::Sent);
            return Some((frame, false));
        }
        if send.blocked == Pending::Due && room >= 17 {
            send.blocked = Pending::Sent;
            return Some((Frame::StreamDataBlocked { id, limit: send.limit }, false));
        }
        let limit = send.limit.min(send.buffer.next() + connection_room);
        let range = send.buffer.peek(limit).unwrap_or(send.buffer.next()..send.buffer.next());
        let (frame, taken) = send.frame(id, range, room)?;
        let next = send.buffer.next();
        let is_again = taken.start < taken.end && send.buffer.on_sent(taken.clone());
        send.served = turn;
        self.turn += 1;
        self.sent += send.buffer.next() - next;
        Some((frame, is_again))
    }
}

impl Outgoing {
    fn is_fin_due(&self) -> bool {
        self.is_finished && !self.fin_sent && self.buffer.unsent() == 0
    }

    /// A STREAM frame of the start of `range`. The length is written unless the frame fills the room (§19.8).
    fn frame(&mut self, id: u64, range: std::ops::Range<u64>, room: u32) -> Option<(Frame, std::ops::Range<u64>)> {
        let wanted = u32::try_from(range.end - range.start).unwrap_or(u32::MAX);
        let bare = Frame::stream_overhead(id, range.start, 0, true);
        let len = if bare.saturating_add(wanted) >= room {
            room.checked_sub(bare)?
        } else {
            let most = room - bare;
            wanted.min(most.saturating_sub(super::varint::size(u64::from(wanted))))
        };
        if len == 0 && wanted > 0 {
            return None;
        }
        let end = range.start + u64::from(len);
        let fin = self.is_finished && end == self.buffer.written();
        if len == 0 && (!fin || self.fin_sent) {
            return None;
        }
        self.fin_sent |= fin;
        Some((Frame::Stream { id, offset: range.start, len, fin }, range.start..end))
    }
}

impl Incoming {
    fn in_order(&self) -> u64 {
        if self.is_reset {
            return self.read;
        }
        self.received.first().filter(|first| first.start == 0).map_or(0, |first| first.end)
    }
    /// §4.5.
    fn check_final(&self, end: u64, is_final: bool) -> Result<(), Violation> {
        let is_wrong = match self.final_size {
            Some(size) => end > size || (is_final && end != size),
            None => is_final && end < self.highest,
        };
        if is_wrong { Err(Violation::FinalSize) } else { Ok(()) }
    }
}

impl Stream {
    fn is_over(&self) -> bool {
        let (send, receive) = (&self.send, &self.receive);
        let is_sent = send.fin_acked && (send.reset.is_some() || send.buffer.acked_up_to() == send.buffer.written());
        is_sent && receive.final_size == Some(receive.read)
    }
}
