//! The example of docs/recipes/add-a-queue.md for loss models: one packet of n is lost.

use super::LossProcess;
use crate::registry::About;
use crate::settings::config;
use playpath_units::Time;
use playpath_units::random::Stream;

config! {
    /// Parameters of the example.
    EveryNthConfig {
        n: u32 = whole(50, (1, 1000), "packets"), "one of so many is lost";
    }
}

/// Counts packets.
#[derive(Clone, Debug)]
pub struct EveryNth {
    seen: u32,
    n: u32,
}

impl LossProcess for EveryNth {
    type Config = EveryNthConfig;
    const ABOUT: About = About { name: "every_nth", summary: "the recipe's loss model", reference: "docs/recipes" };

    fn new(config: &EveryNthConfig, _stream: Stream) -> EveryNth {
        EveryNth { seen: 0, n: config.n }
    }
    fn loses(&mut self, _at: Time) -> bool {
        self.seen = (self.seen + 1) % self.n;
        self.seen == 0
    }
    fn mean_loss(config: &EveryNthConfig) -> f64 {
        1.0 / f64::from(config.n)
    }
}
