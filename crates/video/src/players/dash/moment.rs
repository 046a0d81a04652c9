//! The state of the session that is visible to a track.

use super::config::{DashConfig, LiveDelivery, LowLatency};
use super::pieces::Pieces;
use super::playback::Playback;
use crate::Delivery;
use crate::abr::{Context, Download, LiveState};
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
    /// How segments under construction are had, if they are.
    pub fn low_latency(&self) -> Option<&LowLatency> {
        self.config.live.as_ref().and_then(|live| live.low_latency.as_ref())
    }

    pub fn pieces(&self, delivery: LiveDelivery, ladder: &Ladder, segment: usize) -> Option<Pieces> {
        let low_latency = self.low_latency().filter(|low_latency| low_latency.delivery == delivery)?;
        Some(Pieces::of(ladder.duration_of(segment), low_latency))
    }

    pub fn exists_at(&self, media: Duration) -> Time {
        self.playback.started_at + media.saturating_sub(self.produced)
    }

    /// Media that exist at the server at `time`.
    pub fn edge(&self, time: Time) -> Duration {
        self.produced + time.saturating_since(self.playback.started_at)
    }

    /// When a live segment can be requested; zero on demand, and where a playlist announces it.
    pub fn available_at(&self, ladder: &Ladder, segment: usize) -> Time {
        match self.config.live {
            None => Time::ZERO,
            Some(_) if self.pieces(LiveDelivery::Parts, ladder, segment).is_some() => Time::ZERO,
            Some(_) => match self.pieces(LiveDelivery::Chunks, ladder, segment) {
                Some(pieces) => self.exists_at(ladder.start_of(segment) + pieces.each),
                None => self.exists_at(ladder.start_of(segment + 1)),
            },
        }
    }

    /// How the server sends a segment that is requested now: chunk by chunk while it is being encoded.
    pub fn delivery(&self, ladder: &Ladder, segment: usize) -> Delivery {
        let Some(pieces) = self.pieces(LiveDelivery::Chunks, ladder, segment) else {
            return Delivery::AsFastAsPossible;
        };
        let start = ladder.start_of(segment);
        let encoded = self.edge(self.now).saturating_sub(start).as_nanos() / pieces.each.as_nanos().max(1);
        let encoded = encoded.min(u64::from(pieces.count)) as u32;
        Delivery::AsEncoded {
            pieces: pieces.count,
            encoded,
            next_at: self.exists_at(start + pieces.each * (u64::from(encoded) + 1)),
            every: pieces.each,
        }
    }

    fn live(&self, ladder: &Ladder) -> Option<LiveState> {
        let live = self.config.live?;
        let (edge, position) = (self.edge(self.now), self.playback.position(self.now));
        let end = if live.low_latency.is_some() { edge } else { ladder.whole_until(edge) };
        Some(LiveState {
            latency: edge.saturating_sub(position),
            available: end.saturating_sub(position),
            target: live.latency_target,
            speed: f64::from(self.playback.speed_ppm) / 1e6,
            is_low_latency: live.low_latency.is_some(),
        })
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
            live: self.live(ladder),
        }
    }
}
