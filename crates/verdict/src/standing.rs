//! Each criterion on its own, whatever the others say, and the places that proven differences leave open.

use crate::decision::Relation;
use crate::metric::metric;
use crate::preference::MIDDLE;
use crate::ranking::Ranker;
use crate::special::binomial_cdf;
use crate::stats::SIGNIFICANCE;
use playpath_record::registry::{Better, Metric};
use serde::Serialize;
use std::collections::BTreeMap;

/// Bisection steps of [0, 1], enough for every digit that is shown.
const HALVINGS: usize = 40;

/// How a sender compares with the best one at one criterion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// Proven: noticeably better.
    Better,
    /// Proven: noticeably worse.
    Worse,
    /// Proven not to differ noticeably.
    Alike,
    /// Not proven either way.
    Open,
}

/// A sender against the best one at one criterion, judged for itself.
#[derive(Clone, Debug, Serialize)]
pub struct Judged {
    pub metric: String,
    pub judged: Standing,
    pub mean: Option<f64>,
    pub best: Option<f64>,
    /// If open: the end of the median difference's 95 % interval that is farther from zero; `None` below six runs. If a race has proven
    /// them alike: how far apart they may be on average, with each session's difference capped at six times the margin.
    pub at_most: Option<f64>,
    /// The largest share of sessions that may differ noticeably, with 95 %; none where nothing is random.
    pub share_at_most: Option<f64>,
}

impl Ranker {
    /// Every sender but the best at every criterion.
    pub(crate) fn judge_each(&self, order: &[usize]) -> BTreeMap<String, Vec<Judged>> {
        let best = order[0];
        let all = |sender: usize| self.criteria.iter().map(|metric| self.judged(sender, best, metric)).collect();
        order[1..].iter().map(|sender| (self.sender(*sender).to_string(), all(*sender))).collect()
    }

    /// Every sender but the best, by what viewers weigh against each other.
    pub(crate) fn weighed(&self, order: &[usize]) -> BTreeMap<String, Standing> {
        let (best, sum) = (order[0], metric(MIDDLE));
        let standing = |sender: usize| match self.relation(sender, best, sum) {
            Relation::Alike => Standing::Alike,
            Relation::Open => Standing::Open,
            Relation::Apart if self.is_better(sender, best, sum) => Standing::Better,
            Relation::Apart => Standing::Worse,
        };
        let others = order[1..].iter().filter(|_| self.preference.is_some());
        others.map(|sender| (self.sender(*sender).to_string(), standing(*sender))).collect()
    }

    /// How one sender compares with another at a criterion.
    pub(crate) fn standing(&self, one: usize, other: usize, metric: &'static Metric) -> Standing {
        match self.relation(one, other, metric) {
            Relation::Alike => Standing::Alike,
            Relation::Open => Standing::Open,
            // A metric without a better direction can still differ, but it makes no sender the better one.
            Relation::Apart if metric.better == Better::Neither => Standing::Open,
            Relation::Apart if self.is_better(one, other, metric) => Standing::Better,
            Relation::Apart => Standing::Worse,
        }
    }

    fn judged(&self, one: usize, best: usize, metric: &'static Metric) -> Judged {
        let judged = self.standing(one, best, metric);
        let found = self.difference(one, best, metric);
        let farther = |[low, high]: [f64; 2]| if low.abs() > high.abs() { low } else { high };
        let share = found.as_ref().filter(|_| self.is_random).map(|found| share_at_most(found.noticed, found.n));
        let at_most = match judged {
            Standing::Open => found.and_then(|found| found.ci95).map(farther),
            Standing::Alike => self.at_most_apart(one, best, metric).map(|[most, _]| most),
            _ => None,
        };
        Judged {
            metric: metric.name.into(),
            judged,
            mean: self.mean(one, metric.name),
            best: self.mean(best, metric.name),
            at_most,
            share_at_most: share,
        }
    }

    /// Which of these senders are proven worse than which others: `[worse][better]`.
    pub(crate) fn proofs(&self, senders: &[usize]) -> Vec<Vec<bool>> {
        let mut found = vec![vec![false; self.senders()]; self.senders()];
        for (&one, &other) in senders.iter().flat_map(|one| senders.iter().map(move |other| (one, other))) {
            found[one][other] = one != other && self.is_beaten(one, other);
        }
        found
    }

    /// The first and the last place that each may have, given what is proven; senders whose order is not proven share places.
    pub(crate) fn places(&self, senders: &[usize], proofs: &[Vec<bool>]) -> BTreeMap<String, [usize; 2]> {
        let better = |one: usize| proofs[one].iter().filter(|proven| **proven).count();
        let worse = |one: usize| proofs.iter().filter(|row| row[one]).count();
        let place = |one: usize| (self.sender(one).to_string(), [1 + better(one), senders.len() - worse(one)]);
        senders.iter().copied().map(place).collect()
    }
}

/// Reorder so that no sender is before one that is proven better; otherwise keep the order.
pub(crate) fn by_proof(order: &[usize], proofs: &[Vec<bool>]) -> Vec<usize> {
    let (mut rest, mut sorted) = (order.to_vec(), Vec::new());
    while !rest.is_empty() {
        let is_first = |one: &usize| !rest.iter().any(|other| proofs[*one][*other]);
        // Proofs at different criteria may form a cycle; then the means decide.
        let at = rest.iter().position(is_first).unwrap_or(0);
        sorted.push(rest.remove(at));
    }
    sorted
}

/// The largest share of which so few of `runs` would be seen in one case of twenty (Clopper and Pearson 1934).
pub(crate) fn share_at_most(seen: usize, runs: usize) -> f64 {
    if seen >= runs {
        return 1.0;
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if binomial_cdf(seen, runs, middle) > SIGNIFICANCE { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests;
