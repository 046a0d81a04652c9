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

use super::{Fifo, Limit, QueueDiscipline};
use crate::Packet;
use crate::config::LinkFacts;
use crate::error::LinkError;
use crate::ledger::DropCause;
use crate::registry::About;
use crate::settings::config;
use crate::store::{Queued, Store};
use playpath_units::random::Stream;
use playpath_units::{Kind, QueueLimit, Time};

config! {
    DropTailConfig {
        limit: QueueLimit = text("1 bdp", Kind::Limit), "how much may wait, without the packet on the wire";
    }
}

pub(crate) struct DropTail {
    fifo: Fifo,
    pub(crate) limit: Limit,
}

impl QueueDiscipline for DropTail {
    type Config = DropTailConfig;
    const ABOUT: About = About {
        name: "droptail",
        summary: "first in, first out; what does not fit is dropped",
        reference: "ns-2 DropTail; Linux pfifo, bfifo",
    };

    fn new(config: &DropTailConfig, link: LinkFacts, _stream: Stream) -> Result<DropTail, LinkError> {
        Ok(DropTail { fifo: Fifo::new(), limit: Limit::resolve(config.limit, link)? })
    }
    #[inline]
    fn enqueue<P: Packet>(&mut self, _now: Time, packet: Queued, store: &mut Store<P>) {
        if self.limit.admits(self.fifo.packets(), self.fifo.bytes(), packet.wire_bytes) {
            self.fifo.push(packet);
        } else {
            store.drop_packet(DropCause::QueueFull, packet);
        }
    }
    #[inline]
    fn dequeue<P: Packet>(&mut self, _now: Time, _store: &mut Store<P>) -> Option<Queued> {
        self.fifo.pop()
    }
    #[inline]
    fn pass<P: Packet>(&mut self, _now: Time, packet: Queued, _store: &mut Store<P>) -> Option<Queued> {
        Some(packet)
    }
    fn packets(&self) -> u32 {
        self.fifo.packets()
    }
    fn bytes(&self) -> u64 {
        self.fifo.bytes()
    }
}
