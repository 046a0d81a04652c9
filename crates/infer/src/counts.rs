//! Likelihood of the number of retransmitted packets of a transfer.
//!
//! What a sender sends again has two causes. Noise strikes each packet alike: a Poisson distribution around the share times the
//! packets. Its own overshoot (or a neighbour's) overflows the queue: the connection says how many packets that costs at each rate
//! (`plays.rs`), but neither exactly when nor always as many, so its part is spread: together a negative binomial distribution.
//! A rate that falls in the middle of a transfer costs a burst that no play at a constant rate has: now and then any number will do.

#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected {
    pub packets: f64,
    pub noise: f64,
    pub overflow: f64,
    /// Variance of the second, over its square.
    pub spread: f64,
}

/// Share of the transfers that meet a burst.
const BURSTS: f64 = 0.08;
/// Packets that are lost whatever the reading.
const LEAST: f64 = 0.02;

impl Expected {
    pub fn likely(&self, seen: f64) -> f64 {
        let seen = libm::round(seen);
        let mean = self.noise + self.overflow + LEAST;
        let burst = 1.0 / ((seen + 1.0) * libm::log(self.packets + 2.0));
        (1.0 - BURSTS) * negative_binomial(seen, mean, self.overflow * self.overflow * self.spread) + BURSTS * burst
    }

    /// A sender that measures rates overflows the queue in some transfers, and in the others of the same path not.
    pub fn likely_or_without(&self, seen: f64) -> f64 {
        0.5 * (self.likely(seen) + Expected { overflow: 0.0, ..*self }.likely(seen))
    }
}

/// Of `seen` for a mean, and what the variance is above that of a Poisson distribution.
fn negative_binomial(seen: f64, mean: f64, excess: f64) -> f64 {
    let log = if excess < 1e-3 * mean {
        seen * libm::log(mean) - mean - libm::lgamma(seen + 1.0)
    } else {
        let size = mean * mean / excess;
        libm::lgamma(seen + size) - libm::lgamma(size) - libm::lgamma(seen + 1.0)
            + size * libm::log(size / (size + mean))
            + seen * libm::log(mean / (size + mean))
    };
    libm::exp(log)
}

#[cfg(test)]
mod tests;
