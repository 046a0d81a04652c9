//! Playback events as JSON: one object per entry with `event`, the event's own fields (units in their names) and `time_s`. Every
//! event stands once, in `events!` below: what the schema of a record says of it, how it is written, and how it is read from the
//! players of the kernel world.
//!
//! Tested: the figures of a session are those of its log as written and read.

use playpath_units::{Duration, Rate, Time};
use playpath_video::quality::Scores;
use playpath_video::{
    ConnectionId, DiscardCause, EventKind, FinishReason, ObjectKind, ObjectRef, PlaybackEvent, RequestId, Totals,
};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};
use std::marker::PhantomData;

/// A field of an event, its JSON types and what it is.
type Field = (&'static str, &'static [&'static str], &'static str);
/// An event, what it tells, its fields besides `event` and `time_s`.
pub type Event = (&'static str, &'static str, &'static [Field]);

/// Entries `name, what it tells, [what it is in Rust], fields;` with a field's variable, form, name and meaning. What stands in the
/// brackets takes an event apart when it is written, and puts it together when it is read.
macro_rules! events {
    ($($event:literal, $doc:literal, [$($kind:tt)*] $(, $held:ident: $form:ty = $field:expr)*;)*) => {
        /// Every event with its fields, for the schema of a record.
        pub const EVENTS: &[Event] =
            &[$(($event, $doc, &[$(($field.0, <$form as Form>::TYPES, $field.1)),*])),*];

        fn write(kind: &EventKind) -> Map<String, Value> {
            match *kind {
                $($($kind)* => {
                    let fields: &[(&str, Option<Value>)] = &[$(($field.0, <$form>::write($held))),*];
                    object($event, fields)
                })*
            }
        }

        /// `None`: an event that is not known.
        fn read_kind(event: &str, fields: &Map<String, Value>) -> Result<Option<EventKind>, String> {
            Ok(Some(match event {
                $($event => {
                    $(let $held = take::<$form>(event, fields, $field.0)?;)*
                    $($kind)*
                })*
                _ => return Ok(None),
            }))
        }
    };
}

const POSITION: (&str, &str) = ("position_s", "Position in the media.");
const REQUEST: (&str, &str) = ("request", "Number of the request.");
const KIND: (&str, &str) = ("kind", "What is fetched: file, manifest, init, video, audio.");
const SEGMENT: (&str, &str) = ("segment", "Number of the segment, from 0.");
const REPRESENTATION: (&str, &str) = ("representation", "Rung of the ladder, from 0.");
const MEDIA_RATE: (&str, &str) = ("rate_mbps", "Rate of the representation.");
const BODY: (&str, &str) = ("body_bytes", "Size of the response's body.");

events! {
    "session_started", "The viewer pressed play.",
    [EventKind::SessionStarted { media_duration, media_rate }],
    media_duration: Seconds = ("media_duration_s", "Playing time."),
    media_rate: Maybe<Mbps> = ("media_rate_mbps", "Mean rate; null of adaptive video.");

    "connected", "A connection is open.",
    [EventKind::Connected(ConnectionId(connection))],
    connection: Whole<u32> = ("connection", "Its number.");

    "request_sent", "A request went out.",
    [EventKind::RequestSent {
        request: RequestId(request),
        object: ObjectRef { kind, segment, representation },
        body_bytes,
    }],
    request: Whole<u32> = REQUEST,
    body_bytes: Whole<u64> = BODY,
    kind: Word<ObjectKind> = KIND,
    segment: Whole<u32> = SEGMENT,
    representation: Whole<u32> = REPRESENTATION;

    "first_byte", "The first byte of a response came.",
    [EventKind::FirstByte(RequestId(request))],
    request: Whole<u32> = REQUEST;

    "buffer_filled", "The start-up buffer is full.", [EventKind::BufferFilled];

    "playback_started", "The first frame is shown.", [EventKind::PlaybackStarted];

    "underflow_start", "The buffer has less than playback needs.",
    [EventKind::UnderflowStart { position }],
    position: Seconds = POSITION;

    "underflow_end", "The buffer has recovered.", [EventKind::UnderflowEnd];

    "stall_start", "Playback stands still.",
    [EventKind::StallStart { since, position }],
    since: Moment = ("since_s", "When the frame that is missing was due."),
    position: Seconds = POSITION;

    "stall_end", "Playback goes on.",
    [EventKind::StallEnd { frozen }],
    frozen: Seconds = ("frozen_s", "How long the picture stood still.");

    "clock_shifted", "The playback clock was set back.",
    [EventKind::ClockShifted { by }],
    by: Seconds = ("by_s", "By how much.");

    "pictures_discarded", "Frames were not shown.",
    [EventKind::PicturesDiscarded { first, count, cause }],
    first: Whole<u32> = ("first", "Number of the first."),
    count: Whole<u32> = ("count", "How many."),
    cause: Word<DiscardCause> = ("cause", "late, dependency (on a discarded frame) or skipped (on purpose).");

    "segment_decision", "The adaptation rule chose a representation.",
    [EventKind::SegmentDecision {
        object: ObjectRef { kind, segment, representation },
        rate,
        buffer_level,
        estimate,
        reason,
    }],
    rate: Mbps = MEDIA_RATE,
    buffer_level: Seconds = ("buffer_level_s", "Media in the buffer."),
    estimate: Maybe<Mbps> = ("estimate_mbps", "Throughput that the rule expects; null if it has no estimate."),
    reason: Reason = ("reason", "Why, in the rule's words."),
    kind: Word<ObjectKind> = KIND,
    segment: Whole<u32> = SEGMENT,
    representation: Whole<u32> = REPRESENTATION;

    "segment_downloaded", "A segment is complete.",
    [EventKind::SegmentDownloaded {
        request: RequestId(request),
        object: ObjectRef { kind, segment, representation },
        rate,
        body_bytes,
        media_duration,
        download_time,
        is_late,
        scores: Scores { vmaf, ssimplus, ssim },
    }],
    request: Whole<u32> = REQUEST,
    rate: Mbps = MEDIA_RATE,
    body_bytes: Whole<u64> = BODY,
    media_duration: Seconds = ("media_duration_s", "Playing time of the segment."),
    download_time: Seconds = ("download_time_s", "From the request to the last byte."),
    is_late: Rare<Flag> =
        ("is_late", "Its playing had begun: what was there before is shown. Not there otherwise."),
    vmaf: Score = ("vmaf", "Its VMAF; not there where it was not measured."),
    ssimplus: Score = ("ssimplus", "Its SSIMplus, likewise."),
    ssim: Score = ("ssim", "Its SSIM, likewise."),
    kind: Word<ObjectKind> = KIND,
    segment: Whole<u32> = SEGMENT,
    representation: Whole<u32> = REPRESENTATION;

    "request_abandoned", "A download was given up.",
    [EventKind::RequestAbandoned(RequestId(request))],
    request: Whole<u32> = REQUEST;

    "host", "Requests go to this host from now on.",
    [EventKind::Host(host)],
    host: Whole<u8> = ("host", "Its number, from 0.");

    "request_failed", "A request was answered by an error, or not in time.",
    [EventKind::RequestFailed { request: RequestId(request), is_timeout }],
    request: Whole<u32> = REQUEST,
    is_timeout: Flag = ("is_timeout", "Nothing came in time.");

    "switch", "The representation changes.",
    [EventKind::Switch { segment, from, to }],
    segment: Whole<u32> = SEGMENT,
    from: Whole<u32> = ("from", "Rung before."),
    to: Whole<u32> = ("to", "Rung from this segment on.");

    "live_latency", "Behind the live edge; between two of these entries it changes at an even pace.",
    [EventKind::LiveLatency(latency)],
    latency: Seconds = ("latency_s", "How far.");

    "speed_changed", "A live player goes on at another speed.",
    [EventKind::SpeedChanged { ppm }],
    ppm: Speed = ("speed", "1 is normal.");

    "viewer_came", "The viewer's own limits, as drawn.",
    [EventKind::ViewerCame { leaves_after, patience }],
    leaves_after: Maybe<Seconds> =
        ("leaves_after_s", "Leaves so long after pressing play; null: watches to the end."),
    patience: Maybe<Seconds> = ("patience_s", "Leaves when nothing moves for so long; null: waits for ever.");

    "seek_start", "The viewer goes to another place.",
    [EventKind::SeekStart { from, to, is_buffered }],
    from: Seconds = ("from_s", "Position in the media."),
    to: Seconds = ("to_s", "Where to."),
    is_buffered: Flag = ("is_buffered", "It is in the buffer: playback goes on at once.");

    "seek_end", "Playback goes on there.",
    [EventKind::SeekEnd { waited }],
    waited: Seconds = ("waited_s", "Time without a picture.");

    "unseen", "The viewer will not see what was fetched: a seek left it behind, or they left.",
    [EventKind::Unseen { bytes }],
    bytes: Whole<u64> = ("bytes", "How much.");

    "packets_judged", "The streaming agent has judged packets.",
    [EventKind::PacketsJudged { packets, late, overflowed }],
    packets: Whole<u64> = ("packets", "How many."),
    late: Whole<u64> = ("late", "Of them after their time."),
    overflowed: Whole<u64> = ("overflowed", "Of them dropped by a full buffer.");

    "finished", "The session is over.",
    [EventKind::Finished {
        reason,
        totals: Totals {
            startup,
            media_played,
            media_discarded,
            clock_stopped,
            seeking,
            gained_ns,
            pictures_shown,
            pictures_discarded,
        },
    }],
    reason: Word<FinishReason> = (
        "reason",
        "played: to the end; gave_up: the player ended it; left: the viewer's time was over; lost_patience: they left because playback stood still; stopped: cut, by the end of the run for instance.",
    ),
    startup: Seconds = ("startup_s", "From the start to the first frame."),
    media_played: Seconds = ("media_played_s", "Media that was shown."),
    media_discarded: Seconds = ("media_discarded_s", "Media that was skipped."),
    clock_stopped: Seconds = ("clock_stopped_s", "Time without playback after the start."),
    pictures_shown: Whole<u64> = ("pictures_shown", "Frames shown."),
    pictures_discarded: Whole<u64> = ("pictures_discarded", "Frames not shown."),
    seeking: Rare<Seconds> =
        ("seeking_s", "Time without playback because of seeks; not there where there was none."),
    gained_ns: Rare<Gain> = (
        "gained_s",
        "By how much playback got ahead of the clock through its speed; not there where it did not.",
    );
}

pub fn to_json(event: &PlaybackEvent) -> Value {
    let mut json = write(&event.kind);
    json.insert("time_s".into(), json!(event.at.as_secs_f64()));
    Value::Object(json)
}

/// The entries of a log; one of an unknown kind is left out.
pub fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<PlaybackEvent>, D::Error> {
    let entries = Vec::<Map<String, Value>>::deserialize(from)?;
    let events = entries.iter().map(entry).filter_map(Result::transpose);
    events.collect::<Result<_, String>>().map_err(D::Error::custom)
}

fn entry(fields: &Map<String, Value>) -> Result<Option<PlaybackEvent>, String> {
    let event = fields.get("event").and_then(Value::as_str).ok_or("an event without a name, `event`")?;
    let at = take::<Moment>(event, fields, "time_s")?;
    Ok(read_kind(event, fields)?.map(|kind| PlaybackEvent { at, kind }))
}

fn object(event: &str, fields: &[(&str, Option<Value>)]) -> Map<String, Value> {
    let there = fields.iter().filter_map(|(name, value)| Some((name.to_string(), value.clone()?)));
    std::iter::once(("event".to_string(), json!(event))).chain(there).collect()
}

fn take<F: Form>(event: &str, fields: &Map<String, Value>, field: &str) -> Result<F::Held, String> {
    let found = fields.get(field).unwrap_or(&Value::Null);
    F::read(found)
        .ok_or_else(|| format!("event {event}: `{field}` = {found}: must be of type {}", F::TYPES.join(" or ")))
}

trait Form {
    type Held;
    const TYPES: &'static [&'static str];
    /// `None`: it is left out.
    fn write(held: Self::Held) -> Option<Value>;
    /// Null stands for a field that is not there. `None`: it is not of this form.
    fn read(found: &Value) -> Option<Self::Held>;
}

/// Forms of one JSON number: `name, what it holds, how it is written, how it is read`.
macro_rules! numbers {
    ($($(#[$doc:meta])* $form:ident, $held:ty, $write:expr, $read:expr;)*) => {$(
        $(#[$doc])*
        struct $form;

        impl Form for $form {
            type Held = $held;
            const TYPES: &'static [&'static str] = &["number"];

            fn write(held: $held) -> Option<Value> {
                let write: fn($held) -> f64 = $write;
                Some(json!(write(held)))
            }

            fn read(found: &Value) -> Option<$held> {
                found.as_f64().map($read)
            }
        }
    )*};
}

numbers! {
    Seconds, Duration, |time| time.as_secs_f64(), Duration::from_secs_f64;
    Moment, Time, |time| time.as_secs_f64(), Time::from_secs_f64;
    Mbps, Rate, |rate| rate.as_mbps(), |mbps| Rate::from_bits_per_sec((mbps * 1e6).round() as u64);
    /// Parts in a million.
    Speed, u32, |ppm| f64::from(ppm) / 1e6, |speed| (speed * 1e6).round() as u32;
    /// Nanoseconds, of either sign.
    Gain, i64, |nanos| nanos as f64 / 1e9, |seconds| (seconds * 1e9).round() as i64;
}

struct Whole<T>(PhantomData<T>);

impl<T: Into<u64> + TryFrom<u64>> Form for Whole<T> {
    type Held = T;
    const TYPES: &'static [&'static str] = &["integer"];

    fn write(held: T) -> Option<Value> {
        Some(json!(held.into()))
    }

    fn read(found: &Value) -> Option<T> {
        found.as_u64().and_then(|number| number.try_into().ok())
    }
}

struct Flag;

impl Form for Flag {
    type Held = bool;
    const TYPES: &'static [&'static str] = &["boolean"];

    fn write(held: bool) -> Option<Value> {
        Some(json!(held))
    }

    fn read(found: &Value) -> Option<bool> {
        found.as_bool()
    }
}

/// Null where there is none.
struct Maybe<F>(PhantomData<F>);

impl<F: Form> Form for Maybe<F> {
    type Held = Option<F::Held>;
    const TYPES: &'static [&'static str] = &["number", "null"];

    fn write(held: Self::Held) -> Option<Value> {
        Some(held.and_then(F::write).unwrap_or(Value::Null))
    }

    fn read(found: &Value) -> Option<Self::Held> {
        if found.is_null() { Some(None) } else { F::read(found).map(Some) }
    }
}

/// Left out where it is nothing: false, zero.
struct Rare<F>(PhantomData<F>);

impl<F: Form<Held: Default + PartialEq>> Form for Rare<F> {
    type Held = F::Held;
    const TYPES: &'static [&'static str] = F::TYPES;

    fn write(held: Self::Held) -> Option<Value> {
        (held != F::Held::default()).then(|| F::write(held)).flatten()
    }

    fn read(found: &Value) -> Option<Self::Held> {
        if found.is_null() { Some(F::Held::default()) } else { F::read(found) }
    }
}

/// Of a segment's quality; left out where it was not measured.
struct Score;

impl Form for Score {
    type Held = Option<f64>;
    const TYPES: &'static [&'static str] = &["number"];

    fn write(held: Option<f64>) -> Option<Value> {
        held.map(|score| json!(score))
    }

    fn read(found: &Value) -> Option<Option<f64>> {
        if found.is_null() { Some(None) } else { found.as_f64().map(Some) }
    }
}

/// A rule's own words. Reading leaves them out: nothing follows from them.
struct Reason;

impl Form for Reason {
    type Held = &'static str;
    const TYPES: &'static [&'static str] = &["string"];

    fn write(held: &'static str) -> Option<Value> {
        Some(json!(held))
    }

    fn read(found: &Value) -> Option<&'static str> {
        found.is_string().then_some("")
    }
}

struct Word<T>(PhantomData<T>);

trait Words: Copy + PartialEq + 'static {
    const WORDS: &'static [(Self, &'static str)];
}

impl<T: Words> Form for Word<T> {
    type Held = T;
    const TYPES: &'static [&'static str] = &["string"];

    fn write(held: T) -> Option<Value> {
        T::WORDS.iter().find(|(known, _)| *known == held).map(|(_, word)| json!(word))
    }

    fn read(found: &Value) -> Option<T> {
        T::WORDS.iter().find(|(_, word)| found == word).map(|(known, _)| *known)
    }
}

impl Words for ObjectKind {
    const WORDS: &'static [(ObjectKind, &'static str)] = &[
        (ObjectKind::File, "file"),
        (ObjectKind::Manifest, "manifest"),
        (ObjectKind::Init, "init"),
        (ObjectKind::Video, "video"),
        (ObjectKind::Audio, "audio"),
        (ObjectKind::Report, "report"),
    ];
}

impl Words for DiscardCause {
    const WORDS: &'static [(DiscardCause, &'static str)] =
        &[(DiscardCause::Late, "late"), (DiscardCause::Dependency, "dependency"), (DiscardCause::Skipped, "skipped")];
}

impl Words for FinishReason {
    const WORDS: &'static [(FinishReason, &'static str)] = &[
        (FinishReason::Played, "played"),
        (FinishReason::GaveUp, "gave_up"),
        (FinishReason::Stopped, "stopped"),
        (FinishReason::Left, "left"),
        (FinishReason::LostPatience, "lost_patience"),
    ];
}
