//! BLEST: do not use the slow path if the fast one could fill the connection-level window meanwhile.
//!
//! Reference: Ferlin et al., "BLEST: Blocking estimation-based MPTCP scheduler" (Networking 2016); multipath-tcp/mptcp
//! `mptcp_blest.c`.
//!
//! Differences from the reference:
//! 1. Windows and times are real numbers, not integers; rounds are whole, as there.
//! 2. Where several slower paths hold the oldest segment, the first by index is penalised (`dft.rs`), not all of them.
//!
//! Tested here with the worked example.

use super::dft::{OPPORTUNISTIC, PENALISE, WindowRelief, fast_and_slow};
use super::{Blockage, Context, Decision, Entry, Relief, Scheduler, SubflowView};
use playpath_cc::{ParamSpec, Params};
use playpath_units::{Duration, Time};

pub(super) static ENTRY: Entry = Entry {
    name: "blest",
    summary: "leaves the slow path alone where it would block the window for the fast one",
    reference: "Ferlin et al. 2016; multipath-tcp/mptcp mptcp_blest.c",
    params: &[
        ParamSpec::number("lambda", 1.2, (1.0, 1.3), "", "initial scaling of the estimate (mptcp_blest.c: 12/10)"),
        OPPORTUNISTIC,
        PENALISE,
    ],
    build: |params| Box::new(Blest::new(params)),
};

const LAMBDA: (f64, f64) = (1.0, 1.3);
/// Change of lambda per smallest SRTT of the slow path, with and without a window or send buffer that was full (`retrans_flag`).
const STEP: (f64, f64) = (0.04, -0.01);
/// Initial slow start: the window doubles at most so often.
const MAX_ROUNDS: u64 = 16;

#[derive(Debug)]
struct Blest {
    lambda: f64,
    relief: WindowRelief,
    was_blocked: bool,
    adjusted_at: Time,
}

impl Blest {
    fn new(params: &Params) -> Blest {
        let relief = WindowRelief::new(params);
        Blest { lambda: params.number("lambda"), relief, was_blocked: false, adjusted_at: Time::ZERO }
    }

    fn adjust_lambda(&mut self, now: Time, slow: &SubflowView) {
        if now.saturating_since(self.adjusted_at) < slow.srtt_range.0 {
            return;
        }
        let step = if std::mem::take(&mut self.was_blocked) { STEP.0 } else { STEP.1 };
        self.lambda = (self.lambda + step).clamp(LAMBDA.0, LAMBDA.1);
        self.adjusted_at = now;
    }
}

/// Packets that the fast path could send until the slow one has delivered.
fn fast_packets(fast: &SubflowView, slow: &SubflowView) -> f64 {
    let (low, high) = fast.srtt_range;
    let rounds = linger(slow).as_nanos() / ((low + high) / 2).as_nanos().max(1) + 1;
    if fast.ssthresh.is_infinite() {
        return fast.cwnd * ((1_u64 << rounds.min(MAX_ROUNDS)) - 1) as f64;
    }
    let window = fast.cwnd.max(fast.ssthresh + 1.0);
    (window + ((rounds - 1) / 2) as f64) * rounds as f64
}

/// Time that a packet given to the slow path takes: its SRTT, at least what its range says of the window with it.
fn linger(slow: &SubflowView) -> Duration {
    let (low, high) = slow.srtt_range;
    let filled = (f64::from(slow.in_flight + 1) / slow.cwnd).min(1.0);
    slow.srtt.max(low + (high.saturating_sub(low)).mul_f64(filled))
}

impl Scheduler for Blest {
    fn select(&mut self, context: &Context) -> Decision {
        let (fast, slow) = match fast_and_slow(context) {
            Ok(paths) => paths,
            Err(decision) => return decision,
        };
        self.adjust_lambda(context.now, slow);
        let wanted = fast_packets(fast, slow) * f64::from(fast.mss) * self.lambda;
        let held = u64::from(slow.in_flight + slow.queued + 1) * u64::from(slow.mss);
        if wanted > context.send_window.saturating_sub(held) as f64 {
            return Decision::wait("the slow path would block the window");
        }
        Decision::send(slow.path, "fast path full, window wide enough")
    }

    fn relieve(&mut self, context: &Context, blockage: Blockage) -> Option<Relief> {
        // Whatever comes of it, if a subflow could send.
        let is_full = blockage != Blockage::SendBuffer { is_full: false };
        self.was_blocked |= is_full && self.select(context).path.is_some();
        self.relief.relieve(context, blockage)
    }
}

#[cfg(test)]
mod tests;
