//! A scripted connection for worked examples: the test says what the ACKs report, nothing is lost or delayed by itself.

use playpath_units::Duration;

use crate::{
    Ack, CongestionControl, CongestionEvent, CongestionSignal, Params, RecoveryExit, Rto, Undo, View, WindowChange,
    find,
};

/// A connection with a full window.
pub struct Script {
    pub cc: Box<dyn CongestionControl>,
    pub view: View<'static>,
    /// RTT of the next ACKs.
    pub rtt: Duration,
    pub may_grow: bool,
}

impl Script {
    /// Controller `name` with defaults.
    pub fn new(name: &str, initial_window: f64) -> Script {
        Script::with(name, initial_window, |_| Ok(()))
    }

    /// Controller `name` with some parameters set. RTT 100 ms.
    pub fn with(name: &str, initial_window: f64, set: impl Fn(&mut Params) -> Result<(), String>) -> Script {
        let entry = find(name).expect("registered");
        let mut params = Params::defaults(entry.params);
        set(&mut params).expect("valid parameters");
        let rtt = Duration::from_millis(100);
        let view = View { rttvar: Duration::ZERO, sent: initial_window as u64, ..super::view(100) };
        let mut cc = (entry.build)(&params, initial_window);
        cc.on_connection_start(&view);
        Script { cc, view, rtt, may_grow: true }
    }

    pub fn cwnd(&self) -> f64 {
        self.cc.cwnd()
    }

    /// An ACK for `acked` packets, `spacing` after the last one.
    pub fn ack_after(&mut self, spacing: Duration, acked: u32, round_start: bool) {
        self.take(spacing, Ack { round_start, ..Ack::new(acked, self.view.mss) });
    }

    /// An ACK for `acked` packets a round trip after the last one, which tells that `ce_marked` of them were marked.
    pub fn ack_marked(&mut self, acked: u32, ce_marked: u32, round_start: bool) {
        self.take(self.rtt, Ack { round_start, ce_marked, ..Ack::new(acked, self.view.mss) });
    }

    fn take(&mut self, spacing: Duration, ack: Ack) {
        let (window, acked) = (self.cc.cwnd() as u32, ack.acked);
        self.view.now += spacing;
        self.view.delivered += u64::from(acked);
        self.view.min_rtt = self.view.min_rtt.min(self.rtt);
        self.view.srtt = self.rtt;
        self.view.flight_size = window.saturating_sub(acked);
        self.view.in_flight = self.view.flight_size;
        let event = Ack { rtt: Some(self.rtt), prior_in_flight: window, may_grow: self.may_grow, ..ack };
        self.cc.on_ack(&self.view, &event);
        self.view.sent += u64::from((self.cc.cwnd() as u32).saturating_sub(self.view.flight_size));
    }

    /// An ACK for `acked` packets, at once.
    pub fn ack(&mut self, acked: u32) {
        self.ack_after(Duration::ZERO, acked, false);
    }

    /// A round trip: one ACK for each packet of the window, evenly spaced; the first begins a round.
    pub fn round(&mut self) {
        let packets = self.cc.cwnd() as u32;
        for i in 0..packets {
            self.ack_after(self.rtt / u64::from(packets), 1, i == 0);
        }
    }

    /// A loss episode begins with the whole window in flight.
    pub fn lose(&mut self) {
        let flight = self.cc.cwnd() as u32;
        self.lose_of(flight);
    }

    /// A loss episode begins with `flight_size` packets in flight.
    pub fn lose_of(&mut self, flight_size: u32) {
        self.congest(CongestionEvent::loss(flight_size, self.view.now - self.rtt));
    }

    /// An episode that ECN-Echo began.
    pub fn congest_by_ecn(&mut self, flight_size: u32) {
        let loss = CongestionEvent::loss(flight_size, self.view.now);
        self.congest(CongestionEvent { signal: CongestionSignal::Ecn, newly_lost: 0, ..loss });
    }

    /// A congestion episode.
    pub fn congest(&mut self, event: CongestionEvent) {
        self.view.in_recovery = true;
        self.cc.on_congestion(&self.view, &event);
    }

    pub fn exit_recovery(&mut self) {
        self.view.in_recovery = false;
        self.cc.on_recovery_exit(&self.view, &RecoveryExit { retransmitted: 1, after_rto: false });
    }

    /// The RTO expires with `flight_size` packets in flight.
    pub fn time_out(&mut self, flight_size: u32) {
        self.cc.on_rto(&self.view, &Rto { flight_size, reduces: true });
    }

    pub fn undo(&mut self) {
        self.view.in_recovery = false;
        self.cc.on_undo(&self.view, &Undo { was_rto: false });
    }

    /// Congestion avoidance with a window of `cwnd`.
    pub fn avoid_congestion_at(&mut self, cwnd: f64) {
        self.cc.on_window_change(&self.view, &WindowChange { cwnd, ssthresh: cwnd.min(2.0) });
    }
}

/// `left` equals `right` to a relative error of 1e-9.
#[track_caller]
pub fn assert_close(left: f64, right: f64) {
    assert_near(left, right, 1e-9);
}

/// `left` equals `right` to a relative error of `tolerance`.
#[track_caller]
pub fn assert_near(left: f64, right: f64, tolerance: f64) {
    assert!((left - right).abs() <= tolerance * right.abs(), "{left} is not {right} (to {tolerance})");
}
