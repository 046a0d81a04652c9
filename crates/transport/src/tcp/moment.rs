//! The time of an event, with the siblings' state for coupled controls.

use playpath_cc::Sibling;
use playpath_units::Time;

/// The time of an event, and the subflows of the same MPTCP connection as they are at it. A [`Time`] alone is a moment of a
/// connection without siblings.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    pub now: Time,
    /// All subflows in the order of paths, this endpoint's own included; empty unless the control is coupled.
    pub siblings: &'a [Sibling],
    /// Bytes of the connection's stream that the receiver has; zero for plain TCP.
    pub stream_acked: Option<u64>,
}

impl From<Time> for Moment<'_> {
    fn from(now: Time) -> Self {
        Moment { now, siblings: &[], stream_acked: None }
    }
}
