use super::*;

/// The median of the last three, those before the first counting as nothing: 0, 30, 30, then of (50, 30, 30), (50, 90, 30),
/// which would make 140 of at most 100 ms in all.
#[test]
fn a_cache_grows_by_the_median_up_to_a_limit() {
    let ms = Duration::from_millis;
    let mut references = References::new(ms(250));
    let growths = [30, 30, 30, 50, 90].map(|late| references.note_late(ms(late), ms(100)));
    assert_eq!(growths, [ms(0), ms(30), ms(30), ms(30), ms(0)]);
}
