//! Round trip time and retransmission timeout.
//!
//! Reference: RFC 6298; Karn's rule is the caller's (it passes no sample of retransmitted data without timestamps).
//! Differences from the reference:
//! 1. `RtoVariance::Linux`: the deviation term 4·RTTVAR is floored at `min`, follows the largest deviation of a round at
//!    once, decays by a quarter once per round, and a sample below SRTT counts an eighth of its excess deviation.
//! 2. `tick`: samples and timeouts are rounded to the tick of a coarse clock, which times one packet per window, as in ns-2
//!    (tcp.cc, `rtt_active_`).
//!
//! Units: ns. Tested here with the worked numbers of RFC 6298's equations.

use crate::tcp::config::{RtoConfig, RtoVariance};
use playpath_units::Duration;

#[derive(Debug)]
pub struct RttEstimator {
    srtt: Duration,
    /// RFC 6298 RTTVAR; under Linux rules a quarter of the floored term.
    rttvar: Duration,
    min_rtt: Duration,
    /// Smoothed mean deviation (Linux `mdev`).
    deviation: Duration,
    /// Largest `deviation` × 4 of the round (Linux `mdev_max`).
    round_max: Duration,
    /// The Linux round, or the window in which a coarse clock times one packet, ends when this offset is acknowledged.
    round_end: u64,
    /// SRTT + deviation term, rounded and bounded; without backoff.
    base_rto: Duration,
    backoff: u32,
}

impl RttEstimator {
    pub fn new(config: &RtoConfig) -> RttEstimator {
        RttEstimator {
            srtt: Duration::ZERO,
            rttvar: Duration::ZERO,
            min_rtt: Duration::MAX,
            deviation: Duration::ZERO,
            round_max: Duration::ZERO,
            round_end: 0,
            base_rto: config.initial,
            backoff: 0,
        }
    }

    /// Smoothed RTT; zero before the first sample.
    pub fn srtt(&self) -> Duration {
        self.srtt
    }
    pub fn rttvar(&self) -> Duration {
        self.rttvar
    }
    /// Smallest RTT; [`Duration::MAX`] before the first sample.
    pub fn min_rtt(&self) -> Duration {
        self.min_rtt
    }

    /// Retransmission timeout with backoff.
    pub fn rto(&self, config: &RtoConfig) -> Duration {
        if self.backoff == 0 { self.base_rto } else { (self.base_rto * (1 << self.backoff.min(32))).min(config.max) }
    }

    /// Retransmission timeout without backoff.
    pub fn base_rto(&self) -> Duration {
        self.base_rto
    }

    /// Take a sample. `una` and `nxt` bound the round for the Linux rules.
    #[inline(always)]
    pub fn add_sample(&mut self, sample: Duration, una: u64, nxt: u64, config: &RtoConfig) {
        if !config.tick.is_zero() {
            if !self.srtt.is_zero() && una <= self.round_end {
                return;
            }
            self.round_end = nxt;
        }
        let sample = round_to_tick(sample, config.tick);
        if self.srtt.is_zero() {
            self.first_sample(sample, nxt, config);
        } else {
            match config.variance {
                RtoVariance::Rfc6298 => self.rfc6298(sample),
                RtoVariance::Linux => self.linux(sample, una, nxt, config),
            }
        }
        // RFC 6298 §2.2, §2.3; the granularity G is the tick.
        let term = (self.rttvar * 4).max(config.tick);
        self.base_rto = round_up_to_tick(self.srtt + term, config.tick).max(config.min).min(config.max);
        self.backoff = 0;
    }

    /// RTT without smoothing rules: the minimum.
    pub fn observe_min(&mut self, sample: Duration) {
        self.min_rtt = self.min_rtt.min(sample);
    }

    /// The timer expired (RFC 6298 §5.5).
    pub fn back_off(&mut self) {
        self.backoff += 1;
    }

    /// The timeout was spurious, or a new phase begins with fresh estimates.
    pub fn clear_backoff(&mut self) {
        self.backoff = 0;
    }

    /// The handshake needed retransmissions: data starts from this timeout (RFC 6298 §5.7).
    pub fn set_initial(&mut self, rto: Duration) {
        self.base_rto = rto;
        self.backoff = 0;
    }

    fn first_sample(&mut self, sample: Duration, nxt: u64, config: &RtoConfig) {
        self.srtt = sample.max(Duration::from_nanos(1));
        self.deviation = sample / 2;
        self.rttvar = match config.variance {
            RtoVariance::Rfc6298 => sample / 2,
            RtoVariance::Linux => (sample * 2).max(config.min) / 4,
        };
        self.round_max = self.rttvar * 4;
        self.round_end = nxt;
    }

    fn rfc6298(&mut self, sample: Duration) {
        // RTTVAR first, with the old SRTT (RFC 6298 §2.3).
        self.rttvar = self.rttvar - self.rttvar / 4 + self.srtt.abs_diff(sample) / 4;
        self.srtt = smooth(self.srtt, sample);
    }

    fn linux(&mut self, sample: Duration, una: u64, nxt: u64, config: &RtoConfig) {
        let error = self.srtt.abs_diff(sample);
        if sample < self.srtt && error > self.deviation {
            self.deviation += (error - self.deviation) / 32;
        } else {
            self.deviation = self.deviation - self.deviation / 4 + error / 4;
        }
        self.srtt = smooth(self.srtt, sample);
        self.round_max = self.round_max.max(self.deviation * 4);
        self.rttvar = self.rttvar.max(self.round_max / 4);
        if una > self.round_end {
            let settled = self.round_max / 4;
            self.rttvar -= self.rttvar.saturating_sub(settled) / 4;
            self.round_end = nxt;
            self.round_max = config.min;
        }
    }
}

/// SRTT ← 7/8 SRTT + 1/8 R.
fn smooth(srtt: Duration, sample: Duration) -> Duration {
    if sample >= srtt { srtt + (sample - srtt) / 8 } else { srtt - (srtt - sample) / 8 }
}

fn round_to_tick(value: Duration, tick: Duration) -> Duration {
    if tick.is_zero() {
        return value;
    }
    let ticks = (value.as_nanos() + tick.as_nanos() / 2) / tick.as_nanos();
    tick * ticks.max(1)
}

fn round_up_to_tick(value: Duration, tick: Duration) -> Duration {
    if tick.is_zero() { value } else { tick * value.as_nanos().div_ceil(tick.as_nanos()) }
}

#[cfg(test)]
mod tests;
