//! The scenarios in `scenarios/interop`, which have the link settings of quic-interop-runner's cases, each with a bound: 15 ms one way,
//! 10 Mbit/s and a queue of 25 packets unless the case says otherwise. What a client may not do, and what a server may send before it
//! knows the client's address, are rules of `crates/transport/tests`.

mod common;

use common::{check_conservation, metric, play, traffic};
use playpath_record::Record;
use playpath_sim::Tracing;
use playpath_video::EventKind;

macro_rules! case {
    ($name:literal) => {
        include_str!(concat!("../../../scenarios/interop/interop-", $name, ".toml"))
    };
}

/// Of a sender with this seed: played to the end, nothing lost but in links.
fn film(text: &str, sender: &str, seed: u64) -> Record {
    let record = play(text, sender, seed, Tracing::Off);
    check_conservation(&record);
    assert!(record.warnings.iter().all(|warning| !warning.contains("not played to its end")), "{:?}", record.warnings);
    record
}

fn connected_at(record: &Record) -> f64 {
    let connected = record.events.iter().find(|event| matches!(event.kind, EventKind::Connected { .. }));
    connected.expect("it connects").at.as_secs_f64()
}

/// `longrtt`: 750 ms. One round trip until the client is connected, two over TCP with TLS, and what 1200 and 2600 bytes take at 10 Mbit/s.
#[test]
fn a_long_round_trip() {
    let at = |sender| connected_at(&film(case!("long-rtt"), sender, 1));
    let (quic, tcp) = (at("quic"), at("tcp"));
    assert!((0.75..0.77).contains(&quic) && (1.5..1.54).contains(&tcp), "{quic} {tcp}");
}

/// `handshakeloss`, `handshakecorruption`: 30 % each way in 20 handshakes. A flight of 3 datagrams and its answer pass with
/// 0.7^5 = 0.17 at the first try; then probes follow after 1, 2, 4 s (RFC 9002 §6.2: 3 × 333 ms), so most are through after 3 s,
/// nine of ten within 10, and all within a minute.
#[test]
fn lost_and_corrupted_handshakes() {
    for text in [case!("handshake-loss"), case!("handshake-corruption")] {
        let mut times: Vec<f64> = (1..=20).map(|seed| connected_at(&play(text, "quic", seed, Tracing::Off))).collect();
        times.sort_by(f64::total_cmp);
        assert!(times[9] < 3.5 && times[17] < 10.0 && times[19] < 60.0, "{times:?}");
    }
}

/// `transferloss`, `transfercorruption`: 2 % in the data. 1.22 packets / (30 ms × √0.02) = 288 packets/s or 3.3 Mbit/s by the square-root
/// law: a film of 2 Mbit/s stalls for little.
#[test]
fn lost_and_corrupted_transfers() {
    for text in [case!("transfer-loss"), case!("transfer-corruption")] {
        let stalls: f64 = (1..=5).map(|seed| metric(&film(text, "quic", seed), "stall_time_s")).sum();
        assert!(stalls / 5.0 < 2.0, "{stalls}");
    }
}

/// `blackhole`: nothing passes for 2 s. The server's last packet left some 10 ms before nobody heard of it, and its probes follow after 1, 3, 7,
/// 15 and 31 PTO (RFC 9002 §6.2.1) of 83 ms (round trip of 57 ms with the queue, and max_ack_delay of 25): the last of them, after 2.57 s, is
/// the first that passes. By then the film has stood still since its 0.3 s of buffer were played; it goes on with a second in the buffer
/// again, 1 MB at up to 9.8 Mbit/s: 0.85 s. So 2.57 - 0.3 + 0.85 = 3.1 s, if the client's windows are no obstacle.
#[test]
fn a_black_hole_of_two_seconds() {
    let text = case!("black-hole").replace(
        "transport = \"quic\"",
        "transport = { name = \"quic\", stream_window = \"16 MiB\", connection_window = \"24 MiB\" }",
    );
    let stalls = stalls_of(&text, 1..=10);
    assert!(stalls.iter().all(|stall| (2.0..3.2).contains(stall)), "{stalls:?}");
}

/// With the windows that come by default, now and then a MAX_STREAM_DATA is lost in the hole (seeds 1 and 22). The server's probes pass, but
/// what they free is soon sent, and it is blocked. The client sends little but ACKs, which nobody acknowledges (RFC 9000 §13.2.4), so that
/// only its own PTO finds the loss. Its probes at u + p (2^k - 1) have their backoff too, and the first after the hole (h to h + 2 s, u >= h) is
/// sent before u + 2 (h + 2 s - u) + p <= h + 4 s + p. Half a round trip later data flow: with p of 0.115 s, a round trip of 31 ms, a buffer of
/// 0.3 s that is played and 0.85 s to fill it, no stall is longer than 4 + 0.115 + 0.031 - 0.3 + 0.85 = 4.7 s. Here p (2^5 - 1) = 3.56 s.
#[test]
fn a_window_update_lost_in_a_black_hole() {
    let stalls = stalls_of(case!("black-hole"), [1, 2, 22]);
    assert!(
        (3.4..4.7).contains(&stalls[0]) && (2.0..3.2).contains(&stalls[1]) && (3.4..4.7).contains(&stalls[2]),
        "{stalls:?}"
    );
}

fn stalls_of(text: &str, seeds: impl IntoIterator<Item = u64>) -> Vec<f64> {
    seeds.into_iter().map(|seed| metric(&film(text, "quic", seed), "stall_time_s")).collect()
}

/// `amplificationlimit`: 9 kB are more than three times 1200 bytes, so the flight waits for the client's answer: 30 ms and no more.
#[test]
fn a_long_certificate_chain_costs_a_round_trip() {
    let at = |sender| connected_at(&film(case!("amplification"), sender, 1));
    let more = at("long chain") - at("short chain");
    assert!((0.030..0.050).contains(&more), "{more}");
}

/// `rebind-port`: RFC 9000 §9.3.1: window and RTT stay, and nobody notices; TCP needs new connections.
#[test]
fn a_nat_that_rebinds() {
    let quic = film(case!("rebinding"), "quic", 1);
    assert_eq!((quic.flows.len(), metric(&quic, "stall_time_s")), (1, 0.0), "{:?}", quic.flows);
    assert!(play(case!("rebinding"), "tcp", 1, Tracing::Off).flows.len() > 1);
}

/// `crosstraffic`: half of 10 Mbit/s is twice the film; beside one flow under the same CUBIC it does not starve.
#[test]
fn a_film_beside_tcp() {
    let stalls: f64 = (1..=5).map(|seed| metric(&film(case!("beside-tcp"), "quic", seed), "stall_time_s")).sum();
    assert!(stalls / 5.0 < 1.0, "{stalls}");
}

/// `goodput`: 10 Mbit/s less headers alone (0.957 of it); and bulk beside bulk neither starves.
#[test]
fn goodput_alone_and_beside_tcp() {
    let bulk = |name: &str, transport: &str| {
        format!("[[traffic]]\nname = \"{name}\"\nkind = \"bulk\"\ncc = \"cubic\"\n{transport}")
    };
    let quic = bulk("quic", "transport = \"quic\"\n");
    let path = "[[path]]\nrate = \"10 Mbit/s\"\nrtt = \"30 ms\"\nqueue = \"25 packets\"\n";
    let run = |flows: &str| traffic(&format!("{path}{flows}[run]\nduration = \"60 s\"\n"), 1);
    let alone = common::flow(&run(&quic), "quic").goodput_mbps;
    assert!((8.5..9.58).contains(&alone), "{alone}");
    let both = run(&(quic + &bulk("tcp", "")));
    let [ours, theirs] = ["quic", "tcp"].map(|name| common::flow(&both, name).goodput_mbps);
    assert!(ours + theirs > 8.5 && ours > 1.5 && theirs > 1.5, "{ours} {theirs}");
}
