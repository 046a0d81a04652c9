//! ECN counts: validation of the peer's reports.
//!
//! Reference: RFC 9000 §13.4.2 (validation), appendix A.4 (testing with ten packets); RFC 9002 §7.1 (an increase of CE is a
//! congestion event).
//! Differences from the reference:
//! 1. A path that fails stays without ECN (§13.4.2.2 allows trying again).
//! 2. The ten packets of the test are not followed by a pause: marking continues until an ACK reports counts, as appendix A.4 allows, and
//!    stops
//!    when all of the first ten were lost.
//!
//! Tested here and by `tests/quic_rules.rs`.

use super::packet::EcnCounts;
use crate::segment::Ecn as Codepoint;

/// Packets of the test (appendix A.4).
const TEST_PACKETS: u32 = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Off,
    Testing,
    Capable,
    Failed,
}

/// Result of an ACK's ECN counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Nothing,
    /// CE rose by so much.
    Congestion(u64),
}

#[derive(Debug)]
#[repr(C)]
pub(crate) struct Ecn {
    state: State,
    marking: Codepoint,
    /// Marked packets sent and lost while testing.
    sent: u32,
    lost: u32,
    /// Counts of the ACK before, by space.
    seen: [EcnCounts; 3],
}

impl Ecn {
    pub fn new(marking: Codepoint) -> Ecn {
        let state = if marking == Codepoint::NotEct { State::Off } else { State::Testing };
        Ecn { state, marking, sent: 0, lost: 0, seen: [EcnCounts::default(); 3] }
    }
    /// On another path it is tested anew; what was counted on the one before is known, for counts are of all paths (§13.4.2).
    pub fn on_another_path(&self) -> Ecn {
        Ecn { seen: self.seen, ..Ecn::new(self.marking) }
    }
    pub fn marks(&self) -> bool {
        matches!(self.state, State::Testing | State::Capable)
    }
    /// The packets are those of a scalable sender (RFC 9331).
    pub fn is_scalable(&self) -> bool {
        self.marking == Codepoint::Ect1
    }
    pub fn codepoint(&self) -> Codepoint {
        if self.marks() { self.marking } else { Codepoint::NotEct }
    }
    pub fn is_capable(&self) -> bool {
        self.state == State::Capable
    }
    pub fn on_sent(&mut self) {
        if self.state == State::Testing {
            self.sent += 1;
        }
    }
    pub fn on_lost(&mut self) {
        if self.state == State::Testing {
            self.lost += 1;
            if self.lost >= TEST_PACKETS && self.lost >= self.sent.min(TEST_PACKETS) {
                self.state = State::Failed;
            }
        }
    }

    /// An ACK that raised Largest Acknowledged of the space (others are not looked at, §13.4.2.1) newly acknowledged `newly` packets
    /// that were marked; `sent`: marked packets sent in that space.
    pub fn on_ack(&mut self, space: usize, counts: Option<EcnCounts>, newly: u64, sent: u64) -> Verdict {
        if !self.marks() || (newly == 0 && counts.is_none()) {
            return Verdict::Nothing;
        }
        let before = self.seen[space];
        let Some(counts) = counts else {
            self.state = State::Failed; // no counts at all
            return Verdict::Nothing;
        };
        let grown = |now: u64, before: u64| now.checked_sub(before);
        // The codepoint that we send, and those that we never send.
        let (own, other) = match self.marking {
            Codepoint::Ect1 => ((counts.ect1, before.ect1), (counts.ect0, before.ect0)),
            _ => ((counts.ect0, before.ect0), (counts.ect1, before.ect1)),
        };
        let ce = grown(counts.ce, before.ce);
        let is_right = match (grown(own.0, own.1), grown(other.0, other.1), ce) {
            // Enough were counted, none that we never sent, and never less than before.
            (Some(marked), Some(0), Some(ce)) => marked + ce >= newly && own.0 + counts.ce <= sent,
            _ => false,
        };
        if !is_right {
            self.state = State::Failed;
            return Verdict::Nothing;
        }
        self.seen[space] = counts;
        self.state = State::Capable;
        ce.filter(|&ce| ce > 0).map_or(Verdict::Nothing, Verdict::Congestion)
    }
}

#[cfg(test)]
mod tests;
