//! The packets of a link whose way is certain when they arrive: drop-tail, so first in, first out, a server that does not look at its
//! queue, and nothing that overtakes. Each is written down once, with its departure and its fate, and stays where it is until it is handed
//! out: it need not move from the queue to the server and on to the delay line.
//!
//! Invariant: departures never go back; the first `departed` packets have left the server, the next is in service, the others wait.
//! Tested by `tests/properties.rs`, against a link that decides step by step, and with all other parts.

use crate::Packet;
use crate::ledger::Count;
use crate::queue::Limit;
use playpath_units::Time;
use std::collections::VecDeque;

pub(crate) struct Passage<P> {
    limit: Limit,
    packets: VecDeque<Passing<P>>,
    departed: usize,
    waiting_bytes: u64,
    last_departure: Time,
}

pub(crate) struct Passing<P> {
    pub departure: Time,
    pub fate: Fate,
    pub packet: P,
}

#[derive(Clone, Copy)]
pub(crate) enum Fate {
    /// Handed out then.
    Delivered(Time),
    /// Lost at the far end. When it had arrived.
    Lost { arrival: Time },
}

impl<P: Packet> Passage<P> {
    pub(crate) fn new(limit: Limit) -> Passage<P> {
        Passage { limit, packets: VecDeque::new(), departed: 0, waiting_bytes: 0, last_departure: Time::ZERO }
    }

    /// The service of a packet that arrives behind others begins then; `None`: it finds no room.
    #[inline]
    pub(crate) fn queue(&mut self, wire_bytes: u32) -> Option<Time> {
        if !self.limit.admits(self.waiting(), self.waiting_bytes, wire_bytes) {
            return None;
        }
        self.waiting_bytes += u64::from(wire_bytes);
        Some(self.last_departure)
    }

    /// Returns whether it is alone.
    #[inline(always)]
    pub(crate) fn push(&mut self, departure: Time, fate: Fate, packet: P) -> bool {
        self.last_departure = departure;
        self.packets.push_back(Passing { departure, fate, packet });
        self.packets.len() == 1
    }

    /// The packet in service leaves the server: its size, and the packet if it is lost, with the time at which it had arrived.
    #[inline(always)]
    pub(crate) fn depart(&mut self) -> (u32, Option<(Time, P)>) {
        let leaving = &self.packets[self.departed];
        let wire_bytes = leaving.packet.wire_bytes();
        if let Fate::Lost { arrival } = leaving.fate {
            return (wire_bytes, self.packets.remove(self.departed).map(|lost| (arrival, lost.packet)));
        }
        self.departed += 1;
        (wire_bytes, None)
    }

    /// The next packet is served until when; [`Time::MAX`] if none waits.
    #[inline(always)]
    pub(crate) fn serve(&mut self) -> Time {
        let Some(next) = self.packets.get(self.departed) else { return Time::MAX };
        self.waiting_bytes -= u64::from(next.packet.wire_bytes());
        next.departure
    }

    /// When the first packet is handed out, or leaves the server to be lost there.
    #[inline]
    pub(crate) fn due(&self) -> Time {
        self.packets.front().map_or(Time::MAX, |first| match first.fate {
            Fate::Delivered(delivery) => delivery,
            Fate::Lost { .. } => first.departure,
        })
    }

    #[inline]
    pub(crate) fn first(&self) -> &P {
        &self.packets[0].packet
    }

    /// The first packet is handed out.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<P> {
        self.departed -= 1;
        self.packets.pop_front().map(|passing| passing.packet)
    }

    #[inline]
    pub(crate) fn waiting(&self) -> u32 {
        (self.packets.len() - self.departed).saturating_sub(1) as u32
    }
    pub(crate) fn waiting_bytes(&self) -> u64 {
        self.waiting_bytes
    }
    pub(crate) fn last_departure(&self) -> Time {
        self.last_departure
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &P> {
        self.packets.iter().map(|passing| &passing.packet)
    }

    /// Packets in service and propagating, counted one by one.
    pub(crate) fn in_service_and_propagating(&self) -> [Count; 2] {
        let mut counts = [Count::default(); 2];
        for (place, passing) in self.packets.iter().enumerate().take(self.departed + 1) {
            counts[usize::from(place < self.departed)].add_packet(passing.packet.wire_bytes());
        }
        counts
    }
}
