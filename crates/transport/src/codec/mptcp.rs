//! The bytes of MPTCP options (RFC 8684 §3).
//!
//! Differences from the reference:
//! 1. Options of unknown subtype, unknown version or invalid length are ignored, as in Linux.
//! 2. Successive [`MptcpOption::RemoveAddress`] travel as one REMOVE_ADDR with a list.

use super::options::{MPTCP, array_at, u16_at, u32_at, u64_at};
use crate::mptcp::option::{DSS_ACK, DSS_ACK8, DSS_FIN, DSS_MAP, DSS_SEQ8, MptcpOption};
use std::net::IpAddr;

const CAPABLE: u8 = 0;
const JOIN: u8 = 1;
const DSS: u8 = 2;
const ADD_ADDRESS: u8 = 3;
const REMOVE_ADDRESS: u8 = 4;
const PRIORITY: u8 = 5;
const FAIL: u8 = 6;
const FAST_CLOSE: u8 = 7;
const RESET: u8 = 8;

const VERSION: u8 = 1;

pub(super) fn encode<'a>(options: impl Iterator<Item = &'a MptcpOption>, out: &mut Vec<u8>) {
    // Place of the REMOVE_ADDR just written.
    let mut list = None;
    for option in options {
        if let (MptcpOption::RemoveAddress { address_id }, Some(at)) = (option, list) {
            out.push(*address_id);
            out[at + 1] += 1;
            continue;
        }
        list = matches!(option, MptcpOption::RemoveAddress { .. }).then_some(out.len());
        encode_one(option, out);
    }
}

fn encode_one(option: &MptcpOption, out: &mut Vec<u8>) {
    let len = option.encoded_bytes() as u8;
    let mut head = |subtype: u8, low: u8, next: u8| out.extend_from_slice(&[MPTCP, len, subtype << 4 | low, next]);
    match *option {
        MptcpOption::None => {}
        MptcpOption::Capable { flags, keys, data_len, checksum, sender_key, receiver_key } => {
            head(CAPABLE, VERSION, flags);
            let present = [sender_key, receiver_key];
            present.iter().take(keys.into()).for_each(|key| out.extend_from_slice(&key.to_be_bytes()));
            if data_len > 0 {
                out.extend_from_slice(&data_len.to_be_bytes());
                checksum.iter().for_each(|sum| out.extend_from_slice(&sum.to_be_bytes()));
            }
        }
        MptcpOption::JoinSyn { address_id, is_backup, token, nonce } => {
            head(JOIN, u8::from(is_backup), address_id);
            out.extend_from_slice(&token.to_be_bytes());
            out.extend_from_slice(&nonce.to_be_bytes());
        }
        MptcpOption::JoinSynAck { address_id, is_backup, mac, nonce } => {
            head(JOIN, u8::from(is_backup), address_id);
            out.extend_from_slice(&mac.to_be_bytes());
            out.extend_from_slice(&nonce.to_be_bytes());
        }
        MptcpOption::JoinAck { mac } => {
            head(JOIN, 0, 0);
            out.extend_from_slice(&mac);
        }
        MptcpOption::Dss { flags, data_ack, data_seq, subflow_seq, len, checksum } => {
            head(DSS, 0, flags);
            let mut number = |value: u64, is_wide| match is_wide {
                true => out.extend_from_slice(&value.to_be_bytes()),
                false => out.extend_from_slice(&(value as u32).to_be_bytes()),
            };
            if flags & DSS_ACK != 0 {
                number(data_ack, flags & DSS_ACK8 != 0);
            }
            if flags & DSS_MAP != 0 {
                number(data_seq, flags & DSS_SEQ8 != 0);
                out.extend_from_slice(&subflow_seq.to_be_bytes());
                out.extend_from_slice(&len.to_be_bytes());
                checksum.iter().for_each(|sum| out.extend_from_slice(&sum.to_be_bytes()));
            }
        }
        MptcpOption::AddAddress { address_id, is_echo, address, port, mac } => {
            head(ADD_ADDRESS, u8::from(is_echo), address_id);
            match address {
                IpAddr::V4(address) => out.extend_from_slice(&address.octets()),
                IpAddr::V6(address) => out.extend_from_slice(&address.octets()),
            }
            if port != 0 {
                out.extend_from_slice(&port.to_be_bytes());
            }
            if !is_echo {
                out.extend_from_slice(&mac.to_be_bytes());
            }
        }
        MptcpOption::RemoveAddress { address_id } => head(REMOVE_ADDRESS, 0, address_id),
        MptcpOption::Priority { is_backup } => {
            out.extend_from_slice(&[MPTCP, len, PRIORITY << 4 | u8::from(is_backup)]);
        }
        MptcpOption::Fail { data_seq } => {
            head(FAIL, 0, 0);
            out.extend_from_slice(&data_seq.to_be_bytes());
        }
        MptcpOption::FastClose { receiver_key } => {
            head(FAST_CLOSE, 0, 0);
            out.extend_from_slice(&receiver_key.to_be_bytes());
        }
        MptcpOption::Reset { is_transient, reason } => head(RESET, u8::from(is_transient), reason),
    }
}

/// The addresses of a REMOVE_ADDR after the first one.
#[inline]
pub(super) fn further_removed(body: &[u8]) -> &[u8] {
    match body {
        [first, _, further @ ..] if first >> 4 == REMOVE_ADDRESS => further,
        _ => &[],
    }
}

/// The option in `body`, which follows kind and length and is not empty.
pub(super) fn decode(body: &[u8]) -> MptcpOption {
    let (subtype, low) = (body[0] >> 4, body[0] & 15);
    let is_backup = low & 1 != 0;
    match (subtype, body.len()) {
        (CAPABLE, 2 | 10 | 18 | 20 | 22) if low == VERSION => MptcpOption::Capable {
            flags: body[1],
            keys: ((body.len() - 2) / 8) as u8,
            data_len: if body.len() >= 20 { u16_at(body, 18) } else { 0 },
            checksum: (body.len() == 22 && u16_at(body, 18) > 0).then(|| u16_at(body, 20)),
            sender_key: if body.len() >= 10 { u64_at(body, 2) } else { 0 },
            receiver_key: if body.len() >= 18 { u64_at(body, 10) } else { 0 },
        },
        (JOIN, 10) => {
            MptcpOption::JoinSyn { address_id: body[1], is_backup, token: u32_at(body, 2), nonce: u32_at(body, 6) }
        }
        (JOIN, 14) => {
            MptcpOption::JoinSynAck { address_id: body[1], is_backup, mac: u64_at(body, 2), nonce: u32_at(body, 10) }
        }
        (JOIN, 22) => MptcpOption::JoinAck { mac: array_at(body, 2) },
        (DSS, 2..) => decode_dss(body),
        (ADD_ADDRESS, 2..) => decode_add_address(body),
        (REMOVE_ADDRESS, 2..) => MptcpOption::RemoveAddress { address_id: body[1] },
        (PRIORITY, 1) => MptcpOption::Priority { is_backup },
        (FAIL, 10) => MptcpOption::Fail { data_seq: u64_at(body, 2) },
        (FAST_CLOSE, 10) => MptcpOption::FastClose { receiver_key: u64_at(body, 2) },
        (RESET, 2) => MptcpOption::Reset { is_transient: low & 1 != 0, reason: body[1] },
        _ => MptcpOption::None,
    }
}

fn decode_dss(body: &[u8]) -> MptcpOption {
    // A width says nothing where its number is absent.
    let width = |raw: u8, present: u8, wide: u8| if raw & present == 0 { 0 } else { raw & (present | wide) };
    let raw = body[1];
    let flags = width(raw, DSS_ACK, DSS_ACK8) | width(raw, DSS_MAP, DSS_SEQ8) | raw & DSS_FIN;
    let bytes = |present: u8, wide: u8| match (flags & present != 0, flags & wide != 0) {
        (false, _) => 0,
        (true, false) => 4,
        (true, true) => 8,
    };
    let number = |at: usize, bytes: usize| match bytes {
        0 => 0,
        4 => u64::from(u32_at(body, at)),
        _ => u64_at(body, at),
    };
    let (ack_bytes, seq_bytes) = (bytes(DSS_ACK, DSS_ACK8), bytes(DSS_MAP, DSS_SEQ8));
    let rest = 2 + ack_bytes + seq_bytes;
    let has_map = seq_bytes > 0;
    let expected = rest + if has_map { 6 } else { 0 };
    let has_checksum = has_map && body.len() == expected + 2;
    if body.len() != expected && !has_checksum {
        return MptcpOption::None;
    }
    MptcpOption::Dss {
        flags,
        data_ack: number(2, ack_bytes),
        data_seq: number(2 + ack_bytes, seq_bytes),
        subflow_seq: if has_map { u32_at(body, rest) } else { 0 },
        len: if has_map { u16_at(body, rest + 4) } else { 0 },
        checksum: has_checksum.then(|| u16_at(body, rest + 6)),
    }
}

/// Address, port if present, and without the echo flag an HMAC; the length determines which fields are present.
fn decode_add_address(body: &[u8]) -> MptcpOption {
    let is_echo = body[0] & 1 != 0;
    let mac_bytes = if is_echo { 0 } else { 8 };
    let (address, address_bytes): (IpAddr, usize) = match (body.len() - 2).checked_sub(mac_bytes) {
        Some(4 | 6) => (array_at::<4>(body, 2).into(), 4),
        Some(16 | 18) => (array_at::<16>(body, 2).into(), 16),
        _ => return MptcpOption::None,
    };
    let has_port = body.len() == 2 + address_bytes + 2 + mac_bytes;
    MptcpOption::AddAddress {
        address_id: body[1],
        is_echo,
        address,
        port: if has_port { u16_at(body, 2 + address_bytes) } else { 0 },
        mac: if is_echo { 0 } else { u64_at(body, body.len() - 8) },
    }
}
