//! Parameters of what is chosen by name: from a table of the scenario, from the command line, into labels and the record.

use crate::ScenarioError;
use crate::reader::{Table, unknown};
use playpath_units::{ParamValue, Params};
use serde_json::{Map, Value, json};

/// Every parameter of a set as JSON.
pub fn params_json(params: &Params) -> Map<String, Value> {
    params
        .iter()
        .map(|(spec, value)| {
            let value = match value {
                ParamValue::Number(x) => json!(x),
                ParamValue::Flag(b) => json!(b),
                ParamValue::Word(w) => json!(w),
            };
            (spec.name.to_string(), value)
        })
        .collect()
}

/// Reads every key of `own` but its tag as a parameter.
pub fn set_params(own: &Table, params: &mut Params) -> Result<(), ScenarioError> {
    for (key, value) in own.rest() {
        set_param(params, key, value).map_err(|e| own.error(key, e))?;
    }
    Ok(())
}

fn set_param(params: &mut Params, key: &str, value: &Value) -> Result<(), String> {
    if !params.iter().any(|(spec, _)| spec.name == key) {
        return Err(unknown("parameter", key, params.iter().map(|(spec, _)| spec.name)));
    }
    match value {
        Value::Bool(b) => params.set_flag(key, *b),
        Value::String(s) => params.set_word(key, s),
        Value::Number(n) => params.set_number(key, n.as_f64().unwrap_or(f64::NAN)),
        other => Err(format!("{other} is not a parameter's value")),
    }
}

/// "dft:penalise=false" as the command line gives it: the name and the pairs.
pub fn split(text: &str) -> (&str, &str) {
    text.split_once(':').unwrap_or((text, ""))
}

/// Sets "kp=2.5,mode=paper".
pub fn set_pairs(pairs: &str, params: &mut Params) -> Result<(), String> {
    for pair in pairs.split(',').filter(|p| !p.is_empty()) {
        let (key, text) = pair.split_once('=').ok_or_else(|| format!("\"{pair}\": write parameter=value"))?;
        let text = text.trim();
        let value = match text.parse::<f64>() {
            Ok(x) => json!(x),
            Err(_) if text == "true" || text == "false" => json!(text == "true"),
            Err(_) => json!(text),
        };
        set_param(params, key.trim(), &value)?;
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
