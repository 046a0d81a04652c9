//! Three duplicate ACKs; the first new ACK ends the recovery. Also used with Vegas, which detects further losses itself.
//!
//! Reference: RFC 5681 §3.2; ns-2's `TcpAgent` as Vegas inherits it, and Brakmo and Peterson 1995 for the checks of the head.
//! Differences from RFC 5681:
//! 1. As in ns-2 a fast retransmit sets no `recover` of its own; a timeout does.
//!
//! `ns2_vegas` adds what ns-2.35's `VegasTcpAgent` does to the timers (`tcp-vegas.cc`, `TcpAgent::reset_rtx_timer`, `newack`):
//! - each retransmission caused by duplicate ACKs doubles the retransmission timeout, which stays doubled until a segment that was
//!   first sent afterwards is acknowledged;
//! - the RTT of an ACK is that of the last packet it acknowledges, also where packets below that one were sent again, so that the
//!   first ACK after a repaired hole yields an RTT that is too long.
//!
//! Not reproduced: ns-2's agent also checks the head after a timeout, so some retransmissions are sent twice, and it can end a recovery
//! with a window of zero.
//!
//! Tested by `reno_partial_ack.pkt`, `vegas_*.pkt`.

use super::{DUP_THRESH, Situation, newreno::enough_duplicates};
use crate::tcp::sender::scoreboard::Scoreboard;

#[derive(Debug, Default)]
pub(crate) struct Reno {
    /// No fast retransmit before an ACK beyond this: SND.NXT at the last timeout.
    recover: Option<u64>,
    ns2_vegas: Option<Ns2Timers>,
}

/// The retransmission timer of ns-2's Vegas agent.
#[derive(Debug, Default)]
struct Ns2Timers {
    /// An ACK beyond this acknowledges what was first sent after the last retransmission.
    timed_from: u64,
}

impl Reno {
    pub fn of_ns2_vegas() -> Reno {
        Reno { ns2_vegas: Some(Ns2Timers::default()), ..Reno::default() }
    }

    pub fn is_ns2_vegas(&self) -> bool {
        self.ns2_vegas.is_some()
    }

    pub fn backs_off(&mut self, nxt: u64) -> bool {
        let Some(timers) = &mut self.ns2_vegas else { return false };
        timers.timed_from = nxt;
        true
    }

    pub fn may_time(&self, una: u64) -> bool {
        self.ns2_vegas.as_ref().is_none_or(|timers| una > timers.timed_from)
    }

    pub fn detect(&self, board: &mut Scoreboard, at: &Situation) -> u32 {
        enough_duplicates(self.recover, DUP_THRESH, board, at)
    }

    pub fn on_rto(&mut self, nxt: u64) {
        self.recover = Some(nxt);
        self.backs_off(nxt);
    }

    pub fn on_undo(&mut self) {
        self.recover = None;
    }
}

/// New ACKs after a retransmission on which the controller looks at the head again (Brakmo and Peterson 1995 §3.1).
const CHECKS: u8 = 2;

/// When the controller is asked whether the head is lost, in addition to duplicate ACKs. Only Vegas ever answers yes.
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
    /// An ACK of new data without losses arrived. Returns whether to ask now.
    pub fn take(&mut self) -> bool {
        let is_due = self.left > 0;
        self.left -= u8::from(is_due);
        is_due
    }
}
