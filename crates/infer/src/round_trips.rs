//! The base RTTs, and the server's think times before the first byte, that a log allows.
//!
//! A socket that tells its least RTT leaves the server's time open. The earliest first byte tells the sum of both, and of the time that
//! its packet needs. Without either the RTT is anything up to the quickest transfer, and it is looked for where the session is likely.

use crate::emission::Noise;
use crate::log::Transfer;

/// Server and application, seconds before the first byte: weighed alike.
pub(crate) const THINKS: [f64; 11] = [0.0, 0.001, 0.002, 0.003, 0.0045, 0.007, 0.011, 0.017, 0.027, 0.042, 0.065];
/// Prior of the base RTT if it is not logged: median in seconds, standard deviation of the logarithm.
const ACCESS: (f64, f64) = (0.05, 0.8);
/// At least this share of the time to the first byte is the round trip.
const LEAST_SHARE: f64 = 0.1;
/// Where nothing tells the RTT: by this factor first (where packets are played by the second), and this far apart in the logarithm at
/// last where it matters.
const APART: f64 = 1.57;
const APART_PACKETS: f64 = 2.2;
const FINEST: f64 = 0.015;
/// Where a first byte tells the sum of RTT and the server's time, it is looked for at each of what the server may think, or at some, as
/// where nothing tells either.
const FINEST_SUM: f64 = 0.006;
const EVERY: usize = 3;
/// The first packet takes this share of the time at least that it needs at the rate which the session shows.
const QUICKER: f64 = 0.3;
/// What a play is off by in every transfer alike is what another base RTT explains, so evidence between them counts for this share of
/// itself (as in `session.rs`).
pub(crate) const TEMPERED_RTT: f64 = 0.35;
/// From the least that is looked at to the most.
const TIMES: f64 = 100.0;
/// A point within this of the best, in the logarithm, matters.
const MATTERS: f64 = 4.0;
const MOST_POINTS: usize = 20;
const MOST_PACKETS: usize = 13;
const MOST_AROUND: usize = 4;

pub(crate) enum Known {
    /// The least RTT, and the server's time, if first bytes tell that.
    Rtt(f64, Option<f64>),
    /// RTT and the server's time together, and by how much both may be more.
    Sum(f64, f64),
    Below(f64),
}

/// A base RTT that was looked at.
#[derive(Clone)]
pub(crate) struct Point {
    pub rtt: f64,
    pub from: f64,
    pub to: f64,
    /// For each think time of the server: log likelihood.
    pub weighed: Vec<(Noise, f64)>,
}

/// What is looked at for a base RTT: each time that the server may think, with how likely the session is.
pub(crate) type Look<'a> = dyn FnMut(f64, &[f64]) -> Vec<(Noise, f64)> + 'a;

impl Known {
    /// `full_bits`: of a full packet; `shown`: bit/s that the session shows.
    pub fn by(transfers: &[Transfer], full_bits: f64, shown: f64) -> Known {
        let least = |times: &mut dyn Iterator<Item = f64>| times.filter(|s| *s > 0.0).fold(f64::INFINITY, f64::min);
        let rtt = least(&mut transfers.iter().filter_map(|t| t.socket.and_then(|s| s.min_rtt_s)));
        let first_byte = least(&mut transfers.iter().filter_map(|t| t.first_byte_s));
        // The link is as fast as the session shows at least, so that a packet needs this time at most.
        let packet = (full_bits / shown).min(0.5 * first_byte);
        if rtt.is_finite() {
            let think_s = first_byte - rtt - packet * (1.0 + QUICKER) / 2.0;
            return Known::Rtt(rtt, first_byte.is_finite().then_some(think_s.max(0.0)));
        }
        if first_byte.is_finite() {
            return Known::Sum(first_byte - packet, packet * (1.0 - QUICKER));
        }
        // A smoothed RTT has some of the queue in it.
        let smoothed = least(&mut transfers.iter().filter_map(|t| t.socket.and_then(|s| s.rtt_s)));
        Known::Below(smoothed.min(0.97 * least(&mut transfers.iter().map(|t| t.took_s))))
    }

    /// Look at what may be; `around` is where it is likeliest, if that is known. Fewer points are looked at where packets are played.
    pub fn points(&self, around: Option<f64>, of_packets: bool, look: &mut Look) -> Vec<Point> {
        let anywhere = if of_packets { MOST_PACKETS } else { MOST_POINTS };
        let most = around.map_or(anywhere, |_| MOST_AROUND);
        let apart = if of_packets { APART_PACKETS } else { APART };
        match self {
            Known::Rtt(rtt, _) => vec![Point::at(*rtt, self, look)],
            Known::Sum(sum, _) => {
                let every = if of_packets || around.is_some() { EVERY } else { 1 };
                let longest = THINKS[THINKS.len() - 1] + THINKS[1];
                let lowest = (sum - longest).max(LEAST_SHARE * sum);
                let all = THINKS.iter().step_by(every).map(|think| sum - think);
                let mut start: Vec<f64> = all.filter(|rtt| *rtt >= lowest).chain(around).collect();
                if around.is_none() {
                    start.push(lowest);
                    fill(&mut start, apart);
                }
                let finest = if around.is_some() { 4.0 } else { 1.0 } * FINEST_SUM;
                let mut points = refined(start, finest, most, &mut |rtt| Point::at(rtt, self, look));
                points[0].from = points[0].from.min(lowest);
                points
            }
            Known::Below(most_s) => {
                let (low, high) = around.map_or((most_s / TIMES, *most_s), |rtt| {
                    let high = (rtt * apart).min(*most_s);
                    (high / (apart * apart), high)
                });
                let count = libm::ceil(libm::log(high / low) / libm::log(apart));
                let start = (0..=count as usize).map(|i| low * libm::pow(high / low, i as f64 / count)).chain(around);
                refined(start.collect(), if around.is_some() { 4.0 } else { 1.0 } * FINEST, most, &mut |rtt| {
                    Point::at(rtt, self, look)
                })
            }
        }
    }

    /// The log says nothing of the RTT but how long transfers took.
    pub fn is_nothing(&self) -> bool {
        matches!(self, Known::Below(_))
    }

    /// By how much a round trip may be longer than the candidates: the link may be faster than the session shows.
    pub fn longer_s(&self) -> f64 {
        if let Known::Sum(_, longer_s) = self { *longer_s } else { 0.0 }
    }

    /// Whether the RTT was logged, so that there is only one candidate.
    pub fn is_told(&self) -> bool {
        matches!(self, Known::Rtt(..))
    }

    /// The possible think times of the server for a base RTT.
    fn thinks(&self, rtt: f64) -> Vec<f64> {
        match self {
            Known::Sum(sum, _) => vec![(sum - rtt).max(0.0)],
            Known::Rtt(_, Some(think_s)) => vec![*think_s],
            Known::Rtt(_, None) => THINKS.to_vec(),
            Known::Below(_) => THINKS.into_iter().skip(EVERY / 2).step_by(EVERY).collect(),
        }
    }
}

pub(crate) fn likeliest(points: &[Point]) -> &Point {
    points.iter().max_by(|a, b| a.score().total_cmp(&b.score())).expect("one at least")
}

impl Point {
    pub fn at(rtt: f64, known: &Known, look: &mut Look) -> Point {
        Point { rtt, from: rtt, to: rtt, weighed: look(rtt, &known.thinks(rtt)) }
    }

    /// Logarithm of how likely it is with the likeliest time that the server may think, tempered, and of what is believed of its place.
    fn score(&self) -> f64 {
        TEMPERED_RTT * self.weighed.iter().map(|w| w.1).fold(f64::NEG_INFINITY, f64::max) + of_access(self.rtt)
    }

    /// Logarithm of what is believed of it beforehand: of its place and width.
    pub fn believed(&self) -> f64 {
        if self.to <= self.from {
            return 0.0;
        }
        // Where each RTT has one time of the server: times are as dense as in the list, about even in the logarithm.
        let think_s = self.weighed[0].0.think_s;
        let is_one = self.weighed.iter().all(|w| w.0.think_s == think_s);
        let logged = |rtt: f64| libm::log(self.rtt + think_s - rtt + THINKS[1]);
        let width = if is_one { logged(self.from) - logged(self.to) } else { self.to - self.from };
        libm::log(width / self.rtt) + of_access(self.rtt)
    }
}

/// Log prior density of a base RTT, in its logarithm.
fn of_access(rtt: f64) -> f64 {
    let z = libm::log(rtt / ACCESS.0) / ACCESS.1;
    -0.5 * z * z
}

/// Points in between until none is more than so many times the one before: a server that thinks for 30 of 44 ms leaves a round trip of 14.
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

/// Points in between, where the session is likely: until they are closer than `finest` in the logarithm, or as many as `most`.
fn refined(mut start: Vec<f64>, finest: f64, most: usize, at: &mut dyn FnMut(f64) -> Point) -> Vec<Point> {
    start.sort_by(f64::total_cmp);
    start.dedup_by(|a, b| *a / *b - 1.0 < 1e-6);
    let mut points: Vec<Point> = start.into_iter().map(&mut *at).collect();
    while points.len() < most {
        let best = likeliest(&points).score();
        let gaps = points.windows(2).filter(|pair| pair.iter().any(|point| point.score() > best - MATTERS));
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
