use super::super::testing::{choice, view};
use super::*;
use playpath_units::Rate;

fn reported_level(held_bytes: u64, is_urgent: bool) -> AppParameters {
    AppParameters {
        playout_buffer_bytes: 2_000_000,
        playout_buffer_free_bytes: Some(2_000_000 - held_bytes),
        video_rate: Rate::from_bits_per_sec(2_000_000),
        is_urgent,
        ..AppParameters::default()
    }
}

/// At 2 Mbit/s 250 000 bytes are a second of play: 0.8 s is below the low threshold, 2 s between, 4.4 s above the high one. Between,
/// a delivery that may take 2.5 s is a reason, one of 0.3 s is none.
#[test]
fn two_thresholds() {
    let mut xlink = Xlink::new(&Params::defaults(ENTRY.params));
    let (soon, late) = (Duration::from_millis(300), Duration::from_millis(2500));
    assert!(!xlink.wants_copies(late), "the player has said nothing");
    for (held, wanted) in [(200_000, [true, true]), (500_000, [false, true]), (1_100_000, [false, false])] {
        xlink.set_app_parameters(Time::ZERO, reported_level(held, false));
        assert_eq!([soon, late].map(|longest| xlink.wants_copies(longest)), wanted, "{held}");
    }
    xlink.set_app_parameters(Time::ZERO, reported_level(1_100_000, true));
    assert!(xlink.wants_copies(soon), "a player that starts or starves");
}

#[test]
fn new_data_takes_the_lowest_rtt() {
    let mut xlink = Xlink::new(&Params::defaults(ENTRY.params));
    assert_eq!(choice(&mut xlink, &[view(0, 50, 10.0), view(1, 20, 10.0)]), Some(1));
}
