//! The base RTTs and server times (before the first byte) that are consistent with a log.
//!
//! A logged minimum RTT leaves the server time open. The earliest first byte gives the sum of RTT, server time and the transmission time of
//! a packet. Without either, any RTT up to the shortest transfer time is possible, and candidates are refined where they are likely.

use crate::emission::Noise;
use crate::log::Transfer;

/// Candidates for the time of server and application before the first byte, with equal weights.
pub(crate) const SERVER_TIMES_S: [f64; 11] =
    [0.0, 0.001, 0.002, 0.003, 0.0045, 0.007, 0.011, 0.017, 0.027, 0.042, 0.065];
/// Prior of the base RTT if it is not logged: median in seconds, standard deviation of the logarithm.
const ACCESS: (f64, f64) = (0.05, 0.8);
/// At least this share of the time to the first byte is the round trip.
const MIN_RTT_SHARE: f64 = 0.1;
/// If the RTT is not logged: the factor between the first candidates (the second where every packet is simulated), and their smallest
/// distance in the logarithm after refinement.
const APART: f64 = 1.57;
const APART_PACKETS: f64 = 2.2;
const FINEST: f64 = 0.015;
/// The same if the first byte gives the sum of RTT and server time; then every server time is tried, or every `EVERY`-th, as is done if
/// neither is known.
const FINEST_SUM: f64 = 0.006;
const EVERY: usize = 3;
/// The first packet takes at least this share of its transmission time at the rate that the session shows.
const QUICKER: f64 = 0.3;
/// An error that all transfers of a play share looks like another base RTT, so the evidence between RTTs is tempered by this power (as in
/// `session.rs`).
pub(crate) const TEMPERED_RTT: f64 = 0.35;
/// Ratio of the largest to the smallest candidate.
const MAX_RATIO: f64 = 100.0;
/// Points whose log likelihood is within this of the best are refined.
const RELEVANT: f64 = 4.0;
const MAX_POINTS: usize = 20;
const MAX_PACKETS: usize = 13;
const MAX_POINTS_AROUND: usize = 4;

pub(crate) enum KnownRtt {
    /// The minimum RTT, and the server time if first bytes are logged.
    Rtt(f64, Option<f64>),
    /// The sum of RTT and server time, and by how much it may be more.
    Sum(f64, f64),
    Below(f64),
}

/// A candidate for the base RTT, and the interval that it represents.
#[derive(Clone)]
pub(crate) struct Point {
    pub rtt: f64,
    pub from: f64,
    pub to: f64,
    /// Log likelihood for each server time.
    pub weighed: Vec<(Noise, f64)>,
}

/// Computes the log likelihoods of a session for a base RTT and each of some server times.
pub(crate) type Likelihoods<'a> = dyn FnMut(f64, &[f64]) -> Vec<(Noise, f64)> + 'a;

impl KnownRtt {
    /// `full_bits`: of a full packet; `shown`: bit/s that the session shows.
    pub fn from_log(transfers: &[Transfer], full_bits: f64, shown: f64) -> KnownRtt {
        let least = |times: &mut dyn Iterator<Item = f64>| times.filter(|s| *s > 0.0).fold(f64::INFINITY, f64::min);
        let rtt = least(&mut transfers.iter().filter_map(|t| t.socket.and_then(|s| s.min_rtt_s)));
        let first_byte = least(&mut transfers.iter().filter_map(|t| t.first_byte_s));
        // The link is as fast as the session shows at least, so that a packet needs this time at most.
        let packet = (full_bits / shown).min(0.5 * first_byte);
        if rtt.is_finite() {
            let server_time_s = first_byte - rtt - packet * (1.0 + QUICKER) / 2.0;
            return KnownRtt::Rtt(rtt, first_byte.is_finite().then_some(server_time_s.max(0.0)));
        }
        if first_byte.is_finite() {
            return KnownRtt::Sum(first_byte - packet, packet * (1.0 - QUICKER));
        }
        // A smoothed RTT has some of the queue in it.
        let smoothed = least(&mut transfers.iter().filter_map(|t| t.socket.and_then(|s| s.rtt_s)));
        KnownRtt::Below(smoothed.min(0.97 * least(&mut transfers.iter().map(|t| t.took_s))))
    }

    /// Candidates with their likelihoods; `around` is the likeliest RTT if it is known. With packet-by-packet simulation fewer are tried.
    pub fn points(&self, around: Option<f64>, of_packets: bool, likelihoods: &mut Likelihoods) -> Vec<Point> {
        let anywhere = if of_packets { MAX_PACKETS } else { MAX_POINTS };
        let most = around.map_or(anywhere, |_| MAX_POINTS_AROUND);
        let apart = if of_packets { APART_PACKETS } else { APART };
        match self {
            KnownRtt::Rtt(rtt, _) => vec![Point::at(*rtt, self, likelihoods)],
            KnownRtt::Sum(sum, _) => {
                let every = if of_packets || around.is_some() { EVERY } else { 1 };
                let longest = SERVER_TIMES_S[SERVER_TIMES_S.len() - 1] + SERVER_TIMES_S[1];
                let lowest = (sum - longest).max(MIN_RTT_SHARE * sum);
                let all = SERVER_TIMES_S.iter().step_by(every).map(|think| sum - think);
                let mut start: Vec<f64> = all.filter(|rtt| *rtt >= lowest).chain(around).collect();
                if around.is_none() {
                    start.push(lowest);
                    fill(&mut start, apart);
                }
                let finest = if around.is_some() { 4.0 } else { 1.0 } * FINEST_SUM;
                let mut points = refined(start, finest, most, &mut |rtt| Point::at(rtt, self, likelihoods));
                points[0].from = points[0].from.min(lowest);
                points
            }
            KnownRtt::Below(max_s) => {
                let (low, high) = around.map_or((max_s / MAX_RATIO, *max_s), |rtt| {
                    let high = (rtt * apart).min(*max_s);
                    (high / (apart * apart), high)
                });
                let count = libm::ceil(libm::log(high / low) / libm::log(apart));
                let start = (0..=count as usize).map(|i| low * libm::pow(high / low, i as f64 / count)).chain(around);
                refined(start.collect(), if around.is_some() { 4.0 } else { 1.0 } * FINEST, most, &mut |rtt| {
                    Point::at(rtt, self, likelihoods)
                })
            }
        }
    }

    /// Whether the log limits the RTT only by how long transfers took.
    pub fn is_unknown(&self) -> bool {
        matches!(self, KnownRtt::Below(_))
    }

    /// By how much a round trip may be longer than the candidates: the link may be faster than the session shows.
    pub fn longer_s(&self) -> f64 {
        if let KnownRtt::Sum(_, longer_s) = self { *longer_s } else { 0.0 }
    }

    /// Whether the RTT was logged, so that there is only one candidate.
    pub fn is_logged(&self) -> bool {
        matches!(self, KnownRtt::Rtt(..))
    }

    /// The possible server times for a base RTT.
    fn server_times(&self, rtt: f64) -> Vec<f64> {
        match self {
            KnownRtt::Sum(sum, _) => vec![(sum - rtt).max(0.0)],
            KnownRtt::Rtt(_, Some(server_time_s)) => vec![*server_time_s],
            KnownRtt::Rtt(_, None) => SERVER_TIMES_S.to_vec(),
            KnownRtt::Below(_) => SERVER_TIMES_S.into_iter().skip(EVERY / 2).step_by(EVERY).collect(),
        }
    }
}

pub(crate) fn likeliest(points: &[Point]) -> &Point {
    points.iter().max_by(|a, b| a.score().total_cmp(&b.score())).expect("one at least")
}

impl Point {
    pub fn at(rtt: f64, known: &KnownRtt, likelihoods: &mut Likelihoods) -> Point {
        Point { rtt, from: rtt, to: rtt, weighed: likelihoods(rtt, &known.server_times(rtt)) }
    }

    /// Tempered log likelihood with the likeliest server time, plus the log prior density of the RTT.
    fn score(&self) -> f64 {
        TEMPERED_RTT * self.weighed.iter().map(|w| w.1).fold(f64::NEG_INFINITY, f64::max) + of_access(self.rtt)
    }

    /// Log prior probability of its interval.
    pub fn believed(&self) -> f64 {
        if self.to <= self.from {
            return 0.0;
        }
        // If each RTT implies one server time, these are distributed as `SERVER_TIMES_S`, about evenly in the logarithm.
        let server_time_s = self.weighed[0].0.server_time_s;
        let is_one = self.weighed.iter().all(|w| w.0.server_time_s == server_time_s);
        let logged = |rtt: f64| libm::log(self.rtt + server_time_s - rtt + SERVER_TIMES_S[1]);
        let width = if is_one { logged(self.from) - logged(self.to) } else { self.to - self.from };
        libm::log(width / self.rtt) + of_access(self.rtt)
    }
}

/// Log prior density of a base RTT, in its logarithm.
fn of_access(rtt: f64) -> f64 {
    let z = libm::log(rtt / ACCESS.0) / ACCESS.1;
    -0.5 * z * z
}

/// Insert points until none is more than `times` the one before: a server time of 30 of 44 ms leaves a round trip of 14.
fn fill(points: &mut Vec<f64>, times: f64) {
    points.sort_by(f64::total_cmp);
    let mut index = 1;
    while index < points.len() {
        if points[index] > times * points[index - 1] {
            points.insert(index, libm::sqrt(points[index] * points[index - 1]));
        } else {
            index += 1;
        }
    }
}

/// Refine where the session is likely, until points are closer than `finest` in the logarithm or there are `most` of them.
fn refined(mut start: Vec<f64>, finest: f64, most: usize, at: &mut dyn FnMut(f64) -> Point) -> Vec<Point> {
    start.sort_by(f64::total_cmp);
    start.dedup_by(|a, b| *a / *b - 1.0 < 1e-6);
    let mut points: Vec<Point> = start.into_iter().map(&mut *at).collect();
    while points.len() < most {
        let best = likeliest(&points).score();
        let gaps = points.windows(2).filter(|pair| pair.iter().any(|point| point.score() > best - RELEVANT));
        let widest = gaps
            .map(|pair| (libm::log(pair[1].rtt / pair[0].rtt), libm::sqrt(pair[0].rtt * pair[1].rtt)))
            .max_by(|a, b| a.0.total_cmp(&b.0));
        let Some((_, middle)) = widest.filter(|gap| gap.0 > finest) else { break };
        let place = points.partition_point(|point| point.rtt < middle);
        points.insert(place, at(middle));
    }
    for index in 1..points.len() {
        let between = libm::sqrt(points[index - 1].rtt * points[index].rtt);
        (points[index - 1].to, points[index].from) = (between, between);
    }
    points
}

#[cfg(test)]
mod tests;
