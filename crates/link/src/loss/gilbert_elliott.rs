//! Gilbert–Elliott: a two-state chain, good and bad, with a loss probability in each state.
//!
//! Differences from the reference, tests: docs/models/loss-models.md.
//!
//! Reference: E. N. Gilbert, "Capacity of a burst-noise channel", BSTJ 39 (1960); E. O. Elliott, BSTJ 42 (1963);
//! netem `loss gemodel p r 1-h 1-k` (net/sched/sch_netem.c). Names: p = good to bad, r = bad to good,
//! 1-k = loss in good, 1-h = loss in bad.
//!
//! Mean loss = (p × loss_in_bad + r × loss_in_good) / (p + r). A run of bad packets has mean length 1/r, a run of good ones 1/p.
//!
//! Invariants: the chain starts in the good state; it moves once per packet, not per unit of time.

use super::LossProcess;
use crate::registry::About;
use crate::settings::config;
use playpath_units::random::Stream;
use playpath_units::{Kind, Ratio, Time};

config! {
    /// Parameters of the chain: Gilbert's simple form (netem's defaults), 3.8 % lost in bursts of 4.
    GilbertElliottConfig {
        p: Ratio = text("1 %", Kind::Share), "chance to go from good to bad, per packet";
        r: Ratio = text("25 %", Kind::Share), "chance to go from bad to good, per packet; 1/r is the mean length of a burst";
        loss_in_good: Ratio = text("0 %", Kind::Share), "chance to lose a packet in the good state (netem 1-k)";
        loss_in_bad: Ratio = text("100 %", Kind::Share), "chance to lose a packet in the bad state (netem 1-h)";
    }
}

#[derive(Clone, Debug)]
pub struct GilbertElliott {
    config: GilbertElliottConfig,
    is_bad: bool,
    stream: Stream,
}

impl LossProcess for GilbertElliott {
    type Config = GilbertElliottConfig;
    const ABOUT: About = About {
        name: "gilbert_elliott",
        summary: "losses in bursts: a two-state chain",
        reference: "Gilbert 1960, Elliott 1963; netem loss gemodel",
    };

    fn new(config: &GilbertElliottConfig, stream: Stream) -> GilbertElliott {
        GilbertElliott { config: config.clone(), is_bad: false, stream }
    }

    fn loses(&mut self, _at: Time) -> bool {
        let config = &self.config;
        let (leave, loss) = match self.is_bad {
            false => (config.p, config.loss_in_good),
            true => (config.r, config.loss_in_bad),
        };
        self.is_bad ^= self.stream.chance(leave.get());
        self.stream.chance(loss.get())
    }

    /// A chain that never moves stays in good.
    fn mean_loss(config: &GilbertElliottConfig) -> f64 {
        let (p, r) = (config.p.get(), config.r.get());
        if p == 0.0 {
            return config.loss_in_good.get();
        }
        (p * config.loss_in_bad.get() + r * config.loss_in_good.get()) / (p + r)
    }
}
