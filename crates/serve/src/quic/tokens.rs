//! Retry tokens and stateless reset tokens. Both are derived from one secret, so that the server keeps no state for them.
//!
//! Reference: RFC 9000 §8.1.2, §8.1.4 (a token is bound to the client's address and valid for a short time), §10.3 (stateless reset),
//! §17.2.5;
//! RFC 9001 §5.8 (integrity of Retry). The secret is derived from the key of the certificate, so that a server restarted with
//! the same key can still reset the connections that it has lost.

use playpath_transport::codec::quic::{MAX_CID, retry};
use playpath_units::{Duration, Time};
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::hmac::{HMAC_SHA256, Key, sign};
use std::net::{IpAddr, SocketAddr};

/// How long a Retry token is good: a client sends it at once, and again a few times.
const GOOD_FOR: Duration = Duration::from_secs(15);
/// What a token may be ahead of our time: a clock that is set right while the server is started anew.
const SKEW: Duration = Duration::from_secs(1);
/// Of an HMAC, in tokens of both kinds.
const MAC: usize = 16;
/// Key and nonce of version 1 (RFC 9001 §5.8).
const RETRY_KEY: [u8; 16] = *b"\xbe\x0c\x69\x0b\x9f\x66\x57\x5a\x1d\x76\x6b\x54\xe3\x68\xc8\x4e";
const RETRY_NONCE: [u8; 12] = *b"\x46\x15\x99\xd3\x5d\x63\x2b\xf2\x23\x98\x25\xbb";
/// Least bytes of a stateless reset (§10.3), and those of ours, which look like a small packet.
const MIN_RESET: usize = 21;
const MAX_RESET: usize = 43;

pub struct Tokens {
    key: Key,
    /// When the server's own time begins, since 1970: another one with the same secret reads its tokens, too.
    start: Duration,
}

impl Tokens {
    pub fn new(secret: &[u8; 32], start: Duration) -> Tokens {
        Tokens { key: Key::new(HMAC_SHA256, secret), start }
    }

    fn mac(&self, words: &[&[u8]]) -> [u8; MAC] {
        let mut out = [0; MAC];
        out.copy_from_slice(&sign(&self.key, &words.concat()).as_ref()[..MAC]);
        out
    }

    /// Ends a stateless reset of the connection with this id (§10.3.2).
    pub fn of_reset(&self, cid: &[u8]) -> [u8; MAC] {
        self.mac(&[b"reset", cid])
    }

    /// A stateless reset for a connection without state, in answer to a datagram of `bytes` bytes to `cid`: always shorter than that
    /// (§10.3.3) and otherwise of random size and content. `None` if the datagram was too short to be answered.
    pub fn reset(&self, cid: &[u8], bytes: usize, mut draw: impl FnMut() -> Option<u64>) -> Option<Vec<u8>> {
        let size = bytes.saturating_sub(1).min(MAX_RESET);
        if size < MIN_RESET {
            return None;
        }
        let mut out = Vec::with_capacity(size + 8);
        while out.len() < size - MAC {
            out.extend(draw()?.to_be_bytes());
        }
        out.truncate(size - MAC);
        out[0] = out[0] & 0x3f | 0x40; // a short header
        out.extend(self.of_reset(cid));
        Some(out)
    }

    /// A Retry packet for a client at `remote` with the connection id `peer` whose first packet was addressed to `original`: it has to
    /// start again with `own` as the destination.
    pub fn retry(
        &self,
        now: Time,
        remote: SocketAddr,
        (peer, own, original): (&[u8], &[u8], &[u8]),
    ) -> Option<Vec<u8>> {
        let mut token = (now + self.start).as_nanos().to_be_bytes().to_vec();
        token.extend(original);
        let mac = self.of_retry(&token, remote, own);
        token.extend(mac);
        let (mut packet, sealed) = retry((peer, own, original), &token);
        let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &RETRY_KEY).ok()?);
        let nonce = Nonce::assume_unique_for_key(RETRY_NONCE);
        let tag = key.seal_in_place_separate_tag(nonce, Aad::from(sealed), &mut []).ok()?;
        packet.extend(tag.as_ref());
        Some(packet)
    }

    /// Destination of the first packet of a client that now presents `token` to `own`, the id of the Retry. `None` if the token is not
    /// ours, for another address, or too old.
    pub fn original<'t>(&self, now: Time, remote: SocketAddr, own: &[u8], token: &'t [u8]) -> Option<&'t [u8]> {
        let (content, mac) = token.split_at_checked(token.len().checked_sub(MAC)?)?;
        let (at, original) = content.split_at_checked(8)?;
        let (at, now) = (Time::from_nanos(u64::from_be_bytes(at.try_into().ok()?)), now + self.start);
        // Without a hint of how much of it is right.
        let difference = self.of_retry(content, remote, own).iter().zip(mac).fold(0, |found, (a, b)| found | (a ^ b));
        let is_ours = difference == 0 && original.len() <= MAX_CID;
        (is_ours && at <= now + SKEW && now < at + GOOD_FOR).then_some(original)
    }

    fn of_retry(&self, content: &[u8], remote: SocketAddr, own: &[u8]) -> [u8; MAC] {
        let address = match remote.ip() {
            IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
            IpAddr::V6(ip) => ip.octets(),
        };
        self.mac(&[b"retry", &address, &remote.port().to_be_bytes(), own, content])
    }
}

#[cfg(test)]
mod tests;
