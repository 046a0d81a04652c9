//! IP packets as links see them. Sizes are those of the IP packet.

use crate::flows::FlowMark;
use crate::log::DropLog;
use playpath_link::{DropCause, EcnField, Packet};
use playpath_transport::codec;

pub struct IpPacket {
    /// Number within the run, in order of arrival.
    pub id: u64,
    /// Route (two per path: down, up).
    pub route: u16,
    pub hop: u16,
    pub bytes: Box<[u8]>,
    /// Where a drop by a link is logged.
    pub drop_log: Option<DropLog>,
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

    fn handle_drop(self, cause: DropCause) {
        if let Some(log) = &self.drop_log {
            log.note(self.id, cause);
        }
        if let Some(flow) = &self.flow {
            flow.note_drop();
        }
    }
}
