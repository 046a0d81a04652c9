//! One direction of a path or shared link: rate or trace, loss, queue, jitter, reordering.

use crate::params::{link_variants, params_json, read_params, set_params, settings_json};
use crate::queue::{self, QUEUE};
use crate::reader::Table;
use crate::words::{Words, described, meaning, word_of};
use crate::{ReadFile, ScenarioError};
use playpath_link::trace::Trace;
use playpath_link::{
    BernoulliConfig, Config, EcnRewrite, JitterConfig, JitterDistribution, LinkConfig, LossConfig, LossPlace, Mtu,
    QueueConfig, ReorderConfig, ServerConfig, TraceStart, WifiConfig, registry,
};
use playpath_units::{Bytes, Choice, Duration, Kind, ParamSpec, Params, Rate, Ratio, TableSpec};
use serde_json::{Value, json};

#[derive(Clone)]
pub struct DirectionSpec {
    /// Without what depends on its place in the topology: name and base round trip.
    pub link: LinkConfig,
    /// The text of its trace, which travels with the scenario.
    trace: Option<String>,
}

const RANDOM: &str = "random";
const UNLIMITED: &str = "unlimited";
const NEEDS_A_RATE: &str = "needs a constant rate (`rate`), which packets may then exceed for a moment";
const PLACES: Words<LossPlace, 2> = [
    ("before_queue", "a lost packet never occupies the queue", LossPlace::BeforeQueue),
    ("after_queue", "a packet is lost after it has waited in the queue and been sent", LossPlace::AfterQueue),
];
const TOO_BIG: Words<bool, 2> = [
    ("lost", "dropped without notice: a black hole", false),
    (
        "refused",
        "its sender is notified of the MTU; QUIC then sends smaller datagrams, though never below 1200 bytes; a TCP sender knows the MTU beforehand",
        true,
    ),
];
const ECN: Words<Option<EcnRewrite>, 4> = [
    ("kept", "unchanged, except for the marks of the queue", None),
    ("bleached", "cleared, marks included: nothing downstream uses ECN", Some(EcnRewrite::Bleach)),
    ("ect1_to_ect0", "ECT(1) becomes ECT(0): classic for any L4S queue", Some(EcnRewrite::Ect1ToEct0)),
    ("ect0_to_ect1", "ECT(0) becomes ECT(1): low latency for any L4S queue", Some(EcnRewrite::Ect0ToEct1)),
];
const DISTRIBUTIONS: Words<JitterDistribution, 2> = [
    ("uniform", "uniform within the amplitude", JitterDistribution::Uniform),
    ("normal", "with the amplitude as standard deviation", JitterDistribution::Normal),
];

/// What describes one direction, in `[[path]]`, `[[link]]` and their `up`.
pub const DIRECTION: TableSpec = TableSpec::new(
    "direction",
    "One direction of a path or shared link: `[[path]]` and `[[link]]` describe the direction to the client, their `up` the reverse direction.",
    &[
        ParamSpec::new("rate", Kind::Rate, "Rate of the link, headers included. Excludes `trace` and `wifi`.")
            .or(UNLIMITED)
            .otherwise("must be given, or `trace`, or `wifi`; for `up`: as in the direction to the client, unlimited with a trace")
            .example("\"20 Mbit/s\""),
        ParamSpec::new(
            "burst",
            Kind::Size,
            "Depth of a token bucket (tc-tbf): after a pause this much leaves at once, and no more than `rate` in the long run.",
        )
        .otherwise("none: no packet is faster than `rate`; for `up`: none")
        .example("\"16 kB\"")
        .since("0.2"),
        ParamSpec::new(
            "trace",
            Kind::File,
            "A file of rates or delivery opportunities over time, in any format of `playpath list trace`; it repeats.",
        )
        .otherwise("a constant rate")
        .example("\"lte.mahi\""),
        ParamSpec::new("wifi", Kind::Table(&WIFI), WIFI.doc)
            .otherwise("a constant rate")
            .example("{ standard = \"802.11g\", snr = 20 }")
            .since("0.2"),
        ParamSpec::text(
            "start",
            "0 s",
            Kind::Time,
            "Where in the trace a session begins: a time, or \"random\", the same moment for every sender. Needs `trace`.",
        )
        .or(RANDOM)
        .example("\"random\"").since("0.2"),
        ParamSpec::text(
            "loss",
            "0 %",
            Kind::Either(&[Kind::Share, Kind::Table(&LOSS)]),
            "Random loss: a share of the packets, each by itself, or a loss model with its parameters (`playpath list loss`).",
        )
        .example("\"0.5 %\""),
        ParamSpec::text("loss_place", "before_queue", Kind::Described(&described(&PLACES)), "Where random loss happens."),
        ParamSpec::text(
            "ecn",
            "kept",
            Kind::Described(&described(&ECN)),
            "What happens to the ECN field here, before the packet reaches the queue.",
        )
        .example("\"bleached\"")
        .since("0.3"),
        ParamSpec::new("mtu", Kind::Size, "Packets of more bytes, headers included, are dropped.")
            .otherwise("none")
            .example("\"1280 B\"")
            .since("0.3"),
        ParamSpec::text("too_big", "lost", Kind::Described(&described(&TOO_BIG)), "What happens to a packet larger than the `mtu`.")
            .example("\"refused\"")
            .in_kernel("`lost` only")
            .since("0.3"),
        ParamSpec::text(
            "corruption",
            "0 %",
            Kind::Share,
            "Share of the packets that are corrupted: they take their time on the link, and no receiver accepts them.",
        )
        .example("\"0.1 %\"")
        .since("0.3"),
        ParamSpec::new(
            "queue",
            Kind::Either(&[Kind::Limit, Kind::Named(&QUEUE)]),
            "Queue in front of the link: a limit of tail drop, a name, or a table of `kind` and parameters (`playpath list queue`).",
        )
        .otherwise("tail drop of 1 bdp of the longest round trip over it; of `up`: of 1000 packets")
        .example("{ kind = \"codel\", limit = \"100 packets\" }"),
        ParamSpec::new(
            "jitter",
            Kind::Either(&[Kind::PositiveTime, Kind::Table(&JITTER)]),
            "Random variation of the delay of each packet: uniform within plus or minus this time, or a table. Never reorders packets.",
        )
        .otherwise("none")
        .example("\"5 ms\""),
        ParamSpec::new("reordering", Kind::Table(&REORDERING), REORDERING.doc)
            .otherwise("none")
            .example("{ probability = \"1 %\", extra_delay = \"10 ms\" }"),
    ],
);

pub const UP: TableSpec =
    TableSpec::new("up", "The direction from the client to the server: acknowledgements and requests.", &[])
        .with(&[&DIRECTION]);

pub const LOSS: TableSpec = TableSpec::new("loss", "A loss model with its parameters.", &[]).choosing(Choice {
    tag: "kind",
    what: "loss model",
    noun: "parameter",
    default: "",
    otherwise: "",
    variants: || link_variants(registry::losses()),
});

const WIFI: TableSpec = TableSpec::new(
    "wifi",
    "An 802.11 hop instead of a rate: backoff, retries, rate adaptation, aggregates, other stations. Excludes `rate` and `trace`.",
    WifiConfig::PARAMS,
);

const JITTER: TableSpec = TableSpec::new(
    "jitter",
    "Random change of the delay.",
    &[
        ParamSpec::new("amplitude", Kind::PositiveTime, "Size of the variation: see `distribution`.")
            .needed()
            .example("\"5 ms\""),
        ParamSpec::text(
            "distribution",
            "uniform",
            Kind::Described(&described(&DISTRIBUTIONS)),
            "How the variation is distributed.",
        ),
    ],
);

const REORDERING: TableSpec = TableSpec::new(
    "reordering",
    "Reordering: some packets are held back while later ones overtake them.",
    &[
        ParamSpec::new("probability", Kind::Share, "Share of the packets that may be held back.")
            .needed()
            .example("\"1 %\""),
        ParamSpec::new("extra_delay", Kind::PositiveTime, "How long a packet is held back.")
            .needed()
            .example("\"10 ms\""),
        ParamSpec::whole("gap", 1, (1, 1_000_000), "packets", "At most one of this many packets is held back."),
    ],
);

impl DirectionSpec {
    /// The keys of a `[[path]]` or `[[link]]` that describe its `down` direction.
    pub(crate) fn read(
        table: &Table,
        one_way_delay: Duration,
        read_file: ReadFile,
    ) -> Result<DirectionSpec, ScenarioError> {
        let server = read_server(table, read_file)?.ok_or_else(|| {
            table.missing("rate", "give `rate`, such as \"10 Mbit/s\" or \"unlimited\", or `trace`, or `wifi`")
        })?;
        server.with(one_way_delay, queue::default_down()).read_rest(table, read_file)
    }

    pub(crate) fn read_up(
        table: &Table,
        one_way_delay: Duration,
        down: &DirectionSpec,
        read_file: ReadFile,
    ) -> Result<DirectionSpec, ScenarioError> {
        let up = DirectionSpec::default_up(down, one_way_delay);
        let up = read_server(table, read_file)?.map_or(up, |own| own.with(one_way_delay, queue::default_up()));
        up.read_rest(table, read_file)
    }

    /// `up` where nothing is said of it.
    pub(crate) fn default_up(down: &DirectionSpec, one_way_delay: Duration) -> DirectionSpec {
        let server = match &down.link.server {
            ServerConfig::Constant { rate } | ServerConfig::TokenBucket { rate, .. } => {
                ServerConfig::Constant { rate: *rate }
            }
            ServerConfig::Wifi(wifi) => ServerConfig::Wifi(wifi.clone()),
            _ => ServerConfig::Unlimited,
        };
        DirectionSpec::of(server).with(one_way_delay, queue::default_up())
    }

    fn of(server: ServerConfig) -> DirectionSpec {
        let link = LinkConfig { server, ..LinkConfig::new("", Rate::default(), Duration::ZERO) };
        DirectionSpec { link, trace: None }
    }

    fn with(self, one_way_delay: Duration, queue: QueueConfig) -> DirectionSpec {
        DirectionSpec { link: LinkConfig { one_way_delay, queue, ..self.link }, ..self }
    }

    fn read_rest(mut self, table: &Table, read_file: ReadFile) -> Result<DirectionSpec, ScenarioError> {
        self.link = LinkConfig {
            jitter: read_jitter(table),
            reordering: read_reordering(table),
            loss: read_loss(table, read_file)?,
            loss_place: meaning(&PLACES, table.word("loss_place")).expect("has a default"),
            ecn_rewrite: meaning(&ECN, table.word("ecn")).expect("has a default"),
            mtu: read_mtu(table)?,
            corruption: table.get("corruption"),
            queue: queue::read(table)?.unwrap_or(self.link.queue),
            ..self.link
        };
        Ok(self)
    }

    /// What it and the direction back, `up`, have besides a rate and a delay.
    pub fn beyond_a_rate(&self, up: &DirectionSpec) -> Option<&'static str> {
        let link = &self.link;
        let found = [
            ("burst", matches!(link.server, ServerConfig::TokenBucket { .. })),
            ("wifi", matches!(link.server, ServerConfig::Wifi(_))),
            ("loss", !matches!(link.loss, LossConfig::None)),
            ("jitter", link.jitter.is_some()),
            ("reordering", link.reordering.is_some()),
            ("ecn", link.ecn_rewrite.is_some()),
            ("mtu", link.mtu.is_some()),
            ("corruption", link.corruption != Ratio::ZERO),
            ("queue", link.queue != queue::default_down()),
            ("up", up.to_json() != DirectionSpec::default_up(self, up.link.one_way_delay).to_json()),
        ];
        found.into_iter().find(|(_, is_there)| *is_there).map(|(name, _)| name)
    }

    /// Length, rate and latency of its file, piece by piece, from where the trace begins; delivery opportunities are gathered over a
    /// tenth of a second.
    pub fn rate_steps(&self) -> Result<Vec<(Duration, Rate, Duration)>, String> {
        match (&self.link.server, self.link.trace_start) {
            (ServerConfig::Constant { rate } | ServerConfig::TokenBucket { rate, .. }, _) => {
                Ok(vec![(Duration::from_secs(1), *rate, Duration::ZERO)])
            }
            (ServerConfig::Wifi(_), _) => Err("`run.transport` = \"ideal\" needs a rate or a trace, not `wifi`".into()),
            (ServerConfig::Unlimited, _) => {
                Err("`run.transport` = \"ideal\" needs a rate or a trace, not \"unlimited\"".into())
            }
            (_, TraceStart::Random) => {
                Err("`run.transport` = \"ideal\" draws nothing: give a time as the trace's `start`".into())
            }
            (ServerConfig::RateTrace { trace }, TraceStart::At(start)) => Ok(trace.pieces_with_latency(start)),
            (ServerConfig::Opportunities { trace }, TraceStart::At(start)) => {
                let rates = trace.to_rate(Duration::from_millis(100)).map_err(|e| e.to_string())?;
                Ok(rates.pieces_with_latency(start))
            }
        }
    }

    /// Lowest and highest latency that the trace's file gives: packets take the path's delay instead.
    pub fn trace_latency(&self) -> Option<(Duration, Duration)> {
        let ServerConfig::RateTrace { trace } = &self.link.server else { return None };
        trace.latency_range()
    }

    /// The link of this direction. `base_rtt` is that of the longest path over it, for limits of "1 bdp".
    pub fn to_config(&self, name: String, base_rtt: Duration) -> LinkConfig {
        LinkConfig { name, base_rtt, ..self.link.clone() }
    }

    pub(crate) fn to_json(&self) -> Value {
        let link = &self.link;
        let mut json = json!({
            "loss": loss_json(&link.loss),
            "loss_place": word_of(&PLACES, link.loss_place),
            "ecn": word_of(&ECN, link.ecn_rewrite),
            "queue": queue::to_json(&link.queue),
            "jitter": link.jitter.map(jitter_json),
            "reordering": link.reordering.map(reordering_json),
        });
        if let Some(Mtu { bytes, is_reported }) = link.mtu {
            json["mtu"] = json!(Bytes(bytes.into()).to_string());
            json["too_big"] = json!(word_of(&TOO_BIG, is_reported));
        }
        if link.corruption != Ratio::ZERO {
            json["corruption"] = json!(link.corruption.to_string());
        }
        match &link.server {
            ServerConfig::Constant { rate } => json["rate"] = json!(rate.to_string()),
            ServerConfig::TokenBucket { rate, depth } => {
                json["rate"] = json!(rate.to_string());
                json["burst"] = json!(Bytes(*depth).to_string());
            }
            ServerConfig::Wifi(wifi) => json["wifi"] = settings_json(&wifi.params()),
            ServerConfig::Unlimited => json["rate"] = json!(UNLIMITED),
            ServerConfig::Opportunities { .. } | ServerConfig::RateTrace { .. } => {
                json["trace"] = json!({ "content": self.trace });
                json["start"] = match link.trace_start {
                    TraceStart::At(start) => json!(start.to_string()),
                    TraceStart::Random => json!(RANDOM),
                };
            }
        }
        json
    }
}

/// Below 68 bytes no IPv4 packet must pass (RFC 791).
fn read_mtu(table: &Table) -> Result<Option<Mtu>, ScenarioError> {
    let is_reported = meaning(&TOO_BIG, table.word("too_big")).expect("has a default");
    let Some(Bytes(bytes)) = table.optional::<Bytes>("mtu") else {
        return if is_reported {
            Err(table.error("too_big", "\"refused\" has no effect without `mtu`"))
        } else {
            Ok(None)
        };
    };
    match u32::try_from(bytes) {
        Ok(bytes @ 68..) => Ok(Some(Mtu { bytes, is_reported })),
        _ => Err(table.error("mtu", format!("{} is not a valid MTU; allowed: 68 B to 4 GB", Bytes(bytes)))),
    }
}

/// `rate = "10 Mbit/s"`, with a `burst` or not, `rate = "unlimited"`, or `trace = "file"`; a resolved scenario has `trace = { content = "…" }`.
fn read_server(table: &Table, read_file: ReadFile) -> Result<Option<DirectionSpec>, ScenarioError> {
    if let Some(content) = embedded(table, "trace", read_file)? {
        if let Some(other) = ["rate", "wifi"].into_iter().find(|key| table.has(key)) {
            return Err(table.error(other, "and `trace` exclude each other"));
        }
        if table.has("burst") {
            return Err(table.error("burst", NEEDS_A_RATE));
        }
        let trace = Trace::parse(&content, None).map_err(|e| table.content_error("trace", e))?;
        let mut traced = DirectionSpec::of(trace.into_server());
        (traced.link.trace_start, traced.trace) = (read_start(table), Some(content));
        return Ok(Some(traced));
    }
    if let Some(own) = table.table("wifi") {
        if let Some(other) = ["rate", "burst", "start"].into_iter().find(|key| table.has(key)) {
            return Err(table.error(other, "and `wifi` exclude each other"));
        }
        let params = read_params(&own, WifiConfig::PARAMS)?;
        let wifi = WifiConfig::of(&params).map_err(|e| table.error("wifi", e))?;
        return Ok(Some(DirectionSpec::of(ServerConfig::Wifi(wifi))));
    }
    if table.has("start") {
        return Err(table.error("start", "needs a `trace`: it says where in it a session begins"));
    }
    let is_unlimited = table.text("rate") == Some(UNLIMITED);
    let rate = table.optional("rate");
    let server = match table.optional("burst") {
        Some(_) if is_unlimited || rate.is_none() => return Err(table.error("burst", NEEDS_A_RATE)),
        Some(Bytes(depth)) => rate.map(|rate| ServerConfig::TokenBucket { rate, depth }),
        None if is_unlimited => Some(ServerConfig::Unlimited),
        None => rate.map(|rate| ServerConfig::Constant { rate }),
    };
    Ok(server.map(DirectionSpec::of))
}

/// `start = "30 s"`, or `start = "random"`: where in the trace a session begins.
fn read_start(table: &Table) -> TraceStart {
    // No other word passes the check.
    table.optional("start").map_or(TraceStart::Random, TraceStart::At)
}

/// The text of a file that `key` names, or the content that a resolved scenario carries.
pub fn embedded(table: &Table, key: &'static str, read_file: ReadFile) -> Result<Option<String>, ScenarioError> {
    match table.value(key) {
        None => Ok(None),
        Some(Value::Object(own)) => Ok(own.get("content").and_then(Value::as_str).map(String::from)),
        Some(_) => {
            let name = table.text(key).expect("checked");
            let bytes = read_file(name).map_err(|e| table.error(key, e))?;
            String::from_utf8(bytes).map(Some).map_err(|_| table.error(key, format!("\"{name}\" is not a text file")))
        }
    }
}

/// `loss = "0.5 %"`, or a table with `kind` and the settings of that model, as `playpath list loss` shows them.
fn read_loss(table: &Table, read_file: ReadFile) -> Result<LossConfig, ScenarioError> {
    let Some(own) = table.table("loss") else {
        let loss: Ratio = table.get("loss");
        let is_none = loss == Ratio::default();
        return Ok(if is_none { LossConfig::None } else { LossConfig::Bernoulli(BernoulliConfig { loss }) });
    };
    let kind = own.chosen().expect("must be given");
    let entry = registry::find(registry::losses(), "loss model", kind).map_err(|e| own.error("kind", e))?;
    let mut params = Params::defaults(entry.params);
    set_params(&own, &mut params, read_file)?;
    (entry.build)(&params).map_err(|e| own.content_error("file", e))
}

fn loss_json(loss: &LossConfig) -> Value {
    match loss {
        LossConfig::None => json!("0 %"),
        LossConfig::Bernoulli(BernoulliConfig { loss }) => json!(loss.to_string()),
        other => params_json("kind", other.kind(), &other.params()),
    }
}

/// `jitter = "5 ms"` (uniform ± 5 ms) or `{ amplitude = "5 ms", distribution = "normal" }`. Never reorders.
fn read_jitter(table: &Table) -> Option<JitterConfig> {
    let Some(own) = table.table("jitter") else {
        let uniform = |amplitude| JitterConfig { amplitude, distribution: JitterDistribution::Uniform };
        return table.optional("jitter").map(uniform);
    };
    let distribution = meaning(&DISTRIBUTIONS, own.word("distribution")).expect("has a default");
    Some(JitterConfig { amplitude: own.get("amplitude"), distribution })
}

fn jitter_json(jitter: JitterConfig) -> Value {
    let distribution = word_of(&DISTRIBUTIONS, jitter.distribution);
    json!({ "amplitude": jitter.amplitude.to_string(), "distribution": distribution })
}

/// `reordering = { probability = "1 %", extra_delay = "10 ms", gap = 1 }`.
fn read_reordering(table: &Table) -> Option<ReorderConfig> {
    let own = table.table("reordering")?;
    Some(ReorderConfig {
        probability: own.get("probability"),
        extra_delay: own.get("extra_delay"),
        gap: own.get("gap"),
    })
}

fn reordering_json(r: ReorderConfig) -> Value {
    json!({ "probability": r.probability.to_string(), "extra_delay": r.extra_delay.to_string(), "gap": r.gap })
}
