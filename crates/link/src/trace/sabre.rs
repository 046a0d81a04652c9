//! The network file of Sabre (K. Spiteri et al., MMSys 2018): a JSON list of `{"duration_ms", "bandwidth_kbps", "latency_ms"}`.
//!
//! `latency_ms` is kept with the trace and has no effect on a link: delay belongs to the path. The idealised transport uses it (a response
//! begins that much later); everything else warns that it is ignored. It is written back unchanged.

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
    let rates: Vec<_> = steps.iter().map(|&(length, rate, _)| (length, rate)).collect();
    let latencies: Vec<_> = steps.iter().map(|&(length, _, latency)| (length, latency)).collect();
    Ok(checked_steps(&rates)?.with_latencies(&latencies))
}

fn step(entry: &Value, number: usize) -> Result<(Duration, Rate, Duration), TraceError> {
    let in_entry = |problem: String| TraceError::whole(format!("entry {number}: {problem}"));
    let field = |key: &str| {
        let value = entry.get(key).ok_or_else(|| in_entry(format!("{key} is missing")))?;
        value.as_f64().ok_or_else(|| in_entry(format!("{key} = {value} is not a number")))
    };
    let latency = match entry.get("latency_ms") {
        None => 0.0,
        Some(latency) => latency
            .as_f64()
            .filter(|ms| *ms >= 0.0)
            .ok_or_else(|| in_entry(format!("latency_ms = {latency} is not a number of 0 or more")))?,
    };
    let latency = checked_seconds(0, latency / 1e3).map_err(|error| in_entry(error.problem))?;
    let length = checked_seconds(0, field("duration_ms")? / 1e3).map_err(|error| in_entry(error.problem))?;
    let rate = checked_rate(0, field("bandwidth_kbps")? * 1e3).map_err(|error| in_entry(error.problem))?;
    Ok((length, rate, latency))
}

pub(super) fn write(trace: &RateTrace) -> String {
    let entry = |(length, rate, latency): (Duration, Rate, Duration)| {
        json!({
            "duration_ms": length.as_millis_f64(),
            "bandwidth_kbps": rate.as_bits_per_sec() as f64 / 1e3,
            "latency_ms": latency.as_millis_f64(),
        })
    };
    let pieces = trace.pieces_with_latency(Duration::ZERO);
    let entries: Vec<String> = pieces.into_iter().map(|piece| format!("  {}", entry(piece))).collect();
    format!("[\n{}\n]\n", entries.join(",\n"))
}
