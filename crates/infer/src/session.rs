//! A session: its transfers in, draws of its path out.
//!
//! What nobody logs is weighed by how well it explains the session: the noise of the host, the time that the server thinks, the base
//! RTT where no socket told it. Draws are shared out over base RTTs by their probability; of noise the likeliest is taken, since the
//! draws hardly depend on it.

use crate::chain::{Beliefs, Chain, normalised};
use crate::connection::{Connection, Link};
use crate::deployed::Deployed;
use crate::emission::{Emission, Noise};
use crate::filter::{Course, Filtered, Step, backward, forward};
use crate::log::Transfer;
use playpath_units::random::{RootSeed, Stream};
use std::rc::Rc;

/// A path that the log allows.
#[derive(Clone, Debug)]
pub struct Draw {
    /// Capacity: bit/s on the wire, from each second on.
    pub course: Course,
    /// Round trip without queueing.
    pub rtt_s: f64,
    /// Share of packets lost at random.
    pub loss: f64,
}

/// What is known of the path of a session.
pub struct Posterior {
    /// Paths, each as likely as any other.
    pub draws: Vec<Draw>,
    /// End of the last transfer.
    pub lasts_s: f64,
    /// Logarithm of the likelihood.
    pub evidence: f64,
    /// Losses that were weighed, and the probability of each.
    pub losses: Vec<(f64, f64)>,
    /// The noise that explains the session best.
    pub noise: Noise,
    /// Share of the transfers whose times neither a rate nor a change of it explains.
    pub unexplained: f64,
}

/// What to infer with.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Of capacities.
    pub beliefs: Beliefs,
    /// How many draws.
    pub draws: usize,
    /// Of the draws.
    pub seed: u64,
    /// Share of the packets that were sent again, where the log counts them.
    pub retransmitted: Option<f64>,
}

/// The noise that is weighed: hosts and networks from quiet to restless.
const NOISES: [(f64, f64); 4] = [(0.003, 0.006), (0.005, 0.02), (0.012, 0.05), (0.04, 0.12)];
/// Server and application, seconds before the first byte: weighed alike.
const THINKS: [f64; 11] = [0.0, 0.001, 0.002, 0.003, 0.0045, 0.007, 0.011, 0.017, 0.027, 0.042, 0.065];
/// With which noise is chosen.
const USUAL_THINK: f64 = 0.003;
/// A time that explains the transfers tried worse than the best by more than this (in the logarithm) is given up.
const GIVEN_UP: f64 = 7.0;
/// Share of transfers that meet a pause.
const PAUSES: f64 = 0.03;
/// Noise is chosen on so many transfers.
const TRIED: usize = 48;
/// Base RTTs that are weighed where none is known: from the least time of a transfer down, by this factor.
const RTT_FACTOR: f64 = 0.7;
const RTTS: usize = 8;
/// What a link carries beside TCP and its payload, as a share: TLS records and the application's own framing; mean and deviation.
/// Nobody logs it, so it is one unknown for a whole session.
const FRAMING: (f64, f64) = (0.002, 0.004);

/// Random losses that are weighed, as a share of what was retransmitted, and what is believed of each before the times are seen. A
/// retransmitted share says how much was lost and not why: a queue that overflows (the first), noise, or both. The times say why,
/// since noise shrinks the window of a sender where the path is not full.
const LOSSES: [(f64, f64); 3] = [(0.0, 0.5), (0.5, 0.2), (1.0, 0.3)];
/// Less than this nobody can tell from none, and more than this no sender is played on.
const LEAST_LOSS: f64 = 2e-4;
const MOST_LOSS: f64 = 0.2;
/// Under random loss the time of a transfer is a matter of luck: sizes of noise that are weighed then as well.
const LUCK: [(f64, f64); 3] = [(0.04, 0.25), (0.04, 0.4), (0.04, 0.6)];
/// Plays of the losses that are averaged.
const PLAYS: u64 = 4;

/// The path of a session under one base RTT, one loss and one time that the server thinks.
struct Explained {
    rtt: f64,
    loss: f64,
    believed: f64,
    chain: Rc<Chain>,
    steps: Vec<Step>,
    filtered: Filtered,
    noise: Noise,
}

/// Infer the path of a session: transfers in the order of their requests, none before the end of the one before.
pub fn infer(transfers: &[Transfer], deployed: &Deployed, settings: &Settings) -> Posterior {
    let losses = base_losses(settings.retransmitted);
    let explained: Vec<Explained> = base_rtts(transfers)
        .into_iter()
        .flat_map(|rtt| losses.iter().map(move |&loss| (rtt, loss)))
        .flat_map(|(rtt, loss)| explain(transfers, deployed, rtt, loss, &settings.beliefs))
        .collect();
    let best = explained.iter().map(|e| e.filtered.evidence).fold(f64::NEG_INFINITY, f64::max);
    let shares = normalised(explained.iter().map(|e| e.believed * libm::exp(e.filtered.evidence - best)).collect());
    let mut stream = RootSeed(settings.seed).stream("infer");
    let mut draws: Vec<Draw> = vec![];
    for (own, count) in explained.iter().zip(counts(&shares, settings.draws)) {
        let courses = backward(&own.chain, &own.steps, &own.filtered, count, &mut stream);
        draws.extend(courses.into_iter().map(|course| {
            let course = framed(course, &mut stream);
            Draw { course, rtt_s: own.rtt, loss: own.loss }
        }));
    }
    // By base RTT and think until now: a few of them are to be a sample, too.
    for index in (1..draws.len()).rev() {
        draws.swap(index, (stream.uniform() * (index + 1) as f64) as usize);
    }
    let likeliest = (0..shares.len()).max_by(|a, b| shares[*a].total_cmp(&shares[*b])).unwrap_or(0);
    let own = &explained[likeliest];
    Posterior {
        draws,
        lasts_s: transfers.iter().map(Transfer::end_s).fold(0.0, f64::max),
        evidence: best,
        losses: losses
            .iter()
            .map(|&(loss, _)| {
                (loss, explained.iter().zip(&shares).filter(|(e, _)| e.loss == loss).map(|(_, s)| s).sum())
            })
            .collect(),
        noise: own.noise,
        unexplained: own.filtered.unexplained(),
    }
}

/// Shares of packets lost at random that may be, with the belief in each.
fn base_losses(retransmitted: Option<f64>) -> Vec<(f64, f64)> {
    let share = retransmitted.unwrap_or(0.0).min(MOST_LOSS);
    if share < LEAST_LOSS {
        vec![(0.0, 1.0)]
    } else {
        LOSSES.iter().map(|&(of, belief)| (of * share, belief)).collect()
    }
}

fn framed(mut course: Course, stream: &mut Stream) -> Course {
    let framing = libm::exp(FRAMING.0 + FRAMING.1 * stream.normal());
    course.iter_mut().for_each(|(_, rate)| *rate *= framing);
    course
}

/// Draws for each share, `total` in all: the largest remainders are rounded up.
fn counts(shares: &[f64], total: usize) -> Vec<usize> {
    let exact: Vec<f64> = shares.iter().map(|share| share * total as f64).collect();
    let mut counts: Vec<usize> = exact.iter().map(|x| *x as usize).collect();
    let mut order: Vec<usize> = (0..shares.len()).collect();
    order.sort_by(|a, b| (exact[*b] % 1.0).total_cmp(&(exact[*a] % 1.0)));
    let left = total.saturating_sub(counts.iter().sum());
    order.iter().cycle().take(left).for_each(|&index| counts[index] += 1);
    counts
}

fn explain(
    transfers: &[Transfer],
    deployed: &Deployed,
    rtt: f64,
    (loss, believed): (f64, f64),
    beliefs: &Beliefs,
) -> Vec<Explained> {
    let (low, high) = shown(transfers, rtt, deployed);
    let chain = Rc::new(Chain::new(low, high, beliefs));
    let takes = times(transfers, deployed, &chain, rtt, loss);
    let steps = |count: usize, noise: &Noise| -> Vec<Step> {
        let first_byte = rtt + noise.think_s;
        (0..count)
            .map(|index| Step {
                gap: gap(transfers, index),
                at: transfers[index].at_s,
                took: transfers[index].took_s,
                emission: Emission::new(&transfers[index], first_byte, &takes[index], &chain.widths, noise),
            })
            .collect()
    };
    let tried = |noise: &Noise| forward(&chain, &steps(transfers.len().min(TRIED), noise)).evidence;
    let kept = likely_noises(&tried, loss > 0.0);
    kept.into_iter()
        .map(|noise| {
            let steps = steps(transfers.len(), &noise);
            let filtered = forward(&chain, &steps);
            Explained { rtt, loss, believed, chain: Rc::clone(&chain), steps, filtered, noise }
        })
        .collect()
}

/// The size of the noise with the greatest evidence, with each time to the first byte that may be.
fn likely_noises(evidence: &dyn Fn(&Noise) -> f64, has_luck: bool) -> Vec<Noise> {
    let of = |(absolute_s, relative), think_s| Noise { absolute_s, relative, pauses: PAUSES, think_s };
    let better = |a: &(f64, Noise), b: &(f64, Noise)| a.0.total_cmp(&b.0);
    let sizes = NOISES.iter().chain(if has_luck { &LUCK[..] } else { &[] }).map(|&size| of(size, USUAL_THINK));
    let (_, best) = sizes.map(|noise| (evidence(&noise), noise)).max_by(better).expect("several");
    let weighed: Vec<(f64, Noise)> =
        THINKS.iter().map(|&think_s| Noise { think_s, ..best }).map(|noise| (evidence(&noise), noise)).collect();
    let most = weighed.iter().map(|w| w.0).fold(f64::NEG_INFINITY, f64::max);
    weighed.into_iter().filter(|w| w.0 > most - GIVEN_UP).map(|w| w.1).collect()
}

/// Base RTTs that the log allows.
fn base_rtts(transfers: &[Transfer]) -> Vec<f64> {
    let told = transfers.iter().filter_map(|t| t.socket.and_then(|s| s.min_rtt_s.or(s.rtt_s)));
    let first_bytes = transfers.iter().filter_map(|t| t.first_byte_s);
    let least = told.filter(|s| *s > 0.0).fold(f64::INFINITY, f64::min);
    if least.is_finite() {
        return vec![least];
    }
    let least = first_bytes.filter(|s| *s > 0.0).fold(f64::INFINITY, f64::min);
    if least.is_finite() {
        return vec![(least - USUAL_THINK).max(0.6 * least)];
    }
    let quickest = transfers.iter().map(|t| t.took_s).fold(f64::INFINITY, f64::min);
    (0..RTTS).map(|index| 0.9 * quickest * libm::pow(RTT_FACTOR, index as f64)).collect()
}

/// Least and greatest rate that transfers show, bit/s on the wire.
fn shown(transfers: &[Transfer], first_byte: f64, deployed: &Deployed) -> (f64, f64) {
    let wire = (deployed.mss + deployed.header) / deployed.mss;
    let rate = |t: &Transfer| t.bytes * 8.0 * wire / (t.took_s - first_byte).max(0.2 * t.took_s).max(1e-4);
    let mut rates: Vec<f64> = transfers.iter().map(rate).collect();
    rates.sort_by(f64::total_cmp);
    let at = |share: f64| rates[((rates.len() - 1) as f64 * share) as usize];
    (at(0.01).max(1e3), at(0.99).max(2e3))
}

/// The connection is played at every so many rates of the grid; in between, its times are interpolated.
const EVERY: usize = 3;
/// With losses, which cost a look at every packet.
const EVERY_LOSSY: usize = 12;

/// What each transfer takes after the first byte, at each rate.
fn times(transfers: &[Transfer], deployed: &Deployed, chain: &Chain, rtt: f64, loss: f64) -> Vec<Vec<f64>> {
    let mut takes = vec![vec![0.0; chain.rates.len()]; transfers.len()];
    let last = chain.rates.len() - 1;
    let (every, plays) = if loss > 0.0 { (EVERY_LOSSY, PLAYS) } else { (EVERY, 1) };
    let played: Vec<usize> = (0..last).step_by(every).chain([last]).collect();
    for &index in &played {
        for play in 0..plays {
            let mut connection = Connection::new(deployed, Link::new(chain.rates[index], rtt)).losing(loss, play);
            for (position, takes) in takes.iter_mut().enumerate() {
                let time = connection.serve(&transfers[position], gap(transfers, position)) - rtt;
                takes[index] += time / plays as f64;
            }
        }
    }
    for pair in played.windows(2) {
        let (low, high) = (pair[0], pair[1]);
        for index in low + 1..high {
            // In the time of a byte, transfers that fill their path are on a line.
            let pace = |rate: usize| 1.0 / chain.rates[rate];
            let share = (pace(index) - pace(low)) / (pace(high) - pace(low));
            takes.iter_mut().for_each(|takes| takes[index] = takes[low] + share * (takes[high] - takes[low]));
        }
    }
    takes
}

/// Seconds in which nothing was asked for before a transfer.
fn gap(transfers: &[Transfer], index: usize) -> f64 {
    if index == 0 { 0.0 } else { (transfers[index].at_s - transfers[index - 1].end_s()).max(0.0) }
}
