//! The data level: what has been written, given to subflows and acknowledged; what has arrived, and how long it waited for a gap.
//!
//! Reference: RFC 8684 §3.3 (data sequence mapping, DATA_ACK, DATA_FIN, connection-level window).
//! Differences from the reference:
//! 1. Offsets count payload bytes from 0 inside; the wire adds the initial data sequence number and one (for MP_CAPABLE).
//! 2. The right edge of the window never moves back.
//!
//! Units: data offsets; the DATA_FIN counts one. Invariants: una ≤ next ≤ written; chunks are contiguous and span [una, next)
//! up to whole chunks. Tested by `tests/mptcp.rs`.

use crate::tcp::receiver::reassembly::Reassembly;
use playpath_units::{Duration, Time};
use std::collections::VecDeque;

/// Data given to at least one subflow and not acknowledged at the data level.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk {
    pub start: u64,
    pub len: u32,
    /// Paths that carried it, a bit each.
    pub paths: u32,
    /// Waits in the reinjection queue.
    pub is_queued: bool,
}

impl Chunk {
    pub fn end(&self) -> u64 {
        self.start + u64::from(self.len)
    }
}

#[derive(Debug, Default)]
pub(crate) struct DataSender {
    pub written: u64,
    /// Next offset that no subflow has.
    pub next: u64,
    /// First offset not acknowledged.
    pub una: u64,
    /// Right edge of the peer's window.
    pub edge: u64,
    pub is_closing: bool,
    pub is_fin_acked: bool,
    chunks: VecDeque<Chunk>,
    reinjections: VecDeque<u64>,
}

impl DataSender {
    /// A DATA_ACK with the window that came along. Returns `true` if it is progress.
    pub fn on_data_ack(&mut self, ack: u64, window: u32) -> bool {
        let fin = u64::from(self.is_closing && self.next == self.written);
        if ack > self.next + fin {
            return false; // acknowledges what was never sent
        }
        self.widen(ack, window);
        if ack <= self.una {
            return false;
        }
        self.is_fin_acked |= fin == 1 && ack > self.written;
        self.una = ack;
        while self.chunks.front().is_some_and(|chunk| chunk.end() <= ack) {
            self.chunks.pop_front();
        }
        true
    }

    /// The window that came along with a DATA_ACK. Its right edge never moves back.
    #[inline]
    pub fn widen(&mut self, ack: u64, window: u32) {
        self.edge = self.edge.max(ack + u64::from(window));
    }

    /// Cut the next `len` bytes and give them to `path`.
    pub fn take_new(&mut self, len: u32, path: usize) -> Chunk {
        let chunk = Chunk { start: self.next, len, paths: 1 << path, is_queued: false };
        self.next += u64::from(len);
        self.chunks.push_back(chunk);
        chunk
    }

    pub fn unscheduled(&self) -> u64 {
        self.written - self.next
    }
    pub fn has_reinjections(&self) -> bool {
        !self.reinjections.is_empty()
    }
    /// Something may wait for a subflow.
    pub fn has_work(&self) -> bool {
        self.unscheduled() > 0 || self.has_reinjections()
    }
    pub fn window_left(&self) -> u64 {
        self.edge.saturating_sub(self.next)
    }
    pub fn has_outstanding(&self) -> bool {
        !self.chunks.is_empty()
    }
    pub fn head(&self) -> Option<Chunk> {
        self.chunks.front().copied()
    }

    /// The oldest chunk from `offset` on that `path` has not carried.
    pub fn first_not_on(&self, path: usize, offset: u64) -> Option<Chunk> {
        let from = self.chunks.partition_point(|chunk| chunk.end() <= offset);
        self.chunks.iter().skip(from).find(|chunk| chunk.paths & 1 << path == 0).copied()
    }

    /// The chunk at `start` is given to one more path.
    pub fn note_sent(&mut self, start: u64, path: usize) {
        if let Some(chunk) = self.chunk_mut(start) {
            chunk.paths |= 1 << path;
        }
    }

    /// Queue the chunk that holds `offset` for another path, unless it is acknowledged or queued, or a path of `others` has it:
    /// TCP delivers it there. The oldest comes first, for it is what the reader waits for (`__mptcp_reinject_data` of the
    /// out-of-tree kernel keeps its queue in this order; upstream retransmits from the head).
    pub fn queue_reinjection(&mut self, offset: u64, others: u32) {
        if let Some(chunk) = self.chunk_mut(offset)
            && !chunk.is_queued
            && chunk.paths & others == 0
        {
            chunk.is_queued = true;
            let start = chunk.start;
            let place = self.reinjections.partition_point(|&queued| queued < start);
            self.reinjections.insert(place, start);
        }
    }

    /// The first chunk to reinject that still needs it.
    pub fn next_reinjection(&mut self) -> Option<Chunk> {
        while let Some(&start) = self.reinjections.front() {
            match self.chunk_mut(start) {
                Some(chunk) if chunk.start == start => return Some(*chunk),
                _ => self.reinjections.pop_front(),
            };
        }
        None
    }

    /// The first chunk to reinject has been given to `path`.
    pub fn finish_reinjection(&mut self, path: usize) {
        if let Some(start) = self.reinjections.pop_front()
            && let Some(chunk) = self.chunk_mut(start)
        {
            chunk.is_queued = false;
            chunk.paths |= 1 << path;
        }
    }

    fn chunk_mut(&mut self, offset: u64) -> Option<&mut Chunk> {
        let index = self.chunks.partition_point(|chunk| chunk.end() <= offset);
        self.chunks.get_mut(index).filter(|chunk| chunk.start <= offset)
    }
}

#[derive(Debug)]
pub(crate) struct DataReceiver {
    reassembly: Reassembly,
    read: u64,
    fin: Option<u64>,
    buffer: u64,
    advertised: u64,
    mss: u32,
    /// Data waits behind a gap since.
    blocked_since: Option<Time>,
    blocked_time: Duration,
    pub most_out_of_order: u64,
}

impl DataReceiver {
    pub fn new(buffer: u64, mss: u32) -> DataReceiver {
        DataReceiver {
            reassembly: Reassembly::default(),
            read: 0,
            fin: None,
            buffer,
            advertised: buffer,
            mss,
            blocked_since: None,
            blocked_time: Duration::ZERO,
            most_out_of_order: 0,
        }
    }

    /// Payload of a full segment.
    pub fn mss(&self) -> u32 {
        self.mss
    }
    /// Next offset expected: the DATA_ACK.
    pub fn next(&self) -> u64 {
        self.reassembly.next()
    }
    pub fn readable(&self) -> u64 {
        self.next().min(self.fin.unwrap_or(u64::MAX)) - self.read
    }
    /// The DATA_FIN and everything before it arrived.
    pub fn is_finished(&self) -> bool {
        self.fin.is_some_and(|fin| self.next() > fin)
    }
    pub fn out_of_order_bytes(&self) -> u64 {
        self.reassembly.out_of_order_bytes()
    }
    /// Time that data waited behind a gap, up to `now`.
    pub fn blocked_time(&self, now: Time) -> Duration {
        self.blocked_time + self.blocked_since.map_or(Duration::ZERO, |since| now.saturating_since(since))
    }

    /// The data `[start, end)` arrived, in order in its subflow.
    pub fn insert(&mut self, now: Time, start: u64, end: u64) {
        // Never beyond what was offered. (The DATA_FIN needs no buffer.)
        let stream_end = self.fin.map_or(u64::MAX, |fin| fin + 1);
        let end =
            end.min(self.advertised + u64::from(self.fin.is_some_and(|fin| fin <= self.advertised))).min(stream_end);
        if start < end {
            self.reassembly.place(start, end);
        }
        match (self.reassembly.is_in_order(), self.blocked_since) {
            (true, Some(since)) => {
                self.blocked_time += now.saturating_since(since);
                self.blocked_since = None;
            }
            (false, None) => self.blocked_since = Some(now),
            _ => {}
        }
        if self.blocked_since.is_some() {
            self.most_out_of_order = self.most_out_of_order.max(self.out_of_order_bytes());
        }
    }

    /// The DATA_FIN is at offset `at`.
    pub fn insert_fin(&mut self, now: Time, at: u64) {
        // A DATA_FIN below what has arrived is forged or broken.
        if self.fin.is_none() && at >= self.reassembly.highest() {
            self.fin = Some(at);
        }
        if self.fin == Some(at) {
            self.insert(now, at, at + 1);
        }
    }

    /// Take up to `max` bytes. The second value: the window has opened so far that the peer should be told.
    pub fn read(&mut self, max: u64) -> (u64, bool) {
        let taken = self.readable().min(max);
        let told = self.advertised - self.next().min(self.advertised);
        self.read += taken;
        let could = (self.read + self.buffer) - self.next().min(self.read + self.buffer);
        let step = (self.buffer / 2).min(u64::from(self.mss));
        (taken, taken > 0 && could >= told + step && could >= 2 * told)
    }

    /// Window to tell with an ACK; moves the right edge in steps of a segment.
    pub fn window(&mut self) -> u32 {
        let edge = self.read + self.buffer;
        if edge >= self.advertised + (self.buffer / 2).min(u64::from(self.mss)) {
            self.advertised = edge;
        }
        (self.advertised - self.next().min(self.advertised)).min(u64::from(u32::MAX)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four chunks on paths 0, 1, 0, 1. Path 1 fails first, then path 0; the second is on path 2 by then, which works.
    #[test]
    fn the_oldest_is_reinjected_first_and_nothing_that_a_path_carries() {
        let mut sender = DataSender { written: 400, ..DataSender::default() };
        let starts = [0, 1, 0, 1].map(|path| sender.take_new(100, path).start);
        sender.note_sent(starts[1], 2);
        for start in [starts[3], starts[1], starts[2], starts[0]] {
            sender.queue_reinjection(start, 1 << 2);
        }
        let mut order = Vec::new();
        while let Some(chunk) = sender.next_reinjection() {
            order.push(chunk.start);
            sender.finish_reinjection(2);
        }
        assert_eq!(order, [0, 200, 300]);
    }
}
