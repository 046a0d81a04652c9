//! Summaries of replications: means, intervals of medians, sign tests. `python/playpath/judge/stats.py` says why the interval is that of
//! the median run.

use crate::special::{binomial, binomial_cdf};
use serde::Serialize;

/// How often a use may name a false winner, and an interval miss what it is of.
pub(crate) const SIGNIFICANCE: f64 = 0.05;
pub(crate) const MIN_FOR_INTERVAL: usize = 6;

/// Replications of one metric of one sender, in its unit.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    pub mean: f64,
    pub median: f64,
    /// 95 % interval of the median; none below six values.
    pub ci95: Option<[f64; 2]>,
    pub min: f64,
    pub max: f64,
    pub n: usize,
}

/// The summary of replications; `None` when there is no value.
pub fn summarise(values: &[f64]) -> Option<Summary> {
    let mean = mean(values)?;
    let ordered = sorted(values);
    let n = ordered.len();
    Some(Summary {
        mean,
        median: median(&ordered),
        ci95: median_interval(&ordered),
        min: ordered[0],
        max: ordered[n - 1],
        n,
    })
}

/// The mean, never outside its own data.
pub fn mean(values: &[f64]) -> Option<f64> {
    let low = values.iter().copied().reduce(f64::min)?;
    let high = values.iter().copied().reduce(f64::max)?;
    Some((exact_sum(values) / values.len() as f64).max(low).min(high))
}

/// Kahan's sum as Neumaier improved it (1974): as exact as the figures shown.
fn exact_sum(values: &[f64]) -> f64 {
    let (mut sum, mut lost) = (0.0, 0.0);
    for &value in values {
        let next: f64 = sum + value;
        lost += if f64::abs(sum) >= value.abs() { (sum - next) + value } else { (value - next) + sum };
        sum = next;
    }
    sum + lost
}

/// `a - b` by position; rounding differences become zero.
pub fn differences(a: &[f64], b: &[f64]) -> Vec<f64> {
    let largest = a.iter().chain(b).fold(0.0, |most: f64, value| most.max(value.abs()));
    let noise = 8.0 * f64::EPSILON * largest;
    a.iter().zip(b).map(|(a, b)| if (a - b).abs() <= noise { 0.0 } else { a - b }).collect()
}

/// Median of ordered values, of which there is at least one.
pub fn median(ordered: &[f64]) -> f64 {
    0.5 * (ordered[(ordered.len() - 1) / 2] + ordered[ordered.len() / 2])
}

/// From the k-th smallest to the k-th largest, with the largest k that keeps 95 %.
pub fn median_interval(ordered: &[f64]) -> Option<[f64; 2]> {
    let k = rank(ordered.len());
    (k > 0).then(|| [ordered[k - 1], ordered[ordered.len() - k]])
}

pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut ordered = values.to_vec();
    ordered.sort_by(f64::total_cmp);
    ordered
}

/// Two-sided sign test of "as often one way as the other", those that go neither way left out.
pub fn p_more_often(more: usize, less: usize) -> f64 {
    (2.0 * binomial_cdf(more.min(less), more + less, 0.5)).min(1.0)
}

/// Two-sided; a zero counts for both sides, as it does in the interval.
pub fn sign_test(values: &[f64]) -> f64 {
    let count = |side: fn(&&f64) -> bool| values.iter().filter(side).count();
    let fewest = count(|value| **value <= 0.0).min(count(|value| **value >= 0.0));
    (2.0 * binomial_cdf(fewest, values.len(), 0.5)).min(1.0)
}

fn rank(n: usize) -> usize {
    let mut below = 0.0;
    let is_tail = |k: &usize| {
        below += binomial(*k, n, 0.5);
        below <= 0.5 * SIGNIFICANCE * (1.0 + 1e-9)
    };
    (0..=n / 2).take_while(is_tail).count()
}
