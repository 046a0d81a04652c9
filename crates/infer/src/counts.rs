//! Likelihood of the number of retransmitted packets of a transfer.
//!
//! Retransmissions have two causes. Random losses hit each packet with the same probability: a Poisson distribution with the mean share times
//! packets. Overshoot of the sender (or a neighbour) overflows the queue: the simulation gives the number of packets at each rate
//! (`plays.rs`), but neither the exact moment nor an exact number, so this part is overdispersed: together a negative binomial distribution.
//! A rate that falls during a transfer causes a burst that no play at a constant rate has; a share of transfers may have any number.

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
/// Minimum mean of lost packets under any reading.
const MIN_MEAN: f64 = 0.02;

impl Expected {
    pub fn likely(&self, seen: f64) -> f64 {
        let seen = libm::round(seen);
        let mean = self.noise + self.overflow + MIN_MEAN;
        let burst = 1.0 / ((seen + 1.0) * libm::log(self.packets + 2.0));
        (1.0 - BURSTS) * negative_binomial(seen, mean, self.overflow * self.overflow * self.spread) + BURSTS * burst
    }

    /// A sender that measures rates overflows the queue in only some of the transfers on the same path.
    pub fn likely_or_without(&self, seen: f64) -> f64 {
        0.5 * (self.likely(seen) + Expected { overflow: 0.0, ..*self }.likely(seen))
    }
}

/// Probability of `seen`, by the mean and the excess of the variance over that of a Poisson distribution.
fn negative_binomial(seen: f64, mean: f64, excess: f64) -> f64 {
    let log = if excess < 1e-3 * mean {
        seen * libm::log(mean) - mean - libm::lgamma(seen + 1.0)
    } else {
        let size = mean * mean / excess;
        if seen == 0.0 {
            return libm::exp(size * libm::log(size / (size + mean))); // the other terms are zero
        }
        libm::lgamma(seen + size) - libm::lgamma(size) - libm::lgamma(seen + 1.0)
            + size * libm::log(size / (size + mean))
            + seen * libm::log(mean / (size + mean))
    };
    libm::exp(log)
}

#[cfg(test)]
mod tests;
