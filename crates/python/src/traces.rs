//! Bandwidth traces for Python: preview, conversion, generators. Text in, text or JSON out.

use playpath_link::trace::generate::{self, LteLike, Markov, WifiLike};
use playpath_link::trace::{Trace, TraceFormat};
use playpath_units::random::RootSeed;
use playpath_units::{Duration, Rate, Ratio};
use serde_json::{Map, Value, json};
use std::cell::RefCell;
use std::fmt::Display;
use std::str::FromStr;

/// Format, length and rates of a trace, as JSON. Error: the line and what is wrong there.
pub fn preview(text: &str, format: Option<&str>, bins: u32) -> Result<String, String> {
    let format = match format {
        Some(name) => self::format(name)?,
        None => TraceFormat::detect(text).map_err(trace_error)?,
    };
    let summary = Trace::parse(text, Some(format)).map_err(trace_error)?.summary(bins);
    Ok(json!({
        "format": format.name(),
        "period_s": summary.period.as_secs_f64(),
        "mean_mbps": summary.mean.as_mbps(),
        "min_mbps": summary.min.as_mbps(),
        "max_mbps": summary.max.as_mbps(),
        "outage_share": summary.outage_share,
        "bins_mbps": summary.bins.iter().map(|rate| rate.as_mbps()).collect::<Vec<_>>(),
    })
    .to_string())
}

/// A trace in another format; opportunities become rates over steps of `bin_s` seconds.
pub fn convert(text: &str, source: Option<&str>, target: &str, bin_s: f64) -> Result<String, String> {
    let trace = Trace::parse(text, source.map(format).transpose()?).map_err(trace_error)?;
    trace.to_text(format(target)?, Duration::from_secs_f64(bin_s)).map_err(trace_error)
}

/// A trace from a generator. `settings` is a JSON object of quantities with units.
pub fn generate(kind: &str, settings: &str, seed: u64, target: &str) -> Result<String, String> {
    let values: Map<String, Value> = serde_json::from_str(settings).map_err(|e| e.to_string())?;
    let settings = Settings { values, known: RefCell::default() };
    let mut stream = RootSeed(seed).stream(&format!("trace/{kind}"));
    let trace = match kind {
        "constant" => generate::constant(settings.needed("rate")?),
        "steps" => generate::steps(&settings.rates()?, settings.or("step", Duration::from_secs(1))?),
        "markov" => {
            let markov = Markov {
                rates: settings.rates()?,
                mean_stay: settings.or("mean_stay", Duration::from_secs(2))?,
                duration: settings.duration()?,
            };
            markov.generate(&mut stream)
        }
        "lte" => lte(&settings)?.generate(&mut stream),
        "wifi" => wifi(&settings)?.generate(&mut stream),
        other => return Err(format!("unknown generator \"{other}\"; allowed: constant, steps, markov, lte, wifi")),
    };
    settings.finish(kind)?;
    let trace = Trace::Rate(trace.map_err(trace_error)?);
    trace.to_text(format(target)?, Duration::from_millis(100)).map_err(trace_error)
}

fn lte(settings: &Settings) -> Result<LteLike, String> {
    let plain = LteLike::new(settings.needed("mean_rate")?, settings.duration()?);
    Ok(LteLike {
        variation: settings.or("variation", plain.variation)?,
        correlation: settings.or("correlation", plain.correlation)?,
        time_between_outages: settings.or("time_between_outages", plain.time_between_outages)?,
        outage: settings.or("outage", plain.outage)?,
        ..plain
    })
}

fn wifi(settings: &Settings) -> Result<WifiLike, String> {
    let plain = WifiLike::new(settings.needed("max_rate")?, settings.duration()?);
    Ok(WifiLike {
        contention: settings.or::<Ratio>("contention", plain.contention)?,
        mean_stay: settings.or("mean_stay", plain.mean_stay)?,
        ..plain
    })
}

fn format(name: &str) -> Result<TraceFormat, String> {
    let known = TraceFormat::ALL.into_iter().find(|f| f.name() == name);
    known.ok_or_else(|| {
        let names: Vec<&str> = TraceFormat::ALL.iter().map(|f| f.name()).collect();
        format!("unknown trace format \"{name}\"; allowed: {}", names.join(", "))
    })
}

fn trace_error(error: impl Display) -> String {
    format!("not a usable trace: {error}")
}

/// A generator's settings; a key that nobody asked for is an error.
struct Settings {
    values: Map<String, Value>,
    known: RefCell<Vec<&'static str>>,
}

impl Settings {
    fn text(&self, key: &'static str) -> Option<String> {
        self.known.borrow_mut().push(key);
        self.values.get(key).map(|value| value.as_str().map_or_else(|| value.to_string(), String::from))
    }

    fn or<T: FromStr<Err: Display>>(&self, key: &'static str, default: T) -> Result<T, String> {
        match self.text(key) {
            None => Ok(default),
            Some(text) => text.parse().map_err(|e| format!("{key}: {e}")),
        }
    }

    fn needed<T: FromStr<Err: Display>>(&self, key: &'static str) -> Result<T, String> {
        let text = self.text(key).ok_or_else(|| format!("{key} is missing; give it with its unit"))?;
        text.parse().map_err(|e| format!("{key}: {e}"))
    }

    fn duration(&self) -> Result<Duration, String> {
        self.needed("duration")
    }

    /// `rates`, separated by commas.
    fn rates(&self) -> Result<Vec<Rate>, String> {
        let text = self.text("rates").ok_or("rates is missing; give several, separated by commas")?;
        text.split(',').map(|part| part.trim().parse().map_err(|e| format!("rates: {e}"))).collect()
    }

    fn finish(&self, kind: &str) -> Result<(), String> {
        let known = self.known.borrow();
        match self.values.keys().find(|key| !known.contains(&key.as_str())) {
            None => Ok(()),
            Some(key) => Err(format!("unknown setting \"{key}\" of {kind}; allowed: {}", known.join(", "))),
        }
    }
}
