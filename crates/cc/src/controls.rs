//! The controls, a file or a folder each. The `mod` line here registers a control: the build script generates `ENTRIES` from these
//! lines, in the same order, which is also that of `playpath list cc`.

use crate::registry::Entry;

// The window falls on loss.
mod cubic;
mod newreno;
mod westwood;

// It falls by the share of marks.
mod dctcp;
mod prague;

// It also follows the delay.
mod compound;
mod ledbatpp;
mod vegas;
mod vegas_linux;

// Subflows of a connection share.
mod balia;
mod lia;
mod olia;
mod wvegas;

// The playout buffer's.
mod ccp;
mod ccpd;
mod ccplb;
mod ccplca;
mod sammy;
mod slack;

// From a model of the path.
mod bbr;
mod bbr3;
mod copa;

include!(concat!(env!("OUT_DIR"), "/controls.rs"));

#[cfg(test)]
#[path = "../../../docs/recipes/scalable.rs"]
mod scalable; // the example of docs/recipes/add-a-congestion-control.md
