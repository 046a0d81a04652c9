//! Any control by name, so that flows of different controls can share a bottleneck.

use crate::{
    Ack, CongestionControl, CongestionEvent, IdleRestart, PacketLost, PacketSent, RecoveryExit, RecoveryWindow, Rto,
    Undo, View, WindowChange,
};
use playpath_units::Rate;

/// A control of the registry with its defaults.
pub struct Any(pub Box<dyn CongestionControl>);

impl Any {
    pub fn new(name: &str) -> Any {
        Any(crate::build(name, 10.0).expect("registered"))
    }
}

impl CongestionControl for Any {
    fn cwnd(&self) -> f64 {
        self.0.cwnd()
    }
    fn ssthresh(&self) -> f64 {
        self.0.ssthresh()
    }
    fn pacing_rate(&self) -> Option<Rate> {
        self.0.pacing_rate()
    }
    fn phase(&self) -> &'static str {
        self.0.phase()
    }
    fn recovery_window(&self) -> RecoveryWindow {
        self.0.recovery_window()
    }
    fn on_connection_start(&mut self, view: &View) {
        self.0.on_connection_start(view);
    }
    fn on_packet_sent(&mut self, event: &PacketSent) {
        self.0.on_packet_sent(event);
    }
    fn on_packet_lost(&mut self, view: &View, event: &PacketLost) {
        self.0.on_packet_lost(view, event);
    }
    fn on_ack(&mut self, view: &View, event: &Ack) {
        self.0.on_ack(view, event);
    }
    fn on_congestion(&mut self, view: &View, event: &CongestionEvent) {
        self.0.on_congestion(view, event);
    }
    fn on_recovery_exit(&mut self, view: &View, event: &RecoveryExit) {
        self.0.on_recovery_exit(view, event);
    }
    fn on_rto(&mut self, view: &View, event: &Rto) {
        self.0.on_rto(view, event);
    }
    fn on_undo(&mut self, view: &View, event: &Undo) {
        self.0.on_undo(view, event);
    }
    fn on_idle_restart(&mut self, view: &View, event: &IdleRestart) {
        self.0.on_idle_restart(view, event);
    }
    fn on_window_change(&mut self, view: &View, change: &WindowChange) {
        self.0.on_window_change(view, change);
    }
}
