//! A session: its transfers in, draws of its path out.
//!
//! What nobody logs is weighed by how well it explains the session: the noise of the host, the time that the server thinks, the base
//! RTT where no socket told it, and why packets were lost (`readings.rs`). Draws are shared out over all of them by their probability;
//! of noise the likeliest is taken, since the draws hardly depend on it.

use crate::chain::{Beliefs, Chain, normalised};
use crate::counts::Expected;
use crate::deployed::{Deployed, neighbour};
use crate::emission::Noise;
use crate::explain::{Case, Explained, explain, explain_losses, shown};
use crate::filter::{Course, backward};
use crate::log::Transfer;
use crate::neighbour::Shared;
use crate::readings::{Reading, any_queue, readings};
use crate::waits;
use playpath_units::random::{RootSeed, Stream};
use std::rc::Rc;

/// A path that the log allows.
#[derive(Clone, Debug)]
pub struct Draw {
    /// Capacity: bit/s on the wire, from each second on.
    pub course: Course,
    /// Round trip without queueing.
    pub rtt_s: f64,
    /// How its losses are read.
    pub reading: Reading,
    /// In which phase the neighbour is, if there is one.
    pub phase: u64,
    /// Packets that may wait: of the reading, or as is believed of any path where the reading has none.
    pub queue: u32,
}

/// What is known of the path of a session.
pub struct Posterior {
    /// Paths, each as likely as any other.
    pub draws: Vec<Draw>,
    /// End of the last transfer.
    pub lasts_s: f64,
    /// Logarithm of the likelihood.
    pub evidence: f64,
    /// Readings of the losses, and the probability of each.
    pub readings: Vec<(Reading, f64)>,
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

/// Base RTTs that are weighed where none is known: from the least time of a transfer down, by this factor.
const RTT_FACTOR: f64 = 0.6;
const RTTS: usize = 10;
/// What a server may have taken of the earliest first byte, seconds.
const SERVERS: [f64; 3] = [0.0, 0.003, 0.008];
/// Around the best of those, by these factors.
const FINER: [f64; 6] = [0.68, 0.77, 0.88, 1.13, 1.28, 1.46];
/// Of them, so many are weighed with each reading where there are several.
const KEPT_RTTS: usize = 2;
/// Variance of the overflows beside a neighbour, over their square: who gets them is a matter of luck.
const SHARED_SPREAD: f64 = 2.0;
/// What a link carries beside TCP and its payload, as a share: TLS records and the application's own framing; mean and deviation.
/// Nobody logs it, so it is one unknown for a whole session.
const FRAMING: (f64, f64) = (0.002, 0.004);
/// What the model of a connection that loses packets is off by, for a whole session: deviation.
const MODEL: f64 = 0.03;

/// A session and what is asked of it.
struct Session<'a> {
    transfers: &'a [Transfer],
    deployed: &'a Deployed,
    neighbour: Deployed,
    beliefs: Beliefs,
    readings: Vec<Reading>,
}

/// Infer the path of a session: transfers in the order of their requests, none before the end of the one before.
pub fn infer(transfers: &[Transfer], deployed: &Deployed, settings: &Settings) -> Posterior {
    let session = Session {
        transfers,
        deployed,
        neighbour: neighbour(),
        beliefs: settings.beliefs,
        readings: readings(transfers, settings.retransmitted),
    };
    let explained = session.explained();
    let best = explained.iter().map(|e| e.evidence).fold(f64::NEG_INFINITY, f64::max);
    let weights = explained.iter().map(|e| e.reading.believed * libm::exp(e.evidence - best)).collect();
    let shares = normalised(weights);
    let likeliest = (0..shares.len()).max_by(|a, b| shares[*a].total_cmp(&shares[*b])).unwrap_or(0);
    let of_reading = |reading: &Reading| -> f64 {
        explained.iter().zip(&shares).filter(|(e, _)| e.reading == *reading).map(|(_, share)| share).sum()
    };
    Posterior {
        draws: draws(&explained, &shares, settings),
        lasts_s: transfers.iter().map(Transfer::end_s).fold(0.0, f64::max),
        evidence: best,
        readings: session.readings.iter().map(|reading| (*reading, of_reading(reading))).collect(),
        noise: explained[likeliest].noise,
        unexplained: explained[likeliest].filtered.unexplained(),
    }
}

impl Session<'_> {
    /// The session under each base RTT and each reading that may be.
    fn explained(&self) -> Vec<Explained> {
        let mut tried: Vec<Plain> = base_rtts(self.transfers).into_iter().map(|rtt| self.plain(rtt)).collect();
        if tried.len() == RTTS {
            let best = tried.iter().max_by(|a, b| a.evidence().total_cmp(&b.evidence())).expect("several").rtt;
            tried.extend(FINER.map(|factor| self.plain(best * factor)));
        }
        if self.readings == [Reading::PLAIN] {
            return tried.into_iter().flat_map(|plain| plain.explained).collect();
        }
        tried.sort_by(|a, b| b.evidence().total_cmp(&a.evidence()));
        tried.truncate(KEPT_RTTS);
        tried.iter().flat_map(|plain| self.read(plain)).collect()
    }

    /// As if nothing was ever lost, and nobody else was there.
    fn plain(&self, rtt: f64) -> Plain {
        let (low, high) = shown(self.transfers, self.deployed, rtt);
        let chain = Rc::new(Chain::new(low, high, &self.beliefs));
        let explained = explain(self.case(rtt, &chain, Reading::PLAIN));
        Plain { rtt, chain, explained }
    }

    /// Under each reading.
    fn read(&self, of: &Plain) -> Vec<Explained> {
        let (rtt, chain, plain) = (of.rtt, &of.chain, of.best());
        let first_bytes = self.transfers.iter().filter_map(|t| t.first_byte_s);
        let earliest = first_bytes.clone().fold(f64::INFINITY, f64::min);
        let late: Vec<f64> = first_bytes.map(|s| s - earliest).collect();
        let mut found = vec![];
        for &reading in &self.readings {
            let mut own = if reading == Reading::PLAIN.believing(reading.believed) {
                Explained { reading, ..plain.clone() }
            } else if reading.has_neighbour {
                self.shared(plain, reading, &late)
            } else {
                explain_losses(self.case(rtt, chain, reading), plain.noise.think_s)
            };
            if !reading.has_neighbour {
                own.evidence += waits::evidence(&late, None);
            }
            found.push(own);
        }
        found
    }

    /// Beside a neighbour: `plain` is what the session has of the link.
    fn shared(&self, plain: &Explained, reading: Reading, late: &[f64]) -> Explained {
        let queue = reading.queue.unwrap_or(u32::MAX);
        let shared = Shared::new(self.transfers, self.deployed, &self.neighbour, plain.rtt, queue);
        let mut own = Explained { reading, factors: shared.factors, ..plain.clone() };
        own.evidence += waits::evidence(late, Some(shared.most_s));
        for transfer in self.transfers {
            let packets = libm::ceil(transfer.bytes / self.deployed.mss);
            let expected = Expected { packets, noise: 0.0, overflow: shared.again * packets, spread: SHARED_SPREAD };
            own.evidence += transfer.again.map_or(0.0, |seen| libm::log(expected.likely(seen)));
        }
        own
    }

    fn case<'a>(&'a self, rtt: f64, chain: &'a Rc<Chain>, reading: Reading) -> Case<'a> {
        Case { transfers: self.transfers, deployed: self.deployed, chain, rtt, reading }
    }
}

/// A session at a base RTT, as if nothing was ever lost.
struct Plain {
    rtt: f64,
    chain: Rc<Chain>,
    explained: Vec<Explained>,
}

impl Plain {
    fn best(&self) -> &Explained {
        self.explained.iter().max_by(|a, b| a.evidence.total_cmp(&b.evidence)).expect("several")
    }

    fn evidence(&self) -> f64 {
        self.best().evidence
    }
}

fn draws(explained: &[Explained], shares: &[f64], settings: &Settings) -> Vec<Draw> {
    let mut stream = RootSeed(settings.seed).stream("infer");
    let mut draws: Vec<Draw> = vec![];
    for (own, count) in explained.iter().zip(counts(shares, settings.draws)) {
        let courses = backward(&own.chain, &own.steps, &own.filtered, count, &mut stream);
        draws.extend(courses.into_iter().enumerate().map(|(index, course)| {
            let phase = index % own.factors.len();
            let course = framed(course, &own.reading, own.factors[phase], &mut stream);
            let queue = own.reading.queue.unwrap_or_else(|| any_queue(&mut stream));
            Draw { course, rtt_s: own.rtt, reading: own.reading, phase: phase as u64, queue }
        }));
    }
    // By base RTT and think until now: a few of them are to be a sample, too.
    for index in (1..draws.len()).rev() {
        draws.swap(index, (stream.uniform() * (index + 1) as f64) as usize);
    }
    draws
}

fn framed(mut course: Course, reading: &Reading, factor: f64, stream: &mut Stream) -> Course {
    let deviation = if reading.is_plain() { FRAMING.1 } else { MODEL };
    let framing = libm::exp(FRAMING.0 + deviation * stream.normal());
    course.iter_mut().for_each(|(_, rate)| *rate *= factor * framing);
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
        let mut found: Vec<f64> = SERVERS.iter().map(|think_s| (least - think_s).max(0.6 * least)).collect();
        found.dedup();
        return found;
    }
    let quickest = transfers.iter().map(|t| t.took_s).fold(f64::INFINITY, f64::min);
    (0..RTTS).map(|index| 0.9 * quickest * libm::pow(RTT_FACTOR, index as f64)).collect()
}
