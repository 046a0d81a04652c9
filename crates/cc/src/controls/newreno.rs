//! NewReno: the window of standard TCP.
//!
//! Reference: RFC 5681 §3.1 (slow start, congestion avoidance); RFC 6582 and RFC 6675 for when a reduction happens,
//! which is the transport's part; RFC 3168 §6.1.2 and RFC 8511 for ECN.
//!
//! Differences from the reference:
//! 1. Congestion avoidance counts acknowledged packets, `cwnd += acked / cwnd` (the recommended form of RFC 5681 §3.1;
//!    RFC 3465): one packet per round trip with delayed ACKs, too.
//! 2. The window may be fractional; the transport sends whole packets.
//! 3. Reductions start from `min(FlightSize, cwnd)`; `reduce_from = "cwnd"` is Linux's `reno`. See `windows.rs`.
//!
//! Units: packets. Tested here by worked examples and by `tests/contract.rs`; against the square-root law in the crate `sim`.

use crate::kernel::{self, InKernel};
use crate::parts::reno::{Reno, RenoBased};
use crate::parts::slow_start::{ABC_LIMIT, PACED, slow_start_spec};
use crate::parts::windows::{ECN_BETA, REDUCE_FROM, remaining_after};
use crate::registry::{Behaviour, Entry};
use crate::{CongestionEvent, View};

/// Registry entry.
pub static ENTRY: Entry = Entry {
    name: "newreno",
    aliases: &["reno"],
    summary: "standard TCP: +1 packet per round trip, halved on loss",
    reference: "RFC 5681, RFC 6582",
    params: &[slow_start_spec("classic"), ABC_LIMIT, PACED, REDUCE_FROM, ECN_BETA],
    in_kernel: Some(InKernel { newcwv: Some(&kernel::NEWCWV), ..InKernel::linux("reno") }),
    is_coupled: false,
    behaviour: Behaviour::LOSS_BASED,
    build: |params, initial_window| {
        Box::new(NewReno { reno: Reno::new(params, initial_window), ecn_beta: params.number("ecn_beta") })
    },
};

/// RFC 5681 as it is: a half remains after a loss (equation 4).
pub struct NewReno {
    reno: Reno,
    ecn_beta: f64,
}

impl RenoBased for NewReno {
    const NAME: &'static str = ENTRY.name;

    fn reno(&self) -> &Reno {
        &self.reno
    }
    fn reno_mut(&mut self) -> &mut Reno {
        &mut self.reno
    }

    fn reduce(&mut self, view: &View, event: &CongestionEvent) {
        let remaining = remaining_after(event.signal, self.ecn_beta, self.remaining(view));
        let window = remaining * self.reno.reducible(event);
        self.reno.windows.reduce_to(window, event.signal);
    }
}

#[cfg(test)]
mod tests {
    use crate::testbed::{Script, assert_close};

    #[test]
    fn one_packet_per_round_trip() {
        let mut script = Script::new("newreno", 20.0);
        script.lose(); // 20 * 0.5
        script.exit_recovery();
        assert_eq!((script.cwnd(), script.cc.ssthresh()), (10.0, 10.0));
        // Ten ACKs: w^2 grows by a little over 2 each (2 + 1/w^2), so w goes to about sqrt(100 + 20.09) = 10.9586.
        script.round();
        assert!((script.cwnd() - 10.9586).abs() < 1e-3, "{}", script.cwnd());
        // With delayed ACKs the same number of packets: 10 + 5 * 2/10.4 or so; eleven packets make at least a whole one.
        let mut delayed = Script::new("newreno", 20.0);
        delayed.lose();
        (0..6).for_each(|_| delayed.ack(2));
        assert!(delayed.cwnd() > 11.0 && delayed.cwnd() < 11.2, "{}", delayed.cwnd());
    }

    #[test]
    fn halves_what_was_in_flight() {
        let mut script = Script::new("newreno", 40.0);
        script.lose_of(24); // RFC 5681 equation 4: 24 / 2
        assert_eq!((script.cwnd(), script.cc.ssthresh()), (12.0, 12.0));
        let mut linux = Script::with("reno", 40.0, |params| params.set_word("reduce_from", "cwnd"));
        linux.lose_of(24); // Linux: 40 / 2
        assert_eq!(linux.cwnd(), 20.0);
        let mut small = Script::new("newreno", 3.0);
        small.lose(); // at least 2
        assert_eq!(small.cwnd(), 2.0);
    }

    #[test]
    fn ecn_halves_as_a_loss_does() {
        let mut script = Script::new("newreno", 40.0);
        script.congest_by_ecn(40);
        assert_eq!(script.cwnd(), 20.0);
    }

    /// RFC 8511: 40 × 0.8 after a mark; a loss halves as ever.
    #[test]
    fn a_mark_costs_less_under_abe() {
        let mut script = Script::with("newreno", 40.0, |params| params.set_number("ecn_beta", 0.8));
        script.congest_by_ecn(40);
        assert_eq!((script.cwnd(), script.cc.ssthresh()), (32.0, 32.0));
        script.exit_recovery();
        script.lose_of(32);
        assert_eq!(script.cwnd(), 16.0);
    }

    #[test]
    fn timeout_then_slow_start_to_half() {
        let mut script = Script::new("newreno", 32.0);
        script.time_out(32);
        assert_eq!((script.cwnd(), script.cc.ssthresh(), script.cc.phase()), (1.0, 16.0, "slow_start"));
        (0..15).for_each(|_| script.ack(1));
        assert_eq!((script.cwnd(), script.cc.phase()), (16.0, "congestion_avoidance"));
        script.ack(1);
        assert_close(script.cwnd(), 16.0 + 1.0 / 16.0);
    }
}
