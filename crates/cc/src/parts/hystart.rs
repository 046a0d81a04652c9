//! HyStart as Linux's CUBIC has it: leaves slow start when ACKs of a round spread over half the RTT, or the RTT rises.
//!
//! Reference: Ha and Rhee, "Taming the elephants: New TCP slow start", Computer Networks 55 (2011); behaviour of
//! `net/ipv4/tcp_cubic.c` (Linux 6.12: `hystart_low_window` 16, `hystart_ack_delta_us` 2000, both detectors on).
//!
//! Differences from Linux:
//! 1. The base RTT is the connection's `min_rtt`; Linux forgets its own minimum at a timeout.
//! 2. For paced senders Linux adds an ACK aggregation allowance of up to 1 ms to the threshold of the train, from the size of
//!    its segmentation bursts. There are none here; the threshold is `min_rtt`.
//! 3. RTT samples of the second after a reduction are not skipped: slow start below a finite threshold is rarely that short.
//!
//! Units: windows in packets, times in nanoseconds. Used through [`SlowStart`](crate::parts::slow_start::SlowStart). Tested here.

use playpath_units::{Duration, Time};

use crate::{Ack, View};

const LOW_WINDOW: f64 = 16.0;
const ACK_DELTA: Duration = Duration::from_millis(2);
const MIN_SAMPLES: u32 = 8;
const DELAY_MIN: Duration = Duration::from_millis(4);
const DELAY_MAX: Duration = Duration::from_millis(16);

/// State of HyStart.
#[derive(Clone, Debug)]
pub struct HyStart {
    paced: bool,
    found: bool,
    round: Option<Round>,
}

#[derive(Clone, Debug)]
struct Round {
    started_at: Time,
    last_ack_at: Time,
    min_rtt: Duration,
    samples: u32,
}

impl HyStart {
    /// `paced`: the ACK train must last a whole `min_rtt`, for pacing itself spreads the round over half of it.
    pub fn new(paced: bool) -> HyStart {
        HyStart { paced, found: false, round: None }
    }

    /// Slow start begins again after a timeout.
    pub fn restart(&mut self) {
        self.found = false;
        self.round = None;
    }

    /// Take an ACK in slow start; `true` ends it.
    pub fn on_ack(&mut self, cwnd: f64, view: &View, ack: &Ack) -> bool {
        if ack.round_start {
            self.round = None;
        }
        let (false, Some(rtt)) = (self.found, ack.rtt) else { return false };
        let round = self.round.get_or_insert(Round {
            started_at: view.now,
            last_ack_at: view.now,
            min_rtt: Duration::MAX,
            samples: 0,
        });
        if cwnd < LOW_WINDOW {
            return false;
        }
        let train_limit = if self.paced { view.min_rtt } else { view.min_rtt / 2 };
        let train = round.sees_train(view.now, train_limit);
        self.found = round.sees_delay(rtt, view.min_rtt) || train;
        self.found
    }
}

impl Round {
    /// ACKs at most 2 ms apart since the start of the round, for longer than `limit`.
    fn sees_train(&mut self, now: Time, limit: Duration) -> bool {
        if now - self.last_ack_at > ACK_DELTA {
            return false;
        }
        self.last_ack_at = now;
        now - self.started_at > limit
    }

    /// More than 8 samples of the round, the smallest above the base RTT by an eighth (4 to 16 ms).
    fn sees_delay(&mut self, rtt: Duration, base_rtt: Duration) -> bool {
        self.min_rtt = self.min_rtt.min(rtt);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        self.min_rtt > base_rtt + (base_rtt / 8).clamp(DELAY_MIN, DELAY_MAX)
    }
}

#[cfg(test)]
mod tests;
