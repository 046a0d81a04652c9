//! Common media server data: the data that a server sends to the player with a response (CTA-5006).
//!
//! Form: the header `CMSD-Dynamic`, a list of strings with parameters (RFC 9651 §3.1), one for each server on the way, the nearest
//! to the player last: `"origin";etp=5200;mb=3000;rtt=48`. Of its keys those that a player uses: `etp` (throughput that the server
//! expects to the player, kbit/s), `mb` (highest rate that the player should choose, kbit/s), `rtt` (ms).
//! Differences: `etp` is not rounded; `CMSD-Static` repeats what the manifest says and is not sent. Reading takes the last entry, as
//! dash.js does.
//!
//! Tested by `tests/cmsd.rs`.

use crate::ServerPolicy;
use playpath_units::{Duration, Rate};
use sfv::{BareItem, List, ListEntry, Parser};
use std::fmt::Write;

/// A server's data about itself and the path to the player.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cmsd {
    /// `etp`: estimated throughput, kbit/s.
    pub etp_kbps: Option<u64>,
    /// `mb`: maximum suggested bitrate, kbit/s.
    pub mb_kbps: Option<u64>,
    /// `rtt`: round-trip time, ms.
    pub rtt_ms: Option<u64>,
}

/// Most kbit/s and ms that are believed.
const MAX: i64 = 1_000_000_000;

impl Cmsd {
    /// Data of a server whose transport has measured these delivery rates and smoothed RTTs, one per path; zero if not measured yet.
    pub fn of_server(measured: impl IntoIterator<Item = (Rate, Duration)>, policy: ServerPolicy) -> Cmsd {
        let (rates, rtts): (Vec<Rate>, Vec<Duration>) = measured.into_iter().unzip();
        let kbps = rates.iter().map(|rate| rate.as_bits_per_sec()).sum::<u64>() / 1000;
        let rtt = rtts.into_iter().filter(|rtt| !rtt.is_zero()).min();
        Cmsd {
            etp_kbps: Some(kbps).filter(|&kbps| kbps > 0),
            mb_kbps: policy.max_rate.map(|rate| rate.as_bits_per_sec() / 1000),
            rtt_ms: rtt.map(|rtt| rtt.as_nanos() / 1_000_000),
        }
    }

    /// Value of the header; empty without data.
    pub fn dynamic(&self) -> String {
        let keys = [("etp", self.etp_kbps), ("mb", self.mb_kbps), ("rtt", self.rtt_ms)];
        if keys.iter().all(|(_, value)| value.is_none()) {
            return String::new();
        }
        let mut text = String::from("\"origin\"");
        for (key, value) in keys {
            if let Some(value) = value {
                let _ = write!(text, ";{key}={value}");
            }
        }
        text
    }

    /// Bytes of the header's line; 0 without data.
    pub fn header_bytes(&self) -> u64 {
        match self.dynamic().len() {
            0 => 0,
            value => (value + "CMSD-Dynamic: \r\n".len()) as u64,
        }
    }

    /// Reads the header. Malformed values, and numbers other than integers from 0 to 10^9, are ignored.
    pub fn parse(header: &str) -> Cmsd {
        let list = Parser::new(header).parse::<List>().unwrap_or_default();
        let Some(ListEntry::Item(item)) = list.last() else { return Cmsd::default() };
        let value = |key: &str| {
            let found = item.params.iter().find(|(name, _)| name.as_str() == key);
            let number =
                found.and_then(|(_, value)| if let BareItem::Integer(n) = value { Some(i64::from(*n)) } else { None });
            number.filter(|n| (0..=MAX).contains(n)).map(|n| n as u64)
        };
        Cmsd { etp_kbps: value("etp"), mb_kbps: value("mb"), rtt_ms: value("rtt") }
    }
}
