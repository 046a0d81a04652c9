//! Rate control: the choice of a frame's rate.
//!
//! Reference: Minstrel, Linux `net/mac80211/rc80211_minstrel_ht.c`: success at each rate as a moving average with weight 1/4 for
//! each interval, a tenth of the frames as samples of other rates, and a chain of rates for retries: the best throughput twice, the
//! second best twice, then the most reliable.
//! Differences
//! 1. One sample in ten transmissions, of any rate drawn at random; Linux avoids samples that cannot pay.
//! 2. The interval is 100 ms, as Minstrel's was; minstrel_ht's is 50 ms since Linux 5.12.

use super::phy::{MODES, Mode};
use playpath_units::random::Stream;
use playpath_units::{Duration, Time};

const INTERVAL: Duration = Duration::from_millis(100);
const WEIGHT: f64 = 0.25;
/// A rate that delivers less counts as delivering nothing.
const MIN_SUCCESS: f64 = 0.1;
const SAMPLE_EVERY: u32 = 10;

pub(super) struct Minstrel {
    success: [f64; MODES],
    tried: [u32; MODES],
    delivered: [u32; MODES],
    next_update: Time,
    transmissions: u32,
    /// Best throughput, second best, most reliable.
    chain: [usize; 3],
}

impl Minstrel {
    /// Knows nothing: begins with the lowest rate.
    pub fn new() -> Minstrel {
        Minstrel {
            success: [0.0; MODES],
            tried: [0; MODES],
            delivered: [0; MODES],
            next_update: Time::ZERO + INTERVAL,
            transmissions: 0,
            chain: [0; 3],
        }
    }

    /// The rate for a transmission after so many failed ones.
    pub fn pick(&mut self, now: Time, failures: u32, modes: &[Mode; MODES], stream: &mut Stream) -> usize {
        if now >= self.next_update {
            self.next_update = now + INTERVAL;
            self.update(modes);
        }
        if failures == 0 {
            self.transmissions += 1;
            if self.transmissions.is_multiple_of(SAMPLE_EVERY) {
                return (stream.uniform() * MODES as f64) as usize;
            }
        }
        self.chain[(failures as usize / 2).min(2)]
    }

    pub fn note(&mut self, rate: usize, tried: u32, delivered: u32) {
        self.tried[rate] += tried;
        self.delivered[rate] += delivered;
    }

    fn update(&mut self, modes: &[Mode; MODES]) {
        for rate in 0..MODES {
            if self.tried[rate] > 0 {
                let share = f64::from(self.delivered[rate]) / f64::from(self.tried[rate]);
                self.success[rate] += WEIGHT * (share - self.success[rate]);
            }
        }
        (self.tried, self.delivered) = ([0; MODES], [0; MODES]);
        let throughput = |rate: usize| match self.success[rate] {
            low if low < MIN_SUCCESS => 0.0,
            success => success * f64::from(modes[rate].bits_per_symbol),
        };
        let best_but = |barred: usize, worth: &dyn Fn(usize) -> f64| {
            let candidates = (0..MODES).filter(|&rate| rate != barred);
            candidates.fold(0, |best, rate| if worth(rate) > worth(best) || best == barred { rate } else { best })
        };
        let best = best_but(MODES, &throughput);
        self.chain = [best, best_but(best, &throughput), best_but(MODES, &|rate| self.success[rate])];
    }
}
