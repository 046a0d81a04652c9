//! The keys of QUIC, `[[sender]] transport = { name = "quic", … }`: each is declared, read and written back by one entry of [`QUIC`].
//!
//! What they are by default is what stacks of today have in common; where they differ it says which it is.

use crate::params::whole_or_not;
use crate::reader::Table;
use crate::transport::RESUMPTIONS;
use crate::words::{meaning, told, word_of};
use playpath_cc::EcnUse;
use playpath_transport::Ecn;
use playpath_transport::quic::config::Config;
use playpath_units::{Bytes, Duration, Kind, ParamSpec};
use serde_json::{Map, Value, json};

/// As declared below. quinn 0.11 and ngtcp2 find 1452 bytes on a path of 1500 (IPv6); the buffer is that of Linux's TCP. Nobody closes
/// an idle connection: the players that model such servers say so themselves.
fn defaults() -> Config {
    Config { datagram_bytes: 1452, send_buffer: 4 << 20, idle_timeout: Duration::ZERO, ..Config::default() }
}

/// A key: what is said of it, how it is read into a configuration, and how it is written.
struct Field {
    spec: ParamSpec,
    read: fn(&Table, &'static str, &mut Config),
    write: fn(&Config) -> Value,
}

const QUIC: [Field; 12] = [
    Field {
        spec: ParamSpec::whole("datagram_bytes", 1452, (1200, 65_000), "bytes", "UDP payload of a full packet.").since("0.3"),
        read: |t, key, c| c.datagram_bytes = t.get(key),
        write: |c| json!(c.datagram_bytes),
    },
    Field {
        spec: ParamSpec::text("tls", "full", Kind::Told(&told(&RESUMPTIONS)), "What the handshake begins with.").since("0.3"),
        read: |t, key, c| c.tls.resumption = meaning(&RESUMPTIONS, t.word(key)).expect("has a default"),
        write: |c| json!(word_of(&RESUMPTIONS, c.tls.resumption)),
    },
    Field {
        spec: ParamSpec::whole("initial_window", 10, (1, 1000), "packets", "Congestion window at the start (RFC 9002 §7.2).")
            .since("0.3"),
        read: |t, key, c| c.initial_window = t.get(key),
        write: |c| whole_or_not(c.initial_window),
    },
    Field {
        spec: ParamSpec::number(
            "pacing",
            1.25,
            (0.0, 100.0),
            "",
            "Packets leave at this many times cwnd / srtt unless the control has a rate of its own (RFC 9002 §7.7); 0: as the window allows.",
        )
        .since("0.3"),
        read: |t, key, c| c.pacing.gain = t.get(key),
        write: |c| whole_or_not(c.pacing.gain),
    },
    Field {
        spec: ParamSpec::whole("burst", 10, (1, 1000), "packets", "Of a paced sender: at least so many may leave at once (RFC 9002 §7.7); a scalable control, as prague, has its own bound.")
            .since("0.3"),
        read: |t, key, c| c.pacing.min_burst = t.get(key),
        write: |c| json!(c.pacing.min_burst),
    },
    Field {
        spec: ParamSpec::flag("ecn", false, "Packets are marked ECT(0), and the client's counts of marks are heeded (RFC 9000 §13.4).")
            .since("0.3"),
        read: |t, key, c| c.marking = if t.get(key) { Ecn::Ect0 } else { Ecn::NotEct },
        write: |c| json!(c.marking != Ecn::NotEct),
    },
    Field {
        spec: ParamSpec::whole("ack_every", 2, (1, 1000), "packets", "The client acknowledges every so many packets (RFC 9000 §13.2.2).")
            .since("0.3"),
        read: |t, key, c| c.ack.every = t.get(key),
        write: |c| json!(c.ack.every),
    },
    Field {
        spec: ParamSpec::text("max_ack_delay", "25 ms", Kind::PositiveTime, "The client acknowledges at the latest then (RFC 9000 §18.2).")
            .since("0.3"),
        read: |t, key, c| c.ack.max_delay = t.get(key),
        write: |c| json!(c.ack.max_delay.to_string()),
    },
    Field {
        spec: ParamSpec::text("stream_window", "1 MiB", Kind::Size, "Flow-control window of a stream at the start.").since("0.3"),
        read: |t, key, c| c.flow.stream = bytes(t, key),
        write: |c| json!(Bytes(c.flow.stream).to_string()),
    },
    Field {
        spec: ParamSpec::text("max_stream_window", "16 MiB", Kind::Size, "Up to where it doubles when it is used up within two round trips.")
            .since("0.3"),
        read: |t, key, c| c.flow.max_stream = bytes(t, key),
        write: |c| json!(Bytes(c.flow.max_stream).to_string()),
    },
    Field {
        spec: ParamSpec::text("connection_window", "1536 KiB", Kind::Size, "Flow-control window of all streams at the start; it may double to 24 MiB.")
            .since("0.3"),
        read: |t, key, c| c.flow.connection = bytes(t, key),
        write: |c| json!(Bytes(c.flow.connection).to_string()),
    },
    Field {
        spec: ParamSpec::text("send_buffer", "4 MiB", Kind::Size, "What the server holds of each stream, sent or not.").since("0.3"),
        read: |t, key, c| c.send_buffer = bytes(t, key),
        write: |c| json!(Bytes(c.send_buffer).to_string()),
    },
];

/// The declarations alone.
pub const QUIC_KEYS: [ParamSpec; QUIC.len()] = {
    let mut keys = [QUIC[0].spec; QUIC.len()];
    let mut i = 0;
    while i < QUIC.len() {
        keys[i] = QUIC[i].spec;
        i += 1;
    }
    keys
};

/// Keys that TCP has by the same name, with the same meaning: they may stand in the sender's own table.
pub const SHARED: [&str; 4] = ["tls", "initial_window", "ecn", "send_buffer"];

/// The settings of `transport = { name = "quic", … }`.
pub fn read(table: &Table) -> Config {
    let mut config = defaults();
    QUIC.iter().for_each(|field| (field.read)(table, field.spec.name, &mut config));
    config
}

/// The settings of `transport = "quic"`, with what the sender's own table shares.
pub fn read_shared(table: &Table) -> Config {
    let mut config = defaults();
    let is_given = |field: &&Field| SHARED.contains(&field.spec.name) && table.has(field.spec.name);
    QUIC.iter().filter(is_given).for_each(|field| (field.read)(table, field.spec.name, &mut config));
    config
}

/// With every key, for a resolved scenario.
pub fn to_json(config: &Config) -> Value {
    let keys = QUIC.iter().map(|field| (field.spec.name.to_string(), (field.write)(config)));
    Value::Object([("name".to_string(), json!("quic"))].into_iter().chain(keys).collect::<Map<_, _>>())
}

/// What of it belongs to a sender's label: "/quic", and what differs from the defaults.
pub fn label(config: &Config) -> String {
    let base = defaults();
    let differs = |field: &&Field| (field.write)(config) != (field.write)(&base);
    let pair = |field: &Field| match (field.write)(config) {
        Value::String(text) => format!("{}={text}", field.spec.name),
        other => format!("{}={other}", field.spec.name),
    };
    let pairs: Vec<String> = QUIC.iter().filter(differs).map(pair).collect();
    if pairs.is_empty() { "/quic".into() } else { format!("/quic({})", pairs.join(",")) }
}

/// The same with the marks that a control needs: a scalable one's are ECT(1) (RFC 9331 §4.1).
pub fn for_ecn_use(config: &Config, ecn_use: EcnUse) -> Config {
    let marking = match ecn_use {
        EcnUse::Echo => config.marking,
        EcnUse::Counts => Ecn::Ect0,
        EcnUse::LowLatency => Ecn::Ect1,
    };
    Config { marking, ..*config }
}

/// The same without marks.
pub fn unmarked(config: &Config) -> Config {
    Config { marking: Ecn::NotEct, ..*config }
}

fn bytes(table: &Table, key: &'static str) -> u64 {
    let Bytes(bytes) = table.get(key);
    bytes
}
