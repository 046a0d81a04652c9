//! Amount of data that a run keeps.

use playpath_units::Duration;

/// Output of a run in addition to its metrics.
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

/// Kept output of a run, with the choice and sampling interval of its series.
#[derive(Clone, Copy, Debug, Default)]
pub struct Recording<'a> {
    pub tracing: Tracing,
    /// Keep only the series whose names begin with one of these, without the log of the controls; all if `None`.
    pub series: Option<&'a [String]>,
    /// How often they are sampled; as the scenario says if `None`.
    pub every: Option<Duration>,
}

impl From<Tracing> for Recording<'_> {
    fn from(tracing: Tracing) -> Self {
        Recording { tracing, ..Recording::default() }
    }
}
