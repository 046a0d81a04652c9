//! quinn 0.11.
//!
//! Its interface tells of datagrams sent in one go (the last packet's number, all bytes), of each packet acknowledged by the time it
//! left, of lost bytes. Packets of a batch are taken to be full but for the last; those lost are the oldest.

use crate::state::State;
use crate::{Choice, ViewerInfo};
use playpath_cc::{CongestionSignal, QuicStack};
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

/// For `TransportConfig::congestion_controller_factory`.
pub struct Factory(Choice);

impl Factory {
    /// Errors: a control that wants more than quinn's interface can say; one line.
    pub fn new(choice: Choice) -> Result<Factory, String> {
        choice.for_stack(QuicStack::Quinn).map(Factory)
    }
}

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        Box::new(Control(State::new(self.0.clone(), ViewerInfo::default(), current_mtu, now)))
    }
}

/// A control of ours in a connection of quinn's: what `Connection::congestion_state` and its `into_any` lead to.
#[derive(Debug)]
pub struct Control(State);

impl Control {
    pub fn viewer(&self) -> ViewerInfo {
        self.0.viewer.clone()
    }
}

impl Controller for Control {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        let (at, mtu) = (self.0.at(now), u64::from(self.0.mtu).max(1));
        let driven = self.0.driven();
        let mut left = bytes;
        while left > 0 {
            driven.on_sent(at, last_packet_number, left.min(mtu) as u32);
            left -= left.min(mtu);
        }
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, _bytes: u64, app_limited: bool, _rtt: &RttEstimator) {
        let (now, sent) = (self.0.at(now), self.0.at(sent));
        let driven = self.0.driven();
        if driven.begins_ack() {
            driven.on_pause(!app_limited);
        }
        driven.on_acked(now, sent, None);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, _app_limited: bool, _largest: Option<u64>) {
        let now = self.0.at(now);
        self.0.driven().end_acks(now, in_flight);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent_congestion: bool, lost_bytes: u64) {
        let (now, sent) = (self.0.at(now), self.0.at(sent));
        let driven = self.0.driven();
        let mut left = lost_bytes;
        while left > 0 {
            let Some(bytes) = driven.on_lost(now, sent, None) else { break };
            left = left.saturating_sub(bytes.into());
        }
        let signal = if lost_bytes > 0 { CongestionSignal::Loss } else { CongestionSignal::Ecn };
        driven.on_congestion(now, sent, signal, is_persistent_congestion);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.0.set_mtu(new_mtu);
    }

    /// quinn stops one byte before the window is full.
    fn window(&self) -> u64 {
        self.0.look(playpath_transport::quic::Driven::window) + 1
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.window();
        metrics.ssthresh = self.0.ssthresh();
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
