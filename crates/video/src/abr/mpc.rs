//! robustMPC: the next five segments are planned over a cautious throughput prediction.
//!
//! Rules, reference, differences from it, tests: docs/models/abr-mpc.md.

use super::{Abr, AbrEntry, Context, Decision, Download, harmonic_mean};
use crate::ladder::Ladder;
use playpath_units::{ParamSpec, Params};

pub(super) static ENTRY: AbrEntry = AbrEntry {
    name: "mpc",
    summary: "robustMPC: plans five segments over a cautious throughput prediction",
    reference: "Yin et al., SIGCOMM 2015; Pensieve's test/mpc.py",
    params: PARAMS,
    build: |params| Box::new(Mpc::new(params)),
};

const PARAMS: &[ParamSpec] = &[
    ParamSpec::number("horizon", 5.0, (1.0, 8.0), "segments", "length of the plan (both references: 5)"),
    ParamSpec::number("smoothness", 1.0, (0.0, 100.0), "", "price of a change of rate per Mbit/s"),
    ParamSpec::number(
        "rebuffer_penalty",
        4.3,
        (0.0, 1000.0),
        "Mbit/s",
        "price of a second of stall (Pensieve: its top rate)",
    ),
    ParamSpec::number("first", 1.0, (0.0, 31.0), "", "representation of the first segment (Pensieve: 1)"),
    ParamSpec::flag(
        "robust",
        true,
        "divide the prediction by 1 + the largest recent error; off is fastMPC's prediction",
    ),
];

/// Samples of the harmonic mean, and errors remembered.
const WINDOW: usize = 5;

struct Mpc {
    plan: Planner,
    first: usize,
    robust: bool,
    /// Relative errors of the last predictions, newest last.
    errors: [f64; WINDOW],
    predicted: Option<f64>,
}

impl Mpc {
    fn new(params: &Params) -> Mpc {
        Mpc {
            plan: Planner {
                horizon: params.number("horizon") as usize,
                smoothness: params.number("smoothness"),
                rebuffer_penalty: params.number("rebuffer_penalty"),
            },
            first: params.number("first") as usize,
            robust: params.flag("robust"),
            errors: [0.0; WINDOW],
            predicted: None,
        }
    }

    fn learn(&mut self, bits_per_sec: f64) {
        if let Some(predicted) = self.predicted {
            self.errors.rotate_left(1);
            self.errors[WINDOW - 1] = (predicted - bits_per_sec).abs() / bits_per_sec.max(1.0);
        }
    }

    fn discounted(&self, harmonic: f64) -> f64 {
        let worst = self.errors.iter().copied().fold(0.0, f64::max);
        if self.robust { harmonic / (1.0 + worst) } else { harmonic }
    }
}

impl Abr for Mpc {
    fn choose(&mut self, context: &Context) -> Decision {
        let Some(harmonic) = harmonic_mean(context.downloads, WINDOW) else {
            return Decision::fetch(self.first.min(context.ladder.count() - 1), "first segment");
        };
        self.predicted = Some(harmonic);
        let bits_per_sec = self.discounted(harmonic);
        let previous = context.previous.unwrap_or(0);
        let level = context.buffer_level.as_secs_f64();
        let choice = self.plan.best_first(context.ladder, context.segment, previous, level, bits_per_sec);
        Decision::fetch(choice, "best plan").with_estimate(bits_per_sec)
    }

    fn on_download(&mut self, _context: &Context, download: &Download) {
        self.learn(download.bits_per_sec());
    }
}

#[derive(Clone, Copy)]
struct Planner {
    horizon: usize,
    smoothness: f64,
    rebuffer_penalty: f64,
}

/// A plan's state after some of its steps.
#[derive(Clone, Copy)]
struct Step {
    segment: usize,
    left: usize,
    rate: f64,
    level: f64,
    reward: f64,
}

impl Planner {
    fn best_first(&self, ladder: &Ladder, segment: usize, previous: usize, level: f64, bits_per_sec: f64) -> usize {
        let left = self.horizon.min(ladder.segments() - segment);
        let start = Step { segment, left, rate: mbps(ladder, previous), level, reward: 0.0 };
        let (mut best_reward, mut best) = (f64::NEG_INFINITY, 0);
        // Downwards and strictly better only: of equal plans the last in counting order stays.
        for choice in (0..ladder.count()).rev() {
            let step = self.take(ladder, start, choice, bits_per_sec);
            let reward = self.search(ladder, step, bits_per_sec, best_reward);
            if reward > best_reward {
                (best_reward, best) = (reward, choice);
            }
        }
        best
    }

    /// Best reward reachable from `step`, if it beats `floor`; else something not above `floor`.
    fn search(&self, ladder: &Ladder, step: Step, bits_per_sec: f64, floor: f64) -> f64 {
        if step.left == 0 {
            return step.reward;
        }
        let mut best = floor;
        if self.bound(ladder, step) <= floor {
            return floor;
        }
        for choice in (0..ladder.count()).rev() {
            let next = self.take(ladder, step, choice, bits_per_sec);
            best = best.max(self.search(ladder, next, bits_per_sec, best));
        }
        best
    }

    /// No continuation is worth more: without stalls, sum q − s · sum |dq| ≤ k · max q − s · (max q − q_0).
    fn bound(&self, ladder: &Ladder, step: Step) -> f64 {
        let top = mbps(ladder, ladder.count() - 1);
        let left = step.left as f64;
        let rise = if left > self.smoothness { top } else { step.rate };
        // Rounding must not cut a branch that ties.
        step.reward + left * rise - self.smoothness * (rise - step.rate) + 1e-9
    }

    fn take(&self, ladder: &Ladder, from: Step, choice: usize, bits_per_sec: f64) -> Step {
        let seconds = ladder.bytes(from.segment, choice) as f64 * 8.0 / bits_per_sec.max(1.0);
        let stall = (seconds - from.level).max(0.0);
        let rate = mbps(ladder, choice);
        let cost = self.smoothness * (rate - from.rate).abs() + self.rebuffer_penalty * stall;
        Step {
            segment: from.segment + 1,
            left: from.left - 1,
            rate,
            level: (from.level - seconds).max(0.0) + ladder.duration_of(from.segment).as_secs_f64(),
            reward: from.reward + rate - cost,
        }
    }
}

fn mbps(ladder: &Ladder, index: usize) -> f64 {
    ladder.bits_per_sec(index) / 1e6
}

#[cfg(test)]
mod tests;
