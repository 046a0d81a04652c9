//! Generators of bandwidth traces, with their settings as they are typed.

use super::Entry;
use crate::settings::{Field, apply, infos, read};
use crate::trace::generate::{LteLike, Markov, WifiLike, constant, steps};
use crate::trace::{RateTrace, TraceError};
use playpath_units::random::Stream;
use playpath_units::{Duration, Rate, Ratio};

/// A generator with its settings.
#[derive(Clone, Debug, PartialEq)]
pub enum Generator {
    /// See [`constant`].
    Constant(Rate),
    /// See [`steps`].
    Steps(Vec<Rate>, Duration),
    /// See [`Markov`].
    Markov(Markov),
    /// See [`LteLike`].
    LteLike(LteLike),
    /// See [`WifiLike`].
    WifiLike(WifiLike),
}

impl Generator {
    /// A trace from `stream`. Errors: settings that make no trace.
    pub fn generate(&self, stream: &mut Stream) -> Result<RateTrace, TraceError> {
        match self {
            Generator::Constant(rate) => constant(*rate),
            Generator::Steps(rates, step) => steps(rates, *step),
            Generator::Markov(markov) => markov.generate(stream),
            Generator::LteLike(lte) => lte.generate(stream),
            Generator::WifiLike(wifi) => wifi.generate(stream),
        }
    }
}

const RATE_10: Rate = Rate::from_bits_per_sec(10_000_000);
const TEN_MINUTES: Duration = Duration::from_secs(600);
const RATE: &str = "a rate, such as \"10 Mbit/s\"";
const RATES: &str = "rates with commas, such as \"1 Mbit/s, 4 Mbit/s\"";
const TIME: &str = "a time above 0, such as \"2 s\"";

pub(super) static ENTRIES: [Entry<Generator>; 5] = [
    Entry {
        name: "constant",
        summary: "one rate for ever",
        reference: "",
        settings: || infos(&RATE_10, CONSTANT),
        build: |settings| apply(RATE_10, CONSTANT, settings).map(Generator::Constant),
    },
    Entry {
        name: "steps",
        summary: "the given rates in turn, each for the same time",
        reference: "",
        settings: || infos(&default_steps(), STEPS),
        build: |settings| apply(default_steps(), STEPS, settings).map(|(rates, step)| Generator::Steps(rates, step)),
    },
    Entry {
        name: "markov",
        summary: "a walk over a ladder of rates with exponential stays",
        reference: "",
        settings: || infos(&default_markov(), MARKOV),
        build: |settings| apply(default_markov(), MARKOV, settings).map(Generator::Markov),
    },
    Entry {
        name: "lte_like",
        summary: "slow log-normal fading and short outages",
        reference: "own model, see docs/models/link-trace-generators.md",
        settings: || infos(&LteLike::new(RATE_10, TEN_MINUTES), LTE_LIKE),
        build: |settings| apply(LteLike::new(RATE_10, TEN_MINUTES), LTE_LIKE, settings).map(Generator::LteLike),
    },
    Entry {
        name: "wifi_like",
        summary: "a walk over modulations, and a share of the air that changes every 20 ms",
        reference: "own model, see docs/models/link-trace-generators.md",
        settings: || infos(&default_wifi(), WIFI_LIKE),
        build: |settings| apply(default_wifi(), WIFI_LIKE, settings).map(Generator::WifiLike),
    },
];

fn default_rates() -> Vec<Rate> {
    [1_000_000, 2_000_000, 4_000_000, 8_000_000].map(Rate::from_bits_per_sec).to_vec()
}
fn default_steps() -> (Vec<Rate>, Duration) {
    (default_rates(), Duration::from_secs(30))
}
fn default_markov() -> Markov {
    Markov { rates: default_rates(), mean_stay: Duration::from_secs(10), duration: TEN_MINUTES }
}
fn default_wifi() -> WifiLike {
    WifiLike::new(Rate::from_bits_per_sec(40_000_000), TEN_MINUTES)
}

fn write_rates(rates: &[Rate]) -> String {
    rates.iter().map(Rate::to_string).collect::<Vec<_>>().join(", ")
}
fn read_rates(place: &mut Vec<Rate>, text: &str) -> Result<(), String> {
    *place =
        text.split(',').map(|rate| rate.trim().parse::<Rate>().map_err(|e| e.to_string())).collect::<Result<_, _>>()?;
    Ok(())
}

const CONSTANT: &[Field<Rate>] = &[Field {
    name: "rate",
    allowed: RATE,
    doc: "the rate",
    write: |rate| rate.to_string(),
    read: |rate, text| read(rate, text),
}];

const STEPS: &[Field<(Vec<Rate>, Duration)>] = &[
    Field {
        name: "rates",
        allowed: RATES,
        doc: "rates in order; again from the first after the last",
        write: |c| write_rates(&c.0),
        read: |c, text| read_rates(&mut c.0, text),
    },
    Field {
        name: "step",
        allowed: TIME,
        doc: "how long each holds",
        write: |c| c.1.to_string(),
        read: |c, text| read(&mut c.1, text),
    },
];

/// A setting that is written with `Display` and read with `FromStr`.
macro_rules! field {
    ($name:literal, $allowed:expr, $doc:literal, $c:ident => $place:expr) => {
        Field {
            name: $name,
            allowed: $allowed,
            doc: $doc,
            write: |$c| $place.to_string(),
            read: |$c, text| read(&mut $place, text),
        }
    };
}

const MARKOV: &[Field<Markov>] = &[
    Field {
        name: "rates",
        allowed: RATES,
        doc: "the ladder, in order",
        write: |c| write_rates(&c.rates),
        read: |c, text| read_rates(&mut c.rates, text),
    },
    field!("mean_stay", TIME, "mean time on a rung", c => c.mean_stay),
    field!("duration", TIME, "length of the trace, which then repeats", c => c.duration),
];

const LTE_LIKE: &[Field<LteLike>] = &[
    field!("mean_rate", RATE, "mean over time, outages included", c => c.mean_rate),
    field!("variation", "0 or more", "standard deviation over mean, outside outages", c => c.variation),
    field!("correlation", TIME, "time in which the correlation of the rate's logarithm falls to 1/e", c => c.correlation),
    field!("time_between_outages", "a time; 0 for none", "mean time from the end of an outage to the next", c => c.time_between_outages),
    field!("outage", TIME, "mean length of an outage", c => c.outage),
    field!("duration", TIME, "length of the trace, which then repeats", c => c.duration),
];

const WIFI_LIKE: &[Field<WifiLike>] = &[
    field!("max_rate", RATE, "rate at the highest modulation with the air to itself", c => c.max_rate),
    Field {
        name: "contention",
        allowed: "0 % to 100 %",
        doc: "largest share of the air that others take",
        write: |c| c.contention.to_string(),
        read: |c, text| read::<Ratio>(&mut c.contention, text),
    },
    field!("mean_stay", TIME, "mean time at a modulation", c => c.mean_stay),
    field!("duration", TIME, "length of the trace, which then repeats", c => c.duration),
];
