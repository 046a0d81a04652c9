//! Why the emulator could not run.

use std::io;

/// Each says what failed, where, and why, in one line.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum EmulatorError {
    #[error("the parent process has ended")]
    Orphan,
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

impl EmulatorError {
    /// For `map_err`, of what the emulator does at one place only.
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
