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

/// A queue at work. Static dispatch, and without a jump for drop-tail, which most links have.
pub(crate) enum Queue {
    DropTail(DropTail),
    Managed(Box<Managed>),
}

/// Active queue management at work.
pub(crate) enum Managed {
    Red(Red),
    CoDel(CoDel),
    FqCoDel(FqCoDel),
    Pie(Pie),
}

macro_rules! each {
    ($queue:expr, $deref:ident, $q:ident => $body:expr) => {
        match $queue {
            Queue::DropTail($q) => $body,
            Queue::Managed(managed) => match managed.$deref() {
                Managed::Red($q) => $body,
                Managed::CoDel($q) => $body,
                Managed::FqCoDel($q) => $body,
                Managed::Pie($q) => $body,
            },
        }
    };
}

impl Queue {
    pub(crate) fn new(config: &QueueConfig, link: LinkFacts, stream: Stream) -> Result<Queue, LinkError> {
        let managed = match config {
            QueueConfig::DropTail { limit } => {
                return Ok(Queue::DropTail(DropTail::new(Limit::resolve(*limit, link)?)));
            }
            QueueConfig::Red(config) => Managed::Red(Red::new(config, link, stream)?),
            QueueConfig::CoDel(config) => Managed::CoDel(CoDel::new(config, link)?),
            QueueConfig::FqCoDel(config) => Managed::FqCoDel(FqCoDel::new(config, link, stream)?),
            QueueConfig::Pie(config) => Managed::Pie(Pie::new(config, link, stream)?),
        };
        Ok(Queue::Managed(Box::new(managed)))
    }
    #[inline]
    pub(crate) fn enqueue<P: Packet>(&mut self, now: Time, packet: Queued, store: &mut Store<P>) {
        each!(self, as_mut, q => q.enqueue(now, packet, store))
    }
    #[inline]
    pub(crate) fn dequeue<P: Packet>(&mut self, now: Time, store: &mut Store<P>) -> Option<Queued> {
        each!(self, as_mut, q => q.dequeue(now, store))
    }
    #[inline]
    pub(crate) fn pass<P: Packet>(&mut self, now: Time, packet: Queued, store: &mut Store<P>) -> Option<Queued> {
        each!(self, as_mut, q => q.pass(now, packet, store))
    }
    #[inline]
    pub(crate) fn packets(&self) -> u32 {
        each!(self, as_ref, q => q.packets())
    }
    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        each!(self, as_ref, q => q.bytes())
    }
}
