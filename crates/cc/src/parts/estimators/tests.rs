use super::*;
use crate::testbed::{ack, view};
use playpath_units::random::RootSeed;

#[test]
fn windowed_max_by_hand() {
    let mut max = WindowedMax::new();
    assert_eq!(max.get(), None);
    assert_eq!(max.update(0, 5, 10), 5);
    assert_eq!(max.update(1, 3, 10), 5);
    assert_eq!(max.update(4, 4, 10), 5, "4 replaces 3 as second best");
    assert_eq!(max.update(10, 1, 10), 5, "still within the window: 10 - 0 = 10");
    assert_eq!(max.update(11, 1, 10), 4, "5 left the window, 4 of time 4 is next");
    assert_eq!(max.update(12, 9, 10), 9);
    assert_eq!(max.update(23, 2, 10), 2, "everything is older than the window");
}

#[test]
fn windowed_min_by_hand() {
    let mut min = WindowedMin::new();
    assert_eq!(min.update(0, 5.0, 10), 5.0);
    assert_eq!(min.update(6, 7.0, 10), 5.0);
    assert_eq!(min.update(11, 8.0, 10), 7.0);
    assert_eq!(min.reset(12, 9.0), 9.0);
}

/// Against the exact window: the filter never answers with something older than the window, never exceeds the exact
/// maximum, and misses it by no more than three samples can: it holds the best of the last quarter window.
#[test]
fn windowed_max_against_brute_force() {
    let mut noise = RootSeed(1).stream("filter");
    let mut max = WindowedMax::new();
    let mut history: Vec<(u64, f64)> = Vec::new();
    let window = 40;
    for time in 0..5_000 {
        let value = noise.uniform();
        history.push((time, value));
        let answer = max.update(time, value, window);
        let best_since = |start: u64| {
            let recent = history.iter().filter(|(t, _)| *t >= start).map(|(_, v)| *v);
            recent.fold(0.0, f64::max)
        };
        assert!(answer <= best_since(time.saturating_sub(window)), "{time}");
        assert!(answer >= best_since(time.saturating_sub(window / 4)), "{time}");
    }
}

fn sample(delivered: u32, millis: u64, is_app_limited: bool) -> RateSample {
    RateSample { is_app_limited, ..RateSample::new(delivered, Duration::from_millis(millis), 1460) }
}

#[test]
fn max_rate_keeps_ten_rounds_and_ignores_low_limited_samples() {
    let mut capacity = Capacity::MaxRate(MaxRate::new());
    let mut take = |delivered, is_app_limited| {
        let rate = Some(sample(delivered, 100, is_app_limited));
        capacity.on_ack(&view(0), &Ack { rate, round_start: true, ..ack() }, Duration::MAX);
        capacity.get()
    };
    // 100 packets in 100 ms: 1000/s.
    assert_eq!(take(100, false), Some(1000.0));
    assert_eq!(take(50, true), Some(1000.0), "a low limited sample is ignored");
    assert_eq!(take(120, true), Some(1200.0), "a high one shows that the estimate was too low");
    for _ in 0..10 {
        assert_eq!(take(50, false), Some(1200.0), "ten more rounds");
    }
    assert_eq!(take(50, false), Some(500.0), "the eleventh");
}

/// The link serves a packet per ms after 50 ms. Packets 1 and 2 leave at 0 and meet no queue: ACKs at 51 and 52 ms, sum of
/// delays 103 ms, dispersion 1 ms. A pair with cross traffic between has dispersion 3 ms but a sum of 51 + 54 = 105.
#[test]
fn capprobe_takes_the_pair_that_was_delayed_least() {
    let mut capacity = Capacity::CapProbe(CapProbe::new(), MaxRate::new());
    let mut take = |at_ms: u64, rtt_ms: u64, delivered: u32| {
        let ack = Ack { delivered, rtt: Some(Duration::from_millis(rtt_ms)), ..ack() };
        capacity.on_ack(&view(at_ms), &ack, Duration::from_secs(10));
        capacity.get()
    };
    assert_eq!(take(151, 51, 1), None);
    assert_eq!(take(154, 54, 1), Some(1.0 / 0.003), "the only pair so far");
    assert_eq!(take(251, 51, 1), Some(1.0 / 0.003), "sent 100 ms later: no pair");
    assert_eq!(take(252, 52, 1), Some(1000.0), "sum 103 ms beats 105 ms");
    assert_eq!(take(351, 51, 1), Some(1000.0));
    assert_eq!(take(353, 53, 1), Some(1000.0), "sum 104 ms does not");
    assert_eq!(take(360, 59, 2), Some(1000.0), "one ACK of two packets shows no dispersion");
    assert_eq!(take(11_051, 51, 1), Some(1000.0));
    assert_eq!(take(11_053, 53, 1), Some(500.0), "the best pair is older than 10 s");
}

#[test]
fn own_mark_covers_what_was_sent_under_it() {
    let mut mark = AppLimitedMark::default();
    let of = |prior_delivered| RateSample { prior_delivered, ..sample(1, 1, false) };
    assert!(!mark.covers(&of(100)));
    let at = |delivered, in_flight| View { delivered, in_flight, ..view(0) };
    mark.set(&at(100, 4), 2);
    mark.set(&at(102, 4), 2);
    // Marked from 100 to 102 + 4 = 106.
    assert_eq!([99, 100, 106, 107].map(|at| mark.covers(&of(at))), [false, true, true, false]);
    assert!(mark.stands(&at(106, 0)) && !mark.stands(&at(107, 0)));
    // A packet leaves at 106, under the mark; its ACK, a second one with it, carries the count past the end and marks anew.
    mark.set(&at(108, 1), 2);
    assert_eq!([99, 100, 106, 109, 110].map(|at| mark.covers(&of(at))), [false, true, true, true, false]);
    // 110 went by without a mark: what left then is not marked.
    mark.set(&at(112, 0), 1);
    assert_eq!([109, 111, 112].map(|at| mark.covers(&of(at))), [false, false, true]);
    assert!(mark.covers(&RateSample { is_app_limited: true, ..of(99) }));
}
