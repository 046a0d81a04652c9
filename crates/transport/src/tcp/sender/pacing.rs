//! Pacing: when the next data packet may leave.
//!
//! Reference: Linux 6.18 `tcp_update_pacing_rate` (200 % of max(cwnd, packets out) × MSS / SRTT while cwnd < ssthresh / 2, else
//! 120 %), `tcp_pacing_check` and `tcp_update_skb_after_send`: a group (`tso.rs`) leaves as a whole at its deadline; the next deadline is
//! its length / rate later, less what the group left after its own deadline, at most half; groups that end before the tenth segment
//! of the connection cost no time. So the profile `linux`.
//! With [`PacingBurst::Packets`] so many packets leave back to back, then the time of all of them passes, nothing is made up for, and the
//! first ten packets are not paced (the profiles `rfc` and `ns2`, one packet each).
//!
//! Differences from Linux:
//! 1. The rate of the transport's own rule is that of the moment, not that of the last ACK.
//! 2. A retransmission after a timeout and a tail loss probe that retransmits wait for their deadline, as all packets do.
//! 3. With `PacingBurst::Packets` a sender that only pacing holds back does not count as one that leaves its window unused (`usage.rs`).
//!
//! Units: payload bytes, as in Linux; headers are not counted. Invariant: the deadline never moves back.
//! Tested here, by `tests/packets/pacing*.pkt` and by `tests/pair.rs`.

use crate::tcp::config::{Pacing, PacingBurst};
use playpath_units::{Duration, Rate, Time};

/// Segments that leave unpaced at the start (Linux: "sch_fq does not pace first 10 MSS").
const UNPACED_START: u64 = 10;

#[derive(Debug, Default)]
pub(crate) struct Pacer {
    /// The next packet, or group, may leave at this time.
    next: Time,
    open: Open,
}

/// The burst that is leaving.
#[derive(Debug, Default)]
struct Open {
    packets: u32,
    bytes: u64,
    /// It left then, so long after its deadline.
    left_at: Time,
    credit: Duration,
}

impl Pacer {
    /// The next packet may leave at this time.
    pub fn next(&self) -> Time {
        self.next
    }

    /// A packet of `payload_bytes` left, number `number` of the connection (from 1), as the first of its group or as a further one.
    pub fn on_packet_sent(
        &mut self,
        burst: PacingBurst,
        now: Time,
        payload_bytes: u32,
        rate: Rate,
        number: u64,
        is_first: bool,
    ) {
        match burst {
            PacingBurst::Packets(most) if number > UNPACED_START => self.count(now, payload_bytes, rate, most),
            PacingBurst::Packets(_) => {}
            PacingBurst::Linux => self.extend_group(now, payload_bytes, rate, number, is_first),
        }
    }

    fn count(&mut self, now: Time, payload_bytes: u32, rate: Rate, most: u32) {
        self.open.packets += 1;
        self.open.bytes += u64::from(payload_bytes);
        if self.open.packets >= most {
            self.next = self.next.max(now) + rate.time_to_send(self.open.bytes);
            self.open = Open::default();
        }
    }

    /// `tcp_update_skb_after_send` of the group as it is with this packet.
    fn extend_group(&mut self, now: Time, payload_bytes: u32, rate: Rate, number: u64, is_first: bool) {
        if is_first {
            let credit = now.saturating_since(self.next);
            self.open = Open { left_at: self.next.max(now), credit, ..Open::default() };
        }
        self.open.bytes += u64::from(payload_bytes);
        self.next = self.open.left_at;
        if number >= UNPACED_START {
            let time = rate.time_to_send(self.open.bytes);
            self.next += time - self.open.credit.min(time / 2);
        }
    }
}

impl Pacing {
    /// No rate of its own: without one from the controller, packets leave at once.
    pub(crate) fn is_off(self) -> bool {
        matches!(self, Pacing::Off | Pacing::Controller)
    }

    /// The rate by the transport's own rule; `None`: as fast as the window allows.
    pub(crate) fn rate(self, cwnd: f64, ssthresh: f64, packets_out: u32, mss: u32, srtt: Duration) -> Option<Rate> {
        match self {
            Pacing::Off | Pacing::Controller => None,
            Pacing::Gain(gain) => window_rate(gain, cwnd, mss, srtt),
            Pacing::Linux => linux_rate(cwnd, ssthresh, packets_out, mss, srtt),
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

    /// A microsecond per byte.
    const RATE: Rate = Rate::from_bits_per_sec(8_000_000);

    /// cwnd 20, MSS 1448, SRTT 100 ms: 20*1448*8/0.1 = 2.3168 Mbit/s at gain 1, ×1.2 = 2.78016, ×2 = 4.6336.
    #[test]
    fn worked_rates() {
        let srtt = Duration::from_millis(100);
        let rate = |pacing: Pacing, ssthresh| pacing.rate(20.0, ssthresh, 20, 1448, srtt).map(Rate::as_bits_per_sec);
        assert_eq!(rate(Pacing::Gain(1.0), 10.0), Some(2_316_800));
        assert_eq!(rate(Pacing::Linux, 30.0), Some(2_780_160)); // 20 >= 30/2
        assert_eq!(rate(Pacing::Linux, f64::INFINITY), Some(4_633_600));
        assert_eq!(rate(Pacing::Off, 10.0), None);
    }

    #[test]
    fn a_burst_of_packets_leaves_together_and_nothing_is_made_up_for() {
        let (mut pacer, two) = (Pacer::default(), PacingBurst::Packets(2));
        let now = Time::from_secs(1);
        pacer.on_packet_sent(two, now, 1000, RATE, 10, true);
        pacer.on_packet_sent(two, now, 1000, RATE, 11, true);
        assert!(pacer.next() <= now);
        pacer.on_packet_sent(two, now, 1000, RATE, 12, true);
        assert_eq!(pacer.next(), now + Duration::from_millis(2));
        let late = now + Duration::from_millis(3);
        pacer.on_packet_sent(two, late, 1000, RATE, 13, true);
        pacer.on_packet_sent(two, late, 1000, RATE, 14, true);
        assert_eq!(pacer.next(), late + Duration::from_millis(2));
    }

    /// Groups of two of 1000 bytes at 1 us a byte; times after 1 s, in us. Segments 7 and 8 cost no time. With 10 the group 9, 10 ends
    /// no earlier than the tenth and costs 2000. 11 and 12 leave when due, at 2000: next at 4000. 13 and 14 leave 400 late, at 4400:
    /// 4400 + 2000 - 400 = 6000. 15 leaves alone 1500 late, at 7500: 1000 less half of it, 8000.
    #[test]
    fn worked_departures_of_linux_groups() {
        let mut pacer = Pacer::default();
        let mut send = |us: u64, number, is_first| {
            pacer.on_packet_sent(
                PacingBurst::Linux,
                Time::from_secs(1) + Duration::from_micros(us),
                1000,
                RATE,
                number,
                is_first,
            );
            pacer.next().saturating_since(Time::from_secs(1)).as_nanos() / 1000
        };
        assert_eq!((send(0, 7, true), send(0, 8, false)), (0, 0));
        assert_eq!((send(0, 9, true), send(0, 10, false)), (0, 2000));
        assert_eq!((send(2000, 11, true), send(2000, 12, false)), (3000, 4000));
        assert_eq!(send(4400, 13, true), 5000);
        assert_eq!(send(4400, 14, false), 6000);
        assert_eq!(send(7500, 15, true), 8000);
    }
}
