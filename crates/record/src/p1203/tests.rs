use super::*;

fn near(value: f64, expected: f64, by: f64) {
    assert!((value - expected).abs() < by, "{value} is not {expected}");
}

/// The values, and the tolerance, of the reference software's test.
#[test]
fn pictures_as_the_reference_has_them() {
    let full = 1920.0 * 1080.0;
    near(picture_quality(full, full, 2801.27587623, 30.0), 4.311, 0.0105);
    near(picture_quality(852.0 * 480.0, full, 629.203792838, 30.0), 2.664, 0.0105);
    near(picture_quality(426.0 * 240.0, full, 224.771246112, 30.0), 1.085, 0.0105);
}

#[test]
fn ratings_and_scores_are_inverse() {
    for r in [4.0, 20.0, 50.0, 75.0, 99.0] {
        near(r_from_mos(mos_from_r(r)), r, 1e-9);
    }
    assert_eq!((mos_from_r(0.0), r_from_mos(1.0), mos_from_r(100.0)), (1.05, 0.0, 4.9));
}

/// No score passes 5, however the weights round.
#[test]
fn the_best_is_five() {
    for seconds in 1..200 {
        assert_eq!(recency_mean(&vec![5.0; seconds]).max(5.0), 5.0, "{seconds} seconds");
    }
}

/// Constant quality is its own mean; nothing turns, nothing is below.
#[test]
fn constant_quality_stays() {
    near(over_the_session(&[3.0; 60], &[3.0; 60]), 3.0, 1e-12);
    assert_eq!(directions(&[3.0; 60]), (63, 0));
}

/// Six seconds of 4 and six of 2, five times: nine turns and nine jumps of 2. Turns: (1 + lg 2.001) exp(0.67756 x 9 - 8.05533) =
/// 1.30125 x 0.14124 = 0.18379; jumps: 0.17333 x 2 x 9/60 - 0.01036 = 0.04164.
#[test]
fn to_and_fro_costs_more_than_its_mean() {
    let picture: Vec<f64> = (0..60).map(|t| if (t / 6) % 2 == 0 { 4.0 } else { 2.0 }).collect();
    assert_eq!(directions(&picture), (9, 9));
    let mean = recency_mean(&picture);
    let found = over_the_session(&picture, &picture);
    near(found, mean - negative_bias(&picture, mean) - 0.18379 - 0.04164, 1e-4);
    let still: Vec<f64> = (0..60).map(|t| if t < 30 { 4.0 } else { 2.0 }).collect();
    assert_eq!(directions(&still).1, 1);
}

/// The same fifty seconds of 4 and ten of 2.
#[test]
fn the_end_weighs_more() {
    let late: Vec<f64> = (0..60).map(|t| if t < 50 { 4.0 } else { 2.0 }).collect();
    let early: Vec<f64> = late.iter().rev().copied().collect();
    // Of 60 values with the weights near 1 the tenth from below is one of the ten that are below.
    assert!(negative_bias(&late, 3.6) > 0.0);
    assert!(recency_mean(&late) < recency_mean(&early) - 0.3);
}

/// AAC-LC at 128 kbit/s: 100 - (100 exp(-6.4) + 14.6) = 85.23; 1.05 + 3.2815 + 85.23 x 25.23 x 14.77 x 7e-6 = 4.554.
#[test]
fn sound() {
    near(sound_quality(128.0), 4.554, 1e-3);
}
