//! Which frame of the streams goes next.
//!
//! Reference: RFC 9000 §4.1 (blocked), §13.3, §19.8; RFC 9218 §4 (urgency, incremental).

use super::super::packet::Frame;
use super::Streams;
use super::halves::{Outgoing, Pending, Stream};
use playpath_units::Priority;

impl Streams {
    /// Something waits that may be sent.
    pub fn has_frames(&self) -> bool {
        self.grant.is_pending()
            || self.max_streams_due
            || self.data_blocked == Pending::Due
            || self.ready.iter().any(|&id| self.map.get(id).is_some_and(|stream| self.sends(stream)))
    }

    fn sends(&self, stream: &Stream) -> bool {
        let send = &stream.send;
        let receive = &stream.receive;
        let control = receive.grant.is_pending() || receive.stop == Pending::Due || send.blocked == Pending::Due;
        if send.reset.is_some() {
            return control || send.reset == Some(Pending::Due);
        }
        control || self.sends_data(send)
    }

    fn sends_data(&self, send: &Outgoing) -> bool {
        send.reset.is_none() && (send.buffer.has_lost() || send.is_fin_due() || self.may_send_new(send))
    }

    /// Data waits that may be sent.
    pub fn has_data(&self) -> bool {
        self.ready.iter().any(|&id| self.map.get(id).is_some_and(|stream| self.sends_data(&stream.send)))
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
            let Some(stream) = self.map.get(id) else { break };
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
        let Some(send) = self.map.get_mut(id).map(|stream| &mut stream.send) else { return };
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
        let stream = self.map.get_mut(id)?;
        let send = &mut stream.send;
        if stream.receive.grant.is_pending() && room >= 17 {
            return Some((Frame::MaxStreamData { id, max: stream.receive.grant.tell() }, false));
        }
        if stream.receive.stop == Pending::Due && room >= 17 {
            stream.receive.stop = Pending::Sent;
            return Some((Frame::StopSending { id }, false));
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
