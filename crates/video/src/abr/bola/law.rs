//! The control law: V, gp and utilities, and what follows from them.

use crate::ladder::{Ladder, MAX_REPRESENTATIONS};

/// `e`: level of the lowest rate, and what each rung adds at least; seconds (Sabre `minimum_buffer`, `minimum_buffer_per_level`).
pub(super) const MINIMUM_LEVEL: f64 = 10.0;
const MINIMUM_LEVEL_PER_RUNG: f64 = 2.0;

/// V, gp and utilities: the whole control law.
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
mod tests {
    use super::*;
    use crate::ObjectKind;
    use playpath_units::{Duration, Rate};

    fn ladder(mbps: &[f64], segment: u64) -> Ladder {
        let rates: Vec<_> = mbps.iter().map(|r| Rate::from_bits_per_sec_f64(r * 1e6)).collect();
        Ladder::of_rates(ObjectKind::Video, &rates, Duration::from_secs(segment), Duration::from_secs(300)).unwrap()
    }

    /// u = 0, ln 2.5 = 0.91629, ln 5 = 1.60944. V = (25 − 3) / (1.60944 + 5) = 22 / 6.60944 = 3.32858.
    /// 1 → 2.5: crossing (2.5 · 0 − 1 · 0.91629) / 1.5 = −0.61086: 3.32858 · 4.38914 = 14.6096 s.
    /// 2.5 → 5: (5 · 0.91629 − 2.5 · 1.60944) / 2.5 = 0.22314: 3.32858 · 5.22314 = 17.3857 s.
    #[test]
    fn worked_ladder_basic() {
        let ladder = ladder(&[1.0, 2.5, 5.0], 3);
        let law = Law::basic(&ladder, 5.0, 25.0);
        assert!((law.v - 3.32858).abs() < 1e-5);
        assert!((law.min_level(&ladder, 1) - 14.6096).abs() < 1e-4);
        assert!((law.min_level(&ladder, 2) - 17.3857).abs() < 1e-4);
        // Above V (u_M + gp) = Qmax − p = 22 s every score is negative.
        assert!((law.max_level(2) - 22.0).abs() < 1e-9);
        for (level, best) in [(0.0, 0), (14.60, 0), (14.62, 1), (17.38, 1), (17.39, 2), (21.0, 2)] {
            assert_eq!(law.best(&ladder, level), best, "at {level} s");
        }
    }

    /// Target max(16, 10 + 2 · 3) = 16 s: 1.60944 / 0.6 = 2.68240; V = 10 / 2.68240 = 3.72801, gp = 3.68240.
    /// Thresholds 3.72801 · (3.68240 − 0.61086) = 11.4507 and 3.72801 · (3.68240 + 0.22314) = 14.5599 s.
    /// Levels: lowest 3.72801 · 3.6824 = 13.7280 s, highest 3.72801 · (1.60944 + 3.6824) = 19.7280 s.
    #[test]
    fn worked_ladder_enhanced() {
        let ladder = ladder(&[1.0, 2.5, 5.0], 3);
        let law = Law::enhanced(&ladder, 16.0);
        assert!((law.gp - 3.68240).abs() < 1e-5);
        assert!((law.v - 3.72801).abs() < 1e-5);
        assert!((law.min_level(&ladder, 1) - 11.4507).abs() < 1e-3);
        assert!((law.min_level(&ladder, 2) - 14.5599).abs() < 1e-3);
        assert!((law.max_level(0) - 13.7280).abs() < 1e-3);
        assert!((law.max_level(2) - 19.7280).abs() < 1e-3);
    }

    /// Seven rungs push the target to 10 + 2 · 7 = 24 s whatever is configured below. The highest level is the target and V more.
    #[test]
    fn many_rungs_raise_the_target() {
        let ladder = ladder(&[0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7], 2);
        for (target, expected) in [(18.0, 24.0), (30.0, 30.0)] {
            let law = Law::enhanced(&ladder, target);
            assert!((law.max_level(6) - law.v - expected).abs() < 1e-9);
        }
    }
}
