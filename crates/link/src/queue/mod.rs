//! Queues and active queue management. One file per discipline; [`QueueDiscipline`] is what a new one implements.

mod codel;
mod drop_tail;
mod fifo;
mod fq_codel;
mod limit;
mod pie;
mod red;

use crate::Packet;
use crate::config::LinkFacts;
use crate::error::LinkError;
use crate::ledger::{DropCause, Drops};
pub(crate) use codel::CoDel;
pub use codel::CoDelConfig;
pub(crate) use drop_tail::DropTail;
pub(crate) use fifo::Fifo;
pub(crate) use fq_codel::FqCoDel;
pub use fq_codel::FqCoDelConfig;
pub(crate) use limit::Limit;
pub(crate) use pie::Pie;
pub use pie::{PieConfig, PieDelay};
use playpath_units::random::Stream;
use playpath_units::{QueueLimit, Time};
pub(crate) use red::Red;
pub use red::{RedConfig, RedUnit};

/// Which queue, with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum QueueConfig {
    /// First in, first out; what does not fit is dropped.
    DropTail {
        /// How much may wait. Never includes the packet on the wire.
        limit: QueueLimit,
    },
    /// Random early detection.
    Red(RedConfig),
    /// Controlled delay.
    CoDel(CoDelConfig),
    /// Fair queueing with controlled delay.
    FqCoDel(FqCoDelConfig),
    /// Proportional integral controller, enhanced.
    Pie(PieConfig),
}

impl Default for QueueConfig {
    /// Drop-tail with one bandwidth-delay product.
    fn default() -> QueueConfig {
        QueueConfig::DropTail { limit: QueueLimit::Bdp(1.0) }
    }
}

impl QueueConfig {
    pub(crate) fn validate(&self, link: LinkFacts) -> Result<(), LinkError> {
        match self {
            QueueConfig::DropTail { limit } => Limit::resolve(*limit, link).map(|_| ()),
            QueueConfig::Red(config) => config.resolve(link).map(|_| ()),
            QueueConfig::CoDel(config) => config.resolve(link).map(|_| ()),
            QueueConfig::FqCoDel(config) => config.resolve(link).map(|_| ()),
            QueueConfig::Pie(config) => config.resolve(link).map(|_| ()),
        }
    }
}

/// What a queueing discipline does. Times are logical: `now` of a dequeue is the moment the server became free, however
/// late the link was called. A discipline counts every packet that it drops in the log, and no other.
pub(crate) trait QueueDiscipline<P: Packet> {
    /// A packet arrives while the server is busy.
    fn enqueue(&mut self, now: Time, packet: P, log: &mut QueueLog);
    /// The server is free: the next packet, or `None` if the queue is (or becomes) empty.
    fn dequeue(&mut self, now: Time, log: &mut QueueLog) -> Option<P>;
    /// A packet arrives at an idle server and an empty queue.
    fn pass(&mut self, now: Time, packet: P, log: &mut QueueLog) -> Option<P> {
        self.enqueue(now, packet, log);
        self.dequeue(now, log)
    }
    /// Packets waiting.
    fn packets(&self) -> u32;
    /// Bytes waiting.
    fn bytes(&self) -> u64;
}

/// What a queue reports: drops by cause and congestion marks.
#[derive(Clone, Debug, Default)]
pub(crate) struct QueueLog {
    pub drops: Drops,
    pub ce_marked_packets: u64,
}

impl QueueLog {
    pub(crate) fn drop_packet<P: Packet>(&mut self, cause: DropCause, packet: P) {
        self.drops.count(cause, packet.wire_bytes());
    }
    pub(crate) fn mark_packet<P: Packet>(&mut self, packet: &mut P) {
        self.ce_marked_packets += 1;
        packet.mark_ce();
    }
}

/// A queue at work: the disciplines behind one static dispatch.
pub(crate) enum Queue<P> {
    DropTail(DropTail<P>),
    Red(Red<P>),
    CoDel(CoDel<P>),
    FqCoDel(FqCoDel<P>),
    Pie(Pie<P>),
}

macro_rules! each {
    ($queue:expr, $q:ident => $body:expr) => {
        match $queue {
            Queue::DropTail($q) => $body,
            Queue::Red($q) => $body,
            Queue::CoDel($q) => $body,
            Queue::FqCoDel($q) => $body,
            Queue::Pie($q) => $body,
        }
    };
}

impl<P: Packet> Queue<P> {
    pub(crate) fn new(config: &QueueConfig, link: LinkFacts, stream: Stream) -> Result<Queue<P>, LinkError> {
        Ok(match config {
            QueueConfig::DropTail { limit } => Queue::DropTail(DropTail::new(Limit::resolve(*limit, link)?)),
            QueueConfig::Red(config) => Queue::Red(Red::new(config, link, stream)?),
            QueueConfig::CoDel(config) => Queue::CoDel(CoDel::new(config, link)?),
            QueueConfig::FqCoDel(config) => Queue::FqCoDel(FqCoDel::new(config, link, stream)?),
            QueueConfig::Pie(config) => Queue::Pie(Pie::new(config, link, stream)?),
        })
    }
    #[inline]
    pub(crate) fn enqueue(&mut self, now: Time, packet: P, log: &mut QueueLog) {
        each!(self, q => q.enqueue(now, packet, log))
    }
    #[inline]
    pub(crate) fn dequeue(&mut self, now: Time, log: &mut QueueLog) -> Option<P> {
        each!(self, q => q.dequeue(now, log))
    }
    #[inline]
    pub(crate) fn pass(&mut self, now: Time, packet: P, log: &mut QueueLog) -> Option<P> {
        each!(self, q => q.pass(now, packet, log))
    }
    #[inline]
    pub(crate) fn packets(&self) -> u32 {
        each!(self, q => q.packets())
    }
    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        each!(self, q => q.bytes())
    }
}
