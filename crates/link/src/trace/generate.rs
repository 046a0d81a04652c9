//! Seeded generators of rate traces. Each draws from a stream of its own, so that the same seed gives the same trace everywhere.
//!
//! They are models for experiments, not measurements; their statistics are stated with each and tested. Units: bit/s, ns.

use super::{RateTrace, TraceError};
use playpath_units::random::Stream;
use playpath_units::{Duration, Rate, Ratio};

/// One rate for ever.
pub fn constant(rate: Rate) -> Result<RateTrace, TraceError> {
    RateTrace::new(&[(Duration::from_secs(1), rate)])
}

/// The given rates in turn, each for `step`, and again from the first.
pub fn steps(rates: &[Rate], step: Duration) -> Result<RateTrace, TraceError> {
    RateTrace::new(&rates.iter().map(|&rate| (step, rate)).collect::<Vec<_>>())
}

/// A walk over a ladder of rates.
///
/// Each stay is exponential with mean `mean_stay`; then the walk goes one step up or down, with equal chance, and from an end
/// inwards. So inner rungs are visited twice as often as the two ends: with n rungs an inner one holds for 1/(n − 1) of the time, an end
/// for half of that. It starts on a random rung.
#[derive(Clone, Debug, PartialEq)]
pub struct Markov {
    /// The ladder, in order.
    pub rates: Vec<Rate>,
    /// Mean time on a rung.
    pub mean_stay: Duration,
    /// Length of the trace.
    pub duration: Duration,
}

impl Markov {
    /// Errors: no rates, no time.
    pub fn generate(&self, stream: &mut Stream) -> Result<RateTrace, TraceError> {
        if self.rates.is_empty() {
            return Err(TraceError::whole("a Markov trace needs at least one rate"));
        }
        require_positive("mean stay", self.mean_stay)?;
        let mut walk = Walk::new(self.rates.len(), stream);
        let mut steps = Vec::new();
        let mut at = Duration::ZERO;
        while at < self.duration {
            let stay = Duration::from_secs_f64(stream.exponential(self.mean_stay.as_secs_f64()));
            let stay = stay.min(self.duration - at).max(Duration::from_nanos(1));
            steps.push((stay, self.rates[walk.rung]));
            at += stay;
            walk.step(stream);
        }
        RateTrace::new(&steps)
    }
}

/// A walk over the rungs of a ladder, with reflecting ends.
struct Walk {
    rung: usize,
    rungs: usize,
}

impl Walk {
    fn new(rungs: usize, stream: &mut Stream) -> Walk {
        Walk { rung: ((stream.uniform() * rungs as f64) as usize).min(rungs - 1), rungs }
    }

    fn step(&mut self, stream: &mut Stream) {
        let goes_up = stream.chance(0.5);
        self.rung = match self.rung {
            _ if self.rungs == 1 => 0,
            0 => 1,
            top if top == self.rungs - 1 => top - 1,
            inner if goes_up => inner + 1,
            inner => inner - 1,
        };
    }
}

/// LTE-like: slow log-normal fading and short outages.
///
/// The rate is log-normal with coefficient of variation `variation`; its logarithm is a first-order autoregression in steps of 100 ms
/// with correlation time `correlation`. Outages (handovers) come as a Poisson process and last an exponential time, in
/// whole steps of 100 ms, at least one. The mean over time, outages included, is `mean_rate`.
/// Not fitted to a measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct LteLike {
    /// Mean over time.
    pub mean_rate: Rate,
    /// Standard deviation over mean, outside outages.
    pub variation: f64,
    /// Time in which the correlation of the logarithm falls to 1/e.
    pub correlation: Duration,
    /// Mean time from the end of an outage to the next one; zero for none.
    pub time_between_outages: Duration,
    /// Mean length of an outage.
    pub outage: Duration,
    /// Length of the trace.
    pub duration: Duration,
}

impl LteLike {
    /// 5 s of memory, variation 0.5, an outage of 300 ms in a minute.
    pub fn new(mean_rate: Rate, duration: Duration) -> LteLike {
        LteLike {
            mean_rate,
            variation: 0.5,
            correlation: Duration::from_secs(5),
            time_between_outages: Duration::from_secs(60),
            outage: Duration::from_millis(300),
            duration,
        }
    }

    /// Errors: no time, a variation that is not a number of 0 or more.
    pub fn generate(&self, stream: &mut Stream) -> Result<RateTrace, TraceError> {
        const STEP: Duration = Duration::from_millis(100);
        require_positive("correlation", self.correlation)?;
        require_positive("outage", self.outage)?;
        if !(self.variation >= 0.0 && self.variation.is_finite()) {
            return Err(TraceError::whole(format!("variation {} is not a number of 0 or more", self.variation)));
        }
        // Log-normal: variation² = exp(sigma²) − 1, mean = exp(mu + sigma²/2).
        let sigma = libm::sqrt(libm::log(1.0 + self.variation * self.variation));
        let keep = libm::exp(-STEP.ratio(self.correlation));
        let fresh = libm::sqrt(1.0 - keep * keep);
        let (start_chance, end_chance, outage_share) = self.outage_chances(STEP);
        let mean = self.mean_rate.as_bits_per_sec() as f64 / (1.0 - outage_share);
        let mut level = stream.normal();
        let mut is_out = false;
        let steps: Vec<_> = (0..self.duration.as_nanos().div_ceil(STEP.as_nanos()))
            .map(|_| {
                let rate = mean * libm::exp(sigma * level - sigma * sigma / 2.0);
                level = keep * level + fresh * stream.normal();
                is_out = stream.chance(if is_out { 1.0 - end_chance } else { start_chance });
                (STEP, if is_out { Rate::default() } else { Rate::from_bits_per_sec_f64(rate) })
            })
            .collect();
        RateTrace::new(&steps)
    }

    /// Per step: chance that an outage starts, chance that it ends; and the share of time in outages.
    fn outage_chances(&self, step: Duration) -> (f64, f64, f64) {
        if self.time_between_outages.is_zero() {
            return (0.0, 1.0, 0.0);
        }
        let start = step.ratio(self.time_between_outages).min(1.0);
        let end = step.ratio(self.outage).min(1.0);
        (start, end, start / (start + end))
    }
}

/// WiFi-like: a modulation that follows the fading, and a share of the air that follows the neighbours.
///
/// In steps of 20 ms. The modulation walks, as [`Markov`], over the eight rates of 802.11n (20 MHz, one stream: 6.5 to
/// 65 Mbit/s, here relative to the highest) with mean stay `mean_stay`. The share of the air is 1 − `contention` × u with u
/// uniform, drawn anew in every step. So the rate varies within tens of milliseconds and within seconds.
/// Mean = `max_rate` × 0.5357 × (1 − `contention` / 2): the inner rates count 1/7 each and the two ends 1/14 each, so
/// (208 / 7 + 71.5 / 14) / 65 = 0.5357. Not fitted to a measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct WifiLike {
    /// Rate at the highest modulation with the air to itself.
    pub max_rate: Rate,
    /// Largest share of the air that others take.
    pub contention: Ratio,
    /// Mean time at a modulation.
    pub mean_stay: Duration,
    /// Length of the trace.
    pub duration: Duration,
}

impl WifiLike {
    /// Half of the air may be taken; modulations last 2 s.
    pub fn new(max_rate: Rate, duration: Duration) -> WifiLike {
        let contention = Ratio::new(0.5).expect("within 0 to 1");
        WifiLike { max_rate, contention, mean_stay: Duration::from_secs(2), duration }
    }

    /// Errors: no time.
    pub fn generate(&self, stream: &mut Stream) -> Result<RateTrace, TraceError> {
        const STEP: Duration = Duration::from_millis(20);
        const MODULATIONS: [f64; 8] = [6.5, 13.0, 19.5, 26.0, 39.0, 52.0, 58.5, 65.0];
        require_positive("mean stay", self.mean_stay)?;
        let max = self.max_rate.as_bits_per_sec() as f64;
        let leave_chance = STEP.ratio(self.mean_stay).min(1.0);
        let mut walk = Walk::new(MODULATIONS.len(), stream);
        let steps: Vec<_> = (0..self.duration.as_nanos().div_ceil(STEP.as_nanos()))
            .map(|_| {
                let share = 1.0 - self.contention.get() * stream.uniform();
                let rate = max * MODULATIONS[walk.rung] / 65.0 * share;
                if stream.chance(leave_chance) {
                    walk.step(stream);
                }
                (STEP, Rate::from_bits_per_sec_f64(rate))
            })
            .collect();
        RateTrace::new(&steps)
    }
}

fn require_positive(what: &str, length: Duration) -> Result<(), TraceError> {
    if length.is_zero() { Err(TraceError::whole(format!("{what} is 0 s; it must be above 0"))) } else { Ok(()) }
}
