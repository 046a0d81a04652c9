//! The run's clock: time since the common start of all programs of a run, on the machine's monotonic clock.

use playpath_shell::monotonic_nanos;
use playpath_units::Time;

#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start_nanos: u64,
}

impl Clock {
    /// A clock that shows 0 when the monotonic clock shows `start_nanos`.
    pub fn starting_at(start_nanos: u64) -> Clock {
        Clock { start_nanos }
    }

    /// Now; 0 before the start.
    pub fn now(self) -> Time {
        Time::from_nanos(monotonic_nanos().saturating_sub(self.start_nanos))
    }

    /// Reading of the monotonic clock at `time`, ns.
    pub fn nanos_at(self, time: Time) -> u64 {
        self.start_nanos.saturating_add(time.as_nanos())
    }

    /// Sleep until the run's start, or a time after it.
    pub fn sleep_until(self, time: Time) {
        let left = self.nanos_at(time).saturating_sub(monotonic_nanos());
        if left > 0 {
            std::thread::sleep(std::time::Duration::from_nanos(left));
        }
    }
}
