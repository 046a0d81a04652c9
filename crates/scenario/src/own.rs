//! Congestion controls and ABR rules from outside the registries: code of the user's own, named by where it is.
//!
//! `MODULE:NAME` is a class of a Python module. The scenario only keeps the
//! name, the parameters and the hash of the source; who runs it makes the code out of them ([`CodeLoader`]).
//! Tested by `tests/python/test_own.py`.

use crate::reader::Table;
use crate::sender::{Prototype, SenderSpec};
use crate::{Scenario, ScenarioError};
use playpath_units::names::own_reference;
use playpath_video::abr;
use serde_json::{Map, Value, json};

/// Written by who resolves a scenario, checked by who runs it: what the code was.
const HASH: &str = "source_sha256";

/// A control or a rule of the user's own.
#[derive(Clone, Debug, PartialEq)]
pub struct Own {
    /// `MODULE:NAME`.
    pub reference: String,
    /// What it is made with, by name: numbers, texts, flags.
    pub params: Map<String, Value>,
    /// SHA-256 of its source in hexadecimal; empty until it is resolved.
    pub sha256: String,
}

/// Makes code out of what a scenario names.
pub trait CodeLoader {
    fn control(&self, own: &Own) -> Result<Prototype, String>;
    fn rule(&self, own: &Own) -> Result<abr::Prototype, String>;
}

impl Own {
    /// `MODULE:NAME`, `MODULE:NAME(a=1,b=x)`, or as the command line hands it on, `MODULE:NAME:a=1,b=x`; `None` if it is none.
    pub fn parse(text: &str) -> Option<Own> {
        let (reference, inside) = own_reference(text)?;
        let mut params = Map::new();
        for pair in inside.split(',').filter(|pair| !pair.trim().is_empty()) {
            let (key, value) = pair.split_once('=')?;
            let value = serde_json::from_str(value.trim()).unwrap_or_else(|_| json!(value.trim()));
            params.insert(key.trim().to_string(), value);
        }
        Some(Own { reference: reference.into(), params, sha256: String::new() })
    }

    /// Takes the keys of the table in which it was named: numbers, texts, flags.
    pub(crate) fn take<'v>(&mut self, keys: impl IntoIterator<Item = (&'v str, &'v Value)>) {
        for (key, value) in keys.into_iter().filter(|(key, _)| *key != "name") {
            match key {
                HASH => self.sha256 = value.as_str().unwrap_or_default().into(),
                _ => drop(self.params.insert(key.to_string(), value.clone())),
            }
        }
    }

    /// `Mine(gain=2)`.
    pub(crate) fn label(&self) -> String {
        let name = self.reference.rsplit([':', '.']).next().unwrap_or_default();
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), String::from);
        let pairs: Vec<String> = self.params.iter().map(|(key, value)| format!("{key}={}", text(value))).collect();
        if pairs.is_empty() { name.into() } else { format!("{name}({})", pairs.join(",")) }
    }

    pub(crate) fn to_json(&self) -> Value {
        let mut found = Map::from_iter([("name".to_string(), json!(self.reference))]);
        if !self.sha256.is_empty() {
            found.insert(HASH.into(), json!(self.sha256));
        }
        found.extend(self.params.clone());
        Value::Object(found)
    }
}

/// An ABR rule that takes the place of the player's.
#[derive(Clone)]
pub enum RuleSpec {
    /// As typed in `[player] abr`.
    Registered(String),
    /// Of the user's own; with it once it is made.
    Own(Own, Option<abr::Prototype>),
}

impl RuleSpec {
    /// From the text of an option. Error: one line.
    pub(crate) fn parse(text: &str) -> Result<RuleSpec, String> {
        match Own::parse(text) {
            Some(own) => Ok(RuleSpec::Own(own, None)),
            None => abr::parse(text).map(|_| RuleSpec::Registered(text.into())),
        }
    }

    pub(crate) fn read(table: &Table) -> Result<Option<RuleSpec>, ScenarioError> {
        let of = |value| RuleSpec::of(value).map_err(|e| table.error("abr", e));
        table.value("abr").map(of).transpose()
    }

    /// A text, or a table with where one of the user's own is.
    fn of(value: &Value) -> Result<RuleSpec, String> {
        let Value::Object(keys) = value else { return RuleSpec::parse(value.as_str().unwrap_or_default()) };
        let mut own = keys.get("name").and_then(Value::as_str).and_then(Own::parse).ok_or("names no rule")?;
        own.take(keys.iter().map(|(key, value)| (key.as_str(), value)));
        Ok(RuleSpec::Own(own, None))
    }

    pub(crate) fn label(&self) -> String {
        match self {
            RuleSpec::Registered(text) => text.clone(),
            RuleSpec::Own(own, _) => own.label(),
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        match self {
            RuleSpec::Registered(text) => json!(text),
            RuleSpec::Own(own, _) => own.to_json(),
        }
    }

    fn make(&mut self, code_loader: &dyn CodeLoader) -> Result<(), ScenarioError> {
        if let RuleSpec::Own(own, made) = self {
            *made = Some(code_loader.rule(own).map_err(ScenarioError::new)?);
        }
        Ok(())
    }

    pub(crate) fn unresolved_code(&self) -> Option<&Own> {
        match self {
            RuleSpec::Own(own, None) => Some(own),
            _ => None,
        }
    }
}

impl Scenario {
    /// What of the user's own a run with this sender still needs.
    pub fn unresolved_code<'a>(&'a self, sender: &'a SenderSpec) -> Option<&'a Own> {
        let of_traffic = || self.traffic.iter().find_map(|t| t.sender.unresolved_code());
        sender.unresolved_code().or_else(of_traffic).or_else(|| self.player.as_ref()?.own_rule()?.unresolved_code())
    }

    /// The same scenario with the code that a run with this sender needs. Error: one line.
    pub fn made(&self, sender: &str, code_loader: &dyn CodeLoader) -> Result<Scenario, ScenarioError> {
        let mut scenario = self.clone();
        let chosen = scenario.senders.iter_mut().filter(|s| s.name == sender);
        for spec in chosen.chain(scenario.traffic.iter_mut().map(|t| &mut t.sender)) {
            if let Some(own) = spec.cc.own() {
                let made = code_loader.control(own).map_err(ScenarioError::new)?;
                spec.cc.prototype = Some(made);
            }
            spec.abr.as_mut().map_or(Ok(()), |rule| rule.make(code_loader))?;
        }
        scenario.player.as_mut().and_then(|p| p.own_rule_mut()).map_or(Ok(()), |rule| rule.make(code_loader))?;
        Ok(scenario)
    }
}

#[cfg(test)]
mod tests;
