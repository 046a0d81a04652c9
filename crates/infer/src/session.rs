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
}

/// What is known of the path of a session.
pub struct Posterior {
    /// Paths, each as likely as any other.
    pub draws: Vec<Draw>,
    /// End of the last transfer.
    pub lasts_s: f64,
    /// Logarithm of the likelihood.
    pub evidence: f64,
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

/// The path of a session under one base RTT and one time that the server thinks.
struct Explained {
    rtt: f64,
    chain: Rc<Chain>,
    steps: Vec<Step>,
    filtered: Filtered,
    noise: Noise,
}

/// Infer the path of a session: transfers in the order of their requests, none before the end of the one before.
pub fn infer(transfers: &[Transfer], deployed: &Deployed, settings: &Settings) -> Posterior {
    let rtts = base_rtts(transfers).into_iter();
    let explained: Vec<Explained> = rtts.flat_map(|rtt| explain(transfers, deployed, rtt, &settings.beliefs)).collect();
    let best = explained.iter().map(|e| e.filtered.evidence).fold(f64::NEG_INFINITY, f64::max);
    let shares = normalised(explained.iter().map(|e| libm::exp(e.filtered.evidence - best)).collect());
    let mut stream = RootSeed(settings.seed).stream("infer");
    let mut draws: Vec<Draw> = vec![];
    for (own, count) in explained.iter().zip(counts(&shares, settings.draws)) {
        let courses = backward(&own.chain, &own.steps, &own.filtered, count, &mut stream);
        draws.extend(courses.into_iter().map(|course| Draw { course: framed(course, &mut stream), rtt_s: own.rtt }));
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
        noise: own.noise,
        unexplained: own.filtered.unexplained(),
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

fn explain(transfers: &[Transfer], deployed: &Deployed, rtt: f64, beliefs: &Beliefs) -> Vec<Explained> {
    let (low, high) = shown(transfers, rtt, deployed);
    let chain = Rc::new(Chain::new(low, high, beliefs));
    let takes = times(transfers, deployed, &chain, rtt);
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
    let kept = likely_noises(&tried);
    kept.into_iter()
        .map(|noise| {
            let steps = steps(transfers.len(), &noise);
            let filtered = forward(&chain, &steps);
            Explained { rtt, chain: Rc::clone(&chain), steps, filtered, noise }
        })
        .collect()
}

/// The size of the noise with the greatest evidence, with each time to the first byte that may be.
fn likely_noises(evidence: &dyn Fn(&Noise) -> f64) -> Vec<Noise> {
    let of = |(absolute_s, relative), think_s| Noise { absolute_s, relative, pauses: PAUSES, think_s };
    let better = |a: &(f64, Noise), b: &(f64, Noise)| a.0.total_cmp(&b.0);
    let sizes = NOISES.iter().map(|&size| of(size, USUAL_THINK));
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

/// What each transfer takes after the first byte, at each rate.
fn times(transfers: &[Transfer], deployed: &Deployed, chain: &Chain, rtt: f64) -> Vec<Vec<f64>> {
    let mut takes = vec![vec![0.0; chain.rates.len()]; transfers.len()];
    let last = chain.rates.len() - 1;
    let played: Vec<usize> = (0..last).step_by(EVERY).chain([last]).collect();
    for &index in &played {
        let mut connection = Connection::new(deployed, Link::new(chain.rates[index], rtt));
        for (position, takes) in takes.iter_mut().enumerate() {
            takes[index] = connection.serve(&transfers[position], gap(transfers, position)) - rtt;
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
