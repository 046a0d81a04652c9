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

/// Settings that the events do not contain.
#[derive(Clone, Debug, PartialEq)]
pub struct P1203Settings {
    /// Video codec: "h264", "hevc", "vp9".
    pub video_codec: String,
    /// Pictures per second.
    pub fps: f64,
    /// Width and height of each representation, the last one holds for higher ones; empty: by the nominal rate, as in Apple's HLS
    /// Authoring Specification (H.264, 16:9).
    pub resolutions: Vec<(u32, u32)>,
    /// Audio codec: "aaclc", "aac", "mp2", "ac3".
    pub audio_codec: String,
    /// "pc" or "mobile".
    pub device: String,
    pub display: (u32, u32),
    pub viewing_distance_cm: u32,
}

impl Default for P1203Settings {
    fn default() -> P1203Settings {
        P1203Settings {
            video_codec: "h264".into(),
            fps: 25.0,
            resolutions: Vec::new(),
            audio_codec: "aaclc".into(),
            device: "pc".into(),
            display: (1920, 1080),
            viewing_distance_cm: 150,
        }
    }
}

/// The lowest rate in kbit/s that Apple's HLS Authoring Specification names for a resolution.
const LADDER: [(f64, (u32, u32)); 6] = [
    (0.0, (416, 234)),
    (365.0, (640, 360)),
    (730.0, (768, 432)),
    (2000.0, (960, 540)),
    (3000.0, (1280, 720)),
    (6000.0, (1920, 1080)),
];

impl P1203Settings {
    /// Width and height of a segment's pictures.
    pub fn resolution(&self, segment: &Segment) -> (u32, u32) {
        let by_rate = || LADDER.iter().rev().find(|(rate, _)| *rate <= segment.rate_kbps).unwrap_or(&LADDER[0]).1;
        let stated = self.resolutions.get(segment.representation as usize).or(self.resolutions.last());
        stated.copied().unwrap_or_else(by_rate)
    }

    pub fn pixels(&self, segment: &Segment) -> f64 {
        let (width, height) = self.resolution(segment);
        f64::from(width) * f64::from(height)
    }

    /// Rate of a segment as measured: its bytes over its duration.
    pub fn measured_kbps(&self, segment: &Segment) -> f64 {
        match segment.duration.as_secs_f64() {
            0.0 => segment.rate_kbps,
            seconds => segment.body_bytes as f64 * 8.0 / 1e3 / seconds,
        }
    }

    /// The shown video segments of a session; a progressive session is one, of what was played.
    pub fn video_segments(&self, session: &Summary) -> Vec<Segment> {
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
}

/// The input JSON of a session. Without audio segments `I11` is empty, which tools read as unknown audio.
pub fn p1203_input(events: &[PlaybackEvent], settings: &P1203Settings) -> Value {
    let session = Summary::of(events);
    let video = settings.video_segments(&session);
    let stalls = session.p1203_stalls(whole_seconds(&video) as f64);
    let stalling: Vec<Value> = stalls.iter().map(|(at, length)| json!([at, length])).collect();
    json!({
        "I11": { "segments": audio_segments(&session, settings), "streamId": 1 },
        "I13": { "segments": video_segments(&video, settings), "streamId": 1 },
        "I23": { "stalling": stalling, "streamId": 1 },
        "IGen": {
            "device": settings.device,
            "displaySize": size(settings.display),
            "viewingDistance": format!("{}cm", settings.viewing_distance_cm),
        },
    })
}

/// Seconds that have a score of their own: 99 % of one is whole.
pub fn whole_seconds(segments: &[Segment]) -> usize {
    let shown: f64 = segments.iter().map(|segment| segment.shown.as_secs_f64()).sum();
    (shown + 0.01) as usize
}

fn video_segments(segments: &[Segment], settings: &P1203Settings) -> Vec<Value> {
    let video = |(start, s): (f64, &Segment)| {
        json!({ "bitrate": settings.measured_kbps(s), "codec": settings.video_codec, "duration": s.shown.as_secs_f64(),
            "fps": settings.fps, "resolution": size(settings.resolution(s)), "start": start })
    };
    with_starts(segments).map(video).collect()
}

fn audio_segments(session: &Summary, settings: &P1203Settings) -> Vec<Value> {
    let audio = |(start, s): (f64, &Segment)| {
        json!({ "bitrate": settings.measured_kbps(s), "codec": settings.audio_codec, "duration": s.shown.as_secs_f64(),
            "start": start })
    };
    with_starts(&session.audio).map(audio).collect()
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
