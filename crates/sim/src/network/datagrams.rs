//! Where QUIC's datagrams lie while they are under way: a packet in a link carries the number of its place. Nothing is allocated for a
//! packet once there are enough places.
//!
//! A link forgets what it drops, and tells nobody. So places are reclaimed when none is free: what no link holds has gone. If fewer than
//! half are free then, there are as many again; so the search costs each packet a constant at most.

use super::{End, FlowId, Network, SimPacket};
use crate::quic_end::QuicEnd;
use playpath_link::Link;
use playpath_transport::quic::packet::Datagram;
use playpath_units::Time;

/// Least number of places.
const LEAST: usize = 64;

/// Datagrams under way, of all flows.
#[derive(Default)]
pub struct Datagrams {
    places: Vec<Datagram>,
    free: Vec<u32>,
}

impl Datagrams {
    /// No place is free.
    pub fn is_full(&self) -> bool {
        self.free.is_empty()
    }

    /// Places of datagrams that are not in `under_way` become free, and half of all are at least.
    pub fn reclaim<'p>(&mut self, under_way: impl Iterator<Item = &'p SimPacket>) {
        let mut is_held = vec![false; self.places.len()];
        under_way.filter_map(SimPacket::place).for_each(|place| is_held[place as usize] = true);
        let held = is_held.iter().filter(|is_held| **is_held).count();
        let wanted = (2 * held).max(LEAST).max(self.places.len());
        is_held.resize(wanted, false);
        self.places.resize_with(wanted, Datagram::default);
        // The first are taken first: they are in the processor's cache.
        self.free = (0..wanted as u32).rev().filter(|&place| !is_held[place as usize]).collect();
    }

    /// A place that is free, for the next datagram; [`take`](Self::take) it if there is one. There must be a free place.
    pub fn next_mut(&mut self) -> &mut Datagram {
        let place = *self.free.last().expect("a place is free");
        &mut self.places[place as usize]
    }

    /// The place that [`next_mut`](Self::next_mut) gave is taken.
    pub fn take(&mut self) -> u32 {
        self.free.pop().expect("a place is free")
    }

    /// The datagram at a place.
    pub fn get_mut(&mut self, place: u32) -> &mut Datagram {
        &mut self.places[place as usize]
    }

    /// It has arrived.
    pub fn free(&mut self, place: u32) {
        self.free.push(place);
    }
}

impl Network {
    /// Sends all that an end of a QUIC connection wants to send and re-arms its timer.
    pub(super) fn transmit_datagrams(&mut self, id: FlowId, end: End) {
        let to = end.other();
        loop {
            if self.datagrams.is_full() {
                self.datagrams.reclaim(self.links.iter().flat_map(Link::packets));
            }
            let flow = &mut self.flows[id as usize];
            let Some(quic) = flow.ends[end as usize].quic_mut() else { return };
            let datagram = self.datagrams.next_mut();
            if !quic.connection.poll_transmit_into(self.now, datagram) {
                break;
            }
            let mut packet = SimPacket::of_datagram(datagram, id, to);
            packet.hop = flow.routes[0].starts[to as usize];
            packet.place = self.datagrams.take();
            self.forward(&mut packet);
        }
        self.rearm_endpoint(id, end);
    }

    /// An application does something with the streams of a QUIC connection's end; what follows of it leaves. `None`: it is another
    /// transport's.
    pub fn on_streams<T>(&mut self, flow: FlowId, end: End, act: impl FnOnce(&mut QuicEnd, Time) -> T) -> Option<T> {
        let done = act(self.flows[flow as usize].ends[end as usize].quic_mut()?, self.now);
        self.transmit(flow, end);
        Some(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use playpath_transport::quic::{Connection, config::Config};
    use playpath_units::Time;

    fn datagram() -> Datagram {
        let control = playpath_cc::build("newreno", 10.0).unwrap();
        Connection::connect(Time::ZERO, Config::default(), control).poll_transmit(Time::ZERO).unwrap()
    }

    /// 64 places, all taken; a link has dropped all but three, so 61 are free again. 64 held make 128.
    #[test]
    fn what_no_link_holds_is_reclaimed() {
        let mut datagrams = Datagrams::default();
        let first = SimPacket::of_datagram(&datagram(), 0, End::Client);
        datagrams.reclaim(std::iter::empty());
        let mut put = || {
            *datagrams.next_mut() = datagram();
            SimPacket { place: datagrams.take(), ..first }
        };
        let packets: Vec<SimPacket> = (0..64).map(|_| put()).collect();
        assert!(datagrams.is_full());
        datagrams.reclaim(packets[..3].iter());
        assert_eq!((datagrams.places.len(), datagrams.free.len()), (64, 61));
        let held = packets[..3].iter().filter_map(SimPacket::place).any(|place| datagrams.free.contains(&place));
        assert!(!held);
        datagrams.reclaim(packets.iter());
        assert_eq!((datagrams.places.len(), datagrams.free.len()), (128, 64));
    }
}
