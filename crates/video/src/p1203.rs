//! Export of a session as the input of an ITU-T P.1203 tool, for the whole score: the random forest in it is licensed for research
//! only, so users run their own copy. The part without it is in the record.
//!
//! Reference: ITU-T P.1203 (2017) clause 7 (inputs I.GEN, I.11, I.13, I.23); the JSON form is the one that tools read:
//! audio and video segments with `bitrate` (kbit/s), `codec`, `duration`, `start` (s), for video also `fps` and `resolution`
//! (mode 0), and stalls as `[media position, length]` in seconds with the start-up delay as a stall at 0.
//!
//! Differences: a segment's bit rate is its bytes over its duration, as measured, not the nominal one. Segments are those that were
//! shown, in the order of playing, and stalls lie where they were in it: tools drop a stall behind the last whole second. A
//! progressive session is one segment.

use crate::PlaybackEvent;
use crate::quality::Scores;
use crate::summary::{Segment, Summary};
use serde_json::{Value, json};

/// What the events do not contain: pictures per second, and the size of a PC's display.
pub const FPS: f64 = 25.0;
pub const DISPLAY: (u32, u32) = (1920, 1080);

/// The lowest rate in kbit/s that Apple's HLS Authoring Specification names for a resolution.
const LADDER: [(f64, (u32, u32)); 6] = [
    (0.0, (416, 234)),
    (365.0, (640, 360)),
    (730.0, (768, 432)),
    (2000.0, (960, 540)),
    (3000.0, (1280, 720)),
    (6000.0, (1920, 1080)),
];

/// Width and height of a segment's pictures (H.264, 16:9).
fn resolution(segment: &Segment) -> (u32, u32) {
    LADDER.iter().rev().find(|(rate, _)| *rate <= segment.rate_kbps).unwrap_or(&LADDER[0]).1
}

pub fn pixels(segment: &Segment) -> f64 {
    let (width, height) = resolution(segment);
    f64::from(width) * f64::from(height)
}

/// Rate of a segment as measured: its bytes over its duration.
pub fn measured_kbps(segment: &Segment) -> f64 {
    match segment.duration.as_secs_f64() {
        0.0 => segment.rate_kbps,
        seconds => segment.body_bytes as f64 * 8.0 / 1e3 / seconds,
    }
}

/// The shown video segments of a session; a progressive session is one, of what was played.
pub fn video_segments(session: &Summary) -> Vec<Segment> {
    let (duration, rate) = (session.totals.media_played, session.media_rate_kbps);
    match rate {
        Some(rate_kbps) if session.segments.is_empty() => {
            let body_bytes = (rate_kbps * 1e3 / 8.0 * duration.as_secs_f64()).round() as u64;
            let scores = Scores::default();
            vec![Segment { index: 0, representation: 0, rate_kbps, body_bytes, duration, shown: duration, scores }]
        }
        _ => session.segments.clone(),
    }
}

/// The input JSON of a session. Without audio segments `I11` is empty, which tools read as unknown audio.
pub fn p1203_input(events: &[PlaybackEvent]) -> Value {
    let session = Summary::of(events);
    let video = video_segments(&session);
    let stalls = session.p1203_stalls(whole_seconds(&video) as f64);
    let stalling: Vec<Value> = stalls.iter().map(|(at, length)| json!([at, length])).collect();
    json!({
        "I11": { "segments": with_starts(&session.audio).map(audio_json).collect::<Vec<_>>(), "streamId": 1 },
        "I13": { "segments": with_starts(&video).map(video_json).collect::<Vec<_>>(), "streamId": 1 },
        "I23": { "stalling": stalling, "streamId": 1 },
        "IGen": { "device": "pc", "displaySize": size(DISPLAY), "viewingDistance": "150cm" },
    })
}

/// Seconds that have a score of their own: 99 % of one is whole.
pub fn whole_seconds(segments: &[Segment]) -> usize {
    let shown: f64 = segments.iter().map(|segment| segment.shown.as_secs_f64()).sum();
    (shown + 0.01) as usize
}

fn video_json((start, s): (f64, &Segment)) -> Value {
    json!({ "bitrate": measured_kbps(s), "codec": "h264", "duration": s.shown.as_secs_f64(), "fps": FPS,
        "resolution": size(resolution(s)), "start": start })
}

fn audio_json((start, s): (f64, &Segment)) -> Value {
    json!({ "bitrate": measured_kbps(s), "codec": "aaclc", "duration": s.shown.as_secs_f64(), "start": start })
}

fn with_starts(segments: &[Segment]) -> impl Iterator<Item = (f64, &Segment)> {
    segments.iter().scan(0.0, |start, segment| {
        let at = *start;
        *start += segment.shown.as_secs_f64();
        Some((at, segment))
    })
}

fn size((width, height): (u32, u32)) -> String {
    format!("{width}x{height}")
}
