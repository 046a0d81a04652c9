//! Bandwidth traces: two exact internal forms, four text formats, seeded generators. Text in, text out; no files.

mod csv;
mod format;
pub mod generate;
mod header;
mod mahimahi;
mod opportunity_trace;
mod pensieve;
mod rate_trace;
mod sabre;

pub use format::TraceFormat;
pub use opportunity_trace::{BYTES_PER_OPPORTUNITY, OpportunityTrace};
use playpath_units::{Duration, Rate, Time};
pub use rate_trace::RateTrace;
use std::sync::Arc;

use crate::ServerConfig;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trace {
    /// At this time, this many bytes.
    Opportunities(OpportunityTrace),
    Rate(RateTrace),
}

/// Figures for a first look at a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceSummary {
    pub period: Duration,
    pub mean: Rate,
    /// Lowest rate of any bin.
    pub min: Rate,
    /// Highest rate of any bin.
    pub max: Rate,
    /// Share of the bins without any capacity.
    pub outage_share: f64,
    /// Mean rate in each of the equally long bins, in order of time.
    pub bins: Vec<Rate>,
}

impl Trace {
    /// Read `text` in the given format, or in the one it is recognised as. Errors: the line and the reason;
    /// an ambiguous text.
    pub fn parse(text: &str, format: Option<TraceFormat>) -> Result<Trace, TraceError> {
        let format = match format {
            Some(format) => format,
            None => TraceFormat::detect(text)?,
        };
        match format {
            TraceFormat::Mahimahi => mahimahi::parse(text).map(Trace::Opportunities),
            TraceFormat::Pensieve => pensieve::parse(text).map(Trace::Rate),
            TraceFormat::Sabre => sabre::parse(text).map(Trace::Rate),
            TraceFormat::Csv => csv::parse(text).map(Trace::Rate),
        }
    }

    /// Write in a format. If opportunities are converted to rates, each step lasts `bin`. Errors: a trace too long for the format.
    pub fn to_text(&self, format: TraceFormat, bin: Duration) -> Result<String, TraceError> {
        match format {
            TraceFormat::Mahimahi => Ok(mahimahi::write(&self.to_opportunities()?)),
            TraceFormat::Pensieve => Ok(pensieve::write(&self.to_rate(bin)?)),
            TraceFormat::Sabre => Ok(sabre::write(&self.to_rate(bin)?)),
            TraceFormat::Csv => Ok(csv::write(&self.to_rate(bin)?)),
        }
    }

    /// Convert to a rate. Opportunities are averaged over steps of `bin`; a rate is returned unchanged.
    pub fn to_rate(&self, bin: Duration) -> Result<RateTrace, TraceError> {
        match self {
            Trace::Rate(trace) => Ok(trace.clone()),
            Trace::Opportunities(trace) => trace.to_rate(bin),
        }
    }

    /// Convert to opportunities of [`BYTES_PER_OPPORTUNITY`] in whole milliseconds; opportunities are returned unchanged.
    pub fn to_opportunities(&self) -> Result<OpportunityTrace, TraceError> {
        match self {
            Trace::Opportunities(trace) => Ok(trace.clone()),
            Trace::Rate(trace) => trace.to_opportunities(),
        }
    }

    pub fn into_server(self) -> ServerConfig {
        match self {
            Trace::Opportunities(trace) => ServerConfig::Opportunities { trace: Arc::new(trace) },
            Trace::Rate(trace) => ServerConfig::RateTrace { trace: Arc::new(trace) },
        }
    }

    /// A first look, over `bins` equal parts of a lap (at least one).
    pub fn summary(&self, bins: u32) -> TraceSummary {
        let period = match self {
            Trace::Opportunities(trace) => trace.period(),
            Trace::Rate(trace) => trace.period(),
        };
        let bits_until = |at: Duration| match self {
            // Of one period: an opportunity at the very start belongs to the first bin.
            Trace::Opportunities(_) if at.is_zero() => 0.0,
            Trace::Opportunities(trace) if at == period => trace.bytes_per_period() as f64 * 8.0,
            Trace::Opportunities(trace) => trace.bytes_until(Time::ZERO + at) as f64 * 8.0,
            Trace::Rate(trace) => trace.bits_until(Time::ZERO + at),
        };
        let bins = u64::from(bins.max(1)).min(period.as_nanos());
        let edge =
            |i: u64| Duration::from_nanos((u128::from(period.as_nanos()) * u128::from(i) / u128::from(bins)) as u64);
        let rates: Vec<Rate> = (0..bins)
            .map(|i| {
                let (from, to) = (edge(i), edge(i + 1));
                Rate::from_bits_per_sec_f64((bits_until(to) - bits_until(from)) / (to - from).as_secs_f64())
            })
            .collect();
        TraceSummary {
            period,
            mean: Rate::from_bits_per_sec_f64(bits_until(period) / period.as_secs_f64()),
            min: rates.iter().copied().min().unwrap_or_default(),
            max: rates.iter().copied().max().unwrap_or_default(),
            outage_share: rates.iter().filter(|rate| rate.as_bits_per_sec() == 0).count() as f64 / bins as f64,
            bins: rates,
        }
    }
}

/// The longest accepted trace: about 116 days. Keeps sums of nanoseconds far from overflow.
const MAX_SECONDS: f64 = 1e7;
/// The highest accepted rate, in bit/s.
const MAX_BITS_PER_SEC: f64 = 1e13;
/// The most steps or opportunities that a conversion makes.
const MAX_ENTRIES: u64 = 50_000_000;

/// A time in seconds from text that was read as a number.
fn checked_seconds(line: usize, seconds: f64) -> Result<Duration, TraceError> {
    if !(0.0..=MAX_SECONDS).contains(&seconds) {
        return Err(TraceError::at(line, format!("time {seconds} s is not within 0 to {MAX_SECONDS} s")));
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// A rate in bit/s from text that was read as a number.
fn checked_rate(line: usize, bits_per_sec: f64) -> Result<Rate, TraceError> {
    if !(0.0..=MAX_BITS_PER_SEC).contains(&bits_per_sec) {
        return Err(TraceError::at(
            line,
            format!("rate {bits_per_sec} bit/s is not within 0 to {MAX_BITS_PER_SEC} bit/s"),
        ));
    }
    Ok(Rate::from_bits_per_sec_f64(bits_per_sec))
}

/// The whole trace must stay within the longest accepted time.
fn checked_steps(steps: &[(Duration, Rate)]) -> Result<RateTrace, TraceError> {
    let total: f64 = steps.iter().map(|step| step.0.as_secs_f64()).sum();
    if total > MAX_SECONDS {
        return Err(TraceError::whole(format!("it lasts {total} s; at most {MAX_SECONDS} s are allowed")));
    }
    RateTrace::new(steps)
}

/// Lines with something on them, with their numbers; `#` starts a comment.
fn content_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let without_comments = text.lines().map(|line| line.split('#').next().unwrap_or("").trim());
    (1..).zip(without_comments).filter(|(_, line)| !line.is_empty())
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("trace{}: {problem}", if *line == 0 { String::new() } else { format!(", line {line}") })]
pub struct TraceError {
    /// Line of the text, counted from 1; 0 if it is about the whole trace.
    pub line: usize,
    /// The value found and the allowed ones, in one line.
    pub problem: String,
}

impl TraceError {
    pub(crate) fn whole(problem: impl Into<String>) -> TraceError {
        TraceError { line: 0, problem: problem.into() }
    }
    pub(crate) fn at(line: usize, problem: impl Into<String>) -> TraceError {
        TraceError { line, problem: problem.into() }
    }
}
