//! STTF, shortest transfer time first: a slower path with room takes data only when the faster ones, windows growing, could not bring
//! it by then.
//!
//! Reference: Hurtig, Grinnemo, Brunstrom, Ferlin, Alay, Kuhn, "Low-Latency Scheduling in MPTCP" (IEEE/ACM Transactions on Networking
//! 27, 2019). The transfer time of a packet on a path: as many round trips as windows must pass before it is sent, and half of one.
//! A window doubles with each round trip in slow start and grows by a packet otherwise.
//!
//! Differences from the reference:
//! 1. Written from the paper's description; its code is not published with the out-of-tree kernel.
//! 2. Data leave in order. Where a packet further back would have the shortest time on the path with room, it is the oldest that goes
//!    there now.
//! 3. At most 64 round trips are looked ahead.
//!
//! Tested here with the worked examples.

use super::dft::{OPPORTUNISTIC, PENALISE, WindowRelief, select_lowest_rtt};
use super::{Blockage, Context, Decision, Entry, Relief, Scheduler, SubflowView};
use playpath_cc::Params;
use playpath_units::Duration;

pub(super) static ENTRY: Entry = Entry {
    name: "sttf",
    summary: "shortest transfer time first: waits for a full path that brings the backlog sooner",
    reference: "Hurtig et al. 2019, Low-Latency Scheduling in MPTCP",
    params: &[OPPORTUNISTIC, PENALISE],
    build: |params| Box::new(Sttf::new(params)),
};

/// Round trips looked ahead.
const HORIZON: u32 = 64;

#[derive(Debug)]
struct Sttf {
    relief: WindowRelief,
}

impl Sttf {
    fn new(params: &Params) -> Sttf {
        Sttf { relief: WindowRelief::new(params) }
    }
}

impl Scheduler for Sttf {
    fn select(&mut self, context: &Context) -> Decision {
        let open = select_lowest_rtt(context, false);
        let find = |path: usize| context.subflows.iter().find(|s| s.path == path);
        let Some(open_path) = open.path.filter(|_| !context.is_reinjection).and_then(find) else { return open };
        let backlog = context.unscheduled_bytes as f64 / f64::from(open_path.mss.max(1));
        let full = context.subflows.iter().filter(|s| s.is_working() && !s.is_eligible());
        let sooner: f64 = full.map(|s| brought_by(s, open_path.srtt / 2)).sum();
        if backlog <= sooner {
            return Decision::wait("a full path brings it sooner");
        }
        Decision::send(open_path.path, "shortest transfer time")
    }

    fn reads_backlog(&self) -> bool {
        true
    }

    fn relieve(&mut self, context: &Context, blockage: Blockage) -> Option<Relief> {
        self.relief.relieve(context, blockage)
    }
}

/// Packets beyond those that it holds which a full path brings within `time`.
fn brought_by(subflow: &SubflowView, time: Duration) -> f64 {
    let srtt = subflow.srtt.as_secs_f64().max(1e-9);
    let rounds = (time.as_secs_f64() - srtt / 2.0) / srtt;
    if rounds < 1.0 {
        return 0.0; // its next packet leaves a round trip from now
    }
    let (mut window, mut sent) = (subflow.cwnd, subflow.cwnd);
    for _ in 0..(rounds.floor() as u32).min(HORIZON) {
        window =
            if window < subflow.ssthresh { (2.0 * window).min(subflow.ssthresh.max(window)) } else { window + 1.0 };
        sent += window;
    }
    (sent - f64::from(subflow.in_flight + subflow.queued)).max(0.0)
}

#[cfg(test)]
mod tests;
