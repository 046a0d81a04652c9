//! Delivery opportunities, as in Mahimahi's `mm-link`.
//!
//! Reference: R. Netravali et al., "Mahimahi: Accurate Record-and-Replay for HTTP", USENIX ATC 2015; `link_queue.cc`.
//! At each opportunity the link may carry a number of bytes. A packet may need several opportunities, and several packets may
//! share one. What is left when the queue is empty is lost. The trace repeats from its last timestamp.
//!
//! Differences from the reference
//! 1. Arrival times are in nanoseconds; Mahimahi's are cut to milliseconds. As there, a packet that arrives at the very
//!    moment of an opportunity has missed it.
//! 2. An opportunity carries 1500 bytes by default; present Mahimahi says 1504 and counts 4 bytes of its TUN header per packet.
//!
//! Units: ns, bytes. Invariant: departures never go back. Tested: hand-worked schedules, wrapping, against a slow
//! step-by-step model on random arrivals.

use crate::trace::OpportunityTrace;
use playpath_units::Time;
use std::sync::Arc;

pub(crate) struct OpportunityServer {
    trace: Arc<OpportunityTrace>,
    /// Next opportunity: its lap (times the trace has been played) and index.
    lap: u64,
    index: usize,
    /// Bytes left of the opportunity at which the last packet left.
    left_bytes: u64,
    is_idle: bool,
}

impl OpportunityServer {
    pub(crate) fn new(trace: Arc<OpportunityTrace>) -> OpportunityServer {
        OpportunityServer { trace, lap: 0, index: 0, left_bytes: 0, is_idle: true }
    }

    pub(crate) fn departure(&mut self, start: Time, wire_bytes: u32) -> Time {
        if self.is_idle {
            self.skip_until_after(start);
            self.is_idle = false;
        }
        let mut missing = u64::from(wire_bytes);
        let mut at = start;
        loop {
            let used = missing.min(self.left_bytes);
            self.left_bytes -= used;
            missing -= used;
            if missing == 0 {
                return at;
            }
            at = self.take_next();
        }
    }

    pub(crate) fn go_idle(&mut self) {
        self.left_bytes = 0;
        self.is_idle = true;
    }

    pub(crate) fn capacity_bytes(&self, now: Time) -> f64 {
        self.trace.bytes_until(now) as f64
    }

    fn take_next(&mut self) -> Time {
        let (offset, bytes) = self.trace.opportunities()[self.index];
        let at = self.trace.period() * self.lap + offset;
        self.left_bytes = bytes;
        self.index += 1;
        if self.index == self.trace.opportunities().len() {
            self.index = 0;
            self.lap += 1;
        }
        Time::ZERO + at
    }

    fn skip_until_after(&mut self, start: Time) {
        let (lap, index) = self.trace.first_after(start);
        // Never back: the present lap and index are already past all that has been used.
        (self.lap, self.index) = (lap, index).max((self.lap, self.index));
    }
}
