//! Reading a table of a checked document: typed values by key, declared defaults, sub-tables. What is read must be declared: a key that
//! is not is a fault of the reader, and panics. What a declaration cannot say (keys that exclude each other, names that must exist) the
//! readers refuse through [`Table::error`].

use crate::ScenarioError;
use crate::document::Document;
use playpath_units::{Bytes, Choice, Duration, Kind, ParamSpec, ParamValue, Rate, Ratio, TableSpec};
use serde_json::{Map, Value, json};
use std::fmt::Display;

/// One table, what is declared of it, and its place in the document.
pub struct Table<'a> {
    document: &'a Document,
    spec: &'static TableSpec,
    map: &'a Map<String, Value>,
    /// `path[0].queue`
    at: String,
}

/// A type that a value of a checked document is read as.
pub trait Setting: Sized {
    /// `None`: the value is of another of the kinds that its key takes.
    fn of(value: &Value) -> Option<Self>;
}

macro_rules! quantities {
    ($($kind:ty),+) => {
        $(impl Setting for $kind {
            fn of(value: &Value) -> Option<$kind> {
                match value {
                    Value::String(text) => text.parse().ok(),
                    Value::Number(number) if number.as_f64() == Some(0.0) => "0".parse().ok(),
                    _ => None,
                }
            }
        })+
    };
}
quantities!(Duration, Rate, Bytes, Ratio);

impl Setting for u64 {
    fn of(value: &Value) -> Option<u64> {
        // A whole number may be written with a point.
        value.as_u64().or_else(|| value.as_f64().filter(|x| x.fract() == 0.0 && *x >= 0.0).map(|x| x as u64))
    }
}
impl Setting for u32 {
    fn of(value: &Value) -> Option<u32> {
        u64::of(value).and_then(|number| number.try_into().ok())
    }
}
impl Setting for f64 {
    fn of(value: &Value) -> Option<f64> {
        value.as_f64()
    }
}
impl Setting for bool {
    fn of(value: &Value) -> Option<bool> {
        value.as_bool()
    }
}
impl Setting for String {
    fn of(value: &Value) -> Option<String> {
        value.as_str().map(String::from)
    }
}
impl<T: Setting> Setting for Vec<T> {
    /// One alone may stand without brackets.
    fn of(value: &Value) -> Option<Vec<T>> {
        match value {
            Value::Array(items) => items.iter().map(T::of).collect(),
            one => T::of(one).map(|one| vec![one]),
        }
    }
}

impl<'a> Table<'a> {
    pub fn root(document: &'a Document, spec: &'static TableSpec) -> Table<'a> {
        Table { document, spec, map: &document.root, at: String::new() }
    }

    /// The raw value of `key`, `None` if it is not given; from now on it counts as read.
    pub fn value(&self, key: &'static str) -> Option<&'a Value> {
        self.declared(key);
        self.given(key)
    }

    pub fn has(&self, key: &'static str) -> bool {
        self.value(key).is_some()
    }

    /// As given, else the declared default, else `None`; also where the value is of another kind that the key takes.
    pub fn optional<T: Setting>(&self, key: &'static str) -> Option<T> {
        let spec = self.declared(key);
        self.given(key).map_or_else(|| default(&spec).as_ref().and_then(T::of), T::of)
    }

    /// As given, else the declared default. Panics where a key that need not be given has none.
    pub fn get<T: Setting>(&self, key: &'static str) -> T {
        self.optional(key).unwrap_or_else(|| panic!("`{}`: is declared without a default", self.at(key)))
    }

    /// One of the declared words: as given, else the declared default.
    pub fn word(&self, key: &'static str) -> Option<&'static str> {
        let given = self.optional::<String>(key)?;
        words(self.declared(key).kind).into_iter().find(|word| *word == given)
    }

    pub fn text(&self, key: &'static str) -> Option<&'a str> {
        self.value(key).and_then(Value::as_str)
    }

    /// A sub-table; `None` if a value of another kind is given.
    pub fn table(&self, key: &'static str) -> Option<Table<'a>> {
        let map = self.value(key)?.as_object()?;
        let spec = sub_table(self.declared(key).kind)?;
        Some(Table { document: self.document, spec, map, at: self.at(key) })
    }

    /// An array of tables, `[[key]]`; empty if absent.
    pub fn tables(&self, key: &'static str) -> Vec<Table<'a>> {
        let items = self.value(key).and_then(Value::as_array).into_iter().flatten().enumerate();
        let spec = sub_table(self.declared(key).kind).expect("declared as tables");
        let at = |i| format!("{}[{i}]", self.at(key));
        items
            .filter_map(|(i, item)| Some(Table { document: self.document, spec, map: item.as_object()?, at: at(i) }))
            .collect()
    }

    /// Something that is either a word or a table with a tag and parameters: `"cubic"`, `{ name = "ccplb", pob_rate = 1 }`.
    pub fn named(&self, key: &'static str) -> Option<Named<'a>> {
        if let Some(table) = self.table(key) {
            return Some(Named { name: table.chosen()?.to_string(), table: Some(table) });
        }
        self.optional::<String>(key).map(|name| Named { name, table: None })
    }

    /// The name of what this table chooses, or the default.
    pub fn chosen(&self) -> Option<&'a str> {
        let choice = self.choice();
        self.document.mark(&self.at, choice.tag);
        self.map.get(choice.tag).and_then(Value::as_str).or((!choice.default.is_empty()).then_some(choice.default))
    }

    /// Every key but the tag of its choice that was not read yet, with its value: the parameters of what is chosen.
    pub fn parameters(&self) -> Vec<(&'a str, &'a Value)> {
        let is_parameter = |key: &str| key != self.choice().tag && !self.document.is_read(&self.at(key));
        let found = self.map.iter().filter(|(key, value)| is_parameter(key) && !value.is_null());
        found.map(|(key, value)| (key.as_str(), value)).inspect(|(key, _)| self.document.mark(&self.at, key)).collect()
    }

    /// The raw value of any key; it does not count as read.
    pub fn peek(&self, key: &str) -> Option<&'a Value> {
        self.map.get(key)
    }

    /// An error about `key`, with its line or the option that set it.
    pub fn error(&self, key: &str, message: impl Display) -> ScenarioError {
        self.document.error(&self.at, &self.at(key), message)
    }

    pub fn missing(&self, key: &str, remedy: impl Display) -> ScenarioError {
        self.error(key, format!("is missing; {remedy}"))
    }

    /// An error in the content of the file that `key` names.
    pub fn content_error(&self, key: &'static str, message: impl Display) -> ScenarioError {
        match self.map.get(key) {
            Some(Value::String(name)) => self.error(key, format!("\"{name}\": {message}")),
            _ => self.error(key, message),
        }
    }

    fn at(&self, key: &str) -> String {
        place(&self.at, key)
    }

    fn given(&self, key: &str) -> Option<&'a Value> {
        self.document.mark(&self.at, key);
        self.map.get(key).filter(|value| !value.is_null())
    }

    fn choice(&self) -> Choice {
        self.spec.choice.unwrap_or_else(|| panic!("`{}` is declared without a choice", self.spec.name))
    }

    fn declared(&self, key: &str) -> ParamSpec {
        if let Some(spec) = self.spec.all_keys().into_iter().find(|spec| spec.name == key) {
            return *spec;
        }
        let of_choice = self.spec.choice.and_then(|choice| {
            let name = self.map.get(choice.tag).and_then(Value::as_str).unwrap_or(choice.default);
            let variants = choice.find(name).map_or_else(choice.variants, |variant| vec![variant]);
            variants.iter().flat_map(|variant| variant.keys).find(|spec| spec.name == key)
        });
        *of_choice.unwrap_or_else(|| panic!("`{}.{key}` is read and not declared", self.spec.name))
    }
}

/// A name with the table of its parameters, if it came with one.
pub struct Named<'a> {
    pub name: String,
    pub table: Option<Table<'a>>,
}

/// `path[0]` and `rate`: `path[0].rate`.
pub fn place(table: &str, key: &str) -> String {
    if table.is_empty() { key.to_string() } else { format!("{table}.{key}") }
}

/// The table that a kind takes, if it takes one.
pub fn sub_table(kind: Kind) -> Option<&'static TableSpec> {
    match kind {
        Kind::Table(spec) | Kind::Tables(spec) | Kind::Named(spec) => Some(spec),
        Kind::Either(kinds) => kinds.iter().find_map(|kind| sub_table(*kind)),
        _ => None,
    }
}

fn words(kind: Kind) -> Vec<&'static str> {
    match kind {
        Kind::Word(words) => words.to_vec(),
        Kind::Described(words) => words.iter().map(|(word, _)| *word).collect(),
        Kind::Either(kinds) => kinds.iter().flat_map(|kind| words(*kind)).collect(),
        _ => Vec::new(),
    }
}

/// The declared default as it would be given.
pub fn default(spec: &ParamSpec) -> Option<Value> {
    match spec.default {
        ParamValue::Word("") => None,
        ParamValue::Word(text) => Some(json!(text)),
        ParamValue::Flag(flag) => Some(json!(flag)),
        ParamValue::Number(x) if x.fract() == 0.0 && x.abs() < 1e15 => Some(json!(x as i64)),
        ParamValue::Number(x) => Some(json!(x)),
    }
}
