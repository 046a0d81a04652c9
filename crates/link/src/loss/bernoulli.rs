//! Independent loss: every packet is lost with the same probability, whatever its size and its neighbours.
//!
//! Differences from the reference, tests: docs/models/loss-models.md.
//!
//! Unit: probability per packet. Invariant: exactly one draw per packet, so that two links that differ only in the
//! probability lose nested sets of packets.

use super::LossProcess;
use crate::registry::About;
use crate::settings::config;
use playpath_units::random::Stream;
use playpath_units::{Kind, Ratio, Time};

config! {
    /// Parameters of independent loss.
    BernoulliConfig {
        loss: Ratio = text("0 %", Kind::Share), "chance to lose a packet";
    }
}

/// Independent loss at work.
#[derive(Clone, Debug)]
pub struct Bernoulli {
    loss: f64,
    stream: Stream,
}

impl LossProcess for Bernoulli {
    type Config = BernoulliConfig;
    const ABOUT: About = About {
        name: "bernoulli",
        summary: "each packet is lost with the same probability",
        reference: "netem loss random; ns-2 ErrorModel",
    };

    fn new(config: &BernoulliConfig, stream: Stream) -> Bernoulli {
        Bernoulli { loss: config.loss.get(), stream }
    }
    fn loses(&mut self, _at: Time) -> bool {
        self.stream.chance(self.loss)
    }
    fn mean_loss(config: &BernoulliConfig) -> f64 {
        config.loss.get()
    }
}
