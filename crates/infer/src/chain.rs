//! The prior of a path's capacity: a piecewise constant Markov chain on a grid of rates.
//!
//! It changes in one of three ways, each with its own rate per second: it drifts by a few per cent, it shifts (a neighbour comes or goes,
//! the radio changes), or it becomes any rate that access links have. These priors are the same for all logs and deliberately wide;
//! nothing is fitted to the steps of a file.
//!
//! Reference for piecewise-constant capacity as a hidden Markov chain: Veritas (SIGCOMM 2023) §4, which knows steps of a fixed
//! length and jumps by one unit. Here time is continuous: a change may happen at any time, also during a transfer.
//!
//! Units: bit/s, seconds. Tested here: rows of the kernel sum to 1, and rates stay constant for as long as they should.

use playpath_units::random::Stream;

/// Beliefs about how capacities change.
#[derive(Clone, Copy, Debug)]
pub struct Beliefs {
    /// Small changes per second, and their size (scale of a Laplace distribution in the logarithm).
    pub drift: (f64, f64),
    /// Large changes, as above.
    pub shift: (f64, f64),
    /// Changes to anything, per second.
    pub anything: f64,
    /// Access links: median in bit/s, standard deviation of the logarithm.
    pub access: (f64, f64),
}

impl Default for Beliefs {
    fn default() -> Beliefs {
        Beliefs { drift: (0.15, 0.02), shift: (0.05, 0.35), anything: 0.002, access: (10e6, 1.5) }
    }
}

impl Beliefs {
    /// Changes per second, of all kinds.
    pub(crate) fn changes(&self) -> f64 {
        self.drift.0 + self.shift.0 + self.anything
    }
}

/// Rates and their transition probabilities.
pub(crate) struct Chain {
    /// bit/s, rising.
    pub rates: Vec<f64>,
    /// Width of each rate's cell, in the logarithm.
    pub widths: Vec<f64>,
    /// Probability of each rate before the first transfer.
    pub prior: Vec<f64>,
    /// Distribution of the next rate after a change: a row for each rate.
    pub kernel: Vec<Vec<f64>>,
    /// Changes per second.
    pub changes: f64,
}

/// How many cells the grid has.
pub(crate) struct Grain {
    /// Maximum number of cells of the fine part, and their minimum width in the logarithm.
    cells: f64,
    finest: f64,
    /// Minimum width of cells above the rates that were seen.
    coarse: f64,
    pub is_rough: bool,
}

impl Grain {
    pub const FINE: Grain = Grain { cells: 200.0, finest: 0.015, coarse: 0.12, is_rough: false };
    /// For weighing unlogged quantities: a cell is as wide as the noise of a usual session.
    pub const ROUGH: Grain = Grain { cells: 60.0, finest: 0.04, coarse: 0.2, is_rough: true };
}

/// The grid reaches up to `UNSEEN` times the highest rate that was seen, since a link that was never filled may be that fast; and at least to
/// the 99 % quantile of access links, `FASTEST` deviations above the median, since losses may keep a sender far below the link's rate.
const UNSEEN: f64 = 12.0;
const FASTEST: f64 = 2.33;
/// Factor on the width of cells above `UNSEEN`.
const FAR: f64 = 2.0;

/// Bounds of the grid for a session in which transfers showed rates from `low` to `high` bit/s: its lowest rate, the highest rate seen, and
/// the minimum of its highest rate.
pub(crate) fn range((low, high): (f64, f64), beliefs: &Beliefs) -> [f64; 3] {
    let fastest = beliefs.access.0 * libm::exp(FASTEST * beliefs.access.1);
    [low / 2.0, high * 1.5, fastest.max(high * 1.5 * UNSEEN)]
}

impl Chain {
    /// The chain for a session in which transfers showed rates from `low` to `high` bit/s.
    pub fn new(shown: (f64, f64), grain: &Grain, beliefs: &Beliefs) -> Chain {
        let [low, top, highest] = range(shown, beliefs).map(libm::log);
        let step = ((top - low) / grain.cells).max(grain.finest);
        let mut logs = vec![];
        let mut widths = vec![];
        let mut at = low;
        while at < highest {
            let is_far = at > top + libm::log(UNSEEN);
            let width = if at < top { step } else { grain.coarse.max(step) * if is_far { FAR } else { 1.0 } };
            logs.push(at + width / 2.0);
            widths.push(width);
            at += width;
        }
        let density = |x: f64| {
            let z = (x - libm::log(beliefs.access.0)) / beliefs.access.1;
            libm::exp(-0.5 * z * z)
        };
        let prior = normalised(logs.iter().zip(&widths).map(|(&x, w)| density(x) * w).collect());
        let kernel = logs.iter().map(|&from| row(from, &logs, &widths, &prior, beliefs)).collect();
        let rates = logs.iter().map(|&x| libm::exp(x)).collect();
        Chain { rates, widths, prior, kernel, changes: beliefs.changes() }
    }

    /// Weights after `takes` seconds without a transfer.
    pub fn pass(&self, weights: &[f64], takes: f64) -> Vec<f64> {
        let stays = self.stays(takes);
        let mut next: Vec<f64> = weights.iter().map(|w| w * stays).collect();
        for (from, &weight) in weights.iter().enumerate().filter(|(_, w)| **w > 0.0) {
            let moved = weight * (1.0 - stays);
            for (to, share) in self.kernel[from].iter().enumerate() {
                next[to] += moved * share;
            }
        }
        next
    }

    pub fn within(&self, rate: usize, draws: &mut Stream) -> f64 {
        self.rates[rate] * libm::exp(self.widths[rate] * (draws.uniform() - 0.5))
    }

    /// Probability of no change in `takes` seconds.
    pub fn stays(&self, takes: f64) -> f64 {
        libm::exp(-self.changes * takes)
    }

    /// The kernel by the rate that follows: a row for each, with the probability of it after each rate.
    pub fn kernel_into(&self) -> Vec<Vec<f64>> {
        (0..self.rates.len()).map(|to| self.kernel.iter().map(|row| row[to]).collect()).collect()
    }
}

fn row(from: f64, logs: &[f64], widths: &[f64], prior: &[f64], beliefs: &Beliefs) -> Vec<f64> {
    let laplace = |scale: f64| {
        normalised(logs.iter().zip(widths).map(|(x, w)| w * libm::exp(-(x - from).abs() / scale)).collect())
    };
    let (drift, shift) = (laplace(beliefs.drift.1), laplace(beliefs.shift.1));
    let all = beliefs.changes();
    (0..logs.len())
        .map(|to| (beliefs.drift.0 * drift[to] + beliefs.shift.0 * shift[to] + beliefs.anything * prior[to]) / all)
        .collect()
}

/// Scaled to a sum of 1.
pub(crate) fn normalised(mut weights: Vec<f64>) -> Vec<f64> {
    let sum: f64 = weights.iter().sum();
    if sum > 0.0 {
        weights.iter_mut().for_each(|w| *w /= sum);
    }
    weights
}
