//! The "cooked" traces of Pensieve (H. Mao et al., SIGCOMM 2017, `env.py`): "seconds Mbit/s" per line.
//!
//! As in its code, a line's rate holds from the time of the line above to its own time, and the first line only gives the start.
//! So a trace needs two lines. Times are taken relative to the first line.

use super::format::shortened;
use super::{RateTrace, TraceError, checked_rate, checked_seconds, checked_steps, content_lines};
use playpath_units::{Duration, Rate};
use std::fmt::Write;

pub(super) fn parse(text: &str) -> Result<RateTrace, TraceError> {
    let mut steps: Vec<(Duration, Rate)> = Vec::new();
    let mut before: Option<f64> = None;
    for (line, words) in content_lines(text) {
        let (seconds, mbps) = two_numbers(words).ok_or_else(|| {
            TraceError::at(line, format!("{:?} is not \"seconds Mbit/s\" with two numbers", shortened(words)))
        })?;
        if !seconds.is_finite() {
            return Err(TraceError::at(line, format!("time {seconds} s is not a finite number")));
        }
        let rate = checked_rate(line, mbps * 1e6)?;
        match before {
            Some(earlier) if seconds < earlier => {
                return Err(TraceError::at(line, format!("time {seconds} s is before the line above, {earlier} s")));
            }
            Some(earlier) => steps.push((checked_seconds(line, seconds - earlier)?, rate)),
            None => {}
        }
        before = Some(seconds);
    }
    checked_steps(&steps).map_err(|error| match steps.is_empty() {
        true => TraceError::whole("it is too short; at least two lines \"seconds Mbit/s\" are needed"),
        false => error,
    })
}

fn two_numbers(words: &str) -> Option<(f64, f64)> {
    let mut numbers = words.split_whitespace().map(|word| word.parse::<f64>().ok());
    let pair = (numbers.next()??, numbers.next()??);
    numbers.next().is_none().then_some(pair)
}

pub(super) fn write(trace: &RateTrace) -> String {
    let mut text = format!("0 {}\n", trace.steps()[0].1.as_mbps());
    for (start, length, rate) in trace.pieces() {
        writeln!(text, "{} {}", (start + length).as_secs_f64(), rate.as_mbps()).expect("writing to a string");
    }
    text
}
