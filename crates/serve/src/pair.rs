//! A pair of addresses that exchange segments, and the state that their headers need in addition to the segment.

use playpath_transport::codec::{self, EncodeError, Envelope, Packet, Payload};
use playpath_transport::{Flags, Segment, SynOptions};
use std::net::SocketAddr;

#[derive(Debug)]
pub struct AddressPair {
    pub local: SocketAddr,
    pub remote: SocketAddr,
    /// Window scales of the peer's SYN and of ours: both or neither (RFC 7323 section 2.2).
    peer_scale: Option<u8>,
    own_scale: u8,
    identification: u16,
    mtu: u32,
}

impl AddressPair {
    /// The pair of a SYN received in `packet`, for a receiver with this buffer.
    pub fn of_syn(packet: &Packet<'_>, syn: &SynOptions, mtu: u32, receive_buffer: u64) -> AddressPair {
        // Wide enough for the buffer, not for what MPTCP's subflows pretend to have.
        let own_scale = (0..14).find(|scale| receive_buffer >> scale <= 65_535).unwrap_or(14);
        AddressPair {
            local: packet.destination,
            remote: packet.source,
            peer_scale: syn.window_scale,
            own_scale: syn.window_scale.map_or(0, |_| own_scale),
            identification: 0,
            mtu,
        }
    }

    /// Shift of the window field in the peer's segments.
    pub fn peer_scale(&self) -> u8 {
        self.peer_scale.unwrap_or(0)
    }

    /// Write a segment as a packet, with the `payload` that it announces. Errors: a broken invariant of the endpoint.
    pub fn encode(&mut self, segment: &mut Segment, payload: &[u8], out: &mut Vec<u8>) -> Result<(), EncodeError> {
        if segment.flags.contains(Flags::SYN) {
            segment.syn_options.window_scale = self.peer_scale.map(|_| self.own_scale);
        }
        // A full segment leaves no room for SACK blocks; pure ACKs carry them.
        let family_bytes = if self.local.is_ipv6() { 20 } else { 0 };
        while segment.payload_len > 0 && !segment.sack.is_empty() && segment.wire_bytes() + family_bytes > self.mtu {
            segment.sack.pop();
        }
        let envelope = Envelope {
            source: self.local,
            destination: self.remote,
            window_scale: self.own_scale,
            identification: self.identification,
        };
        self.identification = self.identification.wrapping_add(1);
        codec::encode(segment, &[], &envelope, Payload::Bytes(payload), out)
    }
}

/// Bytes of IP and TCP headers without options.
pub fn header_bytes(address: SocketAddr) -> u32 {
    if address.is_ipv6() { 60 } else { 40 }
}

/// The answer to a segment of no connection (RFC 9293 section 3.10.7.1): `None` to a reset.
pub fn refusal(packet: &Packet<'_>, segment: &Segment) -> Option<Vec<u8>> {
    if segment.flags.contains(Flags::RST) {
        return None;
    }
    let is_ack = segment.flags.contains(Flags::ACK);
    let reset = Segment {
        seq: if is_ack { segment.ack } else { 0 },
        ack: if is_ack { 0 } else { segment.seq.wrapping_add(segment.sequence_len()) },
        flags: if is_ack { Flags::RST } else { Flags::RST.with(Flags::ACK) },
        ..Segment::default()
    };
    let envelope =
        Envelope { source: packet.destination, destination: packet.source, window_scale: 0, identification: 0 };
    let mut out = Vec::new();
    codec::encode(&reset, &[], &envelope, Payload::Bytes(&[]), &mut out).ok()?;
    Some(out)
}
