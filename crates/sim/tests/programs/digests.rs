//! One line per run: scenario, sender, seed, and a digest of everything that the run leaves. Work on speed must change none:
//!
//! `cargo run --release -p playpath-sim --example digests > before`, change, the same `> after`, `diff before after`.
//!
//! The runs: every shipped scenario with all of its senders, cut to 20 s, over its own transport and over QUIC where it may be, and
//! mixes that reach what those do not (all queues, profiles, transports and kinds of traffic, jitter, reordering, outages, ECN, small
//! buffers, bursts, many flows); two seeds each.
//! A word as argument runs only the scenarios whose name contains it.

use playpath_scenario::Scenario;
use playpath_sim::{Tracing, run};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};
use std::path::Path;

fn main() {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let cut = json!({ "set": { "run.duration": "20 s" } });
    let over_quic = json!({ "set": { "run.duration": "20 s", "sender.transport": "quic" } });
    let shipped = shipped();
    for (name, text) in shipped.iter().chain(&mixes()).filter(|(name, _)| name.contains(&wanted)) {
        let scenario = Scenario::parse(text, &cut, &read_shipped).unwrap_or_else(|e| panic!("{name}: {e}\n{text}"));
        print_digests(name, &scenario);
    }
    for (name, text) in shipped.iter().filter(|(name, _)| name.contains(&wanted)) {
        // Refused: several paths, or keys that are TCP's.
        if let Ok(scenario) = Scenario::parse(text, &over_quic, &read_shipped) {
            print_digests(name, &scenario);
        }
    }
}

fn print_digests(name: &str, scenario: &Scenario) {
    for sender in senders(scenario) {
        for seed in [1, 2] {
            println!("{name} {sender} {seed} {:016x}", digest(scenario, &sender, seed));
        }
    }
}

fn digest(scenario: &Scenario, sender: &str, seed: u64) -> u64 {
    let record = run(scenario, sender, seed, Tracing::Series).unwrap_or_else(|e| panic!("{e}"));
    let mut hasher = DefaultHasher::new();
    hasher.write(format!("{:?} {:?}", sorted(record.to_json(json!(null))), record.series).as_bytes());
    hasher.finish()
}

/// Values by name: in which order a record names them, and which it says to have no value, is no part of a digest.
fn sorted(json: Value) -> Value {
    match json {
        Value::Object(map) => {
            let named: BTreeMap<String, Value> = map.into_iter().filter(|(_, value)| !value.is_null()).collect();
            Value::Object(named.into_iter().map(|(name, value)| (name, sorted(value))).collect())
        }
        Value::Array(list) => list.into_iter().map(sorted).collect(),
        other => other,
    }
}

/// The names of a scenario's senders.
fn senders(scenario: &Scenario) -> Vec<String> {
    let resolved = scenario.to_json();
    let name = |sender: &Value| sender["name"].as_str().expect("a text").to_string();
    resolved["sender"].as_array().expect("a list").iter().map(name).collect()
}

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

fn read_shipped(name: &str) -> Result<Vec<u8>, String> {
    // A scenario's files are beside it: those of l4s/ a folder above.
    std::fs::read(folder().join(name.trim_start_matches("../"))).map_err(|e| format!("\"{name}\": {e}"))
}

fn shipped() -> Vec<(String, String)> {
    let files =
        |folder| std::fs::read_dir(folder).expect("the folder exists").map(|file| file.expect("readable").path());
    let mut found: Vec<(String, String)> = files(folder())
        .chain(files(folder().join("l4s")))
        .chain(files(folder().join("interop")))
        .filter(|path| path.extension().is_some_and(|e| e == "toml"))
        .map(|path| {
            (path.file_stem().expect("a name").display().to_string(), std::fs::read_to_string(&path).expect("readable"))
        })
        .collect();
    found.sort();
    found
}

/// Bulk, web, UDP and a video over one path with each queue, each profile and each disturbance; bulk flows in numbers; MPTCP.
fn mixes() -> Vec<(String, String)> {
    let path = |extra: &str| format!(r#"{{ name = "a", rate = "20 Mbit/s", rtt = "60 ms", {extra} }}"#);
    let mut mixes = Vec::new();
    for queue in ["1 bdp", "20 packets", "codel", "fq_codel", "pie", "red", "dualpi2"] {
        for profile in ["linux", "ns2", "rfc"] {
            let mix = mixed(&path(&format!(r#"queue = "{queue}""#)), profile, "");
            mixes.push((format!("mix {queue} {profile}"), mix));
        }
    }
    for (name, disturbance) in [
        ("jitter", r#"jitter = "8 ms""#),
        ("normal jitter", r#"jitter = { amplitude = "8 ms", distribution = "normal" }"#),
        ("reordering", r#"reordering = { probability = "2 %", extra_delay = "20 ms" }"#),
        ("outage", r#"outage = { from = "4 s", until = "7 s" }"#),
        ("loss", r#"loss = "1 %""#),
        ("bursts", r#"loss = { kind = "gilbert_elliott", p = "1 %", r = "25 %" }, loss_place = "after_queue""#),
        ("timed bursts", r#"loss = { kind = "bursts", every = "1 s", duration = "10 ms" }"#),
        ("lossy acks", r#"up = { loss = "5 %", jitter = "5 ms" }"#),
        ("trace", r#"queue = "60 packets""#),
    ] {
        for profile in ["linux", "ns2", "rfc"] {
            let path = match name {
                "trace" => format!(r#"{{ name = "a", trace = "traces/lte-like.mahi", rtt = "60 ms", {disturbance} }}"#),
                _ => path(disturbance),
            };
            mixes.push((format!("mix {name} {profile}"), mixed(&path, profile, "")));
        }
    }
    for (name, own) in [
        ("ecn", r#"ecn = true"#),
        ("no sack", r#"sack = false"#),
        ("paced", r#"pacing = "linux""#),
        ("gain", r#"pacing = { gain = 1.25 }"#),
        ("burst", r#"max_burst = 3"#),
        ("small buffers", r#"send_buffer = "30 kB", receive_buffer = "20 kB""#),
        ("newcwv", r#"validation = "newcwv""#),
        ("rfc6675", r#"loss_detection = "rfc6675", recovery = "rfc6675""#),
    ] {
        mixes.push((format!("mix {name}"), mixed(&path(r#"queue = "red", loss = "0.3 %""#), "linux", own)));
    }
    let marking = path(r#"queue = { kind = "red", ecn = true }, loss = "0.3 %""#);
    mixes.push(("mix marks".into(), mixed(&marking, "linux", "ecn = true")));
    for control in ["prague", "dctcp"] {
        let mix = mixed(&path(r#"queue = "dualpi2""#), "linux", "");
        mixes.push((format!("mix dualpi2 {control}"), mix.replace(r#""bbr""#, &format!("\"{control}\""))));
    }
    for profile in ["linux", "ns2"] {
        for (count, mbps) in [(1, 100), (10, 10), (100, 10), (1000, 100)] {
            let text = format!(
                r#"
                path = [{{ name = "a", rate = "{mbps} Mbit/s", rtt = "50 ms", queue = "1 bdp" }}]
                traffic = [{{ kind = "bulk", cc = "newreno", profile = "{profile}", count = {count}, start_spread = "1 s" }}]"#
            );
            mixes.push((format!("bulk {count} {mbps} {profile}"), text));
        }
    }
    let two = format!(
        "{}, {}",
        path(r#"loss = "0.5 %""#),
        path(r#"jitter = "5 ms", queue = "30 packets""#).replace("\"a\"", "\"b\"")
    );
    mixes.push(("mix two paths".into(), mixed(&two, "linux", "")));
    mixes.push((
        "mix two paths small".into(),
        mixed(&two, "linux", r#"send_buffer = "60 kB", receive_buffer = "40 kB""#),
    ));
    let over_quic: Vec<(String, String)> = mixes
        .iter()
        .filter(|(name, text)| {
            text.contains(LINUX) && !name.contains("two paths") && !OF_TCP.iter().any(|of| name.contains(of))
        })
        .map(|(name, text)| (format!("{name} quic"), text.replace(LINUX, r#"transport = "quic""#)))
        .collect();
    mixes.extend(over_quic);
    mixes
}

/// The stack that a mix over QUIC has in its place, and mixes whose keys are TCP's alone.
const LINUX: &str = r#"profile = "linux""#;
const OF_TCP: [&str; 7] = ["no sack", "paced", "gain", "mix burst", "small buffers", "newcwv", "rfc6675"];

/// A video and cross traffic of all kinds, under several controls.
fn mixed(paths: &str, profile: &str, own: &str) -> String {
    let own = if own.is_empty() { String::new() } else { format!(", {own}") };
    format!(
        r#"
        video = {{ rate = "3 Mbit/s", duration = "60 s" }}
        player = {{ kind = "progressive", buffer = "1 s" }}
        path = [{paths}]
        sender = [{{ cc = "cubic", profile = "{profile}"{own} }}, {{ cc = "bbr", profile = "{profile}"{own} }}]
        traffic = [
            {{ kind = "bulk", cc = "newreno", profile = "{profile}", count = 2{own} }},
            {{ kind = "bulk", cc = "bbr3", profile = "{profile}", start = "3 s", stop = "9 s"{own} }},
            {{ kind = "bulk", cc = "vegas", profile = "{profile}", rtt = {{ uniform = ["0 ms", "40 ms"] }}{own} }},
            {{ kind = "web", cc = "cubic", profile = "{profile}", count = 3{own} }},
            {{ kind = "udp", rate = "1 Mbit/s" }},
        ]"#
    )
}
