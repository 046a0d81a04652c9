//! The sending half of a session: what the application wrote, which piece went to which path, what is acknowledged.
//!
//! Reference: RFC 8684 §3.3 in spirit (data sequence numbers, DATA_ACK, connection-level window), over records.
//! Differences: an acknowledgement is a record of its own; there is no checksum; the right edge never moves back.
//!
//! Units: data offsets in bytes; the end of the stream counts one. Invariants: una ≤ next ≤ written (+1 after the end was sent);
//! pieces are contiguous from una (of whole pieces) to next. Bytes are kept until the peer has acknowledged them here, not
//! only at TCP: that is why the death of a path costs nothing.
//! Tested here and by `tests/any_path_death.rs`.

use std::collections::VecDeque;

/// A piece given to at least one path and not acknowledged by the peer's relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Offset of its first byte.
    pub start: u64,
    /// Bytes; the end of the stream is a piece without any.
    pub len: u32,
    /// Live connections that carry it, a bit per path.
    pub paths: u32,
    is_queued: bool,
}

impl Piece {
    /// It is the end of the stream.
    pub fn is_fin(&self) -> bool {
        self.len == 0
    }
    fn end(&self) -> u64 {
        self.start + u64::from(self.len.max(1))
    }
}

/// See the module.
#[derive(Debug)]
pub struct Outgoing {
    buffer: u64,
    /// Bytes from `una` on.
    bytes: VecDeque<u8>,
    /// Offset of the first byte in `bytes`.
    base: u64,
    una: u64,
    next: u64,
    edge: u64,
    is_closing: bool,
    pieces: VecDeque<Piece>,
    reinjections: VecDeque<u64>,
}

impl Outgoing {
    /// Keeps up to `buffer` bytes; the peer takes `edge` bytes before it says more.
    pub fn new(buffer: u64, edge: u64) -> Outgoing {
        Outgoing {
            buffer,
            bytes: VecDeque::new(),
            base: 0,
            una: 0,
            next: 0,
            edge,
            is_closing: false,
            pieces: VecDeque::new(),
            reinjections: VecDeque::new(),
        }
    }

    /// Bytes that may be written now.
    pub fn space(&self) -> usize {
        if self.is_closing { 0 } else { (self.buffer as usize).saturating_sub(self.bytes.len()) }
    }

    /// Append to the stream.
    pub fn write(&mut self, bytes: &[u8]) {
        debug_assert!(bytes.len() <= self.space());
        self.bytes.extend(bytes);
    }

    /// The stream ends here.
    pub fn close(&mut self) {
        self.is_closing = true;
    }

    /// Bytes written so far.
    pub fn written(&self) -> u64 {
        self.base + self.bytes.len() as u64
    }
    /// First offset not acknowledged.
    pub fn una(&self) -> u64 {
        self.una
    }
    /// Bytes written and given to no path.
    pub fn unscheduled(&self) -> u64 {
        self.written().saturating_sub(self.next)
    }
    /// Bytes that the window takes beyond those sent.
    pub fn window_left(&self) -> u64 {
        self.edge.saturating_sub(self.next)
    }
    /// The whole window.
    pub fn window(&self) -> u64 {
        self.edge.saturating_sub(self.una)
    }
    /// Something is sent and not acknowledged.
    pub fn has_outstanding(&self) -> bool {
        !self.pieces.is_empty()
    }
    /// The end of the stream has not been given to a path, and nothing else is left.
    pub fn is_fin_due(&self) -> bool {
        self.is_closing && self.next == self.written()
    }
    /// The peer has everything, the end included.
    pub fn is_done(&self) -> bool {
        self.is_closing && self.una > self.written()
    }
    /// The oldest piece.
    pub fn head(&self) -> Option<Piece> {
        self.pieces.front().copied()
    }

    /// An acknowledgement. `None`: of what was never sent. Otherwise whether it is progress.
    pub fn on_ack(&mut self, next: u64, edge: u64) -> Option<bool> {
        if next > self.next {
            return None;
        }
        self.edge = self.edge.max(edge);
        if next <= self.una {
            return Some(false);
        }
        self.una = next;
        while self.pieces.front().is_some_and(|piece| piece.end() <= next) {
            self.pieces.pop_front();
        }
        let kept = next.min(self.written());
        self.bytes.drain(..(kept - self.base) as usize);
        self.base = kept;
        Some(true)
    }

    /// Give the next `len` bytes (0: the end of the stream) to `path`.
    pub fn take_new(&mut self, len: u32, path: usize) -> Piece {
        let piece = Piece { start: self.next, len, paths: 1 << path, is_queued: false };
        self.next = piece.end();
        self.pieces.push_back(piece);
        piece
    }

    /// Append the bytes of a piece; what is acknowledged meanwhile is left out. Returns the first byte's offset.
    pub fn copy(&self, piece: &Piece, out: &mut Vec<u8>) -> u64 {
        let start = piece.start.max(self.base);
        let end = (piece.start + u64::from(piece.len)).max(start);
        let range = (start - self.base) as usize..(end - self.base) as usize;
        let (first, second) = self.bytes.as_slices();
        let split = first.len();
        out.extend_from_slice(&first[range.start.min(split)..range.end.min(split)]);
        out.extend_from_slice(&second[range.start.max(split) - split..range.end.max(split) - split]);
        start
    }

    /// The oldest piece from `offset` on that `path` does not carry.
    pub fn first_not_on(&self, path: usize, offset: u64) -> Option<Piece> {
        let from = self.pieces.partition_point(|piece| piece.end() <= offset);
        self.pieces.iter().skip(from).find(|piece| piece.paths & 1 << path == 0).copied()
    }

    /// One more path carries the piece at `start`.
    pub fn note_sent(&mut self, start: u64, path: usize) {
        if let Some(piece) = self.piece_mut(start) {
            piece.paths |= 1 << path;
            piece.is_queued = false;
        }
    }

    /// Queue the piece at `start` for another path.
    pub fn queue_reinjection(&mut self, start: u64) {
        if let Some(piece) = self.piece_mut(start)
            && !piece.is_queued
        {
            piece.is_queued = true;
            let start = piece.start;
            let place = self.reinjections.partition_point(|&queued| queued < start);
            self.reinjections.insert(place, start);
        }
    }

    /// Queue everything that `path` carries and no path of `others` does. With `is_gone`, the path's copies count no more.
    pub fn queue_of_path(&mut self, path: usize, others: u32, is_gone: bool) {
        let starts: Vec<u64> = self
            .pieces
            .iter()
            .filter(|piece| piece.paths & 1 << path != 0 && piece.paths & others & !(1 << path) == 0)
            .map(|piece| piece.start)
            .collect();
        if is_gone {
            self.pieces.iter_mut().for_each(|piece| piece.paths &= !(1 << path));
        }
        starts.into_iter().for_each(|start| self.queue_reinjection(start));
    }

    /// The oldest piece that waits for reinjection.
    pub fn next_reinjection(&mut self) -> Option<Piece> {
        while let Some(&start) = self.reinjections.front() {
            match self.piece_mut(start) {
                Some(piece) if piece.start == start && piece.is_queued => return Some(*piece),
                _ => self.reinjections.pop_front(),
            };
        }
        None
    }

    fn piece_mut(&mut self, offset: u64) -> Option<&mut Piece> {
        let index = self.pieces.partition_point(|piece| piece.end() <= offset);
        self.pieces.get_mut(index).filter(|piece| piece.start <= offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten bytes in pieces of 4, 4 and 2 on paths 0, 1, 0; path 0 dies after 3 bytes were acknowledged: bytes 3, 8 and 9 are
    /// carried nowhere, and the first piece is sent again without what is acknowledged.
    #[test]
    fn a_dead_path_gives_back_what_it_held() {
        let mut out = Outgoing::new(100, 100);
        out.write(b"0123456789");
        out.take_new(4, 0);
        out.take_new(4, 1);
        out.take_new(2, 0);
        assert_eq!(out.on_ack(3, 100), Some(true));
        assert_eq!(out.space(), 93);
        out.queue_of_path(0, 0b10, true);
        let mut sent = Vec::new();
        while let Some(piece) = out.next_reinjection() {
            let mut bytes = Vec::new();
            let start = out.copy(&piece, &mut bytes);
            sent.push((start, String::from_utf8(bytes).unwrap()));
            out.note_sent(piece.start, 1);
        }
        assert_eq!(sent, [(3, "3".to_string()), (8, "89".to_string())]);
        assert_eq!(out.head().unwrap().paths, 0b10);
    }

    #[test]
    fn the_end_counts_one() {
        let mut out = Outgoing::new(100, 100);
        out.write(b"ab");
        out.close();
        assert!(!out.is_fin_due());
        out.take_new(2, 0);
        assert!(out.is_fin_due());
        assert!(out.take_new(0, 0).is_fin());
        assert_eq!(out.on_ack(2, 100), Some(true));
        assert!(!out.is_done());
        assert_eq!(out.on_ack(4, 100), None, "never sent");
        assert_eq!(out.on_ack(3, 100), Some(true));
        assert!(out.is_done() && !out.has_outstanding());
    }
}
