//! Queues: `queue = "100 kB"`, `queue = "codel"`, or `queue = { kind = "droptail", limit = "1 bdp" }` with the settings of its
//! kind, as `playpath list queue` shows them.

use crate::ScenarioError;
use crate::reader::{Table, unknown};
use playpath_link::QueueConfig;
use playpath_link::registry::{self, Entry};
use playpath_units::QueueLimit;
use serde_json::{Map, Value, json};

/// In front of the bottleneck: one bandwidth-delay product of tail-drop.
pub fn default_down() -> QueueConfig {
    QueueConfig::default()
}

/// For acknowledgements: long enough never to matter unless one asks for it.
pub fn default_up() -> QueueConfig {
    QueueConfig::DropTail { limit: QueueLimit::Packets(1000) }
}

/// Reads `queue`.
pub fn read(table: &Table) -> Result<Option<QueueConfig>, ScenarioError> {
    let Some(text) = table.value("queue").and_then(Value::as_str) else {
        let Some(own) = table.table("queue")? else { return Ok(None) };
        let entry = find(&own, "kind", own.text("kind")?.unwrap_or("droptail"))?;
        return (entry.build)(&as_typed(&own)?.each()).map(Some).map_err(|e| table.error("queue", e));
    };
    if let Ok(limit) = text.parse() {
        return Ok(Some(QueueConfig::DropTail { limit }));
    }
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(table.error("queue", text.parse::<QueueLimit>().expect_err("tried above")));
    }
    let entry = find(table, "queue", text)?;
    (entry.build)(&[]).map(Some).map_err(|e| table.error("queue", e))
}

fn find(table: &Table, key: &str, name: &str) -> Result<&'static Entry<QueueConfig>, ScenarioError> {
    let names = registry::queues().iter().map(|e| e.name);
    registry::find(registry::queues(), name).ok_or_else(|| table.error(key, unknown("queue", name, names)))
}

/// Settings as they were typed; registries outside this crate check them.
pub struct Typed(Vec<(String, String)>);

impl Typed {
    pub fn each(&self) -> Vec<(&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }
}

/// Every key of a table that was not asked for, as text.
pub fn as_typed(table: &Table) -> Result<Typed, ScenarioError> {
    let text = |(key, value): (&str, &Value)| match value {
        Value::String(text) => Ok((key.to_string(), text.clone())),
        Value::Number(_) | Value::Bool(_) => Ok((key.to_string(), value.to_string())),
        Value::Array(items) => {
            let items: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
            items.map(|i| (key.to_string(), i.join(", "))).ok_or_else(|| table.error(key, "is a list of texts"))
        }
        other => Err(table.error(key, format!("{other} is not a setting's value"))),
    };
    table.rest().into_iter().filter(|(_, value)| !value.is_null()).map(text).collect::<Result<_, _>>().map(Typed)
}

/// With every setting.
pub fn to_json(queue: &QueueConfig) -> Value {
    let mut json = Map::from_iter([("kind".to_string(), json!(queue.kind()))]);
    json.extend(queue.settings().into_iter().map(|(name, value)| (name.to_string(), json!(value))));
    Value::Object(json)
}
