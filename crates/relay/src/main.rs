//! `playpath-relay`: one end of a relay pair. See docs/relay.md.

mod connection;
mod controls;
mod log;
mod options;
mod relay;
mod session;
mod tcp;

use playpath_shell::Failure;
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let result = options::parse(lexopt::Parser::from_env()).and_then(|options| match options {
        Some(options) => relay::run(&options),
        None => {
            say(options::USAGE);
            Ok(())
        }
    });
    let (message, status) = match result {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Run(message)) => (message, 1),
        Err(Failure::Input(message)) => (message, 2),
    };
    eprintln!("playpath-relay: {}", playpath_shell::one_line(&message));
    ExitCode::from(status)
}

/// On standard output, if anybody still reads it.
fn say(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}
