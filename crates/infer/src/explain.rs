//! A session under one base RTT and one reading: the noise that explains it best, and the courses of the rate that do.

use crate::chain::Chain;
use crate::counts::Expected;
use crate::deployed::Deployed;
use crate::emission::{Emission, Noise};
use crate::filter::{Filtered, Step, forward};
use crate::log::Transfer;
use crate::plays::{Played, gap};
use crate::readings::Reading;
use std::rc::Rc;

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
/// How irregular the overflows of the queue are: variance of their number over its square.
const SPREADS: [f64; 3] = [0.1, 0.5, 2.0];
/// Share of a transfer's overflow that is as played; the rest is what so many transfers before and after it have on average, since the
/// phase is not known. Not what the session has: a burst at its start says nothing of its end.
const IN_PHASE: f64 = 0.5;
const AROUND: usize = 3;
/// What is looked at.
#[derive(Clone, Copy)]
pub(crate) struct Case<'a> {
    pub transfers: &'a [Transfer],
    pub deployed: &'a Deployed,
    pub chain: &'a Rc<Chain>,
    pub rtt: f64,
    pub reading: Reading,
}

/// The path of a session under one base RTT, one reading and one time that the server thinks.
#[derive(Clone)]
pub(crate) struct Explained {
    pub rtt: f64,
    pub reading: Reading,
    pub chain: Rc<Chain>,
    pub steps: Rc<Vec<Step>>,
    pub filtered: Rc<Filtered>,
    pub noise: Noise,
    /// Logarithm of the likelihood.
    pub evidence: f64,
    /// The link over what the session shows of it.
    pub factors: Vec<f64>,
}

struct Tables<'a> {
    case: Case<'a>,
    played: Played,
    /// Logarithm of how likely the packets sent again are, of each transfer at each rate.
    counted: Vec<Vec<f64>>,
}

/// Explain the session as if nothing was ever lost, with each time to the first byte that may be.
pub(crate) fn explain(case: Case) -> Vec<Explained> {
    let tables = Tables::new(case);
    likely_noises(&|noise| tables.tried(noise)).into_iter().map(|noise| tables.explained(&noise)).collect()
}

/// Explain the session with losses, and the time to the first byte that was found without.
pub(crate) fn explain_losses(case: Case, think_s: f64) -> Explained {
    let tables = Tables::new(case);
    let noise = likely_size(&|noise| tables.tried(noise), think_s);
    tables.explained(&noise)
}

impl<'a> Tables<'a> {
    fn new(case: Case<'a>) -> Tables<'a> {
        let played = Played::new(case.transfers, case.deployed, case.chain, case.rtt, &case.reading);
        let mut tables = Tables { case, played, counted: vec![] };
        tables.counted = if case.reading.queue.is_some() && case.transfers.iter().any(|t| t.again.is_some()) {
            let all = SPREADS.map(|spread| tables.counts(spread));
            let evidence =
                |counted: &Vec<Vec<f64>>| counted.iter().map(|row| log_mean(row, &case.chain.prior)).sum::<f64>();
            all.into_iter().max_by(|a, b| evidence(a).total_cmp(&evidence(b))).expect("several")
        } else {
            vec![vec![0.0; case.chain.rates.len()]; case.transfers.len()]
        };
        tables
    }

    fn tried(&self, noise: &Noise) -> f64 {
        forward(self.case.chain, &self.steps(self.case.transfers.len().min(TRIED), noise)).evidence
    }

    fn explained(&self, noise: &Noise) -> Explained {
        let steps = self.steps(self.case.transfers.len(), noise);
        let filtered = forward(self.case.chain, &steps);
        Explained {
            rtt: self.case.rtt,
            reading: self.case.reading,
            chain: Rc::clone(self.case.chain),
            steps: Rc::new(steps),
            evidence: filtered.evidence,
            filtered: Rc::new(filtered),
            noise: *noise,
            factors: vec![1.0],
        }
    }

    fn steps(&self, count: usize, noise: &Noise) -> Vec<Step> {
        let Tables { case, played, counted } = self;
        let first_byte = case.rtt + noise.think_s;
        let step = |index: usize| {
            let transfer = &case.transfers[index];
            let takes = (&played.takes[index][..], &played.luck[..]);
            let emission = Emission::new(transfer, first_byte, takes, &counted[index], &case.chain.widths, noise);
            Step { gap: gap(case.transfers, index), at: transfer.at_s, took: transfer.took_s, emission }
        };
        (0..count).map(step).collect()
    }

    /// Of the packets sent again.
    fn counts(&self, spread: f64) -> Vec<Vec<f64>> {
        let Case { transfers, reading, .. } = self.case;
        let packets: Vec<f64> = transfers.iter().map(|t| libm::ceil(t.bytes / self.case.deployed.mss)).collect();
        let overflow =
            |index: usize, rate: usize| (self.played.again[index][rate] - reading.loss * packets[index]).max(0.0);
        let rates = self.case.chain.rates.len();
        let around = |index: usize, rate: usize| {
            let near = index.saturating_sub(AROUND)..(index + AROUND + 1).min(transfers.len());
            let sum = near.fold((0.0, 0.0), |sum, i| (sum.0 + overflow(i, rate), sum.1 + packets[i]));
            sum.0 / sum.1
        };
        (0..transfers.len())
            .map(|index| match transfers[index].again {
                None => vec![0.0; rates],
                Some(seen) => (0..rates)
                    .map(|rate| {
                        let phased = IN_PHASE * overflow(index, rate);
                        let expected = Expected {
                            packets: packets[index],
                            noise: reading.loss * packets[index],
                            overflow: phased + (1.0 - IN_PHASE) * around(index, rate) * packets[index],
                            spread,
                        };
                        libm::log(expected.likely(seen))
                    })
                    .collect(),
            })
            .collect()
    }
}

/// Logarithm of the mean of what `logs` are the logarithms of, under weights.
fn log_mean(logs: &[f64], weights: &[f64]) -> f64 {
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    most + libm::log(
        logs.iter().zip(weights).map(|(log, weight)| weight * libm::exp(log - most)).sum::<f64>().max(1e-300),
    )
}

/// The size of the noise with the greatest evidence, with each time to the first byte that may be.
fn likely_noises(evidence: &dyn Fn(&Noise) -> f64) -> Vec<Noise> {
    let best = likely_size(evidence, USUAL_THINK);
    let weighed: Vec<(f64, Noise)> =
        THINKS.iter().map(|&think_s| Noise { think_s, ..best }).map(|noise| (evidence(&noise), noise)).collect();
    let most = weighed.iter().map(|w| w.0).fold(f64::NEG_INFINITY, f64::max);
    weighed.into_iter().filter(|w| w.0 > most - GIVEN_UP).map(|w| w.1).collect()
}

fn likely_size(evidence: &dyn Fn(&Noise) -> f64, think_s: f64) -> Noise {
    let of = |(absolute_s, relative)| Noise { absolute_s, relative, pauses: PAUSES, think_s };
    let sizes = NOISES.iter().map(|&size| of(size)).map(|noise| (evidence(&noise), noise));
    sizes.max_by(|a, b| a.0.total_cmp(&b.0)).expect("several").1
}

/// Least and greatest rate that transfers show, bit/s on the wire.
pub(crate) fn shown(transfers: &[Transfer], deployed: &Deployed, rtt: f64) -> (f64, f64) {
    let wire = (deployed.mss + deployed.header) / deployed.mss;
    let rate = |t: &Transfer| t.bytes * 8.0 * wire / (t.took_s - rtt).max(0.2 * t.took_s).max(1e-4);
    let mut rates: Vec<f64> = transfers.iter().map(rate).collect();
    rates.sort_by(f64::total_cmp);
    let at = |share: f64| rates[((rates.len() - 1) as f64 * share) as usize];
    (at(0.01).max(1e3), at(0.99).max(2e3))
}
