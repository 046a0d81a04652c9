//! A histogram of times with a relative precision of 1/32: buckets double in width every 32.

/// Counts of times in nanoseconds.
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
    sum: u64,
    max: u64,
}

const BITS: u32 = 5;

impl Histogram {
    pub fn new() -> Histogram {
        Histogram { counts: vec![0; (64 - BITS as usize + 1) << BITS], total: 0, sum: 0, max: 0 }
    }

    pub fn add(&mut self, nanos: u64) {
        self.counts[bucket(nanos)] += 1;
        self.total += 1;
        self.sum = self.sum.saturating_add(nanos);
        self.max = self.max.max(nanos);
    }

    /// Mean; zero if empty.
    pub fn mean(&self) -> f64 {
        if self.total == 0 { 0.0 } else { self.sum as f64 / self.total as f64 }
    }

    pub fn max(&self) -> u64 {
        self.max
    }

    /// The time below or at which a `share` of all lie, rounded up to the end of its bucket; zero if empty.
    pub fn quantile(&self, share: f64) -> u64 {
        let wanted = (share * self.total as f64).ceil() as u64;
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted && *count > 0 {
                return end_of(index).min(self.max);
            }
        }
        self.max
    }
}

fn bucket(nanos: u64) -> usize {
    let exponent = (63 - (nanos | 1).leading_zeros()).saturating_sub(BITS);
    let mantissa = (nanos >> exponent) as usize;
    ((exponent as usize) << BITS) + mantissa
}

fn end_of(index: usize) -> u64 {
    if index < (2 << BITS) {
        return index as u64;
    }
    let exponent = (index >> BITS) - 1;
    let mantissa = (index - (exponent << BITS)) as u64;
    ((mantissa + 1) << exponent) - 1
}

#[cfg(test)]
mod tests;
