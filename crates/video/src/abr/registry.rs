//! Registry entries of rules, and rules by name.

use super::Abr;
use playpath_units::names::unknown;
use playpath_units::{Kind, ParamSpec, Params};

pub struct AbrEntry {
    /// Name as typed in a scenario.
    pub name: &'static str,
    /// One line for `playpath list abr`.
    pub summary: &'static str,
    /// Paper or file.
    pub reference: &'static str,
    pub params: &'static [ParamSpec],
    pub build: fn(params: &Params) -> Box<dyn Abr>,
}

/// All rules, in the order of `playpath list abr`.
pub fn entries() -> &'static [&'static AbrEntry] {
    super::ENTRIES
}

pub fn find(name: &str) -> Option<&'static AbrEntry> {
    entries().iter().copied().find(|entry| entry.name == name)
}

/// A rule by name with all defaults; for tests and examples.
pub fn build(name: &str) -> Option<Box<dyn Abr>> {
    find(name).map(|entry| (entry.build)(&Params::defaults(entry.params)))
}

/// Parse a rule with its parameters: `bola variant=u gp=5`. Errors: one line with the allowed values.
pub fn parse(text: &str) -> Result<(&'static AbrEntry, Params), String> {
    let mut words = text.split_whitespace();
    let name = words.next().unwrap_or_default();
    let entry = find(name).ok_or_else(|| unknown("rule", name, entries().iter().map(|entry| entry.name)))?;
    let mut params = Params::defaults(entry.params);
    for word in words {
        let (key, value) = word.split_once('=').ok_or_else(|| format!("\"{word}\" is not of the form key=value"))?;
        params.set_text(key, value)?;
    }
    Ok((entry, params))
}

pub const REGISTERED_RULE: Kind =
    Kind::Form("a rule with parameters, such as \"bola variant=u\"", |text| parse(text).map(drop));
/// Kind of value of a rule that may be the user's own.
pub const RULE: Kind = Kind::Either(&[REGISTERED_RULE, Kind::Own]);

#[cfg(test)]
mod tests;
