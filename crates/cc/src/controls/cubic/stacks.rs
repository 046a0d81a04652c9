//! CUBIC in QUIC stacks.
//!
//! Reference: quinn-proto 0.11.19 and noq-proto 1.4.0, `congestion/cubic.rs`; ngtcp2 1.11.0, `lib/ngtcp2_cc.c`.
//!
//! Where they depart from RFC 9438: quinn and noq compute K and the Reno-friendly window from W_max, which by time grows by α for ever, and
//! add whole packets; quinn discards the excess over one packet. ngtcp2 has no concave region: until K the window is the Reno-friendly one,
//! and its K is
//! a hundredth of the RFC's (a cube root of what is shifted by 10 bits, taken for one of what is shifted by 30), so that the window jumps
//! towards
//! W_max as soon as the loss is over; an ACK adds once, however many packets it acknowledges; before the first loss it grows as Reno.
//!
//! Differences from the stacks: packets in floating point. ngtcp2's lower threshold after a loss while less than half of the window was
//! delivered in a round trip is left out.
//!
//! Units: packets, seconds. Tested here by worked examples; quinn's against quinn by crates/quic-peers, all by docs/stacks.py.

use playpath_units::{Duration, Time};

/// 2^(20/3): by so much is ngtcp2's K too small.
const NGTCP2_K: f64 = 101.593_667_325_964_77;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Stack {
    Quinn,
    Noq,
    Ngtcp2,
}

/// State of the growth, which an undo restores in part.
#[derive(Clone, Copy, Debug)]
pub(super) struct StackGrowth {
    pub stack: Stack,
    c: f64,
    beta: f64,
    start: Option<Time>,
    w_max: f64,
    /// Before the last reduction; 0 before the first.
    prior: f64,
    k: f64,
    w_est: f64,
    /// Less than a packet that is to be added.
    rest: f64,
}

impl StackGrowth {
    pub fn new(stack: Stack, c: f64, beta: f64) -> StackGrowth {
        StackGrowth { stack, c, beta, start: None, w_max: 0.0, prior: 0.0, k: 0.0, w_est: 0.0, rest: 0.0 }
    }

    /// The window after `acked` packets in congestion avoidance.
    pub fn on_ack(&mut self, now: Time, srtt: Duration, cwnd: f64, acked: f64) -> f64 {
        let rtt = srtt.as_secs_f64();
        if self.stack == Stack::Ngtcp2 {
            return self.as_ngtcp2(now, rtt, cwnd, acked);
        }
        (0..acked as u32).fold(cwnd, |cwnd, _| self.packet_as_quinn(now, rtt, cwnd))
    }

    fn packet_as_quinn(&mut self, now: Time, rtt: f64, cwnd: f64) -> f64 {
        let start = *self.start.get_or_insert_with(|| {
            (self.w_max, self.k) = (cwnd, 0.0);
            now
        });
        let t = now.saturating_since(start).as_secs_f64();
        let w_cubic = self.w_cubic(t + rtt);
        let w_est = self.w_max * self.beta + self.alpha() * t / rtt;
        self.rest += if w_cubic < w_est { (w_est - cwnd).max(0.0) } else { (w_cubic - cwnd).max(0.0) / cwnd };
        if self.rest < 1.0 {
            return cwnd;
        }
        self.rest = if self.stack == Stack::Quinn { 0.0 } else { self.rest - 1.0 };
        cwnd + 1.0
    }

    fn as_ngtcp2(&mut self, now: Time, rtt: f64, cwnd: f64, acked: f64) -> f64 {
        if self.prior == 0.0 {
            return cwnd + acked / cwnd;
        }
        let t = now.saturating_since(*self.start.get_or_insert(now)).as_secs_f64();
        self.w_est += acked / cwnd * if self.w_est < self.prior { self.alpha() } else { 1.0 };
        if t < self.k || self.w_est > self.w_cubic(t) {
            return self.w_est;
        }
        cwnd + (self.w_cubic(t + rtt).clamp(cwnd, 1.5 * cwnd) - cwnd) / cwnd
    }

    /// The slope of the Reno-friendly window: 9/17 with a beta of 0.7.
    fn alpha(&self) -> f64 {
        3.0 * (1.0 - self.beta) / (1.0 + self.beta)
    }

    fn w_cubic(&self, t: f64) -> f64 {
        let from_plateau = t - self.k;
        self.c * from_plateau * from_plateau * from_plateau + self.w_max
    }

    pub fn reduce(&mut self, now: Time, cwnd: f64, fast_convergence: bool) -> f64 {
        let gives_way = fast_convergence && cwnd < self.w_max;
        self.w_max = if gives_way { cwnd * (1.0 + self.beta) / 2.0 } else { cwnd };
        let window = self.beta * cwnd;
        let above = if self.stack == Stack::Ngtcp2 { self.w_max - window } else { self.w_max * (1.0 - self.beta) };
        self.k = libm::cbrt(above.max(0.0) / self.c) / if self.stack == Stack::Ngtcp2 { NGTCP2_K } else { 1.0 };
        // ngtcp2's time begins with the first ACK that may grow the window.
        self.start = (self.stack != Stack::Ngtcp2).then_some(now);
        (self.prior, self.w_est, self.rest) = (cwnd, window, self.rest * self.beta);
        window
    }

    /// Reset to the initial state after a timeout.
    pub fn reset(&mut self) {
        *self = StackGrowth::new(self.stack, self.c, self.beta);
    }
}

#[cfg(test)]
mod tests;
