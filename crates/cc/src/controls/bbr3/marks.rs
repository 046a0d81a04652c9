//! The effect of CE marks on the model; the draft leaves it open (§3.7), so the rules are those of Google's Linux code (`tcp_bbr.c`,
//! branch v3), cited by its functions.

use super::Bbr3;
use crate::parts::marks::MarkedShare;
use crate::{Ack, View};

/// Reported marks (`ecn_alpha`, `ecn_in_round`, `startup_ecn_rounds`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    shares: MarkedShare,
    last_round: f64,
    pub is_in_round: bool,
    startup_rounds: u32,
}

impl Marks {
    pub(super) fn new() -> Marks {
        // bbr_ecn_alpha_init: 1, bbr_ecn_alpha_gain: 1/16.
        Marks { shares: MarkedShare::new(1.0, 1.0 / 16.0), last_round: 0.0, is_in_round: false, startup_rounds: 0 }
    }

    /// A peer that only echoes marks says so of all that the ACK delivers, as Linux counts `delivered_ce`.
    pub(super) fn take(&mut self, ack: &Ack) {
        let is_echo_alone = ack.ecn_echo && ack.ce_marked == 0;
        let ce_marked = if is_echo_alone { ack.delivered } else { ack.ce_marked };
        self.shares.take(&Ack { ce_marked, ..*ack });
        self.is_in_round |= ack.ecn_echo;
    }
}

impl Bbr3 {
    const STARTUP_FULL_ECN_COUNT: u32 = 2;

    /// `bbr_update_ecn_alpha`.
    pub(super) fn end_round_of_marks(&mut self) {
        if self.round_start {
            self.marks.last_round = self.marks.shares.end_round();
            self.marks.startup_rounds = if self.is_marked_too_often() { self.marks.startup_rounds + 1 } else { 0 };
        }
    }

    /// `bbr_check_ecn_too_high_in_startup`: two rounds on end with half of their packets marked end it.
    pub(super) fn check_startup_high_ecn(&mut self) {
        if !self.full_bw_reached && self.marks.startup_rounds >= Self::STARTUP_FULL_ECN_COUNT {
            self.end_startup_at_queue();
        }
    }

    /// `bbr_is_inflight_too_high`, of the round trip that ended last.
    fn is_marked_too_often(&self) -> bool {
        self.marks.last_round >= self.settings.ecn_thresh && self.marks.last_round > 0.0
    }

    /// `bbr_adapt_upper_bounds`: a probe whose round trip was marked too often is over.
    pub(super) fn check_probe_high_ecn(&mut self, view: &View) -> bool {
        let is_high = self.round_start && self.probing.is_bw_probe_sample && self.is_marked_too_often();
        if is_high {
            self.handle_inflight_too_high(view, self.sample.tx_in_flight, self.sample.is_app_limited);
        }
        is_high
    }

    /// `bbr_ecn_lower_bounds`: the volume, not the rate.
    pub(super) fn lower_short_term_volume(&mut self) {
        if self.inflight_shortterm.is_infinite() {
            self.inflight_shortterm = self.cwnd;
        }
        self.inflight_shortterm *= 1.0 - self.marks.shares.alpha * self.settings.ecn_factor;
    }
}
