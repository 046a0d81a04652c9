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
use crate::store::{Queued, Store};
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
/// late the link was called. A packet handed in is either kept or dropped through the store, which counts it.
pub(crate) trait QueueDiscipline {
    /// A packet arrives while the server is busy.
    fn enqueue<P: Packet>(&mut self, now: Time, packet: Queued, store: &mut Store<P>);
    /// The server is free: the next packet, or `None` if the queue is (or becomes) empty.
    fn dequeue<P: Packet>(&mut self, now: Time, store: &mut Store<P>) -> Option<Queued>;
    /// A packet arrives at an idle server and an empty queue.
    fn pass<P: Packet>(&mut self, now: Time, packet: Queued, store: &mut Store<P>) -> Option<Queued> {
        self.enqueue(now, packet, store);
        self.dequeue(now, store)
    }
    /// Packets waiting.
    fn packets(&self) -> u32;
    /// Bytes waiting.
    fn bytes(&self) -> u64;
}

/// A queue at work: the disciplines behind one static dispatch.
pub(crate) enum Queue {
    DropTail(DropTail),
    Red(Red),
    CoDel(CoDel),
    FqCoDel(FqCoDel),
    Pie(Pie),
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

impl Queue {
    pub(crate) fn new(config: &QueueConfig, link: LinkFacts, stream: Stream) -> Result<Queue, LinkError> {
        Ok(match config {
            QueueConfig::DropTail { limit } => Queue::DropTail(DropTail::new(Limit::resolve(*limit, link)?)),
            QueueConfig::Red(config) => Queue::Red(Red::new(config, link, stream)?),
            QueueConfig::CoDel(config) => Queue::CoDel(CoDel::new(config, link)?),
            QueueConfig::FqCoDel(config) => Queue::FqCoDel(FqCoDel::new(config, link, stream)?),
            QueueConfig::Pie(config) => Queue::Pie(Pie::new(config, link, stream)?),
        })
    }
    #[inline]
    pub(crate) fn enqueue<P: Packet>(&mut self, now: Time, packet: Queued, store: &mut Store<P>) {
        each!(self, q => q.enqueue(now, packet, store))
    }
    #[inline]
    pub(crate) fn dequeue<P: Packet>(&mut self, now: Time, store: &mut Store<P>) -> Option<Queued> {
        each!(self, q => q.dequeue(now, store))
    }
    #[inline]
    pub(crate) fn pass<P: Packet>(&mut self, now: Time, packet: Queued, store: &mut Store<P>) -> Option<Queued> {
        each!(self, q => q.pass(now, packet, store))
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
