use super::*;

fn near(value: f64, expected: f64) {
    assert!((value - expected).abs() < 5e-4, "{value} is not {expected}");
}

/// 1.2, 1.85, 1.85 Mbit/s, 0.5 s stall: 4.9 - 0.65 - 4.3 x 0.5 = 2.1.
#[test]
fn pensieve_scaling() {
    near(qoe_linear(&[1200.0, 1850.0, 1850.0], 0.5, 2.0, QoeWeights::PENSIEVE), 2.1);
}

/// The same, balanced: 4900 - 650 - 3000 x 0.5 - 3000 x 2 = -3250.
#[test]
fn balanced_scaling() {
    near(qoe_linear(&[1200.0, 1850.0, 1850.0], 0.5, 2.0, QoeWeights::BALANCED), -3250.0);
}

/// n 0: 1. n 2, T/D 0.05, I/D 0.3: exp(-0.21387 - 0.05441 - 0.02713) = 0.744.
#[test]
fn p1203_equation() {
    assert_eq!(p1203_stalling_factor(&[], 60.0), 1.0);
    near(p1203_factor(2.0, 0.05, 0.3), 0.7442);
}

/// 2 s at position 0 and 1 s at position 50, 60 s: weights 0.48413 + 0.51587 x 2^-6 = 0.49219 and 0.48413 + 0.51587 / 2 =
/// 0.74206; T = 0.98438 + 0.74206 = 1.72644; T/D 0.028774; I/D 50/60.
/// exp(-2/9.35158684 - 0.028774/0.91890815 - 0.833333/11.0567558) = exp(-0.213867 - 0.031313 - 0.075369) = 0.72575.
#[test]
fn p1203_memory() {
    near(p1203_stalling_factor(&[(0.0, 2.0), (50.0, 1.0)], 60.0), 0.72575);
}
