//! What lies between the ends of all flows: the links, the routes over them, the queue of events. Apart from the flows, so that an end and
//! what its packets go through are changed side by side, and each is looked up once per event.

use super::LinkId;
use super::flow::{End, Flow, FlowId, SimPacket};
use crate::capture::Capture;
use crate::engine::{EventQueue, Owner};
use playpath_link::Link;
use playpath_transport::Transport;
use playpath_transport::transports::{Packet, PayloadPool};
use playpath_units::Time;
use std::collections::BTreeMap;

#[derive(Default)]
pub struct Fabric {
    pub links: Vec<Link<SimPacket>>,
    /// Packets at the servers, if they are wanted.
    pub capture: Option<Capture>,
    pub(super) events: EventQueue,
    pub(super) link_owners: Vec<Owner>,
    /// The links of every route one after the other, each route terminated by `ARRIVED`; the only place that knows a packet's next hop.
    pub(super) hops: Vec<LinkId>,
    /// The packets in flight.
    pub(super) payload_pool: PayloadPool,
    /// The packet being sent, reused so that no blank one has to be initialised first.
    outgoing: Packet,
    /// A NAT is on some link: then under which of its bindings each server knows its client, by flow and path.
    pub(super) has_nat: bool,
    pub(super) bindings: BTreeMap<(FlowId, u8), u16>,
    /// Whether some link notifies the senders of packets that are too big for it (path MTU discovery).
    pub(super) reports_mtu: bool,
}

impl Fabric {
    #[inline]
    pub(super) fn rearm_link(&mut self, id: LinkId, due: Time) {
        self.events.arm(self.link_owners[id as usize], due);
    }

    /// A link takes a packet, which is made of the outgoing one, or was under way already.
    #[inline(always)]
    pub(super) fn enter(&mut self, now: Time, id: LinkId, wire_bytes: u32, make: impl FnOnce(&Packet) -> SimPacket) {
        let (link, outgoing) = (&mut self.links[id as usize], &self.outgoing);
        let armed = link.poll_timeout();
        link.handle_made(now, wire_bytes, || make(outgoing));
        let due = link.poll_timeout();
        if due != armed {
            self.rearm_link(id, due);
        }
    }

    /// Notifies the sender of a packet that a link has dropped of the largest packet size that fits, without delay, whatever links it had
    /// passed. Returns `true` if the link sends such notices.
    #[cold]
    pub(super) fn refuse(&mut self, now: Time, id: LinkId, sent: &SimPacket, flow: &mut Flow) -> bool {
        let Some(mtu) = self.links[id as usize].mtu_to_report(sent.packet.wire_bytes) else { return false };
        flow.ends[sent.to.other() as usize].handle_too_big(now, &sent.packet, mtu, &mut self.payload_pool);
        true
    }

    /// Sends all that an endpoint wants to send and re-arms its timer. Two polls of three of a client find nothing.
    #[inline(always)]
    pub(super) fn transmit(&mut self, now: Time, id: FlowId, flow: &mut Flow, end: End) {
        if !flow.ends[end as usize].has_nothing() {
            self.send_all(now, id, flow, end);
        }
        self.rearm_endpoint(now, flow, end);
    }

    fn send_all(&mut self, now: Time, id: FlowId, flow: &mut Flow, end: End) {
        let to = end.other();
        let mut has_more = true;
        while has_more {
            if self.payload_pool.is_full() {
                self.payload_pool.reclaim(self.links.iter().flat_map(Link::packets).map(|packet| &packet.packet));
            }
            let connection = &mut flow.ends[end as usize];
            let packet = &mut self.outgoing;
            if !connection.poll_transmit(now, packet, &mut self.payload_pool) {
                break;
            }
            has_more = connection.may_have_more();
            let first = flow.routes[packet.path as usize].starts[to as usize];
            if end == End::Server {
                if self.has_nat {
                    packet.binding = self.bindings.get(&(id, packet.path)).copied().unwrap_or(0);
                }
                if let Some(log) = &mut flow.packets
                    && let Some(drawn) = connection.drawn(packet)
                {
                    log.record_sent(now, packet.path, &drawn);
                }
                if let Some(capture) = &mut self.capture {
                    capture.record(now, id, to, packet);
                }
            }
            let link = self.hops[first as usize];
            // Field by field: written just now one by one, they would have to leave the store buffer before they can be read as one.
            let Packet { wire_bytes, data_bytes, ecn, path, binding, .. } = *packet;
            let sent = |packet: &Packet| SimPacket {
                packet: Packet { payload: packet.payload, wire_bytes, data_bytes, ecn, path, binding },
                flow: id,
                hop: first + 1,
                to,
            };
            self.enter(now, link, wire_bytes, sent);
            has_more |= self.reports_mtu && self.refuse(now, link, &sent(&self.outgoing), flow);
        }
    }

    /// Re-arms an endpoint's timer, and checks for path switches of the server.
    #[inline(always)]
    fn rearm_endpoint(&mut self, now: Time, flow: &mut Flow, end: End) {
        let connection = &mut flow.ends[end as usize];
        // An RTO that shrinks with a sample may be over already: due now, never in the past.
        let due = connection.poll_timeout().max(now);
        if end == End::Server
            && let Some(watch) = &mut flow.switches
            && let Some(multipath) = connection.multipath_mut()
        {
            while let Some(switch) = multipath.poll_switch() {
                watch.observe(&switch, &flow.paths);
            }
        }
        self.events.arm(flow.owners[end as usize], due);
    }
}
