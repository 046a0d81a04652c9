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
    fn name(&self) -> &'static str {
        ENTRY.name
    }

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
mod tests {
    use super::super::testing::{choice, context, view};
    use super::*;

    fn sttf() -> Sttf {
        Sttf::new(&Params::defaults(ENTRY.params))
    }

    fn full(path: usize, srtt_ms: u64, ssthresh: f64) -> SubflowView {
        SubflowView { in_flight: 10, ssthresh, ..view(path, srtt_ms, 10.0) }
    }

    /// A full window of 10 at 20 ms, beside 100 ms: a packet on the slow path takes 50 ms. The fast path brings what leaves within 40 ms,
    /// that is two round trips: 11 + 12 = 23 in congestion avoidance, 20 + 40 = 60 in slow start, 15 + 16 = 31 with a threshold of 15.
    #[test]
    fn what_a_full_path_brings_meanwhile() {
        let within = Duration::from_millis(50);
        assert_eq!(brought_by(&full(0, 20, 10.0), within), 23.0);
        assert_eq!(brought_by(&full(0, 20, f64::INFINITY), within), 60.0);
        assert_eq!(brought_by(&full(0, 20, 15.0), within), 31.0);
        // At 40 ms a round trip and a half are 60 ms: too late.
        assert_eq!(brought_by(&full(0, 40, 10.0), within), 0.0);
        // Five packets are queued, too.
        assert_eq!(brought_by(&SubflowView { queued: 5, ..full(0, 20, 10.0) }, within), 18.0);
    }

    /// 23 packets come sooner by the fast path, the 24th by the slow one; with room, the fast path takes all.
    #[test]
    fn the_slow_path_takes_what_the_fast_one_cannot_bring_in_time() {
        let mut views = [full(0, 20, 10.0), view(1, 100, 10.0)];
        for (packets, wanted) in [(23, None), (24, Some(1))] {
            let question = Context { unscheduled_bytes: packets * 1400, ..context(&views) };
            assert_eq!(sttf().select(&question).path, wanted, "{packets}");
        }
        views[0].in_flight = 9;
        assert_eq!(choice(&mut sttf(), &views), Some(0));
    }

    /// Nobody waits for a path after a timeout, for a backup, or with data that is sent again.
    #[test]
    fn only_working_paths_are_waited_for() {
        let views = [full(0, 20, 10.0), view(1, 100, 10.0)];
        fn few(views: &[SubflowView]) -> Context<'_> {
            Context { unscheduled_bytes: 1400, ..context(views) }
        }
        assert_eq!(sttf().select(&few(&views)).path, None);
        assert_eq!(sttf().select(&Context { is_reinjection: true, ..few(&views) }).path, Some(1));
        for stopped in [SubflowView { is_loss: true, ..views[0] }, SubflowView { is_backup: true, ..views[0] }] {
            let views = [stopped, views[1]];
            assert_eq!(sttf().select(&few(&views)).path, Some(1));
        }
    }
}
