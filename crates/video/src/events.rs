//! Playback events: the log that all quality figures are computed from.
//!
//! One entry per change of state, never one per picture: pictures are counted in runs. Times are those of the run;
//! positions are on the media's own time line (first picture at 0).

use crate::number::{MaybeNumber, Number};
use crate::quality::Scores;
use crate::{ConnectionId, ObjectRef, RequestId};
use playpath_units::{Duration, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// As JSON an object with `event`, the event's own fields, their units in their names, and `time_s`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlaybackEvent {
    #[serde(flatten)]
    pub kind: EventKind,
    #[serde(rename = "time_s", with = "Number")]
    pub at: Time,
}

fn is_zero<T: Default + PartialEq>(held: &T) -> bool {
    *held == T::default()
}

/// Why pictures were not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiscardCause {
    /// Complete later than due + threshold.
    Late,
    Dependency,
    /// Skipped on purpose (a live player jumps ahead).
    Skipped,
}

/// Why the session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The last picture's time is over.
    Played,
    GaveUp,
    /// Stopped from outside before the end.
    Stopped,
    /// The viewer left before the end.
    Left,
    /// The viewer left because playback stood still.
    GaveUpWaiting,
}

/// Final counts of a session. After a full playback `startup + media_played + media_discarded + clock_stopped + seeking - gained_ns`
/// is the time from start to end, whatever the player.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Totals {
    /// From the start to the first picture.
    #[serde(rename = "startup_s", with = "Number")]
    pub startup: Duration,
    /// Presentation time of the shown pictures (for a player without pictures: of the data that came in time).
    #[serde(rename = "media_played_s", with = "Number")]
    pub media_played: Duration,
    /// Presentation time of the discarded pictures (without pictures: of the late data).
    #[serde(rename = "media_discarded_s", with = "Number")]
    pub media_discarded: Duration,
    /// Time for which the media clock stood still (or was set back) after the first picture, waiting for late data after the
    /// media's end included.
    #[serde(rename = "clock_stopped_s", with = "Number")]
    pub clock_stopped: Duration,
    pub pictures_shown: u64,
    pub pictures_discarded: u64,
    /// Time from seeks to the first picture at their targets; absent in JSON where there was none.
    #[serde(rename = "seeking_s", with = "Number", default, skip_serializing_if = "is_zero")]
    pub seeking: Duration,
    /// Time by which playback got ahead of the clock at speeds above 1, less what it fell behind at speeds below; in nanoseconds, in JSON
    /// in seconds and absent where it is zero.
    #[serde(rename = "gained_s", with = "Number", default, skip_serializing_if = "is_zero")]
    pub gained_ns: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventKind {
    /// The viewer pressed play.
    SessionStarted {
        /// Duration of the media; of an endless live stream the longest that there is (`Duration::MAX`).
        #[serde(rename = "media_duration_s", with = "Number")]
        media_duration: Duration,
        /// Mean rate, if there is one representation only; else null.
        #[serde(rename = "media_rate_mbps", with = "MaybeNumber", default)]
        media_rate: Option<Rate>,
    },
    /// A connection is open.
    Connected { connection: ConnectionId },
    /// A request went out.
    RequestSent {
        request: RequestId,
        /// Size of the response's body.
        body_bytes: u64,
        #[serde(flatten)]
        object: ObjectRef,
    },
    /// The first body byte of a response was read.
    FirstByte { request: RequestId },
    /// The playout buffer became full for the first time (or reached the share at which playout starts).
    BufferFilled,
    /// The first picture is shown.
    PlaybackStarted,
    /// The picture (or data) due is not there: an underflow event begins.
    UnderflowStart {
        /// In the media.
        #[serde(rename = "position_s", with = "Number")]
        position: Duration,
    },
    /// A picture was there when due: the underflow event is over.
    UnderflowEnd,
    /// The picture stands still for lack of data.
    StallStart {
        /// When the missing picture was due; earlier than the event where a player tolerates some lateness first.
        #[serde(rename = "since_s", with = "Number")]
        since: Time,
        /// Media position of the missing picture.
        #[serde(rename = "position_s", with = "Number")]
        position: Duration,
    },
    /// Pictures move again. A player that catches up shows single pictures in between: `frozen` leaves those times out.
    StallEnd {
        /// Time that the picture stood still since the missing picture was due.
        #[serde(rename = "frozen_s", with = "Number")]
        frozen: Duration,
    },
    /// The media clock was set back to wait for the data.
    ClockShifted {
        #[serde(rename = "by_s", with = "Number")]
        by: Duration,
    },
    /// A run of consecutive pictures was not shown; logged when the run ends.
    PicturesDiscarded {
        /// Presentation number of the first one, from 0.
        first: u32,
        count: u32,
        /// late, dependency (on a discarded picture) or skipped (on purpose).
        #[schemars(with = "String")]
        cause: DiscardCause,
    },
    /// An adaptation rule chose.
    SegmentDecision {
        /// Of the representation.
        #[serde(rename = "rate_mbps", with = "Number")]
        rate: Rate,
        #[serde(rename = "buffer_level_s", with = "Number")]
        buffer_level: Duration,
        /// Throughput estimate; null if the rule has none.
        #[serde(rename = "estimate_mbps", with = "MaybeNumber", default)]
        estimate: Option<Rate>,
        /// Why, in the rule's words. Reading leaves them out: nothing follows from them.
        #[serde(skip_deserializing)]
        #[schemars(with = "String")]
        reason: &'static str,
        #[serde(flatten)]
        object: ObjectRef,
    },
    /// A segment is complete.
    SegmentDownloaded {
        request: RequestId,
        /// Of the representation.
        #[serde(rename = "rate_mbps", with = "Number")]
        rate: Rate,
        /// Size of the response's body.
        body_bytes: u64,
        /// Playing time of the segment.
        #[serde(rename = "media_duration_s", with = "Number")]
        media_duration: Duration,
        /// From request to last byte.
        #[serde(rename = "download_time_s", with = "Number")]
        download_time: Duration,
        /// Its playing had begun: the viewer sees what was there before. Absent in JSON otherwise.
        #[serde(default, skip_serializing_if = "is_zero")]
        is_late: bool,
        /// Its quality, as far as the ladder tells it.
        #[serde(flatten)]
        scores: Scores,
        #[serde(flatten)]
        object: ObjectRef,
    },
    /// A download was given up.
    RequestAbandoned { request: RequestId },
    /// Requests go to this host from now on; logged where an origin is modelled.
    Host {
        /// Its number, from 0.
        host: u8,
    },
    /// A request was answered by an error, or not in time.
    RequestFailed {
        request: RequestId,
        /// Nothing came in time.
        is_timeout: bool,
    },
    /// Shown video changes its representation from the segment before to this one.
    Switch {
        /// First segment of the new representation.
        segment: u32,
        /// Representation before.
        from: u32,
        to: u32,
    },
    /// How far a live player is behind the live edge. Between two such entries it changes at an even pace.
    LiveLatency {
        #[serde(rename = "latency_s", with = "Number")]
        latency: Duration,
    },
    /// A live viewer joined within a segment.
    Joined {
        /// Where the first picture lies in the media.
        #[serde(rename = "position_s", with = "Number")]
        position: Duration,
    },
    /// Playback goes on at this speed: a live player comes nearer to its target, or falls back to it.
    SpeedChanged {
        /// Parts in a million of normal speed; in JSON 1 is normal.
        #[serde(rename = "speed", with = "Number")]
        ppm: u32,
    },
    /// The viewer's own limits, as drawn.
    ViewerCame {
        /// Leaves so long after pressing play; null: watches to the end.
        #[serde(rename = "leaves_after_s", with = "MaybeNumber", default)]
        leaves_after: Option<Duration>,
        /// Leaves when nothing moves for so long; null: waits for ever.
        #[serde(rename = "patience_s", with = "MaybeNumber", default)]
        patience: Option<Duration>,
    },
    /// The viewer goes to another place in the media.
    SeekStart {
        #[serde(rename = "from_s", with = "Number")]
        from: Duration,
        #[serde(rename = "to_s", with = "Number")]
        to: Duration,
        /// It is in the buffer: playback goes on there at once, and no end of the seek follows.
        is_buffered: bool,
    },
    /// Pictures move at the target of the last seek.
    SeekEnd {
        /// Time since the first of the seeks that this one ends.
        #[serde(rename = "waited_s", with = "Number")]
        waited: Duration,
    },
    /// The viewer will not see these body bytes: dropped by a seek, jumped over to the end, or in the buffer when they left.
    Unseen { bytes: u64 },
    /// Packets judged against their playout deadline since the last such entry (streaming agent).
    PacketsJudged {
        /// Packets whose fate is known.
        packets: u64,
        /// Those later than their deadline.
        late: u64,
        /// Those lost because a finite buffer was full.
        overflowed: u64,
    },
    /// The session is over; the last entry.
    Finished {
        /// played: to the end; gave_up: the player ended it; left: the viewer's time was over; lost_patience: they left because playback
        /// stood still; stopped: cut, by the end of the run for instance.
        #[schemars(with = "String")]
        reason: FinishReason,
        #[serde(flatten)]
        totals: Totals,
    },
}

/// A log under construction: keeps its order.
#[derive(Clone, Debug, Default)]
pub struct EventLog {
    events: Vec<PlaybackEvent>,
}

impl EventLog {
    /// Append. Panics in debug builds if time goes back: a broken invariant of the player.
    pub fn push(&mut self, at: Time, kind: EventKind) {
        debug_assert!(
            self.events.last().is_none_or(|last| last.at <= at),
            "event log goes back in time: {kind:?} at {at}"
        );
        self.events.push(PlaybackEvent { kind, at });
    }

    pub fn as_slice(&self) -> &[PlaybackEvent] {
        &self.events
    }
}
