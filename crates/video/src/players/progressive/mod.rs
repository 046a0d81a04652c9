//! The progressive player: one HTTP response for the whole file, a cache, and a clock.
//!
//! Reference: the client of the CCP papers (VLC over HTTP, `vlc --network-caching`), and HTML5 `<video src>` for `rebuffer`.
//! Rules, with position p the media clock and d(k) the due time of picture k:
//! - **Reading.** The client reads what its cache can hold and no more: for a cache in seconds everything that is presented up
//!   to p + cache; in bytes (or packets) the cache less what is read and not yet played. It always may read the next picture
//!   due to its end, so that a cache smaller than a picture cannot block.
//! - **Reading ahead.** With `read_ahead` it reads so much further: what players hold in front of what they call their
//!   buffer (`read_ahead.rs`). Clock and resumption look at the cache alone. What it does not read waits in the socket.
//! - **Start.** The clock starts when the cache is full (or the file is read), or `first-frame`: when the first picture is
//!   complete plus the cache's length.
//! - **catch-up** (VLC). The clock runs on. A picture complete at its due time is shown. One that is not begins an *underflow
//!   event*, which lasts until a picture is on time, however long. A late picture is shown if it is at most
//!   `late_threshold` (20 ms) late and discarded else. If it is later than `shift_after` (default: the cache), the clock is
//!   set back by the lateness, at most `max_shift` (5 s), and waits until the cache is full again.
//! - `late = "play-faster"`. The picture stands still and then goes on faster, `catch_up_rate` times, until all late pictures
//!   have been shown: the paper's "catch up". With `hurry_up` VLC's decoder leaves out pictures that no other needs while at
//!   least five in a row were late, and from twelve on whatever comes.
//! - `references`. Between pictures of different intervals the media has a clock reference. One that is read after the
//!   picture behind it was due stops the clock, which goes on from that picture with a full cache; the cache has grown by
//!   the median lateness of the last three, in all by `max_shift` at most (VLC's `pts_delay`).
//! - **rebuffer** (browsers). At a picture that is not complete when due the clock stops, and goes on when `resume`
//!   (default: the whole cache) is buffered. Nothing is discarded.
//!
//! Events: a *stall* is the time for which the picture stands still for lack of data. In `catch-up` it is counted from the
//! moment at which a picture misses its threshold, once per underflow event; pictures shown in between interrupt its
//! `frozen` time, not the event.
//!
//! Differences from the references:
//! 1. VLC's demuxers have clock references, by default ours has none: the shift happens from `shift_after` on, and the cache
//!    keeps its size, as the papers report one buffer size per run. `references = "250 ms"` is VLC's MP4 demuxer.
//! 2. At a late reference VLC also throws away what its decoders hold; here everything before it has been shown.
//! 3. The decoder takes no time; `drop_dependents` approximates decoders that break pictures, `hurry_up` those that skip.
//! 4. Audio takes its share of the bytes; it is not played, and never late on its own.
//!
//! Units: bytes, nanoseconds. Invariants: every picture is shown or discarded once; start-up + played + discarded + clock
//! stopped = elapsed; the work per picture and per call is constant and allocates nothing but log entries.
//! Tested: a dozen hand-computed timelines per policy, property tests over random media and arrivals.

mod config;
mod late;
mod player;
mod read_ahead;
mod reading;
mod screen;
mod settings;

pub use config::{Late, Policy, ProgressiveConfig, StartRule};
pub use read_ahead::ReadAhead;

use crate::buffer::Cache;
use crate::media::{Media, Picture};
use crate::registry::PlayerEntry;
use crate::{Action, ConnectionId, DiscardCause, EventKind, FinishReason, RequestId};
use late::{Faster, References};
use playpath_units::{Duration, Time};
use reading::Reading;
use screen::Screen;
use std::collections::VecDeque;
use std::sync::Arc;

const CONNECTION: ConnectionId = ConnectionId(0);
const REQUEST: RequestId = RequestId(0);
/// A picture is missing if it is not there one tick after it was due: arrival at the due time itself is in time.
const TICK: Duration = Duration::from_nanos(1);

pub(super) static ENTRY: PlayerEntry = PlayerEntry {
    name: "progressive",
    summary: "one HTTP response, a cache, and a clock: VLC's catch-up or a browser's rebuffering",
    reference: "Cavendish et al. 2015 (CCP), VLC; HTML5 video",
    params: settings::PARAMS,
    build: settings::build,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    /// Before the first picture; with rule `first-frame` the start may be set already.
    Filling {
        start_at: Time,
    },
    /// The clock runs; position 0 was due at `zero_at`.
    Playing {
        zero_at: Time,
    },
    /// The clock is stopped at `position`.
    Waiting {
        position: Duration,
        since: Time,
    },
    Ended,
}

pub struct ProgressivePlayer {
    config: ProgressiveConfig,
    media: Arc<Media>,
    cache: Cache,
    resume: Cache,
    shift_after: Duration,
    faster: Option<Faster>,
    references: Option<References>,
    phase: Phase,
    started_at: Time,
    reading: Reading,
    screen: Screen,
    /// Next picture in presentation order.
    next: usize,
    /// The next picture was not there when due.
    is_missing: bool,
    /// When the pictures so far came out, in presentation order: a picture is as late as the one before it at least. Ahead of
    /// the clock while late pictures are played faster: the one shown last stays until then.
    available_from: Time,
    /// Latest discarded reference picture, by decode index.
    broken_reference: Option<u32>,
    is_filled_once: bool,
    actions: VecDeque<Action>,
}

impl ProgressivePlayer {
    pub fn new(media: Arc<Media>, config: ProgressiveConfig) -> ProgressivePlayer {
        let cache = config.buffer.resolve(config.packet_bytes);
        ProgressivePlayer {
            cache,
            resume: match (config.policy, config.resume) {
                (Policy::Rebuffer, Some(resume)) => resume.resolve(config.packet_bytes),
                _ => cache,
            },
            faster: match config.late {
                Late::PlayFaster { rate, hurries_up } if config.policy == Policy::CatchUp => {
                    Some(Faster::new(rate, hurries_up))
                }
                _ => None,
            },
            references: config.references.filter(|_| config.policy == Policy::CatchUp).map(References::new),
            shift_after: config.shift_after.unwrap_or(cache.time(media.mean_rate)),
            reading: Reading::new(config.read_ahead.marks(media.mean_rate)),
            config,
            media,
            phase: Phase::Idle,
            started_at: Time::ZERO,
            screen: Screen::default(),
            next: 0,
            is_missing: false,
            available_from: Time::ZERO,
            broken_reference: None,
            is_filled_once: false,
            actions: VecDeque::new(),
        }
    }

    fn position(&self, now: Time) -> Duration {
        match self.phase {
            Phase::Idle | Phase::Filling { .. } => Duration::ZERO,
            Phase::Playing { zero_at } => now.saturating_since(zero_at),
            Phase::Waiting { position, .. } => position,
            Phase::Ended => self.media.duration,
        }
    }

    fn next_picture(&self) -> Option<Picture> {
        self.media.pictures.get(self.next).copied()
    }

    /// Bring everything up to `now`, then see how much may be read.
    fn advance(&mut self, now: Time) {
        while self.step(now) {}
        self.look(now);
    }

    fn look(&mut self, now: Time) {
        if self.phase == Phase::Ended {
            return;
        }
        let next_end = self.next_picture().map_or(self.media.total_bytes, |p| p.end_offset);
        let position = self.position(now);
        self.reading.update_target(&self.media, self.wanted(), position, next_end);
        self.note_full(now, position);
        if self.is_waiting_for_data() && self.is_filled(now) {
            self.start_clock(now);
            self.advance(now);
        }
    }

    /// The clock runs, and the next picture's turn comes later than `now`.
    #[inline]
    fn is_before_turn(&self, now: Time) -> bool {
        let Phase::Playing { zero_at } = self.phase else { return false };
        self.media.pictures.get(self.next).is_some_and(|picture| self.turn(zero_at + picture.presentation) > now)
    }

    /// All of the next picture was read.
    #[inline]
    fn has_next(&self) -> bool {
        self.media.pictures.get(self.next).is_some_and(|picture| self.reading.read >= picture.end_offset)
    }

    /// One change of state at or before `now`, if there is one.
    fn step(&mut self, now: Time) -> bool {
        match self.phase {
            Phase::Idle | Phase::Ended => false,
            Phase::Filling { start_at } => {
                let starts = start_at <= now;
                if starts {
                    self.start_clock(start_at);
                }
                starts
            }
            Phase::Playing { zero_at } => match self.media.pictures.get(self.next) {
                // Asked with every packet: mostly it is not its turn.
                Some(picture) if self.turn(zero_at + picture.presentation) > now => false,
                Some(&picture) => self.play(now, zero_at + picture.presentation, &picture),
                None => self.end_if_over(now, zero_at + self.media.duration),
            },
            Phase::Waiting { position, .. } => self.drop_overdue(now, position),
        }
    }

    /// The clock runs, and it is `picture`'s turn.
    fn play(&mut self, now: Time, due: Time, picture: &Picture) -> bool {
        let turn = self.turn(due);
        if self.is_late_reference(due, picture) {
            self.stop_at_reference(now, due, picture);
            return true;
        }
        if self.reading.read < picture.end_offset {
            return self.miss(now, turn, picture);
        }
        if self.is_missing {
            self.is_missing = false;
            self.available_from = now;
        }
        let lateness = self.available_from.saturating_since(due);
        let catches_up = self.config.policy == Policy::CatchUp;
        // The clock may not go back: pictures that are too late are discarded while it is stopped, others are shown.
        let may_go_back = !self.config.max_shift.is_zero() || lateness > self.config.late_threshold;
        if catches_up && lateness > self.shift_after && may_go_back {
            self.set_clock_back(now, picture, lateness);
        } else if self.faster.is_some() && !lateness.is_zero() {
            self.play_faster(picture, due, lateness);
        } else if catches_up && lateness > self.config.late_threshold {
            self.discard(picture, DiscardCause::Late, due, self.available_from);
        } else if self.is_broken(picture) {
            self.discard(picture, DiscardCause::Dependency, due, due.max(self.available_from));
        } else {
            self.show(picture, due, lateness);
        }
        true
    }

    /// When a picture is looked at that is due at `due`: while late ones are played faster, after the one before it.
    fn turn(&self, due: Time) -> Time {
        if self.faster.is_some() { due.max(self.available_from) } else { due }
    }

    /// Time of the next action for the next picture, which is due at `turn`.
    fn next_look(&self, turn: Time, picture: &Picture) -> Time {
        if self.reading.read >= picture.end_offset {
            turn
        } else if !self.is_missing {
            turn + TICK
        } else if !self.screen.is_stalled() {
            turn + self.config.late_threshold + TICK
        } else {
            Time::MAX
        }
    }

    /// Whether a clock reference precedes `picture` and was complete only after `due`.
    fn is_late_reference(&self, due: Time, picture: &Picture) -> bool {
        let Some(before) = self.next.checked_sub(1).map(|i| &self.media.pictures[i]) else { return false };
        self.available_from > due && self.references.is_some_and(|r| r.is_between(before, picture))
    }

    fn is_broken(&self, picture: &Picture) -> bool {
        self.broken_reference.is_some_and(|r| picture.depends_from <= r && r < picture.decode_index)
    }

    fn show(&mut self, picture: &Picture, due: Time, lateness: Duration) {
        self.screen.show(picture, due, lateness);
        if let Some(faster) = &mut self.faster {
            self.available_from = due + lateness + faster.show(picture, !lateness.is_zero());
        }
        self.consume(picture);
    }

    fn play_faster(&mut self, picture: &Picture, due: Time, lateness: Duration) {
        let at = due + lateness;
        if self.faster.as_mut().is_some_and(|faster| faster.leaves_out(picture)) {
            self.discard(picture, DiscardCause::Late, at, at);
        } else if self.is_broken(picture) {
            self.discard(picture, DiscardCause::Dependency, at, at);
        } else {
            self.show(picture, due, lateness);
        }
    }

    /// `picture` is not complete when it is due, at `due`.
    fn miss(&mut self, now: Time, due: Time, picture: &Picture) -> bool {
        if now <= due {
            return false;
        }
        if !self.is_missing {
            self.is_missing = true;
            // The picture before may have been shown only just now.
            self.screen.miss(due, due.max(self.available_from), picture.presentation);
            if self.config.policy == Policy::Rebuffer {
                self.screen.stall(due, due, picture.presentation);
                self.phase = Phase::Waiting { position: picture.presentation, since: due };
                return true;
            }
        }
        let deadline = due + self.config.late_threshold;
        if now > deadline {
            self.screen.stall(deadline, due, picture.presentation);
        }
        false
    }

    fn discard(&mut self, picture: &Picture, cause: DiscardCause, due: Time, at: Time) {
        self.screen.discard(self.next as u32, picture, cause, due, at);
        if self.config.drop_dependents && picture.is_reference {
            self.broken_reference = self.broken_reference.max(Some(picture.decode_index));
        }
        self.consume(picture);
    }

    fn consume(&mut self, picture: &Picture) {
        self.reading.consume(picture.held_bytes);
        self.next += 1;
        self.is_missing = false;
    }

    /// The picture was later than the cache covers: set the clock back and wait for a full cache.
    fn set_clock_back(&mut self, now: Time, picture: &Picture, lateness: Duration) {
        let shift = lateness.min(self.config.max_shift);
        self.stop_clock(now, picture, lateness, shift);
    }

    /// The reference before `picture`, which was due at `due`, came late: the clock goes on from there with a full cache, which
    /// has grown.
    fn stop_at_reference(&mut self, now: Time, due: Time, picture: &Picture) {
        if let Some(references) = &mut self.references {
            let growth = references.note_late(self.available_from - due, self.config.max_shift);
            self.cache = self.cache.grown_by(growth, self.media.mean_rate);
            self.resume = self.cache;
        }
        self.stop_clock(now, picture, now - due, now - due);
    }

    fn stop_clock(&mut self, now: Time, picture: &Picture, lateness: Duration, shift: Duration) {
        self.screen.stall(now, now, picture.presentation);
        self.screen.shift_clock(now, shift);
        self.phase = Phase::Waiting { position: picture.presentation + (lateness - shift), since: now };
        self.reading.set_back();
    }

    /// While the clock is stopped, discard pictures that are still too late as they arrive.
    fn drop_overdue(&mut self, now: Time, position: Duration) -> bool {
        let Some(picture) = self.next_picture() else { return false };
        let is_overdue = position.saturating_sub(picture.presentation) > self.config.late_threshold;
        if is_overdue && self.reading.read >= picture.end_offset {
            self.discard(&picture, DiscardCause::Late, now, now);
            return true;
        }
        false
    }

    fn is_waiting_for_data(&self) -> bool {
        matches!(self.phase, Phase::Filling { .. } | Phase::Waiting { .. })
    }

    /// Enough is there for the clock to run.
    fn is_filled(&mut self, now: Time) -> bool {
        let (level, position) = match self.phase {
            Phase::Waiting { position, .. } => (self.resume, position),
            _ => (self.cache, Duration::ZERO),
        };
        let next_end = self.next_picture().map_or(0, |p| p.end_offset);
        if self.config.start == StartRule::FirstFrame && matches!(self.phase, Phase::Filling { .. }) {
            self.schedule_start(now, next_end);
            return false;
        }
        self.reading.read >= next_end && self.has_reached(level, position)
    }

    /// What is to be held: while the clock waits also what it waits for.
    fn wanted(&self) -> Cache {
        let length = |level: Cache| level.time(self.media.mean_rate);
        match self.phase {
            Phase::Waiting { .. } if length(self.resume) > length(self.cache) => self.resume,
            _ => self.cache,
        }
    }

    fn has_reached(&self, level: Cache, position: Duration) -> bool {
        self.reading.read >= self.reading.target || self.reading.holds(&self.media, level, position)
    }

    fn note_full(&mut self, now: Time, position: Duration) {
        if !self.is_filled_once && self.reading.read > 0 && self.has_reached(self.cache, position) {
            self.is_filled_once = true;
            self.screen.log.push(now, EventKind::BufferFilled);
        }
    }

    fn schedule_start(&mut self, now: Time, first_end: u64) {
        if let Phase::Filling { start_at: Time::MAX } = self.phase
            && self.reading.read >= first_end
        {
            self.phase = Phase::Filling { start_at: now + self.cache.time(self.media.mean_rate) };
        }
    }

    fn start_clock(&mut self, now: Time) {
        match self.phase {
            Phase::Waiting { position, since } => {
                self.screen.shift_clock(now, now - since);
                self.phase = Phase::Playing { zero_at: now - position };
                self.is_missing = false;
                self.available_from = now;
            }
            _ => {
                self.screen.log.push(now, EventKind::PlaybackStarted);
                self.screen.totals.startup = now - self.started_at;
                self.phase = Phase::Playing { zero_at: now };
            }
        }
    }

    /// The last picture has been handled; its time may still run.
    fn end_if_over(&mut self, now: Time, end: Time) -> bool {
        let at = end.max(self.available_from);
        if at > now {
            return false;
        }
        self.screen.totals.clock_stopped += at - end;
        self.finish(at, FinishReason::Played);
        true
    }

    fn finish(&mut self, at: Time, reason: FinishReason) {
        self.phase = Phase::Ended;
        self.screen.finish(at, reason);
        self.actions.push_back(Action::Close(CONNECTION));
    }
}
