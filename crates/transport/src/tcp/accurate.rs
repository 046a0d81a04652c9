//! Accurate ECN in the handshake: with which ECN field the other end's SYN arrived, and what its answer reports of ours.
//!
//! Reference: RFC 9768 §3.1 (offer, answer, forward compatibility, repeated SYNs), §3.2.2.1 (the ACK of a SYN-ACK), §3.2.2.3 and
//! §3.2.2.4 (mangling). Our SYNs leave as Not-ECT.
//!
//! Tested by `accecn_*.pkt`.

use super::Connection;
use super::handshake::State;
use crate::segment::{Ecn, Flags, Segment};

/// Value of the counter's field in a SYN-ACK, and in its ACK: how the SYN, or the SYN-ACK, arrived (RFC 9768, tables 2 and 3).
const fn reflected(arrived: Ecn) -> u8 {
    match arrived {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    }
}

/// The answer reports that a SYN of ours, which was sent as Not-ECT, arrived with another ECN field.
fn reports_mangled(answer: u8) -> bool {
    matches!(answer, 0b011 | 0b100 | 0b110)
}

impl Connection {
    /// Flags of the SYN or SYN-ACK if both ends may count marks (RFC 9768 §3.1.1, table 2). The third attempt is sent without them:
    /// something on the path may drop packets because of them (§3.1.4.1, §3.2.3.2.2).
    pub(super) fn accurate_syn_flags(&self) -> Flags {
        let (is_answer, is_third) = (self.state == State::SynReceived, self.opening.retries() > 1);
        let arrived = self.opening.peer_syn_arrived.unwrap_or_default();
        match (is_answer, is_third) {
            (true, true) => Flags::SYN.with(Flags::ACK),
            (true, false) => Flags::SYN.with(Flags::ACK).with_ace(reflected(arrived)),
            (false, true) => Flags::SYN,
            (false, false) => Flags::SYN.with_ace(0b111),
        }
    }

    /// Whether a SYN offers to count marks: every combination of the flags except none and that of classic ECN does (§3.1.3).
    pub(super) fn take_offer(&mut self, segment: &Segment) {
        let offer = segment.flags.ace();
        let is_classic = segment.flags.contains(Flags::ECE.with(Flags::CWR));
        let counts_marks = self.sender.features().counts_marks && !matches!(offer, 0 | 0b011);
        self.opening.peer_syn_arrived = Some(segment.ecn);
        self.limit_ecn(is_classic || counts_marks, counts_marks);
    }

    /// A repeated SYN. If it lacks the offer, the connection counts marks, but sends nothing as ECT (§3.1.5).
    pub(super) fn take_repeated_offer(&mut self, segment: &Segment) {
        if self.sender.features().counts_marks && segment.flags.ace() == 0 {
            self.sender.send_without_ect();
        }
    }

    /// A SYN-ACK (table 2): 111 is the SYN's flags sent back by a broken peer, 101 stands for later versions (§3.1.3).
    pub(super) fn take_answer(&mut self, segment: &Segment) {
        let answer = segment.flags.ace();
        let is_classic = answer == 0b001 || (answer == 0b101 && !self.sender.features().counts_marks);
        let counts_marks = self.sender.features().counts_marks && !matches!(answer, 0 | 0b001 | 0b111);
        self.limit_ecn(is_classic || counts_marks, counts_marks);
        self.sender.check_first_accecn(segment.accecn);
        if counts_marks && reports_mangled(answer) {
            self.sender.send_without_ect();
        }
        self.reflect_answer(segment);
    }

    /// A SYN-ACK, perhaps one that is repeated: the ACK of it says how it arrived (§3.2.2.1).
    pub(super) fn reflect_answer(&mut self, segment: &Segment) {
        let is_answer = segment.flags.contains(Flags::SYN.with(Flags::ACK)) && self.receiver.is_peers_syn(segment);
        if self.sender.features().counts_marks && is_answer {
            self.opening.peer_syn_arrived = Some(segment.ecn);
        }
    }

    /// A segment with the counter of marks is sent. A client's first ACK reports how the SYN-ACK arrived instead.
    pub(super) fn reflect_in(&mut self, out: &mut Segment) {
        if let Some(arrived) = self.opening.peer_syn_arrived.take()
            && !self.opening.has_sent_synack()
            && out.payload_len == 0
            && !out.flags.contains(Flags::FIN)
        {
            out.flags = out.flags.with_ace(reflected(arrived));
        }
    }

    /// The other end's first segment after its SYN. A counter of zero, which is never the initial value, was cleared on the path
    /// (§3.2.2.4); a client's ACK reports how our SYN-ACK arrived, unless it has data or SACK blocks (§3.2.2.1, §3.2.2.3).
    #[inline]
    pub(super) fn check_first_ace(&mut self, segment: &Segment) {
        if self.sender.features().counts_marks && self.opening.is_first_ace() {
            self.judge_first_ace(segment);
        }
    }

    #[cold]
    fn judge_first_ace(&mut self, segment: &Segment) {
        let is_third = self.opening.has_sent_synack() && segment.payload_len == 0 && segment.sack.is_empty();
        let answer = segment.flags.ace();
        let is_zeroed = answer == 0 && (is_third || !self.opening.has_sent_synack());
        if is_zeroed || (is_third && reports_mangled(answer)) {
            self.sender.send_without_ect();
        }
        // For a client the SYN-ACK's option was the first one.
        if self.opening.has_sent_synack() {
            self.sender.check_first_accecn(segment.accecn);
        }
    }
}
