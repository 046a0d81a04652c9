//! Random numbers for controllers that need some (BBR spreads its probes). A controller has no access to the run's streams, so
//! each draw is a named stream whose root is made of the parameter `seed`, the time, and what the connection has delivered:
//! the same run gives the same draws, and two flows that differ in anything draw differently. The simulator adds a number of the run's
//! seed and the flow to the parameter, so that runs with different seeds draw differently.

use crate::{ParamSpec, View};
use playpath_units::random::{RootSeed, Stream};

pub const SEED: ParamSpec = ParamSpec::number(
    "seed",
    0.0,
    (0.0, 1e9),
    "",
    "seed of the random choices, on top of the run's; the same run repeats them exactly",
);

pub fn at(view: &View, seed: u64, name: &str) -> Stream {
    let root = seed ^ view.now.as_nanos() ^ view.delivered.rotate_left(40) ^ (view.own_index as u64).rotate_left(56);
    RootSeed(root).stream(name)
}
