//! The control law: V, gp and utilities, and the quantities derived from them.

use crate::ladder::{Ladder, MAX_REPRESENTATIONS};

/// `e`: level of the lowest rate, and what each rung adds at least; seconds (Sabre `minimum_buffer`, `minimum_buffer_per_level`).
pub(super) const MINIMUM_LEVEL: f64 = 10.0;
const MINIMUM_LEVEL_PER_RUNG: f64 = 2.0;

#[derive(Clone, Copy, Debug)]
pub(super) struct Law {
    v: f64,
    gp: f64,
    utilities: [f64; MAX_REPRESENTATIONS],
    pub(super) count: usize,
}

impl Law {
    pub(super) fn basic(ladder: &Ladder, gp: f64, qmax: f64) -> Law {
        let mut law = Law::with_utilities(ladder);
        let duration = ladder.segment_duration().as_secs_f64();
        law.gp = gp;
        law.v = (qmax - duration).max(0.1 * duration) / (law.top_utility() + gp);
        law
    }

    pub(super) fn enhanced(ladder: &Ladder, target: f64) -> Law {
        let mut law = Law::with_utilities(ladder);
        let target = target.max(MINIMUM_LEVEL + MINIMUM_LEVEL_PER_RUNG * law.count as f64);
        // A ladder of one rung has u_M = 0: any gp will do.
        let gp = if law.count > 1 { law.top_utility() / (target / MINIMUM_LEVEL - 1.0) } else { 1.0 };
        law.v = MINIMUM_LEVEL / gp;
        // Sabre's utilities are ln(rate / lowest) + 1.
        law.gp = gp + 1.0;
        law
    }

    fn with_utilities(ladder: &Ladder) -> Law {
        let mut utilities = [0.0; MAX_REPRESENTATIONS];
        for (index, utility) in utilities.iter_mut().enumerate().take(ladder.count()) {
            *utility = libm::log(ladder.bits_per_sec(index) / ladder.bits_per_sec(0));
        }
        Law { v: 0.0, gp: 0.0, utilities, count: ladder.count() }
    }

    fn top_utility(&self) -> f64 {
        self.utilities[self.count - 1]
    }

    /// Numerator of the score at level zero: above this level the representation is not worth its bits.
    pub(super) fn max_level(&self, index: usize) -> f64 {
        self.v * (self.utilities[index] + self.gp)
    }

    /// Level from which `index` is preferred to everything below it.
    pub(super) fn min_level(&self, ladder: &Ladder, index: usize) -> f64 {
        let (rate, utility) = (ladder.bits_per_sec(index), self.utilities[index]);
        (0..index).fold(0.0, |level, lower| {
            let lower_rate = ladder.bits_per_sec(lower);
            let crossing = (rate * self.utilities[lower] - lower_rate * utility) / (rate - lower_rate);
            f64::max(level, self.v * (self.gp + crossing))
        })
    }

    /// Representation of the highest score; the lower one of equals.
    pub(super) fn best(&self, ladder: &Ladder, level: f64) -> usize {
        let score = |index: usize| (self.max_level(index) - level) / ladder.bits_per_sec(index);
        (1..self.count).fold(0, |best, index| if score(index) > score(best) { index } else { best })
    }
}

#[cfg(test)]
mod tests;
