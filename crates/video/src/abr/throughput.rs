//! The throughput rule of dash.js and Sabre.
//!
//! References: dash.js ThroughputRule and ThroughputController, InsufficientBufferRule, AbandonRequestsRule; Sabre
//! `ThroughputRule`, `Ewma`. The smaller of two averages (half-lives 3 s and 8 s of download time) times 0.9; then the guard
//! against an empty buffer; and the abandonment of slow downloads.
//! Flavours: `dash.js` measures from the request and chooses bitrate ≤ 0.9 · estimate; `sabre` measures from the first byte,
//! averages the latency too and wants latency + p · bitrate / (0.9 · estimate) ≤ p.
//! Differences from the references:
//! 1. No recovery of the first estimate from local storage; before the first sample the parameter `initial` counts.
//! 2. dash.js leaves out samples that came from a cache; there is none here.
//! 3. Those of the guards (`safety.rs`).
//!
//! Units: bit/s and seconds. Tested by the hand-derived traces in `tests/abr_traces.rs` and by the contract suite.

use super::safety::{self, Flavour, InsufficientBuffer, SAFETY};
use super::{Abandonment, Abr, AbrEntry, Context, Decision, Download, DualEwma, Progress};
use playpath_units::{ParamSpec, Params};

pub(super) static ENTRY: AbrEntry = AbrEntry {
    name: "throughput",
    summary: "dash.js/Sabre throughput rule: 0.9 of the smaller of two averages",
    reference: "dash.js ThroughputRule; Sabre (MMSys 2018)",
    params: PARAMS,
    build: |params| Box::new(Throughput::new(params)),
};

const PARAMS: &[ParamSpec] = &[
    FLAVOUR,
    INITIAL,
    ParamSpec::flag("insufficient_buffer", true, "limit the rate when the buffer could run empty"),
    ParamSpec::flag("abandon", true, "give up downloads that take longer than 1.8 segment durations"),
];

pub(super) const FLAVOUR: ParamSpec =
    ParamSpec::word("flavour", "dash.js", Flavour::WORDS, "whose constants and treatment of latency");
pub(super) const INITIAL: ParamSpec = ParamSpec::number(
    "initial",
    0.0,
    (0.0, 1e6),
    "kbit/s",
    "estimate before the first segment; 0 starts with the lowest",
);

/// Half-lives of the averages, seconds of download time.
const FAST_SECONDS: f64 = 3.0;
const SLOW_SECONDS: f64 = 8.0;

/// The averages, and the choice that follows from them alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct ThroughputEstimate {
    flavour: Flavour,
    throughput: DualEwma,
    /// In segments, so that latency has the same half-life in media time (Sabre).
    latency: Option<DualEwma>,
    initial: Option<f64>,
}

impl ThroughputEstimate {
    pub(super) fn new(flavour: Flavour, initial_kbps: f64) -> ThroughputEstimate {
        ThroughputEstimate {
            flavour,
            throughput: DualEwma::new(FAST_SECONDS, SLOW_SECONDS),
            latency: None,
            initial: (initial_kbps > 0.0).then_some(initial_kbps * 1e3),
        }
    }

    pub(super) fn push(&mut self, context: &Context, download: &Download) {
        let latency = match self.flavour {
            Flavour::DashJs => 0.0,
            Flavour::Sabre => download.latency_seconds(),
        };
        let seconds = (download.seconds() - latency).max(1e-9);
        self.throughput.push(download.bytes as f64 * 8.0 / seconds, seconds);
        let duration = context.ladder.segment_duration().as_secs_f64();
        self.latency
            .get_or_insert_with(|| DualEwma::new(FAST_SECONDS / duration, SLOW_SECONDS / duration))
            .push(latency, 1.0);
    }

    /// Bits per second, before the safety factor.
    pub(super) fn bits_per_sec(&self) -> Option<f64> {
        self.throughput.low().or(self.initial)
    }

    /// Seconds; zero in the flavour `dash.js`, where latency is part of the throughput.
    pub(super) fn latency(&self) -> f64 {
        self.latency.and_then(|latency| latency.high()).unwrap_or(0.0)
    }

    /// Highest representation that `safety` times the estimate carries.
    pub(super) fn choice(&self, context: &Context, safety: f64) -> Option<usize> {
        let duration = context.ladder.segment_duration().as_secs_f64();
        // latency + p · bitrate / throughput ≤ p, solved for the bitrate.
        let share_left = 1.0 - self.latency() / duration;
        Some(context.ladder.highest_at_most(safety * self.bits_per_sec()? * share_left))
    }
}

pub(super) struct Throughput {
    flavour: Flavour,
    estimate: ThroughputEstimate,
    guard: Option<InsufficientBuffer>,
    abandons: bool,
}

impl Throughput {
    fn new(params: &Params) -> Throughput {
        let flavour = Flavour::of_word(params.word("flavour"));
        Throughput {
            flavour,
            estimate: ThroughputEstimate::new(flavour, params.number("initial")),
            guard: params.flag("insufficient_buffer").then(|| InsufficientBuffer::new(flavour)),
            abandons: params.flag("abandon"),
        }
    }

    /// With both guards; for `dynamic`.
    pub(super) fn guarded(flavour: Flavour, initial_kbps: f64) -> Throughput {
        Throughput {
            flavour,
            estimate: ThroughputEstimate::new(flavour, initial_kbps),
            guard: Some(InsufficientBuffer::new(flavour)),
            abandons: true,
        }
    }
}

impl Abr for Throughput {
    fn name(&self) -> &'static str {
        "throughput"
    }

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
        self.abandons.then(|| safety::abandon(self.flavour, context, progress)).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{context, download, ladder};
    use super::*;

    /// 2000 kbit in 1.5 s, the first byte after 0.5 s, segments of 2 s. dash.js: 1333 · 0.9 = 1200 kbit/s: rung 1000.
    /// Sabre: 2000 kbit/s after the latency; 0.9 · 2000 · (1 − 0.5 / 2) = 1350: rung 1300.
    #[test]
    fn latency_in_both_flavours() {
        let ladder = ladder(&[1000, 1250, 1300, 1500]);
        let at = context(&ladder, 10.0, 30.0, None);
        for (flavour, bits_per_sec, latency, choice) in
            [(Flavour::DashJs, 1_333_333.3, 0.0, 0), (Flavour::Sabre, 2e6, 0.5, 2)]
        {
            let mut estimate = ThroughputEstimate::new(flavour, 0.0);
            assert_eq!(estimate.choice(&at, SAFETY), None);
            estimate.push(&at, &download(2000, 1.5, 0.5));
            assert!((estimate.bits_per_sec().expect("a sample") - bits_per_sec).abs() < 0.1);
            assert!((estimate.latency() - latency).abs() < 1e-9);
            assert_eq!(estimate.choice(&at, SAFETY), Some(choice));
        }
    }

    /// Before the first download the parameter counts: 0.9 · 1500 = 1350.
    #[test]
    fn an_initial_estimate_chooses_the_first_segment() {
        let ladder = ladder(&[1000, 1250, 1300, 1500]);
        let at = context(&ladder, 0.0, 30.0, None);
        assert_eq!(ThroughputEstimate::new(Flavour::DashJs, 1500.0).choice(&at, SAFETY), Some(2));
    }
}
