//! HTTP over the simulator's TCP: what connections and priorities do to audio beside video.

mod common;

use common::play;
use playpath_record::Record;
use playpath_scenario::Scenario;
use playpath_sim::Tracing;
use playpath_video::{EventKind, ObjectKind};

/// Video of 3 Mbit/s (1.5 MB a segment: 3 s at 4 Mbit/s), audio of 128 kbit/s (64 kB a segment: 0.13 s).
fn record(player: &str, sender: &str, path: &str) -> Record {
    let text = format!(
        "[video]\nsource = \"bigbuckbunny\"\nduration = \"60 s\"\n[player]\nkind = \"dash\"\nclient = \"shaka\"\nabr = \"fixed\"\n\
         ladder = \"3 Mbit/s\"\naudio = \"128 kbit/s\"\nsegment = \"4 s\"\nsize_cv = \"0 %\"\n{player}\n\
         [[path]]\nrate = \"4 Mbit/s\"\nrtt = \"40 ms\"\n{path}\n[[sender]]\nname = \"cubic\"\ncc = \"cubic\"\n{sender}\n"
    );
    play(&text, "cubic", 1, Tracing::Off)
}

/// Download times of a kind of media's segments in seconds.
fn times(record: &Record, kind: ObjectKind) -> Vec<f64> {
    let time = |event: &EventKind| match event {
        EventKind::SegmentDownloaded { object, download_time, .. } if object.kind == kind => {
            Some(download_time.as_secs_f64())
        }
        _ => None,
    };
    record.events.iter().filter_map(|event| time(&event.kind)).collect()
}

fn longest(times: &[f64]) -> f64 {
    times.iter().copied().fold(0.0, f64::max)
}

fn connections(record: &Record) -> usize {
    record.events.iter().filter(|event| matches!(event.kind, EventKind::Connected { .. })).count()
}

const CHROMIUM: &str = "http = \"h2\"";
const AUDIO_FIRST: &str = "http = \"h2\"\naudio_priority = \"u=0\"";
const UNSAID: &str = "http = \"h2\"\nvideo_priority = \"u=3\"\naudio_priority = \"u=3\"";
const LOWAT: &str = "notsent_lowat = \"16 kB\"";

/// An audio segment takes 0.04 s + 0.13 s by itself, and a video segment 3 s. Side by side with video it has half the rate for as long:
/// 0.3 s and what the queue adds. After video, in the order of the requests, it waits for nearly all of it.
#[test]
fn priorities_keep_audio_from_starving_on_one_connection() {
    let audio = |player, sender| longest(&times(&record(player, sender, ""), ObjectKind::Audio));
    let (shared, first) = (audio(CHROMIUM, LOWAT), audio(AUDIO_FIRST, LOWAT));
    assert!((0.17..0.4).contains(&first) && shared > first && shared < 0.6, "{first} {shared}");
    assert!(audio(UNSAID, LOWAT) > 3.0);
}

/// Priorities do not reorder what is in the socket: 4 MB of send buffer take a whole video segment.
#[test]
fn a_deep_socket_undoes_priorities() {
    let record = record(AUDIO_FIRST, "", "");
    assert!(longest(&times(&record, ObjectKind::Audio)) > 3.0);
}

/// Fifteen segments of each kind, each once and whole, over as many connections as the protocol has.
#[test]
fn everything_comes_once_whatever_the_protocol() {
    for (player, expected) in [("", 2), ("http = \"http/1.1\"", 2), (CHROMIUM, 1), (AUDIO_FIRST, 1), (UNSAID, 1)] {
        for path in ["", "loss = \"1 %\""] {
            let record = record(player, LOWAT, path);
            assert_eq!(connections(&record), expected, "{player}");
            for (kind, bytes) in [(ObjectKind::Audio, 64_000), (ObjectKind::Video, 1_500_000)] {
                let segment = |event: &EventKind| match event {
                    EventKind::SegmentDownloaded { object, body_bytes, .. } if object.kind == kind => {
                        Some((object.segment, *body_bytes))
                    }
                    _ => None,
                };
                let mut found: Vec<_> = record.events.iter().filter_map(|event| segment(&event.kind)).collect();
                found.sort_unstable();
                assert_eq!(found, (0..15).map(|number| (number, bytes)).collect::<Vec<_>>(), "{player}");
            }
        }
    }
}

/// A seek out of the buffer gives up what is under way: under HTTP/1.1 that costs a connection, under HTTP/2 it does not.
#[test]
fn what_is_given_up_costs_a_connection_or_a_stream() {
    let seek = "\n[viewer]\nseeks = \"at 6 s to 40 s\"\n";
    let with = |player: &str| connections(&record(&format!("{player}{seek}"), LOWAT, ""));
    assert!(with("http = \"http/1.1\"") > 2);
    assert_eq!(with(CHROMIUM), 1);
}

#[test]
fn what_a_client_or_transport_does_not_have_is_refused_in_one_line() {
    let refused = |player: &str, run: &str| {
        let text = format!(
            "[video]\nsource = \"bigbuckbunny\"\n[player]\nkind = \"dash\"\n{player}\n[[path]]\nrate = \"4 Mbit/s\"\n\
             rtt = \"40 ms\"\n[[sender]]\ncc = \"cubic\"\n[run]\n{run}\n"
        );
        let read = Scenario::parse(&text, &serde_json::Value::Null, &common::no_files);
        read.map(drop).map_err(|error| error.to_string()).unwrap_err()
    };
    for (player, run, what) in [
        (CHROMIUM, "transport = \"ideal\"", "player.http"),
        ("http = \"h2\"\nclient = \"vlc\"", "", "connections"),
        ("http = \"http/1.1\"\nconnections = \"per-segment\"", "", "connections"),
        ("http = \"h2\"\naudio_priority = \"first\"", "", "RFC 9218"),
        ("http = \"h3\"", "", "apart, http/1.1, h2"),
    ] {
        let error = refused(player, run);
        assert!(error.contains(what) && error.lines().count() == 1, "{error}");
    }
}
