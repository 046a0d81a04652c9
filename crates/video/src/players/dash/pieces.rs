//! The chunks of a segment that is being encoded: when they exist, how much of them has arrived, and at what rate.
//!
//! Reference for the measurement: dash.js 5.2.1 `FetchLoader`, `lowLatencyDownloadTimeCalculationMode: moofParsing`: of each chunk but
//! the last the time from its first bytes to its last; those of more than 1 ms each, shorter ones together until they are; the mean of
//! their rates. With two chunks or fewer there is none, and the whole response counts.
//! Difference from the reference: a chunk starts with its first byte, not with the end of its `moof` box.

use super::config::LowLatency;
use crate::piece_end;
use playpath_units::{Duration, Time};

/// Shortest duration that dash.js considers measurable.
const SHORTEST: Duration = Duration::from_millis(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pieces {
    pub count: u32,
    pub each: Duration,
}

impl Pieces {
    /// Even pieces of about the length wanted.
    pub fn of(segment: Duration, low_latency: &LowLatency) -> Pieces {
        let count = (segment.ratio(low_latency.piece) + 0.5).floor().clamp(1.0, 10_000.0) as u32;
        Pieces { count, each: Duration::from_nanos(segment.as_nanos() / u64::from(count)) }
    }

    pub fn media(self, count: u32, segment: Duration) -> Duration {
        if count >= self.count { segment } else { self.each * u64::from(count) }
    }
}

/// The chunks of a response that have arrived so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrivals {
    pub pieces: Pieces,
    pub count: u32,
    began: Option<Time>,
    /// Short ones that are counted together: since when, and their bytes.
    short: Option<(Time, u64)>,
    rates: f64,
    samples: u32,
}

impl Arrivals {
    pub fn new(pieces: Pieces) -> Arrivals {
        Arrivals { pieces, count: 0, began: None, short: None, rates: 0.0, samples: 0 }
    }

    /// Bytes of the response at which something is to be noted next.
    pub fn next_mark(&self, total: u64) -> u64 {
        let end = |count| piece_end(total, self.pieces.count, count);
        if self.began.is_none() { end(self.count) + 1 } else { end(self.count + 1) }.min(total)
    }

    /// `received` of `total` bytes are here. `true` if that made a piece complete.
    pub fn note(&mut self, now: Time, received: u64, total: u64) -> bool {
        let before = self.count;
        while self.count < self.pieces.count && received > piece_end(total, self.pieces.count, self.count) {
            let began = *self.began.get_or_insert(now);
            let end = piece_end(total, self.pieces.count, self.count + 1);
            if received < end {
                break;
            }
            self.measure(began, now, end - piece_end(total, self.pieces.count, self.count));
            (self.count, self.began) = (self.count + 1, None);
        }
        self.count > before
    }

    fn measure(&mut self, began: Time, now: Time, bytes: u64) {
        if self.count + 1 == self.pieces.count {
            return;
        }
        let (since, bytes) = match self.short.take() {
            Some((since, short)) if now.saturating_since(began) <= SHORTEST => (since, short + bytes),
            _ => (began, bytes),
        };
        let took = now.saturating_since(since);
        if took > SHORTEST {
            self.rates += bytes as f64 * 8.0 / took.as_secs_f64();
            self.samples += 1;
        } else {
            self.short = Some((since, bytes));
        }
    }

    /// Mean of the chunks' arrival rates, bit/s.
    pub fn bits_per_sec(&self) -> Option<f64> {
        (self.pieces.count > 2 && self.samples > 0).then(|| self.rates / f64::from(self.samples))
    }
}

#[cfg(test)]
mod tests;
