//! The interface of packets to a link.

use crate::ecn::EcnField;

/// Anything that can cross a [`Link`](crate::Link). Packets are moved, never cloned.
pub trait Packet {
    /// Size on the wire in bytes, with all headers that the link's rate pays for.
    fn wire_bytes(&self) -> u32;
    /// Equal for all packets of a flow; FQ-CoDel sorts by it, after mixing in a seeded salt.
    fn flow_hash(&self) -> u64;
    /// The ECN field of the IP header (RFC 3168, 5).
    fn ecn(&self) -> EcnField;
    fn set_ecn(&mut self, field: EcnField);
    /// Index of its binding at the NAT, counted from 0.
    fn binding(&self) -> u16 {
        0
    }
    fn set_binding(&mut self, _binding: u16) {}
    /// The sender declared that it understands congestion marks (ECT(0) or ECT(1), RFC 3168).
    #[inline]
    fn is_ecn_capable(&self) -> bool {
        self.ecn() != EcnField::NotEct
    }
    /// Whether it carries ECT(1) or CE, so that an L4S queue classifies it as low latency (RFC 9331, 5.1).
    #[inline]
    fn is_low_latency(&self) -> bool {
        matches!(self.ecn(), EcnField::Ect1 | EcnField::Ce)
    }
    /// The link drops this packet, and keeps no log of drops itself. Does nothing but drop it by default.
    fn handle_drop(self)
    where
        Self: Sized,
    {
    }
}
