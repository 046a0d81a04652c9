//! The format of Mahimahi's `mm-link`: one integer per line, the millisecond of an opportunity to send one full packet.
//! Repeated lines are several opportunities; the trace repeats from its last timestamp.

use super::format::shortened;
use super::{BYTES_PER_OPPORTUNITY, MAX_SECONDS, OpportunityTrace, TraceError, content_lines};
use playpath_units::Duration;
use std::fmt::Write;

pub(super) fn parse(text: &str) -> Result<OpportunityTrace, TraceError> {
    let mut opportunities: Vec<(Duration, u64)> = Vec::new();
    for (line, word) in content_lines(text) {
        let millis: u64 = word.parse().map_err(|_| {
            TraceError::at(line, format!("{:?} is not a whole number of milliseconds", shortened(word)))
        })?;
        if millis as f64 > MAX_SECONDS * 1e3 {
            return Err(TraceError::at(line, format!("{millis} ms is more than {MAX_SECONDS} s")));
        }
        let at = Duration::from_millis(millis);
        match opportunities.last_mut() {
            Some(last) if at < last.0 => {
                return Err(TraceError::at(
                    line,
                    format!("{millis} ms is before the line above; times must not go back"),
                ));
            }
            Some(last) if at == last.0 => last.1 += u64::from(BYTES_PER_OPPORTUNITY),
            _ => opportunities.push((at, u64::from(BYTES_PER_OPPORTUNITY))),
        }
    }
    let period = opportunities.last().map_or(Duration::ZERO, |last| last.0);
    if opportunities.is_empty() {
        return Err(TraceError::whole("it is empty; at least one delivery opportunity is needed"));
    }
    OpportunityTrace::new(&opportunities, period)
}

/// Times are rounded up to milliseconds and bytes are handed on to whole opportunities. The last line is the period: if no
/// opportunity falls there, one is added.
pub(super) fn write(trace: &OpportunityTrace) -> String {
    let mut text = String::new();
    let mut bytes = 0;
    let mut last = None;
    let millis = |at: Duration| at.as_nanos().div_ceil(1_000_000);
    for &(at, more) in trace.opportunities() {
        bytes += more;
        while bytes >= u64::from(BYTES_PER_OPPORTUNITY) {
            bytes -= u64::from(BYTES_PER_OPPORTUNITY);
            last = Some(millis(at));
            writeln!(text, "{}", millis(at)).expect("writing to a string");
        }
    }
    if last != Some(millis(trace.period())) {
        writeln!(text, "{}", millis(trace.period())).expect("writing to a string");
    }
    text
}
