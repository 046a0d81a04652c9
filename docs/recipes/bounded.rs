//! The example of docs/recipes/add-a-queue.md: a bounded first-in-first-out queue that is always managed.

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
    /// Parameters of the example.
    BoundedConfig {
        limit: QueueLimit = text("30 packets", Kind::Limit), "hard limit";
    }
}

pub(crate) struct Bounded {
    fifo: Fifo,
    limit: Limit,
}

impl QueueDiscipline for Bounded {
    type Config = BoundedConfig;
    const ABOUT: About = About { name: "bounded", summary: "the recipe's queue", reference: "docs/recipes" };

    fn new(config: &BoundedConfig, link: LinkFacts, _stream: Stream) -> Result<Bounded, LinkError> {
        Ok(Bounded { fifo: Fifo::new(), limit: Limit::resolve_for_aqm(config.limit, link)? })
    }
    fn enqueue<P: Packet>(&mut self, _now: Time, packet: Queued, store: &mut Store<P>) {
        if self.limit.admits(self.fifo.packets(), self.fifo.bytes(), packet.wire_bytes) {
            self.fifo.push(packet);
        } else {
            store.drop_packet(DropCause::QueueFull, packet);
        }
    }
    fn dequeue<P: Packet>(&mut self, _now: Time, _store: &mut Store<P>) -> Option<Queued> {
        self.fifo.pop()
    }
    fn packets(&self) -> u32 {
        self.fifo.packets()
    }
    fn bytes(&self) -> u64 {
        self.fifo.bytes()
    }
}
