//! Packet protection: what leaves is sealed, what comes is opened.
//!
//! Reference: RFC 9001 §5 (by `rustls`), §5.4 (header protection), §6 (key updates that the client begins).

use playpath_transport::codec::quic::packet_number;
use playpath_transport::quic::packet::{Kind, Space};
use rustls::Side;
use rustls::crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256;
use rustls::quic::{DirectionalKeys, Keys, PacketKey, Secrets, Version};
use std::ops::Range;

/// Bytes of a tag, and of the sample for the header (RFC 9001 §5.3, §5.4.2).
const TAG: usize = 16;

/// Keys of all spaces.
#[derive(Default)]
pub struct Keyring {
    spaces: [Option<Keys>; 3],
    /// Of the client's 0-RTT packets.
    early: Option<DirectionalKeys>,
    /// For the next key update.
    next: Option<Secrets>,
    phase: bool,
    /// Of the phase before, for packets that were overtaken (RFC 9001 §6.3).
    before: Option<Box<dyn PacketKey>>,
    /// Largest number opened in each space.
    largest: [Option<u64>; 3],
    /// First number of the phase at hand.
    phase_from: u64,
}

/// A packet that was opened.
pub struct Clear {
    /// Its number.
    pub number: u64,
    /// Where its payload lies.
    pub payload: Range<usize>,
    /// Reserved bits are zero, as they must be (RFC 9000 §17.2).
    pub is_clean: bool,
}

impl Keyring {
    /// For a connection whose first packet went to `destination` (RFC 9001 §5.2).
    pub fn new(destination: &[u8]) -> Keyring {
        let suite = TLS13_AES_128_GCM_SHA256.tls13().and_then(rustls::Tls13CipherSuite::quic_suite);
        let initial = suite.map(|suite| suite.keys(destination, Side::Server, Version::V1));
        Keyring { spaces: [initial, None, None], ..Keyring::default() }
    }

    /// TLS has keys for `space`.
    pub fn install(&mut self, space: Space, keys: Keys, next: Option<Secrets>) {
        self.spaces[space as usize] = Some(keys);
        self.next = next.or(self.next.take());
    }

    /// TLS takes 0-RTT packets, until it is done (`None`).
    pub fn install_early(&mut self, keys: Option<DirectionalKeys>) {
        self.early = keys;
    }

    /// The phase bit of packets to be sent.
    pub fn phase(&self) -> bool {
        self.phase
    }

    fn remote(&self, kind: Kind) -> Option<&DirectionalKeys> {
        match kind {
            Kind::ZeroRtt => self.early.as_ref(),
            _ => self.spaces[kind.space() as usize].as_ref().map(|keys| &keys.remote),
        }
    }

    /// Open the packet that `bytes` is, whose number begins at `number_at`. `None`: nobody who has the keys made it.
    pub fn open(&mut self, kind: Kind, bytes: &mut [u8], number_at: usize) -> Option<Clear> {
        let space = kind.space();
        let keys = self.remote(kind)?;
        let (head, rest) = bytes.split_at_mut_checked(number_at)?;
        let (number_field, sampled) = rest.split_at_mut_checked(4)?;
        let sample = sampled.get(..keys.header.sample_len())?;
        keys.header.decrypt_in_place(sample, head.first_mut()?, number_field).ok()?;
        let first = head[0];
        let length = usize::from(first & 3) + 1;
        let truncated = number_field[..length].iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
        let number = packet_number(self.largest[space as usize], truncated, length as u32);
        let (header, payload) = bytes.split_at_mut(number_at + length);
        let is_short = kind == Kind::OneRtt;
        let phase = is_short && first & 4 != 0;
        let size = if is_short && phase != self.phase {
            self.open_other_phase(number, header, payload)?
        } else {
            self.remote(kind)?.packet.decrypt_in_place(number, header, payload).ok()?.len()
        };
        let largest = &mut self.largest[space as usize];
        *largest = Some(largest.map_or(number, |largest| largest.max(number)));
        let reserved = if is_short { 0x18 } else { 0x0c };
        let start = number_at + length;
        Some(Clear { number, payload: start..start + size, is_clean: first & reserved == 0 })
    }

    /// The client uses the next keys, or a packet of the last ones comes late.
    fn open_other_phase(&mut self, number: u64, header: &[u8], payload: &mut [u8]) -> Option<usize> {
        if number < self.phase_from {
            return Some(self.before.as_ref()?.decrypt_in_place(number, header, payload).ok()?.len());
        }
        let mut secrets = self.next.clone()?;
        let next = secrets.next_packet_keys();
        let size = next.remote.decrypt_in_place(number, header, payload).ok()?.len();
        let keys = self.spaces[Space::Data as usize].as_mut()?;
        keys.local.packet = next.local;
        self.before = Some(std::mem::replace(&mut keys.remote.packet, next.remote));
        self.next = Some(secrets);
        self.phase = !self.phase;
        self.phase_from = number;
        Some(size)
    }

    /// Seal the packet from `start` to the end of `out`, whose header ends with the number that begins at `number_at`; the tag is
    /// appended. `None`: there are no keys.
    pub fn seal(
        &self,
        kind: Kind,
        out: &mut Vec<u8>,
        start: usize,
        (number, number_at, number_bytes): (u64, usize, usize),
    ) -> Option<()> {
        let keys = &self.spaces[kind.space() as usize].as_ref()?.local;
        let (header, payload) = out[start..].split_at_mut(number_at + number_bytes - start);
        let tag = keys.packet.encrypt_in_place(number, header, payload).ok()?;
        debug_assert_eq!(tag.as_ref().len(), TAG);
        out.extend(tag.as_ref());
        let (head, rest) = out.split_at_mut(number_at);
        let (field, sampled) = rest.split_at_mut(4);
        let sample = &sampled[..keys.header.sample_len()];
        keys.header.encrypt_in_place(sample, &mut head[start], &mut field[..number_bytes]).ok()
    }
}
