//! `playpath-emulator CONFIG.json`: the simulator's links on the wall clock, over TUN devices. See the README.

mod config;
mod direction;
mod engine;
mod histogram;
mod log;
mod net;
mod packet;
mod reader;
mod report;
mod spin;
mod sys;

use config::Config;
use engine::Engine;
use serde_json::{Value, json};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::process::ExitCode;

fn main() -> ExitCode {
    let config = match read_config() {
        Ok(config) => config,
        Err(problem) => return fail(2, &problem),
    };
    match run(&config) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => fail(1, &problem),
    }
}

fn fail(status: u8, problem: &str) -> ExitCode {
    eprintln!("playpath-emulator: {problem}");
    ExitCode::from(status)
}

fn read_config() -> Result<Config, String> {
    let mut arguments = std::env::args().skip(1);
    let (Some(name), None) = (arguments.next(), arguments.next()) else {
        return Err("usage: playpath-emulator CONFIG.json (or - for standard input)".into());
    };
    let text = match name.as_str() {
        "-" => std::io::read_to_string(std::io::stdin()),
        file => std::fs::read_to_string(file),
    };
    Config::parse(&text.map_err(|error| format!("{name}: {error}"))?).map_err(|problem| format!("{name}: {problem}"))
}

fn run(config: &Config) -> Result<(), String> {
    sys::die_with_parent().map_err(|error| error.to_string())?;
    let signals = sys::termination_signals().map_err(|error| format!("signals: {error}"))?;
    let mut engine = Engine::new(config)?;
    let mut warnings = Vec::new();
    if config.realtime
        && let Err(error) = sys::set_realtime()
    {
        warnings.push(format!("SCHED_FIFO was refused: {error}"));
    }
    if let Err(error) = sys::set_least_timer_slack() {
        warnings.push(format!("timer slack: {error}"));
    }
    say(&json!({ "ready": true, "paths": config.paths.iter().map(|path| &path.name).collect::<Vec<_>>() }))?;
    let mut stop = vec![signals.as_raw_fd()];
    // A pipe at standard input is a lifeline: whoever holds its other end keeps the emulator alive. Not if it brought the configuration.
    if std::env::args().nth(1).as_deref() != Some("-") && sys::stdin_is_pipe() {
        stop.push(std::io::stdin().as_raw_fd());
    }
    engine.run(&stop)?;
    let (measure, log_written) = engine.finish();
    say(&report::report(config, &measure, &warnings))?;
    log_written
}

/// One line on standard output.
fn say(value: &Value) -> Result<(), String> {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{value}").and_then(|()| output.flush()).map_err(|error| format!("standard output: {error}"))
}
