//! The simulator's links on the wall clock, over TUN devices. See the README for the program and its configuration.

mod capture;
pub mod config;
mod control;
mod direction;
mod engine;
mod flows;
mod histogram;
mod log;
mod net;
mod packet;
mod reader;
mod report;
mod segment;
mod series;
mod spin;
mod sys;

use config::Config;
use control::Control;
use engine::Engine;
use serde_json::{Value, json};
use std::io::Write;
use std::os::fd::AsRawFd;

/// What keeps the emulator running besides signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifeline {
    /// Nothing.
    None,
    /// A pipe at standard input, if there is one: whoever holds its other end keeps the emulator alive, and may tell it when the
    /// run begins.
    Stdin,
}

/// Run until told to stop; one line on standard output when ready, one with the report. Errors: why it could not run, in one line.
pub fn run(config: &Config, lifeline: Lifeline) -> Result<(), String> {
    sys::die_with_parent().map_err(|error| error.to_string())?;
    let signals = sys::termination_signals().map_err(|error| format!("signals: {error}"))?;
    let mut engine = Engine::new(config)?;
    let mut warnings = Vec::new();
    let realtime = if config.realtime { sys::set_realtime().map(Some) } else { Ok(None) };
    if let Err(error) = &realtime {
        warnings.push(format!("SCHED_DEADLINE and SCHED_FIFO were refused: {error}"));
    }
    if let Err(error) = sys::set_least_timer_slack() {
        warnings.push(format!("timer slack: {error}"));
    }
    say(&json!({ "ready": true, "paths": config.paths.iter().map(|path| &path.name).collect::<Vec<_>>() }))?;
    let control = (lifeline == Lifeline::Stdin && sys::stdin_is_pipe()).then(Control::default);
    engine.run(signals.as_raw_fd(), control)?;
    let (measure, log_written) = engine.finish();
    say(&report::report(config, &measure, realtime.ok().flatten(), &warnings))?;
    log_written
}

/// One line on standard output.
fn say(value: &Value) -> Result<(), String> {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{value}").and_then(|()| output.flush()).map_err(|error| format!("standard output: {error}"))
}
