//! A session: its transfers in, draws of its path out.

use crate::chain::{Beliefs, Chain};
use crate::connection::{Connection, Link};
use crate::deployed::Deployed;
use crate::emission::{Emission, Noise};
use crate::filter::{Course, Step, backward, forward};
use crate::log::Transfer;
use playpath_units::random::RootSeed;

/// What is known of the path of a session.
pub struct Posterior {
    /// Draws of the capacity, bit/s from each second on.
    pub courses: Vec<Course>,
    /// End of the last transfer.
    pub lasts_s: f64,
    /// Base RTT.
    pub rtt_s: f64,
    /// Logarithm of the likelihood.
    pub evidence: f64,
    /// Each transfer's time against its mean, in standard deviations (under the last draw).
    pub off: Vec<f64>,
}

/// Infer the path of a session.
pub fn infer(
    transfers: &[Transfer],
    deployed: &Deployed,
    beliefs: &Beliefs,
    noise: &Noise,
    count: usize,
    seed: u64,
) -> Posterior {
    let rtt = base_rtt(transfers);
    let first_byte = rtt + noise.think_s;
    let (low, high) = shown(transfers, first_byte, deployed);
    let chain = Chain::new(low, high, beliefs);
    let takes = times(transfers, deployed, &chain, rtt);
    let steps: Vec<Step> = transfers
        .iter()
        .enumerate()
        .map(|(index, transfer)| Step {
            gap: gap(transfers, index),
            at: transfer.at_s,
            took: transfer.took_s,
            emission: Emission::new(transfer, first_byte, &takes[index], &chain.widths, noise),
        })
        .collect();
    let filtered = forward(&chain, &steps);
    let mut draws = RootSeed(seed).stream("infer");
    let mut courses = backward(&chain, &steps, &filtered, count, &mut draws);
    for course in &mut courses {
        let framing = libm::exp(FRAMING.0 + FRAMING.1 * draws.normal());
        course.iter_mut().for_each(|(_, rate)| *rate *= framing);
    }
    let off = steps.iter().enumerate().map(|(i, s)| s.emission.off(filtered.likeliest(i))).collect();
    let lasts_s = transfers.iter().map(Transfer::end_s).fold(0.0, f64::max);
    Posterior { courses, lasts_s, rtt_s: rtt, evidence: filtered.evidence, off }
}

fn base_rtt(transfers: &[Transfer]) -> f64 {
    let told = transfers.iter().filter_map(|t| t.socket.and_then(|s| s.min_rtt_s).filter(|s| *s > 0.0));
    told.fold(f64::INFINITY, f64::min)
}

/// What a link carries beside TCP and its payload, as a share: TLS records and the application's own framing; mean and deviation.
/// Nobody logs it, so it is one unknown for a whole session.
const FRAMING: (f64, f64) = (0.002, 0.004);

/// Least and greatest rate that transfers show, bit/s on the wire.
fn shown(transfers: &[Transfer], first_byte: f64, deployed: &Deployed) -> (f64, f64) {
    let wire = (deployed.mss + deployed.header) / deployed.mss;
    let mut rates: Vec<f64> = transfers
        .iter()
        .map(|t| t.bytes * 8.0 * wire / (t.took_s - first_byte).max(0.2 * t.took_s).max(1e-4))
        .collect();
    rates.sort_by(f64::total_cmp);
    let at = |share: f64| rates[((rates.len() - 1) as f64 * share) as usize];
    (at(0.01), at(0.99))
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
            // In a path's own unit, the time of a byte, a filled path's transfers are on a line.
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
