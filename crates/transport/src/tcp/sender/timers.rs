//! The sender's timers: one for everything that concerns retransmission (as in Linux), one for pacing, one for window validation.
//!
//! Reference: RFC 6298 §5 (management), RFC 8985 §6.3, §7.3 (reordering timer and probe share the RTO's), RFC 9293 §3.8.6.1
//! (zero-window probes).
//! Invariant: data in flight, or data that a closed window holds back, means that the retransmission timer runs.

use playpath_units::{Duration, Time};

/// The current purpose of the retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Rto,
    Probe,
    /// A reordering window of RACK ends.
    Reorder,
    /// Zero-window probe.
    Persist,
}

/// The reason for which the retransmission timer is needed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Need {
    Nothing,
    /// Nothing is in flight, and the peer's window holds data back: probe it after this time.
    Window(Duration),
    /// Data is in flight. `may_probe`: a tail loss probe is allowed.
    Outstanding {
        may_probe: bool,
    },
}

#[derive(Debug)]
pub(crate) struct Timers {
    retransmit: Time,
    purpose: Purpose,
    pace: Time,
    validation: Time,
    /// Start of the RTO, at the last progress or (re)start, and its length. RTT samples of ACKs without progress do not change it (Linux).
    rto_base: Time,
    rto_length: Duration,
    /// When a tail loss probe is due; [`Time::MAX`]: none since the last one.
    probe_at: Time,
    /// RACK checks for losses again at this time.
    look_again: Time,
}

impl Default for Timers {
    fn default() -> Timers {
        Timers {
            retransmit: Time::MAX,
            purpose: Purpose::Rto,
            pace: Time::MAX,
            validation: Time::MAX,
            rto_base: Time::ZERO,
            rto_length: Duration::ZERO,
            probe_at: Time::MAX,
            look_again: Time::MAX,
        }
    }
}

impl Timers {
    pub fn earliest(&self) -> Time {
        self.retransmit.min(self.pace).min(self.validation)
    }

    /// The retransmission timer, if it is due.
    pub fn take_retransmit(&mut self, now: Time) -> Option<Purpose> {
        let is_due = self.retransmit <= now;
        if is_due {
            self.retransmit = Time::MAX;
        }
        is_due.then_some(self.purpose)
    }
    /// Pacing allows the next packet: the caller only has to poll.
    pub fn take_pace(&mut self, now: Time) {
        if self.pace <= now {
            self.pace = Time::MAX;
        }
    }
    /// The timer of window validation, if it is due.
    pub fn take_validation(&mut self, now: Time) -> bool {
        let is_due = self.validation <= now;
        if is_due {
            self.validation = Time::MAX;
        }
        is_due
    }

    /// Pacing holds the next packet until then.
    pub fn pace_until(&mut self, at: Time) {
        self.pace = at;
    }
    /// Window validation checks again at this time.
    pub fn validate_at(&mut self, at: Time) {
        self.validation = at;
    }
    pub fn restart_rto(&mut self, now: Time, length: Duration) {
        (self.rto_base, self.rto_length) = (now, length);
    }
    /// A tail loss probe is due then; [`Time::MAX`]: none.
    pub fn probe_at(&mut self, at: Time) {
        self.probe_at = at;
    }
    /// Losses may show without an ACK at this time, and no probe is sent before; [`Time::MAX`]: not.
    pub fn look_again(&mut self, at: Time) {
        self.look_again = at;
        if at != Time::MAX {
            self.probe_at = Time::MAX;
        }
    }
    /// Losses may show without an ACK.
    pub fn is_looking(&self) -> bool {
        self.look_again != Time::MAX
    }

    /// The timer runs for something that comes before the RTO.
    pub fn is_early(&self) -> bool {
        matches!(self.purpose, Purpose::Probe | Purpose::Reorder) && self.retransmit != Time::MAX
    }

    /// A closed window is being probed.
    pub fn is_persisting(&self) -> bool {
        self.purpose == Purpose::Persist && self.retransmit != Time::MAX
    }

    #[inline]
    pub fn rearm(&mut self, need: Need) {
        match need {
            Need::Nothing => self.retransmit = Time::MAX,
            Need::Window(wait) => self.arm(Purpose::Persist, self.rto_base + wait),
            Need::Outstanding { may_probe } => {
                let rto_at = self.rto_base + self.rto_length;
                if self.look_again < rto_at {
                    self.arm(Purpose::Reorder, self.look_again);
                } else if may_probe && self.probe_at != Time::MAX {
                    self.arm(Purpose::Probe, self.probe_at);
                } else {
                    self.arm(Purpose::Rto, rto_at);
                }
            }
        }
    }

    fn arm(&mut self, purpose: Purpose, at: Time) {
        (self.purpose, self.retransmit) = (purpose, at);
    }
}
