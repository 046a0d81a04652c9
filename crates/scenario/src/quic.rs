//! The keys of QUIC, `[[sender]] transport = { name = "quic", … }`: each is declared, read and written back by one entry of [`QUIC`].
//!
//! `stack` and `client` say whose habits the ends have; the other keys change single ones. Only what has a source is a habit.

use crate::params::whole_or_not;
use crate::reader::Table;
use crate::transport::RESUMPTIONS;
use crate::words::{Words, described, meaning, word_of};
use playpath_cc::EcnUse;
use playpath_transport::Ecn;
use playpath_transport::quic::config::{Config, LaterAcks, OwnRate, WindowFit};
use playpath_units::{Bytes, Duration, Kind, ParamSpec};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// A sender's QUIC: whose habits server and client have, and what that comes to with the keys.
#[derive(Clone, Debug)]
pub struct QuicSpec {
    stack: &'static str,
    client: &'static str,
    /// Of the server; its client has the same but for ECT(1).
    pub config: Arc<Config>,
}

/// A change of settings: the habits of a stack.
type ApplySettings = fn(&mut Config);

const STACKS: Words<ApplySettings, 5> = [
    ("rfc", "what RFC 9002 recommends: a window of 10 packets, pacing at 1.25 x cwnd / srtt", |_| {}),
    (
        "quinn",
        "quinn 0.11 with its defaults: a window of 12 kB, paced in trains of 10 packets or more, a send buffer of 10 MB for each stream",
        |c| {
            // quinn-proto 0.11.19: congestion/cubic.rs (14 720 bytes, at most 10 x 1200), config/transport.rs (send_window, the upper bound of
            // MTU discovery), connection/pacing.rs (1.25, trains of what 2 ms hold, 10 to 256 packets); quinn 0.11, connection.rs
            // (MAX_TRANSMIT_SEGMENTS).
            c.initial_window = 8.0;
            (c.pacing.in_trains, c.pacing.segments) = (true, 10);
            c.pacing.own_rate = OwnRate::Ignored;
            // connection/mod.rs: losses that prove spurious are not given back; poll_transmit sends while in flight + datagram < window;
            // on_ack_received tells of the packets acknowledged, then detects losses.
            (c.loss.undo, c.window_fit, c.acks_first) = (false, WindowFit::Below, true);
            c.send_buffer = 10_000_000;
        },
    ),
    (
        "noq",
        "noq 1.4 with its defaults: a window of 12 kB, paced in trains of 10 packets or more, of 10 ms at most, at a control's own rate \
         packet by packet; a send buffer of 10 MB for each stream",
        |c| {
            // noq-proto 1.4.0: congestion/cubic.rs, config/transport.rs as quinn; connection/pacing.rs (rate_capacity: 2 ms, 10 to 256 packets,
            // MAX_BURST_INTERVAL 10 ms; delay_at_rate waits for the shortfall alone).
            c.initial_window = 8.0;
            c.pacing.in_trains = true;
            c.pacing.longest_burst = Some(Duration::from_millis(10));
            // connection/mod.rs: on_ack_received as quinn's.
            c.acks_first = true;
            c.pacing.own_rate = OwnRate::Bucket { interval: c.pacing.burst_interval, least: c.pacing.min_burst };
            c.send_buffer = 10_000_000;
        },
    ),
    (
        "ngtcp2",
        "ngtcp2 1.11: a window of 12 kB; up to 64 kB are sent at once, then it pauses for as long as pacing requires; \
         at a control's own rate as much as that rate sends in a millisecond, at least two packets; a packet is lost when half of those in flight came after it, or \
         by time",
        |c| {
            // ngtcp2 1.11.0: lib/ngtcp2_cc.c, ngtcp2_cc_compute_initcwnd (10 packets of 1200 bytes, which it knows by then: 12 kB, and a
            // kilobyte that the handshake's ACKs add); lib/ngtcp2_conn.c,
            // conn_reset_conn_stat_cc (send_quantum of 64 kB: 45 packets of 1452), ngtcp2_conn_update_pkt_tx_time.
            c.initial_window = 9.0;
            // lib/ngtcp2_pmtud.c: the largest size that is tried is 1492 less 48.
            c.datagram_bytes = 1444;
            // examples/server.cc, Handler::update_timer: libev's.
            c.pacing.in_debt = Some(Duration::from_millis(1));
            (c.pacing.min_burst, c.pacing.max_burst) = (45, 45);
            // conn_cwnd_is_zero.
            c.window_fit = WindowFit::Beyond;
            // lib/ngtcp2_rtb.c: rtb_detect_lost_pkt (pkt_thres), ngtcp2_rtb_recv_ack (rst->lost, after all losses of the ACK) and
            // ngtcp2_rtb_detect_lost_pkt (the timer's, which tells nobody how much).
            (c.loss.max_packet_threshold, c.loss.counts_at_once) = (256, false);
            // ngtcp2_bbr.c, bbr_set_send_quantum.
            c.pacing.own_rate = OwnRate::Bucket { interval: Duration::from_millis(1), least: 2 };
        },
    ),
    (
        "picoquic",
        "picoquic: a window of 15 360 bytes, paced at cwnd / srtt, at 1.25 times that in slow start; a quarter of the window leaves at once, \
         2 to 16 packets",
        |c| {
            // picoquic (master, 2026): picoquic_internal.h, PICOQUIC_CWIN_INITIAL (10 x 1536 bytes: 10 packets of 1452); lib/pacing.c,
            // picoquic_update_pacing_window (quantum of a quarter, 2 to 16 packets; 1.25 in slow start alone).
            c.initial_window = 10.0;
            (c.pacing.gain, c.pacing.slow_start_gain, c.pacing.burst_of_window) = (1.0, Some(1.25), Some(0.25));
            (c.pacing.min_burst, c.pacing.max_burst) = (2, 16);
        },
    ),
];

const CLIENTS: Words<ApplySettings, 4> = [
    ("rfc", "an ACK for every second packet (RFC 9000 §13.2.2), windows that double up to 16 and 24 MiB", |_| {}),
    ("chromium", "Chromium 156: windows of 6 and 15 MiB, after a hundred packets an ACK for every tenth", |c| {
        // Measured on the wire, headless, July 2026; the bounds of the windows and the quarter of a round trip are those of its source
        // (quic_constants.h, QuicReceivedPacketManager).
        (c.flow.stream, c.flow.connection) = (6 << 20, 15 << 20);
        c.ack.later = Some(LaterAcks { from: 100, every: 10, rtt_eighths: 2 });
        c.initial_bytes = 1250;
    }),
    (
        "quinn",
        "quinn 0.11: a window of 1.25 MB for each stream that does not grow, an ACK for every second packet",
        |c| {
            // quinn-proto 0.11.19, config/transport.rs: STREAM_RWND; of the connection it sets no bound.
            (c.flow.stream, c.flow.max_stream) = (1_250_000, 1_250_000);
            (c.flow.connection, c.flow.max_connection) = (1 << 40, 1 << 40);
        },
    ),
    (
        "ngtcp2",
        "ngtcp2's client: windows of 6 and 15 MiB that double up to 16 and 24, one ACK for everything that has arrived when it reads",
        |c| {
            // `gtlsclient --help` of 0.12.1 (--max-stream-data-bidi-local, --max-data, --max-stream-window, --max-window);
            // examples/client.cc, Client::on_read: it reads until nothing is left, then writes.
            (c.flow.stream, c.flow.connection) = (6 << 20, 15 << 20);
            c.peer_wakes_in = WAKE;
            // examples/client.cc, run: its connection ids, which each packet to it carries.
            c.peer_cid_bytes = 17;
        },
    ),
];

/// From 10 to 200 us a client of ngtcp2's sends as many ACKs.
const WAKE: Duration = Duration::from_micros(50);

/// quinn and noq find 1452 bytes on a path of 1500 (IPv6), ngtcp2 1444 (its profile); the buffer is that of Linux's TCP.
fn base(stack: &'static str, client: &'static str) -> Config {
    let mut config = Config { datagram_bytes: 1452, send_buffer: 4 << 20, ..Config::default() };
    let apply = [meaning(&STACKS, Some(stack)), meaning(&CLIENTS, Some(client))];
    apply.into_iter().flatten().for_each(|apply| apply(&mut config));
    config
}

const STACK: ParamSpec = ParamSpec::text(
    "stack",
    "rfc",
    Kind::Described(&described(&STACKS)),
    "QUIC stack whose behaviour the server follows.",
)
.since("0.3");
const CLIENT: ParamSpec = ParamSpec::text(
    "client",
    "rfc",
    Kind::Described(&described(&CLIENTS)),
    "QUIC stack whose behaviour the client follows: when it acknowledges, and its flow-control windows.",
)
.since("0.3");

/// A key: what is said of it, how it is read into a configuration, and how it is written.
struct Field {
    spec: ParamSpec,
    read: fn(&Table, &'static str, &mut Config),
    write: fn(&Config) -> Value,
}

const QUIC: [Field; 16] = [
    Field {
        spec: ParamSpec::new("datagram_bytes", Kind::Whole { low: 1200, high: 65_000, unit: "bytes" }, "UDP payload of a full packet.")
            .otherwise("1452, of ngtcp2 1444")
            .example("1200")
            .since("0.3"),
        read: |t, key, c| set(t.optional(key), &mut c.datagram_bytes),
        write: |c| json!(c.datagram_bytes),
    },
    Field {
        spec: ParamSpec::text("tls", "full", Kind::Described(&described(&RESUMPTIONS)), "Kind of handshake.").since("0.3"),
        read: |t, key, c| c.tls.resumption = meaning(&RESUMPTIONS, t.word(key)).expect("has a default"),
        write: |c| json!(word_of(&RESUMPTIONS, c.tls.resumption)),
    },
    Field {
        spec: ParamSpec::whole(
            "certificate_bytes",
            2200,
            (1, 1_000_000),
            "bytes",
            "Size of the server's certificate chain, which a full handshake carries: beyond three times the client's first flight it costs a round trip.",
        )
        .since("0.3"),
        read: |t, key, c| c.tls.certificate = t.get(key),
        write: |c| json!(c.tls.certificate),
    },
    Field {
        spec: ParamSpec::new("initial_window", Kind::Whole { low: 1, high: 1000, unit: "packets" }, "Congestion window at the start.")
            .otherwise(OF_STACK)
            .example("32")
            .since("0.3"),
        read: |t, key, c| set(t.optional(key), &mut c.initial_window),
        write: |c| whole_or_not(c.initial_window),
    },
    Field {
        spec: ParamSpec::new(
            "pacing",
            Kind::Number { low: 0.0, high: 100.0, unit: "" },
            "Packets leave at this many times cwnd / srtt unless the control has a rate of its own (RFC 9002 §7.7); 0: as \
             the window allows.",
        )
        .otherwise(OF_STACK)
        .example("1.25")
        .since("0.3"),
        read: |t, key, c| {
            // What is the stack's is no choice of the user: a resolved scenario writes it out.
            if let Some(gain) = t.optional(key).filter(|gain| *gain != c.pacing.gain) {
                (c.pacing.gain, c.pacing.slow_start_gain) = (gain, None);
            }
        },
        write: |c| whole_or_not(c.pacing.gain),
    },
    Field {
        spec: ParamSpec::new(
            "burst",
            Kind::Whole { low: 1, high: 1000, unit: "packets" },
            "Packets that a paced sender may always send at once after a pause (RFC 9002 §7.7), with `stack` = \"quinn\" \
             at any time; a scalable control such as prague has its own bound.",
        )
        .otherwise(OF_STACK)
        .example("1")
        .since("0.3"),
        read: |t, key, c| {
            set(t.optional(key), &mut c.pacing.min_burst);
            c.pacing.max_burst = c.pacing.max_burst.max(c.pacing.min_burst);
        },
        write: |c| json!(c.pacing.min_burst),
    },
    Field {
        spec: ParamSpec::flag("ecn", false, "Packets are marked ECT(0), and the client counts marks (RFC 9000 §13.4).").since("0.3"),
        read: |t, key, c| c.marking = if t.get(key) { Ecn::Ect0 } else { Ecn::NotEct },
        // Said only where it is on: a resolved scenario forbids no control its marks.
        write: |c| json!((c.marking != Ecn::NotEct).then_some(true)),
    },
    Field {
        // quinn-proto 0.11.19 and noq-proto 1.4.0, config/transport.rs (max_idle_timeout); ngtcp2 1.11.0, examples/server.cc and client.cc
        // (config.timeout); picoquic, PICOQUIC_MICROSEC_HANDSHAKE_MAX, its transport parameters' default; Chromium, net/quic/quic_context.h
        // (kIdleConnectionTimeout).
        spec: ParamSpec::text(
            "idle_timeout",
            "30 s",
            Kind::PositiveTime,
            "Both ends close a connection on which nothing has arrived for this long (RFC 9000 §10.1); the client opens another for \
             further requests and for what is still missing. The default is that of quinn, noq, ngtcp2, picoquic and Chromium.",
        )
        .or(NEVER)
        .since("0.3"),
        read: |t, key, c| c.idle_timeout = t.optional(key).unwrap_or_default(),
        write: |c| json!(if c.idle_timeout.is_zero() { NEVER.into() } else { c.idle_timeout.to_string() }),
    },
    Field {
        spec: ParamSpec::new(
            "wakes_in",
            Kind::PositiveTime,
            "The server reads everything that arrives within this time before it sends, as a program does that is woken by its socket.",
        )
        .otherwise("it answers each datagram")
        .example("\"50 us\"")
        .since("0.3"),
        read: |t, key, c| set(t.optional(key), &mut c.wakes_in),
        write: |c| json!((!c.wakes_in.is_zero()).then(|| c.wakes_in.to_string())),
    },
    Field {
        spec: ParamSpec::new(
            "ack_every",
            Kind::Whole { low: 1, high: 1000, unit: "packets" },
            "The client sends one acknowledgement for this many packets (RFC 9000 §13.2.2).",
        )
        .otherwise(OF_CLIENT)
        .example("10")
        .since("0.3"),
        read: |t, key, c| set(t.optional(key), &mut c.ack.every),
        write: |c| json!(c.ack.every),
    },
    Field {
        spec: ParamSpec::new(
            "ack_later",
            Kind::Whole { low: 1, high: 1000, unit: "packets" },
            "After the first hundred packets the client sends one acknowledgement for this many, or after a quarter of the smallest round trip.",
        )
        .otherwise("`ack_every`; the client's")
        .example("10")
        .since("0.3"),
        read: |t, key, c| {
            if let Some(every) = t.optional(key) {
                c.ack.later = Some(LaterAcks { from: 100, every, rtt_eighths: 2 });
            }
        },
        write: |c| json!(c.ack.later.map(|later| later.every)),
    },
    Field {
        spec: ParamSpec::text("max_ack_delay", "25 ms", Kind::PositiveTime, "Longest time by which the client delays an acknowledgement.").since("0.3"),
        read: |t, key, c| c.ack.max_delay = t.get(key),
        write: |c| json!(c.ack.max_delay.to_string()),
    },
    Field {
        spec: ParamSpec::new("stream_window", Kind::Size, "Flow-control window of a stream at the start.")
            .otherwise(OF_CLIENT)
            .example("\"256 KiB\"")
            .since("0.3"),
        read: |t, key, c| set_bytes(t, key, &mut c.flow.stream),
        write: |c| json!(Bytes(c.flow.stream).to_string()),
    },
    Field {
        spec: ParamSpec::new("max_stream_window", Kind::Size, "Limit up to which the window doubles whenever it is used up within two round trips.")
            .otherwise(OF_CLIENT)
            .example("\"1 MiB\"")
            .since("0.3"),
        read: |t, key, c| set_bytes(t, key, &mut c.flow.max_stream),
        write: |c| json!(Bytes(c.flow.max_stream).to_string()),
    },
    Field {
        spec: ParamSpec::new("connection_window", Kind::Size, "Flow-control window of all streams at the start.")
            .otherwise(OF_CLIENT)
            .example("\"1 MiB\"")
            .since("0.3"),
        read: |t, key, c| set_bytes(t, key, &mut c.flow.connection),
        write: |c| json!(Bytes(c.flow.connection).to_string()),
    },
    Field {
        spec: ParamSpec::new("send_buffer", Kind::Size, "Size of the server's send buffer for each stream: bytes unsent or unacknowledged.")
            .otherwise(OF_STACK)
            .example("\"1 MB\"")
            .since("0.3"),
        read: |t, key, c| set_bytes(t, key, &mut c.send_buffer),
        write: |c| json!(Bytes(c.send_buffer).to_string()),
    },
];

const NEVER: &str = "never";
const OF_STACK: &str = "the stack's";
const OF_CLIENT: &str = "the client's";

pub const QUIC_KEYS: [ParamSpec; 2 + QUIC.len()] = {
    let mut keys = [STACK; 2 + QUIC.len()];
    keys[1] = CLIENT;
    let mut i = 0;
    while i < QUIC.len() {
        keys[2 + i] = QUIC[i].spec;
        i += 1;
    }
    keys
};

/// Keys that TCP has by the same name, with the same meaning: they may stand in the sender's own table.
pub const SHARED: [&str; 4] = ["tls", "initial_window", "ecn", "send_buffer"];

/// The settings of `transport = { name = "quic", … }`.
pub fn read(table: &Table) -> QuicSpec {
    let word = |spec: ParamSpec| table.word(spec.name).expect("has a default");
    let (stack, client) = (word(STACK), word(CLIENT));
    let mut config = base(stack, client);
    QUIC.iter().for_each(|field| (field.read)(table, field.spec.name, &mut config));
    QuicSpec { stack, client, config: Arc::new(config) }
}

/// The settings of `transport = "quic"`, with what the sender's own table shares.
pub fn read_shared(table: &Table) -> QuicSpec {
    let mut config = base("rfc", "rfc");
    let is_given = |field: &&Field| SHARED.contains(&field.spec.name) && table.has(field.spec.name);
    QUIC.iter().filter(is_given).for_each(|field| (field.read)(table, field.spec.name, &mut config));
    QuicSpec { stack: "rfc", client: "rfc", config: Arc::new(config) }
}

impl QuicSpec {
    /// The stack whose controls differ from what the profile has.
    pub(crate) fn stack(&self) -> Option<&'static str> {
        (self.stack != "rfc").then_some(self.stack)
    }

    /// With every key, for a resolved scenario.
    pub fn to_json(&self) -> Value {
        let ends = [("name", "quic"), (STACK.name, self.stack), (CLIENT.name, self.client)];
        let ends = ends.map(|(key, word)| (key.to_string(), json!(word)));
        let keys = QUIC.iter().map(|field| (field.spec.name.to_string(), (field.write)(&self.config)));
        Value::Object(ends.into_iter().chain(keys).collect::<Map<_, _>>())
    }

    /// What of it belongs to a sender's label: "/quic", and what differs from the defaults. Marks that the control implies say nothing.
    pub fn label(&self, implies_ecn: bool) -> String {
        let mut base = base(self.stack, self.client);
        if implies_ecn {
            base.marking = self.config.marking;
        }
        let ends =
            [(STACK.name, self.stack), (CLIENT.name, self.client)].into_iter().filter(|(_, word)| *word != "rfc");
        let mut pairs: Vec<String> = ends.map(|(key, word)| format!("{key}={word}")).collect();
        for field in QUIC.iter().filter(|field| (field.write)(&self.config) != (field.write)(&base)) {
            let value = (field.write)(&self.config);
            pairs.push(format!("{}={}", field.spec.name, value.as_str().map_or(value.to_string(), String::from)));
        }
        if pairs.is_empty() { "/quic".into() } else { format!("/quic({})", pairs.join(",")) }
    }

    /// The same with the marks that a control needs: a scalable one's are ECT(1) (RFC 9331 §4.1).
    pub fn for_ecn_use(&self, ecn_use: EcnUse) -> QuicSpec {
        let marking = match ecn_use {
            EcnUse::Echo => self.config.marking,
            EcnUse::Counts => Ecn::Ect0,
            EcnUse::LowLatency => Ecn::Ect1,
        };
        QuicSpec { config: Arc::new(Config { marking, ..*self.config }), ..self.clone() }
    }
}

fn set<T>(given: Option<T>, place: &mut T) {
    if let Some(given) = given {
        *place = given;
    }
}

fn set_bytes(table: &Table, key: &'static str, place: &mut u64) {
    set(table.optional(key).map(|Bytes(bytes)| bytes), place);
}
