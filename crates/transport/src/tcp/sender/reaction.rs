//! The sender's reactions: to losses and to spurious ones, as decided by `recovery.rs`, and to expired timers.
//!
//! Reference: as `recovery.rs`; RFC 8985 §7.3 (probe), RFC 9293 §3.8.6.1 (zero-window probe). Tested by packet scripts.

use super::Sender;
use super::ack::AckInfo;
use super::detection::Situation;
use super::recovery::{Phase, Step};
use super::scoreboard::{APP_LIMITED, EVER_RETRANS, SACKED};
use super::timers::Purpose;
use super::transmit::Probe;
use super::validation::Use;
use crate::tcp::config;
use crate::tcp::moment::Moment;
use playpath_cc::{
    CongestionEvent, CongestionSignal, PacketLost, RecoveryExit, RecoveryWindow, Rto, TcpDupAck, Undo, WindowChange,
};
use playpath_units::Time;

impl Sender {
    /// Handle every timer that is due. `false`: too many consecutive timeouts, the connection is given up.
    pub fn handle_timeout(&mut self, at: Moment<'_>) -> bool {
        self.is_settled = false;
        self.on_event();
        self.timers.take_pace(at.now);
        if self.timers.take_validation(at.now) {
            self.check_validation(at);
        }
        let Some(purpose) = self.timers.take_retransmit(at.now) else { return true };
        self.is_repair_due = matches!(purpose, Purpose::Rto | Purpose::Reorder);
        match purpose {
            Purpose::Rto => {
                if !self.expire_rto(at) {
                    return false;
                }
            }
            Purpose::Probe => self.expire_probe(at.now),
            Purpose::Reorder => self.expire_reordering(at),
            Purpose::Persist => {
                self.stream.on_persist_timeout();
                self.restart_rto(at.now);
                self.probe = Some(Probe::Window);
            }
        }
        self.rearm();
        true
    }

    /// React to an ACK that may need more than the plain open state does.
    pub(super) fn react_to_ack(&mut self, at: Moment<'_>, info: &AckInfo) {
        if info.ecn_echo && self.reduces_as_linux() {
            self.recovery.demand_reduction();
        }
        let ends_with_progress = self.detector.knows_no_partial_ack();
        let holds_cwr = self.features.recovery == config::Recovery::Prr;
        let lingers = self.emulates_sack();
        match self.recovery.on_ack(self.config.undo, info, &self.stream, ends_with_progress, holds_cwr, lingers) {
            Step::Watch => self.watch_for_loss(at, info),
            Step::Repair => self.continue_recovery(at, info),
            Step::RepairAll => self.repair_all(at, info),
            Step::Exit => {
                self.exit_recovery(at);
                self.look_beyond(at, info);
            }
            Step::ExitAndWatch => {
                self.exit_recovery(at);
                self.watch_for_loss(at, info);
            }
            Step::Hold => self.detector.on_late_original(info.prior_una),
            Step::Linger => self.duplicates.clear(),
            Step::Undo => self.undo(at, info),
        }
    }

    /// ECN-Echo arrived: one reduction per round (RFC 3168 §6.1.2).
    pub(super) fn react_to_ecn(&mut self, at: Moment<'_>, info: &AckInfo) {
        if self.recovery.phase() == Phase::Open {
            self.counters.note().ecn_reductions += 1;
            self.begin_episode(at, info, CongestionSignal::Ecn);
            self.recovery.begin(self.stream.nxt());
            self.recovery.enter_cwr();
        }
    }

    /// Check whether this ACK answers the outstanding tail loss probe.
    pub(super) fn check_tail_probe(&mut self, at: Moment<'_>, info: &AckInfo) {
        if self.tail_probe.on_ack(info, self.stream.una()) && self.recovery.phase() == Phase::Open {
            self.begin_episode(at, info, CongestionSignal::Loss);
            self.recovery.begin(self.stream.nxt());
            // The probe was the whole recovery, of one packet.
            let change = self.validator.on_recovery_exit(at.now, 1);
            self.apply(at, change);
        }
    }

    /// Report the packets marked lost to the controller, before it is notified of the episode, timeout or ACK that revealed them.
    pub(super) fn report_losses(&mut self, at: Moment<'_>) {
        while let Some((packet, remaining)) = self.scoreboard.next_unreported() {
            let lost = (self.rate.lost() as u32).wrapping_sub(remaining);
            let event = PacketLost {
                offset: packet.start,
                payload_bytes: packet.len,
                tx_in_flight: packet.tx_in_flight,
                lost_since_sent: lost.wrapping_sub(packet.lost),
                is_app_limited: packet.is(APP_LIMITED),
            };
            let view = self.view(at);
            self.control.on_packet_lost(&view, &event);
        }
    }

    /// newCWV: the non-validated period may be over.
    pub(super) fn check_validation(&mut self, at: Moment<'_>) {
        if self.validator.watches_acks() && self.is_window_ours {
            let seen = self.window_use(at.now);
            let (change, deadline) = self.validator.check(&seen);
            self.timers.validate_at(deadline);
            self.apply(at, change);
        }
    }

    pub(super) fn window_use(&self, now: Time) -> Use {
        Use {
            now,
            srtt: self.rtt.srtt(),
            rto: self.rto(),
            initial_window: self.config.initial_window(),
            windows: self.windows(),
        }
    }

    /// Apply the new windows of window validation, if there are any.
    pub(super) fn apply(&mut self, at: Moment<'_>, change: Option<WindowChange>) {
        if let Some(change) = change {
            self.change_windows(at, change);
        }
    }

    /// Mark packets lost according to the loss detection in use. Returns how many.
    fn detect_losses(&mut self, now: Time) -> u32 {
        let situation = Situation {
            now,
            min_rtt: self.rtt.min_rtt(),
            srtt: self.rtt.srtt(),
            phase: self.recovery.phase(),
            una: self.stream.una(),
            mss: self.features.mss,
            duplicates: if self.emulates_sack() { self.duplicates.arrived() } else { self.duplicates.count() },
        };
        let found = self.detector.detect(&mut self.scoreboard, &situation);
        self.timers.look_again(found.look_again);
        self.rate.on_lost(found.lost);
        found.lost
    }

    /// In the phases open and cwr: check whether this ACK begins a recovery.
    fn watch_for_loss(&mut self, at: Moment<'_>, info: &AckInfo) {
        let may_be_dubious = info.is_duplicate || self.sacked_out() > 0 || self.timers.is_looking();
        if may_be_dubious && self.detect_losses(at.now) > 0 {
            self.enter_recovery(at, info, CongestionSignal::Loss);
        } else if info.is_duplicate {
            self.ask_about_head(at, info, self.duplicates.count());
        } else if info.is_advance && self.head.take() {
            self.ask_about_head(at, info, 0);
        }
    }

    /// Losses above the recovery point begin the next recovery with the same ACK that ended the last one, so nothing is sent in between
    /// (Linux `tcp_fastretrans_alert`, from step D to E).
    fn look_beyond(&mut self, at: Moment<'_>, info: &AckInfo) {
        self.detect_losses(at.now);
        if self.scoreboard.lost_out() > 0 {
            self.enter_recovery(at, info, CongestionSignal::Loss);
        }
    }

    /// Ask the controller whether the head is to be retransmitted before the third duplicate (Vegas).
    fn ask_about_head(&mut self, at: Moment<'_>, info: &AckInfo, count: u32) {
        let Some(head) = self.scoreboard.front().copied() else { return };
        let event = TcpDupAck { count, head_sent_at: head.sent_at, head_is_retransmitted: head.is(EVER_RETRANS) };
        let view = self.view(at);
        if self.control.on_tcp_dup_ack(&view, &event) {
            let lost = self.scoreboard.mark_head_lost();
            self.rate.on_lost(lost);
            self.enter_recovery(at, info, CongestionSignal::EarlyRetransmit);
        }
    }

    fn enter_recovery(&mut self, at: Moment<'_>, info: &AckInfo, signal: CongestionSignal) {
        self.counters.note().fast_recoveries += 1;
        // The window was already reduced in this round for ECN: no second cut (RFC 3168 §6.1.2).
        // With counted marks the reduction was proportional to them, and a loss reduces the window in addition (RFC 8257 §3.5).
        let is_cut = self.recovery.phase() == Phase::Cwr;
        if !is_cut || self.features.counts_marks {
            self.begin_episode(at, info, signal);
        }
        if info.is_duplicate && self.detector.backs_off(self.stream.nxt()) {
            self.rtt.back_off();
            self.restart_rto(at.now);
        }
        let repairs = (self.scoreboard.unsettled(), self.tail_probe.repairs_out());
        // On Linux the reduction under way goes on: it ends where it would have, and lets the repair leave when it is its turn.
        let goes_on = is_cut && self.reduces_as_linux();
        let point = if goes_on { self.recovery.point() } else { self.stream.nxt() };
        self.recovery.enter(self.stream.una(), point, repairs);
        self.recovery.force(!goes_on && self.control.recovery_window() != RecoveryWindow::ControllerAlone);
        if goes_on || (info.ecn_echo && self.reduces_as_linux()) {
            self.recovery.demand_reduction();
        }
        self.detector.on_recovery(self.stream.nxt());
        self.tail_probe.forget();
        let (cwnd, duplicates) = (self.control.cwnd(), self.duplicates.count());
        self.reduction().enter_recovery(cwnd, duplicates);
    }

    /// Notify the controller, and start the transition to its new window.
    fn begin_episode(&mut self, at: Moment<'_>, info: &AckInfo, signal: CongestionSignal) {
        self.counters.note_loss_distance();
        let (packets_out, cwnd) = (self.scoreboard.packets_out(), self.control.cwnd());
        let flight_size = packets_out + info.acked; // before this ACK
        let lost = self.scoreboard.next_awaiting().and_then(|index| self.scoreboard.get(index).copied());
        let event = CongestionEvent {
            signal,
            flight_size,
            newly_lost: self.scoreboard.lost_out(),
            lost_sent_at: lost.map_or(at.now, |packet| packet.sent_at),
            lost_was_retransmitted: lost.is_some_and(|packet| packet.is(EVER_RETRANS)),
        };
        self.report_losses(at);
        let view = self.view(at);
        self.control.on_congestion(&view, &event);
        if self.is_window_ours {
            let change = self.validator.on_congestion(at.now, self.rtt.srtt(), flight_size, cwnd);
            self.apply(at, change);
        }
        let reduced = self.control.cwnd();
        self.reduction().begin(cwnd, reduced);
        self.send_cwr = self.features.ecn;
    }

    /// After a timeout. If a retransmission turns out to be lost, a fast recovery begins, with another reduction (Linux
    /// `tcp_fastretrans_alert`).
    fn repair_all(&mut self, at: Moment<'_>, info: &AckInfo) {
        let repairs_out = self.scoreboard.retrans_out();
        self.detect_losses(at.now);
        if self.scoreboard.retrans_out() < repairs_out {
            self.enter_recovery(at, info, CongestionSignal::Loss);
        }
    }

    /// In fast recovery, below the recovery point.
    fn continue_recovery(&mut self, at: Moment<'_>, info: &AckInfo) {
        self.detect_losses(at.now);
        if info.is_duplicate {
            self.reduction().inflate();
            if self.detector.knows_no_partial_ack() {
                self.ask_about_head(at, info, self.duplicates.count());
            }
        } else if info.is_advance {
            self.reduction().deflate(info.acked);
            if let Some(lost) = self.detector.on_partial_ack(&mut self.scoreboard) {
                self.rate.on_lost(lost);
                self.recovery.force(lost > 0 && !self.emulates_sack());
            }
        }
    }

    fn exit_recovery(&mut self, at: Moment<'_>) {
        let retransmitted = self.recovery.retransmitted();
        let event = RecoveryExit { retransmitted, after_rto: self.recovery.phase() == Phase::Loss };
        self.recovery.leave();
        self.duplicates.clear();
        self.detector.on_recovery_exit();
        let view = self.view(at);
        self.control.on_recovery_exit(&view, &event);
        let change = self.validator.on_recovery_exit(at.now, self.recovery.repaired());
        self.apply(at, change);
    }

    fn undo(&mut self, at: Moment<'_>, info: &AckInfo) {
        self.counters.note().spurious_undos += 1;
        let is_partial = info.is_advance && self.recovery.is_partial(self.stream.una());
        if is_partial {
            self.detector.on_late_original(info.prior_una);
        }
        let reduced = WindowChange { cwnd: self.send_window(), ssthresh: self.control.ssthresh() };
        let is_demanded = self.recovery.is_reduction_demanded();
        let was_rto = self.recovery.undo();
        self.duplicates.clear();
        self.detector.on_undo();
        self.scoreboard.forget_losses();
        self.rtt.clear_backoff();
        self.validator.start_anew();
        if is_demanded {
            self.change_windows(at, reduced);
        } else {
            self.send_cwr = false; // nothing was reduced (Linux `tcp_ecn_withdraw_cwr`)
            let view = self.view(at);
            self.control.on_undo(&view, &Undo { was_rto });
        }
        self.watch_for_loss(at, info); // what is missing all the same begins the next recovery (Linux `tcp_fastretrans_alert`)
    }

    /// A tail loss probe is due. If one is out already, the RTO runs from when the head was sent (Linux `tcp_send_loss_probe`,
    /// `tcp_rearm_rto`); otherwise it begins anew (RFC 8985 §7.3).
    fn expire_probe(&mut self, now: Time) {
        self.timers.probe_at(Time::MAX);
        if !self.tail_probe.is_out() {
            self.probe = Some(Probe::TailLoss);
            self.restart_rto(now);
        } else if let Some(head) = self.scoreboard.front() {
            self.timers.restart_rto(head.sent_at, self.rto());
        }
    }

    fn expire_reordering(&mut self, at: Moment<'_>) {
        if self.detect_losses(at.now) > 0 && self.recovery.phase() != Phase::Recovery {
            self.enter_recovery(at, &AckInfo::default(), CongestionSignal::Loss);
            // A retransmission must be possible although no ACK has allowed it (Linux `tcp_rack_reo_timeout`).
            let in_flight = self.in_flight();
            self.reduction().on_ack(1, in_flight, false);
        }
    }

    /// The retransmission timer expired (RFC 6298 §5.4 to 5.7). `false`: too often.
    fn expire_rto(&mut self, at: Moment<'_>) -> bool {
        let Some(front) = self.scoreboard.front() else { return true };
        self.counters.note().rto_count += 1;
        let consecutive = self.recovery.count_rto();
        if consecutive > self.config.max_retries {
            return false;
        }
        let has_reneged = front.is(SACKED); // the receiver (RFC 2018 §8)
        if has_reneged {
            self.scoreboard.forget_sacks();
        }
        let (unsettled, probes) = (self.scoreboard.unsettled(), self.tail_probe.repairs_out());
        let detector = &self.detector;
        let is_recent = |packet: &_| !has_reneged && detector.is_recent(at.now, packet);
        let lost = self.scoreboard.mark_lost_by_timeout(is_recent);
        self.rate.on_lost(lost);
        let phase = self.recovery.phase();
        if !phase.is_repairing() {
            self.counters.note_loss_distance();
        }
        self.rtt.back_off();
        let una = self.stream.una();
        let is_reduced = phase.is_reducing() && self.config.rto.keeps_reduction && !self.recovery.is_at_point(una);
        let reduces = consecutive == 1 && !is_reduced;
        if reduces && self.emulates_sack() {
            // A recovery that waits for more to be acknowledged leaves the window where it brought it.
            self.change_windows(at, WindowChange { cwnd: self.send_window(), ssthresh: self.control.ssthresh() });
        }
        let undoable = reduces.then_some((una, unsettled, probes));
        self.recovery.enter_loss(self.config.undo, self.stream.nxt(), undoable);
        self.detector.on_rto(self.stream.nxt());
        self.duplicates.clear();
        self.tail_probe.forget();
        self.head.clear();
        self.validator.start_anew();
        self.report_losses(at);
        let event = Rto { flight_size: self.scoreboard.packets_out(), reduces };
        let view = self.view(at);
        self.control.on_rto(&view, &event);
        let spared = self.in_flight();
        if spared > 0 && self.is_window_ours {
            // The loss window is one packet more than the packets that a timeout does not prove lost (Linux `tcp_enter_loss`).
            let WindowChange { cwnd, ssthresh } = self.windows();
            self.change_windows(at, WindowChange { cwnd: cwnd + f64::from(spared), ssthresh });
        }
        self.send_cwr = self.features.ecn; // RFC 3168 §6.1.2: for whatever reason the window was reduced
        self.restart_rto(at.now);
        self.timers.look_again(Time::MAX);
        true
    }
}
