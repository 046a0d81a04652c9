//! Drop-tail: first in, first out; a packet that does not fit is dropped on arrival.
//!
//! Reference: ns-2 `DropTail`, Linux `pfifo` and `bfifo`.
//!
//! Differences from the reference
//! 1. The packet on the wire does not count, as in Linux. ns-2 also takes it off the queue first, but its limit of n holds n - 1
//!    packets (`length + 1 >= limit` drops); ours holds n.
//! 2. The limit may be given in packets, bytes, time (bytes that drain in that time) or bandwidth-delay products.
//!    A time is converted once, at the link's rate or a trace's mean rate; it is not the current sojourn time.
//! 3. A packet that finds the server idle is sent at once whatever the limit: with a limit of 0 the link is a pure loss system.
//!
//! Units: packets and bytes. Invariant: never above the limit.
//! Tested: exact fill for each kind of limit, order, conservation, M/D/1/K loss.

use super::{Fifo, Limit, QueueDiscipline, QueueLog};
use crate::Packet;
use crate::ledger::DropCause;
use playpath_units::Time;

pub(crate) struct DropTail<P> {
    fifo: Fifo<P>,
    limit: Limit,
}

impl<P: Packet> DropTail<P> {
    pub(crate) fn new(limit: Limit) -> DropTail<P> {
        DropTail { fifo: Fifo::new(), limit }
    }
}

impl<P: Packet> QueueDiscipline<P> for DropTail<P> {
    #[inline]
    fn enqueue(&mut self, now: Time, packet: P, log: &mut QueueLog) {
        if self.limit.admits(self.fifo.packets(), self.fifo.bytes(), packet.wire_bytes()) {
            self.fifo.push(now, packet);
        } else {
            log.drop_packet(DropCause::QueueFull, packet);
        }
    }
    #[inline]
    fn dequeue(&mut self, _now: Time, _log: &mut QueueLog) -> Option<P> {
        self.fifo.pop().map(|(_, packet)| packet)
    }
    #[inline]
    fn pass(&mut self, _now: Time, packet: P, _log: &mut QueueLog) -> Option<P> {
        Some(packet)
    }
    fn packets(&self) -> u32 {
        self.fifo.packets()
    }
    fn bytes(&self) -> u64 {
        self.fifo.bytes()
    }
}
