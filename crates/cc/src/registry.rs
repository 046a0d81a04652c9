//! The registry: one line per algorithm.

use crate::{
    CongestionControl, ParamSpec, Params, balia, bbr, ccp, ccpd, ccplb, ccplca, compound, cubic, lia, newreno, olia,
    vegas, vegas_linux, westwood, wvegas,
};

/// What the registry knows of an algorithm.
pub struct Entry {
    /// Name; the kernel's where one exists.
    pub name: &'static str,
    /// Other names that [`find`] knows it by.
    pub aliases: &'static [&'static str],
    /// One line for `playpath list cc`.
    pub summary: &'static str,
    /// Paper, RFC or file.
    pub reference: &'static str,
    /// Declared parameters.
    pub params: &'static [ParamSpec],
    /// Name of the kernel's own implementation, or `bpf:` and the name of ours (folder `bpf`), if there is one.
    pub kernel_twin: Option<&'static str>,
    /// Couples the windows of an MPTCP connection's subflows.
    pub is_coupled: bool,
    /// Where it legitimately differs from a loss-based control. The contract suite reads it; so may a user.
    pub behaviour: Behaviour,
    /// A new controller with `initial_window` packets.
    pub build: fn(params: &Params, initial_window: f64) -> Box<dyn CongestionControl>,
}

/// What an algorithm declares of itself. Most start from [`Behaviour::LOSS_BASED`] and change a field or two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Behaviour {
    /// A loss episode reduces the window.
    pub responds_to_loss: bool,
    /// ECN-Echo reduces the window.
    pub responds_to_ecn: bool,
    /// A retransmission timeout takes the window down to a few packets.
    pub collapses_on_rto: bool,
    /// The window may shrink on an ACK without any loss (delay and model based controls).
    pub shrinks_without_loss: bool,
    /// The window grows only on ACKs with `may_grow`.
    pub grows_only_if_allowed: bool,
    /// An undo brings back at least the window before the reduction.
    pub undo_restores: bool,
}

impl Behaviour {
    /// Grows while used, shrinks on loss, ECN and timeout only.
    pub const LOSS_BASED: Behaviour = Behaviour {
        responds_to_loss: true,
        responds_to_ecn: true,
        collapses_on_rto: true,
        shrinks_without_loss: false,
        grows_only_if_allowed: true,
        undo_restores: true,
    };
    /// As [`LOSS_BASED`](Self::LOSS_BASED), and shrinks when the delay grows.
    pub const DELAY_BASED: Behaviour = Behaviour { shrinks_without_loss: true, ..Behaviour::LOSS_BASED };
}

/// All algorithms, in the order of `playpath list cc`.
static ENTRIES: &[&Entry] = &[
    &newreno::ENTRY,
    &cubic::ENTRY,
    &compound::ENTRY,
    &westwood::ENTRY,
    &vegas::ENTRY,
    &vegas_linux::ENTRY,
    &lia::ENTRY,
    &olia::ENTRY,
    &balia::ENTRY,
    &wvegas::ENTRY,
    &ccp::ENTRY,
    &ccpd::ENTRY,
    &ccplca::ENTRY,
    &ccplb::ENTRY,
    &bbr::ENTRY,
];

/// All algorithms, in the order of `playpath list cc`.
pub fn entries() -> &'static [&'static Entry] {
    ENTRIES
}

/// The entry called `name`, or known by it as an alias.
pub fn find(name: &str) -> Option<&'static Entry> {
    entries().iter().copied().find(|entry| entry.name == name || entry.aliases.contains(&name))
}

/// A controller by name with all defaults; for tests and examples.
pub fn build(name: &str, initial_window: f64) -> Option<Box<dyn CongestionControl>> {
    find(name).map(|e| (e.build)(&Params::defaults(e.params), initial_window))
}
