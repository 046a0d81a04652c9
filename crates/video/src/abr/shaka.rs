//! Shaka Player: its SimpleAbrManager.
//!
//! Reference: shaka-player 5.2.12 (SimpleAbrManager, EwmaBandwidthEstimator, HttpFetchPlugin, StreamingEngine, SegmentPrefetch;
//! defaults of `player_configuration.js`).
//! - Estimate: a sample whenever 16 kB came in more than 100 ms, counted from the request, in whole milliseconds; the smaller of two
//!   averages (half-lives 2 and 5 s of downloading); 1 Mbit/s before 128 kB.
//! - Choice: the highest rung that 0.95 of the estimate carries. Asked with every sample and at the end of each segment, but a choice
//!   holds for 8 s (the first one only until 128 kB are there).
//! - A change gives up what is under way, in both directions: the prefetch (one segment) is cleared, also with the last byte.
//!
//! Differences from the reference:
//! 1. `bandwidthUpgradeTarget` has no effect there either: the range of a rung reaches beyond where that of the next begins.
//! 2. Network Information, restrictions by size and dropped frames are ignored.
//! 3. Of a segment that comes chunk by chunk the rate of the chunks is sampled; Shaka counts the pauses between them, too.
//!
//! Units: bit/s, ms as there. Tested by the worked examples here and against Shaka Player itself (`tests/players`).

use super::{Abandonment, Abr, AbrEntry, Context, Decision, Download, DualEwma, Progress, Reports};
use playpath_units::{ParamSpec, Params, Time};

pub(super) static ENTRY: AbrEntry = AbrEntry {
    name: "shaka",
    summary: "Shaka Player: 0.95 of the smaller of two averages, a choice every 8 s",
    reference: "shaka-player 5.2.12",
    params: PARAMS,
    build: |params| Box::new(Shaka::new(params)),
};

const PARAMS: &[ParamSpec] = &[
    ParamSpec::number("initial", 1000.0, (1.0, 1e6), "kbit/s", "defaultBandwidthEstimate"),
    ParamSpec::number("target", 0.95, (0.01, 2.0), "", "bandwidthDowngradeTarget: share of the estimate that is used"),
    ParamSpec::number("interval", 8.0, (0.0, 600.0), "s", "switchInterval: time for which a choice holds"),
];

/// fastHalfLife, slowHalfLife, minTotalBytes, minBytes, cacheLoadThreshold (ms).
const FAST_SECONDS: f64 = 2.0;
const SLOW_SECONDS: f64 = 5.0;
const TRUSTED_BYTES: u64 = 128_000;
const SAMPLE_BYTES: u64 = 16_000;
const CACHE_MS: u64 = 5;
/// More than 100 ms in whole milliseconds.
const PROGRESS_MS: u64 = 100;

struct Shaka {
    averages: DualEwma,
    sampled: u64,
    initial: f64,
    target: f64,
    interval_ms: u64,
    current: Option<usize>,
    chosen_at_ms: u64,
    has_started: bool,
    /// The request under way; since when, and bytes of it already sampled.
    request: (usize, Time),
    since_ms: u64,
    counted: u64,
}

impl Shaka {
    fn new(params: &Params) -> Shaka {
        Shaka {
            averages: DualEwma::new(FAST_SECONDS, SLOW_SECONDS),
            sampled: 0,
            initial: params.number("initial") * 1e3,
            target: params.number("target"),
            interval_ms: (params.number("interval") * 1e3) as u64,
            current: None,
            chosen_at_ms: 0,
            has_started: false,
            request: (0, Time::ZERO),
            since_ms: 0,
            counted: 0,
        }
    }

    fn bits_per_sec(&self) -> f64 {
        self.averages.low().filter(|_| self.sampled >= TRUSTED_BYTES).unwrap_or(self.initial)
    }

    /// `burst`: the rate in which they came, if the time says nothing about it.
    fn sample(&mut self, ms: u64, bytes: u64, burst: Option<f64>) {
        if ms >= CACHE_MS && bytes >= SAMPLE_BYTES {
            let seconds = burst.map_or(ms as f64 / 1e3, |rate| 8.0 * bytes as f64 / rate);
            self.averages.push(burst.unwrap_or(8e3 * bytes as f64 / ms as f64), seconds);
            self.sampled += bytes;
        }
    }

    /// `suggestStreams_`: another rung, if it is time for one.
    fn suggest(&mut self, context: &Context) -> Option<usize> {
        let now = millis(context.now);
        if !self.has_started {
            if self.sampled < TRUSTED_BYTES {
                return None;
            }
            self.has_started = true;
        } else if now - self.chosen_at_ms < self.interval_ms {
            return None;
        }
        self.chosen_at_ms = now;
        let choice = context.ladder.highest_at_most(self.target * self.bits_per_sec());
        (self.current != Some(choice)).then_some(choice)
    }

    /// A report of progress, or the end.
    fn measure(&mut self, now: u64, so_far: &Download) {
        let bytes = so_far.bytes;
        self.sample(now - self.since_ms, bytes - self.counted, so_far.burst_bits_per_sec);
        (self.since_ms, self.counted) = (now, bytes);
    }
}

impl Abr for Shaka {
    fn choose(&mut self, context: &Context) -> Decision {
        let current = match self.current {
            Some(current) => current,
            None => {
                self.chosen_at_ms = millis(context.now);
                context.ladder.highest_at_most(self.target * self.initial)
            }
        };
        self.current = Some(current);
        Decision::fetch(current, "SimpleAbrManager").with_estimate(self.bits_per_sec())
    }

    fn reports(&self) -> Reports {
        Reports::Arrivals
    }

    fn abandon(&mut self, context: &Context, progress: &Progress) -> Option<Abandonment> {
        let (now, bytes) = (millis(context.now), progress.so_far.bytes);
        let request = (progress.so_far.segment, progress.so_far.requested_at);
        if std::mem::replace(&mut self.request, request) != request {
            (self.since_ms, self.counted) = (millis(request.1), 0);
        }
        let is_end = bytes == progress.total_bytes;
        let is_due = now - self.since_ms > PROGRESS_MS && bytes - self.counted >= SAMPLE_BYTES;
        let mut choice = None;
        if is_due {
            self.measure(now, &progress.so_far);
            choice = self.suggest(context);
        }
        if is_end && choice.is_none() {
            self.measure(now, &progress.so_far);
            choice = self.suggest(context);
        }
        self.current = choice.or(self.current);
        choice.map(|representation| Abandonment { representation, reason: "another rung" })
    }
}

fn millis(time: Time) -> u64 {
    time.as_nanos() / 1_000_000
}

#[cfg(test)]
mod tests;
