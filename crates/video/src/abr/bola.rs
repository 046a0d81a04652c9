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
//! Units: seconds, bit/s. Tested here: V, gp and thresholds of the worked ladders; by `tests/abr_traces.rs` and the contract.

use super::safety::{self, Flavour, InsufficientBuffer, SAFETY};
use super::throughput::{FLAVOUR, INITIAL, ThroughputEstimate};
use super::{Abandonment, Abr, AbrEntry, Choice, Context, Decision, Download, PlayState, Progress};
use crate::ladder::{Ladder, MAX_REPRESENTATIONS};
use playpath_units::{Duration, ParamSpec, Params};

pub(super) const ENTRY: AbrEntry = AbrEntry {
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

/// `e`: level of the lowest rate, and what each rung adds at least; seconds (dash.js MINIMUM_BUFFER_S, ..._PER_BITRATE_LEVEL_S).
const MINIMUM_LEVEL: f64 = 10.0;
const MINIMUM_LEVEL_PER_RUNG: f64 = 2.0;
/// dash.js PLACEHOLDER_BUFFER_DECAY, per decision.
const PLACEHOLDER_DECAY: f64 = 0.99;
/// Shorter waits are not worth a wake-up, and rounding would repeat them.
const SHORTEST_WAIT: f64 = 1e-6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variant {
    Basic,
    U,
    O,
    E,
}

/// V, gp and utilities: the whole control law.
#[derive(Clone, Copy, Debug)]
struct Law {
    v: f64,
    gp: f64,
    utilities: [f64; MAX_REPRESENTATIONS],
    count: usize,
}

impl Law {
    fn basic(ladder: &Ladder, gp: f64, qmax: f64) -> Law {
        let mut law = Law::with_utilities(ladder);
        let duration = ladder.segment_duration().as_secs_f64();
        law.gp = gp;
        law.v = (qmax - duration).max(0.1 * duration) / (law.top_utility() + gp);
        law
    }

    fn enhanced(ladder: &Ladder, target: f64) -> Law {
        let mut law = Law::with_utilities(ladder);
        let target = target.max(MINIMUM_LEVEL + MINIMUM_LEVEL_PER_RUNG * law.count as f64);
        // A ladder of one rung has u_M = 0: any gp will do.
        law.gp = if law.count > 1 { law.top_utility() / (target / MINIMUM_LEVEL - 1.0) } else { 1.0 };
        law.v = MINIMUM_LEVEL / law.gp;
        law
    }

    fn with_utilities(ladder: &Ladder) -> Law {
        let mut utilities = [0.0; MAX_REPRESENTATIONS];
        for (index, utility) in utilities.iter_mut().enumerate().take(ladder.count()) {
            *utility = libm::log(ladder.bits_per_sec(index) / ladder.bits_per_sec(0));
        }
        Law { v: 0.0, gp: 0.0, utilities, count: ladder.count() }
    }

    fn top_utility(&self) -> f64 {
        self.utilities[self.count - 1]
    }

    /// Numerator of the score at level zero: above this level the representation is not worth its bits.
    fn max_level(&self, index: usize) -> f64 {
        self.v * (self.utilities[index] + self.gp)
    }

    /// Level from which `index` is preferred to everything below it.
    fn min_level(&self, ladder: &Ladder, index: usize) -> f64 {
        let (rate, utility) = (ladder.bits_per_sec(index), self.utilities[index]);
        (0..index).fold(0.0, |level, lower| {
            let lower_rate = ladder.bits_per_sec(lower);
            let crossing = (rate * self.utilities[lower] - lower_rate * utility) / (rate - lower_rate);
            f64::max(level, self.v * (self.gp + crossing))
        })
    }

    /// Representation of the highest score; the lower one of equals.
    fn best(&self, ladder: &Ladder, level: f64) -> usize {
        let score = |index: usize| (self.max_level(index) - level) / ladder.bits_per_sec(index);
        (1..self.count).fold(0, |best, index| if score(index) > score(best) { index } else { best })
    }
}

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

/// What BOLA-E keeps beside the law.
struct Enhanced {
    flavour: Flavour,
    guard: InsufficientBuffer,
    is_started: bool,
    /// Seconds of buffer that are pretended: the player could have had them.
    placeholder: f64,
    /// Idle time already credited, and the wait that this rule itself asked for.
    idle_seen: f64,
    own_wait: f64,
}

impl Enhanced {
    fn new(flavour: Flavour) -> Enhanced {
        Enhanced {
            flavour,
            guard: InsufficientBuffer::new(flavour),
            is_started: false,
            placeholder: 0.0,
            idle_seen: 0.0,
            own_wait: 0.0,
        }
    }

    fn choose(&mut self, context: &Context, law: &Law, estimate: &ThroughputEstimate, last: usize) -> Decision {
        let (Some(throughput), Some(sustained)) = (estimate.bits_per_sec(), estimate.choice(context, SAFETY)) else {
            return Decision::fetch(0, "no estimate yet");
        };
        let level = context.buffer_level.as_secs_f64();
        if !self.is_started {
            self.is_started = true;
            self.placeholder = (law.min_level(context.ladder, sustained) - level).max(0.0);
            return Decision::fetch(sustained, "start by throughput").with_estimate(throughput);
        }
        self.credit_idle(context);
        let (mut choice, mut reason) = (law.best(context.ladder, level + self.placeholder), "best score");
        if choice > last && choice > sustained {
            choice = last.max(sustained);
            reason = "step up capped at throughput";
            if self.flavour == Flavour::Sabre {
                choice = (choice + 1).min(law.count - 1);
                reason = "step up capped one above throughput";
            }
        }
        let wait = self.shrink_to(law, choice, level);
        let limit = self.guard.limit(context, throughput, estimate.latency());
        if limit < choice {
            let most = (law.min_level(context.ladder, limit) - level).max(0.0);
            self.placeholder = self.placeholder.min(most);
            return Decision::fetch(limit, "insufficient buffer").with_estimate(throughput);
        }
        match wait_for(context, wait, "buffer above the level of this rate") {
            Some(decision) => {
                self.own_wait = wait;
                decision.with_estimate(throughput)
            }
            None => Decision::fetch(choice, reason).with_estimate(throughput),
        }
    }

    /// Time in which nothing was under way, and not because of this rule, counts as buffer.
    fn credit_idle(&mut self, context: &Context) {
        if self.flavour == Flavour::DashJs {
            self.placeholder *= PLACEHOLDER_DECAY;
            if context.state == PlayState::Stalled {
                self.placeholder = 0.0;
            }
        }
        let idle = context.idle.as_secs_f64();
        self.placeholder += (idle - self.idle_seen - self.own_wait).max(0.0);
        self.idle_seen = idle;
        self.own_wait = 0.0;
    }

    /// The buffer is not filled beyond the level of the choice: first the placeholder shrinks, then the player waits (at the
    /// top rate it fills as far as it likes). The wait in seconds.
    fn shrink_to(&mut self, law: &Law, choice: usize, level: f64) -> f64 {
        let excess = level + self.placeholder - law.max_level(choice);
        let wait = (excess - self.placeholder).max(0.0);
        self.placeholder = (self.placeholder - excess.max(0.0)).max(0.0);
        if choice == law.count - 1 { 0.0 } else { wait }
    }

    fn on_download(&mut self, context: &Context, law: &Law, download: &Download) {
        self.idle_seen = 0.0;
        self.own_wait = 0.0;
        if download.is_abandoned {
            return;
        }
        let level_was = download.level_at_request.as_secs_f64();
        let choice = download.representation.min(law.count - 1);
        self.placeholder = self.placeholder.min((law.max_level(choice) - level_was).max(0.0));
        if context.state != PlayState::Stalled {
            // The choice may have been another rule's; this one would have needed that level.
            self.placeholder = self.placeholder.max(law.min_level(context.ladder, choice) - level_was);
        }
    }

    fn on_abandonment(&mut self, context: &Context, law: &Law, representation: usize) {
        let wanted = if representation > 0 { law.min_level(context.ladder, representation) } else { MINIMUM_LEVEL };
        self.placeholder = self.placeholder.min((wanted - context.buffer_level.as_secs_f64()).max(0.0));
    }
}

fn wait_for(context: &Context, seconds: f64, reason: &'static str) -> Option<Decision> {
    let worth_it = seconds > SHORTEST_WAIT && context.state == PlayState::Playing;
    let until = context.now + Duration::from_secs_f64(seconds);
    worth_it.then_some(Decision { choice: Choice::WaitUntil(until), estimate: None, reason })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ObjectKind;
    use playpath_units::Rate;

    fn ladder(mbps: &[f64], segment: u64) -> Ladder {
        let rates: Vec<_> = mbps.iter().map(|r| Rate::from_bits_per_sec_f64(r * 1e6)).collect();
        Ladder::of_rates(ObjectKind::Video, &rates, Duration::from_secs(segment), Duration::from_secs(300)).unwrap()
    }

    /// u = 0, ln 2.5 = 0.91629, ln 5 = 1.60944. V = (25 − 3) / (1.60944 + 5) = 22 / 6.60944 = 3.32858.
    /// 1 → 2.5: crossing (2.5 · 0 − 1 · 0.91629) / 1.5 = −0.61086: 3.32858 · 4.38914 = 14.6096 s.
    /// 2.5 → 5: (5 · 0.91629 − 2.5 · 1.60944) / 2.5 = 0.22314: 3.32858 · 5.22314 = 17.3857 s.
    #[test]
    fn worked_ladder_basic() {
        let ladder = ladder(&[1.0, 2.5, 5.0], 3);
        let law = Law::basic(&ladder, 5.0, 25.0);
        assert!((law.v - 3.32858).abs() < 1e-5);
        assert!((law.min_level(&ladder, 1) - 14.6096).abs() < 1e-4);
        assert!((law.min_level(&ladder, 2) - 17.3857).abs() < 1e-4);
        // Above V (u_M + gp) = Qmax − p = 22 s every score is negative.
        assert!((law.max_level(2) - 22.0).abs() < 1e-9);
        for (level, best) in [(0.0, 0), (14.60, 0), (14.62, 1), (17.38, 1), (17.39, 2), (21.0, 2)] {
            assert_eq!(law.best(&ladder, level), best, "at {level} s");
        }
    }

    /// Target max(16, 10 + 2 · 3) = 16 s: gp = 1.60944 / 0.6 = 2.68240; V = 10 / 2.68240 = 3.72801.
    /// Thresholds 3.72801 · (2.68240 − 0.61086) = 7.7227 and 3.72801 · (2.68240 + 0.22314) = 10.8319 s.
    /// Levels: lowest 3.72801 · 2.6824 = 10 s, highest 3.72801 · (1.60944 + 2.6824) = 16 s.
    #[test]
    fn worked_ladder_enhanced() {
        let ladder = ladder(&[1.0, 2.5, 5.0], 3);
        let law = Law::enhanced(&ladder, 16.0);
        assert!((law.gp - 2.68240).abs() < 1e-5);
        assert!((law.v - 3.72801).abs() < 1e-5);
        assert!((law.min_level(&ladder, 1) - 7.7227).abs() < 1e-3);
        assert!((law.min_level(&ladder, 2) - 10.8319).abs() < 1e-3);
        assert!((law.max_level(0) - 10.0).abs() < 1e-9);
        assert!((law.max_level(2) - 16.0).abs() < 1e-9);
    }

    /// Seven rungs push the target to 10 + 2 · 7 = 24 s whatever is configured below.
    #[test]
    fn many_rungs_raise_the_target() {
        let ladder = ladder(&[0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7], 2);
        assert!((Law::enhanced(&ladder, 18.0).max_level(6) - 24.0).abs() < 1e-9);
        assert!((Law::enhanced(&ladder, 30.0).max_level(6) - 30.0).abs() < 1e-9);
    }
}
