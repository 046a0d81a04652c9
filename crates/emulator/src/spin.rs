//! How long before a deadline the loop stops sleeping. Sleeping ends late, by some 50 µs in a virtual machine; so the loop sleeps a
//! margin less and watches the clock for the rest. The margin follows what the machine does: the 95th percentile of the lateness seen.

use playpath_units::{Duration, Time};

/// The margin, fixed or followed.
pub struct Spin {
    margin_nanos: u64,
    is_fixed: bool,
}

/// Where the margin starts and the range it may take.
const START_NANOS: u64 = 60_000;
const LEAST_NANOS: u64 = 2_000;
const MOST_NANOS: u64 = 200_000;
/// Steps of the stochastic approximation: 19 up for 1 down balances at the 95th percentile.
const STEP_DOWN_NANOS: u64 = 100;
const STEP_UP_NANOS: u64 = 19 * STEP_DOWN_NANOS;

impl Spin {
    /// `None`: follow the machine.
    pub fn new(fixed: Option<Duration>) -> Spin {
        Spin { margin_nanos: fixed.map_or(START_NANOS, Duration::as_nanos), is_fixed: fixed.is_some() }
    }

    /// The present margin.
    pub fn margin(&self) -> Duration {
        Duration::from_nanos(self.margin_nanos)
    }

    /// A sleep that should have ended at `wanted` ended at `now`.
    pub fn note_wakeup(&mut self, wanted: Time, now: Time) {
        if self.is_fixed {
            return;
        }
        let is_later = now.saturating_since(wanted) > self.margin();
        let moved = if is_later { self.margin_nanos + STEP_UP_NANOS } else { self.margin_nanos - STEP_DOWN_NANOS };
        self.margin_nanos = moved.clamp(LEAST_NANOS, MOST_NANOS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lateness of 0 to 99 µs in turn: the 95th percentile is 95 µs. The walk stays within a dozen steps of it.
    #[test]
    fn the_margin_settles_at_the_95th_percentile() {
        let mut spin = Spin::new(None);
        for turn in 0..100_000u64 {
            let lateness = turn * 37 % 100;
            spin.note_wakeup(Time::ZERO, Time::from_micros(lateness));
        }
        let micros = spin.margin().as_nanos() / 1000;
        assert!((85..=110).contains(&micros), "{micros}");
    }

    #[test]
    fn a_fixed_margin_stays() {
        let mut spin = Spin::new(Some(Duration::ZERO));
        spin.note_wakeup(Time::ZERO, Time::from_millis(1));
        assert_eq!(spin.margin(), Duration::ZERO);
    }
}
