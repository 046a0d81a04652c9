//! The registry of metrics: one entry each, and nothing about a metric anywhere else. From it come the figures of a record, the
//! tables of `playpath compare` and its reports, the criteria of the ranking, the schema of a record, and docs/reference/metrics.md.
//!
//! The files have the entries by whom a metric is of; the order of the entries is that of a record and of every table.

mod network;
mod paths;
mod viewer;

use crate::build::{Neighbours, Transport};
use crate::frames::FrameDelays;
use crate::measurements::PathCounts;
use crate::record::LinkRecord;
use playpath_video::summary::Summary;
use serde::Serialize;
use serde_json::{Value, json};

#[derive(Clone, Copy, Debug, Serialize)]
pub struct Metric {
    /// As in records and JSON, with the unit at its end if it has one.
    pub name: &'static str,
    pub label: &'static str,
    /// Unit, empty for counts and shares.
    pub unit: &'static str,
    /// What a viewer or the network prefers.
    pub better: Better,
    /// Differences up to this, in the metric's unit, count as alike.
    pub least: f64,
    /// Differences up to this share of the larger mean count as alike, too.
    pub least_share: f64,
    pub summary: &'static str,
    /// Place among the criteria of a ranking with a video, 1 the most important.
    pub video_rank: Option<u8>,
    /// No criterion where one of these has values: it stands in for them.
    pub yields_to: &'static [&'static str],
    /// Place among the criteria of a ranking without one.
    pub bulk_rank: Option<u8>,
    /// Where it has no value it is `null`; others are left out then.
    pub is_always_there: bool,
    #[serde(skip)]
    pub figure: Figure,
}

impl Metric {
    /// One that is not in the registry: it is shown, and judges nothing.
    pub const fn plain(name: &'static str, label: &'static str, unit: &'static str) -> Metric {
        Metric { name, label, unit, ..BASE }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    Lower,
    Higher,
    /// It says how a result came about, not whether it is good.
    Neither,
}

/// What a metric is a figure of, and how it follows from what was measured.
#[derive(Clone, Copy, Debug)]
pub enum Figure {
    /// Of each video session; those of the main one are the run's.
    Viewer(fn(&Summary) -> Option<f64>),
    /// Of all video sessions together, from their mean rates in kbit/s; with several only.
    Fairness(fn(&[f64]) -> Option<f64>),
    /// Of the flows that carry the main session; of all flows without a video.
    Transport(fn(&Transport) -> Option<f64>),
    /// Of the same flows over several paths.
    Paths(fn(&PathCounts) -> Option<f64>),
    /// Of the flows beside those that carry the main session.
    Neighbours(fn(&Neighbours) -> Option<f64>),
    Frames(fn(&FrameDelays) -> f64),
    /// Of the queue in front of the first path's `down` link.
    Bottleneck(fn(&LinkRecord) -> f64),
    /// Reported by a real player of the kernel world.
    Reported,
    /// Of all flows, or of a link: `playpath twin` judges it where nobody watches.
    FlowsAndLinks,
}

impl Figure {
    pub fn of(self) -> &'static str {
        match self {
            Figure::Viewer(_) => "viewer",
            Figure::Fairness(_) => "several viewers",
            Figure::Transport(_) => "connection",
            Figure::Paths(_) => "several paths",
            Figure::Neighbours(_) => "neighbours",
            Figure::Frames(_) => "sources of frames",
            Figure::Bottleneck(_) => "first bottleneck",
            Figure::Reported => "real player",
            Figure::FlowsAndLinks => "all flows, links",
        }
    }
}

/// What an entry does not say.
const BASE: Metric = Metric {
    name: "",
    label: "",
    unit: "",
    better: Better::Neither,
    least: 0.0,
    least_share: 0.05,
    summary: "",
    video_rank: None,
    yields_to: &[],
    bulk_rank: None,
    is_always_there: false,
    figure: Figure::FlowsAndLinks,
};

/// Every metric, in the order of a record.
pub fn metrics() -> impl Iterator<Item = &'static Metric> {
    [
        viewer::METRICS,
        network::METRICS,
        paths::METRICS,
        network::NEIGHBOURS,
        network::FRAMES,
        network::BOTTLENECK,
        network::FLOWS_AND_LINKS,
    ]
    .into_iter()
    .flatten()
}

pub fn metric(name: &str) -> Option<&'static Metric> {
    metrics().find(|metric| metric.name == name)
}

pub fn to_json() -> Value {
    let entry = |metric: &Metric| {
        let mut json = json!(metric);
        json["of"] = json!(metric.figure.of());
        json
    };
    metrics().map(entry).collect()
}

/// `value` ÷ `by`; `None` where there is nothing to divide by.
fn share(value: f64, by: f64) -> Option<f64> {
    (by > 0.0).then(|| value / by)
}
