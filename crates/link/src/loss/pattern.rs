//! Trace-driven loss: a recorded sequence says which packets are lost; it wraps at its end.
//!
//! Reference: ns-2 `ErrorModel/List`; the 0/1 loss traces of multicast and WLAN measurements.
//! Text forms: "0/1" (one digit per packet, 1 = lost, white space ignored, `#` starts a comment) and "indices" (one packet
//! number per line, counted from 0, with the length of the sequence first: `length 1000`).
//!
//! Differences from the reference: ns-2's list does not wrap; ours does.
//! Invariants: never empty. Tested: both forms, wrapping, errors with line numbers.

use super::LossProcess;
use crate::registry::About;
use crate::settings::{Setting, config};
use playpath_units::random::Stream;
use playpath_units::{Kind, Time};
use std::fmt;
use std::sync::Arc;

config! {
    PatternConfig {
        file: Arc<LossPattern> = text("0", Kind::File), "which packets are lost: 0 and 1, one per packet; or \"length N\" and packet numbers, one per line";
    }
}

impl Setting for Arc<LossPattern> {
    fn read(text: &str) -> Result<Arc<LossPattern>, String> {
        LossPattern::parse(text).map(Arc::new)
    }
    fn text(&self) -> String {
        self.to_string()
    }
}

/// A recorded sequence at work: the position in it.
#[derive(Clone, Debug)]
pub struct Pattern {
    lost: Arc<LossPattern>,
    position: usize,
}

impl LossProcess for Pattern {
    type Config = PatternConfig;
    const ABOUT: About = About {
        name: "pattern",
        summary: "a recorded sequence of lost packets, repeated",
        reference: "ns-2 ErrorModel/List",
    };

    fn new(config: &PatternConfig, _stream: Stream) -> Pattern {
        Pattern { lost: Arc::clone(&config.file), position: 0 }
    }
    fn loses(&mut self, _at: Time) -> bool {
        let is_lost = self.lost.is_lost(self.position);
        self.position = (self.position + 1) % self.lost.len();
        is_lost
    }
    fn mean_loss(config: &PatternConfig) -> f64 {
        config.file.mean_loss()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LossPattern(Vec<bool>);

/// The longest accepted sequence, in packets.
const MAX_LENGTH: usize = 10_000_000;

impl LossPattern {
    /// A pattern of one flag per packet, `true` = lost. Errors: empty.
    pub fn new(lost: Vec<bool>) -> Result<LossPattern, String> {
        if lost.is_empty() {
            return Err("loss pattern: the pattern is empty".into());
        }
        Ok(LossPattern(lost))
    }

    /// Parse a text in either form. Errors: the line and the reason.
    pub fn parse(text: &str) -> Result<LossPattern, String> {
        let lines = || text.lines().zip(1..).map(|(l, i)| (i, l.split('#').next().unwrap_or("").trim()));
        match lines().find(|(_, l)| !l.is_empty()) {
            Some((_, first)) if first.starts_with("length") => parse_indices(lines()),
            _ => parse_flags(lines()),
        }
    }

    /// Packets in the sequence; at least 1.
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether packet `position` (below [`len`](Self::len)) is lost.
    pub fn is_lost(&self, position: usize) -> bool {
        self.0[position]
    }

    pub fn mean_loss(&self) -> f64 {
        self.0.iter().filter(|lost| **lost).count() as f64 / self.0.len() as f64
    }
}

impl fmt::Display for LossPattern {
    /// The form with one digit per packet; reads back as the same pattern.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|lost| f.write_str(if *lost { "1" } else { "0" }))
    }
}

fn parse_flags<'a>(lines: impl Iterator<Item = (usize, &'a str)>) -> Result<LossPattern, String> {
    let mut lost = Vec::new();
    for (line, text) in lines {
        for c in text.chars().filter(|c| !c.is_whitespace()) {
            match c {
                '0' => lost.push(false),
                '1' => lost.push(true),
                _ => return Err(problem(line, format!("{c:?} is neither 0 nor 1"))),
            }
        }
    }
    LossPattern::new(lost)
}

fn parse_indices<'a>(lines: impl Iterator<Item = (usize, &'a str)>) -> Result<LossPattern, String> {
    let mut lost: Vec<bool> = Vec::new();
    for (line, text) in lines.filter(|(_, text)| !text.is_empty()) {
        let number = text.strip_prefix("length").unwrap_or(text).trim();
        let number: usize = number.parse().map_err(|_| problem(line, format!("{number:?} is not a packet number")))?;
        if lost.is_empty() {
            if number == 0 || number > MAX_LENGTH {
                return Err(problem(line, format!("length {number} is not within 1 to {MAX_LENGTH}")));
            }
            lost = vec![false; number];
        } else if let Some(slot) = lost.get_mut(number) {
            *slot = true;
        } else {
            return Err(problem(line, format!("packet {number} is not below the length {}", lost.len())));
        }
    }
    LossPattern::new(lost)
}

fn problem(line: usize, problem: String) -> String {
    format!("loss pattern, line {line}: {problem}")
}
