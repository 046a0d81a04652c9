//! The registries: the available models with settings and defaults, for `playpath list` and for reading scenarios.

use crate::LossConfig;
use crate::queue::QueueConfig;
use crate::trace::generate::{self, Generate};
use playpath_units::names::unknown;
use playpath_units::{ParamSpec, Params};

#[derive(Clone, Copy, Debug)]
pub struct About {
    /// `kind` in a scenario; the kernel's name where one exists.
    pub name: &'static str,
    /// One line for `playpath list`.
    pub summary: &'static str,
    /// Paper, RFC or program.
    pub reference: &'static str,
}

/// Registry entry of a model with the configuration `T`.
pub struct Entry<T> {
    pub about: About,
    pub params: &'static [ParamSpec],
    /// A configuration. Errors: one line. Ranges that depend on the link are checked when it is built.
    pub build: fn(settings: &Params) -> Result<T, String>,
}

impl<T> Entry<T> {
    /// A configuration with settings as a command line gives them. Errors: one line.
    pub fn with(&self, settings: &[(&str, &str)]) -> Result<T, String> {
        let mut params = Params::defaults(self.params);
        settings.iter().try_for_each(|(name, text)| params.set_text(name, text))?;
        (self.build)(&params)
    }
}

pub fn queues() -> &'static [Entry<QueueConfig>] {
    crate::queue::ENTRIES
}

pub fn losses() -> &'static [Entry<LossConfig>] {
    crate::loss::ENTRIES
}

pub fn trace_generators() -> &'static [Entry<Box<dyn Generate>>] {
    generate::ENTRIES
}

/// The entry called `name`. Error: the nearest name; `what` is the kind of thing.
pub fn find<T>(entries: &'static [Entry<T>], what: &str, name: &str) -> Result<&'static Entry<T>, String> {
    let found = entries.iter().find(|entry| entry.about.name == name);
    found.ok_or_else(|| unknown(what, name, entries.iter().map(|e| e.about.name)))
}
