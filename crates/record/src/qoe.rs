//! Quality of experience as formulas from the literature.
//!
//! References: Yin et al., "A control-theoretic approach for dynamic adaptive video streaming" (SIGCOMM 2015), eq. 5, and
//! Pensieve's scaling of it; ITU-T P.1203.3 (2017), eq. 29. Tested below on worked numbers.

/// Weights of the linear quality of experience.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QoeWeights {
    /// Quality per kbit/s of rate.
    pub quality_per_kbps: f64,
    /// Per unit of change of quality between segments.
    pub switching: f64,
    /// Per second of stall.
    pub stalling: f64,
    /// Per second of start-up.
    pub startup: f64,
}

impl QoeWeights {
    /// Yin et al., "balanced": quality is the rate in kbit/s; 1, 3000, 3000.
    pub const BALANCED: QoeWeights =
        QoeWeights { quality_per_kbps: 1.0, switching: 1.0, stalling: 3000.0, startup: 3000.0 };
    /// Pensieve: quality is the rate in Mbit/s; 1, 4.3 (its top rate), no start-up term.
    pub const PENSIEVE: QoeWeights =
        QoeWeights { quality_per_kbps: 0.001, switching: 1.0, stalling: 4.3, startup: 0.0 };
}

/// Sum of qualities − weighted sum of their changes − weighted stall and start-up time (Yin et al., eq. 5). One rate per
/// segment in the order of playing.
pub fn qoe_linear(rates_kbps: &[f64], stalled_s: f64, startup_s: f64, weights: QoeWeights) -> f64 {
    let quality = |rate: &f64| rate * weights.quality_per_kbps;
    let sum: f64 = rates_kbps.iter().map(quality).sum();
    let changes: f64 = rates_kbps.windows(2).map(|w| (quality(&w[1]) - quality(&w[0])).abs()).sum();
    sum - weights.switching * changes - weights.stalling * stalled_s - weights.startup * startup_s
}

/// ITU-T P.1203.3 (2017), clause 8.1.1.1 and eq. 29: the factor (1 without stalls) by which stalling reduces quality above 1.
/// `stalls`: shown media before it and length in seconds, start-up delay as a stall at 0, in order. `duration`: of the media
/// played, in seconds.
///
/// The term only: not the recommendation's score, which needs its licensed random forest.
pub fn p1203_stalling_factor(stalls: &[(f64, f64)], duration: f64) -> f64 {
    // Stalls near the end weigh most: the weight falls from 1 towards 0.484 with a half-life of 10 s.
    let weight = |position: f64| {
        let since = (duration - position).max(0.0);
        0.48412879 + (1.0 - 0.48412879) * libm::exp(-since * std::f64::consts::LN_2 / 10.0)
    };
    let weighted: f64 = stalls.iter().map(|&(position, length)| length * weight(position)).sum();
    let interval = match stalls {
        [(first, _), .., (last, _)] => (last - first) / (stalls.len() - 1) as f64,
        _ => 0.0,
    };
    p1203_factor(stalls.len() as f64, weighted / duration, interval / duration)
}

/// Eq. 29 itself: number of stalls, their weighted time and their mean spacing as shares of the duration.
fn p1203_factor(count: f64, time_share: f64, interval_share: f64) -> f64 {
    libm::exp(-count / 9.35158684) * libm::exp(-time_share / 0.91890815) * libm::exp(-interval_share / 11.0567558)
}

#[cfg(test)]
mod tests;
