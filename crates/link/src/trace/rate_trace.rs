//! A trace as a piecewise constant rate.

use super::{BYTES_PER_OPPORTUNITY, MAX_ENTRIES, OpportunityTrace, TraceError};
use playpath_units::{Duration, Rate, Time};

/// Steps of the rate. Repeats with its period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateTrace {
    /// (start since the start of a lap, rate), starts strictly rising, the first at zero.
    steps: Vec<(Duration, Rate)>,
    period: Duration,
    /// (start since the start of a lap, latency) where the file gives one: not in force on a link, whose delay is the path's.
    latencies: Vec<(Duration, Duration)>,
}

impl RateTrace {
    /// A trace of (length, rate) for each step. Steps of length zero are removed, adjacent equal ones merged. Errors: no step left, or no
    /// rate above zero.
    pub fn new(steps: &[(Duration, Rate)]) -> Result<RateTrace, TraceError> {
        let (joined, end) = join(steps);
        if joined.is_empty() {
            return Err(TraceError::whole("it is empty; at least one step that lasts is needed"));
        }
        if joined.iter().all(|(_, rate)| rate.as_bits_per_sec() == 0) {
            return Err(TraceError::whole("its rate is 0 all the time; it must be above 0 at some time"));
        }
        Ok(RateTrace { steps: joined, period: end, latencies: Vec::new() })
    }

    /// The same with the latencies of the file it was read from: (length, latency) of each step, of the same period.
    pub(super) fn with_latencies(self, steps: &[(Duration, Duration)]) -> RateTrace {
        let (latencies, end) = join(steps);
        debug_assert_eq!(end, self.period);
        let are_all_zero = latencies.iter().all(|(_, latency)| latency.is_zero());
        RateTrace { latencies: if are_all_zero { Vec::new() } else { latencies }, ..self }
    }

    pub fn steps(&self) -> &[(Duration, Rate)] {
        &self.steps
    }
    pub fn period(&self) -> Duration {
        self.period
    }
    /// (start, length, rate) of each step.
    pub fn pieces(&self) -> impl Iterator<Item = (Duration, Duration, Rate)> + '_ {
        let ends = self.steps.iter().skip(1).map(|next| next.0).chain([self.period]);
        self.steps.iter().zip(ends).map(|(&(start, rate), end)| (start, end - start, rate))
    }
    /// (length, rate) of a lap that begins `start` into the trace.
    pub fn pieces_from(&self, start: Duration) -> Vec<(Duration, Rate)> {
        let start = Duration::from_nanos(start.as_nanos() % self.period.as_nanos());
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for (from, length, rate) in self.pieces() {
            let early = length.min(start.saturating_sub(from));
            before.push((early, rate));
            after.push((length - early, rate));
        }
        after.into_iter().chain(before).filter(|(length, _)| !length.is_zero()).collect()
    }
    /// (length, rate, latency) of a lap that begins `start` into the trace; without latencies in the file they are zero.
    pub fn pieces_with_latency(&self, start: Duration) -> Vec<(Duration, Rate, Duration)> {
        let latencies = if self.latencies.is_empty() { &[(Duration::ZERO, Duration::ZERO)] } else { &*self.latencies };
        let mut at = start;
        let mut pieces = Vec::new();
        for (length, rate) in self.pieces_from(start) {
            let mut left = length;
            while !left.is_zero() {
                let within = Duration::from_nanos(at.as_nanos() % self.period.as_nanos());
                let index = latencies.partition_point(|(from, _)| *from <= within) - 1;
                let end = latencies.get(index + 1).map_or(self.period, |next| next.0);
                let piece = left.min(end - within);
                pieces.push((piece, rate, latencies[index].1));
                at += piece;
                left -= piece;
            }
        }
        pieces
    }
    /// Lowest and highest latency of the file it was read from, if it gives one above zero.
    pub fn latency_range(&self) -> Option<(Duration, Duration)> {
        let all = || self.latencies.iter().map(|step| step.1);
        all().min().zip(all().max())
    }
    pub fn mean_rate(&self) -> Rate {
        Rate::from_bits_per_sec_f64(self.bits_until(Time::ZERO + self.period) / self.period.as_secs_f64())
    }

    /// Bits that the link could have carried until `now`.
    pub fn bits_until(&self, now: Time) -> f64 {
        let bits = |within: Duration| -> f64 {
            self.pieces()
                .take_while(|&(start, ..)| start < within)
                .map(|(start, length, rate)| rate.as_bits_per_sec() as f64 * length.min(within - start).as_secs_f64())
                .sum()
        };
        let (laps, rest) = (now.as_nanos() / self.period.as_nanos(), now.as_nanos() % self.period.as_nanos());
        laps as f64 * bits(self.period) + bits(Duration::from_nanos(rest))
    }

    /// Opportunities of [`BYTES_PER_OPPORTUNITY`], each at the millisecond in which its last bit could have been sent. The rest
    /// at the end of the period is less than one opportunity and is lost. Errors: too many opportunities.
    pub(super) fn to_opportunities(&self) -> Result<OpportunityTrace, TraceError> {
        const BITS: f64 = BYTES_PER_OPPORTUNITY as f64 * 8.0;
        if self.bits_until(Time::ZERO + self.period) / BITS > MAX_ENTRIES as f64 {
            return Err(TraceError::whole(format!("more than {MAX_ENTRIES} delivery opportunities")));
        }
        let mut opportunities: Vec<(Duration, u64)> = Vec::new();
        let mut bits = 0.0;
        for (start, length, rate) in self.pieces() {
            let rate = rate.as_bits_per_sec() as f64;
            let bits_at_end = bits + rate * length.as_secs_f64();
            let mut next = opportunities.len() as f64 * BITS + BITS;
            while next <= bits_at_end {
                let at = (start + Duration::from_secs_f64((next - bits) / rate)).min(start + length);
                let at = Duration::from_millis(at.as_nanos().div_ceil(1_000_000));
                opportunities.push((at, u64::from(BYTES_PER_OPPORTUNITY)));
                next += BITS;
            }
            bits = bits_at_end;
        }
        let period = Duration::from_millis(self.period.as_nanos().div_ceil(1_000_000));
        OpportunityTrace::new(&opportunities, period)
    }

    /// Lap and index of the step that holds at `now`.
    pub(crate) fn step_at(&self, now: Time) -> (u64, usize) {
        let (lap, offset) = (now.as_nanos() / self.period.as_nanos(), now.as_nanos() % self.period.as_nanos());
        (lap, self.steps.partition_point(|(start, _)| start.as_nanos() <= offset) - 1)
    }
}

/// (start, value) of steps given as (length, value), and the end of the last. Steps of length zero vanish, equal neighbours are joined.
fn join<T: Copy + PartialEq>(steps: &[(Duration, T)]) -> (Vec<(Duration, T)>, Duration) {
    let mut joined: Vec<(Duration, T)> = Vec::new();
    let mut end = Duration::ZERO;
    for &(length, value) in steps {
        if !length.is_zero() && joined.last().is_none_or(|last| last.1 != value) {
            joined.push((end, value));
        }
        end += length;
    }
    (joined, end)
}
