//! HyStart, as in Linux's CUBIC: leaves slow start when ACKs of a round spread over half the RTT, or the RTT rises.
//!
//! Reference: Ha and Rhee, "Taming the elephants: New TCP slow start", Computer Networks 55 (2011); behaviour of
//! `net/ipv4/tcp_cubic.c` (Linux 6.18: `hystart_low_window` 16, `hystart_ack_delta_us` 2000, both detectors on).
//!
//! A round is Linux's: it ends when the stream is acknowledged beyond what was sent when it began. The base RTT is of data: the
//! handshake's packets are shorter.
//!
//! Differences from Linux:
//! 1. The allowance for aggregated ACKs is 1 ms; Linux has less for senders of more than 2.1 Gbit/s (four segments of 64 kB).
//! 2. RTT samples of the second after a reduction are not skipped: slow start below a finite threshold is rarely that short.
//! 3. Time is exact: ACKs of 1500-byte packets at 6 Mbit/s, 2.000 ms apart, are a train. In real time one that is some microseconds late
//!    ends it for the round.
//!
//! Units: windows in packets, times in nanoseconds. Used through [`SlowStart`](crate::parts::slow_start::SlowStart). Tested here.

use playpath_units::{Duration, Time};

use crate::parts::round::Position;
use crate::{Ack, View};

const LOW_WINDOW: f64 = 16.0;
const ACK_DELTA: Duration = Duration::from_millis(2);
/// `hystart_ack_delay`.
const AGGREGATION: Duration = Duration::from_millis(1);
const MIN_SAMPLES: u32 = 8;
const DELAY_MIN: Duration = Duration::from_millis(4);
const DELAY_MAX: Duration = Duration::from_millis(16);

#[derive(Clone, Debug)]
pub struct HyStart {
    paced: bool,
    found: bool,
    base_rtt: Duration,
    position: Position,
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
    /// `paced`: the ACK train must last a whole RTT, for pacing itself spreads the round over half of it.
    pub fn new(paced: bool) -> HyStart {
        HyStart { paced, found: false, base_rtt: Duration::MAX, position: Position::default(), round: None }
    }

    /// Slow start begins again after a timeout with `flight_size` packets out.
    pub fn restart(&mut self, flight_size: u32) {
        let position = Position { una: 0, round_end: u64::from(flight_size) };
        *self = HyStart { position, ..HyStart::new(self.paced) };
    }

    pub fn follow(&mut self, ack: &Ack) {
        self.position.advance(ack);
        self.base_rtt = ack.rtt.map_or(self.base_rtt, |rtt| self.base_rtt.min(rtt));
    }

    /// After that, an ACK in slow start; `true` ends it.
    pub fn ends_slow_start(&mut self, cwnd: f64, view: &View, ack: &Ack) -> bool {
        let (false, Some(rtt)) = (self.found, ack.rtt) else { return false };
        if self.position.ends_round(view) {
            self.round = None;
        }
        let round = self.round.get_or_insert(Round {
            started_at: view.now,
            last_ack_at: view.now,
            min_rtt: Duration::MAX,
            samples: 0,
        });
        if cwnd < LOW_WINDOW {
            return false;
        }
        let limit = self.base_rtt + AGGREGATION;
        let train = round.sees_train(view.now, if self.paced { limit } else { limit / 2 });
        self.found = round.sees_delay(rtt, self.base_rtt) || train;
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
