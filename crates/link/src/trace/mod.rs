//! Bandwidth traces: two exact inner forms, four text formats, seeded generators.

mod opportunity_trace;
mod rate_trace;

pub use opportunity_trace::{BYTES_PER_OPPORTUNITY, OpportunityTrace};
pub use rate_trace::RateTrace;
use std::fmt;

/// What is wrong with a trace, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    /// Line of the text, counted from 1; 0 if it is about the whole trace.
    pub line: usize,
    /// What was found and what is allowed, in one line.
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

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "trace: {}", self.problem),
            line => write!(f, "trace, line {line}: {}", self.problem),
        }
    }
}
impl std::error::Error for TraceError {}
