//! What lets a server forget: Retry tokens, and tokens of stateless resets. Both follow from one secret; nothing is kept for them.
//!
//! Reference: RFC 9000 §8.1.2, §8.1.4 (a token is of the client's address and of a short time), §10.3 (stateless reset), §17.2.5;
//! RFC 9001 §5.8 (integrity of Retry). The secret follows from the key of the certificate, so that a server that was started anew with
//! the same one still ends the connections that it has forgotten.

use playpath_transport::codec::quic::{MAX_CID, retry};
use playpath_units::{Duration, Time};
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::hmac::{HMAC_SHA256, Key, sign};
use std::net::{IpAddr, SocketAddr};

/// How long a Retry token is good: a client sends it at once, and again a few times.
const GOOD_FOR: Duration = Duration::from_secs(15);
/// Of an HMAC, in tokens of both kinds.
const MAC: usize = 16;
/// Key and nonce of version 1 (RFC 9001 §5.8).
const RETRY_KEY: [u8; 16] = *b"\xbe\x0c\x69\x0b\x9f\x66\x57\x5a\x1d\x76\x6b\x54\xe3\x68\xc8\x4e";
const RETRY_NONCE: [u8; 12] = *b"\x46\x15\x99\xd3\x5d\x63\x2b\xf2\x23\x98\x25\xbb";
/// Least bytes of a stateless reset (§10.3), and those of ours, which look like a small packet.
const LEAST_RESET: usize = 21;
const MOST_RESET: usize = 43;

/// See the module.
pub struct Tokens(Key);

impl Tokens {
    /// All tokens follow from `secret`.
    pub fn new(secret: &[u8; 32]) -> Tokens {
        Tokens(Key::new(HMAC_SHA256, secret))
    }

    fn mac(&self, words: &[&[u8]]) -> [u8; MAC] {
        let mut out = [0; MAC];
        out.copy_from_slice(&sign(&self.0, &words.concat()).as_ref()[..MAC]);
        out
    }

    /// Ends a stateless reset of the connection with this id (§10.3.2).
    pub fn of_reset(&self, cid: &[u8]) -> [u8; MAC] {
        self.mac(&[b"reset", cid])
    }

    /// A datagram that ends a connection nobody here remembers: an answer to one of `bytes` bytes to `cid`, always shorter than that
    /// (§10.3.3), and otherwise drawn. `None`: it was too short to be answered.
    pub fn reset(&self, cid: &[u8], bytes: usize, mut draw: impl FnMut() -> Option<u64>) -> Option<Vec<u8>> {
        let size = bytes.saturating_sub(1).min(MOST_RESET);
        if size < LEAST_RESET {
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

    /// A Retry for a client at `remote` that calls itself `peer` and whose first packet went to `original`: it is to begin anew at `own`.
    pub fn retry(
        &self,
        now: Time,
        remote: SocketAddr,
        (peer, own, original): (&[u8], &[u8], &[u8]),
    ) -> Option<Vec<u8>> {
        let mut token = now.as_nanos().to_be_bytes().to_vec();
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

    /// Where the first packet of a client went that now shows `token` at `own`, the id that a Retry named; `None`: no token of ours, for
    /// another address, or too old.
    pub fn original<'t>(&self, now: Time, remote: SocketAddr, own: &[u8], token: &'t [u8]) -> Option<&'t [u8]> {
        let (told, mac) = token.split_at_checked(token.len().checked_sub(MAC)?)?;
        let (at, original) = told.split_at_checked(8)?;
        let at = Time::from_nanos(u64::from_be_bytes(at.try_into().ok()?));
        // Without a hint of how much of it is right.
        let difference = self.of_retry(told, remote, own).iter().zip(mac).fold(0, |found, (a, b)| found | (a ^ b));
        let is_ours = difference == 0 && original.len() <= MAX_CID;
        (is_ours && now < at + GOOD_FOR).then_some(original)
    }

    fn of_retry(&self, told: &[u8], remote: SocketAddr, own: &[u8]) -> [u8; MAC] {
        let address = match remote.ip() {
            IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
            IpAddr::V6(ip) => ip.octets(),
        };
        self.mac(&[b"retry", &address, &remote.port().to_be_bytes(), own, told])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9001 appendix A.4: the token is `token`.
    #[test]
    fn the_tag_of_the_rfc() {
        let cids = (&[][..], &b"\xf0\x67\xa5\x50\x2a\x42\x62\xb5"[..], &b"\x83\x94\xc8\xf0\x3e\x51\x57\x08"[..]);
        let (mut packet, mut sealed) = retry(cids, b"token");
        // Unused bits of the first byte are ours to choose: the RFC's are ones.
        (packet[0], sealed[9]) = (0xff, 0xff);
        let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &RETRY_KEY).unwrap());
        let nonce = Nonce::assume_unique_for_key(RETRY_NONCE);
        let tag = key.seal_in_place_separate_tag(nonce, Aad::from(sealed), &mut []).unwrap();
        assert_eq!(tag.as_ref(), b"\x04\xa2\x65\xba\x2e\xff\x4d\x82\x90\x58\xfb\x3f\x0f\x24\x96\xba");
        assert_eq!(packet, b"\xff\x00\x00\x00\x01\x00\x08\xf0\x67\xa5\x50\x2a\x42\x62\xb5token");
    }

    #[test]
    fn a_token_is_of_an_address_an_id_and_a_time() {
        let tokens = Tokens::new(&[7; 32]);
        let remote: SocketAddr = "10.0.0.1:5000".parse().unwrap();
        let packet = tokens.retry(Time::from_secs(1), remote, (&[1], &[2; 8], &[3; 9])).unwrap();
        let token = &packet[5 + 2 + 9..packet.len() - 16];
        let original = |at, remote: &str, own: u8| {
            tokens.original(Time::from_secs(at), remote.parse().unwrap(), &[own; 8], token).map(<[u8]>::to_vec)
        };
        assert_eq!(original(15, "10.0.0.1:5000", 2), Some(vec![3; 9]));
        assert_eq!(original(16, "10.0.0.1:5000", 2), None, "too old");
        assert_eq!(original(2, "10.0.0.1:5001", 2), None, "another port");
        assert_eq!(original(2, "10.0.0.2:5000", 2), None, "another host");
        assert_eq!(original(2, "10.0.0.1:5000", 4), None, "another id");
        assert_eq!(Tokens::new(&[8; 32]).original(Time::from_secs(2), remote, &[2; 8], token), None, "another server");
        for cut in 0..token.len() {
            assert_eq!(tokens.original(Time::from_secs(2), remote, &[2; 8], &token[..cut]), None);
        }
    }

    #[test]
    fn a_reset_is_shorter_than_what_it_answers() {
        let tokens = Tokens::new(&[7; 32]);
        let reset = |bytes| tokens.reset(&[1; 8], bytes, || Some(u64::MAX));
        assert_eq!((reset(21), reset(22).unwrap().len(), reset(1500).unwrap().len()), (None, 21, 43));
        let made = reset(1500).unwrap();
        assert_eq!((made[0] & 0xc0, &made[27..]), (0x40, &tokens.of_reset(&[1; 8])[..]));
    }
}
