//! Inference for a session: from its transfers to draws of its path.
//!
//! Unlogged quantities are weighted by how well they explain the session: the noise of the host, the server time, the base RTT unless
//! TCP_INFO gives it (`round_trips.rs`), and the cause of losses (`readings.rs`). Draws are distributed over them by their probability
//! (`draws.rs`); of the noise only the likeliest value is used, since the draws hardly depend on it.

use crate::chain::{Beliefs, Grain};
use crate::counts::Expected;
use crate::deployed::{Deployed, neighbour};
use crate::draws::{Candidate, ExplainedReading, Shown, draws, log_sum, noise_of, shares};
use crate::emission::Noise;
use crate::explain::{Case, Explained, Tables, model_off};
use crate::filter::Course;
use crate::log::{Transfer, late_s, server_s, without};
use crate::neighbour::Shared;
use crate::readings::{Reading, readings, unseen_noise};
use crate::round_trips::{KnownRtt, Point, TEMPERED_RTT, likeliest};
use crate::waits;
use std::cell::RefCell;

/// A path that is consistent with the log.
#[derive(Clone, Debug)]
pub struct Draw {
    /// Capacity: bit/s on the wire, from each second on.
    pub course: Course,
    /// Round trip without queueing.
    pub rtt_s: f64,
    pub reading: Reading,
    /// The phase of the neighbour, if there is one.
    pub phase: u64,
    /// Queue limit in packets: that of the reading, else a draw from the prior.
    pub queue: u32,
}

/// The posterior of a session's path.
pub struct Posterior {
    pub draws: Vec<Draw>,
    pub lasts_s: f64,
    /// Log likelihood, averaged over the explained candidates of the likeliest reading.
    pub evidence: f64,
    /// Readings of the losses, and the probability of each.
    pub readings: Vec<(Reading, f64)>,
    /// The noise that explains the session best.
    pub noise: Noise,
    /// Share of the transfers whose times neither a rate nor a change of it explains.
    pub unexplained: f64,
}

#[derive(Clone, Copy, Debug)]
pub struct Settings {
    pub beliefs: Beliefs,
    pub draws: usize,
    pub seed: u64,
    /// Share of the packets that were sent again, where the log counts them.
    pub retransmitted: Option<f64>,
}

/// Number of transfers by which unlogged quantities are weighted: without losses, and with packet-by-packet simulation.
const SAMPLED: usize = 40;
const SAMPLED_PER_PACKET: usize = 20;
/// At most this many packets, if they cover `MIN_SAMPLED` transfers.
const MAX_PACKETS: f64 = 8_000.0;
const MIN_SAMPLED: usize = 8;
/// The errors of a play's transfers are correlated, so the likelihood is tempered by this power, as for models known to be slightly wrong (Miller and Dunson, "Robust Bayesian inference via coarsening", 2019).
pub(crate) const TEMPERED: f64 = 0.35;
/// Readings that are less likely than this, relative to the likeliest, are dropped: after the first sample, and after the larger sample of
/// a long session, when it would get none of a hundred draws.
const MIN_LIKELIHOOD: f64 = 2e-3;
const MIN_LIKELIHOOD_OF_PART: f64 = 5e-3;
/// The same for a reading that was weighted under a single base RTT.
const MIN_LIKELIHOOD_AT_ONE_RTT: f64 = 2e-5;
/// Number of representative candidates: without losses, and with packet-by-packet simulation (for a reading of probability 1); and the
/// factor if the base RTT is unknown.
const EXPLAINED: f64 = 6.0;
const EXPLAINED_PER_PACKET: f64 = 5.0;
const MORE_WITHOUT_RTT: f64 = 1.6;
/// Sessions of more packets need fewer candidates, since they determine the path better.
const SHORT: f64 = 20_000.0;
/// A session of `LONG` times as many packets is long, and its readings are first reduced by `PART` of it, where one candidate is explained
/// (a reading of probability `MIN_SHARE`).
const LONG: f64 = 2.0;
const PART: f64 = 0.2;
const MIN_SHARE: f64 = 1e-9;
/// If the log does not count losses: the loss relative to the one that would limit the window, and the link's rate relative to the rate
/// that the session shows.
const UNSEEN_AROUND: [f64; 3] = [0.6, 1.0, 1.6];
const UNSEEN_FACTORS: [f64; 4] = [1.4, 2.8, 5.6, 11.2];
/// Variance of the overflows with a neighbour over their square, since it is random whose packets are dropped; and the standard deviation,
/// over the phases of the neighbour, of the logarithm of a session's total.
const SHARED_OVERFLOW_SPREAD: f64 = 2.0;
const SHARED_TOTAL: f64 = 0.5;

/// Share of the variation caused by a neighbour that a varying rate does not explain as well. Of 60 sessions without a neighbour behind a
/// slow server, 2 to 7, 2 to 4 and 1 to 4 are misclassified as shared at 0.5, 0.7 and 1; of 36 shared ones 27, 25 and 22 are found.
const UNEVEN_SHARE: f64 = 0.7;

struct Session<'a> {
    /// With the lateness of first bytes subtracted.
    transfers: &'a [Transfer],
    /// As logged: with a neighbour, a first byte waits in the queue.
    logged: &'a [Transfer],
    deployed: &'a Deployed,
    neighbour: Deployed,
    settings: &'a Settings,
    known_rtt: KnownRtt,
    /// Candidates of a link without neighbour and losses, and the number of transfers that they explain; shared by all readings with a
    /// neighbour.
    alone: RefCell<Option<(usize, Candidates)>>,
}

type Candidates = Vec<(usize, Explained)>;

#[derive(Clone)]
struct ScoredReading {
    reading: Reading,
    points: Vec<Point>,
    /// Tempered log likelihood plus log prior.
    score: f64,
    factors: Vec<f64>,
    shown: Option<Shown>,
}

/// Infer the path of a session: transfers in the order of their requests, none before the end of the one before.
pub fn infer(logged: &[Transfer], deployed: &Deployed, settings: &Settings) -> Posterior {
    let transfers = &without(&server_s(logged), logged)[..];
    let session = Session {
        transfers,
        logged,
        deployed,
        neighbour: neighbour(),
        settings,
        known_rtt: KnownRtt::from_log(transfers, 8.0 * (deployed.mss + deployed.header), shown_rate(transfers)),
        alone: RefCell::new(None),
    };
    let all = readings(logged, settings.retransmitted);
    let likely = session.likely_in_part(likely_ones(session.weighed(&all), MIN_LIKELIHOOD));
    let of_reading = shares(likely.iter().map(|weighed| weighed.score));
    let explained = |(weighed, share)| session.explained(transfers, weighed, share, &Grain::FINE);
    let (mut found, scores): (Vec<ExplainedReading>, Vec<f64>) =
        likely.into_iter().zip(of_reading).map(explained).unzip();
    let shares = shares(scores.iter().copied());
    found.iter_mut().zip(&shares).for_each(|(drawn, share)| drawn.share = *share);
    let mut all = all;
    if let Some(unseen) = session.unseen(&found) {
        found.iter_mut().for_each(|drawn| drawn.share *= 1.0 - unseen.share);
        all.push(unseen.reading);
        found.push(unseen);
    }
    let best = found.iter().max_by(|a, b| a.share.total_cmp(&b.share)).expect("one at least");
    let of = |reading: &Reading| found.iter().filter(|d| d.reading == *reading).map(|d| d.share).sum::<f64>();
    // Under the other readings, the evidence includes the retransmission counts as well.
    let retransmissions = best.shown.map_or(0.0, |shown| session.log_likelihood_of_counts(transfers, shown.again));
    Posterior {
        lasts_s: transfers.iter().map(Transfer::end_s).fold(0.0, f64::max),
        evidence: best.explained.iter().map(|one| one.1.evidence).sum::<f64>() / best.explained.len() as f64
            + retransmissions,
        readings: all.iter().map(|reading| (*reading, of(reading))).collect(),
        noise: best.candidates[0].noise,
        unexplained: best.explained[0].1.unexplained,
        draws: draws(&found, settings),
    }
}

impl Session<'_> {
    /// Each reading, on the first transfers and a rough grid.
    fn weighed(&self, readings: &[Reading]) -> Vec<ScoredReading> {
        let is_logged = self.known_rtt.is_logged() && readings.len() > 1;
        let sample = if self.deployed.is_window_based() && !is_logged { SAMPLED } else { SAMPLED_PER_PACKET };
        let plain = self.points(Reading::PLAIN, None, sample);
        if let [reading] = *readings {
            return vec![ScoredReading { reading, points: plain, score: 0.0, factors: vec![1.0], shown: None }];
        }
        let base = likeliest(&plain).rtt;
        let has_first_byte = |one: &(&Transfer, f64)| one.0.first_byte_s.is_some();
        let late: Vec<f64> =
            self.logged.iter().zip(late_s(self.logged)).filter(has_first_byte).map(|one| one.1).collect();
        let plain = if is_logged { plain } else { self.points(Reading::PLAIN, Some(base), SAMPLED_PER_PACKET) };
        let alone = |reading: Reading, points: Vec<Point>| {
            let score = libm::log(reading.believed) + evidence_of(&points) + waits::evidence(&late, None);
            ScoredReading { reading, points, score, factors: vec![1.0], shown: None }
        };
        let first = |&reading: &Reading| {
            if reading.is_plain() {
                return alone(reading, plain.clone());
            }
            alone(reading, vec![Point::at(base, &self.known_rtt, &mut self.likelihoods(reading, SAMPLED_PER_PACKET))])
        };
        // With losses, the RTT found without losses does not apply. It is searched over the whole range under the likeliest queue and under
        // the first noise, and around the result under the others.
        let anywhere_first = |around: &mut Option<f64>, reading: Reading| {
            let points = self.points(reading, *around, SAMPLED_PER_PACKET);
            around.get_or_insert(likeliest(&points).rtt);
            alone(reading, points)
        };
        let (mut rtt_under_queues, mut rtt_under_noise) = (None, None);
        let (with_neighbour, without_neighbour): (Vec<Reading>, Vec<Reading>) =
            readings.iter().partition(|reading| reading.has_neighbour);
        let (noisy, others): (Vec<Reading>, Vec<Reading>) =
            without_neighbour.iter().partition(|reading| reading.loss > 0.0);
        let mut scored: Vec<ScoredReading> = others.iter().map(first).collect();
        if !with_neighbour.is_empty() {
            scored.extend(self.shared(&with_neighbour, &plain, base, &late));
        }
        self.weigh_shared_queues(&mut scored);
        let mut likely = likely_ones(scored, MIN_LIKELIHOOD_AT_ONE_RTT);
        likely.sort_by(|a, b| b.score.total_cmp(&a.score));
        let searched = likely.into_iter().map(|weighed| match weighed.reading {
            reading if reading.has_neighbour || reading.is_plain() || self.known_rtt.is_logged() => weighed,
            reading => anywhere_first(&mut rtt_under_queues, reading),
        });
        searched.chain(noisy.into_iter().map(|reading| anywhere_first(&mut rtt_under_noise, reading))).collect()
    }

    /// The first transfers, by which unlogged quantities are weighted.
    fn sample(&self, most: usize, max_packets: f64) -> &[Transfer] {
        let mut packets = 0.0;
        let is_within = |(index, transfer): (usize, &Transfer)| {
            packets += transfer.bytes / self.deployed.mss;
            index < MIN_SAMPLED || (index < most && packets < max_packets)
        };
        let count = self.transfers.iter().enumerate().map(is_within).take_while(|is| *is).count();
        &self.transfers[..count]
    }

    fn likelihoods(&self, reading: Reading, sample: usize) -> impl FnMut(f64, &[f64]) -> Vec<(Noise, f64)> {
        let transfers = self.sample(sample, MAX_PACKETS);
        move |rtt, server_times| Tables::new(self.case(transfers, rtt, reading), &Grain::ROUGH).weighed(server_times)
    }

    /// Candidates for the base RTT under a reading.
    fn points(&self, reading: Reading, around: Option<f64>, sample: usize) -> Vec<Point> {
        let of_packets = !(reading.is_plain() && self.deployed.is_window_based());
        self.known_rtt.points(around, of_packets, &mut self.likelihoods(reading, sample))
    }

    /// Score readings with a neighbour; `plain` are the points of the session's own share of the link.
    fn shared(&self, readings: &[Reading], plain: &[Point], base: f64, late: &[f64]) -> Vec<ScoredReading> {
        let sample = &self.logged[..self.sample(usize::MAX, SHORT).len()];
        let with_neighbour = |reading: &Reading| {
            Shared::new(sample, self.deployed, &self.neighbour, base, reading.queue.unwrap_or(u32::MAX))
        };
        let all: Vec<Shared> = readings.iter().map(with_neighbour).collect();
        let uneven = UNEVEN_SHARE * all.iter().map(|shared| shared.uneven).sum::<f64>() / all.len() as f64;
        let points = self.uneven(plain, base, uneven);
        let times = evidence_of(&points);
        let weighed = |(&reading, shared): (&Reading, Shared)| {
            let counts = self.log_likelihood_of_counts(self.sample(SAMPLED_PER_PACKET, MAX_PACKETS), shared.again);
            let waits = waits::evidence(late, Some(shared.max_wait_s));
            let score = libm::log(reading.believed) + times + TEMPERED * counts + waits;
            let shown = Some(Shown { rate: shared.shown, again: shared.again, uneven });
            ScoredReading { reading, points: points.clone(), score, factors: shared.factors, shown }
        };
        readings.iter().zip(all).map(weighed).collect()
    }

    /// Points of a link without a neighbour, with times that vary by `share`. A session without a neighbour, whose times are almost exact, is
    /// unlikely under this variation.
    fn uneven(&self, plain: &[Point], base: f64, share: f64) -> Vec<Point> {
        let tables =
            Tables::new(self.case(self.sample(SAMPLED_PER_PACKET, MAX_PACKETS), base, Reading::PLAIN), &Grain::ROUGH);
        let at_base = Point::at(base, &self.known_rtt, &mut |_, server_times| tables.weighed(server_times));
        let tables = tables.uneven(share);
        let varied = Point::at(base, &self.known_rtt, &mut |_, server_times| tables.weighed(server_times));
        let best = |point: &Point| point.weighed.iter().map(|one| one.1).fold(f64::NEG_INFINITY, f64::max);
        let less = best(&at_base) - best(&varied);
        let mut points = plain.to_vec();
        points.iter_mut().flat_map(|point| &mut point.weighed).for_each(|one| one.1 -= less);
        points
    }

    /// Log likelihood of the retransmission counts with a neighbour, given the share `again` of retransmitted packets in its play.
    fn log_likelihood_of_counts(&self, transfers: &[Transfer], again: f64) -> f64 {
        let count = |transfer: &Transfer| {
            let packets = libm::ceil(transfer.bytes / self.deployed.mss);
            let expected = Expected { packets, noise: 0.0, overflow: again * packets, spread: SHARED_OVERFLOW_SPREAD };
            transfer.again.map_or(0.0, |seen| libm::log(expected.likely(seen)))
        };
        transfers.iter().map(count).sum()
    }

    /// With a neighbour, the total of retransmissions distinguishes queue lengths (shorter queues cause more), while the few of one transfer
    /// hardly do. The probability that there is a neighbour is left unchanged.
    fn weigh_shared_queues(&self, all: &mut [ScoredReading]) {
        let counted = || {
            let sample = self.sample(usize::MAX, SHORT).iter();
            sample.filter_map(|transfer| transfer.again.map(|again| (again, transfer.bytes / self.deployed.mss)))
        };
        let (seen, packets) = counted().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let shared = || all.iter().filter_map(|one| one.shown.map(|shown| (one.score, shown.again * packets)));
        if packets == 0.0 || shared().next().is_none() {
            return;
        }
        let with_total = |(score, expected): (f64, f64)| {
            let off = libm::log((seen + 1.0) / (expected + 1.0));
            score - 0.5 * off * off / (SHARED_TOTAL * SHARED_TOTAL + 1.0 / (expected + 1.0))
        };
        let even = log_sum(shared().map(|one| one.0)) - log_sum(shared().map(with_total));
        for one in all.iter_mut() {
            if let Some(shown) = one.shown {
                one.score = with_total((one.score, shown.again * packets)) + even;
            }
        }
    }

    /// For a long session, drop the readings that are unlikely on a part of it, because explaining one simulates every packet.
    fn likely_in_part(&self, mut likely: Vec<ScoredReading>) -> Vec<ScoredReading> {
        if likely.len() > 1 && self.packets() >= LONG * SHORT {
            let transfers = self.sample(usize::MAX, (PART * self.packets()).max(SHORT));
            let score =
                |weighed: &ScoredReading| self.explained(transfers, weighed.clone(), MIN_SHARE, &Grain::ROUGH).1;
            let scores: Vec<f64> = likely.iter().map(score).collect();
            let best = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let mut scores = scores.into_iter();
            likely.retain(|_| scores.next().is_some_and(|score| score >= best + libm::log(MIN_LIKELIHOOD_OF_PART)));
        }
        likely
    }

    fn packets(&self) -> f64 {
        self.transfers.iter().map(|transfer| transfer.bytes / self.deployed.mss).sum()
    }

    /// Explain the transfers under the likeliest candidates of a reading of probability `share`; and the reading's new score.
    fn explained(
        &self,
        transfers: &[Transfer],
        weighed: ScoredReading,
        share: f64,
        grain: &Grain,
    ) -> (ExplainedReading, f64) {
        let ScoredReading { reading, points, score, factors, shown } = weighed;
        let of_link = if reading.has_neighbour { Reading::PLAIN } else { reading };
        let candidates = Candidate::all(&points, TEMPERED_RTT);
        let count = if of_link.is_plain() && self.deployed.is_window_based() {
            EXPLAINED
        } else {
            EXPLAINED_PER_PACKET * share
        };
        let more = if self.known_rtt.is_unknown() { MORE_WITHOUT_RTT } else { 1.0 };
        let count = (count * more * libm::sqrt(SHORT / self.packets().max(SHORT))).max(1.0) as usize;
        let explain = || {
            let mut tables: Vec<(f64, Tables)> = vec![];
            let mut explain = |index: usize| {
                let one = &candidates[index];
                let known = tables.iter().position(|known| known.0 == one.rtt).unwrap_or_else(|| {
                    let of_rtt = Tables::new(self.case(transfers, one.rtt, of_link), grain);
                    tables.push((one.rtt, of_rtt.uneven(shown.map_or(0.0, |shown| shown.uneven))));
                    tables.len() - 1
                });
                (index, tables[known].1.explained(&one.noise))
            };
            Candidate::typical(&candidates, count).into_iter().map(&mut explain).collect()
        };
        let explained: Candidates = if reading.has_neighbour {
            let mut alone = self.alone.borrow_mut();
            alone.take_if(|known| known.0 != transfers.len());
            alone.get_or_insert_with(|| (transfers.len(), explain())).1.clone()
        } else {
            explain()
        };
        let again = self.settings.retransmitted;
        let likeliest = |one: &&(usize, Explained)| candidates[one.0].share;
        let (first, whole) =
            explained.iter().max_by(|a, b| likeliest(a).total_cmp(&likeliest(b))).expect("one at least");
        let (losses, more) = noise_of(transfers, self.deployed, &reading, (whole, shown), again);
        let score = score + TEMPERED * (whole.evidence - candidates[*first].evidence + more);
        let model = model_off(&reading, self.deployed);
        let longer_s = self.known_rtt.longer_s();
        (
            ExplainedReading { reading, share: 0.0, candidates, explained, losses, factors, shown, model, longer_s },
            score,
        )
    }

    /// A log without retransmission counts and windows is also explained by a path with random losses that keep the window as small as the
    /// session's; the link may then be faster by any factor.
    fn unseen(&self, found: &[ExplainedReading]) -> Option<ExplainedReading> {
        let is_logged = |t: &Transfer| t.again.is_some() || t.socket.is_some_and(|socket| socket.cwnd.is_some());
        if !self.deployed.is_window_based() || self.transfers.iter().any(is_logged) {
            return None;
        }
        let likeliest = found.iter().max_by(|a, b| a.share.total_cmp(&b.share))?;
        let sum = |of: &dyn Fn(&Transfer) -> f64| self.transfers.iter().map(of).sum::<f64>();
        let rate = sum(&|t| t.bytes / self.deployed.mss) / sum(&|t| t.took_s);
        let reading = unseen_noise(rate * likeliest.candidates[0].rtt, likeliest.candidates[0].rtt)?;
        let losses = UNSEEN_AROUND.map(|off| (reading.loss * off, 1.0 / UNSEEN_AROUND.len() as f64)).to_vec();
        let share = reading.believed;
        Some(ExplainedReading {
            reading,
            share,
            losses,
            factors: UNSEEN_FACTORS.to_vec(),
            model: model_off(&reading, self.deployed),
            ..likeliest.clone()
        })
    }

    fn case<'a>(&'a self, transfers: &'a [Transfer], rtt: f64, reading: Reading) -> Case<'a> {
        Case { transfers, deployed: self.deployed, beliefs: &self.settings.beliefs, rtt, reading }
    }
}

/// Tempered log likelihood of a session over all points.
fn evidence_of(points: &[Point]) -> f64 {
    let width = log_sum(points.iter().map(Point::believed));
    let of = |point: &Point| {
        let mean = log_sum(point.weighed.iter().map(|w| TEMPERED * w.1)) - libm::log(point.weighed.len() as f64);
        point.believed() - width + mean
    };
    log_sum(points.iter().map(of))
}

/// Remove readings that are too unlikely.
fn likely_ones(mut all: Vec<ScoredReading>, least: f64) -> Vec<ScoredReading> {
    let best = all.iter().map(|one| one.score).fold(f64::NEG_INFINITY, f64::max);
    all.retain(|one| one.score >= best + libm::log(least));
    all
}

/// The rate that the quicker transfers show, in bit/s.
fn shown_rate(transfers: &[Transfer]) -> f64 {
    let mut rates: Vec<f64> = transfers.iter().map(|t| 8.0 * t.bytes / t.took_s.max(1e-4)).collect();
    rates.sort_by(f64::total_cmp);
    rates[rates.len() * 9 / 10].max(1e3)
}
