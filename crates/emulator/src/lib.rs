//! The simulator's links on the wall clock, over TUN devices. See the README for the program and its configuration.

mod capture;
pub mod config;
mod engine;
mod error;
mod flows;
mod machine;
mod net;
mod orders;
mod packet;
mod report;
mod series;
mod spin;
pub mod sys;

pub use error::{ConfigError, EmulatorError};

use config::Config;
use engine::Engine;
use machine::Linux;
use playpath_shell::{Failure, say};
use report::DeviceMeasure;
use serde_json::json;

/// What ends the emulator besides signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopOn {
    None,
    /// A pipe at standard input, if there is one: the emulator ends when the other end is closed, and reads the start of the run from it.
    Stdin,
}

/// Run until asked to stop. Prints one line on standard output when ready and one with the report.
pub fn run(config: &Config, stop_on: StopOn) -> Result<(), Failure> {
    sys::die_with_parent()?;
    let signals = sys::termination_signals().map_err(EmulatorError::system("signals"))?;
    let mut devices = Vec::new();
    for route in &config.routes {
        devices.extend(net::open_ends(route)?);
    }
    let stdin = if stop_on == StopOn::Stdin { sys::stdin_pipe() } else { None };
    let mut engine = Engine::new(config, Linux::new(devices, signals, stdin))?;
    let mut warnings = Vec::new();
    let scheduling = sys::set_scheduling(config.settings.realtime);
    if config.settings.realtime && !scheduling.is_realtime() {
        let refused = "SCHED_DEADLINE and SCHED_FIFO were refused (CAP_SYS_NICE is missing)";
        warnings.push(format!("{refused}: other processes on this machine make packets late"));
    }
    if let Err(error) = sys::set_min_timer_slack() {
        warnings.push(format!("timer slack: {error}"));
    }
    say(&json!({ "ready": true, "paths": config.routes.iter().map(|route| &route.name).collect::<Vec<_>>() }))?;
    engine.run()?;
    let (measure, machine, written) = engine.finish();
    let device = |device: &net::Device| DeviceMeasure {
        name: device.name.clone(),
        transmit_drops: device.transmit_drops(),
        write_errors: device.write_errors,
    };
    let devices: Vec<DeviceMeasure> = machine.devices.iter().map(device).collect();
    say(&report::report(config, &measure, &devices, scheduling, &warnings))?;
    Ok(written?)
}
