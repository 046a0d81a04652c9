//! Two guards that dash.js and Sabre put beside every rule: against an empty buffer, and against a download that has become
//! too slow. They exist in two flavours.
//!
//! References: dash.js InsufficientBufferRule and AbandonRequestsRule; Sabre's `ThroughputRule`; Spiteri et al., "From
//! Theory to Practice" (MMSys 2018). Differences from the references:
//! 1. dash.js averages the cumulative throughputs seen at each progress report of a download; we take the last of them,
//!    which is the throughput since the first byte. The number of reports is still a condition.
//! 2. dash.js rounds estimates to kbit/s and 10 ms; we do not.
//!
//! Tested by the worked examples below and by the traces in `tests/abr_traces.rs`.

use super::{Abandonment, Context, Progress};

/// Whose constants and formulas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flavour {
    /// dash.js 5.
    DashJs,
    /// Sabre.
    Sabre,
}

impl Flavour {
    pub(super) const WORDS: &'static [&'static str] = &["dash.js", "sabre"];

    pub(super) fn of_word(word: &str) -> Flavour {
        if word == "sabre" { Flavour::Sabre } else { Flavour::DashJs }
    }
}

/// Share of the estimate that is used (dash.js `bandwidthSafetyFactor`, Sabre `safety_factor`).
pub(super) const SAFETY: f64 = 0.9;

/// dash.js: share of throughput × buffer that a segment may cost, and segments before the rule works.
const DASH_JS_BUFFER_SHARE: f64 = 0.7;
const DASH_JS_IGNORED_SEGMENTS: usize = 2;
/// Sabre: the share starts at 0.9 and decays by that factor per decision to 0.5.
const SABRE_SHARE_START: f64 = 0.9;
const SABRE_SHARE_END: f64 = 0.5;

/// Both: a projected download of more than this many segment durations is given up, after half a second.
const ABANDON_MULTIPLIER: f64 = 1.8;
const ABANDON_GRACE_SECONDS: f64 = 0.5;
/// dash.js 5: `minThroughputSamplesThreshold`.
const ABANDON_MIN_REPORTS: u32 = 6;

/// Limits the rate so that a segment arrives before the buffer is empty.
#[derive(Clone, Copy, Debug)]
pub(super) struct InsufficientBuffer {
    flavour: Flavour,
    share: f64,
}

impl InsufficientBuffer {
    pub(super) fn new(flavour: Flavour) -> InsufficientBuffer {
        InsufficientBuffer { flavour, share: SABRE_SHARE_START }
    }

    /// Highest representation allowed. `bits_per_sec` is the estimate before any safety factor.
    pub(super) fn limit(&mut self, context: &Context, bits_per_sec: f64, latency: f64) -> usize {
        let top = context.ladder.count() - 1;
        let level = context.buffer_level.as_secs_f64();
        let duration = context.ladder.segment_duration().as_secs_f64();
        match self.flavour {
            Flavour::DashJs if context.segment < DASH_JS_IGNORED_SEGMENTS => top,
            Flavour::DashJs => context.ladder.highest_at_most(DASH_JS_BUFFER_SHARE * bits_per_sec * level / duration),
            Flavour::Sabre => {
                let safe_bits = self.share * (level - latency) * bits_per_sec;
                self.share = (self.share * SABRE_SHARE_START).max(SABRE_SHARE_END);
                context.ladder.highest_at_most(safe_bits / duration)
            }
        }
    }
}

/// A lower representation for a download that would take too long, if it is worth it.
pub(super) fn abandon(flavour: Flavour, context: &Context, progress: &Progress) -> Option<Abandonment> {
    let so_far = &progress.so_far;
    let since_first_byte = so_far.completed_at.saturating_since(so_far.first_byte_at).as_secs_f64();
    if so_far.bytes == 0 || since_first_byte <= 0.0 {
        return None;
    }
    let bits_per_sec = so_far.bytes as f64 * 8.0 / since_first_byte;
    let duration = context.ladder.duration_of(so_far.segment).as_secs_f64();
    let (elapsed, projected, samples_ok) = match flavour {
        Flavour::DashJs => (
            since_first_byte,
            progress.total_bytes as f64 * 8.0 / bits_per_sec,
            progress.reports >= ABANDON_MIN_REPORTS && context.buffer_level <= context.buffer_capacity,
        ),
        Flavour::Sabre => {
            let left = (progress.total_bytes - so_far.bytes) as f64 * 8.0;
            (so_far.seconds(), so_far.seconds() + left / bits_per_sec, true)
        }
    };
    if !samples_ok || elapsed <= ABANDON_GRACE_SECONDS || projected < ABANDON_MULTIPLIER * duration {
        return None;
    }
    let lower = context.ladder.highest_at_most(SAFETY * bits_per_sec);
    // What is left must be more than the whole segment in the lower representation.
    let left = progress.total_bytes - so_far.bytes;
    let worth_it = lower < so_far.representation && context.ladder.bytes(so_far.segment, lower) < left;
    worth_it.then_some(Abandonment { representation: lower, reason: "download too slow" })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{context, download, ladder};
    use super::super::{Download, Progress};
    use super::*;
    use crate::ladder::Ladder;

    /// dash.js: 0.7 · 1 Mbit/s · 1.5 s / 2 s = 525 kbit/s: rung 500. Ignored for the first two segments.
    /// Sabre: 0.9 · (1.5 − 0.1) s · 1 Mbit/s / 2 s = 630: rung 600; then 0.81: 567, rung 500; after many 0.5: 350, rung 200.
    #[test]
    fn a_low_buffer_limits_the_rate() {
        let ladder = ladder(&[200, 500, 600, 900]);
        let at = context(&ladder, 1.5, 30.0, Some(0));
        let mut dash_js = InsufficientBuffer::new(Flavour::DashJs);
        assert_eq!(dash_js.limit(&at, 1e6, 0.0), 1);
        assert_eq!(dash_js.limit(&Context { segment: 1, ..at }, 1e6, 0.0), 3);
        let mut sabre = InsufficientBuffer::new(Flavour::Sabre);
        assert_eq!(sabre.limit(&at, 1e6, 0.1), 2);
        assert_eq!(sabre.limit(&at, 1e6, 0.1), 1);
        let last = (0..10).map(|_| sabre.limit(&at, 1e6, 0.1)).last();
        assert_eq!(last, Some(0));
        // 0.5 · 1.4 s · 1 Mbit/s / 2 s = 350 kbit/s is where it ends.
        let fine = super::super::testing::ladder(&[345, 355]);
        assert_eq!(sabre.limit(&context(&fine, 1.5, 30.0, None), 1e6, 0.1), 0);
        assert_eq!(sabre.limit(&context(&fine, 1.5, 30.0, None), 1.02e6, 0.1), 1);
    }

    fn progress(ladder: &Ladder, kbit: u64, seconds: f64, reports: u32) -> Progress {
        let so_far = Download { representation: 3, ..download(kbit, seconds, 0.0) };
        Progress { so_far, total_bytes: ladder.bytes(49, 3), reports }
    }

    /// Segments of 2 s, 900 kbit/s: 1800 kbit. 400 kbit in 1 s: all would take 4.5 s, more than 1.8 · 2 = 3.6 s. 0.9 · 400 = 360
    /// kbit/s carries 200: 400 kbit, less than the 1400 left: give up. Not after 0.5 s, not with 5 reports, and not at 600 kbit/s
    /// (3 s). With 1500 kbit read in 4 s (4.8 s), 300 are left, less than 400: go on.
    #[test]
    fn a_slow_download_is_given_up_if_it_is_worth_it() {
        let ladder = ladder(&[200, 500, 600, 900]);
        let at = context(&ladder, 10.0, 30.0, Some(3));
        let ask = |kbit, seconds, reports| abandon(Flavour::DashJs, &at, &progress(&ladder, kbit, seconds, reports));
        assert_eq!(ask(400, 1.0, 6).map(|a| a.representation), Some(0));
        assert_eq!(ask(200, 0.5, 6), None);
        assert_eq!(ask(400, 1.0, 5), None);
        assert_eq!(ask(600, 1.0, 6), None);
        assert_eq!(ask(1500, 4.0, 6), None);
        // Sabre needs no number of reports; it adds what is left to what has passed: 1 + 1400 / 400 = 4.5 s as well.
        let sabre = abandon(Flavour::Sabre, &at, &progress(&ladder, 400, 1.0, 1));
        assert_eq!(sabre.map(|a| a.representation), Some(0));
    }
}
