//! Round trip time and probe timeout.
//!
//! Reference: RFC 9002 §5 (estimates, ACK delay taken off), §6.1.2 (loss delay), §6.2.1 (PTO). Units: ns. Tested here by worked
//! numbers.

use super::config::LossConfig;
use playpath_units::{Duration, Time};

#[derive(Debug)]
pub(crate) struct Rtt {
    latest: Duration,
    smoothed: Duration,
    variation: Duration,
    min: Duration,
    first_sample_at: Option<Time>,
}

impl Rtt {
    /// Before the first sample (§6.2.2): kInitialRtt, and half of it.
    pub fn new(config: &LossConfig) -> Rtt {
        let initial = config.initial_rtt;
        Rtt { latest: initial, smoothed: initial, variation: initial / 2, min: Duration::MAX, first_sample_at: None }
    }

    /// Set the initial estimate of a new path, used until the first sample (§6.2.2).
    pub fn expect(&mut self, round_trip: Duration) {
        if self.first_sample_at.is_none() {
            (self.latest, self.smoothed, self.variation) = (round_trip, round_trip, round_trip / 2);
        }
    }

    /// §5.3. `ack_delay`: as told and bounded by the caller; not taken off where that would go below the minimum.
    pub fn add_sample(&mut self, now: Time, sample: Duration, ack_delay: Duration) {
        self.latest = sample;
        if self.first_sample_at.is_none() {
            (self.first_sample_at, self.min) = (Some(now), sample);
            (self.smoothed, self.variation) = (sample, sample / 2);
            return;
        }
        self.min = self.min.min(sample);
        let adjusted = if sample >= self.min + ack_delay { sample - ack_delay } else { sample };
        self.variation = (self.variation * 3 + self.smoothed.abs_diff(adjusted)) / 4;
        self.smoothed = (self.smoothed * 7 + adjusted) / 8;
    }

    pub fn smoothed(&self) -> Duration {
        self.smoothed
    }
    pub fn variation(&self) -> Duration {
        self.variation
    }
    /// [`Duration::MAX`] before the first sample.
    pub fn min(&self) -> Duration {
        self.min
    }
    /// Zero before the first sample, as controls are told.
    pub fn measured(&self) -> Duration {
        if self.first_sample_at.is_some() { self.smoothed } else { Duration::ZERO }
    }
    pub fn first_sample_at(&self) -> Option<Time> {
        self.first_sample_at
    }

    /// §6.1.2.
    pub fn loss_delay(&self, config: &LossConfig) -> Duration {
        (self.latest.max(self.smoothed) * config.time_eighths / 8).max(config.granularity)
    }
    /// §6.2.1, without the peer's delay and without backoff.
    pub fn pto(&self, config: &LossConfig) -> Duration {
        self.smoothed + (self.variation * 4).max(config.granularity)
    }
}

#[cfg(test)]
mod tests;
