//! The network file of Sabre (K. Spiteri et al., MMSys 2018): a JSON list of `{"duration_ms", "bandwidth_kbps", "latency_ms"}`.
//!
//! `latency_ms` is checked and left out: delay belongs to the path, not to the trace. It is written as 0.

use super::{RateTrace, TraceError, checked_rate, checked_seconds, checked_steps};
use playpath_units::{Duration, Rate};
use serde_json::{Value, json};

pub(super) fn parse(text: &str) -> Result<RateTrace, TraceError> {
    let value: Value = serde_json::from_str(text.trim_start_matches('\u{feff}'))
        .map_err(|error| TraceError::at(error.line(), format!("not JSON: {error}")))?;
    let Value::Array(entries) = value else {
        return Err(TraceError::whole("the JSON is not a list of steps with duration_ms and bandwidth_kbps"));
    };
    let steps: Vec<_> = entries.iter().zip(1..).map(|(entry, number)| step(entry, number)).collect::<Result<_, _>>()?;
    checked_steps(&steps)
}

fn step(entry: &Value, number: usize) -> Result<(Duration, Rate), TraceError> {
    let in_entry = |problem: String| TraceError::whole(format!("entry {number}: {problem}"));
    let field = |key: &str| {
        let value = entry.get(key).ok_or_else(|| in_entry(format!("{key} is missing")))?;
        value.as_f64().ok_or_else(|| in_entry(format!("{key} = {value} is not a number")))
    };
    if let Some(latency) = entry.get("latency_ms")
        && latency.as_f64().is_none_or(|ms| ms < 0.0)
    {
        return Err(in_entry(format!("latency_ms = {latency} is not a number of 0 or more")));
    }
    let length = checked_seconds(0, field("duration_ms")? / 1e3).map_err(|error| in_entry(error.problem))?;
    let rate = checked_rate(0, field("bandwidth_kbps")? * 1e3).map_err(|error| in_entry(error.problem))?;
    Ok((length, rate))
}

pub(super) fn write(trace: &RateTrace) -> String {
    let entry = |(_, length, rate): (Duration, Duration, Rate)| {
        json!({
            "duration_ms": length.as_millis_f64(),
            "bandwidth_kbps": rate.as_bits_per_sec() as f64 / 1e3,
            "latency_ms": 0,
        })
    };
    let entries: Vec<String> = trace.pieces().map(|piece| format!("  {}", entry(piece))).collect();
    format!("[\n{}\n]\n", entries.join(",\n"))
}
