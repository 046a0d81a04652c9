//! What the delay-based controls measure in a round trip.

use playpath_units::Duration;

/// RTT samples of a round.
#[derive(Clone, Copy, Debug)]
pub struct RttRound {
    /// Smallest sample; [`Duration::MAX`] before the first.
    pub min: Duration,
    /// Sum of the samples.
    pub sum: Duration,
    /// Number of samples.
    pub count: u32,
}

impl RttRound {
    /// A round without samples.
    pub const NEW: RttRound = RttRound { min: Duration::MAX, sum: Duration::ZERO, count: 0 };

    /// Take a sample.
    pub fn take(&mut self, rtt: Duration) {
        self.min = self.min.min(rtt);
        self.sum += rtt;
        self.count += 1;
    }
}

/// `packets * numerator / denominator`, exact where the result is a whole number, because callers round it down.
pub fn scale(packets: f64, numerator: Duration, denominator: Duration) -> f64 {
    packets * numerator.as_nanos() as f64 / denominator.as_nanos() as f64
}
