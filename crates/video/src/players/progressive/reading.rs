//! How far the file has been read, how much of that is still held, and how far it may be read.

use super::read_ahead::Marks;
use crate::buffer::Cache;
use crate::media::Media;
use playpath_units::Duration;

/// Progress in the file, in bytes from its start.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reading {
    pub read: u64,
    pub target: u64,
    /// May be read up to here: beyond the cache, if the player reads ahead of it.
    limit: u64,
    ahead: Marks,
    /// Whether it is reading up to the upper mark.
    is_refilling: bool,
    consumed: u64,
    /// Pictures in decode order that are complete.
    complete: usize,
    /// Pictures in decode order that the cache has room for, in media time.
    wanted: usize,
}

impl Reading {
    /// The start of a file, for a player with this read-ahead.
    pub fn new(ahead: Marks) -> Reading {
        Reading { ahead, ..Reading::default() }
    }

    /// Add `bytes` received bytes; those beyond the file are ignored.
    pub fn add(&mut self, media: &Media, bytes: u64) {
        self.read = self.read.saturating_add(bytes).min(media.total_bytes);
        let marks = &media.marks;
        while self.complete < marks.len() && marks[self.complete].end_offset <= self.read {
            self.complete += 1;
        }
    }

    /// The picture that held so many bytes has been shown or discarded.
    pub fn consume(&mut self, bytes: u64) {
        self.consumed += bytes;
    }

    /// Read and not yet played or discarded.
    pub fn held(&self) -> u64 {
        self.read - self.consumed
    }

    /// Everything presented before this is complete.
    pub fn playable_until(&self, media: &Media) -> Duration {
        match self.complete {
            0 => Duration::ZERO,
            n => media.marks[n - 1].playable_until,
        }
    }

    /// Whether at least `level` is buffered ahead of `position`, or the rest of the file.
    pub fn holds(&self, media: &Media, level: Cache, position: Duration) -> bool {
        self.read == media.total_bytes
            || match level {
                Cache::Time(length) => self.playable_until(media) >= (position + length).min(media.duration),
                Cache::Bytes(bytes) => self.held() >= bytes,
            }
    }

    /// The clock goes back: compute the target again. What has been read stays.
    pub fn set_back(&mut self) {
        self.wanted = self.complete;
    }

    /// How far the cache has room: the clock is at `position`, and the next picture due ends at `next_end`.
    pub fn update_target(&mut self, media: &Media, cache: Cache, position: Duration, next_end: u64) {
        let room = match cache {
            Cache::Bytes(bytes) => self.consumed.saturating_add(bytes),
            Cache::Time(length) => {
                let until = (position + length).min(media.duration);
                let marks = &media.marks;
                while self.wanted < marks.len() && marks[self.wanted].playable_until < until {
                    self.wanted += 1;
                }
                // The last picture brings the rest of the file along.
                if self.wanted + 1 < marks.len() { marks[self.wanted].end_offset } else { media.total_bytes }
            }
        };
        let total = media.total_bytes;
        self.target = room.max(next_end).max(self.read).min(total);
        // From the lower mark up to the upper one, then not until it is below the lower one again.
        let ahead = self.read.saturating_sub(room);
        let marks = self.ahead.after(room);
        self.is_refilling = ahead < if self.is_refilling { marks.high } else { marks.low };
        let most = if self.is_refilling { room.saturating_add(marks.high) } else { 0 };
        self.limit = most.max(self.target).min(total);
    }

    pub fn may_read(&self) -> u64 {
        self.limit.saturating_sub(self.read)
    }
}
