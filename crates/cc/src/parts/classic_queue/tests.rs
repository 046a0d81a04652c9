use super::*;
use playpath_units::Duration;

/// Round trips of 20 ms and `extra`, in turn; the smallest was 20 ms. Rounds until the floor is whole, or 1000.
fn rounds(extra: [f64; 2]) -> usize {
    let view = View { min_rtt: Duration::from_millis(20), ..View::new(playpath_units::Time::ZERO, 1448) };
    let mut queue = ClassicQueue::default();
    (1..1000)
        .find(|_| {
            (0..100).for_each(|i| queue.take(0.020 + extra[i % 2], 16.0));
            queue.end_round(&view);
            queue.floor() == CLASSIC_ALPHA
        })
        .unwrap_or(1000)
}

/// Between 0 and 16 ms: deviation towards 8 ms, lg(8/0.75) = 3.4; rise towards 8 ms, lg 4 = 2; together at most 2.7 a round: four
/// rounds at least for 9. A queue of at most 0.4 ms varies by 0.2 ms, lg(0.2/0.75) < 0, and never counts; a rise alone of 15 ms,
/// without any deviation, is outweighed: lg 7.5 = 2.9 against lg(1/750) = −9.6.
#[test]
fn a_round_trip_that_varies_tells_a_classic_queue() {
    let classic = rounds([0.0, 0.016]);
    assert!((4..30).contains(&classic), "{classic}");
    assert_eq!(rounds([0.0, 0.0004]), 1000);
    assert_eq!(rounds([0.015, 0.015]), 1000);
}

/// The score comes back: from its most, 17, a steady round trip takes 4.8 a round by its deviation once that has died away.
#[test]
fn a_score_is_not_for_good() {
    let view = View { min_rtt: Duration::from_millis(20), ..View::new(playpath_units::Time::ZERO, 1448) };
    let mut queue = ClassicQueue { srtt: 0.020, deviation: MIN_DEVIATION, score: MAX };
    assert_eq!(queue.floor(), CLASSIC_ALPHA);
    queue.end_round(&view);
    queue.end_round(&view);
    assert_eq!(queue.floor(), 0.0);
}
