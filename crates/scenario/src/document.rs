//! A scenario as a document: TOML or JSON text, one tree of values, and the line of every key or the option that set it.

use crate::ScenarioError;
use crate::reader::place;
use serde_json::{Map, Value};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use toml::de::{DeTable, DeValue};

/// The tree and where its keys stand: `lines` maps a key's path (`path[0].queue.limit`) to its line in TOML text, `options` to what
/// the command line set it with (`--set path.wifi.queue`).
#[derive(Default)]
pub struct Document {
    pub root: Map<String, Value>,
    pub lines: BTreeMap<String, usize>,
    pub options: BTreeMap<String, String>,
    /// Places of the keys that were read.
    read: RefCell<BTreeSet<String>>,
}

impl Document {
    /// Parses JSON if the text starts with `{`, TOML otherwise. Errors: one line with the line number.
    pub fn parse(text: &str) -> Result<Document, ScenarioError> {
        if text.trim_start().starts_with('{') {
            return from_json(text);
        }
        let table = DeTable::parse(text).map_err(|e| {
            let before = &text.as_bytes()[..e.span().map_or(0, |span| span.start.min(text.len()))];
            let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
            ScenarioError::new(format!("line {line}: not valid TOML: {}", e.message().lines().next().unwrap_or("")))
        })?;
        let mut places =
            Places { breaks: text.match_indices('\n').map(|(at, _)| at).collect(), lines: BTreeMap::new() };
        let root = places.convert_table(table.get_ref(), "")?;
        Ok(Document { root, lines: places.lines, ..Document::default() })
    }

    /// Notes that a key of the table at `table` was read.
    pub fn mark(&self, table: &str, key: &str) {
        self.read.borrow_mut().insert(place(table, key));
    }

    pub fn is_read(&self, at: &str) -> bool {
        self.read.borrow().contains(at)
    }

    /// An error about the key at `at`, a key of the table at `table`: with the option that set it, or its line.
    pub fn error(&self, table: &str, at: &str, message: impl Display) -> ScenarioError {
        let is_within =
            |key: &str| at.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
        if let Some((key, option)) = self.options.iter().rev().find(|(key, _)| is_within(key)) {
            let inner = if key == at { String::new() } else { format!("`{at}`: ") };
            return ScenarioError::new(format!("{option}: {inner}{message}"));
        }
        let line = self.lines.get(at);
        // A table that is not in the text is there for what an option has put into it.
        let made = |key: &str| key.strip_prefix(at).is_some_and(|rest| rest.starts_with('.'));
        let option = self.options.iter().find(|(key, _)| line.is_none() && made(key));
        ScenarioError::new(match (option, line.or_else(|| self.lines.get(table))) {
            (Some((_, option)), _) => format!("{option}: `{at}`: {message}"),
            (None, Some(line)) => format!("line {line}: `{at}`: {message}"),
            (None, None) => format!("`{at}`: {message}"),
        })
    }
}

fn from_json(text: &str) -> Result<Document, ScenarioError> {
    match serde_json::from_str(text) {
        Ok(Value::Object(root)) => Ok(Document { root, ..Document::default() }),
        Ok(_) => Err(ScenarioError::new("a scenario in JSON is one object".into())),
        Err(e) => Err(ScenarioError::new(format!("line {}: not valid JSON: {e}", e.line()))),
    }
}

struct Places {
    /// Offsets of the ends of lines.
    breaks: Vec<usize>,
    lines: BTreeMap<String, usize>,
}

impl Places {
    fn line_of(&self, offset: usize) -> usize {
        self.breaks.partition_point(|at| *at < offset) + 1
    }

    fn convert_table(&mut self, table: &DeTable, path: &str) -> Result<Map<String, Value>, ScenarioError> {
        let mut map = Map::new();
        for (key, value) in table.iter() {
            let name = key.get_ref().to_string();
            let at = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            let line = self.line_of(key.span().start);
            self.lines.insert(at.clone(), line);
            map.insert(name, self.convert(value.get_ref(), &at, line)?);
        }
        Ok(map)
    }

    fn convert(&mut self, value: &DeValue, at: &str, line: usize) -> Result<Value, ScenarioError> {
        Ok(match value {
            DeValue::String(s) => Value::String(s.to_string()),
            DeValue::Boolean(b) => Value::Bool(*b),
            DeValue::Integer(n) => i64::from_str_radix(n.as_str(), n.radix())
                .map(Value::from)
                .map_err(|_| ScenarioError::new(format!("line {line}: `{at}` = {n} is too large")))?,
            DeValue::Float(x) => {
                let number = x.as_str().parse::<f64>().ok().and_then(serde_json::Number::from_f64);
                number.map(Value::Number).ok_or_else(|| {
                    ScenarioError::new(format!("line {line}: `{at}` = {} is not a finite number", x.as_str()))
                })?
            }
            DeValue::Datetime(d) => Value::String(d.to_string()),
            DeValue::Array(items) => {
                let mut values = Vec::new();
                for (i, item) in items.iter().enumerate() {
                    let path = format!("{at}[{i}]");
                    let line = self.line_of(item.span().start);
                    self.lines.insert(path.clone(), line);
                    values.push(self.convert(item.get_ref(), &path, line)?);
                }
                Value::Array(values)
            }
            DeValue::Table(table) => Value::Object(self.convert_table(table, at)?),
        })
    }
}
