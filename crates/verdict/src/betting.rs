//! What a sequence of bounded outcomes proves about their mean, however often one looks: a confidence sequence by betting.
//!
//! Reference: Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting" (2024, arXiv 2006.04347), section 4.
//! Under the hypothesis that the mean is at most `m` these bets are fair: a capital of 1 that stakes the fraction `c` of the most it may
//! lose is multiplied by `1 + c (y / m - 1)` at the outcome `y`. If the hypothesis is true, the capital ever reaches `1 / a` with
//! probability `a` at most (Ville 1939). So a hypothesis that makes the bettor rich is refuted, and the means that are not refuted form a
//! confidence sequence: it contains the true mean at every number of outcomes simultaneously.
//!
//! Differences from the reference:
//! 1. Bets are a fixed mixture (`BETS` parts `c`, larger ones with more weight), as in its "diversified Kelly", and not predicted from
//!    the outcomes so far: what is refuted is then an interval, found by halving, and races of a few dozen sessions end as soon.
//! 2. The two sides are two sequences at half the level each, and not one hedged capital; the capital counts at its largest so far.
//!
//! 3. Outcomes may have weights (how many viewers a link stands for): light ones are bet on with less. Its section 5, without
//!    replacement, is followed for them too.
//!
//! Outcomes lie in [0, 1]. Tests: values of the package `confseq`, and arithmetic by hand.

/// The parts of what may be lost that are bet: 1/16, 2/16, … 1, with weights in the same proportion.
const BETS: usize = 16;
/// Halvings of [0, 1].
const HALVINGS: usize = 40;
/// Beyond all doubt, and finite.
const RICHEST: f64 = 1e200;
/// Below, a difference of outcomes is one of arithmetic.
const ROUNDING: f64 = 1e-12;

/// A sample of outcomes whose mean is of interest; they may have weights, and come from a finite or an infinite population.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// In the order in which they were drawn.
    pub outcomes: &'a [f64],
    /// The weight of each (the number of viewers it represents), relative to the largest possible weight; `None`: all equal.
    pub weights: &'a [f64],
    /// How many there are in all, of which each is drawn once; `None`: without end.
    pub of: Option<usize>,
    /// How many times as many are assumed, the others being like these: 1 but for estimates.
    pub times: f64,
}

impl<'a> Sample<'a> {
    /// Alike and without end.
    pub fn plain(outcomes: &'a [f64]) -> Sample<'a> {
        Sample { outcomes, weights: &[], of: None, times: 1.0 }
    }

    fn draws(self) -> impl Iterator<Item = (f64, f64)> {
        self.outcomes.iter().zip(0..).map(move |(outcome, at)| (*outcome, self.weights.get(at).copied().unwrap_or(1.0)))
    }

    /// The most that has been won by betting against "the mean is at most `mean`".
    pub fn against_at_most(self, mean: f64) -> f64 {
        max_wealth(self.draws(), mean, self.of, self.times)
    }

    /// The most that has been won by betting against "the mean is at least `mean`".
    pub fn against_at_least(self, mean: f64) -> f64 {
        max_wealth(self.draws().map(|(outcome, weight)| (1.0 - outcome, weight)), 1.0 - mean, self.of, self.times)
    }

    /// The interval of means that are not refuted; with probability `1 - level` it contains the true mean at every number of outcomes.
    pub fn interval(self, level: f64) -> [f64; 2] {
        let wanted = 2.0 / level;
        let low = least(|mean| self.against_at_most(mean) < wanted);
        let high = 1.0 - least(|mean| self.against_at_least(1.0 - mean) < wanted);
        [low, high]
    }
}

/// Largest winnings of the bets against "the mean is at most `mean`". An outcome of weight `w` counts with the part `w` of its distance
/// from the mean, so that the weighted sum of distances has an expectation of at most zero. In a finite population, outcomes drawn above
/// the mean are missing among the remaining ones, of which the next is a fair draw.
fn max_wealth(draws: impl Iterator<Item = (f64, f64)>, mean: f64, of: Option<usize>, times: f64) -> f64 {
    let weight = |bet: usize| 2.0 * bet as f64 / (BETS * (BETS + 1)) as f64;
    let mut capital: Vec<f64> = (1..=BETS).map(weight).collect();
    let (mut most, mut above) = (1.0_f64, 0.0);
    for ((outcome, weight), before) in draws.zip(0..) {
        let price = mean - of.map_or(0.0, |all| above / all.saturating_sub(before).max(1) as f64);
        let paid = weight * outcome + (1.0 - weight) * mean;
        above += weight * (outcome - mean);
        if price <= ROUNDING {
            if paid > price + ROUNDING {
                return RICHEST; // more than can be left
            }
            continue;
        }
        let won = if paid == 0.0 { -1.0 } else { paid / price - 1.0 };
        for (own, bet) in capital.iter_mut().zip(1..) {
            *own = (*own * (1.0 + f64::from(bet) / BETS as f64 * won)).min(RICHEST);
        }
        most = most.max(capital.iter().sum());
    }
    if times > 1.0 {
        let grown = |(own, bet): (&f64, usize)| weight(bet) * libm::pow(own / weight(bet), times).min(RICHEST);
        most = most.max(capital.iter().zip(1..).map(grown).sum());
    }
    most
}

/// The point in (0, 1) from which `holds` is true, by bisection.
fn least(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if holds(middle) { high = middle } else { low = middle }
    }
    low
}

#[cfg(test)]
mod tests;
