//! Linux's auto-tuning of the receive window: it begins at 64 kB and follows the amount read per round trip. A segment that lets the
//! window grow is acknowledged at once, so there is one ACK per segment in slow start, and delayed ACKs begin when the flow has reached
//! its rate. For a reader that is ahead and pauses, the socket holds as much as a Linux socket would, not the largest buffer allowed.
//!
//! Reference: behaviour of `tcp_grow_window`, `tcp_rcv_space_adjust`, `tcp_rcvbuf_grow` (Linux 6.18, `net/ipv4/tcp_input.c`) and
//! `__tcp_select_window` (`tcp_output.c`).
//! Differences from Linux:
//! 1. Data read is counted at the time of the last arrival.
//! 2. Memory per segment is that of a TUN device: payload takes 160/256 of it.
//! 3. With timestamps, the round trip is measured only by them, not also by how fast windows fill.
//! 4. The first round is over with the first sample; Linux counts it from the end of the handshake.
//!
//! Units: bytes of payload. Tested here; the packet scripts see it through `delayed_ack_*.pkt`.

use playpath_units::{Duration, Time};

/// The first window: what fits into 16 bits, in segments of 1460 bytes.
const FIRST_WINDOW: u64 = 64_240;
/// `tcp_rmem[1]` times the payload's share of memory.
const FIRST_CLAMP: u64 = 131_072 * 160 / 256;

#[derive(Debug)]
pub(crate) struct AutoTuning {
    mss: u32,
    /// `rcv_ssthresh`: grows with full segments.
    threshold: u64,
    /// `window_clamp`: grows with what is read in a round trip.
    clamp: u64,
    most: u64,
    /// Half of the memory counts as payload, not 160/256 of it.
    is_halved: bool,
    /// Read in the best round trip so far.
    space: u64,
    measured_from: u64,
    measured_at: Time,
    now: Time,
    /// RTT: with timestamps the smallest sample, smoothed upwards; without, the smallest; zero before the first sample.
    rtt: Duration,
    /// Without timestamps: the end of a window that fills, and since when.
    filling: Option<(u64, Time)>,
    /// In milliseconds.
    last_echo: u32,
}

impl AutoTuning {
    pub fn new(mss: u32, most: u64) -> AutoTuning {
        AutoTuning {
            mss,
            threshold: FIRST_WINDOW.min(most),
            clamp: FIRST_CLAMP.min(most),
            most,
            is_halved: false,
            space: (10 * u64::from(mss)).min(FIRST_WINDOW.min(most)), // `tcp_init_buffer_space`
            measured_from: 0,
            measured_at: Time::ZERO,
            now: Time::ZERO,
            rtt: Duration::ZERO,
            filling: None,
            last_echo: u32::MAX,
        }
    }

    /// Over several subflows: `rtt` is the longest of them, updated once per round trip; until each has received data (`is_halved`), half
    /// of the memory counts as payload.
    pub fn follow(&mut self, rtt: Duration, is_halved: bool) {
        if !self.may_follow() {
            return;
        }
        self.rtt = rtt;
        match (std::mem::replace(&mut self.is_halved, is_halved), is_halved) {
            (false, true) => self.clamp = self.clamp * 4 / 5,
            (true, false) => self.clamp = (self.clamp * 5 / 4).min(self.most),
            _ => {}
        }
    }

    /// Whether [`follow`](Self::follow) applies its arguments now. Without new arrivals this stays true until something is read.
    pub fn may_follow(&self) -> bool {
        self.rtt.is_zero() || self.is_round_over()
    }

    /// The threshold is at least that of a subflow.
    pub fn raise_threshold(&mut self, threshold: u64) {
        self.threshold = self.threshold.max(threshold);
    }

    pub fn threshold(&self) -> u64 {
        self.threshold
    }

    /// Round-trip time by echoed timestamps, or by how fast windows fill; zero before the first sample.
    pub fn rtt(&self) -> Duration {
        self.rtt
    }

    pub fn note_arrival(&mut self, now: Time) {
        self.now = now;
    }

    /// A segment that came at `now` echoed the timestamp `echo`, both in microseconds; `is_drained`: the reader had taken all before
    /// it. Linux's timestamps are whole milliseconds, and the first segment of those that echo one counts. A sample of none, which
    /// Linux leaves to a measure without timestamps, is taken as it is.
    pub fn note_rtt(&mut self, echo: u32, now: u32, is_drained: bool) {
        let millisecond = echo / 1000;
        if millisecond == self.last_echo {
            return;
        }
        self.last_echo = millisecond;
        let micros = u64::from(now.wrapping_sub(echo));
        let millis = (micros + 999 - u64::from(now % 1000)) / 1000;
        let sample = Duration::from_micros(if millis > 0 { 1000 * millis } else { micros });
        if self.rtt.is_zero() || sample < self.rtt {
            self.rtt = sample;
        } else if is_drained {
            self.rtt = self.rtt - self.rtt / 8 + sample / 8;
        }
    }

    /// In-order data arrived without timestamps, `next` is expected now: a full window takes at least a round trip, so the smallest
    /// sample counts (`tcp_rcv_rtt_measure`). `window`: as last advertised.
    pub fn note_filling(&mut self, next: u64, window: u64) {
        if let Some((end, since)) = self.filling {
            if next < end {
                return;
            }
            let sample = self.now.saturating_since(since).max(Duration::from_micros(1));
            self.rtt = if self.rtt.is_zero() { sample } else { self.rtt.min(sample) };
        }
        self.filling = Some((next + window, self.now));
    }

    /// The reader has read everything up to `read`; `uncounted` bytes of it do not count, and `span` lie beyond a gap. Once per round trip
    /// the buffer is adapted to the amount read, if that grew.
    pub fn on_read(&mut self, read: u64, uncounted: u64, span: u64) -> Option<u64> {
        if !self.is_round_over() {
            return None;
        }
        let copied = (read - self.measured_from).saturating_sub(uncounted);
        self.measured_from = read;
        self.measured_at = self.now;
        self.grow(copied, span).then_some(copied)
    }

    /// A round trip has passed since the buffer was last adapted.
    fn is_round_over(&self) -> bool {
        !self.rtt.is_zero() && self.now.saturating_since(self.measured_at) >= self.rtt
    }

    /// `copied` bytes were read in a round trip, while out-of-order data reaches `span` beyond the gap. Returns whether the buffer grows.
    pub fn grow(&mut self, copied: u64, span: u64) -> bool {
        if copied <= self.space {
            return false;
        }
        // Twice what arrived, and more while the sender is still speeding up.
        let window = 2 * copied;
        let growth = u128::from(window) * u128::from(copied - self.space) / u128::from(self.space);
        let wanted = u128::from(window) + 2 * growth + u128::from(span);
        let grown = self.clamp.max(wanted.min(u128::from(self.most)) as u64);
        self.space = copied;
        std::mem::replace(&mut self.clamp, grown) < grown
    }

    /// Data arrived out of order, `span` bytes beyond what is expected next: Linux lets the buffer hold them in addition to the data of a
    /// round trip (`tcp_data_queue_ofo`).
    pub fn on_gap(&mut self, span: u64) {
        self.clamp = self.clamp.max((2 * self.space + span).min(self.most));
    }

    /// Maximum of bytes beyond those read that the sender may have outstanding.
    pub fn capacity(&self) -> u64 {
        self.clamp
    }

    /// The window to advertise while `unread` bytes, including those out of order, occupy the buffer (`__tcp_select_window`): zero while
    /// less than a sixteenth of the buffer or a segment is free, so that a reader gets data in pieces of a useful size.
    pub fn window(&self, unread: u64, segment: u32) -> u64 {
        let unread = if self.is_halved { unread * 4 / 5 } else { unread };
        let free = self.clamp.saturating_sub(unread);
        if self.is_crowded(unread) && (free < self.clamp / 16 || free < u64::from(segment)) {
            return 0;
        }
        free.min(self.threshold)
    }

    /// `unread` bytes occupy more than half of the buffer.
    pub fn is_crowded(&self, unread: u64) -> bool {
        self.clamp.saturating_sub(unread) < self.clamp / 2
    }

    /// Data arrived, `unread` bytes occupy the buffer. Returns whether the window grows.
    pub fn grows_by(&mut self, payload: u32, unread: u64) -> bool {
        let room = self.clamp.saturating_sub(unread).saturating_sub(self.threshold);
        if payload < 128 || room == 0 {
            return false;
        }
        self.threshold += room.min(2 * u64::from(self.mss.max(payload)));
        true
    }
}

#[cfg(test)]
mod tests;
