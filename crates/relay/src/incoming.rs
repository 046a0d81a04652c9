//! The receiving half of a session: pieces from any path in any order, handed out once and in order.
//!
//! Reference: RFC 8684 §3.3 in spirit. Memory: bytes between what the application has taken and the window's edge, and at most a page
//! before and after them; what lies beyond the edge is an error of the peer.
//! Units: data offsets in bytes; the end of the stream counts one. Tested here and by `tests/any_path_death.rs`.

use playpath_transport::mptcp::level::Arrivals;
use playpath_units::Time;
use std::collections::BTreeMap;

/// Most pieces held behind gaps: a peer that cuts the stream into single bytes is refused before it costs more than they are worth.
const MAX_PIECES: usize = 1 << 14;
/// Bytes of a page.
const PAGE: usize = 16 << 10;

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
    /// What has arrived.
    pub arrivals: Arrivals,
    bytes: Pages,
    taken: u64,
    /// Right edge last told to the peer.
    advertised: u64,
}

impl Incoming {
    /// Takes up to `buffer` bytes beyond what the application has taken; the peer knows of `edge` at first.
    pub fn new(buffer: u64, edge: u64) -> Incoming {
        let buffer = buffer.max(edge);
        Incoming { buffer, arrivals: Arrivals::default(), bytes: Pages::default(), taken: 0, advertised: edge }
    }

    /// Takes up to `buffer` bytes from now on; what the peer was told holds.
    pub fn set_buffer(&mut self, buffer: u64) {
        self.buffer = buffer;
    }
    /// So much has changed that the peer should hear of it.
    pub fn is_much(&self, bytes: u64) -> bool {
        bytes >= self.buffer / 4
    }
    /// Bytes in order: the first part of them (they lie in pages).
    pub fn readable(&self) -> &[u8] {
        self.bytes.first(self.taken, self.arrivals.in_order())
    }
    /// The application took so many.
    pub fn consume(&mut self, bytes: usize) {
        self.taken += bytes as u64;
        self.bytes.forget_before(self.taken);
    }
    /// Bytes the application has taken.
    pub fn taken(&self) -> u64 {
        self.taken
    }
    /// The end has arrived, and the application has taken all before it.
    pub fn is_done(&self) -> bool {
        self.arrivals.fin() == Some(self.taken)
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

    /// Bytes from `start` on arrived. Error: the peer broke a rule.
    pub fn insert(&mut self, now: Time, start: u64, bytes: &[u8]) -> Result<(), Broken> {
        let end = start.checked_add(bytes.len() as u64).ok_or(Broken::Overflow(start))?;
        if end > self.advertised {
            return Err(Broken::BeyondWindow { end, edge: self.advertised });
        }
        if self.arrivals.fin().is_some_and(|fin| end > fin) {
            return Err(Broken::BeyondEnd(end));
        }
        if start > self.arrivals.next() && self.arrivals.pieces() >= MAX_PIECES {
            return Err(Broken::TooManyPieces);
        }
        let from = start.max(self.arrivals.next());
        if from < end {
            self.bytes.write(from, &bytes[(from - start) as usize..]);
        }
        self.arrivals.insert(now, start, end);
        Ok(())
    }

    /// The stream ends at `end`. Error: that contradicts what came before.
    pub fn insert_fin(&mut self, now: Time, end: u64) -> Result<(), Broken> {
        if self.arrivals.insert_fin(now, end) { Ok(()) } else { Err(Broken::OtherEnd(end)) }
    }
}

/// Bytes by their offset; what was written twice is what was written last.
#[derive(Debug, Default)]
struct Pages(BTreeMap<u64, Box<[u8; PAGE]>>);

impl Pages {
    fn write(&mut self, mut at: u64, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (page, offset) = place(at);
            let (now, later) = bytes.split_at(bytes.len().min(PAGE - offset));
            let page = self.0.entry(page).or_insert_with(|| Box::new([0; PAGE]));
            page[offset..offset + now.len()].copy_from_slice(now);
            at += now.len() as u64;
            bytes = later;
        }
    }

    /// What lies in one page of the bytes from `from` to `to`.
    fn first(&self, from: u64, to: u64) -> &[u8] {
        let (page, offset) = place(from);
        let length = (to - from).min((PAGE - offset) as u64) as usize;
        self.0.get(&page).map_or(&[], |page| &page[offset..offset + length])
    }

    fn forget_before(&mut self, offset: u64) {
        self.0 = self.0.split_off(&place(offset).0);
    }
}

/// The page of a byte, and where in it.
fn place(at: u64) -> (u64, usize) {
    (at / PAGE as u64, (at % PAGE as u64) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use playpath_units::Duration;
    use proptest::prelude::*;

    proptest! {
        /// Any overlapping pieces in any order: in order, once each, and the count of held bytes is right.
        #[test]
        fn any_pieces_make_the_stream(pieces in prop::collection::vec((0usize..200, 1usize..60), 1..80)) {
            let stream: Vec<u8> = (0..260).map(|i| i as u8).collect();
            let mut incoming = Incoming::new(1000, 1000);
            for &(start, len) in &pieces {
                incoming.insert(Time::ZERO, start as u64, &stream[start..start + len]).unwrap();
            }
            let mut covered = 0;
            while let Some(&(start, len)) = pieces.iter().find(|&&(start, len)| start <= covered && start + len > covered) {
                covered = start + len;
            }
            prop_assert_eq!(incoming.arrivals.next(), covered as u64);
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
        assert_eq!((incoming.arrivals.next(), incoming.arrivals.most_out_of_order()), (0, 2));
        incoming.insert(Time::from_secs(3), 0, b"ab").unwrap();
        assert_eq!(incoming.arrivals.blocked_time(Time::from_secs(9)), Duration::from_secs(2));
        assert_eq!(incoming.insert(Time::ZERO, 4, b"0123456").unwrap_err(), Broken::BeyondWindow { end: 11, edge: 10 });
        incoming.consume(4);
        assert_eq!((incoming.edge(), incoming.advertised()), (14, 10));
        incoming.note_advertised();
        incoming.insert_fin(Time::ZERO, 4).unwrap();
        assert!(incoming.is_done());
        assert_eq!(incoming.arrivals.next(), 5);
        assert!(incoming.insert(Time::ZERO, 4, b"x").is_err());
        assert!(incoming.insert_fin(Time::ZERO, 6).is_err());
    }

    /// A stream of several pages, its halves in reverse order: page by page, and none is kept that was taken.
    #[test]
    fn pages_follow_each_other_and_go() {
        let stream: Vec<u8> = (0..5 * PAGE / 2).map(|i| (i / 7) as u8).collect();
        let (first, second) = stream.split_at(PAGE + 3);
        let mut incoming = Incoming::new(1 << 20, 1 << 20);
        incoming.insert(Time::ZERO, first.len() as u64, second).unwrap();
        assert!(incoming.readable().is_empty());
        incoming.insert(Time::ZERO, 0, first).unwrap();
        let mut got = Vec::new();
        while !incoming.readable().is_empty() {
            got.extend_from_slice(incoming.readable());
            incoming.consume(incoming.readable().len());
        }
        assert_eq!(got, stream);
        assert_eq!(incoming.bytes.0.len(), 1, "the page that is not full");
    }

    #[test]
    fn single_bytes_with_gaps_are_refused_in_the_end() {
        let mut incoming = Incoming::new(1 << 20, 1 << 20);
        let mut byte = |i: usize| incoming.insert(Time::ZERO, 2 * i as u64 + 1, b"x");
        assert!((0..MAX_PIECES).all(|i| byte(i).is_ok()));
        assert_eq!(byte(MAX_PIECES).unwrap_err(), Broken::TooManyPieces);
    }
}
