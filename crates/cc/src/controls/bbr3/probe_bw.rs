//! ProbeBW: the cycle of DOWN, CRUISE, REFILL and UP (§5.3.3).

use super::{Bbr3, LawOf, MIN_PIPE_CWND, State};
use crate::View;
use crate::parts::draws;
use playpath_units::{Duration, Time};

/// The probing phase that current ACKs are feedback for (§2.14).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// State of the bandwidth probes (§2.14).
#[derive(Clone, Copy, Debug)]
pub(super) struct Probing {
    pub ack_phase: AckPhase,
    pub is_bw_probe_sample: bool,
    pub prev_probe_too_high: bool,
    pub prev_probe_precautionary: bool,
    pub rounds_since_probe_up: u64,
    up_rounds: u32,
    up_acked: f64,
    pub up_acked_per_inc: f64,
    wait: Duration,
    cycle_stamp: Time,
}

impl Probing {
    pub(super) fn new() -> Probing {
        Probing {
            ack_phase: AckPhase::Init,
            is_bw_probe_sample: false,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
            rounds_since_probe_up: 0,
            up_rounds: 0,
            up_acked: 0.0,
            up_acked_per_inc: f64::INFINITY,
            wait: Duration::ZERO,
            cycle_stamp: Time::ZERO,
        }
    }
}

impl Bbr3 {
    /// §5.3.3.8.2: as many round trips as Reno would need, up to 63.
    const RENO_ROUNDS: f64 = 63.0;

    /// §5.3.3.9 StartProbeBW_DOWN, with PickProbeWait (§5.3.3.8.3).
    pub(super) fn start_probe_bw_down(&mut self, view: &View) {
        self.reset_congestion_signals();
        let mut stream = draws::at(view, self.settings.seed, "cc.bbr3.wait");
        self.probing.up_acked_per_inc = f64::INFINITY;
        self.probing.rounds_since_probe_up = u64::from(stream.chance(0.5));
        self.probing.wait = Duration::from_secs_f64(2.0 + stream.uniform());
        self.probing.cycle_stamp = view.now;
        self.probing.ack_phase = AckPhase::ProbeStopping;
        self.start_round(view);
        self.state = State::ProbeBwDown;
    }

    pub(super) fn start_probe_bw_cruise(&mut self) {
        self.state = State::ProbeBwCruise;
    }

    pub(super) fn start_probe_bw_refill(&mut self, view: &View) {
        self.reset_short_term_model();
        self.probing.up_rounds = 0;
        self.probing.up_acked = 0.0;
        self.probing.prev_probe_precautionary = false;
        self.probing.ack_phase = AckPhase::Refilling;
        self.start_round(view);
        self.state = State::ProbeBwRefill;
    }

    fn start_probe_bw_up(&mut self, view: &View) {
        self.probing.is_bw_probe_sample = true;
        self.probing.ack_phase = AckPhase::ProbeStarting;
        self.start_round(view);
        self.reset_full_bw(self.sample.delivery_rate);
        self.state = State::ProbeBwUp;
        self.raise_inflight_longterm_slope();
    }

    /// §5.3.3.9.
    pub(super) fn update_probe_bw_cycle_phase(&mut self, view: &View) {
        if !self.full_bw_reached || self.adapt_long_term_model(view) {
            return;
        }
        match self.state {
            State::ProbeBwDown | State::ProbeBwCruise if self.is_time_to_probe_bw(view) => {
                self.start_probe_bw_refill(view);
            }
            State::ProbeBwDown if self.is_time_to_cruise(view) => self.start_probe_bw_cruise(),
            // One round of REFILL.
            State::ProbeBwRefill if self.round_start => self.start_probe_bw_up(view),
            State::ProbeBwUp => self.go_down_if_it_is_time(view),
            _ => {}
        }
    }

    fn go_down_if_it_is_time(&mut self, view: &View) {
        if self.is_time_to_go_down(view) {
            self.probing.prev_probe_too_high = false;
            self.start_probe_bw_down(view);
        }
    }

    /// §5.3.3.9 AdaptLongTermModel. `true`: a transition was made.
    fn adapt_long_term_model(&mut self, view: &View) -> bool {
        if self.round_start && self.probing.ack_phase == AckPhase::ProbeStarting {
            self.probing.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.round_start && self.probing.ack_phase == AckPhase::ProbeStopping && self.end_probe_feedback(view) {
            return true;
        }
        if self.check_probe_high_ecn(view) {
            return true;
        }
        if self.is_inflight_too_high(self.sample.lost, self.sample.tx_in_flight) {
            return self.settings.law == LawOf::Ngtcp2 && self.end_probe_by_sample(view);
        }
        if self.inflight_longterm.is_infinite() {
            return false;
        }
        self.inflight_longterm = self.inflight_longterm.max(self.sample.tx_in_flight);
        if self.state == State::ProbeBwUp {
            self.probe_inflight_longterm_upward();
        }
        false
    }

    /// ngtcp2 takes the rate sample for a lost packet.
    fn end_probe_by_sample(&mut self, view: &View) -> bool {
        let was_up = self.state == State::ProbeBwUp;
        if self.probing.is_bw_probe_sample {
            self.handle_inflight_too_high(view, self.sample.tx_in_flight, self.sample.is_app_limited);
        }
        was_up && self.state != State::ProbeBwUp
    }

    /// The last samples of a probe are in. Precautionary Bandwidth Probing, Acceleration (§5.3.3.6): a probe that stopped early
    /// and did no harm is repeated at once.
    fn end_probe_feedback(&mut self, view: &View) -> bool {
        if self.settings.law == LawOf::Draft {
            self.probing.is_bw_probe_sample = false;
            self.probing.ack_phase = AckPhase::Init;
        }
        if !self.is_in_probe_bw() {
            return false;
        }
        if !self.sample.is_app_limited {
            self.advance_max_bw_filter();
        }
        if self.probing.prev_probe_precautionary && !self.probing.prev_probe_too_high {
            self.start_probe_bw_refill(view);
            return true;
        }
        false
    }

    /// §5.3.3.8.3.
    fn is_time_to_probe_bw(&self, view: &View) -> bool {
        let reno_rounds = self.target_inflight().min(Self::RENO_ROUNDS);
        // ngtcp2's are whole packets.
        let reno_rounds = if self.settings.law == LawOf::Ngtcp2 { reno_rounds.floor() } else { reno_rounds };
        view.now > self.probing.cycle_stamp + self.probing.wait
            || self.probing.rounds_since_probe_up as f64 >= reno_rounds
    }

    /// §5.3.3.8.3: the estimated product, unless congestion cut the window; noq's knows no short-term bound of the bandwidth (`bdp`).
    pub(super) fn target_inflight(&self) -> f64 {
        let bw = if self.settings.law == LawOf::Noq { self.max_bw() } else { self.bw };
        self.bdp(bw).min(self.cwnd)
    }

    /// §5.3.3.9.
    fn is_time_to_cruise(&self, view: &View) -> bool {
        let in_flight = f64::from(view.in_flight);
        let bw = if self.settings.law == LawOf::Ngtcp2 { self.bw } else { self.max_bw() };
        in_flight <= self.inflight_with_headroom() && in_flight <= self.inflight(bw, view.mss)
    }

    /// §5.3.3.9 IsTimeToGoDown.
    fn is_time_to_go_down(&mut self, view: &View) -> bool {
        if self.probing.prev_probe_too_high && f64::from(view.in_flight) >= self.inflight_longterm {
            self.probing.prev_probe_precautionary = true;
            return true;
        }
        if self.is_cwnd_limited() && self.cwnd >= self.inflight_longterm {
            // The bound limits the bandwidth, so a plateau cannot be detected.
            self.reset_full_bw(self.sample.delivery_rate);
            return false;
        }
        self.full_bw_now
    }

    /// §5.3.3.9.
    pub(super) fn inflight_with_headroom(&self) -> f64 {
        if self.inflight_longterm.is_infinite() {
            return f64::INFINITY;
        }
        let headroom = (self.settings.headroom * self.inflight_longterm).max(1.0);
        (self.inflight_longterm - headroom).max(MIN_PIPE_CWND)
    }

    /// §5.3.3.9: growth of 1, 2, 4, ... packets per round trip.
    fn raise_inflight_longterm_slope(&mut self) {
        let growth_this_round = (1_u64 << self.probing.up_rounds) as f64;
        self.probing.up_rounds = (self.probing.up_rounds + 1).min(30);
        self.probing.up_acked_per_inc = (self.cwnd / growth_this_round).max(1.0);
    }

    /// §5.3.3.9, in whole packets; in noq each ACK raises the bound by some bytes, so the window has never reached it when
    /// [`is_time_to_go_down`](Self::is_time_to_go_down) asks, and a plateau ends the probe.
    fn probe_inflight_longterm_upward(&mut self) {
        if !self.is_cwnd_limited() || self.cwnd < self.inflight_longterm {
            return;
        }
        self.probing.up_acked += self.sample.newly_acked;
        let raises = self.probing.up_acked / self.probing.up_acked_per_inc;
        let delta = if self.settings.law == LawOf::Noq { raises } else { raises.floor() };
        if delta > 0.0 {
            self.probing.up_acked -= delta * self.probing.up_acked_per_inc;
            self.inflight_longterm += delta;
        }
        if self.round_start {
            self.raise_inflight_longterm_slope();
        }
    }
}
