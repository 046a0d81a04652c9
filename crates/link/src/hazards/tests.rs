use super::*;

#[test]
fn bindings_count_up() {
    let (at, every) = (Time::from_secs(10), Some(Duration::from_secs(5)));
    let nat = Rebinding { at, every, spread: Duration::ZERO, is_outbound: true };
    let numbers = [9_999, 10_000, 14_999, 15_000, 26_000].map(|ms| nat.binding(Time::from_millis(ms)));
    assert_eq!(numbers, [0, 1, 1, 2, 4]);
    assert_eq!(Rebinding { every: None, ..nat }.binding(Time::from_secs(100)), 1);
}
