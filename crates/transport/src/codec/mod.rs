//! Segments as real IP and TCP bytes, and back: for captures that Wireshark and tcptrace read, for TUN devices, and for counters of passing
//! packets.
//!
//! Reference: RFC 791, RFC 8200, RFC 9293 §3.1, RFC 7323, RFC 2018, RFC 8684 §3. Options are laid out as Linux does.
//! Differences from the reference:
//! 1. Payload bytes are zeros or left out in a capture; a [`Segment`] carries only their number.
//! 2. Packets are written without IP options or extension headers, with DF set; both are read. Fragments are rejected.
//! 3. DSS checksums are carried; the owner of the bytes computes and checks them ([`mptcp::checksums`](crate::mptcp::checksums)).
//!
//! [`Packet`] reads headers in place and checks lengths only, which suits a counter on a hot path; [`decode`] also checks
//! the checksums, which an endpoint needs. If a segment carries several MPTCP options, the first one goes into the
//! segment and [`Packet::mptcp`] yields all of them.
//!
//! Tested by `tests/codec.rs`: round trips, sizes, checksums, no panic on any input, no complaint of tshark; fuzzed by
//! `fuzz_targets/packet.rs`.

mod ip;
mod mptcp;
mod options;
mod pcapng;
pub mod quic;

pub use ip::{ecn_bits, flow_hash, set_ecn_bits};
pub use options::{TcpOption, TcpOptions};
pub use pcapng::PcapNg;

use crate::mptcp::option::MptcpOption;
use crate::segment::{Flags, Segment};
use etherparse::{IpSlice, TcpSlice, UdpSlice, ip_number};
use std::net::SocketAddr;

/// The addresses of a packet, and the other header fields that are not in the segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// Sender's address and port.
    pub source: SocketAddr,
    /// Receiver's address, of the same family, and port.
    pub destination: SocketAddr,
    /// Shift of the window field; not applied to SYN segments (RFC 7323 §2.2).
    pub window_scale: u8,
    pub identification: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload<'a> {
    /// Real bytes, as many as the segment says.
    Bytes(&'a [u8]),
    Zeros,
    /// No payload: a capture with headers only.
    Omitted,
}

/// Why a segment cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    #[error("{0} bytes of TCP options; at most 40 fit")]
    OptionsTooLong(usize),
    #[error("a packet of {0} bytes; at most 65535 are allowed")]
    TooLong(usize),
    #[error("one end is IPv4, the other IPv6")]
    MixedFamilies,
}

/// Why bytes are not a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Or they are cut short.
    #[error("the IP headers do not hold together")]
    BadIp,
    #[error("a fragment")]
    Fragment,
    /// Neither TCP nor UDP, or not the one that is asked for.
    #[error("another protocol")]
    OtherProtocol,
    /// Or its options do not.
    #[error("the TCP or UDP header does not hold together")]
    BadHeader,
    #[error("a checksum is wrong")]
    BadChecksum,
}

/// Append the packet to `out`: headers, options, payload. Lengths and checksum are those of the whole packet, also where the
/// payload is omitted. `more` are MPTCP options in addition to the segment's own.
pub fn encode(
    segment: &Segment,
    more: &[MptcpOption],
    envelope: &Envelope,
    payload: Payload<'_>,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let mut options = Vec::with_capacity(options::MAX);
    options::encode(segment, more, &mut options);
    if options.len() > options::MAX {
        return Err(EncodeError::OptionsTooLong(options.len()));
    }
    let tcp_bytes = TCP_BYTES + options.len() + segment.payload_len as usize;
    ip::encode(segment.ecn, envelope, tcp_bytes, out)?;
    let tcp = out.len();
    encode_tcp(segment, envelope, options.len(), out);
    out.extend_from_slice(&options);
    let headers = out.len();
    if let Payload::Bytes(bytes) = payload {
        out.extend_from_slice(bytes);
    }
    // Zeros add nothing to a checksum: only their number counts.
    let sum = ip::transport_sum(envelope.source.ip(), envelope.destination.ip(), tcp_bytes, &out[tcp..]);
    out[tcp + 16..tcp + 18].copy_from_slice(&sum.to_ne_bytes());
    if payload == Payload::Zeros {
        out.resize(headers + segment.payload_len as usize, 0);
    }
    Ok(())
}

/// A TCP header without options.
const TCP_BYTES: usize = 20;

fn encode_tcp(segment: &Segment, envelope: &Envelope, option_bytes: usize, out: &mut Vec<u8>) {
    let scale = if segment.flags.contains(Flags::SYN) { 0 } else { envelope.window_scale.min(14) };
    let window = (segment.window >> scale).min(65535) as u16;
    let words = ((TCP_BYTES + option_bytes) / 4) as u8;
    out.extend_from_slice(&envelope.source.port().to_be_bytes());
    out.extend_from_slice(&envelope.destination.port().to_be_bytes());
    out.extend_from_slice(&segment.seq.to_be_bytes());
    out.extend_from_slice(&segment.ack.to_be_bytes());
    out.extend_from_slice(&[words << 4 | (segment.flags.0 >> 8) as u8 & 1, segment.flags.0 as u8]);
    out.extend_from_slice(&window.to_be_bytes());
    out.extend_from_slice(&[0; 4]); // checksum, urgent pointer
}

/// The segment in `packet`, whose checksums hold, and the packet in parts. `window_scale` is the one that its sender announced.
pub fn decode(packet: &[u8], window_scale: u8) -> Result<(Segment, Packet<'_>), DecodeError> {
    let parsed = Packet::parse(packet)?;
    let segment = parsed.segment(window_scale)?;
    if !parsed.has_right_checksums() {
        return Err(DecodeError::BadChecksum);
    }
    Ok((segment, parsed))
}

/// An IP packet of TCP or UDP, read in place. Lengths have been checked, checksums have not.
#[derive(Clone, Debug)]
pub struct Packet<'a> {
    pub source: SocketAddr,
    pub destination: SocketAddr,
    pub protocol: u8,
    pub header_bytes: usize,
    pub payload: &'a [u8],
    ip: IpSlice<'a>,
    tcp: Option<TcpSlice<'a>>,
}

pub const TCP: u8 = ip_number::TCP.0;

impl<'a> Packet<'a> {
    /// Read the headers in `bytes`. Bytes beyond the IP header's length are ignored.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<Packet<'a>, DecodeError> {
        let ip = IpSlice::from_slice(bytes).map_err(|_| DecodeError::BadIp)?;
        if ip.is_fragmenting_payload() {
            return Err(DecodeError::Fragment);
        }
        let (protocol, body) = (ip.payload_ip_number(), ip.payload().payload);
        let (ports, payload, tcp) = match protocol {
            ip_number::TCP => {
                let tcp = TcpSlice::from_slice(body).map_err(|_| DecodeError::BadHeader)?;
                ((tcp.source_port(), tcp.destination_port()), &body[tcp.header_len()..], Some(tcp))
            }
            ip_number::UDP => {
                let udp = UdpSlice::from_slice(body).map_err(|_| DecodeError::BadHeader)?;
                ((udp.source_port(), udp.destination_port()), &body[8..], None)
            }
            _ => return Err(DecodeError::OtherProtocol),
        };
        Ok(Packet {
            source: SocketAddr::new(ip.source_addr(), ports.0),
            destination: SocketAddr::new(ip.destination_addr(), ports.1),
            protocol: protocol.0,
            // By position: `body` and `payload` are parts of `bytes`.
            header_bytes: payload.as_ptr() as usize - bytes.as_ptr() as usize,
            payload,
            ip,
            tcp,
        })
    }

    /// The TCP segment. Errors: UDP; options whose lengths make no sense.
    #[inline]
    pub fn segment(&self, window_scale: u8) -> Result<Segment, DecodeError> {
        let tcp = self.tcp.as_ref().ok_or(DecodeError::OtherProtocol)?;
        let flags = Flags(u16::from_be_bytes([tcp.header_slice()[12] & 1, tcp.header_slice()[13]]));
        let scale = if flags.contains(Flags::SYN) { 0 } else { window_scale.min(14) };
        let mut segment = Segment {
            seq: tcp.sequence_number(),
            ack: tcp.acknowledgment_number(),
            payload_len: self.payload.len() as u32,
            window: u32::from(tcp.window_size()) << scale,
            flags,
            ecn: ip::ecn(&self.ip),
            ..Segment::default()
        };
        for option in self.options() {
            match option? {
                TcpOption::Mss(mss) => segment.syn_options.mss = mss,
                TcpOption::WindowScale(shift) => segment.syn_options.window_scale = Some(shift),
                TcpOption::SackPermitted => segment.syn_options.sack_permitted = true,
                TcpOption::Sack(blocks) => segment.sack = blocks,
                TcpOption::Timestamps(timestamps) => segment.timestamps = Some(timestamps),
                TcpOption::AccEcn(accecn) => segment.accecn = Some(accecn),
                TcpOption::Mptcp(option) if segment.mptcp == MptcpOption::None => segment.mptcp = option,
                TcpOption::Mptcp(_) | TcpOption::Unknown { .. } => {}
            }
        }
        Ok(segment)
    }

    /// The TCP options, in their order; none of UDP.
    #[inline]
    pub fn options(&self) -> TcpOptions<'_> {
        TcpOptions::new(self.tcp.as_ref().map_or(&[], |tcp| tcp.options()))
    }

    /// Every MPTCP option, in their order. A REMOVE_ADDR of several addresses gives one for each.
    pub fn mptcp(&self) -> impl Iterator<Item = MptcpOption> {
        self.options().filter_map(|option| match option {
            Ok(TcpOption::Mptcp(option)) => Some(option),
            _ => None,
        })
    }

    /// The header fields that are not in the segment.
    pub fn envelope(&self, window_scale: u8) -> Envelope {
        let identification = self.ip.ipv4().map_or(0, |ip| ip.header().identification());
        Envelope { source: self.source, destination: self.destination, window_scale, identification }
    }

    /// Whether the checksums of an IPv4 header and of TCP or UDP hold (RFC 1071: a right sum is zero).
    pub fn has_right_checksums(&self) -> bool {
        let body = self.ip.payload().payload;
        // UDP over IPv4 may go without (RFC 768).
        let is_without = self.tcp.is_none() && self.ip.ipv4().is_some() && body[6..8] == [0, 0];
        let is_right = |ip: &etherparse::Ipv4Slice<'_>| ip::sum(ip.header().slice()) == 0;
        self.ip.ipv4().is_none_or(is_right)
            && (is_without || ip::transport_sum_of(self.protocol, &self.ip, body.len(), body) == 0)
    }
}
