//! The path model of the draft: bandwidth, aggregation, full pipe, and the effect of losses (§5.3.1, §5.5).

use super::{Bbr3, CwndLimited, LawOf, Recovery, State};
use crate::parts::estimators::{AppLimitedMark, packets_per_sec};
use crate::{Ack, PacketLost, View};
use playpath_units::Duration;

/// RS, the rate sample of the present ACK (§2.3).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sample {
    pub is_present: bool,
    pub delivered: f64,
    pub delivery_rate: f64,
    pub newly_acked: f64,
    pub acked_bytes: u32,
    pub newly_lost: u32,
    pub rtt: Option<Duration>,
    pub tx_in_flight: f64,
    pub lost: f64,
    pub prior_delivered: u64,
    pub is_app_limited: bool,
}

impl Sample {
    pub(super) fn new(ack: &Ack, mark: &AppLimitedMark) -> Sample {
        let without_rate = Sample {
            newly_acked: f64::from(ack.delivered),
            acked_bytes: ack.acked_bytes,
            newly_lost: ack.newly_lost,
            rtt: ack.rtt,
            ..Sample::default()
        };
        let Some(rate) = &ack.rate else { return without_rate };
        Sample {
            is_present: true,
            delivered: f64::from(rate.delivered),
            delivery_rate: packets_per_sec(rate).unwrap_or(0.0),
            tx_in_flight: f64::from(rate.tx_in_flight),
            lost: f64::from(rate.lost),
            prior_delivered: rate.prior_delivered,
            is_app_limited: mark.covers(rate),
            ..without_rate
        }
    }

    /// noq and ngtcp2 count bytes: a handshake's small packets add less than one, which the profile's initial window has already.
    pub(super) fn full_packets(&self, mss: u32) -> f64 {
        f64::from(self.acked_bytes / mss)
    }

    /// Its packets and marks, with what an earlier ACK delivered.
    pub(super) fn with_rate_of(self, before: &Sample) -> Sample {
        Sample { delivery_rate: before.delivery_rate, delivered: before.delivered, ..self }
    }
}

/// Signals of the present round trip (§2.10), and the losses in it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Latest {
    bw: f64,
    inflight: f64,
    loss_round_delivered: u64,
    loss_round_start: bool,
    is_loss_in_round: bool,
    /// Discontiguous ranges of data lost in the round, and where the last one ended.
    lost_ranges: u32,
    lost_until: Option<u64>,
    /// ngtcp2: ACKs of a round trip (§5.5.1) that reported losses.
    pub lossy_acks: u32,
}

/// State restored after a spurious loss (§2.15).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Saved {
    pub state: Option<State>,
    /// `View::delivered` when it was saved.
    at: Option<u64>,
    bw_shortterm: f64,
    inflight_shortterm: f64,
    inflight_longterm: f64,
}

impl Bbr3 {
    /// §5.3.1.3.
    const STARTUP_FULL_LOSS_COUNT: u32 = 6;
    /// §2.12.
    const EXTRA_ACKED_ROUNDS: u64 = 10;

    /// §2.9.1.
    pub(super) fn max_bw(&self) -> f64 {
        self.max_bw_filter.into_iter().fold(0.0, f64::max)
    }

    /// §5.5.6; a cycle without samples does not count, so the filter is never empty. The stacks' filters (Kathleen Nichols') hold a sample
    /// until it is more than two cycles old, so three of them.
    pub(super) fn advance_max_bw_filter(&mut self) {
        let [_, before, now] = self.max_bw_filter;
        if now > 0.0 {
            self.max_bw_filter = [if self.settings.law == LawOf::Draft { 0.0 } else { before }, now, 0.0];
        }
    }

    /// §5.5.10.3.
    pub(super) fn update_latest_delivery_signals(&mut self, view: &View) {
        let latest = &mut self.latest;
        latest.loss_round_start = false;
        latest.bw = latest.bw.max(self.sample.delivery_rate);
        latest.inflight = latest.inflight.max(self.sample.delivered);
        if self.sample.is_present && self.sample.prior_delivered >= latest.loss_round_delivered {
            latest.loss_round_delivered = view.delivered;
            latest.loss_round_start = true;
        }
    }

    /// §5.5.10.3.
    pub(super) fn advance_latest_delivery_signals(&mut self) {
        if self.latest.loss_round_start {
            self.latest.bw = self.sample.delivery_rate;
            self.latest.inflight = self.sample.delivered;
            (self.latest.lost_ranges, self.latest.lost_until) = (0, None);
        }
    }

    /// §5.5.10.3.
    pub(super) fn reset_congestion_signals(&mut self) {
        self.latest.is_loss_in_round = false;
        self.latest.bw = 0.0;
        self.latest.inflight = 0.0;
    }

    /// §5.5.10.3.
    pub(super) fn update_congestion_signals(&mut self, view: &View) {
        self.update_max_bw(view);
        self.end_round_of_marks();
        if !self.latest.loss_round_start {
            return;
        }
        if !self.is_probing_bw() {
            if self.marks.is_in_round {
                self.lower_short_term_volume();
            }
            if self.latest.is_loss_in_round {
                self.lower_short_term_model();
            }
        }
        self.latest.is_loss_in_round = false;
        self.marks.is_in_round = false;
    }

    /// §5.5.5 UpdateMaxBw with §5.5.1 UpdateRound.
    fn update_max_bw(&mut self, view: &View) {
        self.round_start = self.sample.is_present && self.sample.prior_delivered >= self.next_round_delivered;
        if self.round_start {
            self.start_round(view);
            self.round_count += 1;
            self.probing.rounds_since_probe_up += 1;
            self.cwnd_limited = CwndLimited { this_round: false, last_round: self.cwnd_limited.this_round };
            self.latest.lossy_acks = 0;
        }
        self.latest.lossy_acks += u32::from(self.sample.newly_lost > 0);
        let rate = self.sample.delivery_rate;
        if rate > 0.0 && (rate >= self.max_bw() || !self.sample.is_app_limited) {
            self.max_bw_filter[2] = self.max_bw_filter[2].max(rate);
        }
    }

    /// The window was full in the present round trip, as ngtcp2 sees it, or in the last, as noq does; by the draft in either.
    pub(super) fn is_cwnd_limited(&self) -> bool {
        let CwndLimited { this_round, last_round } = self.cwnd_limited;
        match self.settings.law {
            LawOf::Draft => this_round || last_round,
            LawOf::Noq => last_round,
            LawOf::Ngtcp2 => this_round,
        }
    }

    /// §5.5.10.3 InitLowerBounds, LossLowerBounds.
    fn lower_short_term_model(&mut self) {
        if self.bw_shortterm.is_infinite() {
            self.bw_shortterm = self.max_bw();
        }
        if self.inflight_shortterm.is_infinite() {
            self.inflight_shortterm = self.cwnd;
        }
        let beta = self.settings.beta;
        self.bw_shortterm = self.latest.bw.max(beta * self.bw_shortterm);
        self.inflight_shortterm = self.latest.inflight.max(beta * self.inflight_shortterm);
    }

    /// §5.5.10.3.
    pub(super) fn reset_short_term_model(&mut self) {
        self.bw_shortterm = f64::INFINITY;
        self.inflight_shortterm = f64::INFINITY;
    }

    /// §5.5.9; noq's start-up remembers no ACK but this one (`update_ack_aggregation`).
    pub(super) fn update_ack_aggregation(&mut self, view: &View) {
        let extra_acked = &mut self.extra_acked;
        let mut expected = self.bw * view.now.saturating_since(extra_acked.interval_start).as_secs_f64();
        if extra_acked.delivered <= expected {
            extra_acked.delivered = 0.0;
            extra_acked.interval_start = view.now;
            expected = 0.0;
        }
        extra_acked.delivered += self.sample.newly_acked;
        extra_acked.volume = (extra_acked.delivered - expected).min(self.cwnd);
        if self.full_bw_reached || self.settings.law != LawOf::Noq {
            let rounds = if self.full_bw_reached { Self::EXTRA_ACKED_ROUNDS } else { 1 };
            extra_acked.filter.update(self.round_count, extra_acked.volume, rounds);
            extra_acked.volume = extra_acked.filter.get().unwrap_or(0.0);
        }
    }

    /// §5.3.1.2 ResetFullBW, with the new baseline.
    pub(super) fn reset_full_bw(&mut self, baseline: f64) {
        self.full_bw = baseline;
        self.full_bw_count = 0;
        self.full_bw_now = false;
    }

    /// §5.3.1.2.
    pub(super) fn check_full_bw_reached(&mut self) {
        if self.full_bw_now || self.sample.is_app_limited {
            return;
        }
        let is_seen = self.round_start || self.settings.law == LawOf::Ngtcp2;
        if is_seen && self.sample.delivery_rate >= self.full_bw * 1.25 {
            self.reset_full_bw(self.sample.delivery_rate);
            return;
        }
        if !self.round_start {
            return;
        }
        self.full_bw_count += 1;
        self.full_bw_now = self.full_bw_count >= 3;
        self.full_bw_reached |= self.full_bw_now;
    }

    /// §5.3.1.3: a round trip of fast recovery, more than 2 % and six ranges lost in it. ngtcp2 waits for no round trip to end, counts ACKs
    /// that told of losses, more than six of them, and leaves room for two products.
    pub(super) fn check_startup_high_loss(&mut self) {
        let latest = &self.latest;
        let has_many = if self.settings.law == LawOf::Ngtcp2 {
            let is_first_round = self.recovery == Recovery::Fast && self.round_count <= self.recovery_round;
            latest.lossy_acks > Self::STARTUP_FULL_LOSS_COUNT && !is_first_round
        } else {
            latest.loss_round_start
                && self.recovery == Recovery::Fast
                && latest.lost_ranges >= Self::STARTUP_FULL_LOSS_COUNT
        };
        if self.full_bw_reached || !has_many || !self.is_inflight_too_high(self.sample.lost, self.sample.tx_in_flight) {
            return;
        }
        self.saved.state = Some(State::Startup);
        self.end_startup_at_queue();
    }

    /// §5.3.1.3: the queue is full; the delivered amount bounds the packets in flight.
    pub(super) fn end_startup_at_queue(&mut self) {
        let is_ngtcp2 = self.settings.law == LawOf::Ngtcp2;
        self.full_bw_now |= !is_ngtcp2;
        self.full_bw_reached = true;
        let products = if is_ngtcp2 { 2.0 } else { 1.0 };
        self.inflight_longterm = (products * self.bdp(self.bw)).max(self.latest.inflight);
    }

    /// §5.5.10.2.
    pub(super) fn is_inflight_too_high(&self, lost: f64, tx_in_flight: f64) -> bool {
        lost > tx_in_flight * self.settings.loss_thresh
    }

    /// §5.5.10.2.
    pub(super) fn note_loss(&mut self, view: &View) {
        if !self.latest.is_loss_in_round {
            self.latest.loss_round_delivered = view.delivered;
            self.save_state_upon_loss(view);
        }
        self.latest.is_loss_in_round = true;
    }

    /// §5.5.11.1, once per ACK or timeout: a later save of the same moment would find the model changed by the loss.
    pub(super) fn save_state_upon_loss(&mut self, view: &View) {
        if self.saved.at == Some(view.delivered) {
            return;
        }
        self.save_cwnd();
        self.saved = Saved {
            state: None,
            at: Some(view.delivered),
            bw_shortterm: self.bw_shortterm,
            inflight_shortterm: self.inflight_shortterm,
            inflight_longterm: self.inflight_longterm,
        };
    }

    /// §5.5.10.2.
    pub(super) fn handle_lost_packet(&mut self, view: &View, packet: &PacketLost) {
        self.note_loss(view);
        if self.latest.lost_until != Some(packet.offset) {
            self.latest.lost_ranges += 1;
        }
        self.latest.lost_until = Some(packet.offset + u64::from(packet.payload_bytes));
        if !self.probing.is_bw_probe_sample {
            return;
        }
        let (lost, tx_in_flight) = (f64::from(packet.lost_since_sent), f64::from(packet.tx_in_flight));
        if self.is_inflight_too_high(lost, tx_in_flight) {
            self.handle_inflight_too_high(view, self.inflight_at_loss(lost, tx_in_flight), packet.is_app_limited);
        }
    }

    /// §5.5.10.2 InflightAtLoss: packets in flight when losses crossed the threshold, interpolated within the last packet.
    pub(super) fn inflight_at_loss(&self, lost: f64, tx_in_flight: f64) -> f64 {
        let threshold = self.settings.loss_thresh;
        let (inflight_prev, lost_prev) = (tx_in_flight - 1.0, lost - 1.0);
        let lost_prefix = (threshold * inflight_prev - lost_prev) / (1.0 - threshold);
        inflight_prev + lost_prefix.clamp(0.0, 1.0)
    }

    /// §5.5.10.2.
    pub(super) fn handle_inflight_too_high(&mut self, view: &View, tx_in_flight: f64, is_app_limited: bool) {
        self.probing.prev_probe_too_high = self.settings.law == LawOf::Draft;
        self.probing.is_bw_probe_sample = false;
        if !is_app_limited {
            self.inflight_longterm = tx_in_flight.max(self.target_inflight() * self.settings.beta);
        }
        if self.state == State::ProbeBwUp {
            self.saved.state = Some(State::ProbeBwUp);
            self.start_probe_bw_down(view);
        }
    }

    /// §5.5.11.2.
    pub(super) fn handle_spurious_loss_detection(&mut self, view: &View) {
        self.restore_cwnd();
        self.latest.is_loss_in_round = false;
        self.reset_full_bw(0.0);
        let saved = std::mem::take(&mut self.saved);
        self.bw_shortterm = self.bw_shortterm.max(saved.bw_shortterm);
        self.inflight_shortterm = self.inflight_shortterm.max(saved.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(saved.inflight_longterm);
        match saved.state {
            Some(State::Startup) if self.state != State::Startup => {
                self.full_bw_reached = false;
                if self.state != State::ProbeRtt {
                    self.enter_startup();
                }
            }
            Some(State::ProbeBwUp) if !matches!(self.state, State::ProbeBwUp | State::ProbeRtt) => {
                self.start_probe_bw_refill(view);
            }
            _ => {}
        }
    }
}
