//! The comparison of two senders session by session, by the rule of the ranking: which viewers one of them serves better, worse or alike.

use crate::criteria::is_cost;
use crate::metric::metric;
use crate::preference::{CORNERS, MIDDLE};
use crate::ranking::Ranker;
use playpath_record::registry::{Better, Metric};
use std::cmp::Ordering;

/// How two senders served one viewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// `Greater` if the first serves the viewer better; `Equal` if nobody would notice, or viewers would disagree.
    pub by: Ordering,
    /// The criterion that decides; of what viewers weigh against each other the one that makes most of the difference.
    pub criterion: Option<&'static str>,
}

const ALIKE: Served = Served { by: Ordering::Equal, criterion: None };

impl Ranker {
    /// Every session that both played.
    pub fn served(&self, one: usize, other: usize) -> Vec<Served> {
        (0..self.together(one, other)).map(|session| self.served_in(one, other, session)).collect()
    }

    /// The first criterion, in their order, in which the two differ noticeably decides. If pictures differ, the weighted sum comes before
    /// its parts, and has to be better at all weights.
    fn served_in(&self, one: usize, other: usize, session: usize) -> Served {
        let mut is_weighed = false;
        for &metric in self.steps() {
            if is_weighed && self.is_part(metric) {
                continue;
            }
            if metric.name == MIDDLE {
                let found = CORNERS.map(|corner| self.noticed(one, other, crate::metric::metric(corner), session));
                if found.iter().any(|by| *by != found[0]) {
                    return ALIKE;
                }
                if found[0] != Ordering::Equal {
                    return Served { by: found[0], criterion: Some(self.main_part(one, other, session, found[0])) };
                }
                is_weighed = true;
                continue;
            }
            let by = self.noticed(one, other, metric, session);
            if by != Ordering::Equal {
                return Served { by, criterion: Some(metric.name) };
            }
        }
        ALIKE
    }

    /// A missing value is worse than any other.
    pub(crate) fn noticed(&self, one: usize, other: usize, metric: &Metric, session: usize) -> Ordering {
        let value = |sender: usize, name: &str| self.value(sender, name, session);
        let (Some(a), Some(b)) = (value(one, metric.name), value(other, metric.name)) else {
            return value(one, metric.name).is_some().cmp(&value(other, metric.name).is_some());
        };
        if let Some(loss) = self.apart(one, other, metric.name, value) {
            return 0.0_f64.partial_cmp(&loss).unwrap_or(Ordering::Equal);
        }
        if (a - b).abs() <= self.margin_in(one, other, metric, value) {
            return Ordering::Equal;
        }
        let by = a.total_cmp(&b);
        if metric.better == Better::Higher { by } else { by.reverse() }
    }

    /// The part that contributes most to the weighted difference in this session.
    fn main_part(&self, one: usize, other: usize, session: usize, by: Ordering) -> &'static str {
        let (worse, better) = if by == Ordering::Less { (one, other) } else { (other, one) };
        self.largest_of(&self.parts_in(worse, better, session))
    }

    /// What one loses more than another in a session by each figure that viewers weigh and would notice.
    pub(crate) fn parts_in(&self, one: usize, other: usize, session: usize) -> Vec<(&'static str, f64)> {
        self.parts_by(one, other, |sender, name| self.value(sender, name, session))
    }

    /// Sessions that differ noticeably at a criterion, or of which only one has a value.
    pub(crate) fn noticed_sessions(&self, one: usize, other: usize, criterion: &Metric) -> usize {
        let margin = self.margin(one, other, criterion);
        let differs = |pair: &(Option<f64>, Option<f64>)| match *pair {
            (Some(a), Some(b)) => (a - b).abs() > margin,
            (a, b) => a != b,
        };
        self.sessions(one, other, criterion.name).filter(differs).count()
    }

    /// Whether a viewer would notice a difference in any session that both played: at a criterion, or in what is weighed.
    pub(crate) fn is_noticed(&self, one: usize, other: usize) -> bool {
        let differs = |criterion: &&'static Metric| self.noticed_sessions(one, other, criterion) > 0;
        let weighs = |session| CORNERS.iter().any(|name| self.noticed(one, other, metric(name), session).is_ne());
        self.criteria.iter().filter(|criterion| !is_cost(criterion)).any(differs)
            || self.preference.is_some() && (0..self.together(one, other)).any(weighs)
    }
}

#[cfg(test)]
mod tests;
