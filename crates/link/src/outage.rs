//! An outage: from one time to another a link takes no packets. What it has already taken still arrives.
//!
//! A refused packet counts as offered and as dropped with the cause `outage`. It meets neither the loss model nor the queue: no
//! random draw is spent on it. The first moment belongs to the outage, the last one does not. At a fixed time it meets every seed in
//! much the same phase of its timers; with a `spread` the seed moves it, both directions of a path alike.
//! Tested: its bounds, the balance of a link with one, that the losses after it are those of the same packets without it, where seeds
//! move it to.

use playpath_units::random::RootSeed;
use playpath_units::{Duration, Time};

/// When a link takes no packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    pub from: Time,
    /// First moment after it; `Time::MAX`: it lasts to the end.
    pub until: Time,
    /// Both come up to this much later, by the run's seed.
    pub spread: Duration,
}

impl Outage {
    /// Where the seed moves it, for the link `name`, such as "wifi/down".
    pub fn drawn(self, name: &str, seed: RootSeed) -> Outage {
        let path = name.rsplit_once('/').map_or(name, |(path, _direction)| path);
        let later = self.spread.mul_f64(seed.stream(&format!("link.{path}/outage")).uniform());
        let until = if self.until == Time::MAX { Time::MAX } else { self.until + later };
        Outage { from: self.from + later, until, spread: Duration::ZERO }
    }

    /// Whether a packet that comes `now` is refused.
    #[inline]
    pub fn covers(&self, now: Time) -> bool {
        self.from <= now && now < self.until
    }
}
