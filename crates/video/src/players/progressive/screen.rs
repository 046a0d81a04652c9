//! The viewer's view, as events: pictures shown and discarded, underflows, stalls.

use crate::events::{EventLog, Totals};
use crate::media::Picture;
use crate::{DiscardCause, EventKind, FinishReason};
use playpath_units::{Duration, Time};

#[derive(Clone, Copy, Debug)]
struct Run {
    first: u32,
    count: u32,
    cause: DiscardCause,
}

#[derive(Debug, Default)]
pub(super) struct Screen {
    pub log: EventLog,
    pub totals: Totals,
    discards: Option<Run>,
    is_underflowing: bool,
    /// Since when the picture has been frozen.
    frozen_since: Option<Time>,
    /// A stall is open; the time frozen in it up to the last picture shown.
    stall: Option<Duration>,
}

impl Screen {
    /// A picture is not there when due; the one before is on the screen since `frozen_since` or longer.
    pub fn miss(&mut self, due: Time, frozen_since: Time, position: Duration) {
        if !self.is_underflowing {
            self.is_underflowing = true;
            self.log.push(due, EventKind::UnderflowStart { position });
        }
        self.freeze(frozen_since);
    }

    /// The picture at `position`, due at `due`, is missing for longer than tolerated.
    pub fn stall(&mut self, at: Time, due: Time, position: Duration) {
        if self.stall.is_none() {
            let since = self.frozen_since.unwrap_or(due);
            self.stall = Some(Duration::ZERO);
            self.log.push(at, EventKind::StallStart { since, position });
        }
    }

    pub fn is_stalled(&self) -> bool {
        self.stall.is_some()
    }

    /// A picture is shown, `lateness` after it was due.
    pub fn show(&mut self, picture: &Picture, due: Time, lateness: Duration) {
        let at = due + lateness;
        self.totals.pictures_shown += 1;
        self.totals.media_played += picture.duration;
        self.end_discards(at);
        self.thaw(at);
        if lateness.is_zero() {
            self.end_underflow(at);
        }
    }

    /// Picture number `number`, due at `due`, is thrown away at `at`.
    pub fn discard(&mut self, number: u32, picture: &Picture, cause: DiscardCause, due: Time, at: Time) {
        self.totals.pictures_discarded += 1;
        self.totals.media_discarded += picture.duration;
        self.freeze(due);
        self.stall(at, due, picture.presentation);
        match &mut self.discards {
            Some(run) => run.count += 1,
            None => self.discards = Some(Run { first: number, count: 1, cause }),
        }
    }

    /// The clock was set back, or stood still, for `by`.
    pub fn shift_clock(&mut self, now: Time, by: Duration) {
        if !by.is_zero() {
            self.totals.clock_stopped += by;
            self.log.push(now, EventKind::ClockShifted { by });
        }
    }

    /// Close open entries and write the last one.
    pub fn finish(&mut self, at: Time, reason: FinishReason) {
        self.end_discards(at);
        self.thaw(at);
        self.end_underflow(at);
        self.log.push(at, EventKind::Finished { reason, totals: self.totals });
    }

    fn freeze(&mut self, since: Time) {
        self.frozen_since.get_or_insert(since);
    }

    fn thaw(&mut self, at: Time) {
        if let Some(since) = self.frozen_since.take()
            && let Some(frozen) = &mut self.stall
        {
            *frozen += at - since;
        }
    }

    fn end_discards(&mut self, at: Time) {
        if let Some(Run { first, count, cause }) = self.discards.take() {
            self.log.push(at, EventKind::PicturesDiscarded { first, count, cause });
        }
    }

    fn end_underflow(&mut self, at: Time) {
        if std::mem::take(&mut self.is_underflowing) {
            self.log.push(at, EventKind::UnderflowEnd);
        }
        if let Some(frozen) = self.stall.take() {
            self.log.push(at, EventKind::StallEnd { frozen });
        }
    }
}
