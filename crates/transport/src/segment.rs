//! A TCP segment as the simulator carries it: header fields and payload length, no payload. Small and `Copy`.
//!
//! Reference: RFC 9293 §3.1 (header), RFC 7323 (timestamps, window scale), RFC 2018/2883 (SACK, DSACK), RFC 9768 (AccECN),
//! RFC 8684 (MPTCP).
//! Differences from the reference:
//! 1. `window` is in bytes, already unscaled; the encoder divides by the scale again.
//! 2. Payload bytes are not carried. The owner of real bytes maps stream offsets
//!    ([`Connection::transmit_offset`](crate::Connection::transmit_offset)).
//! 3. The IP header is reduced to its ECN codepoint.
//!
//! Units: bytes. Tested by `tests/codec.rs` (sizes against the encoder) and the packet scripts.

use crate::mptcp::option::MptcpOption;

/// Header flags (RFC 9293 §3.1, RFC 3168, RFC 9768).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(pub u16);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Flags = Flags(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Flags = Flags(0x02);
    pub const RST: Flags = Flags(0x04);
    pub const PSH: Flags = Flags(0x08);
    /// The acknowledgement field is significant.
    pub const ACK: Flags = Flags(0x10);
    pub const ECE: Flags = Flags(0x40);
    /// Congestion Window Reduced.
    pub const CWR: Flags = Flags(0x80);
    pub const AE: Flags = Flags(0x100);

    /// The counter in AE, CWR and ECE (RFC 9768 §3.2.2), 0 to 7.
    pub const fn ace(self) -> u8 {
        (self.0 >> 6) as u8 & 7
    }
    /// `self` with the counter's low three bits.
    pub const fn with_ace(self, counter: u8) -> Flags {
        Flags(self.0 & !(7 << 6) | (counter as u16 & 7) << 6)
    }

    pub const fn contains(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
    pub const fn intersects(self, other: Flags) -> bool {
        self.0 & other.0 != 0
    }
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

/// ECN codepoint of the IP header (RFC 3168 §5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ecn {
    /// Not ECN-capable: congestion is shown by dropping.
    #[default]
    NotEct,
    /// ECN-capable, ECT(1).
    Ect1,
    /// ECN-capable, ECT(0): what a sender of RFC 3168 sets on data.
    Ect0,
    /// Congestion experienced: set by a queue instead of dropping.
    Ce,
}

/// Timestamps option (RFC 7323 §3). Clock: microseconds, modulo 2^32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Timestamps {
    pub value: u32,
    pub echo: u32,
}

/// Up to four SACK blocks (three with timestamps); a DSACK block comes first (RFC 2883).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SackBlocks {
    count: u8,
    blocks: [(u32, u32); 4],
}

impl SackBlocks {
    pub const EMPTY: SackBlocks = SackBlocks { count: 0, blocks: [(0, 0); 4] };

    /// Append the block from `left` up to, not including, `right`. Returns `false`, unchanged, when four are held.
    pub fn push(&mut self, left: u32, right: u32) -> bool {
        let Some(slot) = self.blocks.get_mut(self.count as usize) else { return false };
        *slot = (left, right);
        self.count += 1;
        true
    }
    pub fn pop(&mut self) {
        self.count = self.count.saturating_sub(1);
        self.blocks[usize::from(self.count)] = (0, 0);
    }
    /// The blocks: (first sequence number, the one after the last).
    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.count.min(4))]
    }
    pub const fn len(&self) -> usize {
        self.count as usize
    }
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// The accurate-ECN option (RFC 9768 §3.2.3): how many payload bytes arrived under each codepoint, 24 bits of each counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AccEcn {
    /// ECT(1), CE, ECT(0) (AccECN1) in place of ECT(0), CE, ECT(1) (AccECN0).
    is_reversed: bool,
    /// How many counters there are: the first of that order, at most three.
    count: u8,
    /// Low bytes of the counters in the order of the option; 24 bits each, so that a segment stays small.
    counters: [[u8; 3]; 3],
}

impl AccEcn {
    /// Kinds of the two orders (RFC 9768 §7).
    pub const KINDS: [u8; 2] = [172, 174];

    /// The first `count` counters of (ECT(0), CE, ECT(1)), or of the reverse order.
    pub fn new(counters: [u32; 3], is_reversed: bool, count: u8) -> AccEcn {
        let low = |counter: u32| [(counter >> 16) as u8, (counter >> 8) as u8, counter as u8];
        let mut option = AccEcn { is_reversed, count: count.min(3), counters: [[0; 3]; 3] };
        for i in 0..usize::from(option.count) {
            option.counters[i] = low(counters[if is_reversed { 2 - i } else { i }]);
        }
        option
    }

    /// Of (ECT(0), CE, ECT(1)) those that are there.
    pub fn counters(&self) -> [Option<u32>; 3] {
        std::array::from_fn(|i| {
            let at = if self.is_reversed { 2 - i } else { i };
            let [high, middle, low] = self.counters[at].map(u32::from);
            (at < usize::from(self.count)).then_some(high << 16 | middle << 8 | low)
        })
    }

    /// Kind and body as they are sent.
    pub fn encoded(&self) -> (u8, &[[u8; 3]]) {
        (AccEcn::KINDS[usize::from(self.is_reversed)], &self.counters[..usize::from(self.count)])
    }

    /// From the body of an option; whole counters count, the rest is padding (RFC 9768 §3.2.3).
    pub fn decoded(is_reversed: bool, body: &[u8]) -> AccEcn {
        let mut option = AccEcn { is_reversed, count: 0, counters: [[0; 3]; 3] };
        for (counter, &bytes) in option.counters.iter_mut().zip(body.as_chunks().0) {
            *counter = bytes;
            option.count += 1;
        }
        option
    }

    /// Kind, length and counters.
    pub const fn encoded_bytes(&self) -> u32 {
        2 + 3 * self.count as u32
    }
}

/// Options that only SYN segments carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SynOptions {
    /// Maximum segment size; zero if absent.
    pub mss: u16,
    /// Window scale shift (RFC 7323 §2).
    pub window_scale: Option<u8>,
    /// SACK permitted (RFC 2018 §2).
    pub sack_permitted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// Sequence number of the first payload byte (or of SYN or FIN).
    pub seq: u32,
    pub ack: u32,
    pub payload_len: u32,
    /// Receive window in bytes, unscaled.
    pub window: u32,
    pub flags: Flags,
    pub ecn: Ecn,
    /// Header bytes by the sender's profile; zero: computed from the options.
    pub fixed_header_bytes: u8,
    pub syn_options: SynOptions,
    pub timestamps: Option<Timestamps>,
    pub sack: SackBlocks,
    /// Bytes under each ECN codepoint.
    pub accecn: Option<AccEcn>,
    pub mptcp: MptcpOption,
}

/// IPv4 header without options plus TCP header without options.
const BASE_HEADER_BYTES: u32 = 40;

impl Default for Segment {
    fn default() -> Segment {
        Segment::EMPTY
    }
}

impl Segment {
    /// Zeros, and no option. A constant, so that a copy of it is no copy of what has just been written.
    pub const EMPTY: Segment = Segment {
        seq: 0,
        ack: 0,
        payload_len: 0,
        window: 0,
        flags: Flags(0),
        ecn: Ecn::NotEct,
        fixed_header_bytes: 0,
        syn_options: SynOptions { mss: 0, window_scale: None, sack_permitted: false },
        timestamps: None,
        sack: SackBlocks::EMPTY,
        accecn: None,
        mptcp: MptcpOption::None,
    };

    /// IPv4 and TCP header with options padded to four bytes, or the profile's fixed size.
    #[inline]
    pub fn header_bytes(&self) -> u32 {
        if self.fixed_header_bytes != 0 {
            return u32::from(self.fixed_header_bytes);
        }
        BASE_HEADER_BYTES + self.option_bytes().next_multiple_of(4)
    }

    /// Bytes of the TCP options before padding; each as Linux lays it out (timestamps and SACK with two NOPs).
    #[inline]
    pub fn option_bytes(&self) -> u32 {
        let mut bytes = if self.timestamps.is_some() { 12 } else { 0 };
        if !self.sack.is_empty() {
            bytes += 4 + 8 * self.sack.len() as u32;
        }
        if self.flags.contains(Flags::SYN) {
            bytes += if self.syn_options.mss != 0 { 4 } else { 0 };
            bytes += if self.syn_options.window_scale.is_some() { 4 } else { 0 };
            // Beside timestamps the two bytes of SACK-permitted take the place of two NOPs.
            bytes += if self.syn_options.sack_permitted && self.timestamps.is_none() { 4 } else { 0 };
        }
        if let Some(accecn) = &self.accecn {
            bytes += accecn.encoded_bytes();
        }
        if !matches!(self.mptcp, MptcpOption::None) {
            bytes += self.mptcp.encoded_bytes();
        }
        bytes
    }

    /// Bytes on the wire: headers and payload.
    #[inline]
    pub fn wire_bytes(&self) -> u32 {
        self.header_bytes() + self.payload_len
    }

    /// Sequence numbers used: payload, SYN and FIN.
    pub fn sequence_len(&self) -> u32 {
        let extra = u32::from(self.flags.contains(Flags::SYN)) + u32::from(self.flags.contains(Flags::FIN));
        self.payload_len + extra
    }
}
