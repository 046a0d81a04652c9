//! What a player does about an origin that misses, fails, is silent or down, by hand: 2 Mbit/s, no latency, one rung of 1 Mbit/s, ten
//! segments of 2 s (250 000 B, 1 s each).

use playpath_units::random::RootSeed;
use playpath_units::{Duration, Rate, Time};
use playpath_video::dash::Retries;
use playpath_video::ideal::{self, IdealLink};
use playpath_video::summary::Summary;
use playpath_video::{
    DashConfig, DashPlayer, Delivery, EventKind, FinishReason, Ladder, ObjectKind, ObjectRef, Origin, PlaybackEvent,
    Player, Presentation, abr,
};

fn secs(s: f64) -> Duration {
    Duration::from_secs_f64(s)
}

fn healthy() -> Origin {
    Origin {
        misses: 0.0,
        miss_delay: secs(0.2),
        is_drawn: false,
        errors: 0.0,
        hangs: 0.0,
        down: None,
        hosts: 1,
        seed: RootSeed(7),
    }
}

fn play_with(config: DashConfig, kbps: u64) -> Vec<PlaybackEvent> {
    let ladder = Ladder::of_rates(ObjectKind::Video, &[Rate::from_bits_per_sec(1_000_000)], secs(2.0), secs(20.0));
    let presentation = Presentation { video: ladder.unwrap(), audio: None, is_live: false };
    let mut player = DashPlayer::new(config, presentation, abr::build("fixed").unwrap(), None).unwrap();
    let link = IdealLink::constant(Rate::from_bits_per_sec(kbps * 1000), Duration::ZERO).unwrap();
    ideal::play(&mut player, &link, Time::from_secs(1000));
    player.events().to_vec()
}

fn play(origin: Origin, retries: Retries) -> Vec<PlaybackEvent> {
    play_with(DashConfig { origin: Some(origin), retries, ..DashConfig::default() }, 2000)
}

fn end(events: &[PlaybackEvent]) -> (f64, FinishReason) {
    match events.last().map(|event| (event.at, event.kind)) {
        Some((at, EventKind::Finished { reason, .. })) => (at.as_secs_f64(), reason),
        other => panic!("not finished: {other:?}"),
    }
}

fn at(events: &[PlaybackEvent], wanted: impl Fn(&EventKind) -> bool) -> Vec<f64> {
    events.iter().filter(|event| wanted(&event.kind)).map(|event| event.at.as_secs_f64()).collect()
}

fn downloads(events: &[PlaybackEvent]) -> Vec<f64> {
    at(events, |kind| matches!(kind, EventKind::SegmentDownloaded { .. }))
}

/// Every segment takes 0.2 s more: the k-th is there at 1.2 k.
#[test]
fn a_miss_costs_its_time_to_the_first_byte() {
    let events = play(Origin { misses: 1.0, ..healthy() }, Retries::DASH_JS);
    let near = |(number, found): (usize, &f64)| (found - 1.2 * (number + 1) as f64).abs() < 1e-6;
    assert!(downloads(&events).iter().enumerate().all(near), "{:?}", downloads(&events));
    assert_eq!(Summary::of(&events).failed_requests, 0);
}

/// A tenth of the objects are missing, and the same ones whoever asks; drawn delays have their mean.
#[test]
fn misses_are_drawn_by_object() {
    let object = |segment| ObjectRef { kind: ObjectKind::Video, segment, representation: 1 };
    let origin = Origin { misses: 0.1, is_drawn: true, ..healthy() };
    let waits: Vec<Duration> = (0..4000)
        .filter_map(|segment| match origin.fate(object(segment), 0, 0, Time::ZERO).delivery {
            Delivery::After(wait) => Some(wait),
            _ => None,
        })
        .collect();
    // Standard errors: 19 of 400, 0.01 s of 0.2.
    assert!((330..470).contains(&waits.len()), "{}", waits.len());
    let mean = waits.iter().map(|wait| wait.as_secs_f64()).sum::<f64>() / waits.len() as f64;
    assert!((0.16..0.24).contains(&mean), "{mean}");
    assert_eq!(
        origin.fate(object(5), 1, 0, Time::ZERO).delivery,
        origin.fate(object(5), 0, 1, Time::from_secs(9)).delivery
    );
}

/// Down from 2.5 to 6 s. The third request goes out at 2 s and comes; the fourth goes out at 3 s and fails as soon as its 200 B are
/// here (0.8 ms). dash.js waits 1 s after each failure: 4.0008 and 5.0016 s fail, too, and 6.0024 s succeeds.
#[test]
fn errors_are_retried_as_the_client_does() {
    let origin = Origin { down: Some((Time::from_secs_f64(2.5), Time::from_secs(6))), ..healthy() };
    let events = play(origin.clone(), Retries::DASH_JS);
    let failed = at(&events, |kind| matches!(kind, EventKind::RequestFailed { is_timeout: false, .. }));
    assert_eq!(failed, [3.0008, 4.0016, 5.0024]);
    assert_eq!(downloads(&events)[3], 7.0024);
    assert_eq!(end(&events).1, FinishReason::Played);
    // ExoPlayer waits 0, 1 and 2 s: 3.0016 and 4.0024 s fail, and 6.0024 s succeeds.
    assert_eq!(downloads(&play(origin.clone(), Retries::EXOPLAYER))[3], 7.0024);
    // Shaka asks twice and gives up.
    assert_eq!(end(&play(origin, Retries::SHAKA)), (4.0016, FinishReason::GaveUp));
}

/// With a second host: dash.js goes there after its attempts, at once; Shaka with its second attempt.
#[test]
fn another_host_is_turned_to() {
    let origin = Origin { down: Some((Time::from_secs_f64(2.5), Time::from_secs(600))), hosts: 2, ..healthy() };
    let events = play(origin.clone(), Retries::DASH_JS);
    let hosts = at(&events, |kind| matches!(kind, EventKind::Host { .. }));
    assert_eq!(hosts, [0.0, 6.0032]);
    assert_eq!(downloads(&events)[3], 7.0032);
    let summary = Summary::of(&events);
    assert_eq!((summary.failed_requests, summary.failovers, end(&events).1), (4, 1, FinishReason::Played));
    let shaka = play(origin, Retries::SHAKA);
    assert_eq!(at(&shaka, |kind| matches!(kind, EventKind::Host { .. })), [0.0, 3.0008]);
    assert_eq!(downloads(&shaka)[3], 5.0008);
}

/// Nothing is ever answered: hls.js waits 10 s for the first byte, five times, and gives up.
#[test]
fn silence_ends_with_the_clients_patience() {
    let events = play(Origin { hangs: 1.0, ..healthy() }, Retries::HLS_JS);
    let failed = at(&events, |kind| matches!(kind, EventKind::RequestFailed { is_timeout: true, .. }));
    assert_eq!(failed, [10.0, 20.0, 30.0, 40.0, 50.0]);
    assert_eq!(end(&events), (50.0, FinishReason::GaveUp));
}

/// A device for 1 MB: four segments. At 8 Mbit/s they are there at 1 s, with 0.75 s of them played. The fifth fits when the first is
/// over, at 2.25 s. Without the limit all ten are there at 2.5 s.
#[test]
fn a_device_holds_no_more_than_it_can() {
    let config = DashConfig { device_bytes: Some(1_000_000), ..DashConfig::default() };
    let events = play_with(config, 8000);
    let held =
        downloads(&events).into_iter().zip(1..).map(|(at, count)| f64::from(count) * 250e3 - (at - 0.25) * 125e3);
    assert_eq!(held.fold(0.0, f64::max), 968_750.0);
    assert_eq!(downloads(&events)[3..5], [1.0, 2.5]);
    assert_eq!(end(&events), (20.25, FinishReason::Played));
    assert_eq!(downloads(&play_with(DashConfig::default(), 8000))[9], 2.5);
}
