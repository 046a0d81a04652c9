//! The receiving half of a session: pieces from any path in any order, handed out once and in order.
//!
//! Reference: RFC 8684 §3.3 in spirit. Memory: bytes between what the application has taken and the window's edge, and no more;
//! what lies beyond the edge is an error of the peer.
//! Units: data offsets in bytes; the end of the stream counts one. Tested here and by `tests/any_path_death.rs`.

use playpath_units::{Duration, Time};
use std::collections::{BTreeMap, VecDeque};

/// Most pieces held behind gaps: a peer that cuts the stream into single bytes is refused before the map outgrows the bytes.
const MAX_PIECES: usize = 1 << 16;

/// The peer broke a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum Broken {
    #[error("data at {0}, which ends beyond 2^64")]
    Overflow(u64),
    #[error("data up to {end}, beyond the window's edge at {edge}")]
    BeyondWindow { end: u64, edge: u64 },
    #[error("data up to {0}, beyond the end of the stream")]
    BeyondEnd(u64),
    #[error("an end of the stream at {0} that contradicts what came before")]
    OtherEnd(u64),
    #[error("more than {MAX_PIECES} pieces out of order")]
    TooManyPieces,
    #[error("an acknowledgement of {0}, which was never sent")]
    NeverSent(u64),
    #[error("a record \"{0}\" in the middle of a session")]
    OutOfPlace(&'static str),
}

/// See the module.
#[derive(Debug)]
pub struct Incoming {
    buffer: u64,
    ready: VecDeque<u8>,
    /// Offset of the first byte in `ready`.
    taken: u64,
    /// Behind a gap, by offset; no overlaps.
    pieces: BTreeMap<u64, Vec<u8>>,
    held: u64,
    most_held: u64,
    fin: Option<u64>,
    /// Right edge last told to the peer.
    advertised: u64,
    blocked_since: Option<Time>,
    blocked_time: Duration,
}

impl Incoming {
    /// Takes up to `buffer` bytes beyond what the application has taken; the peer knows of `edge` at first.
    pub fn new(buffer: u64, edge: u64) -> Incoming {
        Incoming {
            buffer: buffer.max(edge),
            ready: VecDeque::new(),
            taken: 0,
            pieces: BTreeMap::new(),
            held: 0,
            most_held: 0,
            fin: None,
            advertised: edge,
            blocked_since: None,
            blocked_time: Duration::ZERO,
        }
    }

    /// Takes up to `buffer` bytes from now on; what the peer was told holds.
    pub fn set_buffer(&mut self, buffer: u64) {
        self.buffer = buffer;
    }
    /// So much has changed that the peer should hear of it.
    pub fn is_much(&self, bytes: u64) -> bool {
        bytes >= self.buffer / 4
    }
    /// Next offset expected; one beyond the end when the end has arrived, too.
    pub fn next(&self) -> u64 {
        let next = self.taken + self.ready.len() as u64;
        next + u64::from(self.fin == Some(next))
    }
    /// Bytes in order: the first part of them (they lie in a ring).
    pub fn readable(&self) -> &[u8] {
        let (first, second) = self.ready.as_slices();
        if first.is_empty() { second } else { first }
    }
    /// The application took so many.
    pub fn consume(&mut self, bytes: usize) {
        self.ready.drain(..bytes);
        self.taken += bytes as u64;
    }
    /// Bytes the application has taken.
    pub fn taken(&self) -> u64 {
        self.taken
    }
    /// The end has arrived, and the application has taken all before it.
    pub fn is_done(&self) -> bool {
        self.fin == Some(self.taken)
    }
    /// The right edge that may be told now.
    pub fn edge(&self) -> u64 {
        (self.taken + self.buffer).max(self.advertised)
    }
    /// Right edge last told.
    pub fn advertised(&self) -> u64 {
        self.advertised
    }
    /// The peer is being told of [`edge`](Self::edge).
    pub fn note_advertised(&mut self) {
        self.advertised = self.edge();
    }
    /// Most bytes ever held behind a gap.
    pub fn most_held(&self) -> u64 {
        self.most_held
    }
    /// Time that data waited behind a gap, up to `now`.
    pub fn blocked_time(&self, now: Time) -> Duration {
        self.blocked_time + self.blocked_since.map_or(Duration::ZERO, |since| now.saturating_since(since))
    }

    /// Bytes from `start` on arrived. Error: the peer broke a rule.
    pub fn insert(&mut self, now: Time, start: u64, bytes: &[u8]) -> Result<(), Broken> {
        let end = start.checked_add(bytes.len() as u64).ok_or(Broken::Overflow(start))?;
        if end > self.advertised {
            return Err(Broken::BeyondWindow { end, edge: self.advertised });
        }
        if self.fin.is_some_and(|fin| end > fin) {
            return Err(Broken::BeyondEnd(end));
        }
        let next = self.taken + self.ready.len() as u64;
        if end > next {
            if start <= next {
                self.ready.extend(&bytes[(next - start) as usize..]);
                self.join();
            } else {
                self.hold(start, bytes)?;
            }
        }
        self.watch_gap(now);
        Ok(())
    }

    /// The stream ends at `end`.
    pub fn insert_fin(&mut self, end: u64) -> Result<(), Broken> {
        let highest = self.pieces.last_key_value().map_or(0, |(start, bytes)| start + bytes.len() as u64);
        let arrived = highest.max(self.taken + self.ready.len() as u64);
        if self.fin.is_some_and(|fin| fin != end) || end < arrived {
            return Err(Broken::OtherEnd(end));
        }
        self.fin = Some(end);
        Ok(())
    }

    /// Keep what no held piece covers.
    fn hold(&mut self, start: u64, bytes: &[u8]) -> Result<(), Broken> {
        let end = start + bytes.len() as u64;
        let mut at = start;
        if let Some((before, held)) = self.pieces.range(..=start).next_back() {
            at = at.max(before + held.len() as u64);
        }
        while at < end {
            let (gap_end, then) = match self.pieces.range(at..).next() {
                Some((&next, held)) if next < end => (next, next + held.len() as u64),
                _ => (end, end),
            };
            if gap_end > at {
                if self.pieces.len() >= MAX_PIECES {
                    return Err(Broken::TooManyPieces);
                }
                self.pieces.insert(at, bytes[(at - start) as usize..(gap_end - start) as usize].to_vec());
                self.held += gap_end - at;
            }
            at = then;
        }
        self.most_held = self.most_held.max(self.held);
        Ok(())
    }

    /// Pieces that follow on what is in order.
    fn join(&mut self) {
        while let Some(entry) = self.pieces.first_entry() {
            let next = self.taken + self.ready.len() as u64;
            if *entry.key() > next {
                return;
            }
            let (start, bytes) = entry.remove_entry();
            self.held -= bytes.len() as u64;
            self.ready.extend(bytes.iter().skip((next - start) as usize));
        }
    }

    fn watch_gap(&mut self, now: Time) {
        match (self.pieces.is_empty(), self.blocked_since) {
            (true, Some(since)) => {
                self.blocked_time += now.saturating_since(since);
                self.blocked_since = None;
            }
            (false, None) => self.blocked_since = Some(now),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Any overlapping pieces in any order: in order, once each, and the count of held bytes is right.
        #[test]
        fn any_pieces_make_the_stream(pieces in prop::collection::vec((0usize..200, 1usize..60), 1..80)) {
            let stream: Vec<u8> = (0..260).map(|i| i as u8).collect();
            let mut incoming = Incoming::new(1000, 1000);
            for &(start, len) in &pieces {
                incoming.insert(Time::ZERO, start as u64, &stream[start..start + len]).unwrap();
                prop_assert_eq!(incoming.held, incoming.pieces.values().map(|p| p.len() as u64).sum::<u64>());
            }
            let mut covered = 0;
            while let Some(&(start, len)) = pieces.iter().find(|&&(start, len)| start <= covered && start + len > covered) {
                covered = start + len;
            }
            prop_assert_eq!(incoming.next(), covered as u64);
            let mut got = Vec::new();
            while !incoming.readable().is_empty() {
                got.extend_from_slice(incoming.readable());
                incoming.consume(incoming.readable().len());
            }
            prop_assert_eq!(&got[..], &stream[..covered]);
        }
    }

    #[test]
    fn window_end_and_gap() {
        let mut incoming = Incoming::new(10, 10);
        incoming.insert(Time::from_secs(1), 2, b"cd").unwrap();
        assert_eq!((incoming.next(), incoming.most_held()), (0, 2));
        incoming.insert(Time::from_secs(3), 0, b"ab").unwrap();
        assert_eq!(incoming.blocked_time(Time::from_secs(9)), Duration::from_secs(2));
        assert_eq!(incoming.insert(Time::ZERO, 4, b"0123456").unwrap_err(), Broken::BeyondWindow { end: 11, edge: 10 });
        incoming.consume(4);
        assert_eq!((incoming.edge(), incoming.advertised()), (14, 10));
        incoming.note_advertised();
        incoming.insert_fin(4).unwrap();
        assert!(incoming.is_done());
        assert_eq!(incoming.next(), 5);
        assert!(incoming.insert(Time::ZERO, 4, b"x").is_err());
        assert!(incoming.insert_fin(6).is_err());
    }
}
