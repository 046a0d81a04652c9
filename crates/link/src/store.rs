//! The packets inside a link, each in a slot that it keeps until it leaves. Queue and delay line hold slots of 16 bytes, so a
//! packet is written once and read once, whatever its size. There is no allocation once the largest number of packets has been held.
//!
//! Free slots are taken in the order in which they became free. Packets mostly leave in the order in which they arrived, so slots
//! are written and read in memory order, which suits the processor's prefetcher when thousands of packets are inside.

use crate::Packet;
use crate::ecn::{EcnField, EcnRewrite};
use crate::ledger::{DropCause, Drops};
use playpath_units::Time;
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Queued {
    pub arrival: Time,
    pub slot: u32,
    pub wire_bytes: u32,
}

/// All packets inside, and the count of those that were dropped or marked.
pub(crate) struct Store<P> {
    slots: Vec<Option<P>>,
    free: VecDeque<u32>,
    pub drops: Drops,
    pub ce_marked_packets: u64,
    /// Packets whose ECN field the hop itself has changed.
    pub rewritten_packets: u64,
    /// Dropped packets themselves, if they are wanted.
    pub dropped: Option<Vec<Dropped<P>>>,
}

#[derive(Clone, Copy, Debug)]
pub struct Dropped<P> {
    pub arrival: Time,
    pub cause: DropCause,
    pub packet: P,
}

impl<P: Packet> Store<P> {
    /// Empty, with these causes to count.
    pub(crate) fn new(drops: Drops) -> Store<P> {
        Store {
            slots: Vec::new(),
            free: VecDeque::new(),
            drops,
            ce_marked_packets: 0,
            rewritten_packets: 0,
            dropped: None,
        }
    }

    /// Take a packet in, made where it will lie.
    #[inline(always)]
    pub(crate) fn put(&mut self, arrival: Time, wire_bytes: u32, make: impl FnOnce() -> P) -> Queued {
        let slot = match self.free.pop_front() {
            Some(slot) => {
                self.slots[slot as usize] = Some(make());
                slot
            }
            None => {
                self.slots.push(Some(make()));
                (self.slots.len() - 1) as u32
            }
        };
        Queued { arrival, slot, wire_bytes }
    }

    #[inline]
    pub(crate) fn take(&mut self, slot: u32) -> P {
        self.free.push_back(slot);
        self.slots[slot as usize].take().expect("a slot in use holds a packet")
    }

    /// A packet that was looked at where it lies is done with.
    #[inline]
    pub(crate) fn release(&mut self, slot: u32) {
        self.free.push_back(slot);
        self.slots[slot as usize] = None;
    }

    pub(crate) fn drop_packet(&mut self, cause: DropCause, packet: Queued) {
        let Queued { arrival, slot, .. } = packet;
        let packet = self.take(slot);
        self.note_drop(cause, arrival, packet);
    }

    /// A packet that lies nowhere in the store is dropped.
    #[cold]
    pub(crate) fn note_drop(&mut self, cause: DropCause, arrival: Time, packet: P) {
        self.drops.count(cause, packet.wire_bytes());
        match &mut self.dropped {
            Some(dropped) => dropped.push(Dropped { arrival, cause, packet }),
            None => packet.handle_drop(),
        }
    }

    pub(crate) fn mark_packet(&mut self, packet: Queued) {
        self.ce_marked_packets += 1;
        self.slots[packet.slot as usize].as_mut().expect("a slot in use holds a packet").set_ecn(EcnField::Ce);
    }

    /// Rewrite the packet's ECN field.
    pub(crate) fn rewrite_ecn(&mut self, packet: Queued, rewrite: EcnRewrite) {
        let packet = self.slots[packet.slot as usize].as_mut().expect("a slot in use holds a packet");
        let left = rewrite.applied(packet.ecn());
        if left != packet.ecn() {
            packet.set_ecn(left);
            self.rewritten_packets += 1;
        }
    }

    /// The packet gets the number of its NAT's binding.
    pub(crate) fn bind(&mut self, packet: Queued, binding: u16) {
        self.slots[packet.slot as usize].as_mut().expect("a slot in use holds a packet").set_binding(binding);
    }

    pub(crate) fn packets(&self) -> impl Iterator<Item = &P> {
        self.slots.iter().flatten()
    }

    pub(crate) fn get(&self, packet: Queued) -> &P {
        self.at(packet.slot)
    }

    #[inline]
    pub(crate) fn at(&self, slot: u32) -> &P {
        self.slots[slot as usize].as_ref().expect("a slot in use holds a packet")
    }
}
