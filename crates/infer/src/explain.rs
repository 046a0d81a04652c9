//! A session under one base RTT and one reading: its likelihood for each server time, and the courses of the rate that explain it.
//!
//! Unlogged quantities are weighed on a rough grid and the first transfers; courses are drawn on a fine grid for the remaining candidates.

use crate::chain::{Beliefs, Chain, Grain, range};
use crate::counts::Expected;
use crate::deployed::Deployed;
use crate::draws::shares;
use crate::emission::{CountLikelihood, Emission, Noise, Outliers};
use crate::filter::{Filtered, Step, forward};
use crate::log::Transfer;
use crate::plays::{Played, PlayedSession, Table, alone_s, gap};
use crate::readings::Reading;
use crate::session::TEMPERED;
use std::rc::Rc;

/// Candidates for the noise (absolute in seconds, relative), from quiet to noisy hosts and networks.
const NOISES: [(f64, f64); 4] = [(0.003, 0.006), (0.005, 0.02), (0.012, 0.05), (0.04, 0.12)];
const USUAL_SERVER_TIME_S: f64 = 0.003;
/// Share of transfers that meet a pause.
pub(crate) const PAUSES: f64 = 0.03;
/// Model error of a whole session: deviation of the time on the true path, over 1000 sessions that the engine simulated, as a share of the
/// time that the sender determines: with queue overflows; with random losses; with a sender that measures rates; and with such a sender and
/// losses. Where the link determines how long a transfer takes, the error is smaller, this share (`LINKED`) of it.
const MODEL: f64 = 0.06;
const MODEL_NOISY: f64 = 0.09;
const MODEL_RATES: f64 = 0.08;
const MODEL_BOTH: f64 = 0.13;
pub(crate) const LINKED: f64 = 0.35;
/// The deviation that all transfers of a session share (chance and model error), in standard deviations, with weights: Gauss-Hermite
/// quadrature of three points.
const SHARED_DEVIATIONS: [(f64, f64); 3] =
    [(0.0, 2.0 / 3.0), (-1.732_050_807_568_877_2, 1.0 / 6.0), (1.732_050_807_568_877_2, 1.0 / 6.0)];
/// At most this many transfers count as evidence for the shared deviation, since their model errors are not independent.
const SAY: f64 = 20.0;
/// How irregular the overflows of the queue are: variance of their number over its square.
const SPREADS: [f64; 3] = [0.3, 1.0, 2.0];
/// Share of a transfer's overflow that is as simulated; the rest is the mean of this many transfers before and after it, since the phase
/// is unknown. The mean of the whole session would let a burst at its start change its end.
const IN_PHASE: f64 = 0.35;
const AROUND: usize = 4;
/// Share of the transfers that lose as many packets to the queue as in the simulation, within a fifth (a standard deviation). On the true
/// paths of 500 sessions, 61 to 96 % of those that lose more than ten are within 15 % under TCP, 31 to 50 % over QUIC.
const AS_PLAYED: f64 = 0.5;
const AS_PLAYED_PACED: f64 = 0.3;
const AS_PLAYED_SPREAD: f64 = 0.05;

#[derive(Clone, Copy)]
pub(crate) struct Case<'a> {
    pub transfers: &'a [Transfer],
    pub deployed: &'a Deployed,
    pub beliefs: &'a Beliefs,
    pub rtt: f64,
    pub reading: Reading,
}

/// The path of a session under one base RTT, one reading and one server time.
#[derive(Clone)]
pub(crate) struct Explained {
    pub chain: Rc<Chain>,
    /// One entry for each quadrature point of the shared deviation, zero first.
    pub shared_deviations: Vec<SharedDeviation>,
    /// Logarithm of the likelihood without a shared deviation.
    pub evidence: f64,
    /// Share of the transfers whose times neither a rate nor a change of it explains.
    pub unexplained: f64,
    /// For each transfer, at each rate: the number of packets that overflow the queue.
    pub overflows: Rc<Vec<Vec<f64>>>,
}

/// A session whose transfers all have the same deviation.
#[derive(Clone)]
pub(crate) struct SharedDeviation {
    pub share: f64,
    pub steps: Rc<Vec<Step>>,
    pub filtered: Rc<Filtered>,
}

/// A session's transfers, simulated at each rate.
pub(crate) struct Tables<'a> {
    case: Case<'a>,
    is_rough: bool,
    chain: Rc<Chain>,
    table: Table,
    /// Likelihood of each transfer's retransmissions.
    counts: Vec<CountLikelihood>,
    /// Packets that overflow the queue, of each transfer at each rate, averaged with the adjacent rates.
    overflows: Rc<Vec<Vec<f64>>>,
}

impl<'a> Tables<'a> {
    pub fn new(case: Case<'a>, grain: &Grain) -> Tables<'a> {
        let shown = shown(case.transfers, case.deployed, case.rtt);
        let chain = Rc::new(Chain::new(shown, grain, case.beliefs));
        let Case { transfers, deployed, rtt, reading, .. } = case;
        let played =
            Played::new(PlayedSession { transfers, deployed, rtt, reading, grain }, range(shown, case.beliefs));
        let table = played.on(&chain.rates);
        let mut tables =
            Tables { case, is_rough: grain.is_rough, chain, table, counts: vec![], overflows: Rc::new(vec![]) };
        tables.overflows = Rc::new(std::mem::take(&mut tables.table.around));
        let counted = if case.reading.queue.is_some() && case.transfers.iter().any(|t| t.again.is_some()) {
            let expected = tables.expected();
            let as_played = tables.as_played();
            let all = SPREADS.map(|spread| tables.counts(&expected, &as_played, spread));
            let evidence =
                |counted: &Vec<Vec<f64>>| counted.iter().map(|row| log_mean(row, &tables.chain.prior)).sum::<f64>();
            all.into_iter().max_by(|a, b| evidence(a).total_cmp(&evidence(b))).expect("several")
        } else {
            vec![vec![0.0; tables.chain.rates.len()]; case.transfers.len()]
        };
        tables.counts = counted.iter().map(|logs| CountLikelihood::new(logs)).collect();
        tables
    }

    /// The same, with this additional variation of each time.
    pub fn uneven(mut self, share: f64) -> Tables<'a> {
        self.table.variation.iter_mut().flatten().for_each(|variation| *variation = libm::hypot(*variation, share));
        self
    }

    /// Sizes of the noise with each time to the first byte, and the logarithm of their likelihood: all sizes where there is one time,
    /// else the size that explains the session best.
    pub fn weighed(&self, server_times: &[f64]) -> Vec<(Noise, f64)> {
        let of = |(absolute_s, relative), server_time_s| Noise { absolute_s, relative, pauses: PAUSES, server_time_s };
        let evidence = |noise: Noise| (noise, forward(&self.chain, &self.steps(&noise, 0.0)).evidence);
        let usual = if server_times.contains(&USUAL_SERVER_TIME_S) { USUAL_SERVER_TIME_S } else { server_times[0] };
        let sizes = NOISES.map(|size| evidence(of(size, usual)));
        if server_times.len() == 1 {
            return sizes.to_vec();
        }
        let (best, _) = sizes.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).expect("several");
        server_times.iter().map(|&server_time_s| evidence(Noise { server_time_s, ..best })).collect()
    }

    pub fn explained(&self, noise: &Noise) -> Explained {
        let is_one = self.is_rough || self.model_off() == 0.0 && self.table.shared == 0.0;
        let count = self.case.transfers.len() as f64;
        let power = TEMPERED * (SAY / count).min(1.0);
        let deviation = |&(deviations, weight): &(f64, f64)| {
            let steps = self.steps(noise, deviations);
            let filtered = forward(&self.chain, &steps);
            let share = libm::log(weight) + power * filtered.evidence;
            SharedDeviation { share, steps: Rc::new(steps), filtered: Rc::new(filtered) }
        };
        let mut shared_deviations: Vec<SharedDeviation> =
            SHARED_DEVIATIONS[..if is_one { 1 } else { SHARED_DEVIATIONS.len() }].iter().map(deviation).collect();
        let shares = shares(shared_deviations.iter().map(|deviation| deviation.share));
        shared_deviations.iter_mut().zip(shares).for_each(|(deviation, share)| deviation.share = share);
        Explained {
            chain: Rc::clone(&self.chain),
            overflows: Rc::clone(&self.overflows),
            evidence: shared_deviations[0].filtered.evidence,
            unexplained: shared_deviations[0].filtered.unexplained(),
            shared_deviations,
        }
    }

    fn model_off(&self) -> f64 {
        model_off(&self.case.reading, self.case.deployed)
    }

    fn outliers(&self) -> Outliers {
        match self.case.reading {
            reading if reading.loss > 0.0 => Outliers::NOISY,
            _ => Outliers::USUAL,
        }
    }

    /// Emissions of all transfers, shifted by this many standard deviations of the deviation that they share.
    fn steps(&self, noise: &Noise, deviations: f64) -> Vec<Step> {
        let Tables { case, chain, table, counts, .. } = self;
        let first_byte = case.rtt + noise.server_time_s;
        let (model, alone) = (self.model_off(), libm::sqrt(1.0 - table.shared));
        let outliers = self.outliers();
        let step = |index: usize| {
            let transfer = &case.transfers[index];
            let (takes, variation) = (&table.takes[index], &table.variation[index]);
            let at_once = alone_s(transfer, case.deployed, 1.0);
            let late = |((takes, own), rate): ((&f64, &f64), &f64)| {
                let of_sender = (1.0 - at_once / rate / takes.max(1e-9)).max(0.0);
                let model = model * (LINKED + (1.0 - LINKED) * of_sender);
                let off = deviations * libm::sqrt(model * model + table.shared * own * own);
                takes * libm::exp(off)
            };
            let takes = if deviations == 0.0 {
                takes.clone()
            } else {
                takes.iter().zip(variation).zip(&chain.rates).map(late).collect()
            };
            let variation: Vec<f64> = variation.iter().map(|own| own * alone).collect();
            let emission = Emission::new(
                transfer,
                first_byte,
                (takes, &variation),
                &counts[index],
                &chain.widths,
                noise,
                &outliers,
            );
            Step { gap: gap(case.transfers, index), at: transfer.at_s, took: transfer.took_s, emission }
        };
        (0..case.transfers.len()).map(step).collect()
    }

    fn packets(&self, index: usize) -> f64 {
        libm::ceil(self.case.transfers[index].bytes / self.case.deployed.mss)
    }

    /// Expected queue overflows of each transfer at each rate, from its own simulation and those of the adjacent transfers.
    fn expected(&self) -> Vec<Vec<f64>> {
        let of = |index: usize| {
            let near = index.saturating_sub(AROUND)..(index + AROUND + 1).min(self.overflows.len());
            let (packets, around) = (self.packets(index), near.clone().map(|i| self.packets(i)).sum::<f64>());
            let at = |rate: usize| {
                let share = near.clone().map(|i| self.overflows[i][rate]).sum::<f64>() / around;
                IN_PHASE * self.overflows[index][rate] + (1.0 - IN_PHASE) * share * packets
            };
            (0..self.chain.rates.len()).map(at).collect()
        };
        (0..self.overflows.len()).map(of).collect()
    }

    /// Probability that a transfer loses as many packets to the queue as in the simulation. Under a window-based sender the queue drops as
    /// many as the log counts if it can, which says nothing about the number.
    fn share_as_played(&self, index: usize) -> f64 {
        let is_dropped_as_logged =
            self.case.deployed.is_window_based() && self.case.transfers[index].again.is_some_and(|seen| seen >= 0.5);
        match self.case {
            Case { reading, .. } if reading.loss > 0.0 || is_dropped_as_logged => 0.0,
            Case { deployed, .. } if deployed.paced_by.is_some() => AS_PLAYED_PACED,
            _ => AS_PLAYED,
        }
    }

    /// Likelihood of the retransmission count of each transfer at each rate if it loses as many as in the simulation, times their share.
    fn as_played(&self) -> Vec<Vec<f64>> {
        let of = |index: usize| {
            let share = self.share_as_played(index);
            let likely = |overflow: f64| match self.case.transfers[index].again {
                Some(seen) if share > 0.0 => {
                    let packets = self.packets(index);
                    share * Expected { packets, noise: 0.0, overflow, spread: AS_PLAYED_SPREAD }.likely(seen)
                }
                _ => 0.0,
            };
            self.table.dropped[index].iter().map(|overflow| likely(*overflow)).collect()
        };
        (0..self.table.dropped.len()).map(of).collect()
    }

    /// Logarithm of the likelihood of the retransmitted packets.
    fn counts(&self, expected: &[Vec<f64>], as_played: &[Vec<f64>], spread: f64) -> Vec<Vec<f64>> {
        let Case { transfers, deployed, reading, .. } = self.case;
        let of = |(index, expected): (usize, &Vec<f64>)| {
            let others = 1.0 - self.share_as_played(index);
            let packets = self.packets(index);
            let likely = |seen: f64, overflow: f64| {
                let expected = Expected { packets, noise: reading.loss * packets, overflow, spread };
                // With random losses, the end of its start-up is random.
                let is_random = reading.loss > 0.0 && !deployed.is_window_based();
                if is_random { expected.likely_or_without(seen) } else { expected.likely(seen) }
            };
            let again = transfers[index].again;
            let both = |(around, as_played): (&f64, &f64)| {
                again.map_or(0.0, |seen| libm::log(others * likely(seen, *around) + as_played))
            };
            expected.iter().zip(&as_played[index]).map(both).collect()
        };
        expected.iter().enumerate().map(of).collect()
    }
}

/// Deviation of the times of a whole session.
pub(crate) fn model_off(reading: &Reading, deployed: &Deployed) -> f64 {
    match (reading.is_plain(), deployed.is_window_based()) {
        (true, true) => 0.0,
        (true, false) => MODEL_RATES,
        (false, false) => MODEL_BOTH,
        (false, true) if reading.loss > 0.0 => MODEL_NOISY,
        (false, true) => MODEL,
    }
}

/// Logarithm of the weighted mean of values given by their logarithms.
fn log_mean(logs: &[f64], weights: &[f64]) -> f64 {
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    most + libm::log(
        logs.iter().zip(weights).map(|(log, weight)| weight * libm::exp(log - most)).sum::<f64>().max(1e-300),
    )
}

/// Least and greatest rate that transfers show, bit/s on the wire.
fn shown(transfers: &[Transfer], deployed: &Deployed, rtt: f64) -> (f64, f64) {
    let wire = (deployed.mss + deployed.header) / deployed.mss;
    let rate = |t: &Transfer| t.bytes * 8.0 * wire / (t.took_s - rtt).max(0.2 * t.took_s).max(1e-4);
    let mut rates: Vec<f64> = transfers.iter().map(rate).collect();
    rates.sort_by(f64::total_cmp);
    let at = |share: f64| rates[((rates.len() - 1) as f64 * share) as usize];
    (at(0.01).max(1e3), at(0.99).max(2e3))
}
