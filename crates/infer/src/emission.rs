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

/// A transfer against the grid.
pub(crate) struct Emission {
    /// First byte at, seconds after the request.
    first_byte: f64,
    /// The logged time, from the first byte on.
    seen: f64,
    at: Vec<At>,
    pauses: f64,
    /// Logarithm of the factor that all rates have in common.
    pub common: f64,
}

/// A rate against the time that was seen.
#[derive(Clone, Copy)]
struct At {
    /// Expected, from the first byte on.
    takes: f64,
    /// Deviation of the expected time: noise, and the width of the cell.
    deviation: f64,
    /// How likely, if it stays.
    likely: f64,
    /// Probability of less than was seen.
    below: f64,
    /// Share of the time before the first byte.
    before: f64,
    /// Slope of the time in the logarithm of the rate, and the noise alone.
    slope: f64,
    noise: f64,
    /// Likelihood of the other logged quantities, relative to that at the most likely rate.
    counts: f64,
}

impl Emission {
    /// `takes`: simulated durations at the grid's rates, without `first_byte`; `variation`: their variation, as a share.
    pub fn new(
        transfer: &Transfer,
        first_byte: f64,
        (takes, variation): (&[f64], &[f64]),
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
        let at = (0..takes.len())
            .map(|rate| {
                let time = takes[rate];
                let slope = slope(takes, widths, rate);
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
                At {
                    takes: time,
                    deviation,
                    likely: (1.0 - noise.pauses) * usual + noise.pauses * paused + MIN_LIKELIHOOD,
                    below: below(off / deviation),
                    before: first_byte / (first_byte + time),
                    slope,
                    noise: own,
                    counts: counts.at[rate],
                }
            })
            .collect();
        Emission { first_byte, seen, at, pauses: noise.pauses, common: counts.common }
    }

    #[inline]
    pub fn at(&self, rate: usize) -> f64 {
        self.at[rate].likely * self.at[rate].counts
    }

    /// Over the moment of one change from `from` to `to`.
    #[inline]
    pub fn changing(&self, from: usize, to: usize) -> f64 {
        0.5 * (self.at[from].counts + self.at[to].counts) * self.in_time(from, to)
    }

    #[inline]
    fn in_time(&self, from: usize, to: usize) -> f64 {
        let (a, b) = (&self.at[from], &self.at[to]);
        let spread = (a.takes - b.takes).abs();
        if spread > 0.0 && a.below == b.below {
            return a.before * b.likely + (1.0 - a.before) * MIN_LIKELIHOOD;
        }
        let on_the_way = if spread < 0.5 * a.deviation.min(b.deviation) {
            b.likely
        } else {
            (1.0 - self.pauses) * (a.below - b.below).abs() / spread + MIN_LIKELIHOOD
        };
        a.before * b.likely + (1.0 - a.before) * on_the_way
    }

    /// Draw the time of the change from `from` to `to`, in seconds after the request.
    pub fn moment(&self, from: usize, to: usize, draws: &mut Stream) -> f64 {
        let (a, b) = (&self.at[from], &self.at[to]);
        if draws.chance(a.before * b.likely / self.in_time(from, to)) {
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
        let at = &self.at[rate];
        let anywhere = draws.uniform_in(-width / 2.0, width / 2.0);
        if at.slope.abs() < 1e-6 || (self.seen - at.takes) > 4.0 * at.deviation {
            return anywhere;
        }
        let (mean, deviation) = ((self.seen - at.takes) / at.slope, at.noise / at.slope.abs());
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
