//! Loss guard of the CCP family: once more than a tenth of the window is lost in three round trips in a row, the storage is
//! multiplied by 0.7, and again after every further such round trip. Our addition, without a reference.
//!
//! Recovery is slow, a sixteenth of the missing part per round trip without such losses: if it were immediate, the next three round trips
//! would lose as much as the last.

use crate::Ack;

pub(super) struct LossGuard {
    factor: f64,
    bad_rounds: u32,
    lost: u32,
    round_window: f64,
}

impl LossGuard {
    const TOLERATED: f64 = 0.1;
    const PATIENCE: u32 = 3;
    const CUT: f64 = 0.7;
    const SMALLEST: f64 = 0.01;
    const RETURN: f64 = 1.0 / 16.0;

    pub(super) fn new() -> LossGuard {
        LossGuard { factor: 1.0, bad_rounds: 0, lost: 0, round_window: f64::INFINITY }
    }

    pub(super) fn factor(&self) -> f64 {
        self.factor
    }

    pub(super) fn on_ack(&mut self, ack: &Ack, cwnd: f64) {
        self.lost += ack.newly_lost;
        if !ack.round_start {
            return;
        }
        if f64::from(self.lost) > Self::TOLERATED * self.round_window {
            self.bad_rounds += 1;
            if self.bad_rounds >= Self::PATIENCE {
                self.factor = (self.factor * Self::CUT).max(Self::SMALLEST);
            }
        } else {
            self.bad_rounds = 0;
            self.factor += (1.0 - self.factor) * Self::RETURN;
        }
        (self.lost, self.round_window) = (0, cwnd);
    }
}

#[cfg(test)]
mod tests;
