//! Packet protection: encryption of sent packets, decryption of received ones.
//!
//! Reference: RFC 9001 §5 (by `rustls`), §5.4 (header protection), §6 (key updates of either side);
//! draft-ietf-quic-multipath-21 §2.4 (a path's number is part of the nonce), §2.5 (keys are updated on all paths).

use playpath_transport::codec::quic::packet_number;
use playpath_transport::quic::packet::{Kind, Space};
use rustls::Side;
use rustls::crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256;
use rustls::quic::{DirectionalKeys, Keys, PacketKey, PacketKeySet, Secrets, Version};
use std::ops::Range;

/// Paths of one connection at most.
pub const MAX_PATHS: usize = 4;
/// Bytes of a tag, and of the sample for the header (RFC 9001 §5.3, §5.4.2).
const TAG: usize = 16;

#[derive(Default)]
pub struct ConnectionKeys {
    spaces: [Option<Keys>; 3],
    /// Keys of the client's 0-RTT packets.
    early: Option<DirectionalKeys>,
    next: Option<Secrets>,
    /// The phase bit of packets to be sent.
    pub phase: bool,
    /// Key of the previous phase, for reordered packets (RFC 9001 §6.3).
    before: Option<Box<dyn PacketKey>>,
    /// Largest number opened in each space, the further paths' behind the first one's.
    largest: [Option<u64>; 2 + MAX_PATHS],
    /// Lowest packet number of the current key phase on each path; the largest value if none has been received yet.
    phase_from: [u64; MAX_PATHS],
    /// Packets that left in the phase at hand, and the first number of them on each path.
    sealed: u64,
    sealed_from: [u64; MAX_PATHS],
}

#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub kind: Kind,
    pub path_id: u8,
}

impl Place {
    fn largest(self) -> usize {
        self.kind.space() as usize + usize::from(self.path_id)
    }
}

pub struct Clear {
    pub number: u64,
    pub payload: Range<usize>,
    /// Reserved bits are zero, as they must be (RFC 9000 §17.2).
    pub is_clean: bool,
}

impl ConnectionKeys {
    /// The keys of a connection whose first packet was addressed to `destination` (RFC 9001 §5.2).
    pub fn new(destination: &[u8]) -> ConnectionKeys {
        let suite = TLS13_AES_128_GCM_SHA256.tls13().and_then(rustls::Tls13CipherSuite::quic_suite);
        let initial = suite.map(|suite| suite.keys(destination, Side::Server, Version::V1));
        ConnectionKeys { spaces: [initial, None, None], ..ConnectionKeys::default() }
    }

    pub fn install(&mut self, space: Space, keys: Keys, next: Option<Secrets>) {
        self.spaces[space as usize] = Some(keys);
        self.next = next.or(self.next.take());
    }

    /// TLS takes 0-RTT packets, until it is done (`None`).
    pub fn install_early(&mut self, keys: Option<DirectionalKeys>) {
        self.early = keys;
    }

    fn remote(&self, kind: Kind) -> Option<&DirectionalKeys> {
        match kind {
            Kind::ZeroRtt => self.early.as_ref(),
            _ => self.spaces[kind.space() as usize].as_ref().map(|keys| &keys.remote),
        }
    }

    /// Decrypt the packet `bytes`, whose packet number begins at `number_at`. `None` if authentication fails.
    pub fn open(&mut self, place: Place, bytes: &mut [u8], number_at: usize) -> Option<Clear> {
        let Place { kind, path_id } = place;
        let keys = self.remote(kind)?;
        let (head, rest) = bytes.split_at_mut_checked(number_at)?;
        let (number_field, sampled) = rest.split_at_mut_checked(4)?;
        let sample = sampled.get(..keys.header.sample_len())?;
        keys.header.decrypt_in_place(sample, head.first_mut()?, number_field).ok()?;
        let first = head[0];
        let length = usize::from(first & 3) + 1;
        let truncated = number_field[..length].iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
        let number = packet_number(self.largest[place.largest()], truncated, length as u32);
        let (header, payload) = bytes.split_at_mut(number_at + length);
        let is_short = kind == Kind::OneRtt;
        let phase = is_short && first & 4 != 0;
        let size = if is_short && phase != self.phase {
            self.open_other_phase((path_id, number), header, payload)?
        } else {
            let size = decrypt(&*self.remote(kind)?.packet, (path_id, number), header, payload)?;
            let from = &mut self.phase_from[usize::from(path_id)];
            *from = number.min(*from);
            size
        };
        let largest = &mut self.largest[place.largest()];
        *largest = Some(largest.map_or(number, |largest| largest.max(number)));
        let reserved = if is_short { 0x18 } else { 0x0c };
        let start = number_at + length;
        Some(Clear { number, payload: start..start + size, is_clean: first & reserved == 0 })
    }

    /// Decrypt a packet of the other key phase: the client has updated its keys, or the packet is a late one of the previous phase.
    fn open_other_phase(&mut self, (path_id, number): (u8, u64), header: &[u8], payload: &mut [u8]) -> Option<usize> {
        if number < self.phase_from[usize::from(path_id)] {
            return decrypt(&**self.before.as_ref()?, (path_id, number), header, payload);
        }
        let mut secrets = self.next.clone()?;
        let next = secrets.next_packet_keys();
        let size = decrypt(&*next.remote, (path_id, number), header, payload)?;
        self.turn(secrets, next);
        self.phase_from[usize::from(path_id)] = number;
        Some(size)
    }

    /// The keys at hand have sealed half of what they may (RFC 9001 §6.6): it is time for the next.
    pub fn are_worn(&self) -> bool {
        let keys = self.spaces[Space::Data as usize].as_ref();
        keys.is_some_and(|keys| self.sealed >= keys.local.packet.confidentiality_limit() / 2)
    }

    /// This packet, or one before it, was the first that the keys at hand have sealed on its path.
    pub fn has_sealed(&self, path: usize, number: u64) -> bool {
        number >= self.sealed_from[path]
    }

    /// Seal with the next keys from now on (RFC 9001 §6.1). What the client still sends with those before is opened.
    pub fn update(&mut self) {
        if let Some(mut secrets) = self.next.clone() {
            let next = secrets.next_packet_keys();
            self.turn(secrets, next);
        }
    }

    /// A phase begins, of which nothing has come or left.
    fn turn(&mut self, secrets: Secrets, next: PacketKeySet) {
        let Some(keys) = &mut self.spaces[Space::Data as usize] else { return };
        keys.local.packet = next.local;
        self.before = Some(std::mem::replace(&mut keys.remote.packet, next.remote));
        self.next = Some(secrets);
        self.phase = !self.phase;
        self.phase_from = [u64::MAX; MAX_PATHS];
        (self.sealed, self.sealed_from) = (0, [u64::MAX; MAX_PATHS]);
    }

    /// Seal the packet from `start` to the end of `out`, whose header ends with the number that begins at `number_at`; the tag is
    /// appended. `None`: there are no keys.
    pub fn seal(
        &mut self,
        Place { kind, path_id }: Place,
        out: &mut Vec<u8>,
        start: usize,
        (number, number_at, number_bytes): (u64, usize, usize),
    ) -> Option<()> {
        if kind == Kind::OneRtt {
            let from = &mut self.sealed_from[usize::from(path_id)];
            (self.sealed, *from) = (self.sealed + 1, number.min(*from));
        }
        let keys = &self.spaces[kind.space() as usize].as_ref()?.local;
        let (header, payload) = out[start..].split_at_mut(number_at + number_bytes - start);
        let tag = match path_id {
            0 => keys.packet.encrypt_in_place(number, header, payload),
            path_id => keys.packet.encrypt_in_place_for_path(path_id.into(), number, header, payload),
        };
        let tag = tag.ok()?;
        debug_assert_eq!(tag.as_ref().len(), TAG);
        out.extend(tag.as_ref());
        let (head, rest) = out.split_at_mut(number_at);
        let (field, sampled) = rest.split_at_mut(4);
        let sample = &sampled[..keys.header.sample_len()];
        keys.header.encrypt_in_place(sample, &mut head[start], &mut field[..number_bytes]).ok()
    }
}

/// Bytes of the payload that a packet of this path had.
fn decrypt(key: &dyn PacketKey, (path_id, number): (u8, u64), header: &[u8], payload: &mut [u8]) -> Option<usize> {
    let clear = match path_id {
        0 => key.decrypt_in_place(number, header, payload),
        path_id => key.decrypt_in_place_for_path(path_id.into(), number, header, payload),
    };
    Some(clear.ok()?.len())
}

#[cfg(test)]
mod tests;
