//! The receiving half of the data level: what has arrived, what the window tells the peer, how long data waited behind a gap.
//!
//! Reference: RFC 8684 §3.3 (DATA_ACK, DATA_FIN, connection-level window).
//! Differences from the reference:
//! 1. Offsets count payload bytes from 0 inside; the wire adds the initial data sequence number and one (for MP_CAPABLE).
//! 2. The right edge of the window never moves back.
//!
//! Units: data offsets; the DATA_FIN counts one. Tested by `tests/mptcp.rs`.

use super::level::Arrivals;
use playpath_units::Time;

#[derive(Debug)]
pub(crate) struct DataReceiver {
    pub arrivals: Arrivals,
    read: u64,
    buffer: u64,
    advertised: u64,
    mss: u32,
}

impl DataReceiver {
    pub fn new(buffer: u64, mss: u32) -> DataReceiver {
        DataReceiver { arrivals: Arrivals::default(), read: 0, buffer, advertised: buffer, mss }
    }

    /// Payload of a full segment.
    pub fn mss(&self) -> u32 {
        self.mss
    }
    pub fn readable(&self) -> u64 {
        self.arrivals.in_order() - self.read
    }
    /// Right edge of the window as told.
    pub fn edge(&self) -> u64 {
        self.advertised
    }

    /// The data `[start, end)` arrived, in order in its subflow.
    pub fn insert(&mut self, now: Time, start: u64, end: u64) {
        // Never beyond what was offered, nor beyond the end.
        let stream_end = self.arrivals.fin().unwrap_or(u64::MAX);
        self.arrivals.insert(now, start, end.min(self.advertised).min(stream_end));
    }

    /// Take up to `max` bytes. The second value: the window has opened so far that the peer should be told.
    pub fn read(&mut self, max: u64) -> (u64, bool) {
        let taken = self.readable().min(max);
        let told = self.advertised - self.arrivals.next().min(self.advertised);
        self.read += taken;
        let could = (self.read + self.buffer) - self.arrivals.next().min(self.read + self.buffer);
        let step = (self.buffer / 2).min(u64::from(self.mss));
        (taken, taken > 0 && could >= told + step && could >= 2 * told)
    }

    /// Window to tell with an ACK; moves the right edge in steps of a segment.
    pub fn window(&mut self) -> u32 {
        let edge = self.read + self.buffer;
        if edge >= self.advertised + (self.buffer / 2).min(u64::from(self.mss)) {
            self.advertised = edge;
        }
        (self.advertised - self.arrivals.next().min(self.advertised)).min(u64::from(u32::MAX)) as u32
    }
}
