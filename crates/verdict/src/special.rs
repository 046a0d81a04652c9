//! The distribution functions that the statistics need, Python's as well. Reference: Abramowitz and Stegun, "Handbook of Mathematical Functions" (1964).
//!
//! Tested here against tabulated quantiles, and against SciPy where Python's tests compare its intervals.

use libm::{erfc, exp, fabs, lgamma, log, log1p, sqrt};
use std::f64::consts::{FRAC_1_SQRT_2, PI, SQRT_2};

/// Probability of at most `k` successes in `n` trials (26.1.20), summed from the smallest term.
pub fn binomial_cdf(k: usize, n: usize, p: f64) -> f64 {
    if k >= n { 1.0 } else { (0..=k).map(|i| binomial(i, n, p)).sum::<f64>().min(1.0) }
}

/// Probability of `k` successes in `n` trials (26.1.20).
pub fn binomial(k: usize, n: usize, p: f64) -> f64 {
    let (successes, failures) = (k as f64, (n - k) as f64);
    let ln_choose = lgamma(n as f64 + 1.0) - lgamma(successes + 1.0) - lgamma(failures + 1.0);
    exp(ln_choose + successes * log(p) + failures * log1p(-p))
}

/// Standard normal distribution (26.2.29).
pub fn normal_cdf(x: f64) -> f64 {
    0.5 * erfc(-x * FRAC_1_SQRT_2)
}

/// Its quantile, by bisection and Newton's steps on [`normal_cdf`].
pub fn normal_quantile(p: f64) -> f64 {
    if p > 0.5 {
        return -normal_quantile(1.0 - p);
    }
    invert(p, -39.0, 0.0, normal_cdf, |x| exp(-0.5 * x * x) / (SQRT_2 * sqrt(PI)))
}

/// Quantile of Student's t with `df` degrees of freedom (26.7).
pub fn student_quantile(df: f64, p: f64) -> f64 {
    if p < 0.5 {
        return -student_quantile(df, 1.0 - p);
    }
    let mut high = 2.0;
    while student_cdf(df, high) < p {
        high *= 2.0;
    }
    invert(p, 0.0, high, |x| student_cdf(df, x), |x| student_density(df, x))
}

/// Probability that Student's t lies further from zero than `x`, on either side (26.7.1).
pub fn student_beyond(df: f64, x: f64) -> f64 {
    incomplete_beta(df / 2.0, 0.5, df / (df + x * x))
}

fn student_cdf(df: f64, x: f64) -> f64 {
    1.0 - 0.5 * student_beyond(df, x)
}

fn student_density(df: f64, x: f64) -> f64 {
    exp(lgamma((df + 1.0) / 2.0) - lgamma(df / 2.0) - 0.5 * log(df * PI) - (df + 1.0) / 2.0 * log1p(x * x / df))
}

/// The root of `cdf(x) = p` between two bounds: Newton's step where it stays between them, otherwise half.
fn invert(p: f64, low: f64, high: f64, cdf: impl Fn(f64) -> f64, density: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (low, high);
    let mut x = 0.5 * (low + high);
    for _ in 0..200 {
        let miss = cdf(x) - p;
        if miss > 0.0 {
            high = x
        } else {
            low = x
        }
        let newton = x - miss / density(x);
        let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
        if fabs(next - x) <= 1e-15 * fabs(x) {
            return next;
        }
        x = next;
    }
    x
}

/// Regularised incomplete beta function, by its continued fraction (26.5.8).
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return f64::from(x >= 1.0);
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x)) / a;
    let mut fraction = 1.0;
    for i in (1..400).rev() {
        let m = f64::from(i / 2);
        let numerator = if i % 2 == 0 {
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        };
        fraction = 1.0 + numerator / fraction;
    }
    front / fraction
}

#[cfg(test)]
mod tests;
