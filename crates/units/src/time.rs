//! Points and lengths of time, in integer nanoseconds. Unit: ns; range: 0 to 584 years.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

/// A point of time: nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// A length of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

impl Time {
    pub const ZERO: Time = Time(0);
    /// Later than every event: "never".
    pub const MAX: Time = Time(u64::MAX);

    /// The point `nanos` nanoseconds after the start of the run.
    pub const fn from_nanos(nanos: u64) -> Time {
        Time(nanos)
    }
    /// The point `micros` microseconds after the start of the run.
    pub const fn from_micros(micros: u64) -> Time {
        Time(micros * 1_000)
    }
    /// The point `millis` milliseconds after the start of the run.
    pub const fn from_millis(millis: u64) -> Time {
        Time(millis * 1_000_000)
    }
    /// The point `secs` seconds after the start of the run.
    pub const fn from_secs(secs: u64) -> Time {
        Time(secs * 1_000_000_000)
    }
    /// The point `secs` seconds after the start of the run, rounded to the nearest nanosecond; negative is zero.
    pub fn from_secs_f64(secs: f64) -> Time {
        Time(Duration::from_secs_f64(secs).0)
    }
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// `self - earlier`, zero if `earlier` is later.
    pub const fn saturating_since(self, earlier: Time) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    pub const ZERO: Duration = Duration(0);
    /// Longer than every run: "for ever".
    pub const MAX: Duration = Duration(u64::MAX);

    pub const fn from_nanos(nanos: u64) -> Duration {
        Duration(nanos)
    }
    pub const fn from_micros(micros: u64) -> Duration {
        Duration(micros * 1_000)
    }
    pub const fn from_millis(millis: u64) -> Duration {
        Duration(millis * 1_000_000)
    }
    pub const fn from_secs(secs: u64) -> Duration {
        Duration(secs * 1_000_000_000)
    }
    /// `secs` seconds, rounded to the nearest nanosecond; negative or NaN is zero, too large saturates.
    pub fn from_secs_f64(secs: f64) -> Duration {
        Duration((secs * 1e9 + 0.5) as u64)
    }
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
    /// `self - other`, zero if `other` is longer.
    pub const fn saturating_sub(self, other: Duration) -> Duration {
        Duration(self.0.saturating_sub(other.0))
    }
    /// `self * factor`, rounded to the nearest nanosecond; negative or NaN is zero, too large saturates.
    pub fn mul_f64(self, factor: f64) -> Duration {
        Duration((self.0 as f64 * factor + 0.5) as u64)
    }
    /// The ratio of two lengths; infinite or NaN if `other` is zero.
    pub fn ratio(self, other: Duration) -> f64 {
        self.0 as f64 / other.0 as f64
    }
    pub const fn abs_diff(self, other: Duration) -> Duration {
        Duration(self.0.abs_diff(other.0))
    }
}

impl Add<Duration> for Time {
    type Output = Time;
    fn add(self, length: Duration) -> Time {
        Time(self.0.saturating_add(length.0))
    }
}
impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, length: Duration) {
        *self = *self + length;
    }
}
impl Sub<Duration> for Time {
    type Output = Time;
    fn sub(self, length: Duration) -> Time {
        Time(self.0.saturating_sub(length.0))
    }
}
impl Sub for Time {
    type Output = Duration;
    /// Panics in debug builds if `earlier` is later: a broken invariant of the caller.
    fn sub(self, earlier: Time) -> Duration {
        debug_assert!(self.0 >= earlier.0, "{self:?} is before {earlier:?}");
        Duration(self.0.saturating_sub(earlier.0))
    }
}
impl Add for Duration {
    type Output = Duration;
    fn add(self, other: Duration) -> Duration {
        Duration(self.0.saturating_add(other.0))
    }
}
impl AddAssign for Duration {
    fn add_assign(&mut self, other: Duration) {
        *self = *self + other;
    }
}
impl Sub for Duration {
    type Output = Duration;
    /// Panics in debug builds if `other` is longer: a broken invariant of the caller.
    fn sub(self, other: Duration) -> Duration {
        debug_assert!(self.0 >= other.0, "{self:?} is shorter than {other:?}");
        Duration(self.0.saturating_sub(other.0))
    }
}
impl SubAssign for Duration {
    fn sub_assign(&mut self, other: Duration) {
        *self = *self - other;
    }
}
impl Mul<u64> for Duration {
    type Output = Duration;
    fn mul(self, factor: u64) -> Duration {
        Duration(self.0.saturating_mul(factor))
    }
}
impl Div<u64> for Duration {
    type Output = Duration;
    fn div(self, divisor: u64) -> Duration {
        Duration(self.0 / divisor)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Duration(self.0), f)
    }
}

impl fmt::Display for Duration {
    /// The shortest exact form that parses back to the same value: `50 ms`, `1.5 s`, `20 us`, `7 ns`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, scale) = match self.0 {
            n if n >= 1_000_000_000 || n == 0 => ("s", 9),
            n if n >= 1_000_000 => ("ms", 6),
            n if n >= 1_000 => ("us", 3),
            _ => ("ns", 0),
        };
        let divisor = 10u64.pow(scale);
        let (whole, rest) = (self.0 / divisor, self.0 % divisor);
        if rest == 0 {
            return write!(f, "{whole} {unit}");
        }
        let digits = format!("{rest:0width$}", width = scale as usize);
        write!(f, "{whole}.{} {unit}", digits.trim_end_matches('0'))
    }
}
