use super::*;

/// 0.9 · (1.1 · 1 + 0.9 · 0.6) / 2 = 0.9 · 1.64 / 2 = 0.738 Mbit/s.
#[test]
fn worked_step() {
    assert!((step(1e6, 600e3) - 738e3).abs() < 1e-6);
}

/// 0.405 / 0.505 = 0.80198.
#[test]
fn constant_samples_lead_to_0_802_of_the_sample() {
    let estimate = (0..40).fold(0.0, |estimate, _| step(estimate, 1e6));
    assert!((estimate - 801_980.198).abs() < 0.1);
}

/// 700 kbit/s is not below 700 kbit/s.
#[test]
fn the_comparison_is_strict() {
    use super::super::testing::{context, ladder};
    let ladder = ladder(&[500, 700]);
    for (kbps, choice) in [(700.0, 0), (700.001, 1), (100.0, 0)] {
        let decision = DashJs { estimate: kbps * 1e3 }.choose(&context(&ladder, 10.0, 30.0, None));
        assert_eq!(decision.choice, super::super::Choice::Fetch(choice));
    }
}

#[test]
fn the_estimate_never_exceeds_8_mibit() {
    assert_eq!(step(0.0, 1e9), 8_388_608.0);
}
