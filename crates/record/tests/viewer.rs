//! The viewer's metrics of logs written by hand, and the same from their JSON.

use playpath_record::{Flow, MeasuredSession, Measurements, Record, record_of_json};
use playpath_units::{Duration, Rate, Time};
use playpath_video::quality::Scores;
use playpath_video::{
    ConnectionId, DiscardCause, EventKind, EventLog, FinishReason, ObjectKind, ObjectRef, PlaybackEvent, RequestId,
    Totals,
};
use serde_json::{Value, json};

fn at(ms: u64) -> Time {
    Time::from_millis(ms)
}

fn segment(log: &mut EventLog, time: u64, number: u32, representation: u32, kbps: u64, seconds: u64) {
    scored(log, time, (number, representation), kbps, seconds, Scores::default());
}

fn scored(
    log: &mut EventLog,
    time: u64,
    (number, representation): (u32, u32),
    kbps: u64,
    seconds: u64,
    scores: Scores,
) {
    let object = ObjectRef { kind: ObjectKind::Video, segment: number, representation };
    let media_duration = Duration::from_secs(seconds);
    let (request, rate) = (RequestId(number), Rate::from_bits_per_sec(kbps * 1000));
    let download_time = Duration::from_millis(500);
    let body_bytes = 1000;
    let kind = EventKind::SegmentDownloaded {
        request,
        object,
        rate,
        body_bytes,
        media_duration,
        download_time,
        is_late: false,
        scores,
    };
    log.push(at(time), kind);
}

fn finish(log: &mut EventLog, time: u64, startup_s: u64, played_s: u64) {
    let (startup, media_played) = (Duration::from_secs(startup_s), Duration::from_secs(played_s));
    let totals = Totals { startup, media_played, ..Totals::default() };
    log.push(at(time), EventKind::Finished { reason: FinishReason::Played, totals });
}

fn begin(log: &mut EventLog) {
    log.push(at(0), EventKind::SessionStarted { media_duration: Duration::from_secs(10), media_rate: None });
}

/// Segments of 4, 4 and 2 s at 1200, 1850, 1850 kbit/s, segment 1 first at 700; start-up 2 s; a stall of 0.5 s; two frames
/// discarded; latency 3 and 5 s.
fn segmented() -> Vec<PlaybackEvent> {
    let mut log = EventLog::default();
    begin(&mut log);
    segment(&mut log, 1000, 0, 1, 1200, 4);
    log.push(at(1500), EventKind::BufferFilled);
    log.push(at(2000), EventKind::PlaybackStarted);
    segment(&mut log, 2100, 1, 0, 700, 4);
    log.push(at(2200), EventKind::LiveLatency { latency: Duration::from_secs(3) });
    log.push(at(2200), EventKind::SpeedChanged { ppm: 900_000 });
    segment(&mut log, 2300, 1, 2, 1850, 4);
    log.push(at(3700), EventKind::SpeedChanged { ppm: 1_000_000 });
    log.push(at(6000), EventKind::UnderflowStart { position: Duration::from_secs(4) });
    log.push(at(6000), EventKind::StallStart { since: at(6000), position: Duration::from_secs(4) });
    log.push(at(6500), EventKind::StallEnd { frozen: Duration::from_millis(500) });
    log.push(at(6600), EventKind::PicturesDiscarded { first: 9, count: 2, cause: DiscardCause::Late });
    segment(&mut log, 7000, 2, 2, 1850, 2);
    log.push(at(7000), EventKind::LiveLatency { latency: Duration::from_secs(5) });
    finish(&mut log, 12_500, 2, 10);
    log.as_slice().to_vec()
}

/// A streaming agent: 2 of 10 packets late, 1 met a full buffer.
fn judged() -> Vec<PlaybackEvent> {
    let mut log = EventLog::default();
    begin(&mut log);
    log.push(at(5000), EventKind::PacketsJudged { packets: 10, late: 2, overflowed: 1 });
    finish(&mut log, 10_000, 1, 8);
    log.as_slice().to_vec()
}

fn metrics(events: &[PlaybackEvent]) -> Value {
    let session = MeasuredSession { name: "video".into(), events: events.to_vec(), ..MeasuredSession::default() };
    let record = Record::of(Measurements { sessions: vec![session], ..Measurements::default() });
    record.to_json(Value::Null)["metrics"].clone()
}

fn near(metrics: &Value, name: &str, expected: f64) {
    let value = metrics[name].as_f64().unwrap_or_else(|| panic!("{name} is {}", metrics[name]));
    assert!((value - expected).abs() < 1e-9, "{name}: {value} is not {expected}");
}

/// Mean (4 x 1200 + 6 x 1850) / 10 = 1590. Pensieve: 1.2 + 1.85 + 1.85 - 0.65 - 4.3 x 0.5 = 2.1; balanced: 4900 - 650 -
/// 3000 x 0.5 - 3000 x 2 = -3250.
#[test]
fn segmented_session() {
    let found = metrics(&segmented());
    for (name, expected) in [
        ("startup_delay_s", 2.0),
        ("stall_count", 1.0),
        ("stall_time_s", 0.5),
        ("stall_ratio", 0.5 / 10.5),
        ("stalls_per_minute", 60.0 / 10.5),
        ("discarded_pictures", 2.0),
        ("underflow_events", 1.0),
        ("buffer_fill_time_s", 1.5),
        ("mean_rate_kbps", 1590.0),
        ("switches", 1.0),
        ("switched_doublings", (1850.0_f64 / 1200.0).log2()),
        ("qoe_linear", -3250.0),
        ("qoe_linear_pensieve", 2.1),
        ("live_latency_s", 4.0),
        // From 3 to 5 s at an even pace.
        ("live_latency_p95_s", 4.9),
        // 1.5 s at 0.9 of the normal speed.
        ("off_speed_ratio", 0.135),
        ("played_s", 10.0),
    ] {
        near(&found, name, expected);
    }
    // There, and without a value; not there.
    assert_eq!((found.get("late_packet_ratio"), found.get("overflow_packet_ratio")), (Some(&Value::Null), None));
}

/// Segments of 4 s with VMAF 60, 80 (30 at first) and 90, of the last of which 2 s are shown: (4 x 60 + 4 x 80 + 2 x 90) / 10 =
/// 74; changes of 20 and 10. SSIM (4 x 0.9 + 4 x 0.95 + 2 x 0.96) / 10 = 0.932: -10 log10(0.068) = 11.674911 dB.
fn measured() -> Vec<PlaybackEvent> {
    let mut log = EventLog::default();
    begin(&mut log);
    for (number, rung, vmaf, ssim) in [(0, 0, 60.0, 0.9), (1, 0, 30.0, 0.9), (1, 1, 80.0, 0.95), (2, 1, 90.0, 0.96)] {
        let scores = Scores { vmaf: Some(vmaf), ssimplus: Some(vmaf - 5.0), ssim: Some(ssim) };
        scored(&mut log, 1000, (number, rung), 1000, 4, scores);
    }
    finish(&mut log, 12_000, 1, 10);
    log.as_slice().to_vec()
}

#[test]
fn quality_is_that_of_what_was_shown() {
    let found = metrics(&measured());
    near(&found, "mean_vmaf", 74.0);
    near(&found, "vmaf_change", 15.0);
    near(&found, "mean_ssimplus", 69.0);
    assert!((found["mean_ssim_db"].as_f64().unwrap() - 11.674911).abs() < 1e-6, "{found}");
    assert_eq!((metrics(&segmented()).get("mean_vmaf"), metrics(&left()).get("vmaf_change")), (None, None));
}

/// A viewer who seeks twice, waits 1 s for the second place, and leaves at 8 s; an origin that fails once.
fn left() -> Vec<PlaybackEvent> {
    let second = Duration::from_secs(1);
    let totals = Totals { startup: second, media_played: second * 6, seeking: second, ..Totals::default() };
    [
        (0, EventKind::SessionStarted { media_duration: second * 60, media_rate: None }),
        (0, EventKind::Host { host: 0 }),
        (0, EventKind::ViewerCame { leaves_after: Some(second * 8), patience: None }),
        (1, EventKind::PlaybackStarted),
        (2, EventKind::SeekStart { from: second, to: second * 3, is_buffered: true }),
        (3, EventKind::RequestFailed { request: RequestId(1), is_timeout: true }),
        (3, EventKind::Host { host: 1 }),
        (4, EventKind::SeekStart { from: second * 5, to: second * 30, is_buffered: false }),
        (5, EventKind::SeekEnd { waited: second }),
        (8, EventKind::Unseen { bytes: 500_000 }),
        (8, EventKind::Finished { reason: FinishReason::Left, totals }),
    ]
    .map(|(seconds, kind)| PlaybackEvent { at: at(1000 * seconds), kind })
    .to_vec()
}

#[test]
fn what_a_viewer_did_is_in_figures() {
    let found = metrics(&left());
    for (name, expected) in [
        ("watched_s", 8.0),
        ("seeks", 2.0),
        ("seek_delay_s", 0.5),
        ("unseen_mb", 0.5),
        ("stall_time_s", 0.0),
        ("failed_requests", 1.0),
        ("failovers", 1.0),
    ] {
        near(&found, name, expected);
    }
    assert_eq!(metrics(&segmented()).get("watched_s"), None);
}

#[test]
fn a_streaming_agent_shows_no_frames() {
    let found = metrics(&judged());
    near(&found, "late_packet_ratio", 0.2);
    near(&found, "overflow_packet_ratio", 0.1);
    assert_eq!((found.get("stall_time_s"), found.get("qoe_linear")), (Some(&Value::Null), None));
}

/// A player of the kernel world writes its log as JSON: the figures are the same.
#[test]
fn a_log_that_was_written_and_read_gives_the_same_figures() {
    for events in [segmented(), judged(), left(), measured()] {
        let log = json!(events);
        let loaded = json!({ "sessions": [{ "name": "video", "events": log }] });
        let record = record_of_json(&loaded.to_string()).expect("right");
        assert_eq!(record["metrics"], metrics(&events));
        assert_eq!(record["events"], log);
    }
}

#[test]
fn wrong_measurements_are_refused_by_name() {
    let error = |loaded: Value| record_of_json(&loaded.to_string()).expect_err("wrong").to_string();
    assert!(error(json!({ "flows": [{ "nane": "x" }] })).contains("unknown field `nane`"));
    let loaded = json!({ "sessions": [{ "reported": { "first_bite_s": 1.0 } }] });
    assert_eq!(error(loaded), "there is no metric \"first_bite_s\"");
    for (event, said) in [
        (json!({ "time_s": 1.0 }), "event null: missing field `event`"),
        (json!({ "event": "stall_end" }), "event \"stall_end\": missing field `time_s`"),
        (json!({ "event": "stall_end", "time_s": 1.0 }), "event \"stall_end\": missing field `frozen_s`"),
        (
            json!({ "event": "host", "time_s": 1.0, "host": 256 }),
            "event \"host\": invalid value: integer `256`, expected u8",
        ),
    ] {
        assert!(error(json!({ "sessions": [{ "events": [event] }] })).contains(said));
    }
    let unknown = json!({ "sessions": [{ "events": [{ "event": "of tomorrow", "time_s": 1.0 }] }] });
    assert!(record_of_json(&unknown.to_string()).is_ok(), "an event that is not known is left out");
}

/// Two of three flows got nothing, one of which had ended before.
#[test]
fn flows_that_delivered_nothing() {
    let flow = |name: &str, read_bytes, is_open| Flow { name: name.into(), read_bytes, is_open, ..Flow::default() };
    let flows = vec![flow("a", 0, true), flow("b", 0, false), flow("c", 9, true)];
    let record = Record::of(Measurements { flows, ..Measurements::default() });
    assert_eq!(record.warnings, ["flow a delivered nothing"]);
}

/// One event of each kind: what is written is what the schema of a record names, and is read as it was.
#[test]
fn events_have_the_fields_of_the_schema() {
    let object = ObjectRef { kind: ObjectKind::Video, segment: 1, representation: 2 };
    let (request, rate, second) = (RequestId(1), Rate::from_bits_per_sec(1_000_000), Duration::from_secs(1));
    let totals = Totals { gained_ns: 1, seeking: second, ..Totals::default() };
    let kinds = [
        EventKind::SessionStarted { media_duration: second, media_rate: None },
        EventKind::Connected { connection: ConnectionId(0) },
        EventKind::RequestSent { request, object, body_bytes: 1 },
        EventKind::FirstByte { request },
        EventKind::BufferFilled,
        EventKind::PlaybackStarted,
        EventKind::UnderflowStart { position: second },
        EventKind::UnderflowEnd,
        EventKind::StallStart { since: at(0), position: second },
        EventKind::StallEnd { frozen: second },
        EventKind::ClockShifted { by: second },
        EventKind::PicturesDiscarded { first: 0, count: 1, cause: DiscardCause::Late },
        // The reason is not read: it is empty on both sides.
        EventKind::SegmentDecision { object, rate, buffer_level: second, estimate: None, reason: "" },
        EventKind::SegmentDownloaded {
            request,
            object,
            rate,
            body_bytes: 1,
            media_duration: second,
            download_time: second,
            is_late: true,
            scores: Scores { vmaf: Some(80.0), ssimplus: Some(70.0), ssim: Some(0.9) },
        },
        EventKind::RequestAbandoned { request },
        EventKind::Host { host: 0 },
        EventKind::RequestFailed { request, is_timeout: true },
        EventKind::Switch { segment: 1, from: 0, to: 1 },
        EventKind::LiveLatency { latency: second },
        EventKind::Joined { position: second },
        EventKind::SpeedChanged { ppm: 1_040_000 },
        EventKind::ViewerCame { leaves_after: Some(second), patience: None },
        EventKind::SeekStart { from: second, to: second, is_buffered: false },
        EventKind::SeekEnd { waited: second },
        EventKind::Unseen { bytes: 1 },
        EventKind::PacketsJudged { packets: 1, late: 0, overflowed: 0 },
        EventKind::Finished { reason: FinishReason::Stopped, totals },
    ];
    let schema = playpath_record::schema();
    let declared = schema["properties"]["events"]["items"]["anyOf"].as_array().expect("a list");
    assert_eq!(declared.len(), kinds.len());
    for (kind, entry) in kinds.into_iter().zip(declared) {
        let written = json!(PlaybackEvent { at: at(5), kind });
        assert_eq!(written["event"], entry["properties"]["event"]["const"]);
        let mut fields: Vec<&String> = written.as_object().expect("an object").keys().collect();
        let mut named: Vec<&String> = entry["properties"].as_object().expect("an object").keys().collect();
        fields.sort();
        named.sort();
        assert_eq!(fields, named, "{}", written["event"]);
        let session: MeasuredSession = serde_json::from_value(json!({ "events": [written] })).expect("as written");
        assert_eq!(session.events, [PlaybackEvent { at: at(5), kind }]);
    }
}

/// A session that the end of the run cuts is called the same in both worlds.
#[test]
fn a_cut_session_is_stopped() {
    for (reason, word) in [
        (FinishReason::Played, "played"),
        (FinishReason::GaveUp, "gave_up"),
        (FinishReason::Stopped, "stopped"),
        (FinishReason::Left, "left"),
    ] {
        let kind = EventKind::Finished { reason, totals: Totals::default() };
        assert_eq!(json!(PlaybackEvent { at: at(5), kind })["reason"], word);
    }
}

/// Four segments of 1.92 s and a stall that does not end, 30 s long: the media's last whole second is the seventh, and the stall counts.
#[test]
fn p1203_counts_the_stall_in_which_a_session_ends() {
    let mut log = EventLog::default();
    begin(&mut log);
    for number in 0..4 {
        scored(&mut log, 1000, (number, 0), 3000, 2, Scores::default());
    }
    let mut events = log.as_slice().to_vec();
    for event in &mut events {
        if let EventKind::SegmentDownloaded { media_duration, .. } = &mut event.kind {
            *media_duration = Duration::from_millis(1920);
        }
    }
    let position = Duration::from_millis(7680);
    let startup = Duration::from_secs(1);
    let totals = Totals { startup, media_played: position, ..Totals::default() };
    for (time, kind) in [
        (1000, EventKind::PlaybackStarted),
        (8680, EventKind::StallStart { since: at(8680), position }),
        (38_680, EventKind::StallEnd { frozen: Duration::from_secs(30) }),
        (38_680, EventKind::Finished { reason: FinishReason::GaveUpWaiting, totals }),
    ] {
        events.push(PlaybackEvent { at: at(time), kind });
    }
    let found = metrics(&events);
    let value = |name: &str| found[name].as_f64().unwrap();
    let expected = 1.0 + (value("p1203_o35") - 1.0) * value("p1203_stalling_factor");
    assert!((value("p1203_algorithmic_mos") - expected).abs() < 0.02, "{found}");
    assert!(expected < 1.1, "{found}");
}
