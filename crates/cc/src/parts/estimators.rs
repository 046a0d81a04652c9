//! Estimators that model-based and delay-based controls share: windowed extremes, capacity, application-limited marks.
//!
//! Reference: windowed extremes by K. Nichols' three-sample algorithm (as in Linux `lib/win_minmax.c` and
//! draft-ietf-ccwg-bbr-06 §5.5.5); delivery rate, draft-ietf-ccwg-bbr-06 §4.1; CapProbe (Kapoor, Chen, Lao, Gerla, Sanadidi,
//! SIGCOMM 2004).
//!
//! Differences from the references:
//! 1. The windows are in any unit that counts upwards (rounds, cycles, nanoseconds), chosen at each update.
//! 2. CapProbe here is passive: it uses the data packets that happened to leave back to back, and ACKs of one packet each. It
//!    has no probing phase and no convergence test; a pair older than the window gives way to the next one. A paced sender
//!    sends no pairs, so the largest delivery rate is used in their place.
//!
//! Units: packets, seconds, packets per second. Invariants: nothing here allocates; a filter's answer is a value that was put
//! in, at most one window old at the last update. Tested here, the filter also against a brute-force window.

use crate::{Ack, RateSample, View};
use playpath_units::{Duration, Time};

/// Largest recent value.
pub type WindowedMax<T> = Windowed<T, true>;
/// Smallest recent value.
pub type WindowedMin<T> = Windowed<T, false>;

/// Extreme of the values of a sliding window, in three samples: the best, the best after it, the best after that.
#[derive(Clone, Copy, Debug)]
pub struct Windowed<T, const IS_MAX: bool> {
    best: [Option<(u64, T)>; 3],
}

impl<T: Copy + PartialOrd, const IS_MAX: bool> Windowed<T, IS_MAX> {
    pub const fn new() -> Self {
        Windowed { best: [None; 3] }
    }

    /// The extreme as of the last update.
    pub fn get(&self) -> Option<T> {
        self.best[0].map(|(_, value)| value)
    }

    /// Take `value` at `time` (never decreasing); returns the extreme of the last `window`.
    pub fn update(&mut self, time: u64, value: T, window: u64) -> T {
        let sample = Some((time, value));
        let [Some(first), Some(second), Some(third)] = self.best else {
            return self.reset(time, value);
        };
        let beats = |other: (u64, T)| if IS_MAX { value >= other.1 } else { value <= other.1 };
        if beats(first) || time - third.0 > window {
            return self.reset(time, value);
        }
        if beats(second) {
            self.best = [Some(first), sample, sample];
        } else if beats(third) {
            self.best[2] = sample;
        }
        self.age(time, value, window)
    }

    pub fn reset(&mut self, time: u64, value: T) -> T {
        self.best = [Some((time, value)); 3];
        value
    }

    /// Let samples leave the window, and keep the second and third ones spread over it: without a new one for a quarter of
    /// the window, or a half, the present value is the best candidate.
    fn age(&mut self, time: u64, value: T, window: u64) -> T {
        let sample = Some((time, value));
        let at = |slot: Option<(u64, T)>| slot.map_or(time, |(stamp, _)| stamp);
        let [first, second, third] = self.best;
        let age = time - at(first);
        if age > window {
            self.best = if time - at(second) > window { [third, sample, sample] } else { [second, third, sample] };
        } else if at(second) == at(first) && age > window / 4 {
            self.best = [first, sample, sample];
        } else if at(third) == at(second) && age > window / 2 {
            self.best[2] = sample;
        }
        self.get().unwrap_or(value)
    }
}

/// Packets per second of a delivery rate sample; none from an empty or instantaneous one.
pub fn packets_per_sec(sample: &RateSample) -> Option<f64> {
    (sample.delivered > 0 && !sample.interval.is_zero())
        .then(|| f64::from(sample.delivered) / sample.interval.as_secs_f64())
}

#[derive(Clone, Debug)]
pub enum Capacity {
    /// Largest delivery rate of the last rounds.
    MaxRate(MaxRate),
    /// Dispersion of the pair of packets that was delayed least; until there is a pair, the largest delivery rate.
    CapProbe(CapProbe, MaxRate),
    /// Told, in packets/s.
    Given(f64),
}

impl Capacity {
    pub fn on_ack(&mut self, view: &View, ack: &Ack, window: Duration) {
        match self {
            Capacity::MaxRate(estimator) => estimator.on_ack(ack),
            Capacity::CapProbe(estimator, fallback) => {
                estimator.on_ack(view, ack, window);
                fallback.on_ack(ack);
            }
            Capacity::Given(_) => {}
        }
    }

    /// Packets/s.
    pub fn get(&self) -> Option<f64> {
        match self {
            Capacity::MaxRate(estimator) => estimator.max.get(),
            Capacity::CapProbe(estimator, fallback) => {
                estimator.best.map(|pair| pair.packets_per_sec).or(fallback.max.get())
            }
            Capacity::Given(packets_per_sec) => Some(*packets_per_sec),
        }
    }
}

/// Largest delivery rate of the last ten rounds. A sample limited by the application counts only if it is larger than that.
#[derive(Clone, Debug)]
pub struct MaxRate {
    max: WindowedMax<f64>,
    round: u64,
}

impl MaxRate {
    /// Round trips that a sample stays.
    const ROUNDS: u64 = 10;

    pub const fn new() -> MaxRate {
        MaxRate { max: WindowedMax::new(), round: 0 }
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.round += u64::from(ack.round_start);
        let Some(sample) = &ack.rate else { return };
        let Some(rate) = packets_per_sec(sample) else { return };
        if !sample.is_app_limited || self.max.get().is_none_or(|max| rate >= max) {
            self.max.update(self.round, rate, Self::ROUNDS);
        }
    }
}

/// Passive CapProbe: `1 / dispersion` of the pair with the smallest sum of delays. Two packets are a pair if they left back to
/// back and were acknowledged by two ACKs; a pair that met no queue shows the bottleneck's time to serve one packet.
#[derive(Clone, Debug)]
pub struct CapProbe {
    best: Option<Pair>,
    /// Time and RTT of the ACK before, if it was of one packet.
    previous: Option<(Time, Duration)>,
}

#[derive(Clone, Copy, Debug)]
struct Pair {
    at: Time,
    delay_sum: Duration,
    packets_per_sec: f64,
}

impl CapProbe {
    /// Back to back: the second packet left within this part of the dispersion after the first. Larger gaps shape the
    /// dispersion themselves.
    const MAX_GAP: f64 = 0.25;

    pub const fn new() -> CapProbe {
        CapProbe { best: None, previous: None }
    }

    fn on_ack(&mut self, view: &View, ack: &Ack, window: Duration) {
        let single = ack.rtt.filter(|_| ack.delivered == 1 && ack.newly_lost == 0).map(|rtt| (view.now, rtt));
        if let (Some(first), Some(second)) = (self.previous, single) {
            self.take_pair(first, second, window);
        }
        self.previous = single;
    }

    fn take_pair(&mut self, first: (Time, Duration), second: (Time, Duration), window: Duration) {
        let dispersion = second.0.saturating_since(first.0);
        let (first_sent, second_sent) = (first.0 - first.1, second.0 - second.1);
        if second_sent < first_sent || dispersion.is_zero() {
            return;
        }
        if second_sent - first_sent > dispersion.mul_f64(Self::MAX_GAP) {
            return;
        }
        let pair =
            Pair { at: second.0, delay_sum: first.1 + second.1, packets_per_sec: 1.0 / dispersion.as_secs_f64() };
        let is_better = |best: Pair| pair.delay_sum <= best.delay_sum || pair.at.saturating_since(best.at) > window;
        if self.best.is_none_or(is_better) {
            self.best = Some(pair);
        }
    }
}

/// Rate samples that the controller itself held down (draft-ietf-ccwg-bbr-06 §4.1.2.4, `MarkConnectionAppLimited`): those of
/// packets sent from the mark until what was then in flight is delivered.
#[derive(Clone, Copy, Debug, Default)]
pub struct AppLimitedMark {
    /// `View::delivered` at the first mark and when the last one ends.
    span: Option<(u64, u64)>,
}

impl AppLimitedMark {
    /// Mark now, on an ACK that delivered `newly_delivered` packets. If a mark stood before that ACK, all that was sent since it
    /// began is marked: nothing could leave in between.
    pub fn set(&mut self, view: &View, newly_delivered: u32) {
        let end = view.delivered + u64::from(view.in_flight);
        let before = view.delivered.saturating_sub(u64::from(newly_delivered));
        let start = match self.span {
            Some((start, old_end)) if before <= old_end => start,
            _ => view.delivered,
        };
        self.span = Some((start, end));
    }

    pub fn stands(&self, view: &View) -> bool {
        self.span.is_some_and(|(_, end)| view.delivered <= end)
    }

    /// Whether a sample underestimates the path: marked here or by the transport.
    pub fn covers(&self, sample: &RateSample) -> bool {
        sample.is_app_limited || self.span.is_some_and(|(start, end)| (start..=end).contains(&sample.prior_delivered))
    }
}

#[cfg(test)]
mod tests;
