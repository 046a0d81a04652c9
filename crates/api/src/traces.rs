//! Bandwidth traces: preview, conversion, generators. Text in, text or JSON out.

use playpath_link::registry;
use playpath_link::trace::{Trace, TraceFormat};
use playpath_units::Duration;
use playpath_units::names::unknown;
use playpath_units::random::RootSeed;
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Display;

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
    let values: BTreeMap<String, String> = serde_json::from_str(settings).map_err(|e| e.to_string())?;
    let settings: Vec<(&str, &str)> = values.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let generator = registry::find(registry::trace_generators(), "generator", kind)?.with(&settings)?;
    let trace = generator.generate(&mut RootSeed(seed).stream(&format!("trace/{kind}"))).map_err(trace_error)?;
    Trace::Rate(trace).to_text(format(target)?, Duration::from_millis(100)).map_err(trace_error)
}

fn format(name: &str) -> Result<TraceFormat, String> {
    let known = TraceFormat::ALL.into_iter().find(|f| f.name() == name);
    known.ok_or_else(|| unknown("trace format", name, TraceFormat::ALL.iter().map(|f| f.name())))
}

fn trace_error(error: impl Display) -> String {
    error.to_string()
}
