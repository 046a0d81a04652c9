//! The player's buffer as the sender reckons it: of the control and of the scheduler `slack`.
//!
//! Level in seconds of media: what the last request reported, plus what was delivered since, less the time that has passed. A
//! player that starts or has run dry does not play, so nothing is taken away, until its buffer is there or it says that it plays.
//!
//! Units: seconds of media. Invariant: `0 <= level <= size`.

use crate::AppParameters;
use playpath_units::{Duration, Rate, Time};

#[derive(Clone, Copy, Debug)]
pub struct Playout {
    size: f64,
    level: f64,
    seconds_per_byte: f64,
    /// Media time delivered since the start.
    delivered: f64,
    is_playing: bool,
    /// The player told its level, or has been given more than it can hold: it waits no longer to begin.
    has_begun: bool,
    at: Time,
    /// The best that the player can choose, if it tells.
    top_rate: Option<Rate>,
    /// It has asked for less than that, or does not tell.
    has_choice: bool,
}

/// Share of its buffer with which a player that waits for all of it begins: what was sent rounds, and no two count a header alike.
const FULL: f64 = 0.98;
/// Buffers that have been sent when it has begun for sure: bytes are reckoned by the mean rate, and the beginning may need more.
const BEGUN: f64 = 1.25;

impl Playout {
    /// None if the report does not describe a buffer: its size, the video's rate, and the object that is being sent.
    pub fn reported(now: Time, before: Option<Playout>, report: &AppParameters) -> Option<Playout> {
        let (bytes, duration) = report.object_bytes.zip(report.object_duration)?;
        let byte_rate = report.video_rate.as_bits_per_sec() as f64 / 8.0;
        if bytes == 0 || duration.is_zero() || byte_rate <= 0.0 || report.playout_buffer_bytes == 0 {
            return None;
        }
        let size = report.playout_buffer_bytes as f64 / byte_rate;
        let reported = report.playout_buffer_free_bytes.map(|free| (size - free as f64 / byte_rate).max(0.0));
        let reckoned = before.map(|mut playout| {
            playout.advance(now, 0);
            playout
        });
        let level = reported.or(reckoned.map(|playout| playout.level)).unwrap_or(0.0).min(size);
        let was_playing = reckoned.is_some_and(|playout| playout.is_playing);
        let has_begun = reported.is_some() || before.is_some_and(|playout| playout.has_begun);
        Some(Playout {
            size,
            level,
            delivered: before.map_or(0.0, |playout| playout.delivered),
            seconds_per_byte: duration.as_secs_f64() / bytes as f64,
            is_playing: !report.is_urgent && level > 0.0 && (reported.is_some() || was_playing),
            has_begun,
            at: now,
            top_rate: report.top_rate,
            has_choice: before.is_some_and(|playout| playout.has_choice)
                || report.top_rate.is_none_or(|top| report.video_rate < top),
        })
    }

    /// `bytes` more have been delivered by `now`.
    pub fn advance(&mut self, now: Time, bytes: u64) {
        if self.is_playing {
            self.level -= now.saturating_since(self.at).as_secs_f64();
        }
        self.at = now;
        let media = bytes as f64 * self.seconds_per_byte;
        self.level = (self.level.max(0.0) + media).min(self.size);
        self.delivered += media;
        self.has_begun |= self.delivered >= BEGUN * self.size;
        self.is_playing = if self.is_playing { self.level > 0.0 } else { self.level >= FULL * self.size };
    }

    pub fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Share of the buffer that is there.
    pub fn fullness(&self) -> f64 {
        self.level / self.size
    }

    /// Media time that is left to play; none while the player starts or is starved.
    pub fn left(&self) -> Duration {
        if self.is_playing { Duration::from_secs_f64(self.level) } else { Duration::ZERO }
    }

    /// How near the deadline is: 0 with a level above `calm` of the buffer, 1 below `alarm` of it. No level is calm that does
    /// not last `reserve`, and none that lasts half of that is anything but urgent.
    pub fn urgency(&self, calm: f64, alarm: f64, reserve: Duration) -> f64 {
        if !self.is_playing || !self.has_begun {
            return 1.0;
        }
        let reserve = reserve.as_secs_f64();
        let (high, low) = ((calm * self.size).max(reserve), (alarm * self.size).max(reserve / 2.0));
        ((high - self.level) / (high - low).max(1e-3)).clamp(0.0, 1.0)
    }

    pub fn top_rate(&self) -> Option<Rate> {
        self.top_rate
    }

    /// The player adapts: it has asked for less than its best rate, or does not tell what that is. One that has only one rate
    /// plays it from its buffer whatever comes in; this one plays less.
    pub fn has_choice(&self) -> bool {
        self.has_choice
    }
}
