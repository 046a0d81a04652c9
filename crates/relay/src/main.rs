//! `playpath-relay`: one end of a relay pair. See docs/manual/relay.md.

mod carrier;
mod controls;
mod error;
mod log;
mod options;
mod relay;
mod session;
mod tcp;

use playpath_shell::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    playpath_shell::main(|arguments: options::Arguments| relay::run(&arguments.options().map_err(Failure::input)?))
}
