//! dash.js 5: all its rules together, as its `AbrController` runs them.
//!
//! Reference: dash.js 5.2.1 (ThroughputModel, ThroughputController, AbrController, ThroughputRule, BolaRule,
//! InsufficientBufferRule, SwitchHistoryRule, AbandonRequestsRule, Settings).
//! - Estimate: whole kbit/s of a response from its first byte to its last (Resource Timing, so with 300 B of headers); two averages
//!   weighted with 1.5 × that time, half-lives 3 and 8 s (2 and 5.3 s of downloading); the smaller one, in whole kbit/s.
//! - Choice: the lowest of throughput rule (0.9 × estimate) or BOLA-E, insufficient-buffer rule and switch-history rule. BOLA decides
//!   from 12 s of buffer on and until it falls below 6 s.
//! - Giving up: after six reports and 0.5 s, at 18 s of buffer or less, if the whole segment would take 1.8 of its durations at the
//!   rate so far; then no step up for 10 s.
//!
//! Differences from the reference:
//! 1. Clocks are exact; dash.js takes waits of BOLA's placeholder in whole milliseconds.
//! 2. The buffer level is that of the moment of the question; dash.js knows it as of its last time update (up to 0.25 s old).
//! 3. An aborted request is measured from its first byte on, by its progress events; its Resource Timing entry depends on the browser.
//! 4. No rate saved from an earlier session; dropped frames, CMSD and the size of the video element are ignored (off there).
//!
//! Units: kbit/s as there, seconds. Tested by the worked examples here and against dash.js itself (`tests/players`).

mod bola;

use crate::abr::{Abandonment, Abr, AbrEntry, Choice, Context, Decision, Download, DualEwma, PlayState, Progress};
use crate::ladder::{Ladder, MAX_REPRESENTATIONS};
use bola::Bola;
use playpath_units::{Duration, ParamSpec, Time};

pub(super) static ENTRY: AbrEntry = AbrEntry {
    name: "dash.js",
    summary: "dash.js 5: throughput rule below 12 s of buffer, BOLA-E above, with its guards",
    reference: "dash.js 5.2.1",
    params: PARAMS,
    build: |params| {
        let strategy = match params.word("rules") {
            "throughput" => Strategy::Throughput,
            "bola" => Strategy::Bola,
            _ => Strategy::Dynamic,
        };
        let settings = Settings {
            switch_on: params.number("switch_on"),
            switch_off: 0.5 * params.number("switch_on"),
            target: params.number("target"),
            initial_kbps: params.number("initial"),
            ..Settings::default()
        };
        Box::new(DashJs::new(strategy, settings))
    },
};

const PARAMS: &[ParamSpec] = &[
    ParamSpec::word("rules", "dynamic", &["dynamic", "throughput", "bola"], "which of the two main rules is active"),
    ParamSpec::number("switch_on", 12.0, (1.0, 600.0), "s", "buffer level from which BOLA decides; until half of it"),
    ParamSpec::number(
        "target",
        18.0,
        (11.0, 600.0),
        "s",
        "bufferTimeDefault: BOLA's target, and nothing is given up above",
    ),
    ParamSpec::number("initial", 1000.0, (0.0, 1e6), "kbit/s", "rate that the first segment may have"),
];

const SAFETY: f64 = 0.9;
/// Half-lives in s, and `weightDownloadTimeMultiplicationFactor` (0.0015 a millisecond).
const FAST_SECONDS: f64 = 3.0;
const SLOW_SECONDS: f64 = 8.0;
const WEIGHT: f64 = 1.5;
/// Bytes that Resource Timing adds to a body for its headers (`transferSize`).
const HEADER_BYTES: u64 = 300;
/// `throughputSafetyFactor` and `segmentIgnoreCount` of the insufficient-buffer rule.
const BUFFER_SHARE: f64 = 0.7;
const IGNORED_SEGMENTS: u32 = 2;
/// `stallThreshold`: at so much buffer or less it counts as empty, s.
const EMPTY: f64 = 0.3;
/// The abandonment rule's thresholds; a report is a progress event, the first byte is one too.
const MIN_TRACES: u32 = 6;
const MIN_SECONDS: f64 = 0.5;
const DURATIONS: f64 = 1.8;
/// Room for so many segments given up, before more memory is asked for.
const ABANDONED: usize = 64;
/// `abandonLoadTimeout`.
const NO_STEP_UP: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strategy {
    Dynamic,
    Throughput,
    Bola,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub switch_on: f64,
    pub switch_off: f64,
    pub target: f64,
    pub initial_kbps: f64,
    pub insufficient_buffer: bool,
    pub abandons: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            switch_on: 12.0,
            switch_off: 6.0,
            target: 18.0,
            initial_kbps: 1000.0,
            insufficient_buffer: true,
            abandons: true,
        }
    }
}

/// dash.js's `ThroughputController`.
#[derive(Clone, Copy, Debug)]
pub(in crate::abr) struct Estimate {
    averages: DualEwma,
    last_kbps: Option<f64>,
}

impl Estimate {
    pub(in crate::abr) fn new() -> Estimate {
        Estimate { averages: DualEwma::new(FAST_SECONDS, SLOW_SECONDS), last_kbps: None }
    }

    pub(in crate::abr) fn push(&mut self, download: &Download) {
        let seconds = download.seconds_from_first_byte();
        // Resource Timing includes the headers; bursts are measured by the data that the fetch API delivers.
        let is_bare = download.is_abandoned || download.burst_bits_per_sec.is_some();
        let bytes = download.bytes + if is_bare { 0 } else { HEADER_BYTES };
        if seconds > 0.0 {
            let kbps = round(bytes as f64 * 8.0 / 1e3 / seconds);
            self.last_kbps = Some(kbps);
            self.averages.push(kbps, WEIGHT * seconds);
        }
    }

    /// Whole kbit/s; `None` before the first sample.
    pub(in crate::abr) fn kbps(&self) -> Option<f64> {
        self.averages.low().map(round)
    }

    /// 0.9 of it.
    pub(in crate::abr) fn safe_kbps(&self) -> Option<f64> {
        self.kbps().map(|kbps| SAFETY * kbps)
    }

    pub(in crate::abr) fn last_kbps(&self) -> Option<f64> {
        self.last_kbps
    }
}

/// dash.js's `AbrController` with its rules.
pub(super) struct DashJs {
    strategy: Strategy,
    settings: Settings,
    estimate: Estimate,
    uses_bola: bool,
    is_empty: bool,
    bola: Bola,
    history: SwitchHistory,
    current: Option<usize>,
    appended: u32,
    /// Segments given up, and until when no step up follows.
    abandoned: Vec<usize>,
    no_step_up_until: Time,
    /// BOLA's wait is over: this is asked for now.
    after_wait: Option<Decision>,
}

impl DashJs {
    pub(super) fn new(strategy: Strategy, settings: Settings) -> DashJs {
        DashJs {
            strategy,
            settings,
            estimate: Estimate::new(),
            uses_bola: strategy == Strategy::Bola,
            is_empty: true,
            bola: Bola::new(settings.target),
            history: SwitchHistory::default(),
            current: None,
            appended: 0,
            abandoned: Vec::with_capacity(ABANDONED),
            no_step_up_until: Time::ZERO,
            after_wait: None,
        }
    }

    /// Whole kbit/s; `None` before the first sample.
    fn kbps(&self) -> Option<f64> {
        self.estimate.kbps()
    }

    fn see_level(&mut self, level: f64) {
        let threshold = if self.uses_bola { self.settings.switch_off } else { self.settings.switch_on };
        if self.strategy == Strategy::Dynamic {
            self.uses_bola = level >= threshold;
        }
        let was_empty = std::mem::replace(&mut self.is_empty, level <= EMPTY);
        if self.is_empty && !was_empty {
            self.bola.handle_empty_buffer();
        }
    }

    fn may_step_up(&self, now: Time) -> bool {
        now >= self.no_step_up_until
    }

    /// The throughput rule's choice; `None` before the first segment has arrived.
    fn by_throughput(&self, context: &Context) -> Option<usize> {
        let kbps = self.kbps()?;
        let may = self.may_step_up(context.now) && (!self.is_empty || context.live.is_some());
        may.then(|| highest_at_most(context.ladder, SAFETY * kbps))
    }

    fn by_buffer(&self, context: &Context, level: f64) -> Option<usize> {
        let is_low_latency = context.live.is_some_and(|live| live.is_low_latency);
        if !self.settings.insufficient_buffer || is_low_latency || self.appended < IGNORED_SEGMENTS {
            return None;
        }
        if self.is_empty {
            return Some(0);
        }
        let duration = context.ladder.segment_duration().as_secs_f64();
        let kbps = self.kbps()? * BUFFER_SHARE * level / duration;
        (kbps > 0.0).then(|| highest_at_most(context.ladder, kbps))
    }

    /// The lowest of the rules' choices, and BOLA's wait.
    fn ask_rules(&mut self, context: &Context) -> (Option<(usize, &'static str)>, f64) {
        let level = rounded_level(context.level());
        let (main, reason, wait) = if self.uses_bola {
            let safe = self.kbps().map(|kbps| SAFETY * kbps);
            let (choice, wait) = self.bola.choose(context, level, safe);
            (choice, "BolaRule", wait)
        } else {
            (self.by_throughput(context), "ThroughputRule", 0.0)
        };
        let wanted = [
            (main, reason),
            (self.by_buffer(context, level), "InsufficientBufferRule"),
            (self.history.limit(context.ladder.count()), "SwitchHistoryRule"),
        ];
        let wanted = wanted.into_iter().filter_map(|(choice, reason)| Some((choice?, reason)));
        (wanted.min_by_key(|(choice, _)| *choice), wait)
    }

    fn decision(&self, choice: usize, reason: &'static str) -> Decision {
        let decision = Decision::fetch(choice, reason);
        self.kbps().map_or(decision, |kbps| decision.with_estimate(kbps * 1e3))
    }
}

impl Abr for DashJs {
    fn choose(&mut self, context: &Context) -> Decision {
        if let Some(decision) = self.after_wait.take() {
            return decision;
        }
        let Some(current) = self.current else {
            let first = highest_at_most(context.ladder, self.settings.initial_kbps);
            self.current = Some(first);
            return self.decision(first, "initial rate");
        };
        self.see_level(rounded_level(context.level()));
        let (wanted, wait) = self.ask_rules(context);
        let mut decision = self.decision(current, "no rule wants a change");
        if let Some((choice, reason)) = wanted {
            self.history.push(current, choice);
            let may = choice < current || self.may_step_up(context.now);
            let choice = if may { choice } else { current };
            self.current = Some(choice);
            self.bola.handle_choice(choice);
            decision = self.decision(choice, reason);
        }
        if wait > 0.0 && context.state == PlayState::Playing {
            self.after_wait = Some(decision);
            let until = context.now + Duration::from_secs_f64(wait).max(Duration::from_nanos(1));
            return Decision { choice: Choice::WaitUntil(until), ..decision };
        }
        decision
    }

    fn on_download(&mut self, context: &Context, download: &Download) {
        self.estimate.push(download);
        let duration = context.ladder.duration_of(download.segment).as_secs_f64();
        let before = rounded_level(download.level_before.as_secs_f64());
        self.see_level(before);
        self.bola.handle_download(download, duration, before);
        if !download.is_abandoned {
            self.appended += 1;
            self.see_level(rounded_level(context.level()));
        }
    }

    /// Reset BolaRule and InsufficientBufferRule; for a seek out of the buffer, the next segment is requested without consulting them.
    fn on_seek(&mut self, is_buffered: bool) {
        self.bola.handle_seek();
        self.appended = 0;
        let kept = self.current.filter(|_| !is_buffered);
        self.after_wait = kept.map(|current| self.decision(current, "after a seek"));
    }

    fn may_replace(&self, now: Time) -> bool {
        self.may_step_up(now)
    }

    fn abandon(&mut self, context: &Context, progress: &Progress) -> Option<Abandonment> {
        let so_far = &progress.so_far;
        let seconds = so_far.seconds_from_first_byte();
        let is_due = progress.reports + 1 >= MIN_TRACES && seconds > MIN_SECONDS;
        let may = self.settings.abandons && so_far.representation > 0 && !self.abandoned.contains(&so_far.segment);
        if !is_due || !may || rounded_level(context.level()) > self.settings.target {
            return None;
        }
        // The first trace, whose duration includes the latency, is left out.
        let kbps = round(so_far.bytes.saturating_sub(1) as f64 * 8.0 / 1e3 / seconds);
        let whole_seconds = (progress.total_bytes as f64 * 8.0 / kbps / 10.0).round() / 100.0;
        if whole_seconds < context.ladder.duration_of(so_far.segment).as_secs_f64() * DURATIONS {
            return None;
        }
        let lower = highest_at_most(context.ladder, kbps);
        let share = context.ladder.bits_per_sec(lower) / context.ladder.bits_per_sec(so_far.representation);
        let left = progress.total_bytes - so_far.bytes;
        if left as f64 <= progress.total_bytes as f64 * share {
            return None;
        }
        self.abandoned.push(so_far.segment);
        self.no_step_up_until = context.now + NO_STEP_UP;
        self.history = SwitchHistory::default();
        self.current = Some(lower);
        self.bola.handle_abandonment(lower, rounded_level(context.level()));
        Some(Abandonment { representation: lower, reason: "AbandonRequestsRule" })
    }
}

/// The last changes that were wanted: which representation led down how often.
#[derive(Clone, Copy, Debug, Default)]
struct SwitchHistory {
    /// (representation, it led down), oldest first.
    samples: [(usize, bool); SwitchHistory::SAMPLES],
    count: usize,
}

impl SwitchHistory {
    /// `sampleSize` and `switchPercentageThreshold`.
    const SAMPLES: usize = 8;
    const SHARE: f64 = 0.075;

    fn push(&mut self, from: usize, to: usize) {
        if self.count == SwitchHistory::SAMPLES {
            self.samples.rotate_left(1);
            self.count -= 1;
        }
        self.samples[self.count] = (from, to < from);
        self.count += 1;
    }

    /// The rung below the first at which the drops so far, from the lowest rung up, are too many.
    fn limit(&self, count: usize) -> Option<usize> {
        let (mut drops, mut others) = ([0u32; MAX_REPRESENTATIONS], [0u32; MAX_REPRESENTATIONS]);
        for &(from, is_drop) in &self.samples[..self.count] {
            *(if is_drop { &mut drops[from] } else { &mut others[from] }) += 1;
        }
        let (mut all_drops, mut all_others) = (0, 0);
        for rung in 0..count {
            (all_drops, all_others) = (all_drops + drops[rung], all_others + others[rung]);
            let is_known =
                drops[rung] + others[rung] > 0 && (all_drops + all_others) as usize >= SwitchHistory::SAMPLES;
            if is_known && f64::from(all_drops) / f64::from(all_others) > SwitchHistory::SHARE {
                return Some(if drops[rung] > 0 { rung.saturating_sub(1) } else { rung });
            }
        }
        None
    }
}

fn round(value: f64) -> f64 {
    (value + 0.5).floor()
}

/// Metrics hold the level in whole milliseconds.
pub(in crate::abr) fn rounded_level(seconds: f64) -> f64 {
    (seconds * 1e3).round() / 1e3
}

/// `getOptimalRepresentationForBitrate`.
pub(in crate::abr) fn highest_at_most(ladder: &Ladder, kbps: f64) -> usize {
    (0..ladder.count()).rev().find(|&rung| ladder.bits_per_sec(rung) / 1e3 <= kbps).unwrap_or(0)
}

#[cfg(test)]
mod tests;
