//! A content delivery network's treatment of a request: it answers from its cache, fetches a missing object, fails, or does not answer.
//!
//! Reference: none; a model with the parameters that a provider measures (share of misses, time to the first byte, share of errors).
//! Differences from a real network: 1. cache misses are drawn by object, so that every viewer of a run misses the same ones, however
//! often they are fetched; nothing is evicted or filled. 2. Manifests and initialisation segments are always delivered.
//! Invariants: the fate of a request follows from seed, object and attempt alone: equal for every sender.
//! Tested by `tests/origin.rs`.

use crate::{Delivery, ObjectRef};
use playpath_units::random::RootSeed;
use playpath_units::{Duration, Time};

pub const ERROR_BYTES: u64 = 200;

#[derive(Clone, Debug, PartialEq)]
pub struct Origin {
    /// Share of objects that the cache does not have.
    pub misses: f64,
    /// Mean time that it takes to fetch one; exponential if `is_drawn`.
    pub miss_delay: Duration,
    pub is_drawn: bool,
    /// Share of requests answered by an error.
    pub errors: f64,
    /// Share of requests that are never answered.
    pub hangs: f64,
    /// Interval in which the first host answers with errors only.
    pub down: Option<(Time, Time)>,
    pub hosts: u8,
    pub seed: RootSeed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fate {
    pub delivery: Delivery,
    pub is_error: bool,
}

impl Origin {
    pub fn fate(&self, object: ObjectRef, attempt: u32, host: u8, now: Time) -> Fate {
        let ObjectRef { kind, segment, representation } = object;
        let name = format!("origin.{kind:?}.{segment}.{representation}");
        let mut of_object = self.seed.stream(&name);
        let (misses, delay) = (of_object.chance(self.misses), of_object.exponential(1.0));
        let mut of_attempt = self.seed.stream(&format!("{name}.{attempt}"));
        let (hangs, fails) = (of_attempt.chance(self.hangs), of_attempt.chance(self.errors));
        let is_down = host == 0 && self.down.is_some_and(|(from, until)| (from..until).contains(&now));
        let wait = match (hangs && !is_down, misses) {
            (true, _) => Duration::MAX,
            (false, true) if self.is_drawn => self.miss_delay.mul_f64(delay),
            (false, true) => self.miss_delay,
            (false, false) => Duration::ZERO,
        };
        let is_error = is_down || (fails && !hangs);
        let delivery = if wait.is_zero() || is_down { Delivery::AsFastAsPossible } else { Delivery::After(wait) };
        Fate { delivery, is_error }
    }
}
