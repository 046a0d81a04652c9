//! LoL+: bitrates for low latency by a self-organising map, as dash.js has it.
//!
//! Reference: Bentaleb et al., "Catching the moment with LoL+ in Twitch-like low-latency live streaming platforms" (IEEE TMM 2022);
//! dash.js 5.2.1 `LoLPRule`, `LearningAbrController`, `LoLpWeightSelector`, `LoLpQoEEvaluator`.
//! Each rung is a neuron with throughput, latency, stall time and switch. The one nearest to (throughput, no latency, no stall, no
//! switch) is chosen, under weights that a model of quality picks from a grid; it and the present one learn. If the next segment at the
//! present rung would leave less than 0.3 s of buffer: the next lower rung that the throughput carries.
//! Differences from dash.js: none in the arithmetic. What is not there has no effect there either:
//! 1. Its random weights (k-means++) are overwritten by the grid's before they are used: the present rung always meets the constraints,
//!    since a buffer that is too low is handled before, and each question starts with a previous latency of 0.
//! 2. Of the grid of 625 weights the quality depends on two, and the first of equals is taken: 25 are tried.
//!
//! Units: bit/s, seconds. Tested below and against dash.js's own code (`tests/players/laws.mjs`).

use super::dash_js_5::{Estimate, highest_at_most, rounded_level};
use super::l2a::INITIAL;
use super::{Abr, AbrEntry, Context, Decision, Download};
use crate::ladder::{Ladder, MAX_REPRESENTATIONS};

pub(super) static ENTRY: AbrEntry = AbrEntry {
    name: "lol+",
    summary: "LoL+ of dash.js 5: a self-organising map, for low latency",
    reference: "Bentaleb et al. (IEEE TMM 2022); dash.js 5.2.1 LoLPRule",
    params: &[INITIAL],
    build: |params| Box::new(LolPlus::new(params.number("initial"))),
};

const MIN_BUFFER: f64 = 0.3;
const LATENCY_SCALE: f64 = 100.0;
/// A rung this near to the throughput is too high, bit/s.
const MARGIN: f64 = 10_000.0;
/// What weighs the throughput of a rung that is too high.
const DETERRENT: f64 = 100.0;
const GRID: [f64; 5] = [0.2, 0.4, 0.6, 0.8, 1.0];
const LEARNING_RATE: f64 = 0.01;
const SIGMA: f64 = 0.1;

/// Throughput and switch as shares of the ladder's norm, latency in [`LATENCY_SCALE`], stall time in s.
type State = [f64; 4];

struct LolPlus {
    initial_kbps: f64,
    estimate: Estimate,
    current: Option<usize>,
    /// Of each rung; empty before the first question.
    neurons: [State; MAX_REPRESENTATIONS],
    /// Root of the sum of the squares of the bitrates.
    norm: f64,
}

/// A question, in bit/s and s.
#[derive(Clone, Copy)]
struct Query {
    throughput: f64,
    latency: f64,
    level: f64,
    segment: f64,
    speed: f64,
}

impl Query {
    fn download_time(&self, bits_per_sec: f64) -> f64 {
        bits_per_sec * self.segment / self.throughput
    }

    fn next_level(&self, download_time: f64) -> f64 {
        if download_time > self.segment { self.level - self.segment } else { self.level + self.segment - download_time }
    }
}

impl LolPlus {
    fn new(initial_kbps: f64) -> LolPlus {
        let neurons = [[0.0; 4]; MAX_REPRESENTATIONS];
        LolPlus { initial_kbps, estimate: Estimate::new(), current: None, neurons, norm: 0.0 }
    }

    fn meet(&mut self, ladder: &Ladder) {
        if self.norm > 0.0 {
            return;
        }
        self.norm = (0..ladder.count()).fold(0.0, |sum, rung| sum + ladder.bits_per_sec(rung).powi(2)).sqrt();
        for rung in 0..ladder.count() {
            self.neurons[rung][0] = ladder.bits_per_sec(rung) / self.norm;
        }
    }

    fn next(&mut self, ladder: &Ladder, asked: &Query, current: usize) -> usize {
        self.meet(ladder);
        let normal = match asked.throughput / self.norm {
            share if share > 1.0 => self.neurons[..ladder.count()].iter().fold(0.0, |most, n| n[0].max(most)),
            share => share,
        };
        let download_time = asked.download_time(ladder.bits_per_sec(current));
        if asked.level - download_time < MIN_BUFFER {
            let lower = (0..current).rev().find(|&rung| asked.throughput > ladder.bits_per_sec(rung));
            return lower.unwrap_or(current);
        }
        let weights = self.weights(ladder, asked);
        let choice = self.nearest(ladder, asked, normal, weights);
        let switch = (ladder.bits_per_sec(current) - ladder.bits_per_sec(choice)).abs() / self.norm;
        let stall = (download_time - asked.level).max(0.0);
        self.learn(ladder.count(), current, [normal, asked.latency / LATENCY_SCALE, stall, switch]);
        self.learn(ladder.count(), choice, [normal, 0.0, 0.0, switch]);
        choice
    }

    /// The weights under which some rung has the best quality: of throughput, latency, stall and switch.
    fn weights(&self, ladder: &Ladder, asked: &Query) -> [f64; 4] {
        let (mut best, mut winner) = (f64::NEG_INFINITY, [GRID[0]; 4]);
        for rung in 0..ladder.count() {
            let bits_per_sec = ladder.bits_per_sec(rung);
            let download_time = asked.download_time(bits_per_sec);
            let next_level = asked.next_level(download_time);
            if next_level < MIN_BUFFER {
                continue;
            }
            let stall = (download_time - next_level).max(0.00001);
            for latency in GRID {
                for buffer in GRID {
                    let weighted = (1.0 / buffer * stall, 1.0 / latency * self.neurons[rung][1]);
                    let quality = quality(ladder, asked, bits_per_sec, weighted);
                    if quality > best {
                        (best, winner) = (quality, [GRID[0], latency, buffer, GRID[0]]);
                    }
                }
            }
        }
        winner
    }

    fn nearest(&self, ladder: &Ladder, asked: &Query, normal: f64, weights: [f64; 4]) -> usize {
        let (mut least, mut choice) = (f64::INFINITY, 0);
        for rung in 0..ladder.count() {
            let bits_per_sec = ladder.bits_per_sec(rung);
            let is_low = asked.next_level(asked.download_time(bits_per_sec)) < MIN_BUFFER;
            let mut weights = weights;
            if rung > 0 && (bits_per_sec > asked.throughput - MARGIN || is_low) {
                weights[0] = DETERRENT;
            }
            let distance = distance(self.neurons[rung], [normal, 0.0, 0.0, 0.0], weights);
            if distance < least {
                (least, choice) = (distance, rung);
            }
        }
        choice
    }

    /// The neurons come nearer to `seen`, the more so the nearer they are to the winner.
    fn learn(&mut self, count: usize, winner: usize, seen: State) {
        for rung in 0..count {
            // As there: the winner's state changes on the way.
            let away = distance(self.neurons[rung], self.neurons[winner], [1.0; 4]);
            let share = LEARNING_RATE * libm::exp(-(away * away) / (2.0 * SIGMA * SIGMA));
            for (value, seen) in self.neurons[rung].iter_mut().zip(seen) {
                *value += (seen - *value) * share;
            }
        }
    }
}

fn distance(a: State, b: State, weights: [f64; 4]) -> f64 {
    let squares = (0..4).fold(0.0, |sum, i| sum + weights[i] * (a[i] - b[i]).powi(2));
    squares.sqrt()
}

/// Bitrate less stall time, latency and speed, each with its price.
fn quality(ladder: &Ladder, asked: &Query, bits_per_sec: f64, (stall, latency): (f64, f64)) -> f64 {
    let (min_kbps, max_kbps) = (ladder.bits_per_sec(0) / 1e3, ladder.bits_per_sec(ladder.count() - 1) / 1e3);
    let latency_price = if latency <= 1.1 { min_kbps * 0.05 } else { max_kbps * 0.1 };
    // The bitrate is in bit/s here and in kbit/s in the prices, as there.
    asked.segment * bits_per_sec - max_kbps * stall - latency_price * latency - min_kbps * (1.0 - asked.speed).abs()
}

impl Abr for LolPlus {
    fn choose(&mut self, context: &Context) -> Decision {
        let Some(current) = self.current else {
            let first = highest_at_most(context.ladder, self.initial_kbps);
            self.current = Some(first);
            return Decision::fetch(first, "initial rate");
        };
        let Some(safe) = self.estimate.safe_kbps() else { return Decision::fetch(current, "no estimate yet") };
        let asked = Query {
            throughput: safe * 1e3,
            latency: context.live.map_or(0.0, |live| live.latency.as_secs_f64()),
            level: rounded_level(context.level()),
            segment: context.ladder.segment_duration().as_secs_f64(),
            speed: context.live.map_or(1.0, |live| live.speed),
        };
        let choice = self.next(context.ladder, &asked, current);
        self.current = Some(choice);
        Decision::fetch(choice, "LoLPRule").with_estimate(safe / 0.9 * 1e3)
    }

    fn on_download(&mut self, _context: &Context, download: &Download) {
        self.estimate.push(download);
    }
}

#[cfg(test)]
mod tests;
