//! TLS 1.3 over the simulator's TCP: what its handshake costs, beside QUIC's, and that its records lose no byte.

mod common;

use common::{flow, play, traffic};
use playpath_record::Record;
use playpath_sim::Tracing;
use playpath_video::{EventKind, FinishReason};

/// A session over 100 ms.
fn session(sender: &str) -> Record {
    let text = format!(
        "[video]\nrate = \"2 Mbit/s\"\nduration = \"4 s\"\n[[path]]\nrate = \"1 Gbit/s\"\nrtt = \"100 ms\"\n[[sender]]\nname = \"s\"\n\
         cc = \"cubic\"\n{sender}"
    );
    play(&text, "s", 1, Tracing::Off)
}

/// When the client was connected, and when the first byte of a body came, in round trips.
fn round_trips(sender: &str) -> (f64, f64) {
    let record = session(sender);
    let at = |wanted: fn(&EventKind) -> bool| {
        record.events.iter().find(|event| wanted(&event.kind)).unwrap().at.as_secs_f64() / 0.1
    };
    (at(|kind| matches!(kind, EventKind::Connected { .. })), at(|kind| matches!(kind, EventKind::FirstByte { .. })))
}

/// TCP takes a round trip, TLS one more, QUIC does both in one; the response takes another. With 0-RTT data the request leaves with the first
/// flight that can carry it: TCP's second, QUIC's first. RFC 8446 §2, RFC 9001 §4.
#[test]
fn handshakes_take_their_round_trips() {
    for (sender, connected, first_byte) in [
        ("", 1.0, 2.0),
        ("tls = \"full\"", 2.0, 3.0),
        ("tls = \"resumed\"", 2.0, 3.0),
        ("tls = \"early_data\"", 1.0, 2.0),
        ("profile = \"ns2\"\ntls = \"resumed\"", 1.0, 2.0), // TCP without a handshake
        ("transport = \"quic\"", 1.0, 2.0),
        ("transport = { name = \"quic\", tls = \"resumed\" }", 1.0, 2.0),
        ("transport = { name = \"quic\", tls = \"early_data\" }", 0.0, 1.0),
    ] {
        let (is_connected, has_byte) = round_trips(sender);
        let is_near = |got: f64, wanted: f64| (wanted..wanted + 0.02).contains(&got);
        assert!(
            is_near(is_connected, connected) && is_near(has_byte, first_byte),
            "{sender}: {is_connected} {has_byte}"
        );
    }
}

/// 22 bytes for each 16 384: of the same packets 0.134 % less is the application's.
#[test]
fn records_take_their_share() {
    let bulk = |keys: &str| {
        let text = format!(
            "[[path]]\nrate = \"10 Mbit/s\"\nrtt = \"40 ms\"\n[[traffic]]\nname = \"bulk\"\nkind = \"bulk\"\ncc = \"cubic\"\n{keys}\n\
             [run]\nduration = \"60 s\""
        );
        let record = traffic(&text, 1);
        let flow = flow(&record, "bulk");
        flow.goodput_mbps / flow.throughput_mbps
    };
    let (plain, tls) = (bulk(""), bulk("tls = \"full\""));
    assert!((0.0012..0.0022).contains(&(1.0 - tls / plain)), "{plain} {tls}");
}

/// All players and web traffic, over one path and over MPTCP, with losses: the video is played to its end.
#[test]
fn sessions_and_traffic_play_over_tls() {
    for (player, paths) in
        [("progressive", 1), ("agent", 1), ("dash", 1), ("dash\"\nhttp = \"h2", 1), ("progressive", 2)]
    {
        let path = "[[path]]\nrate = \"8 Mbit/s\"\nrtt = \"60 ms\"\nloss = \"1 %\"\n".repeat(paths);
        let text = format!(
            "[video]\nrate = \"2 Mbit/s\"\nduration = \"20 s\"\n[player]\nkind = \"{player}\"\n{path}[[sender]]\ncc = \"bbr3\"\n\
             tls = \"full\"\n[[traffic]]\nkind = \"web\"\ncc = \"cubic\"\ntls = \"early_data\""
        );
        let record = play(&text, "bbr3+tls", 2, Tracing::Off);
        let is_over = record
            .events
            .iter()
            .any(|event| matches!(event.kind, EventKind::Finished { reason: FinishReason::Played, .. }));
        assert!(is_over, "{player} {paths}");
    }
}
