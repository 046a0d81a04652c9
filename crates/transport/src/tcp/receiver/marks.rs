//! The receiver's counters of ECN marks, and their feedback: accurate ECN.
//!
//! Reference: RFC 9768 §3.2.1 (counters and where they begin), §3.2.2.5.1 (ACKs that marks trigger),
//! §3.2.3.2.1 and .2 (the option in the handshake), §3.2.3.3 (the recommended simple scheme, which options take precedence).
//! Differences from the reference:
//! 1. A segment with payload carries the option only if it has room for it next to the payload.
//! 2. Pure ACKs are Not-ECT, so they cannot be marked and trigger an ACK of an ACK.
//!
//! Units: packets, payload bytes. Tested by `accecn_*.pkt`.

use crate::segment::{AccEcn, Ecn, Segment};

/// RFC 9768 §3.2.1: initial value of the packet counter; it is not zero, so that a zeroed field is detected.
pub(crate) const FIRST_PACKETS: u8 = 5;
/// Initial byte counters of (ECT(0), CE, ECT(1)) (RFC 9768 §3.2.1); not zero where the other end tests for zeroing.
pub(crate) const FIRST_BYTES: [u32; 3] = [1, 0, 1];
/// CE marks since the last ACK that trigger an ACK (RFC 9768 §3.2.2.5.1: 2 while data is unacknowledged).
const MARKS_AN_ACK: u8 = 2;
/// Bytes of options that a TCP header has room for.
const MAX_OPTION_BYTES: u32 = 40;

#[derive(Debug)]
pub(crate) struct Marks {
    /// r.cep: packets that arrived marked.
    packets: u8,
    /// r.e0b, r.ceb, r.e1b.
    bytes: [u32; 3],
    /// Counters that have changed since the last option, and ever: a bit each.
    changed: u8,
    ever: u8,
    was_ce: bool,
    /// CE marks since the last ACK.
    unacked: u8,
    /// Number of segments still to send that carry the whole option in any case: a client's last ACK of the handshake and its first data.
    whole: u8,
    /// No option is sent to a server that has not sent one yet (as Linux does; RFC 9768 §3.2.3.2.3 allows either).
    is_quiet: bool,
    /// Start of the last segment that arrived twice, if its ACK had the option; and whether it arrived a third time: then something on the
    /// path drops ACKs because of the option, and it is no longer sent (RFC 9768 §3.2.3.2.2).
    acked_twice: Option<u32>,
    is_dropped: bool,
}

impl Marks {
    /// `is_client`: this end tests whether options arrive.
    pub fn new(is_client: bool) -> Marks {
        Marks {
            packets: FIRST_PACKETS,
            bytes: FIRST_BYTES,
            changed: 0,
            ever: 0,
            was_ce: false,
            unacked: 0,
            whole: if is_client { 2 } else { 0 },
            is_quiet: is_client,
            acked_twice: None,
            is_dropped: false,
        }
    }

    /// The option of a SYN-ACK: all counters.
    pub fn whole() -> AccEcn {
        AccEcn::new(FIRST_BYTES, false, 3)
    }

    /// A segment arrived. `true`: its mark requires an ACK at once.
    pub fn note(&mut self, segment: &Segment) -> bool {
        self.is_quiet &= segment.accecn.is_none();
        let is_ce = segment.ecn == Ecn::Ce;
        let was_ce = std::mem::replace(&mut self.was_ce, is_ce);
        if is_ce {
            self.packets = self.packets.wrapping_add(1);
            self.unacked = self.unacked.saturating_add(1);
        }
        let at = match segment.ecn {
            Ecn::Ect0 => 0,
            Ecn::Ce => 1,
            Ecn::Ect1 => 2,
            Ecn::NotEct => return false,
        };
        if segment.payload_len == 0 {
            return false;
        }
        self.bytes[at] = self.bytes[at].wrapping_add(segment.payload_len);
        self.changed |= 1 << at;
        self.ever |= 1 << at;
        is_ce && (!was_ce || self.unacked >= MARKS_AN_ACK)
    }

    /// The next ACK should have room for the option next to two SACK blocks (RFC 9768 §3.2.3.3).
    pub fn has_changes(&self) -> bool {
        self.changed != 0 && !self.is_quiet && !self.is_dropped
    }

    /// Write the counter to an outgoing segment, and the option if a counter has changed and there is room. `mss`: maximum of payload and
    /// option bytes.
    pub fn stamp_counters(&mut self, segment: &mut Segment, mss: u32) {
        segment.flags = segment.flags.with_ace(self.packets);
        self.unacked = 0;
        let blocks = segment.sack.as_slice();
        let twice =
            blocks.first().filter(|(_, end)| end.wrapping_sub(segment.ack) as i32 <= 0).map(|(start, _)| *start);
        self.is_dropped |= twice.is_some() && twice == self.acked_twice;
        if (self.changed == 0 && self.whole == 0) || self.is_quiet || self.is_dropped {
            return;
        }
        let payload_room = if segment.payload_len > 0 { mss.saturating_sub(segment.payload_len) } else { u32::MAX };
        let room = MAX_OPTION_BYTES.saturating_sub(segment.option_bytes()).min(payload_room & !3);
        if let Some(option) = self.fitting(room) {
            segment.accecn = Some(option);
            self.changed = 0;
            self.acked_twice = twice.or(self.acked_twice);
        }
        self.whole = self.whole.saturating_sub(1);
    }

    /// Every counter that ever changed; if there is no room for them, those that changed since the last option; `None` if there is no room
    /// for these either.
    fn fitting(&self, room: u32) -> Option<AccEcn> {
        // ECT(1) first if ECT(0) never arrived.
        let is_reversed = self.ever & 0b101 == 0b100;
        let reaches = |bits: u8| {
            let bits = if is_reversed { (bits & 1) << 2 | bits & 2 | bits >> 2 } else { bits };
            8 - bits.leading_zeros() as u8
        };
        let wanted = if self.whole > 0 { 3 } else { reaches(self.ever) };
        let counters = wanted.min((room.saturating_sub(2) / 3) as u8);
        (room >= 2 && counters >= reaches(self.changed)).then(|| AccEcn::new(self.bytes, is_reversed, counters))
    }
}
