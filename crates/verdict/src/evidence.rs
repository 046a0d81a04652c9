//! What the runs so far prove about two senders at one criterion, however often one looks.
//!
//! Senders are compared by their differences within a seed. At a criterion with a margin (what nobody would notice) two are
//!
//! - *apart* when one is proven to be noticeably better in more sessions than it is noticeably worse, and its mean is better by
//!   more than the margin;
//! - *alike* when one of these is proven: at least nine sessions in ten differ by no more than the margin; or the mean
//!   difference lies within the margin, from so many runs that what happens in one session of ten has been seen;
//! - *open* otherwise.
//!
//! Both are tests of a sequential design whose levels depend on the number of runs alone, so that no history has to be kept:
//! runs fall into spans that double (8 to 15, 16 to 31, ...), the level of a span is half that of the one before, and all levels
//! together are below 5 %: 3.5 %, so that even a look at every run errs in less than 5 %. Advice and `--until-decided` look
//! once in a span (`ladder`).
//!
//! The tests; "apart" must pass both of its:
//!
//! - of a pair, the sign test on the sessions with a noticeable difference: exact, whatever the distributions;
//! - of a pair as one of all pairs, "equal senders are exchangeable within a seed": the self-normalised sum
//!   U = sum(r) / sqrt(sum(r²)) of the roots r of the differences, each with its sign (so that no single seed decides), against
//!   the largest U of any pair when each seed's values change hands at random (Westfall and Young 1993). Above
//!   `MAX_PERMUTED` runs it is held against
//!   Bentkus and Dzindzalieta's bound `P(U >= u) <= 3.178 P(Z >= u)` (2015, "A tight Gaussian bound for weighted sums of
//!   Rademacher random variables"), times the number of pairs;
//! - of "alike", the exact binomial of the share of sessions that differ (Clopper and Pearson 1934), and Student's t.
//!
//! docs/decisions/ranking.md has the simulations by which these were chosen; tests/python/test_false_winners.py repeats them.

use crate::special::{binomial_cdf, normal_cdf, normal_quantile, student_quantile};
use crate::stats::{SIGNIFICANCE, mean, p_more_often};
use rand_core::Rng;
use rand_pcg::Lcg128Xsl64;
use std::sync::OnceLock;

/// Below, nothing is decided.
pub const MIN_RUNS: usize = 8;

/// Two senders are alike where at most this share of the sessions differ noticeably.
pub(crate) const UNNOTICED_SHARE: f64 = 0.1;
/// The level of the first span.
const APART: f64 = 0.022;
/// Ratio of the level of a span to that of the span before.
const SLOWER: f64 = 0.75;
const ALIKE: f64 = 0.4 * SIGNIFICANCE;
const MIN_ALIKE: usize = 32;
const MAX_RUNS: usize = 10_000;
const MAX_PERMUTED: usize = 24;
const PERMUTATIONS: usize = 4999;
const TAIL: f64 = 3.178;
const CLOSE: f64 = 1e-5;

/// The level at which "apart" is tested with so many runs; 0 where there are too few.
pub fn apart_level(runs: usize) -> f64 {
    level(APART, SLOWER, runs, MIN_RUNS)
}

fn alike_level(runs: usize) -> f64 {
    level(0.5 * ALIKE, 0.5, runs, MIN_ALIKE)
}

/// That of the first span times a factor for each that follows.
fn level(first: f64, factor: f64, runs: usize, fewest: usize) -> f64 {
    let (now, start) = (span(runs), span(fewest));
    if now < start { 0.0 } else { first * factor.powi((now - start) as i32) }
}

/// 0 below `MIN_RUNS`, then 1, 2, …: each span twice as long.
fn span(runs: usize) -> u32 {
    usize::BITS - (runs / MIN_RUNS).leading_zeros()
}

/// All pairs of senders at one criterion.
pub struct Evidence {
    senders: usize,
    /// For each pair in both orders, one difference per seed.
    differences: Vec<Vec<f64>>,
    pub runs: usize,
    permuted: OnceLock<Vec<f32>>,
}

impl Evidence {
    pub fn of(senders: usize, runs: usize, difference: impl Fn(usize, usize, usize) -> f64) -> Evidence {
        let pair = |at: usize| (0..runs).map(|run| difference(at / senders, at % senders, run)).collect();
        let differences = (0..senders * senders).map(pair).collect();
        Evidence { senders, differences, runs, permuted: OnceLock::new() }
    }

    pub fn differences(&self, one: usize, other: usize) -> &[f64] {
        &self.differences[one * self.senders + other]
    }

    /// p value of "their means differ by no more than the margin", corrected for all pairs.
    pub fn p_apart(&self, one: usize, other: usize, margin: f64) -> f64 {
        let found = self.differences(one, other);
        let middle = mean(found).unwrap_or(0.0);
        let more = found.iter().filter(|value| **value * sign(middle) > margin).count();
        let less = self.noticed(one, other, margin) - more;
        if middle.abs() <= margin || more <= less {
            return 1.0;
        }
        p_more_often(more, less).max(self.p_of_all(found))
    }

    /// Seeds in which the two differ by more than the margin.
    pub fn noticed(&self, one: usize, other: usize, margin: f64) -> usize {
        self.differences(one, other).iter().filter(|value| value.abs() > margin).count()
    }

    /// Whether "alike" is proven, for one sender against all others.
    pub fn are_alike(&self, one: usize, other: usize, margin: f64) -> bool {
        let level = alike_level(self.runs) / self.senders.saturating_sub(1).max(1) as f64;
        if level == 0.0 || runs_without(level) > self.runs as f64 {
            return false;
        }
        if binomial_cdf(self.noticed(one, other, margin), self.runs, UNNOTICED_SHARE) <= level {
            return true;
        }
        let (middle, sd) = moments(self.differences(one, other));
        let half = student_quantile(self.runs as f64 - 1.0, 1.0 - level) * sd / libm::sqrt(self.runs as f64);
        middle.abs() + half <= margin
    }

    /// Runs in all after which the pair would be settled if mean and spread stay as they are, and whether as apart; `None` above
    /// 10 000, and for fewer than two runs. `share` is this criterion's part of the level of "apart".
    pub fn needs(&self, one: usize, other: usize, margin: f64, share: f64) -> Option<(usize, bool)> {
        if self.runs < 2 {
            return None;
        }
        let found = self.differences(one, other);
        let (middle, sd) = moments(found);
        let runs = self.runs as f64;
        let noticed = self.noticed(one, other, margin) as f64 / runs;
        let more = found.iter().filter(|value| **value * sign(middle) > margin).count() as f64 / runs;
        let reach = self_normalised(found) / libm::sqrt(runs);
        let mut start = MIN_RUNS << span(self.runs);
        while start <= MAX_RUNS {
            let level = apart_level(start) * share;
            let apart = self.runs_apart(reach, level).max(runs_of_signs(more, noticed, level));
            let apart = if middle.abs() > margin { apart } else { f64::INFINITY };
            let alike = self.runs_alike(middle.abs(), sd, margin, noticed, alike_level(start));
            let wanted = apart.min(alike);
            if wanted < 2.0 * start as f64 {
                return Some((start.max(libm::ceil(wanted) as usize), apart < alike));
            }
            start *= 2;
        }
        None
    }

    /// `reach` is the statistic over the square root of the runs, which does not depend on them.
    fn runs_apart(&self, reach: f64, level: f64) -> f64 {
        if reach == 0.0 || level == 0.0 {
            return f64::INFINITY;
        }
        let wanted = normal_quantile(level / (2.0 * TAIL * self.pairs() as f64)) / reach;
        wanted * wanted
    }

    fn runs_alike(&self, middle: f64, sd: f64, margin: f64, noticed: f64, level: f64) -> f64 {
        if level == 0.0 {
            return f64::INFINITY;
        }
        let level = level / self.senders.saturating_sub(1).max(1) as f64;
        let reach = normal_quantile(level);
        let square = |x: f64| x * x;
        let by_mean = if middle < margin { square(reach * sd / (margin - middle)) } else { f64::INFINITY };
        let by_share = if noticed < UNNOTICED_SHARE {
            square(reach / (UNNOTICED_SHARE - noticed)) * noticed * (1.0 - noticed)
        } else {
            f64::INFINITY
        };
        runs_without(level).max(by_mean.min(by_share))
    }

    fn pairs(&self) -> usize {
        self.senders * (self.senders - 1) / 2
    }

    fn p_of_all(&self, found: &[f64]) -> f64 {
        let statistic = self_normalised(found);
        if self.runs > MAX_PERMUTED {
            let tail = (2.0 * TAIL * normal_cdf(-statistic)).min(1.0);
            return (self.pairs() as f64 * tail).min(1.0);
        }
        let permuted = self.permuted.get_or_init(|| self.permute());
        let below = permuted.partition_point(|value| f64::from(*value) < statistic * (1.0 - CLOSE));
        (permuted.len() - below + 1) as f64 / (permuted.len() + 1) as f64
    }

    /// The largest statistic of any pair, sorted, when each seed's values change hands at random.
    fn permute(&self) -> Vec<f32> {
        let senders = self.senders;
        // A fixed seed: verdicts must be deterministic.
        let mut random = Lcg128Xsl64::new(senders as u128, self.runs as u128);
        let roots: Vec<Vec<f32>> =
            self.differences.iter().map(|found| found.iter().map(|d| root(*d) as f32).collect()).collect();
        let mut owners = vec![vec![0; self.runs]; senders];
        let mut largest: Vec<f32> = (0..PERMUTATIONS)
            .map(|_| {
                for run in 0..self.runs {
                    let keys: Vec<u64> = (0..senders).map(|_| random.next_u64()).collect();
                    let mut order: Vec<usize> = (0..senders).collect();
                    order.sort_unstable_by_key(|sender| keys[*sender]);
                    owners.iter_mut().zip(&order).for_each(|(row, owner)| row[run] = *owner);
                }
                self.largest_of(&owners, &roots)
            })
            .collect();
        largest.sort_by(f32::total_cmp);
        largest
    }

    /// `owners` has for each row whose values it has in each run.
    fn largest_of(&self, owners: &[Vec<usize>], roots: &[Vec<f32>]) -> f32 {
        let of_pair = |a: &[usize], b: &[usize]| {
            let (mut size, mut signed) = (0.0_f32, 0.0_f32);
            for (run, (one, other)) in a.iter().zip(b).enumerate() {
                let root = roots[one * self.senders + other][run];
                size += root * root;
                signed += root;
            }
            if size > 0.0 { signed.abs() / size.sqrt() } else { 0.0 }
        };
        let later = |i: usize| owners[i + 1..].iter().map(move |other| (i, other));
        let pairs = (0..owners.len()).flat_map(later);
        pairs.map(|(i, other)| of_pair(&owners[i], other)).fold(0.0, f32::max)
    }
}

/// Mean and sample standard deviation.
fn moments(values: &[f64]) -> (f64, f64) {
    let middle = mean(values).unwrap_or(0.0);
    let squares: f64 = values.iter().map(|value| (value - middle) * (value - middle)).sum();
    (middle, libm::sqrt(squares / (values.len() as f64 - 1.0)))
}

/// As in NumPy: the sign of 0 is 0.
fn sign(x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x.signum() }
}

/// |U| of the roots of differences; 0 where there are none.
fn self_normalised(differences: &[f64]) -> f64 {
    let total = libm::sqrt(differences.iter().map(|value| value.abs()).sum());
    let signed: f64 = differences.iter().map(|value| root(*value)).sum();
    if total > 0.0 { signed.abs() / total } else { 0.0 }
}

fn root(value: f64) -> f64 {
    libm::sqrt(value.abs()).copysign(value)
}

/// Runs until a sign test decides: these shares of the sessions differ noticeably one way, and at all.
fn runs_of_signs(more: f64, noticed: f64, level: f64) -> f64 {
    let ahead = 2.0 * more - noticed;
    if ahead <= 0.0 || level == 0.0 {
        return f64::INFINITY;
    }
    let quantile = normal_quantile(level / 2.0);
    ((1.0 + libm::log2(1.0 / level)) / noticed).max(quantile * quantile * noticed / (ahead * ahead))
}

/// Runs in which something of more than `UNNOTICED_SHARE` stays unseen with at most this probability.
fn runs_without(level: f64) -> f64 {
    libm::log(level) / libm::log(1.0 - UNNOTICED_SHARE)
}
