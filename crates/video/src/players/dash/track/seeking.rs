//! Seeks of the viewer, and the memory limit of a device.

use super::Track;
use crate::EventKind;
use crate::abr::PlayState;
use crate::players::dash::connections::Io;
use crate::players::dash::moment::Moment;
use crate::players::dash::transfer::What;
use playpath_units::{Duration, Time};

impl Track {
    pub fn handle_seek(&mut self, is_buffered: bool) {
        self.urgent |= !is_buffered;
        self.abr.on_seek(is_buffered);
    }

    /// Restart at `position`: current downloads are abandoned, and the buffer is dropped unless the client `keeps` it.
    pub fn seek_to(&mut self, now: Time, position: Duration, keeps: bool, io: &mut Io) {
        // A manifest that is still under way is wanted wherever the viewer goes.
        if self.transfers.iter().all(|transfer| transfer.what != What::Manifest) {
            self.give_up_all(now, io);
        }
        if !keeps {
            self.complete.fill(false);
        }
        let holds = |&segment: &usize| self.ladder.start_of(segment) <= position;
        self.began_at = (0..self.ladder.segments()).rev().find(holds).unwrap_or(0);
        (self.appended, self.partial) = (self.began_at, Duration::ZERO);
        self.append();
        self.next_segment = self.appended;
        (self.retry, self.answer, self.after_init) = (None, None, None);
        (self.wait_until, self.is_filling) = (now, true);
        self.failures = 0;
    }

    fn give_up_all(&mut self, now: Time, io: &mut Io) {
        for transfer in &self.transfers {
            io.log.push(now, EventKind::RequestAbandoned { request: transfer.request });
        }
        self.lines.abandon_all(self.transfers.iter().map(|transfer| transfer.request), io);
        self.idle_since = self.idle_since.or(Some(now));
        self.transfers.clear();
    }

    /// Whether the device has memory for another segment at this rung in addition to the buffer and the current downloads.
    pub(super) fn fits_device(&self, at: &Moment, segment: usize, rung: usize) -> bool {
        let is_playing = at.playback.state() == PlayState::Playing;
        let limit = at.config.device_bytes.filter(|_| is_playing && segment < self.ladder.segments());
        limit.is_none_or(|limit| {
            let missing: u64 = self.transfers.iter().map(|transfer| transfer.total - transfer.received).sum();
            self.buffered_bytes(at.playback.position(at.now)) + missing + self.ladder.bytes(segment, rung) <= limit
        })
    }
}
