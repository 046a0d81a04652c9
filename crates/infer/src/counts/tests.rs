use super::*;

#[test]
fn probabilities_of_all_counts_sum_to_one_and_have_their_mean_and_variance() {
    // Mean 4, variance 4 + 3² · 0.5 = 8.5.
    for (excess, variance) in [(0.0, 4.0), (4.5, 8.5)] {
        let of = |n: u32| negative_binomial(f64::from(n), 4.0, excess);
        let sum = |f: &dyn Fn(f64) -> f64| (0..200).map(|n| of(n) * f(f64::from(n))).sum::<f64>();
        assert!((sum(&|_| 1.0) - 1.0).abs() < 1e-9);
        assert!((sum(&|n| n) - 4.0).abs() < 1e-6);
        assert!((sum(&|n| (n - 4.0) * (n - 4.0)) - variance).abs() < 1e-3, "{excess}");
    }
}

#[test]
fn a_burst_is_possible_under_every_reading() {
    let expected = Expected { packets: 1400.0, noise: 0.0, overflow: 0.5, spread: 1.0 };
    assert!(expected.likely(60.0) > 1e-4);
    assert!(expected.likely(0.0) > 0.5);
}
