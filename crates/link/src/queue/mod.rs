//! Queues and active queue management. One file per discipline; [`QueueDiscipline`] is what a new one implements.

mod drop_tail;
mod fifo;
mod limit;

use crate::Packet;
use crate::config::LinkFacts;
use crate::error::LinkError;
use crate::ledger::{DropCause, Drops};
pub(crate) use drop_tail::DropTail;
pub(crate) use fifo::Fifo;
pub(crate) use limit::Limit;
use playpath_units::random::Stream;
use playpath_units::{QueueLimit, Time};

/// Which queue, with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum QueueConfig {
    /// First in, first out; what does not fit is dropped.
    DropTail {
        /// How much may wait. Never includes the packet on the wire.
        limit: QueueLimit,
    },
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
}

/// A queue at work: the disciplines behind one static dispatch.
pub(crate) enum Queue<P> {
    DropTail(DropTail<P>),
}

macro_rules! each {
    ($queue:expr, $q:ident => $body:expr) => {
        match $queue {
            Queue::DropTail($q) => $body,
        }
    };
}

impl<P: Packet> Queue<P> {
    pub(crate) fn new(config: &QueueConfig, link: LinkFacts, _stream: Stream) -> Result<Queue<P>, LinkError> {
        Ok(match config {
            QueueConfig::DropTail { limit } => Queue::DropTail(DropTail::new(Limit::resolve(*limit, link)?)),
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
