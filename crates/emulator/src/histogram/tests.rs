use super::*;

#[test]
fn buckets_follow_each_other_and_hold_what_they_say() {
    let mut last = 0;
    for nanos in (0..100_000u64).chain([1 << 40, u64::MAX / 3]) {
        let index = bucket(nanos);
        assert!(index == last || index == last + 1 || nanos > 100_000);
        assert!(end_of(index) >= nanos && (index == 0 || end_of(index - 1) < nanos), "{nanos}");
        assert!(end_of(index) - nanos <= nanos / 32 + 1, "{nanos}");
        last = index;
    }
}

#[test]
fn quantiles_of_the_first_thousand() {
    let mut histogram = Histogram::new();
    (1..=1000).for_each(|nanos| histogram.add(nanos));
    assert_eq!((histogram.max(), histogram.mean()), (1000, 500.5));
    for (share, expected) in [(0.5, 500.0), (0.99, 990.0), (1.0, 1000.0)] {
        let quantile = histogram.quantile(share) as f64;
        assert!(quantile >= expected && quantile <= expected * 1.04, "{share}: {quantile}");
    }
    assert_eq!(Histogram::new().quantile(0.5), 0);
}
