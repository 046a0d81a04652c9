//! VLC's further reactions to lateness: clock references that stop the clock, and late pictures played faster.

use crate::media::Picture;
use playpath_units::Duration;

/// Late pictures in a row beyond which VLC's decoder leaves out pictures that no other needs (`avcodec-hurry-up`).
const SKIPS_FROM: u32 = 5;
/// Number of consecutive late pictures from which it skips every picture, until fewer are late.
const DROPS_FROM: u32 = 12;

/// Plays late pictures faster than they are meant to be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Faster {
    /// Times the normal speed.
    rate: f64,
    hurries_up: bool,
    late_in_a_row: u32,
}

impl Faster {
    pub fn new(rate: f64, hurries_up: bool) -> Faster {
        Faster { rate, hurries_up, late_in_a_row: 0 }
    }

    pub fn leaves_out(&mut self, picture: &Picture) -> bool {
        if !self.hurries_up {
            return false;
        }
        let drops = self.late_in_a_row >= DROPS_FROM;
        if drops {
            self.late_in_a_row -= 1;
        }
        drops || (self.late_in_a_row >= SKIPS_FROM && !picture.is_reference)
    }

    /// A picture is shown, late or not: how long it stays at least before the next.
    pub fn show(&mut self, picture: &Picture, is_late: bool) -> Duration {
        self.late_in_a_row = if is_late { self.late_in_a_row + 1 } else { 0 };
        if is_late { Duration::from_secs_f64(picture.duration.as_secs_f64() / self.rate) } else { Duration::ZERO }
    }
}

/// Clock references: marks in the media at which the player looks whether it is late.
#[derive(Clone, Copy, Debug)]
pub(super) struct References {
    interval: Duration,
    /// Lateness of the last three late ones.
    late: [Duration; 3],
    index: usize,
    grown: Duration,
}

impl References {
    pub fn new(interval: Duration) -> References {
        References { interval, late: [Duration::ZERO; 3], index: 0, grown: Duration::ZERO }
    }

    pub fn is_between(&self, before: &Picture, after: &Picture) -> bool {
        let place = |picture: &Picture| picture.presentation.as_nanos() / self.interval.as_nanos();
        place(before) < place(after)
    }

    /// Growth of the cache after a reference that was `lateness` too late, never beyond `most` in total.
    pub fn note_late(&mut self, lateness: Duration, most: Duration) -> Duration {
        self.late[self.index] = lateness;
        self.index = (self.index + 1) % self.late.len();
        let mut sorted = self.late;
        sorted.sort();
        // Against single outliers: the median of the last three, so that the first alone does not count.
        let growth = if self.grown + sorted[1] > most { Duration::ZERO } else { sorted[1] };
        self.grown += growth;
        growth
    }
}

#[cfg(test)]
mod tests;
