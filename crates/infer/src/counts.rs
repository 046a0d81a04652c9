//! How likely it is that so many packets of a transfer were sent again.
//!
//! What a sender sends again has two causes. Noise strikes each packet alike: a Poisson distribution around the share times the
//! packets. Its own overshoot (or a neighbour's) overflows the queue: the connection says how many packets that costs at each rate
//! (`plays.rs`), but neither exactly when nor always as many, so its part is spread: together a negative binomial distribution.
//! A rate that falls in the middle of a transfer costs a burst that no play at a constant rate has: now and then any number will do.

/// What is expected of a transfer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected {
    /// Packets of the transfer.
    pub packets: f64,
    /// Lost at random.
    pub noise: f64,
    /// Lost in the queue.
    pub overflow: f64,
    /// Variance of the second, over its square.
    pub spread: f64,
}

/// Share of the transfers that meet a burst.
const BURSTS: f64 = 0.08;
/// Packets that are lost whatever the reading.
const LEAST: f64 = 0.02;

impl Expected {
    /// Probability of `seen`.
    pub fn likely(&self, seen: f64) -> f64 {
        let seen = libm::round(seen);
        let mean = self.noise + self.overflow + LEAST;
        let burst = 1.0 / ((seen + 1.0) * libm::log(self.packets + 2.0));
        (1.0 - BURSTS) * negative_binomial(seen, mean, self.overflow * self.overflow * self.spread) + BURSTS * burst
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
mod tests {
    use super::*;

    #[test]
    fn probabilities_of_all_counts_sum_to_one_and_have_their_mean_and_variance() {
        // Mean 4, variance 4 + 3² · 0.5 = 8.5.
        for (excess, variance) in [(0.0, 4.0), (4.5, 8.5)] {
            let of = |n: u32| negative_binomial(f64::from(n), 4.0, excess);
            let sum = |f: &dyn Fn(f64) -> f64| (0..200).map(|n| of(n) * f(f64::from(n))).sum::<f64>();
            assert!((sum(&|_| 1.0) - 1.0).abs() < 1e-9);
            assert!((sum(&|n| n) - 4.0).abs() < 1e-6);
            assert!((sum(&|n| (n - 4.0) * (n - 4.0)) - variance).abs() < 1e-3, "{excess}");
        }
    }

    #[test]
    fn a_burst_is_possible_under_every_reading() {
        let expected = Expected { packets: 1400.0, noise: 0.0, overflow: 0.5, spread: 1.0 };
        assert!(expected.likely(60.0) > 1e-4);
        assert!(expected.likely(0.0) > 0.5);
    }
}
