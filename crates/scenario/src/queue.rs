//! Queues: `queue = "100 kB"`, `queue = "codel"`, or `queue = { kind = "droptail", limit = "1 bdp" }` with the settings of its
//! kind, as `playpath list queue` shows them.

use crate::ScenarioError;
use crate::params::{link_variants, params_json, set_params};
use crate::reader::Table;
use playpath_link::registry::{self, Entry};
use playpath_link::{DropTailConfig, QueueConfig};
use playpath_units::{Choice, Params, QueueLimit, TableSpec};
use serde_json::{Value, json};

/// In front of the bottleneck: one bandwidth-delay product of tail-drop.
pub fn default_down() -> QueueConfig {
    QueueConfig::default()
}

/// For acknowledgements: long enough never to matter unless one asks for it.
pub fn default_up() -> QueueConfig {
    QueueConfig::DropTail(DropTailConfig { limit: QueueLimit::Packets(1000) })
}

/// `queue` as a table, and what it is by name alone.
pub const QUEUE: TableSpec = TableSpec::new("queue", "A queue with its parameters.", &[]).choosing(Choice {
    tag: "kind",
    what: "queue",
    noun: "parameter",
    default: "droptail",
    otherwise: "",
    variants: || link_variants(registry::queues()),
});

/// Whether a queue that a text stands for is the limit of a drop-tail queue; else it is a kind.
pub fn is_limit(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
}

pub fn read(table: &Table) -> Result<Option<QueueConfig>, ScenarioError> {
    let Some(text) = table.text("queue") else {
        let Some(own) = table.table("queue") else { return Ok(None) };
        let entry = find(&own, "kind", own.chosen().expect("has a default"))?;
        let mut params = Params::defaults(entry.params);
        set_params(&own, &mut params, &|_| Err("a queue reads no files".into()))?;
        return (entry.build)(&params).map(Some).map_err(|e| table.error("queue", e));
    };
    if is_limit(text) {
        let limit = text.parse().map_err(|e| table.error("queue", e))?;
        return Ok(Some(QueueConfig::DropTail(DropTailConfig { limit })));
    }
    let entry = find(table, "queue", text)?;
    (entry.build)(&Params::defaults(entry.params)).map(Some).map_err(|e| table.error("queue", e))
}

/// What is written where `former` stood: a queue that is named by its kind alone keeps the limit, since the kind is what is changed.
pub fn replacing(former: Option<&Value>, value: &Value, is_up: bool) -> Value {
    let is_kind = value.as_str().is_some_and(|text| registry::queues().iter().any(|entry| entry.about.name == text));
    let default = to_json(&if is_up { default_up() } else { default_down() });
    let limit = match former.unwrap_or(&default) {
        limit @ Value::String(text) if is_limit(text) => Some(limit),
        table => table.get("limit"),
    };
    limit.filter(|_| is_kind).map_or_else(|| value.clone(), |limit| json!({ "kind": value, "limit": limit }))
}

fn find(table: &Table, key: &str, name: &str) -> Result<&'static Entry<QueueConfig>, ScenarioError> {
    registry::find(registry::queues(), "queue", name).map_err(|e| table.error(key, e))
}

pub fn to_json(queue: &QueueConfig) -> Value {
    params_json("kind", queue.kind(), &queue.params())
}
