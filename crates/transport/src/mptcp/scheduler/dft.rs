//! Lowest RTT first, with opportunistic retransmission and penalisation: the default of the old out-of-tree kernel.
//!
//! Reference: multipath-tcp/mptcp `mptcp_sched.c`; Raiciu et al., "How hard can it be?" (NSDI 2012).
//!
//! Differences from the reference:
//! 1. Ties of the RTT go to the lower index (the kernel: list order).
//! 2. Penalisation also where the application's buffer still has room; the kernel then only retransmits.
//!
//! Tested here.

use super::{Context, Decision, Entry, Relief, STATE_DRIVEN, Scheduler, SubflowView, is_open, pick};
use playpath_cc::{ParamSpec, Params};
use playpath_units::Time;

pub(super) const OPPORTUNISTIC: ParamSpec = ParamSpec::flag(
    "opportunistic",
    true,
    "while the connection-level window is full, send its oldest segment again on a faster path",
);
pub(super) const PENALISE: ParamSpec = ParamSpec::flag(
    "penalise",
    true,
    "while the connection-level window is full, halve the window of the slower path that holds its oldest segment",
);

pub(super) static ENTRY: Entry = Entry {
    name: "dft",
    summary: "lowest RTT with room; opportunistic retransmission and penalisation",
    reference: "multipath-tcp/mptcp mptcp_sched.c",
    params: &[STATE_DRIVEN, OPPORTUNISTIC, PENALISE],
    build: |params| Box::new(Dft::new(params)),
};

#[derive(Debug)]
pub(super) struct Dft {
    state_driven: bool,
    relief: WindowRelief,
}

impl Dft {
    pub fn new(params: &Params) -> Dft {
        Dft { state_driven: params.flag("state_driven"), relief: WindowRelief::new(params) }
    }
}

impl Scheduler for Dft {
    fn name(&self) -> &'static str {
        ENTRY.name
    }
    fn select(&mut self, context: &Context) -> Decision {
        select_lowest_rtt(context, self.state_driven)
    }
    fn relieve(&mut self, context: &Context) -> Option<Relief> {
        self.relief.relieve(context)
    }
}

/// The eligible subflow with the lowest SRTT.
pub(super) fn select_lowest_rtt(context: &Context, state_driven: bool) -> Decision {
    match pick(context.subflows, is_open(context.subflows, state_driven), |s| s.srtt.as_nanos() as f64) {
        Some(subflow) => Decision::send(subflow.path, "lowest RTT with room"),
        None => Decision::wait("no window has room"),
    }
}

/// Where the lowest RTT with room is not the lowest of all: the path of that, which is full, and the one that has room. `Err`: what
/// is decided otherwise.
pub(super) fn fast_and_slow<'a>(context: &Context<'a>) -> Result<(&'a SubflowView, &'a SubflowView), Decision> {
    let decision = select_lowest_rtt(context, false);
    let path = decision.path.filter(|_| !context.is_reinjection).ok_or(decision)?;
    let usable = context.subflows.iter().filter(|s| s.is_usable && !s.is_backup && !s.is_loss);
    let fast = usable.min_by(|a, b| a.srtt.cmp(&b.srtt).then(a.path.cmp(&b.path)));
    let slow = context.subflows.iter().find(|s| s.path == path);
    fast.zip(slow).filter(|(fast, slow)| fast.path != slow.path).ok_or(decision)
}

/// Opportunistic retransmission and penalisation, shared by the schedulers that extend this one.
#[derive(Debug)]
pub(super) struct WindowRelief {
    opportunistic: bool,
    penalise: bool,
    last_penalty: Option<Time>,
}

impl WindowRelief {
    pub fn new(params: &Params) -> WindowRelief {
        WindowRelief {
            opportunistic: params.flag("opportunistic"),
            penalise: params.flag("penalise"),
            last_penalty: None,
        }
    }

    pub fn relieve(&mut self, context: &Context) -> Option<Relief> {
        let fast = pick(context.subflows, SubflowView::is_eligible, |s| s.srtt.as_nanos() as f64)?;
        let holders = || context.subflows.iter().filter(|s| s.has_segment && s.path != fast.path);
        let penalised = if self.may_penalise(context.now, fast) {
            holders()
                .filter(|s| fast.srtt < s.srtt && !s.is_recovering && !s.is_loss)
                .fold(0, |bits, s| bits | 1 << s.path)
        } else {
            0
        };
        if penalised != 0 {
            self.last_penalty = Some(context.now);
        }
        // The first holder decides, unless a window of four or less makes the path hopeless (mptcp_sched.c).
        let is_worth = holders().next().is_some_and(|s| s.cwnd <= 4.0 || fast.srtt * 4 < s.srtt);
        let retransmit_on = (self.opportunistic && !fast.has_segment && is_worth).then_some(fast.path);
        (penalised != 0 || retransmit_on.is_some()).then_some(Relief { retransmit_on, penalised })
    }

    /// At most once per SRTT of the faster path.
    fn may_penalise(&self, now: Time, fast: &SubflowView) -> bool {
        self.penalise && self.last_penalty.is_none_or(|last| now.saturating_since(last) >= fast.srtt)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{choice, context, view};
    use super::*;

    fn dft() -> Dft {
        Dft::new(&Params::defaults(ENTRY.params))
    }

    #[test]
    fn lowest_rtt_with_room() {
        let mut views = [view(0, 50, 10.0), view(1, 20, 10.0), view(2, 20, 10.0)];
        assert_eq!(choice(&mut dft(), &views), Some(1));
        views[1].in_flight = 10;
        assert_eq!(choice(&mut dft(), &views), Some(2));
        views[2].is_loss = true;
        assert_eq!(choice(&mut dft(), &views), Some(0));
        views[0].queued = 10;
        assert_eq!(choice(&mut dft(), &views), None);
    }

    #[test]
    fn backups_only_when_nothing_else_works() {
        let mut views = [view(0, 50, 10.0), view(1, 20, 10.0)];
        views[1].is_backup = true;
        views[0].in_flight = 10;
        assert_eq!(choice(&mut dft(), &views), None, "a busy active path is waited for");
        views[0].is_usable = false;
        assert_eq!(choice(&mut dft(), &views), Some(1));
    }

    #[test]
    fn fast_recovery_excludes_only_under_state_driven() {
        let mut views = [view(0, 50, 10.0), view(1, 20, 10.0)];
        views[1].is_recovering = true;
        assert_eq!(choice(&mut dft(), &views), Some(1));
        let mut params = Params::defaults(ENTRY.params);
        params.set_flag("state_driven", true).unwrap();
        assert_eq!(choice(&mut Dft::new(&params), &views), Some(0));
        views[0].in_flight = 10;
        assert_eq!(choice(&mut Dft::new(&params), &views), Some(1));
    }

    #[test]
    fn reinjections_prefer_paths_that_have_not_carried_the_segment() {
        let mut views = [view(0, 20, 10.0), view(1, 50, 10.0), view(2, 90, 10.0)];
        views[0].has_segment = true;
        assert_eq!(choice(&mut dft(), &views), Some(1));
        views[1].in_flight = 10;
        assert_eq!(choice(&mut dft(), &views), Some(2));
        // All others are gone: a backup without it, then whoever works.
        (views[1].is_usable, views[2].is_backup) = (false, true);
        assert_eq!(choice(&mut dft(), &views), Some(2));
        views[2].is_usable = false;
        assert_eq!(choice(&mut dft(), &views), Some(0));
    }

    /// Head on a path of 200 ms; ours has 40 ms: 4·40 < 200, so it is sent again, and the slow path is halved once per 40 ms.
    #[test]
    fn relief_of_a_full_window() {
        let mut views = [view(0, 40, 10.0), view(1, 200, 20.0)];
        views[1].has_segment = true;
        let mut scheduler = dft();
        let relief = scheduler.relieve(&context(&views)).unwrap();
        assert_eq!(relief, Relief { retransmit_on: Some(0), penalised: 0b10 });
        assert_eq!(scheduler.relieve(&context(&views)).unwrap().penalised, 0);
        // 4·50 = 200: not faster enough; but a window of four packets is reason enough.
        let mut views = [view(0, 50, 10.0), view(1, 200, 20.0)];
        views[1].has_segment = true;
        assert_eq!(dft().relieve(&context(&views)).unwrap().retransmit_on, None);
        views[1].cwnd = 4.0;
        assert_eq!(dft().relieve(&context(&views)).unwrap().retransmit_on, Some(0));
    }
}
