//! Cost of a data packet through the whole simulator: one TCP over 6 Mbit/s, one TCP on each of three paths of 2 Mbit/s, and
//! MPTCP over the three together. The middle row has the paths, the connections and the memory of the last ones, and none of
//! MPTCP.
//!
//! `cargo run --release -p playpath-sim --example mptcp_cost`; with words as arguments only the rows that contain one, run once
//! (for `valgrind --tool=callgrind`).

use playpath_scenario::Scenario;
use playpath_sim::{Tracing, run};
use serde_json::Value;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let mut one = None;
    for (title, text) in rows() {
        if !words.is_empty() && !words.iter().any(|word| title.contains(word.as_str())) {
            continue;
        }
        let (nanos, packets) = measure(&text, if words.is_empty() { 5 } else { 1 });
        let ratio = nanos / *one.get_or_insert(nanos);
        println!("{title:<28} {nanos:>5.0} ns/data packet, {ratio:.2} times the first row, {packets} packets");
    }
}

/// Title and scenario.
fn rows() -> Vec<(String, String)> {
    let path = |name: usize, mbps: u32| {
        format!("[[path]]\nname = \"p{name}\"\nrate = \"{mbps} Mbit/s\"\nrtt = \"50 ms\"\nqueue = \"50 packets\"\n")
    };
    let three = path(1, 2) + &path(2, 2) + &path(3, 2);
    let flow = |keys: &str| format!("[[traffic]]\nkind = \"bulk\"\n{keys}\n");
    let run = "[run]\nduration = \"600 s\"\n";
    let flows: String = ["p1", "p2", "p3"].map(|name| flow(&format!("paths = [\"{name}\"]"))).concat();
    let mut rows = vec![
        ("TCP over one path".to_string(), path(1, 6) + &flow("") + run),
        ("three TCP over three paths".to_string(), three.clone() + &flows + run),
    ];
    for scheduler in ["dft", "gr-sty", "tr-sty", "linux", "blest"] {
        let sender = flow(&format!("scheduler = \"{scheduler}\""));
        rows.push((format!("MPTCP over three, {scheduler}"), three.clone() + &sender + run));
    }
    rows
}

/// The least time of some runs for a data packet, and their number.
fn measure(text: &str, runs: u32) -> (f64, u64) {
    let scenario = Scenario::parse(text, &Value::Null, &|name| Err(format!("no file {name}"))).expect("a scenario");
    let resolved = scenario.to_json();
    let sender = resolved["sender"][0]["name"].as_str().expect("a sender");
    let (mut least, mut packets) = (u64::MAX, 0);
    for _ in 0..runs {
        let start = cpu_nanos();
        let record = run(&scenario, sender, 1, Tracing::Off).expect("a run");
        least = least.min(cpu_nanos() - start);
        packets = record.flows.iter().map(|flow| flow.sent_packets).sum();
    }
    (least as f64 / packets as f64, packets)
}

/// Time that this process has spent on a processor (Linux): other load does not count.
fn cpu_nanos() -> u64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").expect("/proc/self/schedstat (Linux)");
    text.split(' ').next().and_then(|field| field.parse().ok()).expect("nanoseconds")
}
