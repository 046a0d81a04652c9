//! Independent loss: every packet is lost with the same probability, whatever its size and its neighbours.
//!
//! Reference: netem `loss random P` (tc-netem(8)); ns-2 `ErrorModel` with `unit_ pkt`.
//!
//! Differences from the reference
//! 1. Drawn from 53 random bits; netem uses 32. So rates under 2^-32 exist.
//! 2. No correlation parameter: netem's yields another mean than the one that is set. Bursts are the Gilbert–Elliott model's.
//!
//! Unit: probability per packet. Invariant: exactly one draw per packet, so that two links that differ only in the
//! probability lose nested sets of packets.
//! Tested: mean rate within 5 standard errors, no correlation between neighbours, nested sets.

use super::LossProcess;
use crate::registry::About;
use crate::settings::config;
use playpath_units::random::Stream;
use playpath_units::{Kind, Ratio, Time};

config! {
    BernoulliConfig {
        loss: Ratio = text("0 %", Kind::Share), "chance to lose a packet";
    }
}

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
