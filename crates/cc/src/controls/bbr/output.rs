//! Outputs computed from the model: gains, pacing rate and window.

use super::{Bbr, CYCLE, HIGH_GAIN, MIN_CWND, Mode, Recovery};
use crate::{Ack, Params, View};
use playpath_units::Duration;

/// Paces 1 % below the estimate, to drain what estimates and bursts leave behind.
const PACING_MARGIN: f64 = 0.99;

/// How many packets the sender hands down at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantum {
    Linux,
    Packet,
}

impl Quantum {
    pub(crate) fn from_params(params: &Params) -> Quantum {
        if params.word("quantum") == "packet" { Quantum::Packet } else { Quantum::Linux }
    }

    /// Packets of a TSO burst: what 2^-10 s hold, at least 2 (1 below 1.2 Mbit/s), at most 64 kB and 127.
    pub(super) fn packets(self, bits_per_sec: f64, mss: u32) -> f64 {
        if self == Quantum::Packet {
            return 1.0;
        }
        let least: f64 = if bits_per_sec < 1.2e6 { 1.0 } else { 2.0 };
        let bytes = (bits_per_sec / 8.0 / 1024.0).min(65_215.0);
        (bytes / f64::from(mss)).floor().max(least).min(127.0)
    }
}

impl Bbr {
    pub(super) fn pacing_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup => HIGH_GAIN,
            Mode::Drain => 1.0 / HIGH_GAIN,
            Mode::ProbeBw if self.policer.rate().is_some() => 1.0,
            Mode::ProbeBw => CYCLE[self.cycle_index],
            Mode::ProbeRtt => 1.0,
        }
    }

    fn cwnd_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup | Mode::Drain => HIGH_GAIN,
            Mode::ProbeBw => self.settings.cwnd_gain,
            Mode::ProbeRtt => 1.0,
        }
    }

    /// `gain` bandwidth-delay products, in whole packets.
    fn bdp(&self, bw: f64, gain: f64) -> f64 {
        match self.min_rtt {
            Some(min_rtt) => (gain * bw * min_rtt.as_secs_f64()).ceil(),
            None => self.initial_window,
        }
    }

    /// Room for bursts in the qdisc, in the NIC and at the receiver; even, because of delayed ACKs; two more to probe with.
    fn with_budget(&self, cwnd: f64, mss: u32) -> f64 {
        let cwnd = cwnd + 3.0 * self.burst(mss);
        let even = (cwnd / 2.0).ceil() * 2.0;
        if self.mode == Mode::ProbeBw && self.cycle_index == 0 { even + 2.0 } else { even }
    }

    fn burst(&self, mss: u32) -> f64 {
        self.settings.quantum.packets(self.pacing_bits_per_sec.unwrap_or(0.0), mss)
    }

    /// Packets in flight needed for `bw` times `gain`.
    pub(super) fn inflight(&self, bw: f64, gain: f64, mss: u32) -> f64 {
        self.with_budget(self.bdp(bw, gain), mss)
    }

    /// Packets in flight at the departure of the next burst, less those that will have been delivered by then.
    pub(super) fn inflight_at_departure(&self, in_flight: u32, view: &View) -> f64 {
        let due = if self.pacing_gain() > 1.0 { self.burst(view.mss) } else { 0.0 };
        let wait = view.departs_at.saturating_since(view.now);
        let delivered = (self.bw() * wait.as_secs_f64()).floor();
        (f64::from(in_flight) + due - delivered).max(0.0)
    }

    pub(super) fn set_pacing_rate(&mut self, view: &View, gain: f64) {
        if !self.has_seen_rtt && !view.srtt.is_zero() {
            self.init_pacing_rate(view);
        }
        let rate = gain * self.bw() * bits(view.mss) * PACING_MARGIN;
        if self.full_bw_reached || self.pacing_bits_per_sec.is_none_or(|present| rate > present) {
            self.pacing_bits_per_sec = Some(rate);
        }
    }

    /// High gain times window per RTT; 1 ms stands for an RTT not yet measured.
    pub(super) fn init_pacing_rate(&mut self, view: &View) {
        self.has_seen_rtt = !view.srtt.is_zero();
        let rtt = if self.has_seen_rtt { view.srtt } else { Duration::from_millis(1) };
        let bw = self.cwnd / rtt.as_secs_f64();
        self.pacing_bits_per_sec = Some(HIGH_GAIN * bw * bits(view.mss) * PACING_MARGIN);
    }

    pub(super) fn set_cwnd(&mut self, view: &View, ack: &Ack) {
        let delivered = f64::from(ack.delivered);
        if ack.delivered > 0 && !self.is_conserving(view, ack) {
            let room = if self.full_bw_reached { self.aggregation.room(self.bw()) } else { 0.0 };
            let target = self.with_budget(self.bdp(self.bw(), self.cwnd_gain()) + room, view.mss);
            if self.full_bw_reached {
                self.cwnd = (self.cwnd + delivered).min(target);
            } else if self.cwnd < target || (view.delivered as f64) < self.initial_window {
                self.cwnd += delivered;
            }
            self.cwnd = self.cwnd.max(MIN_CWND);
        }
        if self.mode == Mode::ProbeRtt {
            self.cwnd = self.cwnd.min(MIN_CWND);
        }
    }

    /// Loss takes its packets from the window; the first round trip of fast recovery sends no more than is delivered. The
    /// second may slow-start up to the target again: from there on losses are the model's affair.
    fn is_conserving(&mut self, view: &View, ack: &Ack) -> bool {
        let in_flight_and_delivered = f64::from(view.in_flight) + f64::from(ack.delivered);
        if ack.newly_lost > 0 {
            self.cwnd = (self.cwnd - f64::from(ack.newly_lost)).max(1.0);
        }
        let before = std::mem::replace(&mut self.prior_recovery, self.recovery);
        if self.recovery == Recovery::Fast && before != Recovery::Fast {
            self.packet_conservation = true;
            self.next_round_delivered = view.delivered;
            self.cwnd = in_flight_and_delivered;
        } else if self.recovery == Recovery::Open && before != Recovery::Open {
            self.packet_conservation = false;
            self.restore_cwnd();
        }
        if self.packet_conservation {
            self.cwnd = self.cwnd.max(in_flight_and_delivered);
        }
        self.packet_conservation
    }

    /// The last window that neither recovery nor PROBE_RTT held down.
    pub(super) fn save_cwnd(&mut self) {
        let is_held = self.prior_recovery != Recovery::Open || self.mode == Mode::ProbeRtt;
        self.prior_cwnd = if is_held { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }

    pub(super) fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }
}

fn bits(mss: u32) -> f64 {
    f64::from(mss) * 8.0
}
