//! Sabre's two safety rules: against an empty buffer, and against a download that has become too slow.
//!
//! Reference: Sabre's `ThroughputRule` (and the same insufficient-buffer rule in its `BolaEnh`); Spiteri et al., "From Theory to
//! Practice" (MMSys 2018). No differences in the arithmetic. dash.js has its own (`dash_js_5`).
//!
//! Tested by the worked examples below.

use super::throughput::ThroughputEstimate;
use super::{Abandonment, Context, Progress};
use crate::ladder::Ladder;
use playpath_units::ParamSpec;

/// The implementation that a name refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flavour {
    /// dash.js 5.
    DashJs,
    Sabre,
}

impl Flavour {
    pub(super) const PARAM: ParamSpec = ParamSpec::word(
        "flavour",
        "dash.js",
        &["dash.js", "sabre"],
        "whose rule: that of dash.js 5 with its guards, or Sabre's",
    );

    pub(super) fn of_word(word: &str) -> Flavour {
        if word == "sabre" { Flavour::Sabre } else { Flavour::DashJs }
    }
}

/// Share of the estimate that the throughput rule uses (`safety_factor`).
pub(super) const SAFETY: f64 = 0.9;

/// The share of throughput × buffer that a segment may cost starts at 0.9 and decays by that factor per decision to 0.5.
const SHARE_START: f64 = 0.9;
const SHARE_END: f64 = 0.5;

/// A projected download of more than this many segment durations is given up, from half a second on.
const ABANDON_MULTIPLIER: f64 = 1.8;
const ABANDON_GRACE_SECONDS: f64 = 0.5;

/// Limits the rate so that a segment arrives before the buffer is empty.
#[derive(Clone, Copy, Debug)]
pub(super) struct InsufficientBuffer {
    share: f64,
}

impl InsufficientBuffer {
    pub(super) fn new() -> InsufficientBuffer {
        InsufficientBuffer { share: SHARE_START }
    }

    /// Highest representation allowed. `bits_per_sec` is the estimate before any safety factor.
    pub(super) fn limit(&mut self, context: &Context, bits_per_sec: f64, latency: f64) -> usize {
        let safe_bits = self.share * (context.level() - latency) * bits_per_sec;
        self.share = (self.share * SHARE_START).max(SHARE_END);
        context.ladder.highest_at_most(safe_bits / context.ladder.segment_duration().as_secs_f64())
    }
}

/// Size of a segment in `other` by the nominal rates, as in the reference, bytes.
pub(super) fn nominal_size(ladder: &Ladder, total_bytes: u64, own: usize, other: usize) -> f64 {
    total_bytes as f64 * ladder.bits_per_sec(other) / ladder.bits_per_sec(own)
}

/// A lower representation for a download that would take too long, if it is worth it.
pub(super) fn abandon(estimate: &ThroughputEstimate, context: &Context, progress: &Progress) -> Option<Abandonment> {
    let so_far = &progress.so_far;
    let downloading = so_far.seconds() - so_far.latency_seconds();
    if so_far.bytes == 0 || downloading <= 0.0 || so_far.seconds() < ABANDON_GRACE_SECONDS {
        return None;
    }
    let bits_per_sec = so_far.bytes as f64 * 8.0 / downloading;
    let left = (progress.total_bytes - so_far.bytes) as f64;
    let projected = so_far.seconds() + left * 8.0 / bits_per_sec;
    if projected <= ABANDON_MULTIPLIER * context.ladder.segment_duration().as_secs_f64() {
        return None;
    }
    let lower = estimate.carried_by(context.ladder, SAFETY * bits_per_sec);
    // The rest must be larger than the whole segment in the lower representation.
    let worth_it = lower < so_far.representation
        && nominal_size(context.ladder, progress.total_bytes, so_far.representation, lower) < left;
    worth_it.then_some(Abandonment { representation: lower, reason: "download too slow" })
}

#[cfg(test)]
mod tests;
