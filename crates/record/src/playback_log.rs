//! Playback events as JSON: one object per entry with `time_s`, `event`, and the event's own fields (units in their names).

use playpath_video::{EventKind, FinishReason, ObjectRef, PlaybackEvent};
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
