//! Keys, tokens and authentication codes of MPTCP.
//!
//! Reference: RFC 8684 §3.1 (token: first 32 bits of SHA-256 of the key; initial data sequence number: last 64 bits), §3.2
//! (HMAC-SHA256 of the nonces); FIPS 180-4, RFC 2104.
//! Differences from the reference: none. The hashes are those of the crates `sha2` and `hmac`. Tested here.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use std::net::IpAddr;

pub(crate) fn token(key: u64) -> u32 {
    u32::from_be_bytes(first(&sha256(&key.to_be_bytes())))
}

pub(crate) fn initial_data_seq(key: u64) -> u64 {
    let hash = sha256(&key.to_be_bytes());
    u64::from_be_bytes(first(&hash[24..]))
}

/// HMAC of an MP_JOIN: `own` is the key and nonce of the side that sends it.
pub(crate) fn join_mac(own: (u64, u32), peer: (u64, u32)) -> [u8; 32] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&own.0.to_be_bytes());
    key[8..].copy_from_slice(&peer.0.to_be_bytes());
    let mut message = [0; 8];
    message[..4].copy_from_slice(&own.1.to_be_bytes());
    message[4..].copy_from_slice(&peer.1.to_be_bytes());
    hmac(&key, &message)
}

/// HMAC of an ADD_ADDR (§3.4.1): address identifier, address, port.
pub(crate) fn address_mac(own_key: u64, peer_key: u64, address_id: u8, address: IpAddr, port: u16) -> u64 {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&own_key.to_be_bytes());
    key[8..].copy_from_slice(&peer_key.to_be_bytes());
    let mut message = vec![address_id];
    match address {
        IpAddr::V4(address) => message.extend(address.octets()),
        IpAddr::V6(address) => message.extend(address.octets()),
    }
    message.extend(port.to_be_bytes());
    u64::from_be_bytes(first(&hmac(&key, &message)[24..]))
}

pub(crate) fn first<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[..N]);
    out
}

/// HMAC-SHA256 (RFC 2104).
pub(crate) fn hmac(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.chain_update(message).finalize().into_bytes().into()
}

fn sha256(message: &[u8]) -> [u8; 32] {
    Sha256::digest(message).into()
}

#[cfg(test)]
mod tests;
