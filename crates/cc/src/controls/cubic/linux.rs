//! CUBIC's growth in Linux's integer arithmetic.
//!
//! Reference: behaviour of `net/ipv4/tcp_cubic.c` and of `tcp_cong_avoid_ai` (Linux 6.18). `beta` and `c` are its module parameters
//! `beta` and `bic_scale`.
//!
//! Differences from RFC 9438 that matter for windows of a few packets: the window is an integer, a reduction rounds down; one more packet
//! takes `cnt` acknowledged ones, at least two, recomputed when the window has changed or 1/32 s has passed; the
//! Reno-friendly window never speeds up to one packet per round trip (§4.3, alpha 1), and is approached by `cwnd / (W_est - cwnd)`
//! only once it is a whole packet ahead.
//!
//! Differences from Linux:
//! 1. Time is exact, where Linux counts ticks of 1 to 10 ms.
//! 2. The cube root is exact, where Linux's errs by up to 0.2 %.
//!
//! Units: packets, time in 1/1024 s. Tested here by worked examples; against the kernel's own by `docs/appendix/twin.md`.

use crate::parts::reno::whole_growth;
use playpath_units::{Duration, Time};

/// As whole numbers what the module's parameters say.
#[derive(Clone, Copy, Debug)]
struct Constants {
    /// In 1/1024: 717 of 0.7.
    beta: u32,
    /// `8 (1024 + beta) / 3 / (1024 - beta)`: eight times the acknowledged packets per packet of the window and step of W_est.
    beta_scale: u32,
    /// Ten times `bic_scale`, which is C in 10/1024: 410 of 0.4.
    cube_rtt_scale: u64,
}

impl Constants {
    fn of(c: f64, beta: f64) -> Constants {
        let beta = libm::round(1024.0 * beta) as u32;
        let bic_scale = libm::round(102.4 * c).max(1.0) as u64;
        Constants { beta, beta_scale: 8 * (1024 + beta) / 3 / (1024 - beta), cube_rtt_scale: 10 * bic_scale }
    }
}

/// Before the first loss growth is at least one packet for so many.
const FIRST_CNT: u32 = 20;
const MIN_CNT: u32 = 2;
const UPDATE_INTERVAL: Duration = Duration::from_millis(31);

/// `struct bictcp` without HyStart, and `snd_cwnd_cnt`.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinuxGrowth {
    constants: Constants,
    last_max: u32,
    last_cwnd: u32,
    last_time: Time,
    epoch_start: Option<Time>,
    origin: u32,
    k: u64,
    /// Smallest round trip of data since the last timeout; [`Duration::MAX`]: none yet.
    delay_min: Duration,
    /// W_est.
    reno_cwnd: u32,
    ack_cnt: u32,
    cnt: u32,
    /// Acknowledged since the window grew last.
    credit: u32,
}

impl LinuxGrowth {
    pub fn new(c: f64, beta: f64) -> LinuxGrowth {
        LinuxGrowth::with(Constants::of(c, beta))
    }

    fn with(constants: Constants) -> LinuxGrowth {
        LinuxGrowth {
            constants,
            last_max: 0,
            last_cwnd: 0,
            last_time: Time::default(),
            epoch_start: None,
            origin: 0,
            k: 0,
            delay_min: Duration::MAX,
            reno_cwnd: 0,
            ack_cnt: 0,
            cnt: 0,
            credit: 0,
        }
    }

    /// An ACK's round trip; in the first second of an epoch it is that of the recovery (`cubictcp_acked`).
    pub fn on_rtt(&mut self, now: Time, rtt: Duration) {
        if self.epoch_start.is_none_or(|start| now.saturating_since(start) >= Duration::from_secs(1)) {
            self.delay_min = self.delay_min.min(rtt);
        }
    }

    /// The window after `acked` packets in congestion avoidance.
    pub fn on_ack(&mut self, now: Time, cwnd: u32, acked: u32) -> u32 {
        self.update(now, cwnd, acked);
        whole_growth(&mut self.credit, self.cnt, cwnd, acked)
    }

    pub fn reduce(&mut self, cwnd: u32, fast_convergence: bool) -> u32 {
        let gives_way = fast_convergence && cwnd < self.last_max;
        self.last_max = if gives_way { scaled(cwnd, (1024 + self.constants.beta) / 2) } else { cwnd };
        self.epoch_start = None;
        self.credit = 0;
        scaled(cwnd, self.constants.beta).max(2)
    }

    /// After a timeout's reduction all is forgotten.
    pub fn reset(&mut self) {
        *self = LinuxGrowth::with(self.constants);
    }

    /// Time since the last packet was sent does not count (`cubictcp_cwnd_event`).
    pub fn on_idle(&mut self, now: Time, silent: Duration) {
        self.epoch_start = self.epoch_start.map(|start| (start + silent).min(now));
    }

    /// `bictcp_update`: `cnt` for this ACK.
    fn update(&mut self, now: Time, cwnd: u32, acked: u32) {
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
            let cube_factor = (1 << 40) / self.constants.cube_rtt_scale;
            self.k = libm::cbrt(cube_factor as f64 * f64::from(self.origin - cwnd)) as u64;
        }
        let start = self.epoch_start.unwrap_or(now);
        let delay = if self.delay_min == Duration::MAX { Duration::ZERO } else { self.delay_min };
        let elapsed = now.saturating_since(start) + delay;
        let target = self.target(elapsed.as_nanos() * 1024 / 1_000_000_000);
        self.cnt = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
        if self.last_max == 0 {
            self.cnt = self.cnt.min(FIRST_CNT);
        }
        self.be_friendly(cwnd);
        self.cnt = self.cnt.max(MIN_CNT);
    }

    fn target(&self, t: u64) -> u32 {
        let offset = u128::from(t.abs_diff(self.k));
        let delta = ((u128::from(self.constants.cube_rtt_scale) * offset * offset * offset) >> 40)
            .min(u128::from(u32::MAX / 2)) as u32;
        if t < self.k { self.origin.saturating_sub(delta) } else { self.origin.saturating_add(delta) }
    }

    /// Grow at least as fast as Reno with the same reduction.
    fn be_friendly(&mut self, cwnd: u32) {
        let step = ((u64::from(cwnd) * u64::from(self.constants.beta_scale)) >> 3).max(1) as u32;
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
mod tests;
