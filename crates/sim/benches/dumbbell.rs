//! Speed of the simulator as a whole: `cargo bench -p playpath-sim`, a few seconds in total.
//!
//! A dumbbell of 50 ms with NewReno bulk flows. A *data packet* is a segment with payload that a server sent,
//! retransmissions included; its ACK, both links, both endpoints and the engine are in its price. An *event* is one turn of
//! the engine's loop. Time is processor time of the one thread. Bytes per flow: growth of the resident set over the run, divided by the flows. Each row runs once; give
//! a word as argument to run only the rows whose title contains it (`cargo bench -p playpath-sim -- linux`).

use playpath_record::Record;
use playpath_scenario::Scenario;
use playpath_sim::Tracing;
use serde_json::json;

/// Data packets that a row of the table simulates, about.
const PACKETS: f64 = 1_500_000.0;
/// Payload of 1460 bytes and headers, for planning a row's length.
const BITS_PER_PACKET: f64 = 12_000.0;

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let is_wanted = |title: &str| wanted.is_empty() || wanted.iter().any(|word| title.contains(word.as_str()));
    println!(
        "{:<34} {:>11} {:>9} {:>10} {:>13} {:>11}",
        "row", "M packets/s", "ns/packet", "packets", "events/packet", "bytes/flow"
    );
    for (title, scenario, flows) in rows() {
        if is_wanted(&title) {
            measure(&title, &scenario, flows);
        }
    }
    for player in ["progressive", "agent", "dash"] {
        let title = format!("{player} session over 20 Mbit/s");
        if is_wanted(&title) {
            measure(&title, &session(player), 1);
        }
    }
    if is_wanted("100 dash sessions") {
        measure("100 dash sessions of 600 s", &dash_sessions(100), 100);
    }
}

/// Title, scenario, flows.
fn rows() -> Vec<(String, String, u32)> {
    let mut rows = Vec::new();
    for profile in ["ns2", "linux"] {
        for (flows, mbps) in
            [(1, 10), (10, 10), (100, 10), (1, 100), (10, 100), (100, 100), (1000, 1000), (10_000, 10_000)]
        {
            let title = format!("{profile}, {flows} flows, {mbps} Mbit/s");
            rows.push((title, bulk(profile, flows, mbps), flows));
        }
    }
    for (flows, mbps) in [(1, 10), (1, 100), (100, 100), (1000, 1000)] {
        let title = format!("quic, {flows} flows, {mbps} Mbit/s");
        rows.push((title, bulk_over(QUIC, flows, mbps), flows));
    }
    rows.push(("linux, idle: 10000 flows".into(), idle(10_000), 10_000));
    rows.push(("tcp, 1 path of 30 Mbit/s".into(), multipath(&[30]), 1));
    rows.push(("mptcp, 3 subflows of 10 Mbit/s".into(), multipath(&[10, 10, 10]), 1));
    rows.push(("bulk over the session's path".into(), bulk_over_the_sessions_path(), 1));
    rows
}

/// Packets of the size of TCP's, 1500 bytes with their headers.
const QUIC: &str = r#"transport = { name = "quic", datagram_bytes = 1472 }"#;

fn bulk(profile: &str, flows: u32, mbps: u32) -> String {
    bulk_over(&format!(r#"profile = "{profile}""#), flows, mbps)
}

fn bulk_over(transport: &str, flows: u32, mbps: u32) -> String {
    let seconds = (PACKETS * BITS_PER_PACKET / (f64::from(mbps) * 1e6)).max(2.0);
    format!(
        r#"
        path = [{{ name = "bottleneck", rate = "{mbps} Mbit/s", rtt = "50 ms", queue = "1 bdp" }}]
        traffic = [{{ kind = "bulk", cc = "newreno", {transport}, count = {flows}, start_spread = "1 s" }}]
        run = {{ duration = "{seconds:.1} s" }}"#
    )
}

/// Connections that are open and ask for nothing.
fn idle(flows: u32) -> String {
    format!(
        r#"
        path = [{{ name = "bottleneck", rate = "1 Gbit/s", rtt = "50 ms" }}]
        traffic = [{{ kind = "web", count = {flows}, think_time = "100000 s", start_spread = "1 s" }}]
        run = {{ duration = "10 s" }}"#
    )
}

/// One bulk flow over these paths: TCP over one, MPTCP over several.
fn multipath(mbps: &[u32]) -> String {
    let path = |(i, rate): (usize, &u32)| {
        format!(r#"{{ name = "path{i}", rate = "{rate} Mbit/s", rtt = "50 ms", queue = "1 bdp" }}"#)
    };
    let paths: Vec<String> = mbps.iter().enumerate().map(path).collect();
    let seconds = PACKETS * BITS_PER_PACKET / (f64::from(mbps.iter().sum::<u32>()) * 1e6);
    format!(
        r#"
        path = [{}]
        traffic = [{{ kind = "bulk", cc = "newreno" }}]
        run = {{ duration = "{seconds:.1} s" }}"#,
        paths.join(", ")
    )
}

/// A path that loses packets, as `scenarios/wireless.toml` has it: what people run.
const SESSIONS_PATH: &str =
    r#"path = [{ name = "wifi", rate = "20 Mbit/s", rtt = "100 ms", loss = "0.15 %", queue = "1 bdp" }]"#;

fn session(player: &str) -> String {
    format!(
        r#"
        video = {{ rate = "5.24 Mbit/s", duration = "624 s" }}
        player = {{ kind = "{player}" }}
        {SESSIONS_PATH}
        sender = [{{ cc = "cubic" }}]"#
    )
}

/// What of a session's price is not its player's: the same path and control, without an application.
fn bulk_over_the_sessions_path() -> String {
    format!(
        r#"
        {SESSIONS_PATH}
        traffic = [{{ kind = "bulk", cc = "cubic" }}]
        run = {{ duration = "600 s" }}"#
    )
}

/// Adaptive sessions of ten minutes that share a bottleneck of 3 Mbit/s for each.
fn dash_sessions(sessions: u32) -> String {
    let rungs: String = [400, 800, 1500, 2500, 3500, 5000]
        .map(|kbps| format!(r#"<Representation id="v{kbps}" bandwidth="{kbps}000"/>"#))
        .concat();
    let manifest = format!(
        r#"<MPD type="static" mediaPresentationDuration="PT600S"><Period><AdaptationSet mimeType="video/mp4"><SegmentTemplate duration="2" timescale="1" media="$RepresentationID$-$Number$.m4s"/>{rungs}</AdaptationSet></Period></MPD>"#
    );
    format!(
        r#"
        video = {{ manifest = {{ format = "mpd", content = '{manifest}' }} }}
        path = [{{ name = "bottleneck", rate = "{} Mbit/s", rtt = "50 ms", queue = "1 bdp" }}]
        sender = [{{ cc = "newreno" }}]
        traffic = [{{ kind = "video", cc = "newreno", count = {}, start_spread = "10 s" }}]"#,
        3 * sessions,
        sessions - 1
    )
}

fn measure(title: &str, scenario: &str, flows: u32) {
    let no_files = |name: &str| Err(format!("{name}: a benchmark reads no files"));
    let scenario = Scenario::parse(scenario, &json!({}), &no_files).unwrap_or_else(|e| panic!("{title}: {e}"));
    let sender = scenario.to_json()["sender"][0]["name"].as_str().expect("a sender has a name").to_string();
    let resident = resident_bytes();
    let start = cpu_seconds();
    let record = playpath_sim::run(&scenario, &sender, 1, Tracing::Off).expect("a scenario that parsed can run");
    let seconds = cpu_seconds() - start;
    let packets: u64 = record.flows.iter().map(|flow| flow.sent_packets).sum();
    print_row(title, &record, packets, seconds, peak_bytes().saturating_sub(resident) / u64::from(flows));
}

fn print_row(title: &str, record: &Record, packets: u64, seconds: f64, bytes_per_flow: u64) {
    let per_packet = |x: f64| if packets > 0 { x / packets as f64 } else { f64::NAN };
    println!(
        "{title:<34} {:>11.2} {:>9.0} {packets:>10} {:>13.2} {bytes_per_flow:>11}   {seconds:.2} s",
        packets as f64 / seconds * 1e-6,
        per_packet(seconds * 1e9),
        per_packet(record.events_handled as f64),
    );
}

/// Processor time of this thread, so that other work on the machine counts little; wall-clock time where there is no /proc.
fn cpu_seconds() -> f64 {
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = schedstat.split(' ').next().and_then(|nanos| nanos.parse::<f64>().ok());
    let wall = || std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos() as f64;
    nanos.unwrap_or_else(wall) * 1e-9
}

/// Resident set now; zero where there is no /proc.
fn resident_bytes() -> u64 {
    // Also starts the peak anew.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    status_bytes("VmRSS:")
}

fn peak_bytes() -> u64 {
    status_bytes("VmHWM:")
}

fn status_bytes(key: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kilobytes =
        status.lines().find_map(|line| line.strip_prefix(key)?.trim().strip_suffix("kB")?.trim().parse().ok());
    kilobytes.unwrap_or(0) * 1024
}
