//! Errors of the emulator.

use std::io;

/// Each says what failed, where, and why, in one line.
#[derive(Debug, thiserror::Error)]
pub enum EmulatorError {
    #[error("the parent process has ended")]
    ParentExited,
    #[error("{what}: {source}")]
    System { what: &'static str, source: io::Error },
    #[error("{what} {name}: {source}")]
    File { what: &'static str, name: String, source: io::Error },
    #[error("device {name}: {source}{}", hint(.source))]
    Device { name: String, source: io::Error },
    #[error("standard input: \"{0}\" is not known; allowed: start NANOSECONDS")]
    UnknownWord(String),
    #[error(transparent)]
    Link(#[from] playpath_link::LinkError),
}

/// An invalid configuration: one line with the position and the reason.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error(transparent)]
    Unreadable(#[from] io::Error),
    #[error("not a configuration: {0}")]
    Json(#[from] serde_json::Error),
    #[error("`run.sample`; allowed: 1 ms or more")]
    Sample,
    #[error("`scenario`: {0}")]
    Scenario(playpath_scenario::ScenarioError),
    #[error("`scenario`: {name}: {source}")]
    Link { name: String, source: playpath_link::LinkError },
    #[error("`ends[{i}]`: {source}")]
    Ends { i: usize, source: EndsError },
    #[error("`ends[{i}].path`: there is no path \"{path}\"")]
    NoPath { i: usize, path: String },
    #[error("`ends` is empty; at least one path is needed")]
    NoEnds,
    #[error("two entries of `ends` have the name \"{0}\"")]
    SameName(String),
    #[error("device \"{0}\" is named twice in one namespace")]
    SameDevice(String),
}

#[derive(Debug, thiserror::Error)]
pub enum EndsError {
    #[error("`flow` and `rtt` belong together")]
    HalfAFlow,
    #[error("`mtu`; allowed: 68 to 65535")]
    Mtu,
    #[error("\"{0}\" is not a device name of at most 15 letters and digits")]
    Device(String),
    #[error("\"{0}\" is not the name of a namespace")]
    Namespace(String),
}

impl EmulatorError {
    /// Conversion for `map_err`, for system calls that occur in one place only.
    pub fn system(what: &'static str) -> impl Fn(io::Error) -> EmulatorError {
        move |source| EmulatorError::System { what, source }
    }
}

impl From<EmulatorError> for playpath_shell::Failure {
    fn from(error: EmulatorError) -> Self {
        playpath_shell::Failure::run(error)
    }
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "; it needs root or CAP_NET_ADMIN and CAP_SYS_ADMIN",
        io::ErrorKind::ResourceBusy => "; a device of this name exists already",
        io::ErrorKind::NotFound => "; /dev/net/tun is missing (modprobe tun)",
        _ => "",
    }
}
