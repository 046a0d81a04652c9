//! The choice of the streams' next frame.
//!
//! Reference: RFC 9000 §4.1 (blocked), §13.3, §19.8; RFC 9218 §4 (urgency, incremental).

use super::super::packet::Frame;
use super::Streams;
use super::halves::{Pending, Stream};
use playpath_units::Priority;

#[derive(Debug, PartialEq, Eq)]
pub(in super::super) struct Chosen {
    pub frame: Frame,
    pub bytes: u32,
    /// Stream data that was sent before.
    pub is_again: bool,
}

impl Chosen {
    fn of(frame: Frame) -> Chosen {
        Chosen { frame, bytes: frame.bytes(false), is_again: false }
    }
}

impl Streams {
    /// Something waits that may be sent.
    #[inline(always)]
    pub fn has_frames(&self) -> bool {
        if self.has_frames_of_connection() {
            return true;
        }
        match *self.ready {
            [] => false,
            [id] => self.map.get(id).is_some_and(|stream| stream.sends(self.sent < self.limit)),
            _ => self.is_any(Stream::sends),
        }
    }
    pub fn has_data(&self) -> bool {
        self.is_any(|stream, may_send| stream.send.sends_data(may_send))
    }

    #[inline(always)]
    fn has_frames_of_connection(&self) -> bool {
        self.grant.is_pending() | self.max_streams_due | (self.data_blocked == Pending::Due)
    }
    /// Asked of each stream that may have something, and whether the connection's limit lets new data go.
    fn is_any(&self, asks: impl Fn(&Stream, bool) -> bool) -> bool {
        let may_send = self.sent < self.limit;
        self.ready.iter().any(|&id| self.map.get(id).is_some_and(|stream| asks(stream, may_send)))
    }

    /// The next frame of at most `room` bytes, which are 18 at least: those of the longest but STREAM.
    #[inline(always)]
    pub fn next_frame(&mut self, room: u32) -> Option<Chosen> {
        if self.has_frames_of_connection() {
            return Some(Chosen::of(self.next_of_connection()));
        }
        let id = match *self.ready {
            [id] => id,
            _ => self.most_urgent()?,
        };
        self.next_of_stream(id, room)
    }

    /// The most urgent stream that sends; those without anything are ready no more.
    #[inline(never)]
    fn most_urgent(&mut self) -> Option<u64> {
        let mut best: Option<(u8, bool, u64, u64)> = None;
        let mut index = 0;
        while let Some(&id) = self.ready.get(index) {
            let Some((sends, waits)) = self.look_at(id) else { break };
            if !waits {
                self.ready.remove(index);
                continue;
            }
            let Some(send) = self.map.get(id).map(|stream| &stream.send).filter(|_| sends) else {
                index += 1;
                continue;
            };
            let Priority { urgency, incremental } = send.priority;
            let key = (urgency, incremental, if incremental { send.served } else { 0 }, id);
            best = Some(best.map_or(key, |best| best.min(key)));
            index += 1;
        }
        best.map(|best| best.3)
    }

    /// Whether it can send something now, and whether it has anything at all.
    #[inline(always)]
    fn look_at(&self, id: u64) -> Option<(bool, bool)> {
        let stream = self.map.get(id)?;
        let sends = stream.sends(self.sent < self.limit);
        Some((sends, sends || stream.send.buffer.unsent() > 0))
    }

    /// The peer's limits hold up what a stream has: the peer is told, once for each limit (§4.1). Of a limit of zero, as there is before the
    /// peer's are known, nothing is said.
    pub(super) fn note_blocked(&mut self, id: u64) {
        let Some(send) = self.map.get_mut(id).map(|stream| &mut stream.send) else { return };
        let (next, is_held) = (send.buffer.next(), send.buffer.unsent() > 0 && send.reset.is_none());
        let (of, limit) = if next >= send.limit {
            (&mut send.blocked, send.limit)
        } else if self.sent >= self.limit {
            (&mut self.data_blocked, self.limit)
        } else {
            return;
        };
        if is_held && *of == Pending::Idle && limit > 0 {
            *of = Pending::Due;
            Self::wake(&mut self.ready, id);
        }
    }

    /// Whether the peer has ever been notified that its limits block data.
    pub fn has_announced_blocked(&self) -> bool {
        self.has_announced_blocked
    }
    /// Whether the peer has been notified that its limits block data, and they still do.
    pub fn is_held_up(&self) -> bool {
        let is_announced = |stream: &Stream| stream.send.blocked == Pending::Sent;
        self.has_announced_blocked
            && (self.data_blocked == Pending::Sent || self.map.iter().any(|(_, stream)| is_announced(stream)))
    }
    /// Notify the peer again.
    pub fn announce_blocked_again(&mut self) {
        let Streams { map, ready, .. } = self;
        for (id, stream) in map.iter_mut().filter(|(_, stream)| stream.send.blocked == Pending::Sent) {
            stream.send.blocked = Pending::Due;
            Self::wake(ready, id);
        }
        if self.data_blocked == Pending::Sent {
            self.data_blocked = Pending::Due;
        }
    }

    fn next_of_connection(&mut self) -> Frame {
        if self.grant.is_pending() {
            return Frame::MaxData(self.grant.advertise());
        }
        if std::mem::take(&mut self.max_streams_due) {
            return Frame::MaxStreams(self.peer_may_open);
        }
        (self.data_blocked, self.has_announced_blocked) = (Pending::Sent, true);
        Frame::DataBlocked(self.limit)
    }

    /// `None`: it sends nothing now. If it has nothing at all, either, and is the only one, none is ready any more.
    #[inline(always)]
    fn next_of_stream(&mut self, id: u64, room: u32) -> Option<Chosen> {
        let connection_room = self.limit - self.sent;
        let stream = self.map.get_mut(id)?;
        if stream.has_control() {
            let frame = stream.next_control(id);
            self.has_announced_blocked |= matches!(frame, Frame::StreamDataBlocked { .. });
            return Some(Chosen::of(frame));
        }
        let send = &mut stream.send;
        if !send.sends_data(connection_room > 0) {
            if send.buffer.unsent() == 0 {
                self.ready.clear();
            }
            return None;
        }
        let next = send.buffer.next();
        let range = send.buffer.peek(send.limit.min(next + connection_room)).unwrap_or(next..next);
        let (frame, taken, bytes) = send.frame(id, range, room)?;
        let is_again = taken.start < taken.end && send.buffer.on_sent(taken);
        send.served = self.turn;
        self.turn += 1;
        self.sent += send.buffer.next() - next;
        if self.sent >= self.limit || send.buffer.next() >= send.limit {
            self.note_blocked(id);
        }
        Some(Chosen { frame, bytes, is_again })
    }
}
