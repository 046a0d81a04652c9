//! A trace as delivery opportunities: at this time, this many bytes may leave.

use super::{MAX_ENTRIES, RateTrace, TraceError};
use playpath_units::{Duration, Rate, Time};

/// Bytes per line of a Mahimahi trace: a full-sized packet.
pub const BYTES_PER_OPPORTUNITY: u32 = 1500;

/// Opportunities in order of time, those of the same time joined. Repeats with its period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpportunityTrace {
    /// (time since the start of a lap, bytes), times strictly rising, bytes above zero.
    opportunities: Vec<(Duration, u64)>,
    /// Time and sum of bytes: bytes of one lap until and with each opportunity.
    cumulative: Vec<u64>,
    period: Duration,
}

impl OpportunityTrace {
    /// A trace of (time, bytes) in order of time, repeated every `period`. Errors: no bytes at all, times that go back,
    /// times beyond the period, a period of zero.
    pub fn new(opportunities: &[(Duration, u64)], period: Duration) -> Result<OpportunityTrace, TraceError> {
        if period.is_zero() {
            return Err(TraceError::whole("it lasts 0 ms; it must last longer"));
        }
        let mut joined: Vec<(Duration, u64)> = Vec::new();
        for (&(at, bytes), number) in opportunities.iter().zip(1..) {
            match joined.last_mut() {
                Some(last) if at < last.0 => {
                    return Err(TraceError::at(number, format!("time {at} is before the one above, {}", last.0)));
                }
                _ if at > period => {
                    return Err(TraceError::at(number, format!("time {at} is after the end of the trace, {period}")));
                }
                Some(last) if at == last.0 => last.1 += bytes,
                _ => joined.push((at, bytes)),
            }
        }
        joined.retain(|&(_, bytes)| bytes > 0);
        let cumulative: Vec<u64> = joined
            .iter()
            .scan(0, |sum, &(_, bytes)| {
                *sum += bytes;
                Some(*sum)
            })
            .collect();
        if joined.is_empty() {
            return Err(TraceError::whole("it is empty; at least one delivery opportunity is needed"));
        }
        Ok(OpportunityTrace { opportunities: joined, cumulative, period })
    }

    pub fn opportunities(&self) -> &[(Duration, u64)] {
        &self.opportunities
    }
    pub fn period(&self) -> Duration {
        self.period
    }
    pub fn bytes_per_period(&self) -> u64 {
        *self.cumulative.last().expect("never empty")
    }
    /// Bytes of one lap over its length.
    pub fn mean_rate(&self) -> Rate {
        Rate::from_bits_per_sec_f64(self.bytes_per_period() as f64 * 8.0 / self.period.as_secs_f64())
    }

    /// Bytes of all opportunities until and with `now`.
    pub fn bytes_until(&self, now: Time) -> u64 {
        let (lap, index) = self.first_after(now);
        let within_lap = if index == 0 { 0 } else { self.cumulative[index - 1] };
        lap.saturating_mul(self.bytes_per_period()).saturating_add(within_lap)
    }

    /// Averaged over steps of `bin`; the last step may be shorter. An opportunity belongs to the step that ends with it.
    /// Errors: a bin of zero, or more steps than anyone can use.
    pub fn to_rate(&self, bin: Duration) -> Result<RateTrace, TraceError> {
        if bin.is_zero() || self.period.as_nanos() / bin.as_nanos() > MAX_ENTRIES {
            return Err(TraceError::whole(format!("{} cannot be cut into steps of {bin}", self.period)));
        }
        let mut steps = Vec::new();
        let (mut from, mut bytes_before) = (Duration::ZERO, 0);
        while from < self.period {
            let to = (from + bin).min(self.period);
            let until = self.opportunities.partition_point(|(at, _)| *at <= to);
            let bytes = if until == 0 { 0 } else { self.cumulative[until - 1] };
            let bits = (bytes - bytes_before) as f64 * 8.0;
            steps.push((to - from, Rate::from_bits_per_sec_f64(bits / (to - from).as_secs_f64())));
            (from, bytes_before) = (to, bytes);
        }
        RateTrace::new(&steps)
    }

    /// Lap and index of the first opportunity after `now`.
    pub(crate) fn first_after(&self, now: Time) -> (u64, usize) {
        let (lap, offset) = (now.as_nanos() / self.period.as_nanos(), now.as_nanos() % self.period.as_nanos());
        let index = self.opportunities.partition_point(|(at, _)| at.as_nanos() <= offset);
        if index == self.opportunities.len() { (lap + 1, 0) } else { (lap, index) }
    }
}
