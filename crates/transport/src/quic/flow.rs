//! A flow-control window that a receiver grants, of a stream or of the connection.
//!
//! Reference: RFC 9000 §4.1, §4.2 (a new limit before the peer is blocked), §19.9. The window doubles when it was used up within two
//! round trips, up to a bound: Chromium's `QuicFlowController::MaybeIncreaseMaxWindowSize`; quinn and ngtcp2 keep their windows.
//!
//! Units: bytes. Tested here by worked numbers.

use super::config::FlowWindows;
use playpath_units::{Duration, Time};

#[derive(Debug)]
pub(crate) struct Grant {
    /// Limit that the peer was told.
    told: u64,
    window: u64,
    most: u64,
    consumed: u64,
    updated_at: Time,
    is_pending: bool,
}

impl Grant {
    pub fn new(window: u64, most: u64) -> Grant {
        Grant { told: window, window, most: most.max(window), consumed: 0, updated_at: Time::ZERO, is_pending: false }
    }
    /// The peer may send so far (absolute).
    pub fn limit(&self) -> u64 {
        self.told
    }
    /// `bytes` were read. The peer must be told when enough were.
    pub fn on_read(&mut self, now: Time, bytes: u64, srtt: impl Fn() -> Duration, flow: &FlowWindows) {
        self.consumed += bytes;
        let target = self.consumed + self.window;
        if (target - self.told) * 8 >= self.window * flow.update_eighths && !self.is_pending {
            if now.saturating_since(self.updated_at) < srtt() * 2 {
                self.window = (self.window * 2).min(self.most);
            }
            self.updated_at = now;
            self.is_pending = true;
        }
    }
    /// It must be told.
    pub fn is_pending(&self) -> bool {
        self.is_pending
    }
    /// The frame that told was lost (§13.3: the newest value goes).
    pub fn tell_again(&mut self) {
        self.is_pending = true;
    }
    /// The new limit, told now.
    pub fn tell(&mut self) -> u64 {
        self.is_pending = false;
        self.told = self.told.max(self.consumed + self.window);
        self.told
    }
}

#[cfg(test)]
mod tests;
