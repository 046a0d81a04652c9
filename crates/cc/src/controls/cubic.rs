//! CUBIC: the window follows a cubic function of the time since the last reduction.
//!
//! Reference: RFC 9438; section numbers are the RFC's.
//!
//! Differences from the reference:
//! 1. Each acknowledged packet adds `(target - cwnd) / cwnd` (§4.4, §4.5 say each new ACK). With one ACK per packet the two
//!    agree; with delayed ACKs the RFC's letter would take two round trips to reach the target of the next one.
//! 2. In the Reno-friendly region `cwnd = max(cwnd, W_est)`: the RFC sets `W_est` even where that shrinks the window.
//! 3. The epoch's time counts only between ACKs that may grow the window, which is how §4.2 wants application-limited and
//!    idle time left out. Linux shifts the epoch by idle time only.
//! 4. A window set from outside ends the epoch; `K` is computed anew from `W_max` and the window at the next growth.
//! 5. `reduce_from`: FlightSize (§4.6) or `cwnd` (Linux, allowed by §4.6). Reductions never raise the window: `windows.rs`.
//! 6. `slow_start` is HyStart++ by default, as §4.10 asks (SHOULD). Linux's behaviour: `slow_start = "hystart"`,
//!    `reduce_from = "cwnd"`, `abc_limit = 65535`, and `growth = "linux"`: its whole numbers and constants (`cubic/linux.rs`),
//!    which then hold instead of `c`, `beta` and differences 1 to 4.
//!
//! Units: packets, seconds. Invariant: `cwnd` falls in reductions only. Tested here by the RFC's equations and tables, and by
//! `tests/contract.rs`.

mod linux;

use linux::LinuxGrowth;
use playpath_units::{Duration, Time};

use crate::kernel::{self, InKernel};
use crate::parts::reno::{Reno, RenoBased};
use crate::parts::slow_start::{ABC_LIMIT, PACED, slow_start_spec};
use crate::parts::windows::{ECN_BETA, REDUCE_FROM, remaining_after};
use crate::registry::{Behaviour, Entry};
use crate::{Ack, CongestionEvent, IdleRestart, ParamSpec, Params, Rto, View};

/// Registry entry.
pub static ENTRY: Entry = Entry {
    name: "cubic",
    aliases: &[],
    summary: "default of Linux, Windows and Apple: cubic growth around the last loss, cut to 0.7",
    reference: "RFC 9438",
    params: &[
        ParamSpec::number("c", 0.4, (0.001, 100.0), "packets/s^3", "steepness of the cubic function (RFC 9438 §5.1)"),
        ParamSpec::number("beta", 0.7, (0.1, 0.99), "", "what remains of the window after a loss (RFC 9438 §4.6)"),
        ParamSpec::flag(
            "fast_convergence",
            true,
            "leave room for new flows after a loss below the last one (RFC 9438 §4.7)",
        ),
        slow_start_spec("hystart++"),
        ABC_LIMIT,
        PACED,
        REDUCE_FROM,
        ECN_BETA,
        GROWTH,
    ],
    in_kernel: Some(InKernel { newcwv: Some(&kernel::NEWCWV_CUBIC), ..InKernel::linux("cubic") }),
    is_coupled: false,
    behaviour: Behaviour::LOSS_BASED,
    build: |params, initial_window| Box::new(Cubic::new(params, initial_window)),
};

pub(crate) const GROWTH: ParamSpec = ParamSpec::word(
    "growth",
    "rfc",
    &["rfc", "linux"],
    "by RFC 9438 with c and beta, or in whole packets with the constants of Linux's tcp_cubic.c",
);

/// CUBIC's state.
pub struct Cubic {
    c: f64,
    beta: f64,
    ecn_beta: f64,
    /// Additive increase of the Reno-friendly region (§4.3).
    alpha: f64,
    fast_convergence: bool,
    reno: Reno,
    law: Law,
}

/// What rules growth and cuts.
#[derive(Clone, Debug)]
enum Law {
    Rfc(RfcGrowth),
    /// With `growth = "linux"`.
    Linux(LinuxGrowth),
}

/// RFC 9438, and what an undo restores.
#[derive(Clone, Debug)]
struct RfcGrowth {
    growth: Growth,
    undo: Option<Growth>,
}

/// What the window grows by: all that §4.9.2 saves beside `cwnd` and `ssthresh`.
#[derive(Clone, Copy, Debug)]
struct Growth {
    /// `W_max`; none before the first loss and after a timeout: then the epoch starts on the plateau (§4.8, §4.10).
    w_max: Option<f64>,
    /// `cwnd` when `ssthresh` was set last; none before that.
    cwnd_prior: Option<f64>,
    epoch: Option<Epoch>,
}

/// A congestion avoidance stage.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// Time in which the window could grow.
    elapsed: Duration,
    updated_at: Time,
    origin: f64,
    k: f64,
    w_est: f64,
    cwnd_prior: f64,
}

impl Cubic {
    pub(crate) fn new(params: &Params, initial_window: f64) -> Cubic {
        let beta = params.number("beta");
        Cubic {
            c: params.number("c"),
            beta,
            ecn_beta: params.number("ecn_beta"),
            alpha: 3.0 * (1.0 - beta) / (1.0 + beta),
            fast_convergence: params.flag("fast_convergence"),
            reno: Reno::new(params, initial_window),
            law: if params.word("growth") == "linux" {
                Law::Linux(LinuxGrowth::default())
            } else {
                Law::Rfc(RfcGrowth { growth: Growth { w_max: None, cwnd_prior: None, epoch: None }, undo: None })
            },
        }
    }

    /// Congestion avoidance (§4.2 to §4.5).
    fn avoid_congestion(&mut self, view: &View, acked: f64) {
        let cwnd = self.reno.windows.cwnd;
        let (c, alpha) = (self.c, self.alpha);
        let Law::Rfc(rfc) = &mut self.law else { return };
        let epoch = rfc.growth.epoch_at(view.now, cwnd, c);
        epoch.elapsed += view.now.saturating_since(epoch.updated_at);
        epoch.updated_at = view.now;
        let t = epoch.elapsed.as_secs_f64();
        // §4.3: as fast as Reno once the window of the last reduction is reached.
        let alpha = if epoch.w_est >= epoch.cwnd_prior { 1.0 } else { alpha };
        epoch.w_est += alpha * acked / cwnd;
        self.reno.windows.cwnd = if epoch.w_cubic(c, t) < epoch.w_est {
            cwnd.max(epoch.w_est)
        } else {
            let target = epoch.w_cubic(c, t + view.srtt.as_secs_f64()).clamp(cwnd, 1.5 * cwnd);
            cwnd + (target - cwnd) / cwnd * acked
        };
    }
}

impl RfcGrowth {
    /// The window could not grow until now.
    fn pause(&mut self, now: Time) {
        if let Some(epoch) = &mut self.growth.epoch {
            epoch.updated_at = now;
        }
    }
}

impl Growth {
    /// §4.7, before the reduction: `W_max` for the next stage.
    fn remember_w_max(&mut self, cwnd: f64, beta: f64, fast_convergence: bool) {
        let gives_way = fast_convergence && self.w_max.is_some_and(|w_max| cwnd < w_max);
        self.w_max = Some(if gives_way { cwnd * (1.0 + beta) / 2.0 } else { cwnd });
        self.cwnd_prior = Some(cwnd);
        self.epoch = None;
    }

    /// The epoch under way, or a new one that starts now.
    fn epoch_at(&mut self, now: Time, cwnd: f64, c: f64) -> &mut Epoch {
        let w_max = *self.w_max.get_or_insert(cwnd);
        let cwnd_prior = *self.cwnd_prior.get_or_insert(cwnd);
        self.epoch.get_or_insert_with(|| Epoch {
            elapsed: Duration::ZERO,
            updated_at: now,
            origin: w_max.max(cwnd),
            // §4.2; 0 when the window is above W_max already.
            k: libm::cbrt((w_max - cwnd).max(0.0) / c),
            w_est: cwnd,
            cwnd_prior,
        })
    }
}

impl Epoch {
    /// §4.2: W_cubic(t).
    fn w_cubic(&self, c: f64, t: f64) -> f64 {
        let from_plateau = t - self.k;
        c * from_plateau * from_plateau * from_plateau + self.origin
    }
}

impl RenoBased for Cubic {
    const NAME: &'static str = ENTRY.name;

    fn reno(&self) -> &Reno {
        &self.reno
    }
    fn reno_mut(&mut self) -> &mut Reno {
        &mut self.reno
    }

    fn grow(&mut self, view: &View, event: &Ack) {
        let acked = self.reno.take(view, event);
        match &mut self.law {
            Law::Linux(linux) if acked >= 1.0 => {
                let grown = linux.on_ack(view.now, view.min_rtt, self.reno.windows.cwnd as u32, acked as u32);
                self.reno.windows.cwnd = f64::from(grown);
            }
            Law::Linux(_) => {}
            Law::Rfc(_) if acked > 0.0 => self.avoid_congestion(view, acked),
            Law::Rfc(rfc) => rfc.pause(view.now),
        }
    }

    fn reduce(&mut self, _view: &View, event: &CongestionEvent) {
        let from = self.reno.reducible(event);
        let beta = remaining_after(event.signal, self.ecn_beta, self.beta);
        let has_own_beta = beta != self.beta;
        let window = match &mut self.law {
            Law::Linux(linux) => {
                let after_loss = f64::from(linux.reduce(from as u32, self.fast_convergence));
                if has_own_beta { libm::floor(beta * from).max(2.0) } else { after_loss }
            }
            Law::Rfc(rfc) => {
                rfc.undo = Some(rfc.growth);
                rfc.growth.remember_w_max(self.reno.windows.cwnd, self.beta, self.fast_convergence);
                beta * from
            }
        };
        self.reno.windows.reduce_to(window, event.signal);
    }

    /// §4.8: the next congestion avoidance starts on a plateau of its own.
    fn collapse(&mut self, _view: &View, event: &Rto) {
        let from = self.reno.reducible_at_rto(event);
        let mut window = self.beta * from;
        match &mut self.law {
            Law::Linux(linux) => {
                window = f64::from(linux.reduce(from as u32, self.fast_convergence));
                linux.reset();
            }
            Law::Rfc(rfc) if event.consecutive <= 1 => {
                rfc.undo = Some(rfc.growth);
                rfc.growth = Growth { w_max: None, cwnd_prior: Some(self.reno.windows.cwnd), epoch: None };
            }
            Law::Rfc(_) => {}
        }
        self.reno.collapse(window, event);
    }

    /// §4.9.2: take everything back, unless the window has outgrown what it was.
    fn undone(&mut self) {
        if let Law::Rfc(rfc) = &mut self.law {
            rfc.growth = rfc.undo.take().unwrap_or(rfc.growth);
        }
    }

    fn wake(&mut self, view: &View, event: &IdleRestart) {
        match &mut self.law {
            Law::Linux(linux) => linux.on_idle(view.now, event.idle),
            Law::Rfc(rfc) => rfc.pause(view.now),
        }
    }

    fn moved(&mut self) {
        match &mut self.law {
            Law::Linux(linux) => {
                self.reno.windows.cwnd = libm::floor(self.reno.windows.cwnd).max(1.0);
                linux.on_window_change();
            }
            Law::Rfc(rfc) => rfc.growth.epoch = None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::{Script, assert_close, assert_near};

    /// CUBIC at `cwnd` packets in congestion avoidance after a loss at `w_max` packets.
    fn after_loss(w_max: f64) -> Script {
        let mut script = Script::new("cubic", 10.0);
        script.avoid_congestion_at(w_max);
        script.lose();
        script.exit_recovery();
        script
    }

    fn epoch(w_max: f64, cwnd: f64) -> Epoch {
        let mut growth = Growth { w_max: Some(w_max), cwnd_prior: Some(w_max), epoch: None };
        *growth.epoch_at(Time::ZERO, cwnd, 0.4)
    }

    #[test]
    fn the_cubic_function_and_its_plateau() {
        // W_max 100, cwnd 70: K = cbrt(30 / 0.4) = cbrt(75) = 4.2172 s. W(0) = 0.4 (-4.2172)^3 + 100 = 70; W(K) = 100.
        let epoch = epoch(100.0, 70.0);
        assert_near(epoch.k, 4.217163, 1e-6);
        assert_close(epoch.w_cubic(0.4, 0.0), 70.0);
        assert_close(epoch.w_cubic(0.4, epoch.k), 100.0);
        // One second past the plateau: 100 + 0.4.
        assert_close(epoch.w_cubic(0.4, epoch.k + 1.0), 100.4);
    }

    #[test]
    fn cuts_to_seven_tenths() {
        let script = after_loss(100.0);
        assert_close(script.cwnd(), 70.0);
        assert_close(script.cc.ssthresh(), 70.0);
    }

    #[test]
    fn fast_convergence_gives_way() {
        let mut growth = Growth { w_max: Some(120.0), cwnd_prior: None, epoch: None };
        growth.remember_w_max(100.0, 0.7, true);
        // Lost at 100, below 120: W_max = 100 (1 + 0.7) / 2 = 85; K = cbrt((85 - 70) / 0.4) = cbrt(37.5) = 3.3472 s.
        assert_close(growth.w_max.unwrap_or(0.0), 85.0);
        assert_near(epoch(85.0, 70.0).k, 3.347165, 1e-6);
        // Above the last one: W_max is the window.
        growth.w_max = Some(90.0);
        growth.remember_w_max(100.0, 0.7, true);
        assert_close(growth.w_max.unwrap_or(0.0), 100.0);
    }

    #[test]
    fn each_ack_goes_its_share_towards_the_target() {
        let mut script = after_loss(100.0);
        // First ACK of the epoch, t = 0: W_est = 70 + 0.5294/70 = 70.00756 is above W_cubic(0) = 70. Reno-friendly.
        script.ack(1);
        assert_near(script.cwnd(), 70.0 + 9.0 / 17.0 / 70.0, 1e-9);
        // 2 s later: W_cubic(2) = 100 - 0.4 * 2.217163^3 = 95.6404; target W_cubic(2.1) = 100 - 0.4 * 2.117163^3 = 96.2041.
        let before = script.cwnd();
        script.ack_after(Duration::from_secs(2), 1, false);
        assert_near(script.cwnd() - before, (96.2041 - before) / before, 1e-4);
    }

    #[test]
    fn the_target_is_at_most_one_and_a_half_windows() {
        let mut script = after_loss(100.0);
        script.ack(1);
        let before = script.cwnd();
        // 60 s past the plateau W_cubic is thousands: an ACK adds no more than 0.5.
        script.ack_after(Duration::from_secs(60), 1, false);
        assert_close(script.cwnd(), before + 0.5);
    }

    #[test]
    fn reno_friendly_with_short_rtts() {
        // RTT 10 ms, W_max 20: W_cubic needs K = cbrt(6/0.4) = 2.5 s; Reno's equivalent is back at 20 in (20 - 14) / 0.529 =
        // 11.3 rounds = 0.11 s and then goes up by a packet per round.
        let mut script = after_loss(20.0);
        script.rtt = Duration::from_millis(10);
        let mut rounds = 0;
        while script.cwnd() < 20.0 {
            script.round();
            rounds += 1;
        }
        assert!((11..=13).contains(&rounds), "{rounds} rounds");
        let before = script.cwnd();
        (0..10).for_each(|_| script.round());
        assert!((script.cwnd() - before - 10.0).abs() < 0.5, "alpha is 1 above cwnd_prior: {}", script.cwnd() - before);
    }

    #[test]
    fn unused_time_does_not_count() {
        let (mut busy, mut idle) = (after_loss(100.0), after_loss(100.0));
        busy.ack(1);
        idle.ack(1);
        // 3 s in which the application sends too little.
        idle.may_grow = false;
        (0..30).for_each(|_| idle.ack_after(Duration::from_millis(100), 1, false));
        // And 10 s of silence.
        idle.view.now += Duration::from_secs(10);
        idle.cc.on_idle_restart(&idle.view, &IdleRestart { idle: Duration::from_secs(10), is_app_limited: true });
        idle.may_grow = true;
        for script in [&mut busy, &mut idle] {
            (0..10).for_each(|_| script.ack_after(Duration::from_millis(10), 1, false));
        }
        assert_close(idle.cwnd(), busy.cwnd());
    }

    #[test]
    fn a_timeout_starts_a_plateau_of_its_own() {
        let mut script = after_loss(100.0); // cwnd 70
        script.time_out(70);
        assert_eq!(script.cwnd(), 1.0);
        assert_close(script.cc.ssthresh(), 49.0); // 0.7 * 70
        (0..48).for_each(|_| script.ack(1));
        assert_close(script.cwnd(), 49.0);
        // K = 0, W_max = 49 (RFC 9438 §4.8): 1 s on, the target is 49 + 0.4 * 1.1^3 = 49.5324, W_cubic(1) = 49.4.
        script.ack(1);
        let before = script.cwnd();
        script.ack_after(Duration::from_secs(1), 1, false);
        assert_near(script.cwnd() - before, (49.5324 - before) / before, 1e-4);
    }

    #[test]
    fn the_first_slow_start_ends_on_a_plateau() {
        let mut script = Script::new("cubic", 10.0);
        script.avoid_congestion_at(50.0);
        script.ack(1);
        // cwnd_prior is the window: alpha is 1 from the start (RFC 9438 §4.10).
        assert_close(script.cwnd(), 50.0 + 1.0 / 50.0);
    }

    #[test]
    fn undo_restores_the_epoch() {
        let (mut hit, mut spared) = (after_loss(100.0), after_loss(100.0));
        for script in [&mut hit, &mut spared] {
            (0..20).for_each(|_| script.round());
        }
        hit.lose();
        hit.undo();
        for script in [&mut hit, &mut spared] {
            (0..5).for_each(|_| script.round());
        }
        assert_close(hit.cwnd(), spared.cwnd());
        // An undo that comes after the window has outgrown its old value changes nothing.
        hit.lose();
        hit.view.in_recovery = false;
        let threshold = hit.cc.ssthresh();
        (0..200).for_each(|_| hit.round());
        let before = hit.cwnd();
        hit.undo();
        assert_eq!((hit.cwnd(), hit.cc.ssthresh()), (before, threshold));
    }

    #[test]
    fn a_window_from_outside_starts_an_epoch() {
        let mut script = after_loss(100.0);
        (0..30).for_each(|_| script.round());
        script.avoid_congestion_at(60.0);
        // t = 0 again: the Reno-friendly step of 0.5294/60, not one towards the old epoch's target near 100.
        script.ack(1);
        assert_near(script.cwnd(), 60.0 + 9.0 / 17.0 / 60.0, 1e-9);
    }

    #[test]
    fn ecn_may_go_down_to_one_packet() {
        let mut script = after_loss(100.0);
        script.avoid_congestion_at(1.2);
        script.congest_by_ecn(1);
        assert_eq!((script.cwnd(), script.cc.ssthresh()), (1.0, 2.0));
    }
}
