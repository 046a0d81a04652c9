use super::super::testing::{context, ladder};
use super::super::{Choice, build};
use super::*;

const KBPS: [u64; 6] = [235, 750, 1750, 2350, 3600, 5000];

/// Half of the cushion: 90 + 63 = 153 s gives (235 + 5000) / 2 = 2617.5 kbit/s.
#[test]
fn worked_map() {
    assert!((map(&ladder(&KBPS), 153.0, 90.0, 126.0) - 2_617_500.0).abs() < 1e-6);
}

/// Capacity 240 s: reservoir 90 s, top from 216 s; f = 235 + 4765 (B − 90) / 126.
/// 153 s, 2617.5: from 1750 the next up, 2350, is reached: highest below f is 2350. From 3600 the next down, 2350, is not:
/// stay. From 5000 the next down, 3600, is: lowest above f is 3600. 90 s and 216 s: the ends, whatever was before.
#[test]
fn branches_of_algorithm_1() {
    let ladder = ladder(&KBPS);
    let choose = |level: f64, previous: Option<usize>| {
        let decision = build("bba").expect("registered").choose(&context(&ladder, level, 240.0, previous));
        (decision.choice, decision.reason)
    };
    assert_eq!(choose(90.0, Some(5)), (Choice::Fetch(0), "reservoir"));
    assert_eq!(choose(216.0, None), (Choice::Fetch(5), "beyond cushion"));
    assert_eq!(choose(153.0, Some(2)), (Choice::Fetch(3), "map reached the next rate up"));
    assert_eq!(choose(153.0, Some(4)), (Choice::Fetch(4), "map between the neighbours"));
    assert_eq!(choose(153.0, Some(5)), (Choice::Fetch(4), "map reached the next rate down"));
    // Two rungs at once: from the lowest, f = 2617.5 carries 2350.
    assert_eq!(choose(153.0, None).0, Choice::Fetch(3));
}

/// 6 rungs: index = 5 (B − 5) / 10, rounded down: 4.9 s 0, 7 s 1, 9.1 s 2, 14.9 s 4, 15 s 5.
#[test]
fn steps_of_pensieves_variant() {
    let ladder = ladder(&KBPS);
    let mut params = Params::defaults(PARAMS);
    params.set_word("variant", "pensieve").expect("a variant");
    for (level, index) in [(4.9, 0), (5.0, 0), (7.0, 1), (9.1, 2), (14.9, 4), (15.0, 5)] {
        let decision = Bba::new(&params).choose(&context(&ladder, level, 60.0, Some(0)));
        assert_eq!(decision.choice, Choice::Fetch(index), "at {level} s");
    }
}
