//! Configuration of a link: plain values that a scenario parser fills in. [`Link::new`](crate::Link::new) checks them.

use crate::ecn::EcnRewrite;
use crate::error::LinkError;
use crate::hazards::{Mtu, Rebinding};
use crate::loss::LossConfig;
use crate::outage::Outage;
use crate::queue::{DropTailConfig, Queue, QueueConfig};
use crate::server::wifi::WifiConfig;
use crate::settings::Config;
use crate::trace::{OpportunityTrace, RateTrace};
use playpath_units::random::RootSeed;
use playpath_units::{Duration, QueueLimit, Rate, Ratio};
use std::sync::Arc;

/// One direction of a path: loss, queue, server, delay.
#[derive(Clone, Debug)]
pub struct LinkConfig {
    /// Name within the run, such as "wifi/down". The link's random streams are named after it.
    pub name: String,
    pub server: ServerConfig,
    /// Where in its trace a link begins; without a trace it has no meaning.
    pub trace_start: TraceStart,
    pub one_way_delay: Duration,
    /// Variation of the delay that keeps packets in order.
    pub jitter: Option<JitterConfig>,
    pub reordering: Option<ReorderConfig>,
    pub loss: LossConfig,
    pub loss_place: LossPlace,
    /// What it does to the ECN field; `None`: nothing.
    pub ecn_rewrite: Option<EcnRewrite>,
    /// When the link takes nothing.
    pub outage: Option<Outage>,
    /// Packets of more bytes are dropped.
    pub mtu: Option<Mtu>,
    pub corruption: Ratio,
    pub rebinding: Option<Rebinding>,
    pub queue: QueueConfig,
    /// Round-trip time of the path without queueing: the "rtt" in limits of "1 bdp".
    pub base_rtt: Duration,
}

impl LinkConfig {
    /// A link with a constant rate, a delay, and a drop-tail queue of one bandwidth-delay product; no loss.
    pub fn new(name: &str, rate: Rate, one_way_delay: Duration) -> LinkConfig {
        LinkConfig {
            name: name.to_owned(),
            server: ServerConfig::Constant { rate },
            trace_start: TraceStart::default(),
            one_way_delay,
            jitter: None,
            reordering: None,
            loss: LossConfig::None,
            loss_place: LossPlace::BeforeQueue,
            ecn_rewrite: None,
            outage: None,
            mtu: None,
            corruption: Ratio::ZERO,
            rebinding: None,
            queue: QueueConfig::default(),
            base_rtt: one_way_delay * 2,
        }
    }

    /// Check everything without building. Errors: the first setting that is not allowed.
    pub fn validate(&self) -> Result<(), LinkError> {
        self.check_all_but_the_queue()?;
        Queue::new(&self.queue, self.link_facts(), RootSeed(0).stream("unused")).map(drop)
    }

    pub(crate) fn check_all_but_the_queue(&self) -> Result<(), LinkError> {
        if let ServerConfig::Constant { rate } | ServerConfig::TokenBucket { rate, .. } = self.server
            && rate.as_bits_per_sec() == 0
        {
            return Err(LinkError::new("rate", rate, "above 0"));
        }
        if let ServerConfig::TokenBucket { depth: 0, .. } = self.server {
            return Err(LinkError::new("burst", "0 B", "above 0"));
        }
        if let ServerConfig::Wifi(wifi) = &self.server {
            wifi.check("wifi")?;
        }
        if let Some(reordering) = &self.reordering {
            reordering.validate()?;
        }
        if let Some(Outage { from, until, .. }) = self.outage
            && until <= from
        {
            return Err(LinkError::new("outage.until", until, "later than `from`"));
        }
        if self.mtu.is_some_and(|mtu| mtu.bytes == 0) {
            return Err(LinkError::new("mtu", "0 B", "above 0"));
        }
        self.loss.check()
    }

    /// Warnings about this link's configuration, each one line that begins with the link's name.
    pub fn doubts(&self) -> impl Iterator<Item = String> + '_ {
        [self.tight_queue(), self.bursts_by_packets()].into_iter().flatten()
    }

    /// Warning about a drop-tail queue towards the client whose limit, in time or bandwidth-delay products, is too small for two full
    /// packets, so that a burst of two loses one; this is probably a mistake.
    fn tight_queue(&self) -> Option<String> {
        const FULL_PACKET: u64 = 1500;
        let name = self.name.strip_suffix("/down")?;
        let (limit, bytes) = self.derived_queue().filter(|(_, bytes)| *bytes < 2 * FULL_PACKET)?;
        let packets = bytes as f64 / FULL_PACKET as f64;
        Some(format!(
            "{name}: the queue of {limit} holds {packets:.1} packets of 1500 B; if you mean so few, give the limit in packets"
        ))
    }

    /// A burst that is counted in packets waits for a sender that waits for its timer.
    fn bursts_by_packets(&self) -> Option<String> {
        let LossConfig::GilbertElliott(_) = self.loss else { return None };
        Some(format!(
            "{}: bursts of `gilbert_elliott` advance packet by packet: one can last for minutes while a sender waits for its timer; \
             `kind = \"bursts\"` ends them by the clock",
            self.name
        ))
    }

    /// A drop-tail limit in time or bandwidth-delay products, and its size in bytes before the minimum of one packet
    /// is applied. `None` for other queues and limits, and for an unlimited server.
    fn derived_queue(&self) -> Option<(QueueLimit, u64)> {
        let QueueConfig::DropTail(DropTailConfig { limit }) = &self.queue else { return None };
        let length = match limit {
            QueueLimit::Time(length) => *length,
            QueueLimit::Bdp(factor) => self.base_rtt.mul_f64(*factor),
            QueueLimit::Packets(_) | QueueLimit::Bytes(_) => return None,
        };
        self.server.mean_rate().map(|rate| (*limit, rate.bytes_in(length)))
    }

    /// Properties of the link for its queue.
    pub(crate) fn link_facts(&self) -> LinkFacts {
        LinkFacts { rate: self.server.mean_rate(), one_way_delay: self.one_way_delay, base_rtt: self.base_rtt }
    }
}

/// What a queue may know of the link it feeds, for limits in time and automatic thresholds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkFacts {
    /// Constant rate, or the mean of a trace; `None` for an unlimited server.
    pub rate: Option<Rate>,
    pub one_way_delay: Duration,
    pub base_rtt: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceStart {
    /// This long after the trace's beginning; beyond its end it wraps.
    At(Duration),
    /// Anywhere, by the run's seed: both directions of a path at the same share of their traces.
    Random,
}

impl Default for TraceStart {
    fn default() -> TraceStart {
        TraceStart::At(Duration::ZERO)
    }
}

impl TraceStart {
    /// The offset in a trace of this length, for the link `name` under `seed`.
    pub(crate) fn offset(self, period: Duration, name: &str, seed: RootSeed) -> Duration {
        let nanos = match self {
            TraceStart::At(start) => start.as_nanos() % period.as_nanos(),
            TraceStart::Random => {
                let path = name.rsplit_once('/').map_or(name, |(path, _direction)| path);
                let share = seed.stream(&format!("link.{path}/start")).uniform();
                (share * period.as_nanos() as f64) as u64 % period.as_nanos()
            }
        };
        Duration::from_nanos(nanos)
    }
}

#[derive(Clone, Debug)]
pub enum ServerConfig {
    /// A constant rate, paid by [`Packet::wire_bytes`](crate::Packet::wire_bytes).
    Constant {
        /// Above zero.
        rate: Rate,
    },
    /// A rate over time, and at once what the bucket has saved.
    TokenBucket {
        /// Tokens come at this rate. Above zero.
        rate: Rate,
        /// What the bucket holds, in bytes; it begins full. Above zero.
        depth: u64,
    },
    Opportunities {
        trace: Arc<OpportunityTrace>,
    },
    /// A rate that is constant piece by piece.
    RateTrace {
        trace: Arc<RateTrace>,
    },
    Wifi(WifiConfig),
    /// No rate limit: packets never queue.
    Unlimited,
}

impl ServerConfig {
    /// The constant rate, the mean rate of a trace, what an 802.11 hop carries at its mean signal; `None` if there is no limit.
    pub fn mean_rate(&self) -> Option<Rate> {
        match self {
            ServerConfig::Constant { rate } | ServerConfig::TokenBucket { rate, .. } => Some(*rate),
            ServerConfig::Opportunities { trace } => Some(trace.mean_rate()),
            ServerConfig::RateTrace { trace } => Some(trace.mean_rate()),
            ServerConfig::Wifi(wifi) => Some(wifi.nominal_rate()),
            ServerConfig::Unlimited => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossPlace {
    /// On arrival, before the queue sees the packet (netem's order).
    BeforeQueue,
    /// After the server: a lost packet has used up its time on the link (ns-2's link error model).
    AfterQueue,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JitterDistribution {
    /// Uniform within ± amplitude.
    Uniform,
    /// Normal with the amplitude as standard deviation.
    Normal,
}

/// Delay variation that keeps the order: a packet never arrives before the one ahead of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JitterConfig {
    /// Half width (uniform) or standard deviation (normal). The delay is never below zero.
    pub amplitude: Duration,
    pub distribution: JitterDistribution,
}

/// Explicit reordering: some packets are held back, so that later ones overtake them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReorderConfig {
    /// Chance that a candidate is held back.
    pub probability: Ratio,
    /// How much longer it is under way.
    pub extra_delay: Duration,
    /// Only every `gap`-th packet is a candidate; 1 = every packet.
    pub gap: u32,
}

impl ReorderConfig {
    fn validate(&self) -> Result<(), LinkError> {
        if self.gap == 0 {
            return Err(LinkError::new("reordering.gap", self.gap, "1 or more"));
        }
        if self.extra_delay.is_zero() {
            return Err(LinkError::new("reordering.extra_delay", self.extra_delay, "above 0"));
        }
        Ok(())
    }
}
