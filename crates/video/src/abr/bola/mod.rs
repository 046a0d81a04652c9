//! BOLA: buffer-based adaptation by Lyapunov optimisation.
//!
//! References: Spiteri, Urgaonkar, Sitaraman, "BOLA: Near-Optimal Bitrate Adaptation for Online Videos" (ToN 2020; BASIC,
//! U, O, Algorithm 1); "From Theory to Practice" (MMSys 2018; BOLA-E); Sabre `Bola`, `BolaEnh`; dash.js BolaRule.
//! With utilities u_m = ln(S_m / S_1): choose the largest (V · (u_m + gp) − Q) / S_m, Q the buffer level in seconds; wait
//! while every one is negative.
//! - `basic`: V = (Qmax − p) / (u_M + gp), p the segment duration.
//! - `u`, `o`: Qmax shrinks to half the time from the start or to the end (at least 3 p; BOLA-FINITE); a step up beyond what
//!   the throughput carries is cut to one rung above it (U), or to it with a wait until the level is V · (u_m + gp) (O).
//! - `e`: the lowest rate's level is 10 s, the highest's the target max(18 s, 10 s + 2 s per rung): gp = u_M / (target / 10 s
//!   − 1), V = 10 s / gp; a placeholder buffer stands for the time in which the player could have had more; starts by
//!   throughput; guards against an empty buffer and slow downloads.
//!
//! Differences from the references:
//! 1. dash.js stores u + 1 and takes 1 off again, except in its "maximum level", where that is forgotten; ours is with u.
//! 2. In `e` the decay of the placeholder (0.99 per decision) is dash.js's, its limits after a download are Sabre's.
//! 3. A buffer of less than 1.1 segments would make V negative; Qmax − p is at least 0.1 p.
//! 4. Before the first picture and while stalled nobody waits: the level could never sink.
//!
//! Units: seconds, bit/s. Tested in `law.rs`: V, gp and thresholds of the worked ladders; by `tests/abr_traces.rs` and the contract.

mod enhanced;
mod law;

use super::safety::{self, Flavour};
use super::throughput::{FLAVOUR, INITIAL, ThroughputEstimate};
use super::{Abandonment, Abr, AbrEntry, Choice, Context, Decision, Download, PlayState, Progress};
use enhanced::Enhanced;
use law::Law;
use playpath_units::{Duration, ParamSpec, Params};

pub(super) static ENTRY: AbrEntry = AbrEntry {
    name: "bola",
    summary: "BOLA (variants basic, u, o, e): Lyapunov control of the buffer level",
    reference: "Spiteri et al., ToN 2020 and MMSys 2018; dash.js BolaRule; Sabre",
    params: PARAMS,
    build: |params| Box::new(Bola::new(params)),
};

const PARAMS: &[ParamSpec] = &[
    ParamSpec::word("variant", "e", &["basic", "u", "o", "e"], "e is what dash.js runs"),
    ParamSpec::number("gp", 5.0, (0.01, 1000.0), "", "gamma · p of basic, u and o: weight of not stalling"),
    ParamSpec::number("target", 18.0, (11.0, 600.0), "s", "level of the highest rate in e (dash.js stable buffer)"),
    ParamSpec::word(
        "estimate",
        "last",
        &["last", "ewma"],
        "throughput that caps u and o: last segment, or two averages",
    ),
    FLAVOUR,
    INITIAL,
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variant {
    Basic,
    U,
    O,
    E,
}

/// Shorter waits are not worth a wake-up, and rounding would repeat them.
const SHORTEST_WAIT: f64 = 1e-6;

struct Bola {
    variant: Variant,
    gp: f64,
    target: f64,
    caps_by_last: bool,
    flavour: Flavour,
    estimate: ThroughputEstimate,
    last: usize,
    /// The law in force; kept for the abandonment.
    law: Option<Law>,
    enhanced: Enhanced,
}

impl Bola {
    fn new(params: &Params) -> Bola {
        let variant = match params.word("variant") {
            "basic" => Variant::Basic,
            "u" => Variant::U,
            "o" => Variant::O,
            _ => Variant::E,
        };
        let flavour = Flavour::of_word(params.word("flavour"));
        Bola {
            variant,
            gp: params.number("gp"),
            target: params.number("target"),
            caps_by_last: params.word("estimate") == "last",
            flavour,
            estimate: ThroughputEstimate::new(flavour, params.number("initial")),
            last: 0,
            law: None,
            enhanced: Enhanced::new(flavour),
        }
    }

    /// BASIC, U and O.
    fn choose_plain(&mut self, context: &Context) -> Decision {
        let duration = context.ladder.segment_duration().as_secs_f64();
        let mut qmax = context.buffer_capacity.as_secs_f64();
        if self.variant != Variant::Basic {
            // BOLA-FINITE, Algorithm 1: t = min(from start, to end); t' = max(t / 2, 3 p).
            let from_ends = context.segment.min(context.ladder.segments() - context.segment);
            qmax = qmax.min((from_ends as f64 / 2.0).max(3.0) * duration);
        }
        let law = *self.law.insert(Law::basic(context.ladder, self.gp, qmax));
        let level = context.buffer_level.as_secs_f64();
        let top_level = law.max_level(law.count - 1);
        if let Some(decision) = wait_for(context, level - top_level, "buffer above every level") {
            return decision;
        }
        let best = law.best(context.ladder, level);
        let decision = match self.variant {
            Variant::Basic => Decision::fetch(best, "best score"),
            _ => self.cap_by_throughput(context, &law, best, level),
        };
        if let Choice::Fetch(choice) = decision.choice {
            self.last = choice;
        }
        decision
    }

    fn cap_by_throughput(&self, context: &Context, law: &Law, best: usize, level: f64) -> Decision {
        let measured = if self.caps_by_last {
            context.downloads.last().map(|download| download.bits_per_sec())
        } else {
            self.estimate.bits_per_sec()
        };
        let Some(measured) = measured.filter(|_| best > self.last) else {
            return Decision::fetch(best, "best score");
        };
        let sustained = context.ladder.highest_at_most(measured);
        let decision = if best <= sustained {
            Decision::fetch(best, "best score")
        } else if self.last > sustained {
            Decision::fetch(self.last, "step up not sustainable: stay")
        } else if self.variant == Variant::U {
            Decision::fetch(sustained + 1, "step up capped one above throughput")
        } else {
            wait_for(context, level - law.max_level(sustained), "step up capped: let the buffer sink")
                .unwrap_or(Decision::fetch(sustained, "step up capped at throughput"))
        };
        decision.with_estimate(measured)
    }

    fn choose_enhanced(&mut self, context: &Context) -> Decision {
        let law = *self.law.get_or_insert_with(|| Law::enhanced(context.ladder, self.target));
        let decision = self.enhanced.choose(context, &law, &self.estimate, self.last);
        if let Choice::Fetch(choice) = decision.choice {
            self.last = choice;
        }
        decision
    }

    /// Sabre's `check_abandon`: another size may now have the better score than what is left of this one.
    fn abandon_by_score(&self, context: &Context, progress: &Progress) -> Option<Abandonment> {
        let (law, so_far) = (self.law.as_ref()?, &progress.so_far);
        if so_far.bytes == 0 {
            return None;
        }
        let mut level = context.buffer_level.as_secs_f64();
        let mut left = (progress.total_bytes - so_far.bytes) as f64;
        if self.variant == Variant::E {
            // A new request costs a latency, in which this download would go on.
            let latency = so_far.latency_seconds();
            let since_first_byte = (so_far.seconds() - latency).max(1e-9);
            level = (level + self.enhanced.placeholder - latency).max(0.0);
            left -= latency * so_far.bytes as f64 / since_first_byte;
        }
        let score = |index: usize, bytes: f64| (law.max_level(index) - level) / bytes;
        let own = so_far.representation.min(law.count - 1);
        if left <= 0.0 || score(own, left) < 0.0 {
            return None;
        }
        let size = |index: usize| context.ladder.bytes(so_far.segment, index) as f64;
        let candidates = (0..own).filter(|&index| size(index) < left);
        let best = candidates.max_by(|&a, &b| score(a, size(a)).total_cmp(&score(b, size(b))))?;
        (score(best, size(best)) > score(own, left))
            .then_some(Abandonment { representation: best, reason: "a smaller segment scores better than the rest" })
    }
}

impl Abr for Bola {
    fn name(&self) -> &'static str {
        "bola"
    }

    fn choose(&mut self, context: &Context) -> Decision {
        if self.variant == Variant::E { self.choose_enhanced(context) } else { self.choose_plain(context) }
    }

    fn on_download(&mut self, context: &Context, download: &Download) {
        if !download.is_abandoned {
            self.estimate.push(context, download);
            self.last = download.representation;
        }
        if let (Variant::E, Some(law)) = (self.variant, &self.law) {
            self.enhanced.on_download(context, law, download);
        }
    }

    fn abandon(&mut self, context: &Context, progress: &Progress) -> Option<Abandonment> {
        let abandonment = match (self.variant, self.flavour) {
            (Variant::Basic, _) => None,
            (Variant::E, Flavour::DashJs) => safety::abandon(self.flavour, context, progress),
            _ => self.abandon_by_score(context, progress),
        }?;
        self.last = abandonment.representation;
        if let Some(law) = &self.law {
            self.enhanced.on_abandonment(context, law, abandonment.representation);
        }
        Some(abandonment)
    }
}

/// A BOLA-E without parameters of its own, for `dynamic`.
pub(super) fn enhanced(flavour: Flavour, target: f64, initial_kbps: f64) -> impl Abr {
    Bola {
        variant: Variant::E,
        gp: 0.0,
        target,
        caps_by_last: false,
        flavour,
        estimate: ThroughputEstimate::new(flavour, initial_kbps),
        last: 0,
        law: None,
        enhanced: Enhanced::new(flavour),
    }
}

fn wait_for(context: &Context, seconds: f64, reason: &'static str) -> Option<Decision> {
    let worth_it = seconds > SHORTEST_WAIT && context.state == PlayState::Playing;
    let until = context.now + Duration::from_secs_f64(seconds);
    worth_it.then_some(Decision { choice: Choice::WaitUntil(until), estimate: None, reason })
}
