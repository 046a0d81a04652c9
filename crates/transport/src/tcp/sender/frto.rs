//! Was the timeout spurious? The test by what arrives after it.
//!
//! Reference: RFC 5682 §3.1, §3.2 as Linux 6.18 does it (`tcp_enter_loss`, `tcp_process_loss`), with SACK and without. The card
//! `docs/models/tcp.md` sets each condition beside Linux's.
//! Differences from Linux:
//! 1. New data that pacing holds back is waited for; Linux gives the test up (`tcp_xmit_recovery`).
//!
//! Tested here and by `undo_frto*.pkt`.

/// The test after a timeout.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Frto {
    is_testing: bool,
}

/// What an ACK in the phase after a timeout shows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Evidence {
    /// Data sent before the timeout and never again was delivered (`FLAG_ORIG_SACK_ACKED`).
    pub original_delivered: bool,
    /// SND.UNA moved, but not to the recovery point.
    pub is_partial_advance: bool,
    /// A duplicate ACK without DSACK, or an ACK with news in its SACK blocks.
    pub is_duplicate: bool,
    /// New data has left since the timeout.
    pub has_sent_new: bool,
    /// New data is there, and the peer's window takes it.
    pub can_send_new: bool,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The timeout was spurious: undo it (step 3.b).
    Undo,
    /// Send new data instead of retransmissions on this ACK (step 2.b).
    SendNew,
    /// Repair as ever.
    Repair,
}

impl Frto {
    /// The timer expired (step 1). `is_first`: no recovery was under way; or it expired again without progress.
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
mod tests {
    use super::*;

    const ADVANCE: Evidence = Evidence {
        original_delivered: false,
        is_partial_advance: true,
        is_duplicate: false,
        has_sent_new: false,
        can_send_new: true,
    };

    #[test]
    fn starts_where_no_recovery_was_under_way_or_the_head_timed_out_again() {
        let step = |mut frto: Frto| frto.on_ack(ADVANCE);
        assert_eq!(step(Frto::start(true, true, 1)), Step::SendNew);
        assert_eq!(step(Frto::start(true, false, 2)), Step::SendNew);
        assert_eq!(step(Frto::start(true, false, 1)), Step::Repair);
        assert_eq!(step(Frto::start(false, true, 1)), Step::Repair);
    }

    #[test]
    fn a_duplicate_before_new_data_left_decides_nothing() {
        let mut frto = Frto::start(true, true, 1);
        assert_eq!(frto.on_ack(Evidence { is_duplicate: true, ..Evidence::default() }), Step::Repair);
        assert_eq!(frto.on_ack(ADVANCE), Step::SendNew);
        let probe = Evidence { is_duplicate: true, has_sent_new: true, ..Evidence::default() };
        assert_eq!(frto.on_ack(probe), Step::Repair, "of the new data alone");
        let late = Evidence { original_delivered: true, has_sent_new: true, ..Evidence::default() };
        assert_eq!(frto.on_ack(late), Step::Repair, "it is decided");
    }

    #[test]
    fn without_new_data_the_test_ends() {
        let mut frto = Frto::start(true, true, 1);
        assert_eq!(frto.on_ack(Evidence { can_send_new: false, ..ADVANCE }), Step::Repair);
        assert_eq!(frto.on_ack(ADVANCE), Step::Repair);
    }
}
