//! The engine in a browser: text in, text and typed arrays out. One call plays one session; workers of the page call it beside
//! each other. What is JSON here is JSON in `playpath._engine`, byte for byte.

use js_sys::{Float64Array, Object, Reflect};
use playpath_api::{VERSION, record_json, registries, traces};
use playpath_record::Series;
use playpath_scenario::Scenario;
use playpath_sim::Tracing;
use serde_json::Value;
use std::fmt::Display;
use wasm_bindgen::prelude::*;

/// Version of the engine; part of every manifest.
#[wasm_bindgen]
pub fn version() -> String {
    VERSION.into()
}

/// The scenario (TOML or JSON text) with every default written out, as JSON. `files_json` maps the names of the files that it may
/// name to their text. Error: one line.
#[wasm_bindgen]
pub fn resolve(text: &str, overrides_json: &str, files_json: &str) -> Result<String, JsError> {
    let files: Value = serde_json::from_str(files_json).map_err(error)?;
    let scenario = playpath_api::resolve(text, overrides_json, &|name| read(&files, name)).map_err(error)?;
    Ok(scenario.to_json().to_string())
}

/// The scenario as TOML without defaults, the changes written in, with these senders (a JSON list of names) alone.
#[wasm_bindgen]
pub fn edit(text: &str, overrides_json: &str, senders_json: &str, files_json: &str) -> Result<String, JsError> {
    let files: Value = serde_json::from_str(files_json).map_err(error)?;
    let overrides: Value = serde_json::from_str(overrides_json).map_err(error)?;
    let senders: Vec<String> = serde_json::from_str(senders_json).map_err(error)?;
    playpath_scenario::edit(text, &overrides, &senders, &|name| read(&files, name)).map_err(error)
}

fn read(files: &Value, name: &str) -> Result<Vec<u8>, String> {
    match files.get(name).and_then(Value::as_str) {
        Some(text) => Ok(text.as_bytes().to_vec()),
        None => Err(format!("cannot read \"{name}\": the page has no such file; drop it on the page, too")),
    }
}

/// What there is of a kind (`cc`, `queue`, `metric`, …), as a JSON list.
#[wasm_bindgen]
pub fn registry(kind: &str) -> Result<String, JsError> {
    registries::list(kind).map(|list| list.to_string()).map_err(error)
}

/// Mean rate, RTT and loss of each path of a resolved scenario, as a JSON list.
#[wasm_bindgen]
pub fn path_figures(resolved_json: &str) -> Result<String, JsError> {
    Ok(playpath_api::resolved(resolved_json).map_err(error)?.path_figures().to_string())
}

/// A first look at a bandwidth trace, as JSON.
#[wasm_bindgen]
pub fn preview_trace(text: &str, bins: u32) -> Result<String, JsError> {
    traces::preview(text, None, bins).map_err(error)
}

/// A comparison judged: values and answer as JSON, see `playpath_verdict::judge`.
#[wasm_bindgen]
pub fn judge(values_json: &str, has_video: bool) -> Result<String, JsError> {
    let values: Value = serde_json::from_str(values_json).map_err(error)?;
    playpath_verdict::judge(&values, has_video).map(|judged| judged.to_string()).map_err(error)
}

/// A resolved scenario, ready to be played many times.
#[wasm_bindgen]
pub struct Stage {
    scenario: Scenario,
}

#[wasm_bindgen]
impl Stage {
    /// From the answer of [`resolve`].
    #[wasm_bindgen(constructor)]
    pub fn new(resolved_json: &str) -> Result<Stage, JsError> {
        Ok(Stage { scenario: playpath_api::resolved(resolved_json).map_err(error)? })
    }

    /// Plays one session with one sender and seed; with a trace its series and packets are kept.
    pub fn play(&self, sender: &str, seed: u32, with_trace: bool) -> Result<Played, JsError> {
        let tracing = if with_trace { Tracing::Packets } else { Tracing::Off };
        let record = playpath_sim::run(&self.scenario, sender, seed.into(), tracing).map_err(error)?;
        let json = record_json(&self.scenario, sender, seed.into(), &record).to_string();
        Ok(Played { json, series: record.series })
    }
}

/// What a session left.
#[wasm_bindgen]
pub struct Played {
    json: String,
    series: Vec<Series>,
}

#[wasm_bindgen]
impl Played {
    /// Its record as JSON, with the digest.
    #[wasm_bindgen(getter)]
    pub fn record(&self) -> String {
        self.json.clone()
    }

    /// Its time series, `{series: {column: Float64Array}}`; empty without a trace.
    pub fn series(&self) -> Object {
        let all = Object::new();
        for series in &self.series {
            let columns = Object::new();
            for (name, values) in &series.columns {
                set(&columns, name, &Float64Array::from(values.as_slice()));
            }
            set(&all, &series.name, &columns);
        }
        all
    }
}

fn set(object: &Object, key: &str, value: &JsValue) {
    Reflect::set(object, &key.into(), value).expect("a plain object takes every key");
}

fn error(error: impl Display) -> JsError {
    JsError::new(&error.to_string())
}
