//! Draws of a path, distributed over the readings of a session and over the quantities that each reading leaves open.

use crate::chain::normalised;
use crate::counts::Expected;
use crate::deployed::Deployed;
use crate::emission::Noise;
use crate::explain::{Explained, LINKED};
use crate::filter::{Course, backward};
use crate::log::Transfer;
use crate::readings::{Reading, any_queue, losses};
use crate::round_trips::Point;
use crate::session::{Draw, Settings};
use crate::steps::parts;
use playpath_units::random::{RootSeed, Stream};

/// Overhead on the link besides TCP and payload, as a share: TLS records and the application's framing; mean and deviation. It is not
/// logged, so it is one unknown for the whole session.
const FRAMING: (f64, f64) = (0.002, 0.004);
/// A session's share of a link that it shares with a neighbour is random for minutes: the link rate that reproduces a session's time is off
/// by 0.15 to 0.22, over 56 sessions, of which the neighbour's phases show 0.10 to 0.18.
const SHARED: f64 = 0.12;
/// The smoothing between the three quadrature points of a model's deviation, in deviations.
const BETWEEN: f64 = 0.5;
/// How irregular overflows are when noise is weighed against them.
const SPREAD: f64 = 0.5;

/// A base RTT and a server time, with their likelihood.
#[derive(Clone)]
pub(crate) struct Candidate {
    pub rtt: f64,
    pub from: f64,
    pub to: f64,
    pub noise: Noise,
    /// Logarithm of how likely the session is.
    pub evidence: f64,
    pub share: f64,
}

impl Candidate {
    /// The candidates of all points, the likeliest first; the evidence counts to the power of `power`.
    pub fn all(points: &[Point], power: f64) -> Vec<Candidate> {
        let of = |point: &Point| -> Vec<Candidate> {
            let (rtt, from, to) = (point.rtt, point.from, point.to);
            let candidate = |&(noise, evidence): &(Noise, f64)| Candidate {
                rtt,
                from,
                to,
                noise,
                evidence,
                share: point.believed() + power * evidence,
            };
            point.weighed.iter().map(candidate).collect()
        };
        let mut all: Vec<Candidate> = points.iter().flat_map(of).collect();
        let shares = shares(all.iter().map(|one| one.share));
        all.iter_mut().zip(shares).for_each(|(one, share)| one.share = share);
        all.sort_by(|a, b| b.share.total_cmp(&a.share));
        all
    }

    /// Indices of `count` candidates that each represent the same share of the probability, ordered by RTT and server time.
    pub fn typical(all: &[Candidate], count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..all.len()).collect();
        let key = |index: usize| (all[index].rtt, all[index].noise.server_time_s);
        order.sort_by(|a, b| key(*a).partial_cmp(&key(*b)).expect("finite"));
        let mut found = vec![];
        let (mut sum, mut wanted) = (0.0, 0.5);
        for index in order {
            sum += all[index].share * count as f64;
            if sum > wanted {
                found.push(index);
                wanted = libm::floor(sum + 0.5) + 0.5;
            }
        }
        found
    }

    fn distance(&self, other: &Candidate) -> f64 {
        libm::log(self.rtt / other.rtt).abs() + (self.noise.server_time_s - other.noise.server_time_s).abs() / self.rtt
    }
}

#[derive(Clone)]
pub(crate) struct ExplainedReading {
    pub reading: Reading,
    pub share: f64,
    pub candidates: Vec<Candidate>,
    /// Representative candidates, by their indices, with their explanations.
    pub explained: Vec<(usize, Explained)>,
    /// Random-loss shares, and the probability of each.
    pub losses: Vec<(f64, f64)>,
    /// Ratio of the link's rate to the rate that the session shows.
    pub factors: Vec<f64>,
    /// The rate that the session shows, if a neighbour takes the rest.
    pub shown: Option<Shown>,
    /// The model's error for a whole session.
    pub model: f64,
    /// By how much RTTs may be longer than those of the candidates.
    pub longer_s: f64,
}

/// The rate of a shared link that a session shows in its first transfers.
#[derive(Clone, Copy)]
pub(crate) struct Shown {
    /// bit/s.
    pub rate: f64,
    /// Share of sent packets that overflow the queue in a play with the neighbour.
    pub again: f64,
    /// Deviation of a transfer's time with the neighbour, as a share.
    pub uneven: f64,
}

/// The rate of a shared link is averaged over intervals of this many seconds. Shorter variations are caused by the neighbour, which is
/// simulated separately.
const AVERAGED_S: f64 = 180.0;

/// A course without the variations that a neighbour causes. It begins with the rate that the factors of [`crate::neighbour::Shared`] are
/// relative to: later in the same interval a session may show less because its neighbour has filled the queue, which is not the link's.
fn averaged(course: &Course, lasts_s: f64, shown: Shown) -> Course {
    let count = libm::ceil(lasts_s / AVERAGED_S).max(1.0);
    let step_s = lasts_s / count;
    // Times are additive, so the mean is taken over the time per bit.
    let rates: Vec<f64> = parts(course, lasts_s, step_s, count as usize)
        .iter()
        .map(|part| part.iter().map(|p| p.1).sum::<f64>() / part.iter().map(|p| p.1 / p.0).sum::<f64>())
        .collect();
    rates.iter().zip(0..).map(|(rate, i)| (f64::from(i) * step_s, shown.rate * rate / rates[0])).collect()
}

/// Probabilities from logarithms.
pub(crate) fn shares(logs: impl Iterator<Item = f64> + Clone) -> Vec<f64> {
    let most = logs.clone().fold(f64::NEG_INFINITY, f64::max);
    normalised(logs.map(|log| libm::exp(log - most)).collect())
}

pub(crate) fn log_sum(logs: impl Iterator<Item = f64> + Clone) -> f64 {
    let most = logs.clone().fold(f64::NEG_INFINITY, f64::max);
    most + libm::log(logs.map(|log| libm::exp(log - most)).sum())
}

/// Random-loss shares under a reading with their probabilities; and the logarithm of how much likelier the reading becomes when all these
/// shares are admitted instead of only the simulated one. `again`: share of all packets that were retransmitted.
pub(crate) fn noise_of(
    transfers: &[Transfer],
    deployed: &Deployed,
    reading: &Reading,
    (found, shown): (&Explained, Option<Shown>),
    again: Option<f64>,
) -> (Vec<(f64, f64)>, f64) {
    let Some(again) = again else { return (vec![(reading.loss, 1.0)], 0.0) };
    let counted: Vec<(f64, f64, f64)> = transfers
        .iter()
        .enumerate()
        .filter_map(|(index, transfer)| {
            let packets = libm::ceil(transfer.bytes / deployed.mss);
            let alone = || found.overflows[index][found.shared_deviations[0].filtered.likeliest(index)];
            let overflow = shown.map_or_else(alone, |shown| shown.again * packets);
            transfer.again.map(|seen| (seen, packets, overflow))
        })
        .collect();
    let likely = |loss: f64| -> f64 {
        let one = |&(seen, packets, overflow): &(f64, f64, f64)| {
            let expected = Expected { packets, noise: loss * packets, overflow, spread: SPREAD };
            let is_one = deployed.is_window_based();
            libm::log(if is_one { expected.likely(seen) } else { expected.likely_or_without(seen) })
        };
        counted.iter().map(one).sum()
    };
    let found = losses(reading, again, &likely);
    let more = if reading.loss > 0.0 { log_sum(found.iter().map(|f| f.1)) - likely(reading.loss) } else { 0.0 };
    let shares = shares(found.iter().map(|f| f.1));
    (found.iter().zip(shares).map(|(one, share)| (one.0, share)).collect(), more)
}

pub(crate) fn draws(found: &[ExplainedReading], settings: &Settings) -> Vec<Draw> {
    let mut stream = RootSeed(settings.seed).stream("infer");
    let mut draws: Vec<Draw> = vec![];
    let of_readings: Vec<f64> = found.iter().map(|one| one.share).collect();
    for (own, count) in found.iter().zip(counts(&of_readings, settings.draws)) {
        let near = own.by_nearest();
        let of_explained: Vec<f64> =
            near.iter().map(|group| group.iter().map(|index| own.candidates[*index].share).sum()).collect();
        for (((_, explained), group), count) in own.explained.iter().zip(&near).zip(counts(&of_explained, count)) {
            let of_deviations: Vec<f64> = explained.shared_deviations.iter().map(|deviation| deviation.share).collect();
            let shared_deviations = explained.shared_deviations.iter().zip(counts(&of_deviations, count));
            let courses: Vec<Course> = shared_deviations
                .flat_map(|(one, count)| backward(&explained.chain, &one.steps, &one.filtered, count, &mut stream))
                .collect();
            draws.extend(
                courses
                    .into_iter()
                    .enumerate()
                    .map(|(index, course)| own.draw(course, group, index % own.factors.len(), &mut stream)),
            );
        }
    }
    // The draws are still ordered by reading and RTT; after shuffling, the first few are a sample as well.
    for index in (1..draws.len()).rev() {
        draws.swap(index, (stream.uniform() * (index + 1) as f64) as usize);
    }
    draws
}

impl ExplainedReading {
    /// For each explained candidate, the candidates that are nearest to it.
    fn by_nearest(&self) -> Vec<Vec<usize>> {
        let mut groups = vec![vec![]; self.explained.len()];
        for (index, one) in self.candidates.iter().enumerate() {
            let distance = |of: &usize| one.distance(&self.candidates[self.explained[*of].0]);
            let nearest = (0..groups.len()).min_by(|a, b| distance(a).total_cmp(&distance(b)));
            groups[nearest.expect("one at least")].push(index);
        }
        groups
    }

    fn lasts_s(&self) -> f64 {
        self.explained[0].1.shared_deviations[0].steps.last().map_or(0.0, |step| step.at + step.took)
    }

    fn draw(&self, course: Course, group: &[usize], phase: usize, stream: &mut Stream) -> Draw {
        let one = &self.candidates[pick(group.iter().map(|index| (*index, self.candidates[*index].share)), stream)];
        let loss = pick_loss(&self.losses, stream);
        let rtt_s = one.from + (one.to - one.from) * stream.uniform() + self.longer_s * stream.uniform();
        let course = match self.shown {
            Some(shown) => averaged(&course, self.lasts_s(), shown),
            None => course,
        };
        Draw {
            course: framed(course, &self.reading, self.model, self.factors[phase], stream),
            rtt_s,
            reading: Reading { loss, ..self.reading },
            phase: phase as u64,
            queue: self.reading.queue.unwrap_or_else(|| any_queue(stream)),
        }
    }
}

fn pick<T: Copy>(weighed: impl Iterator<Item = (T, f64)> + Clone, stream: &mut Stream) -> T {
    let mut left = stream.uniform() * weighed.clone().map(|w| w.1).sum::<f64>();
    let mut last = None;
    for (one, weight) in weighed {
        left -= weight;
        if left < 0.0 {
            return one;
        }
        last = Some(one);
    }
    last.expect("one at least")
}

/// A loss share, drawn from the whole cell of a grid point.
fn pick_loss(losses: &[(f64, f64)], stream: &mut Stream) -> f64 {
    let index = pick(losses.iter().enumerate().map(|(index, one)| (index, one.1)), stream);
    let at = losses[index].0;
    let adjacent = losses.get(index + 1).or(index.checked_sub(1).map(|before| &losses[before])).map_or(at, |one| one.0);
    if at > 0.0 && adjacent > 0.0 { at * libm::pow(adjacent / at, stream.uniform() - 0.5) } else { at }
}

/// `model`: deviation of the times of a whole session.
fn framed(mut course: Course, reading: &Reading, model: f64, factor: f64, stream: &mut Stream) -> Course {
    let deviation = if reading.has_neighbour { SHARED } else { FRAMING.1.max(BETWEEN * LINKED * model) };
    let framing = libm::exp(FRAMING.0 + deviation * stream.normal());
    course.iter_mut().for_each(|(_, rate)| *rate *= factor * framing);
    course
}

/// Draws for each share, `total` in all: the largest remainders are rounded up.
fn counts(shares: &[f64], total: usize) -> Vec<usize> {
    let sum: f64 = shares.iter().sum();
    let exact: Vec<f64> = shares.iter().map(|share| share / sum * total as f64).collect();
    let mut counts: Vec<usize> = exact.iter().map(|x| *x as usize).collect();
    let mut order: Vec<usize> = (0..shares.len()).collect();
    order.sort_by(|a, b| (exact[*b] % 1.0).total_cmp(&(exact[*a] % 1.0)));
    let left = total.saturating_sub(counts.iter().sum());
    order.iter().cycle().take(left).for_each(|&index| counts[index] += 1);
    counts
}
