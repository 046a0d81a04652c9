//! The check of a document against its declaration: unknown keys with the nearest name, kinds, ranges, what must be given. One line with
//! the place for the first thing that is wrong, in the order of the document.

use crate::ScenarioError;
use crate::document::Document;
use crate::documents::{DISTRIBUTION, is_distribution};
use crate::reader::{place, sub_table};
use crate::sender::unknown_control;
use playpath_units::names::{own_reference, unknown};
use playpath_units::{Choice, Kind, ParamSpec, ParamValue, TableSpec};
use serde_json::{Map, Value};

pub fn check(document: &Document, spec: &'static TableSpec) -> Result<(), ScenarioError> {
    Check { document, is_drawn: false }.table(&document.root, spec, "")
}

/// Checks a document in which quantities may be drawn, and what must be given may come from elsewhere.
pub fn check_drawn(document: &Document, spec: &'static TableSpec) -> Result<(), ScenarioError> {
    Check { document, is_drawn: true }.table(&document.root, spec, "")
}

/// Refuses a key that is right by itself, but that nothing read: something else that is given leaves it without effect.
pub fn refuse_unread(document: &Document, spec: &'static TableSpec) -> Result<(), ScenarioError> {
    Check { document, is_drawn: false }.unread(&document.root, spec, "")
}

struct Check<'a> {
    document: &'a Document,
    /// Of a population: see [`check_drawn`].
    is_drawn: bool,
}

impl Check<'_> {
    fn table(&self, map: &Map<String, Value>, spec: &'static TableSpec, at: &str) -> Result<(), ScenarioError> {
        let keys = self.keys(map, spec, at)?;
        let tag = spec.choice.map(|choice| choice.tag);
        for (key, value) in map.iter().filter(|(key, value)| Some(key.as_str()) != tag && !value.is_null()) {
            // What names a variant leaves open takes what any of them takes.
            let named: Vec<&ParamSpec> = keys.iter().copied().filter(|spec| spec.name == key).collect();
            let tried = named.iter().map(|spec| self.value(spec, value, at, &place(at, key)));
            tried.reduce(Result::or).expect("unknown keys are refused")?;
        }
        let is_open = spec.choice.is_some_and(|choice| !map.contains_key(choice.tag) && choice.default.is_empty());
        if is_open || self.is_drawn {
            return Ok(());
        }
        let is_missing = |key: &&&ParamSpec| key.is_needed && map.get(key.name).is_none_or(Value::is_null);
        match keys.iter().find(is_missing) {
            Some(key) => Err(self.missing(at, key.name, &key.allowed())),
            None => Ok(()),
        }
    }

    /// What the table may have here. Error: it has something else.
    fn keys(
        &self,
        map: &Map<String, Value>,
        spec: &'static TableSpec,
        at: &str,
    ) -> Result<Vec<&'static ParamSpec>, ScenarioError> {
        let mut keys = spec.all_keys();
        let Some(choice) = spec.choice else {
            return self.only(map, keys, "key", "", at);
        };
        match map.get(choice.tag).filter(|value| !value.is_null()) {
            Some(value) => keys.extend(self.variant(&choice, value, &place(at, choice.tag))?),
            None => match choice.find(choice.default) {
                Some(variant) => keys.extend(variant.keys),
                None => keys.extend(choice.all_keys()),
            },
        }
        let keys = self.only(map, keys, choice.noun, choice.tag, at)?;
        let must_choose =
            !self.is_drawn && choice.default.is_empty() && choice.otherwise.is_empty() && !map.contains_key(choice.tag);
        if must_choose { Err(self.missing(at, choice.tag, &choice.allowed())) } else { Ok(keys) }
    }

    fn only(
        &self,
        map: &Map<String, Value>,
        keys: Vec<&'static ParamSpec>,
        noun: &str,
        tag: &'static str,
        at: &str,
    ) -> Result<Vec<&'static ParamSpec>, ScenarioError> {
        let names = || keys.iter().map(|spec| spec.name).chain((!tag.is_empty()).then_some(tag));
        match map.keys().find(|key| !names().any(|name| name == *key)) {
            Some(key) => Err(self.error(at, &place(at, key), unknown(noun, key, names()) + &inside(&keys, key))),
            None => Ok(keys),
        }
    }

    fn variant(&self, choice: &Choice, value: &Value, at: &str) -> Result<&'static [ParamSpec], ScenarioError> {
        let Value::String(name) = value else {
            return Err(self.error(at, at, format!("{value} is not a text; allowed: {}", choice.allowed())));
        };
        let found = choice.find(name).map(|variant| variant.keys);
        let is_transport = choice.what == "congestion control" && ["quic", "tcp", "mptcp"].contains(&name.as_str());
        let known = name.split(['(', ':']).next().filter(|head| *head != name && choice.find(head).is_some());
        let why = || match known {
            // As `--cc` and its like take it.
            Some(head) => {
                format!("\"{name}\": in a file parameters need a table: {{ {} = \"{head}\", … }}", choice.tag)
            }
            None if is_transport => unknown_control(name),
            None => unknown(choice.what, name, choice.names()),
        };
        found.ok_or_else(|| self.error(at, at, why()))
    }

    fn value(&self, spec: &ParamSpec, value: &Value, table: &str, at: &str) -> Result<(), ScenarioError> {
        if !spec.or.is_empty() && value == spec.or {
            return Ok(());
        }
        match value {
            Value::Object(map) if self.is_drawn && is_distribution(value) => return self.table(map, &DISTRIBUTION, at),
            // A set of files; errors in one of them are reported when it is read.
            Value::Array(_) if self.is_drawn && matches!(spec.kind, Kind::File) => return Ok(()),
            _ => {}
        }
        self.kind(spec, &spec.kind, value, table, at)
    }

    fn kind(&self, spec: &ParamSpec, kind: &Kind, value: &Value, table: &str, at: &str) -> Result<(), ScenarioError> {
        let wrong = |why: String| Err(self.error(table, at, why));
        match (kind, value) {
            (Kind::Either(kinds), _) => self.kind(spec, alternative(kinds, value), value, table, at).map_err(|why| {
                let table = kinds.iter().find_map(|kind| if let Kind::Table(sub) = kind { Some(*sub) } else { None });
                let also = table.filter(|_| value.is_string()).map(or_a_table).unwrap_or_default();
                ScenarioError::new(format!("{why}{also}"))
            }),
            (Kind::Own, Value::Object(map)) => {
                let is_plain = |value: &Value| !value.is_object() && !value.is_array();
                match map.iter().find(|(_, value)| !is_plain(value)) {
                    Some((key, value)) => {
                        Err(self.error(at, &place(at, key), format!("{value} is not a number, text or flag")))
                    }
                    None if is_own(value) => Ok(()),
                    None => wrong("only your own code takes a table here: { name = \"MODULE:NAME\", … }".into()),
                }
            }
            (Kind::Table(sub) | Kind::Named(sub), Value::Object(map)) => self.table(map, sub, at),
            (Kind::Named(sub), Value::String(_)) => {
                self.variant(&sub.choice.expect("what is named is chosen"), value, at).map(drop)
            }
            (Kind::Named(sub), _) => {
                let tag = sub.choice.expect("what is named is chosen").tag;
                wrong(format!("{value} is neither a name nor a table with `{tag}`"))
            }
            (Kind::Table(_) | Kind::TextsByName, other) if !other.is_object() => {
                wrong(format!("{other} is not a table"))
            }
            (Kind::Tables(sub), Value::Array(items)) => self.tables(items, sub, at),
            (Kind::Tables(sub), _) => wrong(format!("is a list of tables: write [[{}]]", sub.name)),
            (Kind::List(item, low, high), Value::Array(items)) if (*low..=*high).contains(&items.len()) => {
                let each = |(i, value)| self.kind(spec, item, value, at, &format!("{at}[{i}]"));
                items.iter().enumerate().try_for_each(each)
            }
            (Kind::Texts, Value::Array(items)) if items.iter().all(Value::is_string) => Ok(()),
            (Kind::Texts, _) if !value.is_string() => wrong("is a list of texts".into()),
            (Kind::TextsByName, _) => Ok(()),
            (Kind::File, Value::Object(map)) => match map.get("content") {
                Some(Value::String(_)) if map.len() == 1 => Ok(()),
                _ => wrong("as a table has one key, `content`, a text".into()),
            },
            (Kind::Any(_), _) => Ok(()),
            // Of a form of its own, a list may be written as a list.
            (Kind::Form(..), Value::Array(items)) => {
                let texts: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
                let Some(texts) = texts else { return wrong("is a list of texts".into()) };
                spec.problem(ParamValue::Word(&texts.join(", "))).map_or(Ok(()), wrong)
            }
            _ => match plain(value) {
                Some(plain) => kind_problem(spec, kind, plain).map_or(Ok(()), wrong),
                None => wrong(format!("{value} is wrong; allowed: {}", spec.allowed())),
            },
        }
    }

    fn tables(&self, items: &[Value], spec: &'static TableSpec, at: &str) -> Result<(), ScenarioError> {
        for (i, item) in items.iter().enumerate() {
            let at = format!("{at}[{i}]");
            match item {
                Value::Object(map) => self.table(map, spec, &at)?,
                other => return Err(self.error(&at, &at, format!("{other} is not a table"))),
            }
        }
        Ok(())
    }

    fn unread(&self, map: &Map<String, Value>, spec: &'static TableSpec, at: &str) -> Result<(), ScenarioError> {
        for (key, value) in map.iter().filter(|(_, value)| !value.is_null()) {
            let inner = place(at, key);
            if !self.document.is_read(&inner) {
                return Err(self.error(at, &inner, "has no effect with what else is given here; leave it out"));
            }
            let declared = spec.all_keys().into_iter().find(|spec| spec.name == key);
            let Some(sub) = declared.and_then(|spec| sub_table(spec.kind)) else { continue };
            match value {
                Value::Object(map) => self.unread(map, sub, &inner)?,
                Value::Array(items) => {
                    for (i, map) in items.iter().filter_map(Value::as_object).enumerate() {
                        self.unread(map, sub, &format!("{inner}[{i}]"))?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn missing(&self, table: &str, key: &str, allowed: &str) -> ScenarioError {
        self.error(table, &place(table, key), format!("is missing; allowed: {allowed}"))
    }

    fn error(&self, table: &str, at: &str, message: impl std::fmt::Display) -> ScenarioError {
        self.document.error(table, at, message)
    }
}

/// The end of a message about a key that one of the tables beside it has: `loss` for `path.loss`.
fn inside(keys: &[&ParamSpec], key: &str) -> String {
    let has = |spec: &&&ParamSpec| {
        sub_table(spec.kind).is_some_and(|sub| {
            let chosen = sub.choice.iter().flat_map(Choice::all_keys);
            sub.all_keys().into_iter().chain(chosen).any(|own| own.name == key)
        })
    };
    let found: Vec<String> = keys.iter().filter(has).map(|spec| format!("`{}.{key}`", spec.name)).collect();
    if found.is_empty() { String::new() } else { format!("; there is {}", found.join(", ")) }
}

/// The end of a message about a text where a table may stand, too.
fn or_a_table(spec: &TableSpec) -> String {
    let chosen = spec.choice.map(|choice| format!("`{}` ({})", choice.tag, choice.allowed()));
    let keys = || spec.all_keys().iter().map(|key| format!("`{}`", key.name)).collect::<Vec<_>>().join(", ");
    format!("; or a table with {}", chosen.unwrap_or_else(keys))
}

/// Which of several kinds a value is meant as: a table if it is one, a quantity if it begins with a digit, else the last.
fn alternative<'k>(kinds: &'k [Kind], value: &Value) -> &'k Kind {
    let takes_tables = |kind: &&Kind| sub_table(**kind).is_some() || matches!(kind, Kind::File);
    let last = kinds.last().expect("there are several");
    if let Some(own) = kinds.iter().find(|kind| matches!(kind, Kind::Own)).filter(|_| is_own(value)) {
        return own;
    }
    match value {
        Value::Object(_) => kinds.iter().rev().find(takes_tables).unwrap_or(last),
        Value::Array(_) => kinds.iter().find(|kind| matches!(kind, Kind::List(..) | Kind::Form(..))).unwrap_or(last),
        Value::String(text) if !text.starts_with(|c: char| c.is_ascii_digit()) => {
            kinds.iter().rev().find(|kind| !matches!(kind, Kind::Table(_) | Kind::Own)).unwrap_or(last)
        }
        _ => &kinds[0],
    }
}

/// Whether it says where code of the user's own is.
fn is_own(value: &Value) -> bool {
    let name = if value.is_object() { &value["name"] } else { value };
    name.as_str().is_some_and(|text| own_reference(text).is_some())
}

fn plain(value: &Value) -> Option<ParamValue<'_>> {
    match value {
        Value::Bool(flag) => Some(ParamValue::Flag(*flag)),
        Value::Number(number) => Some(ParamValue::Number(number.as_f64().unwrap_or(f64::NAN))),
        Value::String(text) => Some(ParamValue::Word(text)),
        _ => None,
    }
}

/// One of the kinds of a key says what is wrong; the key says what is allowed.
fn kind_problem(spec: &ParamSpec, kind: &Kind, value: ParamValue<'_>) -> Option<String> {
    let one = ParamSpec { kind: *kind, or: "", ..*spec };
    one.problem(value)
}
