//! Kinds of value of a parameter or a key: numbers, words, quantities, tables; with a description of the allowed values and the check.

use crate::names::{nearest, own_reference};
use crate::{Bytes, Duration, ParamValue, QueueLimit, Rate, Ratio, TableSpec};
use std::fmt;
use std::str::FromStr;

/// Kind of value of a parameter or a key.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A number of this range, inclusive, in this unit ("packets", "s", "" for none).
    Number {
        /// Minimum; the smallest positive number stands for "above 0".
        low: f64,
        /// Most; the largest number stands for no limit.
        high: f64,
        unit: &'static str,
    },
    /// A whole number of this range, inclusive.
    Whole {
        low: u64,
        /// Most; the largest number stands for no limit.
        high: u64,
        unit: &'static str,
    },
    Flag,
    Word(&'static [&'static str]),
    /// One of a few words, each with what it means.
    Described(&'static [(&'static str, &'static str)]),
    Time,
    PositiveTime,
    /// A rate above zero.
    Rate,
    /// A size above zero, in bytes.
    Size,
    /// A share, in per cent.
    Share,
    Limit,
    /// A file: its name, or a table with its `content` where a scenario is resolved.
    File,
    Text,
    /// A list of texts; one alone may stand without brackets.
    Texts,
    /// A text of its own form: what may be typed, and the check.
    Form(&'static str, fn(&str) -> Result<(), String>),
    Table(&'static TableSpec),
    Tables(&'static TableSpec),
    /// A name of the table's choice, or the table.
    Named(&'static TableSpec),
    /// The user's own code, `MODULE:NAME`, or a table with that as `name` and its constructor arguments.
    Own,
    /// A list of items of a kind, at least and at most this many.
    List(&'static Kind, usize, usize),
    /// A table of texts by names of any kind.
    TextsByName,
    /// One of several kinds, no two of which take the same text.
    Either(&'static [Kind]),
    /// A number, or one with the unit of another key: what may be typed.
    Measure(&'static str),
    /// Whatever another key takes: what may be typed.
    Any(&'static str),
}

impl Kind {
    /// The allowed values, for lists and error messages.
    pub fn allowed(&self) -> String {
        match *self {
            Kind::Number { low, high, unit } => {
                let range = match (low == f64::MIN_POSITIVE, high == f64::MAX) {
                    (true, true) => "above 0".into(),
                    (true, false) => format!("above 0 to {high}"),
                    (false, true) => format!("{low} or more"),
                    (false, false) => format!("{low} to {high}"),
                };
                format!("{range} {unit}").trim_end().into()
            }
            Kind::Whole { low, high: u64::MAX, unit } => format!("whole numbers from {low} {unit}").trim_end().into(),
            Kind::Whole { low, high, unit } => format!("whole numbers from {low} to {high} {unit}").trim_end().into(),
            Kind::Flag => "true, false".into(),
            Kind::Word(words) => words.join(", "),
            Kind::Described(words) => words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", "),
            Kind::Time => "a time, such as \"50 ms\"".into(),
            Kind::PositiveTime => "a time above 0, such as \"50 ms\"".into(),
            Kind::Rate => "a rate above 0, such as \"10 Mbit/s\"".into(),
            Kind::Size => "a size above 0, such as \"30 kB\"".into(),
            Kind::Share => "0 % to 100 %".into(),
            Kind::Limit => "a queue limit: \"50 kB\", \"200 packets\", \"40 ms\", \"1 bdp\"".into(),
            Kind::File => "a file's name".into(),
            Kind::Text => "a text".into(),
            Kind::Texts => "a list of texts".into(),
            Kind::Form(allowed, _) | Kind::Measure(allowed) | Kind::Any(allowed) => allowed.into(),
            Kind::Table(_) => "a table".into(),
            Kind::Tables(spec) => format!("a list of tables, [[{}]]", spec.name),
            Kind::Named(spec) => spec.choice.map_or(String::new(), |choice| choice.allowed()),
            Kind::Own => "MODULE:NAME of your own".into(),
            Kind::List(kind, low, high) if low == high => format!("a list of {low}, each {}", kind.allowed()),
            Kind::List(kind, 2, usize::MAX) => format!("a list of two or more, each {}", kind.allowed()),
            Kind::List(kind, ..) => format!("a list of at least one, each {}", kind.allowed()),
            Kind::TextsByName => "a table of texts".into(),
            Kind::Either(kinds) => kinds.iter().map(Kind::allowed).collect::<Vec<_>>().join("; or "),
        }
    }

    pub fn noun(&self) -> String {
        match *self {
            Kind::Number { .. } => "number",
            Kind::Whole { .. } => "whole number",
            Kind::Flag => "switch",
            Kind::Word(_) | Kind::Described(_) => "word",
            Kind::Time | Kind::PositiveTime => "time",
            Kind::Rate => "rate",
            Kind::Size => "size",
            Kind::Share => "share",
            Kind::Limit => "queue limit",
            Kind::File => "file",
            Kind::Text | Kind::Form(..) => "text",
            Kind::Texts => "text or list of texts",
            Kind::Table(_) | Kind::TextsByName => "table",
            Kind::Tables(_) => "list of tables",
            Kind::Named(_) => "name or table",
            Kind::Own => "name of your own",
            Kind::List(..) => "list",
            Kind::Measure(_) => "number with a unit",
            Kind::Any(_) => "any",
            Kind::Either(kinds) => return kinds.iter().map(Kind::noun).collect::<Vec<_>>().join(", "),
        }
        .into()
    }

    /// A regular expression for the text of a quantity, for JSON Schema; `None` of other kinds.
    pub fn pattern(&self) -> Option<String> {
        crate::parse::pattern(self)
    }

    /// Whether it is a number with a unit, so that messages about it begin with the input text.
    pub(crate) fn is_quantity(&self) -> bool {
        matches!(self, Kind::Time | Kind::PositiveTime | Kind::Rate | Kind::Size | Kind::Share | Kind::Limit)
    }

    /// The error of a scalar value, or `None`; `allowed` is the end of the message. For tables and lists every scalar is an error.
    pub(crate) fn problem(&self, value: ParamValue<'_>, allowed: &dyn Fn() -> String) -> Option<String> {
        let wrong = |why: &str| Some(format!("{value:?} is {why}; allowed: {}", allowed()));
        match (*self, value) {
            (Kind::Number { low, high, .. }, ParamValue::Number(x)) if (low..=high).contains(&x) => None,
            (Kind::Measure(_), ParamValue::Number(_)) => None,
            (Kind::Measure(_), ParamValue::Word(text)) if text.trim_start().starts_with(begins_a_number) => None,
            (Kind::Whole { low, high, .. }, ParamValue::Number(x))
                if x.fract() == 0.0 && (low as f64..=high as f64).contains(&x) =>
            {
                None
            }
            (Kind::Number { .. } | Kind::Whole { .. }, ParamValue::Number(_)) => wrong("out of range"),
            (Kind::Flag, ParamValue::Flag(_)) => None,
            (Kind::Word(words), ParamValue::Word(word)) => not_among(word, words.iter().copied(), allowed),
            (Kind::Described(words), ParamValue::Word(word)) => not_among(word, words.iter().map(|w| w.0), allowed),
            (Kind::File | Kind::Text | Kind::Texts | Kind::Any(_), ParamValue::Word(_)) | (Kind::Any(_), _) => None,
            (Kind::File | Kind::Text, other) => Some(format!("{other:?} is not a text; allowed: {}", allowed())),
            (Kind::Own, ParamValue::Word(text)) if own_reference(text).is_some() => None,
            (Kind::Form(_, check), ParamValue::Word(text)) => match check(text) {
                Ok(()) => None,
                Err(why) if why.is_empty() => wrong("not allowed"),
                // A quantity's parser begins with the text itself.
                Err(why) if why.starts_with(&format!("\"{text}\"")) => Some(format!("{why}; allowed: {}", allowed())),
                Err(why) => Some(format!("\"{text}\": {why}; allowed: {}", allowed())),
            },
            (Kind::Form(..), ParamValue::Number(x)) => self.problem(ParamValue::Word(&x.to_string()), allowed),
            // A bare number: the parser says which units there are, and lets a zero pass.
            (kind, ParamValue::Number(x)) if kind.is_quantity() => kind.misread(&x.to_string()),
            (kind, ParamValue::Word(text)) if kind.is_quantity() => kind.misread(text),
            (Kind::Either(kinds), value) => {
                let problems: Option<Vec<String>> = kinds.iter().map(|kind| kind.problem(value, allowed)).collect();
                problems?.into_iter().next()
            }
            _ => wrong("wrong"),
        }
    }

    /// Why a text is no such quantity.
    fn misread(&self, text: &str) -> Option<String> {
        fn parsed<T: FromStr + Default + PartialEq>(text: &str, may_be_zero: bool) -> Option<String>
        where
            T::Err: fmt::Display,
        {
            match text.parse::<T>() {
                Ok(value) if value == T::default() && !may_be_zero => {
                    Some(format!("\"{text}\" is zero; it must be above zero"))
                }
                Ok(_) => None,
                Err(why) => Some(why.to_string()),
            }
        }
        match self {
            Kind::Time => parsed::<Duration>(text, true),
            Kind::PositiveTime => parsed::<Duration>(text, false),
            Kind::Rate => parsed::<Rate>(text, false),
            Kind::Size => parsed::<Bytes>(text, false),
            Kind::Share => parsed::<Ratio>(text, true),
            _ => text.parse::<QueueLimit>().err().map(|why| why.to_string()),
        }
    }
}

fn begins_a_number(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, '+' | '-' | '.')
}

fn not_among<'w>(
    word: &str,
    mut words: impl Iterator<Item = &'w str> + Clone,
    allowed: &dyn Fn() -> String,
) -> Option<String> {
    let near = nearest(word, words.clone()).map_or(String::new(), |near| format!(" did you mean \"{near}\"?"));
    let is_known = words.any(|known| known == word);
    (!is_known).then(|| format!("\"{word}\" is not allowed;{near} allowed: {}", allowed()))
}
