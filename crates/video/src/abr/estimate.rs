//! Throughput estimators that several rules share. Units: bit/s and seconds.
//!
//! References: dash.js ThroughputController and Sabre's `Ewma` (two exponential averages weighted by download time);
//! Yin et al., SIGCOMM 2015 (harmonic mean). No differences in the arithmetic.

use super::Download;

/// Two exponentially weighted averages with different half-lives, both corrected for their start at zero.
#[derive(Clone, Copy, Debug)]
pub struct DualEwma {
    fast: Ewma,
    slow: Ewma,
}

impl DualEwma {
    /// Half-lives in the unit of the weights.
    pub fn new(fast_half_life: f64, slow_half_life: f64) -> DualEwma {
        DualEwma { fast: Ewma::new(fast_half_life), slow: Ewma::new(slow_half_life) }
    }

    pub fn push(&mut self, value: f64, weight: f64) {
        self.fast.push(value, weight);
        self.slow.push(value, weight);
    }

    /// The smaller of the two averages; `None` before the first sample.
    pub fn low(&self) -> Option<f64> {
        Some(self.fast.value()?.min(self.slow.value()?))
    }

    /// The larger of the two averages; `None` before the first sample.
    pub fn high(&self) -> Option<f64> {
        Some(self.fast.value()?.max(self.slow.value()?))
    }
}

#[derive(Clone, Copy, Debug)]
struct Ewma {
    half_life: f64,
    sum: f64,
    weight: f64,
}

impl Ewma {
    fn new(half_life: f64) -> Ewma {
        Ewma { half_life, sum: 0.0, weight: 0.0 }
    }

    fn push(&mut self, value: f64, weight: f64) {
        // alpha = 0.5^(weight / half-life): a sample of one half-life counts for half.
        let alpha = libm::exp2(-weight / self.half_life);
        self.sum = alpha * self.sum + (1.0 - alpha) * value;
        self.weight += weight;
    }

    fn value(&self) -> Option<f64> {
        (self.weight > 0.0).then(|| self.sum / (1.0 - libm::exp2(-self.weight / self.half_life)))
    }
}

/// Harmonic mean of the throughputs of the last `count` downloads, in bit/s; `None` without any.
pub fn harmonic_mean(downloads: &[Download], count: usize) -> Option<f64> {
    let recent = &downloads[downloads.len().saturating_sub(count)..];
    let inverse: f64 = recent.iter().map(|d| 1.0 / d.bits_per_sec().max(1.0)).sum();
    (!recent.is_empty()).then(|| recent.len() as f64 / inverse)
}

#[cfg(test)]
mod tests;
