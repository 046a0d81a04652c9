//! The receiving half of the data level: what has arrived, what the window tells the peer, how long data waited behind a gap.
//!
//! Reference: RFC 8684 §3.3 (DATA_ACK, DATA_FIN, connection-level window).
//! Differences from the reference:
//! 1. Offsets count payload bytes from 0 inside; the wire adds the initial data sequence number and one (for MP_CAPABLE).
//! 2. The right edge of the window never moves back.
//!
//! Units: data offsets; the DATA_FIN counts one. Tested by `tests/mptcp.rs`.

use crate::tcp::Reassembly;
use playpath_units::{Duration, Time};

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
    /// Right edge of the window as told.
    pub fn edge(&self) -> u64 {
        self.advertised
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
