//! An outage: between two times a link accepts no packets. Packets accepted earlier still arrive.
//!
//! A refused packet counts as offered and as dropped with the cause `outage`. It passes neither the loss model nor the queue, and no random
//! number is drawn for it. The interval includes its first moment and excludes its last. At a fixed time, every seed is hit in much the
//! same phase of its timers; with a `spread` the seed shifts the outage, by the same amount in both directions of a path.
//! Tested: its bounds, the balance of a link with one, that the losses after it are those of the same packets without it, where seeds
//! move it to.

use playpath_units::random::RootSeed;
use playpath_units::{Duration, Time};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    pub from: Time,
    /// First moment after it; `Time::MAX`: it lasts to the end.
    pub until: Time,
    /// Both times are shifted by up to this much, drawn from the run's seed.
    pub spread: Duration,
}

impl Outage {
    /// The outage at the time that the seed yields for the link `name`, such as "wifi/down".
    pub fn drawn(self, name: &str, seed: RootSeed) -> Outage {
        let path = name.rsplit_once('/').map_or(name, |(path, _direction)| path);
        let later = self.spread.mul_f64(seed.stream(&format!("link.{path}/outage")).uniform());
        let until = if self.until == Time::MAX { Time::MAX } else { self.until + later };
        Outage { from: self.from + later, until, spread: Duration::ZERO }
    }

    /// Whether a packet that arrives at `now` is refused.
    #[inline]
    pub fn covers(&self, now: Time) -> bool {
        self.from <= now && now < self.until
    }
}
