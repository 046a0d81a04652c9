//! Redundant: every subflow carries every segment, each at its own pace.
//!
//! Reference: multipath-tcp/mptcp `mptcp_redundant.c`.
//! Differences from the reference:
//! 1. A copy is not sent any more once its data is acknowledged at the connection level.
//!
//! The connection sends copies first: on each active subflow with room the oldest data that it has not carried. New data goes to
//! the lowest RTT when a subflow has caught up. (With new data first, a backlogged sender would never send a copy.)
//! Tested here and by `tests/mptcp.rs`.

use super::dft::select_lowest_rtt;
use super::{Context, Decision, Entry, Scheduler};

pub(super) static ENTRY: Entry = Entry {
    name: "redundant",
    summary: "every segment on every subflow",
    reference: "multipath-tcp/mptcp mptcp_redundant.c",
    params: &[],
    build: |_| Box::new(Redundant),
};

#[derive(Debug)]
struct Redundant;

impl Scheduler for Redundant {
    fn select(&mut self, context: &Context) -> Decision {
        select_lowest_rtt(context, false)
    }
    fn is_redundant(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
