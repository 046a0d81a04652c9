//! Playback events as JSON: one object per entry with `time_s`, `event`, and the event's own fields (units in their names). Written
//! for records; read for the players of the kernel world, as far as figures follow from an entry.
//!
//! Tested: the figures of a session are those of its log as written and read.

use playpath_units::{Duration, Rate, Time};
use playpath_video::{DiscardCause, EventKind, FinishReason, ObjectKind, ObjectRef, PlaybackEvent, RequestId, Totals};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

/// One log entry.
pub fn to_json(event: &PlaybackEvent) -> Value {
    let mut json = kind_json(&event.kind);
    json["time_s"] = json!(event.at.as_secs_f64());
    json
}

fn kind_json(kind: &EventKind) -> Value {
    match *kind {
        EventKind::SessionStarted { media_duration, media_rate } => json!({
            "event": "session_started",
            "media_duration_s": media_duration.as_secs_f64(),
            "media_rate_mbps": media_rate.map(|r| r.as_mbps()),
        }),
        EventKind::Connected(id) => json!({ "event": "connected", "connection": id.0 }),
        EventKind::RequestSent { request, object, body_bytes } => {
            with_object(json!({ "event": "request_sent", "request": request.0, "body_bytes": body_bytes }), object)
        }
        EventKind::FirstByte(request) => json!({ "event": "first_byte", "request": request.0 }),
        EventKind::BufferFilled => json!({ "event": "buffer_filled" }),
        EventKind::PlaybackStarted => json!({ "event": "playback_started" }),
        EventKind::UnderflowStart { position } => {
            json!({ "event": "underflow_start", "position_s": position.as_secs_f64() })
        }
        EventKind::UnderflowEnd => json!({ "event": "underflow_end" }),
        EventKind::StallStart { since, position } => {
            json!({ "event": "stall_start", "since_s": since.as_secs_f64(), "position_s": position.as_secs_f64() })
        }
        EventKind::StallEnd { frozen } => json!({ "event": "stall_end", "frozen_s": frozen.as_secs_f64() }),
        EventKind::ClockShifted { by } => json!({ "event": "clock_shifted", "by_s": by.as_secs_f64() }),
        EventKind::PicturesDiscarded { first, count, cause } => {
            json!({ "event": "pictures_discarded", "first": first, "count": count, "cause": format!("{cause:?}").to_lowercase() })
        }
        EventKind::SegmentDecision { object, rate, buffer_level, estimate, reason } => with_object(
            json!({
                "event": "segment_decision",
                "rate_mbps": rate.as_mbps(),
                "buffer_level_s": buffer_level.as_secs_f64(),
                "estimate_mbps": estimate.map(|r| r.as_mbps()),
                "reason": reason,
            }),
            object,
        ),
        EventKind::SegmentDownloaded { request, object, rate, body_bytes, media_duration, download_time } => {
            with_object(
                json!({
                    "event": "segment_downloaded",
                    "request": request.0,
                    "rate_mbps": rate.as_mbps(),
                    "body_bytes": body_bytes,
                    "media_duration_s": media_duration.as_secs_f64(),
                    "download_time_s": download_time.as_secs_f64(),
                }),
                object,
            )
        }
        EventKind::RequestAbandoned(request) => json!({ "event": "request_abandoned", "request": request.0 }),
        EventKind::Switch { segment, from, to } => {
            json!({ "event": "switch", "segment": segment, "from": from, "to": to })
        }
        EventKind::LiveLatency(latency) => json!({ "event": "live_latency", "latency_s": latency.as_secs_f64() }),
        EventKind::PacketsJudged { packets, late, overflowed } => {
            json!({ "event": "packets_judged", "packets": packets, "late": late, "overflowed": overflowed })
        }
        EventKind::Finished { reason, totals } => json!({
            "event": "finished",
            "reason": if reason == FinishReason::Played { "played" } else { "gave_up" },
            "startup_s": totals.startup.as_secs_f64(),
            "media_played_s": totals.media_played.as_secs_f64(),
            "media_discarded_s": totals.media_discarded.as_secs_f64(),
            "clock_stopped_s": totals.clock_stopped.as_secs_f64(),
            "pictures_shown": totals.pictures_shown,
            "pictures_discarded": totals.pictures_discarded,
        }),
    }
}

fn with_object(mut json: Value, object: ObjectRef) -> Value {
    json["kind"] = json!(format!("{:?}", object.kind).to_lowercase());
    json["segment"] = json!(object.segment);
    json["representation"] = json!(object.representation);
    json
}

/// An entry as a player of the kernel world writes it.
#[derive(Deserialize)]
struct Told {
    time_s: f64,
    #[serde(flatten)]
    kind: ToldKind,
}

/// The kinds that the summary of a session looks at.
#[derive(Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum ToldKind {
    SessionStarted {
        media_duration_s: f64,
        media_rate_mbps: Option<f64>,
    },
    BufferFilled,
    PlaybackStarted,
    UnderflowStart {
        position_s: f64,
    },
    StallStart {
        since_s: f64,
        position_s: f64,
    },
    StallEnd {
        frozen_s: f64,
    },
    PicturesDiscarded {
        count: u32,
    },
    SegmentDownloaded(ToldSegment),
    LiveLatency {
        latency_s: f64,
    },
    PacketsJudged {
        packets: u64,
        late: u64,
        overflowed: u64,
    },
    Finished {
        reason: String,
        startup_s: f64,
        media_played_s: f64,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct ToldSegment {
    kind: String,
    segment: u32,
    representation: u32,
    rate_mbps: f64,
    body_bytes: u64,
    media_duration_s: f64,
    download_time_s: f64,
}

/// The entries of a log that figures follow from; an unknown kind is left out.
pub fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<PlaybackEvent>, D::Error> {
    let entries = Vec::<Told>::deserialize(from)?;
    let event =
        |told: Told| Some(PlaybackEvent { at: Time::from_secs_f64(told.time_s), kind: told.kind.into_event()? });
    Ok(entries.into_iter().filter_map(event).collect())
}

impl ToldKind {
    fn into_event(self) -> Option<EventKind> {
        let seconds = Duration::from_secs_f64;
        Some(match self {
            ToldKind::SessionStarted { media_duration_s, media_rate_mbps } => EventKind::SessionStarted {
                media_duration: seconds(media_duration_s),
                media_rate: media_rate_mbps.map(rate),
            },
            ToldKind::BufferFilled => EventKind::BufferFilled,
            ToldKind::PlaybackStarted => EventKind::PlaybackStarted,
            ToldKind::UnderflowStart { position_s } => EventKind::UnderflowStart { position: seconds(position_s) },
            ToldKind::StallStart { since_s, position_s } => {
                EventKind::StallStart { since: Time::from_secs_f64(since_s), position: seconds(position_s) }
            }
            ToldKind::StallEnd { frozen_s } => EventKind::StallEnd { frozen: seconds(frozen_s) },
            ToldKind::PicturesDiscarded { count } => {
                EventKind::PicturesDiscarded { first: 0, count, cause: DiscardCause::Late }
            }
            ToldKind::SegmentDownloaded(segment) => segment.into_event()?,
            ToldKind::LiveLatency { latency_s } => EventKind::LiveLatency(seconds(latency_s)),
            ToldKind::PacketsJudged { packets, late, overflowed } => {
                EventKind::PacketsJudged { packets, late, overflowed }
            }
            ToldKind::Finished { reason, startup_s, media_played_s } => EventKind::Finished {
                reason: if reason == "played" { FinishReason::Played } else { FinishReason::Stopped },
                totals: Totals {
                    startup: seconds(startup_s),
                    media_played: seconds(media_played_s),
                    ..Totals::default()
                },
            },
            ToldKind::Other => return None,
        })
    }
}

impl ToldSegment {
    /// Only of what is shown or heard.
    fn into_event(self) -> Option<EventKind> {
        let kind = match self.kind.as_str() {
            "video" => ObjectKind::Video,
            "audio" => ObjectKind::Audio,
            _ => return None,
        };
        Some(EventKind::SegmentDownloaded {
            request: RequestId(0),
            object: ObjectRef { kind, segment: self.segment, representation: self.representation },
            rate: rate(self.rate_mbps),
            body_bytes: self.body_bytes,
            media_duration: Duration::from_secs_f64(self.media_duration_s),
            download_time: Duration::from_secs_f64(self.download_time_s),
        })
    }
}

fn rate(mbps: f64) -> Rate {
    Rate::from_bits_per_sec((mbps * 1e6).round() as u64)
}
