//! QUIC packets and frames as the simulator carries them: fields and lengths, no payload and no ciphertext.
//!
//! Reference: RFC 9000 §12 (packets and frames), §17 (headers), §19 (frames); RFC 9001 §5.3 (16 bytes of AEAD tag).
//! Differences from the reference:
//! 1. Transport parameters travel as a record beside the CRYPTO frame that ends the message which holds them (§18; RFC 9001
//!    §8.2); their bytes are part of the messages' sizes in [`Tls`](super::config::Tls).
//! 2. A CRYPTO frame says whether it ends a flight; an implementation reads that from the messages' lengths.
//! 3. A packet carries at most [`FrameList::CAPACITY`] frames besides ACK and PADDING, and an ACK frame at most
//!    [`Ack::CAPACITY`] ranges, so that a packet needs no memory of its own.
//! 4. Connection ids are lengths. The simulator routes by its own addresses.
//!
//! Units: bytes. Sizes are those of the shortest encoding, packet numbers as §17.1 asks. Tested here and by `tests/quic_hostile.rs`.

use super::varint;
use crate::segment::Ecn;

/// Bytes that AEAD adds to each packet (RFC 9001 §5.3).
pub const TAG_BYTES: u32 = 16;
/// APPLICATION_ABANDON_PATH: why a path is abandoned (draft-ietf-quic-multipath-21 §4.2).
pub const ABANDONED: u64 = 0x3e;
pub const UDP_BYTES: u32 = 8;

/// A packet-number space (§12.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Space {
    Initial,
    Handshake,
    /// 0-RTT and 1-RTT packets.
    Data,
}

impl Space {
    /// In the order in which they are coalesced (§12.2).
    pub const ALL: [Space; 3] = [Space::Initial, Space::Handshake, Space::Data];
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Long header, Initial (§17.2.2), without a token.
    #[default]
    Initial,
    /// Long header, 0-RTT (§17.2.3).
    ZeroRtt,
    /// Long header, Handshake (§17.2.4).
    Handshake,
    /// Short header (§17.3).
    OneRtt,
}

impl Kind {
    pub const fn space(self) -> Space {
        match self {
            Kind::Initial => Space::Initial,
            Kind::Handshake => Space::Handshake,
            Kind::ZeroRtt | Kind::OneRtt => Space::Data,
        }
    }

    /// Header and tag. `cid_bytes`: of the destination's and the source's connection id; the Length field takes two bytes, as
    /// implementations reserve them.
    pub const fn overhead(self, cid_bytes: (u32, u32), number_bytes: u32) -> u32 {
        let long = 1 + 4 + 1 + cid_bytes.0 + 1 + cid_bytes.1 + 2;
        let header = match self {
            Kind::Initial => long + 1, // length of an empty token
            Kind::ZeroRtt | Kind::Handshake => long,
            Kind::OneRtt => 1 + cid_bytes.0,
        };
        header + number_bytes + TAG_BYTES
    }
}

/// A frame but ACK and PADDING (§19). Small and `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// §19.2.
    Ping,
    /// §19.4. A code beyond 32 bits is read as the largest of 32, here and in STOP_SENDING.
    ResetStream { id: u64, code: u32, final_size: u64 },
    /// §19.5.
    StopSending { id: u64, code: u32 },
    /// §19.6.
    Crypto { offset: u64, len: u32, is_end: bool },
    /// §19.8.
    Stream { id: u64, offset: u64, len: u32, fin: bool },
    /// §19.9.
    MaxData(u64),
    /// §19.10.
    MaxStreamData { id: u64, max: u64 },
    /// §19.11, for bidirectional streams.
    MaxStreams(u64),
    /// §19.12.
    DataBlocked(u64),
    /// §19.13.
    StreamDataBlocked { id: u64, limit: u64 },
    /// §19.15: with an 8-byte id and the reset token. Of a further path PATH_NEW_CONNECTION_ID (multipath draft §4.4).
    NewConnectionId { path_id: u8, sequence: u64 },
    /// §19.16. Of a further path PATH_RETIRE_CONNECTION_ID (multipath draft §4.5).
    RetireConnectionId { path_id: u8, sequence: u64 },
    /// §19.17.
    PathChallenge(u64),
    /// §19.18.
    PathResponse(u64),
    /// §19.19, without a reason phrase.
    Close { code: u64 },
    /// §19.20.
    HandshakeDone,
    /// PATH_STATUS_BACKUP or PATH_STATUS_AVAILABLE (draft-ietf-quic-multipath-21 §4.3): a type of two bytes, path id, sequence.
    PathStatus {
        path_id: u8,
        sequence: u64,
        /// To be used only if no other works.
        is_backup: bool,
    },
    /// PATH_ABANDON (draft-ietf-quic-multipath-21 §4.2), as the application's wish.
    PathAbandon { path_id: u8 },
}

impl Frame {
    #[inline]
    pub const fn stream_bytes(&self) -> u32 {
        if let Frame::Stream { len, .. } = self { *len } else { 0 }
    }
    /// Bytes. `fills`: the packet ends with it, so a STREAM frame needs no Length (§19.8).
    #[inline]
    pub const fn bytes(&self, fills: bool) -> u32 {
        match *self {
            Frame::Ping | Frame::HandshakeDone => 1,
            Frame::ResetStream { id, code, final_size } => {
                1 + varint::size(id) + varint::size(code as u64) + varint::size(final_size)
            }
            Frame::StopSending { id, code } => 1 + varint::size(id) + varint::size(code as u64),
            Frame::Crypto { offset, len, .. } => 1 + varint::size(offset) + varint::size(len as u64) + len,
            Frame::Stream { id, offset, len, .. } => Self::stream_overhead(id, offset, len, fills) + len,
            Frame::MaxData(max) | Frame::DataBlocked(max) | Frame::MaxStreams(max) => 1 + varint::size(max),
            Frame::MaxStreamData { id, max } => 1 + varint::size(id) + varint::size(max),
            Frame::StreamDataBlocked { id, limit } => 1 + varint::size(id) + varint::size(limit),
            Frame::NewConnectionId { path_id, sequence } => of_path(path_id) + varint::size(sequence) + 1 + 1 + 8 + 16,
            Frame::RetireConnectionId { path_id, sequence } => of_path(path_id) + varint::size(sequence),
            Frame::PathChallenge(_) | Frame::PathResponse(_) => 9,
            Frame::Close { code } => 1 + varint::size(code) + 1 + 1,
            Frame::PathStatus { path_id, sequence, .. } => 2 + varint::size(path_id as u64) + varint::size(sequence),
            Frame::PathAbandon { path_id } => 2 + varint::size(path_id as u64) + 1,
        }
    }

    /// Bytes of a STREAM frame besides its data: the offset is left out where it is zero, the length where the packet ends.
    pub const fn stream_overhead(id: u64, offset: u64, len: u32, fills: bool) -> u32 {
        let offset_bytes = if offset == 0 { 0 } else { varint::size(offset) };
        let length_bytes = if fills { 0 } else { varint::size(len as u64) };
        1 + varint::size(id) + offset_bytes + length_bytes
    }

    /// A packet with such a frame is acknowledged (§1.2).
    pub const fn is_ack_eliciting(&self) -> bool {
        !matches!(self, Frame::Close { .. })
    }

    /// May a packet with nothing but such frames be sent without migrating (§9.1)?
    pub const fn is_probing(&self) -> bool {
        matches!(self, Frame::PathChallenge(_) | Frame::PathResponse(_) | Frame::NewConnectionId { .. })
    }
}

/// Type and path of a frame of connection ids.
const fn of_path(path_id: u8) -> u32 {
    if path_id == 0 { 1 } else { 2 + varint::size(path_id as u64) }
}

/// A short list of frames, inline.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct FrameList {
    len: u8,
    frames: [Frame; FrameList::CAPACITY],
}

impl Default for FrameList {
    fn default() -> FrameList {
        FrameList { frames: [Frame::Ping; FrameList::CAPACITY], len: 0 }
    }
}

impl FrameList {
    /// Most frames of a packet.
    pub const CAPACITY: usize = 6;

    /// Without frames.
    pub fn clear(&mut self) {
        self.len = 0;
    }
    /// Append one; the list must not be full.
    pub fn push(&mut self, frame: Frame) {
        self.frames[usize::from(self.len)] = frame;
        self.len += 1;
    }
    pub fn is_full(&self) -> bool {
        usize::from(self.len) == FrameList::CAPACITY
    }
    /// The frames in order.
    pub fn as_slice(&self) -> &[Frame] {
        &self.frames[..usize::from(self.len)]
    }
    /// There is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// Packets of each codepoint that arrived (§19.3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EcnCounts {
    pub ect0: u64,
    pub ect1: u64,
    pub ce: u64,
}

impl EcnCounts {
    /// One more packet arrived with this codepoint.
    pub fn add(&mut self, ecn: Ecn) {
        match ecn {
            Ecn::NotEct => {}
            Ecn::Ect0 => self.ect0 += 1,
            Ecn::Ect1 => self.ect1 += 1,
            Ecn::Ce => self.ce += 1,
        }
    }
    /// A marked packet arrived.
    pub fn is_any(&self) -> bool {
        *self != EcnCounts::default()
    }
}

/// An ACK frame (§19.3): ranges from the largest down, as distances below it. The fields that every frame uses are in one cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub struct Ack {
    len: u8,
    pub largest: u64,
    /// ACK Delay as encoded: microseconds, shifted by the sender's `ack_delay_exponent`.
    pub delay: u64,
    /// With counts the frame's type is 0x03.
    pub ecn: Option<EcnCounts>,
    below: [(u32, u32); Ack::CAPACITY],
}

impl Ack {
    /// Most ranges of a frame; the oldest are left out (§13.2.3).
    pub const CAPACITY: usize = 32;

    /// Of the ranges `first..end` in falling order; `None` if there is none.
    #[inline]
    pub fn new<'a>(
        ranges: impl Iterator<Item = &'a std::ops::Range<u64>>,
        delay: u64,
        ecn: Option<EcnCounts>,
    ) -> Option<Ack> {
        let mut ack = Ack::default();
        ack.set(ranges, delay, ecn).then_some(ack)
    }

    /// The same, where it stays: only the ranges that there are get written. `false`: there is none.
    #[inline]
    pub fn set<'a>(
        &mut self,
        ranges: impl Iterator<Item = &'a std::ops::Range<u64>>,
        delay: u64,
        ecn: Option<EcnCounts>,
    ) -> bool {
        (self.len, self.delay, self.ecn) = (0, delay, ecn);
        for (range, below) in ranges.zip(&mut self.below) {
            if self.len == 0 {
                self.largest = range.end - 1;
            }
            let Ok(last) = u32::try_from(self.largest - range.start) else { break };
            *below = ((self.largest - (range.end - 1)) as u32, last);
            self.len += 1;
        }
        self.len > 0
    }

    /// Smallest and largest packet number of each range, falling.
    pub fn ranges(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let below = &self.below[..usize::from(self.len)];
        below.iter().map(|&(high, low)| {
            (self.largest.saturating_sub(u64::from(low)), self.largest.saturating_sub(u64::from(high)))
        })
    }

    /// Bytes (§19.3.1): a range is its gap to the one above, less two, and its length, less one.
    pub fn bytes(&self) -> u32 {
        let below = &self.below[..usize::from(self.len)];
        let first = below.first().map_or(0, |first| u64::from(first.1));
        let mut bytes =
            1 + varint::size(self.largest) + varint::size(self.delay) + varint::size(below.len() as u64 - 1);
        bytes += varint::size(first);
        for pair in below.windows(2) {
            let (above, this) = (pair[0], pair[1]);
            bytes +=
                varint::size(u64::from(this.0 - above.1).saturating_sub(2)) + varint::size(u64::from(this.1 - this.0));
        }
        let counts = self.ecn.map_or(0, |e| varint::size(e.ect0) + varint::size(e.ect1) + varint::size(e.ce));
        bytes + counts
    }
}

/// Transport parameters of the handshake (§18.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransportParameters {
    /// `max_idle_timeout` in ms; 0: none.
    pub max_idle_timeout_ms: u64,
    pub initial_max_data: u64,
    /// `initial_max_stream_data_*`, the same for all.
    pub initial_max_stream_data: u64,
    pub initial_max_streams: u64,
    pub ack_delay_exponent: u8,
    /// `max_ack_delay` in ms.
    pub max_ack_delay_ms: u64,
    /// The server takes the 0-RTT data (RFC 9001 §4.6.2).
    pub accepts_early_data: bool,
}

/// One packet. Field order: most packets have one frame and no ACK, and occupy two cache lines.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct Packet {
    pub number: u64,
    /// Rides with the CRYPTO frame that ends the flight which holds them.
    pub parameters: Option<Box<TransportParameters>>,
    /// All of it: header, frames, tag.
    pub bytes: u32,
    pub padding: u32,
    pub kind: Kind,
    /// [`ack`](Self::ack) is in it.
    pub has_ack: bool,
    pub frames: FrameList,
    pub ack: Ack,
}

impl Packet {
    pub fn ack(&self) -> Option<&Ack> {
        self.has_ack.then_some(&self.ack)
    }
    pub fn with_ack(self, ack: Option<Ack>) -> Packet {
        Packet { has_ack: ack.is_some(), ack: ack.unwrap_or_default(), ..self }
    }
    /// Something else than ACK, PADDING and CONNECTION_CLOSE is in it (§1.2).
    pub fn is_ack_eliciting(&self) -> bool {
        self.frames.as_slice().iter().any(Frame::is_ack_eliciting)
    }
    #[inline]
    pub fn stream_bytes(&self) -> u32 {
        self.frames.as_slice().iter().map(Frame::stream_bytes).sum()
    }
}

/// Address of an endpoint: a host and a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Address {
    pub host: u16,
    pub port: u16,
}

/// A UDP datagram with its packets. Field order as in [`Packet`], aligned to a cache line.
#[derive(Clone, Debug, Default)]
#[repr(C, align(64))]
pub struct Datagram {
    /// The sender's address, as the receiver sees it: a NAT on the way may change it.
    pub from: Address,
    pub to: Address,
    /// ECN codepoint of the IP header.
    pub ecn: Ecn,
    /// Which path the destination's connection id belongs to (draft-ietf-quic-multipath-21 §2.1).
    pub path_id: u8,
    /// Packets coalesced with the first (§12.2): only in the handshake.
    pub coalesced: Vec<Packet>,
    pub packet: Packet,
}

impl Datagram {
    /// All packets in order.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        std::iter::once(&self.packet).chain(&self.coalesced)
    }
    /// Which way it goes: the client's hosts are numbered from one by their paths, the server's host is 0.
    pub fn link_path(&self) -> u8 {
        (self.from.host.max(self.to.host) - 1) as u8
    }
    #[inline]
    pub fn payload_bytes(&self) -> u32 {
        self.packet.bytes + self.coalesced.iter().map(|packet| packet.bytes).sum::<u32>()
    }
    #[inline]
    pub fn stream_bytes(&self) -> u32 {
        let first = self.packet.stream_bytes();
        if self.coalesced.is_empty() {
            return first;
        }
        first + self.coalesced.iter().map(Packet::stream_bytes).sum::<u32>()
    }
    /// Bytes on the wire over IPv4.
    pub fn wire_bytes(&self) -> u32 {
        20 + UDP_BYTES + self.payload_bytes()
    }
}

#[cfg(test)]
mod tests;
