//! The media clock of the DASH client: it starts, runs, stops when the buffer is empty, ends.
//!
//! A stall begins when the clock reaches the end of what can be shown and that is not the end of the media; data that arrive
//! at that very nanosecond are in time, so the wake-up is one nanosecond later. The showable media end earlier than the buffered media by
//! the decoder's delay: pictures that it cannot put in order before later ones arrive.

use crate::abr::PlayState;
use crate::events::{EventLog, Totals};
use crate::{DiscardCause, EventKind, FinishReason};
use playpath_units::{Duration, Time};

/// For the counts of pictures in the log.
const PICTURES_PER_SECOND: u128 = 25;
const TICK: Duration = Duration::from_nanos(1);

/// Normal speed, in parts in a million.
pub(super) const NORMAL: u32 = 1_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    StartingUp,
    Playing,
    Stalled(Time),
    /// Waits for the target of a seek, since when.
    Seeking(Time),
    Ended,
}

#[derive(Debug)]
pub(super) struct Playback {
    state: State,
    pub started_at: Time,
    /// Media position at `anchor`; it moves only while playing.
    position: Duration,
    anchor: Time,
    /// When the clock began to run, unless it is stopped.
    runs_since: Time,
    pub speed_ppm: u32,
    /// Media that is there without a further byte ends here.
    pub buffered_end: Duration,
    /// Media at its end that the decoder holds back until more arrives.
    decoder_delay: Duration,
    pub media_end: Duration,
    joined_at: Duration,
    startup: Duration,
    stalled: Duration,
    skipped: Duration,
    pictures_skipped: u32,
    /// Seeks that are over, and by how much they moved the position.
    seeking: Duration,
    moved_ns: i64,
    gained_ns: i64,
}

impl Playback {
    pub fn new(media_end: Duration, joined_at: Duration, decoder_delay: Duration) -> Playback {
        Playback {
            state: State::StartingUp,
            started_at: Time::ZERO,
            position: joined_at,
            anchor: Time::ZERO,
            runs_since: Time::ZERO,
            speed_ppm: NORMAL,
            buffered_end: joined_at,
            decoder_delay,
            media_end,
            joined_at,
            startup: Duration::ZERO,
            stalled: Duration::ZERO,
            skipped: Duration::ZERO,
            pictures_skipped: 0,
            seeking: Duration::ZERO,
            moved_ns: 0,
            gained_ns: 0,
        }
    }

    pub fn start_session(&mut self, now: Time) {
        (self.started_at, self.anchor) = (now, now);
    }

    pub fn state(&self) -> PlayState {
        match self.state {
            State::StartingUp => PlayState::StartingUp,
            State::Stalled(_) | State::Seeking(_) => PlayState::Stalled,
            State::Playing | State::Ended => PlayState::Playing,
        }
    }

    pub fn is_seeking(&self) -> bool {
        matches!(self.state, State::Seeking(_))
    }

    pub fn is_ended(&self) -> bool {
        self.state == State::Ended
    }

    pub fn position(&self, now: Time) -> Duration {
        match self.state {
            State::Playing => {
                (self.position + self.media_in(now.saturating_since(self.anchor))).min(self.runs_dry_at())
            }
            _ => self.position,
        }
    }

    /// Time of the last position update of a browser with this interval; now, if the clock is stopped.
    pub fn position_reported_at(&self, now: Time, every: Duration) -> Time {
        match self.state {
            State::Playing => {
                let updates = now.saturating_since(self.runs_since).as_nanos() / every.as_nanos().max(1);
                self.runs_since + Duration::from_nanos(every.as_nanos() * updates)
            }
            _ => now,
        }
    }

    /// Media that is played in `time` at the present speed.
    fn media_in(&self, time: Duration) -> Duration {
        if self.speed_ppm == NORMAL {
            return time;
        }
        let media = u128::from(time.as_nanos()) * u128::from(self.speed_ppm) / u128::from(NORMAL);
        Duration::from_nanos(u64::try_from(media).unwrap_or(u64::MAX))
    }

    /// Time that `media` takes at the present speed.
    fn time_for(&self, media: Duration) -> Duration {
        if self.speed_ppm == NORMAL {
            return media;
        }
        let time = (u128::from(media.as_nanos()) * u128::from(NORMAL)).div_ceil(u128::from(self.speed_ppm));
        Duration::from_nanos(u64::try_from(time).unwrap_or(u64::MAX))
    }

    /// The clock has played up to `position` at `at`.
    fn settle(&mut self, at: Time, position: Duration) {
        let (media, time) = (position.saturating_sub(self.position), at.saturating_since(self.anchor));
        self.gained_ns += media.as_nanos() as i64 - time.as_nanos() as i64;
        (self.position, self.anchor) = (position, at);
    }

    pub fn set_speed(&mut self, now: Time, ppm: u32, log: &mut EventLog) {
        debug_assert!(ppm > 0, "playback stands still only for lack of data");
        if ppm == self.speed_ppm {
            return;
        }
        if self.state == State::Playing {
            self.settle(now, self.position(now));
        }
        self.speed_ppm = ppm;
        log.push(now, EventKind::SpeedChanged { ppm });
    }

    /// When `position` is reached at the current speed; never while the clock is stopped.
    pub fn time_of(&self, position: Duration) -> Time {
        match self.state {
            State::Playing => self.anchor + self.time_for(position.saturating_sub(self.position)),
            _ => Time::MAX,
        }
    }

    /// It lies before the place from which the clock runs.
    pub fn is_past(&self, position: Duration) -> bool {
        position < self.position
    }

    pub fn set_buffered_end(&mut self, end: Duration) {
        self.buffered_end = end;
    }

    /// Position at which the clock stops if no further byte arrives: the end of the showable media.
    fn runs_dry_at(&self) -> Duration {
        match self.buffered_end == self.media_end {
            true => self.media_end,
            false => self.buffered_end.saturating_sub(self.decoder_delay).max(self.position),
        }
    }

    /// Enough is buffered to start or go on: `level`, and a picture that can be shown; or all that is left.
    pub fn can_run(&self, level: Duration) -> bool {
        let left = self.buffered_end.saturating_sub(self.position);
        self.buffered_end == self.media_end || (left >= level && left > self.decoder_delay)
    }

    /// Start or go on. Call only when [`can_run`](Self::can_run) allows it.
    pub fn run(&mut self, now: Time, log: &mut EventLog) {
        match self.state {
            State::StartingUp => {
                self.startup = now - self.started_at;
                log.push(now, EventKind::PlaybackStarted);
            }
            State::Stalled(since) => self.end_stall(now, since, log),
            State::Seeking(since) => self.end_seek(now, since, log),
            State::Playing | State::Ended => return,
        }
        (self.state, self.anchor, self.runs_since) = (State::Playing, now, now);
    }

    /// Bring the clock up to `now`: a stall or the end may lie before it.
    pub fn advance(&mut self, now: Time, log: &mut EventLog) {
        if self.state != State::Playing {
            return;
        }
        let dry = self.runs_dry_at();
        let runs_out = self.time_of(dry);
        if self.buffered_end == self.media_end {
            if now >= runs_out {
                self.settle(runs_out, self.media_end);
                self.finish(runs_out, FinishReason::Played, log);
            }
        } else if now > runs_out {
            self.settle(runs_out, dry);
            self.state = State::Stalled(runs_out);
            log.push(runs_out, EventKind::UnderflowStart { position: self.position });
            log.push(now, EventKind::StallStart { since: runs_out, position: self.position });
        }
    }

    /// When the last of the media is over, if that is by `now`.
    pub fn ends_by(&self, now: Time) -> Option<Time> {
        let is_all_there = self.state == State::Playing && self.buffered_end == self.media_end;
        is_all_there.then(|| self.time_of(self.media_end)).filter(|&end| end <= now)
    }

    pub fn stop(&mut self, now: Time, reason: FinishReason, log: &mut EventLog) {
        if self.state == State::Playing {
            self.settle(now, self.position(now));
        }
        if let State::Stalled(since) = self.state {
            self.end_stall(now, since, log);
        }
        if let State::Seeking(since) = self.state {
            self.end_seek(now, since, log);
        }
        if self.state == State::StartingUp {
            self.startup = now - self.started_at;
        }
        self.finish(now, reason, log);
    }

    /// Time of the clock's next event.
    pub fn timeout(&self) -> Time {
        let runs_out = self.time_of(self.runs_dry_at());
        if self.buffered_end == self.media_end { runs_out } else { runs_out + TICK }
    }

    /// Time lost in stalls and made up neither by skipping nor by speed.
    pub fn behind(&self, now: Time) -> Duration {
        let open = if let State::Stalled(since) = self.state { now.saturating_since(since) } else { Duration::ZERO };
        let gained = Duration::from_nanos(self.gained_ns.max(0).unsigned_abs());
        (self.stalled + open).saturating_sub(self.skipped).saturating_sub(gained)
    }

    /// Jump ahead, at most by [`behind`](Self::behind). Only while stalled.
    pub fn skip(&mut self, now: Time, by: Duration, log: &mut EventLog) {
        debug_assert!(by <= self.behind(now));
        let (first, end) = (pictures(self.position), pictures(self.position + by));
        self.position += by;
        self.skipped += by;
        self.pictures_skipped += end - first;
        self.buffered_end = self.buffered_end.max(self.position);
        let count = end - first;
        log.push(now, EventKind::PicturesDiscarded { first, count, cause: DiscardCause::Skipped });
    }

    /// Move to `to`. If that is not in the buffer, the clock stops until it is; a current stall ends.
    pub fn seek(&mut self, now: Time, to: Duration, is_buffered: bool, log: &mut EventLog) {
        match self.state {
            State::Playing => self.settle(now, self.position(now)),
            State::Stalled(since) => self.end_stall(now, since, log),
            State::StartingUp | State::Seeking(_) | State::Ended => {}
        }
        log.push(now, EventKind::SeekStart { from: self.position, to, is_buffered });
        self.moved_ns += to.as_nanos() as i64 - self.position.as_nanos() as i64;
        self.position = to;
        self.state = match self.state {
            State::Stalled(_) | State::Playing if is_buffered => State::Playing,
            State::Stalled(_) | State::Playing => State::Seeking(now),
            other => other,
        };
        (self.anchor, self.runs_since) = (now, now);
    }

    fn end_seek(&mut self, now: Time, since: Time, log: &mut EventLog) {
        let waited = now - since;
        self.seeking += waited;
        log.push(now, EventKind::SeekEnd { waited });
    }

    fn end_stall(&mut self, now: Time, since: Time, log: &mut EventLog) {
        let frozen = now - since;
        self.stalled += frozen;
        log.push(now, EventKind::ClockShifted { by: frozen });
        log.push(now, EventKind::UnderflowEnd);
        log.push(now, EventKind::StallEnd { frozen });
    }

    fn finish(&mut self, at: Time, reason: FinishReason, log: &mut EventLog) {
        self.state = State::Ended;
        let pictures_discarded = u64::from(self.pictures_skipped);
        let passed = (self.position - self.joined_at).as_nanos() as i64 - self.moved_ns;
        let passed = Duration::from_nanos(passed.max(0).unsigned_abs());
        let totals = Totals {
            startup: self.startup,
            media_played: passed - self.skipped,
            media_discarded: self.skipped,
            // A skip makes up for time that the clock stood still.
            clock_stopped: self.stalled - self.skipped,
            seeking: self.seeking,
            gained_ns: self.gained_ns,
            pictures_shown: u64::from(pictures(passed)) - pictures_discarded,
            pictures_discarded,
        };
        log.push(at, EventKind::Finished { reason, totals });
    }
}

fn pictures(media: Duration) -> u32 {
    let count = u128::from(media.as_nanos()) * PICTURES_PER_SECOND / 1_000_000_000;
    u32::try_from(count).unwrap_or(u32::MAX)
}
