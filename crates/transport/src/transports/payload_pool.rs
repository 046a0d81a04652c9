//! Storage of payloads that do not fit into a packet, while the packet is in flight: the packet has the index of its place. A place keeps
//! its allocation, so nothing is allocated for a packet once there are enough places.
//!
//! A link drops packets without notifying anyone. So places are reclaimed when none is free: those of packets that no link holds. If
//! fewer than half are free then, the pool doubles; so the search costs a constant per packet at most.

use super::Packet;
use crate::quic::packet::Datagram;
use std::any::Any;

/// Least number of places.
const MIN: usize = 64;

/// Payloads in flight, of all connections and transports.
#[derive(Default)]
pub struct PayloadPool {
    places: Vec<Option<Box<dyn Any + Send>>>,
    /// QUIC's own payloads, with the same indices, in a vector of their own: so their type need not be checked for each packet.
    datagrams: Vec<Datagram>,
    free: Vec<u32>,
}

impl PayloadPool {
    #[inline]
    pub fn is_full(&self) -> bool {
        self.free.is_empty()
    }

    /// Places of packets that are not `under_way` become free, and half of all are at least.
    pub fn reclaim<'p>(&mut self, under_way: impl Iterator<Item = &'p Packet>) {
        let mut is_held = vec![false; self.places.len()];
        under_way.filter_map(|packet| packet.payload.pool_index()).for_each(|place| is_held[place as usize] = true);
        let held = is_held.iter().filter(|is_held| **is_held).count();
        let wanted = (2 * held).max(MIN).max(self.places.len());
        is_held.resize(wanted, false);
        self.places.resize_with(wanted, || None);
        // The first are taken first: they are in the processor's cache.
        self.free = (0..wanted as u32).rev().filter(|&place| !is_held[place as usize]).collect();
    }

    /// A place that is free, with whatever lay there; [`take`](Self::take) it if something is put there. There must be one.
    pub fn next_mut<T: Any + Send + Default>(&mut self) -> &mut T {
        let place = *self.free.last().expect("a place is free");
        let kept = &mut self.places[place as usize];
        if !kept.as_ref().is_some_and(|kept| kept.is::<T>()) {
            *kept = Some(Box::<T>::default());
        }
        kept.as_mut().and_then(|kept| kept.downcast_mut()).expect("it is of this type")
    }

    /// As [`next_mut`](Self::next_mut), for a datagram of QUIC.
    #[inline]
    pub fn next_datagram(&mut self) -> &mut Datagram {
        let place = *self.free.last().expect("a place is free") as usize;
        if place >= self.datagrams.len() {
            self.datagrams.resize_with(place + 1, Datagram::default);
        }
        &mut self.datagrams[place]
    }
    #[inline]
    pub fn datagram_mut(&mut self, place: u32) -> Option<&mut Datagram> {
        self.datagrams.get_mut(place as usize)
    }

    /// The place that [`next_mut`](Self::next_mut) gave is taken.
    pub fn take(&mut self) -> u32 {
        self.free.pop().expect("a place is free")
    }

    /// What lies at a place; `None`: it is of another type.
    pub fn get_mut<T: Any>(&mut self, place: u32) -> Option<&mut T> {
        self.places[place as usize].as_mut()?.downcast_mut()
    }

    pub fn free(&mut self, place: u32) {
        self.free.push(place);
    }
}

#[cfg(test)]
mod tests;
