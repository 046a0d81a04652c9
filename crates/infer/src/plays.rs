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
    /// What each transfer's time differs by from play to play, as a share.
    luck: Vec<f64>,
}

/// What was played, at the rates of a grid.
pub(crate) struct Table {
    /// For each transfer, at each rate.
    pub takes: Vec<Vec<f64>>,
    pub again: Vec<Vec<f64>>,
    pub luck: Vec<Vec<f64>>,
}

/// Plays of random losses, where courses are drawn.
const NOISY_PLAYS: u64 = 2;
/// What a transfer's time is off by at least where packets are played: the model of the connection against the engine (0 to 0.7 % where
/// the path is filled); and how much more than the plays of random losses show: two are few.
const MODEL: f64 = 0.01;
const NOISIER: f64 = 1.3;
/// Of a transfer in which noise struck: the engine's repairs take a timeout now and then, which the model has none of.
const REPAIRED: f64 = 0.12;
const MOST_LUCK: f64 = 0.6;
/// How far apart the rates are that are played, in the logarithm.
#[derive(Clone, Copy)]
struct Spacing {
    most: f64,
    least: f64,
    /// An interval is halved until the times in its middle are off by no more than this share.
    off: f64,
}

/// So many times farther apart above what the session shows, where the sender or its losses say how long transfers take, not the link.
const UNSEEN: f64 = 2.0;

impl Spacing {
    fn of(reading: &Reading, deployed: &Deployed, grain: &Grain) -> Spacing {
        let (least, off) = match (reading.is_plain(), deployed.is_window_based()) {
            // Most of a play is arithmetic, and exact.
            (true, true) => (0.1, 0.002),
            // Each packet is played.
            (true, false) => (0.12, 0.01),
            // Times are a matter of luck.
            (false, _) => (0.33, 0.03),
        };
        let rough = if grain.is_rough { 2.0 } else { 1.0 };
        Spacing { most: 0.8, least: rough * least, off: rough * off }
    }
}

impl Played {
    /// At rates from `low` to `high`, of which the session shows those up to `shown`.
    pub fn new(
        transfers: &[Transfer],
        deployed: &Deployed,
        [low, shown, high]: [f64; 3],
        rtt: f64,
        reading: &Reading,
        grain: &Grain,
    ) -> Played {
        let spacing = Spacing::of(reading, deployed, grain);
        let unseen = Spacing { most: UNSEEN * spacing.most, least: UNSEEN * spacing.least, ..spacing };
        let plays = if reading.loss > 0.0 && !grain.is_rough { NOISY_PLAYS } else { 1 };
        let play = |rate| Play::new(transfers, deployed, rate, rtt, reading, plays);
        let mut played = Played { at: vec![play(low)] };
        for (to, spacing) in [(shown, spacing), (high, unseen)] {
            let last = play(to);
            played.between(&last, &spacing, &play);
            played.at.push(last);
        }
        if !(reading.is_plain() && deployed.is_window_based()) {
            played.keep_luck(reading, plays);
            played.blur_losses();
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
        let is_straight = width <= spacing.most && deviation(middle.off(&from, to)) <= spacing.off;
        if !is_straight {
            self.between(&middle, spacing, play);
        }
        self.at.push(middle);
        if !is_straight {
            self.between(to, spacing, play);
        }
    }

    /// Where a play at a rate is the only one, the rates beside it tell its luck: of three that vary alike, one is off from what the
    /// others say by √1.5 times as much as it varies. Luck is that of a transfer, and of the rates around.
    fn keep_luck(&mut self, reading: &Reading, plays: u64) {
        let more = if reading.loss > 0.0 { NOISIER } else { 1.0 };
        let seen: Vec<Vec<f64>> = if plays > 1 {
            self.at.iter().map(|play| play.luck.clone()).collect()
        } else {
            let near = |three: &[Play]| three[1].off(&three[0], &three[2]).iter().map(|off| off / 1.22).collect();
            self.at.windows(3).map(near).collect()
        };
        let before = usize::from(plays == 1);
        for (index, play) in self.at.iter_mut().enumerate() {
            let middle = index.saturating_sub(before).min(seen.len() - 1);
            let around = &seen[middle.saturating_sub(1)..(middle + 2).min(seen.len())];
            for (transfer, luck) in play.luck.iter_mut().enumerate() {
                let sum: f64 = around.iter().map(|one| one[transfer] * one[transfer]).sum();
                let model = if reading.loss > 0.0 && play.again[transfer] >= 1.0 { REPAIRED } else { MODEL };
                *luck = libm::sqrt(more * more * sum / around.len() as f64 + model * model).min(MOST_LUCK);
            }
        }
    }

    /// At which packet a queue overflows is as much a matter of luck: what is lost at the rates beside it may be lost at a rate, too.
    fn blur_losses(&mut self) {
        let lost: Vec<Vec<f64>> = self.at.iter().map(|play| play.again.clone()).collect();
        for (index, play) in self.at.iter_mut().enumerate() {
            let around = &lost[index.saturating_sub(1)..(index + 2).min(lost.len())];
            for (transfer, again) in play.again.iter_mut().enumerate() {
                *again = around.iter().map(|one| one[transfer]).sum::<f64>() / around.len() as f64;
            }
        }
    }

    /// At the rates of a grid.
    pub fn on(&self, rates: &[f64]) -> Table {
        let transfers = self.at[0].takes.len();
        let empty = || vec![Vec::with_capacity(rates.len()); transfers];
        let mut table = Table { takes: empty(), again: empty(), luck: empty() };
        for &rate in rates {
            let above = self.at.partition_point(|play| play.rate < rate).clamp(1, self.at.len() - 1);
            let (low, high) = (&self.at[above - 1], &self.at[above]);
            let share = share(rate, low.rate, high.rate);
            let between = |low: f64, high: f64| low + share * (high - low);
            for index in 0..transfers {
                table.takes[index].push(between(low.takes[index], high.takes[index]));
                table.again[index].push(between(low.again[index], high.again[index]));
                table.luck[index].push(between(low.luck[index], high.luck[index]));
            }
        }
        table
    }
}

/// Where a rate is between two others. In the time of a byte, transfers that fill their path are on a line.
fn share(rate: f64, low: f64, high: f64) -> f64 {
    ((1.0 / rate - 1.0 / low) / (1.0 / high - 1.0 / low)).clamp(0.0, 1.0)
}

impl Play {
    fn new(transfers: &[Transfer], deployed: &Deployed, rate: f64, rtt: f64, reading: &Reading, plays: u64) -> Play {
        let plays: Vec<Vec<Served>> = (0..plays)
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
        // The mean of a few plays is off, too: what varies around it is less by (n - 1) / n, what varies around the truth more by 1 + 1 / n.
        let more = if count > 1.0 { (count + 1.0) / (count - 1.0) } else { 0.0 };
        let luck = (0..transfers.len())
            .map(|i| {
                let off = |play: &Vec<Served>| (play[i].took_s - rtt) / takes[i].max(1e-9) - 1.0;
                libm::sqrt(more * plays.iter().map(|play| off(play) * off(play)).sum::<f64>() / count)
            })
            .collect();
        Play { rate, again: mean(&|served| served.again), takes, luck }
    }

    /// By how much its times differ from what two rates around it say, as shares.
    fn off(&self, low: &Play, high: &Play) -> Vec<f64> {
        let share = share(self.rate, low.rate, high.rate);
        let off = |index: usize| {
            let said = low.takes[index] + share * (high.takes[index] - low.takes[index]);
            (self.takes[index] / said.max(1e-9) - 1.0).abs()
        };
        (0..self.takes.len()).map(off).collect()
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
}

/// Seconds in which nothing was asked for before a transfer.
pub(crate) fn gap(transfers: &[Transfer], index: usize) -> f64 {
    if index == 0 { 0.0 } else { (transfers[index].at_s - transfers[index - 1].end_s()).max(0.0) }
}

#[cfg(test)]
mod tests;
