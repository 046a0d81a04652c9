//! Rates, sizes and ratios.

use crate::Duration;
use std::fmt;

/// A data rate in bit/s. Zero is allowed (a link that is down); parsing refuses it where it makes no sense.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Rate {
    pub const fn from_bits_per_sec(bits: u64) -> Rate {
        Rate(bits)
    }
    /// `bits` per second, rounded to the nearest integer; negative or NaN is zero.
    pub fn from_bits_per_sec_f64(bits: f64) -> Rate {
        Rate((bits + 0.5) as u64)
    }
    pub const fn as_bits_per_sec(self) -> u64 {
        self.0
    }
    /// Megabits (10^6) per second.
    pub fn as_mbps(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// Time to send `bytes` at this rate, rounded up to a nanosecond; [`Duration::MAX`] at rate zero.
    pub fn time_to_send(self, bytes: u64) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }

        // 2.3 GB per call fit into u64; larger ones take the wide path.
        if bytes < (1 << 31) {
            Duration::from_nanos((bytes * 8_000_000_000).div_ceil(self.0))
        } else {
            let wide = (bytes as u128 * 8_000_000_000).div_ceil(self.0 as u128);
            Duration::from_nanos(u64::try_from(wide).unwrap_or(u64::MAX))
        }
    }
    /// Bytes that fit into `length` at this rate (rounded down).
    pub fn bytes_in(self, length: Duration) -> u64 {
        // 2.3 GB per call fit into u64; larger ones take the wide path.
        match self.0.checked_mul(length.as_nanos()) {
            Some(product) => product / 8_000_000_000,
            None => (self.0 as u128 * length.as_nanos() as u128 / 8_000_000_000) as u64,
        }
    }
}

impl fmt::Display for Rate {
    /// Exact form that parses back to the same value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, divisor) = match self.0 {
            n if n >= 1_000_000_000 => ("Gbit/s", 1e9),
            n if n >= 1_000_000 => ("Mbit/s", 1e6),
            n if n >= 1_000 => ("kbit/s", 1e3),
            _ => ("bit/s", 1.0),
        };
        write!(f, "{} {unit}", self.0 as f64 / divisor)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            n if n >= 1_000_000 && n % 1_000 == 0 => write!(f, "{} MB", n as f64 / 1e6),
            n if n >= 1_000 => write!(f, "{} kB", n as f64 / 1e3),
            n => write!(f, "{n} B"),
        }
    }
}

/// A share between 0 and 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Ratio(f64);

impl Ratio {
    pub const ZERO: Ratio = Ratio(0.0);

    /// `None` outside 0..=1 or for NaN.
    pub fn new(value: f64) -> Option<Ratio> {
        (0.0..=1.0).contains(&value).then_some(Ratio(value))
    }
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Twelve digits hide the binary residue of x * 100 and keep every stated loss rate.
        let percent = format!("{:.10}", self.0 * 100.0);
        write!(f, "{} %", percent.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// How much a queue may hold: "50 kB", "200 packets", "40 ms" (at the link's rate), "1 bdp" (rate × the longest base RTT of the paths over it).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QueueLimit {
    Bytes(u64),
    Packets(u64),
    /// Time to drain at the link's rate.
    Time(Duration),
    /// Multiples of the bandwidth-delay product.
    Bdp(f64),
}

impl fmt::Display for QueueLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueueLimit::Bytes(n) => Bytes(*n).fmt(f),
            QueueLimit::Packets(n) => write!(f, "{n} packets"),
            QueueLimit::Time(t) => t.fmt(f),
            QueueLimit::Bdp(x) => write!(f, "{x} bdp"),
        }
    }
}
