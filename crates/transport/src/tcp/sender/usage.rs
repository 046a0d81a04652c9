//! How fully the sender uses its window, and what window validation makes of it: after a pause, and when sending stops.
//!
//! Reference: RFC 5681 §4.1, RFC 2861 §3, Linux `tcp_cwnd_validate`; draft-cheng (application-limited marking).
//! Differences from the references: none beside those of `validation/`.
//!
//! Tested by `idle_*.pkt`, `application_limited.pkt` and `tests/pair.rs`.

use crate::tcp::Connection;
use crate::tcp::config::PacingBurst;
use crate::tcp::sender::recovery::Phase;
use crate::tcp::sender::validation::Validator;
use playpath_cc::{IdleRestart, RecoveryWindow, Sibling, WindowChange};
use playpath_units::{Duration, Time};

/// How fully the window was used lately (Linux `tcp_cwnd_validate`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    /// The window was full in this round.
    pub is_limited: bool,
    /// Most packets out in this round.
    pub max_packets_out: u32,
    /// The round ends when this offset is acknowledged.
    pub end: u64,
}

impl Connection {
    /// The first packet after a pause (RFC 5681 §4.1, RFC 2861 §3).
    pub(crate) fn restart_after_idle(&mut self, now: Time, siblings: &[Sibling]) {
        let Some(last) = self.transmit.last_sent_at else { return };
        let idle = now.saturating_since(self.transmit.emptied_at.max(last));
        if idle > Duration::ZERO {
            let view = self.view(now, siblings);
            self.cc.on_idle_restart(&view, &IdleRestart { idle, is_app_limited: self.rate.is_app_limited() });
        }
        if self.is_validation_on() {
            let (windows, rto, iw) = (self.windows(), self.rtt.rto(&self.config.rto), self.config.initial_window());
            if let Validator::Rfc2861(validator) = &mut self.validator
                && let Some(change) = validator.after_idle(now, now.saturating_since(last), rto, iw, windows)
            {
                self.change_windows(now, change, siblings);
            }
        }
    }

    /// Nothing more leaves now: note whether the window or the application is the reason.
    pub(crate) fn note_pause(&mut self, now: Time, siblings: &[Sibling]) {
        if self.transmit.is_window_blocked && self.scoreboard.is_empty() {
            self.rearm();
        }
        let is_out_of_data = self.nxt >= self.written && self.scoreboard.awaiting() == 0;
        if !self.transmit.has_sent && !is_out_of_data {
            return;
        }
        let is_full = self.is_window_full();
        if is_out_of_data && !is_full {
            self.rate.mark_app_limited(self.in_flight());
        }
        self.note_usage(now, is_full, siblings);
    }

    /// Pacing lets nothing more leave now. Linux judges by what is out whatever the reason of the pause.
    pub(crate) fn note_paced(&mut self, now: Time, siblings: &[Sibling]) {
        if self.config.pacing_burst == PacingBurst::Linux {
            self.note_usage(now, self.is_window_full(), siblings);
        }
    }

    fn is_window_full(&self) -> bool {
        let in_flight = self.in_flight();
        // A window holds a packet at least.
        in_flight > 0 && (f64::from(in_flight) + 1.0 > self.send_window() || self.transmit.is_deferred)
    }

    fn note_usage(&mut self, now: Time, is_full: bool, siblings: &[Sibling]) {
        if !std::mem::take(&mut self.transmit.has_sent) {
            return;
        }
        let packets_out = self.scoreboard.packets_out();
        let usage = &mut self.transmit.usage;
        if self.una >= usage.end || is_full || (!usage.is_limited && packets_out > usage.max_packets_out) {
            *usage = Usage { is_limited: is_full, max_packets_out: packets_out, end: self.nxt };
        }
        self.validate_after_sending(now, packets_out, siblings);
    }

    fn validate_after_sending(&mut self, now: Time, packets_out: u32, siblings: &[Sibling]) {
        let usage = self.transmit.usage;
        if let Validator::Rfc2861(validator) = &mut self.validator {
            let (cwnd, ssthresh) = (self.cc.cwnd(), self.cc.ssthresh());
            let is_limited = usage.is_limited || (cwnd < ssthresh && cwnd < 2.0 * f64::from(usage.max_packets_out));
            validator.on_send_pause(now, is_limited, packets_out);
            if is_limited
                || self.is_writer_waiting
                || self.recovery.phase != Phase::Open
                || self.cc.recovery_window() != RecoveryWindow::Transport
            {
                return;
            }
            let windows = WindowChange { cwnd, ssthresh };
            let rto = self.rtt.rto(&self.config.rto);
            if let Some(change) = validator.limited(now, rto, self.config.initial_window(), windows) {
                self.change_windows(now, change, siblings);
            }
        }
    }
}
