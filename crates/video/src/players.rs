//! The players, a file or a folder each. Its `mod` line here registers a player: the build script makes `ENTRIES` of these lines, in
//! their order, which is that of `playpath list player`.

use crate::registry::PlayerEntry;

pub mod progressive;

pub mod dash;

pub mod agent;

include!(concat!(env!("OUT_DIR"), "/players.rs"));

#[cfg(test)]
#[path = "../../../docs/recipes/complete.rs"]
mod complete; // the example of docs/recipes/add-a-player.md
