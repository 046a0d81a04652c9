//! A flow-control window that a receiver grants, of a stream or of the connection.
//!
//! Reference: RFC 9000 §4.1, §4.2 (a new limit before the peer is blocked), §19.9. The window doubles when it was used up within two
//! round trips, up to a bound: Chromium's `QuicFlowController::MaybeIncreaseMaxWindowSize`; quinn and ngtcp2 keep their windows.
//!
//! Units: bytes. Tested here by worked numbers.

use super::config::FlowWindows;
use playpath_units::{Duration, Time};

#[derive(Debug)]
#[repr(C)]
pub(crate) struct Grant {
    is_pending: bool,
    /// There was an update, at `updated_at`.
    was_updated: bool,
    limit: u64,
    window: u64,
    most: u64,
    consumed: u64,
    updated_at: Time,
}

impl Grant {
    pub fn new(window: u64, most: u64) -> Grant {
        let most = most.max(window);
        Grant {
            limit: window,
            window,
            most,
            consumed: 0,
            updated_at: Time::ZERO,
            was_updated: false,
            is_pending: false,
        }
    }
    /// The peer may send so far (absolute).
    pub fn limit(&self) -> u64 {
        self.limit
    }
    /// `bytes` were read. An update must be sent when enough were.
    pub fn on_read(&mut self, now: Time, bytes: u64, srtt: impl Fn() -> Duration, flow: &FlowWindows) {
        self.consumed += bytes;
        let target = self.consumed + self.window;
        if (target - self.limit) * 8 >= self.window * flow.update_eighths && !self.is_pending {
            if self.was_updated && now.saturating_since(self.updated_at) < srtt() * 2 {
                self.window = (self.window * 2).min(self.most);
            }
            (self.was_updated, self.updated_at) = (true, now);
            self.is_pending = true;
        }
    }
    pub fn is_pending(&self) -> bool {
        self.is_pending
    }
    /// The frame with the update was lost (§13.3: the newest value goes).
    pub fn mark_pending(&mut self) {
        self.is_pending = true;
    }
    /// The new limit, marked as advertised.
    pub fn advertise(&mut self) -> u64 {
        self.is_pending = false;
        self.limit = self.limit.max(self.consumed + self.window);
        self.limit
    }
}

#[cfg(test)]
mod tests;
