//! A flow: its two endpoints, and its packets in flight.

use super::{ENDLESS, Routes};
use crate::engine::Owner;
use crate::multipath::{PathCount, SwitchWatch};
use crate::packets::PacketLog;
use crate::window_log::WindowLog;
use playpath_link::EcnField;
use playpath_scenario::SenderSpec;
use playpath_transport::transports::Packet;
use playpath_transport::{Ecn, Endpoint, Transport};
use playpath_units::Time;
use std::sync::Arc;

pub type FlowId = u32;
pub type AppId = u32;

/// Which end of a flow. Data of a download goes from the server to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Client = 0,
    Server = 1,
}

impl End {
    pub(super) fn other(self) -> End {
        if self == End::Client { End::Server } else { End::Client }
    }
}

/// A packet inside the simulator: that of a transport, and where it goes.
#[derive(Clone, Copy, Debug)]
pub struct SimPacket {
    pub(super) packet: Packet,
    pub(super) flow: FlowId,
    /// Index of its next hop in the network's hops.
    pub(super) hop: u32,
    pub(super) to: End,
}

impl playpath_link::Packet for SimPacket {
    fn wire_bytes(&self) -> u32 {
        self.packet.wire_bytes
    }
    fn flow_hash(&self) -> u64 {
        // Subflows are connections of their own. Both directions never share a link, so flow and path are enough; spread them
        // (Fibonacci hashing).
        (u64::from(self.packet.path) << 32 | u64::from(self.flow)).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
    #[inline]
    fn ecn(&self) -> EcnField {
        match self.packet.ecn {
            Ecn::NotEct => EcnField::NotEct,
            Ecn::Ect1 => EcnField::Ect1,
            Ecn::Ect0 => EcnField::Ect0,
            Ecn::Ce => EcnField::Ce,
        }
    }
    fn set_ecn(&mut self, field: EcnField) {
        self.packet.set_ecn(ecn_of(field));
    }
    fn binding(&self) -> u16 {
        self.packet.binding
    }
    fn set_binding(&mut self, binding: u16) {
        self.packet.binding = binding;
    }
}

pub fn ecn_of(field: EcnField) -> Ecn {
    match field {
        EcnField::NotEct => Ecn::NotEct,
        EcnField::Ect1 => Ecn::Ect1,
        EcnField::Ect0 => Ecn::Ect0,
        EcnField::Ce => Ecn::Ce,
    }
}

pub struct FlowConfig {
    pub name: String,
    /// `None` for a flow of datagrams.
    pub sender: Option<Arc<SenderSpec>>,
    pub app: AppId,
    /// The client reads everything at once, the server's buffer is refilled whenever it has room, and neither causes a notice (bulk
    /// transfers).
    pub is_bulk: bool,
    pub client: Endpoint,
    pub server: Endpoint,
    /// The server's controls write into it.
    pub window_log: Option<WindowLog>,
    pub routes: Routes,
}

pub struct Flow {
    pub name: String,
    pub(super) sender: Option<Arc<SenderSpec>>,
    pub app: AppId,
    pub started: Time,
    /// When the flow was given up or closed; it lasts until the end of the run otherwise.
    pub ended: Option<Time>,
    /// Bytes that the client's application has read while the flow lasted.
    pub read_bytes: u64,
    /// Wire bytes of packets that arrived at the client while the flow lasted.
    pub arrived_wire_bytes: u64,
    pub arrived_data_packets: u64,
    /// Bytes that arrived over each path; empty with a single path.
    pub paths: Vec<PathCount>,
    /// Changes of path at an MPTCP server.
    pub switches: Option<Box<SwitchWatch>>,
    /// Its packets, if they are logged.
    pub packets: Option<Box<PacketLog>>,
    /// Log of the server's congestion controls, under tracing.
    pub window_log: Option<WindowLog>,
    pub(super) ends: [Endpoint; 2],
    pub(super) owners: [Owner; 2],
    pub(super) routes: Routes,
    pub(super) is_bulk: bool,
    /// A NAT gave the client another port, at which the server has no connection.
    pub(super) is_cut_off: bool,
    /// Low-water mark: the server's application is notified once when twice its unsent bytes are fewer; 0 if it is not waiting.
    pub(super) notsent_lowat: u64,
}

impl Flow {
    /// The client's application has read bytes. A flow's rates end with the flow: datagrams still queued at its end are not counted.
    pub(crate) fn count_read(&mut self, bytes: u64) {
        if self.ended.is_none() {
            self.read_bytes += bytes;
        }
    }

    /// Refills a bulk sender's buffer. This happens only after its contents were sent, as with an application that is notified: a sender
    /// whose buffer ran empty is application-limited. Returns whether that lets it send: while a full segment waits, more bytes behind it
    /// change nothing.
    pub(super) fn refill(&mut self, end: End) -> bool {
        let connection = &mut self.ends[end as usize];
        let is_waiting = connection.has_packet_waiting();
        connection.write(ENDLESS);
        !is_waiting
    }

    pub fn cc_name(&self) -> &str {
        self.sender.as_ref().map_or("none", |sender| sender.cc.name())
    }
    pub fn end(&self, end: End) -> &Endpoint {
        &self.ends[end as usize]
    }
    pub fn server(&self) -> &Endpoint {
        &self.ends[End::Server as usize]
    }
    pub fn client(&self) -> &Endpoint {
        &self.ends[End::Client as usize]
    }
}

#[cfg(all(test, target_pointer_width = "64"))]
mod tests {
    use super::*;

    /// Two connections of 912 bytes, and what else is known of it, of the 2.9 kB that an idle flow takes with its controls, its application and its entries in the queue of events.
    #[test]
    fn a_flow_is_small() {
        assert!(size_of::<Flow>() <= 1992, "{} bytes", size_of::<Flow>());
    }
}
