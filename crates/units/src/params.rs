//! Parameters of algorithms: declared with defaults and ranges, set by name.

use std::fmt;

/// A declared parameter. Shown by `playpath list`, checked before an algorithm is built.
#[derive(Clone, Copy, Debug)]
pub struct ParamSpec {
    /// Name as typed in a scenario.
    pub name: &'static str,
    /// Default and, by its kind, the allowed kind of value.
    pub default: ParamValue,
    /// Allowed range of a number, inclusive.
    pub range: (f64, f64),
    /// Allowed words of a word parameter; empty otherwise.
    pub words: &'static [&'static str],
    /// Unit of a number ("packets", "s", "" for none).
    pub unit: &'static str,
    /// One line for users, with the source of the default.
    pub doc: &'static str,
}

impl ParamSpec {
    /// A number within `range`.
    pub const fn number(
        name: &'static str,
        default: f64,
        range: (f64, f64),
        unit: &'static str,
        doc: &'static str,
    ) -> ParamSpec {
        ParamSpec { name, default: ParamValue::Number(default), range, words: &[], unit, doc }
    }
    /// A switch.
    pub const fn flag(name: &'static str, default: bool, doc: &'static str) -> ParamSpec {
        ParamSpec { name, default: ParamValue::Flag(default), range: (0.0, 0.0), words: &[], unit: "", doc }
    }
    /// One of a few words.
    pub const fn word(
        name: &'static str,
        default: &'static str,
        words: &'static [&'static str],
        doc: &'static str,
    ) -> ParamSpec {
        ParamSpec { name, default: ParamValue::Word(default), range: (0.0, 0.0), words, unit: "", doc }
    }
}

/// A value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParamValue {
    /// A number.
    Number(f64),
    /// A switch.
    Flag(bool),
    /// One of the allowed words.
    Word(&'static str),
}

impl fmt::Display for ParamValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParamValue::Number(x) => x.fmt(f),
            ParamValue::Flag(x) => x.fmt(f),
            ParamValue::Word(x) => f.write_str(x),
        }
    }
}

/// A full set of values: every declared parameter, defaults filled in.
#[derive(Clone, Debug)]
pub struct Params {
    specs: &'static [ParamSpec],
    values: Vec<ParamValue>,
}

impl Params {
    /// All defaults.
    pub fn defaults(specs: &'static [ParamSpec]) -> Params {
        Params { specs, values: specs.iter().map(|s| s.default).collect() }
    }

    /// Set a number. Errors: unknown name, not a number parameter, out of range; one line that says what is allowed.
    pub fn set_number(&mut self, name: &str, value: f64) -> Result<(), String> {
        let i = self.index(name)?;
        let spec = &self.specs[i];
        if !matches!(spec.default, ParamValue::Number(_)) {
            return Err(format!("`{name}` is not a number; {}", allowed(spec)));
        }
        if !(spec.range.0..=spec.range.1).contains(&value) {
            return Err(format!("`{name}` = {value} is out of range; {}", allowed(spec)));
        }
        self.values[i] = ParamValue::Number(value);
        Ok(())
    }

    /// Set a switch. Errors as [`set_number`](Self::set_number).
    pub fn set_flag(&mut self, name: &str, value: bool) -> Result<(), String> {
        let i = self.index(name)?;
        if !matches!(self.specs[i].default, ParamValue::Flag(_)) {
            return Err(format!("`{name}` is not a switch; {}", allowed(&self.specs[i])));
        }
        self.values[i] = ParamValue::Flag(value);
        Ok(())
    }

    /// Set a word. Errors as [`set_number`](Self::set_number).
    pub fn set_word(&mut self, name: &str, value: &str) -> Result<(), String> {
        let i = self.index(name)?;
        let spec = &self.specs[i];
        let Some(word) = spec.words.iter().find(|w| **w == value) else {
            return Err(format!("`{name}` = \"{value}\" is not allowed; {}", allowed(spec)));
        };
        self.values[i] = ParamValue::Word(word);
        Ok(())
    }

    /// Value of a number parameter. Panics if the algorithm did not declare it: a broken invariant.
    pub fn number(&self, name: &str) -> f64 {
        match self.get(name) {
            ParamValue::Number(x) => x,
            other => panic!("parameter {name} is declared as {other:?}"),
        }
    }
    /// Value of a switch. Panics as [`number`](Self::number).
    pub fn flag(&self, name: &str) -> bool {
        match self.get(name) {
            ParamValue::Flag(x) => x,
            other => panic!("parameter {name} is declared as {other:?}"),
        }
    }
    /// Value of a word. Panics as [`number`](Self::number).
    pub fn word(&self, name: &str) -> &'static str {
        match self.get(name) {
            ParamValue::Word(x) => x,
            other => panic!("parameter {name} is declared as {other:?}"),
        }
    }

    /// Every parameter with its value, in declared order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static ParamSpec, ParamValue)> + '_ {
        self.specs.iter().zip(self.values.iter().copied())
    }

    fn get(&self, name: &str) -> ParamValue {
        match self.specs.iter().position(|s| s.name == name) {
            Some(i) => self.values[i],
            None => panic!("parameter {name} is not declared"),
        }
    }

    fn index(&self, name: &str) -> Result<usize, String> {
        self.specs.iter().position(|s| s.name == name).ok_or_else(|| {
            let names: Vec<_> = self.specs.iter().map(|s| s.name).collect();
            format!("unknown parameter `{name}`; allowed: {}", names.join(", "))
        })
    }
}

fn allowed(spec: &ParamSpec) -> String {
    match spec.default {
        ParamValue::Number(_) => {
            format!("allowed: {} to {} {}", spec.range.0, spec.range.1, spec.unit).trim_end().into()
        }
        ParamValue::Flag(_) => "allowed: true, false".into(),
        ParamValue::Word(_) => format!("allowed: {}", spec.words.join(", ")),
    }
}
