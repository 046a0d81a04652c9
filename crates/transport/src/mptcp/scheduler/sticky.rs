//! GR-STY, TP-STY, TR-STY: stay on the path that was entered last, until it is congested.
//!
//! Reference: Nguyen, Cavendish et al., "Managing Path Switching in Multipath Video Streaming"; the paper gives the rules in
//! words. Definition used here: current path, path left at the last switch, and whether we are committed to stay. Committed and
//! eligible: use the current path. Otherwise lowest RTT decides; if that is another path, it is a switch, and the rule decides
//! once whether to commit: GR always; TP if the rate of the path left is smaller than that of the one entered; TR if also its
//! RTT is smaller.
//!
//! Differences from the reference:
//! 1. "Congested" means not eligible: no room in the window, or after a timeout; with `recovery_is_congestion` (default, as
//!    in the authors' state-driven schedulers) also fast recovery.
//! 2. The rate is cwnd/srtt (`rate = "window"`), because an unused path has no other; `"measured"` takes the delivery rate where
//!    there is one.
//! 3. Under `when_full = "wait"` a full window is no congestion: the path that we are committed to is waited for.
//! 4. `rtt_flip` reverses TR's RTT test: stay only on faster paths. The paper prints the other reading.
//!
//! Tested here with vectors derived from the rules.

use super::dft::{OPPORTUNISTIC, PENALISE, WindowRelief, select_lowest_rtt};
use super::{Blockage, Context, Decision, Entry, Relief, Scheduler, SubflowView, WHEN_FULL};
use playpath_cc::{ParamSpec, Params};
use playpath_units::Rate;

const RECOVERY: ParamSpec =
    ParamSpec::flag("recovery_is_congestion", true, "a path in fast recovery counts as congested and is left");
const RATE: ParamSpec = ParamSpec::word(
    "rate",
    "window",
    &["window", "measured"],
    "rate of a path: cwnd/srtt, or the measured delivery rate where there is one",
);
const RTT_FLIP: ParamSpec = ParamSpec::flag("rtt_flip", false, "stay only if the path entered has the smaller RTT");

const REFERENCE: &str = "Nguyen, Cavendish et al., Managing Path Switching in Multipath Video Streaming";

pub(super) static GR_STY: Entry = Entry {
    name: "gr-sty",
    summary: "greedy sticky: stay on the path entered until it is congested",
    reference: REFERENCE,
    params: &[RECOVERY, WHEN_FULL, OPPORTUNISTIC, PENALISE],
    build: |params| Box::new(Sticky::new(Rule::Greedy, params)),
};

pub(super) static TP_STY: Entry = Entry {
    name: "tp-sty",
    summary: "throughput sticky: stay if the path entered has the higher rate",
    reference: REFERENCE,
    params: &[RECOVERY, RATE, WHEN_FULL, OPPORTUNISTIC, PENALISE],
    build: |params| Box::new(Sticky::new(Rule::Throughput, params)),
};

pub(super) static TR_STY: Entry = Entry {
    name: "tr-sty",
    summary: "throughput and RTT sticky: stay if rate and RTT of the path left are smaller",
    reference: REFERENCE,
    params: &[RECOVERY, RATE, RTT_FLIP, WHEN_FULL, OPPORTUNISTIC, PENALISE],
    build: |params| Box::new(Sticky::new(Rule::ThroughputRtt { flip: params.flag("rtt_flip") }, params)),
};

#[derive(Clone, Copy, Debug)]
enum Rule {
    Greedy,
    Throughput,
    ThroughputRtt { flip: bool },
}

#[derive(Debug)]
struct Sticky {
    rule: Rule,
    recovery_is_congestion: bool,
    is_measured: bool,
    waits: bool,
    relief: WindowRelief,
    /// Path of the last new data.
    current: Option<usize>,
    is_committed: bool,
}

impl Sticky {
    fn new(rule: Rule, params: &Params) -> Sticky {
        Sticky {
            rule,
            recovery_is_congestion: params.flag("recovery_is_congestion"),
            is_measured: !matches!(rule, Rule::Greedy) && params.word("rate") == "measured",
            waits: params.word("when_full") == "wait",
            relief: WindowRelief::new(params),
            current: None,
            is_committed: false,
        }
    }

    fn is_congested(&self, subflow: &SubflowView) -> bool {
        // Study of `when_full = wait`: a full window alone is no congestion.
        let only_full = self.waits && subflow.is_usable && !subflow.is_loss;
        !(subflow.is_eligible() || only_full) || (self.recovery_is_congestion && subflow.is_recovering)
    }

    /// Packets per second.
    fn rate(&self, subflow: &SubflowView) -> f64 {
        if self.is_measured && subflow.delivery_rate > Rate::default() {
            return subflow.delivery_rate.as_bits_per_sec() as f64 / (8.0 * f64::from(subflow.mss));
        }
        subflow.window_rate()
    }

    /// Stay on `entered` after leaving `left`? Both tests are strict.
    fn commits(&self, left: &SubflowView, entered: &SubflowView) -> bool {
        let is_faster = self.rate(left) < self.rate(entered);
        match self.rule {
            Rule::Greedy => true,
            Rule::Throughput => is_faster,
            Rule::ThroughputRtt { flip: false } => is_faster && left.srtt < entered.srtt,
            Rule::ThroughputRtt { flip: true } => is_faster && entered.srtt < left.srtt,
        }
    }
}

impl Scheduler for Sticky {
    fn select(&mut self, context: &Context) -> Decision {
        if context.is_reinjection {
            return select_lowest_rtt(context, false); // reinjections move neither the path nor the commitment
        }
        let find = |path: usize| context.subflows.iter().find(|s| s.path == path);
        let current = self.current.and_then(find);
        if self.is_committed
            && let Some(subflow) = current
            && !self.is_congested(subflow)
        {
            return match subflow.is_eligible() {
                true => Decision::send(subflow.path, "sticky"),
                false => Decision::wait("the path that it sticks to is full"),
            };
        }
        let decision = select_lowest_rtt(context, self.recovery_is_congestion);
        let Some(entered) = decision.path.and_then(find) else { return decision };
        if let Some(left) = current
            && left.path != entered.path
        {
            self.is_committed = self.commits(left, entered);
            self.current = Some(entered.path);
            let reason = if self.is_congested(left) { "path congested" } else { "lower RTT has room again" };
            return Decision::send(entered.path, reason);
        }
        self.current = Some(entered.path);
        decision
    }

    fn relieve(&mut self, context: &Context, blockage: Blockage) -> Option<Relief> {
        self.relief.relieve(context, blockage)
    }
}

#[cfg(test)]
mod tests;
