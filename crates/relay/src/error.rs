//! What an operator of the relay may have got wrong, and what the machine refuses.

use crate::tcp;
use playpath_relay::record::MOST_PATHS;
use playpath_shell::Failure;
use playpath_units::{Bytes, Duration, ParseError};
use std::io;
use std::path::PathBuf;

/// An argument that is wrong; the command line says which.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum OptionError {
    #[error(transparent)]
    Address(#[from] io::Error),
    #[error("no address")]
    NoAddress,
    #[error("{0}; write NAME=HOST:PORT[,from=ADDR][,dev=DEVICE]")]
    Path(String),
    #[error("{0} paths; say --path 1 to {MOST_PATHS} times")]
    TooManyPaths(usize),
    #[error("two paths are called `{0}`")]
    SamePath(String),
    #[error("{0}")]
    Scheduler(String),
    #[error(transparent)]
    Quantity(#[from] ParseError),
    #[error("from {} to {}", Bytes(*.0), Bytes(*.1))]
    Size(u64, u64),
    #[error("from {0} to {1}")]
    Time(Duration, Duration),
}

/// The relay cannot begin.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum StartError {
    #[error("--log {}: {source}", .path.display())]
    Log { path: PathBuf, source: io::Error },
    #[error("--listen {address}: {source}")]
    Listen { address: std::net::SocketAddr, source: io::Error },
    #[error("--cc {cc}: {source}{}", tcp::congestion_hint(.source))]
    Control { cc: String, source: io::Error },
    #[error(transparent)]
    Signals(io::Error),
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Failure {
        match error {
            StartError::Log { .. } => Failure::input(error),
            _ => Failure::run(error),
        }
    }
}
