//! Bursts in time: the two-state chain of Gilbert and Elliott in continuous time. The rate and duration of bad periods do not depend on the
//! traffic; for a sender that waits for its timer, the burst may be over.
//!
//! Reference: Gilbert and Elliott as in `gilbert_elliott`; the continuous-time chain as in S. M. Ross, "Introduction to Probability Models",
//! §6.4: exponential stays with means 1/λ and 1/μ, the share of time in bad is λ / (λ + μ).
//! Here 1/μ = `duration` and 1/λ = `every` − `duration`, so bad periods begin at the rate 1 / `every`.
//!
//! Mean loss of packets that come at times of their own = b × loss_in_bad + (1 − b) × loss_in_good, b = duration / every.
//!
//! Differences from the reference
//! 1. The run begins in the stationary distribution, not in the good state: the first second is like any other.
//! 2. A stay is rounded up to a nanosecond; the smallest mean stay is 100 µs, so that minutes without packets cost little computing time.
//!
//! Invariants: the stays are drawn from a stream of their own, independent of packets, so compared senders meet the same bad periods;
//! one draw per packet for its loss, whatever the state.
//! Tested: share of time and of packets, mean duration and rate of bad periods, no difference between a packet each 0.1 ms and one each 7 s.

use super::LossProcess;
use crate::error::LinkError;
use crate::registry::About;
use crate::settings::{Config, config};
use playpath_units::random::{RootSeed, Stream};
use playpath_units::{Duration, Kind, Ratio, Time};

/// Least mean stay in a state.
const MIN_STAY: Duration = Duration::from_micros(100);

config! {
    /// Rate and duration of bad periods, and the loss probabilities in and between them.
    BurstsConfig {
        every: Duration = text("10 s", Kind::PositiveTime), "mean time from the beginning of one bad period to that of the next" since "0.3";
        duration: Duration = text("20 ms", Kind::PositiveTime), "mean duration of a bad period" since "0.3";
        loss_in_good: Ratio = text("0 %", Kind::Share), "chance to lose a packet between bad periods" since "0.3";
        loss_in_bad: Ratio = text("100 %", Kind::Share), "chance to lose a packet in a bad period" since "0.3";
    }
}

impl BurstsConfig {
    fn mean_stay(&self, is_bad: bool) -> Duration {
        if is_bad { self.duration } else { self.every - self.duration }
    }
    fn bad_share(&self) -> f64 {
        self.duration.ratio(self.every)
    }
}

#[derive(Clone, Debug)]
pub struct Bursts {
    config: BurstsConfig,
    is_bad: bool,
    until: Time,
    stays: Stream,
    losses: Stream,
}

impl Bursts {
    /// The state lasts some time more.
    fn stay(&mut self) {
        let mean = self.config.mean_stay(self.is_bad).as_nanos() as f64;
        self.until += Duration::from_nanos(libm::ceil(self.stays.exponential(mean)) as u64);
    }
}

impl LossProcess for Bursts {
    type Config = BurstsConfig;
    const ABOUT: About = About {
        name: "bursts",
        summary: "losses in bursts that come and go by the clock",
        reference: "Gilbert 1960, Elliott 1963, in continuous time",
    };

    fn new(config: &BurstsConfig, mut losses: Stream) -> Bursts {
        let mut stays = RootSeed(losses.bits()).stream("stays");
        let is_bad = stays.chance(config.bad_share());
        let mut chain = Bursts { config: config.clone(), is_bad, until: Time::ZERO, stays, losses };
        chain.stay();
        chain
    }

    fn loses(&mut self, at: Time) -> bool {
        while self.until <= at {
            self.is_bad = !self.is_bad;
            self.stay();
        }
        let loss = if self.is_bad { self.config.loss_in_bad } else { self.config.loss_in_good };
        self.losses.chance(loss.get())
    }

    fn mean_loss(config: &BurstsConfig) -> f64 {
        let bad = config.bad_share();
        bad * config.loss_in_bad.get() + (1.0 - bad) * config.loss_in_good.get()
    }

    fn check(config: &BurstsConfig) -> Result<(), LinkError> {
        config.check(Self::ABOUT.name)?;
        if config.duration < MIN_STAY {
            return Err(LinkError::new("bursts.duration", config.duration, format!("{MIN_STAY} or more")));
        }
        if config.every < config.duration + MIN_STAY {
            let least = format!("{MIN_STAY} above `duration`, or more");
            return Err(LinkError::new("bursts.every", config.every, least));
        }
        Ok(())
    }
}
