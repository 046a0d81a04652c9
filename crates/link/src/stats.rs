//! Statistics of a link.

use crate::ledger::{Count, Drops};
use playpath_units::{Duration, Time};

/// Counters and means from the start of the run until the time of the question.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkStats {
    pub offered: Count,
    /// Handed out at its far end.
    pub delivered: Count,
    pub dropped: Drops,
    pub ce_marked_packets: u64,
    /// Packets whose ECN field the hop changed; `None` for a hop that leaves it alone.
    pub rewritten_packets: Option<u64>,
    /// The queue's classes, by name; empty for a queue without classes.
    pub classes: [Option<(&'static str, ClassStats)>; 2],
    pub busy_time: Duration,
    /// Share of the capacity used: busy time over elapsed time at a constant rate, bytes sent over bytes possible on a
    /// trace; 0 for an unlimited link.
    pub utilisation: f64,
    /// Mean over time of the number of packets in the queue.
    pub mean_queue_packets: f64,
    /// Standard deviation over time of the number of packets in the queue.
    pub sd_queue_packets: f64,
    pub max_queue_packets: u32,
}

/// One class of a queue that keeps several.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClassStats {
    /// Handed to the class, those that the limit refused included.
    pub arrived: Count,
    pub sent: Count,
    /// Dropped, by the limit or by the management.
    pub dropped: Count,
    /// Number of the sent packets that were marked CE here.
    pub ce_marked_packets: u64,
    /// Time in the queue of those sent on, in all.
    pub waited: Duration,
    pub longest_wait: Duration,
}

impl ClassStats {
    pub fn waiting(&self) -> Count {
        let (arrived, sent, dropped) = (self.arrived, self.sent, self.dropped);
        Count {
            packets: arrived.packets - sent.packets - dropped.packets,
            bytes: arrived.bytes - sent.bytes - dropped.bytes,
        }
    }

    /// Mean time in the queue of those sent on; `None` without one.
    pub fn mean_wait(&self) -> Option<Duration> {
        (self.sent.packets > 0).then(|| self.waited / self.sent.packets)
    }

    #[inline]
    pub(crate) fn note_sent(&mut self, wire_bytes: u32, waited: Duration, is_marked: bool) {
        self.sent.add_packet(wire_bytes);
        self.ce_marked_packets += u64::from(is_marked);
        self.waited += waited;
        self.longest_wait = self.longest_wait.max(waited);
    }
}

/// Integrates the queue length over time.
#[derive(Clone, Debug, Default)]
pub(crate) struct QueueMeter {
    packets: u32,
    since: Time,
    max: u32,
    /// Packets × ns.
    area: u128,
    /// Packets² × ns.
    area_of_squares: u128,
}

impl QueueMeter {
    #[inline]
    pub(crate) fn set(&mut self, now: Time, packets: u32) {
        if packets != self.packets {
            self.integrate(now);
            self.packets = packets;
            self.max = self.max.max(packets);
        }
    }

    #[inline]
    fn integrate(&mut self, now: Time) {
        let packets = u64::from(self.packets);
        // Fits: 10 000 packets for 500 hours between two changes.
        let area = packets * (now - self.since).as_nanos();
        self.area += u128::from(area);
        self.area_of_squares += u128::from(area) * u128::from(packets);
        self.since = now;
    }

    /// Mean and standard deviation over time, from the start of the run until `now`; and the maximum.
    pub(crate) fn summary(&mut self, now: Time) -> (f64, f64, u32) {
        self.integrate(now);
        if now == Time::ZERO {
            return (0.0, 0.0, self.max);
        }
        let elapsed = now.as_nanos() as f64;
        let mean = self.area as f64 / elapsed;
        let variance = self.area_of_squares as f64 / elapsed - mean * mean;
        (mean, libm::sqrt(variance.max(0.0)), self.max)
    }
}
