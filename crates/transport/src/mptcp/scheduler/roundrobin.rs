//! Round robin: the next subflow with room after the last one used.
//!
//! Reference: draft-bonaventure-iccrg-schedulers §3.1; multipath-tcp/mptcp `mptcp_rr.c` with one segment per turn, limited by the
//! window.
//! Differences from the reference: none. Tested here.

use super::{Context, Decision, Entry, Scheduler, pick};

pub(super) static ENTRY: Entry = Entry {
    name: "roundrobin",
    summary: "each subflow with room in turn, a segment each",
    reference: "draft-bonaventure-iccrg-schedulers",
    params: &[],
    build: |_| Box::<RoundRobin>::default(),
};

#[derive(Debug, Default)]
struct RoundRobin {
    /// First path of the next turn.
    next: usize,
}

impl Scheduler for RoundRobin {
    fn select(&mut self, context: &Context) -> Decision {
        let count = context.subflows.len().max(1);
        let next = self.next;
        let turn = |path: usize| ((path + count - next % count) % count) as f64;
        match pick(context.subflows, |s| s.is_eligible(), |s| turn(s.path)) {
            Some(subflow) => {
                if !context.is_reinjection {
                    self.next = subflow.path + 1;
                }
                Decision::send(subflow.path, "its turn")
            }
            None => Decision::wait("no window has room"),
        }
    }
}

#[cfg(test)]
mod tests;
