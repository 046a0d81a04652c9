//! The registry: one line per rule.

use super::{Abr, bba, bola, dash_js, dynamic, fixed, mpc, throughput, vlc};
use playpath_units::{ParamSpec, Params};

/// What the registry knows of a rule.
pub struct AbrEntry {
    /// Name as typed in a scenario.
    pub name: &'static str,
    /// One line for `playpath list abr`.
    pub summary: &'static str,
    /// Paper or file.
    pub reference: &'static str,
    /// Declared parameters.
    pub params: &'static [ParamSpec],
    /// A new rule.
    pub build: fn(params: &Params) -> Box<dyn Abr>,
}

/// All rules, in the order of `playpath list abr`.
pub fn entries() -> &'static [&'static AbrEntry] {
    &[
        &fixed::ENTRY,
        &throughput::ENTRY,
        &dash_js::ENTRY,
        &vlc::ENTRY,
        &bba::ENTRY,
        &bola::ENTRY,
        &dynamic::ENTRY,
        &mpc::ENTRY,
    ]
}

/// The entry called `name`.
pub fn find(name: &str) -> Option<&'static AbrEntry> {
    entries().iter().copied().find(|entry| entry.name == name)
}

/// A rule by name with all defaults; for tests and examples.
pub fn build(name: &str) -> Option<Box<dyn Abr>> {
    find(name).map(|entry| (entry.build)(&Params::defaults(entry.params)))
}
