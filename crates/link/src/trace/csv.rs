//! CSV with a header that names its columns and their units: `time_s,rate_mbps`, `duration (ms);bandwidth [kbit/s]`.
//!
//! A `time` column gives the start of a rate; the last rate lasts as long as the one before it. A `duration` column gives its length.
//! Separators: comma, semicolon, tab. Further columns are left out. Bytes per second are refused: "MBps" and "Mbps" are too
//! easily mixed up.

use super::format::shortened;
use super::header::{Column, Meaning, columns};
use super::{RateTrace, TraceError, checked_rate, checked_seconds, checked_steps, content_lines};
use playpath_units::{Duration, Rate};
use std::fmt::Write;

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

fn number(line: usize, row: &str, separator: char, column: Column) -> Result<f64, TraceError> {
    let cell = row.split(separator).nth(column.index).unwrap_or("").trim().trim_matches('"');
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

/// Write with durations, since with times the length of the last step would be a convention.
pub(super) fn write(trace: &RateTrace) -> String {
    let mut text = String::from("duration_s,rate_mbps\n");
    for (_, length, rate) in trace.pieces() {
        writeln!(text, "{},{}", length.as_secs_f64(), rate.as_mbps()).expect("writing to a string");
    }
    text
}
