//! Parameters: declared once with kind, default and text; set by name. The checks, `playpath list`, the JSON Schema of a scenario and its
//! reference page are generated from the declaration.

use crate::kind::Kind;
use crate::names::unknown;
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// A declared parameter, of an algorithm or a key of a scenario.
#[derive(Clone, Copy, Debug)]
pub struct ParamSpec {
    /// Name as typed in a scenario.
    pub name: &'static str,
    pub kind: Kind,
    /// A word that is allowed besides ("auto"); empty: none.
    pub or: &'static str,
    /// Default in input form; an empty word if there is none.
    pub default: ParamValue<'static>,
    /// It has no default and must be given.
    pub is_needed: bool,
    /// One line for users, with the source of the default.
    pub doc: &'static str,
    /// A value to try, as typed in TOML; empty where the default shows it.
    pub example: &'static str,
    /// Its meaning in the kernel world, if that differs; empty if it is the same.
    pub kernel: &'static str,
    /// Description of the default if it has no literal form ("the profile's"); empty otherwise.
    pub otherwise: &'static str,
    /// First version that knows it.
    pub since: &'static str,
    /// Other parameters and the values of them with which this one has no effect; any one of them suffices.
    pub idle_with: &'static [(&'static str, &'static str)],
}

impl ParamSpec {
    /// A parameter of any kind, without a default.
    pub const fn new(name: &'static str, kind: Kind, doc: &'static str) -> ParamSpec {
        let (default, is_needed) = (ParamValue::Word(""), false);
        ParamSpec {
            name,
            kind,
            or: "",
            default,
            is_needed,
            doc,
            example: "",
            kernel: "",
            otherwise: "",
            since: "0.1",
            idle_with: &[],
        }
    }
    pub const fn number(
        name: &'static str,
        default: f64,
        (low, high): (f64, f64),
        unit: &'static str,
        doc: &'static str,
    ) -> ParamSpec {
        let default = ParamValue::Number(default);
        ParamSpec { default, ..ParamSpec::new(name, Kind::Number { low, high, unit }, doc) }
    }
    pub const fn whole(
        name: &'static str,
        default: u64,
        (low, high): (u64, u64),
        unit: &'static str,
        doc: &'static str,
    ) -> ParamSpec {
        let default = ParamValue::Number(default as f64);
        ParamSpec { default, ..ParamSpec::new(name, Kind::Whole { low, high, unit }, doc) }
    }
    pub const fn flag(name: &'static str, default: bool, doc: &'static str) -> ParamSpec {
        ParamSpec { default: ParamValue::Flag(default), ..ParamSpec::new(name, Kind::Flag, doc) }
    }
    pub const fn word(
        name: &'static str,
        default: &'static str,
        words: &'static [&'static str],
        doc: &'static str,
    ) -> ParamSpec {
        ParamSpec::text(name, default, Kind::Word(words), doc)
    }
    /// A parameter given as text, such as a quantity; `default` is in input form.
    pub const fn text(name: &'static str, default: &'static str, kind: Kind, doc: &'static str) -> ParamSpec {
        ParamSpec { default: ParamValue::Word(default), ..ParamSpec::new(name, kind, doc) }
    }

    pub const fn needed(self) -> ParamSpec {
        ParamSpec { is_needed: true, ..self }
    }
    /// The same with another default, in input form.
    pub const fn by_default(self, default: &'static str) -> ParamSpec {
        ParamSpec { default: ParamValue::Word(default), ..self }
    }
    pub const fn or(self, word: &'static str) -> ParamSpec {
        ParamSpec { or: word, ..self }
    }
    pub const fn example(self, example: &'static str) -> ParamSpec {
        ParamSpec { example, ..self }
    }
    pub const fn in_kernel(self, kernel: &'static str) -> ParamSpec {
        ParamSpec { kernel, ..self }
    }

    pub const fn otherwise(self, otherwise: &'static str) -> ParamSpec {
        ParamSpec { otherwise, ..self }
    }
    pub const fn idle_with(self, idle_with: &'static [(&'static str, &'static str)]) -> ParamSpec {
        ParamSpec { idle_with, ..self }
    }
    pub const fn since(self, since: &'static str) -> ParamSpec {
        ParamSpec { since, ..self }
    }

    /// The same number over a narrower range.
    pub const fn within(self, low: f64, high: f64) -> ParamSpec {
        ParamSpec { kind: Kind::Number { low, high, unit: self.unit() }, ..self }
    }

    /// Least and most of a number; nothing at all of other kinds.
    pub const fn range(&self) -> (f64, f64) {
        match self.kind {
            Kind::Number { low, high, .. } => (low, high),
            Kind::Whole { low, high, .. } => (low as f64, high as f64),
            _ => (0.0, 0.0),
        }
    }
    /// Unit of a number, empty of other kinds.
    pub const fn unit(&self) -> &'static str {
        match self.kind {
            Kind::Number { unit, .. } | Kind::Whole { unit, .. } => unit,
            _ => "",
        }
    }
    /// The words of a word, none of other kinds.
    pub const fn words(&self) -> &'static [&'static str] {
        match self.kind {
            Kind::Word(words) => words,
            _ => &[],
        }
    }
    /// A checked value that outlives its set: numbers, switches, and one of the declared words.
    pub fn lasting(&self, value: ParamValue<'_>) -> ParamValue<'static> {
        match value {
            ParamValue::Number(x) => ParamValue::Number(x),
            ParamValue::Flag(x) => ParamValue::Flag(x),
            ParamValue::Word(x) => {
                ParamValue::Word(self.words().iter().find(|word| **word == x).copied().unwrap_or(""))
            }
        }
    }

    pub fn allowed(&self) -> String {
        let or = if self.or.is_empty() { String::new() } else { format!(", or \"{}\"", self.or) };
        format!("{}{or}", self.kind.allowed())
    }

    /// Check a value. Error: one line with the allowed values.
    pub fn check(&self, value: ParamValue<'_>) -> Result<(), String> {
        match self.problem(value) {
            None => Ok(()),
            Some(problem) if self.kind.is_quantity() => Err(format!("`{}`: {problem}", self.name)),
            Some(problem) => Err(format!("`{}` = {problem}", self.name)),
        }
    }

    /// The error of a value, or `None`: one line that begins with the value and lists the allowed ones.
    pub fn problem(&self, value: ParamValue<'_>) -> Option<String> {
        match value {
            ParamValue::Word(word) if !self.or.is_empty() && word == self.or => None,
            _ => self.kind.problem(value, &|| self.allowed()),
        }
    }

    /// Parse a value from the command line.
    pub fn parse<'t>(&self, text: &'t str) -> ParamValue<'t> {
        match (self.kind, text.parse(), text.parse()) {
            (Kind::Number { .. } | Kind::Whole { .. }, Ok(x), _) => ParamValue::Number(x),
            (Kind::Flag, _, Ok(flag)) => ParamValue::Flag(flag),
            _ => ParamValue::Word(text),
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
pub enum ParamValue<'a> {
    Number(f64),
    Flag(bool),
    /// A word, or a quantity as typed.
    Word(&'a str),
}

impl fmt::Debug for ParamValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParamValue::Word(x) => write!(f, "\"{x}\""),
            other => fmt::Display::fmt(other, f),
        }
    }
}

impl fmt::Display for ParamValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParamValue::Number(x) => x.fmt(f),
            ParamValue::Flag(x) => x.fmt(f),
            ParamValue::Word(x) => f.write_str(x),
        }
    }
}

#[derive(Clone, Debug)]
enum OwnedValue {
    Number(f64),
    Flag(bool),
    Word(Cow<'static, str>),
}

impl OwnedValue {
    fn value(&self) -> ParamValue<'_> {
        match self {
            OwnedValue::Number(x) => ParamValue::Number(*x),
            OwnedValue::Flag(x) => ParamValue::Flag(*x),
            OwnedValue::Word(x) => ParamValue::Word(x),
        }
    }
}

/// A full set of values: every declared parameter, defaults filled in, every value checked.
#[derive(Clone, Debug)]
pub struct Params {
    specs: &'static [ParamSpec],
    values: Vec<OwnedValue>,
}

impl Params {
    pub fn defaults(specs: &'static [ParamSpec]) -> Params {
        let kept = |spec: &ParamSpec| match spec.default {
            ParamValue::Number(x) => OwnedValue::Number(x),
            ParamValue::Flag(x) => OwnedValue::Flag(x),
            ParamValue::Word(x) => OwnedValue::Word(Cow::Borrowed(x)),
        };
        Params { specs, values: specs.iter().map(kept).collect() }
    }

    /// Set a parameter. Errors: unknown name, wrong kind of value, out of range; one line that says what is allowed.
    pub fn set(&mut self, name: &str, value: ParamValue<'_>) -> Result<(), String> {
        let i = self.index(name)?;
        self.specs[i].check(value)?;
        self.values[i] = match (value, self.specs[i].kind) {
            (ParamValue::Number(x), Kind::Number { .. } | Kind::Whole { .. }) => OwnedValue::Number(x),
            (ParamValue::Flag(x), _) => OwnedValue::Flag(x),
            (other, _) => OwnedValue::Word(Cow::Owned(other.to_string())),
        };
        Ok(())
    }
    /// Set a parameter from a command line's text. Errors as [`set`](Self::set).
    pub fn set_text(&mut self, name: &str, text: &str) -> Result<(), String> {
        let value = self.specs[self.index(name)?].parse(text);
        self.set(name, value)
    }
    pub fn set_number(&mut self, name: &str, value: f64) -> Result<(), String> {
        self.set(name, ParamValue::Number(value))
    }
    pub fn set_flag(&mut self, name: &str, value: bool) -> Result<(), String> {
        self.set(name, ParamValue::Flag(value))
    }
    pub fn set_word(&mut self, name: &str, value: &str) -> Result<(), String> {
        self.set(name, ParamValue::Word(value))
    }

    /// Value of a number parameter. Panics if the algorithm did not declare it: a broken invariant.
    pub fn number(&self, name: &str) -> f64 {
        match self.get(name) {
            ParamValue::Number(x) => x,
            other => panic!("parameter {name} is declared as {other:?}"),
        }
    }
    pub fn flag(&self, name: &str) -> bool {
        match self.get(name) {
            ParamValue::Flag(x) => x,
            other => panic!("parameter {name} is declared as {other:?}"),
        }
    }
    /// A value in input form. Panics like [`number`](Self::number).
    pub fn text(&self, name: &str) -> String {
        self.get(name).to_string()
    }
    /// Value of a word, or of a quantity as typed. Panics as [`number`](Self::number).
    pub fn word(&self, name: &str) -> &str {
        match self.get(name) {
            ParamValue::Word(x) => x,
            other => panic!("parameter {name} is declared as {other:?}"),
        }
    }
    /// A checked quantity. Panics as [`number`](Self::number).
    pub fn quantity<T: FromStr>(&self, name: &str) -> T
    where
        T::Err: fmt::Display,
    {
        self.word(name).parse().unwrap_or_else(|e| panic!("parameter {name} passed its check: {e}"))
    }
    /// `None` for the word that the parameter allows besides.
    pub fn optional<T: FromStr>(&self, name: &str) -> Option<T> {
        self.text(name).parse().ok()
    }

    /// Every parameter with its value, in declared order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static ParamSpec, ParamValue<'_>)> {
        self.specs.iter().zip(self.values.iter().map(OwnedValue::value))
    }

    fn get(&self, name: &str) -> ParamValue<'_> {
        match self.specs.iter().position(|s| s.name == name) {
            Some(i) => self.values[i].value(),
            None => panic!("parameter {name} is not declared"),
        }
    }

    fn index(&self, name: &str) -> Result<usize, String> {
        let found = self.specs.iter().position(|s| s.name == name);
        found.ok_or_else(|| unknown("parameter", name, self.specs.iter().map(|s| s.name)))
    }
}

#[cfg(test)]
mod tests;
