//! `playpath-emulator CONFIG.json`: the simulator's links on the wall clock, over TUN devices. See the README.

use playpath_emulator::config::Config;
use playpath_emulator::{Lifeline, run};
use std::process::ExitCode;

fn main() -> ExitCode {
    let (config, lifeline) = match read_config() {
        Ok(read) => read,
        Err(problem) => return fail(2, &problem),
    };
    match run(&config, lifeline) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => fail(1, &problem),
    }
}

fn fail(status: u8, problem: &str) -> ExitCode {
    eprintln!("playpath-emulator: {problem}");
    ExitCode::from(status)
}

fn read_config() -> Result<(Config, Lifeline), String> {
    let mut arguments = std::env::args().skip(1);
    let (Some(name), None) = (arguments.next(), arguments.next()) else {
        return Err("usage: playpath-emulator CONFIG.json (or - for standard input)".into());
    };
    let text = match name.as_str() {
        "-" => std::io::read_to_string(std::io::stdin()),
        file => std::fs::read_to_string(file),
    };
    let text = text.map_err(|error| format!("{name}: {error}"))?;
    let read_file = |file: &str| std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"));
    let config = Config::parse(&text, &read_file).map_err(|problem| format!("{name}: {problem}"))?;
    // Standard input that brought the configuration is at its end already.
    Ok((config, if name == "-" { Lifeline::None } else { Lifeline::Stdin }))
}
