//! IP packets as links see them. Sizes are those of the IP packet.

use crate::flows::FlowMark;
use playpath_link::{EcnField, Packet};
use playpath_transport::codec;

pub struct IpPacket {
    /// Route (two per path: down, up).
    pub route: u16,
    pub hop: u16,
    pub bytes: Box<[u8]>,
    /// The flow that it belongs to, if it comes from the server.
    pub flow: Option<FlowMark>,
}

impl Packet for IpPacket {
    fn wire_bytes(&self) -> u32 {
        self.bytes.len() as u32
    }

    fn flow_hash(&self) -> u64 {
        codec::flow_hash(&self.bytes)
    }

    fn ecn(&self) -> EcnField {
        EcnField::of(codec::ecn_bits(&self.bytes))
    }

    fn set_ecn(&mut self, field: EcnField) {
        codec::set_ecn_bits(&mut self.bytes, field as u8);
    }

    fn handle_drop(self) {
        if let Some(flow) = &self.flow {
            flow.note_drop();
        }
    }
}
