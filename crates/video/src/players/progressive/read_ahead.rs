//! How far a player reads ahead of its cache: a second buffer behind the nominal one.
//!
//! Reference, read in their sources, and measured (VLC 3.0.24, Chromium 156; 90 s of 5 Mbit/s from a server on the same machine, bytes that
//! the program had taken from its socket each 0.5 s):
//! - VLC, `modules/stream_filter/prefetch.c`: over HTTP a thread reads ahead of the demuxer (`--prefetch-buffer-size` 16 MiB, and in large
//!   pieces), whatever `--network-caching` says. Measured: 26.2 MB at once, then 9.4 MB each 14.6 s, when 16 to 17 MB were left.
//! - Chromium, `multi_buffer_data_source.cc`, for `<video src>`: 10 s of media, within 2 and 20 MiB, and a tenth of what has been played
//!   until that has doubled it; and a pipe of 2 MiB between the processes. Measured: 11.6 MB at once, then 2 MiB at a time; 8 MB before
//!   such a piece and 10 after it at first, 13 and 15 after a minute, without the 2 s of the demuxer.
//!
//! Differences from the references
//! 1. Of Chromium's two marks 1 MiB apart and its pipe only what they come to is kept: pieces of 2 MiB.
//! 2. Its demuxer takes 2 s out of that buffer: here that is the cache, `player.buffer`.
//!
//! What is not read waits in the socket, whose receive buffer is the system's (`receive_buffer` of the sender).
//! Units: bytes beyond the cache. Tested: marks by hand, and against what was measured; a gap that only the read-ahead bridges.

use crate::buffer::BufferSize;
use playpath_units::{Duration, ParseError, Rate};
use std::str::FromStr;

const MIB: u64 = 1 << 20;
const VLC: Marks = Marks { low: 16 * MIB, high: 25 * MIB, growth: 0 };
const CHROMIUM_TIME: Duration = Duration::from_secs(10);
const CHROMIUM_BYTES: (u64, u64) = (2 * MIB, 20 * MIB);
const CHROMIUM_PIPE: u64 = 2 * MIB;

/// How far a player reads ahead of its cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadAhead {
    None,
    /// Like VLC 3.
    Vlc,
    Chromium,
    Of(BufferSize),
}

/// Bytes beyond the cache: below `low` it reads, up to `high`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks {
    pub low: u64,
    pub high: u64,
    /// Both grow by a tenth of what has been played, at most by this.
    pub growth: u64,
}

impl Marks {
    /// After so many bytes have been played.
    pub fn after(self, played: u64) -> Marks {
        let grown = (played / 10).min(self.growth);
        Marks { low: self.low + grown, high: self.high + grown, ..self }
    }
}

impl ReadAhead {
    /// The marks for media of this mean rate; packets count as the papers' 1460 B.
    pub(super) fn marks(self, mean_rate: Rate) -> Marks {
        let both = |bytes| Marks { low: bytes, high: bytes, growth: 0 };
        match self {
            ReadAhead::None => Marks::default(),
            ReadAhead::Vlc => VLC,
            ReadAhead::Chromium => {
                let preload = mean_rate.bytes_in(CHROMIUM_TIME).clamp(CHROMIUM_BYTES.0, CHROMIUM_BYTES.1);
                Marks { low: preload + CHROMIUM_PIPE, high: preload + 2 * CHROMIUM_PIPE, growth: preload }
            }
            ReadAhead::Of(size) => both(size.resolve(1460).bytes(mean_rate)),
        }
    }
}

impl FromStr for ReadAhead {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<ReadAhead, ParseError> {
        match text {
            "none" => Ok(ReadAhead::None),
            "vlc" => Ok(ReadAhead::Vlc),
            "chromium" => Ok(ReadAhead::Chromium),
            _ => text.parse().map(ReadAhead::Of),
        }
    }
}

#[cfg(test)]
mod tests;
