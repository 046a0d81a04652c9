//! What bounded outcomes, one after the other, prove about their mean, however often one looks: a confidence sequence by betting.
//!
//! Reference: Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting" (2024, arXiv 2006.04347), section 4.
//! Whoever holds that the mean is at most `m` offers fair bets: a capital of 1 that bets the part `c` of the most it may lose becomes
//! `1 + c (y / m - 1)` times as large at the outcome `y`. If he is right, the capital reaches `1 / a` at any time with probability `a`
//! at most (Ville 1939). So what makes a bettor rich is refuted, and the means that are not refuted are a confidence sequence: all of
//! them at once hold the true mean, at every number of outcomes.
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

/// What a figure is the mean of: outcomes that stand for unequally many, taken from finitely many or without end.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// In the order in which they were drawn.
    pub outcomes: &'a [f64],
    /// How many each stands for, as a share of the most that any of them may stand for; none: all alike.
    pub weights: &'a [f64],
    /// How many there are in all, of which each is drawn once; `None`: without end.
    pub of: Option<usize>,
}

impl<'a> Sample<'a> {
    /// Alike and without end.
    pub fn plain(outcomes: &'a [f64]) -> Sample<'a> {
        Sample { outcomes, weights: &[], of: None }
    }

    fn draws(self) -> impl Iterator<Item = (f64, f64)> {
        self.outcomes.iter().zip(0..).map(move |(outcome, at)| (*outcome, self.weights.get(at).copied().unwrap_or(1.0)))
    }

    /// The most that has been won by betting against "the mean is at most `mean`".
    pub fn against_at_most(self, mean: f64) -> f64 {
        most_won(self.draws(), mean, self.of)
    }

    /// The most that has been won by betting against "the mean is at least `mean`".
    pub fn against_at_least(self, mean: f64) -> f64 {
        most_won(self.draws().map(|(outcome, weight)| (1.0 - outcome, weight)), 1.0 - mean, self.of)
    }

    /// The means that are not refuted: they hold the true one at every number of outcomes, but for a share `level` of cases.
    pub fn interval(self, level: f64) -> [f64; 2] {
        let wanted = 2.0 / level;
        let low = least(|mean| self.against_at_most(mean) < wanted);
        let high = 1.0 - least(|mean| self.against_at_least(1.0 - mean) < wanted);
        [low, high]
    }
}

/// What bets against "the mean is at most `mean`" win. An outcome of weight `w` moves what is bet on by the part `w` of its distance
/// from the mean: the weighted sum of distances has the expectation zero at most. Of finitely many, what was drawn above the mean is
/// missing among those that are left, of which the next is a fair draw.
fn most_won(draws: impl Iterator<Item = (f64, f64)>, mean: f64, of: Option<usize>) -> f64 {
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
    most
}

/// Where in (0, 1) something begins to hold.
fn least(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if holds(middle) { high = middle } else { low = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0, 0.37, 0.74, 0.1, …: spread evenly, without a trend.
    fn spread(count: usize) -> Vec<f64> {
        (0..count).map(|i| (i * 37 % 101) as f64 / 100.0).collect()
    }

    fn narrow(count: usize) -> Vec<f64> {
        spread(count).iter().map(|value| 0.5 + 0.1 * value).collect()
    }

    fn is_close(found: f64, wanted: f64) -> bool {
        (found / wanted - 1.0).abs() < 1e-9
    }

    /// The weighted mean, over the parts j/16, of `betting_mart(x, m, theta=1, trunc_scale=j/16, lambdas_fn_positive=1e9)` of confseq
    /// 0.0.11, which cuts each bet to the part of what may be lost; at its largest so far.
    #[test]
    fn capitals_are_those_of_the_package_confseq() {
        for (values, mean, up, down) in [
            (spread(10), 0.3, 2.5916589285260496, 1.2946428571428574),
            (spread(10), 0.6, 1.0, 5.070412354085595),
            (spread(60), 0.3, 558077.3604051394, 1.2946428571428574),
            (spread(60), 0.5, 1.0, 2.109627532763672),
            (spread(60), 0.6, 1.0, 23.014587374421705),
            (narrow(60), 0.5, 92.77852399108903, 1.0),
            (narrow(60), 0.53, 4.772154223356352, 1.0438829787234043),
            (narrow(60), 0.6, 1.0, 336.3984649871003),
        ] {
            assert!(is_close(Sample::plain(&values).against_at_most(mean), up), "{mean}");
            assert!(is_close(Sample::plain(&values).against_at_least(mean), down), "{mean}");
        }
    }

    /// By halving, with the capitals of the test above. Its own `betting_cs` has [0.383, 0.602] and [0.487, 0.601] in steps of 0.001: of
    /// evenly spread values as wide, of narrow ones three quarters wider.
    #[test]
    fn intervals_are_those_of_the_package_confseq() {
        for (values, low, high) in [
            (spread(60), 0.38135930328553513, 0.6068618608587713),
            (narrow(60), 0.5080145696829277, 0.5837969651538515),
        ] {
            let found = Sample::plain(&values).interval(0.05);
            assert!((found[0] - low).abs() < 1e-9 && (found[1] - high).abs() < 1e-9, "{found:?}");
        }
    }

    #[test]
    fn a_bettor_that_always_wins_doubles_what_he_bets() {
        // Against a mean of 1/2 an outcome of 1 pays once what is bet: the mean of (1 + j/16)^n, weighted with j.
        let by_hand =
            |n: i32| (1..=16).map(|j| f64::from(j) * (1.0 + f64::from(j) / 16.0).powi(n)).sum::<f64>() / 136.0;
        assert!(is_close(Sample::plain(&[1.0; 5]).against_at_most(0.5), by_hand(5)));
        // Five wins and then nothing but losses: what was won once stays refuted.
        let later = [[1.0; 5], [0.0; 5]].concat();
        assert!(is_close(Sample::plain(&later).against_at_most(0.5), by_hand(5)));
    }

    #[test]
    fn nothing_is_refuted_without_outcomes_and_capitals_stay_finite() {
        assert_eq!(Sample::plain(&[]).interval(0.05), [0.0, 1.0]);
        assert!(Sample::plain(&[1.0; 2000]).against_at_most(0.1).is_finite());
        assert_eq!(Sample::plain(&[0.0; 9]).against_at_most(0.0), 1.0);
    }

    /// 4000 series of coins that show 1 in a tenth of the cases, looked at after each of 300: the interval misses 0.1 at any time in
    /// less than 5 %.
    #[test]
    fn the_true_mean_is_in_all_of_the_intervals() {
        use rand_core::Rng;
        let mut random = rand_pcg::Lcg128Xsl64::new(7, 7);
        let mut missed = 0;
        for _ in 0..4000 {
            let coins: Vec<f64> = (0..300).map(|_| f64::from(u8::from(random.next_u64().is_multiple_of(10)))).collect();
            let refuted = |won: f64| won >= 2.0 / 0.05;
            let coins = Sample::plain(&coins);
            missed += usize::from(refuted(coins.against_at_most(0.1)) || refuted(coins.against_at_least(0.1)));
        }
        assert!(missed < 200, "{missed}");
        assert!(missed > 20, "no power: {missed}");
    }
}
