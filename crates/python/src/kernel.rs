//! Linux's equivalent of a scenario's congestion control; the table is `playpath_cc::kernel`.

use playpath_cc::{ParamValue, Stack, find};
use serde_json::{Map, Value, json};

/// `control` (`reno`, or `bpf:vegas` for ours), its `settings` that differ from its defaults, the requested `stack_params` of a stack that have
/// no effect, and the further inputs that the control `takes` from the application or the test bed. Error: one line that says what Linux
/// does not have.
pub fn control(cc: &Value, validation: &str) -> Result<Value, String> {
    let empty = Map::new();
    let (name, given) = match cc {
        Value::Object(table) => (table.get("name").and_then(Value::as_str), table),
        other => (other.as_str(), &empty),
    };
    let name = name.ok_or_else(|| format!("{cc} names no congestion control"))?;
    let entry = find(name).ok_or_else(|| format!("unknown congestion control `{name}`"))?;
    let mut params = entry.params_of(Stack::Linux);
    for (key, value) in given.iter().filter(|(key, _)| *key != "name") {
        match value {
            Value::Bool(x) => params.set_flag(key, *x),
            Value::String(x) => params.set_word(key, x),
            other => params.set_number(key, other.as_f64().unwrap_or(f64::NAN)),
        }?;
    }
    if validation == "newcwv_2013" {
        return Err(
            "Linux's controls have no `validation` = \"newcwv_2013\" here; there are newcwv, rfc2861 and none".into()
        );
    }
    let found = entry.on_kernel(&params, validation == "newcwv").map_err(|refused| refused.to_string())?;
    let own = |name: &str| entry.params.iter().all(|spec| spec.name != name);
    let takes = found.control.law().into_iter().flat_map(|law| law.slots()).map(|slot| slot.spec.name);
    Ok(json!({
        "control": found.control.to_string(),
        "settings": table(&found.settings),
        "habits": table(&found.stack_params),
        "takes": takes.filter(|name| own(name)).collect::<Vec<_>>(),
    }))
}

fn table(values: &[(&'static str, ParamValue)]) -> Map<String, Value> {
    let json = |value| match value {
        ParamValue::Number(x) => json!(x),
        ParamValue::Flag(x) => json!(x),
        ParamValue::Word(x) => json!(x),
    };
    values.iter().map(|(name, value)| (name.to_string(), json(*value))).collect()
}
