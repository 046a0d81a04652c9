//! Forward filter and backward draws over the transfers of a session.
//!
//! Reference: Frühwirth-Schnatter, "Data augmentation and dynamic linear models" (1994), for the scheme; the chain and the
//! emission are ours. A transfer takes the chain from the rate at its request to the rate at its last byte.

use crate::chain::{Chain, normalised};
use crate::emission::Emission;
use playpath_units::random::Stream;

/// When a transfer took place, and its emission.
pub(crate) struct Step {
    /// Seconds since the transfer before ended.
    pub gap: f64,
    pub at: f64,
    pub took: f64,
    pub emission: Emission,
}

/// Rates of less than this share of the most likely one are left out.
const MIN_RATE_SHARE: f64 = 1e-7;

/// Changes are not followed from rates less likely than this, since that would take two changes within two transfers.
const MIN_MOVED_SHARE: f64 = 1e-3;
/// Transitions less likely than this are not followed.
const NEGLIGIBLE: f64 = 1e-7;

/// Result of the forward pass.
pub(crate) struct Filtered {
    /// Distribution of the rate at each transfer's request.
    before: Vec<Vec<f64>>,
    /// Distribution of the rate at each transfer's last byte.
    after: Vec<Vec<f64>>,
    pub evidence: f64,
    /// Density of each transfer's time, given the previous ones.
    explained: Vec<f64>,
}

/// Densities, per second, below which a transfer's time is not explained.
const UNLIKELY: f64 = 0.02;

/// A capacity over time: from each time on the rate that follows.
pub type Course = Vec<(f64, f64)>;

pub(crate) fn forward(chain: &Chain, steps: &[Step]) -> Filtered {
    let mut weights = chain.prior.clone();
    let mut filtered = Filtered { before: vec![], after: vec![], evidence: 0.0, explained: vec![] };
    for step in steps {
        if step.gap > 0.0 {
            weights = chain.pass(&weights, step.gap);
        }
        trim(&mut weights);
        filtered.before.push(weights.clone());
        weights = through(chain, step, &weights);
        let sum: f64 = weights.iter().sum();
        filtered.evidence += libm::log(sum.max(1e-300)) + step.emission.common;
        filtered.explained.push(sum);
        weights = normalised(weights);
        filtered.after.push(weights.clone());
    }
    filtered
}

fn trim(weights: &mut [f64]) {
    let most = weights.iter().copied().fold(0.0, f64::max);
    weights.iter_mut().filter(|w| **w < most * MIN_RATE_SHARE).for_each(|w| *w = 0.0);
}

/// The weights after a transfer.
fn through(chain: &Chain, step: &Step, weights: &[f64]) -> Vec<f64> {
    let stays = chain.stays(step.took);
    let mut next = vec![0.0; weights.len()];
    for (from, &weight) in weights.iter().enumerate().filter(|(_, w)| **w > 0.0) {
        next[from] += weight * stays * step.emission.at(from);
        if weight < MIN_MOVED_SHARE {
            continue;
        }
        step.emission.add_changes(from, weight * (1.0 - stays), NEGLIGIBLE, &chain.kernel[from], &mut next);
    }
    next
}

/// `count` courses of the capacity, each from the first request to the end of the last transfer.
pub(crate) fn backward(
    chain: &Chain,
    steps: &[Step],
    filtered: &Filtered,
    count: usize,
    draws: &mut Stream,
) -> Vec<Course> {
    let last = Weighed::new(filtered.after.last().unwrap_or(&chain.prior).clone());
    let mut ends: Vec<usize> = (0..count).map(|_| last.pick(draws)).collect();
    let mut courses: Vec<Course> = vec![vec![]; count];
    let kernel_into = if count > 0 { chain.kernel_into() } else { vec![] };
    for (index, step) in steps.iter().enumerate().rev() {
        let before = &filtered.before[index];
        let stays = chain.stays(step.took);
        let mut known: Vec<Option<Weighed>> = chain.rates.iter().map(|_| None).collect();
        for (end, course) in ends.iter_mut().zip(&mut courses) {
            let to = *end;
            let weights = known[to].get_or_insert_with(|| backward_weights(step, before, to, &kernel_into[to], stays));
            let from = weights.pick(draws);
            if from == to && draws.chance(step_stays(chain, step, to, stays)) {
                let within = step.emission.within(to, chain.widths[to], draws);
                course.push((step.at, chain.rates[to] * libm::exp(within)));
            } else {
                course.push((step.at + step.emission.moment(from, to, draws), chain.within(to, draws)));
                course.push((step.at, chain.within(from, draws)));
            }
            *end = from;
        }
        if index > 0 && step.gap > 0.0 {
            over_gap(chain, step, &filtered.after[index - 1], &kernel_into, (&mut ends, &mut courses), draws);
        }
    }
    courses.iter_mut().for_each(|course| course.reverse());
    courses
}

fn step_stays(chain: &Chain, step: &Step, rate: usize, stays: f64) -> f64 {
    let moved = (1.0 - stays) * chain.kernel[rate][rate] * step.emission.changing(rate, rate);
    let stays = stays * step.emission.at(rate);
    stays / (stays + moved)
}

/// Weights of the rates before a transfer, given the one after it; `shares`: of each rate's changes, to that one.
fn backward_weights(step: &Step, before: &[f64], to: usize, shares: &[f64], stays: f64) -> Weighed {
    let weight = |(from, (&weight, share)): (usize, (&f64, &f64))| {
        if weight <= 0.0 {
            return 0.0;
        }
        let moved = (1.0 - stays) * share * step.emission.changing(from, to);
        weight * (moved + if from == to { stays * step.emission.at(to) } else { 0.0 })
    };
    Weighed::new(before.iter().zip(shares).enumerate().map(weight).collect())
}

fn over_gap(
    chain: &Chain,
    step: &Step,
    after: &[f64],
    kernel_into: &[Vec<f64>],
    (ends, courses): (&mut [usize], &mut [Course]),
    draws: &mut Stream,
) {
    let stays = chain.stays(step.gap);
    let mut known: Vec<Option<Weighed>> = chain.rates.iter().map(|_| None).collect();
    for (end, course) in ends.iter_mut().zip(courses) {
        let to = *end;
        let weights = known[to].get_or_insert_with(|| {
            let follows = |share: &f64| (1.0 - stays) * share;
            let mut weights: Vec<f64> =
                after.iter().zip(&kernel_into[to]).map(|(w, share)| w * follows(share)).collect();
            weights[to] = after[to] * (follows(&kernel_into[to][to]) + stays);
            Weighed::new(weights)
        });
        let from = weights.pick(draws);
        if from != to {
            course.push((step.at - step.gap * draws.uniform(), chain.within(to, draws)));
        }
        *end = from;
    }
}

/// Weights of the rates, to draw from.
struct Weighed {
    weights: Vec<f64>,
    sum: f64,
}

impl Weighed {
    fn new(weights: Vec<f64>) -> Weighed {
        Weighed { sum: weights.iter().sum(), weights }
    }

    fn pick(&self, draws: &mut Stream) -> usize {
        let mut left = draws.uniform() * self.sum;
        for (index, &weight) in self.weights.iter().enumerate() {
            left -= weight;
            if left < 0.0 && weight > 0.0 {
                return index;
            }
        }
        self.weights.iter().rposition(|w| *w > 0.0).unwrap_or(0)
    }
}

impl Filtered {
    /// The likeliest rate at the end of a transfer.
    pub fn likeliest(&self, index: usize) -> usize {
        let after = &self.after[index];
        (0..after.len()).max_by(|a, b| after[*a].total_cmp(&after[*b])).unwrap_or(0)
    }

    /// Share of the transfers whose time is improbable at all rates.
    pub fn unexplained(&self) -> f64 {
        let count = self.explained.iter().filter(|likely| **likely < UNLIKELY).count();
        count as f64 / self.explained.len().max(1) as f64
    }
}
