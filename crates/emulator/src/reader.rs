//! Reading a JSON object: typed values by key; errors that say where and what; a key that nobody asked for is an error.

use serde_json::{Map, Value};
use std::cell::RefCell;
use std::fmt::Display;
use std::str::FromStr;

/// One object and its place in the document.
pub struct Object<'a> {
    map: &'a Map<String, Value>,
    at: String,
    known: RefCell<Vec<&'static str>>,
}

impl<'a> Object<'a> {
    /// `value` must be an object; `at` is its place, empty for the whole document.
    pub fn new(value: &'a Value, at: String) -> Result<Object<'a>, String> {
        match value {
            Value::Object(map) => Ok(Object { map, at, known: RefCell::default() }),
            _ if at.is_empty() => Err("the configuration is not a JSON object".into()),
            _ => Err(format!("`{at}` is not an object")),
        }
    }

    /// An error about `key`.
    pub fn error(&self, key: &str, why: impl Display) -> String {
        if self.at.is_empty() { format!("`{key}`: {why}") } else { format!("`{}.{key}`: {why}", self.at) }
    }

    /// An error about the object as a whole.
    pub fn error_here(&self, why: impl Display) -> String {
        format!("`{}`: {why}", self.at)
    }

    /// The value of `key`; `null` counts as absent.
    pub fn value(&self, key: &'static str) -> Option<&'a Value> {
        self.known.borrow_mut().push(key);
        self.map.get(key).filter(|value| !value.is_null())
    }

    /// A value that is written as text and has a parser: a quantity, an address.
    pub fn parsed<T: FromStr>(&self, key: &'static str) -> Result<Option<T>, String>
    where
        T::Err: Display,
    {
        let Some(value) = self.value(key) else { return Ok(None) };
        let text = plain_text(value).ok_or_else(|| self.error(key, "a text is needed"))?;
        text.parse().map(Some).map_err(|why| self.error(key, why))
    }

    /// A text.
    pub fn text(&self, key: &'static str) -> Result<Option<&'a str>, String> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.error(key, format!("{other} is not a text"))),
        }
    }

    /// A text that must be there.
    pub fn needed(&self, key: &'static str) -> Result<&'a str, String> {
        self.text(key)?.ok_or_else(|| self.error(key, "is missing"))
    }

    /// A whole number.
    pub fn integer(&self, key: &'static str, allowed: std::ops::RangeInclusive<u64>) -> Result<Option<u64>, String> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let number = value.as_u64().filter(|n| allowed.contains(n));
        let problem = || format!("{value} is not a whole number from {} to {}", allowed.start(), allowed.end());
        number.map(Some).ok_or_else(|| self.error(key, problem()))
    }

    /// A switch.
    pub fn flag(&self, key: &'static str) -> Result<bool, String> {
        match self.value(key) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(other) => Err(self.error(key, format!("{other} is not true or false"))),
        }
    }

    /// An object below this one.
    pub fn object(&self, key: &'static str) -> Result<Option<Object<'a>>, String> {
        let at = if self.at.is_empty() { key.to_string() } else { format!("{}.{key}", self.at) };
        self.value(key).map(|value| Object::new(value, at)).transpose()
    }

    /// A list of objects; empty if absent.
    pub fn objects(&self, key: &'static str) -> Result<Vec<Object<'a>>, String> {
        self.list(key)?.iter().enumerate().map(|(i, value)| Object::new(value, format!("{key}[{i}]"))).collect()
    }

    /// A list of texts; empty if absent.
    pub fn texts(&self, key: &'static str) -> Result<Vec<&'a str>, String> {
        let text = |value: &'a Value| value.as_str().ok_or_else(|| self.error(key, format!("{value} is not a text")));
        self.list(key)?.iter().map(text).collect()
    }

    fn list(&self, key: &'static str) -> Result<&'a [Value], String> {
        match self.value(key) {
            None => Ok(&[]),
            Some(Value::Array(items)) => Ok(items),
            Some(other) => Err(self.error(key, format!("{other} is not a list"))),
        }
    }

    /// Every key that has not been asked for, with its value as text; marks all as known.
    pub fn rest_as_text(&self) -> Result<Vec<(&'a str, String)>, String> {
        let known = self.known.borrow();
        let rest = self.map.iter().filter(|(key, value)| !known.contains(&key.as_str()) && !value.is_null());
        rest.map(|(key, value)| {
            let text = plain_text(value).ok_or_else(|| self.error(key, "a text, number or switch is needed"))?;
            Ok((key.as_str(), text))
        })
        .collect()
    }

    /// Refuses keys that nobody asked for.
    pub fn finish(&self) -> Result<(), String> {
        let known = self.known.borrow();
        match self.map.keys().find(|key| !known.contains(&key.as_str())) {
            None => Ok(()),
            Some(key) => Err(self.error(key, format!("is not known; allowed: {}", known.join(", ")))),
        }
    }
}

/// A text, number or switch as it would be typed.
fn plain_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}
