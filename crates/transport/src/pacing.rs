//! Pacing: when the next data packet may leave.
//!
//! Reference: Linux `tcp_update_pacing_rate` (200 % of max(cwnd, packets out) × MSS / SRTT while cwnd < ssthresh / 2, else
//! 120 %) and `sch_fq` (the first ten packets are not paced).
//! Differences from Linux:
//! 1. `quantum` packets leave back to back, then the time of all of them passes; Linux sizes bursts to a millisecond (TSO).
//! 2. Time lost by a late wake-up is not made up for. In virtual time wake-ups are never late.
//! 3. The rate counts payload, not headers.
//! 4. A sender that only pacing holds back does not count as one that leaves its window unused.
//!
//! Tested here and by `tests/pair.rs`.

use crate::config::{Config, Pacing};
use playpath_units::{Duration, Rate, Time};

/// Packets that leave unpaced at the start (sch_fq: "does not pace first 10 MSS").
const UNPACED_START: u64 = 10;

#[derive(Debug)]
pub(crate) struct Pacer {
    mode: Pacing,
    quantum: u32,
    /// The next packet may leave at this time.
    next: Time,
    /// Packets sent of the quantum, and the time they take.
    sent: u32,
    debt: Duration,
}

impl Pacer {
    pub fn new(config: &Config) -> Pacer {
        Pacer {
            mode: config.pacing,
            quantum: config.pacing_quantum.max(1),
            next: Time::ZERO,
            sent: 0,
            debt: Duration::ZERO,
        }
    }

    /// The next packet may leave at this time.
    pub fn next(&self) -> Time {
        self.next
    }

    /// No rate of its own: without one from the controller, packets leave at once.
    pub fn is_off(&self) -> bool {
        matches!(self.mode, Pacing::Off | Pacing::Controller)
    }

    /// The rate by the transport's own rule; `None`: as fast as the window allows.
    pub fn rate(&self, cwnd: f64, ssthresh: f64, packets_out: u32, mss: u32, srtt: Duration) -> Option<Rate> {
        let (gain, window) = match self.mode {
            Pacing::Off | Pacing::Controller => return None,
            Pacing::Gain(gain) => (gain, cwnd),
            Pacing::Linux => return linux_rate(cwnd, ssthresh, packets_out, mss, srtt),
        };
        window_rate(gain, window, mss, srtt)
    }

    /// A packet of `payload_bytes` left. `packets_before`: data packets sent before it.
    pub fn on_packet_sent(&mut self, now: Time, payload_bytes: u32, rate: Rate, packets_before: u64) {
        if packets_before < UNPACED_START {
            return;
        }
        self.debt += rate.time_to_send(u64::from(payload_bytes));
        self.sent += 1;
        if self.sent >= self.quantum {
            self.next = self.next.max(now) + self.debt;
            self.sent = 0;
            self.debt = Duration::ZERO;
        }
    }
}

/// `tcp_update_pacing_rate`; `None` before the first RTT.
pub(crate) fn linux_rate(cwnd: f64, ssthresh: f64, packets_out: u32, mss: u32, srtt: Duration) -> Option<Rate> {
    let gain = if cwnd < ssthresh / 2.0 { 2.0 } else { 1.2 };
    window_rate(gain, cwnd.max(f64::from(packets_out)), mss, srtt)
}

fn window_rate(gain: f64, window: f64, mss: u32, srtt: Duration) -> Option<Rate> {
    if srtt.is_zero() {
        return None;
    }
    Some(Rate::from_bits_per_sec_f64(gain * window * f64::from(mss) * 8.0 / srtt.as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// cwnd 20, MSS 1448, SRTT 100 ms: 20*1448*8/0.1 = 2.3168 Mbit/s at gain 1, ×1.2 = 2.78016, ×2 = 4.6336.
    #[test]
    fn worked_rates() {
        let srtt = Duration::from_millis(100);
        let rate = |pacing, ssthresh| {
            let pacer = Pacer::new(&Config { pacing, ..Config::linux() });
            pacer.rate(20.0, ssthresh, 20, 1448, srtt).map(Rate::as_bits_per_sec)
        };
        assert_eq!(rate(Pacing::Gain(1.0), 10.0), Some(2_316_800));
        assert_eq!(rate(Pacing::Linux, 30.0), Some(2_780_160)); // 20 >= 30/2
        assert_eq!(rate(Pacing::Linux, f64::INFINITY), Some(4_633_600));
        assert_eq!(rate(Pacing::Off, 10.0), None);
    }

    #[test]
    fn the_quantum_leaves_together() {
        let mut pacer = Pacer::new(&Config { pacing: Pacing::Gain(1.0), pacing_quantum: 2, ..Config::linux() });
        let rate = Rate::from_bits_per_sec(8_000_000); // a microsecond per byte
        let now = Time::from_secs(1);
        pacer.on_packet_sent(now, 1000, rate, 10);
        assert!(pacer.next() <= now);
        pacer.on_packet_sent(now, 1000, rate, 11);
        assert_eq!(pacer.next(), now + Duration::from_millis(2));
    }
}
