//! The sending side of a byte stream, a QUIC stream's or CRYPTO's: bytes written, sent, acknowledged, and to be retransmitted.
//!
//! Reference: RFC 9000 §2.2, §3.1, §13.3 (retransmission by frames). Tested here and by `tests/quic_pair.rs`.

use super::ranges::RangeSet;
use std::ops::Range;

#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct SendBuffer {
    written: u64,
    next: u64,
    /// Lost, in bytes below `next`.
    again: RangeSet,
    acked: RangeSet,
}

impl SendBuffer {
    pub fn write(&mut self, bytes: u64) {
        self.written += bytes;
    }
    pub fn drop_unsent(&mut self) {
        self.written = self.next;
    }
    pub fn written(&self) -> u64 {
        self.written
    }
    /// Bytes below were sent.
    pub fn next(&self) -> u64 {
        self.next
    }
    /// Everything below was acknowledged.
    #[inline]
    pub fn acked_up_to(&self) -> u64 {
        self.acked.first().filter(|first| first.start == 0).map_or(0, |first| first.end)
    }
    pub fn has_lost(&self) -> bool {
        !self.again.is_empty()
    }
    pub fn unsent(&self) -> u64 {
        self.written - self.next
    }
    /// Bytes sent before that go again.
    pub fn lost(&self) -> u64 {
        self.again.iter().map(|range| range.end - range.start).sum()
    }

    /// Something waits that may go whatever the limits.
    #[inline(always)]
    pub fn has_any(&self) -> bool {
        self.next < self.written || self.has_lost()
    }
    /// The next frame: lost bytes first, then new ones below `limit`; its start and its largest length.
    #[inline(always)]
    pub fn peek(&self, limit: u64) -> Option<Range<u64>> {
        if let Some(first) = self.again.first() {
            return Some(first.clone());
        }
        let end = self.written.min(limit);
        (self.next < end).then_some(self.next..end)
    }
    /// Note that a frame was sent. Returns `true` if it had been sent before.
    #[inline(always)]
    pub fn on_sent(&mut self, range: Range<u64>) -> bool {
        let is_again = range.start < self.next;
        if is_again {
            self.again.remove(range);
        } else {
            self.next = range.end;
        }
        is_again
    }

    /// Returns how many bytes are acknowledged for the first time.
    #[inline(always)]
    pub fn on_acked(&mut self, range: Range<u64>) -> u64 {
        let new = (range.end - range.start) - self.acked.overlap(&range);
        if new > 0 {
            self.acked.insert(range.clone());
        }
        if !self.again.is_empty() {
            self.again.remove(range);
        }
        new
    }
    /// Handle a lost frame: its unacknowledged bytes are retransmitted.
    pub fn on_lost(&mut self, range: Range<u64>) {
        let mut start = range.start;
        for have in self.acked.within(&range) {
            self.again.insert(start..have.start.max(start));
            start = have.end;
        }
        self.again.insert(start.min(range.end)..range.end);
    }
}

#[cfg(test)]
mod tests;
