//! Recognition of the format of a trace. Ambiguous texts are rejected.

use super::{TraceError, content_lines};
use std::fmt;
use std::str::FromStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceFormat {
    /// One integer per line: milliseconds of an opportunity to send 1500 bytes.
    Mahimahi,
    /// "seconds Mbit/s" per line.
    Pensieve,
    /// A JSON list of `duration_ms`, `bandwidth_kbps`.
    Sabre,
    /// A header that names a time or duration column and a rate column with their units.
    Csv,
}

impl TraceFormat {
    pub const ALL: [TraceFormat; 4] =
        [TraceFormat::Mahimahi, TraceFormat::Pensieve, TraceFormat::Sabre, TraceFormat::Csv];

    pub fn name(self) -> &'static str {
        match self {
            TraceFormat::Mahimahi => "mahimahi",
            TraceFormat::Pensieve => "pensieve",
            TraceFormat::Sabre => "sabre",
            TraceFormat::Csv => "csv",
        }
    }

    /// The format of `text`, from its first line with content. Errors: empty; no known format; several possible ones.
    pub fn detect(text: &str) -> Result<TraceFormat, TraceError> {
        let Some((line, first)) = content_lines(text).next() else {
            return Err(TraceError::whole("it is empty"));
        };
        if first.starts_with(['[', '{']) {
            return Ok(TraceFormat::Sabre);
        }
        let is_number = |word: &str| word.trim().parse::<f64>().is_ok();
        let words: Vec<&str> = first.split_whitespace().collect();
        match words[..] {
            [word] if word.bytes().all(|b| b.is_ascii_digit()) => Ok(TraceFormat::Mahimahi),
            [word] if is_number(word) => Err(TraceError::at(
                line,
                format!(
                    "a single column with {word} is ambiguous: Mahimahi has whole milliseconds, other formats two columns"
                ),
            )),
            [a, b] if is_number(a) && is_number(b) => Ok(TraceFormat::Pensieve),
            _ if first.split([',', ';', '\t']).all(is_number) => Err(TraceError::at(
                line,
                "columns without a header are ambiguous; name them with units, such as \"time_s,rate_mbps\"",
            )),
            _ if first.contains([',', ';', '\t']) => Ok(TraceFormat::Csv),
            _ => Err(TraceError::at(
                line,
                format!("{:?} is not a known trace format; known: mahimahi, pensieve, sabre, csv", shortened(first)),
            )),
        }
    }
}

pub(super) fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}

impl fmt::Display for TraceFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for TraceFormat {
    type Err = TraceError;
    fn from_str(name: &str) -> Result<TraceFormat, TraceError> {
        TraceFormat::ALL.into_iter().find(|format| format.name() == name).ok_or_else(|| {
            TraceError::whole(format!("{name:?} is not a trace format; known: mahimahi, pensieve, sabre, csv"))
        })
    }
}
