//! Congestion window validation: what happens to the window of a sender that does not use it.
//!
//! A separate setting of a sender, which can be combined with every congestion control that leaves recovery to the transport. Every rule
//! is notified of the same events and may respond with new windows.

mod newcwv;
mod rfc2861;

use crate::tcp::config::{Config, Validation};
use newcwv::NewCwv;
use playpath_cc::WindowChange;
use playpath_units::{Duration, Time};
use rfc2861::Rfc2861;
pub use rfc2861::window_after_idle;

#[derive(Debug)]
pub(crate) enum Validator {
    None,
    Rfc2861(Rfc2861),
    /// Boxed: few senders use it, and every connection has room for the largest choice.
    NewCwv(Box<NewCwv>),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Use {
    pub now: Time,
    pub srtt: Duration,
    pub rto: Duration,
    pub initial_window: f64,
    pub windows: WindowChange,
}

impl Validator {
    pub fn new(config: &Config) -> Validator {
        match config.validation {
            Validation::None => Validator::None,
            Validation::Rfc2861 => Validator::Rfc2861(Rfc2861::default()),
            Validation::NewCwv => Validator::NewCwv(Box::default()),
            Validation::NewCwv2013 => Validator::NewCwv(Box::new(NewCwv::of_2013())),
        }
    }

    pub fn watches_pauses(&self) -> bool {
        matches!(self, Validator::Rfc2861(_))
    }
    pub fn watches_acks(&self) -> bool {
        matches!(self, Validator::NewCwv(_))
    }

    /// Whether the window may grow although it was not full; `None`: the rule does not decide this.
    pub fn allows_growth(&self, now: Time, srtt: Duration, cwnd: f64) -> Option<bool> {
        match self {
            // RFC 7661 §4.3: a validated window grows as the congestion control says, used fully or not.
            Validator::NewCwv(rule) => Some(rule.is_validated(now, srtt, cwnd)),
            _ => None,
        }
    }

    /// First packet after `idle`.
    pub fn after_idle(&mut self, seen: &Use, idle: Duration) -> Option<WindowChange> {
        match self {
            Validator::Rfc2861(rule) => rule.after_idle(seen, idle),
            _ => None,
        }
    }

    /// Sending pauses. `is_limited`: because of the window.
    pub fn on_send_pause(&mut self, now: Time, is_limited: bool, packets_out: u32) {
        if let Validator::Rfc2861(rule) = self {
            rule.on_send_pause(now, is_limited, packets_out);
        }
    }

    /// Sending pauses in the open state because the application provides no data.
    pub fn on_starved(&mut self, seen: &Use) -> Option<WindowChange> {
        match self {
            Validator::Rfc2861(rule) => rule.on_starved(seen),
            _ => None,
        }
    }

    /// An ACK of data came with which a window may grow.
    pub fn on_growth(&mut self, now: Time) {
        if let Validator::Rfc2861(rule) = self {
            rule.on_growth(now);
        }
    }

    /// An ACK outside of a recovery advanced SND.UNA by `acked` packets to offset `una`.
    pub fn on_ack(&mut self, now: Time, srtt: Duration, acked: u32, una: u64, nxt: u64) {
        if let Validator::NewCwv(rule) = self {
            rule.on_ack(now, srtt, acked, una, nxt);
        }
    }

    /// An ACK was processed, or the deadline has passed: returns new windows, and when to check again.
    pub fn check(&mut self, seen: &Use) -> (Option<WindowChange>, Time) {
        match self {
            Validator::NewCwv(rule) => rule.check(seen),
            _ => (None, Time::MAX),
        }
    }

    /// A loss episode begins with `flight_size` packets out and the window `cwnd` from before.
    pub fn on_congestion(&mut self, now: Time, srtt: Duration, flight_size: u32, cwnd: f64) -> Option<WindowChange> {
        match self {
            Validator::NewCwv(rule) => rule.on_congestion(now, srtt, flight_size, cwnd),
            _ => None,
        }
    }

    /// The recovery ended after `retransmitted` different packets were sent again.
    pub fn on_recovery_exit(&mut self, now: Time, retransmitted: u32) -> Option<WindowChange> {
        match self {
            Validator::NewCwv(rule) => rule.on_recovery_exit(now, retransmitted),
            _ => None,
        }
    }

    /// After a timeout or an undo: earlier measurements are no longer valid.
    pub fn start_anew(&mut self) {
        if let Validator::NewCwv(rule) = self {
            rule.start_anew();
        }
    }
}
