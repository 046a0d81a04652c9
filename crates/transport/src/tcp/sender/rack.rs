//! RACK loss detection and the timing of tail loss probes.
//!
//! Reference: RFC 8985.
//! Differences from the reference:
//! 1. The reordering timer is armed for the first open packet, not for the last (§6.2 step 5): every packet is marked when
//!    its own window ends.
//! 2. `min_rtt` is that of the connection, not of a recent window.
//! 3. The delivery of a retransmission is not doubted for an old timestamp echo (§6.2 step 2), as in Linux (`tcp_rack_advance`): the echo
//!    of a SACK is that of the last segment in order (RFC 7323 §4.3), so no retransmission above a hole would ever count, and
//!    the lost repair of the hole would be found by the timeout alone.
//!
//! Tested here (worked numbers) and by the packet scripts `rack_*.pkt`, `tlp_*.pkt`.

use crate::tcp::sender::scoreboard::{EVER_RETRANS, SentPacket, Verdict};
use playpath_units::{Duration, Time};

/// DupThresh of RFC 8985 §6.2 step 4.
const DUP_THRESH: u32 = 3;
/// Recoveries after which a widened window returns to normal (§6.2 step 4).
const WINDOW_PERSIST: u32 = 16;
/// Longest time a receiver may delay an ACK (§7.2, WCDelAckT).
pub(crate) const WORST_DELAYED_ACK: Duration = Duration::from_millis(200);

#[derive(Debug, Default)]
pub(crate) struct Rack {
    /// RACK.xmit_ts and RACK.end_seq: the packet sent last among the delivered.
    sent_at: Time,
    end: u64,
    /// RACK.rtt.
    rtt: Duration,
    /// RACK.fack: highest offset delivered.
    pub fack: u64,
    pub reordering_seen: bool,
    /// RACK.reo_wnd_mult, less one.
    widened: u32,
    persist: u32,
    /// RACK.dsack_round: no second widening before this offset is acknowledged.
    dsack_round: Option<u64>,
    reo_wnd: Duration,
}

/// What decides the reordering window, beside RACK's own state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RackContext {
    pub min_rtt: Duration,
    pub srtt: Duration,
    pub in_recovery: bool,
    pub sacked_out: u32,
}

impl Rack {
    /// A packet was delivered (§6.2 steps 1 to 3). `is_ambiguous`: it was retransmitted, and by the RTT the ACK may be for an
    /// earlier transmission.
    pub fn on_delivered(&mut self, now: Time, packet: &SentPacket, is_ambiguous: bool) {
        let end = packet.end();
        if end > self.fack {
            self.fack = end;
        } else if end < self.fack && !packet.is(EVER_RETRANS) {
            self.reordering_seen = true;
        }
        if !is_ambiguous && sent_after(packet.sent_at, end, self.sent_at, self.end) {
            self.rtt = now.saturating_since(packet.sent_at);
            (self.sent_at, self.end) = (packet.sent_at, end);
        }
    }

    /// A DSACK arrived (§6.2 step 4): tolerate more reordering.
    pub fn on_dsack(&mut self, una: u64, nxt: u64) {
        if self.dsack_round.is_none_or(|end| una >= end) {
            self.dsack_round = Some(nxt);
            self.widened += 1;
            self.persist = WINDOW_PERSIST;
        }
    }

    /// A recovery ended.
    pub fn on_recovery_exit(&mut self) {
        if self.persist > 0 {
            self.persist -= 1;
            if self.persist == 0 {
                self.widened = 0;
            }
        }
    }

    /// Set the reordering window for the verdicts of this event (§6.2 step 4).
    pub fn update_reordering_window(&mut self, context: RackContext) {
        self.reo_wnd = if !self.reordering_seen && (context.in_recovery || context.sacked_out >= DUP_THRESH)
            || context.min_rtt == Duration::MAX
        {
            Duration::ZERO
        } else {
            (context.min_rtt * u64::from(1 + self.widened) / 4).min(context.srtt)
        };
    }

    /// Is this packet lost (§6.2 step 5)?
    pub fn verdict(&self, now: Time, packet: &SentPacket) -> Verdict {
        if !sent_after(self.sent_at, self.end, packet.sent_at, packet.end()) {
            return Verdict::Open(Time::MAX);
        }
        let deadline = packet.sent_at + self.rtt + self.reo_wnd;
        if now >= deadline { Verdict::Lost } else { Verdict::Open(deadline) }
    }
}

/// Time from the last data or ACK to the tail loss probe (§7.2 TLP_calc_PTO), before the bound by the RTO.
pub(crate) fn probe_timeout(srtt: Duration, packets_out: u32) -> Duration {
    match (srtt.is_zero(), packets_out) {
        (true, _) => Duration::from_secs(1),
        (false, 1) => srtt * 2 + WORST_DELAYED_ACK,
        (false, _) => srtt * 2,
    }
}

/// RACK_sent_after: ties of time are broken by sequence.
fn sent_after(t1: Time, end1: u64, t2: Time, end2: u64) -> bool {
    t1 > t2 || (t1 == t2 && end1 > end2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(x: u64) -> Duration {
        Duration::from_millis(x)
    }

    fn context(min_rtt: u64) -> RackContext {
        RackContext { min_rtt: ms(min_rtt), srtt: ms(100), in_recovery: false, sacked_out: 1 }
    }

    #[test]
    fn window_is_a_quarter_of_min_rtt_and_grows_by_dsack() {
        let mut rack = Rack::default();
        rack.update_reordering_window(context(40));
        assert_eq!(rack.reo_wnd, ms(10)); // 40/4
        rack.on_dsack(0, 1000);
        rack.update_reordering_window(context(40));
        assert_eq!(rack.reo_wnd, ms(20)); // 2*40/4
        rack.on_dsack(500, 2000); // same round: once
        rack.update_reordering_window(context(40));
        assert_eq!(rack.reo_wnd, ms(20));
        for i in 1..=20 {
            rack.on_dsack(i * 2000, (i + 1) * 2000);
        }
        rack.update_reordering_window(context(40));
        assert_eq!(rack.reo_wnd, ms(100)); // never above SRTT
        for _ in 0..16 {
            rack.on_recovery_exit();
        }
        rack.update_reordering_window(context(40));
        assert_eq!(rack.reo_wnd, ms(10));
    }

    #[test]
    fn window_is_zero_in_recovery_until_reordering_is_seen() {
        let mut rack = Rack::default();
        let recovering = RackContext { in_recovery: true, ..context(40) };
        rack.update_reordering_window(recovering);
        assert_eq!(rack.reo_wnd, Duration::ZERO);
        rack.update_reordering_window(RackContext { sacked_out: 3, ..context(40) });
        assert_eq!(rack.reo_wnd, Duration::ZERO);
        rack.reordering_seen = true;
        rack.update_reordering_window(recovering);
        assert_eq!(rack.reo_wnd, ms(10));
    }

    #[test]
    fn probe_timeouts() {
        assert_eq!(probe_timeout(ms(100), 2), ms(200));
        assert_eq!(probe_timeout(ms(100), 1), ms(400));
        assert_eq!(probe_timeout(Duration::ZERO, 5), ms(1000));
    }
}
