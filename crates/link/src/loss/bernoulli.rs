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

use playpath_units::Ratio;
use playpath_units::random::Stream;

/// Independent loss at work.
#[derive(Clone, Debug)]
pub struct Bernoulli {
    loss: f64,
    stream: Stream,
}

impl Bernoulli {
    /// Lose each packet with probability `loss`.
    pub fn new(loss: Ratio, stream: Stream) -> Bernoulli {
        Bernoulli { loss: loss.get(), stream }
    }

    /// Whether the next packet is lost.
    pub fn loses_next(&mut self) -> bool {
        self.stream.chance(self.loss)
    }
}
