//! The weights of stalls, waiting, switches and the picture relative to each other: a range from the literature, in one unit.
//!
//! Where the picture differs between sessions no order of criteria is right: half a second of stall does not outweigh a picture half
//! as good for a whole film. So a session's loss is `-played * quality + stall * (stalls + start * waiting) + switch * switches`,
//! with the quality in steps of the picture (one step: half the rate) and all weights in seconds at one step less. It is linear, as
//! in Yin et al. 2015 ("A Control-Theoretic Approach for Dynamic Adaptive Video Streaming over HTTP"), Mao et al. 2017 (Pensieve) and
//! Yan et al. 2020 (Puffer). A sender is better where it is better at all corners of the range: for every viewer in between, too.
//!
//! | weight | range | from |
//! | --- | --- | --- |
//! | stall, at half the rate R (kbit/s) | 24 000 / R to 48 000 / R s, and 15 s | Yin: a second of stall costs 3000 kbit/s ("balanced") to 6000 kbit/s ("avoid rebuffering") of a chunk of 4 s, half of a rate R costs R/2 each second. Pensieve's logarithmic form: 2.66 * 4 s / ln 2 = 15, at any rate. R is what the sessions show on average |
//! | stall, at 1 dB of SSIM less | 200 s | Puffer: 100 dB of a chunk of 2.002 s |
//! | stall, at 10 points of VMAF less | 14 s | Huang et al. 2019 (Comyco): 28.7959 / 0.8469 points of a chunk of 4 s; SSIMplus has the same scale |
//! | waiting, of a stall as long | 1/3 to 1 | ITU-T P.1203.3 counts a third of the initial loading, Yin all of it |
//! | a switch by one step | 2 to 4 s | Puffer and Yin: as much as one chunk (2.002 and 4 s) a step lower |
//!
//! A discarded frame is a stall of 1/25 s. What nobody notices of two sessions weighs nothing: picture and switches, stalls and discarded
//! frames, and the start count where they differ by more than their own margin, and their sum where it is more than the least of these.

use crate::ranking::Runs;
use crate::stats::mean;
use playpath_record::registry::Metric;

/// The loss with the weights in the middle of their ranges; the corners are called `CORNERS`.
pub(crate) const MIDDLE: &str = "preference";
/// The corners of the box of weights: least or most of stall, waiting, switch.
pub(crate) const CORNERS: [&str; 8] = [
    "preference of corner 1",
    "preference of corner 2",
    "preference of corner 3",
    "preference of corner 4",
    "preference of corner 5",
    "preference of corner 6",
    "preference of corner 7",
    "preference of corner 8",
];

const STALL: &str = "stall_time_s";
const START: &str = "startup_delay_s";
const DISCARDED: &str = "discarded_pictures";
const SWITCHES: &str = "switches";
const WAITING: [f64; 2] = [1.0 / 3.0, 1.0];
const SWITCH: [f64; 2] = [2.0, 4.0];
const FRAME_S: f64 = 0.04;
/// Pensieve's logarithmic form: 2.66 * 4 s / ln 2.
const LOGARITHMIC: f64 = 15.35;

struct Picture {
    metric: &'static str,
    step: &'static str,
    steps: fn(f64) -> f64,
    /// The weight of a second of stall, given the average picture of the sessions.
    stall: fn(f64) -> [f64; 2],
    /// Steps that switches go up or down; where that is not known, `switches` counts each as one.
    switched: &'static str,
}

const PICTURES: [Picture; 4] = [
    Picture {
        metric: "mean_vmaf",
        step: "10 points of VMAF less",
        steps: |points| points / 10.0,
        stall: |_| [13.6, 13.6],
        switched: SWITCHES,
    },
    Picture {
        metric: "mean_ssimplus",
        step: "10 points of SSIMplus less",
        steps: |points| points / 10.0,
        stall: |_| [13.6, 13.6],
        switched: SWITCHES,
    },
    Picture {
        metric: "mean_ssim_db",
        step: "1 dB of SSIM less",
        steps: |decibels| decibels,
        stall: |_| [200.0, 200.0],
        switched: SWITCHES,
    },
    Picture {
        metric: "mean_rate_kbps",
        step: "half the rate",
        steps: |rate| libm::log2(rate.max(1.0)),
        stall: |rate| [(24_000.0 / rate).min(LOGARITHMIC), (48_000.0 / rate).max(LOGARITHMIC)],
        switched: "switched_doublings",
    },
];

/// Seconds at one step less.
#[derive(Clone, Copy)]
struct Weights {
    stall: f64,
    waiting: f64,
    switch: f64,
}

/// What one notices together: by how much more one session loses by each figure, and what nobody would notice of their sum.
struct Part {
    figures: [(&'static str, f64); 2],
    margin: f64,
}

impl Part {
    fn loss(&self) -> f64 {
        self.figures[0].1 + self.figures[1].1
    }
}

/// The weighing of a comparison whose sessions differ in their picture.
pub(crate) struct Preference {
    picture: &'static Picture,
    /// Seconds of film that a session shows, on average.
    played: f64,
    /// Least and greatest weight of a second of stall.
    stall: [f64; 2],
    /// The metric that says how far switches go.
    switched: &'static str,
}

impl Preference {
    /// `None` where no picture is among the criteria or all sessions show the same: then the order of the criteria tells. How long and how much is
    /// shown comes from the first `weighed` sessions of each sender.
    pub fn of(runs: &[Runs], criteria: &[&'static Metric], weighed: usize) -> Option<Preference> {
        let find = |name| criteria.iter().find(|metric| metric.name == name);
        let (picture, metric) = PICTURES.iter().find_map(|picture| Some((picture, find(picture.metric)?)))?;
        find(STALL)?;
        let all = |name: &str, most: usize| -> Vec<f64> {
            let columns = runs.iter().filter_map(|runs| runs.columns.get(name));
            columns.flat_map(|column| column.iter().take(most)).flatten().copied().collect()
        };
        let shown = crate::stats::sorted(&all(picture.metric, usize::MAX));
        let (least, most) = (*shown.first()?, *shown.last()?);
        let played = mean(&all("played_s", weighed))?;
        let margin = metric.least.max(metric.least_share * most.abs());
        let stall = (picture.stall)(mean(&all(picture.metric, weighed))?.max(1.0));
        let switched = if all(picture.switched, 1).is_empty() { SWITCHES } else { picture.switched };
        (most - least > margin).then_some(Preference { picture, played, stall, switched })
    }

    pub fn picture(&self) -> &'static str {
        self.picture.metric
    }

    pub fn switched(&self) -> &'static str {
        self.switched
    }

    pub fn step(&self) -> &'static str {
        self.picture.step
    }

    pub fn parts(&self) -> [&'static str; 4] {
        [self.picture.metric, STALL, DISCARDED, START]
    }

    /// The losses of a sender's sessions under the names of the middle and of the corners.
    pub fn columns(&self, runs: &Runs) -> Vec<(String, Vec<Option<f64>>)> {
        let column = |name: &'static str, weights| (name.to_string(), self.losses(runs, weights));
        let corners = (0..8).map(|corner| column(CORNERS[corner], self.corner(corner)));
        std::iter::once(column(MIDDLE, self.middle())).chain(corners).collect()
    }

    fn losses(&self, runs: &Runs, weights: Weights) -> Vec<Option<f64>> {
        let of = |name: &str, i: usize| runs.columns.get(name).map(|column| column[i]);
        let session = |i: usize| {
            // A missing value counts as worse than any other; a figure that no session has gets no weight.
            let part = |name: &str| of(name, i).unwrap_or(Some(0.0));
            let picture = (self.picture.steps)(of(self.picture.metric, i)??);
            let stalled = part(STALL)? + FRAME_S * part(DISCARDED)? + weights.waiting * part(START)?;
            Some(weights.stall * stalled + weights.switch * part(self.switched).unwrap_or(0.0) - self.played * picture)
        };
        (0..runs.columns.get(STALL).map_or(0, Vec::len)).map(session).collect()
    }

    fn corner(&self, corner: usize) -> Weights {
        let end = |bit: usize| corner >> bit & 1;
        Weights { stall: self.stall[end(0)], waiting: WAITING[end(1)], switch: SWITCH[end(2)] }
    }

    fn middle(&self) -> Weights {
        let between = |[low, high]: [f64; 2]| libm::sqrt(low * high);
        Weights { stall: between(self.stall), waiting: between(WAITING), switch: between(SWITCH) }
    }

    fn weights(&self, name: &str) -> Weights {
        CORNERS.iter().position(|corner| *corner == name).map_or(self.middle(), |corner| self.corner(corner))
    }

    /// The largest loss that nobody would notice: that of a picture, or of stalls, within their own margins. `better` is the better
    /// picture.
    pub fn margin(&self, name: &str, better: f64, picture: f64, stall: f64) -> f64 {
        let steps = (self.picture.steps)(better) - (self.picture.steps)(better - picture);
        (self.played * steps).max(self.weights(name).stall * stall)
    }

    /// How much more one session loses than another at a corner, counting what one notices; `None` where either lacks a figure. `margin`
    /// is what one notices of a figure of these two.
    pub fn apart(
        &self,
        corner: &str,
        one: impl Fn(&str) -> Option<f64>,
        other: impl Fn(&str) -> Option<f64>,
        margin: impl Fn(&str) -> f64,
    ) -> Option<f64> {
        let noticed = self.noticed(self.weights(corner), one, other, margin)?;
        let (net, least) =
            noticed.fold((0.0, f64::INFINITY), |(net, least), part| (net + part.loss(), part.margin.min(least)));
        Some(if net.abs() > least { net } else { 0.0 })
    }

    /// What each figure that one notices adds to the difference of two sessions' losses, in the middle of the range.
    pub fn shares(
        &self,
        one: impl Fn(&str) -> Option<f64>,
        other: impl Fn(&str) -> Option<f64>,
        margin: impl Fn(&str) -> f64,
    ) -> Vec<(&'static str, f64)> {
        let noticed = self.noticed(self.middle(), one, other, margin).into_iter().flatten();
        noticed.flat_map(|part| part.figures).filter(|(_, loss)| *loss != 0.0).collect()
    }

    /// The parts that one notices: picture with switches, stalls with discarded frames, the start.
    fn noticed(
        &self,
        weights: Weights,
        one: impl Fn(&str) -> Option<f64>,
        other: impl Fn(&str) -> Option<f64>,
        margin: impl Fn(&str) -> f64,
    ) -> Option<impl Iterator<Item = Part>> {
        let [picture, switches, stall, discarded, start] = self.figures(weights, &one, &other)?;
        let better = one(self.picture.metric)?.max(other(self.picture.metric)?);
        let steps = self.picture.steps;
        let parts = [
            Part {
                figures: [picture, switches],
                margin: self.played * (steps(better) - steps(better - margin(self.picture.metric))),
            },
            Part { figures: [stall, discarded], margin: weights.stall * margin(STALL) },
            Part { figures: [start, (START, 0.0)], margin: weights.stall * weights.waiting * margin(START) },
        ];
        Some(parts.into_iter().filter(|part| part.loss().abs() > part.margin))
    }

    /// By how much more one loses than another by each figure; what either lacks of the picture or of stalls cannot be weighed.
    fn figures(
        &self,
        weights: Weights,
        one: impl Fn(&str) -> Option<f64>,
        other: impl Fn(&str) -> Option<f64>,
    ) -> Option<[(&'static str, f64); 5]> {
        let more = |name: &str, weight: f64| Some(weight * (one(name)? - other(name)?));
        let may_lack = |name: &'static str, weight: f64| (name, more(name, weight).unwrap_or(0.0));
        let (steps, picture) = (self.picture.steps, self.picture.metric);
        Some([
            (picture, self.played * (steps(other(picture)?) - steps(one(picture)?))),
            may_lack(self.switched, weights.switch),
            (STALL, more(STALL, weights.stall)?),
            may_lack(DISCARDED, weights.stall * FRAME_S),
            may_lack(START, weights.stall * weights.waiting),
        ])
    }

    /// The weight of a second of stall at which two senders are equal; `None` where either lacks a figure.
    pub fn exchange(&self, one: impl Fn(&str) -> Option<f64>, other: impl Fn(&str) -> Option<f64>) -> Option<f64> {
        let weights = self.middle();
        let [picture, switches, stall, discarded, start] = self.figures(weights, one, other)?.map(|(_, loss)| loss);
        Some(-(picture + switches) * weights.stall / (stall + discarded + start))
    }
}
