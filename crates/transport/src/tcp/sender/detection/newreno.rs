//! Three duplicate ACKs, then partial ACKs.
//!
//! Reference: RFC 6582. Differences from the reference: none. Tested by `fast_retransmit_newreno.pkt`, `rto_duplicates.pkt`.

use super::{DUP_THRESH, Situation};
use crate::tcp::config::PartialAckTimer;
use crate::tcp::sender::recovery::Phase;
use crate::tcp::sender::scoreboard::Scoreboard;

#[derive(Debug)]
pub(crate) struct NewReno {
    timer: PartialAckTimer,
    /// No fast retransmit before an ACK beyond this (§3.2 `recover`).
    recover: Option<u64>,
    /// A partial ACK of this episode restarted the timer.
    has_partial_ack: bool,
    /// So many duplicates show a loss (Linux `tcp_sock.reordering`).
    enough: u32,
}

/// Linux learns to wait for so many duplicates at most (`tcp_max_reordering`).
const MAX_REORDERING: u32 = 300;

impl NewReno {
    pub fn new(timer: PartialAckTimer) -> NewReno {
        NewReno { timer, recover: None, has_partial_ack: false, enough: DUP_THRESH }
    }

    pub fn detect(&self, board: &mut Scoreboard, at: &Situation) -> u32 {
        enough_duplicates(self.recover, self.enough, board, at)
    }

    pub fn learn_reordering(&mut self, packets: u32) {
        self.enough = packets.min(MAX_REORDERING);
    }

    pub fn on_episode(&mut self, nxt: u64) {
        (self.recover, self.has_partial_ack) = (Some(nxt), false);
    }

    pub fn on_undo(&mut self) {
        self.recover = None;
    }

    /// In the impatient variant only the first partial ACK does (§4).
    pub fn restarts_timer(&mut self) -> bool {
        self.timer == PartialAckTimer::SlowButSteady || !std::mem::replace(&mut self.has_partial_ack, true)
    }
}

/// Enough duplicate ACKs show the head lost, outside of a recovery and above `recover` (§3.2 step 1).
pub(super) fn enough_duplicates(recover: Option<u64>, enough: u32, board: &mut Scoreboard, at: &Situation) -> u32 {
    let is_new_episode = recover.is_none_or(|recover| at.una > recover);
    let is_open = matches!(at.phase, Phase::Open | Phase::Cwr);
    if is_open && at.duplicates >= enough && is_new_episode && !board.is_empty() {
        return board.mark_head_lost();
    }
    0
}
