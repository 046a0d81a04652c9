//! Cost of a data packet through the whole simulator: one TCP over 6 Mbit/s, and MPTCP over three paths of 2 Mbit/s.
//!
//! `cargo run --release -p playpath-sim --example mptcp_cost`

use playpath_sim::{Scenario, Tracing, run};
use serde_json::Value;

fn main() {
    let path = |mbps: u32| format!("[[path]]\nrate = \"{mbps} Mbit/s\"\nrtt = \"50 ms\"\nqueue = \"50 packets\"\n");
    let sender = |keys: &str| format!("[[traffic]]\nkind = \"bulk\"\n{keys}\n[run]\nduration = \"600 s\"\n");
    let one = nanos(&(path(6) + &sender("")));
    println!("TCP over one path: {one:.0} ns/data packet");
    for scheduler in ["dft", "gr-sty", "tr-sty", "linux", "blest"] {
        let three = nanos(&(path(2).repeat(3) + &sender(&format!("scheduler = \"{scheduler}\""))));
        println!("MPTCP over three, {scheduler}: {three:.0} ns/data packet, {:.2} times TCP", three / one);
    }
}

/// The least of five runs.
fn nanos(text: &str) -> f64 {
    let scenario = Scenario::parse(text, &Value::Null, &|name| Err(format!("no file {name}"))).expect("a scenario");
    let resolved = scenario.to_json();
    let sender = resolved["sender"][0]["name"].as_str().expect("a sender");
    let once = |_| {
        let start = cpu_nanos();
        let record = run(&scenario, sender, 1, Tracing::Off).expect("a run");
        (cpu_nanos() - start) as f64 / record.flows[0].sent_packets as f64
    };
    (0..5).map(once).fold(f64::INFINITY, f64::min)
}

/// Time that this process has spent on a processor (Linux): other load does not count.
fn cpu_nanos() -> u64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").expect("/proc/self/schedstat (Linux)");
    text.split(' ').next().and_then(|field| field.parse().ok()).expect("nanoseconds")
}
