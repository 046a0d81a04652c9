//! Simulates the deployed sender (a "play") with the session's transfers at candidate rates of its path, under one reading of its losses.
//!
//! Rates are refined adaptively: an interval is halved until the play in its middle agrees with the interpolation between its ends. With
//! losses a random difference remains, since at a slightly higher rate the queue overflows at another packet. A transfer is simulated only
//! at rates at which it may have taken its logged time; between two rates that are both too fast or both too slow, its time is interpolated.

use crate::chain::Grain;
use crate::connection::{Connection, Link, Served};
use crate::deployed::Deployed;
use crate::log::Transfer;
use crate::readings::Reading;

/// The plays at some rates, in ascending order.
pub(crate) struct Played<'a> {
    what: PlayedSession<'a>,
    at: Vec<Play>,
    shared: f64,
}

#[derive(Clone, Copy)]
pub(crate) struct PlayedSession<'a> {
    pub transfers: &'a [Transfer],
    pub deployed: &'a Deployed,
    pub rtt: f64,
    pub reading: Reading,
    pub grain: &'a Grain,
}

#[derive(Clone)]
struct Play {
    /// bit/s.
    rate: f64,
    /// Seconds beyond a round trip, mean over the plays.
    takes: Vec<f64>,
    /// Retransmitted packets, and packets dropped by the queue.
    again: Vec<f64>,
    dropped: Vec<f64>,
    /// The latter, averaged with the neighbouring rates.
    around: Vec<f64>,
    /// Variation of each transfer's time from play to play, as a share.
    variation: Vec<f64>,
    /// Whether the transfer may have taken its time at this rate, and was therefore played.
    is_near: Vec<bool>,
}

pub(crate) struct Table {
    pub takes: Vec<Vec<f64>>,
    pub dropped: Vec<Vec<f64>>,
    /// `dropped`, averaged with the adjacent rates, because at which packet a queue overflows is random.
    pub around: Vec<Vec<f64>>,
    pub variation: Vec<Vec<f64>>,
    /// Share of the variance that all transfers of a play have in common.
    pub shared: f64,
}

/// Number of plays with random losses on the fine grid; of longer sessions one is enough, since plays at adjacent rates are independent.
const NOISY_PLAYS: u64 = 2;
const LONG: f64 = 40_000.0;
/// A transfer is not played at rates at which it would take more than `TOO_SLOW` times as long as logged plus `AND_S`; nor, without random
/// losses, between rates at which it takes `FAR` times more or less. The first transfers are always played, because they set the sender's
/// state.
const TOO_SLOW: f64 = 1.5;
const FAR: f64 = 1.2;
const AND_S: f64 = 0.15;
const FIRST: usize = 2;
/// Minimum deviation of a simulated time: this connection model against the engine (0 to 0.7 % where the path is filled); and the factor by
/// which the true variation exceeds that between two plays with random losses.
const MODEL: f64 = 0.01;
const NOISIER: f64 = 1.3;
/// The same for a transfer with random losses: the engine's recovery sometimes needs a timeout, which this model does not have.
const REPAIRED: f64 = 0.06;
const MAX_VARIATION: f64 = 0.6;
/// How far apart the rates are that are played, in the logarithm.
#[derive(Clone, Copy)]
struct Spacing {
    most: f64,
    least: f64,
    /// An interval is halved until the times in its middle are off by no more than this share.
    off: f64,
}

/// Factor on the spacing above the rates that the session shows, where the sender or its losses determine the times and not the link.
const UNSEEN: f64 = 2.0;
/// The same for long sessions with random losses.
const UNSEEN_LONG: f64 = 4.0;

impl Spacing {
    fn of(reading: &Reading, deployed: &Deployed, grain: &Grain) -> Spacing {
        let (least, off) = match (reading.is_plain(), deployed.is_window_based()) {
            // Most of a play is closed-form and exact.
            (true, true) => (0.1, 0.002),
            // Each packet is played.
            (true, false) => (0.12, 0.01),
            // Times vary randomly.
            (false, _) => (0.33, 0.03),
        };
        let rough = if grain.is_rough { 2.0 } else { 1.0 };
        Spacing { most: 0.8, least: rough * least, off: rough * off }
    }
}

impl<'a> Played<'a> {
    /// Plays at rates from `low` to `high`; rates up to `shown` were seen in the session.
    pub fn new(what: PlayedSession<'a>, [low, shown, high]: [f64; 3]) -> Played<'a> {
        let PlayedSession { deployed, reading, grain, .. } = what;
        let spacing = Spacing::of(&reading, deployed, grain);
        let mut played = Played { what, at: vec![], shared: 0.0 };
        let farther = if reading.loss > 0.0 && played.is_long() { UNSEEN_LONG } else { UNSEEN };
        let unseen = Spacing { most: farther * spacing.most, least: farther * spacing.least, ..spacing };
        let first = played.play(low, None, None);
        played.at.push(first);
        for (to, spacing) in [(shown, spacing), (high, unseen)] {
            let last = played.play(to, played.at.last(), None);
            played.between(&last, &spacing);
            played.at.push(last);
        }
        if !(reading.is_plain() && deployed.is_window_based()) {
            played.shared = played.shared_variation();
            played.smooth_variation();
            played.average_drops();
        }
        if reading.loss > 0.0 {
            played.make_monotonic();
        }
        played
    }

    /// Add plays between the last kept rate and `to` as needed.
    fn between(&mut self, to: &Play, spacing: &Spacing) {
        let from = self.at.last().expect("the lowest").clone();
        let width = libm::log(to.rate / from.rate);
        if width <= spacing.least {
            return;
        }
        let middle = self.play(libm::sqrt(from.rate * to.rate), Some(&from), Some(to));
        let is_straight = width <= spacing.most && deviation(middle.off(&from, to).collect()) <= spacing.off;
        if !is_straight {
            self.between(&middle, spacing);
        }
        self.at.push(middle);
        if !is_straight {
            self.between(to, spacing);
        }
    }

    /// Play at a rate between those of two plays, or above that of one.
    fn play(&self, rate: f64, below: Option<&Play>, above: Option<&Play>) -> Play {
        let PlayedSession { transfers, deployed, rtt, reading, .. } = self.what;
        let may_have_been = |(index, transfer): (usize, &Transfer)| {
            let is_slow = alone_s(transfer, deployed, rate) > TOO_SLOW * transfer.took_s + AND_S;
            !is_slow && (reading.loss > 0.0 || !self.is_far(index, below, above))
        };
        let is_near: Vec<bool> = transfers.iter().enumerate().map(may_have_been).collect();
        let is_played: Vec<bool> =
            is_near.iter().enumerate().map(|(index, is_near)| index < FIRST || *is_near).collect();
        let served: Vec<Vec<Served>> = (0..self.plays())
            .map(|play| {
                let link = Link::new(rate, rtt).queueing(reading.queue).losing(reading.loss, play);
                let mut connection = Connection::new(deployed, link);
                (0..transfers.len())
                    .filter(|index| is_played[*index])
                    .map(|index| connection.serve(&transfers[index], gap(transfers, index)))
                    .collect()
            })
            .collect();
        let mut play = Play::at(rate, transfers.len());
        let mut place = 0;
        for (index, transfer) in transfers.iter().enumerate() {
            if is_played[index] {
                let one: Vec<Served> = served.iter().map(|play| play[place]).collect();
                place += 1;
                play.take(index, &one, rtt);
            } else {
                play.leave(index, below.zip(above), alone_s(transfer, deployed, rate));
            }
        }
        play.is_near = is_near;
        play
    }

    /// Whether at all rates between two plays (or above one) a transfer takes another time than logged. Over a faster link it may take longer
    /// if the queue overflows, but not if nothing is lost.
    fn is_far(&self, index: usize, below: Option<&Play>, above: Option<&Play>) -> bool {
        let PlayedSession { transfers, rtt, reading, .. } = self.what;
        let (took_s, takes) = (transfers[index].took_s, |play: &Play| play.takes[index] + rtt);
        let is_quick = |play: &Play| FAR * takes(play) + AND_S < took_s;
        let is_slow = |play: &Play| takes(play) > FAR * took_s + AND_S;
        match (below, above) {
            (Some(below), Some(above)) => is_quick(below) && is_quick(above) || is_slow(below) && is_slow(above),
            (Some(below), None) => reading.is_plain() && is_quick(below),
            _ => false,
        }
    }

    fn plays(&self) -> u64 {
        if self.what.reading.loss > 0.0 && !self.what.grain.is_rough && !self.is_long() { NOISY_PLAYS } else { 1 }
    }

    fn is_long(&self) -> bool {
        let packets: f64 = self.what.transfers.iter().map(|transfer| transfer.bytes / self.what.deployed.mss).sum();
        packets >= LONG
    }

    /// Share of the variance that the transfers of a play share: the variance of their mean, less that of the mean of independent transfers,
    /// over the variance of a single one.
    fn shared_variation(&self) -> f64 {
        let of = |three: &[Play]| {
            let near = (0..three[1].takes.len()).filter(|index| three.iter().all(|play| play.is_near[*index]));
            let off: Vec<f64> = near.map(|index| three[1].off_at(index, &three[0], &three[2])).collect();
            let count = off.len() as f64;
            let mean = off.iter().sum::<f64>() / count;
            let square = off.iter().map(|x| x * x).sum::<f64>() / count;
            if count > 1.0 { (mean * mean - (square - mean * mean) / (count - 1.0), square) } else { (0.0, 0.0) }
        };
        let (shared, all) = self.at.windows(3).map(of).fold((0.0, 1e-12), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        (shared / all).clamp(0.0, 1.0)
    }

    /// With a single play per rate, the variation is estimated from the adjacent rates: of three equal variances, one value deviates from the
    /// interpolation of the other two by √1.5 standard deviations. The estimate is averaged over the adjacent rates.
    fn smooth_variation(&mut self) {
        let is_noisy = self.what.reading.loss > 0.0;
        let more = if is_noisy { NOISIER } else { 1.0 };
        let plays = self.plays();
        let seen: Vec<Vec<f64>> = if plays > 1 {
            self.at.iter().map(|play| play.variation.clone()).collect()
        } else {
            let near = |three: &[Play]| three[1].variation_between(&three[0], &three[2]);
            self.at.windows(3).map(near).collect()
        };
        let before = usize::from(plays == 1);
        let mean = |known: &mut dyn Iterator<Item = f64>| {
            let (sum, count) = known.filter(|x| x.is_finite()).fold((0.0, 0.0), |sum, x| (sum.0 + x * x, sum.1 + 1.0));
            if count > 0.0 { sum / count } else { 0.0 }
        };
        for (index, play) in self.at.iter_mut().enumerate() {
            let middle = index.saturating_sub(before).min(seen.len() - 1);
            let around = &seen[middle.saturating_sub(1)..(middle + 2).min(seen.len())];
            for (transfer, variation) in play.variation.iter_mut().enumerate() {
                let variance = mean(&mut around.iter().map(|one| one[transfer]));
                let model = if is_noisy && play.again[transfer] >= 1.0 { REPAIRED } else { MODEL };
                *variation = libm::sqrt(more * more * variance + model * model).min(MAX_VARIATION);
            }
        }
    }

    /// Average the drops with those at the adjacent rates, because at which packet a queue overflows is random.
    fn average_drops(&mut self) {
        for index in 0..self.at.len() {
            let adjacent = index.saturating_sub(1)..(index + 2).min(self.at.len());
            let mean = |transfer: usize| {
                self.at[adjacent.clone()].iter().map(|play| play.dropped[transfer]).sum::<f64>() / adjacent.len() as f64
            };
            self.at[index].around = (0..self.what.transfers.len()).map(mean).collect();
        }
    }

    /// Over a faster link no transfer takes longer; where plays with random losses contradict this, their mean is the better estimate.
    /// Isotonic regression by pooling adjacent violators (Barlow et al., "Statistical inference under order restrictions", 1972).
    fn make_monotonic(&mut self) {
        for transfer in 0..self.what.transfers.len() {
            let mut pools: Vec<(f64, usize)> = vec![];
            for play in &self.at {
                let mut own = (play.takes[transfer], 1);
                while let Some(&(mean, count)) = pools.last().filter(|pool| pool.0 < own.0) {
                    pools.pop();
                    own = ((mean * count as f64 + own.0 * own.1 as f64) / (count + own.1) as f64, count + own.1);
                }
                pools.push(own);
            }
            let means = pools.iter().flat_map(|&(mean, count)| std::iter::repeat_n(mean, count));
            self.at.iter_mut().zip(means).for_each(|(play, mean)| play.takes[transfer] = mean);
        }
    }

    pub fn on(&self, rates: &[f64]) -> Table {
        let transfers = self.at[0].takes.len();
        let empty = || vec![Vec::with_capacity(rates.len()); transfers];
        let mut table =
            Table { takes: empty(), dropped: empty(), around: empty(), variation: empty(), shared: self.shared };
        for &rate in rates {
            let above = self.at.partition_point(|play| play.rate < rate).clamp(1, self.at.len() - 1);
            let (low, high) = (&self.at[above - 1], &self.at[above]);
            let share = share(rate, low.rate, high.rate);
            let between = |low: f64, high: f64| low + share * (high - low);
            for index in 0..transfers {
                table.takes[index].push(between(low.takes[index], high.takes[index]));
                table.dropped[index].push(between(low.dropped[index], high.dropped[index]));
                table.around[index].push(between(low.around[index], high.around[index]));
                table.variation[index].push(between(low.variation[index], high.variation[index]));
            }
        }
        table
    }
}

/// Position of a rate between two others, in terms of the time per byte, in which the times of transfers that fill their path are linear.
fn share(rate: f64, low: f64, high: f64) -> f64 {
    ((1.0 / rate - 1.0 / low) / (1.0 / high - 1.0 / low)).clamp(0.0, 1.0)
}

impl Play {
    fn at(rate: f64, transfers: usize) -> Play {
        let none = vec![0.0; transfers];
        Play {
            rate,
            takes: none.clone(),
            again: none.clone(),
            dropped: none.clone(),
            around: none.clone(),
            variation: none,
            is_near: vec![false; transfers],
        }
    }

    /// Set the time of a transfer that is not played: interpolated between two plays, else the transmission time of its bytes.
    fn leave(&mut self, index: usize, around: Option<(&Play, &Play)>, alone_s: f64) {
        let Some((below, above)) = around else {
            self.takes[index] = alone_s;
            return;
        };
        let share = share(self.rate, below.rate, above.rate);
        let between = |low: f64, high: f64| low + share * (high - low);
        self.takes[index] = between(below.takes[index], above.takes[index]);
        self.again[index] = between(below.again[index], above.again[index]);
        self.dropped[index] = between(below.dropped[index], above.dropped[index]);
    }

    /// Combine the results of a transfer in several plays.
    fn take(&mut self, index: usize, served: &[Served], rtt: f64) {
        let count = served.len() as f64;
        let mean = |of: &dyn Fn(&Served) -> f64| served.iter().map(of).sum::<f64>() / count;
        let takes = mean(&|one| one.took_s - rtt);
        let off = |one: &Served| (one.took_s - rtt) / takes.max(1e-9) - 1.0;
        // The sample variance around the mean of n plays is too small by (n - 1) / n; the mean itself varies, which adds 1 / n.
        let more = if count > 1.0 { (count + 1.0) / (count - 1.0) } else { 0.0 };
        self.takes[index] = takes;
        self.again[index] = mean(&|one| one.again);
        self.dropped[index] = mean(&|one| one.dropped);
        self.variation[index] = libm::sqrt(more * mean(&|one| off(one) * off(one)));
    }

    /// By how much a transfer's time differs from the interpolation between two rates around it, as a share.
    fn off_at(&self, index: usize, low: &Play, high: &Play) -> f64 {
        let said = low.takes[index] + share(self.rate, low.rate, high.rate) * (high.takes[index] - low.takes[index]);
        self.takes[index] / said.max(1e-9) - 1.0
    }

    fn off(&self, low: &Play, high: &Play) -> impl Iterator<Item = f64> {
        (0..self.takes.len()).filter(|index| self.is_near[*index]).map(|index| self.off_at(index, low, high).abs())
    }

    fn variation_between(&self, low: &Play, high: &Play) -> Vec<f64> {
        let are_played = |index: usize| [low, self, high].iter().all(|play| play.is_near[index]);
        let variation = |index: usize| if are_played(index) { self.off_at(index, low, high) / 1.22 } else { f64::NAN };
        (0..self.takes.len()).map(variation).collect()
    }
}

/// Seconds that a transfer's bytes take on a link of their own.
pub(crate) fn alone_s(transfer: &Transfer, deployed: &Deployed, rate: f64) -> f64 {
    8.0 * transfer.bytes * (1.0 + deployed.header / deployed.mss) / rate
}

/// Three quarters are within 1.15 standard deviations; bursts, which few transfers meet, are in the tails of the emission.
fn deviation(mut off: Vec<f64>) -> f64 {
    if off.is_empty() {
        return 0.0;
    }
    off.sort_by(f64::total_cmp);
    off[off.len() * 3 / 4] / 1.15
}

impl Reading {
    /// Whether packets only wait behind packets of their own connection.
    pub(crate) fn is_plain(&self) -> bool {
        self.queue.is_none() && self.loss == 0.0
    }
}

/// Idle seconds before a transfer.
pub(crate) fn gap(transfers: &[Transfer], index: usize) -> f64 {
    if index == 0 { 0.0 } else { (transfers[index].at_s - transfers[index - 1].end_s()).max(0.0) }
}

#[cfg(test)]
mod tests;
