//! A scenario with changes written into it, as text again: what a person has set by hand can be kept, and played elsewhere.

use crate::document::Document;
use crate::{ReadFile, Scenario, ScenarioError, apply_overrides};
use serde_json::{Map, Value, json};

/// The scenario as TOML without defaults, `overrides` written in as [`Scenario::parse`] would, and `senders` alone (all if there are
/// none): those of the scenario by name, then congestion controls by name under the stack of `[run]`.
pub fn edit(text: &str, overrides: &Value, senders: &[String], read_file: ReadFile) -> Result<String, ScenarioError> {
    let scenario = Scenario::parse(text, overrides, read_file)?;
    let mut document = Document::parse(text)?;
    apply_overrides(&mut document, overrides)?;
    if !senders.is_empty() {
        let chosen = chosen(&scenario, document.root.get("sender"), senders);
        document.root.insert("sender".into(), Value::Array(chosen));
    }
    let edited = Value::Object(without_nulls(document.root));
    toml::to_string(&edited).map_err(|e| ScenarioError::new(format!("cannot be written as TOML: {e}")))
}

fn chosen(scenario: &Scenario, written: Option<&Value>, names: &[String]) -> Vec<Value> {
    let entry = |name: &String| {
        let place = scenario.senders.iter().position(|sender| sender.name == *name);
        let found = place.and_then(|place| written?.get(place)).cloned();
        found.unwrap_or_else(|| json!({ "cc": name }))
    };
    names.iter().map(entry).collect()
}

/// TOML has no null; a key without a value says nothing.
fn without_nulls(table: Map<String, Value>) -> Map<String, Value> {
    let kept = table.into_iter().filter(|(_, value)| !value.is_null());
    kept.map(|(key, value)| (key, cleaned(value))).collect()
}

fn cleaned(value: Value) -> Value {
    match value {
        Value::Object(table) => Value::Object(without_nulls(table)),
        Value::Array(items) => Value::Array(items.into_iter().map(cleaned).collect()),
        other => other,
    }
}
