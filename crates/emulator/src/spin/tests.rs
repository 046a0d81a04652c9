use super::*;

/// Lateness of 0 to 99 µs in turn: the 95th percentile is 95 µs. The walk stays within a dozen steps of it.
#[test]
fn the_margin_settles_at_the_95th_percentile() {
    let mut spin = Spin::new();
    for turn in 0..100_000u64 {
        let lateness = turn * 37 % 100;
        spin.note_wakeup(Time::ZERO, Time::from_micros(lateness));
    }
    let micros = spin.margin().as_nanos() / 1000;
    assert!((85..=110).contains(&micros), "{micros}");
}

/// A loop that wants to watch all the time may do so for half of it: after the saved-up 2 ms, 10 ms of turns allow 5 ms.
#[test]
fn watching_is_limited_to_half_of_the_time() {
    let mut spin = Spin::new();
    let mut watched = 0;
    for turn in 0..1_000u64 {
        if !spin.margin_at(Time::from_micros(10 * turn)).is_zero() {
            spin.note_watch(Duration::from_micros(10));
            watched += 10;
        }
    }
    assert!((6_900..=7_100).contains(&watched), "{watched}");
}
