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
    for (values, low, high) in
        [(spread(60), 0.38135930328553513, 0.6068618608587713), (narrow(60), 0.5080145696829277, 0.5837969651538515)]
    {
        let found = Sample::plain(&values).interval(0.05);
        assert!((found[0] - low).abs() < 1e-9 && (found[1] - high).abs() < 1e-9, "{found:?}");
    }
}

#[test]
fn a_bettor_that_always_wins_doubles_what_he_bets() {
    // Against a mean of 1/2 an outcome of 1 pays once what is bet: the mean of (1 + j/16)^n, weighted with j.
    let by_hand = |n: i32| (1..=16).map(|j| f64::from(j) * (1.0 + f64::from(j) / 16.0).powi(n)).sum::<f64>() / 136.0;
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
