//! Viewers who seek and leave, by hand: 2 Mbit/s without latency, one rung of 1 Mbit/s, twenty segments of 2 s (250 000 B, 1 s each).
//! Playback starts at 1 s; until 9 s a segment a second comes.

use playpath_units::random::RootSeed;
use playpath_units::{Duration, Rate, Time};
use playpath_video::dash::BackBuffer;
use playpath_video::ideal::{self, IdealLink};
use playpath_video::summary::Summary;
use playpath_video::viewer::{RandomSeeks, Seek, ViewerConfig};
use playpath_video::{
    DashConfig, DashPlayer, EventKind, FinishReason, Ladder, ObjectKind, PlaybackEvent, Player, Presentation, Totals,
    Viewer, abr,
};

fn secs(s: f64) -> Duration {
    Duration::from_secs_f64(s)
}

fn player(back_buffer: BackBuffer) -> Box<dyn Player> {
    player_with(back_buffer, 0)
}

fn player_with(back_buffer: BackBuffer, manifest_bytes: u64) -> Box<dyn Player> {
    let ladder = Ladder::of_rates(ObjectKind::Video, &[Rate::from_bits_per_sec(1_000_000)], secs(2.0), secs(40.0));
    let mut config =
        DashConfig { full_level: secs(10.0), resume_level: secs(10.0), back_buffer, ..DashConfig::default() };
    config.http.manifest_bytes = manifest_bytes;
    let presentation = Presentation { video: ladder.unwrap(), audio: None, is_live: false };
    Box::new(DashPlayer::new(config, presentation, abr::build("fixed").unwrap(), None).unwrap())
}

fn watch(config: &ViewerConfig, back_buffer: BackBuffer, mbps: f64) -> Vec<PlaybackEvent> {
    let mut viewer = Viewer::new(player(back_buffer), config, RootSeed(1).stream("viewer.video"));
    let link = IdealLink::constant(Rate::from_bits_per_sec_f64(mbps * 1e6), Duration::ZERO).unwrap();
    ideal::play(&mut viewer, &link, Time::from_secs(1000));
    viewer.events().to_vec()
}

fn seeking(seeks: &str) -> ViewerConfig {
    ViewerConfig { seeks: Seek::parse_list(seeks).unwrap(), ..ViewerConfig::default() }
}

fn end(events: &[PlaybackEvent]) -> (f64, FinishReason, Totals) {
    match events.last().map(|event| (event.at, event.kind)) {
        Some((at, EventKind::Finished { reason, totals })) => (at.as_secs_f64(), reason, totals),
        other => panic!("not finished: {other:?}"),
    }
}

/// Startup, played, stalled, sought.
fn parts(totals: &Totals) -> [f64; 4] {
    [totals.startup, totals.media_played, totals.clock_stopped, totals.seeking].map(|part| part.as_secs_f64())
}

const KEEPS_20: BackBuffer = BackBuffer::Length(Duration::from_secs(20));

/// At 4.5 s the picture is at 3.5 s, 8 s are there and half of the fifth segment. Segment 15 is asked for at once and there at 5.5 s;
/// 10 s are left. Not seen: 4.5 s of 125 000 B and the 125 000 B under way.
#[test]
fn a_seek_out_of_the_buffer_drops_it_and_waits_for_the_first_segment() {
    let events = watch(&seeking("at 4.5 s to 30 s"), KEEPS_20, 2.0);
    let (at, reason, totals) = end(&events);
    assert_eq!((at, reason, parts(&totals)), (15.5, FinishReason::Played, [1.0, 13.5, 0.0, 1.0]));
    let summary = Summary::of(&events);
    assert_eq!((summary.seeks, summary.seeking, summary.stalls.len()), (1, secs(1.0), 0));
    assert_eq!(summary.unseen_bytes, 687_500);
    let abandoned = events.iter().filter(|event| matches!(event.kind, EventKind::RequestAbandoned { .. }));
    assert_eq!(abandoned.count(), 1);
}

/// Two seconds are played again and nothing is fetched again; nobody waits.
#[test]
fn a_seek_within_the_buffer_goes_on_at_once() {
    let events = watch(&seeking("at 4.5 s by -2 s, from 5 s by +3 s"), KEEPS_20, 2.0);
    let (at, reason, totals) = end(&events);
    assert_eq!((at, reason, parts(&totals)), (40.0, FinishReason::Played, [1.0, 39.0, 0.0, 0.0]));
    let summary = Summary::of(&events);
    assert_eq!((summary.seeks, summary.fetched[0].len()), (2, 20));
    // The 3 s that were jumped over are not seen.
    assert_eq!(summary.unseen_bytes, 375_000);
}

/// The 3 s from 5 to 8 s are jumped over and gone back to: seen in the end.
#[test]
fn what_was_jumped_over_and_seen_later_is_not_unseen() {
    let seeks = "from 5 s by +3 s, from 9 s to 5 s";
    let summary = Summary::of(&watch(&seeking(seeks), BackBuffer::Unlimited, 2.0));
    assert_eq!((summary.seeks, summary.fetched[0].len(), summary.unseen_bytes), (2, 20, 0));
}

/// hls.js: away and back again and again between 1 to 20 s and 30 s, each segment fetched once: no more is unseen than was fetched and not
/// played. Playback starts at 1 s; from 4.5 s to 7 s there are waits for segment 15.
#[test]
fn seeks_to_and_fro_count_each_byte_once() {
    let seeks = "at 5 s to 30 s, at 8 s to 2 s, at 9 s to 30 s, at 10 s to 2 s, at 11 s to 30 s";
    let events = watch(&ViewerConfig { leaves_after: Some(secs(12.0)), ..seeking(seeks) }, BackBuffer::Unlimited, 2.0);
    let summary = Summary::of(&events);
    let fetched: u64 = summary.fetched[0].iter().map(|segment| segment.body_bytes).sum();
    // Seen: 0 to 4 s and 30 to 32 s; under way when it was given up: at most a segment each time.
    let unseen = summary.unseen_bytes as f64 - (fetched as f64 - 6.0 * 125_000.0);
    assert!((0.0..=500_000.0).contains(&unseen), "{} of {fetched}", summary.unseen_bytes);
}

/// Without anything kept the segment that holds 1.5 s is fetched once more: 1 s. Of it 0.5 s are played; the next one is there 1 s
/// after it, so that a stall of 0.5 s follows, which is one. 38.5 s are left from 1.5 s on.
#[test]
fn a_seek_back_costs_what_the_player_does_not_keep() {
    let (at, _, totals) = end(&watch(&seeking("at 4.5 s by -2 s"), BackBuffer::Length(Duration::ZERO), 2.0));
    assert_eq!((at, parts(&totals)), (44.5, [1.0, 42.0, 0.5, 1.0]));
    // Of 5 s kept, 3.5 s behind is there.
    let (at, ..) = end(&watch(&seeking("at 4.5 s to 0.1 s"), BackBuffer::Length(secs(5.0)), 2.0));
    assert_eq!(at, 44.4);
}

/// hls.js: away at 4.5 s and back at 7 s, when segments 15 and 16 are there, too: none of them is fetched twice.
#[test]
fn what_is_kept_on_both_sides_of_a_gap_is_not_fetched_again() {
    let events = watch(&seeking("at 4.5 s to 30 s, at 7 s to 1 s"), BackBuffer::Unlimited, 2.0);
    let fetched: Vec<u32> = events
        .iter()
        .filter_map(|event| match event.kind {
            EventKind::SegmentDownloaded { object, .. } => Some(object.segment),
            _ => None,
        })
        .collect();
    let expected: Vec<u32> = (0..4).chain(15..17).chain(4..15).chain(17..20).collect();
    assert_eq!(fetched, expected);
    let (at, _, totals) = end(&events);
    assert_eq!((at, parts(&totals)), (7.0 + 39.0, [1.0, 3.5 + 1.5 + 39.0, 0.0, 1.0]));
}

/// A seek while the first segment is under way: the start is where the viewer wants it, and start-up goes on. 0.5 s are lost.
#[test]
fn a_seek_before_the_first_picture_belongs_to_the_start() {
    let (at, _, totals) = end(&watch(&seeking("at 0.5 s to 20 s"), KEEPS_20, 2.0));
    assert_eq!((at, parts(&totals)), (21.5, [1.5, 20.0, 0.0, 0.0]));
}

/// The same with a manifest of 1 s under way: it is not given up, and the first segment is the one at the target.
#[test]
fn a_seek_does_not_lose_the_manifest() {
    let mut viewer =
        Viewer::new(player_with(KEEPS_20, 250_000), &seeking("at 0.5 s to 20 s"), RootSeed(1).stream("viewer.video"));
    let link = IdealLink::constant(Rate::from_bits_per_sec(2_000_000), Duration::ZERO).unwrap();
    ideal::play(&mut viewer, &link, Time::from_secs(1000));
    let (at, _, totals) = end(viewer.events());
    assert_eq!((at, parts(&totals)), (22.0, [2.0, 20.0, 0.0, 0.0]));
}

/// Ten seconds from pressing play: 9 s seen. Then 10 s are buffered (1 250 000 B), and nothing is under way.
#[test]
fn a_viewer_leaves_when_their_time_is_over() {
    let events = watch(&ViewerConfig { leaves_after: Some(secs(10.0)), ..ViewerConfig::default() }, KEEPS_20, 2.0);
    let (at, reason, totals) = end(&events);
    assert_eq!((at, reason, parts(&totals)), (10.0, FinishReason::Left, [1.0, 9.0, 0.0, 0.0]));
    let summary = Summary::of(&events);
    assert_eq!((summary.watched, summary.has_viewer), (secs(10.0), true));
    let level = (summary.fetched[0].len() as f64 * 2.0 - 9.0) * 125_000.0;
    assert!((0.0..250_000.0).contains(&(summary.unseen_bytes as f64 - level)), "{} of {level}", summary.unseen_bytes);
    assert_eq!(events.iter().rev().nth(1).map(|event| event.at), Some(Time::from_secs(10)));
}

/// 0.5 Mbit/s: segments at 4, 8, 12, … s; stalls from 6 to 8 and 10 to 12 s.
#[test]
fn a_viewer_who_waits_too_long_leaves() {
    let left = |config: ViewerConfig| {
        let (at, reason, totals) = end(&watch(&config, KEEPS_20, 0.5));
        assert_eq!(reason, FinishReason::GaveUpWaiting);
        (at, parts(&totals))
    };
    let nobody = ViewerConfig::default;
    assert_eq!(left(ViewerConfig { patience: Some(secs(3.0)), ..nobody() }), (3.0, [3.0, 0.0, 0.0, 0.0]));
    assert_eq!(left(ViewerConfig { stall_limit: Some(secs(3.0)), ..nobody() }), (11.0, [4.0, 4.0, 3.0, 0.0]));
    // Start-up takes 4 s. Segment 10 is asked for at 5 s and there at 9 s: 4 s are not too long, and the stall from 11 s on is.
    let sought = ViewerConfig { patience: Some(secs(4.1)), stall_limit: Some(secs(1.0)), ..seeking("at 5 s to 20 s") };
    assert_eq!(left(sought), (12.0, [4.0, 3.0, 1.0, 4.0]));
    // A second seek from 8 s on does not begin the wait anew: it has lasted 4.1 s at 9.1 s.
    let again = ViewerConfig { patience: Some(secs(4.1)), ..seeking("at 5 s to 20 s, at 8 s to 30 s") };
    assert_eq!(left(again), (9.1, [4.0, 1.0, 0.0, 4.1]));
}

/// Everything from pressing play to the end is one of: start-up, picture, stall, seek; whatever a viewer does.
#[test]
fn time_adds_up_for_restless_viewers() {
    for seed in 0..60 {
        let config = ViewerConfig {
            random_seeks: Some(RandomSeeks { every: secs(6.0), length: secs(8.0), back: 0.4 }),
            leaves_after: Some(secs(120.0)),
            is_drawn: true,
            ..ViewerConfig::default()
        };
        let back_buffer = [KEEPS_20, BackBuffer::Unlimited, BackBuffer::Length(Duration::ZERO)][seed as usize % 3];
        let mut viewer = Viewer::new(player(back_buffer), &config, RootSeed(seed).stream("viewer.video"));
        let mbps = [0.8, 1.5, 4.0][seed as usize / 20];
        let link = IdealLink::constant(Rate::from_bits_per_sec_f64(mbps * 1e6), secs(0.05)).unwrap();
        ideal::play(&mut viewer, &link, Time::from_secs(1000));
        let (at, reason, totals) = end(viewer.events());
        assert_ne!(reason, FinishReason::Stopped, "seed {seed}");
        let sum = totals.startup + totals.media_played + totals.clock_stopped + totals.seeking;
        assert_eq!(Time::from_secs_f64(at), Time::ZERO + sum, "seed {seed}");
        let waited: Duration = viewer.events().iter().fold(Duration::ZERO, |sum, event| match event.kind {
            EventKind::SeekEnd { waited } => sum + waited,
            _ => sum,
        });
        assert_eq!(waited, totals.seeking, "seed {seed}");
    }
}

/// Each viewer's draws are their own: named after the session.
#[test]
fn two_viewers_do_not_leave_together() {
    let config = ViewerConfig { leaves_after: Some(secs(20.0)), is_drawn: true, ..ViewerConfig::default() };
    let left = |name: &str| {
        let mut viewer = Viewer::new(player(KEEPS_20), &config, RootSeed(1).stream(&format!("viewer.{name}")));
        let link = IdealLink::constant(Rate::from_bits_per_sec(2_000_000), Duration::ZERO).unwrap();
        ideal::play(&mut viewer, &link, Time::from_secs(1000))
    };
    assert_eq!(left("video"), left("video"));
    assert_ne!(left("video"), left("crowd.1"));
}

/// Segments and how much of each was shown.
fn shown(summary: &Summary) -> Vec<(u32, f64)> {
    summary.segments.iter().map(|segment| (segment.index, segment.shown.as_secs_f64())).collect()
}

/// 3.5 s from the start, then 10 s from segment 15 on: the fifth segment, which was dropped, is not among them.
#[test]
fn what_a_seek_dropped_was_not_shown() {
    let summary = Summary::of(&watch(&seeking("at 4.5 s to 30 s"), KEEPS_20, 2.0));
    let expected: Vec<_> = [(0, 2.0), (1, 1.5)].into_iter().chain((15..20).map(|index| (index, 2.0))).collect();
    assert_eq!(shown(&summary), expected);
}

/// Back from 3.5 s to 1.5 s: the end of the first segment and the second one are shown twice. 42 s in all.
#[test]
fn what_a_seek_went_back_to_was_shown_twice() {
    let summary = Summary::of(&watch(&seeking("at 4.5 s by -2 s"), BackBuffer::Length(Duration::ZERO), 2.0));
    assert_eq!(shown(&summary)[..4], [(0, 2.0), (1, 1.5), (0, 0.5), (1, 2.0)]);
    assert_eq!(summary.segments.iter().map(|segment| segment.shown.as_secs_f64()).sum::<f64>(), 42.0);
    // The stall at 2 s of the film came after 4 s on the screen: 3.5 s and 0.5 s.
    assert_eq!(summary.p1203_stalls(42.0)[1], (4.0, 0.5));
}

/// Of the fifth segment one second.
#[test]
fn what_is_in_the_buffer_at_the_end_was_not_shown() {
    let summary =
        Summary::of(&watch(&ViewerConfig { leaves_after: Some(secs(10.0)), ..ViewerConfig::default() }, KEEPS_20, 2.0));
    assert_eq!(shown(&summary), [(0, 2.0), (1, 2.0), (2, 2.0), (3, 2.0), (4, 1.0)]);
}

/// A place that was jumped over is not reached by it.
#[test]
fn a_seek_from_a_place_that_is_jumped_over_is_not_made() {
    let summary = Summary::of(&watch(&seeking("at 4.5 s to 30 s, from 10 s by -2 s"), KEEPS_20, 2.0));
    assert_eq!(summary.seeks, 1);
}
