//! The sender that was deployed when the log was written.

use playpath_cc::{CongestionControl, Entry, Params, Stack, entries, find};
use playpath_units::names::unknown;

/// What served the viewers. Its rules are the engine's own: the control of the registry, the window's restart after idle of the
/// transport.
#[derive(Clone)]
pub struct Deployed {
    /// Congestion control.
    pub control: &'static Entry,
    /// Its parameters.
    pub params: Params,
    /// Initial window in packets.
    pub initial_window: f64,
    /// The window restarts after idle longer than an RTO (Linux `tcp_slow_start_after_idle`); controls with a pacing rate of their
    /// own are left alone, as in Linux.
    pub restarts_after_idle: bool,
    /// Payload bytes of a full segment.
    pub mss: f64,
    /// Bytes of headers that a segment has on the link.
    pub header: f64,
}

impl Deployed {
    /// Linux's defaults with the congestion control called `name`; the error names those that there are.
    pub fn linux(name: &str) -> Result<Deployed, String> {
        let control =
            find(name).ok_or_else(|| unknown("congestion control", name, entries().iter().map(|entry| entry.name)))?;
        Ok(Deployed {
            control,
            params: control.params_of(Stack::Linux),
            initial_window: 10.0,
            restarts_after_idle: true,
            mss: 1448.0,
            header: 52.0,
        })
    }

    /// A control as it is at the start of a connection.
    pub(crate) fn start(&self) -> Box<dyn CongestionControl> {
        (self.control.build)(&self.params, self.initial_window)
    }

    /// It has no pacing rate of its own: windows describe its state, and they shrink by loss alone.
    pub(crate) fn is_window_based(&self) -> bool {
        !self.control.behaviour.shrinks_without_loss
    }
}

/// Whoever shares a link is believed to send as most of the Internet does.
pub(crate) fn neighbour() -> Deployed {
    Deployed::linux("cubic").expect("in the registry")
}
