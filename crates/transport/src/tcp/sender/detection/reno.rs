//! Three duplicate ACKs; the first new ACK ends the recovery. With Vegas, which looks for further losses itself.
//!
//! Reference: RFC 5681 §3.2; ns-2's `TcpAgent` as Vegas inherits it, and Brakmo and Peterson 1995 for the checks of the head.
//! Differences from RFC 5681:
//! 1. As in ns-2 a fast retransmit sets no `recover` of its own; a timeout does.
//!
//! Tested by `reno_partial_ack.pkt`, `vegas_*.pkt`.

use super::{Situation, newreno::third_duplicate};
use crate::tcp::sender::scoreboard::Scoreboard;

#[derive(Debug, Default)]
pub(crate) struct Reno {
    /// No fast retransmit before an ACK beyond this: SND.NXT at the last timeout.
    recover: Option<u64>,
}

impl Reno {
    pub fn detect(&self, board: &mut Scoreboard, at: &Situation) -> u32 {
        third_duplicate(self.recover, board, at)
    }

    pub fn on_rto(&mut self, nxt: u64) {
        self.recover = Some(nxt);
    }

    pub fn on_undo(&mut self) {
        self.recover = None;
    }
}

/// New ACKs after a retransmission on which the controller looks at the head again (Brakmo and Peterson 1995 §3.1).
const CHECKS: u8 = 2;

/// When the controller is asked whether the head is lost, beside at duplicate ACKs. Only Vegas says yes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HeadChecks {
    left: u8,
}

impl HeadChecks {
    pub fn is_due(self) -> bool {
        self.left > 0
    }
    pub fn on_retransmit(&mut self) {
        self.left = CHECKS;
    }
    pub fn clear(&mut self) {
        self.left = 0;
    }
    /// An ACK of new data without losses: ask now?
    pub fn take(&mut self) -> bool {
        let is_due = self.left > 0;
        self.left -= u8::from(is_due);
        is_due
    }
}
