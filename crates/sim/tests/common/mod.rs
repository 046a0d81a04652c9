//! Helpers of the integration tests: shipped scenarios, runs from text, and figures of a record.
#![allow(dead_code, unused_imports, reason = "each test file is a crate of its own and uses a part")]

#[path = "../../../scenario/tests/common/mod.rs"]
mod scenarios;

use playpath_record::{FlowRecord, LinkRecord, Record, Series};
use playpath_sim::Tracing;
pub use scenarios::{folder, no_files, parse, read_shipped, shipped};
use serde_json::{Value, json};

/// One run of a scenario's only (or named) sender, with conservation checked.
pub fn play(text: &str, sender: &str, seed: u64, tracing: Tracing) -> Record {
    let record = playpath_sim::run(&parse(text), sender, seed, tracing).unwrap_or_else(|e| panic!("{e}"));
    check_conservation(&record);
    record
}

/// A run of a scenario without video, whose senders do not matter.
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
