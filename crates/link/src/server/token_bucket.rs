//! A token bucket: a long-run rate, plus bursts of the tokens saved during pauses.
//!
//! Reference: tc-tbf(8) and Linux `net/sched/sch_tbf.c` without `peakrate`: tokens accrue at `rate` until the bucket is full, and a
//! packet leaves as soon as there are as many tokens as it has bytes. The bucket of RFC 2697 is the same.
//! Differences
//! 1. A packet larger than the bucket waits for the tokens it lacks; tc drops it.
//! 2. Tokens are counted in nanoseconds at the rate, as tc does, but rounded up for each packet, so never above the rate.
//!
//! How: `full_at` is the time at which the bucket would be full if nothing more were sent. Then `depth - rate × (full_at - t)`
//! tokens are there at time t, and a packet needs that to be at least zero after it (the generic cell rate algorithm, ITU-T I.371).
//!
//! Units: ns, bytes. Invariant: over any span at most `depth + rate × span` bytes leave (packets up to `depth`). Tested: worked
//! examples here; that bound, and the long-run rate, over random arrivals; the balance with all other parts in
//! `tests/properties.rs`.

use playpath_units::{Duration, Rate, Time};

pub(crate) struct TokenBucketServer {
    rate: Rate,
    depth: u64,
    /// How long an empty bucket takes to fill.
    fill_time: Duration,
    full_at: Time,
}

impl TokenBucketServer {
    pub(crate) fn new(rate: Rate, depth: u64) -> TokenBucketServer {
        TokenBucketServer { rate, depth, fill_time: rate.time_to_send(depth), full_at: Time::ZERO }
    }

    pub(crate) fn departure(&mut self, start: Time, wire_bytes: u32) -> Time {
        self.full_at = self.full_at.max(start) + self.rate.time_to_send(u64::from(wire_bytes));
        start + (self.full_at - start).saturating_sub(self.fill_time)
    }

    pub(crate) fn capacity_bytes(&self, now: Time) -> f64 {
        self.depth as f64 + self.rate.bytes_in(now - Time::ZERO) as f64
    }
}

#[cfg(test)]
mod tests;
