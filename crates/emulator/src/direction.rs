//! One direction of a path, as a scenario describes it.

use crate::config::{LinkSpec, ReadFile};
use crate::reader::Object;
use playpath_link::registry::{self, Entry};
use playpath_link::trace::Trace;
use playpath_link::{
    JitterConfig, JitterDistribution, LinkConfig, LinkError, LossConfig, LossPattern, LossPlace, QueueConfig,
    ReorderConfig, ServerConfig,
};
use playpath_units::{Duration, QueueLimit, Rate, Ratio};
use serde_json::Value;
use std::sync::Arc;

/// Everything about a direction but its name.
pub struct Direction {
    server: ServerConfig,
    /// Propagation delay.
    pub one_way_delay: Duration,
    jitter: Option<JitterConfig>,
    reordering: Option<ReorderConfig>,
    loss: LossConfig,
    loss_place: LossPlace,
    queue: QueueConfig,
}

/// Which direction is read; `up` takes its defaults from `down`.
pub enum Side<'a> {
    /// Server to client.
    Down,
    /// Client to server.
    Up(&'a Direction),
}

impl Direction {
    /// From the keys of a path, or of its `up`.
    pub fn read(table: &Object, one_way_delay: Duration, side: Side, read_file: ReadFile) -> Result<Direction, String> {
        let (server, default_queue) = match (read_server(table, read_file)?, &side) {
            (Some(server), Side::Down) => (server, QueueConfig::default()),
            (Some(server), Side::Up(_)) => (server, up_queue()),
            (None, Side::Up(down)) => (down.up_server(), up_queue()),
            (None, Side::Down) => return Err(table.error("rate", "is missing; give `rate` or `trace`")),
        };
        let loss_place = match table.text("loss_place")? {
            None | Some("before_queue") => LossPlace::BeforeQueue,
            Some("after_queue") => LossPlace::AfterQueue,
            Some(other) => {
                let why = format!("\"{other}\" is not known; allowed: before_queue, after_queue");
                return Err(table.error("loss_place", why));
            }
        };
        Ok(Direction {
            server,
            one_way_delay,
            jitter: read_jitter(table)?,
            reordering: read_reordering(table)?,
            loss: read_loss(table, read_file)?,
            loss_place,
            queue: read_queue(table)?.unwrap_or(default_queue),
        })
    }

    /// The way to the server, where nothing is said of it.
    pub fn default_up(down: &Direction, one_way_delay: Duration) -> Direction {
        Direction {
            server: down.up_server(),
            one_way_delay,
            jitter: None,
            reordering: None,
            loss: LossConfig::None,
            loss_place: LossPlace::BeforeQueue,
            queue: up_queue(),
        }
    }

    /// The link. Errors: a setting that is not allowed.
    pub fn link(self, name: &str, base_rtt: Duration) -> Result<LinkSpec, LinkError> {
        let mean_loss = self.loss.mean_loss();
        let config = LinkConfig {
            name: name.to_string(),
            server: self.server,
            one_way_delay: self.one_way_delay,
            jitter: self.jitter,
            reordering: self.reordering,
            loss: self.loss,
            loss_place: self.loss_place,
            outage: None,
            queue: self.queue,
            base_rtt,
        };
        config.validate()?;
        Ok(LinkSpec { config, mean_loss })
    }

    fn up_server(&self) -> ServerConfig {
        match &self.server {
            ServerConfig::Constant { rate } => ServerConfig::Constant { rate: *rate },
            _ => ServerConfig::Unlimited,
        }
    }
}

/// Long enough never to matter for acknowledgements.
fn up_queue() -> QueueConfig {
    QueueConfig::DropTail { limit: QueueLimit::Packets(1000) }
}

fn read_server(table: &Object, read_file: ReadFile) -> Result<Option<ServerConfig>, String> {
    let Some((content, format)) = content(table, "trace", read_file)? else {
        return match table.value("rate") {
            Some(Value::String(word)) if word == "unlimited" => Ok(Some(ServerConfig::Unlimited)),
            _ => Ok(table.parsed::<Rate>("rate")?.map(|rate| ServerConfig::Constant { rate })),
        };
    };
    if table.value("rate").is_some() {
        return Err(table.error("rate", "and `trace` exclude each other"));
    }
    let format = format.filter(|format| format != "auto").map(|format| format.parse()).transpose();
    let format = format.map_err(|error| table.error("trace", error))?;
    let trace = Trace::parse(&content, format).map_err(|error| table.error("trace", error))?;
    Ok(Some(trace.into_server()))
}

/// The text of a file that `key` names, or that it carries as `{"content": "…"}`; and its `format`, if that is stated.
fn content(table: &Object, key: &'static str, read_file: ReadFile) -> Result<Option<(String, Option<String>)>, String> {
    match table.value(key) {
        None => Ok(None),
        Some(Value::String(name)) => {
            let text = read_file(name).map_err(|error| table.error(key, error))?;
            Ok(Some((text, None)))
        }
        Some(_) => {
            let own = table.object(key)?.ok_or_else(|| table.error(key, "is missing"))?;
            let content = own.needed("content")?.to_string();
            let format = own.text("format")?.map(String::from);
            own.finish()?;
            Ok(Some((content, format)))
        }
    }
}

/// `"100 kB"`, `"codel"`, or `{"kind": …}` with settings.
fn read_queue(table: &Object) -> Result<Option<QueueConfig>, String> {
    if let Some(Value::String(text)) = table.value("queue") {
        if let Ok(limit) = text.parse() {
            return Ok(Some(QueueConfig::DropTail { limit }));
        }
        return build(table, "queue", registry::queues(), text, &[]).map(Some);
    }
    let Some(own) = table.object("queue")? else { return Ok(None) };
    let kind = own.text("kind")?.unwrap_or("droptail");
    build(table, "queue", registry::queues(), kind, &own.rest_as_text()?).map(Some)
}

/// `"0.5 %"`, or `{"kind": …}` with settings.
fn read_loss(table: &Object, read_file: ReadFile) -> Result<LossConfig, String> {
    let Some(Value::Object(_)) = table.value("loss") else {
        let loss: Ratio = table.parsed("loss")?.unwrap_or_default();
        return Ok(if loss.get() == 0.0 { LossConfig::None } else { LossConfig::Bernoulli { loss } });
    };
    let own = table.object("loss")?.ok_or_else(|| table.error("loss", "is missing"))?;
    let kind = own.needed("kind")?;
    if kind == "pattern"
        && let Some((text, _)) = content(&own, "file", read_file)?
    {
        let pattern = LossPattern::parse(&text).map_err(|error| own.error("file", error))?;
        return Ok(LossConfig::Pattern { pattern: Arc::new(pattern) });
    }
    build(table, "loss", registry::losses(), kind, &own.rest_as_text()?)
}

fn build<T>(
    table: &Object,
    key: &str,
    entries: &'static [Entry<T>],
    kind: &str,
    settings: &[(&str, String)],
) -> Result<T, String> {
    let Some(entry) = registry::find(entries, kind) else {
        let names: Vec<_> = entries.iter().map(|entry| entry.name).collect();
        return Err(table.error(key, format!("\"{kind}\" is not known; allowed: {}", names.join(", "))));
    };
    let settings: Vec<_> = settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
    (entry.build)(&settings).map_err(|why| table.error(key, why))
}

/// `"5 ms"` (uniform), or `{"amplitude": …, "distribution": …}`.
fn read_jitter(table: &Object) -> Result<Option<JitterConfig>, String> {
    if let Some(Value::String(_)) = table.value("jitter") {
        let amplitude = table.parsed("jitter")?.unwrap_or_default();
        return Ok(Some(JitterConfig { amplitude, distribution: JitterDistribution::Uniform }));
    }
    let Some(own) = table.object("jitter")? else { return Ok(None) };
    let amplitude = own.parsed("amplitude")?.ok_or_else(|| own.error("amplitude", "is missing"))?;
    let distribution = match own.text("distribution")? {
        None | Some("uniform") => JitterDistribution::Uniform,
        Some("normal") => JitterDistribution::Normal,
        Some(other) => {
            let why = format!("\"{other}\" is not known; allowed: uniform, normal");
            return Err(own.error("distribution", why));
        }
    };
    own.finish()?;
    Ok(Some(JitterConfig { amplitude, distribution }))
}

fn read_reordering(table: &Object) -> Result<Option<ReorderConfig>, String> {
    let Some(own) = table.object("reordering")? else { return Ok(None) };
    let config = ReorderConfig {
        probability: own.parsed("probability")?.ok_or_else(|| own.error("probability", "is missing"))?,
        extra_delay: own.parsed("extra_delay")?.ok_or_else(|| own.error("extra_delay", "is missing"))?,
        gap: own.integer("gap", 1..=1_000_000)?.unwrap_or(1) as u32,
    };
    own.finish()?;
    Ok(Some(config))
}
