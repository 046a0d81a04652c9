//! Handling of failed requests: the timeout for the first byte, the number of retries, and the hosts.
//!
//! References: dash.js 5.2.1 settings (`retryAttempts`, `retryIntervals`, `fragmentRequestTimeout`); hls.js 1.7.4 `fragLoadPolicy`;
//! Shaka Player 5.2.12 `retryParameters`; Media3 `DefaultLoadErrorHandlingPolicy`, `DefaultHttpDataSource` (2025).
//! Differences: 1. only the time to the first byte is limited; dash.js and Shaka limit the whole request, too. 2. Shaka's waits are
//! scattered by half. 3. A client that has no attempt and no host left ends the session; hls.js tries a lower level first.

use crate::ladder::Ladder;
use playpath_units::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backoff {
    Constant,
    /// Twice as long each time, up to this.
    Doubling(Duration),
    /// None before the first, then longer by the same each time, up to this.
    Linear(Duration),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retries {
    /// Attempts after the first, for errors.
    pub errors: u32,
    pub timeouts: u32,
    /// Wait before an attempt that follows an error.
    pub delay: Duration,
    pub backoff: Backoff,
    /// And before one that follows a time-out.
    pub timeout_delay: Duration,
    /// Until the first byte.
    pub timeout: Duration,
    /// Each attempt goes to the next host; otherwise the next host follows when all attempts are used up.
    pub rotates: bool,
}

impl Retries {
    const fn after_errors(errors: u32, delay: Duration, backoff: Backoff, timeout: Duration) -> Retries {
        Retries { errors, timeouts: errors, delay, backoff, timeout_delay: delay, timeout, rotates: false }
    }

    pub const DASH_JS: Retries =
        Retries::after_errors(3, Duration::from_secs(1), Backoff::Constant, Duration::from_secs(20));
    pub const HLS_JS: Retries = Retries {
        timeouts: 4,
        timeout_delay: Duration::ZERO,
        ..Retries::after_errors(
            6,
            Duration::from_secs(1),
            Backoff::Doubling(Duration::from_secs(8)),
            Duration::from_secs(10),
        )
    };
    pub const SHAKA: Retries = Retries {
        rotates: true,
        ..Retries::after_errors(
            1,
            Duration::from_secs(1),
            Backoff::Doubling(Duration::from_secs(3600)),
            Duration::from_secs(10),
        )
    };
    pub const EXOPLAYER: Retries = Retries::after_errors(
        3,
        Duration::from_secs(1),
        Backoff::Linear(Duration::from_secs(5)),
        Duration::from_secs(8),
    );

    /// The wait before attempt `number`, from 1, or `None` if there is none.
    pub fn wait(&self, number: u32, is_timeout: bool) -> Option<Duration> {
        let most = if is_timeout { self.timeouts } else { self.errors };
        if number > most {
            return None;
        }
        let wait = match self.backoff {
            _ if is_timeout && self.timeout_delay != self.delay => self.timeout_delay,
            Backoff::Constant => self.delay,
            Backoff::Doubling(longest) => (self.delay * (1 << (number - 1).min(32))).min(longest),
            Backoff::Linear(longest) => (self.delay * u64::from(number - 1)).min(longest),
        };
        Some(wait)
    }
}

/// End of the segment at `position`: when the device has room again.
pub(super) fn next_boundary(ladder: &Ladder, position: Duration) -> Duration {
    let mut ends = (1..=ladder.segments()).map(|segment| ladder.start_of(segment));
    ends.find(|&end| end > position).unwrap_or(position)
}

#[cfg(test)]
mod tests;
