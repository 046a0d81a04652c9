//! The players, a file or a folder each. The `mod` line here registers a player: the build script generates `ENTRIES` from these lines, in
//! the same order, which is also that of `playpath list player`.

use crate::registry::PlayerEntry;

pub mod progressive;

pub mod dash;

pub mod agent;

include!(concat!(env!("OUT_DIR"), "/players.rs"));

#[cfg(test)]
#[path = "../../../docs/recipes/complete.rs"]
mod complete; // the example of docs/recipes/add-a-player.md
