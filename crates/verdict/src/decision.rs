//! The result of a ranking: which sender is best, and how the others compare with it.

use crate::standing::{Judged, Standing};
use serde::Serialize;
use std::collections::BTreeMap;

/// The relation of two senders at a criterion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Relation {
    /// Proven: no difference that counts.
    Alike,
    /// Proven: one is noticeably better.
    Apart,
    /// Not proven either way.
    Open,
}

/// A sender against the best in one metric, paired by seed.
#[derive(Clone, Debug, Serialize)]
pub struct Difference {
    pub sender: String,
    /// Against whom.
    pub best: String,
    pub metric: String,
    /// Mean of sender minus best.
    pub mean: f64,
    pub median: f64,
    /// 95 % interval of the median difference; none for fewer than six runs.
    pub ci95: Option<[f64; 2]>,
    /// p value of "no difference", by the same procedure: below 0.05 if `ci95` excludes zero.
    pub p: Option<f64>,
    /// p value of "no further apart than the margin", corrected for all pairs.
    pub p_adjusted: Option<f64>,
    /// Whether they are apart: `p_adjusted` is at most the level for this number of runs and this criterion.
    pub significant: bool,
    /// Sessions of which either has a value.
    pub n: usize,
    /// Those that differ by more than the margin, or that only one has.
    pub noticed: usize,
    pub relation: Relation,
    /// Estimate of the further runs that would settle an open difference.
    pub more_runs: Option<usize>,
}

/// The comparison of the best sender with the others.
#[derive(Clone, Debug, Serialize)]
pub struct Decision {
    /// Best first.
    pub ranking: Vec<String>,
    /// 1 for the best; senders alike in everything that counts share a rank.
    pub ranks: BTreeMap<String, usize>,
    /// The first and the last place that each may have, given what is proven.
    pub places: BTreeMap<String, [usize; 2]>,
    /// Each other sender against the best, every criterion judged for itself.
    pub criteria: BTreeMap<String, Vec<Judged>>,
    /// The same for the weighted sum of picture and stalls, if these are weighed against each other: it may be proven even if none of its
    /// parts is.
    pub weighed: BTreeMap<String, Standing>,
    /// Apart from the best.
    pub beaten: Vec<String>,
    pub tied: Vec<String>,
    pub open: Vec<String>,
    /// Of the open ones those of which no viewer would have noticed a difference from the best in any session.
    pub unnoticed: Vec<String>,
    /// For each other sender not tied, against whom the next field holds it: the best, or in a race that it left because another was
    /// proven better, the first of these.
    pub against: BTreeMap<String, String>,
    /// For each other sender not tied, the criterion where it first differs from that one; where viewers weigh several against each
    /// other, the one that makes most of the difference that they notice: also switches of quality, which are no criterion.
    pub deciding: BTreeMap<String, String>,
    /// For each other sender not tied, the p value of that comparison, corrected for all pairs; where several are weighed against each
    /// other, that of what they sum up to. None where nothing is random.
    pub p_values: BTreeMap<String, f64>,
    /// Of the open ones those that are better for some viewers and worse for others, both proven: the weight of a second of stall, in
    /// seconds at one step less of the picture, at which that changes.
    pub depends: BTreeMap<String, f64>,
    /// Estimate of the further runs that would settle all open comparisons.
    pub more_runs: Option<usize>,
    /// The same for each open one by itself, where it is known.
    pub more_runs_of: BTreeMap<String, usize>,
    /// The same for what the viewer sees alone, without the network's costs.
    pub more_runs_for_viewer: Option<usize>,
}
