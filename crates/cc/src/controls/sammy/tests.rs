use super::*;
use crate::testbed::{Link, Network, ack, assert_near, view};
use playpath_units::Duration;

/// A ladder up to 5 Mbit/s, of which 1 Mbit/s is played with 10 s of buffer; `level` in seconds.
fn reported_level(level: f64) -> AppParameters {
    AppParameters {
        playout_buffer_bytes: 1_250_000,
        playout_buffer_free_bytes: Some(1_250_000 - (level * 125_000.0) as u64),
        video_rate: Rate::from_bits_per_sec(1_000_000),
        object_bytes: Some(250_000),
        object_duration: Some(Duration::from_secs(2)),
        top_rate: Some(Rate::from_bits_per_sec(5_000_000)),
        ..AppParameters::default()
    }
}

fn pace(reported_level: AppParameters) -> Option<f64> {
    let mut cc = Sammy::new(&Params::defaults(ENTRY.params), 10.0);
    cc.on_app_parameters(&view(0), &reported_level);
    cc.pacing_rate().map(|rate| rate.as_bits_per_sec() as f64)
}

/// 3 times 5 Mbit/s with an empty buffer, 1.5 times with a full one; at 4 of 10 s 3 - 0.4 * 1.5 = 2.4 times.
#[test]
fn the_pace_by_hand() {
    for (level, expected) in [(0.0, 15e6), (4.0, 12e6), (10.0, 7.5e6)] {
        assert_near(pace(reported_level(level)).expect("paced"), expected, 1.0);
    }
}

/// 1 s after a report of 4 s, with 1.5 s of media delivered meanwhile, 4.5 s are there: 3 - 0.45 * 1.5 = 2.325 times.
#[test]
fn the_level_is_reckoned_between_reports() {
    let mut cc = Sammy::new(&Params::defaults(ENTRY.params), 10.0);
    cc.on_app_parameters(&view(0), &reported_level(4.0));
    cc.on_ack(&View { mss: 1500, ..view(1000) }, &Ack { delivered: 125, ..ack() });
    assert_near(cc.pacing_rate().expect("paced").as_bits_per_sec() as f64, 11.625e6, 1.0);
}

/// A link of 1000 packets/s: a flow that tells nothing is CUBIC, packet for packet; one whose full buffer is told delivers 1.5 times
/// 5 Mbit/s, 642 packets/s of 1460 bytes, which the link counts.
#[test]
fn windows_are_cubics_and_the_link_sees_the_pace() {
    let sammy = || Sammy::new(&Params::defaults(ENTRY.params), 10.0);
    let mut own = Network::new(Link::PLAIN, sammy());
    let mut other = Network::new(Link::PLAIN, Cubic::new(&Params::defaults(cubic::ENTRY.params), 10.0));
    for _ in 0..200 {
        own.run_for(Duration::from_millis(100));
        other.run_for(Duration::from_millis(100));
        let (one, two) = (&own.flows[0], &other.flows[0]);
        assert_eq!((one.cc.cwnd(), one.delivered), (two.cc.cwnd(), two.delivered));
    }
    assert!(own.flows[0].lost > 0, "a sawtooth");
    let mut paced = Network::new(Link::PLAIN, sammy());
    let full = AppParameters { object_duration: Some(Duration::from_secs(1000)), ..reported_level(10.0) };
    paced.flows[0].cc.on_app_parameters(&view(100), &full);
    let stats = paced.measure(Duration::from_secs(5), Duration::from_secs(20));
    assert_near(stats.rate(paced.now), 7.5e6 / 8.0 / 1460.0, 7.0);
    assert_eq!(paced.flows[0].lost, 0);
}

#[test]
fn who_does_not_tell_is_not_paced() {
    assert_eq!(pace(AppParameters { top_rate: None, ..reported_level(4.0) }), None);
    assert_eq!(pace(AppParameters { object_bytes: None, ..reported_level(4.0) }), None);
}
