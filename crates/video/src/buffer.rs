//! Sizes of playout buffers: in media time, bytes or packets.

use playpath_units::{Bytes, Duration, ParseError, QueueLimit, Rate};
use std::fmt;
use std::str::FromStr;

/// A buffer size as typed: "1 s", "300 kB", "448 packets".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferSize {
    /// Media time.
    Time(Duration),
    /// Bytes.
    Bytes(u64),
    /// Packets of the sender's payload size (the CCP papers' unit).
    Packets(u64),
}

impl BufferSize {
    /// The size with packets resolved to bytes.
    pub fn resolve(self, packet_bytes: u32) -> Cache {
        match self {
            BufferSize::Time(length) => Cache::Time(length),
            BufferSize::Bytes(bytes) => Cache::Bytes(bytes),
            BufferSize::Packets(packets) => Cache::Bytes(packets.saturating_mul(packet_bytes.into())),
        }
    }
}

impl FromStr for BufferSize {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<BufferSize, ParseError> {
        // The same units as a queue's limit, but for multiples of the bandwidth-delay product: their own parser says what is allowed.
        match text.parse::<QueueLimit>() {
            Ok(QueueLimit::Time(length)) => Ok(BufferSize::Time(length)),
            Ok(QueueLimit::Bytes(bytes)) => Ok(BufferSize::Bytes(bytes)),
            Ok(QueueLimit::Packets(packets)) => Ok(BufferSize::Packets(packets)),
            Ok(QueueLimit::Bdp(_)) | Err(_) => text.parse::<Duration>().map(BufferSize::Time),
        }
    }
}

impl fmt::Display for BufferSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BufferSize::Time(length) => length.fmt(f),
            BufferSize::Bytes(bytes) => Bytes(*bytes).fmt(f),
            BufferSize::Packets(packets) => write!(f, "{packets} packets"),
        }
    }
}

/// A buffer size as players use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cache {
    /// Media time.
    Time(Duration),
    /// Bytes.
    Bytes(u64),
}

impl Cache {
    /// Its size in bytes for media of this mean rate.
    pub fn bytes(self, mean_rate: Rate) -> u64 {
        match self {
            Cache::Time(length) => mean_rate.bytes_in(length),
            Cache::Bytes(bytes) => bytes,
        }
    }

    /// The cache with this much more media of this mean rate.
    pub fn grown_by(self, length: Duration, mean_rate: Rate) -> Cache {
        match self {
            Cache::Time(before) => Cache::Time(before + length),
            Cache::Bytes(before) => Cache::Bytes(before + mean_rate.bytes_in(length)),
        }
    }

    /// Its size in media time for media of this mean rate.
    pub fn time(self, mean_rate: Rate) -> Duration {
        match self {
            Cache::Time(length) => length,
            Cache::Bytes(bytes) => mean_rate.time_to_send(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_sizes() {
        assert_eq!("1 s".parse(), Ok(BufferSize::Time(Duration::from_secs(1))));
        assert_eq!("300 kB".parse(), Ok(BufferSize::Bytes(300_000)));
        assert_eq!("448 packets".parse(), Ok(BufferSize::Packets(448)));
        for wrong in ["1", "1 bdp", "many", "-1 s"] {
            assert!(wrong.parse::<BufferSize>().is_err(), "{wrong}");
        }
        assert_eq!(BufferSize::Packets(448).to_string().parse(), Ok(BufferSize::Packets(448)));
    }

    /// CCP paper: 1 s of 5.24 Mbit/s is 655 000 B = 448.6 packets of 1460 B; 448 packets are 654 080 B = 0.9986 s.
    #[test]
    fn the_papers_buffer() {
        let rate = Rate::from_bits_per_sec(5_240_000);
        assert_eq!(Cache::Time(Duration::from_secs(1)).bytes(rate), 655_000);
        let packets = BufferSize::Packets(448).resolve(1460);
        assert_eq!(packets, Cache::Bytes(654_080));
        assert!((packets.time(rate).as_secs_f64() - 0.998_595_4).abs() < 1e-6);
    }
}
