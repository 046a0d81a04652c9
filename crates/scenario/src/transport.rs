//! The transport of a sender, `[[sender]] transport` and its keys: each is declared, read and written back by one entry of [`TCP`], or of
//! QUIC's list in `quic.rs`. The keys stand in `transport = { name = "tcp", … }`; those of TCP also beside `transport = "tcp"` in the
//! sender's own table.
//!
//! Recipe: `docs/recipes/add-a-transport-key.md`. Any further transport declares its parameters where it is written
//! (`docs/recipes/transport.md`).

use crate::ScenarioError;
use crate::params::{self, params_json, set_params};
use crate::quic::{self, QUIC_KEYS, QuicSpec};
use crate::reader::{Named, Table};
use crate::words::{Words, described, meaning, word_of};
use playpath_cc::EcnUse;
use playpath_transport::tls::{Resumption, Tls};
use playpath_transport::transports::{self, Endpoint, Entry, Opening};
use playpath_transport::{
    Config, DelayedAck, InitialWindow, LossDetection, Pacing, PartialAckTimer, Recovery, Validation,
};
use playpath_units::{Bytes, Choice, Duration, Kind, ParamSpec, Params, TableSpec, Variant};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// A sender's transport: the settings of its server's endpoint, shared by all its connections.
#[derive(Clone, Debug)]
pub enum TransportSpec {
    /// TCP; over several paths MPTCP.
    Tcp(Arc<Config>),
    /// QUIC; over several paths multipath QUIC.
    Quic(QuicSpec),
    Declared(Declared),
}

#[derive(Clone)]
pub struct Declared {
    entry: &'static Entry,
    params: Params,
}

impl std::fmt::Debug for Declared {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{}", self.label())
    }
}

impl Declared {
    /// By its name, or the table in which its parameters are.
    fn read(entry: &'static Entry, own: Option<Table>) -> Result<Declared, ScenarioError> {
        let mut params = Params::defaults(entry.params);
        if let Some(own) = own {
            set_params(&own, &mut params, &|_| Err("no parameter is a file".into()))?;
        }
        Ok(Declared { entry, params })
    }

    pub(crate) fn name(&self) -> &'static str {
        self.entry.name
    }

    /// With every parameter, for a resolved scenario.
    pub(crate) fn to_json(&self) -> Value {
        params_json("name", self.entry.name, &self.params)
    }

    pub(crate) fn label(&self) -> String {
        format!("/{}", params::label(self.entry.name, &self.params, &Params::defaults(self.entry.params)))
    }
}

impl TransportSpec {
    /// Bytes of the application in a full packet, about.
    pub fn packet_bytes(&self) -> u32 {
        match self {
            TransportSpec::Tcp(tcp) => tcp.mss,
            TransportSpec::Quic(quic) => quic.config.datagram_bytes,
            TransportSpec::Declared(Declared { entry, params }) => (entry.packet_bytes)(params),
        }
    }

    /// Client and server of a new connection.
    pub fn open(&self, opening: Opening) -> (Endpoint, Endpoint) {
        match self {
            TransportSpec::Tcp(tcp) => transports::tcp::pair(tcp, opening),
            TransportSpec::Quic(quic) => transports::quic::pair(&quic.config, opening),
            TransportSpec::Declared(Declared { entry, params }) => (entry.pair)(params, opening),
        }
    }

    /// Whose habits a control's defaults follow, where the transport says more than the profile.
    pub(crate) fn stack(&self) -> Option<&'static str> {
        if let TransportSpec::Quic(quic) = self { quic.stack() } else { None }
    }

    /// As users read it, if it is not TCP.
    pub fn other_than_tcp(&self) -> Option<&'static str> {
        match self {
            TransportSpec::Tcp(_) => None,
            TransportSpec::Quic(_) => Some("QUIC"),
            TransportSpec::Declared(Declared { entry, .. }) => Some(entry.name),
        }
    }

    pub fn tcp(&self) -> Option<&Arc<Config>> {
        match self {
            TransportSpec::Tcp(tcp) => Some(tcp),
            TransportSpec::Quic(_) | TransportSpec::Declared(_) => None,
        }
    }

    pub fn quic(&self) -> Option<&playpath_transport::quic::config::Config> {
        if let TransportSpec::Quic(quic) = self { Some(&quic.config) } else { None }
    }

    /// Its ends give up a connection on which nothing has come for long.
    pub fn closes_when_idle(&self) -> bool {
        self.quic().is_some_and(|quic| !quic.idle_timeout.is_zero())
    }

    /// Each request has a stream of its own, on which HTTP is HTTP/3.
    pub fn has_streams(&self) -> bool {
        match self {
            TransportSpec::Tcp(_) => false,
            TransportSpec::Quic(_) => true,
            TransportSpec::Declared(Declared { entry, .. }) => entry.has_streams,
        }
    }

    /// The same for a control that needs this of ECN.
    pub(crate) fn with_ecn_use(&self, ecn_use: EcnUse) -> TransportSpec {
        match self {
            TransportSpec::Tcp(tcp) if tcp.ecn_use != ecn_use => {
                TransportSpec::Tcp(Arc::new(Config { ecn_use, ..**tcp }))
            }
            TransportSpec::Tcp(_) | TransportSpec::Declared(_) => self.clone(),
            TransportSpec::Quic(quic) => TransportSpec::Quic(quic.for_ecn_use(ecn_use)),
        }
    }
}

/// What `transport` may be, by name or as a table.
pub const TRANSPORT: TableSpec = TableSpec::new("transport", "A transport with its keys.", &[]).choosing(Choice {
    tag: "name",
    what: "transport",
    noun: "key",
    default: "",
    otherwise: "",
    variants: || {
        let tcp = "TCP with the behaviour of its profile; over several paths MPTCP";
        let quic = "QUIC, on which HTTP is HTTP/3, a stream for each request; over several paths multipath QUIC";
        let variant = |name, summary, keys| Variant { name, aliases: &[], summary, keys };
        let typed = [variant("tcp", tcp, &TCP_KEYS), variant("quic", quic, &QUIC_KEYS)];
        let declared = transports::entries().iter().map(|entry| variant(entry.name, entry.summary, entry.params));
        typed.into_iter().chain(declared).collect()
    },
});

pub const KEYS: TableSpec = TableSpec::new("tcp", "The keys of TCP.", &TCP_KEYS);

const TCP_KEYS: [ParamSpec; TCP.len() + 1] = {
    let mut keys = [PROFILE.otherwise("`run.profile`").example("\"rfc\""); TCP.len() + 1];
    let mut i = 0;
    while i < TCP.len() {
        keys[i + 1] = TCP[i].spec;
        i += 1;
    }
    keys
};

/// A key: what is said of it, how it is read into a configuration, and how it is written.
struct Field {
    spec: ParamSpec,
    read: fn(&Table, &'static str, &mut Config),
    write: fn(&Config) -> Value,
    /// Written only where it is not the profile's: keys that came after the first records.
    is_rare: bool,
}

impl Field {
    const fn new(spec: ParamSpec, read: fn(&Table, &'static str, &mut Config), write: fn(&Config) -> Value) -> Field {
        Field { spec, read, write, is_rare: false }
    }
    const fn rare(self) -> Field {
        Field { is_rare: true, ..self }
    }
}

/// Reads the transport of a `[[sender]]` or `[[traffic]]`: the profile, and what it comes to. `mss` is the scenario's packet size of TCP,
/// if it states one.
pub fn read(
    table: &Table,
    run_profile: &'static str,
    mss: Option<u32>,
) -> Result<(&'static str, TransportSpec), ScenarioError> {
    let Named { name, table: own } = table.named("transport").expect("has a default");
    if name == "quic" {
        let quic = match &own {
            Some(own) => quic::read(own),
            None => {
                refuse_tcp_keys(table, "QUIC", &name)?;
                quic::read_shared(table)
            }
        };
        return Ok((run_profile, TransportSpec::Quic(quic)));
    }
    if let Some(entry) = transports::find(&name) {
        refuse_tcp_keys(table, entry.name, &name)?;
        return Ok((run_profile, TransportSpec::Declared(Declared::read(entry, own)?)));
    }
    let keys = own.as_ref().unwrap_or(table);
    let profile = keys.word("profile").unwrap_or(run_profile);
    let mut config = Config::profile(profile).expect("listed profiles exist");
    config.mss = mss.unwrap_or(config.mss);
    TCP.iter().for_each(|field| (field.read)(keys, field.spec.name, &mut config));
    Ok((profile, TransportSpec::Tcp(Arc::new(config))))
}

/// The transport of a sender was chosen anew: what was said of TCP goes with it, but for what the choice says itself.
pub fn leave_tcp(table: &mut Map<String, Value>, is_chosen: impl Fn(&str) -> bool) {
    let chosen = &table["transport"];
    let name = chosen.as_str().or_else(|| chosen["name"].as_str()).unwrap_or_default().to_string();
    if name == "tcp" {
        return;
    }
    let is_shared = |key: &str| name == "quic" && quic::SHARED.contains(&key);
    table.retain(|key, _| is_shared(key) || is_chosen(key) || TCP_KEYS.iter().all(|own| own.name != key));
}

/// The keys in a sender's own table are TCP's; those that QUIC has, too, mean the same.
fn refuse_tcp_keys(table: &Table, spoken: &str, name: &str) -> Result<(), ScenarioError> {
    let shared: &[&str] = if name == "quic" { &quic::SHARED } else { &[] };
    if !shared.is_empty() && table.peek("tls") == Some(&json!("none")) {
        return Err(table.error("tls", "QUIC is never without TLS; allowed: full, resumed, early_data"));
    }
    let is_given = |key: &&ParamSpec| table.peek(key.name).is_some_and(|value| !value.is_null());
    match TCP_KEYS.iter().filter(is_given).find(|key| !shared.contains(&key.name)) {
        Some(key) => {
            let keys = TRANSPORT.choice.and_then(|choice| choice.find(name)).map_or(&[][..], |variant| variant.keys);
            let allowed = keys.iter().map(|key| key.name).collect::<Vec<_>>().join(", ");
            let why = format!("is a key of TCP, and the transport here is {spoken}");
            Err(table.error(key.name, format!("{why}; allowed in `transport` = {{ name = \"{name}\", … }}: {allowed}")))
        }
        None => Ok(()),
    }
}

/// Every key with its value, for a resolved scenario; `base` is what the profile has.
pub fn to_json(config: &Config, base: &Config) -> Map<String, Value> {
    let is_written = |field: &&Field| !field.is_rare || (field.write)(config) != (field.write)(base);
    TCP.iter().filter(is_written).map(|field| (field.spec.name.into(), (field.write)(config))).collect()
}

pub fn label(config: &Config, base: &Config) -> String {
    let mut label = String::new();
    if config.validation != base.validation {
        label += &format!("+{}", word_of(&VALIDATIONS, config.validation));
    }
    if config.pacing != base.pacing {
        label += &format!("+{}", pacing_label(config.pacing));
    }
    match config.tls.map(|tls| tls.resumption) {
        None => {}
        Some(Resumption::None) => label += "+tls",
        Some(resumption) => label += &format!("+tls({})", word_of(&RESUMPTIONS, resumption)),
    }
    label
}

const TCP: [Field; 17] = [
    Field::new(MSS.otherwise("`run.mss`, else the profile's"), |t, key, c| set(t.optional(key), &mut c.mss), |c| json!(c.mss)),
    Field::new(
        ParamSpec::new(
            "initial_window",
            Kind::Whole { low: 1, high: 1000, unit: "packets" },
            "Congestion window at the start.",
        )
        .otherwise(OF_PROFILE)
        .example("4"),
        |t, key, c| set(t.optional(key).map(InitialWindow::Packets), &mut c.iw),
        |c| json!(c.initial_window() as u64),
    ),
    Field::new(
        ParamSpec::new("validation", Kind::Described(&described(&VALIDATIONS)), "Congestion window validation.")
            .otherwise(OF_PROFILE)
            .example("\"newcwv\"")
            .in_kernel("newcwv with newreno and cubic only; newcwv_2013 is not available"),
        |t, key, c| set(meaning(&VALIDATIONS, t.word(key)), &mut c.validation),
        |c| json!(word_of(&VALIDATIONS, c.validation)),
    ),
    Field::new(
        ParamSpec::new(
            "pacing",
            Kind::Either(&[Kind::Described(&described(&PACINGS)), Kind::Table(&GAIN)]),
            "Pacing, or a custom gain.",
        )
        .otherwise(OF_PROFILE)
        .example("{ gain = 1.25 }")
        .in_kernel("a gain for the CCP family and newCWV; others run unpaced, with a warning"),
        |t, key, c| set(read_pacing(t, key), &mut c.pacing),
        |c| pacing_json(c.pacing),
    ),
    Field::new(
        ParamSpec::new("sack", Kind::Flag, "Selective acknowledgements.").otherwise(OF_PROFILE).example("false"),
        |t, key, c| set(t.optional(key), &mut c.sack),
        |c| json!(c.sack),
    ),
    Field::new(
        ParamSpec::new("timestamps", Kind::Flag, "TCP timestamps.").otherwise(OF_PROFILE).example("false"),
        |t, key, c| set(t.optional(key), &mut c.timestamps),
        |c| json!(c.timestamps),
    ),
    Field::new(
        ParamSpec::new("ecn", Kind::Flag, "Explicit congestion notification.").otherwise(OF_PROFILE).example("true"),
        |t, key, c| set(t.optional(key), &mut c.ecn),
        |c| json!(c.ecn),
    ),
    Field::new(
        ParamSpec::new(
            "delayed_ack",
            Kind::Either(&[Kind::Described(&described(&DELAYED_ACKS)), Kind::Table(&DELAY)]),
            "When the client acknowledges, or the longest time that it waits for a second packet.",
        )
        .otherwise(OF_PROFILE)
        .example("{ delay = \"100 ms\" }")
        .in_kernel(UNMAPPED)
        .since("0.2"),
        |t, key, c| set(read_delayed_ack(t, key), &mut c.delayed_ack),
        |c| delayed_ack_json(c.delayed_ack),
    )
    .rare(),
    Field::new(
        ParamSpec::new("loss_detection", Kind::Described(&described(&LOSS_DETECTIONS)), "How the sender finds losses.")
            .otherwise(OF_PROFILE)
            .example("\"rfc6675\"")
            .in_kernel(UNMAPPED),
        |t, key, c| set(meaning(&LOSS_DETECTIONS, t.word(key)), &mut c.loss_detection),
        |c| json!(word_of(&LOSS_DETECTIONS, c.loss_detection)),
    ),
    Field::new(
        ParamSpec::new("recovery", Kind::Described(&described(&RECOVERIES)), "How the window moves during fast recovery.")
            .otherwise(OF_PROFILE)
            .example("\"newreno\"")
            .in_kernel(UNMAPPED),
        |t, key, c| set(meaning(&RECOVERIES, t.word(key)), &mut c.recovery),
        |c| json!(word_of(&RECOVERIES, c.recovery)),
    ),
    Field::new(
        ParamSpec::new("limited_transmit", Kind::Flag, "New packets on the first two duplicate ACKs (RFC 3042).")
            .otherwise(OF_PROFILE)
            .example("false")
            .in_kernel(UNMAPPED),
        |t, key, c| set(t.optional(key), &mut c.limited_transmit),
        |c| json!(c.limited_transmit),
    ),
    Field::new(
        ParamSpec::new("rto_min", Kind::PositiveTime, "Smallest retransmission timeout.")
            .otherwise(OF_PROFILE)
            .example("\"300 ms\""),
        |t, key, c| set(t.optional(key), &mut c.rto.min),
        |c| json!(c.rto.min.to_string()),
    ),
    Field::new(
        ParamSpec::new("send_buffer", Kind::Size, "Size of the server's socket buffer: bytes unsent or unacknowledged.")
            .otherwise(OF_PROFILE)
            .example("\"100 kB\"")
            .in_kernel("not in force"),
        |t, key, c| set(t.optional(key).map(|Bytes(bytes)| bytes), &mut c.send_buffer),
        |c| json!(Bytes(c.send_buffer).to_string()),
    ),
    Field::new(
        ParamSpec::new("receive_buffer", Kind::Size, "Size of the client's socket buffer: the largest receive window.")
            .otherwise(OF_PROFILE)
            .example("\"200 kB\""),
        |t, key, c| set(t.optional(key).map(|Bytes(bytes)| bytes), &mut c.receive_buffer),
        |c| json!(Bytes(c.receive_buffer).to_string()),
    ),
    Field::new(
        ParamSpec::new(
            "window_tuning",
            Kind::Flag,
            "The client's receive window begins small and grows with the data read, up to `receive_buffer` (Linux's tcp_moderate_rcvbuf).",
        )
        .otherwise(OF_PROFILE)
        .example("false")
        .in_kernel(UNMAPPED)
        .since("0.2"),
        |t, key, c| set(t.optional(key), &mut c.tunes_window),
        |c| json!(c.tunes_window),
    )
    .rare(),
    Field::new(
        ParamSpec::new(
            "max_burst",
            Kind::Whole { low: 1, high: 1000, unit: "packets" },
            "Largest number of packets sent in response to one event.",
        )
        .otherwise("no limit")
        .example("5")
        .in_kernel(UNMAPPED),
        |t, key, c| set(t.optional(key).map(Some), &mut c.max_burst),
        |c| json!(c.max_burst),
    ),
    Field::new(
        ParamSpec::text(
            "tls",
            "none",
            Kind::Described(&TLS),
            "TLS 1.3 in the stream: round trips and sizes of its handshake, and its records. Where transports are compared it is `full`.",
        )
        .in_kernel(UNMAPPED)
        .since("0.3"),
        |t, key, c| c.tls = meaning(&RESUMPTIONS, t.word(key)).map(|resumption| Tls { resumption, ..Tls::default() }),
        |c| json!(c.tls.map_or("none", |tls| word_of(&RESUMPTIONS, tls.resumption))),
    )
    .rare(),
];

const TLS: [(&str, &str); 4] = {
    let [full, resumed, early] = described(&RESUMPTIONS);
    [("none", "plain"), full, resumed, early]
};

/// What TLS begins with, over TCP and over QUIC.
pub const RESUMPTIONS: Words<Resumption, 3> = [
    ("full", "a certificate chain of 2.2 kB; one round trip", Resumption::None),
    ("resumed", "with a ticket of an earlier connection, without certificates", Resumption::Ticket),
    ("early_data", "with a ticket, and the request in the first flight (0-RTT)", Resumption::EarlyData),
];

const VALIDATIONS: Words<Validation, 4> = [
    ("none", "the window is kept through idle periods", Validation::None),
    ("rfc2861", "as Linux: halved for every RTO of idle time, down to the initial window", Validation::Rfc2861),
    (
        "newcwv",
        "RFC 7661: kept for five minutes while not validated; on loss, reduced to what was used",
        Validation::NewCwv,
    ),
    (
        "newcwv_2013",
        "the same as its authors' kernel module of 2013: after a pause it counts as validated until the next sample",
        Validation::NewCwv2013,
    ),
];
const PACINGS: Words<Pacing, 3> = [
    ("off", "packets leave as the window allows, unless the controller gives a rate", Pacing::Off),
    ("linux", "200 % of cwnd / srtt in slow start, 120 % after", Pacing::Linux),
    ("controller", "only the controller's rate", Pacing::Controller),
];
const LOSS_DETECTIONS: Words<LossDetection, 6> = [
    ("rack_tlp", "by time, with tail loss probes (RFC 8985)", LossDetection::RackTlp),
    ("rfc6675", "three SACKed packets above the lost one (RFC 6675)", LossDetection::Rfc6675),
    (
        "newreno",
        "three duplicate ACKs and partial ACKs, the first of which restarts the timer (\"impatient\", RFC 6582, ns-2)",
        LossDetection::NewReno(PartialAckTimer::Impatient),
    ),
    (
        "newreno_steady",
        "the same, each partial ACK restarts the timer (\"slow but steady\")",
        LossDetection::NewReno(PartialAckTimer::SlowButSteady),
    ),
    ("reno", "three duplicate ACKs; the next new ACK ends the recovery", LossDetection::Reno),
    ("ns2_vegas", "the same, with the timers of ns-2's Vegas agent", LossDetection::Ns2Vegas),
];
const RECOVERIES: Words<Recovery, 3> = [
    ("prr", "proportional rate reduction (RFC 9937)", Recovery::Prr),
    (
        "rfc6675",
        "reduced at once; what may be sent follows from the estimate of what is in flight (RFC 6675)",
        Recovery::Rfc6675,
    ),
    ("newreno", "inflated by duplicate ACKs, deflated by partial ones (RFC 6582)", Recovery::NewReno),
];

const DELAYED_ACKS: Words<DelayedAck, 3> = [
    ("off", "each packet at once", DelayedAck::Off),
    ("rfc5681", "every second full packet, or after 200 ms", DelayedAck::Rfc(Duration::from_millis(200))),
    (
        "linux",
        "the same after 40 ms; at once at the start, after a pause and as the receive window grows; SACKs compressed",
        DelayedAck::Linux,
    ),
];

const GAIN: TableSpec = TableSpec::new(
    "pacing",
    "Pacing with a custom gain.",
    &[ParamSpec::new("gain", Kind::Number { low: 0.1, high: 100.0, unit: "" }, "The rate is gain x cwnd / srtt.")
        .needed()
        .example("1.0")],
);

const DELAY: TableSpec = TableSpec::new(
    "delayed_ack",
    "Delayed acknowledgements with a custom delay.",
    &[ParamSpec::new("delay", Kind::PositiveTime, "Longest wait for a second packet.")
        .needed()
        .since("0.2")
        .example("\"100 ms\"")],
);

/// Of a sender, and of a run for all senders.
pub const PROFILE: ParamSpec =
    ParamSpec::new("profile", Kind::Described(Config::PROFILES), "TCP stack whose behaviour the endpoints follow.")
        .in_kernel("always Linux's; a warning names what differs");

/// Of a sender, and of a run for all senders.
pub const MSS: ParamSpec = ParamSpec::new(
    "mss",
    Kind::Whole { low: 88, high: 65_000, unit: "bytes" },
    "Payload of a full packet, without headers and options.",
)
.otherwise("the profile's")
.example("1200")
.in_kernel("up to 1448, because of the devices");

const OF_PROFILE: &str = "the profile's";
const UNMAPPED: &str = "not applied where it differs from Linux's; a warning says so";

fn set<T>(given: Option<T>, place: &mut T) {
    if let Some(given) = given {
        *place = given;
    }
}

/// `pacing = "off" | "linux" | "controller" | { gain = 1.0 }`.
fn read_pacing(table: &Table, key: &'static str) -> Option<Pacing> {
    match table.table(key) {
        Some(own) => Some(Pacing::Gain(own.get("gain"))),
        None => meaning(&PACINGS, table.word(key)),
    }
}

/// `delayed_ack = "off" | "rfc5681" | "linux" | { delay = "100 ms" }`.
fn read_delayed_ack(table: &Table, key: &'static str) -> Option<DelayedAck> {
    match table.table(key) {
        Some(own) => Some(DelayedAck::Rfc(own.get("delay"))),
        None => meaning(&DELAYED_ACKS, table.word(key)),
    }
}

fn delayed_ack_json(rule: DelayedAck) -> Value {
    match rule {
        DelayedAck::Rfc(delay) => json!({ "delay": delay.to_string() }),
        other => json!(word_of(&DELAYED_ACKS, other)),
    }
}

fn pacing_json(pacing: Pacing) -> Value {
    match pacing {
        Pacing::Gain(gain) => json!({ "gain": gain }),
        other => json!(word_of(&PACINGS, other)),
    }
}

fn pacing_label(pacing: Pacing) -> String {
    match pacing {
        Pacing::Off => "unpaced".into(),
        Pacing::Linux => "pacing".into(),
        Pacing::Controller => "pacing(controller)".into(),
        Pacing::Gain(gain) => format!("pacing({gain})"),
    }
}
