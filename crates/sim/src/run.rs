//! The ways into the simulator.

use crate::capture::{Capture, CapturedPacket};
use crate::ideal;
use crate::measure::measure;
use crate::simulation::Simulation;
use crate::tracing::Tracing;
use playpath_record::Record;
use playpath_scenario::{Prototype, Scenario, ScenarioError};

/// Plays the scenario with one of its senders.
///
/// The same scenario, sender and seed give the same record, bit for bit. Replications with the same seed share the channel:
/// every random stream is derived from the seed and the name of its consumer, never from the sender.
pub fn run(scenario: &Scenario, sender: &str, seed: u64, tracing: Tracing) -> Result<Record, ScenarioError> {
    let sender = scenario.sender(sender)?;
    if let Some(link) = &scenario.ideal {
        return ideal::run(scenario, sender, link, seed, tracing);
    }
    let mut simulation = Simulation::build(scenario, sender, seed, tracing)?;
    simulation.run();
    Ok(Record::of(measure(simulation)))
}

/// As [`run`], with the sender's congestion control replaced by a prototype from outside the registry.
pub fn run_prototype(
    scenario: &Scenario,
    sender: &str,
    seed: u64,
    tracing: Tracing,
    prototype: Prototype,
) -> Result<Record, ScenarioError> {
    let sender = scenario.sender(sender)?.with_prototype(prototype);
    if scenario.ideal.is_some() {
        return Err(ScenarioError::new("`run.transport` = \"ideal\" has no congestion control to replace".into()));
    }
    let mut simulation = Simulation::build(scenario, &sender, seed, tracing)?;
    simulation.run();
    Ok(Record::of(measure(simulation)))
}

/// As [`run`], for the packets that pass the servers' interfaces instead of the record.
pub fn capture(scenario: &Scenario, sender: &str, seed: u64) -> Result<Vec<CapturedPacket>, ScenarioError> {
    let sender = scenario.sender(sender)?;
    if scenario.ideal.is_some() {
        return Err(ScenarioError::new("`run.transport` = \"ideal\" has no packets to capture".into()));
    }
    let mut simulation = Simulation::build(scenario, sender, seed, Tracing::Off)?;
    simulation.net.capture = Some(Capture::default());
    simulation.run();
    Ok(simulation.net.capture.map_or_else(Vec::new, |capture| capture.packets))
}
