//! quinn's BBR: `law = "quinn"`.
//!
//! Reference: quinn-proto 0.11.19, `congestion/bbr/mod.rs` and `bw_estimation.rs`, and the order in which `connection/mod.rs` calls them. It
//! resembles Chromium's BBR version 1 and behaves differently, as far as a transport that does not use the control's pacing rate (quinn)
//! shows:
//! 1. The bandwidth is one packet per gap between two ACKs, but no more than the last train that left for the gap to the train before; the
//!    largest ever: an estimate that is not the largest never reaches the filter. The window's target is therefore far beyond the path.
//! 2. What bounds the flight is the window of recovery, and that never falls below what was in flight before the ACK, lost packets included:
//!    losses are replaced at once. It ends with a round trip without a loss.
//! 3. The window begins with 240 kB, and a PROBE_RTT at the first ACK, since no round trip was measured before.
//!
//! Not modelled: the pacing gains, which quinn ignores.
//!
//! Units: packets, packets/s.

use super::{BW_ROUNDS, HIGH_GAIN, MIN_CWND, MIN_RTT_WINDOW, Mode, PROBE_RTT_TIME};
use crate::parts::estimators::WindowedMax;
use crate::{
    Ack, CongestionControl, CongestionEvent, PacketLost, PacketSent, RecoveryWindow, Rto, Undo, View, WindowChange,
};
use playpath_units::{Duration, Rate, Time};

/// 200 times 1200 bytes (`K_MAX_INITIAL_CONGESTION_WINDOW`), in packets of 1452.
const INITIAL_WINDOW: f64 = 165.0;
/// Start-up goes on while the bandwidth grows by this factor...
const FULL_BW_GROWTH: f64 = 1.25;
/// ...within this many round trips.
const FULL_BW_ROUNDS: u32 = 3;
/// Part of the target that PROBE_RTT leaves (`K_MODERATE_PROBE_RTT_MULTIPLIER`).
const PROBE_RTT_GAIN: f64 = 0.75;
/// Window gain outside start-up (`K_DERIVED_HIGH_CWNDGAIN`).
const CWND_GAIN: f64 = 2.0;
/// ACKs that arrive within this time are handled together: a server reads all available packets before it sends. On the wire the smallest
/// gap that a server
/// of quinn saw in 10 s followed from its PROBE_RTT: 128, 82 and 191 us (short, lossy and deep link of docs/stacks.py).
const WAKE: Duration = Duration::from_micros(100);
/// Datagrams sent in one call (quinn, `MAX_TRANSMIT_SEGMENTS`), which the model sees as one.
const TRAIN: u32 = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recovery {
    Open,
    Conservation,
    Growth,
}

/// When the last two trains left, and how many packets the last has: what `BandwidthEstimation::on_sent` keeps.
#[derive(Default)]
struct Sends {
    last: Option<Time>,
    before: Option<Time>,
    packets: u32,
}

impl Sends {
    fn on_packet(&mut self, now: Time) {
        let at = self.last.filter(|last| now.saturating_since(*last) < WAKE).unwrap_or(now);
        if self.last == Some(at) && self.packets < TRAIN {
            self.packets += 1;
        } else {
            (self.before, self.last, self.packets) = (self.last, Some(at), 1);
        }
    }
    /// Send rate, packets/s; infinite if both left at the same time, `None` before the second train.
    fn rate(&self) -> Option<f64> {
        let gap = self.last?.saturating_since(self.before?);
        Some(if gap.is_zero() { f64::INFINITY } else { f64::from(self.packets) / gap.as_secs_f64() })
    }
}

/// `AckAggregationState`: what ACKs brought beyond the bandwidth, the largest of ten round trips.
struct Aggregation {
    epoch: Option<Time>,
    acked: f64,
    height: WindowedMax<f64>,
}

impl Aggregation {
    fn new() -> Aggregation {
        Aggregation { epoch: None, acked: 0.0, height: WindowedMax::new() }
    }
    fn on_ack(&mut self, now: Time, acked: f64, bw: f64, round: u64) {
        let expected = bw * now.saturating_since(self.epoch.unwrap_or(now)).as_secs_f64();
        if self.acked <= expected {
            (self.epoch, self.acked) = (Some(now), acked);
            return;
        }
        self.acked += acked;
        self.height.update(round, self.acked - expected, BW_ROUNDS);
    }
}

/// quinn's BBR. Packets are identified by the delivered count at the time they were sent, instead of packet numbers.
pub(super) struct QuinnBbr {
    mode: Mode,
    cwnd: f64,
    max_bw: f64,
    min_rtt: Option<Duration>,
    last_ack: Option<Time>,
    sends: Sends,
    aggregation: Aggregation,
    round_count: u64,
    round_end: u64,
    full_bw: f64,
    full_bw_count: u32,
    is_at_full_bw: bool,
    recovery: Recovery,
    recovery_window: f64,
    recovery_end: u64,
    probe_rtt_began: Option<Time>,
    probe_rtt_ends: Option<Time>,
    /// Packets lost since the previous ACK, reported to the model with the next one: losses are detected after an ACK was processed.
    lost: u32,
    lost_before: u32,
}

impl QuinnBbr {
    pub(super) fn new() -> QuinnBbr {
        QuinnBbr {
            mode: Mode::Startup,
            cwnd: INITIAL_WINDOW,
            max_bw: 0.0,
            min_rtt: None,
            last_ack: None,
            sends: Sends::default(),
            aggregation: Aggregation::new(),
            round_count: 0,
            round_end: 0,
            full_bw: 0.0,
            full_bw_count: 0,
            is_at_full_bw: false,
            recovery: Recovery::Open,
            recovery_window: 0.0,
            recovery_end: 0,
            probe_rtt_began: None,
            probe_rtt_ends: None,
            lost: 0,
            lost_before: 0,
        }
    }

    /// `get_target_cwnd`.
    fn target(&self, gain: f64) -> f64 {
        let bdp = self.max_bw * self.min_rtt.map_or(0.0, Duration::as_secs_f64);
        if bdp > 0.0 { (gain * bdp).max(MIN_CWND) } else { INITIAL_WINDOW }
    }

    fn update_bw(&mut self, now: Time, is_app_limited: bool) {
        let gap = self.last_ack.map_or(Duration::MAX, |last| now.saturating_since(last));
        if gap < WAKE {
            return;
        }
        self.last_ack = Some(now);
        if let (false, Some(sent)) = (is_app_limited, self.sends.rate()) {
            self.max_bw = self.max_bw.max(sent.min(1.0 / gap.as_secs_f64()));
        }
    }

    /// `update_recovery_state`.
    fn update_recovery(&mut self, view: &View, lost: u32, is_newest_after: impl Fn(u64) -> bool, round_start: bool) {
        let is_over = lost == 0 && is_newest_after(self.recovery_end);
        if lost > 0 {
            self.recovery_end = view.delivered;
        }
        match self.recovery {
            Recovery::Open if lost > 0 => {
                (self.recovery, self.recovery_window) = (Recovery::Conservation, 0.0);
                self.round_end = view.delivered;
            }
            Recovery::Open => {}
            _ if is_over => self.recovery = Recovery::Open,
            Recovery::Conservation if round_start => self.recovery = Recovery::Growth,
            Recovery::Conservation | Recovery::Growth => {}
        }
    }

    /// `check_if_full_bw_reached`.
    fn check_full_bw(&mut self) {
        if self.max_bw >= self.full_bw * FULL_BW_GROWTH {
            (self.full_bw, self.full_bw_count) = (self.max_bw, 0);
            self.aggregation.height = WindowedMax::new();
            return;
        }
        self.full_bw_count += 1;
        self.is_at_full_bw = self.full_bw_count >= FULL_BW_ROUNDS || self.recovery != Recovery::Open;
    }

    /// `maybe_exit_startup_or_drain`, `maybe_enter_or_exit_probe_rtt`.
    fn update_mode(&mut self, view: &View, in_flight: f64, round_start: bool, is_expired: bool) {
        if self.mode == Mode::Startup && self.is_at_full_bw {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && in_flight <= self.target(1.0) {
            self.mode = Mode::ProbeBw;
        }
        if is_expired && self.mode != Mode::ProbeRtt {
            (self.mode, self.probe_rtt_began, self.probe_rtt_ends) = (Mode::ProbeRtt, Some(view.now), None);
        }
        if self.mode != Mode::ProbeRtt {
            return;
        }
        match self.probe_rtt_ends {
            None if in_flight < self.target(PROBE_RTT_GAIN) + 1.0 => {
                self.probe_rtt_ends = Some(view.now + PROBE_RTT_TIME);
            }
            Some(end) if round_start && view.now >= end => {
                self.mode = if self.is_at_full_bw { Mode::ProbeBw } else { Mode::Startup };
            }
            _ => {}
        }
    }

    /// `calculate_cwnd`; in start-up nothing bounds it.
    fn set_cwnd(&mut self, acked: f64) {
        if self.mode == Mode::ProbeRtt {
            return;
        }
        self.cwnd += acked;
        if self.is_at_full_bw {
            let gain = if self.mode == Mode::Drain { HIGH_GAIN } else { CWND_GAIN };
            self.cwnd = self.cwnd.min(self.target(gain) + self.aggregation.height.get().unwrap_or(0.0));
        }
        self.cwnd = self.cwnd.max(MIN_CWND);
    }

    /// `calculate_recovery_window`.
    fn set_recovery_window(&mut self, acked: f64, lost: f64, in_flight: f64) {
        if self.recovery == Recovery::Open {
            return;
        }
        if self.recovery_window > 0.0 {
            self.recovery_window = (self.recovery_window - lost).max(1.0);
            if self.recovery == Recovery::Growth {
                self.recovery_window += acked;
            }
        }
        self.recovery_window = self.recovery_window.max(in_flight + acked).max(MIN_CWND);
    }
}

impl CongestionControl for QuinnBbr {
    fn cwnd(&self) -> f64 {
        match self.mode {
            Mode::ProbeRtt => self.target(PROBE_RTT_GAIN),
            Mode::Drain | Mode::ProbeBw if self.recovery != Recovery::Open => self.cwnd.min(self.recovery_window),
            _ => self.cwnd,
        }
    }
    fn ssthresh(&self) -> f64 {
        f64::INFINITY
    }
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
    fn phase(&self) -> &'static str {
        self.mode.name()
    }
    fn recovery_window(&self) -> RecoveryWindow {
        RecoveryWindow::Controller
    }

    fn on_packet_sent(&mut self, event: &PacketSent) {
        self.sends.on_packet(event.now);
    }

    fn on_packet_lost(&mut self, _view: &View, _event: &PacketLost) {
        self.lost += 1;
    }

    /// `on_ack` of each packet and `on_end_acks`.
    fn on_ack(&mut self, view: &View, event: &Ack) {
        let lost = self.lost_before + self.lost.saturating_sub(event.newly_lost);
        (self.lost, self.lost_before) = (0, event.newly_lost);
        // `app_limited` of `poll_transmit`: nothing waits. A recovery, which `may_grow` heeds, is none.
        let is_app_limited = event.rate.is_some_and(|rate| rate.is_app_limited);
        let acked = f64::from(event.delivered);
        self.update_bw(view.now, is_app_limited);
        self.aggregation.on_ack(view.now, acked, self.max_bw, self.round_count);
        let is_expired = !is_app_limited
            && self.probe_rtt_began.is_none_or(|began| view.now.saturating_since(began) > MIN_RTT_WINDOW);
        self.min_rtt = (view.min_rtt != Duration::MAX).then_some(view.min_rtt);
        let newest = event.rate.map(|rate| rate.prior_delivered);
        let is_newest_after = |end: u64| newest.is_some_and(|delivered| delivered >= end);
        let round_start = is_newest_after(self.round_end);
        if round_start {
            self.round_end = view.delivered;
            self.round_count += 1;
        }
        self.update_recovery(view, lost, is_newest_after, round_start);
        if round_start && !self.is_at_full_bw && !is_app_limited {
            self.check_full_bw();
        }
        let in_flight = f64::from(view.in_flight + event.newly_lost);
        self.update_mode(view, in_flight, round_start, is_expired);
        self.set_cwnd(acked);
        self.set_recovery_window(acked, f64::from(lost), in_flight);
    }

    fn on_congestion(&mut self, _view: &View, _event: &CongestionEvent) {}
    fn on_rto(&mut self, _view: &View, _event: &Rto) {}
    fn on_undo(&mut self, _view: &View, _event: &Undo) {}

    fn on_window_change(&mut self, _view: &View, change: &WindowChange) {
        self.cwnd = change.cwnd.max(MIN_CWND);
    }
}

#[cfg(test)]
mod tests;
