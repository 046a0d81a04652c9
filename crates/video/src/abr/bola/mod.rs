//! BOLA: buffer-based adaptation by Lyapunov optimisation.
//!
//! References: Spiteri, Urgaonkar, Sitaraman, "BOLA: Near-Optimal Bitrate Adaptation for Online Videos" (ToN 2020; BASIC,
//! U, O, Algorithm 1); "From Theory to Practice" (MMSys 2018; BOLA-E); Sabre `Bola`, `BolaEnh`; dash.js 5.2.1 BolaRule.
//! With utilities u_m = ln(S_m / S_1): choose the largest (V · (u_m + gp) − Q) / S_m, Q the buffer level in seconds; wait
//! while every one is negative.
//! - `basic`: V = (Qmax − p) / (u_M + gp), p the segment duration.
//! - `u`, `o`: Qmax shrinks to half the time from the start or to the end (at least 3 p; BOLA-FINITE; not with `finite=false`,
//!   Sabre's `-ab`); a step up beyond what the throughput carries is cut to one rung above it (U), or to it with a wait until the
//!   level is V · (u_m + gp) (O, Sabre's `-ao`).
//! - `e`, `flavour=sabre`: V = 10 s · (target / 10 s − 1) / u_M, target at least 10 s + 2 s per rung, gp = 10 s / V + 1; a placeholder
//!   buffer stands for the time in which the player could have had more; starts by throughput; steps up to one rung above the
//!   throughput (`osc=true`, Sabre's `-ao`: to it); guards against an empty buffer and slow downloads.
//! - `e`, `flavour=dash.js`: dash.js 5 with its BolaRule alone (`dash_js_5`).
//!
//! Differences from the references:
//! 1. A buffer of less than 1.1 segments would make V negative; Qmax − p is at least 0.1 p.
//! 2. Before the first picture and while stalled there are no waits: the level could never fall.
//! 3. An abandoned segment is requested again at the rate it was abandoned for; Sabre consults the rule again.
//! 4. `estimate=last` (u, o) caps with the last segment's throughput instead of Sabre's averages.
//!
//! Units: seconds, bit/s. Tested in `law.rs`: V, gp and thresholds of the worked ladders; by `tests/abr_traces.rs` and the contract.

mod enhanced;
mod law;

use super::dash_js_5::{DashJs, Settings, Strategy};
use super::safety::{Flavour, nominal_size};
use super::throughput::{INITIAL, ThroughputEstimate};
use super::{Abandonment, Abr, AbrEntry, Choice, Context, Decision, Download, PlayState, Progress};
use enhanced::Enhanced;
use law::Law;
use playpath_units::{Duration, ParamSpec, Params};

pub(super) static ENTRY: AbrEntry = AbrEntry {
    name: "bola",
    summary: "BOLA (variants basic, u, o, e): Lyapunov control of the buffer level",
    reference: "Spiteri et al., ToN 2020 and MMSys 2018; dash.js BolaRule; Sabre",
    params: PARAMS,
    build,
};

const PARAMS: &[ParamSpec] = &[
    ParamSpec::word("variant", "e", &["basic", "u", "o", "e"], "e is what dash.js runs"),
    ParamSpec::number("gp", 5.0, (0.01, 1000.0), "", "gamma · p of basic, u and o: weight of not stalling"),
    ParamSpec::number("target", 18.0, (11.0, 600.0), "s", "level of the highest rate in e (dash.js bufferTimeDefault)"),
    ParamSpec::word(
        "estimate",
        "last",
        &["last", "ewma"],
        "throughput that caps u and o: last segment, or two averages",
    ),
    OSC,
    FINITE,
    Flavour::PARAM,
    INITIAL,
];

pub(super) const OSC: ParamSpec =
    ParamSpec::flag("osc", false, "Sabre's -ao in e and dynamic: no step up beyond the throughput (u becomes o)");
pub(super) const FINITE: ParamSpec = ParamSpec::flag(
    "finite",
    true,
    "u and o: Qmax shrinks at both ends, slow downloads are given up; false is Sabre's -ab",
);

fn build(params: &Params) -> Box<dyn Abr> {
    let initial_kbps = params.number("initial");
    let is_dash_js = Flavour::of_word(params.word("flavour")) == Flavour::DashJs;
    if params.word("variant") == "e" && is_dash_js {
        let settings = Settings { target: params.number("target"), initial_kbps, ..Settings::default() };
        return Box::new(DashJs::new(Strategy::Bola, settings));
    }
    Box::new(Bola::new(params))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variant {
    Basic,
    U,
    O,
    E,
}

const GAMMA_P: f64 = 5.0;

/// Shorter waits are not worth a wake-up, and rounding would repeat them.
const SHORTEST_WAIT: f64 = 1e-6;

pub(super) struct Bola {
    variant: Variant,
    gp: f64,
    /// Of `e`; `None`: the player's buffer.
    target: Option<f64>,
    caps_by_last: bool,
    osc: bool,
    finite: bool,
    estimate: ThroughputEstimate,
    last: usize,
    /// A wait is over: this is asked for now.
    after_wait: Option<Decision>,
    /// The current law; kept for the abandonment.
    law: Option<Law>,
    enhanced: Enhanced,
}

impl Bola {
    fn new(params: &Params) -> Bola {
        let variant = match params.word("variant") {
            "basic" => Variant::Basic,
            "u" if params.flag("osc") => Variant::O,
            "u" => Variant::U,
            "o" => Variant::O,
            _ => Variant::E,
        };
        Bola {
            gp: params.number("gp"),
            target: Some(params.number("target")),
            caps_by_last: params.word("estimate") == "last",
            osc: params.flag("osc"),
            finite: params.flag("finite"),
            ..Bola::of(variant, params.number("initial"))
        }
    }

    fn of(variant: Variant, initial_kbps: f64) -> Bola {
        Bola {
            variant,
            gp: GAMMA_P,
            target: None,
            caps_by_last: false,
            osc: false,
            finite: true,
            estimate: ThroughputEstimate::new(initial_kbps),
            last: 0,
            after_wait: None,
            law: None,
            enhanced: Enhanced::new(),
        }
    }

    pub(super) fn plain(osc: bool, finite: bool, initial_kbps: f64) -> Bola {
        Bola { finite, ..Bola::of(if osc { Variant::O } else { Variant::U }, initial_kbps) }
    }

    /// Sabre's `BolaEnh`, for `dynamic`.
    pub(super) fn enhanced(osc: bool, initial_kbps: f64) -> Bola {
        Bola { osc, ..Bola::of(Variant::E, initial_kbps) }
    }

    /// Whether the representation it last settled for is below that of another rule's decision.
    pub(super) fn wants_less_than(&self, other: &Decision) -> bool {
        matches!(other.choice, Choice::Fetch(choice) if self.last < choice)
    }

    fn choose_plain(&mut self, context: &Context) -> Decision {
        let duration = context.ladder.segment_duration().as_secs_f64();
        let mut qmax = context.buffer_capacity.as_secs_f64();
        if self.variant != Variant::Basic && self.finite {
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
        match self.variant {
            Variant::Basic => self.settle(Decision::fetch(best, "best score"), None),
            _ => self.cap_by_throughput(context, &law, best, level),
        }
    }

    /// Ask for it, after a wait if there is one.
    fn settle(&mut self, decision: Decision, wait: Option<Decision>) -> Decision {
        if let Choice::Fetch(choice) = decision.choice {
            self.last = choice;
        }
        self.after_wait = wait.is_some().then_some(decision);
        wait.map_or(decision, |wait| Decision { estimate: decision.estimate, ..wait })
    }

    fn cap_by_throughput(&mut self, context: &Context, law: &Law, best: usize, level: f64) -> Decision {
        let measured = if self.caps_by_last {
            context.downloads.last().map(|download| download.bits_per_sec())
        } else {
            self.estimate.bits_per_sec()
        };
        let Some(measured) = measured.filter(|_| best > self.last) else {
            return self.settle(Decision::fetch(best, "best score"), None);
        };
        let sustained = if self.caps_by_last {
            context.ladder.highest_at_most(measured)
        } else {
            self.estimate.carried_by(context.ladder, measured)
        };
        let (choice, reason, wait) = if best <= sustained {
            (best, "best score", None)
        } else if self.last > sustained {
            (self.last, "step up not sustainable: stay", None)
        } else if self.variant == Variant::U {
            (sustained + 1, "step up capped one above throughput", None)
        } else {
            let excess = level - law.max_level(sustained);
            (
                sustained,
                "step up capped at throughput",
                wait_for(context, excess, "step up capped: let the buffer sink"),
            )
        };
        self.settle(Decision::fetch(choice, reason).with_estimate(measured), wait)
    }

    fn choose_enhanced(&mut self, context: &Context) -> Decision {
        let law = *self.law.get_or_insert_with(|| {
            Law::enhanced(context.ladder, self.target.unwrap_or(context.buffer_capacity.as_secs_f64()))
        });
        let (decision, seconds) = self.enhanced.choose(context, &law, &self.estimate, self.last, self.osc);
        let wait = wait_for(context, seconds, "buffer above the level of this rate");
        if wait.is_some() {
            self.enhanced.own_wait = seconds;
        }
        self.settle(decision, wait)
    }

    /// Sabre's `check_abandon`: another size may now have a better score than the rest of this one.
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
        if left <= 0.0 || (self.variant != Variant::E && score(own, left) < 0.0) {
            return None;
        }
        let size = |index: usize| nominal_size(context.ladder, progress.total_bytes, own, index);
        let candidates = (0..own).filter(|&index| size(index) < left);
        let best = candidates.max_by(|&a, &b| score(a, size(a)).total_cmp(&score(b, size(b))))?;
        (score(best, size(best)) > score(own, left))
            .then_some(Abandonment { representation: best, reason: "a smaller segment scores better than the rest" })
    }
}

impl Abr for Bola {
    fn choose(&mut self, context: &Context) -> Decision {
        if let Some(decision) = self.after_wait.take() {
            return decision;
        }
        if self.variant == Variant::E { self.choose_enhanced(context) } else { self.choose_plain(context) }
    }

    fn on_download(&mut self, context: &Context, download: &Download) {
        if !download.is_abandoned || self.variant == Variant::E {
            self.last = download.representation;
        }
        if !download.is_abandoned {
            self.estimate.push(context, download);
        }
        if let (Variant::E, Some(law)) = (self.variant, &self.law) {
            self.enhanced.on_download(context, law, download);
        }
    }

    fn abandon(&mut self, context: &Context, progress: &Progress) -> Option<Abandonment> {
        if self.variant == Variant::Basic || !self.finite {
            return None;
        }
        let abandonment = self.abandon_by_score(context, progress)?;
        self.last = abandonment.representation;
        if let Some(law) = &self.law {
            self.enhanced.on_abandonment(context, law, abandonment.representation);
        }
        Some(abandonment)
    }
}

fn wait_for(context: &Context, seconds: f64, reason: &'static str) -> Option<Decision> {
    let worth_it = seconds > SHORTEST_WAIT && context.state == PlayState::Playing;
    let until = context.now + Duration::from_secs_f64(seconds);
    worth_it.then_some(Decision { choice: Choice::WaitUntil(until), estimate: None, reason })
}
