//! Helpers of the integration tests: shipped scenarios, runs from text, and figures of a record.
#![allow(dead_code, reason = "each test file is a crate of its own and uses a part")]

use playpath_record::{FlowRecord, LinkRecord, Record, Series};
use playpath_scenario::Scenario;
use playpath_sim::Tracing;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The folder of the shipped scenarios.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

/// Reads a file that a shipped scenario names.
pub fn read_shipped(name: &str) -> Result<Vec<u8>, String> {
    std::fs::read(folder().join(name)).map_err(|e| format!("\"{name}\": {e}"))
}

/// For scenarios that name no file.
pub fn no_files(name: &str) -> Result<Vec<u8>, String> {
    Err(format!("no such file: \"{name}\""))
}

/// Name and text of every shipped scenario, in alphabetic order.
pub fn shipped() -> Vec<(String, String)> {
    let entries = std::fs::read_dir(folder()).expect("the folder exists");
    let mut found: Vec<(String, String)> = entries
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|e| e == "toml"))
        .map(|path| {
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            (name, std::fs::read_to_string(&path).expect("readable"))
        })
        .collect();
    found.sort();
    assert!(found.len() >= 6, "shipped scenarios are missing: {found:?}");
    found
}

/// A scenario that must be right.
pub fn parse(text: &str) -> Scenario {
    Scenario::parse(text, &json!({}), &no_files).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// One run of a scenario's only (or named) sender, with conservation checked.
pub fn play(text: &str, sender: &str, seed: u64, tracing: Tracing) -> Record {
    let record = playpath_sim::run(&parse(text), sender, seed, tracing).unwrap_or_else(|e| panic!("{e}"));
    check_conservation(&record);
    record
}

/// A run of a scenario without video, whose senders have no say.
pub fn traffic(text: &str, seed: u64) -> Record {
    play(text, "cubic", seed, Tracing::Off)
}

/// The same with time series.
pub fn traced(text: &str, seed: u64) -> Record {
    play(text, "cubic", seed, Tracing::Series)
}

/// What every record must satisfy, whatever was run. The ledger of each link is checked by the simulator itself when it builds
/// the record (`debug_assert`, on in tests); this is what can be seen from outside.
pub fn check_conservation(record: &Record) {
    for link in &record.links {
        let dropped: u64 = link.dropped_packets.values().sum();
        assert!(link.delivered_packets + dropped <= link.offered_packets, "{link:?}");
        assert!(link.utilisation <= 1.0 + 1e-9, "{link:?}");
    }
    for flow in &record.flows {
        assert!(flow.goodput_mbps <= flow.throughput_mbps * (1.0 + 1e-9), "{flow:?}");
        assert!(flow.retransmitted_packets <= flow.sent_packets, "{flow:?}");
    }
}

pub fn link<'r>(record: &'r Record, name: &str) -> &'r LinkRecord {
    record.links.iter().find(|l| l.name == name).unwrap_or_else(|| panic!("no link {name}"))
}

pub fn flow<'r>(record: &'r Record, name: &str) -> &'r FlowRecord {
    record.flows.iter().find(|f| f.name == name).unwrap_or_else(|| panic!("no flow {name}"))
}

pub fn metric(record: &Record, name: &str) -> f64 {
    record.metrics.iter().find(|(n, _)| *n == name).unwrap_or_else(|| panic!("no metric {name}")).1
}

pub fn dropped(link: &LinkRecord) -> u64 {
    link.dropped_packets.values().sum()
}

/// A column of a series.
pub fn column<'r>(record: &'r Record, series: &str, name: &str) -> &'r [f64] {
    let series: &Series = record.series.iter().find(|s| s.name == series).unwrap_or_else(|| panic!("no {series}"));
    &series.columns.iter().find(|(n, _)| *n == name).unwrap_or_else(|| panic!("no column {name}")).1
}

/// Mean of the part after the first `skip` share.
pub fn mean_after(values: &[f64], skip: f64) -> f64 {
    let kept = &values[(values.len() as f64 * skip) as usize..];
    kept.iter().sum::<f64>() / kept.len() as f64
}

/// What the command line would set: `[("run.duration", "10 s")]`.
pub fn overrides(pairs: &[(&str, &str)]) -> Value {
    let set: serde_json::Map<String, Value> = pairs.iter().map(|(k, v)| (k.to_string(), json!(v))).collect();
    json!({ "set": set })
}
