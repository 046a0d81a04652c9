//! IP headers: writing them, and reading and changing the fields that a link uses.
//!
//! Reference: RFC 791, RFC 8200, RFC 3168 (ECN), RFC 1071 and RFC 1624 (checksums).

use super::{EncodeError, Envelope};
use crate::segment::Ecn;
use etherparse::checksum::Sum16BitWords;
use etherparse::{IpEcn, IpFragOffset, IpNumber, IpSlice, Ipv4Header, Ipv6Header, ip_number};
use std::net::{IpAddr, SocketAddr};

/// Append an IP header without options for `body_bytes` of TCP.
pub(super) fn encode(ecn: Ecn, envelope: &Envelope, body_bytes: usize, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    const HOPS: u8 = 64;
    let mark = match ecn {
        Ecn::NotEct => IpEcn::ZERO,
        Ecn::Ect1 => IpEcn::ONE,
        Ecn::Ect0 => IpEcn::TWO,
        Ecn::Ce => IpEcn::THREE,
    };
    match (envelope.source, envelope.destination) {
        (SocketAddr::V4(source), SocketAddr::V4(destination)) => {
            let total = body_bytes + Ipv4Header::MIN_LEN;
            let mut header = Ipv4Header {
                ecn: mark,
                total_len: total.try_into().map_err(|_| EncodeError::TooLong(total))?,
                identification: envelope.identification,
                dont_fragment: true,
                fragment_offset: IpFragOffset::ZERO,
                time_to_live: HOPS,
                protocol: ip_number::TCP,
                source: source.ip().octets(),
                destination: destination.ip().octets(),
                ..Ipv4Header::default()
            };
            header.header_checksum = header.calc_header_checksum();
            out.extend_from_slice(&header.to_bytes());
        }
        (SocketAddr::V6(source), SocketAddr::V6(destination)) => {
            let mut header = Ipv6Header {
                payload_length: body_bytes.try_into().map_err(|_| EncodeError::TooLong(body_bytes))?,
                next_header: ip_number::TCP,
                hop_limit: HOPS,
                source: source.ip().octets(),
                destination: destination.ip().octets(),
                ..Ipv6Header::default()
            };
            header.set_ecn(mark);
            out.extend_from_slice(&header.to_bytes());
        }
        _ => return Err(EncodeError::MixedFamilies),
    }
    Ok(())
}

/// The codepoint of a parsed packet.
#[inline]
pub(super) fn ecn(ip: &IpSlice<'_>) -> Ecn {
    let field = match ip {
        IpSlice::Ipv4(ip) => ip.header().ecn(),
        IpSlice::Ipv6(ip) => ip.header().ecn(),
    };
    [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(field.value() & ECN_MASK)]
}

/// Internet checksum (RFC 1071), in the bytes' own order.
pub(super) fn sum(bytes: &[u8]) -> u16 {
    Sum16BitWords::new().add_slice(bytes).ones_complement()
}

/// Checksum of TCP with its pseudo header (RFC 9293 §3.1). `length` may exceed the bytes, as if zeros followed.
pub(super) fn transport_sum(source: IpAddr, destination: IpAddr, length: usize, bytes: &[u8]) -> u16 {
    pseudo_header(source, destination, ip_number::TCP, length).add_slice(bytes).ones_complement()
}

/// The same as [`transport_sum`], for a parsed packet.
pub(super) fn transport_sum_of(protocol: u8, ip: &IpSlice<'_>, length: usize, bytes: &[u8]) -> u16 {
    let header = pseudo_header(ip.source_addr(), ip.destination_addr(), IpNumber(protocol), length);
    header.add_slice(bytes).ones_complement()
}

fn pseudo_header(source: IpAddr, destination: IpAddr, protocol: IpNumber, length: usize) -> Sum16BitWords {
    let add = |mut sum: Sum16BitWords, address| match address {
        IpAddr::V4(address) => sum.add_4bytes(address.octets()),
        IpAddr::V6(address) => sum.add_16bytes(address.octets()),
    };
    add(add(Sum16BitWords::new(), source), destination)
        .add_2bytes([0, protocol.0])
        .add_4bytes((length as u32).to_be_bytes())
}

/// The ECN field: the low two bits of the traffic class.
const ECN_MASK: u8 = 0b11;

/// The ECN field of an IP packet: 00 Not-ECT, 01 ECT(1), 10 ECT(0), 11 CE; 00 of bytes that are no IP packet.
pub fn ecn_bits(packet: &[u8]) -> u8 {
    let class = match packet {
        [0x40..=0x4f, class, ..] => *class,
        [first @ 0x60..=0x6f, second, ..] => first << 4 | second >> 4,
        _ => 0,
    };
    class & ECN_MASK
}

/// Write the ECN field, and mend the checksum of an IPv4 header.
pub fn set_ecn_bits(packet: &mut [u8], bits: u8) {
    let bits = bits & ECN_MASK;
    match packet.first().map(|byte| byte >> 4) {
        Some(4) if packet.len() >= 20 => {
            let before = u16::from_be_bytes([packet[0], packet[1]]);
            packet[1] = packet[1] & !ECN_MASK | bits;
            let after = u16::from_be_bytes([packet[0], packet[1]]);
            let checksum = updated_checksum(u16::from_be_bytes([packet[10], packet[11]]), before, after);
            packet[10..12].copy_from_slice(&checksum.to_be_bytes());
        }
        Some(6) if packet.len() >= 40 => packet[1] = packet[1] & !(ECN_MASK << 4) | bits << 4,
        _ => {}
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

/// Addresses, protocol, and ports where the protocol has some, mixed (FNV-1a). All fragments of a packet are one flow: without
/// ports. Bytes that are no IP packet are all one flow.
pub fn flow_hash(packet: &[u8]) -> u64 {
    const WITH_PORTS: [IpNumber; 5] =
        [ip_number::TCP, ip_number::UDP, ip_number::DCCP, ip_number::SCTP, ip_number::UDP_LITE];
    let mix = |hash: u64, bytes: &[u8]| {
        bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
    };
    let start = 0xcbf2_9ce4_8422_2325;
    let Ok(ip) = IpSlice::from_slice(packet) else { return start };
    let addresses = match ip {
        IpSlice::Ipv4(_) => &packet[12..20],
        IpSlice::Ipv6(_) => &packet[8..40],
    };
    let has_ports = WITH_PORTS.contains(&ip.payload_ip_number()) && !ip.is_fragmenting_payload();
    let ports = ip.payload().payload.get(..4).filter(|_| has_ports).unwrap_or_default();
    mix(mix(mix(start, &[ip.payload_ip_number().0]), addresses), ports)
}
