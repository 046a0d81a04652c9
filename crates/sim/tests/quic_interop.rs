//! The link settings of quic-interop-runner's cases, each with a bound: 15 ms one way, 10 Mbit/s and a queue of 25 packets unless the case
//! says otherwise. Amplification is a rule of `crates/transport/tests/quic_rules.rs`, rebinding of `quic_paths.rs`.

mod common;

use common::{check_conservation, metric, play, traffic};
use playpath_record::Record;
use playpath_sim::Tracing;
use playpath_video::EventKind;

const BASE: &str = "rate = \"10 Mbit/s\"\nrtt = \"30 ms\"\nqueue = \"25 packets\"\n";

/// A film of 2 MB (2 Mbit/s, 8 s) over QUIC.
fn film(path: &str, seed: u64) -> Record {
    let text = format!(
        "[video]\nrate = \"2 Mbit/s\"\nduration = \"8 s\"\n[player]\nkind = \"progressive\"\nbuffer = \"1 s\"\n[[path]]\nname = \"wan\"\n{path}\n\
         [[sender]]\nname = \"s\"\ncc = \"cubic\"\ntransport = \"quic\"\n"
    );
    let record = play(&text, "s", seed, Tracing::Off);
    check_conservation(&record);
    assert!(metric(&record, "played_s") > 7.9, "seed {seed}: {:?}", record.warnings);
    record
}

fn connected_at(record: &Record) -> f64 {
    let connected = record.events.iter().find(|event| matches!(event.kind, EventKind::Connected(_)));
    connected.expect("it connects").at.as_secs_f64()
}

/// `longrtt`: 750 ms. One round trip until the client is connected, and what 1200 and 2600 bytes take at 10 Mbit/s.
#[test]
fn a_long_round_trip() {
    let at = connected_at(&film("rate = \"10 Mbit/s\"\nrtt = \"750 ms\"\nqueue = \"25 packets\"\n", 1));
    assert!((0.75..0.77).contains(&at), "{at}");
}

/// `handshakeloss`, `handshakecorruption`: 30 % each way in 20 handshakes. A flight of 3 datagrams and its answer pass with
/// 0.7^5 = 0.17 at the first try; then probes follow after 1, 2, 4 s (RFC 9002 §6.2: 3 × 333 ms), so most are through after 3 s,
/// nine of ten within 10, and all within a minute.
#[test]
fn lost_and_corrupted_handshakes() {
    for what in ["loss", "corruption"] {
        let path = format!("{BASE}{what} = {{}}\nup = {{ {what} = {{}} }}\n").replace("{}", "\"30 %\"");
        let mut times: Vec<f64> = (1..=20)
            .map(|seed| {
                let text = format!(
                    "[video]\nrate = \"100 kbit/s\"\nduration = \"1 s\"\n[player]\nkind = \"progressive\"\nbuffer = \"1 s\"\n[[path]]\n{path}\n\
                     [[sender]]\nname = \"s\"\ncc = \"cubic\"\ntransport = \"quic\"\n"
                );
                connected_at(&play(&text, "s", seed, Tracing::Off))
            })
            .collect();
        times.sort_by(f64::total_cmp);
        assert!(times[9] < 3.5 && times[17] < 10.0 && times[19] < 60.0, "{what}: {times:?}");
    }
}

/// `transferloss`, `transfercorruption`: 2 % in the data. 1.22 packets / (30 ms × √0.02) = 288 packets/s or 3.3 Mbit/s by the square-root
/// law: a film of 2 Mbit/s stalls for little.
#[test]
fn lost_and_corrupted_transfers() {
    for what in ["loss", "corruption"] {
        let stalls: f64 =
            (1..=5).map(|seed| metric(&film(&format!("{BASE}{what} = \"2 %\"\n"), seed), "stall_time_s")).sum();
        assert!(stalls / 5.0 < 2.0, "{what}: {stalls}");
    }
}

/// `blackhole`: nothing passes for 2 s. Probes go on, with backoff at 2 s and later: it is over after less than twice the hole.
#[test]
fn a_black_hole_of_two_seconds() {
    let record = film(&format!("{BASE}outage = {{ from = \"700 ms\", until = \"2700 ms\" }}\n"), 1);
    assert!(metric(&record, "stall_time_s") < 3.0, "{record:?}");
}

/// `goodput` and `crosstraffic`: 10 Mbit/s less headers alone (0.957 of it); beside a TCP flow under the same CUBIC neither starves.
#[test]
fn goodput_alone_and_beside_tcp() {
    let bulk = |name: &str, transport: &str| {
        format!("[[traffic]]\nname = \"{name}\"\nkind = \"bulk\"\ncc = \"cubic\"\n{transport}")
    };
    let quic = bulk("quic", "transport = \"quic\"\n");
    let run = |flows: &str| traffic(&format!("[[path]]\n{BASE}{flows}[run]\nduration = \"60 s\"\n"), 1);
    let alone = common::flow(&run(&quic), "quic").goodput_mbps;
    assert!((8.5..9.58).contains(&alone), "{alone}");
    let both = run(&(quic + &bulk("tcp", "")));
    let [ours, theirs] = ["quic", "tcp"].map(|name| common::flow(&both, name).goodput_mbps);
    assert!(ours + theirs > 8.5 && ours > 1.5 && theirs > 1.5, "{ours} {theirs}");
}
