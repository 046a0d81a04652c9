use super::*;

#[test]
fn a_constant_throughput_is_its_own_average_from_the_first_sample() {
    let mut ewma = DualEwma::new(3.0, 8.0);
    assert_eq!(ewma.low(), None);
    for _ in 0..5 {
        ewma.push(2e6, 0.7);
        assert!((ewma.low().unwrap() - 2e6).abs() < 1e-3);
        assert!((ewma.high().unwrap() - 2e6).abs() < 1e-3);
    }
}

/// Half-life 3 s, samples of 3 s each: 4 then 1 Mbit/s.
/// alpha = 0.5: sum = 0.5·4 = 2, then 0.5·2 + 0.5·1 = 1.5; zero factor 1 − 0.5² = 0.75; value 1.5 / 0.75 = 2.
/// Half-life 6 s: alpha = 0.70711: 1.17157, then 0.82843 + 0.29289 = 1.12132; 1 − 0.5 = 0.5; value 2.24264.
#[test]
fn two_samples_by_hand() {
    let mut ewma = DualEwma::new(3.0, 6.0);
    ewma.push(4.0, 3.0);
    ewma.push(1.0, 3.0);
    assert!((ewma.low().unwrap() - 2.0).abs() < 1e-12);
    assert!((ewma.high().unwrap() - 2.242_640_687).abs() < 1e-8);
}
