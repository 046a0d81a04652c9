//! Detection of marks from a classic queue: with an L4S queue the round-trip time hardly rises or varies; with a classic one it does both.
//!
//! Reference: Linux `tcp_prague` (L4STeam), `prague_rtt_estimator`, `prague_classic_ecn_detection`, `prague_classic_ecn_fallback`; B.
//! Briscoe and A. Ahmed, "TCP Prague Fall-back on Detection of a Classic ECN AQM", arXiv 1911.00710 (the score).
//! Differences from the reference:
//! 1. Logarithms are exact, where Linux takes whole ones and carries the remainder.
//! 2. An application-limited sender is not treated differently, as in Linux, where that term is commented out.
//!
//! Units: s; the score in units of alpha. Invariants: 0 ≤ score ≤ 17, 0 ≤ floor ≤ 0.625. Tested here, and beside CUBIC in one marking
//! queue in the crate `sim`.

use crate::View;

/// The deviation and the rise of the round-trip time at which the score does not change (Linux V0, D0), and the weights of both.
const DEVIATION: f64 = 750e-6;
const RISE: f64 = 2e-3;
const WEIGHT: f64 = 0.5;
/// Below it the queue is taken for one of L4S; above it, within 1, for a classic one; and as far beyond as it takes to come back.
const L4S: f64 = 8.0;
const MAX: f64 = 2.0 * L4S + 1.0;
/// Alpha that falls as far as CUBIC does: half of it is 0.31.
const CLASSIC_ALPHA: f64 = 0.625;
/// Linux counts microseconds, and a deviation below one as one.
const MIN_DEVIATION: f64 = 1e-6;

/// Smoothed round trip and deviation, slower than those of the timer, and the score.
#[derive(Clone, Debug, Default)]
pub struct ClassicQueue {
    srtt: f64,
    deviation: f64,
    score: f64,
}

impl ClassicQueue {
    /// A round trip was measured, with `ssthresh` packets in it.
    pub fn take(&mut self, rtt: f64, ssthresh: f64) {
        if self.srtt == 0.0 {
            (self.srtt, self.deviation) = (rtt, MIN_DEVIATION);
            return;
        }
        // Over some ssthresh^1.5 samples: a few sawteeth.
        let octaves = (ssthresh.clamp(2.0, 65_536.0) as u32).ilog2();
        let gain = 0.5f64.powi((octaves + octaves / 2 + 1).min(18) as i32);
        let error = rtt - self.srtt;
        self.srtt += gain * error;
        self.deviation += gain / 2.0 * (error.abs() - self.deviation);
    }

    /// A round in which alpha is renewed is over: the score moves.
    pub fn end_round(&mut self, view: &View) {
        if self.srtt == 0.0 {
            return;
        }
        let deviation = self.deviation.max(MIN_DEVIATION);
        let rise = self.srtt - view.min_rtt.as_secs_f64();
        self.score += WEIGHT * libm::log2(deviation / DEVIATION);
        if rise > RISE {
            self.score += WEIGHT * libm::log2(rise / RISE); // a short queue is no proof of L4S
        }
        self.score = self.score.clamp(0.0, MAX);
    }

    /// Alpha counts as at least this much.
    pub fn floor(&self) -> f64 {
        CLASSIC_ALPHA * (self.score - L4S).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests;
