//! Lowest RTT first, with opportunistic retransmission and penalisation: the default of the old out-of-tree kernel.
//!
//! Reference: multipath-tcp/mptcp `mptcp_sched.c`; Raiciu et al., "How hard can it be?" (NSDI 2012).
//!
//! Differences from the reference:
//! 1. Ties of the RTT go to the lower index (the kernel: list order).
//! 2. Where several slower paths hold the oldest segment, the first by index decides on its penalty (the kernel: list order).
//!
//! A full send buffer is a second reason for relief, as in `__mptcp_next_segment`: everything written is given out, the writer waits,
//! and more than two thirds are taken; windows are halved only if it has no room at all.
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
    fn name(&self) -> &'static str {
        ENTRY.name
    }
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

/// Where the lowest RTT with room is not the lowest of all: the path of that, which is full, and the one that has room. `Err`: what
/// is decided otherwise.
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
    /// By path: when it, as the fast one, last had another penalised.
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
        (penalised != 0 || retransmit_on.is_some()).then_some(Relief { retransmit_on, penalised })
    }

    /// At most once per SRTT of the faster path.
    fn may_penalise(&self, now: Time, fast: &SubflowView) -> bool {
        let last = self.penalised_at.get(fast.path).copied().flatten();
        self.penalise && last.is_none_or(|last| now.saturating_since(last) >= fast.srtt)
    }
}

/// To send again on `fast` what the holders have: each is more than four times as slow, up to one whose window of four or less makes
/// it hopeless (mptcp_sched.c).
fn is_worth<'a>(fast: &SubflowView, mut holders: impl Iterator<Item = &'a SubflowView>) -> bool {
    let mut is_held = false;
    let ended = holders.find_map(|s| {
        is_held = true;
        if s.cwnd <= 4.0 { Some(true) } else { (fast.srtt * 4 >= s.srtt).then_some(false) }
    });
    ended.unwrap_or(is_held)
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
        let full = Blockage::ReceiveWindow;
        let relief = scheduler.relieve(&context(&views), full).unwrap();
        assert_eq!(relief, Relief { retransmit_on: Some(0), penalised: 0b10 });
        assert_eq!(scheduler.relieve(&context(&views), full).unwrap().penalised, 0);
        // 4·50 = 200: not faster enough; but a window of four packets is reason enough.
        let mut views = [view(0, 50, 10.0), view(1, 200, 20.0)];
        views[1].has_segment = true;
        assert_eq!(dft().relieve(&context(&views), full).unwrap().retransmit_on, None);
        views[1].cwnd = 4.0;
        assert_eq!(dft().relieve(&context(&views), full).unwrap().retransmit_on, Some(0));
    }

    /// A full send buffer penalises, one that is nearly full only sends again.
    #[test]
    fn relief_of_a_full_send_buffer() {
        let mut views = [view(0, 40, 10.0), view(1, 200, 20.0)];
        views[1].has_segment = true;
        for (is_full, penalised) in [(false, 0), (true, 0b10)] {
            let relief = dft().relieve(&context(&views), Blockage::SendBuffer { is_full }).unwrap();
            assert_eq!(relief, Relief { retransmit_on: Some(0), penalised });
        }
    }

    /// Paths of 40, 60, 200 and 300 ms. The last two hold the segment: only the first of them is halved, and only while it deals with
    /// no loss or reordering. Each faster path counts its own round trip.
    #[test]
    fn the_first_holder_is_penalised_once_for_each_faster_path() {
        let mut views = [view(0, 40, 10.0), view(1, 60, 10.0), view(2, 200, 20.0), view(3, 300, 20.0)];
        (views[2].has_segment, views[3].has_segment) = (true, true);
        let mut scheduler = dft();
        let mut penalised = |views: &[SubflowView]| {
            scheduler.relieve(&context(views), Blockage::ReceiveWindow).map_or(0, |r| r.penalised)
        };
        assert_eq!(penalised(&views), 0b100);
        assert_eq!(penalised(&views), 0, "within a round trip of path 0");
        views[0].in_flight = 10;
        assert_eq!(penalised(&views), 0b100, "path 1 is the fast one now, and counts for itself");
        views[2].is_ca_open = false;
        let mut fresh = dft();
        assert_eq!(fresh.relieve(&context(&views), Blockage::ReceiveWindow).map_or(0, |r| r.penalised), 0);
    }

    /// 40 ms against 200 and 150: 4·40 = 160 is less than the one and more than the other, so it is not worth it. A hopeless first
    /// holder decides alone.
    #[test]
    fn every_holder_must_be_slow_enough() {
        let fast = view(0, 40, 10.0);
        let holders = [view(1, 200, 20.0), view(2, 150, 20.0)];
        assert!(!is_worth(&fast, holders.iter()));
        assert!(is_worth(&fast, holders[..1].iter()));
        assert!(is_worth(&fast, [view(1, 200, 4.0), holders[1]].iter()));
        assert!(!is_worth(&fast, [].iter()), "nobody else holds it");
    }

    #[test]
    fn when_full_it_may_wait() {
        let mut params = Params::defaults(ENTRY.params);
        params.set_word("when_full", "wait").unwrap();
        let mut scheduler = Dft::new(&params);
        let mut views = [view(0, 50, 10.0), view(1, 20, 10.0)];
        assert_eq!(choice(&mut scheduler, &views), Some(1));
        views[1].in_flight = 10;
        assert_eq!(choice(&mut scheduler, &views), None);
        views[1].is_loss = true;
        assert_eq!(choice(&mut scheduler, &views), Some(0), "a path that a timeout has stopped is not waited for");
    }
}
