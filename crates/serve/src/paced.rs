//! A response that is written at the pace the client asked for and not as fast as the connection accepts it.

use playpath_http::read_delivery;
use playpath_shell::monotonic_nanos;
use playpath_units::{Duration, Time};
use playpath_video::Delivery;

/// One response of the stream that is sent.
#[derive(Clone, Copy, Debug)]
pub struct Paced {
    /// Offset in the stream where it begins.
    from: u64,
    head: u64,
    body: u64,
    began: Time,
    delivery: Delivery,
}

impl Paced {
    /// A response of `head` and `body` bytes that begins at `from`, asked for at `now`; `None` if the field is invalid, in
    /// which case it is ignored. Intervals below 1 ms are raised to 1 ms, since they would keep the server busy.
    pub fn new(field: &str, now: Time, from: u64, (head, body): (u64, u64)) -> Option<Paced> {
        let clock = monotonic_nanos();
        let least = |every: Duration| every.max(Duration::from_millis(1));
        let time_at = |nanos: u64| match nanos.checked_sub(clock) {
            Some(ahead) => now + Duration::from_nanos(ahead),
            None => Time::ZERO + now.saturating_since(Time::from_nanos(clock - nanos)),
        };
        let delivery = match read_delivery(field, time_at)? {
            Delivery::Chunks { bytes, every } => Delivery::Chunks { bytes, every: least(every) },
            Delivery::AsEncoded { pieces, encoded, next_at, every } => {
                Delivery::AsEncoded { pieces, encoded, next_at, every: least(every) }
            }
            other => other,
        };
        Some(Paced { from, head, body, began: now, delivery })
    }

    /// Offset in the stream up to which may be written.
    pub fn end(&self, now: Time) -> u64 {
        self.from + self.delivery.written(self.head, self.body, self.began, now)
    }

    /// When more may be; [`Time::MAX`] once all may.
    pub fn next(&self, now: Time) -> Time {
        self.delivery.next_write(self.head, self.body, self.began, now)
    }
}

#[cfg(test)]
mod tests;
