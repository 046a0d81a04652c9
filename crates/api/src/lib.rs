//! The engine's interface for hosts: text in, text out. Python's module and the browser's are thin bindings, so that a record and its
//! digest are the same in both.
//!
//! Without I/O, like the crates below it: the host passes in the files that a scenario names.

pub mod infer;
pub mod registries;
pub mod traces;

use playpath_record::Record;
use playpath_scenario::{ReadFile, Scenario, ScenarioError};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Version of the engine; part of every manifest.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The scenario (TOML or JSON text) with the overrides of the command line, as JSON.
pub fn resolve(text: &str, overrides_json: &str, read_file: ReadFile) -> Result<Scenario, ScenarioError> {
    let overrides: Value =
        serde_json::from_str(overrides_json).map_err(|e| ScenarioError::new(format!("overrides: {e}")))?;
    Scenario::parse(text, &overrides, read_file)
}

/// A scenario that [`resolve`] has written out: it names no file.
pub fn resolved(text: &str) -> Result<Scenario, ScenarioError> {
    let no_files = |name: &str| Err(format!("\"{name}\" must be resolved before a run"));
    Scenario::parse(text, &Value::Null, &no_files)
}

/// The record of a simulated run as JSON, with its manifest and digest; of a traced one also the path switches and
/// the log of the congestion controls.
pub fn record_json(scenario: &Scenario, sender: &str, seed: u64, record: &Record) -> Value {
    let mut json = with_digest(record.to_json(manifest(scenario, sender, seed)));
    if !record.switches.is_empty() {
        json["path_switches"] = record.switches_to_json();
    }
    if !record.window_events.is_empty() {
        json["window_events"] = record.window_events_to_json();
    }
    json
}

fn manifest(scenario: &Scenario, sender: &str, seed: u64) -> Value {
    json!({ "world": "sim", "engine": VERSION, "sender": sender, "seed": seed, "scenario": scenario.to_json() })
}

/// SHA-256 over the record: equal digests mean equal results.
fn with_digest(mut record: Value) -> Value {
    let digest = Sha256::digest(record.to_string().as_bytes());
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    record["digest"] = json!(hex);
    record
}
