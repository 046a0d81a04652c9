//! One stream: its sending and its receiving half.
//!
//! Reference: RFC 9000 §3.1, §3.2 (states), §4.5 (final size), §19.8 (STREAM frames).

use super::super::flow::Grant;
use super::super::packet::Frame;
use super::super::ranges::RangeSet;
use super::super::send_buffer::SendBuffer;
use super::super::varint;
use super::Violation;
use playpath_units::Priority;

#[derive(Debug)]
pub(super) struct Outgoing {
    pub buffer: SendBuffer,
    pub limit: u64,
    pub is_finished: bool,
    pub fin_sent: bool,
    pub fin_acked: bool,
    pub reset: Option<Pending>,
    pub blocked: Pending,
    pub priority: Priority,
    pub served: u64,
}

/// A frame that is sent until it is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pending {
    Idle,
    Due,
    Sent,
}

#[derive(Debug)]
pub(super) struct Incoming {
    pub received: RangeSet,
    pub highest: u64,
    pub read: u64,
    pub final_size: Option<u64>,
    pub is_reset: bool,
    pub stop: Pending,
    pub grant: Grant,
}

#[derive(Debug)]
pub(super) struct Stream {
    pub send: Outgoing,
    pub receive: Incoming,
}

impl Outgoing {
    pub fn is_fin_due(&self) -> bool {
        self.is_finished && !self.fin_sent && self.buffer.unsent() == 0
    }

    /// A STREAM frame of the start of `range`. The length is written unless the frame fills the room (§19.8).
    pub fn frame(&mut self, id: u64, range: std::ops::Range<u64>, room: u32) -> Option<(Frame, std::ops::Range<u64>)> {
        let wanted = u32::try_from(range.end - range.start).unwrap_or(u32::MAX);
        let bare = Frame::stream_overhead(id, range.start, 0, true);
        let len = if bare.saturating_add(wanted) >= room {
            room.checked_sub(bare)?
        } else {
            let most = room - bare;
            wanted.min(most.saturating_sub(varint::size(u64::from(wanted))))
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
    pub fn in_order(&self) -> u64 {
        if self.is_reset {
            return self.read;
        }
        self.received.first().filter(|first| first.start == 0).map_or(0, |first| first.end)
    }
    /// §4.5.
    pub fn check_final(&self, end: u64, is_final: bool) -> Result<(), Violation> {
        let is_wrong = match self.final_size {
            Some(size) => end > size || (is_final && end != size),
            None => is_final && end < self.highest,
        };
        if is_wrong { Err(Violation::FinalSize) } else { Ok(()) }
    }
}

impl Stream {
    pub fn is_over(&self) -> bool {
        let (send, receive) = (&self.send, &self.receive);
        let is_sent = send.fin_acked && (send.reset.is_some() || send.buffer.acked_up_to() == send.buffer.written());
        is_sent && receive.final_size == Some(receive.read)
    }
}
