//! The criteria by which senders are ranked, in order, and what a viewer may put first.

use crate::metric::metric;
use crate::ranking::Runs;
use playpath_record::registry::{Metric, metrics};

/// A criterion that only keeps a session that shows nothing from winning.
pub(crate) const GUARD: &str = "played_s";
pub(crate) const PICTURES: [&str; 4] = ["mean_vmaf", "mean_ssimplus", "mean_ssim_db", "mean_rate_kbps"];

/// What a viewer puts first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Prefer {
    /// Nothing: the verdict must hold for every viewer in the range of `preference`.
    #[default]
    Range,
    /// As few stalls as possible, whatever the picture: the unchanged order of the criteria.
    Stalls,
    /// The best picture, whatever it stalls.
    Picture,
    Start,
    /// A quality of experience, by its metric.
    Qoe(String),
}

impl Prefer {
    /// From "stalls", "picture", "start", "range", or the name of a metric.
    pub fn parse(text: &str) -> Prefer {
        match text {
            "range" => Prefer::Range,
            "stalls" => Prefer::Stalls,
            "picture" => Prefer::Picture,
            "start" => Prefer::Start,
            other => Prefer::Qoe(other.to_string()),
        }
    }

    pub(crate) fn reorder(&self, criteria: &mut Vec<&'static Metric>) {
        let is_first = |metric: &&Metric| match self {
            Prefer::Range | Prefer::Stalls | Prefer::Qoe(_) => false,
            Prefer::Picture => PICTURES.contains(&metric.name),
            Prefer::Start => metric.name == "startup_delay_s",
        };
        criteria.sort_by_key(|metric| metric.name != GUARD && !is_first(metric));
        if let Prefer::Qoe(name) = self {
            let after = criteria.iter().take_while(|metric| metric.name == GUARD).count();
            criteria.insert(after, metric(name));
        }
    }
}

/// The criteria of a ranking with a video, or of one without, most important first.
pub fn criteria(has_video: bool) -> Vec<&'static Metric> {
    let rank = |metric: &&'static Metric| if has_video { metric.video_rank } else { metric.bulk_rank };
    let mut criteria: Vec<&'static Metric> = metrics().filter(|metric| rank(metric).is_some()).collect();
    criteria.sort_by_key(rank);
    criteria
}

/// Whether all runs of every sender gave equal values in every metric: nothing is random, and more runs add nothing. A single run cannot
/// show this.
pub fn identical_replicas(runs: &[Runs]) -> bool {
    let mut columns = runs.iter().flat_map(|runs| runs.columns.values());
    columns.all(|column| column.len() > 1 && column.iter().all(|value| *value == column[0]))
}

/// A picture that all sessions of all senders show alike: the only one that there is, and no outcome.
pub(crate) fn is_only_picture(runs: &[Runs], name: &str) -> bool {
    let mut values = runs.iter().filter_map(|runs| runs.columns.get(name)).flatten();
    let first = values.next();
    PICTURES.contains(&name) && values.all(|value| Some(value) == first)
}

/// A criterion of a ranking with a video that no viewer sees.
pub(crate) fn is_cost(metric: &Metric) -> bool {
    metric.video_rank.is_some() && metric.figure.of() != "viewer"
}
