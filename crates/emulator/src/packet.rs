//! IP packets as links see them.
//!
//! Reference: RFC 791, RFC 8200 (headers), RFC 3168 (ECN), RFC 1624 (update of a checksum). Sizes are those of the IP packet.

use crate::flows::FlowMark;
use crate::log::DropLog;
use playpath_link::{DropCause, Packet};
use playpath_units::Time;

/// A packet on its way.
pub struct IpPacket {
    /// Number within the run, in order of arrival.
    pub id: u64,
    /// Route (two per path: down, up).
    pub route: u16,
    /// Links passed.
    pub hop: u16,
    /// When the emulator read it.
    pub arrival: Time,
    /// From the IP header on.
    pub bytes: Box<[u8]>,
    /// Whom to tell if a link drops it.
    pub drop_log: Option<DropLog>,
    /// The flow whose data it carries from the server.
    pub flow: Option<FlowMark>,
}

/// The ECN field: the low two bits of the traffic class.
const ECT_MASK: u8 = 0b11;
const CE: u8 = 0b11;

impl Packet for IpPacket {
    fn wire_bytes(&self) -> u32 {
        self.bytes.len() as u32
    }

    /// Addresses, protocol and ports, mixed (FNV-1a).
    fn flow_hash(&self) -> u64 {
        let fnv = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        flow_fields(&self.bytes).into_iter().flatten().fold(0xcbf2_9ce4_8422_2325, fnv)
    }

    fn is_ecn_capable(&self) -> bool {
        matches!(traffic_class(&self.bytes), Some(class) if class & ECT_MASK != 0)
    }

    fn mark_ce(&mut self) {
        let bytes = &mut self.bytes;
        match bytes.first().map(|byte| byte >> 4) {
            Some(4) if bytes.len() >= 20 => {
                let before = u16::from_be_bytes([bytes[0], bytes[1]]);
                bytes[1] |= CE;
                let after = u16::from_be_bytes([bytes[0], bytes[1]]);
                let checksum = updated_checksum(u16::from_be_bytes([bytes[10], bytes[11]]), before, after);
                bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
            }
            Some(6) if bytes.len() >= 40 => bytes[1] |= CE << 4,
            _ => {}
        }
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

/// The header checksum after one 16-bit word has changed: HC' = ~(~HC + ~m + m') (RFC 1624, equation 3).
fn updated_checksum(checksum: u16, before: u16, after: u16) -> u16 {
    let mut sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

fn traffic_class(bytes: &[u8]) -> Option<u8> {
    match bytes.first()? >> 4 {
        4 => bytes.get(1).copied(),
        6 => Some(bytes[0] << 4 | bytes.get(1)? >> 4),
        _ => None,
    }
}

/// Protocol, addresses, and ports where the protocol has some and this is not a later fragment.
fn flow_fields(bytes: &[u8]) -> [&[u8]; 3] {
    let empty: &[u8] = &[];
    let part = |from: usize, length: usize| bytes.get(from..from + length).unwrap_or(empty);
    let (protocol, addresses, ports_at) = match bytes.first().map(|byte| byte >> 4) {
        Some(4) => {
            let is_later_fragment = part(6, 2).iter().zip([0x1f, 0xff]).any(|(byte, mask)| byte & mask != 0);
            let header = usize::from(bytes[0] & 0x0f) * 4;
            (part(9, 1), part(12, 8), if is_later_fragment { None } else { Some(header) })
        }
        Some(6) => (part(6, 1), part(8, 32), Some(40)),
        _ => return [empty; 3],
    };
    const WITH_PORTS: [u8; 5] = [6, 17, 33, 132, 136]; // TCP, UDP, DCCP, SCTP, UDP-Lite
    let has_ports = protocol.first().is_some_and(|protocol| WITH_PORTS.contains(protocol));
    let ports = ports_at.filter(|_| has_ports).map_or(empty, |at| part(at, 4));
    [protocol, addresses, ports]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(bytes: &[u8]) -> IpPacket {
        IpPacket { id: 0, route: 0, hop: 0, arrival: Time::ZERO, bytes: bytes.into(), drop_log: None, flow: None }
    }

    /// An IPv4 header of a TCP packet from 10.0.0.1:80 to 10.0.0.2:1234 with the given ECN field and a right checksum.
    fn tcp(ecn: u8) -> Vec<u8> {
        let mut bytes = vec![0x45, ecn, 0, 40, 0, 1, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 80, 4, 210];
        bytes.resize(40, 0);
        let sum = ones_complement_sum(&bytes[..20]);
        bytes[10..12].copy_from_slice(&(!sum).to_be_bytes());
        bytes
    }

    fn ones_complement_sum(header: &[u8]) -> u16 {
        let words = header.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
        let sum: u32 = words.sum();
        ((sum & 0xffff) + (sum >> 16)) as u16
    }

    /// A right header sums up to 0xffff, before and after the mark.
    #[test]
    fn a_mark_keeps_the_checksum_right() {
        for ecn in [0b01, 0b10, 0b11, 0xb8 | 0b10] {
            let mut packet = packet(&tcp(ecn));
            assert!(packet.is_ecn_capable());
            assert_eq!(ones_complement_sum(&packet.bytes[..20]), 0xffff);
            packet.mark_ce();
            assert_eq!(packet.bytes[1], ecn | 0b11);
            assert_eq!(ones_complement_sum(&packet.bytes[..20]), 0xffff);
        }
        assert!(!packet(&tcp(0)).is_ecn_capable());
    }

    #[test]
    fn an_ipv6_packet_is_marked_in_its_traffic_class() {
        let mut bytes = vec![0; 40];
        (bytes[0], bytes[1]) = (0x60, 0x20);
        let mut packet = packet(&bytes);
        assert!(packet.is_ecn_capable());
        packet.mark_ce();
        assert_eq!(packet.bytes[1], 0x30);
    }

    #[test]
    fn flows_are_told_apart_by_addresses_protocol_and_ports() {
        let base = packet(&tcp(0)).flow_hash();
        assert_eq!(packet(&tcp(0b10)).flow_hash(), base, "the mark does not matter");
        for changed in [9, 12, 19, 20, 23] {
            let mut bytes = tcp(0);
            bytes[changed] ^= 1;
            assert_ne!(packet(&bytes).flow_hash(), base, "byte {changed}");
        }
        let mut payload = tcp(0);
        payload[30] ^= 1;
        assert_eq!(packet(&payload).flow_hash(), base);
    }

    #[test]
    fn no_bytes_make_it_panic() {
        for length in 0..60 {
            for first in [0x00, 0x45, 0x4f, 0x60, 0xff] {
                let mut packet = packet(&vec![first; length]);
                packet.flow_hash();
                packet.is_ecn_capable();
                packet.mark_ce();
            }
        }
    }
}
