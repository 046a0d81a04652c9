//! How many segments Linux hands down as one, and which of them it marks PSH.
//!
//! Reference: Linux 6.18 `tcp_tso_autosize` (what the pacing rate sends in 1/1024 s, more on very short paths, at least two segments),
//! `__tcp_transmit_skb` (PSH on what has more than one segment; segmentation leaves it on the last), `tcp_push` (PSH at the end of
//! what was written).
//! A receiver that has read everything acknowledges a segment with PSH at once (`receiver/ack_policy.rs`), so this decides how long an
//! odd segment waits for its ACK.
//!
//! Differences from Linux:
//! 1. A group is cut by the window, never held back until it is full (`tcp_tso_should_defer`).
//! 2. Writes of the application end where the send buffer does: one PSH in some twenty segments of a bulk flow is missing.
//! 3. Retransmissions are grouped by when they leave, not as they left first.
//!
//! Units: packets. Tested here and by `tests/pair.rs` (which packets are marked).

use playpath_units::{Duration, Rate, Time};

/// `tcp_min_tso_segs`.
const FEWEST: u64 = 2;
/// What fits into one buffer, in bytes.
const MOST_BYTES: u64 = 65_536;
/// BBR's own fewest is 1 below this rate (`bbr_min_tso_rate`).
const SLOW: Rate = Rate::from_bits_per_sec(1_200_000);

/// The group that is being filled.
#[derive(Debug, Default)]
pub(crate) struct Group {
    at: Time,
    len: u32,
    most: u32,
}

impl Group {
    /// Does a segment that leaves now begin a group?
    pub fn begins(&self, now: Time) -> bool {
        self.len >= self.most || self.at != now
    }

    /// A group of at most `most` begins now.
    pub fn begin(&mut self, now: Time, most: u32) {
        *self = Group { at: now, len: 0, most };
    }

    /// One more; returns its number in the group.
    pub fn count(&mut self) -> u32 {
        self.len += 1;
        self.len
    }

    /// No more fit.
    pub fn is_full(&self) -> bool {
        self.len >= self.most
    }
}

/// Segments of `mss` in one group at `rate`. `own`: the rate is the controller's.
pub(crate) fn group_size(rate: Rate, min_rtt: Duration, mss: u32, own: bool) -> u32 {
    let near = (min_rtt.as_nanos() / 1000) >> 9; // tcp_tso_rtt_log
    let bonus = if near < 32 { MOST_BYTES >> near } else { 0 };
    let bytes = (rate.as_bits_per_sec() / 8 / 1024 + bonus).min(MOST_BYTES);
    let fewest = if own && rate < SLOW { 1 } else { FEWEST };
    (bytes / u64::from(mss)).max(fewest) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1448;

    fn size(mbps: u64, rtt_ms: u64) -> u32 {
        group_size(Rate::from_bits_per_sec(mbps * 1_000_000), Duration::from_millis(rtt_ms), MSS, false)
    }

    /// 10 Mbit/s: 1220 bytes, less than one; 100 Mbit/s: 12 207 bytes = 8.4; 1 Gbit/s: 122 070, so 65 536 = 45.2.
    /// 2 ms: 2000 >> 9 = 3, 65 536 >> 3 = 8192 bytes more = 5.6.
    #[test]
    fn worked_sizes() {
        assert_eq!((size(10, 50), size(100, 50), size(1000, 50)), (2, 8, 45));
        assert_eq!(size(1, 2), 5);
    }

    #[test]
    fn a_slow_controller_with_its_own_rate_sends_one_by_one() {
        let rate = Rate::from_bits_per_sec(1_000_000);
        assert_eq!(group_size(rate, Duration::from_millis(50), MSS, true), 1);
    }

    #[test]
    fn a_group_ends_when_full_or_when_time_goes_on() {
        let mut group = Group::default();
        let now = Time::from_millis(5);
        assert!(group.begins(now));
        group.begin(now, 2);
        assert_eq!((group.count(), group.is_full()), (1, false));
        assert!(!group.begins(now));
        assert!(group.begins(Time::from_millis(6)));
        assert_eq!((group.count(), group.is_full()), (2, true));
        assert!(group.begins(now));
    }
}
