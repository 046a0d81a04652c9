//! The registries: what there is to choose from, with settings and defaults, for `playpath list` and for whoever reads a scenario.
//! Values are text as typed ("50 ms", "1 bdp", "0.1", "true"). One list per kind of element, one entry per model.

mod loss;
mod queue;
mod server;
mod trace;

use crate::queue::QueueConfig;
use crate::settings::SettingInfo;
use crate::{LossConfig, ServerConfig};

pub use trace::Generator;

/// Settings as typed: name, value.
pub type Settings<'a> = &'a [(&'a str, &'a str)];

/// What a registry knows of a model that is configured by a `T`.
pub struct Entry<T> {
    /// `kind` in a scenario; the kernel's name where one exists.
    pub name: &'static str,
    /// One line for `playpath list`.
    pub summary: &'static str,
    /// Paper, RFC or program.
    pub reference: &'static str,
    /// Settings with defaults.
    pub settings: fn() -> Vec<SettingInfo>,
    /// A configuration: defaults changed by settings as typed. Errors: one line. Ranges that depend on the link are checked
    /// by [`LinkConfig::validate`](crate::LinkConfig::validate).
    pub build: fn(settings: Settings<'_>) -> Result<T, String>,
}

/// Queues and their management.
pub fn queues() -> &'static [Entry<QueueConfig>] {
    &queue::ENTRIES
}

/// Loss models.
pub fn losses() -> &'static [Entry<LossConfig>] {
    &loss::ENTRIES
}

/// What sets the pace of a link.
pub fn servers() -> &'static [Entry<ServerConfig>] {
    &server::ENTRIES
}

/// Generators of bandwidth traces.
pub fn trace_generators() -> &'static [Entry<Generator>] {
    &trace::ENTRIES
}

/// The entry called `name`.
pub fn find<T>(entries: &'static [Entry<T>], name: &str) -> Option<&'static Entry<T>> {
    entries.iter().find(|entry| entry.name == name)
}
