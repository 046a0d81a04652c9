//! ACK aggregation: the number of packets acknowledged beyond what the bandwidth explains. It is added to the window, so that a sender does
//! not stall while ACKs are held back (Wi-Fi, DOCSIS, cellular).
//!
//! Reference: `extra_acked` of Linux `tcp_bbr.c`. The largest excess of the present and the last five round trips.

use playpath_units::{Duration, Time};

pub(super) struct Aggregation {
    epoch_start: Time,
    epoch_acked: f64,
    /// Largest excess of this block of rounds and of the block before.
    extra: [f64; 2],
    rounds: u32,
    slot: usize,
}

impl Aggregation {
    const BLOCK_ROUNDS: u32 = 5;
    /// Longest epoch in packets.
    const EPOCH_LIMIT: f64 = 1_048_576.0;
    /// The room is at most this much of the bandwidth.
    const LONGEST: Duration = Duration::from_millis(100);

    pub(super) fn new() -> Aggregation {
        Aggregation { epoch_start: Time::ZERO, epoch_acked: 0.0, extra: [0.0; 2], rounds: 0, slot: 0 }
    }

    /// A new epoch (start, idle).
    pub(super) fn restart(&mut self, now: Time) {
        self.epoch_start = now;
        self.epoch_acked = 0.0;
    }

    pub(super) fn on_ack(&mut self, now: Time, delivered: u32, bw: f64, cwnd: f64, round_start: bool) {
        if delivered == 0 {
            return;
        }
        if round_start {
            self.rounds += 1;
            if self.rounds >= Self::BLOCK_ROUNDS {
                self.rounds = 0;
                self.slot = 1 - self.slot;
                self.extra[self.slot] = 0.0;
            }
        }
        let mut expected = bw * now.saturating_since(self.epoch_start).as_secs_f64();
        let delivered = f64::from(delivered);
        // ACKs no faster than the bandwidth: no aggregation under way, a new epoch.
        if self.epoch_acked <= expected || self.epoch_acked + delivered >= Self::EPOCH_LIMIT {
            self.restart(now);
            expected = 0.0;
        }
        self.epoch_acked += delivered;
        let extra = (self.epoch_acked - expected).min(cwnd);
        self.extra[self.slot] = self.extra[self.slot].max(extra);
    }

    pub(super) fn room(&self, bw: f64) -> f64 {
        self.extra[0].max(self.extra[1]).min(bw * Self::LONGEST.as_secs_f64())
    }
}

#[cfg(test)]
mod tests;
