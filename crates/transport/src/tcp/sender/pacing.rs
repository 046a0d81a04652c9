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
//! 1. The rate of the transport's own rule is computed when it is used, not with the last ACK.
//! 2. A retransmission after a timeout and a tail loss probe that retransmits wait for their deadline, as all packets do.
//! 3. With `PacingBurst::Packets`, a sender limited only by pacing does not count as leaving its window unused (`usage.rs`).
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

#[derive(Debug, Default)]
struct Open {
    packets: u32,
    bytes: u64,
    /// When the group was sent, and how long after its deadline.
    left_at: Time,
    credit: Duration,
}

impl Pacer {
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
mod tests;
