//! Limits of a run, and the watch that can end it.
//!
//! A scenario can be valid and still never end (an unlimited rate, a source of 10^18 packets per second). Its budget of events,
//! `run.max_events`, is counted in the simulator and so the same on every machine; limits of the machine (memory, an interrupt by the user)
//! are left to the watch. Neither changes a result: a run is completed or fails.

use playpath_scenario::{Scenario, ScenarioError};
use playpath_units::Time;

#[derive(Clone, Copy, Debug)]
pub struct Progress {
    pub now: Time,
    /// When it will probably end: a video when it has been played without a stall, and at the limit if it has not.
    pub expected_end: Time,
    pub events: u64,
}

/// Looks on every `EVENTS_BETWEEN_LOOKS` events. Error: why the run must end here, in one line.
pub type Watch<'a> = dyn FnMut(Progress) -> Result<(), String> + 'a;

/// Some hundredths of a second; a power of two.
pub const EVENTS_BETWEEN_LOOKS: u64 = 1 << 16;

/// The most rows of a time series: a gigabyte for a flow.
const MAX_SAMPLES: u64 = 10_000_000;

#[derive(Clone, Copy, Debug)]
pub struct Budget {
    limit: Time,
    played: Time,
    max_events: u64,
}

impl Budget {
    pub fn of(scenario: &Scenario) -> Budget {
        let limit = scenario.limit();
        let played = if scenario.video.is_some() { Time::ZERO + scenario.media_duration() } else { limit };
        Budget { limit, played: played.min(limit), max_events: scenario.run.max_events }
    }

    pub fn progress(&self, now: Time, events: u64) -> Progress {
        Progress { now, expected_end: if now < self.played { self.played } else { self.limit }, events }
    }

    /// Check whether the run may continue. The number of events of the whole run is extrapolated, with a tolerance that shrinks with the
    /// share spent: after a tenth of the budget the estimate must be within the budget, after a hundredth within ten times the budget, and
    /// so on; there is no estimate before a thousandth, since many flows may begin at the same time.
    pub fn check(&self, progress: Progress) -> Result<(), ScenarioError> {
        let (events, most) = (progress.events as f64, self.max_events as f64);
        let share = progress.now.as_secs_f64() / progress.expected_end.as_secs_f64();
        let whole = events / share;
        if events < most && (events < most / 1000.0 || whole * events <= most * most / 10.0) {
            return Ok(());
        }
        let takes = if whole.is_finite() {
            format!("about {whole:.0e} events")
        } else {
            "an endless number of events".to_string()
        };
        Err(ScenarioError::new(format!(
            "`run.max_events` = {}: the run would take {takes} ({events:.0e} at {} of {}); ask for less (rates, flows, \
             duration) or allow more",
            self.max_events, progress.now, progress.expected_end
        )))
    }
}

/// Before a run with time series: whether they are of a bearable length.
pub fn check_samples(scenario: &Scenario) -> Result<(), ScenarioError> {
    let (limit, interval) = (scenario.limit(), scenario.run.sample_interval);
    let rows = limit.as_nanos() / interval.as_nanos();
    if rows <= MAX_SAMPLES {
        return Ok(());
    }
    Err(ScenarioError::new(format!(
        "`run.sample_interval` = {interval}: time series of {limit} would have {rows} rows; allowed: up to {MAX_SAMPLES}"
    )))
}

#[cfg(test)]
mod tests;
