//! Lowest RTT first, with opportunistic retransmission and penalisation: the default of the old out-of-tree kernel.
//!
//! Reference: multipath-tcp/mptcp `mptcp_sched.c`; Raiciu et al., "How hard can it be?" (NSDI 2012).
//!
//! Differences from the reference:
//! 1. Ties of the RTT go to the lower index (the kernel: list order).
//! 2. Where several slower paths hold the oldest segment, the first by index decides on its penalty (the kernel: list order).
//!
//! A full send buffer is a second reason for relief, as in `__mptcp_next_segment`: all written data are scheduled, the writer waits,
//! and more than two thirds are used; windows are halved only if it has no room at all.
//!
//! Tested here.

use super::{
    Blockage, Context, Decision, Entry, Relief, STATE_DRIVEN, Scheduler, SubflowView, WHEN_FULL, is_open, pick,
};
use playpath_cc::{ParamSpec, Params};
use playpath_units::Time;

pub(super) const OPPORTUNISTIC: ParamSpec = ParamSpec::flag(
    "opportunistic",
    true,
    "while the connection-level window is full, or the send buffer, send the oldest segment again on a faster path",
);
pub(super) const PENALISE: ParamSpec = ParamSpec::flag(
    "penalise",
    true,
    "while the connection-level window is full, or the send buffer, halve the window of the slower path that holds the oldest segment",
);

pub(super) static ENTRY: Entry = Entry {
    name: "dft",
    summary: "lowest RTT with room; opportunistic retransmission and penalisation",
    reference: "multipath-tcp/mptcp mptcp_sched.c",
    params: &[STATE_DRIVEN, WHEN_FULL, OPPORTUNISTIC, PENALISE],
    build: |params| Box::new(Dft::new(params)),
};

#[derive(Debug)]
pub(super) struct Dft {
    state_driven: bool,
    waits: bool,
    relief: WindowRelief,
}

impl Dft {
    pub fn new(params: &Params) -> Dft {
        Dft {
            state_driven: params.flag("state_driven"),
            waits: params.word("when_full") == "wait",
            relief: WindowRelief::new(params),
        }
    }
}

impl Scheduler for Dft {
    fn select(&mut self, context: &Context) -> Decision {
        let decision = select_lowest_rtt(context, self.state_driven);
        if self.waits && !context.is_reinjection && decision.path != lowest_rtt(context.subflows).map(|s| s.path) {
            return Decision::wait("the path with the lowest RTT is full");
        }
        decision
    }
    fn relieve(&mut self, context: &Context, blockage: Blockage) -> Option<Relief> {
        self.relief.relieve(context, blockage)
    }
}

/// The usable subflow with the lowest SRTT, whether it has room or not; none that a timeout has stopped.
fn lowest_rtt(subflows: &[SubflowView]) -> Option<&SubflowView> {
    pick(subflows, |s| !s.is_loss, |s| s.srtt.as_nanos() as f64)
}

/// The eligible subflow with the lowest SRTT.
pub(super) fn select_lowest_rtt(context: &Context, state_driven: bool) -> Decision {
    match pick(context.subflows, is_open(context.subflows, state_driven), |s| s.srtt.as_nanos() as f64) {
        Some(subflow) => Decision::send(subflow.path, "lowest RTT with room"),
        None => Decision::wait("no window has room"),
    }
}

/// If the path with the lowest RTT is full: that path, and the path with the lowest RTT among those with room. `Err`: the decision in all
/// other cases.
pub(super) fn fast_and_slow<'a>(context: &Context<'a>) -> Result<(&'a SubflowView, &'a SubflowView), Decision> {
    let decision = select_lowest_rtt(context, false);
    let path = decision.path.filter(|_| !context.is_reinjection).ok_or(decision)?;
    let usable = context.subflows.iter().filter(|s| s.is_working());
    let fast = usable.min_by(|a, b| a.srtt.cmp(&b.srtt).then(a.path.cmp(&b.path)));
    let slow = context.subflows.iter().find(|s| s.path == path);
    fast.zip(slow).filter(|(fast, slow)| fast.path != slow.path).ok_or(decision)
}

/// Opportunistic retransmission and penalisation, shared by the schedulers that extend this one.
#[derive(Debug)]
pub(super) struct WindowRelief {
    opportunistic: bool,
    penalise: bool,
    /// By path: when it, as the fast one, last caused a penalty of another.
    penalised_at: Vec<Option<Time>>,
}

impl WindowRelief {
    pub fn new(params: &Params) -> WindowRelief {
        WindowRelief {
            opportunistic: params.flag("opportunistic"),
            penalise: params.flag("penalise"),
            penalised_at: Vec::new(),
        }
    }

    pub fn relieve(&mut self, context: &Context, blockage: Blockage) -> Option<Relief> {
        let fast = pick(context.subflows, SubflowView::is_eligible, |s| s.srtt.as_nanos() as f64)?;
        let holders = || context.subflows.iter().filter(|s| s.has_segment && s.path != fast.path);
        let may_penalise = blockage != Blockage::SendBuffer { is_full: false } && self.may_penalise(context.now, fast);
        let is_slower = |s: &&SubflowView| fast.srtt < s.srtt && s.is_ca_open;
        let penalised = holders().next().filter(is_slower).filter(|_| may_penalise).map_or(0, |s| 1 << s.path);
        if penalised != 0 {
            self.penalised_at.resize(self.penalised_at.len().max(fast.path + 1), None);
            self.penalised_at[fast.path] = Some(context.now);
        }
        let retransmit_on = (self.opportunistic && !fast.has_segment && is_worth(fast, holders())).then_some(fast.path);
        (penalised != 0 || retransmit_on.is_some()).then_some(Relief { retransmit_on, penalised, tried: None })
    }

    /// At most once per SRTT of the faster path.
    fn may_penalise(&self, now: Time, fast: &SubflowView) -> bool {
        let last = self.penalised_at.get(fast.path).copied().flatten();
        self.penalise && last.is_none_or(|last| now.saturating_since(last) >= fast.srtt)
    }
}

/// Whether it is worth retransmitting the holders' chunk on `fast`: each holder is more than four times as slow, up to one whose window of
/// four or less makes it hopeless (mptcp_sched.c).
fn is_worth<'a>(fast: &SubflowView, mut holders: impl Iterator<Item = &'a SubflowView>) -> bool {
    let mut is_held = false;
    let ended = holders.find_map(|s| {
        is_held = true;
        if s.cwnd <= 4.0 { Some(true) } else { (fast.srtt * 4 >= s.srtt).then_some(false) }
    });
    ended.unwrap_or(is_held)
}

#[cfg(test)]
mod tests;
