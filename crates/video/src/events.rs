//! Playback events: the log that all quality figures are computed from.
//!
//! One entry per change of state, never one per picture: pictures are counted in runs. Times are those of the run;
//! positions are on the media's own time line (first picture at 0).

use crate::quality::Scores;
use crate::{ConnectionId, ObjectRef, RequestId};
use playpath_units::{Duration, Rate, Time};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlaybackEvent {
    pub at: Time,
    pub kind: EventKind,
}

/// Why pictures were not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiscardCause {
    /// Complete later than due + threshold.
    Late,
    Dependency,
    /// Skipped on purpose (a live player jumps ahead).
    Skipped,
}

/// Why the session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishReason {
    /// The last picture's time is over.
    Played,
    GaveUp,
    /// Stopped from outside before the end.
    Stopped,
    /// The viewer left before the end.
    Left,
    /// The viewer left because playback stood still.
    LostPatience,
}

/// Final counts of a session. After a full playback `startup + media_played + media_discarded + clock_stopped + seeking - gained_ns`
/// is the time from start to end, whatever the player.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// From the start to the first picture.
    pub startup: Duration,
    /// Presentation time of the shown pictures (for a player without pictures: of the data that came in time).
    pub media_played: Duration,
    /// Presentation time of the discarded pictures (without pictures: of the late data).
    pub media_discarded: Duration,
    /// Time for which the media clock stood still (or was set back) after the first picture, waiting for late data after the
    /// media's end included.
    pub clock_stopped: Duration,
    /// Time from seeks to the first picture at their targets.
    pub seeking: Duration,
    /// Nanoseconds by which playback got ahead of the clock at speeds above 1, less what it fell behind at speeds below.
    pub gained_ns: i64,
    pub pictures_shown: u64,
    pub pictures_discarded: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EventKind {
    /// The viewer pressed play.
    SessionStarted {
        /// Duration of the media; [`Duration::MAX`] for an endless live stream.
        media_duration: Duration,
        /// Mean rate, if there is one representation only.
        media_rate: Option<Rate>,
    },
    Connected(ConnectionId),
    RequestSent {
        request: RequestId,
        object: ObjectRef,
        body_bytes: u64,
    },
    /// The first body byte of a response was read.
    FirstByte(RequestId),
    /// The playout buffer became full for the first time (or reached the share at which playout starts).
    BufferFilled,
    /// The first picture is shown.
    PlaybackStarted,
    /// The picture (or data) due is not there: an underflow event begins.
    UnderflowStart {
        position: Duration,
    },
    /// A picture was there when due: the underflow event is over.
    UnderflowEnd,
    /// The picture stands still for lack of data.
    StallStart {
        /// When the missing picture was due; earlier than `at` where a player tolerates some lateness first.
        since: Time,
        /// Media position of the missing picture.
        position: Duration,
    },
    /// Pictures move again. A player that catches up shows single pictures in between: `frozen` leaves those times out.
    StallEnd {
        /// Time that the picture stood still between `since` and `at`.
        frozen: Duration,
    },
    /// The media clock was set back to wait for the data.
    ClockShifted {
        by: Duration,
    },
    /// A run of consecutive pictures was not shown; logged when the run ends.
    PicturesDiscarded {
        /// Presentation number of the first one, from 0.
        first: u32,
        count: u32,
        cause: DiscardCause,
    },
    /// An adaptation rule chose.
    SegmentDecision {
        object: ObjectRef,
        rate: Rate,
        buffer_level: Duration,
        /// Throughput estimate, if the rule has one.
        estimate: Option<Rate>,
        /// Why, in the rule's words.
        reason: &'static str,
    },
    SegmentDownloaded {
        request: RequestId,
        object: ObjectRef,
        rate: Rate,
        body_bytes: u64,
        media_duration: Duration,
        /// From request to last byte.
        download_time: Duration,
        /// Its playing had begun: the viewer sees what was there before.
        is_late: bool,
        /// Its quality, as far as the ladder tells it.
        scores: Scores,
    },
    RequestAbandoned(RequestId),
    /// Requests go to this host from now on; logged where an origin is modelled.
    Host(u8),
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
    LiveLatency(Duration),
    /// Playback goes on at this speed: a live player comes nearer to its target, or falls back to it.
    SpeedChanged {
        /// Parts in a million of normal speed.
        ppm: u32,
    },
    ViewerCame {
        /// Leaves so long after pressing play.
        leaves_after: Option<Duration>,
        /// Leaves when nothing moves for so long.
        patience: Option<Duration>,
    },
    SeekStart {
        from: Duration,
        to: Duration,
        /// It is in the buffer: playback goes on there at once, and no [`SeekEnd`](Self::SeekEnd) follows.
        is_buffered: bool,
    },
    /// Pictures move at the target of the last seek.
    SeekEnd {
        /// Time since the first of the seeks that this one ends.
        waited: Duration,
    },
    /// The viewer will not see these body bytes: left behind by a seek, or in the buffer when they left.
    Unseen {
        bytes: u64,
    },
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
        reason: FinishReason,
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
        self.events.push(PlaybackEvent { at, kind });
    }

    pub fn as_slice(&self) -> &[PlaybackEvent] {
        &self.events
    }
}
