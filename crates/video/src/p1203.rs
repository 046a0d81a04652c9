//! Export of a session as the input of an ITU-T P.1203 tool. Export only: the reference software is licensed for
//! non-commercial research, so users run their own.
//!
//! Reference: ITU-T P.1203 (2017) clause 7 (inputs I.GEN, I.11, I.13, I.23); the JSON form is the one that tools read:
//! audio and video segments with `bitrate` (kbit/s), `codec`, `duration`, `start` (s), for video also `fps` and `resolution`
//! (mode 0), and stalls as `[media position, length]` in seconds with the start-up delay as a stall at 0.
//!
//! Differences: a segment's bit rate is its bytes over its duration, as measured, not the nominal one. A progressive session is
//! one segment.

use crate::PlaybackEvent;
use crate::summary::{Segment, Summary};
use serde_json::{Value, json};

/// What the events do not tell.
#[derive(Clone, Debug, PartialEq)]
pub struct P1203Settings {
    /// Video codec: "h264", "hevc", "vp9".
    pub video_codec: String,
    /// Pictures per second.
    pub fps: f64,
    /// Width and height of each representation; the last one holds for higher ones.
    pub resolutions: Vec<(u32, u32)>,
    /// Audio codec: "aaclc", "aac", "mp2", "ac3".
    pub audio_codec: String,
    /// "pc" or "mobile".
    pub device: String,
    /// Width and height of the display.
    pub display: (u32, u32),
    /// Distance of the viewer in cm.
    pub viewing_distance_cm: u32,
}

impl Default for P1203Settings {
    fn default() -> P1203Settings {
        P1203Settings {
            video_codec: "h264".into(),
            fps: 25.0,
            resolutions: vec![(1280, 720)],
            audio_codec: "aaclc".into(),
            device: "pc".into(),
            display: (1920, 1080),
            viewing_distance_cm: 150,
        }
    }
}

/// The input JSON of a session. Without audio segments `I11` is empty, which tools read as unknown audio.
pub fn p1203_input(events: &[PlaybackEvent], settings: &P1203Settings) -> Value {
    let session = Summary::of(events);
    let stalling: Vec<Value> = session.p1203_stalls().iter().map(|(at, length)| json!([at, length])).collect();
    json!({
        "I11": { "segments": audio_segments(&session, settings), "streamId": 1 },
        "I13": { "segments": video_segments(&session, settings), "streamId": 1 },
        "I23": { "stalling": stalling, "streamId": 1 },
        "IGen": {
            "device": settings.device,
            "displaySize": size(settings.display),
            "viewingDistance": format!("{}cm", settings.viewing_distance_cm),
        },
    })
}

fn video_segments(session: &Summary, settings: &P1203Settings) -> Vec<Value> {
    let resolution = |representation: u32| {
        let of_it = settings.resolutions.get(representation as usize).or(settings.resolutions.last());
        size(of_it.copied().unwrap_or(settings.display))
    };
    let video = |bitrate: f64, duration: f64, start: f64, representation: u32| {
        json!({ "bitrate": bitrate, "codec": settings.video_codec, "duration": duration, "fps": settings.fps,
            "resolution": resolution(representation), "start": start })
    };
    if session.segments.is_empty() {
        let played = session.totals.media_played.as_secs_f64();
        return session.media_rate_kbps.map(|rate| video(rate, played, 0.0, 0)).into_iter().collect();
    }
    with_starts(&session.segments)
        .map(|(start, s)| video(measured_kbps(s), s.duration.as_secs_f64(), start, s.representation))
        .collect()
}

fn audio_segments(session: &Summary, settings: &P1203Settings) -> Vec<Value> {
    let audio = |(start, s): (f64, &Segment)| {
        json!({ "bitrate": measured_kbps(s), "codec": settings.audio_codec, "duration": s.duration.as_secs_f64(),
            "start": start })
    };
    with_starts(&session.audio).map(audio).collect()
}

fn with_starts(segments: &[Segment]) -> impl Iterator<Item = (f64, &Segment)> {
    segments.iter().scan(0.0, |start, segment| {
        let at = *start;
        *start += segment.duration.as_secs_f64();
        Some((at, segment))
    })
}

fn measured_kbps(segment: &Segment) -> f64 {
    segment.body_bytes as f64 * 8.0 / 1e3 / segment.duration.as_secs_f64()
}

fn size((width, height): (u32, u32)) -> String {
    format!("{width}x{height}")
}
