//! CSV with a header that names its columns and their units: `time_s,rate_mbps`, `duration (ms);bandwidth [kbit/s]`.
//!
//! A `time` column says from when on a rate holds; the last one holds as long as the one before it. A `duration` column says how
//! long. Separators: comma, semicolon, tab. Further columns are left out. Bytes per second are refused: "MBps" and "Mbps" are too
//! easily mixed up.

use super::format::shortened;
use super::{RateTrace, TraceError, checked_rate, checked_seconds, checked_steps, content_lines};
use playpath_units::{Duration, Rate};
use std::fmt::Write;

const TIME_NAMES: [&str; 4] = ["time", "timestamp", "t", "at"];
const DURATION_NAMES: [&str; 3] = ["duration", "length", "dt"];
const RATE_NAMES: [&str; 5] = ["rate", "bandwidth", "throughput", "bw", "capacity"];
const TIME_UNITS: [(&str, f64); 6] =
    [("s", 1.0), ("sec", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9), ("min", 60.0)];
const RATE_UNITS: [(&str, f64); 8] = [
    ("bps", 1.0),
    ("bit/s", 1.0),
    ("kbps", 1e3),
    ("kbit/s", 1e3),
    ("mbps", 1e6),
    ("mbit/s", 1e6),
    ("gbps", 1e9),
    ("gbit/s", 1e9),
];

#[derive(Clone, Copy, PartialEq)]
enum Meaning {
    Time,
    Duration,
    Rate,
}

#[derive(Clone, Copy)]
struct Column {
    index: usize,
    meaning: Meaning,
    /// Seconds or bit/s per unit.
    scale: f64,
}

pub(super) fn parse(text: &str) -> Result<RateTrace, TraceError> {
    let mut lines = content_lines(text);
    let Some((line, header)) = lines.next() else {
        return Err(TraceError::whole("it is empty"));
    };
    let separator = [',', ';', '\t'].into_iter().find(|s| header.contains(*s)).ok_or_else(|| {
        TraceError::at(
            line,
            "the header has one column; needed: time or duration, and rate, such as \"time_s,rate_mbps\"",
        )
    })?;
    let (when, rate) = columns(line, header, separator)?;
    let rows: Vec<(usize, f64, Rate)> = lines
        .map(|(line, row)| {
            let seconds = number(line, row, separator, when)?;
            Ok((line, seconds, checked_rate(line, number(line, row, separator, rate)?)?))
        })
        .collect::<Result<_, TraceError>>()?;
    checked_steps(&steps(&rows, when.meaning)?)
}

/// The column that says when, and the one that says how fast.
fn columns(line: usize, header: &str, separator: char) -> Result<(Column, Column), TraceError> {
    let mut found: Vec<Column> = Vec::new();
    for (index, name) in header.split(separator).enumerate() {
        found.extend(column(line, index, name)?);
    }
    let one = |what: &str, is_wanted: fn(Meaning) -> bool| {
        let mut wanted = found.iter().filter(|column| is_wanted(column.meaning));
        match (wanted.next(), wanted.next()) {
            (Some(column), None) => Ok(*column),
            (None, _) => Err(TraceError::at(line, format!("no {what} column in the header {:?}", shortened(header)))),
            _ => Err(TraceError::at(line, format!("more than one {what} column; which one is meant is not clear"))),
        }
    };
    Ok((one("time or duration", |m| m != Meaning::Rate)?, one("rate", |m| m == Meaning::Rate)?))
}

/// What a column is, from its name and unit; `None` if it is neither time nor rate.
fn column(line: usize, index: usize, header: &str) -> Result<Option<Column>, TraceError> {
    let is_divider = |c: char| c.is_whitespace() || matches!(c, '_' | '(' | '[' | '"' | '\'');
    let trimmed = header.trim().trim_matches(['"', '\'']);
    let end = trimmed.find(is_divider).unwrap_or(trimmed.len());
    let (name, unit) = trimmed.split_at(end);
    let unit = unit.trim_matches(|c| is_divider(c) || matches!(c, ')' | ']'));
    let name = name.to_ascii_lowercase();
    let meaning = match name.as_str() {
        n if TIME_NAMES.contains(&n) => Meaning::Time,
        n if DURATION_NAMES.contains(&n) => Meaning::Duration,
        n if RATE_NAMES.contains(&n) => Meaning::Rate,
        _ => return Ok(None),
    };
    let units: &[(&str, f64)] = if meaning == Meaning::Rate { &RATE_UNITS } else { &TIME_UNITS };
    let is_in_bytes = meaning == Meaning::Rate && unit.contains('B');
    let lower = unit.to_ascii_lowercase();
    let known = units.iter().find(|(known, _)| *known == lower && !is_in_bytes);
    let allowed = || units.iter().map(|(unit, _)| *unit).collect::<Vec<_>>().join(", ");
    let problem = || match unit {
        "" => format!("column {:?} has no unit; allowed: {}", shortened(header), allowed()),
        _ => format!("column {:?}: unit {:?} is not known; allowed: {}", shortened(header), shortened(unit), allowed()),
    };
    let &(_, scale) = known.ok_or_else(|| TraceError::at(line, problem()))?;
    Ok(Some(Column { index, meaning, scale }))
}

fn number(line: usize, row: &str, separator: char, column: Column) -> Result<f64, TraceError> {
    let cell = row.split(separator).nth(column.index).unwrap_or("").trim();
    let value: f64 = cell.parse().map_err(|_| {
        TraceError::at(line, format!("{:?} in column {} is not a number", shortened(cell), column.index + 1))
    })?;
    Ok(value * column.scale)
}

fn steps(rows: &[(usize, f64, Rate)], meaning: Meaning) -> Result<Vec<(Duration, Rate)>, TraceError> {
    if meaning == Meaning::Duration {
        return rows.iter().map(|&(line, seconds, rate)| Ok((checked_seconds(line, seconds)?, rate))).collect();
    }
    if rows.len() < 2 {
        return Err(TraceError::whole("it is too short; at least two rows are needed to know how long a rate holds"));
    }
    let mut steps: Vec<(Duration, Rate)> = Vec::with_capacity(rows.len());
    for pair in rows.windows(2) {
        let ((_, from, rate), (line, to, _)) = (pair[0], pair[1]);
        if to < from {
            return Err(TraceError::at(line, format!("time {to} s is before the row above, {from} s")));
        }
        steps.push((checked_seconds(line, to - from)?, rate));
    }
    let last_length = steps[steps.len() - 1].0;
    steps.push((last_length, rows[rows.len() - 1].2));
    Ok(steps)
}

/// With durations: they say it all, where times would leave the length of the last step to a convention.
pub(super) fn write(trace: &RateTrace) -> String {
    let mut text = String::from("duration_s,rate_mbps\n");
    for (_, length, rate) in trace.pieces() {
        writeln!(text, "{},{}", length.as_secs_f64(), rate.as_mbps()).expect("writing to a string");
    }
    text
}
