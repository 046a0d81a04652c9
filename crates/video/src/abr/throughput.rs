//! The throughput rule, of Sabre or of dash.js 5.
//!
//! Reference: Sabre `ThroughputRule`, `Ewma`; dash.js 5.2.1 (`dash_js_5`).
//! `flavour=sabre`: throughput from the first byte on, the smaller of two averages (half-lives 3 s and 8 s of download time); latency
//! averaged, too, the larger one; wanted: latency + p · bitrate / (0.9 · estimate) ≤ p; then the guard against an empty buffer; and
//! slow downloads are given up. `flavour=dash.js`: dash.js with its throughput rule alone. No differences in the arithmetic; before
//! the first sample the parameter `initial` counts.
//!
//! Units: bit/s and seconds. Tested by worked examples, against dash.js itself (`tests/players`) and by the contract suite.

use super::dash_js_5::{DashJs, Settings, Strategy};
use super::safety::{self, Flavour, InsufficientBuffer, SAFETY};
use super::{Abandonment, Abr, AbrEntry, Context, Decision, Download, DualEwma, Progress};
use crate::ladder::Ladder;
use playpath_units::{ParamSpec, Params};

pub(super) static ENTRY: AbrEntry = AbrEntry {
    name: "throughput",
    summary: "throughput rule of dash.js 5 or Sabre: 0.9 of the smaller of two averages",
    reference: "dash.js 5.2.1 ThroughputRule; Sabre (MMSys 2018)",
    params: PARAMS,
    build,
};

const PARAMS: &[ParamSpec] = &[
    Flavour::PARAM,
    INITIAL,
    ParamSpec::flag(
        "insufficient_buffer",
        true,
        "limit the rate when the buffer could run empty (Sabre: not with -noibr)",
    ),
    ParamSpec::flag("abandon", true, "give up downloads that take longer than 1.8 segment durations"),
];

pub(super) const INITIAL: ParamSpec = ParamSpec::number(
    "initial",
    0.0,
    (0.0, 1e6),
    "kbit/s",
    "estimate before the first segment; 0 starts with the lowest",
);

fn build(params: &Params) -> Box<dyn Abr> {
    let (initial_kbps, insufficient_buffer) = (params.number("initial"), params.flag("insufficient_buffer"));
    let abandons = params.flag("abandon");
    match Flavour::of_word(params.word("flavour")) {
        Flavour::DashJs => {
            let settings = Settings { initial_kbps, insufficient_buffer, abandons, ..Settings::default() };
            Box::new(DashJs::new(Strategy::Throughput, settings))
        }
        Flavour::Sabre => Box::new(Throughput {
            estimate: ThroughputEstimate::new(initial_kbps),
            guard: insufficient_buffer.then(InsufficientBuffer::new),
            abandons,
        }),
    }
}

/// Half-lives of the averages, seconds of download time.
const FAST_SECONDS: f64 = 3.0;
const SLOW_SECONDS: f64 = 8.0;

/// Sabre's averages, and the choice that follows from them alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct ThroughputEstimate {
    throughput: DualEwma,
    /// Averaged over segments, so that latency has the same half-life in media time.
    latency: Option<DualEwma>,
    initial: Option<f64>,
}

impl ThroughputEstimate {
    pub(super) fn new(initial_kbps: f64) -> ThroughputEstimate {
        ThroughputEstimate {
            throughput: DualEwma::new(FAST_SECONDS, SLOW_SECONDS),
            latency: None,
            initial: (initial_kbps > 0.0).then_some(initial_kbps * 1e3),
        }
    }

    pub(super) fn push(&mut self, context: &Context, download: &Download) {
        let latency = download.latency_seconds();
        let seconds = (download.seconds() - latency).max(1e-9);
        self.throughput.push(download.bytes as f64 * 8.0 / seconds, seconds);
        let duration = context.ladder.segment_duration().as_secs_f64();
        self.latency
            .get_or_insert_with(|| DualEwma::new(FAST_SECONDS / duration, SLOW_SECONDS / duration))
            .push(latency, 1.0);
    }

    /// Bits per second, before any safety factor.
    pub(super) fn bits_per_sec(&self) -> Option<f64> {
        self.throughput.low().or(self.initial)
    }

    /// Seconds.
    pub(super) fn latency(&self) -> f64 {
        self.latency.and_then(|latency| latency.high()).unwrap_or(0.0)
    }

    /// Highest representation that `bits_per_sec` carries, and the latency of each segment.
    pub(super) fn carried_by(&self, ladder: &Ladder, bits_per_sec: f64) -> usize {
        // latency + p · bitrate / throughput ≤ p, solved for the bitrate.
        let share_left = 1.0 - self.latency() / ladder.segment_duration().as_secs_f64();
        ladder.highest_at_most(bits_per_sec * share_left)
    }

    /// Highest representation that `safety` times the estimate carries.
    pub(super) fn choice(&self, context: &Context, safety: f64) -> Option<usize> {
        Some(self.carried_by(context.ladder, safety * self.bits_per_sec()?))
    }
}

pub(super) struct Throughput {
    estimate: ThroughputEstimate,
    guard: Option<InsufficientBuffer>,
    abandons: bool,
}

impl Throughput {
    /// The rule with both safety rules; for `dynamic`.
    pub(super) fn guarded(initial_kbps: f64) -> Throughput {
        let guard = Some(InsufficientBuffer::new());
        Throughput { estimate: ThroughputEstimate::new(initial_kbps), guard, abandons: true }
    }
}

impl Abr for Throughput {
    fn choose(&mut self, context: &Context) -> Decision {
        let (Some(estimate), Some(choice)) = (self.estimate.bits_per_sec(), self.estimate.choice(context, SAFETY))
        else {
            return Decision::fetch(0, "no estimate yet");
        };
        let limit = self.guard.as_mut().map(|guard| guard.limit(context, estimate, self.estimate.latency()));
        match limit {
            Some(limit) if limit < choice => Decision::fetch(limit, "insufficient buffer"),
            _ => Decision::fetch(choice, "throughput"),
        }
        .with_estimate(estimate)
    }

    fn on_download(&mut self, context: &Context, download: &Download) {
        if !download.is_abandoned {
            self.estimate.push(context, download);
        }
    }

    fn abandon(&mut self, context: &Context, progress: &Progress) -> Option<Abandonment> {
        self.abandons.then(|| safety::abandon(&self.estimate, context, progress)).flatten()
    }
}

#[cfg(test)]
mod tests;
