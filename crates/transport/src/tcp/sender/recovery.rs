//! Loss recovery: the states, what enters and leaves them, and the undo of spurious entries.
//!
//! Reference: RFC 5681 §3.2, RFC 6582 (NewReno), RFC 6675 (SACK), RFC 8985 (RACK-TLP), RFC 9937 (PRR), RFC 6298 §5 (RTO),
//! RFC 5682 (F-RTO), RFC 3168 §6.1.2 (ECN), RFC 4015 (undo).
//! Differences from the references:
//! 1. States as in Linux: open, cwr (ECN), recovery, loss (after an RTO). Loss ends when everything sent before the RTO is
//!    acknowledged.
//! 2. An ECN reduction under `Recovery::Prr` is spread over the round, as in Linux; otherwise it is immediate.
//! 3. A loss that a tail loss probe repaired cuts the window at once, without a recovery phase (as Linux).
//! 4. NewReno leaves recovery with cwnd = ssthresh (RFC 6582 step 3, option 2).
//! 5. Under `LossDetection::Reno` the controller is asked about the head at every duplicate ACK and at two new ACKs after a
//!    retransmission, in recovery too: that is how ns-2's Vegas agent, which knows no partial ACK, finds the next loss.
//!
//! Tested by packet scripts.

use crate::tcp::config::{LossDetection, PartialAckTimer};
use crate::tcp::sender::ack::AckContext;
use crate::tcp::sender::frto::{Evidence, Frto, Step};
use crate::tcp::sender::prr::Prr;
use crate::tcp::sender::scoreboard::{EVER_RETRANS, SACKED};
use crate::tcp::sender::validation::Validator;
use crate::tcp::{Connection, Event};
use playpath_cc::{
    CongestionEvent, CongestionSignal, DupAck, RecoveryExit, RecoveryWindow, Rto, Sibling, Undo, WindowChange,
};
use playpath_units::Time;

/// State of the sender, with Linux's names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    #[default]
    Open,
    /// Reduced for ECN-Echo, until the data sent before is acknowledged.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

impl Phase {
    pub fn name(self) -> &'static str {
        match self {
            Phase::Open => "open",
            Phase::Cwr => "cwr",
            Phase::Recovery => "recovery",
            Phase::Loss => "loss",
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct RecoveryState {
    pub phase: Phase,
    /// Recovery point: SND.NXT when the phase began.
    pub point: u64,
    pub prr: Prr,
    /// Window under NewReno's inflation.
    pub inflated: f64,
    /// Without SACK: packets that duplicate ACKs say have arrived.
    pub reno_sacked: u32,
    pub dup_acks: u32,
    /// Retransmissions of the episode.
    pub retransmitted: u32,
    /// The next retransmission leaves whatever the window says (fast retransmit).
    pub force: bool,
    /// RFC 6675 rescue retransmission: not again before this offset is acknowledged.
    pub rescue_end: Option<u64>,
    pub frto: Frto,
    /// F-RTO step 2b: this event may only send new data.
    pub new_data_only: bool,
    /// SND.NXT after the outstanding tail loss probe.
    pub probe_end: Option<u64>,
    pub probe_is_retransmission: bool,
    /// New ACKs on which the controller checks the head again (Vegas).
    pub checks_left: u8,
    /// RTOs without progress.
    pub consecutive_rtos: u32,
    /// NewReno: no fast retransmit before an ACK beyond this (RFC 6582 §3.2 `recover`).
    pub recover: Option<u64>,
    /// A partial ACK of this episode restarted the timer.
    has_partial_ack: bool,
    pub bytes_between_losses: u64,
    pub acked_at_loss: u64,
}

impl Connection {
    /// React to what an ACK told. Returns `true` if the ACK ended a recovery.
    pub(crate) fn react_to_ack(&mut self, ctx: &AckContext, siblings: &[Sibling]) -> bool {
        let is_over = self.recovery.phase != Phase::Open && self.una >= self.recovery.point && ctx.is_advance;
        if self.undo_if_spurious(ctx, siblings) {
            return true;
        }
        if self.recovery.phase == Phase::Loss && self.check_frto(ctx, siblings) {
            return true;
        }
        match self.recovery.phase {
            Phase::Open => self.watch_for_loss(ctx, siblings),
            Phase::Cwr => {
                if is_over {
                    self.recovery.phase = Phase::Open;
                }
                self.watch_for_loss(ctx, siblings);
            }
            Phase::Recovery if ctx.is_advance && self.features.detection == LossDetection::Reno => {
                self.exit_recovery(ctx.now, siblings);
                self.watch_for_loss(ctx, siblings);
                return true;
            }
            Phase::Recovery | Phase::Loss if is_over => self.exit_recovery(ctx.now, siblings),
            Phase::Recovery => self.continue_recovery(ctx, siblings),
            Phase::Loss => {
                self.detect_losses(ctx);
            }
        }
        is_over
    }

    /// ECN-Echo arrived: one reduction per round (RFC 3168 §6.1.2).
    pub(crate) fn react_to_ecn(&mut self, ctx: &AckContext, siblings: &[Sibling]) {
        if self.recovery.phase != Phase::Open {
            return;
        }
        self.stats.ecn_reductions += 1;
        self.begin_episode(ctx, CongestionSignal::Ecn, siblings);
        self.recovery.phase = Phase::Cwr;
        self.undo.clear();
    }

    /// The outstanding tail loss probe may have been answered (RFC 8985 §7.4).
    pub(crate) fn check_probe(&mut self, ctx: &AckContext, siblings: &[Sibling]) {
        let Some(end) = self.recovery.probe_end else { return };
        if self.una < end {
            return;
        }
        if !self.recovery.probe_is_retransmission || ctx.has_dsack {
            self.recovery.probe_end = None;
        } else if self.una > end {
            // The original was lost and the probe repaired it: congestion all the same.
            self.recovery.probe_end = None;
            if self.recovery.phase == Phase::Open {
                self.begin_episode(ctx, CongestionSignal::Loss, siblings);
                self.undo.clear();
            }
        } else if ctx.is_duplicate {
            self.recovery.probe_end = None; // both copies arrived
        }
    }

    /// The reordering timer expired.
    pub(crate) fn expire_reordering(&mut self, now: Time, siblings: &[Sibling]) {
        let ctx = AckContext::at(now);
        let lost = self.detect_losses(&ctx);
        if lost > 0 && matches!(self.recovery.phase, Phase::Open | Phase::Cwr) {
            self.enter_recovery(&ctx, CongestionSignal::Loss, siblings);
        }
        if lost > 0 && self.recovery.phase == Phase::Recovery {
            // A retransmission must be able to leave although no ACK earned it.
            self.recovery.prr.on_ack(0, self.in_flight(), false);
        }
    }

    /// The retransmission timer expired (RFC 6298 §5.4 to 5.7).
    pub(crate) fn expire_rto(&mut self, now: Time, siblings: &[Sibling]) {
        let Some(front) = self.scoreboard.front().copied() else { return };
        self.stats.rto_count += 1;
        self.recovery.consecutive_rtos += 1;
        if self.recovery.consecutive_rtos > self.config.max_retries {
            return self.give_up(now);
        }
        if front.is(SACKED) {
            self.scoreboard.forget_sacks(); // the receiver reneged (RFC 2018 §8)
        }
        let is_first = matches!(self.recovery.phase, Phase::Open | Phase::Cwr);
        let lost = self.scoreboard.mark_all_lost();
        self.count_lost(lost);
        if is_first {
            self.note_loss_distance();
        }
        if self.recovery.phase != Phase::Loss {
            self.undo.start(self.una);
        }
        self.rtt.back_off();
        let event = Rto { flight_size: self.scoreboard.packets_out(), consecutive: self.recovery.consecutive_rtos };
        self.recovery = RecoveryState {
            phase: Phase::Loss,
            point: self.nxt,
            recover: Some(self.nxt),
            force: true,
            frto: Frto::start(self.config.undo.frto, is_first, self.recovery.consecutive_rtos),
            consecutive_rtos: self.recovery.consecutive_rtos,
            bytes_between_losses: self.recovery.bytes_between_losses,
            acked_at_loss: self.recovery.acked_at_loss,
            ..RecoveryState::default()
        };
        if let Validator::NewCwv(validator) = &mut self.validator {
            validator.on_rto();
        }
        self.report_losses(now, siblings);
        let view = self.view(now, siblings);
        self.cc.on_rto(&view, &event);
        self.restart_rto(now);
        self.timers.reorder_at = Time::MAX;
    }

    /// Windows as the controller has them.
    pub(crate) fn windows(&self) -> WindowChange {
        WindowChange { cwnd: self.cc.cwnd(), ssthresh: self.cc.ssthresh() }
    }

    /// Set the controller's windows.
    pub(crate) fn change_windows(&mut self, now: Time, change: WindowChange, siblings: &[Sibling]) {
        let view = self.view(now, siblings);
        self.cc.on_window_change(&view, &change);
    }

    /// Window validation does not touch controllers that rule their window alone (Linux: those with `cong_control`).
    pub(crate) fn is_validation_on(&self) -> bool {
        self.cc.recovery_window() == RecoveryWindow::Transport
    }

    /// Open or cwr: does this ACK begin a recovery?
    fn watch_for_loss(&mut self, ctx: &AckContext, siblings: &[Sibling]) {
        let may_be_dubious = ctx.is_duplicate || self.sacked_out() > 0 || self.timers.reorder_at != Time::MAX;
        let lost = if may_be_dubious { self.detect_losses(ctx) } else { 0 };
        if lost > 0 {
            self.enter_recovery(ctx, CongestionSignal::Loss, siblings);
        } else if ctx.is_duplicate {
            self.ask_controller(ctx, self.recovery.dup_acks, siblings);
        } else if ctx.is_advance && self.recovery.checks_left > 0 {
            self.recovery.checks_left -= 1;
            self.ask_controller(ctx, 0, siblings);
        }
    }

    /// Vegas: may the controller want the head retransmitted before the third duplicate?
    fn ask_controller(&mut self, ctx: &AckContext, count: u32, siblings: &[Sibling]) {
        let Some(head) = self.scoreboard.front().copied() else { return };
        let event = DupAck { count, head_sent_at: head.sent_at, head_is_retransmitted: head.is(EVER_RETRANS) };
        let view = self.view(ctx.now, siblings);
        if self.cc.on_dup_ack(&view, &event) {
            let lost = u32::from(self.scoreboard.mark_lost(self.scoreboard.first()));
            self.count_lost(lost);
            self.enter_recovery(ctx, CongestionSignal::EarlyRetransmit, siblings);
        }
    }

    fn enter_recovery(&mut self, ctx: &AckContext, signal: CongestionSignal, siblings: &[Sibling]) {
        self.stats.fast_recoveries += 1;
        self.undo.start(self.una);
        // The window was already reduced in this round for ECN: no second cut (RFC 3168 §6.1.2).
        if self.recovery.phase != Phase::Cwr {
            self.begin_episode(ctx, signal, siblings);
        }
        let state = &mut self.recovery;
        state.phase = Phase::Recovery;
        state.point = self.nxt;
        if self.features.detection != LossDetection::Reno {
            state.recover = Some(self.nxt);
        }
        state.retransmitted = 0;
        state.force = true;
        state.rescue_end = None;
        state.has_partial_ack = false;
        state.probe_end = None;
        state.inflated = self.cc.cwnd() + f64::from(state.dup_acks); // RFC 6582 §3.2 step 2
    }

    /// Tell the controller, and prepare the way to its new window.
    fn begin_episode(&mut self, ctx: &AckContext, signal: CongestionSignal, siblings: &[Sibling]) {
        self.note_loss_distance();
        let (now, packets_out, cwnd) = (ctx.now, self.scoreboard.packets_out(), self.cc.cwnd());
        let flight_size = packets_out + ctx.acked; // before this ACK
        let lost = self.first_lost();
        let event = CongestionEvent {
            signal,
            flight_size,
            newly_lost: self.scoreboard.lost_out(),
            lost_sent_at: lost.map_or(now, |packet| packet.sent_at),
            lost_was_retransmitted: lost.is_some_and(|packet| packet.is(EVER_RETRANS)),
        };
        self.report_losses(now, siblings);
        let view = self.view(now, siblings);
        self.cc.on_congestion(&view, &event);
        if self.is_validation_on()
            && let Validator::NewCwv(validator) = &mut self.validator
            && let Some(change) = validator.on_congestion(now, self.rtt.srtt, flight_size, cwnd)
        {
            self.change_windows(now, change, siblings);
        }
        // RFC 9937: what was outstanding before the SACKs, plus what this ACK delivered.
        let recover_fs = packets_out - self.sacked_out().min(packets_out) + ctx.delivered;
        self.recovery.prr = Prr::enter(recover_fs, self.cc.cwnd(), self.in_flight());
        self.recovery.point = self.nxt;
        self.transmit.send_cwr = self.features.ecn;
    }

    fn first_lost(&mut self) -> Option<crate::tcp::sender::scoreboard::SentPacket> {
        let index = self.scoreboard.next_awaiting()?;
        self.scoreboard.get(index).copied()
    }

    /// In fast recovery, below the recovery point.
    fn continue_recovery(&mut self, ctx: &AckContext, siblings: &[Sibling]) {
        self.detect_losses(ctx);
        let detection = self.features.detection;
        if ctx.is_duplicate {
            self.recovery.inflated += 1.0; // RFC 6582 §3.2 step 3 of RFC 5681 §3.2
            if detection == LossDetection::Reno {
                self.ask_controller(ctx, self.recovery.dup_acks, siblings);
            }
        } else if ctx.is_advance {
            // Partial ACK: deflate by what it acknowledged, add one back (RFC 6582 §3.2 step 3).
            self.recovery.inflated = (self.recovery.inflated - f64::from(ctx.acked) + 1.0).max(1.0);
            if matches!(detection, LossDetection::NewReno(_)) && !self.scoreboard.is_empty() {
                let lost = u32::from(self.scoreboard.mark_lost(self.scoreboard.first()));
                self.count_lost(lost);
                self.recovery.force = lost > 0;
            }
        }
    }

    /// May this partial ACK restart the timer (RFC 6582 §4)?
    pub(crate) fn restarts_timer(&mut self) -> bool {
        let is_partial = self.recovery.phase == Phase::Recovery && self.una < self.recovery.point;
        if is_partial && self.features.detection == LossDetection::NewReno(PartialAckTimer::Impatient) {
            return !std::mem::replace(&mut self.recovery.has_partial_ack, true);
        }
        true
    }

    fn exit_recovery(&mut self, now: Time, siblings: &[Sibling]) {
        let event =
            RecoveryExit { retransmitted: self.recovery.retransmitted, after_rto: self.recovery.phase == Phase::Loss };
        self.leave_recovery_phase();
        self.rack.on_recovery_exit();
        let view = self.view(now, siblings);
        self.cc.on_recovery_exit(&view, &event);
        if let Validator::NewCwv(validator) = &mut self.validator
            && let Some(change) = validator.on_recovery_exit(now, event.retransmitted)
        {
            self.change_windows(now, change, siblings);
        }
    }

    fn leave_recovery_phase(&mut self) {
        self.recovery.phase = Phase::Open;
        self.recovery.dup_acks = 0;
        self.recovery.reno_sacked = 0;
        self.recovery.frto = Frto::default();
        self.recovery.force = false;
    }

    /// F-RTO after a timeout. Returns `true` if the timeout was spurious.
    fn check_frto(&mut self, ctx: &AckContext, siblings: &[Sibling]) -> bool {
        let point = self.recovery.point;
        let step = self.recovery.frto.on_ack(Evidence {
            original_delivered: ctx.original_delivered,
            is_partial_advance: ctx.is_advance && self.una < point,
            is_duplicate: (ctx.is_duplicate && !ctx.has_dsack) || ctx.has_sacked,
            has_sent_new: self.nxt > point,
            can_send_new: self.unsent_bytes() > 0 && self.peer_edge > self.nxt,
        });
        match step {
            Step::Undo => self.perform_undo(ctx.now, siblings),
            Step::SendNew => self.recovery.new_data_only = true,
            Step::Repair => {}
        }
        step == Step::Undo
    }

    /// DSACK or Eifel say that the episode was spurious.
    fn undo_if_spurious(&mut self, ctx: &AckContext, siblings: &[Sibling]) -> bool {
        if !self.undo.is_armed() {
            return false;
        }
        let config = self.config.undo;
        let by_dsack = config.dsack && ctx.has_dsack && self.undo.all_confirmed();
        let in_episode = matches!(self.recovery.phase, Phase::Recovery | Phase::Loss);
        let by_eifel =
            config.eifel && in_episode && ctx.is_advance && ctx.echo.is_some_and(|echo| self.undo.is_eifel(echo));
        if by_dsack || by_eifel {
            self.perform_undo(ctx.now, siblings);
        }
        by_dsack || by_eifel
    }

    fn perform_undo(&mut self, now: Time, siblings: &[Sibling]) {
        self.stats.spurious_undos += 1;
        let was_rto = self.recovery.phase == Phase::Loss;
        self.undo.clear();
        self.scoreboard.forget_losses();
        self.leave_recovery_phase();
        self.recovery.recover = None;
        self.recovery.consecutive_rtos = 0;
        self.rtt.clear_backoff();
        if let Validator::NewCwv(validator) = &mut self.validator {
            validator.on_rto(); // samples start anew
        }
        let view = self.view(now, siblings);
        self.cc.on_undo(&view, &Undo { was_rto });
    }

    /// OLIA's distances: bytes acknowledged between losses. A second loss with nothing acknowledged between keeps them.
    fn note_loss_distance(&mut self) {
        let since = self.stats.bytes_acked - self.recovery.acked_at_loss;
        if since > 0 {
            self.recovery.bytes_between_losses = since;
            self.recovery.acked_at_loss = self.stats.bytes_acked;
        }
    }

    /// Too many timeouts end the connection for the owner as a reset.
    pub(crate) fn reset_by_peer(&mut self, now: Time) {
        self.finish(now, Event::Reset);
    }
}
