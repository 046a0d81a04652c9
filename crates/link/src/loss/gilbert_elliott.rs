//! Gilbert–Elliott: a two-state chain, good and bad, with a loss probability in each state.
//!
//! Reference: E. N. Gilbert, "Capacity of a burst-noise channel", BSTJ 39 (1960); E. O. Elliott, BSTJ 42 (1963);
//! netem `loss gemodel p r 1-h 1-k` (net/sched/sch_netem.c). Names: p = good to bad, r = bad to good,
//! 1-k = loss in good, 1-h = loss in bad.
//!
//! Mean loss = (p × loss_in_bad + r × loss_in_good) / (p + r). A run of bad packets has mean length 1/r, a run of good ones 1/p.
//!
//! Differences from the reference
//! 1. As netem: the transition is drawn first, the loss by the state *before* the transition. (Kernels before about 3.14
//!    fell through from the good branch into the bad one; that is a fault and not reproduced.)
//! 2. Both draws are made for every packet, also where one of them is certain, so that streams stay aligned.
//!
//! Invariants: the chain starts in the good state; it moves once per packet, not per unit of time.
//! Tested: mean loss, mean lengths of bursts and of gaps, against the formulas above.

use playpath_units::Ratio;
use playpath_units::random::Stream;

/// Parameters of the chain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GilbertElliottConfig {
    /// p: chance to go from good to bad, per packet.
    pub good_to_bad: Ratio,
    /// r: chance to go from bad to good, per packet.
    pub bad_to_good: Ratio,
    /// 1-k: chance to lose a packet in the good state.
    pub loss_in_good: Ratio,
    /// 1-h: chance to lose a packet in the bad state.
    pub loss_in_bad: Ratio,
}

impl GilbertElliottConfig {
    /// Gilbert's simple form: nothing lost in good, everything lost in bad (netem's defaults).
    pub fn simple(good_to_bad: Ratio, bad_to_good: Ratio) -> GilbertElliottConfig {
        let [never, always] = [0.0, 1.0].map(|x| Ratio::new(x).expect("within 0 to 1"));
        GilbertElliottConfig { good_to_bad, bad_to_good, loss_in_good: never, loss_in_bad: always }
    }

    /// Long-run share of lost packets. A chain that never moves stays in good.
    pub fn mean_loss(&self) -> f64 {
        let (p, r) = (self.good_to_bad.get(), self.bad_to_good.get());
        if p == 0.0 {
            return self.loss_in_good.get();
        }
        (p * self.loss_in_bad.get() + r * self.loss_in_good.get()) / (p + r)
    }
}

/// The chain at work.
#[derive(Clone, Debug)]
pub struct GilbertElliott {
    config: GilbertElliottConfig,
    is_bad: bool,
    stream: Stream,
}

impl GilbertElliott {
    /// A chain in the good state.
    pub fn new(config: GilbertElliottConfig, stream: Stream) -> GilbertElliott {
        GilbertElliott { config, is_bad: false, stream }
    }

    /// Whether the next packet is lost; moves the chain.
    pub fn loses_next(&mut self) -> bool {
        let config = &self.config;
        let (leave, loss) = match self.is_bad {
            false => (config.good_to_bad, config.loss_in_good),
            true => (config.bad_to_good, config.loss_in_bad),
        };
        self.is_bad ^= self.stream.chance(leave.get());
        self.stream.chance(loss.get())
    }
}
