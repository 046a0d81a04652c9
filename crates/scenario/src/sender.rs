//! Senders and everything that shapes a TCP endpoint: `cc`, `profile`, `validation`, `pacing`, `mss`, `initial_window`, …

use crate::ScenarioError;
use crate::own::{Own, RuleSpec};
use crate::params::{self, params_json, set_params};
use crate::reader::{Named, Table};
use crate::scheduler::{SCHEDULER, SchedulerSpec};
use crate::words::{Words, meaning, told, word_of};
use playpath_cc::{CongestionControl, Entry, Params, Stack};
use playpath_transport::{
    Config, DelayedAck, InitialWindow, LossDetection, Pacing, PartialAckTimer, Recovery, Validation,
};
use playpath_units::names::unknown;
use playpath_units::{Bytes, Choice, Duration, Kind, ParamSpec, TableSpec, Variant};
use playpath_video::abr;
use serde_json::{Value, json};
use std::sync::Arc;

/// A congestion control with its parameters.
#[derive(Clone)]
pub struct CcSpec {
    choice: Chosen,
    /// Builds the controllers: a prototype from outside the registry.
    pub(crate) prototype: Option<Prototype>,
}

#[derive(Clone)]
enum Chosen {
    Registered {
        entry: &'static Entry,
        params: Params,
        /// What the profile's stack would have.
        defaults: Params,
    },
    Own(Own),
}

/// Makes a controller with an initial window, in packets.
pub type Prototype = Arc<dyn Fn(f64) -> Box<dyn CongestionControl> + Send + Sync>;

impl CcSpec {
    /// Reads `cc` of a table.
    fn read(table: &Table, profile: &str) -> Result<CcSpec, ScenarioError> {
        let Named { name, table: keys } = table.named("cc").expect("has a default");
        let mut spec = CcSpec::by_name(&name, profile).map_err(|e| table.error("cc", e))?;
        if let Some(keys) = keys {
            match &mut spec.choice {
                Chosen::Registered { params, .. } => {
                    set_params(&keys, params, &|_| Err("no parameter is a file".into()))?;
                }
                Chosen::Own(own) => own.take(keys.parameters()),
            }
        }
        Ok(spec)
    }

    /// By name, with the defaults that the profile's stack has; or where one's own is. Error: the unknown name with the nearest one.
    fn by_name(name: &str, profile: &str) -> Result<CcSpec, String> {
        let names = || playpath_cc::entries().iter().map(|e| e.name);
        let is_registered = || name.split(':').next().and_then(playpath_cc::find).is_some();
        if let Some(own) = Own::parse(name).filter(|_| !is_registered()) {
            return Ok(CcSpec { choice: Chosen::Own(own), prototype: None });
        }
        let entry = playpath_cc::find(name).ok_or_else(|| unknown("congestion control", name, names()))?;
        let stack = match profile {
            "linux" => Stack::Linux,
            "ns2" => Stack::Ns2,
            _ => Stack::Rfc,
        };
        let defaults = entry.params_of(stack);
        Ok(CcSpec { choice: Chosen::Registered { entry, params: defaults.clone(), defaults }, prototype: None })
    }

    /// Name of the algorithm, for the record.
    pub fn name(&self) -> &str {
        match &self.choice {
            Chosen::Own(own) => &own.reference,
            Chosen::Registered { .. } if self.prototype.is_some() => "prototype",
            Chosen::Registered { entry, .. } => entry.name,
        }
    }

    /// It wants to know the other subflows of its MPTCP connection.
    pub fn is_coupled(&self) -> bool {
        matches!(&self.choice, Chosen::Registered { entry, .. } if entry.is_coupled)
    }

    /// A new controller.
    pub fn build(&self, initial_window: f64) -> Box<dyn CongestionControl> {
        match (&self.prototype, &self.choice) {
            (Some(make), _) => make(initial_window),
            (None, Chosen::Registered { entry, params, .. }) => (entry.build)(params, initial_window),
            (None, Chosen::Own(own)) => unreachable!("{}: checked by SenderSpec::unmade", own.reference),
        }
    }

    /// The user's own, if it is.
    pub(crate) fn own(&self) -> Option<&Own> {
        match &self.choice {
            Chosen::Own(own) => Some(own),
            Chosen::Registered { .. } => None,
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        match &self.choice {
            Chosen::Registered { entry, params, .. } => params_json("name", entry.name, params),
            Chosen::Own(own) => own.to_json(),
        }
    }

    fn label(&self) -> String {
        match &self.choice {
            Chosen::Registered { entry, params, defaults } => params::label(entry.name, params, defaults),
            Chosen::Own(own) => own.label(),
        }
    }
}

/// A sender: what serves the video. Also the transport of cross traffic.
#[derive(Clone)]
pub struct SenderSpec {
    /// Unique label.
    pub name: String,
    /// Congestion control of the server.
    pub cc: CcSpec,
    /// Names of the paths it may use; all if empty.
    pub paths: Vec<String>,
    /// Of MPTCP connections; over one path it has no say.
    pub scheduler: SchedulerSpec,
    /// In place of the player's rule.
    pub abr: Option<RuleSpec>,
    /// Of the kernel world: what carries a stream over several paths. Here it is MPTCP always.
    multipath: Option<&'static str>,
    /// Most unsent bytes that the video's server leaves in its socket; `None`: as many as it takes.
    pub notsent_lowat: Option<u64>,
    profile: &'static str,
    /// The server's endpoint; shared by all its connections.
    pub config: Arc<Config>,
}

const VALIDATIONS: Words<Validation, 4> = [
    ("none", "the window stays through idle periods", Validation::None),
    ("rfc2861", "as Linux: halved for every RTO of idle, down to the initial window", Validation::Rfc2861),
    ("newcwv", "RFC 7661: kept for five minutes while not validated, cut to what was used on loss", Validation::NewCwv),
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
    ("rfc6675", "three SACKed packets above it (RFC 6675)", LossDetection::Rfc6675),
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
    ("rfc6675", "at once to the new window, by the estimate of what is in flight (RFC 6675)", Recovery::Rfc6675),
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

/// `cc` as a table, and what it is by name alone.
const CC: TableSpec = TableSpec::new("cc", "A congestion control with its parameters.", &[]).choosing(Choice {
    tag: "name",
    what: "congestion control",
    noun: "parameter",
    default: "",
    otherwise: "",
    variants: || {
        let variant =
            |e: &&'static Entry| Variant { name: e.name, aliases: e.aliases, summary: e.summary, keys: e.params };
        playpath_cc::entries().iter().map(variant).collect()
    },
});

const GAIN: TableSpec = TableSpec::new(
    "pacing",
    "Pacing by a gain of one's own.",
    &[ParamSpec::new("gain", Kind::Number { low: 0.1, high: 100.0, unit: "" }, "The rate is gain x cwnd / srtt.")
        .needed()
        .example("1.0")],
);

const DELAY: TableSpec = TableSpec::new(
    "delayed_ack",
    "Delayed acknowledgements with a delay of one's own.",
    &[ParamSpec::new("delay", Kind::PositiveTime, "Longest wait for a second packet.")
        .needed()
        .since("0.2")
        .example("\"100 ms\"")],
);

/// Of a sender, and of a run for all senders.
pub const PROFILE: ParamSpec =
    ParamSpec::new("profile", Kind::Told(Config::PROFILES), "Stack whose habits the endpoints have.")
        .in_kernel("always Linux's; a warning names what differs");

/// Of a sender, and of a run for all senders.
pub const MSS: ParamSpec = ParamSpec::new(
    "mss",
    Kind::Whole { low: 88, high: 65_000, unit: "bytes" },
    "Payload of a full packet, without headers and options.",
)
.otherwise("the profile's")
.example("1200")
.in_kernel("up to 1448, by the devices");

const OF_PROFILE: &str = "the profile's";
const UNMAPPED: &str = "not in force where it differs from Linux's; a warning says so";

/// `[[sender]]`; a `[[traffic]]` has the same keys.
pub const SENDER: TableSpec = TableSpec::new(
    "sender",
    "What serves the video: a congestion control and the habits of its TCP. One is played after the other, on the same paths.",
    &[
        ParamSpec::new("name", Kind::Text, "Unique label.")
            .otherwise("the control and what differs from its profile; of traffic its kind")
            .example("\"newcwv paced\""),
        ParamSpec::text(
            "cc",
            "cubic",
            Kind::Either(&[Kind::Named(&CC), Kind::Own]),
            "Congestion control, with its parameters (`playpath list cc`). Traffic without one has, in a scenario without a \
             video, that of the sender which is compared.",
        )
        .example("{ name = \"ccplb\", pob_rate = 2 }")
        .in_kernel("the kernel's or ours of that name; one that Linux lacks is refused"),
        PROFILE.otherwise("`run.profile`").example("\"rfc\""),
        ParamSpec::new("paths", Kind::Texts, "Paths that it may use; over several it is MPTCP.")
            .otherwise("all")
            .example("[\"wifi\"]"),
        ParamSpec::text(
            "scheduler",
            "linux",
            Kind::Named(&SCHEDULER),
            "MPTCP scheduler, with its parameters (`playpath list scheduler`); by default that of stock kernels. Over one path it has no say.",
        )
        .example("\"blest\"")
        .in_kernel("the relay's; the kernel's own MPTCP has its own"),
        ParamSpec::new(
            "abr",
            abr::RULE,
            "Adaptation rule of this sender's viewers (`playpath list abr`), in place of the player's.",
        )
        .otherwise("the player's")
        .example("\"bola\"")
        .since("0.2"),
        ParamSpec::new(
            "multipath",
            Kind::Told(&[
                ("relay", "a pair of relays, with any of the schedulers"),
                ("mptcp", "the kernel's MPTCP, with its own scheduler"),
            ]),
            "What carries a stream over several paths in the kernel world.",
        )
        .otherwise("relay")
        .example("\"mptcp\"")
        .in_kernel("as told; in the simulator it is MPTCP always"),
        MSS.otherwise("`run.mss`, else the profile's"),
        ParamSpec::new(
            "initial_window",
            Kind::Whole { low: 1, high: 1000, unit: "packets" },
            "Congestion window at the start.",
        )
        .otherwise(OF_PROFILE)
        .example("4"),
        ParamSpec::new("validation", Kind::Told(&told(&VALIDATIONS)), "Congestion window validation.")
            .otherwise(OF_PROFILE)
            .example("\"newcwv\"")
            .in_kernel("newcwv over newreno and cubic only, newcwv_2013 not"),
        ParamSpec::new(
            "pacing",
            Kind::Either(&[Kind::Told(&told(&PACINGS)), Kind::Table(&GAIN)]),
            "Pacing, or a gain of one's own.",
        )
        .otherwise(OF_PROFILE)
        .example("{ gain = 1.25 }")
        .in_kernel("a gain for the CCP family and newCWV; others run unpaced, with a warning"),
        ParamSpec::new("sack", Kind::Flag, "Selective acknowledgements.").otherwise(OF_PROFILE).example("false"),
        ParamSpec::new("timestamps", Kind::Flag, "TCP timestamps.").otherwise(OF_PROFILE).example("false"),
        ParamSpec::new("ecn", Kind::Flag, "Explicit congestion notification.").otherwise(OF_PROFILE).example("true"),
        ParamSpec::new(
            "delayed_ack",
            Kind::Either(&[Kind::Told(&told(&DELAYED_ACKS)), Kind::Table(&DELAY)]),
            "When the client acknowledges, or the longest wait of a client that waits for a second packet.",
        )
        .otherwise(OF_PROFILE)
        .example("{ delay = \"100 ms\" }")
        .in_kernel(UNMAPPED)
        .since("0.2"),
        ParamSpec::new("limited_transmit", Kind::Flag, "New packets on the first two duplicate ACKs (RFC 3042).")
            .otherwise(OF_PROFILE)
            .example("false")
            .in_kernel(UNMAPPED),
        ParamSpec::new("loss_detection", Kind::Told(&told(&LOSS_DETECTIONS)), "How the sender finds losses.")
            .otherwise(OF_PROFILE)
            .example("\"rfc6675\"")
            .in_kernel(UNMAPPED),
        ParamSpec::new("recovery", Kind::Told(&told(&RECOVERIES)), "How the window moves during fast recovery.")
            .otherwise(OF_PROFILE)
            .example("\"newreno\"")
            .in_kernel(UNMAPPED),
        ParamSpec::new("rto_min", Kind::PositiveTime, "Smallest retransmission timeout.")
            .otherwise(OF_PROFILE)
            .example("\"300 ms\""),
        ParamSpec::new("send_buffer", Kind::Size, "What the server's socket holds, sent or not.")
            .otherwise(OF_PROFILE)
            .example("\"100 kB\"")
            .in_kernel("over the relay; not in force over one connection"),
        ParamSpec::new(
            "notsent_lowat",
            Kind::Size,
            "Most unsent bytes that the video's server leaves in the socket (TCP_NOTSENT_LOWAT): what is there no priority reaches.",
        )
        .otherwise("as many as `send_buffer` takes")
        .example("\"16 kB\"")
        .in_kernel("over one connection; the relay has its own")
        .since("0.2"),
        ParamSpec::new("receive_buffer", Kind::Size, "What the client's socket holds: the receive window.")
            .otherwise(OF_PROFILE)
            .example("\"200 kB\""),
        ParamSpec::new(
            "window_tuning",
            Kind::Flag,
            "The client's receive window begins small and grows with what is read, up to `receive_buffer` (Linux's tcp_moderate_rcvbuf).",
        )
        .otherwise(OF_PROFILE)
        .example("false")
        .in_kernel(UNMAPPED)
        .since("0.2"),
        ParamSpec::new(
            "max_burst",
            Kind::Whole { low: 1, high: 1000, unit: "packets" },
            "Most packets that one event may release.",
        )
        .otherwise("no limit")
        .example("5")
        .in_kernel(UNMAPPED),
    ],
);

impl SenderSpec {
    /// Reads a `[[sender]]`, or the transport keys of a `[[traffic]]`. `mss` is the scenario's packet size, if it states one.
    pub(crate) fn read(
        table: &Table,
        run_profile: &'static str,
        mss: Option<u32>,
    ) -> Result<SenderSpec, ScenarioError> {
        let profile = table.word("profile").unwrap_or(run_profile);
        let cc = CcSpec::read(table, profile)?;
        let mut config = Config::profile(profile).expect("listed profiles exist");
        config.mss = mss.unwrap_or(config.mss);
        read_endpoint(table, &mut config);
        let mut spec = SenderSpec {
            name: table.optional("name").unwrap_or_default(),
            cc,
            paths: table.optional("paths").unwrap_or_default(),
            scheduler: SchedulerSpec::read(table)?,
            abr: RuleSpec::read(table)?,
            multipath: table.word("multipath"),
            notsent_lowat: table.optional("notsent_lowat").map(|Bytes(bytes)| bytes),
            profile,
            config: Arc::new(config),
        };
        if spec.name.is_empty() {
            spec.name = spec.label();
        }
        // A resolved scenario writes the default scheduler out, and the name that it gave without: it stays out of labels.
        let without = SenderSpec { scheduler: spec.scheduler.unstated(), ..spec.clone() };
        if spec.name == without.label() {
            spec.scheduler = without.scheduler;
        }
        Ok(spec)
    }

    /// The same sender with controllers from outside the registry.
    pub fn with_prototype(&self, prototype: Prototype) -> SenderSpec {
        let mut spec = self.clone();
        spec.cc.prototype = Some(prototype);
        spec
    }

    /// The same sender under another scheduler, as the command line names it.
    pub fn with_scheduler(&self, name: &str) -> Result<SenderSpec, String> {
        let mut spec = SenderSpec { scheduler: SchedulerSpec::parse(name)?, ..self.clone() };
        spec.name = spec.label();
        Ok(spec)
    }

    /// The same sender whose viewers' players choose by this rule; `name` instead of the rule's in the label.
    pub(crate) fn with_abr(&self, rule: &str, name: Option<&str>) -> Result<SenderSpec, String> {
        let rule = RuleSpec::parse(rule)?;
        let mut spec = SenderSpec { abr: None, ..self.clone() };
        spec.name = format!("{}/{}", self.name, name.map_or_else(|| rule.label(), String::from));
        spec.abr = Some(rule);
        Ok(spec)
    }

    /// What of the user's own has not been made yet.
    pub fn unmade(&self) -> Option<&Own> {
        let of_cc = self.cc.own().filter(|_| self.cc.prototype.is_none());
        of_cc.or_else(|| self.abr.as_ref()?.unmade())
    }

    /// A sender named on the command line: a congestion control with defaults.
    pub fn by_cc(name: &str, template: &SenderSpec) -> Result<SenderSpec, String> {
        let mut spec = SenderSpec { cc: parse_cc(name, template.profile)?, ..template.clone() };
        spec.name = spec.label();
        Ok(spec)
    }

    /// What its profile has.
    fn base(&self) -> Config {
        Config::profile(self.profile).expect("listed profiles exist")
    }

    /// The congestion control and what differs from its profile.
    fn label(&self) -> String {
        let base = self.base();
        let mut label = self.cc.label();
        if let Some(scheduler) = self.scheduler.label() {
            label += &format!("/{scheduler}");
        }
        if let Some(rule) = &self.abr {
            label += &format!("/{}", rule.label());
        }
        if self.config.validation != base.validation {
            label += &format!("+{}", word_of(&VALIDATIONS, self.config.validation));
        }
        if self.config.pacing != base.pacing {
            label += &format!("+{}", pacing_label(self.config.pacing));
        }
        label
    }

    pub(crate) fn to_json(&self) -> Value {
        let c = &self.config;
        let mut resolved = json!({
            "name": self.name,
            "cc": self.cc.to_json(),
            "profile": self.profile,
            "mss": c.mss,
            "initial_window": c.initial_window() as u64,
            "validation": word_of(&VALIDATIONS, c.validation),
            "pacing": pacing_json(c.pacing),
            "sack": c.sack,
            "timestamps": c.timestamps,
            "ecn": c.ecn,
            "loss_detection": word_of(&LOSS_DETECTIONS, c.loss_detection),
            "recovery": word_of(&RECOVERIES, c.recovery),
            "limited_transmit": c.limited_transmit,
            "rto_min": c.rto.min.to_string(),
            "send_buffer": Bytes(c.send_buffer).to_string(),
            "receive_buffer": Bytes(c.receive_buffer).to_string(),
            "max_burst": c.max_burst,
            "paths": self.paths,
            "scheduler": self.scheduler.to_json(),
        });
        if let Some(rule) = &self.abr {
            resolved["abr"] = rule.to_json();
        }
        if let Some(multipath) = self.multipath {
            resolved["multipath"] = json!(multipath);
        }
        if c.delayed_ack != self.base().delayed_ack {
            resolved["delayed_ack"] = delayed_ack_json(c.delayed_ack);
        }
        if c.tunes_window != self.base().tunes_window {
            resolved["window_tuning"] = json!(c.tunes_window);
        }
        if let Some(lowat) = self.notsent_lowat {
            resolved["notsent_lowat"] = json!(Bytes(lowat).to_string());
        }
        resolved
    }
}

/// "ccplb:pob_rate=2", as the command line gives it.
fn parse_cc(text: &str, profile: &str) -> Result<CcSpec, String> {
    let (name, pairs) = params::split(text);
    if playpath_cc::find(name).is_none() && Own::parse(text).is_some() {
        return CcSpec::by_name(text, profile);
    }
    let mut spec = CcSpec::by_name(name, profile)?;
    if let Chosen::Registered { params, .. } = &mut spec.choice {
        params::set_pairs(pairs, params)?;
    }
    Ok(spec)
}

fn read_endpoint(table: &Table, config: &mut Config) {
    set(table.optional("mss"), &mut config.mss);
    set(table.optional("initial_window").map(InitialWindow::Packets), &mut config.iw);
    set(meaning(&VALIDATIONS, table.word("validation")), &mut config.validation);
    set(read_pacing(table), &mut config.pacing);
    set(table.optional("sack"), &mut config.sack);
    set(table.optional("timestamps"), &mut config.timestamps);
    set(table.optional("ecn"), &mut config.ecn);
    set(read_delayed_ack(table), &mut config.delayed_ack);
    set(table.optional("window_tuning"), &mut config.tunes_window);
    set(table.optional("limited_transmit"), &mut config.limited_transmit);
    set(meaning(&LOSS_DETECTIONS, table.word("loss_detection")), &mut config.loss_detection);
    set(meaning(&RECOVERIES, table.word("recovery")), &mut config.recovery);
    set(table.optional("rto_min"), &mut config.rto.min);
    set(table.optional("send_buffer").map(|Bytes(bytes)| bytes), &mut config.send_buffer);
    set(table.optional("receive_buffer").map(|Bytes(bytes)| bytes), &mut config.receive_buffer);
    set(table.optional("max_burst").map(Some), &mut config.max_burst);
}

fn set<T>(given: Option<T>, place: &mut T) {
    if let Some(given) = given {
        *place = given;
    }
}

/// `pacing = "off" | "linux" | "controller" | { gain = 1.0 }`.
fn read_pacing(table: &Table) -> Option<Pacing> {
    match table.table("pacing") {
        Some(own) => Some(Pacing::Gain(own.get("gain"))),
        None => meaning(&PACINGS, table.word("pacing")),
    }
}

/// `delayed_ack = "off" | "rfc5681" | "linux" | { delay = "100 ms" }`.
fn read_delayed_ack(table: &Table) -> Option<DelayedAck> {
    match table.table("delayed_ack") {
        Some(own) => Some(DelayedAck::Rfc(own.get("delay"))),
        None => meaning(&DELAYED_ACKS, table.word("delayed_ack")),
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
