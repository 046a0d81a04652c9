//! The controls by name, and their parameters in command-line form. The parameters are declared in `playpath_cc::kernel`.

use playpath_cc::ParamValue;
use playpath_cc::kernel::{Block, Law, Refused, Slot, laws};

use playpath_units::names::unknown;

use crate::load::NAME_SIZE;

/// An invalid name or setting: one line.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    #[error("{}", unknown("control", .0, names()))]
    UnknownControl(String),
    #[error("{}", unknown(&format!("parameter of {}", .law.name), .name, parameters(.law)))]
    UnknownParameter { law: &'static Law, name: String },
    /// Not NAME=VALUE with a value of the parameter's kind.
    #[error("`{assignment}`: write {allowed}")]
    Malformed { assignment: String, allowed: String },
    /// A value that the law does not hold.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The control cannot be registered under this name.
    #[error(
        "`{registered}` cannot be registered; a name is `{control}` or `{control}.SUFFIX`, letters and digits, \
         under {NAME_SIZE} characters"
    )]
    Name { registered: String, control: &'static str },
}

fn parameters(law: &Law) -> Vec<&'static str> {
    law.slots().map(|slot| slot.spec.name).collect()
}

pub fn find(name: &str) -> Result<&'static Law, InputError> {
    laws().into_iter().find(|law| law.name == name).ok_or_else(|| InputError::UnknownControl(name.into()))
}

pub fn names() -> Vec<&'static str> {
    laws().iter().map(|law| law.name).collect()
}

/// The control that a registered name (`ccplb`, `ccplb.a1`) belongs to.
pub fn of_registered(name: &str) -> Option<&'static Law> {
    find(name.split('.').next().unwrap_or(name)).ok()
}

/// Set `name=value` in `block`.
pub fn assign(law: &'static Law, block: &mut Block, assignment: &str) -> Result<(), InputError> {
    let malformed = |allowed| InputError::Malformed { assignment: assignment.into(), allowed };
    let (name, text) = assignment.split_once('=').ok_or_else(|| malformed("NAME=VALUE".into()))?;
    let slot = law.slot(name).ok_or_else(|| InputError::UnknownParameter { law, name: name.into() })?;
    let value = value_of(slot, text).ok_or_else(|| malformed(format!("{name}=VALUE, {}", slot.allowed())))?;
    Ok(law.set(block, slot, value)?)
}

fn value_of(slot: &Slot, text: &str) -> Option<ParamValue<'static>> {
    match slot.spec.default {
        ParamValue::Number(_) => text.parse().ok().map(ParamValue::Number),
        ParamValue::Flag(_) => text.parse().ok().map(ParamValue::Flag),
        ParamValue::Word(_) => slot.spec.words().iter().find(|word| **word == text).copied().map(ParamValue::Word),
    }
}

pub fn json(value: ParamValue) -> serde_json::Value {
    match value {
        ParamValue::Number(x) => x.into(),
        ParamValue::Flag(x) => x.into(),
        ParamValue::Word(x) => x.into(),
    }
}

#[cfg(test)]
mod tests;
