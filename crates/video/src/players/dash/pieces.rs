//! The pieces of a segment under construction: when they exist, what of them is there, and how fast they came.
//!
//! Reference for the measurement: dash.js 5.2.1 `FetchLoader`, `lowLatencyDownloadTimeCalculationMode: moofParsing`: of each chunk but
//! the last the time from its first bytes to its last; those of more than 1 ms each, shorter ones together until they are; the mean of
//! their rates. With two chunks or fewer there is none, and the whole response counts.
//! Difference from the reference: a chunk starts with its first byte, not with the end of its `moof` box.

use super::config::LowLatency;
use crate::piece_end;
use playpath_units::{Duration, Time};

/// What dash.js takes for measurable.
const SHORTEST: Duration = Duration::from_millis(1);

/// How a segment is divided.
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

    /// Media of the first `count` of a segment.
    pub fn media(self, count: u32, segment: Duration) -> Duration {
        if count >= self.count { segment } else { self.each * u64::from(count) }
    }
}

/// The pieces of a response that came so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrivals {
    pub pieces: Pieces,
    /// Complete ones.
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

    /// Mean of the rates at which the pieces came, in bit/s.
    pub fn bits_per_sec(&self) -> Option<f64> {
        (self.pieces.count > 2 && self.samples > 0).then(|| self.rates / f64::from(self.samples))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Time {
        Time::from_millis(n)
    }

    /// 2 s in chunks of 0.5 s, 40 kB: 10 kB each. Number 0 from 10 to 20 ms: 8 Mbit/s; 1 from 510 to 514 ms: 20; 2 from 1010 to 1015:
    /// 16; 3 is the last and does not count. Mean 14.667; over the whole response it would be 0.21.
    #[test]
    fn the_rate_is_that_of_the_bursts() {
        let low_latency = LowLatency {
            way: super::super::LiveDelivery::Chunks,
            piece: Duration::from_millis(500),
            playlist_bytes: 0,
        };
        let pieces = Pieces::of(Duration::from_secs(2), &low_latency);
        assert_eq!((pieces.count, pieces.media(3, Duration::from_secs(2))), (4, Duration::from_millis(1500)));
        let mut arrivals = Arrivals::new(pieces);
        assert_eq!(arrivals.next_mark(40_000), 1);
        for (at, received, completes) in [
            (10, 1, false),
            (20, 10_000, true),
            (510, 11_000, false),
            (514, 20_000, true),
            (1010, 20_001, false),
            (1015, 30_000, true),
            (1510, 30_001, false),
            (1511, 40_000, true),
        ] {
            assert_eq!(arrivals.note(ms(at), received, 40_000), completes, "{at}");
        }
        assert!((arrivals.bits_per_sec().expect("three bursts") - 14_666_666.7).abs() < 1.0);
    }

    /// Chunks that come at once are counted together until that took more than 1 ms: three of 10 kB from 10.0 to 11.6 ms: 150 Mbit/s.
    #[test]
    fn short_ones_are_counted_together() {
        let mut arrivals = Arrivals::new(Pieces { count: 5, each: Duration::from_millis(500) });
        for (at, received) in [(10_000, 10_000), (10_200, 10_001), (10_900, 20_000), (11_000, 20_001), (11_600, 30_000)]
        {
            arrivals.note(Time::from_micros(at), received, 50_000);
        }
        assert_eq!(arrivals.count, 3);
        assert!(arrivals.bits_per_sec().is_some_and(|rate| (rate / 1e6 - 150.0).abs() < 1e-6));
    }
}
