//! Sizes of playout buffers: in media time, bytes or packets.

use playpath_units::{Duration, ParseError, QueueLimit, Rate};
use std::str::FromStr;

/// A buffer size as typed: "1 s", "300 kB", "448 packets".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferSize {
    Time(Duration),
    Bytes(u64),
    /// Packets of the sender's payload size (the CCP papers' unit).
    Packets(u64),
}

impl BufferSize {
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cache {
    Time(Duration),
    Bytes(u64),
}

impl Cache {
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
mod tests;
