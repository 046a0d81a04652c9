//! Common behaviour of the programs (emulator, client, serve, loader): they read their arguments, print JSON lines on standard output,
//! report a failure in one line on standard error, and exit with status 0, 1 (failed) or 2 (invalid input).

use clap::Parser;
use clap::error::ErrorKind;
use rustix::time::{ClockId, clock_gettime};
use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::ExitCode;

pub use clap;

/// Why a program ends, and so its exit status.
#[derive(Debug)]
pub enum Failure {
    /// The input is wrong: 2.
    Input(String),
    /// The operation failed: status 1.
    Run(String),
    /// The reader of the output has gone (`… | head`): status 1 without a message.
    Unread,
}

impl Failure {
    pub fn input(problem: impl Display) -> Failure {
        Failure::Input(problem.to_string())
    }

    /// The operation failed.
    pub fn run(problem: impl Display) -> Failure {
        Failure::Run(problem.to_string())
    }
}

/// Run a program whose arguments are `A`.
pub fn main<A: Parser>(run: impl FnOnce(A) -> Result<(), Failure>) -> ExitCode {
    let (problem, status) = match parse::<A>(std::env::args_os()).and_then(|a| a.map_or(Ok(()), run)) {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Unread) => return ExitCode::FAILURE,
        Err(Failure::Run(problem)) => (problem, 1),
        Err(Failure::Input(problem)) => (problem, 2),
    };
    eprintln!("{}: {}", A::command().get_name(), one_line(&problem));
    ExitCode::from(status)
}

/// The arguments; `None` where help or version was asked for, and given.
pub fn parse<A: Parser>(arguments: impl IntoIterator<Item = std::ffi::OsString>) -> Result<Option<A>, Failure> {
    let error = match A::try_parse_from(arguments) {
        Ok(arguments) => return Ok(Some(arguments)),
        Err(error) => error,
    };
    let text = error.to_string();
    if !error.use_stderr() {
        // The reader may close the pipe early (`--help | head`).
        let _ = io::stdout().write_all(text.as_bytes());
        return Ok(None);
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let command = A::command();
        let verbs: Vec<&str> = command.get_subcommands().map(|verb| verb.get_name()).collect();
        return Err(Failure::Input(format!("give a command: {} (see --help)", verbs.join(", "))));
    }
    let is_message = |line: &&str| !line.starts_with("Usage:") && !line.starts_with("For more information");
    let message: Vec<&str> =
        text.lines().take_while(is_message).map(str::trim).filter(|line| !line.is_empty()).collect();
    let message = message.join("; ").replace(":; ", ": ");
    Err(Failure::Input(format!("{} (see --help)", message.trim_start_matches("error: "))))
}

/// A line on standard output, at once.
pub fn say(line: &impl Display) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    let message = writeln!(output, "{line}").and_then(|()| output.flush());
    message.map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::Unread,
        _ => Failure::Run(format!("standard output: {error}")),
    })
}

/// The largest file that is read as a whole; a bandwidth trace of a week in milliseconds has half of it.
pub const MAX_FILE_BYTES: u64 = 200_000_000;

/// The content of a regular file: a device or a pipe may never end.
pub fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let kind = fs::metadata(path).map_err(in_words)?;
    if !kind.is_file() {
        return Err(io::Error::other(if kind.is_dir() { "is a folder" } else { "is a device, a pipe or a socket" }));
    }
    // Files in /proc report no size, and other files may grow.
    let mut content = Vec::new();
    let file = File::open(path).map_err(in_words)?;
    if kind.len() <= MAX_FILE_BYTES {
        file.take(MAX_FILE_BYTES + 1).read_to_end(&mut content).map_err(in_words)?;
    }
    if kind.len().max(content.len() as u64) > MAX_FILE_BYTES {
        return Err(io::Error::other(format!("is larger than {} MB", MAX_FILE_BYTES / 1_000_000)));
    }
    Ok(content)
}

/// The text of a regular file in UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read_file(path)?).map_err(|_| io::Error::other("is not text in UTF-8"))
}

/// The message of a system error without its number.
fn in_words(error: io::Error) -> io::Error {
    let text = error.to_string();
    let mut letters = text.split(" (os error").next().unwrap_or_default().chars();
    let first: String = letters.next().into_iter().flat_map(char::to_lowercase).collect();
    io::Error::new(error.kind(), first + letters.as_str())
}

/// Nanoseconds of the machine's monotonic clock, by which all programs of a run agree when it begins.
pub fn monotonic_nanos() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Seconds since 1970, as logs have them.
pub fn since_epoch_s() -> f64 {
    let now = clock_gettime(ClockId::Realtime);
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

/// A duration in ns as a `timespec` of the system calls.
pub fn timespec(nanos: u64) -> rustix::time::Timespec {
    rustix::time::Timespec { tv_sec: (nanos / 1_000_000_000) as i64, tv_nsec: (nanos % 1_000_000_000) as i64 }
}

/// Line breaks of whoever chose a name do not make one line two, nor do terminals obey it.
pub fn one_line(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

#[cfg(test)]
mod tests;
