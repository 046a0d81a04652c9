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
//!    `reduce_from = "cwnd"`, `abc_limit = 65535`, and `growth = "linux"`: its whole numbers (`cubic/linux.rs`), which then
//!    hold instead of differences 1 to 4. Likewise QUIC stacks (`cubic/stacks.rs`).
//!
//! Units: packets, seconds. Invariant: `cwnd` falls in reductions only. Tested here by the RFC's equations and tables, and by
//! `tests/contract.rs`.

mod linux;
mod stacks;

use linux::LinuxGrowth;
use playpath_units::{Duration, Time};
use stacks::{Stack, StackGrowth};

use crate::kernel::{self, InKernel};
use crate::parts::reno::{Reno, RenoBased};
use crate::parts::slow_start::{ABC_LIMIT, PACED, slow_start_spec};
use crate::parts::windows::{ECN_BETA, REDUCE_FROM, remaining_after};
use crate::registry::{Behaviour, Entry};
use crate::{Ack, CongestionEvent, IdleRestart, ParamSpec, Params, Rto, View};

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
    &["rfc", "linux", "quinn", "noq", "ngtcp2"],
    "by RFC 9438; or as Linux's tcp_cubic.c, in whole packets, or as a QUIC stack",
);

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

#[derive(Clone, Debug)]
enum Law {
    Rfc(RfcGrowth),
    /// With `growth = "linux"`.
    Linux(LinuxGrowth),
    /// The growth of a QUIC stack: current state, and the state before the last reduction.
    Stack(StackGrowth, StackGrowth),
}

impl Law {
    fn of(stack: Stack, c: f64, beta: f64) -> Law {
        Law::Stack(StackGrowth::new(stack, c, beta), StackGrowth::new(stack, c, beta))
    }
}

/// RFC 9438, and what an undo restores.
#[derive(Clone, Debug)]
struct RfcGrowth {
    growth: Growth,
    undo: Option<Growth>,
}

/// State of the growth: everything that §4.9.2 saves in addition to `cwnd` and `ssthresh`.
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
        let mut reno = Reno::new(params, initial_window);
        if params.word("growth") == "ngtcp2" {
            // lib/ngtcp2_cc.c counts the round in which CSS begins from one and leaves at the fifth: a round before RFC 9406 does.
            reno.slow_start.set_css_rounds(4);
        }
        Cubic {
            c: params.number("c"),
            beta,
            ecn_beta: params.number("ecn_beta"),
            alpha: 3.0 * (1.0 - beta) / (1.0 + beta),
            fast_convergence: params.flag("fast_convergence"),
            reno,
            law: match params.word("growth") {
                "linux" => Law::Linux(LinuxGrowth::new(params.number("c"), beta)),
                "quinn" => Law::of(Stack::Quinn, params.number("c"), beta),
                "noq" => Law::of(Stack::Noq, params.number("c"), beta),
                "ngtcp2" => Law::of(Stack::Ngtcp2, params.number("c"), beta),
                _ => Law::Rfc(RfcGrowth { growth: Growth { w_max: None, cwnd_prior: None, epoch: None }, undo: None }),
            },
        }
    }

    /// Set the factor of the next reductions. The Reno-friendly region keeps its slope.
    pub(crate) fn set_beta(&mut self, beta: f64) {
        self.beta = beta;
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
    fn reno(&self) -> &Reno {
        &self.reno
    }
    fn reno_mut(&mut self) -> &mut Reno {
        &mut self.reno
    }

    fn grow(&mut self, view: &View, event: &Ack) {
        if let (Law::Linux(linux), Some(rtt)) = (&mut self.law, event.rtt) {
            linux.on_rtt(view.now, rtt);
        }
        let acked = self.reno.take(view, event);
        match &mut self.law {
            Law::Linux(linux) if acked >= 1.0 => {
                let grown = linux.on_ack(view.now, self.reno.windows.cwnd as u32, acked as u32);
                self.reno.windows.cwnd = f64::from(grown);
            }
            Law::Linux(_) => {}
            Law::Stack(growth, _) if acked > 0.0 => {
                self.reno.windows.cwnd = growth.on_ack(view.now, view.srtt, self.reno.windows.cwnd, acked);
            }
            Law::Stack(..) => {}
            Law::Rfc(_) if acked > 0.0 => self.avoid_congestion(view, acked),
            Law::Rfc(rfc) => rfc.pause(view.now),
        }
    }

    fn reduce(&mut self, view: &View, event: &CongestionEvent) {
        let from = self.reno.reducible(event);
        let beta = remaining_after(event.signal, self.ecn_beta, self.beta);
        let has_own_beta = beta != self.beta;
        let window = match &mut self.law {
            Law::Linux(linux) => {
                let after_loss = f64::from(linux.reduce(from as u32, self.fast_convergence));
                if has_own_beta { libm::floor(beta * from).max(2.0) } else { after_loss }
            }
            Law::Stack(growth, before) => {
                *before = *growth;
                let after_loss = growth.reduce(view.now, from, self.fast_convergence);
                if has_own_beta { beta * from } else { after_loss }
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
            Law::Stack(growth, _) => growth.reset(),
            Law::Rfc(rfc) if event.reduces => {
                rfc.undo = Some(rfc.growth);
                rfc.growth = Growth { w_max: None, cwnd_prior: Some(self.reno.windows.cwnd), epoch: None };
            }
            Law::Rfc(_) => {}
        }
        self.reno.collapse(window, event);
    }

    /// §4.9.2: restore the state, unless the window has grown beyond its previous value.
    fn undone(&mut self) {
        match &mut self.law {
            Law::Rfc(rfc) => rfc.growth = rfc.undo.take().unwrap_or(rfc.growth),
            Law::Stack(growth, before) => *growth = *before,
            Law::Linux(_) => {}
        }
    }

    fn wake(&mut self, view: &View, event: &IdleRestart) {
        match &mut self.law {
            Law::Linux(linux) => linux.on_idle(view.now, event.silent),
            Law::Stack(..) => {}
            Law::Rfc(rfc) => rfc.pause(view.now),
        }
    }

    fn moved(&mut self) {
        match &mut self.law {
            Law::Linux(_) => self.reno.windows.round_down(), // the epoch goes on, as after `tcp_cwnd_restart`
            Law::Stack(growth, _) => growth.reset(),
            Law::Rfc(rfc) => rfc.growth.epoch = None,
        }
    }
}

#[cfg(test)]
mod tests;
