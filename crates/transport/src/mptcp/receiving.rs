//! The receiving half of the data level: what has arrived, what the window tells the peer, how long data waited behind a gap.
//!
//! Reference: RFC 8684 §3.3 (DATA_ACK, DATA_FIN, connection-level window).
//! Differences from the reference:
//! 1. Offsets count payload bytes from 0 inside; the wire adds the initial data sequence number and one (for MP_CAPABLE).
//! 2. The right edge of the window never moves back.
//!
//! Linux's auto-tuning (`mptcp_rcv_space_adjust`, 6.18) is TCP's (`tcp/receiver/autotuning.rs`) over the longest round trip of the
//! subflows, with this difference: data out of order neither take room nor let the buffer grow. The threshold that segments raise
//! (`rcv_ssthresh`) is one of each subflow, and the right edge is the farthest that any of them tells (`mptcp_set_rwin`).
//!
//! Units: data offsets; the DATA_FIN counts one. Tested by `tests/mptcp.rs`.

use super::MptcpConfig;
use super::level::Arrivals;
use crate::tcp::receiver::AutoTuning;
use playpath_units::{Duration, Time};

#[derive(Debug)]
pub(crate) struct DataReceiver {
    pub arrivals: Arrivals,
    read: u64,
    buffer: u64,
    advertised: u64,
    mss: u32,
    tuning: Option<AutoTuning>,
    thresholds: Vec<u64>,
}

impl DataReceiver {
    pub fn new(config: &MptcpConfig, mss: u32) -> DataReceiver {
        let buffer = config.receive_buffer;
        let tuning = config.has_tuned_window.then(|| AutoTuning::new(mss, buffer));
        let advertised = tuning.as_ref().map_or(buffer, |tuning| tuning.window(0, 0));
        DataReceiver { arrivals: Arrivals::default(), read: 0, buffer, advertised, mss, tuning, thresholds: Vec::new() }
    }

    /// The window follows what is read.
    pub fn is_tuned(&self) -> bool {
        self.tuning.is_some()
    }

    /// A segment brought `payload` over `path`; `rtt` is the longest of the subflows. Did the subflow's window grow?
    pub fn tune(&mut self, now: Time, path: usize, payload: u32, rtt: Duration) -> bool {
        let Some(tuning) = &mut self.tuning else { return false };
        tuning.note_arrival(now);
        tuning.set_rtt(rtt);
        if self.thresholds.len() <= path {
            self.thresholds.resize(path + 1, tuning.first_threshold());
        }
        tuning.grows_subflow(&mut self.thresholds[path], payload)
    }

    /// Payload of a full segment.
    pub fn mss(&self) -> u32 {
        self.mss
    }
    pub fn readable(&self) -> u64 {
        self.arrivals.in_order() - self.read
    }
    /// Right edge of the window as advertised.
    pub fn edge(&self) -> u64 {
        self.advertised
    }

    /// The data `[start, end)` arrived, in order in its subflow.
    #[inline(always)]
    pub fn insert(&mut self, now: Time, start: u64, end: u64) {
        // Never beyond what was offered, nor beyond the end.
        let stream_end = self.arrivals.fin().unwrap_or(u64::MAX);
        self.arrivals.insert(now, start, end.min(self.advertised).min(stream_end));
    }

    /// Take up to `max` bytes. The second value: whether the window has opened far enough for an update to the peer.
    #[inline(always)]
    pub fn read(&mut self, max: u64) -> (u64, bool) {
        let taken = self.readable().min(max);
        let offered = self.advertised - self.arrivals.next().min(self.advertised);
        self.read += taken;
        if let Some(tuning) = &mut self.tuning {
            let next = self.arrivals.in_order().max(self.read);
            tuning.on_read(self.read, next);
            let could = tuning.window(next - self.read, self.mss);
            return (taken, taken > 0 && 2 * offered <= tuning.capacity() && could > 0 && could >= 2 * offered);
        }
        let could = (self.read + self.buffer) - self.arrivals.next().min(self.read + self.buffer);
        let step = (self.buffer / 2).min(u64::from(self.mss));
        (taken, taken > 0 && could >= offered + step && could >= 2 * offered)
    }

    /// Window to tell with an ACK; moves the right edge in steps of a segment.
    #[inline(always)]
    pub fn window(&mut self) -> u32 {
        if let Some(tuning) = &self.tuning {
            let next = self.arrivals.next();
            self.advertised = self.advertised.max(next + tuning.window(self.readable(), self.mss));
            return (self.advertised - next.min(self.advertised)).min(u64::from(u32::MAX)) as u32;
        }
        let edge = self.read + self.buffer;
        if edge >= self.advertised + (self.buffer / 2).min(u64::from(self.mss)) {
            self.advertised = edge;
        }
        (self.advertised - self.arrivals.next().min(self.advertised)).min(u64::from(u32::MAX)) as u32
    }
}
