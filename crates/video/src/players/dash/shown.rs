//! Which media a viewer who seeks has seen, of what is there.

use playpath_units::Duration;

/// Media that was shown and is there still, as intervals that do not touch, and where the present one began.
#[derive(Debug, Default)]
pub(super) struct Shown {
    before: Vec<(Duration, Duration)>,
    began: Duration,
}

impl Shown {
    /// The picture leaves `from` and goes on at `to`.
    pub fn jump(&mut self, from: Duration, to: Duration) {
        let (mut low, mut high) = (self.began, from);
        self.before.retain(|&(start, end)| {
            let is_apart = end < low || high < start;
            if !is_apart {
                (low, high) = (low.min(start), high.max(end));
            }
            is_apart
        });
        self.before.push((low, high));
        self.began = to;
    }

    /// All that there was is gone; what comes instead begins at `start`.
    pub fn forget(&mut self, start: Duration) {
        *self = Shown { before: Vec::new(), began: start };
    }

    /// How much between `start` and `end` was not shown, with the picture at `position`.
    pub fn missing(&self, position: Duration, start: Duration, end: Duration) -> Duration {
        let mut shown = self.before.clone();
        shown.push((self.began, position));
        shown.sort_unstable();
        let (mut missing, mut reached) = (Duration::ZERO, start);
        for (from, to) in shown {
            missing += from.min(end).saturating_sub(reached);
            reached = reached.max(to);
        }
        missing + end.saturating_sub(reached)
    }
}

#[cfg(test)]
mod tests;
