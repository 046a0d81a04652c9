//! Reading a table of a scenario: typed values by key, defaults, and errors that name what, where, what is allowed and the
//! nearest name. A key that nobody asked for is an error.

use crate::ScenarioError;
use crate::document::Document;
use playpath_units::names::{is_misspelling, unknown};
use serde_json::{Map, Value};
use std::cell::RefCell;
use std::fmt::Display;
use std::str::FromStr;

/// One table, its place in the document, and the keys that were asked for.
pub struct Table<'a> {
    document: &'a Document,
    map: &'a Map<String, Value>,
    /// `path[0].queue`
    at: String,
    known: RefCell<Vec<&'static str>>,
}

impl<'a> Table<'a> {
    /// The document's top level.
    pub fn root(document: &'a Document) -> Table<'a> {
        Table { document, map: &document.root, at: String::new(), known: RefCell::default() }
    }

    fn sub(&self, at: String, map: &'a Map<String, Value>) -> Table<'a> {
        Table { document: self.document, map, at, known: RefCell::default() }
    }

    fn at(&self, key: &str) -> String {
        if self.at.is_empty() { key.to_string() } else { format!("{}.{key}", self.at) }
    }

    /// The raw value of `key`; marks it as known.
    pub fn value(&self, key: &'static str) -> Option<&'a Value> {
        self.known.borrow_mut().push(key);
        self.map.get(key).filter(|v| !v.is_null())
    }

    /// `true` if the key is present. Marks it as known.
    pub fn has(&self, key: &'static str) -> bool {
        self.value(key).is_some()
    }

    /// An error about `key`, with its line or the option that set it.
    pub fn error(&self, key: &str, message: impl Display) -> ScenarioError {
        self.document.error(&self.at, &self.at(key), message)
    }

    /// An error about the absent `key`: it "is missing", unless another key looks like a misspelling of it.
    pub fn missing(&self, key: &str, remedy: impl Display) -> ScenarioError {
        // Closer than a guess among all names: a key that is right may merely not have been read yet.
        match self.rest().iter().find(|(other, _)| is_misspelling(other, key)) {
            Some((other, _)) => self.error(other, format!("unknown key \"{other}\"; did you mean \"{key}\"?")),
            None => self.error(key, format!("is missing; {remedy}")),
        }
    }

    /// An error in the content of the file that `key` names.
    pub fn content_error(&self, key: &'static str, message: impl Display) -> ScenarioError {
        match self.map.get(key) {
            Some(Value::String(name)) => self.error(key, format!("\"{name}\": {message}")),
            _ => self.error(key, message),
        }
    }

    /// A quantity, such as "50 ms".
    pub fn quantity<T: FromStr>(&self, key: &'static str) -> Result<Option<T>, ScenarioError>
    where
        T::Err: Display,
    {
        match self.value(key) {
            None => Ok(None),
            Some(Value::String(text)) => text.parse().map(Some).map_err(|e| self.error(key, e)),
            Some(Value::Number(n)) if n.as_f64() == Some(0.0) => "0".parse().map(Some).map_err(|e| self.error(key, e)),
            // A bare number: let the parser say which units are allowed.
            Some(Value::Number(n)) => n.to_string().parse().map(Some).map_err(|e| self.error(key, e)),
            Some(other) => Err(self.error(key, format!("{other} is not a quantity; write a string with a unit"))),
        }
    }

    /// A quantity that must be above zero.
    pub fn positive<T: FromStr + Default + PartialEq>(&self, key: &'static str) -> Result<Option<T>, ScenarioError>
    where
        T::Err: Display,
    {
        let value = self.quantity::<T>(key)?;
        match value {
            Some(v) if v == T::default() => Err(self.error(key, "must be above zero")),
            v => Ok(v),
        }
    }

    /// A text.
    pub fn text(&self, key: &'static str) -> Result<Option<&'a str>, ScenarioError> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.error(key, format!("{other} is not a text"))),
        }
    }

    /// One of `allowed`.
    pub fn word(&self, key: &'static str, allowed: &[&'static str]) -> Result<Option<&'static str>, ScenarioError> {
        let Some(text) = self.text(key)? else { return Ok(None) };
        match allowed.iter().find(|w| **w == text) {
            Some(word) => Ok(Some(word)),
            None => Err(self.error(key, unknown("value", text, allowed.iter().copied()))),
        }
    }

    /// A whole number in a range.
    pub fn integer(
        &self,
        key: &'static str,
        range: std::ops::RangeInclusive<u64>,
    ) -> Result<Option<u64>, ScenarioError> {
        let Some(value) = self.value(key) else { return Ok(None) };
        match value.as_u64() {
            Some(n) if range.contains(&n) => Ok(Some(n)),
            _ => {
                let allowed = format!("allowed: whole numbers from {} to {}", range.start(), range.end());
                Err(self.error(key, format!("{value} is out of range; {allowed}")))
            }
        }
    }

    /// A number in a range.
    pub fn number(
        &self,
        key: &'static str,
        range: std::ops::RangeInclusive<f64>,
    ) -> Result<Option<f64>, ScenarioError> {
        let Some(value) = self.value(key) else { return Ok(None) };
        match value.as_f64() {
            Some(x) if range.contains(&x) => Ok(Some(x)),
            _ => {
                let allowed = format!("allowed: {} to {}", range.start(), range.end());
                Err(self.error(key, format!("{value} is not a number in range; {allowed}")))
            }
        }
    }

    /// A switch.
    pub fn flag(&self, key: &'static str) -> Result<Option<bool>, ScenarioError> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::Bool(b)) => Ok(Some(*b)),
            Some(other) => Err(self.error(key, format!("{other} is not true or false"))),
        }
    }

    /// A sub-table.
    pub fn table(&self, key: &'static str) -> Result<Option<Table<'a>>, ScenarioError> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::Object(map)) => Ok(Some(self.sub(self.at(key), map))),
            Some(other) => Err(self.error(key, format!("{other} is not a table"))),
        }
    }

    /// An array of tables, `[[key]]`; empty if absent.
    pub fn tables(&self, key: &'static str) -> Result<Vec<Table<'a>>, ScenarioError> {
        let items = match self.value(key) {
            None => return Ok(Vec::new()),
            Some(Value::Array(items)) => items,
            Some(_) => return Err(self.error(key, format!("is a list of tables: write [[{key}]]"))),
        };
        let to_table = |(i, item): (usize, &'a Value)| match item {
            Value::Object(map) => Ok(self.sub(format!("{}[{i}]", self.at(key)), map)),
            other => Err(self.error(key, format!("{other} is not a table"))),
        };
        items.iter().enumerate().map(to_table).collect()
    }

    /// A list of texts; a single text counts as a list of one.
    pub fn texts(&self, key: &'static str) -> Result<Option<Vec<String>>, ScenarioError> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(vec![text.clone()])),
            Some(Value::Array(items)) => {
                let text = |v: &Value| v.as_str().map(String::from);
                items
                    .iter()
                    .map(text)
                    .collect::<Option<Vec<_>>>()
                    .map(Some)
                    .ok_or_else(|| self.error(key, "is a list of texts"))
            }
            Some(other) => Err(self.error(key, format!("{other} is not a list of texts"))),
        }
    }

    /// Something that is either a word or a table with `name` (or `kind`) and parameters: `"cubic"`, `{ name = "ccplb", pob_rate = 1 }`.
    pub fn named(&self, key: &'static str, tag: &'static str) -> Result<Option<Named<'a>>, ScenarioError> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::String(name)) => Ok(Some(Named { name: name.clone(), table: None })),
            Some(Value::Object(map)) => {
                let table = self.sub(self.at(key), map);
                let name = table.text(tag)?.ok_or_else(|| self.error(key, format!("has no `{tag}`")))?.to_string();
                Ok(Some(Named { name, table: Some(table) }))
            }
            Some(other) => Err(self.error(key, format!("{other} is neither a name nor a table with `{tag}`"))),
        }
    }

    /// Every key that has not been asked for, with its value; marks none as known.
    pub fn rest(&self) -> Vec<(&'a str, &'a Value)> {
        let known = self.known.borrow();
        self.map.iter().filter(|(k, _)| !known.contains(&k.as_str())).map(|(k, v)| (k.as_str(), v)).collect()
    }

    /// Refuses keys that nobody asked for.
    pub fn finish(&self) -> Result<(), ScenarioError> {
        match self.rest().first() {
            None => Ok(()),
            Some((key, _)) => Err(self.error(key, unknown("key", key, self.known.borrow().iter().copied()))),
        }
    }
}

/// A name with the table of its parameters, if it came with one.
pub struct Named<'a> {
    pub name: String,
    pub table: Option<Table<'a>>,
}
