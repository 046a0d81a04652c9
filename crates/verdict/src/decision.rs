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
    pub n: usize,
    /// Those that differ by more than the margin.
    pub noticed: usize,
    /// How they stand.
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
    /// For each other sender that is not tied, the sender that `deciding` compares it with: the best, or, if it left a race because others
    /// were proven better, the first of these.
    pub against: BTreeMap<String, String>,
    /// For each other sender that is not tied, the first criterion in which it differs from that one; if viewers weigh several against each
    /// other, the one that contributes most to the difference.
    pub deciding: BTreeMap<String, String>,
    /// The open senders that are proven better for some viewers and worse for others, each with the weight at which that changes: a second
    /// of stall, in seconds of a picture one step worse.
    pub depends: BTreeMap<String, f64>,
    /// Estimate of the further runs that would settle all open comparisons.
    pub more_runs: Option<usize>,
    /// The same for the viewer's criteria only, without the network's costs.
    pub more_runs_for_viewer: Option<usize>,
}
