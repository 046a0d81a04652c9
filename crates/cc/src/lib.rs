//! Congestion control: the trait, its events and the registry. The algorithms are in `controls`, their shared components in `parts`.
//!
//! A controller receives events as records with a time, and the transport queries its windows. It owns `cwnd` and `ssthresh`; the transport
//! owns loss recovery (PRR, pipe, inflation), window validation and pacing. Windows are in packets (MSS units), as in Linux
//! and in the papers; fractions are kept, the transport sends while `pipe < floor(cwnd)`.

mod controls;
mod events;
pub mod kernel;
mod parts;
pub mod playout;
mod registry;
#[cfg(test)]
#[path = "../tests/bed/mod.rs"]
mod testbed;

pub use events::{
    Ack, CongestionEvent, CongestionSignal, IdleRestart, PacketLost, PacketSent, RateSample, RecoveryExit, Rto,
    Sibling, TcpDupAck, Undo, View, WindowChange,
};
// Players, ABR rules and links declare theirs the same way.
pub use playpath_units::{ParamSpec, ParamValue, Params};
// Told by the application, or by its client.
pub use playpath_units::AppParameters;
pub use registry::{Behaviour, EcnUse, Entry, QuicStack, Stack, build, entries, find};

use playpath_units::Rate;

/// The transport's treatment of the window between the start and the end of a loss recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryWindow {
    /// The transport's recovery (PRR, RFC 6675 pipe or NewReno inflation) leads from the old to the new `ssthresh`.
    Transport,
    /// The controller's own `cwnd` holds throughout, but the first repair leaves regardless of it (RFC 5681 §3.2 step 3; CCP).
    Controller,
    /// As `Controller`, and the first repair waits for room as well, as on Linux where a controller sets the window (BBR).
    ControllerAlone,
}

/// A congestion control. `view` is the read-only state of the connection at the event, and of its siblings under MPTCP.
///
/// Contract, checked over the whole registry by `tests/contract.rs`: `cwnd()` is finite and at least 1; one reduction per
/// recovery episode; no growth when `Ack::may_grow` is false; the same events give the same answers; no allocation per ACK.
pub trait CongestionControl: Send {
    /// Congestion window in packets, at least 1.
    fn cwnd(&self) -> f64;

    /// Slow start threshold in packets; infinite until the first congestion event.
    fn ssthresh(&self) -> f64;

    /// The rate that the controller wants packets paced at, if it has a say (BBR). Wire rate of the payload, without headers.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    /// Packets leave one by one, where the transport would let some go together (RFC 9002 §7.7).
    fn paces_singly(&self) -> bool {
        false
    }

    /// The fewest packets that Linux lets go together when it paces by groups (`min_tso_segs`, of two by `tcp_min_tso_segs`).
    fn min_tso_segs(&self) -> u32 {
        // As BBR there: one by one below 1.2 Mbit/s (`bbr_min_tso_rate`).
        if self.paces_singly() || self.pacing_rate().is_some_and(|rate| rate.as_bits_per_sec() < 1_200_000) {
            1
        } else {
            2
        }
    }

    /// The algorithm's current phase, in its own terms ("slow_start", "congestion_avoidance", "probe_bw"); for traces.
    fn phase(&self) -> &'static str {
        if self.cwnd() < self.ssthresh() { "slow_start" } else { "congestion_avoidance" }
    }

    /// What determines the window during loss recovery.
    fn recovery_window(&self) -> RecoveryWindow {
        RecoveryWindow::Transport
    }

    /// The handshake is complete; `view.srtt` has its first sample if one was taken.
    fn on_connection_start(&mut self, _view: &View) {}

    /// A data packet (new or retransmitted) was sent.
    fn on_packet_sent(&mut self, _event: &PacketSent) {}

    /// A packet was marked lost (BBR v3 looks at each).
    fn on_packet_lost(&mut self, _view: &View, _event: &PacketLost) {}

    fn on_ack(&mut self, view: &View, event: &Ack);

    /// TCP only: a duplicate acknowledgement arrived and no recovery is under way. `true` asks the transport to retransmit the first
    /// unacknowledged segment now (Vegas's early retransmission); the transport then reports a [`CongestionEvent`].
    fn on_tcp_dup_ack(&mut self, _view: &View, _event: &TcpDupAck) -> bool {
        false
    }

    /// Congestion was detected: a loss episode begins, or ECN-Echo (RFC 3168). Called once per episode. Sets `ssthresh`
    /// and `cwnd` to the values that hold at the end of the recovery.
    fn on_congestion(&mut self, view: &View, event: &CongestionEvent);

    fn on_recovery_exit(&mut self, _view: &View, _event: &RecoveryExit) {}

    fn on_rto(&mut self, view: &View, event: &Rto);

    /// The last congestion event or RTO proved spurious (DSACK, Eifel): restore the previous state.
    fn on_undo(&mut self, view: &View, event: &Undo);

    /// QUIC only: the same of a congestion event. The threshold by which loss is found does not learn from it (RFC 9002 §6.1.1), so the next
    /// may come with the next round trip.
    fn on_quic_undo(&mut self, view: &View) {
        self.on_undo(view, &Undo { was_rto: false });
    }

    /// First packet after an idle period; the window itself is changed by [`on_window_change`](Self::on_window_change).
    fn on_idle_restart(&mut self, _view: &View, _event: &IdleRestart) {}

    /// Window validation (RFC 2861, RFC 7661) or an MPTCP scheduler (penalisation) sets the windows.
    fn on_window_change(&mut self, view: &View, change: &WindowChange);

    /// New parameters of the video from the application (playout buffer, rate).
    fn on_app_parameters(&mut self, _view: &View, _parameters: &AppParameters) {}
}
