//! Which sender is best, how sure that is, and the evidence for it. The rule (docs/manual/verdict.md explains it to users):
//!
//! 1. Criteria are looked at in a fixed order: what the viewer sees first, then what the network pays.
//! 2. At a criterion two senders are *alike*, *apart* or *open*, by what `evidence` calls proven. Where nothing is random (all
//!    replicas of a run are identical) one run tells all, and they are alike within the margin or apart.
//! 3. The order is found by elimination: at each criterion the best mean leads, and only senders whose mean lies within the margin of
//!    the leader's stay for the next criterion. So a lucky mean never wins over a less important criterion, and a difference nobody
//!    would notice never hides one that everybody would. The next rank is found in the same way among the rest. Senders that stay
//!    to the end share a rank. Nobody stands before one that is proven to be better.
//! 4. The verdict holds the first of the order against each other sender at the first criterion where they are not alike. If they
//!    are apart there, it beats the other. If that is open, the verdict says "undecided" and how many runs would probably settle it.
//!
//! The first criterion at which any two senders differ at all (but that of who plays at all) is tested at the full level of "apart".
//! The others, which are reached only after many runs, share `LATER` of it. A value that is missing (a session that never started to
//! play has no start-up delay) counts as worse than any other: a session that only one of two lacks is one in which it lost as much as
//! can be lost (`max_lost`).

use crate::criteria::{GUARD, Prefer, is_cost, is_only_picture};
use crate::decision::{Decision, Difference, Relation};
use crate::evidence::{Evidence, apart_level};
use crate::metric::metric;
use crate::preference::{CORNERS, MIDDLE, Preference};
use crate::race::{self, FIRST_LOOK, MAX_UNITS, Won};
use crate::standing::by_proof;
use crate::stats;
use playpath_record::registry::{Better, Metric};
use std::cell::OnceCell;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

const LATER: f64 = 0.4;

/// A sender and its values of each metric, one a seed.
pub struct Runs {
    pub sender: String,
    /// Metric → values, with the seeds in the same order for every sender. A sender that left a race has fewer than the others.
    pub columns: BTreeMap<String, Vec<Option<f64>>>,
}

impl Runs {
    fn played(&self) -> usize {
        self.columns.values().map(Vec::len).max().unwrap_or(0)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// Tests whose levels depend on the number of runs: `evidence`.
    Tests,
    /// Bets, in a race that beaten senders leave: `race`.
    Bets,
}

/// All pairwise comparisons of a set of senders.
pub struct Ranker {
    runs: Vec<Runs>,
    /// Criteria that some sender has, most important first.
    pub criteria: Vec<&'static Metric>,
    pub seeds: usize,
    /// False where all replicas of a run are identical.
    pub is_random: bool,
    /// Criteria as they are looked at: with what viewers weigh against each other, if that is asked, before its parts.
    steps: Vec<&'static Metric>,
    pub(crate) preference: Option<Preference>,
    shares: BTreeMap<&'static str, f64>,
    pub(crate) proof: Proof,
    evidence: Mutex<BTreeMap<&'static str, Arc<Evidence>>>,
    pub(crate) bets: Mutex<BTreeMap<(&'static str, usize, usize), Won>>,
}

impl Ranker {
    /// `criteria` are given most important first; those that no sender has are left out, and so are those that yield to one that is
    /// present. Every sender has the same seeds in the same order, or, in a race, the first of them. The order of the senders does not
    /// matter.
    pub fn new(
        mut runs: Vec<Runs>,
        criteria: &[&'static Metric],
        is_random: bool,
        prefer: &Prefer,
        proof: Proof,
    ) -> Ranker {
        runs.sort_by(|one, other| one.sender.cmp(&other.sender));
        let is_there = |metric: &&'static Metric| {
            runs.iter().any(|r| r.columns.get(metric.name).is_some_and(|column| column.iter().any(Option::is_some)))
        };
        let mut names: Vec<&str> = runs.iter().flat_map(|r| r.columns.keys().map(String::as_str)).collect();
        names.retain(|name| is_there(&metric(name)));
        let yields = |metric: &&'static Metric| metric.yields_to.iter().any(|other| names.contains(other));
        let mut criteria: Vec<&'static Metric> = criteria.iter().copied().filter(|m| !yields(m)).collect();
        prefer.reorder(&mut criteria);
        criteria.retain(|m| is_there(m));
        let seeds = runs.iter().map(Runs::played).max().unwrap_or(0);
        let weighed = if proof == Proof::Bets { FIRST_LOOK } else { seeds };
        let preference = if *prefer == Prefer::Range { Preference::of(&runs, &criteria, weighed) } else { None };
        let mut steps = criteria.clone();
        steps.retain(|metric| !is_only_picture(&runs, metric.name));
        if let Some(preference) = &preference {
            runs.iter_mut().for_each(|runs| {
                let columns = preference.columns(runs);
                runs.columns.extend(columns);
            });
            steps.insert(steps.iter().take_while(|metric| metric.name == GUARD).count(), metric(MIDDLE));
        }
        let (shares, evidence, bets) = (BTreeMap::new(), Mutex::default(), Mutex::default());
        let mut ranker = Ranker { runs, criteria, seeds, is_random, steps, preference, shares, proof, evidence, bets };
        ranker.shares = if proof == Proof::Bets { race::shares(&ranker.steps) } else { ranker.share_level() };
        ranker
    }

    pub(crate) fn steps(&self) -> &[&'static Metric] {
        &self.steps
    }

    /// Name of a sender, in the order of names.
    pub fn sender(&self, index: usize) -> &str {
        &self.runs[index].sender
    }

    pub fn index(&self, sender: &str) -> usize {
        self.position(sender).expect("a sender of this comparison")
    }

    /// The place of a sender, if it is one of this comparison.
    pub fn position(&self, sender: &str) -> Option<usize> {
        self.runs.iter().position(|runs| runs.sender == sender)
    }

    /// A sender's values of a metric, one a seed.
    pub fn column(&self, sender: usize, name: &str) -> Vec<Option<f64>> {
        self.runs[sender].columns.get(name).cloned().unwrap_or_else(|| vec![None; self.runs[sender].played()])
    }

    pub(crate) fn value(&self, sender: usize, name: &str, session: usize) -> Option<f64> {
        self.runs[sender].columns.get(name)?[session]
    }

    /// Sessions that both played.
    pub(crate) fn together(&self, one: usize, other: usize) -> usize {
        self.runs[one].played().min(self.runs[other].played())
    }

    pub(crate) fn sessions(
        &self,
        one: usize,
        other: usize,
        name: &str,
    ) -> impl Iterator<Item = (Option<f64>, Option<f64>)> {
        let session = move |session| (self.value(one, name, session), self.value(other, name, session));
        (0..self.together(one, other)).map(session).collect::<Vec<_>>().into_iter()
    }

    /// Mean over the seeds that have a value.
    pub fn mean(&self, sender: usize, name: &str) -> Option<f64> {
        stats::mean(&self.column(sender, name).into_iter().flatten().collect::<Vec<_>>())
    }

    /// The largest difference of two senders in a metric that counts as alike.
    pub fn margin(&self, one: usize, other: usize, metric: &Metric) -> f64 {
        self.margin_in(one, other, metric, |sender, name| self.mean(sender, name))
    }

    /// The same for the values of a single session instead of means.
    pub(crate) fn margin_in(
        &self,
        one: usize,
        other: usize,
        metric: &Metric,
        value: impl Fn(usize, &str) -> Option<f64> + Copy,
    ) -> f64 {
        let both = |name: &str| [one, other].into_iter().filter_map(|sender| value(sender, name)).collect::<Vec<_>>();
        let plain = |metric: &Metric| {
            let size = both(metric.name).iter().fold(0.0, |most: f64, value| most.max(value.abs()));
            metric.least.max(metric.least_share * size)
        };
        let Some(preference) = self.preference.as_ref().filter(|_| metric.name.starts_with(MIDDLE)) else {
            return plain(metric);
        };
        let of = |name: &str| plain(crate::metric::metric(name));
        let better = both(preference.picture()).into_iter().fold(0.0, f64::max);
        preference.margin(metric.name, better, of(preference.picture()), of("stall_time_s"))
    }

    /// `sender` minus `other` in a criterion; `None` when no seed has both.
    pub fn difference(&self, sender: usize, other: usize, metric: &'static Metric) -> Option<Difference> {
        let pairs = self.column(sender, metric.name).into_iter().zip(self.column(other, metric.name));
        let (a, b): (Vec<f64>, Vec<f64>) = pairs.filter_map(|(a, b)| Some((a?, b?))).unzip();
        let found = stats::differences(&a, &b);
        let mean = stats::mean(&found)?;
        let ordered = stats::sorted(&found);
        let ci95 = if self.is_random { stats::median_interval(&ordered) } else { None };
        let relation = self.relation(sender, other, metric);
        let needed = if relation == Relation::Open { self.needs(sender, other, metric) } else { None };
        let is_tested = self.criteria.iter().any(|criterion| criterion.name == metric.name);
        Some(Difference {
            sender: self.sender(sender).into(),
            best: self.sender(other).into(),
            metric: metric.name.into(),
            mean,
            median: stats::median(&ordered),
            ci95,
            p: ci95.map(|_| stats::sign_test(&found)),
            p_adjusted: if is_tested { self.p_of(sender, other, metric) } else { None },
            significant: relation == Relation::Apart,
            n: self.sessions(sender, other, metric.name).filter(|pair| *pair != (None, None)).count(),
            noticed: self.noticed_sessions(sender, other, metric),
            relation,
            more_runs: needed.map(|(runs, _)| runs.saturating_sub(self.seeds)),
        })
    }

    /// The relation of two senders at one criterion, missing values included.
    pub fn relation(&self, one: usize, other: usize, metric: &'static Metric) -> Relation {
        match metric.name {
            MIDDLE => self.over_the_range(one, other),
            name if is_only_picture(&self.runs, name) => Relation::Alike,
            _ => self.relation_at(one, other, metric),
        }
    }

    /// Apart where one is better at every corner of the range of weights, alike where they are at every corner.
    fn over_the_range(&self, one: usize, other: usize) -> Relation {
        let found = self.corners(one, other);
        let all = |wanted: (Relation, bool)| found.iter().all(|corner| *corner == wanted);
        if all((Relation::Apart, true)) || all((Relation::Apart, false)) {
            return Relation::Apart;
        }
        if found.iter().all(|(relation, _)| *relation == Relation::Alike) { Relation::Alike } else { Relation::Open }
    }

    /// The relation of two senders at each corner of the range, and whether the first has the smaller loss there.
    fn corners(&self, one: usize, other: usize) -> Vec<(Relation, bool)> {
        let at = |name: &&str| {
            let corner = metric(name);
            (self.relation_at(one, other, corner), self.is_better(one, other, corner))
        };
        CORNERS.iter().map(at).collect()
    }

    /// The weight of a second of stall, in seconds at one step less of the picture, at which another sender becomes the better one:
    /// each is proven to be better in a part of the range.
    fn exchange(&self, one: usize, other: usize) -> Option<f64> {
        let preference = self.preference.as_ref()?;
        let found = self.corners(one, other);
        let wins = |better: bool| found.contains(&(Relation::Apart, better));
        let value = |sender: usize| move |name: &str| self.mean(sender, name);
        if wins(true) && wins(false) { preference.exchange(value(one), value(other)) } else { None }
    }

    fn relation_at(&self, one: usize, other: usize, metric: &'static Metric) -> Relation {
        if self.proof == Proof::Bets {
            return self.raced(one, other, metric);
        }
        let Some(evidence) = self.evidence(one, other, metric) else {
            let nobody = self.mean(one, metric.name).is_none() && self.mean(other, metric.name).is_none();
            return if nobody { Relation::Alike } else { Relation::Open };
        };
        let margin = self.tested_margin(one, other, metric);
        let noticed = evidence.noticed(one, other, margin);
        if !self.is_random {
            return if noticed > 0 { Relation::Apart } else { Relation::Alike };
        }
        let is_passed = metric.name == GUARD && self.seeds > 1 && noticed == 0;
        if is_passed || evidence.are_alike(one, other, margin) {
            return Relation::Alike;
        }
        let level = apart_level(self.seeds) * self.share(metric);
        let is_apart = level > 0.0 && evidence.p_apart(one, other, margin) <= level;
        // Both on average over the sessions, and between the average sessions.
        let lost = stats::mean(evidence.differences(one, other)).unwrap_or(0.0);
        let average = self.apart_on_average(one, other, metric.name);
        let is_noticed = average.is_none_or(|loss| self.with_missing(one, other, metric, loss) * lost > 0.0);
        if is_apart && is_noticed { Relation::Apart } else { Relation::Open }
    }

    /// The margin for differences that are tested; for corners it has already been subtracted.
    fn tested_margin(&self, one: usize, other: usize, metric: &Metric) -> f64 {
        if CORNERS.contains(&metric.name) { 0.0 } else { self.margin(one, other, metric) }
    }

    /// How much more the first loses of what viewers weigh, by the means of the sessions of which both have a loss.
    fn apart_on_average(&self, one: usize, other: usize, name: &str) -> Option<f64> {
        self.preference.as_ref().filter(|_| name.starts_with(MIDDLE))?;
        let whole = self.whole(one, other, name);
        self.apart(one, other, name, |sender, name| self.mean_of(sender, name, &whole))
    }

    /// The sessions of which both have a value.
    fn whole(&self, one: usize, other: usize, name: &str) -> Vec<usize> {
        let is_whole =
            |session: &usize| self.value(one, name, *session).is_some() && self.value(other, name, *session).is_some();
        (0..self.together(one, other)).filter(is_whole).collect()
    }

    fn mean_of(&self, sender: usize, name: &str, sessions: &[usize]) -> Option<f64> {
        stats::mean(&sessions.iter().filter_map(|session| self.value(sender, name, *session)).collect::<Vec<_>>())
    }

    /// How much more the first loses in what viewers weigh, by these values; `None` at any other criterion.
    pub(crate) fn apart(
        &self,
        one: usize,
        other: usize,
        name: &str,
        value: impl Fn(usize, &str) -> Option<f64> + Copy,
    ) -> Option<f64> {
        let preference = self.preference.as_ref().filter(|_| name.starts_with(MIDDLE))?;
        let margin = |name: &str| self.margin_in(one, other, metric(name), value);
        preference.apart(name, |name| value(one, name), |name| value(other, name), margin)
    }

    /// What the first loses more by each figure that viewers weigh and, by these values, notice.
    pub(crate) fn parts_by(
        &self,
        one: usize,
        other: usize,
        value: impl Fn(usize, &str) -> Option<f64> + Copy,
    ) -> Vec<(&'static str, f64)> {
        let margin = |name: &str| self.margin_in(one, other, metric(name), value);
        let shares = |weighed: &Preference| weighed.shares(|name| value(one, name), |name| value(other, name), margin);
        self.preference.as_ref().map_or_else(Vec::new, shares)
    }

    /// Apart in a metric that is no criterion: asked for itself, with the whole level.
    pub(crate) fn is_apart_in(&self, one: usize, other: usize, metric: &'static Metric) -> bool {
        let Some(evidence) = self.evidence(one, other, metric) else { return false };
        let margin = self.margin(one, other, metric);
        match self.is_random {
            true => evidence.p_apart(one, other, margin) <= apart_level(self.seeds),
            false => evidence.noticed(one, other, margin) > 0,
        }
    }

    /// Ranks everybody and holds the best against each.
    pub fn decide(&self) -> Decision {
        self.decide_among(&(0..self.runs.len()).collect::<Vec<_>>())
    }

    /// The same for some of the senders, judged on all of them together: what is proven about a pair does not depend on which others are
    /// asked about.
    pub fn decide_among(&self, senders: &[usize]) -> Decision {
        let proofs = self.proofs(senders);
        let (order, ranks) = self.rank_all(senders, &proofs);
        let best = order[0];
        let (mut beaten, mut tied, mut open) = (Vec::new(), Vec::new(), Vec::new());
        let (mut against, mut deciding, mut depends) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut p_values = BTreeMap::new();
        for &other in &order[1..] {
            let (relation, metric) = self.first_difference(other, best);
            // It has left the race: some sender other than the best is also better.
            let left_to = order.iter().copied().find(|by| self.proof == Proof::Bets && proofs[other][*by]);
            let (by, metric) = match (relation, left_to) {
                (Relation::Open, Some(by)) => (by, self.first_difference(other, by).1),
                (Relation::Open, None) => (best, metric.map(|metric| self.reported_criterion(other, best, metric))),
                _ => (best, metric),
            };
            match relation {
                Relation::Apart => beaten.push(other),
                Relation::Open if by != best => beaten.push(other),
                Relation::Alike => tied.push(other),
                Relation::Open => open.push(other),
            }
            if let Some(metric) = metric {
                let sender = self.sender(other).to_string();
                if let Some(weight) = (metric.name == MIDDLE).then(|| self.exchange(other, by)).flatten() {
                    depends.insert(sender.clone(), weight);
                }
                let criterion = if metric.name == MIDDLE { self.largest_part(other, by) } else { metric.name };
                against.insert(sender.clone(), self.sender(by).to_string());
                p_values.extend(self.p_of(other, by, metric).map(|p| (sender.clone(), p)));
                deciding.insert(sender, criterion.to_string());
            }
        }
        let names = |list: &[usize]| list.iter().map(|index| self.sender(*index).to_string()).collect();
        let runs_of = |other: &usize| Some((self.sender(*other).to_string(), self.more_runs(best, *other, |_| true)?));
        let unnoticed: Vec<usize> = open.iter().copied().filter(|other| !self.is_noticed(*other, best)).collect();
        Decision {
            ranking: names(&order),
            ranks: ranks.iter().map(|(index, rank)| (self.sender(*index).to_string(), *rank)).collect(),
            more_runs: self.until_settled(best, &open, |_| true),
            more_runs_of: open.iter().filter_map(runs_of).collect(),
            more_runs_for_viewer: self.until_settled(best, &open, |metric| !is_cost(metric)),
            beaten: names(&beaten),
            tied: names(&tied),
            open: names(&open),
            unnoticed: names(&unnoticed),
            places: self.places(senders, &proofs),
            criteria: self.judge_each(&order),
            weighed: self.weighed(&order),
            against,
            deciding,
            p_values,
            depends,
        }
    }

    /// The criterion by which an open comparison is told. An open guard at which the best is never behind is passed over; where nobody
    /// would notice a difference after it either, the sessions that show less are what there is to tell.
    fn reported_criterion(&self, one: usize, other: usize, metric: &'static Metric) -> &'static Metric {
        let whole = self.whole(one, other, metric.name);
        let is_noticed = whole.into_iter().any(|session| self.noticed(one, other, metric, session).is_ne());
        let guard = self.steps.iter().find(|step| step.name == GUARD).filter(|_| !is_noticed);
        guard.filter(|guard| self.relation(one, other, guard) == Relation::Open).unwrap_or(&metric)
    }

    /// What makes most of the difference that viewers would weigh, of what they notice on average, else in single sessions.
    fn largest_part(&self, one: usize, other: usize) -> &'static str {
        let whole = self.whole(one, other, MIDDLE);
        let on_average = self.parts_by(one, other, |sender, name| self.mean_of(sender, name, &whole));
        if !on_average.is_empty() {
            return self.largest_of(&on_average);
        }
        let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
        for (name, loss) in (0..self.together(one, other)).flat_map(|session| self.parts_in(one, other, session)) {
            *sums.entry(name).or_default() += loss;
        }
        self.largest_of(&sums.into_iter().collect::<Vec<_>>())
    }

    /// Where nothing is noticed it is the picture, for which they are weighed.
    pub(crate) fn largest_of(&self, parts: &[(&'static str, f64)]) -> &'static str {
        let preference = self.preference.as_ref().expect("only asked of a weighing");
        parts.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map_or(preference.picture(), |(name, _)| name)
    }

    /// The order, and who shares a rank: those found together, unless one of them is proven to be worse.
    fn rank_all(&self, senders: &[usize], proofs: &[Vec<bool>]) -> (Vec<usize>, BTreeMap<usize, usize>) {
        let mut rest = senders.to_vec();
        let (mut order, mut groups) = (Vec::new(), BTreeMap::new());
        while !rest.is_empty() {
            let group = self.best_of(&rest);
            groups.extend(group.iter().map(|sender| (*sender, order.len())));
            rest.retain(|sender| !group.contains(sender));
            order.extend(group);
        }
        let order = by_proof(&order, proofs);
        let (mut ranks, mut rank) = (BTreeMap::new(), 1);
        for (at, sender) in order.iter().enumerate() {
            if at > 0 && groups[sender] != groups[&order[at - 1]] {
                rank = at + 1;
            }
            ranks.insert(*sender, rank);
        }
        (order, ranks)
    }

    pub(crate) fn senders(&self) -> usize {
        self.runs.len()
    }

    /// One is proven to be worse than another, at the first criterion where they are not alike.
    pub(crate) fn is_beaten(&self, one: usize, other: usize) -> bool {
        self.first_difference(one, other).0 == Relation::Apart
    }

    /// The senders whose mean is within the margin of the leader's at every criterion, those with better means first, criterion by
    /// criterion.
    fn best_of(&self, senders: &[usize]) -> Vec<usize> {
        let mut stay = senders.to_vec();
        for metric in &self.steps {
            let better = |best, next| if self.is_better(next, best, metric) { next } else { best };
            let leader = stay.iter().copied().reduce(better).expect("somebody stays");
            stay.retain(|sender| self.looks_alike(*sender, leader, metric));
        }
        stay.sort_by(|one, other| self.by_means(*one, *other));
        stay
    }

    fn by_means(&self, one: usize, other: usize) -> Ordering {
        let mut apart = self.steps.iter().filter(|metric| metric.better != Better::Neither);
        let first = apart.find(|metric| self.is_better(one, other, metric) || self.is_better(other, one, metric));
        let better = |metric: &&'static Metric| {
            if self.is_better(one, other, metric) { Ordering::Less } else { Ordering::Greater }
        };
        first.map_or(Ordering::Equal, better)
    }

    /// How much worse the first is on average in the sessions that both played.
    fn lost(&self, one: usize, other: usize, metric: &Metric) -> f64 {
        let whole = self.whole(one, other, metric.name);
        let mean = |sender: usize| self.mean_of(sender, metric.name, &whole).unwrap_or(0.0);
        self.with_missing(one, other, metric, sign(metric) * (mean(one) - mean(other)))
    }

    /// The same, if `lost` is the average of the sessions of which both have a value.
    fn with_missing(&self, one: usize, other: usize, metric: &Metric, lost: f64) -> f64 {
        let most = OnceCell::new();
        let lacks = |(own, others): (Option<f64>, Option<f64>)| match (own, others) {
            (Some(_), Some(_)) => 0.0,
            pair => missing(pair) * most.get_or_init(|| self.max_lost(metric)) - lost,
        };
        let more: f64 = self.sessions(one, other, metric.name).map(lacks).sum();
        lost + more / self.together(one, other).max(1) as f64
    }

    /// What a session counts that only one of two has: twice as much as any difference that there is, and noticeable.
    fn max_lost(&self, metric: &Metric) -> f64 {
        let values = self.runs.iter().filter_map(|runs| runs.columns.get(metric.name)).flatten().flatten();
        let (low, high) =
            values.fold((0.0_f64, MAX_UNITS * metric.least), |(low, high), value| (low.min(*value), high.max(*value)));
        2.0 * (high - low)
    }

    /// Unnoticeable differences in the parts of a weighing decide only if nothing else does.
    pub(crate) fn is_better(&self, one: usize, other: usize, metric: &Metric) -> bool {
        let noticed = self.apart_on_average(one, other, metric.name).filter(|loss| *loss != 0.0);
        noticed.map_or_else(|| self.lost(one, other, metric), |loss| self.with_missing(one, other, metric, loss)) < 0.0
    }

    /// Whether the first is not noticeably worse on average.
    pub(crate) fn looks_alike(&self, sender: usize, leader: usize, metric: &Metric) -> bool {
        self.lost(sender, leader, metric) <= self.margin(sender, leader, metric)
    }

    /// The first criterion in which the two are not alike, and their relation there.
    fn first_difference(&self, sender: usize, best: usize) -> (Relation, Option<&'static Metric>) {
        self.first_of(&self.steps, sender, best)
    }

    fn first_of(&self, steps: &[&'static Metric], sender: usize, best: usize) -> (Relation, Option<&'static Metric>) {
        let mut is_weighed = false;
        for &metric in steps {
            let relation = self.relation_to_best(sender, best, metric);
            is_weighed |= metric.name == MIDDLE && relation == Relation::Alike;
            // Alike for all weights: of the criteria that were weighed, only proven differences still count.
            if is_weighed && relation == Relation::Open && self.is_part(metric) {
                continue;
            }
            if relation != Relation::Alike {
                let is_ahead = self.is_better(sender, best, metric);
                return (if is_ahead { Relation::Open } else { relation }, Some(metric));
            }
        }
        (Relation::Alike, None)
    }

    pub(crate) fn is_part(&self, metric: &Metric) -> bool {
        self.preference.as_ref().is_some_and(|preference| preference.parts().contains(&metric.name))
    }

    /// An open guard criterion at which the best is never behind does not hide the criteria after it, unless the other is ahead there:
    /// showing less is no merit.
    fn relation_to_best(&self, sender: usize, best: usize, metric: &'static Metric) -> Relation {
        let relation = self.relation(sender, best, metric);
        if relation != Relation::Open || metric.name != GUARD || self.seeds < 2 {
            return relation;
        }
        let is_behind = match self.proof {
            Proof::Bets => self.is_behind_once(best, sender, metric),
            Proof::Tests => self.evidence(best, sender, metric).is_none_or(|evidence| {
                let margin = self.margin(sender, best, metric);
                evidence.differences(best, sender).iter().any(|value| sign(metric) * value > margin)
            }),
        };
        let after = self.steps.iter().position(|step| step.name == GUARD).map_or(0, |at| at + 1);
        let next = self.first_of(&self.steps[after..], sender, best).1;
        let is_ahead = next.is_some_and(|next| self.is_better(sender, best, next));
        if is_behind || is_ahead { relation } else { Relation::Alike }
    }

    /// Further runs until all open comparisons are settled.
    fn until_settled(&self, best: usize, open: &[usize], counts: fn(&Metric) -> bool) -> Option<usize> {
        let each = open.iter().map(|other| self.more_runs(best, *other, counts));
        each.reduce(|a, b| Some(a?.max(b?)))?.filter(|most| *most > 0)
    }

    /// Further runs until an open comparison is settled: at its criterion, and at those that follow until one tells.
    fn more_runs(&self, best: usize, other: usize, counts: fn(&Metric) -> bool) -> Option<usize> {
        let mut most = 0;
        for &metric in self.steps.iter().filter(|metric| counts(metric) && !self.is_part(metric)) {
            if self.relation_to_best(other, best, metric) == Relation::Alike {
                continue;
            }
            let (runs, is_apart) = self.needs(other, best, metric)?;
            most = most.max(runs.saturating_sub(self.seeds));
            if is_apart {
                break;
            }
        }
        Some(most)
    }

    fn needs(&self, one: usize, other: usize, metric: &'static Metric) -> Option<(usize, bool)> {
        if metric.name == MIDDLE {
            let each: Option<Vec<(usize, bool)>> =
                CORNERS.iter().map(|name| self.needs(one, other, crate::metric::metric(name))).collect();
            return each?.into_iter().reduce(|a, b| (a.0.max(b.0), a.1 && b.1));
        }
        if self.proof == Proof::Bets {
            return self.raced_needs(one, other, metric);
        }
        let share = self.shares.get(self.shared(metric))?;
        self.evidence(one, other, metric)?.needs(one, other, self.tested_margin(one, other, metric), *share)
    }

    /// Of "no further apart than the margin", corrected for all pairs; of a weighing that of the corner which is least sure.
    fn p_of(&self, one: usize, other: usize, metric: &'static Metric) -> Option<f64> {
        if !self.is_random {
            return None;
        }
        if metric.name == MIDDLE {
            let corner = |name: &&str| self.p_of(one, other, crate::metric::metric(name));
            return CORNERS.iter().map(corner).reduce(|a, b| Some(a?.max(b?)))?;
        }
        if self.proof == Proof::Bets {
            return Some(self.raced_p(one, other, metric));
        }
        Some(self.evidence(one, other, metric)?.p_apart(one, other, self.tested_margin(one, other, metric)))
    }

    pub(crate) fn share(&self, metric: &Metric) -> f64 {
        self.shares.get(self.shared(metric)).copied().unwrap_or(0.0)
    }

    /// The corners use the level of their weighing, since all of them must agree.
    fn shared(&self, metric: &Metric) -> &'static str {
        if metric.name.starts_with(MIDDLE) { MIDDLE } else { metric.name }
    }

    /// Criterion → its part of the level of "apart": the first criterion in which any two senders differ has all of it, the others share
    /// `LATER`. The guard does not count as the first: the criteria that distinguish senders that play come after it.
    fn share_level(&self) -> BTreeMap<&'static str, f64> {
        let differing: Vec<&Metric> = self.steps.iter().copied().filter(|metric| self.differs(metric)).collect();
        let first =
            differing.iter().find(|metric| metric.name != GUARD).or(differing.first()).map(|metric| metric.name);
        let later = LATER / (differing.len().max(2) - 1) as f64;
        let share = |name| if Some(name) == first { 1.0 } else { later };
        let mut shares: BTreeMap<&'static str, f64> = self.steps.iter().map(|metric| (metric.name, 0.0)).collect();
        shares.extend(differing.iter().map(|metric| (metric.name, share(metric.name))));
        shares
    }

    /// Whether any two senders differ at a criterion in any run.
    fn differs(&self, metric: &'static Metric) -> bool {
        (0..self.runs.len()).any(|sender| match metric.name {
            GUARD => self
                .evidence(0, sender, metric)
                .is_none_or(|found| found.noticed(0, sender, self.margin(0, sender, metric)) > 0),
            name => self.column(sender, name) != self.column(0, name),
        })
    }

    /// The evidence on all senders, if these two have values; who has none at all may have another player.
    fn evidence(&self, one: usize, other: usize, metric: &'static Metric) -> Option<Arc<Evidence>> {
        self.mean(one, metric.name)?;
        self.mean(other, metric.name)?;
        let mut known = self.evidence.lock().expect("no holder panics");
        Some(known.entry(metric.name).or_insert_with(|| Arc::new(self.gathered(metric))).clone())
    }

    fn gathered(&self, metric: &'static Metric) -> Evidence {
        let columns: Vec<Vec<Option<f64>>> =
            (0..self.runs.len()).map(|sender| self.column(sender, metric.name)).collect();
        let largest = columns.iter().flatten().flatten().fold(0.0, |most: f64, value| most.max(value.abs()));
        let (noise, most) = (8.0 * f64::EPSILON * largest, sign(metric) * self.max_lost(metric));
        // Who has left a race has fewer.
        let runs = columns.iter().map(Vec::len).min().unwrap_or(0);
        Evidence::of(columns.len(), runs, |one, other, run| match (columns[one][run], columns[other][run]) {
            (Some(_), Some(_)) if CORNERS.contains(&metric.name) => {
                self.apart(one, other, metric.name, |sender, name| self.value(sender, name, run)).unwrap_or(0.0)
            }
            (Some(a), Some(b)) if (a - b).abs() <= noise => 0.0,
            (Some(a), Some(b)) => a - b,
            pair => missing(pair) * most,
        })
    }
}

/// 1 if less is better.
fn sign(metric: &Metric) -> f64 {
    if metric.better == Better::Higher { -1.0 } else { 1.0 }
}

/// Of a pair without both values: 1 if only the first lacks one, -1 if only the second does.
fn missing((own, others): (Option<f64>, Option<f64>)) -> f64 {
    f64::from(u8::from(own.is_none())) - f64::from(u8::from(others.is_none()))
}
