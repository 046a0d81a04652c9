//! CUBIC's growth in Linux's whole numbers.
//!
//! Reference: behaviour of `net/ipv4/tcp_cubic.c` and of `tcp_cong_avoid_ai` (Linux 6.18), with its default constants.
//!
//! What sets it apart from RFC 9438, and matters for windows of a few packets: the window is whole, a cut rounds down; one more packet
//! takes `cnt` acknowledged ones, at least two, found anew when the window has changed or 1/32 s has passed; the
//! Reno-friendly window never speeds up to one packet per round trip (§4.3, alpha 1), and is approached by `cwnd / (W_est - cwnd)`
//! only once it is a whole packet ahead.
//!
//! Differences from Linux:
//! 1. Time is exact, where Linux counts ticks of 1 to 10 ms.
//! 2. `delay_min` is the connection's `min_rtt`; Linux forgets its own at a timeout.
//! 3. The cube root is exact, where Linux's errs by up to 0.2 %.
//!
//! Units: packets, time in 1/1024 s. Tested here by worked examples; against the kernel's own by `docs/appendix/twin.md`.

use playpath_units::{Duration, Time};

/// 717/1024 and 410/1024 (0.41, of which Linux makes C = 0.4 by `bic_scale` 41).
const BETA: u32 = 717;
const CUBE_RTT_SCALE: u64 = 410;
const CUBE_FACTOR: u64 = (1 << 40) / CUBE_RTT_SCALE;
/// `8 (1024 + beta) / 3 / (1024 - beta)`: eight times the acknowledged packets per packet of the window and step of W_est.
const BETA_SCALE: u32 = 8 * (1024 + BETA) / 3 / (1024 - BETA);
/// Before the first loss growth is at least one packet for so many.
const FIRST_CNT: u32 = 20;
const LEAST_CNT: u32 = 2;
const UPDATE_INTERVAL: Duration = Duration::from_millis(31);

/// `struct bictcp` without HyStart, and `snd_cwnd_cnt`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LinuxGrowth {
    last_max: u32,
    last_cwnd: u32,
    last_time: Time,
    epoch_start: Option<Time>,
    origin: u32,
    k: u64,
    /// W_est.
    reno_cwnd: u32,
    ack_cnt: u32,
    cnt: u32,
    /// Acknowledged since the window grew last.
    credit: u32,
}

impl LinuxGrowth {
    /// The window after `acked` packets in congestion avoidance.
    pub fn on_ack(&mut self, now: Time, min_rtt: Duration, cwnd: u32, acked: u32) -> u32 {
        self.update(now, min_rtt, cwnd, acked);
        let mut cwnd = cwnd;
        if self.credit >= self.cnt {
            self.credit = 0;
            cwnd += 1;
        }
        self.credit += acked;
        cwnd += self.credit / self.cnt;
        self.credit %= self.cnt;
        cwnd
    }

    /// What remains of the window after a loss.
    pub fn reduce(&mut self, cwnd: u32, fast_convergence: bool) -> u32 {
        let gives_way = fast_convergence && cwnd < self.last_max;
        self.last_max = if gives_way { scaled(cwnd, (1024 + BETA) / 2) } else { cwnd };
        self.epoch_start = None;
        self.credit = 0;
        scaled(cwnd, BETA)
    }

    /// After a timeout's reduction all is forgotten.
    pub fn reset(&mut self) {
        *self = LinuxGrowth::default();
    }

    /// Idle time does not count.
    pub fn on_idle(&mut self, now: Time, idle: Duration) {
        self.epoch_start = self.epoch_start.map(|start| (start + idle).min(now));
    }

    /// The window was set from outside.
    pub fn on_window_change(&mut self) {
        self.epoch_start = None;
        self.credit = 0;
    }

    /// `bictcp_update`: `cnt` for this ACK.
    fn update(&mut self, now: Time, min_rtt: Duration, cwnd: u32, acked: u32) {
        self.ack_cnt += acked;
        let is_fresh = self.last_cwnd == cwnd && now.saturating_since(self.last_time) <= UPDATE_INTERVAL;
        if is_fresh && self.cnt > 0 {
            return;
        }
        self.last_cwnd = cwnd;
        self.last_time = now;
        if self.epoch_start.is_none() {
            self.epoch_start = Some(now);
            self.ack_cnt = acked;
            self.reno_cwnd = cwnd;
            self.origin = self.last_max.max(cwnd);
            self.k = libm::cbrt(CUBE_FACTOR as f64 * f64::from(self.origin - cwnd)) as u64;
        }
        let start = self.epoch_start.unwrap_or(now);
        let elapsed = now.saturating_since(start) + if min_rtt == Duration::MAX { Duration::ZERO } else { min_rtt };
        let target = self.target(elapsed.as_nanos() * 1024 / 1_000_000_000);
        self.cnt = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
        if self.last_max == 0 {
            self.cnt = self.cnt.min(FIRST_CNT);
        }
        self.be_friendly(cwnd);
        self.cnt = self.cnt.max(LEAST_CNT);
    }

    fn target(&self, t: u64) -> u32 {
        let offset = u128::from(t.abs_diff(self.k));
        let delta =
            ((u128::from(CUBE_RTT_SCALE) * offset * offset * offset) >> 40).min(u128::from(u32::MAX / 2)) as u32;
        if t < self.k { self.origin.saturating_sub(delta) } else { self.origin.saturating_add(delta) }
    }

    /// At least as fast as a Reno that is cut to 0.7.
    fn be_friendly(&mut self, cwnd: u32) {
        let step = ((u64::from(cwnd) * u64::from(BETA_SCALE)) >> 3).max(1) as u32;
        // The kernel's `while (ack_cnt > step)`.
        let steps = self.ack_cnt.saturating_sub(1) / step;
        self.reno_cwnd += steps;
        self.ack_cnt -= steps * step;
        if self.reno_cwnd > cwnd {
            self.cnt = self.cnt.min(cwnd / (self.reno_cwnd - cwnd));
        }
    }
}

fn scaled(packets: u32, of_1024: u32) -> u32 {
    (u64::from(packets) * u64::from(of_1024) / 1024) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after_loss(cwnd: u32) -> (LinuxGrowth, u32) {
        let mut growth = LinuxGrowth::default();
        let cwnd = growth.reduce(cwnd, true);
        (growth, cwnd)
    }

    /// 100 · 717 / 1024 = 70.02; 10 · 717 / 1024 = 7.002; 9 · 717 / 1024 = 6.3.
    #[test]
    fn cuts_round_down() {
        for (cwnd, after) in [(100, 70), (10, 7), (9, 6)] {
            assert_eq!(after_loss(cwnd).1, after);
        }
    }

    /// W_max 100, cwnd 70: K = cbrt(2^40 / 410 · 30) = 4316.98, a whole 4316 of 1/1024 s = 4.215 s (RFC 9438: 4.217). At t = K the target is
    /// 100; a second later 100 + 410 · 1024^3 / 2^40 = 100.4, a whole 100; after two 103.2. At t = 0 it is
    /// 410 · 4316^3 / 2^40 = 29.98 below, a whole 29: the first packet comes early.
    #[test]
    fn the_plateau_is_where_the_loss_was() {
        let (mut growth, cwnd) = after_loss(100);
        growth.update(Time::from_secs(1), Duration::ZERO, cwnd, 1);
        assert_eq!((growth.k, growth.origin), (4316, 100));
        let targets = [0, 4316, 4316 + 1024, 4316 + 2048].map(|t| growth.target(t));
        assert_eq!(targets, [71, 100, 100, 103]);
    }

    /// RTT 10 ms, cut from 10 to 7, 7 acknowledged per round. The first target is 8 (K = 2003; 410 · 1993^3 / 2^40 = 2.95): 8 after
    /// the first round. Then the target stays at 8 for 0.6 s, and W_est is looked at when 31 ms are over, at 50 ms: it gains a
    /// packet for each 8 · 15 / 8 = 15 acknowledged, so with 36 it is 7 + 2, one ahead: cnt 8, and the credit of the rounds
    /// between makes one packet at once.
    #[test]
    fn small_windows_follow_w_est_in_steps() {
        let (mut growth, mut cwnd) = after_loss(10);
        let (mut seen, rtt) = (vec![], Duration::from_millis(10));
        for round in 0..6 {
            for _ in 0..7 {
                cwnd = growth.on_ack(Time::from_secs(1) + rtt * round, rtt, cwnd, 1);
            }
            seen.push(cwnd);
        }
        assert_eq!(seen, [8, 8, 8, 8, 8, 9]);
    }

    /// Before the first loss one packet for 20 at the slowest: a window of 100 grows by 5 per round trip.
    #[test]
    fn a_first_epoch_grows_by_a_twentieth() {
        let (mut growth, mut cwnd) = (LinuxGrowth::default(), 100);
        for _ in 0..100 {
            cwnd = growth.on_ack(Time::from_secs(1), Duration::from_millis(100), cwnd, 1);
        }
        assert_eq!(cwnd, 105);
    }

    /// A packet for two acknowledged ones is the most, however far the target is.
    #[test]
    fn the_target_is_at_most_one_and_a_half_windows() {
        let (mut growth, cwnd) = after_loss(100);
        growth.on_ack(Time::from_secs(1), Duration::ZERO, cwnd, 1);
        growth.update(Time::from_secs(60), Duration::ZERO, cwnd, 1);
        assert_eq!(growth.cnt, 2);
    }

    #[test]
    fn idle_time_does_not_count() {
        let (mut growth, cwnd) = after_loss(100);
        growth.update(Time::from_secs(1), Duration::ZERO, cwnd, 1);
        growth.on_idle(Time::from_secs(9), Duration::from_secs(7));
        assert_eq!(growth.epoch_start, Some(Time::from_secs(8)));
        growth.on_idle(Time::from_secs(9), Duration::from_secs(7));
        assert_eq!(growth.epoch_start, Some(Time::from_secs(9)), "never in the future");
    }
}
