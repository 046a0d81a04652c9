//! Requests of the page and their answers.

use playpath_api::{VERSION, record_json, registries, traces};
use playpath_record::Series;
use playpath_scenario::{Scenario, ScenarioError, vary as choices};
use playpath_sim::Tracing;
use playpath_verdict::Choice;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// A request, as JSON: `{"call": "registry", "kind": "cc"}`.
#[derive(Deserialize)]
#[serde(tag = "call", rename_all = "snake_case", deny_unknown_fields)]
enum Question {
    /// The engine's version; part of every manifest.
    Version {},
    /// The scenario (TOML or JSON text) with every default written out. `files` maps the names of the files that it may name to
    /// their text.
    Resolve { text: String, overrides: Value, files: Value },
    /// The scenario as TOML without defaults, the changes written in, with these senders alone.
    Edit { text: String, overrides: Value, senders: Vec<String>, files: Value },
    /// Expand a scenario with `[[choice]]`: the scenario with the choices as its senders, and for each choice its name, its meaning and the
    /// text of its variant.
    Vary { text: String, files: Value },
    /// The registered components of a kind (`cc`, `queue`, `metric`, …).
    Registry { kind: String },
    /// Mean rate, RTT and loss of each path of a resolved scenario.
    PathFigures { resolved: String },
    /// A first look at a bandwidth trace.
    PreviewTrace { text: String, bins: u32 },
    /// A comparison judged: values and answer, see `playpath_verdict::judge`.
    Judge { values: Value, has_video: bool, prefer: String, choices: Vec<Choice> },
    /// Sets a resolved scenario up to be played many times.
    Stage { resolved: String },
    /// Plays one session of the current scenario; with a trace its series and packets are kept.
    Play { sender: String, seed: u32, trace: bool },
}

/// JSON, and the numbers that would be slow in it.
#[derive(Default)]
pub struct Answer {
    pub text: String,
    pub numbers: Vec<f64>,
}

/// State kept between requests: the current scenario.
#[derive(Default)]
pub struct Stage {
    scenario: Option<Scenario>,
}

impl Stage {
    /// Error: one line.
    pub fn answer(&mut self, asked: &[u8]) -> Result<Answer, String> {
        let text = match serde_json::from_slice(asked).map_err(one_line)? {
            Question::Version {} => json!(VERSION).to_string(),
            Question::Resolve { text, overrides, files } => {
                let scenario = Scenario::parse(&text, &overrides, &|name| read(&files, name)).map_err(one_line)?;
                scenario.to_json().to_string()
            }
            Question::Edit { text, overrides, senders, files } => {
                let read = |name: &str| read(&files, name);
                json!(playpath_scenario::edit(&text, &overrides, &senders, &read).map_err(one_line)?).to_string()
            }
            Question::Vary { text, files } => vary(&text, &files).map_err(one_line)?.to_string(),
            Question::Registry { kind } => registries::list(&kind)?.to_string(),
            Question::PathFigures { resolved } => resolve(&resolved)?.path_figures().to_string(),
            Question::PreviewTrace { text, bins } => traces::preview(&text, None, bins)?,
            Question::Judge { values, has_video, prefer, choices } => {
                playpath_verdict::judge(&values, has_video, &prefer, &choices)?.to_string()
            }
            Question::Stage { resolved } => {
                self.scenario = Some(resolve(&resolved)?);
                Value::Null.to_string()
            }
            Question::Play { sender, seed, trace } => return self.play(&sender, seed.into(), trace),
        };
        Ok(Answer { text, numbers: Vec::new() })
    }

    fn play(&self, sender: &str, seed: u64, trace: bool) -> Result<Answer, String> {
        let scenario = self.scenario.as_ref().ok_or("play: no scenario was set up; ask for \"stage\" first")?;
        let tracing = if trace { Tracing::Packets } else { Tracing::Off };
        let record = playpath_sim::run(scenario, sender, seed, tracing).map_err(one_line)?;
        let text = json!({
            "record": record_json(scenario, sender, seed, &record),
            "series": record.series.iter().map(layout).collect::<Vec<_>>(),
        });
        let numbers = record.series.iter().flat_map(|series| &series.columns).flat_map(|(_, values)| values);
        Ok(Answer { text: text.to_string(), numbers: numbers.copied().collect() })
    }
}

fn vary(text: &str, files: &Value) -> Result<Value, ScenarioError> {
    let read = |name: &str| read(files, name);
    let axes = Scenario::parse(text, &json!({}), &read)?.choices;
    let variant = |mut settings: Map<String, Value>| {
        settings.insert("choice".into(), json!([]));
        Ok(Scenario::parse(text, &json!({ "set": settings }), &read)?.to_json())
    };
    let mut resolved = variant(Map::new())?;
    let combinations = choices::combinations(&resolved, &axes)?;
    let variants =
        combinations.iter().map(|found| variant(found.settings.clone())).collect::<Result<Vec<_>, ScenarioError>>()?;
    let name = |sender: &Value| sender["name"].as_str().unwrap_or_default().to_string();
    let senders = |variant: &Value| variant["sender"].as_array().into_iter().flatten().map(name).collect::<Vec<_>>();
    let named: Vec<_> =
        combinations.iter().zip(&variants).map(|(found, of)| (found.value.clone(), senders(of))).collect();
    let mut names = choices::names(&named).into_iter();
    let mut choices = Vec::new();
    for ((value, own), of) in named.iter().zip(&variants) {
        for (sender, name) in own.iter().zip(names.by_ref()) {
            let played = choices::alone(of.clone(), sender, &name);
            choices.push((
                played["sender"][0].clone(),
                json!({ "name": name, "sender": sender, "value": value, "text": played.to_string() }),
            ));
        }
    }
    let (entries, choices): (Vec<Value>, Vec<Value>) = choices.into_iter().unzip();
    resolved["sender"] = Value::Array(entries);
    Ok(json!({ "resolved": resolved, "choices": choices }))
}

/// A series without its numbers: names of the columns, and how many numbers each has.
fn layout(series: &Series) -> Value {
    let columns: Vec<_> = series.columns.iter().map(|(name, values)| json!([name, values.len()])).collect();
    json!([series.name, columns])
}

fn resolve(text: &str) -> Result<Scenario, String> {
    playpath_api::resolved(text).map_err(one_line)
}

fn read(files: &Value, name: &str) -> Result<Vec<u8>, String> {
    match files.get(name).and_then(Value::as_str) {
        Some(text) => Ok(text.as_bytes().to_vec()),
        None => Err(format!("cannot read \"{name}\": the page has no such file; drop it on the page as well")),
    }
}

fn one_line(error: impl ToString) -> String {
    error.to_string()
}
