//! What was on the screen: how much of the media was shown before each moment, and which places of the film.
//!
//! From the log alone, so whatever player wrote it. Two things are not in it: a viewer who joined inside the first segment
//! (`join = "any"`) counts as from its start, and segments that were never fetched as long as the fetched one before them.

use super::Segment;
use crate::{EventKind, PlaybackEvent};
use playpath_units::{Duration, Time};

const NORMAL: u32 = 1_000_000;

/// From and to: places of the film that were shown one after the other.
pub(super) type Run = (Duration, Duration);

#[derive(Debug)]
pub(super) struct Screen {
    /// Since when pictures move.
    moving_since: Option<Time>,
    /// When the present stall began.
    still_since: Time,
    ppm: u32,
    /// Media shown so far, and how much of it not at normal speed.
    pub shown: Duration,
    pub off_speed: Duration,
    /// Where in the film the present run began, and what was shown before it.
    began: Duration,
    shown_before: Duration,
    latency: (Time, Duration),
}

impl Screen {
    pub fn new() -> Screen {
        Screen {
            moving_since: None,
            still_since: Time::ZERO,
            ppm: NORMAL,
            shown: Duration::ZERO,
            off_speed: Duration::ZERO,
            began: Duration::ZERO,
            shown_before: Duration::ZERO,
            latency: (Time::ZERO, Duration::ZERO),
        }
    }

    /// Returns the run that ends with this event.
    pub fn handle(&mut self, event: &PlaybackEvent) -> Option<Run> {
        let at = event.at;
        match event.kind {
            EventKind::Joined { position } => self.began = position,
            EventKind::PlaybackStarted | EventKind::SeekEnd { .. } => self.moving_since = Some(at),
            EventKind::StallStart { since, .. } => {
                self.settle(since);
                (self.moving_since, self.still_since) = (None, since);
            }
            EventKind::StallEnd { frozen } => {
                // A player that catches up shows single pictures in between.
                self.shown += at.saturating_since(self.still_since).saturating_sub(frozen);
                self.moving_since = Some(at);
            }
            EventKind::SpeedChanged { ppm } => {
                self.settle(at);
                self.ppm = ppm;
            }
            EventKind::SeekStart { from, to, is_buffered } => {
                self.settle(at);
                self.moving_since = self.moving_since.filter(|_| is_buffered);
                return Some(self.end_run(from, to));
            }
            EventKind::LiveLatency { latency } => {
                let (when, before) = std::mem::replace(&mut self.latency, (at, latency));
                // A skip: the latency of one moment, before and after it.
                if when == at && latency < before {
                    let position = self.began + self.shown - self.shown_before;
                    return Some(self.end_run(position, position + (before - latency)));
                }
            }
            EventKind::Finished { totals, .. } => {
                self.settle(at);
                let end = self.began + totals.media_played.saturating_sub(self.shown_before);
                return Some(self.end_run(end, end));
            }
            _ => {}
        }
        None
    }

    /// Pictures moved up to `at`, unless they stood still.
    fn settle(&mut self, at: Time) {
        let Some(since) = &mut self.moving_since else { return };
        let time = at.saturating_since(std::mem::replace(since, at));
        let media = if self.ppm == NORMAL { time } else { time.mul_f64(f64::from(self.ppm) / f64::from(NORMAL)) };
        self.shown += media;
        if self.ppm != NORMAL {
            self.off_speed += media;
        }
    }

    /// The picture leaves the film at `end` and goes on at `next`.
    fn end_run(&mut self, end: Duration, next: Duration) -> Run {
        self.shown = self.shown_before + end.saturating_sub(self.began);
        self.shown_before = self.shown;
        (std::mem::replace(&mut self.began, next), end)
    }
}

/// What a run showed of the segments that were there, in the order of the film.
pub(super) fn of_run(there: &[Segment], (from, to): Run) -> impl Iterator<Item = Segment> {
    let (mut end, mut next, mut missing) = (Duration::ZERO, 0, None);
    there.iter().filter_map(move |segment| {
        let start = end + missing.unwrap_or(segment.duration) * u64::from(segment.index - next);
        (end, next, missing) = (start + segment.duration, segment.index + 1, Some(segment.duration));
        let shown = end.min(to).saturating_sub(start.max(from));
        (!shown.is_zero()).then_some(Segment { shown, ..*segment })
    })
}
