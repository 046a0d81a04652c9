//! Window validation as Linux does it under `tcp_slow_start_after_idle` (on by default), after RFC 2861.
//!
//! Idle for longer than an RTO: ssthresh keeps 3/4 of the window, the window halves for each further RTO, not below
//! min(IW, cwnd). Limited by the application for an RTO in which no ACK comes: the window goes halfway to what was used, at least IW.
//!
//! Differences from RFC 2861:
//! 1. The first RTO of idle does not halve yet; the floor is min(IW, cwnd), and what is "used" counts at least IW (Linux).
//! 2. Each ACK of data restarts the RTO of the second rule, so a sender that sends little but receives ACKs keeps its window: Linux sets
//!    the timestamp in `tcp_cong_avoid`. The RFC considers only what was sent.
//!
//! Tested here with the worked numbers and by `idle_restart.pkt`, `application_starves*.pkt`, `reader_limited.pkt`.

use super::Use;
use playpath_cc::WindowChange;
use playpath_units::{Duration, Time};

#[derive(Debug, Default)]
pub(crate) struct Rfc2861 {
    /// Most packets out since the window was full last (Linux snd_cwnd_used).
    used: u32,
    /// When the window was last full or last checked, or an ACK arrived; initially when sending first paused (Linux snd_cwnd_stamp).
    stamp: Time,
    is_stamped: bool,
}

impl Rfc2861 {
    /// Sending pauses. `is_limited`: because of the window.
    pub fn on_send_pause(&mut self, now: Time, is_limited: bool, packets_out: u32) {
        if is_limited {
            self.used = 0;
            self.set_stamp(now);
        } else {
            if !self.is_stamped {
                self.set_stamp(now);
            }
            self.used = self.used.max(packets_out);
        }
    }

    /// An ACK on which the window may grow, whether or not it does (Linux `tcp_cong_avoid`).
    pub fn on_growth(&mut self, now: Time) {
        self.set_stamp(now);
    }

    /// The sender is limited by the application: returns new windows if this has lasted for an RTO. Only in the open state.
    pub fn on_starved(&mut self, seen: &Use) -> Option<WindowChange> {
        let Use { now, rto, initial_window, windows, .. } = *seen;
        if !self.is_stamped || now.saturating_since(self.stamp) < rto {
            return None;
        }
        let used = f64::from(self.used).max(initial_window);
        self.used = 0;
        self.set_stamp(now);
        (used < windows.cwnd)
            .then(|| WindowChange { cwnd: libm::floor((windows.cwnd + used) / 2.0), ssthresh: remembered(windows) })
    }

    /// First packet after `idle` without anything in flight: the new windows.
    pub fn after_idle(&mut self, seen: &Use, idle: Duration) -> Option<WindowChange> {
        let Use { now, rto, initial_window, windows, .. } = *seen;
        if idle <= rto {
            return None;
        }
        self.used = 0;
        self.set_stamp(now);
        window_after_idle(windows, idle, rto, initial_window)
    }

    fn set_stamp(&mut self, now: Time) {
        (self.stamp, self.is_stamped) = (now, true);
    }
}

/// The windows with which a sender continues after sending nothing for `idle`; `None`: not longer than an RTO, so they are kept.
pub fn window_after_idle(
    windows: WindowChange,
    idle: Duration,
    rto: Duration,
    initial_window: f64,
) -> Option<WindowChange> {
    if idle <= rto {
        return None;
    }
    let floor = initial_window.min(windows.cwnd);
    let (mut cwnd, mut left) = (windows.cwnd, idle);
    while left > rto && cwnd > floor {
        left = left.saturating_sub(rto);
        cwnd = libm::floor(cwnd / 2.0);
    }
    Some(WindowChange { cwnd: cwnd.max(floor), ssthresh: remembered(windows) })
}

/// ssthresh = max(ssthresh, 3/4 cwnd), in whole packets (`tcp_current_ssthresh`); an infinite one stays.
fn remembered(windows: WindowChange) -> f64 {
    windows.ssthresh.max(libm::floor(windows.cwnd / 2.0) + libm::floor(windows.cwnd / 4.0))
}

#[cfg(test)]
mod tests;
