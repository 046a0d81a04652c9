//! Control parameters: pacing rate, send quantum, window (§5.6).

use super::{Bbr3, LawOf, MIN_PIPE_CWND, State, seconds};
use crate::View;
use playpath_units::Duration;

/// §2.5: paces 1 % below the estimate.
const PACING_MARGIN: f64 = 0.99;
/// §2.5: 4 ln 2, the smallest pacing gain that lets the rate double each round trip under a window gain of 2.
const STARTUP_PACING_GAIN: f64 = 4.0 * std::f64::consts::LN_2;
/// §2.16.2.
const PROBE_RTT_CWND_GAIN: f64 = 0.5;

impl Bbr3 {
    /// §5.6.1, column Pacing Gain.
    pub(super) fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => STARTUP_PACING_GAIN,
            State::Drain => 0.5,
            State::ProbeBwDown => 0.9,
            State::ProbeBwUp => 1.25,
            State::ProbeBwCruise | State::ProbeBwRefill | State::ProbeRtt => 1.0,
        }
    }

    /// §5.6.1, column Cwnd Gain.
    fn cwnd_gain(&self) -> f64 {
        match self.state {
            State::ProbeBwUp => 2.25,
            State::ProbeRtt => PROBE_RTT_CWND_GAIN,
            _ => 2.0,
        }
    }

    /// §5.6.4.2 BDPMultiple(1).
    pub(super) fn bdp(&self, bw: f64) -> f64 {
        match self.min_rtt.min_rtt {
            Some(min_rtt) => bw * seconds(Some(min_rtt)),
            None => self.settings.initial_window,
        }
    }

    /// §5.6.4.2 QuantizationBudget; §5.5.8.1: the budget is three quanta, noq's one (`update_offload_budget`).
    fn with_budget(&self, inflight_cap: f64, mss: u32) -> f64 {
        let quanta = if self.settings.law == LawOf::Noq { 1.0 } else { 3.0 };
        let cap = inflight_cap.max(quanta * self.send_quantum(mss)).max(MIN_PIPE_CWND);
        if self.state == State::ProbeBwUp { cap + 2.0 } else { cap }
    }

    /// §5.6.3, in packets.
    fn send_quantum(&self, mss: u32) -> f64 {
        if !self.settings.has_bursts && self.settings.law == LawOf::Draft {
            return 1.0;
        }
        let bytes = (self.pacing_bits_per_sec.unwrap_or(0.0) / 8.0 * 1e-3).min(65_536.0);
        (bytes / f64::from(mss)).max(2.0)
    }

    /// §5.6.4.2 Inflight(bw, 1).
    pub(super) fn inflight(&self, bw: f64, mss: u32) -> f64 {
        self.with_budget(self.bdp(bw), mss)
    }

    /// §5.6.2 InitPacingRate; 1 ms stands for an RTT not yet measured. noq and ngtcp2 set the rate once, before the handshake (`Bbr3::new`,
    /// `bbr_init_pacing_rate`), and start-up never lowers it, so that the window alone holds it back.
    pub(super) fn init_pacing_rate(&mut self, view: &View) {
        let is_measured = !view.srtt.is_zero() && self.settings.law == LawOf::Draft;
        self.has_seen_rtt = is_measured || self.settings.law != LawOf::Draft;
        let rtt = if is_measured { view.srtt } else { Duration::from_millis(1) };
        let nominal_bandwidth = self.settings.initial_window / rtt.as_secs_f64();
        self.pacing_bits_per_sec = Some(STARTUP_PACING_GAIN * nominal_bandwidth * f64::from(view.mss) * 8.0);
    }

    pub(super) fn set_pacing_rate(&mut self, view: &View) {
        if !self.has_seen_rtt && !view.srtt.is_zero() {
            self.init_pacing_rate(view);
        }
        self.set_pacing_rate_with_gain(view, self.pacing_gain());
    }

    /// §5.6.2.
    pub(super) fn set_pacing_rate_with_gain(&mut self, view: &View, gain: f64) {
        let rate = gain * self.bw * f64::from(view.mss) * 8.0 * PACING_MARGIN;
        if self.full_bw_reached || self.pacing_bits_per_sec.is_none_or(|present| rate > present) {
            self.pacing_bits_per_sec = Some(rate);
        }
    }

    /// §5.6.4.6.
    pub(super) fn set_cwnd(&mut self, view: &View) {
        let bw = if self.settings.law == LawOf::Noq { self.max_bw() } else { self.bw };
        let max_inflight = self.with_budget(self.cwnd_gain() * self.bdp(bw) + self.extra_acked.volume, view.mss);
        let newly_acked = self.sample.newly_acked;
        let is_draft = self.settings.law == LawOf::Draft;
        let newly_acked = if is_draft { newly_acked } else { newly_acked.min(self.sample.full_packets(view.mss)) };
        if self.full_bw_reached {
            self.cwnd = (self.cwnd + newly_acked).min(max_inflight);
        } else if self.cwnd < max_inflight || (view.delivered as f64) < self.settings.initial_window {
            self.cwnd += newly_acked;
        }
        self.cwnd = self.cwnd.max(MIN_PIPE_CWND);
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        self.cwnd = self.cwnd.min(self.cap());
    }

    /// §5.6.4.5.
    pub(super) fn probe_rtt_cwnd(&self) -> f64 {
        (PROBE_RTT_CWND_GAIN * self.bdp(self.bw)).max(MIN_PIPE_CWND)
    }

    /// §5.6.4.7 BoundCwndForModel.
    fn cap(&self) -> f64 {
        let long_term = match self.state {
            State::ProbeBwDown | State::ProbeBwRefill | State::ProbeBwUp => self.inflight_longterm,
            State::ProbeBwCruise | State::ProbeRtt => self.inflight_with_headroom(),
            State::Startup | State::Drain => f64::INFINITY,
        };
        long_term.min(self.inflight_shortterm).max(MIN_PIPE_CWND)
    }
}
