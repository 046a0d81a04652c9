//! How playpath's own client asks playpath's own servers to pace a response: [`Delivery`] as a header field of the request.
//!
//! `Playpath-Delivery: 2500 bytes every 100000000 ns`, `… after 200000000 ns`, or
//! `… 1 of 4 next at 81230000000 ns every 500000000 ns`, whose `next at` is on the machine's monotonic clock, which client
//! and server share. Other servers ignore the field.

use playpath_units::{Duration, Time};
use playpath_video::Delivery;

pub const DELIVERY: &str = "Playpath-Delivery";
const LONGEST: Duration = Duration::from_secs(86_400);

/// The line of a request; empty where the response is written as fast as the socket takes it. `nanos_at`: the monotonic clock at a time
/// of the client's.
pub fn delivery_line(delivery: Delivery, nanos_at: impl Fn(Time) -> u64) -> String {
    let value = match delivery {
        Delivery::AsFastAsPossible => return String::new(),
        Delivery::After(wait) => format!("after {} ns", wait.min(LONGEST).as_nanos()),
        Delivery::Chunks { bytes, every } => format!("{bytes} bytes every {} ns", every.as_nanos()),
        Delivery::AsEncoded { pieces, encoded, next_at, every } => {
            format!("{encoded} of {pieces} next at {} ns every {} ns", nanos_at(next_at), every.as_nanos())
        }
    };
    format!("{DELIVERY}: {value}\r\n")
}

/// Value of the field, read back; `time_at`: the server's time when the monotonic clock shows so many nanoseconds. `None`: it cannot be read.
pub fn read_delivery(value: &str, time_at: impl Fn(u64) -> Time) -> Option<Delivery> {
    let number = |word: &str| word.parse::<u64>().ok();
    let duration = |word: &str| number(word).map(Duration::from_nanos).filter(|duration| *duration <= LONGEST);
    let beat = |word: &str| duration(word).filter(|every| !every.is_zero());
    let delivery = match value.split(' ').collect::<Vec<_>>()[..] {
        ["after", wait, "ns"] => Delivery::After(duration(wait)?),
        [bytes, "bytes", "every", every, "ns"] => {
            Delivery::Chunks { bytes: number(bytes).filter(|bytes| *bytes > 0)?, every: beat(every)? }
        }
        [encoded, "of", pieces, "next", "at", next_at, "ns", "every", every, "ns"] => {
            let (encoded, pieces) = (encoded.parse().ok()?, pieces.parse().ok().filter(|pieces| *pieces > 0)?);
            (encoded <= pieces).then_some(())?;
            Delivery::AsEncoded { pieces, encoded, next_at: time_at(number(next_at)?), every: beat(every)? }
        }
        _ => return None,
    };
    Some(delivery)
}

#[cfg(test)]
mod tests;
