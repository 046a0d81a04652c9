//! Slack over several paths: one path while the viewer has time, all as the deadline nears, copies when it is there.
//!
//! Reference: none; docs/models/cc-slack.md. The urgency is that of the congestion control `slack`, reckoned once for the connection: from what the
//! player told (CMCD, or a scenario), and what the receiver has acknowledged since. What to send twice is XLINK's question (Zheng et al.,
//! SIGCOMM 2021, algorithm 1), with the time left as it is now in place of the last report.
//!
//! The rules, with urgency u of n working paths:
//! 1. The first path carries all while u = 0: the one whose window per RTT is largest; another takes its place if it has half as much
//!    again. Each n-th of u opens the next, in the order of RTTs. With u = 1 all are open, as without a word from the
//!    player, and until a player that tells no level has been given all that it holds: it may wait for that to begin.
//! 2. Of the open ones new data takes the one with the lowest RTT that has room. Data sent again knows no closed paths.
//! 3. Once nothing new is left, what paths hold is sent on others, too, if the slowest of them might deliver it after `copy` times its
//!    RTT and deviation, and no more than that is left to play.
//!
//! Backups stay what they are: used if nothing else works.
//!
//! Tested here, by `tests/schedulers.rs` and `tests/mptcp.rs`.

use super::dft::select_lowest_rtt;
use super::{Context, Decision, Entry, Scheduler, SubflowView, pick};
use playpath_cc::playout::Playout;
use playpath_cc::{AppParameters, ParamSpec, Params};
use playpath_units::{Duration, Time};

pub(super) static ENTRY: Entry = Entry {
    name: "slack",
    summary: "one path while the viewer has time, more as the deadline nears; then data in flight are sent again on other paths, too",
    reference: "docs/models/cc-slack.md",
    params: &[
        ParamSpec::number(
            "calm",
            0.8,
            (0.0, 1.0),
            "",
            "share of the playout buffer above which one path carries everything",
        ),
        ParamSpec::number("alarm", 0.4, (0.0, 1.0), "", "share of the playout buffer below which all paths carry data"),
        ParamSpec::number(
            "reserve",
            32.0,
            (0.0, 1000.0),
            "RTTs",
            "a buffer level that lasts for less than this is not calm",
        ),
        ParamSpec::number(
            "copy",
            4.0,
            (0.0, 1000.0),
            "RTTs",
            "play time left, in RTTs of the slowest path that holds data, below which that is sent again; 0: never",
        ),
    ],
    build: |params| Box::new(Slack::new(params)),
};

/// A path takes the place of the one that carries all only with so much more window per RTT: what is idle keeps an old window.
const ADVANTAGE: f64 = 1.5;

#[derive(Debug)]
struct Slack {
    calm: f64,
    alarm: f64,
    reserve: f64,
    copy: f64,
    playout: Option<Playout>,
    acknowledged: u64,
    /// The path that carries all while the viewer has time.
    first: Option<usize>,
}

impl Slack {
    fn new(params: &Params) -> Slack {
        Slack {
            calm: params.number("calm"),
            alarm: params.number("alarm"),
            reserve: params.number("reserve"),
            copy: params.number("copy"),
            playout: None,
            acknowledged: 0,
            first: None,
        }
    }

    /// How many of the working paths are open, the first one's RTT being the measure of `reserve`.
    fn open_paths(&self, playout: &Playout, first: &SubflowView, working: usize) -> usize {
        let urgency = playout.urgency(self.calm, self.alarm, first.srtt.mul_f64(self.reserve));
        ((urgency * working as f64).ceil() as usize).clamp(1, working.max(1))
    }

    /// The path that carries all: the one that did, unless another is clearly faster.
    fn choose_first<'a>(&mut self, subflows: &'a [SubflowView]) -> Option<&'a SubflowView> {
        let rate = |s: &SubflowView| s.window_rate();
        let working = || subflows.iter().filter(|s| s.is_working());
        let best = working().max_by(|a, b| rate(a).total_cmp(&rate(b)).then(b.path.cmp(&a.path)))?;
        let kept = working().find(|s| Some(s.path) == self.first).filter(|s| rate(s) * ADVANTAGE >= rate(best));
        let first = kept.unwrap_or(best);
        self.first = Some(first.path);
        Some(first)
    }
}

impl Scheduler for Slack {
    fn select(&mut self, context: &Context) -> Decision {
        let Some(playout) = self.playout.filter(|playout| playout.has_begun() && !context.is_reinjection) else {
            return select_lowest_rtt(context, false);
        };
        let Some(first) = self.choose_first(context.subflows) else { return select_lowest_rtt(context, false) };
        let working = context.subflows.iter().filter(|s| s.is_working()).count();
        let open = self.open_paths(&playout, first, working);
        // The place of a path among the others is the number of those before it.
        let place = |s: &SubflowView| {
            let is_before = |o: &&SubflowView| o.path != first.path && (o.srtt, o.path) < (s.srtt, s.path);
            1 + context.subflows.iter().filter(|o| o.is_working()).filter(is_before).count()
        };
        let is_open = |s: &SubflowView| s.is_eligible() && (s.path == first.path || place(s) < open);
        match pick(context.subflows, is_open, |s| s.srtt.as_nanos() as f64) {
            Some(subflow) if open < working => Decision::send(subflow.path, "the viewer has time: few paths"),
            Some(subflow) => Decision::send(subflow.path, "lowest RTT with room"),
            None => Decision::wait("no open path has room"),
        }
    }

    fn wants_copies(&self, longest_delivery: Duration) -> bool {
        let Some(playout) = &self.playout else { return false };
        playout.left() < longest_delivery.mul_f64(self.copy)
    }

    fn set_app_parameters(&mut self, now: Time, parameters: AppParameters) {
        self.playout = Playout::reported(now, self.playout, &parameters);
    }

    fn note_progress(&mut self, now: Time, acknowledged_bytes: u64) {
        let bytes = acknowledged_bytes - self.acknowledged;
        self.acknowledged = acknowledged_bytes;
        if let Some(playout) = &mut self.playout {
            playout.advance(now, bytes);
        }
    }

    fn reads_progress(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
