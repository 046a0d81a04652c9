//! The declarations of all documents as data, for the reference page, `playpath help` and `playpath schema`.

use crate::check::{check, check_drawn};
use crate::document::Document;
use crate::documents::{DISTRIBUTION, POPULATION, SWEEP};
use crate::reader::{default, sub_table};
use crate::{SCENARIO, ScenarioError, schema};
use playpath_units::names::unknown;
use playpath_units::{Choice, Kind, ParamSpec, TableSpec};
use serde_json::{Map, Value, json};

pub const DOCUMENTS: &[&str] = &["scenario", "sweep", "population"];

/// JSON Schema of a document, one of [`DOCUMENTS`]. Error: the nearest name.
pub fn schema_of(document: &str) -> Result<Value, ScenarioError> {
    let spec = declaration(document)?;
    Ok(schema::schema(spec, &format!("playpath {document}"), document == "population"))
}

/// Checks a document by its declaration alone: keys, kinds, ranges, what must be given. Error: one line.
pub fn check_document(document: &str, text: &str) -> Result<(), ScenarioError> {
    let spec = declaration(document)?;
    let parsed = Document::parse(text)?;
    if document == "population" { check_drawn(&parsed, spec) } else { check(&parsed, spec) }
}

/// Every table of every document by its name: its keys with what may be typed, defaults, examples and texts. `scenario`, `sweep` and
/// `population document` are the roots.
pub fn declarations() -> Value {
    let mut tables = Map::new();
    for spec in [&SCENARIO, &SWEEP, &DISTRIBUTION] {
        add(spec, spec.name, &mut tables);
    }
    add(&POPULATION, "population document", &mut tables);
    Value::Object(tables)
}

/// The words that a key of a scenario's table takes, with what they mean; a table that it takes besides, by its first key.
pub fn words(table: &str, key: &str) -> Vec<(&'static str, &'static str)> {
    let root = SCENARIO.keys.iter().find(|spec| spec.name == table).and_then(|spec| sub_table(spec.kind));
    let spec = root.and_then(|table| table.all_keys().into_iter().find(|spec| spec.name == key));
    spec.map_or(Vec::new(), |spec| words_of(&spec.kind))
}

/// What a table of a scenario chooses from by its tag, with what each is.
pub fn choices(table: &str) -> Vec<(&'static str, &'static str)> {
    let root = SCENARIO.keys.iter().find(|spec| spec.name == table).and_then(|spec| sub_table(spec.kind));
    let choice = root.and_then(|table| table.choice);
    choice.map_or(Vec::new(), |choice| (choice.variants)().iter().map(|v| (v.name, v.summary)).collect())
}

fn declaration(document: &str) -> Result<&'static TableSpec, ScenarioError> {
    match document {
        "scenario" => Ok(&SCENARIO),
        "sweep" => Ok(&SWEEP),
        "population" => Ok(&POPULATION),
        _ => Err(ScenarioError::new(unknown("document", document, DOCUMENTS.iter().copied()))),
    }
}

fn words_of(kind: &Kind) -> Vec<(&'static str, &'static str)> {
    match kind {
        Kind::Described(words) => words.to_vec(),
        Kind::Either(kinds) => {
            kinds.iter().flat_map(words_of).chain(kinds.iter().flat_map(instead_of_a_word)).collect()
        }
        _ => Vec::new(),
    }
}

/// A table with one key, `{ gain = 1.0 }`, that stands where a word may.
fn instead_of_a_word(kind: &Kind) -> Option<(&'static str, &'static str)> {
    match kind {
        Kind::Table(table) if table.keys.len() == 1 => Some((table.keys[0].name, table.keys[0].doc)),
        _ => None,
    }
}

fn add(spec: &'static TableSpec, name: &str, tables: &mut Map<String, Value>) {
    if tables.contains_key(name) {
        return;
    }
    let keys: Value = spec.keys.iter().map(key).collect();
    let with: Vec<&str> = spec.with.iter().map(|table| table.name).collect();
    let choice = spec.choice.map(|choice| choice_json(&choice));
    tables.insert(name.into(), json!({ "doc": spec.doc, "keys": keys, "with": with, "choice": choice }));
    for inner in spec.with {
        add(inner, inner.name, tables);
    }
    for inner in spec.keys.iter().filter_map(|key| sub_table(key.kind)) {
        add(inner, inner.name, tables);
    }
}

fn choice_json(choice: &Choice) -> Value {
    let variants: Vec<Value> = (choice.variants)()
        .iter()
        .map(|v| json!({ "name": v.name, "aliases": v.aliases, "summary": v.summary, "keys": v.keys.iter().map(key).collect::<Value>() }))
        .collect();
    json!({ "tag": choice.tag, "what": choice.what, "default": choice.default, "otherwise": choice.otherwise, "variants": variants })
}

pub fn key(spec: &ParamSpec) -> Value {
    json!({
        "name": spec.name,
        "type": spec.kind.noun(),
        "default": default(spec).unwrap_or(json!("")),
        "otherwise": spec.otherwise,
        "is_needed": spec.is_needed,
        "allowed": spec.allowed(),
        "words": words_of(&spec.kind),
        "unit": spec.unit(),
        "since": spec.since,
        "doc": spec.doc,
        "example": spec.example,
        "kernel": spec.kernel,
        "idle_with": spec.idle_with,
        "table": sub_table(spec.kind).map(|table| table.name),
    })
}
