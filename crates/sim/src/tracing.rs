//! How much a run keeps.

/// What a run may do besides its metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tracing {
    /// Metrics only.
    #[default]
    Off,
    /// Time series at the scenario's sample interval.
    Series,
    /// These, and every packet of the video's flows; without a video, of the first flows.
    Packets,
}
