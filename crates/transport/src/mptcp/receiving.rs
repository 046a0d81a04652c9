//! The receiving half of the data level: received data, the advertised window, and how long data waited behind a gap.
//!
//! Reference: RFC 8684 §3.3 (DATA_ACK, DATA_FIN, connection-level window).
//! Differences from the reference:
//! 1. Offsets count payload bytes from 0 inside; the wire adds the initial data sequence number and one (for MP_CAPABLE).
//! 2. The right edge of the window never moves back.
//!
//! Linux's auto-tuning (`mptcp_rcv_space_adjust`, 6.18) is TCP's (`tcp/receiver/autotuning.rs`) over the longest round trip of the
//! subflows, with these differences: all that is read counts, also while more waits, but a call takes no more than 64 kB, as the client
//! of the real worlds does; data out of order take room, but do not let the buffer grow; a subflow that has not brought data yet halves
//! what payload takes of the memory. The threshold that segments raise (`rcv_ssthresh`) is one of each subflow, within a buffer of its
//! own, and each advertises a window within its own threshold; the right edge is the farthest that any has advertised (`mptcp_set_rwin`).
//!
//! Units: data offsets; the DATA_FIN counts one. Tested by `tests/mptcp.rs`.

use super::MAX_PATHS;
use super::level::Arrivals;
use crate::tcp::receiver::AutoTuning;
use playpath_units::{Duration, Time};

/// Most bytes that one call takes.
const CALL: u64 = 1 << 16;

#[derive(Debug)]
pub(crate) struct DataReceiver {
    pub arrivals: Arrivals,
    read: u64,
    buffer: u64,
    advertised: u64,
    mss: u32,
    tuning: Option<AutoTuning>,
    /// The longest round trip of the subflows, and whether one of them has not brought data yet.
    rtt: Duration,
    is_one_silent: bool,
    /// The window last advertised over each path.
    advertised_windows: [u32; MAX_PATHS],
    /// Each subflow's threshold.
    thresholds: [u64; MAX_PATHS],
}

impl DataReceiver {
    /// `is_tuned`: the window starts small and grows with the data read, up to the `buffer`, as in Linux.
    pub fn new(buffer: u64, mss: u32, is_tuned: bool) -> DataReceiver {
        let mut tuning = is_tuned.then(|| AutoTuning::new(mss, buffer));
        tuning.iter_mut().for_each(|tuning| tuning.follow(Duration::ZERO, true));
        let advertised = tuning.as_ref().map_or(buffer, |tuning| tuning.window(0, 0));
        DataReceiver {
            arrivals: Arrivals::default(),
            read: 0,
            buffer,
            advertised,
            mss,
            tuning,
            rtt: Duration::ZERO,
            is_one_silent: true,
            advertised_windows: [0; MAX_PATHS],
            thresholds: [advertised; MAX_PATHS],
        }
    }

    /// Data arrived over `path`: its subflow's threshold; and, asked for only where the window may follow by it, the longest round trip
    /// of all and whether one has not brought data yet.
    #[inline(always)]
    pub fn tune(&mut self, now: Time, path: usize, threshold: u64, subflows: impl FnOnce() -> (Duration, bool)) {
        if let Some(tuning) = &mut self.tuning {
            tuning.note_arrival(now);
            tuning.raise_threshold(threshold);
            self.thresholds[path] = threshold;
            if tuning.may_follow() {
                (self.rtt, self.is_one_silent) = subflows();
            }
        }
    }

    /// The window follows what is read; so does that of each subflow.
    pub fn is_tuned(&self) -> bool {
        self.tuning.is_some()
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
        // Never beyond the advertised window, nor beyond the end.
        let stream_end = self.arrivals.fin().unwrap_or(u64::MAX);
        self.arrivals.insert(now, start, end.min(self.advertised).min(stream_end));
    }

    /// Bytes that occupy the buffer: unread, or out of order.
    fn held(&self) -> u64 {
        self.readable() + self.arrivals.out_of_order_bytes()
    }

    /// Take up to `max` bytes. The second value is whether the window has opened far enough for an update to the peer. `on_growth` is
    /// called with the bytes read in a round trip if the buffer grew.
    #[inline(always)]
    pub fn read(&mut self, max: u64, on_growth: impl FnOnce(u64)) -> (u64, bool) {
        let taken = self.readable().min(max);
        let offered = self.advertised - self.arrivals.next().min(self.advertised);
        let first_call = self.read + taken.min(CALL);
        self.read += taken;
        let held = self.held();
        if let Some(tuning) = &mut self.tuning {
            if taken > 0 {
                tuning.follow(self.rtt, self.is_one_silent);
                tuning.on_read(first_call, 0, 0).map(on_growth);
            }
            let could = tuning.window(held, self.mss);
            return (taken, taken > 0 && 2 * offered <= tuning.capacity() && could > 0 && could >= 2 * offered);
        }
        let could = (self.read + self.buffer) - self.arrivals.next().min(self.read + self.buffer);
        let step = (self.buffer / 2).min(u64::from(self.mss));
        (taken, taken > 0 && could >= offered + step && could >= 2 * offered)
    }

    /// Whether, with `payload` more bytes in the buffer, a window at least as wide as the last one over `path` can be advertised.
    #[inline(always)]
    pub fn can_advertise_as_much(&self, path: usize, payload: u32) -> bool {
        let held = self.held() + u64::from(payload);
        self.tuning
            .as_ref()
            .is_none_or(|tuning| self.window_of(tuning, path, held) >= self.advertised_windows[path].into())
    }

    /// The window last advertised over `path`.
    pub fn advertised_window(&self, path: usize) -> u32 {
        self.advertised_windows[path]
    }

    /// No received data waits, neither for the reader nor behind a gap.
    pub fn is_empty(&self) -> bool {
        self.held() == 0
    }

    /// The window within the threshold of the subflow of `path`.
    fn window_of(&self, tuning: &AutoTuning, path: usize, held: u64) -> u64 {
        tuning.window(held, self.mss).min(self.thresholds[path])
    }

    /// Window to advertise with an ACK over `path`; moves the right edge in steps of a segment.
    #[inline(always)]
    pub fn window(&mut self, path: usize) -> u32 {
        self.advertised_windows[path] = self.window_now(path);
        self.advertised_windows[path]
    }

    #[inline(always)]
    fn window_now(&mut self, path: usize) -> u32 {
        if let Some(tuning) = &self.tuning {
            let next = self.arrivals.next();
            self.advertised = self.advertised.max(next + self.window_of(tuning, path, self.held()));
            return (self.advertised - next.min(self.advertised)).min(u64::from(u32::MAX)) as u32;
        }
        let edge = self.read + self.buffer;
        if edge >= self.advertised + (self.buffer / 2).min(u64::from(self.mss)) {
            self.advertised = edge;
        }
        (self.advertised - self.arrivals.next().min(self.advertised)).min(u64::from(u32::MAX)) as u32
    }
}

#[cfg(test)]
mod tests;
