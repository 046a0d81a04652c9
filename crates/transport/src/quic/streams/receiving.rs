//! The peer's stream frames (data, limits), and acknowledgements and losses of our own frames.
//!
//! Reference: RFC 9000 §3.2, §3.5, §4.1, §4.5, §4.6, §13.3.

use super::super::config::Config;
use super::super::packet::Frame;
use super::halves::{Pending, Stream};
use super::{StreamUpdate, Streams, Violation};
use playpath_units::{Duration, Time};
use std::ops::Range;

/// Pieces of a stream that are kept, however small.
const MAX_PIECES: u64 = 1024;
/// Bytes of a piece and the hole before it, on average, if there are more. A hole of one packet alone is larger (§14.1).
const MIN_SPAN: u64 = 1024;

impl Streams {
    /// The stream that a frame of the peer names; opened if the peer may (§3.2, §4.6). `Ok(false)`: it is over.
    #[inline]
    fn admit(&mut self, id: u64, config: &Config) -> Result<bool, Violation> {
        if self.map.get(id).is_some() { Ok(true) } else { self.admit_new(id, config) }
    }

    fn admit_new(&mut self, id: u64, config: &Config) -> Result<bool, Violation> {
        if !self.is_to_open(id, config)? {
            return Ok(false);
        }
        let (index, is_uni) = (id >> 2, id & 2 != 0);
        let opened = if is_uni { &mut self.peer_uni_opened } else { &mut self.peer_opened };
        // All below open, too (§3.2).
        for index in std::mem::replace(opened, index + 1)..=index {
            let mut stream = self.make(config);
            stream.send.fin_acked = is_uni; // there is no sending half
            self.map.insert(4 * index + (id & 3), stream);
        }
        Ok(true)
    }

    /// A frame of the peer opens this stream (§3.2, §4.6); `Ok(false)`: it was opened before.
    fn is_to_open(&self, id: u64, config: &Config) -> Result<bool, Violation> {
        let (own, peer, may_open) = match id & 2 {
            0 => (self.opened, self.peer_opened, self.peer_may_open),
            _ => (self.uni_opened, self.peer_uni_opened, config.max_uni_streams),
        };
        match (id >> 2, self.is_own(id)) {
            (index, true) => {
                if index < own {
                    Ok(false)
                } else {
                    Err(Violation::StreamState)
                }
            }
            (index, false) if index >= may_open => Err(Violation::StreamLimit),
            (index, false) => Ok(index >= peer),
        }
    }

    /// Of a stream of one direction: such a frame comes from its sender if `is_of_sender`, else from its receiver (§19.4, §19.5, §19.8,
    /// §19.10, §19.13).
    #[inline(always)]
    fn check_direction(&self, id: u64, is_of_sender: bool) -> Result<(), Violation> {
        if id & 2 != 0 && self.is_own(id) == is_of_sender { Err(Violation::StreamState) } else { Ok(()) }
    }

    pub fn on_stream(&mut self, frame: (u64, u64, u32, bool), config: &Config) -> Result<StreamUpdate, Violation> {
        let (id, offset, len, fin) = frame;
        self.check_direction(id, true)?;
        let before = self.peer_opened + self.peer_uni_opened;
        if !self.admit(id, config)? {
            return Ok(StreamUpdate::Nothing);
        }
        let end = offset + u64::from(len);
        let Some(stream) = self.map.get_mut(id) else { return Ok(StreamUpdate::Nothing) };
        let receive = &mut stream.receive;
        self.received += receive.reach(end, fin)?;
        if self.received > self.grant.limit() {
            return Err(Violation::FlowControl);
        }
        if fin {
            receive.final_size = Some(end);
        }
        let was = receive.in_order();
        if !receive.is_reset {
            receive.received.insert(offset..end);
        }
        let gained = receive.in_order() - was;
        // Packets that were lost leave larger pieces, as many as the window has room for; a peer may make them of single bytes (§21.7).
        let room = (receive.highest - receive.in_order()) / MIN_SPAN;
        if receive.received.len() as u64 > MAX_PIECES.max(room) {
            return Err(Violation::Protocol);
        }
        self.unread += gained;
        let has_progress = gained > 0 || fin;
        Ok(match (self.peer_opened + self.peer_uni_opened > before, has_progress) {
            (true, _) => StreamUpdate::Opened,
            (false, true) => StreamUpdate::Readable,
            _ => StreamUpdate::Nothing,
        })
    }

    pub fn on_reset(
        &mut self,
        now: Time,
        id: u64,
        final_size: u64,
        config: &Config,
    ) -> Result<StreamUpdate, Violation> {
        self.check_direction(id, true)?;
        if !self.admit(id, config)? {
            return Ok(StreamUpdate::Nothing);
        }
        let Some(stream) = self.map.get_mut(id) else { return Ok(StreamUpdate::Nothing) };
        let receive = &mut stream.receive;
        self.received += receive.reach(final_size, true)?;
        if self.received > self.grant.limit() {
            return Err(Violation::FlowControl);
        }
        // Data that will never be read count as read (§4.5).
        let unread = final_size - receive.read;
        self.unread -= receive.in_order() - receive.read;
        (receive.read, receive.final_size) = (final_size, Some(final_size));
        receive.is_reset = true;
        receive.received.clear();
        self.grant.on_read(now, unread, || Duration::ZERO, &config.flow);
        self.forget_if_over(id);
        Ok(StreamUpdate::Readable)
    }

    pub fn on_stop_sending(&mut self, id: u64, code: u32, config: &Config) -> Result<(), Violation> {
        self.check_direction(id, false)?;
        if self.admit(id, config)? {
            self.reset(id, code); // §3.5: with the peer's code
        }
        Ok(())
    }
    pub fn on_max_data(&mut self, max: u64) {
        if max > self.limit {
            (self.limit, self.data_blocked) = (max, Pending::Idle);
        }
    }
    /// STREAM_DATA_BLOCKED: there must be such a stream, or may be.
    pub fn on_stream_data_blocked(&self, id: u64, config: &Config) -> Result<(), Violation> {
        self.check_direction(id, true)?;
        self.is_to_open(id, config).map(drop)
    }
    pub fn on_max_stream_data(&mut self, id: u64, max: u64, config: &Config) -> Result<(), Violation> {
        self.check_direction(id, false)?;
        if self.admit(id, config)? {
            self.raise_limit(id, max);
        }
        Ok(())
    }
    pub(super) fn raise_limit(&mut self, id: u64, max: u64) {
        if let Some(stream) = self.map.get_mut(id)
            && max > stream.send.limit
        {
            (stream.send.limit, stream.send.blocked) = (max, Pending::Idle);
            Self::wake(&mut self.ready, id);
            self.note_blocked(id); // by the connection's limit, perhaps
        }
    }
    pub fn on_max_streams(&mut self, max: u64) {
        self.may_open = self.may_open.max(max);
    }

    #[inline(always)]
    pub fn on_data_acked(&mut self, id: u64, range: Range<u64>, fin: bool) {
        let Some(stream) = self.map.get_mut(id) else { return };
        self.acked_bytes += stream.send.buffer.on_acked(range);
        stream.send.fin_acked |= fin;
        if stream.is_over() {
            self.forget_if_over(id);
        }
    }
    pub fn on_reset_acked(&mut self, id: u64) {
        let Some(stream) = self.map.get_mut(id) else { return };
        stream.send.fin_acked = true;
        if stream.is_over() {
            self.forget_if_over(id);
        }
    }

    pub fn on_frame_lost(&mut self, frame: &Frame) {
        match *frame {
            Frame::Stream { id, offset, len, fin } => {
                let Some(stream) = self.map.get_mut(id) else { return };
                if stream.send.reset.is_none() {
                    stream.send.buffer.on_lost(offset..offset + u64::from(len));
                    stream.send.fin_sent &= !fin || stream.send.fin_acked;
                    Self::wake(&mut self.ready, id);
                }
            }
            Frame::ResetStream { id, .. } => {
                if let Some(stream) = self.map.get_mut(id) {
                    stream.send.reset = Some(Pending::Due);
                    Self::wake(&mut self.ready, id);
                }
            }
            Frame::MaxData(_) => self.grant.mark_pending(),
            Frame::MaxStreams(_) => self.max_streams_due = true,
            Frame::MaxStreamData { id, .. } => {
                if let Some(stream) = self.map.get_mut(id)
                    && stream.receive.final_size.is_none()
                {
                    stream.receive.grant.mark_pending();
                    Self::wake(&mut self.ready, id);
                }
            }
            Frame::StopSending { id, .. } => {
                if let Some(stream) = self.map.get_mut(id)
                    && stream.receive.final_size.is_none()
                {
                    stream.receive.stop = Pending::Due;
                    Self::wake(&mut self.ready, id);
                }
            }
            // They go again only while the limit in them still holds something up (§13.3).
            Frame::DataBlocked(limit) if limit == self.limit && self.unsent() > 0 => self.data_blocked = Pending::Due,
            Frame::StreamDataBlocked { id, limit } => {
                if let Some(stream) = self.map.get_mut(id)
                    && stream.send.limit == limit
                    && stream.send.reset.is_none()
                {
                    stream.send.blocked = Pending::Due;
                    Self::wake(&mut self.ready, id);
                }
            }
            _ => {}
        }
    }

    pub(super) fn forget_if_over(&mut self, id: u64) {
        let is_over = self.map.get(id).is_some_and(Stream::is_over);
        if is_over {
            self.map.remove(id);
            self.ready.retain(|&ready| ready != id);
            if !self.is_own(id) && id & 2 == 0 {
                self.peer_may_open += 1;
                self.max_streams_due = true;
            }
        }
    }
}
