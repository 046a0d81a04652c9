//! The path model and the state machine: the update by each ACK, and the transitions between modes.

use super::policer::{Round, Verdict};
use super::{BW_ROUNDS, Bbr, CYCLE, MIN_CWND, MIN_RTT_WINDOW, Mode, PROBE_RTT_TIME};
use crate::parts::draws;
use crate::parts::estimators::packets_per_sec;
use crate::{Ack, View};
use playpath_units::Duration;

/// Start-up goes on while the bandwidth grows by this factor...
const FULL_BW_GROWTH: f64 = 1.25;
/// ...within this many round trips.
const FULL_BW_ROUNDS: u32 = 3;

impl Bbr {
    pub(super) fn update_model(&mut self, view: &View, ack: &Ack) {
        self.update_bw(view, ack);
        if ack.rate.is_some() {
            self.aggregation.on_ack(view.now, ack.delivered, self.bw(), self.cwnd, self.round_start);
        }
        self.update_cycle(view, ack);
        self.check_full_bw(ack);
        self.check_drain(view);
        self.update_min_rtt(view, ack);
    }

    fn update_bw(&mut self, view: &View, ack: &Ack) {
        self.round_start = false;
        let Some(sample) = &ack.rate else { return };
        if sample.prior_delivered >= self.next_round_delivered {
            self.next_round_delivered = view.delivered;
            self.round_count += 1;
            self.round_start = true;
            self.packet_conservation = false;
        }
        let is_app_limited = self.mark.covers(sample);
        self.sample_policer(view, ack.newly_lost > 0, is_app_limited);
        let Some(bw) = packets_per_sec(sample) else { return };
        if !is_app_limited || bw >= self.max_bw() {
            self.max_bw.update(self.round_count, bw, BW_ROUNDS);
        }
    }

    pub(super) fn sample_policer(&mut self, view: &View, has_losses: bool, is_app_limited: bool) {
        let counts_rounds = self.mode == Mode::ProbeBw;
        let round = Round { has_losses, is_app_limited, is_start: self.round_start, counts_rounds };
        if self.policer.on_sample(view, round) == Verdict::Expired {
            self.enter_probe_bw(view);
        }
    }

    fn update_cycle(&mut self, view: &View, ack: &Ack) {
        if self.mode == Mode::ProbeBw && self.is_phase_over(view, ack) {
            self.advance_phase(view);
        }
    }

    /// A phase lasts min_rtt. Probing goes on until the queue shows it (or losses do); draining stops early when it is done.
    fn is_phase_over(&self, view: &View, ack: &Ack) -> bool {
        let is_full_length = view.now.saturating_since(self.cycle_stamp) > self.min_rtt.unwrap_or(Duration::MAX);
        let gain = self.pacing_gain();
        if gain == 1.0 {
            return is_full_length;
        }
        let in_flight = self.inflight_at_departure(ack.prior_in_flight, view);
        if gain > 1.0 {
            let has_probed = ack.newly_lost > 0 || in_flight >= self.inflight(self.max_bw(), gain, view.mss);
            return is_full_length && has_probed;
        }
        is_full_length || in_flight <= self.inflight(self.max_bw(), 1.0, view.mss)
    }

    fn advance_phase(&mut self, view: &View) {
        self.cycle_index = (self.cycle_index + 1) % CYCLE.len();
        self.cycle_stamp = view.now;
    }

    /// Any phase but the draining one may be the first.
    pub(super) fn enter_probe_bw(&mut self, view: &View) {
        self.mode = Mode::ProbeBw;
        let draw = (draws::at(view, self.settings.seed, "cc.bbr.phase").uniform() * 7.0) as usize;
        self.cycle_index = CYCLE.len() - 1 - draw;
        self.advance_phase(view);
    }

    fn check_full_bw(&mut self, ack: &Ack) {
        let is_app_limited = ack.rate.as_ref().is_some_and(|sample| self.mark.covers(sample));
        if self.full_bw_reached || !self.round_start || is_app_limited {
            return;
        }
        if self.max_bw() >= self.full_bw * FULL_BW_GROWTH {
            self.full_bw = self.max_bw();
            self.full_bw_count = 0;
            return;
        }
        self.full_bw_count += 1;
        self.full_bw_reached = self.full_bw_count >= FULL_BW_ROUNDS;
    }

    fn check_drain(&mut self, view: &View) {
        if self.mode == Mode::Startup && self.full_bw_reached {
            self.mode = Mode::Drain;
            self.ssthresh = self.inflight(self.max_bw(), 1.0, view.mss);
        }
        if self.mode == Mode::Drain
            && self.inflight_at_departure(view.in_flight, view) <= self.inflight(self.max_bw(), 1.0, view.mss)
        {
            self.enter_probe_bw(view);
        }
    }

    fn update_min_rtt(&mut self, view: &View, ack: &Ack) {
        let is_expired = view.now > self.min_rtt_stamp + MIN_RTT_WINDOW;
        if let Some(rtt) = ack.rtt
            && (is_expired || self.min_rtt.is_none_or(|min_rtt| rtt < min_rtt))
        {
            self.min_rtt = Some(rtt);
            self.min_rtt_stamp = view.now;
        }
        if self.settings.probes_rtt && is_expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.save_cwnd();
            self.mode = Mode::ProbeRtt;
            self.probe_rtt_done = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(view, ack);
        }
        if ack.delivered > 0 {
            self.idle_restart = false;
        }
    }

    /// 200 ms and a round trip with no more than four packets in flight.
    fn probe_rtt(&mut self, view: &View, ack: &Ack) {
        self.mark.set(view, ack.delivered);
        if self.probe_rtt_done.is_none() {
            if f64::from(view.in_flight) <= MIN_CWND {
                self.probe_rtt_done = Some(view.now + PROBE_RTT_TIME);
                self.probe_rtt_round_done = false;
                self.next_round_delivered = view.delivered;
            }
            return;
        }
        self.probe_rtt_round_done |= self.round_start;
        if self.probe_rtt_round_done {
            self.check_probe_rtt_done(view);
        }
    }

    pub(super) fn check_probe_rtt_done(&mut self, view: &View) {
        if self.probe_rtt_done.is_none_or(|done| view.now <= done) {
            return;
        }
        self.min_rtt_stamp = view.now;
        self.restore_cwnd();
        if self.full_bw_reached {
            self.enter_probe_bw(view);
        } else {
            self.mode = Mode::Startup;
        }
    }
}
