//! L2A-LL: bitrates for low latency by online learning, as in dash.js.
//!
//! Reference: Karagkioules et al., "Online learning for low-latency adaptive streaming" (MMSys 2020); dash.js 5.2.1 `L2ARule`.
//! A probability for each rung is moved along a gradient (how much of the last throughput a rung takes), projected onto the simplex,
//! and the rung nearest to the expected bitrate is chosen. Until 1.5 s are buffered: the highest rung below 0.9 of the estimate.
//! Differences from the paper, as in dash.js (the rule here is numerically dash.js's):
//! 1. Bitrates in bit/s are compared with a throughput in kbit/s in two places: the multiplier Q grows a thousandfold, and the careful
//!    step by step ascent never applies.
//! 2. Once the step is reversed for a rung above the throughput, it stays reversed for the rungs after it.
//!
//! Differences from dash.js: none in the arithmetic; it is asked once a segment.
//! Units: kbit/s, seconds. Tested below and against dash.js's own code (`tests/players/laws.mjs`).

use super::dash_js_5::{Estimate, highest_at_most, rounded_level};
use super::{Abr, AbrEntry, Context, Decision, Download};
use crate::ladder::{Ladder, MAX_REPRESENTATIONS};
use playpath_units::ParamSpec;

pub(super) static ENTRY: AbrEntry = AbrEntry {
    name: "l2a",
    summary: "L2A-LL of dash.js 5: online learning, for low latency",
    reference: "Karagkioules et al. (MMSys 2020); dash.js 5.2.1 L2ARule",
    params: &[INITIAL],
    build: |params| Box::new(L2a::new(params.number("initial"))),
};

pub(super) const INITIAL: ParamSpec =
    ParamSpec::number("initial", 1000.0, (0.0, 1e6), "kbit/s", "rate that the first segment may have").since("0.2");

const HORIZON: f64 = 4.0;
const REACT: f64 = 2.0;
const STEADY_FROM: f64 = 1.5;

/// HORIZON to the power of 0.99: how careful it is.
fn caution() -> f64 {
    libm::pow(HORIZON, 0.99)
}

type Weights = [f64; MAX_REPRESENTATIONS];

struct L2a {
    initial_kbps: f64,
    estimate: Estimate,
    current: Option<usize>,
    is_steady: bool,
    /// Whether a segment has arrived since the last decision.
    has_news: bool,
    segment_seconds: f64,
    weights: Weights,
    q: f64,
}

impl L2a {
    fn new(initial_kbps: f64) -> L2a {
        L2a {
            initial_kbps,
            estimate: Estimate::new(),
            current: None,
            is_steady: false,
            has_news: false,
            segment_seconds: 0.0,
            weights: [0.0; MAX_REPRESENTATIONS],
            q: 0.0,
        }
    }

    fn start_up(&mut self, ladder: &Ladder, level: f64, safe: f64) -> usize {
        let choice = highest_at_most(ladder, safe);
        if self.segment_seconds > 0.0 && level >= STEADY_FROM {
            (self.is_steady, self.q) = (true, caution());
            self.weights = [0.0; MAX_REPRESENTATIONS];
            self.weights[choice] = 1.0;
        }
        choice
    }

    fn learn(&mut self, ladder: &Ladder, speed: f64, last_kbps: f64, current: usize) -> usize {
        let last = last_kbps.max(1.0);
        let (count, seconds) = (ladder.count(), self.segment_seconds);
        let step = seconds / (2.0 * HORIZON.max(caution() * HORIZON.sqrt()));
        let before = self.weights;
        let mut sign = 1.0;
        for (rung, weight) in self.weights[..count].iter_mut().enumerate() {
            let load = speed * (ladder.bits_per_sec(rung) / 1e3);
            if load > last {
                sign = -1.0;
            }
            *weight += sign * step * ((self.q + caution()) * (load / last));
        }
        project(&mut self.weights[..count]);
        let mean = |weights: &dyn Fn(usize) -> f64| -> f64 {
            (0..count).fold(0.0, |sum, rung| sum + ladder.bits_per_sec(rung) * weights(rung))
        };
        let expected = mean(&|rung| self.weights[rung]);
        let change = mean(&|rung| self.weights[rung] - before[rung]);
        self.q = (self.q - seconds + seconds * speed * ((expected + change) / last)).max(0.0);
        let mut choice = nearest(ladder, expected);
        if choice > current && ladder.bits_per_sec(current + 1) <= last {
            choice = current + 1;
        }
        if ladder.bits_per_sec(choice) / 1e3 >= last {
            self.q = REACT * caution().max(self.q);
        }
        choice
    }
}

/// The first of the rungs that are nearest to a bitrate.
fn nearest(ladder: &Ladder, bits_per_sec: f64) -> usize {
    let distance = |rung: usize| (ladder.bits_per_sec(rung) - bits_per_sec).abs();
    (1..ladder.count()).fold(0, |best, rung| if distance(rung) < distance(best) { rung } else { best })
}

/// The nearest point that is a probability distribution (arXiv 1101.6081).
fn project(point: &mut [f64]) {
    let mut sorted = [0.0; MAX_REPRESENTATIONS];
    let sorted = &mut sorted[..point.len()];
    sorted.copy_from_slice(point);
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    let mut sum = 0.0;
    let mut shift = None;
    for rank in 0..sorted.len() - 1 {
        sum += sorted[rank];
        let candidate = (sum - 1.0) / (rank + 1) as f64;
        if candidate >= sorted[rank + 1] {
            shift = Some(candidate);
            break;
        }
    }
    let shift = shift.unwrap_or_else(|| (sum + sorted[sorted.len() - 1] - 1.0) / sorted.len() as f64);
    for value in point {
        *value = (*value - shift).max(0.0);
    }
}

impl Abr for L2a {
    fn choose(&mut self, context: &Context) -> Decision {
        let Some(current) = self.current else {
            let first = highest_at_most(context.ladder, self.initial_kbps);
            self.current = Some(first);
            return Decision::fetch(first, "initial rate");
        };
        let (Some(safe), Some(last)) = (self.estimate.safe_kbps(), self.estimate.last_kbps()) else {
            return Decision::fetch(current, "no estimate yet");
        };
        let speed = context.live.map_or(1.0, |live| live.speed);
        let (choice, reason) = if !self.is_steady {
            (self.start_up(context.ladder, rounded_level(context.level()), safe), "start-up")
        } else if std::mem::take(&mut self.has_news) {
            (self.learn(context.ladder, speed, last, current), "L2ARule")
        } else {
            (current, "nothing new")
        };
        self.current = Some(choice);
        let decision = Decision::fetch(choice, reason);
        self.estimate.kbps().map_or(decision, |kbps| decision.with_estimate(kbps * 1e3))
    }

    fn on_download(&mut self, context: &Context, download: &Download) {
        self.estimate.push(download);
        if !download.is_abandoned {
            self.segment_seconds = context.ladder.duration_of(download.segment).as_secs_f64();
            self.has_news = true;
        }
    }
}

#[cfg(test)]
mod tests;
