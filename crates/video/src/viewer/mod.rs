//! The viewer: when they seek, and when and why they leave before the end. A wrapper for any player.
//!
//! References: Krishnan and Sitaraman, "Video stream quality impacts viewer behavior" (IMC 2012), for leaving because of waiting: 2 s of
//! start-up lose nobody, each second more 5.8 % of those still there, so `patience` may be drawn from an exponential distribution.
//! Differences: 1. the same patience applies to stalls, seeks and the start. 2. A viewer's behaviour depends on time and waiting alone, not
//! on the picture's quality. 3. Drawn seeks have exponential lengths, cut at the media's ends.
//! Invariants: without a plan the player is not touched; the log is the player's, with the viewer's entries between.
//! Tested by `tests/viewer.rs`.

mod seek;

pub use seek::{Seek, Target, When};

use crate::cmsd::Cmsd;
use crate::{Action, AppReport, ConnectionId, EventKind, EventLog, FinishReason, PlaybackEvent, Player, RequestId};
use playpath_units::random::Stream;
use playpath_units::{Duration, Time};
use std::collections::VecDeque;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ViewerConfig {
    /// The viewer leaves this long after pressing play.
    pub leaves_after: Option<Duration>,
    /// Leaves when nothing has moved for so long: start-up, stall or seek.
    pub patience: Option<Duration>,
    pub stall_limit: Option<Duration>,
    /// The first two are means of exponential draws.
    pub is_drawn: bool,
    /// Seeks, one after the other.
    pub seeks: Vec<Seek>,
    pub random_seeks: Option<RandomSeeks>,
}

/// Seeks at random, by the clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomSeeks {
    /// Mean of the exponential times between seeks.
    pub every: Duration,
    /// Mean of the exponential lengths.
    pub length: Duration,
    /// Share that goes back.
    pub back: f64,
}

impl ViewerConfig {
    /// Whether a viewer with them does anything but watch.
    pub fn is_any(&self) -> bool {
        *self != ViewerConfig { is_drawn: self.is_drawn, ..ViewerConfig::default() }
    }

    pub fn has_seeks(&self) -> bool {
        !self.seeks.is_empty() || self.random_seeks.is_some()
    }
}

pub struct Viewer {
    player: Box<dyn Player>,
    log: EventLog,
    /// Entries of the player's log that are in `log`.
    copied: usize,
    began: Time,
    leaves_at: Time,
    patience: Option<Duration>,
    stall_limit: Option<Duration>,
    seeks: VecDeque<Seek>,
    random_seeks: Option<RandomSeeks>,
    random: Stream,
    next_random_seek: Time,
    /// Since when the viewer has been waiting, and whether that is a stall.
    waits_since: Option<Time>,
    is_stalled: bool,
    stalled: Duration,
    /// Why the viewer leaves, and what they have not seen of what is there then.
    leaving: Option<(FinishReason, u64)>,
}

impl Viewer {
    /// Wrap `player` with `config`, with draws from `random`.
    pub fn new(player: Box<dyn Player>, config: &ViewerConfig, mut random: Stream) -> Viewer {
        let mut drawn = |mean: Option<Duration>| match mean {
            Some(mean) if config.is_drawn => Some(Duration::from_secs_f64(random.exponential(mean.as_secs_f64()))),
            given => given,
        };
        let (leaves_after, patience) = (drawn(config.leaves_after), drawn(config.patience));
        Viewer {
            player,
            log: EventLog::default(),
            copied: 0,
            began: Time::ZERO,
            leaves_at: leaves_after.map_or(Time::MAX, |after| Time::ZERO + after),
            patience,
            stall_limit: config.stall_limit,
            seeks: config.seeks.iter().copied().collect(),
            random_seeks: config.random_seeks,
            random,
            next_random_seek: Time::MAX,
            waits_since: None,
            is_stalled: false,
            stalled: Duration::ZERO,
            leaving: None,
        }
    }

    /// Copies what the player has logged, and learns from it whether the viewer waits.
    fn follow(&mut self) {
        for event in &self.player.events()[self.copied..] {
            let mut event = *event;
            match &mut event.kind {
                EventKind::SessionStarted { .. } => self.waits_since = Some(event.at),
                EventKind::PlaybackStarted | EventKind::SeekEnd { .. } => self.waits_since = None,
                EventKind::SeekStart { is_buffered: false, .. } => {
                    (self.waits_since, self.is_stalled) = (self.waits_since.or(Some(event.at)), false);
                }
                EventKind::StallStart { since, .. } => (self.waits_since, self.is_stalled) = (Some(*since), true),
                EventKind::StallEnd { frozen } => {
                    (self.waits_since, self.is_stalled) = (None, false);
                    self.stalled += *frozen;
                }
                EventKind::Finished { reason, .. } => {
                    let unseen = match (*reason, self.leaving) {
                        (FinishReason::Stopped, Some((why, unseen))) => {
                            *reason = why;
                            unseen
                        }
                        _ => self.player.unseen_bytes(event.at, false),
                    };
                    note_unseen(&mut self.log, event.at, unseen);
                }
                _ => {}
            }
            self.log.push(event.at, event.kind);
            self.copied += 1;
        }
    }

    /// When and why the viewer leaves if nothing changes.
    fn leaves(&self) -> (Time, FinishReason) {
        let waits_since = self.waits_since;
        let patience_ends = |patience| waits_since.map_or(Time::MAX, |since: Time| since + patience);
        let limit_reached = |limit: Duration| match waits_since.filter(|_| self.is_stalled) {
            Some(since) => since + limit.saturating_sub(self.stalled),
            None => Time::MAX,
        };
        let waiting_ends_at = self.patience.map_or(Time::MAX, patience_ends);
        let gives_up_at = self.stall_limit.map_or(Time::MAX, limit_reached).min(waiting_ends_at);
        if gives_up_at < self.leaves_at {
            (gives_up_at, FinishReason::GaveUpWaiting)
        } else {
            (self.leaves_at, FinishReason::Left)
        }
    }

    /// When the next seek of the list is due.
    fn seek_at(&self) -> Time {
        match self.seeks.front().map(|seek| seek.when) {
            Some(When::After(after)) => self.began + after,
            Some(When::At(position)) => self.player.time_of(position),
            None => Time::MAX,
        }
    }

    fn act(&mut self, now: Time) {
        if self.player.is_finished() {
            return;
        }
        let (at, why) = self.leaves();
        if at <= now {
            self.leave(now, why);
        } else if self.seek_at() <= now {
            let target = self.seeks.pop_front().map(|seek| seek.to);
            target.into_iter().for_each(|target| self.seek(now, target));
        } else if self.next_random_seek <= now {
            self.wander(now);
        }
    }

    fn leave(&mut self, now: Time, why: FinishReason) {
        self.leaving = Some((why, self.player.unseen_bytes(now, true)));
        self.player.handle_stop(now);
        self.follow();
    }

    fn seek(&mut self, now: Time, target: Target) {
        let to = target.from(self.player.position(now));
        let before = self.player.unseen_bytes(now, true);
        self.player.handle_seek(now, to);
        self.follow();
        if !self.player.is_finished() {
            // What is dropped. What is jumped over and stays may still be seen.
            note_unseen(&mut self.log, now, before.saturating_sub(self.player.unseen_bytes(now, true)));
        }
    }

    fn wander(&mut self, now: Time) {
        let Some(random_seeks) = self.random_seeks else { return };
        let back = self.random.chance(random_seeks.back);
        let length = Duration::from_secs_f64(self.random.exponential(random_seeks.length.as_secs_f64()));
        self.next_random_seek = now + self.draw_pause(random_seeks);
        self.seek(now, if back { Target::Back(length) } else { Target::Ahead(length) });
    }

    fn draw_pause(&mut self, random_seeks: RandomSeeks) -> Duration {
        Duration::from_secs_f64(self.random.exponential(random_seeks.every.as_secs_f64())).max(Duration::from_nanos(1))
    }
}

fn note_unseen(log: &mut EventLog, now: Time, bytes: u64) {
    if bytes > 0 {
        log.push(now, EventKind::Unseen { bytes });
    }
}

impl Player for Viewer {
    fn handle_start(&mut self, now: Time) {
        self.began = now;
        let after = (self.leaves_at < Time::MAX).then(|| self.leaves_at - Time::ZERO);
        self.leaves_at = after.map_or(Time::MAX, |after| now + after);
        self.player.handle_start(now);
        self.follow();
        self.log.push(now, EventKind::ViewerCame { leaves_after: after, patience: self.patience });
        if let Some(random_seeks) = self.random_seeks {
            self.next_random_seek = now + self.draw_pause(random_seeks);
        }
    }

    fn handle_connected(&mut self, now: Time, connection: ConnectionId) {
        self.player.handle_connected(now, connection);
        self.follow();
    }

    fn handle_server_data(&mut self, now: Time, request: RequestId, cmsd: &Cmsd) {
        self.player.handle_server_data(now, request, cmsd);
    }

    fn handle_body(&mut self, now: Time, request: RequestId, bytes: u64) -> bool {
        self.player.handle_body(now, request, bytes);
        self.follow();
        true
    }

    fn handle_timeout(&mut self, now: Time) {
        if now >= self.player.poll_timeout() {
            self.player.handle_timeout(now);
            self.follow();
        }
        self.act(now);
    }

    fn handle_stop(&mut self, now: Time) {
        self.player.handle_stop(now);
        self.follow();
    }

    fn handle_seek(&mut self, now: Time, to: Duration) {
        self.seek(now, Target::Position(to));
    }

    fn poll_action(&mut self) -> Option<Action> {
        self.player.poll_action()
    }

    fn poll_timeout(&self) -> Time {
        if self.player.is_finished() {
            return self.player.poll_timeout();
        }
        self.player.poll_timeout().min(self.leaves().0).min(self.seek_at()).min(self.next_random_seek)
    }

    fn read_limit(&self, now: Time, connection: ConnectionId) -> u64 {
        self.player.read_limit(now, connection)
    }

    fn buffer_level(&self, now: Time) -> Duration {
        self.player.buffer_level(now)
    }

    fn buffer_bytes(&self, now: Time) -> u64 {
        self.player.buffer_bytes(now)
    }

    fn position(&self, now: Time) -> Duration {
        self.player.position(now)
    }

    fn time_of(&self, position: Duration) -> Time {
        self.player.time_of(position)
    }

    fn is_finished(&self) -> bool {
        self.player.is_finished()
    }

    fn events(&self) -> &[PlaybackEvent] {
        self.log.as_slice()
    }

    fn app_parameters(&self, now: Time) -> AppReport {
        self.player.app_parameters(now)
    }
}
