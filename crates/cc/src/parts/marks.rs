//! The smoothed share of marked packets, for scalable controls.
//!
//! Reference: RFC 8257 §3.3 (alpha, F, g).
//!
//! Units: shares. Invariant: 0 ≤ alpha ≤ 1. Tested through `dctcp`, `prague` and `bbr3`.

use crate::Ack;

/// Marks of the round under way, and their moving average over rounds.
#[derive(Clone, Copy, Debug)]
pub struct MarkedShare {
    /// RFC 8257's DCTCP.Alpha.
    pub alpha: f64,
    gain: f64,
    delivered: u32,
    marked: u32,
}

impl MarkedShare {
    /// `alpha` before the first round; `gain` is the weight of the newest one.
    pub fn new(alpha: f64, gain: f64) -> MarkedShare {
        MarkedShare { alpha, gain, delivered: 0, marked: 0 }
    }

    pub fn take(&mut self, event: &Ack) {
        self.delivered += event.delivered;
        self.marked += event.ce_marked.min(event.delivered);
    }

    /// The round is over: alpha ← (1 − g) alpha + g M (RFC 8257 §3.3, step 6). Its share M; 0 where nothing was delivered.
    pub fn end_round(&mut self) -> f64 {
        if self.delivered == 0 {
            return 0.0;
        }
        let share = f64::from(self.marked) / f64::from(self.delivered);
        self.alpha += self.gain * (share - self.alpha);
        (self.delivered, self.marked) = (0, 0);
        share
    }
}
