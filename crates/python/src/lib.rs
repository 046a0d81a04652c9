//! `playpath._engine`: the only extension module. Python calls once per run, with the interpreter released, and gets a record
//! in JSON and the time series as numpy columns. No call per packet crosses the language boundary.

mod code_loader;
mod controller;
mod judge;
mod kernel;
mod memory;
mod pcap;
mod prototype;
mod rule;
mod watch;

use numpy::IntoPyArray;
use playpath_api::{VERSION, record_json, registries, traces};
use playpath_record::Record;
use playpath_scenario::Scenario;
use playpath_sim::{Options, Recording, Tracing};
use playpath_units::names::unknown;
use playpath_units::{Bytes, Duration, Rate};
use playpath_video::p1203::p1203_input;
use prototype::{FirstError, Source};
use pyo3::exceptions::PyValueError;
use pyo3::import_exception;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use watch::Watcher;

import_exception!(playpath.base.errors, InputError);
import_exception!(playpath.base.errors, RunError);

/// Version of the engine; part of every manifest.
#[pyfunction]
fn version() -> &'static str {
    VERSION
}

/// Fingerprint of this build's sources, for stores of sessions; no record has it.
#[pyfunction]
fn build() -> &'static str {
    env!("PLAYPATH_BUILD")
}

/// The scenario (TOML or JSON text) with every default written out, as JSON. Files that it names are read relative to
/// `base_dir` and become part of the result.
#[pyfunction]
#[pyo3(signature = (text, base_dir, overrides_json = "{}"))]
fn resolve(text: &str, base_dir: PathBuf, overrides_json: &str) -> PyResult<String> {
    let scenario = playpath_api::resolve(text, overrides_json, &|name| read_file(&base_dir, name));
    Ok(scenario.map_err(input_error)?.to_json().to_string())
}

/// Every combination of the values that keys may take on a resolved scenario, both as JSON: `[[key, [value, …]], …]` to
/// `[{"value": how it is called, "settings": {key: value}}, …]`.
#[pyfunction]
fn combinations(resolved: &str, axes: &str) -> PyResult<String> {
    let wrong = |error: serde_json::Error| PyValueError::new_err(error.to_string());
    let plain = serde_json::from_str(resolved).map_err(wrong)?;
    let axes: Vec<(String, Vec<serde_json::Value>)> = serde_json::from_str(axes).map_err(wrong)?;
    let found = playpath_scenario::vary::combinations(&plain, &axes).map_err(input_error)?;
    let listed = found.into_iter().map(|one| serde_json::json!({ "value": one.value, "settings": one.settings }));
    Ok(serde_json::Value::from_iter(listed).to_string())
}

/// How senders of variants are compared: of each variant what its values are called, and its senders.
#[pyfunction]
fn choice_names(variants: Vec<(String, Vec<String>)>) -> Vec<String> {
    playpath_scenario::vary::names(&variants)
}

fn read_file(base_dir: &Path, name: &str) -> Result<Vec<u8>, String> {
    playpath_shell::read_file(&base_dir.join(name)).map_err(|problem| format!("cannot read \"{name}\": {problem}"))
}

fn input_error(error: impl ToString) -> PyErr {
    InputError::new_err(error.to_string())
}

/// A quantity of a resolved scenario as a number: seconds, bits per second, or bytes.
#[pyfunction]
fn number(text: &str) -> PyResult<f64> {
    let time = || text.parse::<Duration>().ok().map(Duration::as_secs_f64);
    let rate = || text.parse::<Rate>().ok().map(|rate| rate.as_bits_per_sec() as f64);
    let size = text.parse::<Bytes>().map(|bytes| bytes.0 as f64);
    time().or_else(rate).map_or_else(|| size.map_err(input_error), Ok)
}

/// The video of a resolved scenario as it was read, as JSON; "null" without one.
#[pyfunction]
fn film_figures(resolved_json: &str) -> PyResult<String> {
    Ok(parsed(resolved_json).map_err(input_error)?.film_figures().to_string())
}

/// Mean rate, RTT and loss of each path of a resolved scenario, as a JSON list.
#[pyfunction]
fn path_figures(resolved_json: &str) -> PyResult<String> {
    Ok(parsed(resolved_json).map_err(input_error)?.path_figures().to_string())
}

/// Plays a resolved scenario with one sender and seed. Returns the record as JSON and, with `trace`, `{series: {column: array}}`:
/// with `packets` those of single packets among them, with `series` only those whose names begin with one of its entries, sampled
/// at an interval of `every` seconds. `controller` and `rule` make a congestion control and an ABR rule written in Python. `watch`
/// is called from time to time with the simulated seconds and those expected; an exception that it raises ends the run, as
/// Ctrl-C does.
#[pyfunction]
#[pyo3(signature = (resolved_json, sender, seed, trace = false, packets = false, controller = None, rule = None, watch = None, series = None, every = None))]
#[expect(clippy::too_many_arguments, reason = "called by name, by one wrapper in Python")]
fn run<'py>(
    py: Python<'py>,
    resolved_json: &str,
    sender: &str,
    seed: u64,
    trace: bool,
    packets: bool,
    controller: Option<Py<PyAny>>,
    rule: Option<Py<PyAny>>,
    watch: Option<Py<PyAny>>,
    series: Option<Vec<String>>,
    every: Option<f64>,
) -> PyResult<(String, Bound<'py, PyDict>)> {
    let tracing = match (trace, packets) {
        (false, _) => Tracing::Off,
        (true, false) => Tracing::Series,
        (true, true) => Tracing::Packets,
    };
    let error = FirstError::default();
    let unnamed = |factory| Source { reference: String::new(), factory };
    let prototype = controller.map(|factory| code_loader::control(unnamed(factory), error.clone()));
    let rule = rule.map(|factory| code_loader::rule(unnamed(factory), error.clone()));
    let mut watcher = Watcher::new(watch, error.clone());
    let played = py.detach(|| {
        let mut scenario = code_loader::with_own(parsed(resolved_json)?, sender, &error)?;
        if let Some(rule) = rule {
            scenario = Arc::new(scenario.with_rule(rule)?);
        }
        let watch = &mut |progress| watcher.look(progress);
        let recording = Recording { tracing, series: series.as_deref(), every: every.map(Duration::from_secs_f64) };
        let options = Options { recording, prototype, watch: Some(watch) };
        let record = playpath_sim::run_with(&scenario, sender, seed, options)?;
        Ok((record_json(&scenario, sender, seed, &record).to_string(), record))
    });
    let (json, record) = finished(played, &error)?;
    Ok((json, series_dict(py, record)?))
}

/// The result of the run, unless Python code raised an error during it.
fn finished<T>(played: Result<T, playpath_scenario::ScenarioError>, error: &FirstError) -> PyResult<T> {
    match error.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take() {
        Some(raised) => Err(raised),
        None => played.map_err(input_error),
    }
}

/// Plays a session and writes the packets at the server's interface to a pcapng file: headers without payload.
#[pyfunction]
fn capture(py: Python<'_>, resolved_json: &str, sender: &str, seed: u64, path: PathBuf) -> PyResult<()> {
    let error = FirstError::default();
    let mut watcher = Watcher::new(None, error.clone());
    let played = py.detach(|| {
        let scenario = code_loader::with_own(parsed(resolved_json)?, sender, &error)?;
        playpath_sim::capture(&scenario, sender, seed, &mut |progress| watcher.look(progress))
    });
    let packets = finished(played, &error)?;
    let written = py.detach(|| pcap::write(&path, &packets));
    written.map_err(|error| RunError::new_err(format!("cannot write the capture: {error}")))
}

/// Plays a session and writes a qlog of each QUIC connection, as its server sees it, into a folder.
#[pyfunction]
fn qlogs(py: Python<'_>, resolved_json: &str, sender: &str, seed: u64, folder: PathBuf) -> PyResult<()> {
    let error = FirstError::default();
    let mut watcher = Watcher::new(None, error.clone());
    let failed = Arc::new(Mutex::new(None));
    let error_text = failed.clone();
    let make = move |name: &str| {
        let path = folder.join(format!("{}.sqlog", name.replace('/', "-")));
        match File::create(&path) {
            Ok(file) => Some(Box::new(BufWriter::new(file)) as Box<_>),
            Err(error) => {
                let text = format!("cannot write {}: {error}", path.display());
                error_text.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).get_or_insert(text);
                None
            }
        }
    };
    let played = py.detach(|| {
        let scenario = code_loader::with_own(parsed(resolved_json)?, sender, &error)?;
        playpath_sim::log_connections(&scenario, sender, seed, Box::new(make), &mut |progress| watcher.look(progress))
    });
    finished(played, &error)?;
    let failed = failed.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
    failed.map_or(Ok(()), |text| Err(RunError::new_err(text)))
}

/// Plays a session and returns the input of ITU-T P.1203 tools for it, as JSON. The reference software is not part of this
/// project.
#[pyfunction]
fn p1203(py: Python<'_>, resolved_json: &str, sender: &str, seed: u64) -> PyResult<String> {
    let events = play_untraced(py, resolved_json, sender, seed, |_, record| record.events)?;
    if events.is_empty() {
        return Err(input_error("a P.1203 input needs a scenario with [video]"));
    }
    Ok(p1203_input(&events).to_string())
}

/// The same as [`run`], for callers that need only the metrics: returns the record's `metrics` and `digest`, as JSON. Handing over the
/// rest, above all the scenario's traces, would take longer than many sessions take to simulate.
#[pyfunction]
fn run_metrics(py: Python<'_>, resolved_json: &str, sender: &str, seed: u64) -> PyResult<String> {
    play_untraced(py, resolved_json, sender, seed, |scenario, record| {
        let whole = record_json(scenario, sender, seed, &record);
        json!({ "metrics": whole["metrics"], "digest": whole["digest"] }).to_string()
    })
}

/// Plays a session without series and returns the result of `told` for it; the interpreter is released meanwhile.
fn play_untraced<T: Send>(
    py: Python<'_>,
    resolved_json: &str,
    sender: &str,
    seed: u64,
    summarise: impl FnOnce(&Scenario, Record) -> T + Send,
) -> PyResult<T> {
    let error = FirstError::default();
    let mut watcher = Watcher::new(None, error.clone());
    let played = py.detach(|| {
        let scenario = code_loader::with_own(parsed(resolved_json)?, sender, &error)?;
        let watch = &mut |progress| watcher.look(progress);
        let options = Options { watch: Some(watch), ..Options::default() };
        let record = playpath_sim::run_with(&scenario, sender, seed, options)?;
        Ok(summarise(&scenario, record))
    });
    finished(played, &error)
}

/// The last scenario parsed: a comparison plays the same one many times.
static LAST: Mutex<Option<(String, Arc<Scenario>)>> = Mutex::new(None);

fn parsed(text: &str) -> Result<Arc<Scenario>, playpath_scenario::ScenarioError> {
    let mut last = LAST.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some((_, scenario)) = last.as_ref().filter(|(known, _)| known == text) {
        return Ok(scenario.clone());
    }
    let scenario = Arc::new(playpath_api::resolved(text)?);
    *last = Some((text.to_string(), scenario.clone()));
    Ok(scenario)
}

fn series_dict(py: Python<'_>, record: Record) -> PyResult<Bound<'_, PyDict>> {
    let all = PyDict::new(py);
    for series in record.series {
        let columns = PyDict::new(py);
        for (name, values) in series.columns {
            columns.set_item(name, values.into_pyarray(py))?;
        }
        all.set_item(series.name, columns)?;
    }
    Ok(all)
}

/// The record of a run that another world measured, as JSON from JSON: see crates/record/src/measurements.rs.
#[pyfunction]
fn record(measurements_json: &str) -> PyResult<String> {
    let made = playpath_record::record_of_json(measurements_json);
    made.map(|record| record.to_string()).map_err(|e| RunError::new_err(format!("measurements: {e}")))
}

/// JSON Schema of a record, that of the measurements which [`record`] asks for, and the reference page of the metrics.
#[pyfunction]
fn record_reference() -> (String, String, String) {
    let text = |schema: serde_json::Value| format!("{schema:#}\n");
    let [record, measurements] = [playpath_record::schema(), playpath_record::measurements_schema()].map(text);
    (record, measurements, playpath_record::reference_page())
}

/// JSON Schema of a document: "scenario", "sweep" or "population".
#[pyfunction]
fn schema(document: &str) -> PyResult<String> {
    playpath_scenario::schema_of(document).map(|schema| format!("{schema:#}\n")).map_err(input_error)
}

/// Checks a document (TOML or JSON text) by its declaration alone.
#[pyfunction]
fn check(document: &str, text: &str) -> PyResult<()> {
    playpath_scenario::check_document(document, text).map_err(input_error)
}

/// The tables of all documents with their keys, as JSON.
#[pyfunction]
fn declarations() -> String {
    playpath_scenario::declarations().to_string()
}

/// "unknown cc "cubik"; did you mean "cubic"? allowed: …".
#[pyfunction]
fn unknown_name(what: &str, name: &str, allowed: Vec<String>) -> String {
    unknown(what, name, allowed.iter().map(String::as_str))
}

/// Jain's index of fairness; None for fewer than two shares.
#[pyfunction]
fn jain_index(shares: Vec<f64>) -> Option<f64> {
    playpath_record::jain_index(&shares)
}

/// The registered components of a kind (`cc`, `queue`, `player`, …), as a JSON list.
#[pyfunction]
fn registry(kind: &str) -> PyResult<String> {
    registries::list(kind).map(|list| list.to_string()).map_err(input_error)
}

/// Parse a player's client data (CMCD): a URL (or its query) with `CMCD=`, or the value of one header or several, joined with commas.
/// Returns the keys that a sender can use, as JSON; malformed ones are left out.
#[pyfunction]
fn parse_cmcd(text: &str) -> String {
    let is_query = text.contains("CMCD=");
    let data = if is_query { playpath_video::cmcd::parse_query(text) } else { playpath_video::cmcd::parse(text) }.cmcd;
    json!({ "sid": data.sid, "br_kbps": data.br_kbps, "bl_ms": data.bl_ms, "d_ms": data.d_ms, "mtp_kbps": data.mtp_kbps,
        "ot": data.ot.map(|ot| ot.token()), "v": data.version.unwrap_or(1) })
    .to_string()
}

/// Linux's equivalent of a congestion control (JSON as in a resolved sender) with this window validation, as JSON.
#[pyfunction]
fn kernel_control(cc_json: &str, validation: &str) -> PyResult<String> {
    let cc = serde_json::from_str(cc_json).map_err(input_error)?;
    kernel::control(&cc, validation).map(|found| found.to_string()).map_err(input_error)
}

/// A first look at a bandwidth trace, as JSON.
#[pyfunction]
#[pyo3(signature = (text, format = None, bins = 60))]
fn preview_trace(text: &str, format: Option<&str>, bins: u32) -> PyResult<String> {
    traces::preview(text, format, bins).map_err(input_error)
}

#[pyfunction]
fn convert_trace(text: &str, source: Option<&str>, target: &str, bin_s: f64) -> PyResult<String> {
    traces::convert(text, source, target, bin_s).map_err(input_error)
}

#[pyfunction]
fn generate_trace(kind: &str, settings_json: &str, seed: u64, target: &str) -> PyResult<String> {
    traces::generate(kind, settings_json, seed, target).map_err(input_error)
}

/// The path behind a session of a log: JSON in and out, with the interpreter released.
#[pyfunction]
fn infer(py: Python<'_>, question: &str) -> PyResult<String> {
    let found = py.detach(|| playpath_api::infer::path_behind(question));
    Ok(found.map_err(input_error)?.to_string())
}

#[pymodule]
mod _engine {
    #[pymodule_export]
    const DOCUMENTS: &[&str] = playpath_scenario::DOCUMENTS;
    #[pymodule_export]
    const SCHEMA_VERSION: u32 = playpath_record::SCHEMA_VERSION;
    #[pymodule_export]
    use super::{
        build, capture, check, choice_names, combinations, convert_trace, declarations, film_figures, generate_trace,
        infer, jain_index, kernel_control, number, p1203, parse_cmcd, path_figures, preview_trace, qlogs, record,
        record_reference, registry, resolve, run, run_metrics, schema, unknown_name, version,
    };
    #[pymodule_export]
    use crate::judge::{
        Judge, apart_level, bets_interval, bets_won, for_whom, median_interval, outcome_words, served, student_beyond,
        student_quantile,
    };
    #[pymodule_export]
    use crate::prototype::OwnCodeError;
}
