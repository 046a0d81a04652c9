//! One direction of a path or shared link: rate or trace, loss, queue, jitter, reordering.

use crate::params::{params_json, set_params};
use crate::queue;
use crate::reader::Table;
use crate::{ReadFile, ScenarioError};
use playpath_link::trace::Trace;
use playpath_link::{
    BernoulliConfig, JitterConfig, JitterDistribution, LinkConfig, LossConfig, LossPlace, QueueConfig, ReorderConfig,
    ServerConfig, TraceStart, registry,
};
use playpath_units::{Duration, Params, Rate, Ratio};
use serde_json::{Value, json};

/// One direction.
#[derive(Clone)]
pub struct DirectionSpec {
    server: ServerSpec,
    /// Propagation delay of this direction.
    pub one_way_delay: Duration,
    jitter: Option<JitterConfig>,
    reordering: Option<ReorderConfig>,
    loss: LossConfig,
    loss_place: LossPlace,
    queue: QueueConfig,
}

/// What sets the pace.
#[derive(Clone)]
enum ServerSpec {
    Rate(Rate),
    Unlimited,
    /// The trace's text travels with the scenario.
    Trace {
        content: String,
        server: ServerConfig,
        start: TraceStart,
    },
}

const RANDOM: &str = "random";
const PLACES: &[(&str, LossPlace)] =
    &[("before_queue", LossPlace::BeforeQueue), ("after_queue", LossPlace::AfterQueue)];

impl DirectionSpec {
    /// The keys of a `[[path]]` or `[[link]]` that describe its `down` direction.
    pub(crate) fn read(
        table: &Table,
        one_way_delay: Duration,
        read_file: ReadFile,
    ) -> Result<DirectionSpec, ScenarioError> {
        let server = read_server(table, read_file)?
            .ok_or_else(|| table.missing("rate", "give `rate`, such as \"10 Mbit/s\" or \"unlimited\", or `trace`"))?;
        DirectionSpec::read_rest(table, server, one_way_delay, queue::default_down(), read_file)
    }

    /// The sub-table `up`.
    pub(crate) fn read_up(
        table: &Table,
        one_way_delay: Duration,
        down: &DirectionSpec,
        read_file: ReadFile,
    ) -> Result<DirectionSpec, ScenarioError> {
        let server = read_server(table, read_file)?.unwrap_or_else(|| down.up_server());
        DirectionSpec::read_rest(table, server, one_way_delay, queue::default_up(), read_file)
    }

    /// `up` where nothing is said of it.
    pub(crate) fn default_up(down: &DirectionSpec, one_way_delay: Duration) -> DirectionSpec {
        DirectionSpec {
            server: down.up_server(),
            one_way_delay,
            jitter: None,
            reordering: None,
            loss: LossConfig::None,
            loss_place: LossPlace::BeforeQueue,
            queue: queue::default_up(),
        }
    }

    fn up_server(&self) -> ServerSpec {
        match &self.server {
            ServerSpec::Rate(rate) => ServerSpec::Rate(*rate),
            _ => ServerSpec::Unlimited,
        }
    }

    fn read_rest(
        table: &Table,
        server: ServerSpec,
        one_way_delay: Duration,
        default_queue: QueueConfig,
        read_file: ReadFile,
    ) -> Result<DirectionSpec, ScenarioError> {
        let loss = read_loss(table, read_file)?;
        let names: Vec<&'static str> = PLACES.iter().map(|(n, _)| *n).collect();
        let place = table.word("loss_place", &names)?.unwrap_or("before_queue");
        Ok(DirectionSpec {
            server,
            one_way_delay,
            jitter: read_jitter(table)?,
            reordering: read_reordering(table)?,
            loss,
            loss_place: PLACES.iter().find(|(n, _)| *n == place).expect("listed").1,
            queue: queue::read(table)?.unwrap_or(default_queue),
        })
    }

    /// What it has besides a rate and a delay (a queue, which everything has, apart).
    pub fn beyond_a_rate(&self) -> Option<&'static str> {
        let found = [
            ("loss", !matches!(self.loss, LossConfig::None)),
            ("jitter", self.jitter.is_some()),
            ("reordering", self.reordering.is_some()),
        ];
        found.into_iter().find(|(_, is_there)| *is_there).map(|(name, _)| name)
    }

    /// Length, rate and latency of its file, piece by piece, from where the trace begins; delivery opportunities are gathered over a
    /// tenth of a second.
    pub fn rate_steps(&self) -> Result<Vec<(Duration, Rate, Duration)>, String> {
        match &self.server {
            ServerSpec::Rate(rate) => Ok(vec![(Duration::from_secs(1), *rate, Duration::ZERO)]),
            ServerSpec::Unlimited => {
                Err("`run.transport` = \"ideal\" needs a rate or a trace, not \"unlimited\"".into())
            }
            ServerSpec::Trace { start: TraceStart::Random, .. } => {
                Err("`run.transport` = \"ideal\" draws nothing: give a time as the trace's `start`".into())
            }
            ServerSpec::Trace { content, start: TraceStart::At(start), .. } => {
                let trace = Trace::parse(content, None).and_then(|t| t.to_rate(Duration::from_millis(100)));
                trace.map(|t| t.pieces_with_latency(*start)).map_err(|e| e.to_string())
            }
        }
    }

    /// Lowest and highest latency that the trace's file gives: packets take the path's delay instead.
    pub fn trace_latency(&self) -> Option<(Duration, Duration)> {
        let ServerSpec::Trace { server: ServerConfig::RateTrace { trace }, .. } = &self.server else { return None };
        trace.latency_range()
    }

    /// The link of this direction. `base_rtt` is that of the whole path, for limits of "1 bdp".
    pub fn to_config(&self, name: String, base_rtt: Duration) -> LinkConfig {
        LinkConfig {
            name,
            server: match &self.server {
                ServerSpec::Rate(rate) => ServerConfig::Constant { rate: *rate },
                ServerSpec::Unlimited => ServerConfig::Unlimited,
                ServerSpec::Trace { server, .. } => server.clone(),
            },
            trace_start: match &self.server {
                ServerSpec::Trace { start, .. } => *start,
                _ => TraceStart::default(),
            },
            one_way_delay: self.one_way_delay,
            jitter: self.jitter,
            reordering: self.reordering,
            loss: self.loss.clone(),
            loss_place: self.loss_place,
            outage: None,
            queue: self.queue.clone(),
            base_rtt,
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        let mut json = json!({
            "loss": loss_json(&self.loss),
            "loss_place": PLACES.iter().find(|(_, p)| *p == self.loss_place).map(|(n, _)| n),
            "queue": queue::to_json(&self.queue),
            "jitter": self.jitter.map(jitter_json),
            "reordering": self.reordering.map(reordering_json),
        });
        match &self.server {
            ServerSpec::Rate(rate) => json["rate"] = json!(rate.to_string()),
            ServerSpec::Unlimited => json["rate"] = json!("unlimited"),
            ServerSpec::Trace { content, start, .. } => {
                json["trace"] = json!({ "content": content });
                json["start"] = match start {
                    TraceStart::At(start) => json!(start.to_string()),
                    TraceStart::Random => json!(RANDOM),
                };
            }
        }
        json
    }
}

/// `rate = "10 Mbit/s"`, `rate = "unlimited"`, or `trace = "file"`; a resolved scenario has `trace = { content = "…" }`.
fn read_server(table: &Table, read_file: ReadFile) -> Result<Option<ServerSpec>, ScenarioError> {
    if let Some(content) = embedded(table, "trace", read_file)? {
        if table.has("rate") {
            return Err(table.error("rate", "and `trace` exclude each other"));
        }
        let trace = Trace::parse(&content, None).map_err(|e| table.content_error("trace", e))?;
        return Ok(Some(ServerSpec::Trace { content, server: trace.into_server(), start: read_start(table)? }));
    }
    if table.has("start") {
        return Err(table.error("start", "is where a trace begins, and there is no `trace`"));
    }
    match table.value("rate") {
        Some(Value::String(word)) if word == "unlimited" => Ok(Some(ServerSpec::Unlimited)),
        _ => Ok(table.positive("rate")?.map(ServerSpec::Rate)),
    }
}

/// `start = "30 s"`, or `start = "random"`: where in the trace a session begins.
fn read_start(table: &Table) -> Result<TraceStart, ScenarioError> {
    match table.value("start") {
        Some(Value::String(word)) if word == RANDOM => Ok(TraceStart::Random),
        _ => Ok(TraceStart::At(table.quantity("start")?.unwrap_or_default())),
    }
}

/// The text of a file that `key` names, or the content that a resolved scenario carries.
pub fn embedded(table: &Table, key: &'static str, read_file: ReadFile) -> Result<Option<String>, ScenarioError> {
    match table.value(key) {
        None => Ok(None),
        Some(Value::Object(_)) => {
            let own = table.table(key)?.expect("an object");
            let content = own.text("content")?.ok_or_else(|| table.error(key, "has no `content`"))?.to_string();
            own.finish()?;
            Ok(Some(content))
        }
        Some(_) => {
            let name = table.text(key)?.expect("present");
            let bytes = read_file(name).map_err(|e| table.error(key, e))?;
            String::from_utf8(bytes).map(Some).map_err(|_| table.error(key, format!("\"{name}\" is not a text file")))
        }
    }
}

/// `loss = "0.5 %"`, or a table with `kind` and the settings of that model, as `playpath list loss` shows them.
fn read_loss(table: &Table, read_file: ReadFile) -> Result<LossConfig, ScenarioError> {
    if !matches!(table.value("loss"), Some(Value::Object(_))) {
        let loss: Ratio = table.quantity("loss")?.unwrap_or_default();
        return Ok(if loss == Ratio::default() {
            LossConfig::None
        } else {
            LossConfig::Bernoulli(BernoulliConfig { loss })
        });
    }
    let own = table.table("loss")?.expect("an object");
    let kind = own.text("kind")?.ok_or_else(|| own.missing("kind", "`playpath list loss` shows what there is"))?;
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
fn read_jitter(table: &Table) -> Result<Option<JitterConfig>, ScenarioError> {
    let uniform = |amplitude| JitterConfig { amplitude, distribution: JitterDistribution::Uniform };
    if !matches!(table.value("jitter"), Some(Value::Object(_))) {
        return Ok(table.positive("jitter")?.map(uniform));
    }
    let own = table.table("jitter")?.expect("an object");
    let amplitude =
        own.positive("amplitude")?.ok_or_else(|| own.missing("amplitude", "give a time, such as \"5 ms\""))?;
    let distribution = match own.word("distribution", &["uniform", "normal"])? {
        Some("normal") => JitterDistribution::Normal,
        _ => JitterDistribution::Uniform,
    };
    own.finish()?;
    Ok(Some(JitterConfig { amplitude, distribution }))
}

fn jitter_json(jitter: JitterConfig) -> Value {
    let distribution = if jitter.distribution == JitterDistribution::Normal { "normal" } else { "uniform" };
    json!({ "amplitude": jitter.amplitude.to_string(), "distribution": distribution })
}

/// `reordering = { probability = "1 %", extra_delay = "10 ms", gap = 1 }`.
fn read_reordering(table: &Table) -> Result<Option<ReorderConfig>, ScenarioError> {
    let Some(own) = table.table("reordering")? else { return Ok(None) };
    let reordering = ReorderConfig {
        probability: own
            .quantity("probability")?
            .ok_or_else(|| own.missing("probability", "give a share, such as \"1 %\""))?,
        extra_delay: own
            .positive("extra_delay")?
            .ok_or_else(|| own.missing("extra_delay", "give a time, such as \"10 ms\""))?,
        gap: own.integer("gap", 1..=1_000_000)?.unwrap_or(1) as u32,
    };
    own.finish()?;
    Ok(Some(reordering))
}

fn reordering_json(r: ReorderConfig) -> Value {
    json!({ "probability": r.probability.to_string(), "extra_delay": r.extra_delay.to_string(), "gap": r.gap })
}
