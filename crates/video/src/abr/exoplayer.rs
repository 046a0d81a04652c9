//! Media3 ExoPlayer: AdaptiveTrackSelection over DefaultBandwidthMeter.
//!
//! Reference: androidx/media, libraries/exoplayer (AdaptiveTrackSelection, DefaultBandwidthMeter, SlidingPercentile,
//! DefaultLoadControl), state of 2025.
//! - Estimate: the median of the last transfers' throughputs, each from the response's headers to its end, weighted with the root of
//!   its bytes, weights of 2000 in all; from 2 s of transfers or 512 KiB on, 1 Mbit/s before.
//! - Choice: the highest rung that 0.7 of the estimate carries; no step up below 10 s of buffer, none down from 25 s on. Live, a
//!   buffer cannot be longer than what there is: the step up wants 0.75 of that without the segment that is chosen for, if it is less.
//! - Nothing is given up.
//!
//! Differences from the reference:
//! 1. The first estimate is that of an unknown network; a device takes one by country and kind of network (0.26 to 4.7 Mbit/s).
//! 2. Buffered chunks are not discarded for better ones (only rungs below 1280 × 720 would be, from 25 s of buffer on).
//! 3. Single precision there, double here.
//!
//! Units: bit/s, ms. Tested by the worked examples here; the player itself is not available as a package and was not run.

use super::{Abr, AbrEntry, Context, Decision, Download};
use playpath_units::{ParamSpec, Params};

pub(super) static ENTRY: AbrEntry = AbrEntry {
    name: "exoplayer",
    summary: "Media3 ExoPlayer: 0.7 of a sliding median; no step up at low, none down at high buffer",
    reference: "androidx/media AdaptiveTrackSelection, DefaultBandwidthMeter (2025)",
    params: PARAMS,
    build: |params| Box::new(ExoPlayer::new(params)),
};

const PARAMS: &[ParamSpec] = &[
    ParamSpec::number("initial", 1000.0, (1.0, 1e6), "kbit/s", "estimate before 2 s or 512 KiB of transfers"),
    ParamSpec::number("fraction", 0.7, (0.01, 2.0), "", "bandwidthFraction: share of the estimate that is used"),
];

/// DEFAULT_MIN_DURATION_FOR_QUALITY_INCREASE_MS, DEFAULT_MAX_DURATION_FOR_QUALITY_DECREASE_MS, in seconds.
const MAX_UP_LEVEL: f64 = 10.0;
const DOWN_LEVEL: f64 = 25.0;
/// DEFAULT_BUFFERED_FRACTION_TO_LIVE_EDGE_FOR_QUALITY_INCREASE.
const LIVE_FRACTION: f64 = 0.75;

/// DEFAULT_SLIDING_WINDOW_MAX_WEIGHT, ELAPSED_MILLIS_FOR_ESTIMATE, BYTES_TRANSFERRED_FOR_ESTIMATE.
const MAX_WEIGHT: u32 = 2000;
const TRUSTED_MS: u64 = 2000;
const TRUSTED_BYTES: u64 = 512 * 1024;
/// Most transfers kept; only transfers below 400 B on average could fill it.
const SAMPLES: usize = 100;

/// `SlidingPercentile`: (weight, value), oldest first.
#[derive(Clone, Copy, Debug)]
struct SlidingMedian {
    samples: [(u32, f64); SAMPLES],
    count: usize,
}

impl SlidingMedian {
    const EMPTY: SlidingMedian = SlidingMedian { samples: [(0, 0.0); SAMPLES], count: 0 };

    fn total(&self) -> u32 {
        self.samples[..self.count].iter().map(|(weight, _)| weight).sum()
    }

    fn remove_oldest(&mut self) {
        self.samples.copy_within(1..self.count, 0);
        self.count -= 1;
    }

    fn add(&mut self, weight: u32, value: f64) {
        if self.count == SAMPLES {
            self.remove_oldest();
        }
        self.samples[self.count] = (weight, value);
        self.count += 1;
        while let Some(excess) = self.total().checked_sub(MAX_WEIGHT).filter(|excess| *excess > 0) {
            if self.samples[0].0 <= excess {
                self.remove_oldest();
            } else {
                self.samples[0].0 -= excess;
            }
        }
    }

    /// The value at which half of the weight is reached, from below.
    fn median(&self) -> f64 {
        let mut sorted = self.samples;
        let sorted = &mut sorted[..self.count];
        sorted.sort_unstable_by(|a, b| a.1.total_cmp(&b.1));
        let half = 0.5 * f64::from(self.total());
        let mut reached = 0.0;
        let found = sorted.iter().find(|(weight, _)| {
            reached += f64::from(*weight);
            reached >= half
        });
        found.or(sorted.last()).map_or(0.0, |sample| sample.1)
    }
}

struct ExoPlayer {
    window: SlidingMedian,
    elapsed_ms: u64,
    bytes: u64,
    bits_per_sec: f64,
    /// Bytes of transfers that took no whole millisecond: they count with the next.
    carried: u64,
    fraction: f64,
}

impl ExoPlayer {
    fn new(params: &Params) -> ExoPlayer {
        ExoPlayer {
            window: SlidingMedian::EMPTY,
            elapsed_ms: 0,
            bytes: 0,
            bits_per_sec: params.number("initial") * 1e3,
            carried: 0,
            fraction: params.number("fraction"),
        }
    }
}

/// `minDurationForQualityIncreaseUs`, in seconds.
fn up_level(context: &Context) -> f64 {
    let Some(live) = context.live else { return MAX_UP_LEVEL };
    let last = context.ladder.segments() - 1;
    let chunk = context.ladder.duration_of(context.segment.min(last));
    (LIVE_FRACTION * (live.available.as_secs_f64() - chunk.as_secs_f64())).min(MAX_UP_LEVEL)
}

impl Abr for ExoPlayer {
    fn choose(&mut self, context: &Context) -> Decision {
        let ideal = context.ladder.highest_at_most(self.fraction * self.bits_per_sec);
        let level = context.level();
        let (choice, reason) = match context.previous {
            Some(previous) if ideal > previous && level < up_level(context) => {
                (previous, "too little buffer for a step up")
            }
            Some(previous) if ideal < previous && level >= DOWN_LEVEL => (previous, "enough buffer to stay"),
            _ => (ideal, "highest rate within the estimate"),
        };
        Decision::fetch(choice, reason).with_estimate(self.bits_per_sec)
    }

    fn on_download(&mut self, _context: &Context, download: &Download) {
        let millis = |time: playpath_units::Time| time.as_nanos() / 1_000_000;
        let ms = millis(download.completed_at) - millis(download.first_byte_at);
        let bytes = download.bytes + self.carried;
        self.elapsed_ms += ms;
        self.bytes += bytes;
        self.carried = bytes;
        if ms == 0 {
            return;
        }
        self.carried = 0;
        self.window.add(libm::sqrt(bytes as f64) as u32, bytes as f64 * 8e3 / ms as f64);
        if self.elapsed_ms >= TRUSTED_MS || self.bytes >= TRUSTED_BYTES {
            self.bits_per_sec = self.window.median().floor();
        }
    }
}

#[cfg(test)]
mod tests;
