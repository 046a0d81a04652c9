//! How long before a deadline the loop stops sleeping. Sleep overruns by some 50 µs in a virtual machine, so the loop wakes up a margin
//! early and busy-waits for the rest. The margin adapts to the machine: the 95th percentile of the observed lateness.
//!
//! Busy-waiting takes processor time from the programs whose traffic is emulated. At hundreds of megabits per second deadlines are so
//! dense that the loop would never sleep, so at most half of the time is spent busy-waiting; beyond that, deadlines are missed by one
//! wake-up latency. At 1 Gbit/s that is four packets.

use playpath_units::{Duration, Time};

pub struct Spin {
    margin_nanos: u64,
    /// Time that may yet be spent watching.
    allowance_nanos: i64,
    allowed_until: Time,
}

/// Initial margin and its range, ns.
const START_NANOS: u64 = 60_000;
const MIN_NANOS: u64 = 2_000;
const MAX_NANOS: u64 = 200_000;
/// Steps of the stochastic approximation: 19 up for 1 down balances at the 95th percentile.
const STEP_DOWN_NANOS: u64 = 100;
const STEP_UP_NANOS: u64 = 19 * STEP_DOWN_NANOS;
const MAX_ALLOWANCE_NANOS: i64 = 2_000_000;

impl Spin {
    pub fn new() -> Spin {
        Spin { margin_nanos: START_NANOS, allowance_nanos: MAX_ALLOWANCE_NANOS, allowed_until: Time::ZERO }
    }

    pub fn margin(&self) -> Duration {
        Duration::from_nanos(self.margin_nanos)
    }

    /// The margin for a sleep that begins at `now`: none while too much time has gone into watching.
    pub fn margin_at(&mut self, now: Time) -> Duration {
        let elapsed = now.saturating_since(self.allowed_until).as_nanos() as i64;
        self.allowed_until = now;
        self.allowance_nanos = (self.allowance_nanos + elapsed / 2).min(MAX_ALLOWANCE_NANOS);
        if self.allowance_nanos > 0 { self.margin() } else { Duration::ZERO }
    }

    pub fn begin(&mut self) {
        self.allowed_until = Time::ZERO;
    }

    pub fn note_watch(&mut self, length: Duration) {
        self.allowance_nanos -= length.as_nanos() as i64;
    }

    /// A sleep that should have ended at `wanted` ended at `now`.
    pub fn note_wakeup(&mut self, wanted: Time, now: Time) {
        let is_later = now.saturating_since(wanted) > self.margin();
        let moved = if is_later { self.margin_nanos + STEP_UP_NANOS } else { self.margin_nanos - STEP_DOWN_NANOS };
        self.margin_nanos = moved.clamp(MIN_NANOS, MAX_NANOS);
    }
}

#[cfg(test)]
mod tests;
