//! F-RTO: detection of spurious timeouts by the ACKs that follow.
//!
//! Reference: RFC 5682 §3.1, §3.2 as Linux 6.18 does it (`tcp_enter_loss`, `tcp_process_loss`), with SACK and without. The card
//! `docs/models/tcp.md` compares each condition with Linux's.
//! Differences from Linux:
//! 1. The test waits for new data that pacing holds back; Linux ends the test (`tcp_xmit_recovery`).
//!
//! Tested here and by `undo_frto*.pkt`.

/// The test after a timeout.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Frto {
    is_testing: bool,
}

/// Result of an ACK in the phase after a timeout.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Evidence {
    /// Data that was sent before the timeout and not retransmitted was delivered (`FLAG_ORIG_SACK_ACKED`).
    pub original_delivered: bool,
    /// SND.UNA moved, but not to the recovery point.
    pub is_partial_advance: bool,
    /// A duplicate ACK without DSACK, or an ACK whose SACK blocks report something new.
    pub is_duplicate: bool,
    /// New data has been sent since the timeout.
    pub has_sent_new: bool,
    /// There is new data, and the peer's window has room for it.
    pub can_send_new: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The timeout was spurious: undo it (step 3.b).
    Undo,
    /// Send new data instead of retransmissions on this ACK (step 2.b).
    SendNew,
    Repair,
}

impl Frto {
    /// The timer expired (step 1). `is_first`: no recovery was under way. `consecutive`: expiries without progress, this one included.
    pub fn start(is_enabled: bool, is_first: bool, consecutive: u32) -> Frto {
        Frto { is_testing: is_enabled && (is_first || consecutive > 1) }
    }

    /// An ACK arrived after the timeout.
    pub fn on_ack(&mut self, seen: Evidence) -> Step {
        if !self.is_testing {
            return Step::Repair;
        }
        if seen.original_delivered {
            self.is_testing = false;
            return Step::Undo;
        }
        if seen.has_sent_new {
            self.is_testing = !seen.is_duplicate; // step 3.a: the loss was real
        } else if seen.is_partial_advance {
            if seen.can_send_new {
                return Step::SendNew;
            }
            self.is_testing = false;
        }
        Step::Repair
    }
}

#[cfg(test)]
mod tests;
