//! Reno's windows, and the controls that are Reno except for what they override.
//!
//! Reference: RFC 5681 §3.1, §3.2; RFC 6582. `windows.rs` and `slow_start.rs` list the differences.
//!
//! Units: packets. Tested through every control that is built on it, and by `tests/contract.rs`.

use crate::parts::slow_start::SlowStart;
use crate::parts::windows::{ReduceFrom, Windows};
use crate::{
    Ack, CongestionControl, CongestionEvent, IdleRestart, Params, RecoveryExit, Rto, Undo, View, WindowChange,
};

/// Windows, slow start, and which window a reduction starts from.
pub struct Reno {
    pub windows: Windows,
    /// Grows them below `ssthresh`.
    pub slow_start: SlowStart,
    reduce_from: ReduceFrom,
}

impl Reno {
    /// The windows of a new connection; reads the parameters of slow start and `reduce_from`.
    pub fn new(params: &Params, initial_window: f64) -> Reno {
        Reno {
            windows: Windows::new(initial_window),
            slow_start: SlowStart::from_params(params),
            reduce_from: ReduceFrom::from_params(params),
        }
    }

    /// Slow start takes its part of an ACK; the packets that congestion avoidance may count.
    pub fn take(&mut self, view: &View, event: &Ack) -> f64 {
        self.slow_start.on_ack(&mut self.windows, view, event)
    }

    /// Slow start, and a packet per round trip in congestion avoidance.
    pub fn grow(&mut self, view: &View, event: &Ack) {
        let acked = self.take(view, event);
        self.windows.cwnd += acked / self.windows.cwnd;
    }

    pub fn reducible(&self, event: &CongestionEvent) -> f64 {
        self.windows.reducible(self.reduce_from, event.flight_size)
    }

    pub fn reducible_at_rto(&self, event: &Rto) -> f64 {
        self.windows.reducible_at_rto(self.reduce_from, event.flight_size)
    }

    /// A timeout, after which the threshold is `ssthresh`.
    pub fn collapse(&mut self, ssthresh: f64, event: &Rto) {
        self.windows.collapse(ssthresh, event);
        self.slow_start.on_rto(event);
    }
}

/// The window of whole packets after `acked` more, of which `per_packet` let it grow by one (Linux `tcp_cong_avoid_ai`); `credit` has
/// not counted yet.
pub fn whole_growth(credit: &mut u32, per_packet: u32, cwnd: u32, acked: u32) -> u32 {
    if acked == 0 {
        return cwnd;
    }
    let was_owed = *credit >= per_packet; // counted at a larger window
    *credit = if was_owed { acked } else { *credit + acked };
    let grown = u32::from(was_owed) + *credit / per_packet;
    *credit %= per_packet;
    cwnd + grown
}

/// A control that is Reno except for what it overrides. The hooks are those of [`CongestionControl`].
pub trait RenoBased: Send {
    fn reno(&self) -> &Reno;
    fn reno_mut(&mut self) -> &mut Reno;

    /// The share of the window kept after a loss or a timeout.
    fn remaining(&self, _view: &View) -> f64 {
        0.5
    }

    fn start(&mut self, _view: &View) {}

    /// An acknowledgement delivered data.
    fn grow(&mut self, view: &View, event: &Ack) {
        self.reno_mut().grow(view, event);
    }

    /// A loss episode or ECN-Echo.
    fn reduce(&mut self, view: &View, event: &CongestionEvent) {
        let window = self.remaining(view) * self.reno().reducible(event);
        self.reno_mut().windows.reduce_to(window, event.signal);
    }

    fn collapse(&mut self, view: &View, event: &Rto) {
        let window = self.remaining(view) * self.reno().reducible_at_rto(event);
        self.reno_mut().collapse(window, event);
    }

    fn recovered(&mut self) {}

    /// The last reduction was spurious; called after the windows have been restored.
    fn undone(&mut self) {}

    /// First packet after an idle period.
    fn wake(&mut self, _view: &View, _event: &IdleRestart) {}

    /// The windows were set from outside.
    fn moved(&mut self) {}
}

impl<C: RenoBased> CongestionControl for C {
    fn cwnd(&self) -> f64 {
        self.reno().windows.cwnd
    }
    fn ssthresh(&self) -> f64 {
        self.reno().windows.ssthresh
    }
    fn phase(&self) -> &'static str {
        self.reno().slow_start.phase(&self.reno().windows)
    }
    fn on_connection_start(&mut self, view: &View) {
        self.start(view);
    }
    fn on_ack(&mut self, view: &View, event: &Ack) {
        self.grow(view, event);
    }
    fn on_congestion(&mut self, view: &View, event: &CongestionEvent) {
        self.reduce(view, event);
    }
    fn on_recovery_exit(&mut self, _view: &View, _event: &RecoveryExit) {
        self.recovered();
    }
    fn on_rto(&mut self, view: &View, event: &Rto) {
        self.collapse(view, event);
    }
    fn on_undo(&mut self, _view: &View, _event: &Undo) {
        if self.reno_mut().windows.undo() {
            self.undone();
        }
    }
    fn on_idle_restart(&mut self, view: &View, event: &IdleRestart) {
        if !event.idle.is_zero() {
            self.wake(view, event);
        }
    }
    fn on_window_change(&mut self, _view: &View, change: &WindowChange) {
        self.reno_mut().windows.set(change);
        self.moved();
    }
}
