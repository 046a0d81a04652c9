use super::*;

/// 8 s at 3 s, a stall of 2 s (3 to 5 s), 10 s at 5 s: mean (24 + 8 + 50) / 20 = 4.1; half of the time no more than 4 s; nine
/// tenths no more than 5 s.
#[test]
fn a_stall_raises_it() {
    let mut latencies = Latencies::default();
    assert_eq!((latencies.mean_s(), latencies.quantile_s(0.5)), (None, None));
    for (at, latency) in [(1, 3.0), (9, 3.0), (11, 5.0), (21, 5.0)] {
        latencies.push(Time::from_secs(at), latency);
    }
    let near = |value: Option<f64>, expected: f64| (value.expect("it was live") - expected).abs() < 1e-6;
    assert!(near(latencies.mean_s(), 4.1));
    // 8 s at 3 s, and 1 s to 4 s: 9 of 20 s.
    assert!(near(latencies.quantile_s(0.45), 4.0) && near(latencies.quantile_s(0.9), 5.0));
}
