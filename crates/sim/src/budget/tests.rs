use super::*;
use playpath_units::Duration;

const BUDGET: Budget = Budget { limit: Time::from_secs(460), played: Time::from_secs(100), max_events: 1_000_000_000 };

fn verdict(now: Duration, events: u64) -> Result<(), String> {
    BUDGET.check(BUDGET.progress(Time::ZERO + now, events)).map_err(|error| error.to_string())
}

/// 10⁷ events are a hundredth of the budget: the whole may seem to take ten times the budget, 10¹⁰, but not more. They do
/// so at a thousandth of the 100 s that are expected.
#[test]
fn the_guess_counts_for_more_the_more_is_spent() {
    let second = Duration::from_secs(1);
    for (now, events, goes_on) in [
        (second / 10, 10_000_000, true),
        (second / 11, 10_000_000, false),
        (second * 10, 100_000_000, true),
        (second * 9, 100_000_000, false),
        (second * 99, 300_000_000, true),
        (second * 99, 1_000_000_000, false),
        (Duration::ZERO, 900_000, true),
        (Duration::ZERO, 1_000_000, false),
    ] {
        assert_eq!(verdict(now, events).is_ok(), goes_on, "{now} {events}");
    }
}

#[test]
fn the_refusal_says_what_it_would_take() {
    assert_eq!(
        verdict(Duration::from_millis(1), 10_000_000).unwrap_err(),
        "`run.max_events` = 1000000000: the run would take about 1e12 events (1e7 at 1 ms of 100 s); ask for less (rates, \
             flows, duration) or allow more"
    );
    assert!(verdict(Duration::ZERO, 1_000_000).unwrap_err().contains("would take an endless number of events"));
}

#[test]
fn a_video_that_stalls_may_last_until_the_limit() {
    assert_eq!(BUDGET.progress(Time::from_secs(99), 1).expected_end, Time::from_secs(100));
    assert_eq!(BUDGET.progress(Time::from_secs(100), 1).expected_end, Time::from_secs(460));
}
