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
    summary: "one path while the viewer has time, more as the deadline nears; then what is under way is sent again, too",
    reference: "docs/models/cc-slack.md",
    params: &[
        ParamSpec::number(
            "calm",
            0.8,
            (0.0, 1.0),
            "",
            "share of the playout buffer from which on one path carries all",
        ),
        ParamSpec::number("alarm", 0.4, (0.0, 1.0), "", "share of the playout buffer below which all paths do"),
        ParamSpec::number("reserve", 32.0, (0.0, 1000.0), "RTTs", "a level that lasts less is not calm"),
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
    fn name(&self) -> &'static str {
        ENTRY.name
    }

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
        self.playout = Playout::told(now, self.playout, &parameters);
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
mod tests {
    use super::super::testing::{choice, context, view};
    use super::*;
    use playpath_units::Rate;

    /// 2 Mbit/s and 10 s of buffer, of which `level` are there; objects as large as the rate says.
    fn told(level: f64) -> AppParameters {
        AppParameters {
            playout_buffer_bytes: 2_500_000,
            playout_buffer_free_bytes: Some(2_500_000 - (level * 250_000.0) as u64),
            video_rate: Rate::from_bits_per_sec(2_000_000),
            object_bytes: Some(1_000_000),
            object_duration: Some(Duration::from_secs(4)),
            ..AppParameters::default()
        }
    }

    fn slack(level: f64) -> Slack {
        let mut slack = Slack::new(&Params::defaults(ENTRY.params));
        slack.set_app_parameters(Time::ZERO, told(level));
        slack
    }

    /// 500, 100 and 1000 packets/s: the last has the largest window per RTT, the second the lowest RTT.
    fn unlike() -> [SubflowView; 3] {
        [view(0, 20, 10.0), view(1, 10, 1.0), view(2, 40, 40.0)]
    }

    /// The paths that take packets, in the order in which their windows fill.
    fn order(scheduler: &mut Slack) -> Vec<usize> {
        let mut views = unlike();
        let mut taken = Vec::new();
        while let Some(path) = choice(scheduler, &views) {
            taken.push(path);
            views[path].in_flight = views[path].cwnd as u32;
        }
        taken
    }

    /// Calm from 8 s, alarmed below 4 s. 9 s: one path of three. 7 s: a quarter, one path. 6 s: a half, two, the fastest and the one with
    /// the lowest RTT among the others. 3 s: all, lowest RTT first.
    #[test]
    fn paths_open_as_the_deadline_nears() {
        for (level, paths) in [(9.0, &[2][..]), (7.0, &[2]), (6.0, &[1, 2]), (3.0, &[1, 0, 2])] {
            assert_eq!(order(&mut slack(level)), paths, "{level} s");
        }
        assert_eq!(order(&mut Slack::new(&Params::defaults(ENTRY.params))), [1, 0, 2], "nothing told");
        let mut silent = slack(9.0);
        silent.playout = None;
        silent.set_app_parameters(Time::ZERO, AppParameters { playout_buffer_free_bytes: None, ..told(0.0) });
        silent.note_progress(Time::from_secs(1), 2_250_000);
        assert_eq!(order(&mut silent), [1, 0, 2], "9 s of 10 that it may wait for to begin");
        silent.note_progress(Time::from_secs(2), 3_000_000);
        assert_eq!(order(&mut silent), [2], "it has been given all that it holds");
    }

    /// 1000 packets/s carry all; 1400 are not half as much again, 1600 are.
    #[test]
    fn the_first_path_is_not_left_for_a_little() {
        let mut scheduler = slack(9.0);
        let mut views = unlike();
        assert_eq!(choice(&mut scheduler, &views), Some(2));
        views[0].cwnd = 28.0;
        assert_eq!(choice(&mut scheduler, &views), Some(2));
        views[0].cwnd = 32.0;
        assert_eq!(choice(&mut scheduler, &views), Some(0));
        // A path that a timeout has stopped is left at once, and what it held does not wait for the first path.
        views[0].is_loss = true;
        assert_eq!(choice(&mut scheduler, &views), Some(2));
        views[2].in_flight = 40;
        assert_eq!(choice(&mut scheduler, &views), None, "the viewer has time to wait for it");
        let again = Context { is_reinjection: true, ..context(&views) };
        assert_eq!(scheduler.select(&again).path, Some(1));
    }

    /// Two seconds without a delivery take 2 s from the level: one path at 8.4 s, two at 6.4 s. With 500 000 bytes, 2 s, delivered
    /// meanwhile the level stays.
    #[test]
    fn the_level_is_reckoned_from_what_the_receiver_has() {
        for (acknowledged, paths) in [(0, &[1, 2][..]), (500_000, &[2])] {
            let mut scheduler = slack(8.4);
            assert_eq!(order(&mut scheduler), [2]);
            scheduler.note_progress(Time::from_secs(2), acknowledged);
            assert_eq!(order(&mut scheduler), paths, "{acknowledged}");
        }
    }

    /// Four RTTs of 300 ms are 1.2 s: less is left at 1 s, more at 2 s. A player that starts has nothing left.
    #[test]
    fn copies_near_the_deadline() {
        let slowest = Duration::from_millis(300);
        for (level, wants) in [(1.0, true), (2.0, false)] {
            assert_eq!(slack(level).wants_copies(slowest), wants, "{level} s");
        }
        let mut starting = slack(9.0);
        starting.set_app_parameters(Time::ZERO, AppParameters { is_urgent: true, ..told(9.0) });
        assert!(starting.wants_copies(slowest));
        assert!(!Slack::new(&Params::defaults(ENTRY.params)).wants_copies(slowest), "nothing told");
        let mut never = Params::defaults(ENTRY.params);
        never.set_number("copy", 0.0).expect("in range");
        let mut never = Slack::new(&never);
        never.set_app_parameters(Time::ZERO, told(0.0));
        assert!(!never.wants_copies(slowest));
    }
}
