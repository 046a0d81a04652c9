//! Parameters of what is chosen by name: from a table of the scenario, from the command line, into labels and the record.

use crate::direction::embedded;
use crate::reader::Table;
use crate::{ReadFile, ScenarioError};
use playpath_link::registry::Entry;
use playpath_units::{Kind, ParamSpec, ParamValue, Params, Variant};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// What there is of queues or loss models, for a declaration.
pub fn link_variants<T>(entries: &'static [Entry<T>]) -> Vec<Variant> {
    let variant =
        |e: &'static Entry<T>| Variant { name: e.about.name, aliases: &[], summary: e.about.summary, keys: e.params };
    entries.iter().map(variant).collect()
}

/// Every parameter of a set as JSON, after the name of what it belongs to.
pub fn params_json(tag: &str, name: &str, params: &Params) -> Value {
    Value::Object([(tag.to_string(), json!(name))].into_iter().chain(settings_map(params)).collect())
}

pub fn settings_json(params: &Params) -> Value {
    Value::Object(settings_map(params))
}

fn settings_map(params: &Params) -> Map<String, Value> {
    let value = |(spec, value): (&ParamSpec, ParamValue)| {
        let value = match (value, spec.kind) {
            (ParamValue::Number(x), _) => whole_or_not(x),
            (ParamValue::Flag(b), _) => json!(b),
            (ParamValue::Word(text), Kind::File) => json!({ "content": text }),
            (ParamValue::Word(text), _) => json!(text),
        };
        (spec.name.to_string(), value)
    };
    params.iter().map(value).collect()
}

/// 4 rather than 4.0.
pub fn whole_or_not(x: f64) -> Value {
    if x.fract() == 0.0 && x.abs() < 1e15 { json!(x as i64) } else { json!(x) }
}

/// Reads every key of `own` but its tag as a parameter; files by `read_file`.
pub fn set_params(own: &Table, params: &mut Params, read_file: ReadFile) -> Result<(), ScenarioError> {
    let specs: Vec<&'static ParamSpec> = params.iter().map(|(spec, _)| spec).collect();
    for spec in specs.iter().filter(|spec| matches!(spec.kind, Kind::File)) {
        let content =
            embedded(own, spec.name, read_file)?.ok_or_else(|| own.missing(spec.name, "give a file's name"))?;
        params.set_word(spec.name, &content).map_err(|e| own.error(spec.name, e))?;
    }
    for (key, value) in own.parameters() {
        set_param(params, key, value).map_err(|e| own.error(key, e))?;
    }
    Ok(())
}

/// A table without a choice: every key that is given as a parameter.
pub fn read_params(own: &Table, specs: &'static [ParamSpec]) -> Result<Params, ScenarioError> {
    let mut params = Params::defaults(specs);
    for spec in specs {
        if let Some(value) = own.value(spec.name) {
            set_param(&mut params, spec.name, value).map_err(|e| own.error(spec.name, e))?;
        }
    }
    Ok(params)
}

fn set_param(params: &mut Params, key: &str, value: &Value) -> Result<(), String> {
    match value {
        Value::Bool(b) => params.set_flag(key, *b),
        Value::String(s) => params.set_word(key, s),
        Value::Number(n) => params.set_number(key, n.as_f64().unwrap_or(f64::NAN)),
        Value::Array(items) => {
            let texts: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
            params.set_word(key, &texts.ok_or("is a list of texts")?.join(", "))
        }
        other => Err(format!("`{key}` = {other} is not a parameter's value")),
    }
}

/// "dft:penalise=false" or "dft(penalise=false)": the name and the pairs.
pub fn split(text: &str) -> (&str, &str) {
    let in_brackets = text.strip_suffix(')').and_then(|text| text.split_once('('));
    in_brackets.or_else(|| text.split_once(':')).unwrap_or((text, ""))
}

/// Sets "kp=2.5,mode=paper".
pub fn set_pairs(pairs: &str, params: &mut Params) -> Result<(), String> {
    let mut given = BTreeSet::new();
    for pair in pairs.split(',').filter(|p| !p.is_empty()) {
        let (key, text) = pair.split_once('=').ok_or_else(|| format!("\"{pair}\": write parameter=value"))?;
        if !given.insert(key.trim()) {
            return Err(format!("\"{}\" is given twice", key.trim()));
        }
        params.set_text(key.trim(), text.trim())?;
    }
    Ok(())
}

/// "ccplb(pob_rate=2)": the name and what differs from the defaults.
pub fn label(name: &str, params: &Params, defaults: &Params) -> String {
    let pairs = params.iter().zip(defaults.iter());
    let changed: Vec<String> = pairs
        .filter(|((_, value), (_, default))| value != default)
        .map(|((spec, value), _)| format!("{}={value}", spec.name))
        .collect();
    if changed.is_empty() { name.into() } else { format!("{name}({})", changed.join(",")) }
}
