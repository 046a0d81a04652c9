//! How far behind the live edge a viewer was, over the time that they watched.
//!
//! The player logs its latency whenever its pace changes; in between it changes evenly: not at all at normal speed, by a second each
//! second of a stall. So the figures are those of all moments, exactly, and not of samples.

use playpath_units::Time;

/// A line of latencies: from one logged point to the next.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    seconds: f64,
    from: f64,
    to: f64,
}

#[derive(Clone, Debug, Default)]
pub struct Latencies {
    stretches: Vec<Stretch>,
    last: Option<(Time, f64)>,
}

impl Latencies {
    pub(super) fn push(&mut self, at: Time, latency: f64) {
        if let Some((since, from)) = self.last
            && at > since
        {
            let seconds = at.saturating_since(since).as_secs_f64();
            self.stretches.push(Stretch { seconds, from, to: latency });
        }
        self.last = Some((at, latency));
    }

    /// Mean over the time from the first picture to the end; `None` without a live session that showed one.
    pub fn mean_s(&self) -> Option<f64> {
        let seconds: f64 = self.stretches.iter().map(|stretch| stretch.seconds).sum();
        let weighted: f64 = self.stretches.iter().map(|s| s.seconds * (s.from + s.to) / 2.0).sum();
        if seconds > 0.0 { Some(weighted / seconds) } else { self.last.map(|(_, latency)| latency) }
    }

    /// The latency that was not exceeded for `share` of the time.
    pub fn quantile_s(&self, share: f64) -> Option<f64> {
        let seconds: f64 = self.stretches.iter().map(|stretch| stretch.seconds).sum();
        if seconds <= 0.0 {
            return self.last.map(|(_, latency)| latency);
        }
        let ends = || self.stretches.iter().flat_map(|stretch| [stretch.from, stretch.to]);
        let (mut low, mut high) = (ends().fold(f64::INFINITY, f64::min), ends().fold(0.0, f64::max));
        // Halved until it is far below a microsecond.
        for _ in 0..48 {
            let middle = (low + high) / 2.0;
            let below: f64 = self.stretches.iter().map(|stretch| stretch.seconds_up_to(middle)).sum();
            if below < share * seconds { low = middle } else { high = middle }
        }
        Some(high)
    }
}

impl Stretch {
    /// Time of it with a latency of at most `limit`.
    fn seconds_up_to(&self, limit: f64) -> f64 {
        let (low, high) = (self.from.min(self.to), self.from.max(self.to));
        if limit >= high {
            self.seconds
        } else if limit <= low {
            0.0
        } else {
            self.seconds * (limit - low) / (high - low)
        }
    }
}

#[cfg(test)]
mod tests;
