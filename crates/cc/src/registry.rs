//! The registry: one line per algorithm.

use crate::{CongestionControl, ParamSpec, Params};

/// What the registry knows of an algorithm.
pub struct Entry {
    /// Name; the kernel's where one exists.
    pub name: &'static str,
    /// One line for `playpath list cc`.
    pub summary: &'static str,
    /// Paper, RFC or file.
    pub reference: &'static str,
    /// Declared parameters.
    pub params: &'static [ParamSpec],
    /// Name of the kernel's own implementation or of our eBPF twin, if there is one.
    pub kernel_twin: Option<&'static str>,
    /// Couples the windows of an MPTCP connection's subflows.
    pub is_coupled: bool,
    /// A new controller with `initial_window` packets.
    pub build: fn(params: &Params, initial_window: f64) -> Box<dyn CongestionControl>,
}

/// All algorithms, in the order of `playpath list cc`.
pub fn entries() -> &'static [&'static Entry] {
    &[]
}

/// The entry called `name`.
pub fn find(name: &str) -> Option<&'static Entry> {
    entries().iter().copied().find(|e| e.name == name)
}

/// A controller by name with all defaults; for tests and examples.
pub fn build(name: &str, initial_window: f64) -> Option<Box<dyn CongestionControl>> {
    find(name).map(|e| (e.build)(&Params::defaults(e.params), initial_window))
}
