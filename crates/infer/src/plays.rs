//! The deployed sender at work on the session's transfers, at the rates that its path may have had, under one reading of its losses.
//!
//! It is played at as many rates as its times are curved between: an interval of rates is halved until the play in its middle is what
//! its ends say. What is left of the difference, where packets are lost, is the luck of a play: at which packet a queue overflows, a
//! rate a little higher decides anew.

use crate::chain::Grain;
use crate::connection::{Connection, Link, Served};
use crate::deployed::Deployed;
use crate::log::Transfer;
use crate::readings::Reading;

/// What was played: at each of some rates, rising.
pub(crate) struct Played {
    at: Vec<Play>,
}

/// At one rate, for each transfer.
#[derive(Clone)]
struct Play {
    /// bit/s.
    rate: f64,
    /// Seconds beyond a round trip, mean over the plays.
    takes: Vec<f64>,
    /// Packets sent again.
    again: Vec<f64>,
    /// What a transfer's time differs by from play to play, as a share.
    luck: f64,
}

/// What was played, at the rates of a grid.
pub(crate) struct Table {
    /// For each transfer, at each rate.
    pub takes: Vec<Vec<f64>>,
    pub again: Vec<Vec<f64>>,
    /// At each rate.
    pub luck: Vec<f64>,
}

/// Plays of random losses.
const NOISY_PLAYS: u64 = 2;
/// What a transfer's time is off by where packets are lost: the model of the connection against the engine (0 to 6 %, most in queues
/// of 15 packets).
const MODEL: f64 = 0.05;
/// How far apart the rates are that are played, in the logarithm.
struct Spacing {
    most: f64,
    least: f64,
    /// An interval is halved until the times in its middle are off by no more than this share.
    off: f64,
}

impl Spacing {
    /// Where nothing is lost, times are exact; where packets are, they are a matter of luck.
    fn of(reading: &Reading, grain: &Grain) -> Spacing {
        match (reading.is_plain(), grain.is_rough) {
            (true, false) => Spacing { most: 0.8, least: 0.05, off: 0.001 },
            (true, true) => Spacing { most: 0.8, least: 0.15, off: 0.002 },
            (false, false) => Spacing { most: 0.8, least: 0.2, off: 0.03 },
            (false, true) => Spacing { most: 0.8, least: 0.35, off: 0.05 },
        }
    }
}

impl Played {
    /// At rates from `low` to `high`.
    pub fn new(
        transfers: &[Transfer],
        deployed: &Deployed,
        (low, high): (f64, f64),
        rtt: f64,
        reading: &Reading,
        grain: &Grain,
    ) -> Played {
        let spacing = Spacing::of(reading, grain);
        let play = |rate| Play::new(transfers, deployed, rate, rtt, reading);
        let mut played = Played { at: vec![play(low)] };
        let last = play(high);
        played.between(&last, &spacing, &play);
        played.at.push(last);
        if !reading.is_plain() {
            played.keep_luck();
        }
        played
    }

    /// Play between the last rate that is kept and `to`, as far as is needed.
    fn between(&mut self, to: &Play, spacing: &Spacing, play: &dyn Fn(f64) -> Play) {
        let from = self.at.last().expect("the lowest").clone();
        let width = libm::log(to.rate / from.rate);
        if width <= spacing.least {
            return;
        }
        let middle = play(libm::sqrt(from.rate * to.rate));
        let is_straight = width <= spacing.most && middle.off(&from, to) <= spacing.off;
        if !is_straight {
            self.between(&middle, spacing, play);
        }
        self.at.push(middle);
        if !is_straight {
            self.between(to, spacing, play);
        }
    }

    /// Add what a rate's times are off by from what the rates beside it say: of three that vary alike, by √1.5 times as much as one.
    fn keep_luck(&mut self) {
        let off: Vec<f64> = self.at.windows(3).map(|three| three[1].off(&three[0], &three[2])).collect();
        for (index, play) in self.at.iter_mut().enumerate() {
            let near = off[index.saturating_sub(1).min(off.len() - 1)] / 1.22;
            play.luck = libm::sqrt(play.luck * play.luck + near * near + MODEL * MODEL);
        }
    }

    /// At the rates of a grid.
    pub fn on(&self, rates: &[f64]) -> Table {
        let transfers = self.at[0].takes.len();
        let empty = || vec![Vec::with_capacity(rates.len()); transfers];
        let mut table = Table { takes: empty(), again: empty(), luck: vec![] };
        for &rate in rates {
            let above = self.at.partition_point(|play| play.rate < rate).clamp(1, self.at.len() - 1);
            let (low, high) = (&self.at[above - 1], &self.at[above]);
            let share = share(rate, low.rate, high.rate);
            let between = |low: f64, high: f64| low + share * (high - low);
            for index in 0..transfers {
                table.takes[index].push(between(low.takes[index], high.takes[index]));
                table.again[index].push(between(low.again[index], high.again[index]));
            }
            table.luck.push(between(low.luck, high.luck));
        }
        table
    }
}

/// Where a rate is between two others. In the time of a byte, transfers that fill their path are on a line.
fn share(rate: f64, low: f64, high: f64) -> f64 {
    ((1.0 / rate - 1.0 / low) / (1.0 / high - 1.0 / low)).clamp(0.0, 1.0)
}

impl Play {
    fn new(transfers: &[Transfer], deployed: &Deployed, rate: f64, rtt: f64, reading: &Reading) -> Play {
        let plays: Vec<Vec<Served>> = (0..reading.plays())
            .map(|play| {
                let link = Link::new(rate, rtt).queueing(reading.queue).losing(reading.loss, play);
                let mut connection = Connection::new(deployed, link);
                (0..transfers.len()).map(|i| connection.serve(&transfers[i], gap(transfers, i))).collect()
            })
            .collect();
        let count = plays.len() as f64;
        let mean = |of: &dyn Fn(&Served) -> f64| -> Vec<f64> {
            (0..transfers.len()).map(|i| plays.iter().map(|play| of(&play[i])).sum::<f64>() / count).collect()
        };
        let takes = mean(&|served| served.took_s - rtt);
        let varied = plays.iter().flat_map(|play| {
            play.iter().zip(&takes).map(|(served, mean)| ((served.took_s - rtt) / mean.max(1e-9) - 1.0).abs())
        });
        // The mean of a few plays is off, too: what varies around it is less by (n - 1) / n, what varies around the truth more by 1 + 1 / n.
        let more = if count > 1.0 { (count + 1.0) / (count - 1.0) } else { 0.0 };
        let luck = deviation(varied.collect()) * libm::sqrt(more);
        Play { rate, again: mean(&|served| served.again), takes, luck }
    }

    /// By how much its times differ from what two rates around it say, as a share.
    fn off(&self, low: &Play, high: &Play) -> f64 {
        let share = share(self.rate, low.rate, high.rate);
        let off = |index: usize| {
            let said = low.takes[index] + share * (high.takes[index] - low.takes[index]);
            (self.takes[index] / said.max(1e-9) - 1.0).abs()
        };
        deviation((0..self.takes.len()).map(off).collect())
    }
}

/// Three quarters are within 1.15 standard deviations; bursts, which few transfers meet, are in the tails of the emission.
fn deviation(mut off: Vec<f64>) -> f64 {
    off.sort_by(f64::total_cmp);
    off[off.len() * 3 / 4] / 1.15
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

/// Seconds in which nothing was asked for before a transfer.
pub(crate) fn gap(transfers: &[Transfer], index: usize) -> f64 {
    if index == 0 { 0.0 } else { (transfers[index].at_s - transfers[index - 1].end_s()).max(0.0) }
}
