//! Seeded generators of rate traces. Each draws from a stream of its own, so that the same seed gives the same trace everywhere.
//!
//! They are models for experiments, not measurements; their statistics are stated with each and tested. Units: bit/s, ns.

use super::{MAX_SECONDS, RateTrace, TraceError};
use crate::registry::{About, Entry};
use crate::settings::{Config, Setting, config};
use playpath_units::random::Stream;
use playpath_units::{Duration, Kind, Rate, Ratio};

pub trait Generate {
    /// A trace from `stream`. Errors: settings that make no trace.
    fn generate(&self, stream: &mut Stream) -> Result<RateTrace, TraceError>;
}

const fn entry<C: Config + Generate + 'static>(
    name: &'static str,
    summary: &'static str,
    reference: &'static str,
) -> Entry<Box<dyn Generate>> {
    let build = |params: &_| C::of(params).map(|generator| Box::new(generator) as Box<dyn Generate>);
    Entry { about: About { name, summary, reference }, params: C::PARAMS, build }
}

/// Most steps of a generated trace: more than a day of the finest. They take some 100 MB until they are written.
const MAX_STEPS: u64 = 5_000_000;

const OWN: &str = "own model, see docs/models/link-trace-generators.md";

pub(crate) static ENTRIES: &[Entry<Box<dyn Generate>>] = &[
    entry::<Constant>("constant", "one constant rate", ""),
    entry::<Steps>("steps", "the given rates in turn, each for the same time", ""),
    entry::<Markov>("markov", "a random walk over a ladder of rates, staying at each for an exponential time", ""),
    entry::<LteLike>("lte", "slow log-normal fading and short outages", OWN),
    entry::<WifiLike>("wifi", "a random walk over modulations, and a share of the air that changes every 20 ms", OWN),
];

const RATES: Kind =
    Kind::Form("rates with commas, such as \"1 Mbit/s, 4 Mbit/s\"", |text| Vec::<Rate>::read(text).map(drop));

impl Setting for Vec<Rate> {
    fn read(text: &str) -> Result<Vec<Rate>, String> {
        text.split(',').map(|rate| rate.parse().map_err(|why: playpath_units::ParseError| why.to_string())).collect()
    }
    fn text(&self) -> String {
        self.iter().map(Rate::to_string).collect::<Vec<_>>().join(", ")
    }
}

config! {
    Constant {
        rate: Rate = text("10 Mbit/s", Kind::Rate), "the rate";
    }
}

impl Generate for Constant {
    fn generate(&self, _stream: &mut Stream) -> Result<RateTrace, TraceError> {
        RateTrace::new(&[(Duration::from_secs(1), self.rate)])
    }
}

config! {
    /// The given rates in turn, and again from the first.
    Steps {
        rates: Vec<Rate> = text("1 Mbit/s, 2 Mbit/s, 4 Mbit/s, 8 Mbit/s", RATES), "rates in order; again from the first after the last";
        step: Duration = text("30 s", Kind::PositiveTime), "how long each holds";
    }
}

impl Generate for Steps {
    fn generate(&self, _stream: &mut Stream) -> Result<RateTrace, TraceError> {
        RateTrace::new(&self.rates.iter().map(|&rate| (self.step, rate)).collect::<Vec<_>>())
    }
}

config! {
    /// A walk over a ladder of rates.
    ///
    /// Each stay is exponential with mean `mean_stay`; then the walk goes one step up or down, with equal chance, and from an end
    /// inwards. So inner rungs are visited twice as often as the two ends: with n rungs an inner one holds for 1/(n − 1) of the time, an end
    /// for half of that. It starts on a random rung.
    Markov {
        rates: Vec<Rate> = text("1 Mbit/s, 2 Mbit/s, 4 Mbit/s, 8 Mbit/s", RATES), "the ladder, in order";
        mean_stay: Duration = text("10 s", Kind::PositiveTime), "mean time on a rung";
        duration: Duration = text("600 s", Kind::PositiveTime), "length of the trace, which then repeats";
    }
}

impl Generate for Markov {
    fn generate(&self, stream: &mut Stream) -> Result<RateTrace, TraceError> {
        steps_of("mean_stay", self.mean_stay, self.duration)?;
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

config! {
    /// LTE-like: slow log-normal fading and short outages.
    ///
    /// The rate is log-normal with coefficient of variation `variation`; its logarithm is a first-order autoregression in steps of 100 ms
    /// with correlation time `correlation`. Outages (handovers) come as a Poisson process and last an exponential time, in
    /// whole steps of 100 ms, at least one. The mean over time, outages included, is `mean_rate`.
    /// Not fitted to a measurement.
    LteLike {
        mean_rate: Rate = text("10 Mbit/s", Kind::Rate), "mean over time, outages included";
        variation: f64 = number(0.5, (0.0, f64::MAX), ""), "standard deviation over mean, outside outages";
        correlation: Duration = text("5 s", Kind::PositiveTime), "time in which the correlation of the rate's logarithm falls to 1/e";
        time_between_outages: Duration = text("60 s", Kind::Time), "mean time from the end of an outage to the next; 0 for none";
        outage: Duration = text("300 ms", Kind::PositiveTime), "mean length of an outage";
        duration: Duration = text("600 s", Kind::PositiveTime), "length of the trace, which then repeats";
    }
}

impl Generate for LteLike {
    fn generate(&self, stream: &mut Stream) -> Result<RateTrace, TraceError> {
        const STEP: Duration = Duration::from_millis(100);
        // Log-normal: variation² = exp(sigma²) − 1, mean = exp(mu + sigma²/2).
        let sigma = libm::sqrt(libm::log(1.0 + self.variation * self.variation));
        let keep = libm::exp(-STEP.ratio(self.correlation));
        let fresh = libm::sqrt(1.0 - keep * keep);
        let (start_chance, end_chance, outage_share) = self.outage_chances(STEP);
        let mean = self.mean_rate.as_bits_per_sec() as f64 / (1.0 - outage_share);
        let mut level = stream.normal();
        let mut is_out = false;
        let steps: Vec<_> = (0..steps_of("steps", STEP, self.duration)?)
            .map(|_| {
                let rate = mean * libm::exp(sigma * level - sigma * sigma / 2.0);
                level = keep * level + fresh * stream.normal();
                is_out = stream.chance(if is_out { 1.0 - end_chance } else { start_chance });
                (STEP, if is_out { Rate::default() } else { Rate::from_bits_per_sec_f64(rate) })
            })
            .collect();
        RateTrace::new(&steps)
    }
}

impl LteLike {
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

config! {
    /// WiFi-like: a modulation that follows the fading, and a share of the airtime that depends on other stations.
    ///
    /// In steps of 20 ms. The modulation walks, as [`Markov`], over the eight rates of 802.11n (20 MHz, one stream: 6.5 to
    /// 65 Mbit/s, here relative to the highest) with mean stay `mean_stay`. The share of the air is 1 − `contention` × u with u
    /// uniform, drawn anew in every step. So the rate varies within tens of milliseconds and within seconds.
    /// Mean = `max_rate` × 0.5357 × (1 − `contention` / 2): the inner rates count 1/7 each and the two ends 1/14 each, so
    /// (208 / 7 + 71.5 / 14) / 65 = 0.5357. Not fitted to a measurement.
    WifiLike {
        max_rate: Rate = text("40 Mbit/s", Kind::Rate), "rate at the highest modulation with the air to itself";
        contention: Ratio = text("50 %", Kind::Share), "largest share of the air that others take";
        mean_stay: Duration = text("2 s", Kind::PositiveTime), "mean time at a modulation";
        duration: Duration = text("600 s", Kind::PositiveTime), "length of the trace, which then repeats";
    }
}

impl Generate for WifiLike {
    fn generate(&self, stream: &mut Stream) -> Result<RateTrace, TraceError> {
        const STEP: Duration = Duration::from_millis(20);
        const MODULATIONS: [f64; 8] = [6.5, 13.0, 19.5, 26.0, 39.0, 52.0, 58.5, 65.0];
        let max = self.max_rate.as_bits_per_sec() as f64;
        let leave_chance = STEP.ratio(self.mean_stay).min(1.0);
        let mut walk = Walk::new(MODULATIONS.len(), stream);
        let steps: Vec<_> = (0..steps_of("steps", STEP, self.duration)?)
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

/// How many steps a trace of this duration has. Errors: it is longer, or has more steps, than any trace that is accepted.
fn steps_of(what: &str, step: Duration, duration: Duration) -> Result<u64, TraceError> {
    if duration.as_secs_f64() > MAX_SECONDS {
        return Err(TraceError::whole(format!("duration {duration}; at most {MAX_SECONDS} s are allowed")));
    }
    let steps = duration.as_nanos().div_ceil(step.as_nanos());
    if steps > MAX_STEPS {
        let problem = format!("{what} of {step} in {duration} make {steps} steps; at most {MAX_STEPS} are allowed");
        return Err(TraceError::whole(problem));
    }
    Ok(steps)
}
