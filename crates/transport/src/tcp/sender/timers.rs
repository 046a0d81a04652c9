//! Timers: one for everything that concerns retransmission (as in Linux), one for pacing, one for window validation, one for
//! TIME-WAIT.
//!
//! Reference: RFC 6298 §5 (management), RFC 8985 §6.3, §7.3 (reordering timer and probe share the RTO's), RFC 9293 §3.8.6.1
//! (zero-window probes).
//! Invariant: data in flight, or data that a closed window holds back, means that the retransmission timer runs.

use crate::tcp::config::{LossDetection, Validation};
use crate::tcp::handshake::State;
use crate::tcp::sender::rack::probe_timeout;
use crate::tcp::sender::recovery::Phase;
use crate::tcp::sender::transmit::Probe;
use crate::tcp::sender::validation::Validator;
use crate::tcp::{Connection, Event};
use playpath_cc::Sibling;
use playpath_units::{Duration, Time};

/// A timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    Retransmit,
    Pace,
    Validation,
    TimeWait,
}

/// What the retransmission timer stands for now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Purpose {
    #[default]
    Rto,
    /// Tail loss probe.
    Probe,
    /// A reordering window of RACK ends.
    Reorder,
    /// Zero-window probe.
    Persist,
}

#[derive(Debug)]
pub(crate) struct Timers {
    deadlines: [Time; 4],
    purpose: Purpose,
    /// The RTO runs from here: last progress or (re)start; and so long. Samples of ACKs without progress do not move it (Linux).
    rto_base: Time,
    rto_length: Duration,
    /// The tail loss probe runs from here: last new data sent or progress.
    pub probe_base: Time,
    /// RACK wants to look again at this time.
    pub reorder_at: Time,
}

impl Default for Timers {
    fn default() -> Timers {
        Timers {
            deadlines: [Time::MAX; 4],
            purpose: Purpose::Rto,
            rto_base: Time::ZERO,
            rto_length: Duration::ZERO,
            probe_base: Time::ZERO,
            reorder_at: Time::MAX,
        }
    }
}

impl Timers {
    pub fn earliest(&self) -> Time {
        let [a, b, c, d] = self.deadlines;
        a.min(b).min(c).min(d)
    }
    pub fn set(&mut self, timer: Timer, at: Time) {
        self.deadlines[timer as usize] = at;
    }
    pub fn clear(&mut self, timer: Timer) {
        self.deadlines[timer as usize] = Time::MAX;
    }
    pub fn is_due(&self, timer: Timer, now: Time) -> bool {
        self.deadlines[timer as usize] <= now
    }
    fn arm_retransmit(&mut self, purpose: Purpose, at: Time) {
        self.purpose = purpose;
        self.set(Timer::Retransmit, at);
    }
}

impl Connection {
    /// Act on every timer that is due.
    pub(crate) fn expire_timers(&mut self, now: Time, siblings: &[Sibling]) {
        if self.timers.is_due(Timer::Pace, now) {
            self.timers.clear(Timer::Pace);
        }
        if self.timers.is_due(Timer::TimeWait, now) {
            self.timers.clear(Timer::TimeWait);
            self.state = State::Closed;
        }
        if self.timers.is_due(Timer::Validation, now) {
            self.timers.clear(Timer::Validation);
            self.check_validation(now, siblings);
        }
        if self.timers.is_due(Timer::Retransmit, now) {
            self.timers.clear(Timer::Retransmit);
            match (self.state, self.timers.purpose) {
                (State::SynSent | State::SynReceived, _) => self.expire_handshake(now),
                (_, Purpose::Rto) => self.expire_rto(now, siblings),
                (_, Purpose::Probe) => self.expire_probe(now),
                (_, Purpose::Reorder) => self.expire_reordering(now, siblings),
                (_, Purpose::Persist) => self.expire_persist(now),
            }
            if self.state == State::Established {
                self.rearm();
            }
        }
    }

    /// The RTO runs anew from `now`.
    pub(crate) fn restart_rto(&mut self, now: Time) {
        self.timers.rto_base = now;
        self.timers.rto_length = self.rtt.rto(&self.config.rto);
    }

    /// Set the retransmission timer by what is outstanding now.
    pub(crate) fn rearm(&mut self) {
        if self.scoreboard.is_empty() {
            return self.rearm_persist();
        }
        let rto_at = self.timers.rto_base + self.timers.rto_length;
        if self.timers.reorder_at < rto_at {
            self.timers.arm_retransmit(Purpose::Reorder, self.timers.reorder_at);
        } else if self.may_probe() {
            let timeout = probe_timeout(self.rtt.srtt, self.scoreboard.packets_out());
            self.timers.arm_retransmit(Purpose::Probe, (self.timers.probe_base + timeout).min(rto_at));
        } else {
            self.timers.arm_retransmit(Purpose::Rto, rto_at);
        }
    }

    /// The handshake segment that just left is repeated after an RTO.
    pub(crate) fn arm_handshake(&mut self, now: Time) {
        let rto = self.rtt.rto(&self.config.rto);
        self.timers.arm_retransmit(Purpose::Rto, now + rto);
    }

    /// A tail loss probe is allowed (RFC 8985 §7.2): nothing SACKed, nothing lost, no other probe out.
    fn may_probe(&self) -> bool {
        self.features.detection == LossDetection::RackTlp
            && matches!(self.recovery.phase, Phase::Open | Phase::Cwr)
            && self.recovery.probe_end.is_none()
            && self.scoreboard.sacked_out() == 0
            && self.scoreboard.lost_out() == 0
    }

    /// With nothing in flight the timer runs only while the peer's window holds data back.
    fn rearm_persist(&mut self) {
        if !self.transmit.is_window_blocked {
            self.timers.clear(Timer::Retransmit);
        } else if self.timers.purpose != Purpose::Persist || self.timers.deadlines[0] == Time::MAX {
            let backoff = self.transmit.persist_backoff.min(16);
            let wait = (self.rtt.base_rto() * (1 << backoff)).min(self.config.rto.max);
            self.timers.arm_retransmit(Purpose::Persist, self.timers.rto_base + wait);
        }
    }

    fn expire_persist(&mut self, now: Time) {
        self.transmit.persist_backoff += 1;
        self.restart_rto(now);
        self.transmit.probe = Some(Probe::Window);
    }

    fn expire_probe(&mut self, now: Time) {
        self.transmit.probe = Some(Probe::TailLoss);
        self.restart_rto(now); // RFC 8985 §7.3: the RTO starts anew
    }

    /// The non-validated period of newCWV may be over.
    pub(crate) fn check_validation(&mut self, now: Time, siblings: &[Sibling]) {
        if self.config.validation != Validation::NewCwv || !self.is_validation_on() {
            return;
        }
        let (windows, srtt, iw) = (self.windows(), self.rtt.srtt, self.config.initial_window());
        if let Validator::NewCwv(validator) = &mut self.validator {
            let change = validator.check(now, srtt, iw, windows);
            let deadline = validator.deadline();
            self.timers.set(Timer::Validation, if deadline > now { deadline } else { Time::MAX });
            if let Some(change) = change {
                self.change_windows(now, change, siblings);
            }
        }
    }

    /// Give up: too many timeouts in a row.
    pub(crate) fn give_up(&mut self, now: Time) {
        self.finish(now, Event::Reset);
    }
}
