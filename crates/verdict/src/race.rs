//! A race of choices: sessions are added until the best is decided, and a beaten choice stops early. However often one looks, a whole
//! race names a false winner in at most 5 % of cases.
//!
//! What is raced is a bounded figure, since of an unbounded mean no number of sessions proves anything: how many times what one notices
//! (`margin` of that session) one choice is worse than the other in a session with the same seed, at most `MAX_UNITS` either way: ten
//! minutes' stall count as one of six noticeable stalls. The mean of it is known from a confidence sequence (`betting`), for all pairs
//! of choices and all criteria at once: each criterion has its share of the 5 % (`FIRST` of them what decides first, the rest equally
//! the others), and every pair an equal part of that.
//!
//! - *apart*: the sequence leaves zero out, and on average of the sessions that both played the difference is what one notices;
//! - *alike*: it lies within a tenth of what a session counts at most (`ALIKE`), which is less than one notices, and less than what one
//!   session in ten can make up; or at most one session in ten differs noticeably, as in a ranking by tests; so a race between equals
//!   ends;
//! - *open* otherwise.
//!
//! A value that is missing is as much worse as any can be. `docs/decisions/race.md` has the simulations, `tests/python/test_race.py` repeats
//! them.

use crate::betting::Sample;
use crate::criteria::GUARD;
use crate::decision::Relation;
use crate::evidence::UNNOTICED_SHARE;
use crate::ranking::{Proof, Ranker};
use crate::stats::SIGNIFICANCE;
use playpath_record::registry::{Better, Metric};
use std::collections::BTreeMap;

/// A session's difference is capped at this many times the margin.
pub(crate) const MAX_UNITS: f64 = 6.0;
/// The margin as a share of that cap.
const NOTICED: f64 = 1.0 / MAX_UNITS;
/// The largest mean that counts as alike, as a share of that: as by tests, one session in ten may differ.
const ALIKE: f64 = UNNOTICED_SHARE;
/// Share of the 5 % for the criterion that decides first.
const FIRST: f64 = 0.8;
/// Below, nothing is raced on: they also say how much of a film is shown, which weighs the picture against stalls.
pub(crate) const FIRST_LOOK: usize = 8;
const MAX_RUNS: usize = 10_000;

/// Winnings so far of the bets on a pair, by the hypothesis that they were against.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Won {
    /// "No worse": the first is worse.
    worse: f64,
    /// "No better": the first is better.
    better: f64,
    /// "Worse by what alike allows" and "better by that", the lesser of the two; half of the stake is on "noticed in more than one
    /// session of ten".
    alike: f64,
}

impl Won {
    /// By bets on how much worse the first is, session by session, as a share of what counts at most; after `times` as many such sessions.
    fn of(units: &[f64], times: f64) -> Won {
        let sample = |outcomes| Sample { outcomes, weights: &[], of: None, times };
        let outcomes: Vec<f64> = units.iter().copied().map(shifted).collect();
        let by_unit = sample(&outcomes);
        let by_mean = by_unit.against_at_least(shifted(ALIKE)).min(by_unit.against_at_most(shifted(-ALIKE)));
        let noticed: Vec<f64> = units.iter().map(|unit| f64::from(unit.abs() > NOTICED)).collect();
        let by_share = sample(&noticed).against_at_least(UNNOTICED_SHARE);
        // For a pair that is alike in neither sense, neither bet gains anything, and so half of the capital on each gains nothing either.
        let alike = f64::midpoint(by_mean, by_share);
        Won { worse: by_unit.against_at_most(0.5), better: by_unit.against_at_least(0.5), alike }
    }
}

/// Shares of the 5 % by criterion; all corners of a weighing use the share of the weighing, since all of them must agree.
pub(crate) fn shares(steps: &[&'static Metric]) -> BTreeMap<&'static str, f64> {
    let first = steps.iter().find(|metric| metric.name != GUARD).or(steps.first()).map(|metric| metric.name);
    let later = (1.0 - FIRST) / steps.len().saturating_sub(1).max(1) as f64;
    let share = |name| if Some(name) == first { FIRST } else { later };
    steps.iter().map(|metric| (metric.name, share(metric.name))).collect()
}

impl Ranker {
    /// The relation of two choices at a criterion, from the sessions that both played.
    pub(crate) fn raced(&self, one: usize, other: usize, metric: &'static Metric) -> Relation {
        let noticed = || self.units(one, other, metric).iter().any(|unit| unit.abs() > NOTICED);
        if !self.is_random {
            return if noticed() { Relation::Apart } else { Relation::Alike };
        }
        if metric.name == GUARD && self.together(one, other) > 1 && !noticed() {
            return Relation::Alike;
        }
        let (won, wanted) = (self.won(one, other, metric), self.wanted(metric));
        if won.alike >= wanted {
            return Relation::Alike;
        }
        // What the bets prove and what the ranking goes by must be the same way round.
        let looks_worse = |one, other| !self.looks_alike(one, other, metric) && self.is_better(other, one, metric);
        let is_apart =
            (won.worse >= wanted && looks_worse(one, other)) || (won.better >= wanted && looks_worse(other, one));
        if is_apart { Relation::Apart } else { Relation::Open }
    }

    /// The level, of all that a race may err, at which the pair would just be distinguished.
    pub(crate) fn raced_p(&self, one: usize, other: usize, metric: &'static Metric) -> f64 {
        let won = self.won(one, other, metric);
        (SIGNIFICANCE * self.wanted(metric) / won.worse.max(won.better)).min(1.0)
    }

    /// Sessions in all after which the pair would be settled if those to come are like those that were played, and whether as apart.
    pub(crate) fn raced_needs(&self, one: usize, other: usize, metric: &'static Metric) -> Option<(usize, bool)> {
        let (units, wanted) = (self.units(one, other, metric), self.wanted(metric));
        let after = |runs: usize| Won::of(&units, runs as f64 / units.len() as f64);
        let is_settled = |won: Won| won.alike.max(won.worse).max(won.better) >= wanted;
        let (mut open, mut settled) = (units.len(), MAX_RUNS);
        if units.is_empty() || !is_settled(after(settled)) {
            return None;
        }
        while settled > open + 1 {
            let middle = usize::midpoint(open, settled);
            if is_settled(after(middle)) { settled = middle } else { open = middle }
        }
        Some((settled.max(FIRST_LOOK), after(settled).alike < wanted))
    }

    /// How far apart two choices that are alike may be on average, in the metric's unit, with sessions counted up to the second figure;
    /// `None` where what one notices has no size of its own, as a share has.
    pub(crate) fn at_most_apart(&self, one: usize, other: usize, metric: &'static Metric) -> Option<[f64; 2]> {
        let most = MAX_UNITS * metric.least;
        if most == 0.0 || !self.is_random || self.proof == Proof::Tests {
            return None;
        }
        let outcome = |(a, b): (Option<f64>, Option<f64>)| Some(shifted(((a? - b?) / most).clamp(-1.0, 1.0)));
        let outcomes: Option<Vec<f64>> = self.sessions(one, other, metric.name).map(outcome).collect();
        let [low, high] = Sample::plain(&outcomes?).interval(2.0 / self.wanted(metric));
        Some([most * (2.0 * low - 1.0).abs().max((2.0 * high - 1.0).abs()), most])
    }

    /// Whether `one` is noticeably worse than `other` in some session that both played.
    pub(crate) fn is_behind_once(&self, one: usize, other: usize, metric: &'static Metric) -> bool {
        self.units(one, other, metric).iter().any(|unit| *unit > NOTICED)
    }

    /// How much bets must have won to refute a hypothesis about a pair at a criterion; doubled because either side may win.
    fn wanted(&self, metric: &Metric) -> f64 {
        let pairs = self.senders() * (self.senders() - 1) / 2;
        2.0 * pairs as f64 / (SIGNIFICANCE * self.share(metric))
    }

    fn won(&self, one: usize, other: usize, metric: &'static Metric) -> Won {
        let key = (metric.name, one, other);
        if let Some(found) = self.bets.lock().expect("no holder panics").get(&key) {
            return *found;
        }
        let won = Won::of(&self.units(one, other, metric), 1.0);
        self.bets.lock().expect("no holder panics").insert(key, won);
        won
    }

    /// How much worse the first is, session by session, as a share of what counts at most.
    fn units(&self, one: usize, other: usize, metric: &'static Metric) -> Vec<f64> {
        let sign = if metric.better == Better::Higher { -1.0 } else { 1.0 };
        let unit = |(session, pair): (usize, (Option<f64>, Option<f64>))| match pair {
            (Some(a), Some(b)) if a == b => 0.0,
            (Some(a), Some(b)) => {
                let margin = self.margin_in(one, other, metric, |sender, name| self.value(sender, name, session));
                (sign * (a - b) / (MAX_UNITS * margin)).clamp(-1.0, 1.0)
            }
            (None, Some(_)) => 1.0,
            (Some(_), None) => -1.0,
            (None, None) => 0.0,
        };
        self.sessions(one, other, metric.name).enumerate().map(unit).collect()
    }
}

/// From [-1, 1] to [0, 1].
fn shifted(unit: f64) -> f64 {
    0.5 * (1.0 + unit)
}
