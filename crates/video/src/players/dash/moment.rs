//! The state of the session that a track may look at.

use super::config::DashConfig;
use super::playback::Playback;
use crate::abr::{Context, Download};
use crate::ladder::Ladder;
use playpath_units::{Duration, Time};

/// A segment that was not asked for, in a track's list of choices.
pub(super) const NOT_CHOSEN: u8 = u8::MAX;

/// Now, and what holds for all tracks.
pub(super) struct Moment<'a> {
    pub now: Time,
    pub playback: &'a Playback,
    pub config: &'a DashConfig,
    /// Media that existed when a live session began.
    pub produced: Duration,
}

impl Moment<'_> {
    /// When a live segment is complete at the server; the start of time on demand.
    pub fn available_at(&self, ladder: &Ladder, segment: usize) -> Time {
        if self.config.live.is_none() {
            return Time::ZERO;
        }
        self.playback.session_started_at() + ladder.start_of(segment + 1).saturating_sub(self.produced)
    }

    pub fn context<'c>(
        &self,
        ladder: &'c Ladder,
        downloads: &'c [Download],
        segment: usize,
        previous: Option<usize>,
        buffer_level: Duration,
        idle: Duration,
    ) -> Context<'c> {
        Context {
            now: self.now,
            segment,
            buffer_level,
            buffer_capacity: self.config.full_level,
            ladder,
            state: self.playback.state(),
            previous,
            downloads,
            idle,
        }
    }
}
