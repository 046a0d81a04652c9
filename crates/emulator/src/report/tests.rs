use super::*;

#[test]
fn a_pause_is_told_with_three_digits() {
    let mut pauses = Pauses::default();
    for nanos in [8_056_016, 2_000_000] {
        pauses.note(Duration::from_nanos(nanos));
    }
    let shown = pauses.warning().unwrap();
    assert!(shown.starts_with("the machine froze 2 times, for up to 8.05 ms;"), "{shown}");
    assert_eq!(legible(Duration::ZERO), Duration::ZERO);
}
