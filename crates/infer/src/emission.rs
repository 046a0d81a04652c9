//! Likelihood of a transfer's time, for a capacity that stays constant and for one that changes during the transfer.
//!
//! The simulated connection (`connection.rs`) gives the duration of a transfer at each rate of the grid. At a constant rate the time is
//! this duration plus noise: of the host and the network (a normal distribution), and now and then a pause of the server or the application, which
//! only lengthens it (exponential). A time that is many times too long is off by its logarithm. If the rate changes once during
//! the transfer, at any moment with equal probability, the time lies anywhere between the two rates' times, and each time belongs to one moment: so the
//! integral over the moment is a difference of two normal distribution functions, and the moment itself can be drawn.
//!
//! Random losses and the phase of queue overflows make the time vary; the simulated plays give the variation. Retransmission counts and
//! late first bytes weight each rate separately; across a change the weights of the two rates are averaged.
//!
//! Approximation: after the first byte a transfer proceeds evenly; more than one change within it counts as one.

use crate::log::Transfer;
use playpath_units::random::Stream;

#[derive(Clone, Copy, Debug)]
pub struct Noise {
    /// Standard deviation for every transfer, in seconds.
    pub absolute_s: f64,
    pub relative: f64,
    /// How many transfers meet a pause.
    pub pauses: f64,
    /// Server and application before the first byte, seconds.
    pub server_time_s: f64,
}

/// Times that deviate more than noise and the variation of plays explain: how many, and by how much.
pub(crate) struct Outliers {
    pub share: f64,
    /// Their deviation is this many times as large, plus the share `variation` of the time.
    pub times: f64,
    variation: f64,
}

impl Outliers {
    pub const USUAL: Outliers = Outliers { share: 0.07, times: 4.0, variation: 0.0 };
    /// With random losses: depending on which packets are lost, and how they are recovered (the engine has timeouts, this model has none),
    /// a quarter of the times deviate by a quarter, over 45 sessions that the engine simulated.
    pub const NOISY: Outliers = Outliers { share: 0.3, times: 1.0, variation: 0.25 };
}

/// Likelihood of a transfer's retransmission count at each rate.
pub(crate) struct CountLikelihood {
    /// Logarithm of how likely it is at the likeliest rate.
    common: f64,
    /// Relative likelihood at each rate.
    at: Vec<f64>,
}

impl CountLikelihood {
    /// `logs`: of how likely it is at each rate.
    pub fn new(logs: &[f64]) -> CountLikelihood {
        let common = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        CountLikelihood { common, at: logs.iter().map(|log| libm::exp(log - common).max(MIN_LIKELIHOOD)).collect() }
    }
}

/// A transfer against the grid; columns have an entry for each rate.
pub(crate) struct Emission {
    /// First byte at, seconds after the request.
    first_byte: f64,
    /// The logged time, from the first byte on.
    seen: f64,
    pauses: f64,
    /// Logarithm of the factor that all rates have in common.
    pub common: f64,
    /// Simulated duration without `first_byte`, and its deviation.
    takes: Vec<f64>,
    deviation: Vec<f64>,
    /// Density of the logged time at a constant rate, and the normal distribution function at it.
    likely: Vec<f64>,
    below: Vec<f64>,
    /// Slope of the time in the logarithm of the rate, and the noise alone.
    slope: Vec<f64>,
    noise: Vec<f64>,
    /// Likelihood of the other logged quantities, relative to that at the most likely rate.
    counts: Vec<f64>,
}

/// The columns at a rate that a change needs.
struct Cell {
    takes: f64,
    deviation: f64,
    likely: f64,
    below: f64,
    counts: f64,
}

impl Emission {
    /// `takes`: simulated durations at the grid's rates, without `first_byte`; `variation`: their variation, as a share.
    pub fn new(
        transfer: &Transfer,
        first_byte: f64,
        (takes, variation): (Vec<f64>, &[f64]),
        counts: &CountLikelihood,
        widths: &[f64],
        noise: &Noise,
        outliers: &Outliers,
    ) -> Emission {
        let seen = transfer.took_s - first_byte;
        // The noise is a share of the logged time and not of the candidate path's, so that its width favours no candidate.
        let scale = transfer.took_s - known_rtt(transfer);
        let shown = seen.max(0.05 * scale);
        let mean_pause = 0.1 + 0.3 * transfer.took_s;
        let column = || Vec::with_capacity(takes.len());
        let mut emission = Emission {
            first_byte,
            seen,
            pauses: noise.pauses,
            common: counts.common,
            takes: vec![],
            deviation: column(),
            likely: column(),
            below: column(),
            slope: column(),
            noise: column(),
            counts: counts.at.clone(),
        };
        for rate in 0..takes.len() {
            let time = takes[rate];
            let slope = slope(&takes, widths, rate);
            let relative = noise.relative * noise.relative + variation[rate] * variation[rate];
            let own = libm::sqrt(noise.absolute_s * noise.absolute_s + relative * scale * scale);
            let cell = slope * widths[rate];
            let deviation = libm::sqrt(own * own + cell * cell / 12.0);
            let late = seen - time;
            // For very short and very long times, the smaller of the logarithmic and the linear deviation counts.
            let ratio = shown * libm::log(shown / time.max(1e-6));
            let off = libm::copysign(ratio.abs().min(late.abs()), late);
            let far = outliers.times * deviation + outliers.variation * scale;
            let usual =
                (1.0 - outliers.share) * bell(off / deviation) / deviation + outliers.share * bell(off / far) / far;
            let paused = if late > 0.0 { libm::exp(-late / mean_pause) / mean_pause } else { 0.0 };
            emission.likely.push((1.0 - noise.pauses) * usual + noise.pauses * paused + MIN_LIKELIHOOD);
            emission.below.push(below(off / deviation));
            emission.deviation.push(deviation);
            emission.slope.push(slope);
            emission.noise.push(own);
        }
        Emission { takes, ..emission }
    }

    #[inline]
    pub fn at(&self, rate: usize) -> f64 {
        self.likely[rate] * self.counts[rate]
    }

    /// Over the moment of one change from `from` to `to`.
    #[inline]
    pub fn changing(&self, from: usize, to: usize) -> f64 {
        let (from, to) = (self.cell(from), self.cell(to));
        0.5 * (from.counts + to.counts) * self.in_time(&from, &to)
    }

    /// Add to each rate what moves there from the rate `from`: `moves` times its share, where that is more than `least`.
    pub fn add_changes(&self, from: usize, moves: f64, least: f64, shares: &[f64], next: &mut [f64]) {
        let is_added = |share: &f64| moves * share > least;
        let first = shares.iter().position(is_added).unwrap_or(shares.len());
        let end = shares.iter().rposition(is_added).map_or(first, |last| last + 1);
        // Without branches and bounds checks, so that several rates are computed at once.
        let (shares, next) = (&shares[first..end], &mut next[first..end]);
        let (takes, deviation) = (&self.takes[first..end], &self.deviation[first..end]);
        let (likely, below, counts) = (&self.likely[first..end], &self.below[first..end], &self.counts[first..end]);
        let from = self.cell(from);
        for index in 0..next.len() {
            let moved = moves * shares[index];
            let to = Cell {
                takes: takes[index],
                deviation: deviation[index],
                likely: likely[index],
                below: below[index],
                counts: counts[index],
            };
            let changing = 0.5 * (from.counts + to.counts) * self.in_time(&from, &to);
            next[index] += if moved > least { moved * changing } else { 0.0 };
        }
    }

    #[inline]
    fn cell(&self, rate: usize) -> Cell {
        Cell {
            takes: self.takes[rate],
            deviation: self.deviation[rate],
            likely: self.likely[rate],
            below: self.below[rate],
            counts: self.counts[rate],
        }
    }

    #[inline]
    fn in_time(&self, from: &Cell, to: &Cell) -> f64 {
        let (spread, across) = ((from.takes - to.takes).abs(), (from.below - to.below).abs());
        let before = self.before(from);
        let deviation = if from.deviation < to.deviation { from.deviation } else { to.deviation };
        let evenly = (1.0 - self.pauses) * across / spread + MIN_LIKELIHOOD;
        let is_near = (spread < 0.5 * deviation) & ((across > 0.0) | (spread == 0.0));
        before * to.likely + (1.0 - before) * if is_near { to.likely } else { evenly }
    }

    /// Share of a transfer at this rate before the first byte.
    #[inline]
    fn before(&self, at: &Cell) -> f64 {
        self.first_byte / (self.first_byte + at.takes)
    }

    /// Draw the time of the change from `from` to `to`, in seconds after the request.
    pub fn moment(&self, from: usize, to: usize, draws: &mut Stream) -> f64 {
        let (a, b) = (self.cell(from), self.cell(to));
        if draws.chance(self.before(&a) * b.likely / self.in_time(&a, &b)) {
            return self.first_byte * draws.uniform();
        }
        let spread = a.takes - b.takes;
        let deviation = a.deviation.min(b.deviation);
        let share = if spread.abs() < 0.5 * deviation {
            draws.uniform()
        } else {
            ((self.seen - b.takes + deviation * draws.normal()) / spread).clamp(0.0, 1.0)
        };
        self.first_byte + share * a.takes.min(self.seen.max(0.0))
    }

    /// Draw the position of a constant rate within its cell, in the logarithm: up to half of `width` to either side.
    pub fn within(&self, rate: usize, width: f64, draws: &mut Stream) -> f64 {
        let (slope, late) = (self.slope[rate], self.seen - self.takes[rate]);
        let anywhere = draws.uniform_in(-width / 2.0, width / 2.0);
        if slope.abs() < 1e-6 || late > 4.0 * self.deviation[rate] {
            return anywhere;
        }
        let (mean, deviation) = (late / slope, self.noise[rate] / slope.abs());
        (0..20).map(|_| mean + deviation * draws.normal()).find(|x| x.abs() <= width / 2.0).unwrap_or(anywhere)
    }
}

/// The part of a transfer's time, in seconds, in which no data arrives, if it is logged.
fn known_rtt(transfer: &Transfer) -> f64 {
    let logged = transfer.first_byte_s.or(transfer.socket.and_then(|socket| socket.min_rtt_s));
    logged.unwrap_or(0.0).min(0.8 * transfer.took_s)
}

/// Lower bound of likelihoods: nothing is impossible.
const MIN_LIKELIHOOD: f64 = 1e-9;

/// Slope of the time over the logarithm of the rate.
fn slope(takes: &[f64], widths: &[f64], rate: usize) -> f64 {
    let (low, high) = (rate.saturating_sub(1), (rate + 1).min(takes.len() - 1));
    let across: f64 = (low..high).map(|i| (widths[i] + widths[i + 1]) / 2.0).sum();
    (takes[high] - takes[low]) / across.max(1e-9)
}

fn bell(z: f64) -> f64 {
    if z.abs() > 12.0 { 0.0 } else { 0.398_942_280_401_432_7 * libm::exp(-0.5 * z * z) }
}

/// Standard normal distribution function.
fn below(z: f64) -> f64 {
    if z > 7.0 {
        1.0
    } else if z < -7.0 {
        0.0
    } else {
        0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2)
    }
}
