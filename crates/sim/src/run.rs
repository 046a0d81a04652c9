//! Entry points of the simulator.

use crate::budget::{Watch, check_samples};
use crate::capture::{Capture, CapturedPacket};
use crate::ideal;
use crate::measure::measure;
use crate::simulation::Simulation;
use crate::tracing::{Recording, Tracing};
use playpath_record::Record;
use playpath_scenario::{Prototype, Scenario, ScenarioError, SenderSpec};
use playpath_transport::quic::qlog::MakeLog;

/// Options of a run that the scenario does not contain.
#[derive(Default)]
pub struct Options<'a> {
    pub recording: Recording<'a>,
    /// Takes the place of the sender's congestion control.
    pub prototype: Option<Prototype>,
    pub watch: Option<&'a mut Watch<'a>>,
}

/// Plays the scenario with one of its senders.
///
/// The same scenario, sender and seed give the same record, bit for bit. Replications with the same seed share the channel:
/// every random stream is derived from the seed and the name of its consumer, never from the sender.
///
/// Errors: no such sender; the run would exceed `run.max_events`.
pub fn run(scenario: &Scenario, sender: &str, seed: u64, tracing: Tracing) -> Result<Record, ScenarioError> {
    run_with(scenario, sender, seed, Options { recording: tracing.into(), ..Options::default() })
}

/// The same as [`run`], with further options. Errors: also those of the watch.
pub fn run_with(scenario: &Scenario, sender: &str, seed: u64, options: Options) -> Result<Record, ScenarioError> {
    let sender = scenario.sender(sender)?;
    if let Some(link) = &scenario.ideal {
        if options.prototype.is_some() {
            return Err(ScenarioError::new("`run.transport` = \"ideal\" has no congestion control to replace".into()));
        }
        return ideal::run(scenario, sender, link, seed, options.recording.tracing);
    }
    let replaced: SenderSpec;
    let sender = match options.prototype {
        Some(prototype) => {
            replaced = sender.with_prototype(prototype);
            &replaced
        }
        None => sender,
    };
    if options.recording.tracing >= Tracing::Series {
        check_samples(scenario)?;
    }
    let mut simulation = Simulation::build(scenario, sender, seed, options.recording)?;
    play(&mut simulation, options.watch)?;
    Ok(Record::of(measure(simulation)))
}

/// The same as [`run`], but returns the packets that pass the servers' interfaces and not the record.
pub fn capture(
    scenario: &Scenario,
    sender: &str,
    seed: u64,
    watch: &mut Watch,
) -> Result<Vec<CapturedPacket>, ScenarioError> {
    let sender = scenario.sender(sender)?;
    if scenario.ideal.is_some() {
        return Err(ScenarioError::new("`run.transport` = \"ideal\" has no packets to capture".into()));
    }
    let traffic = scenario.traffic.iter().map(|group| &group.sender);
    for sender in std::iter::once(sender).chain(traffic) {
        if let Some(spoken) = sender.transport.other_than_tcp() {
            let message = format!("\"{}\" uses {spoken}, whose packets cannot be captured", sender.name);
            return Err(ScenarioError::new(message));
        }
    }
    let mut simulation = Simulation::build(scenario, sender, seed, Recording::default())?;
    simulation.net.fabric.capture = Some(Capture::default());
    simulation.run(watch)?;
    Ok(simulation.net.fabric.capture.map_or_else(Vec::new, |capture| capture.packets))
}

/// The same as [`run`], but returns a qlog of each QUIC connection from its server's vantage point.
pub fn log_connections(
    scenario: &Scenario,
    sender: &str,
    seed: u64,
    make: MakeLog,
    watch: &mut Watch,
) -> Result<(), ScenarioError> {
    if scenario.ideal.is_some() {
        return Ok(());
    }
    let mut simulation = Simulation::build(scenario, scenario.sender(sender)?, seed, Recording::default())?;
    simulation.net.qlogs = Some(make);
    simulation.run(watch)
}

fn play(simulation: &mut Simulation, watch: Option<&mut Watch>) -> Result<(), ScenarioError> {
    match watch {
        Some(watch) => simulation.run(watch),
        None => simulation.run(&mut |_| Ok(())),
    }
}
