use super::*;
use crate::testbed::ack;

#[test]
fn three_bad_rounds_then_a_cut_per_round_and_a_slow_return() {
    let mut guard = LossGuard::new();
    let mut round = |lost| {
        guard.on_ack(&Ack { round_start: true, newly_lost: lost, ..ack() }, 100.0);
        guard.factor()
    };
    round(0);
    // 11 of 100 are more than a tenth, 10 are not.
    assert_eq!([11, 11, 10, 11, 11].map(&mut round), [1.0; 5], "never three in a row");
    assert_eq!(round(11), 0.7);
    assert!((round(50) - 0.49).abs() < 1e-12);
    // (1 - 0.49) / 16 = 0.031875 per quiet round.
    assert!((round(0) - 0.521875).abs() < 1e-12);
}
