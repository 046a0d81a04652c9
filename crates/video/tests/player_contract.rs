//! What every player of the registry must do, on an idealised link; and closed forms for constant rates.

use playpath_units::random::RootSeed;
use playpath_units::{Duration, Params, Rate, Time};
use playpath_video::ideal::{IdealLink, IdealStep, play};
use playpath_video::media::{GopModel, Media};
use playpath_video::registry::{PlayerContext, PlayerEntry, entries, find};
use playpath_video::summary::Summary;
use playpath_video::{EventKind, FinishReason, PlaybackEvent, Player};
use std::sync::Arc;

const MEDIA_KBPS: u64 = 1000;
const LATENCY: Duration = Duration::from_millis(50);
const NEVER: Time = Time::from_secs(10_000);

fn context() -> PlayerContext {
    let model = GopModel::new(kbps(MEDIA_KBPS), Duration::from_secs(60), 25.0);
    let media = Arc::new(Media::new(&model.frame_table().unwrap()).unwrap());
    PlayerContext::new(media, 1000, RootSeed(1))
}

fn kbps(rate: u64) -> Rate {
    Rate::from_bits_per_sec(rate * 1000)
}

fn constant(rate: u64) -> IdealLink {
    IdealLink::constant(kbps(rate), LATENCY).unwrap()
}

/// 3 s at 3 Mbit/s, 4 s of nothing, 2 s at 0.9 Mbit/s, over and over: 1.2 Mbit/s on average.
fn bumpy() -> IdealLink {
    let step = |secs, rate| IdealStep { duration: Duration::from_secs(secs), rate: kbps(rate), latency: LATENCY };
    let mut link = IdealLink::new(vec![step(3, 3000), step(4, 0), step(2, 900)]).unwrap();
    link.repeats = true;
    link
}

fn build(entry: &PlayerEntry, settings: &[(&str, &str)]) -> Box<dyn Player> {
    let mut all = Params::defaults(entry.params);
    for (name, value) in settings {
        all.set_text(name, value).unwrap();
    }
    (entry.build)(&context(), &all).unwrap()
}

fn run(kind: &str, settings: &[(&str, &str)], link: &IdealLink) -> (Vec<PlaybackEvent>, Summary) {
    let mut player = build(find(kind).unwrap(), settings);
    play(&mut *player, link, NEVER);
    (player.events().to_vec(), Summary::of(player.events()))
}

#[test]
fn contract() {
    let links = [constant(400), constant(1100), constant(20_000), bumpy()];
    for entry in entries() {
        for (number, link) in links.iter().enumerate() {
            let mut player = build(entry, &[]);
            let (end, _) = play(&mut *player, link, NEVER);
            let what = format!("{} on link {number}", entry.name);
            assert!(player.is_finished(), "{what}");
            check_log(player.events(), end, FinishReason::Played, &what);
            let before = player.events().to_vec();
            player.handle_stop(end + Duration::from_secs(1));
            player.handle_timeout(end + Duration::from_secs(2));
            assert_eq!(player.events(), before, "{what}: a finished session is over");

            let mut again = build(entry, &[]);
            play(&mut *again, link, NEVER);
            assert_eq!(again.events(), before, "{what}: the same input gives the same events");

            let mut cut = build(entry, &[]);
            let cut_at = Time::from_millis(7_300);
            play(&mut *cut, link, cut_at);
            check_log(cut.events(), cut_at, FinishReason::Stopped, &format!("{what}, stopped"));
        }
    }
}

fn check_log(events: &[PlaybackEvent], end: Time, expected: FinishReason, what: &str) {
    assert!(events.windows(2).all(|w| w[0].at <= w[1].at), "{what}: events in order");
    assert!(matches!(events[0].kind, EventKind::SessionStarted { .. }), "{what}: begins with the start");
    let finished = events.iter().filter(|e| matches!(e.kind, EventKind::Finished { .. })).count();
    assert_eq!(finished, 1, "{what}: one end");
    let last = events.last().unwrap();
    let EventKind::Finished { reason, totals } = last.kind else { panic!("{what}: ends with {:?}", last.kind) };
    assert_eq!((reason, last.at), (expected, end), "{what}");
    // No more than there was time for, and the packet or picture under way.
    assert!(totals.startup + totals.media_played <= last.at - events[0].at + Duration::from_millis(40), "{what}");
    if reason == FinishReason::Played {
        let sum = totals.startup + totals.media_played + totals.media_discarded + totals.clock_stopped;
        assert_eq!(sum, last.at - events[0].at, "{what}: times add up");
    }
    let summary = Summary::of(events);
    let figures = [Some(summary.stalled_s()), summary.mean_rate_kbps(), summary.latencies.mean_s()];
    for value in figures.into_iter().flatten() {
        assert!(value.is_finite() && value >= 0.0 && value.is_sign_positive(), "{what}: {value}");
    }
}

/// 20 times the rate: nothing is ever late. Start when 1 s (of which the first, the key picture, is a good part) is there.
#[test]
fn a_fast_link_is_smooth() {
    for (kind, settings) in [("progressive", "catch-up"), ("progressive", "rebuffer")] {
        let (_, m) = run(kind, &[("policy", settings)], &constant(20_000));
        assert_eq!((m.stalls.len(), m.underflows, m.discarded), (0, 0, 0));
        assert_eq!(m.played_s(), 60.0);
        assert!(m.startup_s() < 0.3);
    }
    let (_, agent) = run("agent", &[], &constant(20_000));
    assert_eq!(agent.late, 0);
}

/// Agent, media rate m, link rate c = 0.8 m: packet at media time x comes at x m/c, is due at 0.05 D m/c + x: late if
/// x > 0.05 D (m/c) / (m/c - 1) = 0.25 D. So 75 % are late. It starts after 0.05 x 60 s / 0.8 = 3.75 s and the latency.
#[test]
fn agent_on_a_slow_link() {
    let (_, m) = run("agent", &[], &constant(800));
    assert!((m.late as f64 / m.packets as f64 - 0.75).abs() < 0.002, "{m:?}");
    assert!((m.filled_after.unwrap().as_secs_f64() - 3.8).abs() < 0.01, "{m:?}");
    assert!(m.underflows >= 1);
}

/// Agent, constrained, 10 Mbit/s: data comes as written, 1 x m every 0.1 s, the first chunk at once. 5 % of 60 s = 3 s = 30
/// chunks: the 30th at 29 x 0.1 s = 2.9 s, and the latency of 0.05 s; its last byte 12 500 B / 10 Mbit/s = 0.01 s later.
#[test]
fn constrained_agent_fills_at_the_media_rate() {
    let (_, m) = run("agent", &[("xfactor", "1")], &constant(10_000));
    assert!((m.filled_after.unwrap().as_secs_f64() - 2.96).abs() < 0.002, "{m:?}");
    assert_eq!(m.late, 0);
}

/// Rebuffering on half the rate: nothing is lost, and the session lasts as long as the transfer (60 s x 2 + latency), what is in
/// the cache at its end (1 s of media and a picture at most), and the pauses of the link: each resume finds the cache full, so that
/// nothing is read until the first pictures have been shown, 0.04 s each.
#[test]
fn rebuffering_takes_as_long_as_the_transfer() {
    let (events, m) = run("progressive", &[("policy", "rebuffer")], &constant(500));
    let end = events.last().unwrap().at.as_secs_f64();
    let pauses = 0.04 * m.stalls.len() as f64;
    assert!((120.05..=121.1 + pauses).contains(&end), "{end}");
    assert_eq!(m.discarded, 0);
    assert!((m.startup_s() + m.stalled_s() + 60.0 - end).abs() < 1e-6);
    assert_eq!(m.stalls.len() as u64, m.underflows);
}

/// Catching up on half the rate: with a clock that never waits (`shift_after` longer than the session) half of the media at
/// most can be in time; discards make up for it, and the session ends with the transfer (the link pauses while the cache is
/// full at the start only).
#[test]
fn catching_up_discards() {
    let (events, m) = run("progressive", &[("shift_after", "10000 s")], &constant(500));
    let end = events.last().unwrap().at.as_secs_f64();
    assert!((120.0..=121.1).contains(&end), "{end}");
    assert!(m.played_s() < 30.0 && m.discarded > 700, "{m:?}");
    // With the default the clock goes back instead: more is shown, and it takes longer.
    let (_, shifting) = run("progressive", &[], &constant(500));
    assert!(shifting.played_s() > m.played_s(), "{shifting:?}");
}

/// A larger cache bridges outages of 4 s: 1 s does not, 10 s does after its start.
#[test]
fn a_large_cache_bridges_outages() {
    let stalls = |buffer| run("progressive", &[("policy", "rebuffer"), ("buffer", buffer)], &bumpy()).1.stalls.len();
    assert!(stalls("1 s") >= 5);
    assert_eq!(stalls("10 s"), 0);
}

const CLIENTS: [&str; 8] = ["dash-js", "vlc", "vlc-2.1", "dash.js", "hls.js", "shaka", "exoplayer", "sabre"];

/// A level that whole segments cannot fill is reached when the client can fetch no more: at the start, and after the outages.
#[test]
fn every_level_lets_playback_start_and_go_on() {
    for client in CLIENTS {
        for segment in ["2 s", "4 s", "7 s"] {
            for level in ["start_level", "stall_resume_level"] {
                let settings = [
                    ("client", client),
                    ("segment", segment),
                    ("duration", "60 s"),
                    ("full_level", "10 s"),
                    (level, "10 s"),
                ];
                let (events, summary) = run("dash", &settings, &bumpy());
                let what = format!("{client}, {segment}, {level}");
                assert!(summary.played_s() >= 60.0, "{what}: {:?}", events.last());
            }
        }
    }
}

/// Also one that whole segments cannot fill to the brim.
#[test]
fn every_buffer_is_full_at_some_time() {
    for client in CLIENTS {
        let settings = [("client", client), ("segment", "4 s"), ("duration", "60 s"), ("full_level", "18 s")];
        let (_, summary) = run("dash", &settings, &constant(20_000));
        assert!(summary.filled_after.is_some(), "{client}");
    }
}

/// 100 Mbit/s: every client measures it, however segments come and whatever it may give up.
#[test]
fn a_fast_link_is_measured() {
    let live = |way| [("low_latency", way), ("latency_target", "3 s")];
    let ways = [vec![("abandonment", "false")], live("chunks").to_vec(), live("parts").to_vec()];
    for client in ["dash.js", "hls.js", "shaka", "exoplayer"] {
        for way in &ways {
            let ladder =
                [("client", client), ("ladder", "500 kbit/s, 1 Mbit/s, 2 Mbit/s, 4 Mbit/s"), ("segment", "4 s")];
            let settings = [&ladder[..], way].concat();
            let (_, summary) = run("dash", &settings, &constant(100_000));
            assert_eq!(summary.segments.last().unwrap().rate_kbps, 4000.0, "{settings:?}");
        }
    }
}

/// Half of the media's rate: with five times the media to wait for there are fewer than half of the stalls.
#[test]
fn a_player_waits_for_more_than_its_cache() {
    let stalls = |resume| {
        let (_, summary) = run("progressive", &[("policy", "rebuffer"), ("resume", resume)], &constant(500));
        summary.stalls.len()
    };
    assert!(stalls("5 s") * 2 < stalls("1 s"), "{} and {}", stalls("5 s"), stalls("1 s"));
}

/// Skips land between pictures: the totals are those of the log.
#[test]
fn skipped_pictures_are_counted_once() {
    let live = [("latency_target", "6 s"), ("skip_behind", "4 s"), ("segment", "1920 ms"), ("ladder", "900 kbit/s")];
    let (events, summary) = run("dash", &live, &constant(700));
    assert!(summary.discarded > 0);
    assert_eq!(summary.discarded, summary.totals.pictures_discarded, "{:?}", events.last());
}
