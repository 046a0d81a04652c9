//! A piecewise constant rate; the rest of a packet in transmission when the rate changes is sent at the new rate.
//!
//! Reference: the fluid reading of throughput traces (Pensieve, Sabre: "this many Mbit/s from here on").
//! Differences: those tools have no packets; here each packet takes the time in which the integral of the rate reaches its size,
//! rounded up to a nanosecond. The trace repeats from its end.
//!
//! Units: ns, bit/s. Invariant: departures never go back. Tested: hand-worked steps, outages, wrapping, long-run mean rate.

use crate::trace::RateTrace;
use playpath_units::Time;
use std::sync::Arc;

pub(crate) struct RateTraceServer {
    trace: Arc<RateTrace>,
    lap: u64,
    index: usize,
}

impl RateTraceServer {
    pub(crate) fn new(trace: Arc<RateTrace>) -> RateTraceServer {
        RateTraceServer { trace, lap: 0, index: 0 }
    }

    pub(crate) fn departure(&mut self, start: Time, wire_bytes: u32) -> Time {
        self.seek(start);
        // In units of 10^-9 bit, so that rate × nanoseconds needs no division.
        let mut missing = u64::from(wire_bytes) * 8_000_000_000;
        let mut at = start.as_nanos();
        loop {
            let rate = self.trace.steps()[self.index].1.as_bits_per_sec();
            let end = self.end_of_step();
            if rate > 0 {
                let needed = missing.div_ceil(rate);
                if needed <= end - at {
                    return Time::from_nanos(at + needed);
                }
                missing -= rate * (end - at); // less than `missing`, as needed > end - at
            }
            at = end;
            self.next_step();
        }
    }

    pub(crate) fn capacity_bytes(&self, now: Time) -> f64 {
        self.trace.bits_until(now) / 8.0
    }

    fn seek(&mut self, start: Time) {
        if self.end_of_step() <= start.as_nanos() {
            (self.lap, self.index) = self.trace.step_at(start);
        }
    }

    fn end_of_step(&self) -> u64 {
        let steps = self.trace.steps();
        let end = steps.get(self.index + 1).map_or(self.trace.period(), |next| next.0);
        self.lap * self.trace.period().as_nanos() + end.as_nanos()
    }

    fn next_step(&mut self) {
        self.index += 1;
        if self.index == self.trace.steps().len() {
            self.index = 0;
            self.lap += 1;
        }
    }
}
