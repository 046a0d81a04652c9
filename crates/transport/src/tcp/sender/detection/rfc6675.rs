//! The SACK scoreboard with DupThresh 3.
//!
//! Reference: RFC 6675 §4 (IsLost, NextSeg), §5.
//! Differences from the reference:
//! 1. The rescue retransmission (NextSeg rule 4) is not spent on a segment whose retransmission is in flight.
//!
//! Tested by `sack_recovery_rfc6675.pkt`.

use super::{DUP_THRESH, Situation};
use crate::tcp::sender::recovery::Phase;
use crate::tcp::sender::scoreboard::{RETRANS, SACKED, Scoreboard};

/// The rescue retransmission considers this many packets from the end: it is for a lost tail.
const RESCUE_SEARCH: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct Rfc6675 {
    /// No second rescue before this offset is acknowledged.
    rescue_end: Option<u64>,
}

impl Rfc6675 {
    pub fn detect(&self, board: &mut Scoreboard, at: &Situation) -> u32 {
        let mut lost = board.mark_originals_lost_below(lost_below(board, at.mss));
        // §5 step 2: the third duplicate ACK marks the head even if few bytes were SACKed.
        if at.phase == Phase::Open && at.duplicates >= DUP_THRESH && board.lost_out() == 0 {
            lost += board.mark_head_lost();
        }
        lost
    }

    pub fn on_episode(&mut self) {
        self.rescue_end = None;
    }

    /// NextSeg rules 3 and 4: holes not judged lost, then one rescue retransmission.
    pub fn last_resort(&mut self, board: &Scoreboard, una: u64, nxt: u64) -> Option<u64> {
        if let Some(hole) = board.next_hole() {
            return Some(hole);
        }
        if self.rescue_end.is_some_and(|end| una <= end) {
            return None;
        }
        let mut last = (board.first()..board.end()).rev().take(RESCUE_SEARCH);
        // A segment that was just retransmitted needs no rescue.
        let unsacked = last.find(|&i| board.get(i).is_some_and(|p| !p.any(SACKED | RETRANS)))?;
        self.rescue_end = Some(nxt);
        Some(unsacked)
    }
}

/// IsLost: absolute index below which DupThresh SACKed ranges, or more than (DupThresh − 1)·MSS SACKed bytes, lie above every
/// packet.
fn lost_below(board: &Scoreboard, mss: u32) -> u64 {
    let (mut bytes, mut ranges, mut in_range) = (0, 0, false);
    let mut index = board.sacked_end();
    while index > board.first() {
        let Some(packet) = board.get(index - 1) else { break };
        if packet.is(SACKED) {
            bytes += packet.len;
            ranges += u32::from(!in_range);
            in_range = true;
            if ranges >= DUP_THRESH || bytes > (DUP_THRESH - 1) * mss {
                return index - 1;
            }
        } else {
            in_range = false;
        }
        index -= 1;
    }
    board.first()
}
