//! The data level's state of a sent byte stream: how far it is written, scheduled and acknowledged, and the chunks carried by some path.
//!
//! Reference: RFC 8684 §3.3. Units: data offsets; the end of the stream counts one. Invariants: una ≤ next ≤ written (una one
//! beyond once the end is acknowledged); chunks are contiguous and span [una, next) up to whole chunks.
//! Tested here and by `tests/level.rs`.

use std::collections::VecDeque;

/// Data given to at least one path and not acknowledged at the data level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Offset of its first byte.
    pub start: u64,
    pub len: u32,
    /// Paths that carry it, a bit each.
    pub paths: u32,
    /// Waits in the reinjection queue.
    is_queued: bool,
}

impl Chunk {
    /// Offset behind its last byte.
    pub fn end(&self) -> u64 {
        self.start + u64::from(self.len)
    }
}

#[derive(Debug, Default)]
pub(super) struct Chunks {
    pub written: u64,
    /// Next offset that no path has.
    pub next: u64,
    /// First offset not acknowledged.
    pub una: u64,
    /// Right edge of the peer's window. It never moves back.
    pub edge: u64,
    pub is_closing: bool,
    /// The end of the stream was sent, on this path last.
    pub fin_path: Option<usize>,
    pub is_fin_acked: bool,
    chunks: VecDeque<Chunk>,
    /// Starts of chunks, in order.
    reinjections: VecDeque<u64>,
}

impl Chunks {
    /// Everything before `ack` has arrived, and up to `edge` there is room. Whether that is progress; `None`: it acknowledges what
    /// was never sent.
    #[inline]
    pub fn acknowledge(&mut self, ack: u64, edge: u64) -> Option<bool> {
        if ack > self.next + u64::from(self.fin_path.is_some()) {
            return None;
        }
        self.edge = self.edge.max(edge);
        if ack <= self.una {
            return Some(false);
        }
        self.is_fin_acked |= ack > self.written;
        self.una = ack;
        while self.chunks.front().is_some_and(|chunk| chunk.end() <= ack) {
            self.chunks.pop_front();
        }
        Some(true)
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
    /// Something may wait for a path.
    pub fn has_work(&self) -> bool {
        self.unscheduled() > 0 || self.has_reinjections()
    }
    pub fn has_reinjections(&self) -> bool {
        !self.reinjections.is_empty()
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

    /// The oldest chunk from `offset` on that `path` does not carry.
    pub fn first_not_on(&self, path: usize, offset: u64) -> Option<Chunk> {
        let from = self.chunks.partition_point(|chunk| chunk.end() <= offset);
        self.chunks.iter().skip(from).find(|chunk| chunk.paths & 1 << path == 0).copied()
    }

    /// One more path carries the chunk at `start`; it waits for none any more.
    pub fn note_sent(&mut self, start: u64, path: usize) {
        if let Some(chunk) = self.chunk_mut(start) {
            chunk.paths |= 1 << path;
            chunk.is_queued = false;
        }
    }

    /// Queue the oldest chunk for another path.
    pub fn queue_head(&mut self) {
        if let Some(head) = self.chunks.front_mut() {
            queue(&mut self.reinjections, head);
        }
    }

    /// Queue every chunk on `path` that it still `holds` (by start) and no path of `others` carries: there TCP delivers it.
    pub fn queue_held(&mut self, path: usize, others: u32, holds: impl Fn(u64) -> bool) {
        for chunk in &mut self.chunks {
            if chunk.paths & 1 << path != 0 && chunk.paths & others == 0 && holds(chunk.start) {
                queue(&mut self.reinjections, chunk);
            }
        }
    }

    pub fn forget_path(&mut self, path: usize) {
        self.chunks.iter_mut().for_each(|chunk| chunk.paths &= !(1 << path));
    }

    /// The first chunk to reinject that still needs it.
    pub fn next_reinjection(&mut self) -> Option<Chunk> {
        while let Some(&start) = self.reinjections.front() {
            match self.chunk_mut(start) {
                Some(chunk) if chunk.start == start && chunk.is_queued => return Some(*chunk),
                _ => self.reinjections.pop_front(),
            };
        }
        None
    }

    fn chunk_mut(&mut self, offset: u64) -> Option<&mut Chunk> {
        let index = self.chunks.partition_point(|chunk| chunk.end() <= offset);
        self.chunks.get_mut(index).filter(|chunk| chunk.start <= offset)
    }
}

/// The oldest first, since the reader waits for it (`__mptcp_reinject_data` of the out-of-tree kernel keeps its queue in
/// this order; upstream retransmits from the head).
fn queue(reinjections: &mut VecDeque<u64>, chunk: &mut Chunk) {
    if !chunk.is_queued {
        chunk.is_queued = true;
        let place = reinjections.partition_point(|&queued| queued < chunk.start);
        // A chunk that has been sent in the meantime may still be queued.
        if reinjections.get(place) != Some(&chunk.start) {
            reinjections.insert(place, chunk.start);
        }
    }
}

#[cfg(test)]
mod tests;
