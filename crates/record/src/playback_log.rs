//! Playback events as JSON: one object per entry with `time_s`, `event`, and the event's own fields (units in their names). Written
//! for records; read for the players of the kernel world, as far as figures follow from an entry.
//!
//! Tested: the figures of a session are those of its log as written and read.

use playpath_units::{Duration, Rate, Time};
use playpath_video::quality::{Measure, Scores};
use playpath_video::{DiscardCause, EventKind, FinishReason, ObjectKind, ObjectRef, PlaybackEvent, RequestId, Totals};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

/// A field of an event, its JSON type and what it is.
type Field = (&'static str, &'static [&'static str], &'static str);
/// An event, what it tells, its fields besides `event` and `time_s`.
pub type Event = (&'static str, &'static str, &'static [Field]);

const NUMBER: &[&str] = &["number"];
const WHOLE: &[&str] = &["integer"];
const TEXT: &[&str] = &["string"];
const MAYBE: &[&str] = &["number", "null"];
const POSITION: Field = ("position_s", NUMBER, "Position in the media.");
const REQUEST: Field = ("request", WHOLE, "Number of the request.");
const KIND: Field = ("kind", TEXT, "What is fetched: file, manifest, init, video, audio.");
const SEGMENT: Field = ("segment", WHOLE, "Number of the segment, from 0.");
const REPRESENTATION: Field = ("representation", WHOLE, "Rung of the ladder, from 0.");
const MEDIA_RATE: Field = ("rate_mbps", NUMBER, "Rate of the representation.");
const BODY: Field = ("body_bytes", WHOLE, "Size of the response's body.");

/// Every event with its fields, for the schema of a record.
pub const EVENTS: &[Event] = &[
    (
        "session_started",
        "The viewer pressed play.",
        &[
            ("media_duration_s", NUMBER, "Playing time."),
            ("media_rate_mbps", MAYBE, "Mean rate; null of adaptive video."),
        ],
    ),
    ("connected", "A connection is open.", &[("connection", WHOLE, "Its number.")]),
    ("request_sent", "A request went out.", &[REQUEST, BODY, KIND, SEGMENT, REPRESENTATION]),
    ("first_byte", "The first byte of a response came.", &[REQUEST]),
    ("buffer_filled", "The start-up buffer is full.", &[]),
    ("playback_started", "The first frame is shown.", &[]),
    ("underflow_start", "The buffer has less than playback needs.", &[POSITION]),
    ("underflow_end", "The buffer has recovered.", &[]),
    (
        "stall_start",
        "Playback stands still.",
        &[("since_s", NUMBER, "When the frame that is missing was due."), POSITION],
    ),
    ("stall_end", "Playback goes on.", &[("frozen_s", NUMBER, "How long the picture stood still.")]),
    ("clock_shifted", "The playback clock was set back.", &[("by_s", NUMBER, "By how much.")]),
    (
        "pictures_discarded",
        "Frames were not shown.",
        &[
            ("first", WHOLE, "Number of the first."),
            ("count", WHOLE, "How many."),
            ("cause", TEXT, "late, dependency (on a discarded frame) or skipped (on purpose)."),
        ],
    ),
    (
        "segment_decision",
        "The adaptation rule chose a representation.",
        &[
            MEDIA_RATE,
            ("buffer_level_s", NUMBER, "Media in the buffer."),
            ("estimate_mbps", MAYBE, "Throughput that the rule expects; null if it has no estimate."),
            ("reason", TEXT, "Why, in the rule's words."),
            KIND,
            SEGMENT,
            REPRESENTATION,
        ],
    ),
    (
        "segment_downloaded",
        "A segment is complete.",
        &[
            REQUEST,
            MEDIA_RATE,
            BODY,
            ("media_duration_s", NUMBER, "Playing time of the segment."),
            ("download_time_s", NUMBER, "From the request to the last byte."),
            ("is_late", &["boolean"], "Its playing had begun: what was there before is shown. Not there otherwise."),
            ("vmaf", NUMBER, "Its VMAF; not there where it was not measured."),
            ("ssimplus", NUMBER, "Its SSIMplus, likewise."),
            ("ssim", NUMBER, "Its SSIM, likewise."),
            KIND,
            SEGMENT,
            REPRESENTATION,
        ],
    ),
    ("request_abandoned", "A download was given up.", &[REQUEST]),
    ("host", "Requests go to this host from now on.", &[("host", WHOLE, "Its number, from 0.")]),
    (
        "request_failed",
        "A request was answered by an error, or not in time.",
        &[REQUEST, ("is_timeout", &["boolean"], "Nothing came in time.")],
    ),
    (
        "switch",
        "The representation changes.",
        &[SEGMENT, ("from", WHOLE, "Rung before."), ("to", WHOLE, "Rung from this segment on.")],
    ),
    (
        "live_latency",
        "Behind the live edge; between two of these entries it changes at an even pace.",
        &[("latency_s", NUMBER, "How far.")],
    ),
    ("speed_changed", "A live player goes on at another speed.", &[("speed", NUMBER, "1 is normal.")]),
    (
        "viewer_came",
        "The viewer's own limits, as drawn.",
        &[
            ("leaves_after_s", MAYBE, "Leaves so long after pressing play; null: watches to the end."),
            ("patience_s", MAYBE, "Leaves when nothing moves for so long; null: waits for ever."),
        ],
    ),
    (
        "seek_start",
        "The viewer goes to another place.",
        &[
            ("from_s", NUMBER, "Position in the media."),
            ("to_s", NUMBER, "Where to."),
            ("is_buffered", &["boolean"], "It is in the buffer: playback goes on at once."),
        ],
    ),
    ("seek_end", "Playback goes on there.", &[("waited_s", NUMBER, "Time without a picture.")]),
    (
        "unseen",
        "The viewer will not see what was fetched: a seek left it behind, or they left.",
        &[("bytes", WHOLE, "How much.")],
    ),
    (
        "packets_judged",
        "The streaming agent has judged packets.",
        &[
            ("packets", WHOLE, "How many."),
            ("late", WHOLE, "Of them after their time."),
            ("overflowed", WHOLE, "Of them dropped by a full buffer."),
        ],
    ),
    (
        "finished",
        "The session is over.",
        &[
            (
                "reason",
                TEXT,
                "played: to the end; gave_up: the player ended it; left: the viewer's time was over; lost_patience: they left because playback stood still; stopped: cut, by the end of the run for instance.",
            ),
            ("startup_s", NUMBER, "From the start to the first frame."),
            ("media_played_s", NUMBER, "Media that was shown."),
            ("media_discarded_s", NUMBER, "Media that was skipped."),
            ("clock_stopped_s", NUMBER, "Time without playback after the start."),
            ("seeking_s", NUMBER, "Time without playback because of seeks; not there where there was none."),
            (
                "gained_s",
                NUMBER,
                "By how much playback got ahead of the clock through its speed; not there where it did not.",
            ),
            ("pictures_shown", WHOLE, "Frames shown."),
            ("pictures_discarded", WHOLE, "Frames not shown."),
        ],
    ),
];

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
        EventKind::SegmentDownloaded {
            request,
            object,
            rate,
            body_bytes,
            media_duration,
            download_time,
            is_late,
            scores,
        } => {
            let mut json = json!({
                "event": "segment_downloaded",
                "request": request.0,
                "rate_mbps": rate.as_mbps(),
                "body_bytes": body_bytes,
                "media_duration_s": media_duration.as_secs_f64(),
                "download_time_s": download_time.as_secs_f64(),
            });
            if is_late {
                json["is_late"] = json!(true);
            }
            for (measure, score) in Measure::ALL.map(|measure| (measure, scores.get(measure))) {
                if let Some(score) = score {
                    json[measure.name()] = json!(score);
                }
            }
            with_object(json, object)
        }
        EventKind::RequestAbandoned(request) => json!({ "event": "request_abandoned", "request": request.0 }),
        EventKind::Host(host) => json!({ "event": "host", "host": host }),
        EventKind::RequestFailed { request, is_timeout } => {
            json!({ "event": "request_failed", "request": request.0, "is_timeout": is_timeout })
        }
        EventKind::Switch { segment, from, to } => {
            json!({ "event": "switch", "segment": segment, "from": from, "to": to })
        }
        EventKind::LiveLatency(latency) => json!({ "event": "live_latency", "latency_s": latency.as_secs_f64() }),
        EventKind::SpeedChanged { ppm } => json!({ "event": "speed_changed", "speed": f64::from(ppm) / 1e6 }),
        EventKind::PacketsJudged { packets, late, overflowed } => {
            json!({ "event": "packets_judged", "packets": packets, "late": late, "overflowed": overflowed })
        }
        EventKind::ViewerCame { leaves_after, patience } => json!({
            "event": "viewer_came",
            "leaves_after_s": leaves_after.map(|time| time.as_secs_f64()),
            "patience_s": patience.map(|time| time.as_secs_f64()),
        }),
        EventKind::SeekStart { from, to, is_buffered } => json!({
            "event": "seek_start", "from_s": from.as_secs_f64(), "to_s": to.as_secs_f64(), "is_buffered": is_buffered,
        }),
        EventKind::SeekEnd { waited } => json!({ "event": "seek_end", "waited_s": waited.as_secs_f64() }),
        EventKind::Unseen { bytes } => json!({ "event": "unseen", "bytes": bytes }),
        EventKind::Finished { reason, totals } => finished(reason, &totals),
    }
}

fn finished(reason: FinishReason, totals: &Totals) -> Value {
    let mut json = json!({
        "event": "finished",
        "reason": reason_word(reason),
        "startup_s": totals.startup.as_secs_f64(),
        "media_played_s": totals.media_played.as_secs_f64(),
        "media_discarded_s": totals.media_discarded.as_secs_f64(),
        "clock_stopped_s": totals.clock_stopped.as_secs_f64(),
        "pictures_shown": totals.pictures_shown,
        "pictures_discarded": totals.pictures_discarded,
    });
    if !totals.seeking.is_zero() {
        json["seeking_s"] = json!(totals.seeking.as_secs_f64());
    }
    if totals.gained_ns != 0 {
        json["gained_s"] = json!(totals.gained_ns as f64 / 1e9);
    }
    json
}

fn reason_word(reason: FinishReason) -> &'static str {
    match reason {
        FinishReason::Played => "played",
        FinishReason::GaveUp => "gave_up",
        FinishReason::Stopped => "stopped",
        FinishReason::Left => "left",
        FinishReason::LostPatience => "lost_patience",
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
    SpeedChanged {
        speed: f64,
    },
    Host {
        host: u8,
    },
    RequestFailed {
        request: u32,
        is_timeout: bool,
    },
    ViewerCame {
        leaves_after_s: Option<f64>,
        patience_s: Option<f64>,
    },
    SeekStart {
        from_s: f64,
        to_s: f64,
        is_buffered: bool,
    },
    SeekEnd {
        waited_s: f64,
    },
    Unseen {
        bytes: u64,
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
    #[serde(default)]
    is_late: bool,
    vmaf: Option<f64>,
    ssimplus: Option<f64>,
    ssim: Option<f64>,
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
            ToldKind::SpeedChanged { speed } => EventKind::SpeedChanged { ppm: (speed * 1e6).round() as u32 },
            ToldKind::Host { host } => EventKind::Host(host),
            ToldKind::RequestFailed { request, is_timeout } => {
                EventKind::RequestFailed { request: RequestId(request), is_timeout }
            }
            ToldKind::ViewerCame { leaves_after_s, patience_s } => {
                EventKind::ViewerCame { leaves_after: leaves_after_s.map(seconds), patience: patience_s.map(seconds) }
            }
            ToldKind::SeekStart { from_s, to_s, is_buffered } => {
                EventKind::SeekStart { from: seconds(from_s), to: seconds(to_s), is_buffered }
            }
            ToldKind::SeekEnd { waited_s } => EventKind::SeekEnd { waited: seconds(waited_s) },
            ToldKind::Unseen { bytes } => EventKind::Unseen { bytes },
            ToldKind::PacketsJudged { packets, late, overflowed } => {
                EventKind::PacketsJudged { packets, late, overflowed }
            }
            ToldKind::Finished { reason, startup_s, media_played_s } => EventKind::Finished {
                reason: [FinishReason::Played, FinishReason::GaveUp, FinishReason::Left, FinishReason::LostPatience]
                    .into_iter()
                    .find(|known| reason_word(*known) == reason)
                    .unwrap_or(FinishReason::Stopped),
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
            is_late: self.is_late,
            scores: Scores { vmaf: self.vmaf, ssimplus: self.ssimplus, ssim: self.ssim },
        })
    }
}

fn rate(mbps: f64) -> Rate {
    Rate::from_bits_per_sec((mbps * 1e6).round() as u64)
}
