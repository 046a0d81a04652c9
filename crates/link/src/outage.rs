//! An outage: from one time to another a link takes no packets. What it has already taken still arrives.
//!
//! A refused packet counts as offered and as dropped with the cause `outage`. It meets neither the loss model nor the queue: no
//! random draw is spent on it. The first moment belongs to the outage, the last one does not.
//! Tested: its bounds, the balance of a link with one, that the losses after it are those of the same packets without it.

use playpath_units::Time;

/// When a link takes no packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// First moment.
    pub from: Time,
    /// First moment after it; `Time::MAX`: it lasts to the end.
    pub until: Time,
}

impl Outage {
    /// Whether a packet that comes `now` is refused.
    #[inline]
    pub fn covers(&self, now: Time) -> bool {
        self.from <= now && now < self.until
    }
}
