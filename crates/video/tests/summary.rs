//! Facts from events: the players' hand-computed timelines, and logs written by hand.

mod common;

use common::{Driver, at, ms, plain_media};
use playpath_units::{Duration, Rate};
use playpath_video::agent::{AgentConfig, AgentPlayer};
use playpath_video::buffer::BufferSize;
use playpath_video::p1203::p1203_input;
use playpath_video::progressive::{Policy, ProgressiveConfig, ProgressivePlayer};
use playpath_video::quality::Scores;
use playpath_video::summary::Summary;
use playpath_video::{
    DiscardCause, EventKind, EventLog, FinishReason, ObjectKind, ObjectRef, Player, RequestId, Totals,
};

fn near(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-9, "{value} is not {expected}");
}

/// The timeline of `a_late_picture_in_between_interrupts_the_freeze`: start 30 ms, 215 ms frozen, two discards, one underflow;
/// 600 ms of media shown.
#[test]
fn catch_up_session() {
    let config = ProgressiveConfig { buffer: BufferSize::Time(ms(300)), ..ProgressiveConfig::default() };
    let mut driver = Driver::start(ProgressivePlayer::new(plain_media(8), config));
    for (time, bytes) in [(30, 3000), (360, 1000), (445, 1000), (560, 1000), (600, 2000)] {
        driver.deliver(at(time), bytes);
    }
    driver.finish();
    let m = Summary::of(driver.player.events());
    near(m.startup_s(), 0.03);
    assert_eq!(m.filled_after, Some(ms(30)));
    near(m.stalled_s(), 0.215);
    near(m.played_s(), 0.6);
    // 8000 B in 0.8 s.
    assert_eq!(m.mean_rate_kbps(), Some(80.0));
    assert_eq!((m.stalls.len(), m.discarded, m.underflows), (1, 2, 1));
    assert_eq!((m.packets, m.segments.len(), m.latencies.mean_s()), (0, 0, None));
}

/// `rebuffer_twice`: stalls at 300 and 500 ms of 120 and 250 ms; start-up 30 ms.
#[test]
fn rebuffer_session_and_its_p1203_input() {
    let resume = Some(BufferSize::Bytes(2000));
    let buffer = BufferSize::Time(ms(300));
    let config = ProgressiveConfig { buffer, policy: Policy::Rebuffer, resume, ..ProgressiveConfig::default() };
    let mut driver = Driver::start(ProgressivePlayer::new(plain_media(10), config));
    for (time, bytes) in [(30, 3000), (400, 1000), (450, 1000), (900, 5000)] {
        driver.deliver(at(time), bytes);
    }
    driver.finish();
    let m = Summary::of(driver.player.events());
    assert_eq!((m.stalls.len(), m.discarded, m.underflows), (2, 0, 2));
    near(m.stalled_s(), 0.37);
    near(m.played_s(), 1.0);
    let input = p1203_input(driver.player.events());
    let expected = serde_json::json!({
        "I11": { "segments": [], "streamId": 1 },
        "I13": { "segments": [{ "bitrate": 80.0, "codec": "h264", "duration": 1.0, "fps": 25.0, "resolution": "416x234",
            "start": 0.0 }], "streamId": 1 },
        "I23": { "stalling": [[0.0, 0.03], [0.3, 0.12], [0.5, 0.25]], "streamId": 1 },
        "IGen": { "device": "pc", "displaySize": "1920x1080", "viewingDistance": "150cm" },
    });
    assert_eq!(input, expected);
}

/// Two of ten packets late.
#[test]
fn agent_session() {
    let rate = Rate::from_bits_per_sec(80_000);
    let config = AgentConfig { start_share: 0.2, ..AgentConfig::new(rate, Duration::from_secs(1)) };
    let mut driver = Driver::start(AgentPlayer::new(config));
    for (time, bytes) in [(50, 2000), (250, 1500), (351, 500), (460, 1000), (500, 5000)] {
        driver.deliver(at(time), bytes);
    }
    driver.finish();
    let m = Summary::of(driver.player.events());
    assert_eq!((m.packets, m.late, m.overflowed, m.underflows), (10, 2, 0, 1));
    assert_eq!(m.filled_after, Some(ms(50)));
    assert!(!m.has_pictures());
}

fn segment(log: &mut EventLog, time: u64, kind: ObjectKind, number: u32, representation: u32, kbps: u64, seconds: u64) {
    let rate = Rate::from_bits_per_sec(kbps * 1000);
    let media_duration = Duration::from_secs(seconds);
    log.push(
        at(time),
        EventKind::SegmentDownloaded {
            request: RequestId(number),
            object: ObjectRef { kind, segment: number, representation },
            rate,
            body_bytes: rate.bytes_in(media_duration) * 2,
            media_duration,
            download_time: ms(500),
            is_late: false,
            scores: Scores::default(),
        },
    );
}

fn finish(log: &mut EventLog, time: u64, played_s: u64) {
    let totals = Totals { media_played: Duration::from_secs(played_s), ..Totals::default() };
    log.push(at(time), EventKind::Finished { reason: FinishReason::Stopped, totals });
}

/// A replacement that comes when the playing of its segment has begun is not seen: mean 1000, not 2000.
#[test]
fn a_late_replacement_is_not_seen() {
    let mut log = EventLog::default();
    segment(&mut log, 1000, ObjectKind::Video, 0, 0, 1000, 4);
    segment(&mut log, 2000, ObjectKind::Video, 0, 1, 2000, 4);
    finish(&mut log, 6000, 4);
    let mut events = log.as_slice().to_vec();
    let EventKind::SegmentDownloaded { is_late, .. } = &mut events[1].kind else { unreachable!() };
    *is_late = true;
    near(Summary::of(&events).mean_rate_kbps().unwrap(), 1000.0);
    near(Summary::of(log.as_slice()).mean_rate_kbps().unwrap(), 2000.0);
}

/// Segments of 4, 4 and 2 s at 1200, 1850, 1850 kbit/s, segment 1 first at 700 and then replaced; start-up 2 s; one stall of 0.5 s.
/// Mean (4 x 1200 + 6 x 1850) / 10 = 1590. One switch. Latency (3 + 5) / 2.
#[test]
fn segmented_session() {
    let mut log = EventLog::default();
    log.push(at(0), EventKind::SessionStarted { media_duration: Duration::from_secs(10), media_rate: None });
    segment(&mut log, 1000, ObjectKind::Video, 0, 1, 1200, 4);
    segment(&mut log, 1100, ObjectKind::Audio, 0, 0, 64, 4);
    log.push(at(2000), EventKind::PlaybackStarted);
    segment(&mut log, 2100, ObjectKind::Video, 1, 0, 700, 4);
    log.push(at(2200), EventKind::LiveLatency { latency: Duration::from_secs(3) });
    segment(&mut log, 2300, ObjectKind::Video, 1, 2, 1850, 4);
    log.push(at(6000), EventKind::StallStart { since: at(6000), position: Duration::from_secs(4) });
    log.push(at(6500), EventKind::StallEnd { frozen: ms(500) });
    segment(&mut log, 7000, ObjectKind::Video, 2, 2, 1850, 2);
    log.push(at(7000), EventKind::LiveLatency { latency: Duration::from_secs(5) });
    let totals = Totals {
        startup: Duration::from_secs(2),
        media_played: Duration::from_secs(10),
        clock_stopped: ms(500),
        ..Totals::default()
    };
    log.push(at(12_500), EventKind::Finished { reason: FinishReason::Played, totals });
    let m = Summary::of(log.as_slice());
    near(m.mean_rate_kbps().unwrap(), 1590.0);
    near(m.latencies.mean_s().unwrap(), 4.0);
    assert_eq!(m.switches(), 1);
    let input = p1203_input(log.as_slice());
    // Twice the nominal bytes were declared: measured rates are twice the nominal ones.
    assert_eq!(input["I13"]["segments"][1]["bitrate"], 3700.0);
    assert_eq!(input["I13"]["segments"][2]["start"], 8.0);
    assert_eq!(input["I13"]["segments"][2]["resolution"], "768x432");
    assert_eq!(input["I11"]["segments"][0]["bitrate"], 128.0);
    assert_eq!(input["I23"]["stalling"], serde_json::json!([[0.0, 2.0], [4.0, 0.5]]));
}

/// Never started: it has waited for all of its 5 s.
#[test]
fn session_that_never_starts() {
    let mut driver = Driver::start(ProgressivePlayer::new(plain_media(8), ProgressiveConfig::default()));
    driver.run_to(at(5000));
    driver.player.handle_stop(at(5000));
    let m = Summary::of(driver.player.events());
    near(m.startup_s(), 5.0);
    near(m.played_s(), 0.0);
    assert_eq!((m.stalls.len(), m.filled_after), (0, None));
}

/// A skip shows as two latencies of one moment: 4 s are shown, a stall, then 2 s from 8 s on, in segment 2.
#[test]
fn what_was_skipped_was_not_shown() {
    let mut log = EventLog::default();
    let latency = |seconds| EventKind::LiveLatency { latency: Duration::from_secs(seconds) };
    (0..3).for_each(|number| segment(&mut log, 0, ObjectKind::Video, number, number, 1000, 4));
    log.push(at(0), EventKind::PlaybackStarted);
    log.push(at(0), latency(3));
    log.push(at(4000), EventKind::StallStart { since: at(4000), position: Duration::from_secs(4) });
    log.push(at(9000), latency(8));
    log.push(at(9000), EventKind::PicturesDiscarded { first: 100, count: 100, cause: DiscardCause::Skipped });
    log.push(at(9000), latency(4));
    log.push(at(9000), EventKind::StallEnd { frozen: Duration::from_secs(5) });
    finish(&mut log, 11_000, 6);
    let shown: Vec<_> = Summary::of(log.as_slice()).segments.iter().map(|s| (s.index, s.shown)).collect();
    assert_eq!(shown, [(0, Duration::from_secs(4)), (2, Duration::from_secs(2))]);
}

/// A viewer who joins 3 s into the first segment of 4 s sees a second of it, and 2 s of the next.
#[test]
fn a_viewer_who_joins_within_a_segment_sees_its_rest() {
    let mut log = EventLog::default();
    (0..2).for_each(|number| segment(&mut log, 0, ObjectKind::Video, number, number, 1000, 4));
    log.push(at(0), EventKind::Joined { position: Duration::from_secs(3) });
    log.push(at(0), EventKind::PlaybackStarted);
    finish(&mut log, 3000, 3);
    let shown: Vec<_> = Summary::of(log.as_slice()).segments.iter().map(|s| (s.index, s.shown)).collect();
    assert_eq!(shown, [(0, Duration::from_secs(1)), (1, Duration::from_secs(2))]);
}

/// Half the speed for 10 s of which 6 s stand still: 2 s of media at another speed, of 4.
#[test]
fn a_stall_is_not_played_at_another_speed() {
    let mut log = EventLog::default();
    log.push(at(0), EventKind::PlaybackStarted);
    log.push(at(2000), EventKind::SpeedChanged { ppm: 500_000 });
    log.push(at(6000), EventKind::StallStart { since: at(6000), position: Duration::from_secs(4) });
    log.push(at(12_000), EventKind::StallEnd { frozen: Duration::from_secs(6) });
    finish(&mut log, 12_000, 4);
    assert_eq!(Summary::of(log.as_slice()).off_speed, Duration::from_secs(2));
}

/// A replacement that came too late is what a viewer sees who goes back: 3 s of 1000, then 4 s of 2000.
#[test]
fn a_late_replacement_is_seen_after_a_seek_back() {
    let mut log = EventLog::default();
    segment(&mut log, 0, ObjectKind::Video, 0, 0, 1000, 4);
    log.push(at(0), EventKind::PlaybackStarted);
    segment(&mut log, 1000, ObjectKind::Video, 0, 1, 2000, 4);
    log.push(at(3000), EventKind::SeekStart { from: Duration::from_secs(3), to: Duration::ZERO, is_buffered: true });
    finish(&mut log, 7000, 7);
    let mut events = log.as_slice().to_vec();
    let EventKind::SegmentDownloaded { is_late, .. } = &mut events[2].kind else { unreachable!() };
    *is_late = true;
    near(Summary::of(&events).mean_rate_kbps().unwrap(), 11_000.0 / 7.0);
}
