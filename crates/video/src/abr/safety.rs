//! Sabre's two guards: against an empty buffer, and against a download that has become too slow.
//!
//! Reference: Sabre's `ThroughputRule` (and the same insufficient-buffer rule in its `BolaEnh`); Spiteri et al., "From Theory to
//! Practice" (MMSys 2018). No differences in the arithmetic. dash.js has its own (`dash_js_5`).
//!
//! Tested by the worked examples below.

use super::throughput::ThroughputEstimate;
use super::{Abandonment, Context, Progress};
use crate::ladder::Ladder;
use playpath_units::ParamSpec;

/// Whose rule a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flavour {
    /// dash.js 5.
    DashJs,
    /// Sabre.
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

/// Size that a segment would have in `other`, by the nominal rates: what the reference counts with.
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
    // What is left must be more than the whole segment in the lower representation.
    let worth_it = lower < so_far.representation
        && nominal_size(context.ladder, progress.total_bytes, so_far.representation, lower) < left;
    worth_it.then_some(Abandonment { representation: lower, reason: "download too slow" })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{context, download, ladder};
    use super::super::{Download, Progress};
    use super::*;
    use crate::ladder::Ladder;

    /// 0.9 · (1.5 − 0.1) s · 1 Mbit/s / 2 s = 630: rung 600; then 0.81: 567, rung 500; after many 0.5: 350, rung 200.
    #[test]
    fn a_low_buffer_limits_the_rate() {
        let ladder = ladder(&[200, 500, 600, 900]);
        let at = context(&ladder, 1.5, 30.0, Some(0));
        let mut guard = InsufficientBuffer::new();
        assert_eq!([0; 2].map(|_| guard.limit(&at, 1e6, 0.1)), [2, 1]);
        assert_eq!((0..10).map(|_| guard.limit(&at, 1e6, 0.1)).last(), Some(0));
        // 0.5 · 1.4 s · 1 Mbit/s / 2 s = 350 kbit/s is where it ends.
        let fine = super::super::testing::ladder(&[345, 355]);
        assert_eq!(guard.limit(&context(&fine, 1.5, 30.0, None), 1e6, 0.1), 0);
        assert_eq!(guard.limit(&context(&fine, 1.5, 30.0, None), 1.02e6, 0.1), 1);
    }

    fn progress(ladder: &Ladder, kbit: u64, seconds: f64) -> Progress {
        let so_far = Download { representation: 3, ..download(kbit, seconds, 0.0) };
        Progress { so_far, total_bytes: ladder.bytes(49, 3), reports: 1 }
    }

    /// Segments of 2 s, 900 kbit/s: 1800 kbit. 400 kbit in 1 s: 1 + 1400 / 400 = 4.5 s, more than 1.8 · 2 = 3.6 s. 0.9 · 400 = 360
    /// kbit/s carries 200: 400 kbit, less than the 1400 left: give up. Not before 0.5 s, and not at 600 kbit/s (3 s). With 1500 kbit
    /// read in 4 s (4.8 s), 300 are left, less than 400: go on.
    #[test]
    fn a_slow_download_is_given_up_if_it_is_worth_it() {
        let ladder = ladder(&[200, 500, 600, 900]);
        let at = context(&ladder, 10.0, 30.0, Some(3));
        let estimate = ThroughputEstimate::new(0.0);
        let ask = |kbit, seconds| abandon(&estimate, &at, &progress(&ladder, kbit, seconds)).map(|a| a.representation);
        assert_eq!([ask(400, 1.0), ask(200, 0.5), ask(200, 0.49)], [Some(0), Some(0), None]);
        assert_eq!([ask(600, 1.0), ask(1500, 4.0)], [None, None]);
    }

    /// A segment of 112.5 kB at 900 kbit/s, half of what the rate says, would have 25 kB at 200 kbit/s.
    #[test]
    fn sizes_of_other_rungs_are_nominal() {
        let ladder = ladder(&[200, 500, 600, 900]);
        assert_eq!(nominal_size(&ladder, 112_500, 3, 0), 25_000.0);
    }
}
