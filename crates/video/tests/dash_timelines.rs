//! Sessions of the DASH client with scripted arrivals; every time is computed by hand in the comment.
//!
//! Unless said otherwise: one representation of 1 Mbit/s, segments of 2 s (250 000 B), five of them.

use playpath_units::{Duration, Rate, Time};
use playpath_video::abr::{self, Abandonment, Abr, Choice, Context, Decision, Download, Progress};
use playpath_video::cmcd::{Cmcd, Event, ObjectType, PlayerState, StreamType, StreamingFormat};
use playpath_video::dash::{
    BackBuffer, CatchUp, Claim, CmcdMode, Connections, DashConfig, Live, LiveDelivery, LowLatency, Range,
};
use playpath_video::{
    Action, ConnectionId, DashPlayer, Delivery, EventKind, Ladder, ObjectKind, PlaybackEvent, Player, Presentation,
    Representation, RequestId, Totals,
};
use std::sync::{Arc, Mutex};

const SEGMENT: u64 = 250_000;

fn secs(s: f64) -> Duration {
    Duration::from_secs_f64(s)
}

fn ladder(kind: ObjectKind, kbps: &[u64], segments: u64) -> Ladder {
    let rates: Vec<_> = kbps.iter().map(|r| Rate::from_bits_per_sec(r * 1000)).collect();
    Ladder::of_rates(kind, &rates, secs(2.0), secs(2.0) * segments).unwrap()
}

fn video(kbps: &[u64], segments: u64) -> Presentation {
    Presentation { video: ladder(ObjectKind::Video, kbps, segments), audio: None, is_live: false }
}

struct Script {
    player: DashPlayer,
}

impl Script {
    fn of(config: DashConfig, presentation: Presentation, rule: Box<dyn Abr>) -> Script {
        let mut player = DashPlayer::new(config, presentation, rule, None).unwrap();
        player.handle_start(Time::ZERO);
        Script { player }
    }

    fn new(config: DashConfig) -> Script {
        Script::of(config, video(&[1000], 5), abr::build("fixed").unwrap())
    }

    /// Timers up to `at` (not those at `at` itself: arrivals come first).
    fn until(&mut self, at: f64) -> Time {
        let at = Time::from_secs_f64(at);
        while self.player.poll_timeout() < at {
            let timeout = self.player.poll_timeout();
            self.player.handle_timeout(timeout);
        }
        at
    }

    fn connect(&mut self, at: f64, connection: u32) -> &mut Script {
        let at = self.until(at);
        self.player.handle_connected(at, ConnectionId(connection));
        self
    }

    fn body(&mut self, at: f64, request: u32, bytes: u64) -> &mut Script {
        let at = self.until(at);
        self.player.handle_body(at, RequestId(request), bytes);
        self
    }

    fn run_to(&mut self, at: f64) -> &mut Script {
        let at = self.until(at);
        if self.player.poll_timeout() == at {
            self.player.handle_timeout(at);
        }
        self
    }

    /// Numbers of the requests for media, and what reports tell.
    fn sort_requests(&mut self, asked: &mut Vec<u32>, outcome: &mut Vec<Cmcd>) {
        while let Some(action) = self.player.poll_action() {
            let Action::Request(request) = action else { continue };
            if request.object.kind != ObjectKind::Report {
                asked.push(request.id.0);
                continue;
            }
            let cmcd = *request.cmcd.unwrap();
            // Request line and headers, and the body of the POST.
            assert_eq!(request.request_header_bytes as usize, 400 + cmcd.report().len());
            assert_eq!((request.body_bytes, cmcd.version), (0, Some(2)));
            outcome.push(cmcd);
        }
    }

    fn deliveries(&mut self) -> Vec<Delivery> {
        let of = |action| if let Action::Request(request) = action { Some(request.delivery) } else { None };
        std::iter::from_fn(|| self.player.poll_action()).filter_map(of).collect()
    }

    fn actions(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.player.poll_action())
            .map(|action| match action {
                Action::Open(c) => format!("open {}", c.0),
                Action::Close(c) => format!("close {}", c.0),
                Action::Abandon(r) => format!("abandon {}", r.0),
                Action::Request(r) => {
                    let object = format!("{:?} {}/{}", r.object.kind, r.object.segment, r.object.representation);
                    format!("request {} on {}: {object} {} B", r.id.0, r.connection.0, r.body_bytes)
                }
            })
            .collect()
    }

    /// The log without requests, connections and decisions.
    fn log(&self) -> Vec<String> {
        self.player
            .events()
            .iter()
            .filter(|event| {
                !matches!(
                    event.kind,
                    EventKind::SessionStarted { .. }
                        | EventKind::Connected { .. }
                        | EventKind::RequestSent { .. }
                        | EventKind::FirstByte { .. }
                        | EventKind::SegmentDecision { .. }
                        | EventKind::SegmentDownloaded { .. }
                        | EventKind::Finished { .. }
                )
            })
            .map(|event| format!("{:.3} {:?}", event.at.as_secs_f64(), event.kind))
            .map(|line| line.replace("Duration(", "").replace("000000)", " ms"))
            .collect()
    }

    fn requested_at(&self) -> Vec<f64> {
        let sent = |event: &&playpath_video::PlaybackEvent| matches!(event.kind, EventKind::RequestSent { .. });
        self.player.events().iter().filter(sent).map(|event| event.at.as_secs_f64()).collect()
    }

    fn finished(&self) -> (f64, Totals) {
        match self.player.events().last().map(|event| (event.at, event.kind)) {
            Some((at, EventKind::Finished { totals, .. })) => (at.as_secs_f64(), totals),
            other => panic!("not finished: {other:?}"),
        }
    }
}

fn totals(startup: f64, played: f64, discarded: f64, stopped: f64) -> Totals {
    Totals {
        startup: secs(startup),
        media_played: secs(played),
        media_discarded: secs(discarded),
        clock_stopped: secs(stopped),
        pictures_shown: (played * 25.0) as u64,
        pictures_discarded: (discarded * 25.0) as u64,
        gained_ns: 0,
        seeking: Duration::ZERO,
    }
}

/// Segments end at 1, 2, 3, 4, 5 s; the first starts playback at 1 s; 10 s of media end at 11 s.
#[test]
fn no_stall() {
    let mut script = Script::new(DashConfig::default());
    script.connect(0.1, 0);
    for n in 0..5 {
        script.body(f64::from(n) + 1.0, n, SEGMENT);
    }
    script.run_to(11.0);
    assert_eq!(script.log(), ["1.000 PlaybackStarted"]);
    // Each request follows the response before it at once.
    assert_eq!(script.requested_at(), [0.1, 1.0, 2.0, 3.0, 4.0]);
    assert_eq!(script.finished(), (11.0, totals(1.0, 10.0, 0.0, 0.0)));
}

/// The first segment plays from 1 to 3 s. The second comes at 4 s: a stall of 1 s. It plays to 6 s; the third comes at 5 s and
/// lasts to 8 s; the fourth at 8.5 s: 0.5 s more. It and the fifth (9 s) end at 12.5 s: 1 + 10 + 1.5.
#[test]
fn two_stalls() {
    let mut script = Script::new(DashConfig::default());
    script.connect(0.0, 0);
    for (n, at) in [1.0, 4.0, 5.0, 8.5, 9.0].into_iter().enumerate() {
        script.body(at, n as u32, SEGMENT);
    }
    script.run_to(12.5);
    assert_eq!(
        script.log(),
        [
            "1.000 PlaybackStarted",
            "3.000 UnderflowStart { position: 2000 ms }",
            "3.000 StallStart { since: Time(3000 ms, position: 2000 ms }",
            "4.000 ClockShifted { by: 1000 ms }",
            "4.000 UnderflowEnd",
            "4.000 StallEnd { frozen: 1000 ms }",
            "8.000 UnderflowStart { position: 6000 ms }",
            "8.000 StallStart { since: Time(8000 ms, position: 6000 ms }",
            "8.500 ClockShifted { by: 500 ms }",
            "8.500 UnderflowEnd",
            "8.500 StallEnd { frozen: 500 ms }",
        ]
    );
    assert_eq!(script.finished(), (12.5, totals(1.0, 10.0, 0.0, 1.5)));
}

/// As above, but the decoder holds back 0.1 s at the end of the buffer: the picture stands still from 2.9 s, in the first segment,
/// and at 4 + 4 s; 1.1 and 0.5 s of stalls. Of the last segment nothing is held back.
#[test]
fn what_the_decoder_holds_back_is_shown_when_more_comes() {
    let mut script = Script::new(DashConfig { decoder_delay: secs(0.1), ..DashConfig::default() });
    script.connect(0.0, 0);
    for (n, at) in [1.0, 4.0, 5.0, 8.5, 9.0].into_iter().enumerate() {
        script.body(at, n as u32, SEGMENT);
    }
    assert_eq!(script.player.buffer_level(Time::from_secs_f64(9.0)), secs(10.0 - 6.4));
    script.run_to(12.6);
    let log = script.log();
    assert_eq!(log[1], "2.900 UnderflowStart { position: 1900 ms }");
    assert_eq!(log[6], "8.000 UnderflowStart { position: 5900 ms }");
    assert_eq!(script.finished(), (12.6, totals(1.0, 10.0, 0.0, 1.6)));
}

/// The second segment comes at 3 s, the very moment at which the first has been played: in time.
#[test]
fn data_at_the_deadline_is_in_time() {
    let mut script = Script::new(DashConfig::default());
    script.connect(0.0, 0).body(1.0, 0, SEGMENT).body(3.0, 1, SEGMENT).run_to(3.5);
    assert_eq!(script.log(), ["1.000 PlaybackStarted"]);
    // One nanosecond of level is left of the 4 s at 5 s − 1 ns.
    assert_eq!(script.player.buffer_level(Time::from_nanos(4_999_999_999)), Duration::from_nanos(1));
}

/// Start at 4 s of media: with the second segment, at 2 s. After the stall at 6 s, 4 s again: segments at 7 and 8 s, so on at
/// 8 s. With the last segment everything is there, whatever the threshold. End: 2 + 10 + 2 = 14 s.
#[test]
fn start_and_resume_levels() {
    let config = DashConfig { start_level: secs(4.0), stall_resume_level: secs(4.0), ..DashConfig::default() };
    let mut script = Script::new(config);
    script.connect(0.0, 0);
    for (n, at) in [1.0, 2.0, 7.0, 8.0, 9.0].into_iter().enumerate() {
        script.body(at, n as u32, SEGMENT);
    }
    script.run_to(14.0);
    let log = script.log();
    assert_eq!(log[0], "2.000 PlaybackStarted");
    assert_eq!(log[1], "6.000 UnderflowStart { position: 4000 ms }");
    assert_eq!(log[5], "8.000 StallEnd { frozen: 2000 ms }");
    assert_eq!(script.finished(), (14.0, totals(2.0, 10.0, 0.0, 2.0)));
}

/// Full 6 s, resume 4 s, half a second per segment. Levels after the segments: 2 (0.5 s), 3.5 (1 s), 5 (1.5 s), 6.5 (2 s):
/// full. 4 s are left when 4 s have been played, at 4.5 s: one request; with it 4 + 1.5 = 5.5 s at 5 s: below 6, but the
/// medium is over.
#[test]
fn on_off_cycle() {
    let mut script =
        Script::new(DashConfig { full_level: secs(6.0), resume_level: secs(4.0), ..DashConfig::default() });
    script.connect(0.0, 0);
    for (n, at) in [0.5, 1.0, 1.5, 2.0].into_iter().enumerate() {
        script.body(at, n as u32, SEGMENT);
        assert!(script.player.buffer_level(Time::from_secs_f64(at)) <= secs(8.0));
    }
    script.run_to(4.5).body(5.0, 4, SEGMENT).run_to(10.5);
    assert_eq!(script.requested_at(), [0.0, 0.5, 1.0, 1.5, 4.5]);
    assert_eq!(script.log(), ["0.500 PlaybackStarted", "2.000 BufferFilled"]);
    assert_eq!(script.finished().0, 10.5);
}

/// With equal levels the next request goes out as soon as less than 6 s are left: 6.5 s at 2 s, so at 2.5 s.
#[test]
fn a_blocking_client_pauses_for_room_only() {
    let mut script =
        Script::new(DashConfig { full_level: secs(6.0), resume_level: secs(6.0), ..DashConfig::default() });
    script.connect(0.0, 0);
    for (n, at) in [0.5, 1.0, 1.5, 2.0].into_iter().enumerate() {
        script.body(at, n as u32, SEGMENT);
    }
    script.run_to(3.0);
    let requests = script.requested_at();
    assert_eq!(requests.len(), 5);
    assert!((requests[4] - 2.5).abs() < 2e-9);
}

/// Three segments at once: exactly 6 s are full, however often the client is woken.
#[test]
fn exactly_full_is_full() {
    let mut script =
        Script::new(DashConfig { full_level: secs(6.0), resume_level: secs(6.0), ..DashConfig::default() });
    script.connect(0.0, 0).body(0.0, 0, SEGMENT).body(0.0, 1, SEGMENT).body(0.0, 2, SEGMENT);
    script.connect(0.0, 9).run_to(0.5);
    assert_eq!(script.requested_at(), [0.0, 0.0, 0.0, 1e-9]);
}

#[test]
fn a_connection_per_segment() {
    let mut script = Script::new(DashConfig { connections: Connections::per_segment(), ..DashConfig::default() });
    assert_eq!(script.actions(), ["open 0"]);
    script.connect(0.1, 0);
    assert_eq!(script.actions(), ["request 0 on 0: Video 0/0 250000 B"]);
    script.body(1.0, 0, SEGMENT);
    assert_eq!(script.actions(), ["close 0", "open 1"]);
    // The request waits for the handshake.
    script.connect(1.2, 1);
    assert_eq!(script.actions(), ["request 1 on 1: Video 1/0 250000 B"]);
    assert_eq!(script.requested_at(), [0.1, 1.2]);
}

#[test]
fn connections_in_series_of_two_requests() {
    let mut script = Script::new(DashConfig { connections: Connections::in_series(2), ..DashConfig::default() });
    script.connect(0.0, 0).body(0.5, 0, SEGMENT);
    assert_eq!(script.actions().last().unwrap(), "request 1 on 0: Video 1/0 250000 B");
    script.body(1.0, 1, SEGMENT);
    assert_eq!(script.actions(), ["close 0", "open 1"]);
}

/// Full 4 s, resume 1 s: segments at 0.5, 1, 1.5 s give 2, 3.5, 5 s: full. 1 s is left at 5.5 s: idle for 4 s. A server that
/// closes after 5 s keeps the connection; for one that closes after 3 s a new one is opened.
#[test]
fn idle_connections_are_closed_by_the_server() {
    for (limit, expected) in [(5.0, "request 3 on 0: Video 3/0 250000 B"), (3.0, "open 1")] {
        let connections = Connections { idle_timeout: Some(secs(limit)), ..Connections::persistent() };
        let config =
            DashConfig { full_level: secs(4.0), resume_level: secs(1.0), connections, ..DashConfig::default() };
        let mut script = Script::new(config);
        script.connect(0.0, 0).body(0.5, 0, SEGMENT).body(1.0, 1, SEGMENT).body(1.5, 2, SEGMENT);
        script.actions();
        script.run_to(5.5);
        assert_eq!(script.actions().last().unwrap(), expected);
    }
}

/// Two connections: the second segment comes first and is of no use before the other: start at 3 s with 4 s.
#[test]
fn parallel_connections_and_a_gap() {
    let mut script = Script::new(DashConfig { connections: Connections::in_parallel(2), ..DashConfig::default() });
    assert_eq!(script.actions(), ["open 0", "open 1"]);
    script.connect(0.1, 1).connect(0.2, 0).body(1.0, 1, SEGMENT);
    assert_eq!(script.player.buffer_level(Time::from_secs(1)), Duration::ZERO);
    assert_eq!(script.player.buffer_bytes(Time::from_secs(1)), SEGMENT);
    script.body(3.0, 0, SEGMENT);
    assert_eq!(script.player.buffer_level(Time::from_secs(3)), secs(4.0));
    assert_eq!(script.log(), ["3.000 PlaybackStarted"]);
    // Each connection was used again when it became free.
    let actions = script.actions();
    assert_eq!(actions[2..], ["request 2 on 1: Video 2/0 250000 B", "request 3 on 0: Video 3/0 250000 B"]);
}

/// 80 % of 250 000 B are 200 000 B: with that byte, at 0.8 s, the next request follows on the same connection.
/// It has the connection to itself from 1 s on.
#[test]
fn pipelining_at_80_percent() {
    let mut script = Script::new(DashConfig { pipeline_at: Some(0.8), ..DashConfig::default() });
    script.connect(0.0, 0).body(0.5, 0, 199_999);
    assert_eq!(script.requested_at(), [0.0]);
    script.body(0.8, 0, 1);
    assert_eq!(script.requested_at(), [0.0, 0.8]);
    script.body(1.0, 0, 50_000).body(1.1, 1, 1000).body(1.9, 1, 200_000);
    // Two in the pipeline at most: the third was asked for when 80 % of the second were in.
    assert_eq!(script.requested_at(), [0.0, 0.8, 1.9]);
}

#[test]
fn manifest_then_initialisation_then_media() {
    let rungs: Vec<_> = [500, 1000]
        .map(|k| Representation { init_bytes: 800, ..Representation::of_rate(Rate::from_bits_per_sec(k * 1000)) })
        .to_vec();
    let ladder = Ladder::nominal(ObjectKind::Video, rungs, &[secs(2.0); 4]).unwrap();
    let mut config = DashConfig::default();
    config.http.manifest_bytes = 3000;
    let presentation = Presentation { video: ladder, audio: None, is_live: false };
    let mut script = Script::of(config, presentation, Box::new(Scripted::choices(&[0, 1, 1, 0])));
    script
        .connect(0.0, 0)
        .body(0.1, 0, 3000)
        .body(0.2, 1, 800)
        .body(1.0, 2, 125_000)
        .body(1.1, 3, 800)
        .body(1.5, 4, SEGMENT);
    script.body(2.0, 5, SEGMENT);
    assert_eq!(
        script.actions(),
        [
            "open 0",
            "request 0 on 0: Manifest 0/0 3000 B",
            "request 1 on 0: Init 0/0 800 B",
            "request 2 on 0: Video 0/0 125000 B",
            "request 3 on 0: Init 0/1 800 B",
            "request 4 on 0: Video 1/1 250000 B",
            "request 5 on 0: Video 2/1 250000 B",
            // Both initialisation segments are there.
            "request 6 on 0: Video 3/0 125000 B",
        ]
    );
}

/// Video at 1 s, audio at 1.5 s: start at 1.5 s. Video is complete; audio's second segment is due at 3.5 s and comes at 4 s.
#[test]
fn audio_and_video_play_together() {
    let presentation = Presentation { audio: Some(ladder(ObjectKind::Audio, &[64, 128], 2)), ..video(&[1000], 2) };
    let mut script = Script::of(DashConfig::default(), presentation, abr::build("fixed").unwrap());
    assert_eq!(script.actions(), ["open 0", "open 1"]);
    script.connect(0.0, 0).connect(0.0, 1).body(1.0, 0, SEGMENT).body(1.5, 1, 16_000).body(2.0, 2, SEGMENT);
    script.body(4.0, 3, 16_000).run_to(6.0);
    assert_eq!(script.log()[..2], ["1.500 PlaybackStarted", "3.500 UnderflowStart { position: 2000 ms }"]);
    assert_eq!(script.finished(), (6.0, totals(1.5, 4.0, 0.0, 0.5)));
}

/// Segments in representations 0, 1, 1, 0, shown from 1, 3, 5 and 7 s: switches at 3 and at 7 s.
#[test]
fn switches_are_logged_when_shown() {
    let mut script =
        Script::of(DashConfig::default(), video(&[500, 1000], 4), Box::new(Scripted::choices(&[0, 1, 1, 0])));
    script.connect(0.0, 0).body(1.0, 0, 125_000).body(1.5, 1, SEGMENT).body(2.0, 2, SEGMENT).body(2.5, 3, 125_000);
    script.run_to(9.0);
    assert_eq!(
        script.log(),
        [
            "1.000 PlaybackStarted",
            "3.000 Switch { segment: 1, from: 0, to: 1 }",
            "7.000 Switch { segment: 3, from: 1, to: 0 }",
        ]
    );
}

/// The rule lets the client wait from 1 s to 1.75 s.
#[test]
fn a_rule_may_wait() {
    let mut rule = Scripted::choices(&[0, 0, 0, 0, 0]);
    rule.wait_before = Some((1, Time::from_secs_f64(1.75)));
    let mut script = Script::of(DashConfig::default(), video(&[1000], 5), Box::new(rule));
    script.connect(0.0, 0).body(1.0, 0, SEGMENT).run_to(3.0);
    assert_eq!(script.requested_at(), [0.0, 1.75]);
}

/// The rule gives up whatever is reported at 20 000 B or less. First byte at 0.2 s, so the first report is due from 0.25 s on.
#[test]
fn an_abandoned_download_is_asked_for_again() {
    let mut rule = Scripted::choices(&[1, 1]);
    rule.abandons_below = 20_001;
    let mut script = Script::of(DashConfig::default(), video(&[500, 1000], 2), Box::new(rule));
    script.connect(0.0, 0).body(0.2, 0, 10_000).body(0.24, 0, 5_000).body(0.25, 0, 5_000);
    assert_eq!(script.actions(), ["open 0", "request 0 on 0: Video 0/1 250000 B", "abandon 0", "close 0", "open 1",]);
    script.connect(0.3, 1).body(1.0, 1, 125_000);
    assert_eq!(script.actions(), ["request 1 on 1: Video 0/0 125000 B", "request 2 on 1: Video 1/1 250000 B"]);
    assert_eq!(script.log(), ["0.250 RequestAbandoned { request: RequestId(0) }", "1.000 PlaybackStarted"]);
}

/// Live, 4 s of media exist at the join: segments 0 and 1. Segment n is complete at 2 (n + 1) − 4 s: number 2 at 2 s, 3 at 4 s.
/// Playback starts at 0.5 s, 4.5 s behind the edge, and stays there.
#[test]
fn live_segments_are_asked_for_when_they_exist() {
    let live = Live::at(secs(4.9));
    let mut script = Script::new(DashConfig { live: Some(live), ..DashConfig::default() });
    script.connect(0.0, 0).body(0.5, 0, SEGMENT).body(1.0, 1, SEGMENT).run_to(2.0);
    script.body(2.5, 2, SEGMENT).run_to(4.0).body(4.5, 3, SEGMENT);
    assert_eq!(script.requested_at(), [0.0, 0.5, 2.0, 4.0]);
    let latencies: Vec<_> = script.log().into_iter().filter(|line| line.contains("LiveLatency")).collect();
    assert_eq!(latencies, ["0.500 LiveLatency { latency: 4500 ms }"], "it does not change");
}

/// As above; segment 2 is due at 4.5 s (2 segments from 0.5 s) and comes at 8 s: 3.5 s lost, more than 3 s. The clock jumps
/// ahead by whole segments, at most 3.5 s: from 4 to 6 s. Segment 2 is thrown away, number 3 asked for, comes at 8.5 s.
/// The stall lasts from 4.5 to 8.5 s: 4 s, of which 2 s are made up: end at 0.5 + 10 − 2 + 4 = 12.5 s.
#[test]
fn live_skip_makes_up_for_stalls() {
    let live = Live { skip_behind: Some(secs(3.0)), ..Live::at(secs(4.0)) };
    let mut script = Script::new(DashConfig { live: Some(live), ..DashConfig::default() });
    script.connect(0.0, 0).body(0.5, 0, SEGMENT).body(1.0, 1, SEGMENT).body(8.0, 2, SEGMENT);
    assert_eq!(script.player.buffer_level(Time::from_secs(8)), Duration::ZERO);
    script.body(8.5, 3, SEGMENT).body(9.0, 4, SEGMENT).run_to(12.5);
    assert!(script.log().contains(&"8.000 PicturesDiscarded { first: 100, count: 50, cause: Skipped }".to_string()));
    assert_eq!(script.finished(), (12.5, totals(0.5, 8.0, 2.0, 2.0)));
}

fn low_latency(delivery: LiveDelivery) -> Option<LowLatency> {
    Some(LowLatency { delivery, piece: secs(0.5), playlist_bytes: 1000 })
}

/// LL-DASH, 3 s behind: at the join 3 s exist: segment 0, and two of the four chunks of segment 1, so that it is asked for as soon as
/// segment 0 is there. Segment 2 begins at 4 s of media, which is 1 s; its first chunk exists at 1.5 s, and it is asked for then. Each
/// chunk can be played when it is there. Segment 1 stops after its second chunk: 3 s of media, played up to 3.2 s.
#[test]
fn chunks_are_asked_for_and_played_before_their_segment_is_complete() {
    let live = Live { low_latency: low_latency(LiveDelivery::Chunks), ..Live::at(secs(3.0)) };
    let mut script = Script::new(DashConfig { live: Some(live), ..DashConfig::default() });
    script.connect(0.0, 0).body(0.2, 0, SEGMENT);
    let encoded = Delivery::AsEncoded { pieces: 4, encoded: 2, next_at: Time::from_secs_f64(0.5), every: secs(0.5) };
    assert_eq!(script.deliveries().last(), Some(&encoded));
    script.body(0.3, 1, SEGMENT / 2);
    assert_eq!(script.player.buffer_level(Time::from_secs_f64(0.3)), secs(2.9));
    script.body(0.6, 1, SEGMENT / 4).body(1.1, 1, SEGMENT / 4);
    script.run_to(1.5).body(1.6, 2, SEGMENT / 4).run_to(4.8);
    assert_eq!(script.requested_at(), [0.0, 0.2, 1.5]);
    // 4.5 s of media last until 4.7 s; the stall is noticed a nanosecond later.
    assert_eq!(script.log()[..2], ["0.200 PlaybackStarted", "0.200 LiveLatency { latency: 3200 ms }"]);
    assert!(script.log()[2].starts_with("4.700 UnderflowStart"), "{:?}", script.log());
    script.body(4.9, 2, SEGMENT / 4);
    assert!(script.log().contains(&"4.900 LiveLatency { latency: 3400 ms }".to_string()), "{:?}", script.log());
}

/// LL-HLS, 1 s behind: at the join two parts of segment 0 exist. The first playlist lists both; each further part costs a playlist
/// that waits for it and a request of its own. The third part exists at 0.5 s.
#[test]
fn parts_are_listed_by_playlists_that_wait_for_them() {
    let live = Live { low_latency: low_latency(LiveDelivery::Parts), ..Live::at(secs(1.0)) };
    let mut script = Script::new(DashConfig { live: Some(live), ..DashConfig::default() });
    script.connect(0.0, 0).body(0.1, 0, 1000).body(0.2, 1, SEGMENT / 4).body(0.3, 2, SEGMENT / 4);
    let waiting = Delivery::AsEncoded { pieces: 1, encoded: 0, next_at: Time::from_secs_f64(0.5), every: secs(0.5) };
    assert_eq!(script.deliveries().last(), Some(&waiting));
    script.body(0.6, 3, 1000);
    assert_eq!(script.requested_at(), [0.0, 0.1, 0.2, 0.3, 0.6]);
    assert_eq!(script.log()[..2], ["0.200 PlaybackStarted", "0.200 LiveLatency { latency: 1200 ms }"]);
    script.body(0.7, 4, SEGMENT / 4);
    assert_eq!(script.player.buffer_level(Time::from_secs_f64(0.7)), secs(1.0));
}

/// Half a second into segment 0, 3 s behind: 3.5 s exist. Start at 0.5 s, 3.5 s behind; Shaka's law plays at 1.1 from 3.5 s on: not yet
/// (more than 3.5 s is wanted). A stall of 0.4 s makes it 3.9 s, and 1.1 it is until 3.5 s: 4 s later.
#[test]
fn a_viewer_joins_in_the_middle_and_catches_up() {
    let law = CatchUp::Shaka(Range { min_ppm: 950_000, max_ppm: 1_100_000 });
    let live = Live { joined_at: Some(secs(0.5)), catch_up: law, ..Live::at(secs(3.0)) };
    let mut script = Script::new(DashConfig { live: Some(live), ..DashConfig::default() });
    // Segment 0 is there at 0.5 s: 1.5 s of it are played, until 2 s. Segment 1 exists at 0.5 s and comes at 2.4 s.
    script.connect(0.0, 0).body(0.5, 0, SEGMENT).body(2.4, 1, SEGMENT).body(2.6, 2, SEGMENT).body(4.6, 3, SEGMENT);
    script.body(6.7, 4, SEGMENT).run_to(20.0);
    let speeds: Vec<_> = script.log().into_iter().filter(|line| line.contains("SpeedChanged")).collect();
    assert_eq!(speeds, ["2.650 SpeedChanged { ppm: 1100000 }", "6.650 SpeedChanged { ppm: 1000000 }"]);
    // 9.5 s of media, 0.4 s of them gained: start 0.5, played 9.5, stalled 0.4, less 0.4.
    let Some(PlaybackEvent { at, kind: EventKind::Finished { totals, .. } }) = script.player.events().last() else {
        panic!("it ended")
    };
    assert_eq!((totals.gained_ns, totals.media_played, *at), (400_000_000, secs(9.5), Time::from_secs_f64(10.0)));
}

/// The same session: segment 3, asked for at 4.5 s, is played at 1.1: its deadline comes sooner than the buffer is long (CTA-5004).
#[test]
fn client_data_tell_the_speed() {
    let law = CatchUp::Shaka(Range { min_ppm: 950_000, max_ppm: 1_100_000 });
    let live = Live { joined_at: Some(secs(0.5)), catch_up: law, ..Live::at(secs(3.0)) };
    let config = DashConfig { live: Some(live), cmcd: CmcdMode::V1, ..DashConfig::default() };
    let mut script = Script::new(config);
    script.connect(0.0, 0).body(0.5, 0, SEGMENT).body(2.4, 1, SEGMENT).body(2.6, 2, SEGMENT).run_to(4.5);
    let of = |action| if let Action::Request(request) = action { request.cmcd } else { None };
    let told: Vec<_> = std::iter::from_fn(|| script.player.poll_action()).filter_map(of).collect();
    let (first, last) = (&told[0], told.last().unwrap());
    assert_eq!((first.pr, last.pr), (None, Some(1.1)));
    // Played up to 4.285 s of 6 s.
    assert_eq!((last.bl_ms, last.dl_ms), (Some(1715), Some(1559)));
}

#[test]
fn client_data_of_hls_js_tell_its_format() {
    let mut script = Script::new(DashConfig { cmcd: CmcdMode::V1, ..DashConfig::preset("hls.js", 5).unwrap() });
    script.connect(0.0, 0);
    let of = |action| if let Action::Request(request) = action { request.cmcd?.sf } else { None };
    assert_eq!(std::iter::from_fn(|| script.player.poll_action()).find_map(of), Some(StreamingFormat::Hls));
}

/// Cut at 3.5 s, half a second into a stall; nothing is wanted afterwards.
#[test]
fn a_stopped_session_closes_its_stall() {
    let mut script = Script::new(DashConfig::default());
    script.connect(0.0, 0).body(1.0, 0, SEGMENT);
    let at = script.until(3.5);
    script.player.handle_stop(at);
    assert_eq!(script.log().last().unwrap(), "3.500 StallEnd { frozen: 500 ms }");
    assert_eq!(script.finished(), (3.5, totals(1.0, 2.0, 0.0, 0.5)));
    assert_eq!(script.player.poll_timeout(), Time::MAX);
    assert_eq!(script.actions().last().unwrap(), "close 0");
    let count = script.player.events().len();
    script.player.handle_stop(Time::from_secs(4));
    script.player.handle_body(Time::from_secs(4), RequestId(1), SEGMENT);
    assert_eq!(script.player.events().len(), count);
}

#[test]
fn settings_that_could_never_start_are_refused() {
    let refused = |config: DashConfig| config.check().unwrap_err().to_string();
    let base = DashConfig::default;
    assert_eq!(
        refused(DashConfig { start_level: secs(31.0), ..base() }),
        "`start_level` = \"31 s\"; allowed: more than 0 s, at most \"30 s\""
    );
    assert!(refused(DashConfig { resume_level: secs(40.0), ..base() }).contains("resume_level"));
    assert!(refused(DashConfig { pipeline_at: Some(1.0), ..base() }).contains("below 1"));
    assert!(refused(DashConfig { connections: Connections::in_parallel(0), ..base() }).contains("1 to 16"));
    assert!(playpath_video::dash::PRESETS.iter().all(|name| DashConfig::preset(name, 300).unwrap().check().is_ok()));
}

/// Three segments of 1 Mbit/s (top 2 Mbit/s). At 0 s: nothing is buffered; 2 Mbit / 500 ms · 5 = 20 000 kbit/s would be asked for at
/// most. At 1 s: 2 s are buffered: 2 Mbit / 2000 ms · 5 = 5000; measured 2 Mbit in 1 s. Nothing is urgent any more. Then the buffer
/// runs empty at 3 s; the second comes at 4 s, and with the third request that is told, once.
#[test]
fn client_data_of_each_request() {
    let config = DashConfig { cmcd: CmcdMode::V2, ..DashConfig::default() };
    let mut script = Script::of(config, video(&[1000, 2000], 4), abr::build("fixed").unwrap());
    script.connect(0.0, 0).body(1.0, 0, SEGMENT).body(4.0, 1, SEGMENT).body(4.5, 2, SEGMENT);
    let requests: Vec<_> = std::iter::from_fn(|| script.player.poll_action())
        .filter_map(|action| match action {
            Action::Request(request) => Some(request),
            _ => None,
        })
        .collect();
    let common = Cmcd {
        br_kbps: Some(1000),
        tb_kbps: Some(2000),
        d_ms: Some(2000),
        sf: Some(StreamingFormat::Dash),
        st: Some(StreamType::OnDemand),
        ot: Some(ObjectType::Video),
        tbl_ms: Some(30_000),
        version: Some(2),
        ..Cmcd::default()
    };
    let level = |ms: u64| Cmcd { bl_ms: Some(ms), dl_ms: Some(ms), ..common.clone() };
    let expected = [
        Cmcd { rtp_kbps: Some(20_000), su: true, sta: Some(PlayerState::Starting), ..level(0) },
        Cmcd { rtp_kbps: Some(5000), mtp_kbps: Some(2000), sta: Some(PlayerState::Playing), ..level(2000) },
        // 2 Mbit in 3 s.
        Cmcd {
            rtp_kbps: Some(5000),
            mtp_kbps: Some(666),
            su: true,
            bs: true,
            sta: Some(PlayerState::Playing),
            ..level(2000)
        },
        // 2 s more, 0.5 s of them played; 2 Mbit in 0.5 s; 2 Mbit / 3500 ms · 5.
        Cmcd { rtp_kbps: Some(2857), mtp_kbps: Some(4000), sta: Some(PlayerState::Playing), ..level(3500) },
    ];
    for (request, expected) in requests.iter().zip(&expected) {
        assert_eq!(request.cmcd.as_deref(), Some(expected), "request {}", request.id.0);
        // "&" or "?", then the argument.
        let extra = expected.query().unwrap().len() as u32 + 1;
        assert_eq!(request.request_header_bytes, 400 + extra);
    }
    assert_eq!(requests.len(), 4);
}

/// What the requests of the session above say of the buffer, and whether they say that it ran dry.
fn outcome(claim: Claim, lag: Duration) -> Vec<(Option<u64>, bool)> {
    let config = DashConfig { cmcd: CmcdMode::V1, cmcd_claim: claim, cmcd_lag: lag, ..DashConfig::default() };
    let mut script = Script::of(config, video(&[1000, 2000], 4), abr::build("fixed").unwrap());
    script.connect(0.0, 0).body(1.0, 0, SEGMENT).body(4.0, 1, SEGMENT).body(4.5, 2, SEGMENT);
    std::iter::from_fn(|| script.player.poll_action())
        .filter_map(|action| match action {
            Action::Request(request) => request.cmcd.map(|cmcd| (cmcd.bl_ms, cmcd.bs)),
            _ => None,
        })
        .collect()
}

/// Requests at 0, 1, 4 and 4.5 s with 0, 2, 2 and 3.5 s; the third is the one that has run dry. Three seconds late the request at 4 s
/// has the report of 1 s, and the one at 4.5 s that, too; before there is none.
#[test]
fn client_data_may_be_false_or_late() {
    let level = |ms| (Some(ms), false);
    assert_eq!(outcome(Claim::Honest, Duration::ZERO), [level(0), level(2000), (Some(2000), true), level(3500)]);
    assert_eq!(outcome(Claim::Honest, secs(3.0)), [(None, false), (None, false), level(2000), level(2000)]);
    assert_eq!(outcome(Claim::Empty, Duration::ZERO), [(Some(0), true); 4]);
    assert_eq!(outcome(Claim::Full, Duration::ZERO), [level(30_000); 4]);
}

/// What the reports of a session say: when, about what, in which state, with which level.
fn reports(events: &[Event]) -> Vec<(u64, &'static str, &'static str, u64)> {
    let interval = secs(1.5);
    let config = DashConfig { cmcd_events: events.to_vec(), cmcd_interval: interval, ..DashConfig::default() };
    let mut script = Script::of(config, video(&[1000], 4), abr::build("fixed").unwrap());
    let (mut outcome, mut asked) = (Vec::new(), Vec::new());
    script.connect(0.0, 0);
    for arrival in [1.0, 4.0, 4.5] {
        script.until(arrival);
        script.sort_requests(&mut asked, &mut outcome);
        script.body(arrival, *asked.last().unwrap(), SEGMENT);
    }
    script.run_to(4.6).sort_requests(&mut asked, &mut outcome);
    let keys = |cmcd: &Cmcd| Some((cmcd.ts_ms?, cmcd.e?.token(), cmcd.sta?.token(), cmcd.bl_ms?));
    outcome.iter().map(|cmcd| keys(cmcd).unwrap()).collect()
}

/// Segments of 2 s arrive at 1, 4 and 4.5 s: playback from 1 to 3 s, a stall until 4 s. Every 1.5 s the clock tells the level, between
/// requests, too (1.5 s: 1.5 s are left; 3 s: the last picture's time is over; 4.5 s: 1.5 s and the segment of that moment). Requests alone would have told 0, 2 s
/// and 2 s, at 0, 1 and 4 s.
#[test]
fn reports_tell_what_requests_cannot() {
    assert_eq!(
        reports(&[Event::Interval]),
        [(0, "t", "s", 0), (1500, "t", "p", 1500), (3000, "t", "p", 0), (4500, "t", "p", 3500)]
    );
    assert_eq!(reports(&[Event::PlayState]), [(1000, "ps", "p", 2000), (3000, "ps", "r", 0), (4000, "ps", "p", 2000)]);
    // Of a response: when it was asked for.
    assert_eq!(
        reports(&[Event::ResponseReceived]),
        [(0, "rr", "p", 2000), (1000, "rr", "p", 2000), (4000, "rr", "p", 3500)]
    );
    assert_eq!(reports(&[Event::BitrateChange, Event::Error]), []);
}

/// 1 Mbit/s after 80 % of the first segment, at 0.8 s, the second is asked for; the first ends at 1 s, the second at 2 s. A rule is
/// told that the second had the connection from 1 s on: 2 Mbit/s, not 1.67.
#[test]
fn a_pipelined_download_is_timed_from_its_turn() {
    let rule = Scripted::choices(&[0; 5]);
    let seen = rule.seen.clone();
    let config = DashConfig { pipeline_at: Some(0.8), ..DashConfig::default() };
    let mut script = Script::of(config, video(&[1000], 5), Box::new(rule));
    script.connect(0.0, 0).body(0.1, 0, 1000).body(0.8, 0, 199_000).body(1.0, 0, 50_000).body(2.0, 1, SEGMENT);
    let second = seen.lock().unwrap()[1];
    assert_eq!((second.requested_at, second.started_at), (Time::from_millis(800), Time::from_secs(1)));
    assert_eq!(second.bits_per_sec(), 2e6);
}

/// 1 and 2 Mbit/s, one segment buffered at 1 s, two at 2 s, when the playhead is at 1 s and the rule steps up for the third: all from
/// the segment at the playhead on is fetched once more. It comes at 2.5 s, half played: too late to be seen. The rule steps down for
/// the second, which is fetched again all the same; the step up for the third finds the better first one and replaces nothing.
#[test]
fn another_rung_replaces_from_the_playhead_on() {
    let config = DashConfig { fast_switch: true, ..DashConfig::default() };
    let mut script = Script::of(config, video(&[1000, 2000], 5), Box::new(Scripted::choices(&[0, 0, 1, 1, 1])));
    script.connect(0.0, 0);
    for (request, at) in [1.0, 2.0, 2.5, 2.9, 3.5].into_iter().enumerate() {
        script.body(at, request as u32, 2 * SEGMENT);
    }
    let events = script.player.events().iter();
    let fetched: Vec<_> = events
        .filter_map(|event| match event.kind {
            EventKind::SegmentDownloaded { object, is_late, .. } => {
                Some((object.segment, object.representation, is_late))
            }
            _ => None,
        })
        .collect();
    assert_eq!(fetched, [(0, 0, false), (1, 0, false), (0, 1, true), (1, 0, false), (2, 1, false)]);
}

/// A stall from the end of the first segment to 4 s, when the second comes and the rule steps up. A decoder that holds something back
/// stands in the first segment, which is fetched again for the rest of it; one that shows all stands at the second's beginning.
#[test]
fn a_step_up_after_a_stall_replaces_the_segment_in_which_the_decoder_stands() {
    for (delay, replaced) in [(secs(0.1), 0), (Duration::ZERO, 1)] {
        let config = DashConfig { fast_switch: true, decoder_delay: delay, ..DashConfig::default() };
        let mut script = Script::of(config, video(&[1000, 2000], 5), Box::new(Scripted::choices(&[0, 0, 1, 1, 1])));
        script.connect(0.0, 0).body(1.0, 0, SEGMENT).body(4.0, 1, SEGMENT);
        assert_eq!(script.actions().last().unwrap(), &format!("request 2 on 0: Video {replaced}/1 500000 B"));
    }
}

/// At 0.8 s three segments are there, the third in the lowest rung, and the rule steps up: all is fetched once more from the first.
/// That takes until 5 s, when the playhead is in the third; another rung goes on there and leaves out the second, which is behind.
#[test]
fn a_replacement_overtaken_by_the_playhead_goes_on_at_the_playhead() {
    let config = DashConfig { fast_switch: true, ..DashConfig::default() };
    let rule = Scripted::choices(&[0, 1, 0, 2, 2]);
    let mut script = Script::of(config, video(&[1000, 2000, 3000], 5), Box::new(rule));
    script.connect(0.0, 0);
    for (request, at) in [0.5, 0.6, 0.7, 0.8, 5.0, 5.2].into_iter().enumerate() {
        script.body(at, request as u32, 3 * SEGMENT);
    }
    let fetched: Vec<_> = script
        .player
        .events()
        .iter()
        .filter_map(|event| match event.kind {
            EventKind::SegmentDownloaded { object, .. } => Some((object.segment, object.representation)),
            _ => None,
        })
        .collect();
    assert_eq!(fetched, [(0, 0), (0, 1), (1, 1), (2, 0), (0, 2), (2, 1)]);
}

/// A browser tells of the position at 1.25, 1.5 ... s when playback begins at 1 s. At 1.3 s, with a segment appended, the level is
/// looked at: 3.7 s; a download at 1.7 s finds it as of 1.5 s, with 3.5 s.
#[test]
fn the_level_is_as_old_as_the_last_time_update() {
    let rule = Scripted::choices(&[0; 5]);
    let seen = rule.seen.clone();
    let config = DashConfig { time_update: Some(secs(0.25)), ..DashConfig::default() };
    let mut script = Script::of(config, video(&[1000], 5), Box::new(rule));
    script.connect(0.0, 0).body(1.0, 0, SEGMENT).body(1.3, 1, SEGMENT).body(1.7, 2, SEGMENT);
    let known: Vec<_> = seen.lock().unwrap().iter().map(|download| download.level_before).collect();
    assert_eq!(known, [secs(0.0), secs(1.75), secs(3.5)]);
}

/// Sixteen segments are there when the picture has run from 1.1 s on; the next comes at 30.05 s. At 30 s, every tenth second, what lies
/// 20 s behind is removed, and the level is looked at: 32 − 28.9 s. The last time update was at 29.85 s. With 30 s kept behind
/// nothing is removed.
#[test]
fn a_removal_every_ten_seconds_looks_at_the_level() {
    for (kept, level) in [(20.0, 3.1), (30.0, 3.25)] {
        let rule = Scripted::choices(&[0; 20]);
        let seen = rule.seen.clone();
        let config = DashConfig {
            time_update: Some(secs(0.25)),
            back_buffer: BackBuffer::Length(secs(kept)),
            full_level: secs(60.0),
            ..DashConfig::default()
        };
        let mut script = Script::of(config, video(&[1000], 20), Box::new(rule));
        script.connect(0.0, 0);
        for request in 0..16 {
            script.body(1.1 + 0.1 * f64::from(request), request, SEGMENT);
        }
        script.body(30.05, 16, SEGMENT);
        assert_eq!(seen.lock().unwrap().last().unwrap().level_before, secs(level));
    }
}

/// A rule that does what the test says.
struct Scripted {
    seen: Arc<Mutex<Vec<Download>>>,
    choices: Vec<usize>,
    wait_before: Option<(usize, Time)>,
    abandons_below: u64,
}

impl Scripted {
    fn choices(choices: &[usize]) -> Scripted {
        Scripted { seen: Arc::default(), choices: choices.to_vec(), wait_before: None, abandons_below: 0 }
    }
}

impl Abr for Scripted {
    fn choose(&mut self, context: &Context) -> Decision {
        match self.wait_before {
            Some((segment, until)) if segment == context.segment && context.now < until => {
                Decision { choice: Choice::WaitUntil(until), estimate: None, reason: "scripted" }
            }
            _ => Decision::fetch(self.choices[context.segment], "scripted"),
        }
    }

    fn on_download(&mut self, _context: &Context, download: &Download) {
        self.seen.lock().unwrap().push(*download);
    }

    fn abandon(&mut self, _context: &Context, progress: &Progress) -> Option<Abandonment> {
        (progress.so_far.bytes < self.abandons_below).then_some(Abandonment { representation: 0, reason: "scripted" })
    }
}
