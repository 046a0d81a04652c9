//! One stream: its sending and its receiving half.
//!
//! Reference: RFC 9000 §3.1, §3.2 (states), §4.5 (final size), §19.8 (STREAM frames).

use super::super::config::Config;
use super::super::flow::Grant;
use super::super::packet::Frame;
use super::super::ranges::RangeSet;
use super::super::send_buffer::SendBuffer;
use super::super::varint;
use super::Violation;
use playpath_units::Priority;

#[derive(Debug)]
#[repr(C)]
pub(super) struct Outgoing {
    pub buffer: SendBuffer,
    pub limit: u64,
    pub served: u64,
    pub is_finished: bool,
    pub fin_sent: bool,
    pub fin_acked: bool,
    pub reset: Option<Pending>,
    /// Why it was given up, by the application's protocol.
    pub reset_code: u32,
    pub blocked: Pending,
    pub priority: Priority,
}

/// A frame that is sent until it is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pending {
    Idle,
    Due,
    Sent,
}

/// Field order: those needed for a sent packet first.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Incoming {
    pub stop: Pending,
    pub is_reset: bool,
    pub final_size: Option<u64>,
    pub grant: Grant,
    pub highest: u64,
    pub read: u64,
    pub received: RangeSet,
}

/// Two lines of the processor's cache for each half.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Stream {
    pub send: Outgoing,
    pub receive: Incoming,
}

impl Outgoing {
    #[inline(always)]
    pub fn is_fin_due(&self) -> bool {
        self.is_finished && !self.fin_sent && self.buffer.unsent() == 0
    }

    /// Bytes that its buffer takes.
    #[inline]
    pub fn space(&self, config: &Config) -> u64 {
        if self.is_finished || self.reset.is_some() {
            return 0;
        }
        config.send_buffer.saturating_sub(self.buffer.written() - self.buffer.acked_up_to())
    }

    /// Whether there are data that may be sent; `may_send`: the connection's limit allows new data.
    #[inline(always)]
    pub fn sends_data(&self, may_send: bool) -> bool {
        let sends_new = may_send && self.buffer.unsent() > 0 && self.buffer.next() < self.limit;
        self.reset.is_none() && (sends_new || self.buffer.has_lost() || self.is_fin_due())
    }

    /// A STREAM frame of the start of `range`, what of it is in the frame, and its bytes. The length is written unless the frame fills the
    /// room (§19.8).
    #[inline(always)]
    pub fn frame(
        &mut self,
        id: u64,
        range: std::ops::Range<u64>,
        room: u32,
    ) -> Option<(Frame, std::ops::Range<u64>, u32)> {
        let wanted = u32::try_from(range.end - range.start).unwrap_or(u32::MAX);
        let bare = Frame::stream_overhead(id, range.start, 0, true);
        let (len, length_bytes) = if bare.saturating_add(wanted) >= room {
            (room.checked_sub(bare)?, 0)
        } else {
            let most = room - bare;
            let len = wanted.min(most.saturating_sub(varint::size(u64::from(wanted))));
            (len, varint::size(u64::from(len)))
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
        Some((Frame::Stream { id, offset: range.start, len, fin }, range.start..end, bare + length_bytes + len))
    }
}

impl Incoming {
    #[inline(always)]
    pub fn in_order(&self) -> u64 {
        if self.is_reset {
            return self.read;
        }
        self.received.first().filter(|first| first.start == 0).map_or(0, |first| first.end)
    }
    /// The peer's data reach up to `end`: by how many bytes farther than before (§4.1).
    #[inline]
    pub fn reach(&mut self, end: u64, is_final: bool) -> Result<u64, Violation> {
        if end > self.grant.limit() {
            return Err(Violation::FlowControl);
        }
        self.check_final(end, is_final)?;
        let farther = end.saturating_sub(self.highest);
        self.highest += farther;
        Ok(farther)
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
    /// It has frames besides its data, of which [`next_control`](Self::next_control) is the first.
    #[inline(always)]
    pub fn has_control(&self) -> bool {
        let (send, receive) = (&self.send, &self.receive);
        receive.grant.is_pending()
            || receive.stop == Pending::Due
            || send.reset == Some(Pending::Due)
            || send.blocked == Pending::Due
    }
    pub fn next_control(&mut self, id: u64) -> Frame {
        let (send, receive) = (&mut self.send, &mut self.receive);
        if receive.grant.is_pending() {
            return Frame::MaxStreamData { id, max: receive.grant.advertise() };
        }
        if receive.stop == Pending::Due {
            receive.stop = Pending::Sent;
            return Frame::StopSending { id, code: 0 };
        }
        if send.reset == Some(Pending::Due) {
            send.reset = Some(Pending::Sent);
            return Frame::ResetStream { id, code: send.reset_code, final_size: send.buffer.next() };
        }
        send.blocked = Pending::Sent;
        Frame::StreamDataBlocked { id, limit: send.limit }
    }
    /// Something of it may go; `may_send`: the connection's limit lets new data go.
    #[inline(always)]
    pub fn sends(&self, may_send: bool) -> bool {
        self.send.sends_data(may_send) || self.has_control()
    }
    #[inline(always)]
    pub fn is_over(&self) -> bool {
        let (send, receive) = (&self.send, &self.receive);
        receive.final_size == Some(receive.read)
            && send.fin_acked
            && (send.reset.is_some() || send.buffer.acked_up_to() == send.buffer.written())
    }
}
