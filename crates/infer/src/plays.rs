//! The deployed sender at work on the session's transfers, at every rate of the grid, under one reading of its losses.

use crate::chain::Chain;
use crate::connection::{Connection, Link, Served};
use crate::deployed::Deployed;
use crate::log::Transfer;
use crate::readings::Reading;

/// What was played: for each transfer, at each rate of the grid.
pub(crate) struct Played {
    /// Seconds beyond a round trip, mean over the plays.
    pub takes: Vec<Vec<f64>>,
    /// Packets sent again.
    pub again: Vec<Vec<f64>>,
    /// At each rate: what a transfer's time differs by from play to play, as a share.
    pub luck: Vec<f64>,
}

/// The connection is played at every so many rates of the grid; in between, what it gave is interpolated.
const EVERY: usize = 3;
/// Where each packet is looked at: of the fine part of the grid, and of the coarse part.
const EVERY_PACKET: (usize, usize) = (18, 7);
/// Plays of random losses.
const NOISY_PLAYS: u64 = 3;
/// What a transfer's time is off by where packets are lost: the moment of an overflow, and how the engine's transport repairs it
/// (measured against the engine: 0 to 13 %, most in queues of 15 packets).
const PHASE: f64 = 0.05;

impl Played {
    pub fn new(transfers: &[Transfer], deployed: &Deployed, chain: &Chain, rtt: f64, reading: &Reading) -> Played {
        let at = played_rates(chain, reading);
        let empty = || vec![vec![0.0; chain.rates.len()]; transfers.len()];
        let mut played = Played { takes: empty(), again: empty(), luck: vec![0.0; chain.rates.len()] };
        for &index in &at {
            let plays: Vec<Vec<Served>> = (0..reading.plays())
                .map(|play| {
                    let link = Link::new(chain.rates[index], rtt).queueing(reading.queue).losing(reading.loss, play);
                    let mut connection = Connection::new(deployed, link);
                    (0..transfers.len()).map(|i| connection.serve(&transfers[i], gap(transfers, i))).collect()
                })
                .collect();
            played.keep(index, &plays, rtt, reading);
        }
        for pair in at.windows(2) {
            (pair[0] + 1..pair[1]).for_each(|index| played.interpolate(index, pair[0], pair[1], &chain.rates));
        }
        played
    }

    fn keep(&mut self, rate: usize, plays: &[Vec<Served>], rtt: f64, reading: &Reading) {
        let (count, transfers) = (plays.len() as f64, self.takes.len());
        let mut varied = vec![];
        for index in 0..transfers {
            let times = plays.iter().map(|play| play[index].took_s - rtt);
            let mean = times.clone().sum::<f64>() / count;
            self.takes[index][rate] = mean;
            self.again[index][rate] = plays.iter().map(|play| play[index].again).sum::<f64>() / count;
            varied.extend(times.map(|time| (time / mean.max(1e-9) - 1.0).abs()));
        }
        // Two thirds are within a standard deviation; bursts, which few transfers meet, are in the tails of the emission. The mean of a
        // few plays is off, too: what varies around it is less by (n - 1) / n, what varies around the truth more by 1 + 1 / n.
        varied.sort_by(f64::total_cmp);
        let deviation = varied[varied.len() * 2 / 3];
        let more = if count > 1.0 { (count + 1.0) / (count - 1.0) } else { 0.0 };
        let phase = if reading.is_plain() { 0.0 } else { PHASE };
        self.luck[rate] = libm::sqrt(deviation * deviation * more + phase * phase);
    }

    fn interpolate(&mut self, index: usize, low: usize, high: usize, rates: &[f64]) {
        // In the time of a byte, transfers that fill their path are on a line.
        let pace = |rate: usize| 1.0 / rates[rate];
        let share = (pace(index) - pace(low)) / (pace(high) - pace(low));
        let between = |low: f64, high: f64| low + share * (high - low);
        for row in self.takes.iter_mut().chain(&mut self.again) {
            row[index] = between(row[low], row[high]);
        }
        self.luck[index] = between(self.luck[low], self.luck[high]);
    }
}

impl Reading {
    /// Nothing happens to a packet but that it waits for its own.
    pub(crate) fn is_plain(&self) -> bool {
        self.queue.is_none() && self.loss == 0.0
    }

    fn plays(&self) -> u64 {
        if self.loss > 0.0 { NOISY_PLAYS } else { 1 }
    }
}

/// Rates of the grid at which the connection is played.
fn played_rates(chain: &Chain, reading: &Reading) -> Vec<usize> {
    let last = chain.rates.len() - 1;
    if reading.is_plain() {
        return (0..last).step_by(EVERY).chain([last]).collect();
    }
    let fine = chain.widths.iter().take_while(|width| **width == chain.widths[0]).count();
    (0..fine).step_by(EVERY_PACKET.0).chain((fine..last).step_by(EVERY_PACKET.1)).chain([last]).collect()
}

/// Seconds in which nothing was asked for before a transfer.
pub(crate) fn gap(transfers: &[Transfer], index: usize) -> f64 {
    if index == 0 { 0.0 } else { (transfers[index].at_s - transfers[index - 1].end_s()).max(0.0) }
}
