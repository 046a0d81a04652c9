//! Log of the events and actions of a connection's congestion control, kept by a wrapper that forwards every call to the control. Only
//! traced runs have one, and it does not change their results.

use playpath_cc::{
    Ack, AppParameters, CongestionControl, CongestionEvent, CongestionSignal, IdleRestart, PacketLost, PacketSent,
    RecoveryExit, RecoveryWindow, Rto, TcpDupAck, Undo, View, WindowChange,
};
use playpath_record::WindowEvent;
use playpath_units::Rate;
use std::sync::{Arc, Mutex};

/// Shared between a flow and the controls of its subflows.
pub type WindowLog = Arc<Mutex<Vec<WindowEvent>>>;

/// The control of a subflow over the path of this number; recorded if a log is kept.
pub fn watched(
    control: Box<dyn CongestionControl>,
    path: u8,
    window_log: Option<&WindowLog>,
) -> Box<dyn CongestionControl> {
    match window_log {
        Some(window_log) => Box::new(Watched { phase: control.phase(), control, path, window_log: window_log.clone() }),
        None => control,
    }
}

pub fn close(window_log: &WindowLog) -> Vec<WindowEvent> {
    std::mem::take(&mut *window_log.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
}

/// A congestion control with the log of its actions.
struct Watched {
    control: Box<dyn CongestionControl>,
    path: u8,
    phase: &'static str,
    window_log: WindowLog,
}

impl Watched {
    /// Forwards an event, and logs the window before and after it.
    fn forward(&mut self, view: &View, what: &'static str, event: impl FnOnce(&mut dyn CongestionControl)) {
        let before = self.control.cwnd();
        event(&mut *self.control);
        self.write(view, what, before);
    }

    fn write(&mut self, view: &View, what: &'static str, before: f64) {
        self.phase = self.control.phase();
        let (after, phase) = (self.control.cwnd(), self.phase);
        let entry = WindowEvent { at: view.now, path: self.path, what, cwnd_before: before, cwnd_after: after, phase };
        self.window_log.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(entry);
    }
}

impl CongestionControl for Watched {
    fn cwnd(&self) -> f64 {
        self.control.cwnd()
    }
    fn ssthresh(&self) -> f64 {
        self.control.ssthresh()
    }
    fn pacing_rate(&self) -> Option<Rate> {
        self.control.pacing_rate()
    }
    fn paces_singly(&self) -> bool {
        self.control.paces_singly()
    }
    fn min_tso_segs(&self) -> u32 {
        self.control.min_tso_segs()
    }
    fn phase(&self) -> &'static str {
        self.control.phase()
    }
    fn recovery_window(&self) -> RecoveryWindow {
        self.control.recovery_window()
    }
    fn on_connection_start(&mut self, view: &View) {
        self.control.on_connection_start(view);
    }
    fn on_packet_sent(&mut self, event: &PacketSent) {
        self.control.on_packet_sent(event);
    }
    fn on_packet_lost(&mut self, view: &View, event: &PacketLost) {
        self.control.on_packet_lost(view, event);
    }
    fn on_ack(&mut self, view: &View, event: &Ack) {
        let before = self.control.cwnd();
        self.control.on_ack(view, event);
        if self.control.phase() != self.phase {
            self.write(view, "phase", before);
        }
    }
    fn on_tcp_dup_ack(&mut self, view: &View, event: &TcpDupAck) -> bool {
        self.control.on_tcp_dup_ack(view, event)
    }
    fn on_congestion(&mut self, view: &View, event: &CongestionEvent) {
        let what = match event.signal {
            CongestionSignal::Loss => "loss",
            CongestionSignal::Ecn => "ecn",
            CongestionSignal::EarlyRetransmit => "early_retransmit",
        };
        self.forward(view, what, |control| control.on_congestion(view, event));
    }
    fn on_recovery_exit(&mut self, view: &View, event: &RecoveryExit) {
        self.control.on_recovery_exit(view, event);
    }
    fn on_rto(&mut self, view: &View, event: &Rto) {
        self.forward(view, "rto", |control| control.on_rto(view, event));
    }
    fn on_undo(&mut self, view: &View, event: &Undo) {
        self.forward(view, "undo", |control| control.on_undo(view, event));
    }
    fn on_quic_undo(&mut self, view: &View) {
        self.forward(view, "undo", |control| control.on_quic_undo(view));
    }
    fn on_idle_restart(&mut self, view: &View, event: &IdleRestart) {
        self.control.on_idle_restart(view, event);
    }
    fn on_window_change(&mut self, view: &View, change: &WindowChange) {
        self.forward(view, "window_set", |control| control.on_window_change(view, change));
    }
    fn on_app_parameters(&mut self, view: &View, parameters: &AppParameters) {
        self.control.on_app_parameters(view, parameters);
    }
}
