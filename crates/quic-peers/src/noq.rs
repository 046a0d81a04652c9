//! noq 1.4.
//!
//! Its interface tells of each packet sent, acknowledged and lost by number, and its pacer obeys the control's rate.

use crate::state::State;
use crate::{Choice, ViewerInfo};
use noq_proto::RttEstimator;
use noq_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use playpath_cc::{CongestionSignal, QuicStack};
use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

/// For `TransportConfig::congestion_controller_factory`.
pub struct Factory(Choice);

impl Factory {
    /// Errors: a control that wants more than noq's interface can say; one line.
    pub fn new(choice: Choice) -> Result<Factory, String> {
        choice.for_stack(QuicStack::Noq).map(Factory)
    }
}

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        Box::new(Control(State::new(self.0.clone(), ViewerInfo::default(), current_mtu, now)))
    }
}

/// A control of ours on a path of noq's: what `congestion_state` and its `into_any` lead to.
#[derive(Debug)]
pub struct Control(State);

impl Control {
    pub fn viewer(&self) -> ViewerInfo {
        self.0.viewer.clone()
    }
}

impl Controller for Control {
    fn on_packet_sent(&mut self, now: Instant, bytes: u16, pn: u64) {
        let at = self.0.at(now);
        self.0.driven().on_sent(at, pn, bytes.into());
    }

    fn on_cwnd_limited(&mut self) {
        self.0.driven().on_pause(true);
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, _bytes: u64, pn: u64, app_limited: bool, _rtt: &RttEstimator) {
        let (now, sent) = (self.0.at(now), self.0.at(sent));
        let driven = self.0.driven();
        if driven.begins_ack() {
            driven.on_pause(!app_limited);
        }
        driven.on_acked(now, sent, Some(pn));
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, _app_limited: bool, _largest: Option<u64>) {
        let now = self.0.at(now);
        self.0.driven().end_acks(now, in_flight);
    }

    fn on_packet_lost(&mut self, _lost_bytes: u16, pn: u64, now: Instant) {
        let now = self.0.at(now);
        self.0.driven().on_lost(now, now, Some(pn));
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        is_ecn: bool,
        _lost_bytes: u64,
        _largest_lost_pn: u64,
    ) {
        let (now, sent) = (self.0.at(now), self.0.at(sent));
        let signal = if is_ecn { CongestionSignal::Ecn } else { CongestionSignal::Loss };
        self.0.driven().on_congestion(now, sent, signal, is_persistent_congestion);
    }

    fn on_spurious_congestion_event(&mut self) {
        self.0.driven().on_spurious();
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.0.set_mtu(new_mtu);
    }

    fn window(&self) -> u64 {
        self.0.look(playpath_transport::quic::Driven::window)
    }

    /// noq paces by `pacing_rate`, bytes in a second.
    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.window();
        metrics.ssthresh = self.0.ssthresh();
        let rate = self.0.look(playpath_transport::quic::Driven::pacing_rate);
        metrics.pacing_rate = rate.map(|rate| rate.as_bits_per_sec() / 8);
        metrics
    }

    /// For another path: a fresh one, that hears the same application.
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Control(self.0.anew()))
    }
    fn initial_window(&self) -> u64 {
        self.0.initial_window()
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
