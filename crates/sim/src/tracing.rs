//! How much a run keeps.

use playpath_units::Duration;

/// What a run may do besides its metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tracing {
    /// Metrics only.
    #[default]
    Off,
    /// Time series, at the scenario's sample interval unless [`Recording`] has another.
    Series,
    /// These, and every packet of the video's flows; without a video, of the first flows.
    Packets,
}

/// What a run keeps, of its series which and how often.
#[derive(Clone, Copy, Debug, Default)]
pub struct Recording<'a> {
    pub tracing: Tracing,
    /// Of the series those alone whose names begin so, and not what the controls did; all if `None`.
    pub series: Option<&'a [String]>,
    /// How often they are sampled; as the scenario says if `None`.
    pub every: Option<Duration>,
}

impl From<Tracing> for Recording<'_> {
    fn from(tracing: Tracing) -> Self {
        Recording { tracing, ..Recording::default() }
    }
}
