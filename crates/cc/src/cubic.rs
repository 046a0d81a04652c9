//! CUBIC: the window follows a cubic function of the time since the last reduction.
//!
//! Reference: RFC 9438; equation and section numbers are the RFC's.
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
//!    `reduce_from = "cwnd"`, `abc_limit = 65535`; its constants 717/1024 and 410/1024 differ by 0.03 % and 0.1 %.
//!
//! Units: packets, seconds. Invariant: `cwnd` falls in reductions only. Tested here by the RFC's equations and tables, and by
//! `tests/contract.rs`.

use playpath_units::{Duration, Time};

use crate::registry::{Behaviour, Entry};
use crate::slow_start::{ABC_LIMIT, PACED, SlowStart, slow_start_spec};
use crate::windows::{REDUCE_FROM, ReduceFrom, Windows};
use crate::{Ack, CongestionControl, CongestionEvent, IdleRestart, ParamSpec, Params, Rto, Undo, View, WindowChange};

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
    ],
    kernel_twin: Some("cubic"),
    is_coupled: false,
    behaviour: Behaviour::LOSS_BASED,
    build: |params, initial_window| Box::new(Cubic::new(params, initial_window)),
};

/// CUBIC's state.
pub struct Cubic {
    c: f64,
    beta: f64,
    /// Additive increase of the Reno-friendly region (§4.3).
    alpha: f64,
    fast_convergence: bool,
    slow_start: SlowStart,
    reduce_from: ReduceFrom,
    windows: Windows,
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
    fn new(params: &Params, initial_window: f64) -> Cubic {
        let beta = params.number("beta");
        Cubic {
            c: params.number("c"),
            beta,
            alpha: 3.0 * (1.0 - beta) / (1.0 + beta),
            fast_convergence: params.flag("fast_convergence"),
            slow_start: SlowStart::from_params(params),
            reduce_from: ReduceFrom::from_params(params),
            windows: Windows::new(initial_window),
            growth: Growth { w_max: None, cwnd_prior: None, epoch: None },
            undo: None,
        }
    }

    /// Congestion avoidance (§4.2 to §4.5).
    fn avoid_congestion(&mut self, view: &View, acked: f64) {
        let cwnd = self.windows.cwnd;
        let (c, alpha) = (self.c, self.alpha);
        let epoch = self.growth.epoch_at(view.now, cwnd, c);
        epoch.elapsed += view.now.saturating_since(epoch.updated_at);
        epoch.updated_at = view.now;
        let t = epoch.elapsed.as_secs_f64();
        // §4.3: as fast as Reno once the window of the last reduction is reached.
        let alpha = if epoch.w_est >= epoch.cwnd_prior { 1.0 } else { alpha };
        epoch.w_est += alpha * acked / cwnd;
        self.windows.cwnd = if epoch.w_cubic(c, t) < epoch.w_est {
            cwnd.max(epoch.w_est)
        } else {
            let target = epoch.w_cubic(c, t + view.srtt.as_secs_f64()).clamp(cwnd, 1.5 * cwnd);
            cwnd + (target - cwnd) / cwnd * acked
        };
    }

    /// §4.7, before the reduction: `W_max` for the next stage.
    fn remember_w_max(&mut self) {
        let cwnd = self.windows.cwnd;
        let gives_way = self.fast_convergence && self.growth.w_max.is_some_and(|w_max| cwnd < w_max);
        self.growth.w_max = Some(if gives_way { cwnd * (1.0 + self.beta) / 2.0 } else { cwnd });
        self.growth.cwnd_prior = Some(cwnd);
        self.growth.epoch = None;
    }
}

impl Growth {
    /// The epoch under way, or a new one that starts now.
    fn epoch_at(&mut self, now: Time, cwnd: f64, c: f64) -> &mut Epoch {
        let w_max = *self.w_max.get_or_insert(cwnd);
        let cwnd_prior = *self.cwnd_prior.get_or_insert(cwnd);
        self.epoch.get_or_insert_with(|| Epoch {
            elapsed: Duration::ZERO,
            updated_at: now,
            origin: w_max.max(cwnd),
            // Equation 2; 0 when the window is above W_max already.
            k: libm::cbrt((w_max - cwnd).max(0.0) / c),
            w_est: cwnd,
            cwnd_prior,
        })
    }
}

impl Epoch {
    /// Equation 1.
    fn w_cubic(&self, c: f64, t: f64) -> f64 {
        let from_plateau = t - self.k;
        c * from_plateau * from_plateau * from_plateau + self.origin
    }
}

impl CongestionControl for Cubic {
    fn name(&self) -> &'static str {
        ENTRY.name
    }
    fn cwnd(&self) -> f64 {
        self.windows.cwnd
    }
    fn ssthresh(&self) -> f64 {
        self.windows.ssthresh
    }
    fn phase(&self) -> &'static str {
        self.slow_start.phase(&self.windows)
    }

    fn on_ack(&mut self, view: &View, event: &Ack) {
        let acked = self.slow_start.on_ack(&mut self.windows, view, event);
        if acked > 0.0 {
            self.avoid_congestion(view, acked);
        } else if let Some(epoch) = &mut self.growth.epoch {
            epoch.updated_at = view.now;
        }
    }

    fn on_congestion(&mut self, _view: &View, event: &CongestionEvent) {
        self.undo = Some(self.growth);
        self.remember_w_max();
        let window = self.beta * self.windows.reducible(self.reduce_from, event.flight_size);
        self.windows.reduce_to(window, event.signal);
    }

    /// §4.8: the next congestion avoidance starts on a plateau of its own.
    fn on_rto(&mut self, _view: &View, event: &Rto) {
        if event.consecutive <= 1 {
            self.undo = Some(self.growth);
            self.growth = Growth { w_max: None, cwnd_prior: Some(self.windows.cwnd), epoch: None };
        }
        let window = self.beta * self.windows.reducible_at_rto(self.reduce_from, event.flight_size);
        self.windows.collapse(window, event);
        self.slow_start.on_rto();
    }

    /// §4.9.2: take everything back, unless the window has outgrown what it was.
    fn on_undo(&mut self, _view: &View, _event: &Undo) {
        if self.windows.undo() {
            self.growth = self.undo.take().unwrap_or(self.growth);
        }
    }

    fn on_idle_restart(&mut self, view: &View, _event: &IdleRestart) {
        if let Some(epoch) = &mut self.growth.epoch {
            epoch.updated_at = view.now;
        }
    }

    fn on_window_change(&mut self, _view: &View, change: &WindowChange) {
        self.windows.set(change);
        self.growth.epoch = None;
    }
}
