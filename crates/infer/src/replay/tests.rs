use super::*;
use crate::emission::Outliers;
use crate::explain::PAUSES;

/// 3 % of the times meet a pause, and of the others 7 % are four times as far off: 0.97 (0.93 x 0.967 + 0.07 x 0.406) = 0.90.
#[test]
fn nine_of_ten_times_lie_within_what_the_emission_believes() {
    let of = |deviations: f64| libm::erf(deviations * std::f64::consts::FRAC_1_SQRT_2);
    let Outliers { share, times, .. } = Outliers::USUAL;
    let held = (1.0 - PAUSES) * ((1.0 - share) * of(WITHIN) + share * of(WITHIN / times));
    assert!((held - 0.9).abs() < 0.001, "{held}");
}
