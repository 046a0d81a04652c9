//! Inference for a session: from its transfers to draws of its path.
//!
//! What nobody logs is weighed by how well it explains the session: the noise of the host, the time that the server thinks, the base
//! RTT where no socket told it (`round_trips.rs`), and why packets were lost (`readings.rs`). Draws are shared out over all of them by
//! their probability (`draws.rs`); of noise the likeliest is taken, since the draws hardly depend on it.

use crate::chain::{Beliefs, Grain};
use crate::counts::Expected;
use crate::deployed::{Deployed, neighbour};
use crate::draws::{Candidate, Drawn, Shown, draws, log_sum, noise_of, shares};
use crate::emission::Noise;
use crate::explain::{Case, Explained, Tables, model_off};
use crate::filter::Course;
use crate::log::{Transfer, late_s, server_s, without};
use crate::neighbour::Shared;
use crate::readings::{Reading, readings, unseen_noise};
use crate::round_trips::{Known, Point, TEMPERED_RTT, likeliest};
use crate::waits;
use std::cell::RefCell;

/// A path that the log allows.
#[derive(Clone, Debug)]
pub struct Draw {
    /// Capacity: bit/s on the wire, from each second on.
    pub course: Course,
    /// Round trip without queueing.
    pub rtt_s: f64,
    pub reading: Reading,
    /// The phase of the neighbour, if there is one.
    pub phase: u64,
    /// Packets that may wait: of the reading, or as is believed of any path where the reading has none.
    pub queue: u32,
}

/// The posterior of a session's path.
pub struct Posterior {
    pub draws: Vec<Draw>,
    pub lasts_s: f64,
    /// Logarithm of the likelihood, on average over what is explained under the likeliest reading.
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

/// What is not logged is weighed on so many transfers: where nothing is lost, and where each packet is looked at.
const TRIED: usize = 40;
const TRIED_PACKETS: usize = 20;
/// On no more packets than this, if that covers enough transfers.
const MOST_PACKETS: f64 = 8_000.0;
const FEWEST_TRIED: usize = 8;
/// A play is off by as much in one transfer as in the next, so a difference of evidence counts for this share of itself: a likelihood to
/// a power, as for models known to be wrong in small ways (Miller and Dunson, "Robust Bayesian inference via coarsening", 2019).
pub(crate) const TEMPERED: f64 = 0.35;
/// A reading that is less likely than this, over the likeliest, is given up: at first, and after a look at more of a long session, when it
/// would have no draw of a hundred.
const GIVEN_UP: f64 = 2e-3;
const SIFTED: f64 = 5e-3;
/// Under one base RTT a reading is given up only if it is less likely than this.
const DOUBTED: f64 = 2e-5;
/// Candidates that are explained, to stand for all: where nothing is lost, and where each packet is looked at, of a reading that has all;
/// and so many times as many where nothing tells the base RTT.
const KEPT: f64 = 6.0;
const KEPT_PACKETS: f64 = 5.0;
const UNTOLD: f64 = 1.6;
/// Of sessions of more packets fewer are: what a longer session says leaves less open.
const SHORT: f64 = 20_000.0;
/// So many times that is long: a part of it is looked at next. The share of a reading of which one candidate is explained.
const LONG: f64 = 2.0;
const PART: f64 = 0.2;
const LEAST_SHARE: f64 = 1e-9;
/// Where the log does not count losses: the loss over the one that would hold the window, and the link over what the session shows of it.
const UNSEEN_AROUND: [f64; 3] = [0.6, 1.0, 1.6];
const UNSEEN_FACTORS: [f64; 4] = [1.4, 2.8, 5.6, 11.2];
/// Variance of the overflows beside a neighbour, over their square: who gets them is a matter of luck; and deviation of the logarithm of
/// what a session has of them in all, from one phase of the neighbour to the next.
const SHARED_SPREAD: f64 = 2.0;
const SHARED_TOTAL: f64 = 0.5;

/// Share of how uneven a neighbour makes a session's times that the course of a rate, which goes up and down too, leaves over. Of 60
/// sessions alone behind a slow server 2 to 7, 2 to 4 and 1 to 4 are taken for shared at 0.5, 0.7 and 1, of 36 shared ones 27, 25 and 22 are
/// found.
const AT_ONCE: f64 = 0.7;

struct Session<'a> {
    /// Without what first bytes were late.
    transfers: &'a [Transfer],
    /// As the log has them: beside a neighbour a first byte waits in the queue.
    logged: &'a [Transfer],
    deployed: &'a Deployed,
    neighbour: Deployed,
    settings: &'a Settings,
    known_rtt: Known,
    /// A link on which nobody else is and nothing is lost, explained by so many transfers: all readings with a neighbour begin with it.
    alone: RefCell<Option<(usize, Candidates)>>,
}

/// Some candidates by their places, explained.
type Candidates = Vec<(usize, Explained)>;

#[derive(Clone)]
struct Weighed {
    reading: Reading,
    points: Vec<Point>,
    /// Logarithm of how likely it is, tempered; with what is believed of it.
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
        known_rtt: Known::by(transfers, 8.0 * (deployed.mss + deployed.header), shown_rate(transfers)),
        alone: RefCell::new(None),
    };
    let all = readings(logged, settings.retransmitted);
    let likely = session.sifted(likely_ones(session.weighed(&all), GIVEN_UP));
    let of_reading = shares(likely.iter().map(|weighed| weighed.score));
    let explained = |(weighed, share)| session.explained(transfers, weighed, share, &Grain::FINE);
    let (mut found, scores): (Vec<Drawn>, Vec<f64>) = likely.into_iter().zip(of_reading).map(explained).unzip();
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
    // Under the other readings the packets sent again count in each transfer, too.
    let beside = best.shown.map_or(0.0, |shown| session.counts_beside(transfers, shown.again));
    Posterior {
        lasts_s: transfers.iter().map(Transfer::end_s).fold(0.0, f64::max),
        evidence: best.explained.iter().map(|one| one.1.evidence).sum::<f64>() / best.explained.len() as f64 + beside,
        readings: all.iter().map(|reading| (*reading, of(reading))).collect(),
        noise: best.candidates[0].noise,
        unexplained: best.explained[0].1.unexplained,
        draws: draws(&found, settings),
    }
}

impl Session<'_> {
    /// Each reading, on the first transfers and a rough grid.
    fn weighed(&self, readings: &[Reading]) -> Vec<Weighed> {
        let is_told = self.known_rtt.is_told() && readings.len() > 1;
        let tried = if self.deployed.is_window_based() && !is_told { TRIED } else { TRIED_PACKETS };
        let plain = self.points(Reading::PLAIN, None, tried);
        if let [reading] = *readings {
            return vec![Weighed { reading, points: plain, score: 0.0, factors: vec![1.0], shown: None }];
        }
        let base = likeliest(&plain).rtt;
        let has_first_byte = |one: &(&Transfer, f64)| one.0.first_byte_s.is_some();
        let late: Vec<f64> =
            self.logged.iter().zip(late_s(self.logged)).filter(has_first_byte).map(|one| one.1).collect();
        let plain = if is_told { plain } else { self.points(Reading::PLAIN, Some(base), TRIED_PACKETS) };
        let alone = |reading: Reading, points: Vec<Point>| {
            let score = libm::log(reading.believed) + evidence_of(&points) + waits::evidence(&late, None);
            Weighed { reading, points, score, factors: vec![1.0], shown: None }
        };
        let first = |&reading: &Reading| {
            if reading.is_plain() {
                return alone(reading, plain.clone());
            }
            alone(reading, vec![Point::at(base, &self.known_rtt, &mut self.look(reading, TRIED_PACKETS))])
        };
        // Where packets are lost, the times as if nothing was lost say nothing of the RTT: it is looked for anywhere under the likeliest
        // queue, and under noise, and around what is found there under the others.
        let anywhere_first = |around: &mut Option<f64>, reading: Reading| {
            let points = self.points(reading, *around, TRIED_PACKETS);
            around.get_or_insert(likeliest(&points).rtt);
            alone(reading, points)
        };
        let (mut under_queues, mut under_noise) = (None, None);
        let (beside, alone_ones): (Vec<Reading>, Vec<Reading>) =
            readings.iter().partition(|reading| reading.has_neighbour);
        let (noisy, others): (Vec<Reading>, Vec<Reading>) = alone_ones.iter().partition(|reading| reading.loss > 0.0);
        let mut looked: Vec<Weighed> = others.iter().map(first).collect();
        if !beside.is_empty() {
            looked.extend(self.shared(&beside, &plain, base, &late));
        }
        self.weigh_shared_queues(&mut looked);
        let mut likely = likely_ones(looked, DOUBTED);
        likely.sort_by(|a, b| b.score.total_cmp(&a.score));
        let searched = likely.into_iter().map(|weighed| match weighed.reading {
            reading if reading.has_neighbour || reading.is_plain() || self.known_rtt.is_told() => weighed,
            reading => anywhere_first(&mut under_queues, reading),
        });
        searched.chain(noisy.into_iter().map(|reading| anywhere_first(&mut under_noise, reading))).collect()
    }

    /// What is not logged is weighed on them.
    fn tried(&self, most: usize, most_packets: f64) -> &[Transfer] {
        let mut packets = 0.0;
        let is_within = |(index, transfer): (usize, &Transfer)| {
            packets += transfer.bytes / self.deployed.mss;
            index < FEWEST_TRIED || (index < most && packets < most_packets)
        };
        let count = self.transfers.iter().enumerate().map(is_within).take_while(|is| *is).count();
        &self.transfers[..count]
    }

    fn look(&self, reading: Reading, tried: usize) -> impl FnMut(f64, &[f64]) -> Vec<(Noise, f64)> {
        let transfers = self.tried(tried, MOST_PACKETS);
        move |rtt, thinks| Tables::new(self.case(transfers, rtt, reading), &Grain::ROUGH).weighed(thinks)
    }

    /// Base RTTs under a reading.
    fn points(&self, reading: Reading, around: Option<f64>, tried: usize) -> Vec<Point> {
        let of_packets = !(reading.is_plain() && self.deployed.is_window_based());
        self.known_rtt.points(around, of_packets, &mut self.look(reading, tried))
    }

    /// The neighbours of some readings: `plain` is what the session has of the link.
    fn shared(&self, readings: &[Reading], plain: &[Point], base: f64, late: &[f64]) -> Vec<Weighed> {
        let tried = &self.logged[..self.tried(usize::MAX, SHORT).len()];
        let beside = |reading: &Reading| {
            Shared::new(tried, self.deployed, &self.neighbour, base, reading.queue.unwrap_or(u32::MAX))
        };
        let all: Vec<Shared> = readings.iter().map(beside).collect();
        let uneven = AT_ONCE * all.iter().map(|shared| shared.uneven).sum::<f64>() / all.len() as f64;
        let points = self.uneven(plain, base, uneven);
        let times = evidence_of(&points);
        let until_s = tried.last().map_or(0.0, Transfer::end_s);
        let weighed = |(&reading, shared): (&Reading, Shared)| {
            let counts = self.counts_beside(self.tried(TRIED_PACKETS, MOST_PACKETS), shared.again);
            let waits = waits::evidence(late, Some(shared.most_s));
            let score = libm::log(reading.believed) + times + TEMPERED * counts + waits;
            let shown = Some(Shown { rate: shared.shown, until_s, again: shared.again, uneven });
            Weighed { reading, points: points.clone(), score, factors: shared.factors, shown }
        };
        readings.iter().zip(all).map(weighed).collect()
    }

    /// Points of a link that nobody else uses, where the share of it that a transfer has varies by `share`: a session alone on its link,
    /// whose times are all but exact, is hardly ever one that had such a share each time.
    fn uneven(&self, plain: &[Point], base: f64, share: f64) -> Vec<Point> {
        let tables =
            Tables::new(self.case(self.tried(TRIED_PACKETS, MOST_PACKETS), base, Reading::PLAIN), &Grain::ROUGH);
        let at_base = Point::at(base, &self.known_rtt, &mut |_, thinks| tables.weighed(thinks));
        let tables = tables.uneven(share);
        let varied = Point::at(base, &self.known_rtt, &mut |_, thinks| tables.weighed(thinks));
        let best = |point: &Point| point.weighed.iter().map(|one| one.1).fold(f64::NEG_INFINITY, f64::max);
        let less = best(&at_base) - best(&varied);
        let mut points = plain.to_vec();
        points.iter_mut().flat_map(|point| &mut point.weighed).for_each(|one| one.1 -= less);
        points
    }

    /// Logarithm of how likely the packets sent again in each transfer are beside a neighbour, where this share of them is in a play.
    fn counts_beside(&self, transfers: &[Transfer], again: f64) -> f64 {
        let count = |transfer: &Transfer| {
            let packets = libm::ceil(transfer.bytes / self.deployed.mss);
            let expected = Expected { packets, noise: 0.0, overflow: again * packets, spread: SHARED_SPREAD };
            transfer.again.map_or(0.0, |seen| libm::log(expected.likely(seen)))
        };
        transfers.iter().map(count).sum()
    }

    /// Beside a neighbour, queues are told apart by the packets sent again in all: the shorter the queue, the more of them there are, while
    /// the few of one transfer hardly tell one queue from another. How likely a neighbour is stays what it was.
    fn weigh_shared_queues(&self, all: &mut [Weighed]) {
        let counted = || {
            let tried = self.tried(usize::MAX, SHORT).iter();
            tried.filter_map(|transfer| transfer.again.map(|again| (again, transfer.bytes / self.deployed.mss)))
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

    /// Of a long session, the readings that a part of it leaves: a reading that is explained has all packets played.
    fn sifted(&self, mut likely: Vec<Weighed>) -> Vec<Weighed> {
        if likely.len() > 1 && self.packets() >= LONG * SHORT {
            let transfers = self.tried(usize::MAX, (PART * self.packets()).max(SHORT));
            let score = |weighed: &Weighed| self.explained(transfers, weighed.clone(), LEAST_SHARE, &Grain::ROUGH).1;
            let scores: Vec<f64> = likely.iter().map(score).collect();
            let best = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let mut scores = scores.into_iter();
            likely.retain(|_| scores.next().is_some_and(|score| score >= best + libm::log(SIFTED)));
        }
        likely
    }

    fn packets(&self) -> f64 {
        self.transfers.iter().map(|transfer| transfer.bytes / self.deployed.mss).sum()
    }

    /// Transfers under the likeliest candidates of a reading with this share; and the reading's score then.
    fn explained(&self, transfers: &[Transfer], weighed: Weighed, share: f64, grain: &Grain) -> (Drawn, f64) {
        let Weighed { reading, points, score, factors, shown } = weighed;
        let of_link = if reading.has_neighbour { Reading::PLAIN } else { reading };
        let candidates = Candidate::all(&points, TEMPERED_RTT);
        let kept = if of_link.is_plain() && self.deployed.is_window_based() { KEPT } else { KEPT_PACKETS * share };
        let untold = if self.known_rtt.is_nothing() { UNTOLD } else { 1.0 };
        let kept = (kept * untold * libm::sqrt(SHORT / self.packets().max(SHORT))).max(1.0) as usize;
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
            Candidate::typical(&candidates, kept).into_iter().map(&mut explain).collect()
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
        (Drawn { reading, share: 0.0, candidates, explained, losses, factors, shown, model, longer_s }, score)
    }

    /// Where a log counts no retransmissions, and tells no window, a path that loses at random explains it, too, if such a loss holds a
    /// window as small as the session's: the link is then faster by anything.
    fn unseen(&self, found: &[Drawn]) -> Option<Drawn> {
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
        Some(Drawn {
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

/// Logarithm of how likely a session is over all points, tempered.
fn evidence_of(points: &[Point]) -> f64 {
    let width = log_sum(points.iter().map(Point::believed));
    let of = |point: &Point| {
        let mean = log_sum(point.weighed.iter().map(|w| TEMPERED * w.1)) - libm::log(point.weighed.len() as f64);
        point.believed() - width + mean
    };
    log_sum(points.iter().map(of))
}

/// Remove readings that are too unlikely.
fn likely_ones(mut all: Vec<Weighed>, least: f64) -> Vec<Weighed> {
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
