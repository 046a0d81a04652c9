//! `playpath-emulator CONFIG.json`: the simulator's links on the wall clock, over TUN devices. See the README.

use playpath_emulator::config::Config;
use playpath_emulator::{ConfigError, StopOn, run};
use playpath_shell::{Failure, clap};
use std::process::ExitCode;

/// The simulator's links on the wall clock, over TUN devices. Prints a line when ready and one with the report at the end. Stops on
/// SIGTERM or SIGINT or, if standard input is a pipe, when that is closed.
#[derive(clap::Parser)]
#[command(name = "playpath-emulator", version)]
struct Arguments {
    /// JSON file (README.md has its format), or - for standard input.
    #[arg(value_name = "CONFIG")]
    name: String,
}

fn main() -> ExitCode {
    playpath_shell::main(|Arguments { name }| {
        let config = read_config(&name).map_err(|problem| Failure::Input(format!("{name}: {problem}")))?;
        // Standard input that brought the configuration is at its end already.
        let stop_on = if name == "-" { StopOn::None } else { StopOn::Stdin };
        run(&config, stop_on)
    })
}

fn read_config(name: &str) -> Result<Config, ConfigError> {
    let text = match name {
        "-" => std::io::read_to_string(std::io::stdin()),
        file => playpath_shell::read_text(file.as_ref()),
    };
    Config::parse(&text?)
}
