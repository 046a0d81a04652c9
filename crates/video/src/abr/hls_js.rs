//! hls.js: its AbrController.
//!
//! Reference: hls.js 1.7.4 (AbrController, EwmaBandWidthEstimator, StreamController; defaults of `config.ts`), on demand.
//! - Estimate: bytes over the time of a segment less the usual time to the first byte, weighted with that time; the smaller of two
//!   averages (3 and 9 s); 500 kbit/s, or the lowest rung, before the first. The time to the first byte has an average of its own.
//! - Choice: the highest rung that 0.95 of the estimate carries (0.7 for a step up) and whose segment comes before the buffer is
//!   empty; otherwise one that stalls for less than 4 s, or a segment; otherwise the lowest.
//! - Giving up: every 100 ms once half a segment's duration has passed, if what is left takes longer than the buffer lasts and the
//!   whole segment comes sooner in a lower rung; the estimate then begins anew with that rung's rate.
//!
//! Differences from the reference:
//! 1. Media playlists take no time. A level whose playlist was not loaded yet still counts as hls.js counts it.
//! 2. A rung has one rate (`BANDWIDTH` and `AVERAGE-BANDWIDTH` are equal), no codec, frame-rate or size that could exclude it. The
//!    master playlist begins with the lowest rung.
//! 3. Parsing and appending take no time.
//!
//! Units: ms and bit/s as there. Tested by the worked examples here and against hls.js itself (`tests/players`).

use super::{Abandonment, Abr, AbrEntry, Context, Decision, Download, DualEwma, PlayState, Progress, Reports};
use playpath_units::{Duration, ParamSpec, Params};

pub(super) static ENTRY: AbrEntry = AbrEntry {
    name: "hls.js",
    summary: "hls.js: highest rung whose next segment comes before the buffer is empty",
    reference: "hls.js 1.7.4",
    params: PARAMS,
    build: |params| Box::new(HlsJs::new(params)),
};

const PARAMS: &[ParamSpec] = &[
    ParamSpec::number(
        "initial",
        500.0,
        (1.0, 1e6),
        "kbit/s",
        "abrEwmaDefaultEstimate; the lowest rung if that is more",
    ),
    ParamSpec::number("factor", 0.95, (0.01, 2.0), "", "abrBandWidthFactor: share of the estimate that is used"),
    ParamSpec::number("up_factor", 0.7, (0.01, 2.0), "", "abrBandWidthUpFactor: the same for a step up"),
    ParamSpec::number("starvation", 4.0, (0.0, 600.0), "s", "maxStarvationDelay: stall that is risked at most"),
];

/// abrEwmaFastVoD, abrEwmaSlowVoD, abrEwmaDefaultEstimateMax.
const FAST_SECONDS: f64 = 3.0;
const SLOW_SECONDS: f64 = 9.0;
const MAX_INITIAL: f64 = 5e6;
/// `defaultTTFB`, and the least that a sample counts as; `minDelayMs_`; `minWeight_`.
const DEFAULT_TTFB_MS: f64 = 100.0;
const MIN_TTFB_MS: f64 = 5.0;
const MIN_DELAY_MS: f64 = 50.0;
const MIN_WEIGHT: f64 = 0.001;
/// A lower rung that takes more than so many segment durations is of no use either.
const UNREASONABLE: f64 = 10.0;
const TIMER: Duration = Duration::from_millis(100);

/// `EwmaBandWidthEstimator`.
#[derive(Clone, Copy, Debug)]
struct Estimator {
    averages: DualEwma,
    weight: f64,
    ttfb: DualEwma,
    ttfb_weight: f64,
    default: f64,
}

impl Estimator {
    fn new(default: f64) -> Estimator {
        Estimator {
            averages: DualEwma::new(FAST_SECONDS, SLOW_SECONDS),
            weight: 0.0,
            ttfb: DualEwma::new(SLOW_SECONDS, SLOW_SECONDS),
            ttfb_weight: 0.0,
            default,
        }
    }

    fn sample(&mut self, ms: f64, bytes: u64) {
        if bytes > 0 {
            let seconds = ms.max(MIN_DELAY_MS.min(bytes as f64 / 1e5)) / 1e3;
            self.averages.push(bytes as f64 * 8.0 / seconds, seconds);
            self.weight += seconds;
        }
    }

    fn sample_ttfb(&mut self, ms: f64) {
        let seconds = ms / 1e3;
        let weight = std::f64::consts::SQRT_2 * libm::exp(-seconds * seconds / 2.0);
        self.ttfb.push(ms.max(MIN_TTFB_MS), weight);
        self.ttfb_weight += weight;
    }

    fn can_estimate(&self) -> bool {
        self.weight >= MIN_WEIGHT
    }

    fn bits_per_sec(&self) -> f64 {
        self.averages.low().filter(|_| self.can_estimate()).unwrap_or(self.default)
    }

    fn ttfb_ms(&self) -> f64 {
        self.ttfb.low().filter(|_| self.ttfb_weight >= MIN_WEIGHT).unwrap_or(DEFAULT_TTFB_MS)
    }
}

#[derive(Clone, Copy, Debug)]
struct Demand {
    bits_per_sec: f64,
    highest: usize,
    /// Seconds of buffer, and of stall that is risked.
    buffered: f64,
    risked: f64,
    factor: f64,
    up_factor: f64,
}

struct HlsJs {
    estimator: Option<Estimator>,
    initial: f64,
    factor: f64,
    up_factor: f64,
    starvation: f64,
    /// `lastLoadedFragLevel`, `loadLevel`.
    loaded: Option<usize>,
    level: usize,
    /// Chosen by giving up, until a segment of it was loaded.
    forced: Option<usize>,
    /// Levels whose playlist was loaded.
    known: u32,
}

impl HlsJs {
    fn new(params: &Params) -> HlsJs {
        HlsJs {
            estimator: None,
            initial: params.number("initial") * 1e3,
            factor: params.number("factor"),
            up_factor: params.number("up_factor"),
            starvation: params.number("starvation"),
            loaded: None,
            level: 0,
            forced: None,
            known: 0,
        }
    }

    fn estimator(&mut self, context: &Context) -> &mut Estimator {
        let lowest = context.ladder.bits_per_sec(0).min(MAX_INITIAL);
        self.estimator.get_or_insert_with(|| Estimator::new(self.initial.max(lowest)))
    }

    /// Seconds to load so many bits, with the playlist if it is not there.
    fn seconds_to_load(&self, ttfb: f64, bits_per_sec: f64, bits: f64, level: usize) -> f64 {
        let playlist = if self.knows(level) { 0.0 } else { ttfb };
        ttfb + bits / bits_per_sec + playlist
    }

    fn knows(&self, level: usize) -> bool {
        self.known & (1 << level) != 0
    }

    fn best(&self, context: &Context, estimator: &Estimator, demand: &Demand) -> Option<usize> {
        let base = self.loaded.unwrap_or(0);
        let is_first = self.loaded.is_none();
        // Before the first segment the estimate is at least the lowest rung's rate.
        let bits_per_sec =
            if is_first { demand.bits_per_sec.max(context.ladder.bits_per_sec(0)) } else { demand.bits_per_sec };
        let ttfb = estimator.ttfb_ms() / 1e3;
        let budget = demand.buffered + demand.risked;
        (0..=demand.highest).rev().find(|&level| {
            // Before any playlist a segment counts as one second.
            let duration = if self.known == 0 { 1.0 } else { context.ladder.segment_duration().as_secs_f64() };
            let usable = bits_per_sec * if level > base { demand.up_factor } else { demand.factor };
            let rate = context.ladder.bits_per_sec(level);
            let seconds = self.seconds_to_load(ttfb, usable, rate * duration, level);
            usable >= rate && (seconds <= ttfb || seconds < budget)
        })
    }

    fn next_level(&self, context: &Context, estimator: &Estimator) -> (usize, &'static str) {
        let duration = context.ladder.segment_duration().as_secs_f64();
        let demand = Demand {
            bits_per_sec: estimator.bits_per_sec(),
            highest: context.ladder.count() - 1,
            buffered: context.level(),
            risked: 0.0,
            factor: self.factor,
            up_factor: self.up_factor,
        };
        let without_stall = self.best(context, estimator, &demand).filter(|_| demand.buffered > 0.0);
        if let Some(level) = without_stall {
            return (level, "before the buffer is empty");
        }
        let risky = Demand { risked: self.starvation.min(duration), ..demand };
        self.best(context, estimator, &risky).map_or((0, "lowest level"), |level| (level, "with a short stall"))
    }

    fn first_level(&self, context: &Context, estimator: &Estimator) -> usize {
        let demand = Demand {
            bits_per_sec: estimator.bits_per_sec(),
            highest: context.ladder.count() - 1,
            buffered: context.level() / 2.0,
            risked: self.starvation,
            factor: 1.0,
            up_factor: 1.0,
        };
        self.best(context, estimator, &demand).unwrap_or(0)
    }

    /// The lower rung that completes soonest without a stall, and its download time in seconds; as searched by `_abandonRulesCheck`.
    fn faster(&self, context: &Context, own: usize, bits_per_sec: f64, ttfb: f64, duration: f64) -> (usize, f64) {
        let mut seconds = f64::INFINITY;
        for level in (1..own).rev() {
            let bits = duration * context.ladder.bits_per_sec(level);
            seconds = self.seconds_to_load(ttfb, bits_per_sec, bits, level);
            if seconds < context.level().min(duration + ttfb) {
                return (level, seconds);
            }
        }
        (0, seconds)
    }

    /// The rung for the abandoned segment; the estimate is reset if it was too high.
    fn step_down(&mut self, context: &Context, mut estimator: Estimator, lower: usize, is_urgent: bool) -> usize {
        let rate_of = |level: usize| context.ladder.bits_per_sec(level);
        let rate = rate_of(lower);
        if estimator.bits_per_sec() * self.up_factor > rate {
            estimator = Estimator::new(rate);
        }
        let demand = Demand {
            bits_per_sec: rate,
            highest: lower,
            buffered: 0.0,
            risked: context.level(),
            factor: 1.0,
            up_factor: 1.0,
        };
        let mut level = self.best(context, &estimator, &demand).unwrap_or(lower);
        if is_urgent && level > 0 {
            let demand = Demand { bits_per_sec: rate_of(0), highest: level, ..demand };
            level = self.best(context, &estimator, &demand).unwrap_or(0);
            estimator = Estimator::new(rate_of(level));
        }
        self.estimator = Some(estimator);
        level
    }
}

impl Abr for HlsJs {
    fn choose(&mut self, context: &Context) -> Decision {
        let estimator = *self.estimator(context);
        let (level, reason) = match self.forced {
            Some(forced) => (forced, "given up before"),
            None if context.ladder.count() == 1 => (0, "only level"),
            None if self.loaded.is_none() => {
                let first = self.first_level(context, &estimator);
                self.forced = Some(first);
                (first, "first level")
            }
            None if !estimator.can_estimate() => (self.first_level(context, &estimator), "first level"),
            None => self.next_level(context, &estimator),
        };
        self.level = level;
        self.known |= 1 << level;
        Decision::fetch(level, reason).with_estimate(estimator.bits_per_sec())
    }

    fn on_download(&mut self, context: &Context, download: &Download) {
        if download.is_abandoned {
            return;
        }
        let ttfb = download.latency_seconds() * 1e3;
        let estimator = self.estimator(context);
        estimator.sample_ttfb(ttfb);
        estimator.sample(download.seconds() * 1e3 - ttfb.min(estimator.ttfb_ms()), download.bytes);
        self.forced = self.forced.filter(|&forced| forced != download.representation);
        self.loaded = Some(download.representation);
    }

    fn reports(&self) -> Reports {
        Reports::Timer(TIMER)
    }

    fn abandon(&mut self, context: &Context, progress: &Progress) -> Option<Abandonment> {
        let (so_far, own) = (&progress.so_far, progress.so_far.representation);
        if own == 0 {
            self.forced = None;
            return None;
        }
        if context.state == PlayState::StartingUp {
            return None;
        }
        let mut estimator = *self.estimator(context);
        let ttfb_ms = estimator.ttfb_ms();
        let loading_ms = so_far.completed_at.saturating_since(so_far.requested_at).as_secs_f64() * 1e3;
        let duration = context.ladder.duration_of(so_far.segment).as_secs_f64();
        if loading_ms <= ttfb_ms.max(1e3 * duration / 2.0) {
            return None;
        }
        let (bytes, own_ttfb) = (so_far.bytes as f64, so_far.latency_seconds() * 1e3);
        let has_bytes = so_far.bytes > 0;
        let expected = (duration * context.ladder.bits_per_sec(own) / 8.0).round().max(bytes);
        let streaming_ms = match loading_ms - own_ttfb {
            short if short < 1.0 => loading_ms.min(bytes * 8.0 / estimator.bits_per_sec()),
            ms => ms,
        };
        let bytes_per_sec = bytes * 1e3 / streaming_ms;
        let ttfb = ttfb_ms / 1e3;
        let left = if has_bytes {
            (expected - bytes) / bytes_per_sec
        } else {
            expected * 8.0 / estimator.bits_per_sec() + ttfb
        };
        if left <= context.level() {
            return None;
        }
        let bits_per_sec = if has_bytes { bytes_per_sec * 8.0 } else { estimator.bits_per_sec() };
        let (lower, seconds) = self.faster(context, own, bits_per_sec, ttfb, duration);
        if seconds >= left || seconds > duration * UNREASONABLE {
            return None;
        }
        if has_bytes {
            estimator.sample(loading_ms - ttfb_ms.min(own_ttfb), so_far.bytes);
        } else {
            estimator.sample_ttfb(loading_ms);
        }
        let level = self.step_down(context, estimator, lower, left > seconds * 2.0);
        self.forced = Some(level);
        self.level = level;
        self.known |= 1 << level;
        Some(Abandonment { representation: level, reason: "loading too slowly" })
    }
}

#[cfg(test)]
mod tests;
