//! ECF, earliest completion first: wait for the fast path if that ends the transfer sooner.
//!
//! Reference: Lim et al., "ECF: An MPTCP path scheduler to manage heterogeneous paths" (CoNEXT 2017); multipath-tcp/mptcp
//! `mptcp_ecf.c`.
//!
//! Differences from the reference:
//! 1. The backlog is in packets of the MSS, real-valued.
//! 2. The paper's delta is the larger standard deviation of the RTT; this is the kernel's, `rttvar_us >> 1`: two mean deviations, with the
//!    timer's floor of 200 ms under Linux's rules 100 ms at least.
//!
//! Tested here with the worked examples.

use super::dft::{OPPORTUNISTIC, PENALISE, WindowRelief, fast_and_slow};
use super::{Blockage, Context, Decision, Entry, Relief, Scheduler, SubflowView};
use playpath_cc::{ParamSpec, Params};

pub(super) static ENTRY: Entry = Entry {
    name: "ecf",
    summary: "earliest completion first: waits for the fast path if that is sooner",
    reference: "Lim et al. 2017; multipath-tcp/mptcp mptcp_ecf.c",
    params: &[
        ParamSpec::number("beta", 0.25, (0.0, 1.0), "", "hysteresis once it waits (mptcp_ecf.c: 1/4)"),
        OPPORTUNISTIC,
        PENALISE,
    ],
    build: |params| Box::new(Ecf::new(params)),
};

#[derive(Debug)]
struct Ecf {
    beta: f64,
    relief: WindowRelief,
    is_waiting: bool,
}

impl Ecf {
    fn new(params: &Params) -> Ecf {
        Ecf { beta: params.number("beta"), relief: WindowRelief::new(params), is_waiting: false }
    }

    /// Wait for `fast` rather than use `slow`, with `backlog` packets to send?
    fn waits(&mut self, fast: &SubflowView, slow: &SubflowView, backlog: f64) -> bool {
        let (srtt_f, srtt_s) = (fast.srtt.as_secs_f64(), slow.srtt.as_secs_f64());
        let delta = 2.0 * fast.rttvar.max(slow.rttvar).as_secs_f64();
        let hysteresis = if self.is_waiting { 1.0 + self.beta } else { 1.0 };
        let on_fast = srtt_f * (backlog.max(fast.cwnd) + fast.cwnd);
        if on_fast >= hysteresis * fast.cwnd * (srtt_s + delta) {
            self.is_waiting = false;
            return false;
        }
        let is_slow_worse = srtt_s * backlog.max(slow.cwnd) >= slow.cwnd * (2.0 * srtt_f + delta);
        self.is_waiting |= is_slow_worse;
        is_slow_worse
    }
}

impl Scheduler for Ecf {
    fn select(&mut self, context: &Context) -> Decision {
        let (fast, slow) = match fast_and_slow(context) {
            Ok(paths) => paths,
            Err(decision) => return decision,
        };
        if self.waits(fast, slow, context.unscheduled_bytes as f64 / f64::from(slow.mss)) {
            return Decision::wait("the fast path completes earlier");
        }
        Decision::send(slow.path, "fast path full, slow path still earlier")
    }

    fn reads_backlog(&self) -> bool {
        true
    }

    fn relieve(&mut self, context: &Context, blockage: Blockage) -> Option<Relief> {
        self.relief.relieve(context, blockage)
    }
}

#[cfg(test)]
mod tests;
