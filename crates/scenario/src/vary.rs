//! Any choice as the treatment: every combination of the values that keys may take, how it is called, and the settings that it plays
//! with. Hosts play each; senders are the special case.

use crate::ScenarioError;
use serde_json::{Map, Value, json};

/// Settings of a comparison, which no variant has for itself.
const OF_ALL: [&str; 7] = ["name", "description", "run.seeds", "run.first_seed", "verdict", "choice", "population"];
/// Compared at once: pairs grow with the square, and nobody reads more rows.
const MAX: usize = 120;
/// What says nothing by itself.
const SWITCHES: [&str; 6] = ["true", "false", "null", "none", "on", "off"];

/// A value for each key that is varied.
#[derive(Clone, Debug, PartialEq)]
pub struct Combination {
    /// How it is called: `fq_codel + buffer 2 s`.
    pub value: String,
    pub settings: Map<String, Value>,
}

/// Every combination of the values of `axes` (key, values) on a resolved scenario, the last axis turning fastest. Error: a setting of
/// the whole comparison, fewer than two values, one that stands twice, too many combinations.
pub fn combinations(plain: &Value, axes: &[(String, Vec<Value>)]) -> Result<Vec<Combination>, ScenarioError> {
    axes.iter().try_for_each(check)?;
    let senders = plain["sender"].as_array().map_or(1, |senders| senders.len().max(1));
    let count = axes.iter().fold(senders, |count, (_, values)| count.saturating_mul(values.len()));
    if count > MAX {
        let message = format!("vary: {count} combinations of choices and senders; allowed: up to {MAX} at once");
        return Err(ScenarioError::new(message));
    }
    let mut found = vec![Combination { value: String::new(), settings: Map::new() }];
    for (key, values) in axes {
        let with = |before: &Combination, value: &Value| {
            let called =
                [before.value.as_str(), &label(key, value)].join(if before.value.is_empty() { "" } else { " + " });
            let mut settings = before.settings.clone();
            settings.insert(key.clone(), value.clone());
            if is_secured(plain, axes, key, value) {
                settings.insert("sender.tls".into(), json!("full"));
            }
            Combination { value: called, settings }
        };
        found = found.iter().flat_map(|before| values.iter().map(move |value| with(before, value))).collect();
    }
    Ok(found)
}

/// How the senders of all variants are called, each given as its own name and its variant's value: by their own names where these tell
/// them apart, as `cubic` and `cubic/quic` do.
pub fn names(variants: &[(String, Vec<String>)]) -> Vec<String> {
    let own: Vec<&String> = variants.iter().flat_map(|(_, senders)| senders).collect();
    if own.iter().enumerate().all(|(place, sender)| !own[..place].contains(sender)) {
        return own.into_iter().cloned().collect();
    }
    let of = |(value, senders): &(String, Vec<String>)| {
        let long = |sender: &String| if senders.len() == 1 { value.clone() } else { format!("{sender} · {value}") };
        senders.iter().map(long).collect::<Vec<_>>()
    };
    variants.iter().flat_map(of).collect()
}

/// A variant with one of its senders alone, under the name that it is compared by.
pub fn alone(mut variant: Value, sender: &str, name: &str) -> Value {
    let entry = variant["sender"].as_array().and_then(|all| all.iter().find(|entry| entry["name"] == sender)).cloned();
    variant["sender"] = entry.into_iter().collect();
    variant["sender"][0]["name"] = json!(name);
    variant
}

fn check((key, values): &(String, Vec<Value>)) -> Result<(), ScenarioError> {
    let wrong = |what: String| Err(ScenarioError::new(format!("vary[\"{key}\"]: {what}")));
    if OF_ALL.iter().any(|name| key == name || key.starts_with(&format!("{name}."))) {
        return wrong("is the same for everything that is compared; vary settings that a session depends on".into());
    }
    if values.len() < 2 {
        let what = "give at least two values, separated by commas; for a single one use";
        return wrong(format!("{what} set[\"{key}\"]"));
    }
    match values.iter().enumerate().find(|(place, value)| values[..*place].contains(value)) {
        Some((_, twice)) => wrong(format!("{} is given twice", label(key, twice))),
        None => Ok(()),
    }
}

/// What a value is called: `fq_codel`, `buffer 2 s`, `pie(limit=50 kB)`.
fn label(key: &str, value: &Value) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), String::from);
    if let Some(table) = value.as_object() {
        let tag = ["kind", "name"].into_iter().find(|tag| table.contains_key(*tag));
        let others: Vec<String> = table
            .iter()
            .filter(|(key, _)| Some(key.as_str()) != tag)
            .map(|(key, value)| format!("{key}={}", text(value)))
            .collect();
        let named = tag.map_or(String::new(), |tag| text(&table[tag]));
        return if others.is_empty() { named } else { format!("{named}({})", others.join(", ")) };
    }
    let text = text(value);
    let is_word = text.starts_with(|first: char| first.is_alphabetic() || first == '_');
    // A number, or a switch, says nothing by itself.
    let is_self_explanatory = is_word && !SWITCHES.contains(&text.to_lowercase().as_str());
    if is_self_explanatory { text } else { format!("{} {text}", key.rsplit('.').next().unwrap_or(key)) }
}

/// TCP that is compared with QUIC, which is never without TLS, has TLS 1.3, too, unless the scenario says what it has.
fn is_secured(plain: &Value, axes: &[(String, Vec<Value>)], key: &str, value: &Value) -> bool {
    let of = |wanted: &str| axes.iter().find(|(key, _)| key == wanted);
    let is_quic = |value: &Value| value == "quic" || value["name"] == "quic";
    key == "sender.transport"
        && value == "tcp"
        && of(key).is_some_and(|(_, values)| values.iter().any(is_quic))
        && of("sender.tls").is_none()
        && plain["sender"]
            .as_array()
            .into_iter()
            .flatten()
            .all(|sender| sender["tls"].as_str().is_none_or(|tls| tls == "none"))
}
