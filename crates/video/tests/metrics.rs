//! Figures from events: the players' hand-computed timelines, and logs written by hand.

mod common;

use common::{Driver, at, ms, plain_media};
use playpath_units::{Duration, Rate};
use playpath_video::agent::{AgentConfig, AgentPlayer};
use playpath_video::buffer::BufferSize;
use playpath_video::metrics::Metrics;
use playpath_video::p1203::{P1203Settings, p1203_input};
use playpath_video::progressive::{Policy, ProgressiveConfig, ProgressivePlayer};
use playpath_video::{EventKind, EventLog, FinishReason, ObjectKind, ObjectRef, Player, RequestId, Totals};

fn near(value: Option<f64>, expected: f64) {
    assert!((value.unwrap() - expected).abs() < 1e-9, "{value:?} is not {expected}");
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
    let m = Metrics::of(driver.player.events());
    near(m.startup_delay_s, 0.03);
    near(m.buffer_fill_time_s, 0.03);
    near(m.stall_count, 1.0);
    near(m.stall_time_s, 0.215);
    near(m.stall_ratio, 0.215 / 0.815);
    near(m.stalls_per_minute, 60.0 / 0.815);
    near(m.discarded_pictures, 2.0);
    near(m.underflow_events, 1.0);
    near(m.played_s, 0.6);
    // 8000 B in 0.8 s.
    near(m.mean_rate_kbps, 80.0);
    assert_eq!((m.late_packet_ratio, m.switches, m.qoe_linear, m.live_latency_s), (None, None, None, None));
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
    let m = Metrics::of(driver.player.events());
    near(m.stall_count, 2.0);
    near(m.stall_time_s, 0.37);
    near(m.stall_ratio, 0.37 / 1.37);
    near(m.underflow_events, 2.0);
    near(m.discarded_pictures, 0.0);
    let input = p1203_input(driver.player.events(), &P1203Settings::default());
    let expected = serde_json::json!({
        "I11": { "segments": [], "streamId": 1 },
        "I13": { "segments": [{ "bitrate": 80.0, "codec": "h264", "duration": 1.0, "fps": 25.0, "resolution": "1280x720",
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
    let m = Metrics::of(driver.player.events());
    near(m.late_packet_ratio, 0.2);
    near(m.overflow_packet_ratio, 0.0);
    near(m.buffer_fill_time_s, 0.05);
    near(m.underflow_events, 1.0);
    assert_eq!((m.stall_count, m.stall_ratio, m.discarded_pictures), (None, None, None));
    assert!(m.entries().contains(&("late_packet_ratio", 0.2)));
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
        },
    );
}

/// Segments of 4, 4 and 2 s at 1200, 1850, 1850 kbit/s, segment 1 first at 700 and then replaced; start-up 2 s; one stall of 0.5 s.
/// Mean (4 x 1200 + 6 x 1850) / 10 = 1590. One switch. Pensieve 2.1, balanced -3250 (worked in metrics.rs). Latency (3 + 5) / 2.
#[test]
fn segmented_session() {
    let mut log = EventLog::default();
    log.push(at(0), EventKind::SessionStarted { media_duration: Duration::from_secs(10), media_rate: None });
    segment(&mut log, 1000, ObjectKind::Video, 0, 1, 1200, 4);
    segment(&mut log, 1100, ObjectKind::Audio, 0, 0, 64, 4);
    log.push(at(2000), EventKind::PlaybackStarted);
    segment(&mut log, 2100, ObjectKind::Video, 1, 0, 700, 4);
    log.push(at(2200), EventKind::LiveLatency(Duration::from_secs(3)));
    segment(&mut log, 2300, ObjectKind::Video, 1, 2, 1850, 4);
    log.push(at(6000), EventKind::StallStart { since: at(6000), position: Duration::from_secs(4) });
    log.push(at(6500), EventKind::StallEnd { frozen: ms(500) });
    segment(&mut log, 7000, ObjectKind::Video, 2, 2, 1850, 2);
    log.push(at(7000), EventKind::LiveLatency(Duration::from_secs(5)));
    let totals = Totals {
        startup: Duration::from_secs(2),
        media_played: Duration::from_secs(10),
        clock_stopped: ms(500),
        ..Totals::default()
    };
    log.push(at(12_500), EventKind::Finished { reason: FinishReason::Played, totals });
    let m = Metrics::of(log.as_slice());
    near(m.mean_rate_kbps, 1590.0);
    near(m.switches, 1.0);
    near(m.qoe_linear_pensieve, 2.1);
    near(m.qoe_linear, -3250.0);
    near(m.live_latency_s, 4.0);
    near(m.stall_ratio, 0.5 / 10.5);
    let settings = P1203Settings { resolutions: vec![(640, 360), (1280, 720)], ..P1203Settings::default() };
    let input = p1203_input(log.as_slice(), &settings);
    // Twice the nominal bytes were declared: measured rates are twice the nominal ones.
    assert_eq!(input["I13"]["segments"][1]["bitrate"], 3700.0);
    assert_eq!(input["I13"]["segments"][2]["start"], 8.0);
    assert_eq!(input["I13"]["segments"][2]["resolution"], "1280x720");
    assert_eq!(input["I11"]["segments"][0]["bitrate"], 128.0);
    assert_eq!(input["I23"]["stalling"], serde_json::json!([[0.0, 2.0], [4.0, 0.5]]));
}

/// Never started: it has waited for all of its 5 s, and has no ratio of nothing.
#[test]
fn session_that_never_starts() {
    let mut driver = Driver::start(ProgressivePlayer::new(plain_media(8), ProgressiveConfig::default()));
    driver.run_to(at(5000));
    driver.player.handle_stop(at(5000));
    let m = Metrics::of(driver.player.events());
    near(m.startup_delay_s, 5.0);
    near(m.stall_count, 0.0);
    assert_eq!((m.stall_ratio, m.p1203_stalling_factor, m.buffer_fill_time_s), (None, None, None));
}
