//! Two senders session by session, by the rule of the ranking: whom of the viewers one serves better, worse or alike.

use crate::preference::{CORNERS, MIDDLE};
use crate::ranking::Ranker;
use playpath_record::registry::{Better, Metric};
use std::cmp::Ordering;

/// What one viewer saw of two senders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// `Greater` where the first serves the viewer better; `Equal` where nobody would notice, or viewers would not agree.
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

    /// The criteria in their order; the first at which the two differ noticeably decides. Where pictures differ, what viewers weigh comes
    /// before its parts, and has to be better for all of them.
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
    fn noticed(&self, one: usize, other: usize, metric: &Metric, session: usize) -> Ordering {
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

    /// What makes most of the difference that viewers weigh in this session.
    fn main_part(&self, one: usize, other: usize, session: usize, by: Ordering) -> &'static str {
        let preference = self.preference.as_ref().expect("only asked of a weighing");
        let (worse, better) = if by == Ordering::Less { (one, other) } else { (other, one) };
        let value = |sender: usize| move |name: &str| self.value(sender, name, session).unwrap_or(0.0);
        let shares = preference.shares(value(worse), value(better));
        let most = shares.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        most.map_or(preference.picture(), |(name, _)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::criteria::{Prefer, criteria};
    use crate::ranking::{Proof, Runs};

    /// Two senders of one session each second: film of 100 s, rates and stalls as given.
    fn served(rates: [[f64; 3]; 2], stalls: [[f64; 3]; 2], prefer: &Prefer) -> Vec<Served> {
        let runs = |sender: usize| {
            let column = |name: &str, values: [f64; 3]| (name.to_string(), values.map(Some).to_vec());
            let columns = [
                column("played_s", [100.0; 3]),
                column("mean_rate_kbps", rates[sender]),
                column("stall_time_s", stalls[sender]),
            ];
            Runs { sender: ["a", "b"][sender].into(), columns: columns.into_iter().collect() }
        };
        Ranker::new(vec![runs(0), runs(1)], &criteria(true), true, prefer, Proof::Tests).served(0, 1)
    }

    /// Half the rate of 100 s weighs 100 s. A second of stall weighs 8 to 16 where 3000 kbit/s are shown: 1 s is less for everybody, 20 s
    /// more (160 at least), 8 s between (64 to 128).
    #[test]
    fn what_all_viewers_weigh_alike_decides() {
        let found = served([[4000.0; 3], [2000.0; 3]], [[1.0, 20.0, 8.0], [0.0; 3]], &Prefer::Range);
        assert_eq!(found[0], Served { by: Ordering::Greater, criterion: Some("mean_rate_kbps") });
        assert_eq!(found[1], Served { by: Ordering::Less, criterion: Some("stall_time_s") });
        assert_eq!(found[2], ALIKE);
    }

    #[test]
    fn stalls_first_is_the_order_of_the_criteria() {
        let found = served([[4000.0; 3], [2000.0; 3]], [[1.0, 0.0, 0.05], [0.0; 3]], &Prefer::Stalls);
        assert_eq!(found[0], Served { by: Ordering::Less, criterion: Some("stall_time_s") });
        // Within a tenth of a second nobody notices: the picture tells.
        assert_eq!(found[2], Served { by: Ordering::Greater, criterion: Some("mean_rate_kbps") });
    }
}
