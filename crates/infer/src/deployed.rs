//! The sender that was deployed when the log was written.

use playpath_cc::{CongestionControl, Entry, Params, Stack, entries, find};
use playpath_units::names::unknown;

/// A full datagram on the link, with UDP and IPv4, and what of it is a stream's.
const QUIC_DATAGRAM: f64 = 1480.0;
const QUIC_PAYLOAD: f64 = 1420.0;

/// The sender that served the viewers. Its rules are the engine's: the registry's congestion control, and the transport's window restart
/// after idle.
#[derive(Clone)]
pub struct Deployed {
    pub control: &'static Entry,
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
    /// If the control has no pacing rate of its own, the transport paces at this many times `cwnd / srtt`; `None`: no pacing.
    pub paced_by: Option<f64>,
    /// Packets that a pacer lets go at once.
    pub burst: f64,
}

impl Deployed {
    /// A congestion control over TCP with Linux's defaults, or over QUIC with those of RFC 9002: `cubic`, `cubic/quic`. The error names
    /// those that there are.
    pub fn named(name: &str) -> Result<Deployed, String> {
        match name.split_once('/') {
            None => Deployed::linux(name),
            Some((control, "quic")) => Deployed::quic(control),
            Some((_, other)) => Err(unknown("transport", other, ["quic"])),
        }
    }

    pub fn linux(name: &str) -> Result<Deployed, String> {
        let control = control(name)?;
        Ok(Deployed {
            control,
            params: control.params_of(Stack::Linux),
            initial_window: 10.0,
            restarts_after_idle: true,
            mss: 1448.0,
            header: 52.0,
            paced_by: None,
            burst: 0.0,
        })
    }

    /// QUIC as `transport = "quic"` of a scenario with its default profile: datagrams of 1452 bytes, paced (RFC 9002 §7.7), a window that is
    /// kept over pauses (§7.8).
    fn quic(name: &str) -> Result<Deployed, String> {
        let control = control(name)?;
        Ok(Deployed {
            control,
            params: control.params_of(Stack::Linux),
            initial_window: 10.0,
            restarts_after_idle: false,
            mss: QUIC_PAYLOAD,
            header: QUIC_DATAGRAM - QUIC_PAYLOAD,
            paced_by: Some(1.25),
            burst: 10.0,
        })
    }

    pub(crate) fn start(&self) -> Box<dyn CongestionControl> {
        (self.control.build)(&self.params, self.initial_window)
    }

    /// Whether it has no pacing rate of its own: then its state is its windows, which shrink only at losses.
    pub(crate) fn is_window_based(&self) -> bool {
        !self.control.behaviour.shrinks_without_loss
    }
}

fn control(name: &str) -> Result<&'static Entry, String> {
    find(name).ok_or_else(|| unknown("congestion control", name, entries().iter().map(|entry| entry.name)))
}

/// The assumed sender of a neighbour: that of most of the Internet.
pub(crate) fn neighbour() -> Deployed {
    Deployed::linux("cubic").expect("in the registry")
}
