//! Propagation: a constant delay, order-preserving jitter, explicit reordering.
//!
//! Reference: tc-netem(8) `delay TIME JITTER` and `reorder P gap N`.
//!
//! Differences from the reference
//! 1. Jitter keeps the order: a packet is never delivered before the one ahead of it. netem's jitter reorders
//!    as a side effect; here reordering is a separate setting.
//! 2. Reordering holds some packets back by an extra delay, so that others overtake them. netem lets some packets skip the
//!    delay; the extent then depends on the delay of the path.
//! 3. The normal distribution is not cut at netem's table ends, but the delay is never below zero.
//!
//! Units: ns. Invariants: delivery is never before departure; packets that are not held back stay in order; packets with
//! the same delivery time leave in the order in which they were sent.
//! Tested: exact delays, order, mean and spread of the jitter, share and extent of reordering.

use crate::config::{JitterConfig, JitterDistribution, LinkConfig, ReorderConfig};
use crate::store::Queued;
use playpath_units::random::{RootSeed, Stream};
use playpath_units::{Duration, Time};
use std::collections::VecDeque;

pub(crate) struct DelayLine {
    line: VecDeque<UnderWay>,
    one_way_delay: Duration,
    jitter: Option<Jitter>,
    reordering: Option<Reordering>,
}

/// A packet that has been sent and not yet handed out.
#[derive(Clone, Copy)]
pub(crate) struct UnderWay {
    pub delivery: Time,
    pub slot: u32,
    pub wire_bytes: u32,
}

struct Jitter {
    config: JitterConfig,
    stream: Stream,
    last_delivery: Time,
}

struct Reordering {
    config: ReorderConfig,
    stream: Stream,
    /// Packets since the last candidate.
    count: u32,
}

impl DelayLine {
    pub(crate) fn new(config: &LinkConfig, seed: RootSeed) -> DelayLine {
        let stream = |element: &str| seed.stream(&format!("link.{}/{element}", config.name));
        DelayLine {
            line: VecDeque::new(),
            one_way_delay: config.one_way_delay,
            jitter: config.jitter.map(|config| Jitter { config, stream: stream("jitter"), last_delivery: Time::ZERO }),
            reordering: config.reordering.map(|config| Reordering { config, stream: stream("reordering"), count: 0 }),
        }
    }

    /// When a packet that leaves the server at `departure` is handed out, if it is not held back.
    #[inline(always)]
    pub(crate) fn delivery(&mut self, departure: Time) -> Time {
        match &mut self.jitter {
            Some(jitter) => jitter.apply(departure, self.one_way_delay),
            None => departure + self.one_way_delay,
        }
    }

    /// A packet leaves the server at `departure`.
    #[inline]
    pub(crate) fn push(&mut self, departure: Time, packet: Queued) {
        let mut delivery = self.delivery(departure);
        if let Some(reordering) = &mut self.reordering {
            delivery += reordering.extra_delay();
            self.insert(UnderWay { delivery, slot: packet.slot, wire_bytes: packet.wire_bytes });
        } else {
            self.line.push_back(UnderWay { delivery, slot: packet.slot, wire_bytes: packet.wire_bytes });
        }
    }

    /// Next packet delivered until `now`.
    #[inline]
    pub(crate) fn pop(&mut self, now: Time) -> Option<UnderWay> {
        if self.head_delivery()? > now {
            return None;
        }
        self.line.pop_front()
    }

    #[inline]
    pub(crate) fn head_delivery(&self) -> Option<Time> {
        self.line.front().map(|packet| packet.delivery)
    }

    /// The least delay that a packet not yet sent can have, if it may overtake those under way.
    pub(crate) fn min_delay_if_overtaking(&self) -> Option<Duration> {
        self.reordering.as_ref()?;
        Some(self.jitter.as_ref().map_or(self.one_way_delay, |jitter| jitter.min_delay(self.one_way_delay)))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &UnderWay> {
        self.line.iter()
    }

    /// Insert, searching from the back: only packets that are held back have to be passed.
    fn insert(&mut self, packet: UnderWay) {
        let mut position = self.line.len();
        while position > 0 && self.line[position - 1].delivery > packet.delivery {
            position -= 1;
        }
        self.line.insert(position, packet);
    }
}

impl Jitter {
    fn apply(&mut self, departure: Time, one_way_delay: Duration) -> Time {
        let deviate = match self.config.distribution {
            JitterDistribution::Uniform => self.stream.uniform_in(-1.0, 1.0),
            JitterDistribution::Normal => self.stream.normal(),
        };
        let shift = self.config.amplitude.mul_f64(deviate.abs());
        let delay = if deviate < 0.0 { one_way_delay.saturating_sub(shift) } else { one_way_delay + shift };
        self.last_delivery = (departure + delay).max(self.last_delivery);
        self.last_delivery
    }

    fn min_delay(&self, one_way_delay: Duration) -> Duration {
        match self.config.distribution {
            JitterDistribution::Uniform => one_way_delay.saturating_sub(self.config.amplitude),
            JitterDistribution::Normal => Duration::ZERO,
        }
    }
}

impl Reordering {
    fn extra_delay(&mut self) -> Duration {
        self.count += 1;
        if self.count < self.config.gap {
            return Duration::ZERO;
        }
        self.count = 0;
        if self.stream.chance(self.config.probability.get()) { self.config.extra_delay } else { Duration::ZERO }
    }
}
