//! The received parts of a stream, over any path and in any order: offsets, the end, and how long data waited behind a gap. MPTCP's
//! receiver uses it; the bytes and the window belong to the receiver.
//!
//! Reference: RFC 8684 §3.3.
//! Units: data offsets from 0; the end of the stream counts one. Tested by `tests/mptcp.rs`.

use crate::tcp::Reassembly;
use playpath_units::{Duration, Time};

#[derive(Debug, Default)]
pub struct Arrivals {
    reassembly: Reassembly,
    fin: Option<u64>,
    /// Data waits behind a gap since.
    blocked_since: Option<Time>,
    blocked_time: Duration,
    max_out_of_order: u64,
}

impl Arrivals {
    /// Next expected offset; one beyond the end once the end has arrived.
    pub fn next(&self) -> u64 {
        self.reassembly.next()
    }
    /// Bytes that have arrived with all before them.
    pub fn in_order(&self) -> u64 {
        self.next().min(self.fin.unwrap_or(u64::MAX))
    }
    /// Offset of the end of the stream, once known.
    pub fn fin(&self) -> Option<u64> {
        self.fin
    }
    /// The end and everything before it arrived.
    pub fn is_finished(&self) -> bool {
        self.fin.is_some_and(|fin| self.next() > fin)
    }
    pub fn pieces(&self) -> usize {
        self.reassembly.pieces()
    }
    pub fn out_of_order_bytes(&self) -> u64 {
        self.reassembly.out_of_order_bytes()
    }
    /// Most of them at any time.
    pub fn max_out_of_order(&self) -> u64 {
        self.max_out_of_order
    }
    /// Time that data waited behind a gap, up to `now`.
    pub fn blocked_time(&self, now: Time) -> Duration {
        self.blocked_time + self.blocked_since.map_or(Duration::ZERO, |since| now.saturating_since(since))
    }

    pub fn insert(&mut self, now: Time, start: u64, end: u64) {
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
            self.max_out_of_order = self.max_out_of_order.max(self.out_of_order_bytes());
        }
    }

    /// Note that the stream ends at `at`. Returns `false`, without any change, if that contradicts earlier data.
    pub fn insert_fin(&mut self, now: Time, at: u64) -> bool {
        if self.fin.is_none() && at >= self.reassembly.highest() {
            self.fin = Some(at);
        }
        let is_it = self.fin == Some(at);
        if is_it {
            self.insert(now, at, at + 1);
        }
        is_it
    }
}
