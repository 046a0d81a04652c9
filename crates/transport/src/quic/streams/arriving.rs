//! The peer's stream frames (data, limits), and acknowledgements and losses of our own frames.
//!
//! Reference: RFC 9000 §3.2, §3.5, §4.1, §4.5, §4.6, §13.3.

use super::super::config::Config;
use super::super::packet::Frame;
use super::halves::{Pending, Stream};
use super::{News, Streams, Violation};
use playpath_units::{Duration, Time};
use std::ops::Range;

impl Streams {
    /// The stream that a frame of the peer names; opened if the peer may (§3.2, §4.6). `Ok(false)`: it is over.
    #[inline]
    fn admit(&mut self, id: u64, config: &Config) -> Result<bool, Violation> {
        if self.map.get(id).is_some() { Ok(true) } else { self.admit_new(id, config) }
    }

    fn admit_new(&mut self, id: u64, config: &Config) -> Result<bool, Violation> {
        let index = id >> 2;
        if id & 2 != 0 {
            return self.admit_uni(id, config);
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

    /// As [`admit`](Self::admit), of a unidirectional stream.
    fn admit_uni(&mut self, id: u64, config: &Config) -> Result<bool, Violation> {
        let index = id >> 2;
        if self.is_own(id) {
            return if index < self.uni_opened { Ok(false) } else { Err(Violation::StreamState) };
        }
        if index < self.peer_uni_opened {
            return Ok(false);
        }
        if index >= config.max_uni_streams {
            return Err(Violation::StreamLimit);
        }
        for index in self.peer_uni_opened..=index {
            let mut stream = self.make(config);
            stream.send.fin_acked = true; // there is no sending half
            self.map.insert(4 * index + (id & 3), stream);
        }
        self.peer_uni_opened = index + 1;
        Ok(true)
    }

    pub fn on_stream(&mut self, frame: (u64, u64, u32, bool), config: &Config) -> Result<News, Violation> {
        let (id, offset, len, fin) = frame;
        if id & 2 != 0 && self.is_own(id) {
            return Err(Violation::StreamState); // §19.8: nothing comes on a stream of this end alone
        }
        let before = self.peer_opened + self.peer_uni_opened;
        if !self.admit(id, config)? {
            return Ok(News::Nothing);
        }
        let end = offset + u64::from(len);
        let Some(stream) = self.map.get_mut(id) else { return Ok(News::Nothing) };
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
        let gained = receive.in_order() - was;
        self.unread += gained;
        let is_news = gained > 0 || fin;
        Ok(match (self.peer_opened + self.peer_uni_opened > before, is_news) {
            (true, _) => News::Opened,
            (false, true) => News::Readable,
            _ => News::Nothing,
        })
    }

    pub fn on_reset(&mut self, now: Time, id: u64, final_size: u64, config: &Config) -> Result<News, Violation> {
        if !self.admit(id, config)? {
            return Ok(News::Nothing);
        }
        let Some(stream) = self.map.get_mut(id) else { return Ok(News::Nothing) };
        let receive = &mut stream.receive;
        if final_size > receive.grant.limit() {
            return Err(Violation::FlowControl);
        }
        receive.check_final(final_size, true)?;
        self.received += final_size.saturating_sub(receive.highest);
        if self.received > self.grant.limit() {
            return Err(Violation::FlowControl);
        }
        // Data that will never be read count as read (§4.5).
        let unread = final_size - receive.read;
        self.unread -= receive.in_order() - receive.read;
        (receive.highest, receive.read, receive.final_size) = (final_size, final_size, Some(final_size));
        receive.is_reset = true;
        receive.received.clear();
        self.grant.on_read(now, unread, || Duration::ZERO, &config.flow);
        self.forget_if_over(id);
        Ok(News::Readable)
    }

    pub fn on_stop_sending(&mut self, id: u64, code: u32, config: &Config) -> Result<(), Violation> {
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
    pub fn on_max_stream_data(&mut self, id: u64, max: u64, config: &Config) -> Result<(), Violation> {
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
            Frame::MaxData(_) => self.grant.tell_again(),
            Frame::MaxStreams(_) => self.max_streams_due = true,
            Frame::MaxStreamData { id, .. } => {
                if let Some(stream) = self.map.get_mut(id)
                    && stream.receive.final_size.is_none()
                {
                    stream.receive.grant.tell_again();
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
