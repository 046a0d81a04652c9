//! Segments as real IPv4 and TCP bytes, and back: for captures that Wireshark and tcptrace read, and for TUN devices.
//!
//! Reference: RFC 791, RFC 9293 §3.1, RFC 7323, RFC 2018, RFC 8684 §3. Options are laid out as Linux does.
//! Differences from the reference:
//! 1. Payload bytes are zeros in a capture; the decoder reports only their number.
//! 2. IPv4 only, no IP options, DF set; identification counts up with the caller's `identification`.
//!
//! Tested by `tests/codec.rs`: round trip, sizes, checksums, no panic on any input.

use crate::mptcp::option::{DSS_ACK, DSS_FIN, DSS_MAP, MptcpOption};
use crate::segment::{Ecn, Flags, SackBlocks, Segment, SynOptions, Timestamps};
use std::fmt;

/// Addresses and what a header needs beside the segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Envelope {
    /// IPv4 source.
    pub source: u32,
    /// IPv4 destination.
    pub destination: u32,
    /// TCP source port.
    pub source_port: u16,
    /// TCP destination port.
    pub destination_port: u16,
    /// Shift of the window field; not applied to SYN segments (RFC 7323 §2.2).
    pub window_scale: u8,
    /// IPv4 identification.
    pub identification: u16,
}

/// Why bytes are not a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// Shorter than its headers say.
    Truncated,
    /// Not IPv4 with TCP, or a fragment.
    NotTcp,
    /// A length field makes no sense.
    BadLength,
    /// A checksum is wrong.
    BadChecksum,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DecodeError::Truncated => "the packet is shorter than its headers say",
            DecodeError::NotTcp => "not an unfragmented IPv4 packet with TCP",
            DecodeError::BadLength => "a length field is out of range",
            DecodeError::BadChecksum => "a checksum is wrong",
        })
    }
}

impl std::error::Error for DecodeError {}

/// Append the packet to `out`: headers, options, payload. Lengths and checksum are those of the whole packet, also where the
/// payload is omitted.
pub fn encode(segment: &Segment, envelope: &Envelope, payload: Payload<'_>, out: &mut Vec<u8>) {
    let start = out.len();
    let total = 20 + 20 + segment.option_bytes().next_multiple_of(4) + segment.payload_len;
    encode_ip(segment, envelope, total as u16, out);
    let tcp = out.len();
    encode_tcp(segment, envelope, out);
    encode_options(segment, out);
    while !(out.len() - tcp).is_multiple_of(4) {
        out.push(1); // NOP
    }
    let words = ((out.len() - tcp) / 4) as u8;
    out[tcp + 12] = words << 4;
    let headers = out.len();
    match payload {
        Payload::Bytes(bytes) => out.extend_from_slice(bytes),
        Payload::Zeros | Payload::Omitted => out.resize(headers + segment.payload_len as usize, 0),
    }
    let sum = tcp_checksum(&out[start..tcp], &out[tcp..]);
    out[tcp + 16..tcp + 18].copy_from_slice(&sum.to_be_bytes());
    if payload == Payload::Omitted {
        out.truncate(headers);
    }
}

/// What stands for the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload<'a> {
    /// Real bytes, as many as the segment says.
    Bytes(&'a [u8]),
    /// Zeros.
    Zeros,
    /// Nothing: a capture with headers only.
    Omitted,
}

/// The segment in `packet`, its envelope, and where the payload begins.
pub fn decode(packet: &[u8], window_scale: u8) -> Result<(Segment, Envelope, usize), DecodeError> {
    let ip = packet.get(..20).ok_or(DecodeError::Truncated)?;
    let (ip_len, total) = (usize::from(ip[0] & 15) * 4, usize::from(u16_at(ip, 2)));
    let is_fragment = u16_at(ip, 6) & 0x3fff != 0;
    if ip[0] >> 4 != 4 || ip[9] != 6 || is_fragment {
        return Err(DecodeError::NotTcp);
    }
    if ip_len < 20 || total < ip_len + 20 {
        return Err(DecodeError::BadLength);
    }
    let packet = packet.get(..total).ok_or(DecodeError::Truncated)?;
    let tcp = &packet[ip_len..];
    let tcp_len = usize::from(tcp[12] >> 4) * 4;
    if tcp_len < 20 || tcp_len > tcp.len() {
        return Err(DecodeError::BadLength);
    }
    if checksum(&[&packet[..ip_len]]) != 0 || tcp_checksum(&packet[..20], tcp) != 0 {
        return Err(DecodeError::BadChecksum);
    }
    let flags = Flags(tcp[13]);
    let scale = if flags.contains(Flags::SYN) { 0 } else { window_scale.min(14) };
    let mut segment = Segment {
        seq: u32_at(tcp, 4),
        ack: u32_at(tcp, 8),
        payload_len: (tcp.len() - tcp_len) as u32,
        window: u32::from(u16_at(tcp, 14)) << scale,
        flags,
        ecn: [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(ip[1] & 3)],
        ..Segment::default()
    };
    decode_options(&tcp[20..tcp_len], &mut segment)?;
    let envelope = Envelope {
        source: u32_at(ip, 12),
        destination: u32_at(ip, 16),
        source_port: u16_at(tcp, 0),
        destination_port: u16_at(tcp, 2),
        window_scale,
        identification: u16_at(ip, 4),
    };
    Ok((segment, envelope, ip_len + tcp_len))
}

fn encode_ip(segment: &Segment, envelope: &Envelope, total: u16, out: &mut Vec<u8>) {
    let start = out.len();
    let ecn = match segment.ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    };
    out.extend_from_slice(&[0x45, ecn]);
    out.extend_from_slice(&total.to_be_bytes());
    out.extend_from_slice(&envelope.identification.to_be_bytes());
    out.extend_from_slice(&[0x40, 0, 64, 6, 0, 0]); // DF, TTL 64, TCP
    out.extend_from_slice(&envelope.source.to_be_bytes());
    out.extend_from_slice(&envelope.destination.to_be_bytes());
    let sum = checksum(&[&out[start..]]);
    out[start + 10..start + 12].copy_from_slice(&sum.to_be_bytes());
}

fn encode_tcp(segment: &Segment, envelope: &Envelope, out: &mut Vec<u8>) {
    let scale = if segment.flags.contains(Flags::SYN) { 0 } else { envelope.window_scale.min(14) };
    let window = (segment.window >> scale).min(65535) as u16;
    out.extend_from_slice(&envelope.source_port.to_be_bytes());
    out.extend_from_slice(&envelope.destination_port.to_be_bytes());
    out.extend_from_slice(&segment.seq.to_be_bytes());
    out.extend_from_slice(&segment.ack.to_be_bytes());
    out.extend_from_slice(&[0, segment.flags.0]);
    out.extend_from_slice(&window.to_be_bytes());
    out.extend_from_slice(&[0; 4]); // checksum, urgent pointer
}

fn encode_options(segment: &Segment, out: &mut Vec<u8>) {
    let SynOptions { mss, window_scale, sack_permitted } = segment.syn_options;
    let is_syn = segment.flags.contains(Flags::SYN);
    if is_syn && mss != 0 {
        out.extend_from_slice(&[2, 4]);
        out.extend_from_slice(&mss.to_be_bytes());
    }
    let permitted = is_syn && sack_permitted;
    if let Some(timestamps) = segment.timestamps {
        out.extend_from_slice(if permitted { &[4, 2] } else { &[1, 1] });
        out.extend_from_slice(&[8, 10]);
        out.extend_from_slice(&timestamps.value.to_be_bytes());
        out.extend_from_slice(&timestamps.echo.to_be_bytes());
    } else if permitted {
        out.extend_from_slice(&[1, 1, 4, 2]);
    }
    if let (true, Some(shift)) = (is_syn, window_scale) {
        out.extend_from_slice(&[1, 3, 3, shift]);
    }
    if !segment.sack.is_empty() {
        out.extend_from_slice(&[1, 1, 5, 2 + 8 * segment.sack.len() as u8]);
        for (left, right) in segment.sack.as_slice() {
            out.extend_from_slice(&left.to_be_bytes());
            out.extend_from_slice(&right.to_be_bytes());
        }
    }
    encode_mptcp(&segment.mptcp, out);
}

fn encode_mptcp(option: &MptcpOption, out: &mut Vec<u8>) {
    let len = option.encoded_bytes() as u8;
    let mut head = |subtype: u8, low: u8, next: u8| out.extend_from_slice(&[30, len, subtype << 4 | low, next]);
    match *option {
        MptcpOption::None => {}
        MptcpOption::Capable { keys, data_len, sender_key, receiver_key } => {
            head(0, 1, 1); // version 1, HMAC-SHA256
            [sender_key, receiver_key]
                .iter()
                .take(keys.into())
                .for_each(|key| out.extend_from_slice(&key.to_be_bytes()));
            if data_len > 0 {
                out.extend_from_slice(&data_len.to_be_bytes());
            }
        }
        MptcpOption::JoinSyn { address_id, is_backup, token, nonce } => {
            head(1, u8::from(is_backup), address_id);
            out.extend_from_slice(&token.to_be_bytes());
            out.extend_from_slice(&nonce.to_be_bytes());
        }
        MptcpOption::JoinSynAck { address_id, is_backup, mac, nonce } => {
            head(1, u8::from(is_backup), address_id);
            out.extend_from_slice(&mac.to_be_bytes());
            out.extend_from_slice(&nonce.to_be_bytes());
        }
        MptcpOption::JoinAck { mac } => {
            head(1, 0, 0);
            out.extend_from_slice(&mac);
        }
        MptcpOption::Dss { flags, data_ack, data_seq, subflow_seq, len } => {
            let wide = if flags & DSS_MAP != 0 { 0x08 } else { 0 }; // eight-byte data sequence number
            head(2, 0, flags | wide);
            if flags & DSS_ACK != 0 {
                out.extend_from_slice(&(data_ack as u32).to_be_bytes());
            }
            if flags & DSS_MAP != 0 {
                out.extend_from_slice(&data_seq.to_be_bytes());
                out.extend_from_slice(&subflow_seq.to_be_bytes());
                out.extend_from_slice(&len.to_be_bytes());
            }
        }
        MptcpOption::AddAddress { address_id, is_echo, address, mac } => {
            head(3, u8::from(is_echo), address_id);
            out.extend_from_slice(&address.to_be_bytes());
            if !is_echo {
                out.extend_from_slice(&mac.to_be_bytes());
            }
        }
        MptcpOption::RemoveAddress { address_id } => head(4, 0, address_id),
        MptcpOption::Priority { is_backup } => out.extend_from_slice(&[30, 3, 5 << 4 | u8::from(is_backup)]),
        MptcpOption::Fail { data_seq } => {
            head(6, 0, 0);
            out.extend_from_slice(&data_seq.to_be_bytes());
        }
        MptcpOption::FastClose { receiver_key } => {
            head(7, 0, 0);
            out.extend_from_slice(&receiver_key.to_be_bytes());
        }
    }
}

fn decode_options(mut options: &[u8], segment: &mut Segment) -> Result<(), DecodeError> {
    while let [kind, rest @ ..] = options {
        match kind {
            0 => return Ok(()),
            1 => options = rest,
            _ => {
                let len = usize::from(*rest.first().ok_or(DecodeError::BadLength)?);
                if len < 2 || len > options.len() {
                    return Err(DecodeError::BadLength);
                }
                decode_option(*kind, &options[2..len], segment)?;
                options = &options[len..];
            }
        }
    }
    Ok(())
}

fn decode_option(kind: u8, body: &[u8], segment: &mut Segment) -> Result<(), DecodeError> {
    match (kind, body.len()) {
        (2, 2) => segment.syn_options.mss = u16_at(body, 0),
        (3, 1) => segment.syn_options.window_scale = Some(body[0].min(14)), // RFC 7323 §2.3
        (4, 0) => segment.syn_options.sack_permitted = true,
        (8, 8) => segment.timestamps = Some(Timestamps { value: u32_at(body, 0), echo: u32_at(body, 4) }),
        (5, 8 | 16 | 24 | 32) => {
            segment.sack = SackBlocks::EMPTY;
            for block in body.chunks_exact(8) {
                segment.sack.push(u32_at(block, 0), u32_at(block, 4));
            }
        }
        (30, 1..) => segment.mptcp = decode_mptcp(body),
        (2..=5 | 8 | 30, _) => return Err(DecodeError::BadLength),
        _ => {} // unknown: ignored (RFC 9293 §3.1)
    }
    Ok(())
}

/// Options of unknown subtype or odd length are as if absent (RFC 8684 §3.7).
fn decode_mptcp(body: &[u8]) -> MptcpOption {
    let (subtype, low) = (body[0] >> 4, body[0] & 15);
    let is_backup = low & 1 != 0;
    match (subtype, body.len()) {
        (0, 2 | 10 | 18 | 20) if low == 1 => MptcpOption::Capable {
            keys: ((body.len() - 2) / 8) as u8,
            data_len: if body.len() == 20 { u16_at(body, 18) } else { 0 },
            sender_key: if body.len() >= 10 { u64_at(body, 2) } else { 0 },
            receiver_key: if body.len() >= 18 { u64_at(body, 10) } else { 0 },
        },
        (1, 10) => {
            MptcpOption::JoinSyn { address_id: body[1], is_backup, token: u32_at(body, 2), nonce: u32_at(body, 6) }
        }
        (1, 14) => {
            MptcpOption::JoinSynAck { address_id: body[1], is_backup, mac: u64_at(body, 2), nonce: u32_at(body, 10) }
        }
        (1, 22) => MptcpOption::JoinAck { mac: crate::mptcp::keys::first(&body[2..]) },
        (2, 2..) => decode_dss(body),
        (3, 6) if low & 1 != 0 => {
            MptcpOption::AddAddress { address_id: body[1], is_echo: true, address: u32_at(body, 2), mac: 0 }
        }
        (3, 14) if low & 1 == 0 => MptcpOption::AddAddress {
            address_id: body[1],
            is_echo: false,
            address: u32_at(body, 2),
            mac: u64_at(body, 6),
        },
        (4, 2) => MptcpOption::RemoveAddress { address_id: body[1] },
        (5, 1) => MptcpOption::Priority { is_backup },
        (6, 10) => MptcpOption::Fail { data_seq: u64_at(body, 2) },
        (7, 10) => MptcpOption::FastClose { receiver_key: u64_at(body, 2) },
        _ => MptcpOption::None,
    }
}

fn decode_dss(body: &[u8]) -> MptcpOption {
    let raw = body[1];
    let ack_len = match raw & 3 {
        0 | 2 => 0,
        1 => 4,
        _ => 8,
    };
    let (has_map, is_wide) = (raw & DSS_MAP != 0, raw & 0x08 != 0);
    let seq_len = if is_wide { 8 } else { 4 };
    let map_len = if has_map { seq_len + 6 } else { 0 };
    // A checksum of two bytes may follow; it is not checked.
    if body.len() != 2 + ack_len + map_len && body.len() != 4 + ack_len + map_len {
        return MptcpOption::None;
    }
    let number = |at: usize, len: usize| if len == 8 { u64_at(body, at) } else { u64::from(u32_at(body, at)) };
    let map = 2 + ack_len;
    MptcpOption::Dss {
        flags: raw & (DSS_MAP | DSS_FIN) | if ack_len > 0 { DSS_ACK } else { 0 },
        data_ack: if ack_len > 0 { number(2, ack_len) } else { 0 },
        data_seq: if has_map { number(map, seq_len) } else { 0 },
        subflow_seq: if has_map { u32_at(body, map + seq_len) } else { 0 },
        len: if has_map { u16_at(body, map + seq_len + 4) } else { 0 },
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(crate::mptcp::keys::first(&bytes[at..]))
}
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(crate::mptcp::keys::first(&bytes[at..]))
}
fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(crate::mptcp::keys::first(&bytes[at..]))
}

/// Checksum of the TCP segment with its pseudo header (RFC 9293 §3.1).
fn tcp_checksum(ip: &[u8], tcp: &[u8]) -> u16 {
    let len = (tcp.len() as u16).to_be_bytes();
    checksum(&[&ip[12..20], &[0, 6, len[0], len[1]], tcp])
}

/// Internet checksum (RFC 1071) over parts of even length, the last of any.
fn checksum(parts: &[&[u8]]) -> u16 {
    let mut sum = 0u64;
    for part in parts {
        for pair in part.chunks(2) {
            sum += u64::from(u16::from_be_bytes([pair[0], *pair.get(1).unwrap_or(&0)]));
        }
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
