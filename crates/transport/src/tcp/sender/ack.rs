//! A segment on an established connection: checks, acknowledgement, data.
//!
//! Reference: RFC 9293 §3.10.7.4 (order of the checks), RFC 5961 (challenge ACKs), RFC 7323 §5 (PAWS), RFC 2018/2883 (SACK,
//! DSACK), RFC 6298 §3 (Karn), draft-cheng (delivery rate).
//! Differences from the references:
//! 1. The right edge of the peer's window never moves back: a peer that shrinks its window is not followed.
//! 2. SRTT takes the first packet that a cumulative ACK covers (delayed ACKs count), the controller's `rtt` the newest.
//!
//! Tested by packet scripts and the stream property test.

use crate::segment::{Flags, Segment};
use crate::tcp::config::{FlowControl, Growth};
use crate::tcp::handshake::timestamp;
use crate::tcp::receiver::unwrap_near;
use crate::tcp::sender::rack::Rack;
use crate::tcp::sender::recovery::Phase;
use crate::tcp::sender::scoreboard::{EVER_RETRANS, RETRANS, SACKED, SentPacket};
use crate::tcp::sender::validation::Validator;
use crate::tcp::{Connection, Event};
use playpath_cc::{Ack, RecoveryWindow, Sibling};
use playpath_units::{Duration, Time};

/// What an ACK told, for the recovery.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckContext {
    pub now: Time,
    /// SND.UNA moved.
    pub is_advance: bool,
    /// A duplicate ACK: no progress, no data, and with SACK it brings news.
    pub is_duplicate: bool,
    pub has_dsack: bool,
    /// Packets that left by SND.UNA's advance.
    pub acked: u32,
    /// Packets newly delivered.
    pub delivered: u32,
    /// Its SACK blocks had news.
    pub has_sacked: bool,
    /// A packet that ends at or below the recovery point and was never retransmitted was delivered.
    pub original_delivered: bool,
    /// Echoed timestamp.
    pub echo: Option<u32>,
}

impl AckContext {
    /// No ACK: a timer.
    pub fn at(now: Time) -> AckContext {
        AckContext {
            now,
            is_advance: false,
            is_duplicate: false,
            has_dsack: false,
            acked: 0,
            delivered: 0,
            has_sacked: false,
            original_delivered: false,
            echo: None,
        }
    }
}

/// Collects the packets that one ACK delivers.
struct Delivery {
    now: Time,
    min_rtt: Duration,
    delivered: u32,
    /// Sent last among them.
    newest: Option<SentPacket>,
    /// Send times of the first and the last one that was never retransmitted.
    first_clean: Option<Time>,
    last_clean: Time,
    /// A retransmitted one was cumulatively acknowledged.
    has_retransmitted: bool,
    recovery_point: u64,
    original_delivered: bool,
}

impl Delivery {
    #[inline]
    fn add(&mut self, packet: &SentPacket, rack: &mut Rack) {
        self.delivered += 1;
        if self.newest.as_ref().is_none_or(|newest| packet.sent_at >= newest.sent_at) {
            self.newest = Some(*packet);
        }
        let is_ambiguous = if packet.is(EVER_RETRANS) {
            self.now.saturating_since(packet.sent_at) < self.min_rtt
        } else {
            self.first_clean.get_or_insert(packet.sent_at);
            self.last_clean = packet.sent_at;
            self.original_delivered |= packet.end() <= self.recovery_point;
            false
        };
        rack.on_delivered(self.now, packet, is_ambiguous);
    }
}

impl Connection {
    /// RFC 9293 §3.10.7.4.
    pub(crate) fn handle_established(&mut self, now: Time, segment: &Segment, siblings: &[Sibling]) {
        if !self.is_plausible(now, segment) {
            return;
        }
        if segment.flags.contains(Flags::ACK) {
            self.handle_ack(now, segment, siblings);
        }
        if segment.payload_len > 0 || segment.flags.contains(Flags::FIN) {
            self.handle_payload(now, segment);
        } else if segment.timestamps.is_some() || self.features.ecn {
            self.receiver.handle_data(now, segment, None);
        }
        self.finish_if_closed(now);
    }

    /// Steps 1 to 4: sequence, RST, SYN. `false`: the segment is done with.
    fn is_plausible(&mut self, now: Time, segment: &Segment) -> bool {
        if let (Some(timestamps), true) = (segment.timestamps, self.features.timestamps)
            && self.receiver.is_old_timestamp(now, timestamps)
            && !segment.flags.contains(Flags::RST)
        {
            self.receiver.request_ack();
            return false;
        }
        if segment.flags.intersects(Flags::RST.with(Flags::SYN)) {
            if segment.flags.contains(Flags::RST) && self.receiver.is_acceptable(segment) {
                self.reset_by_peer(now);
            } else if segment.flags.contains(Flags::SYN) {
                self.receiver.request_ack(); // challenge ACK (RFC 5961 §4)
            }
            return false;
        }
        if !self.receiver.is_acceptable(segment) {
            if segment.payload_len > 0 {
                // An old duplicate: tell by DSACK that it came twice.
                self.stats.data_segments_received += 1;
                self.receiver.handle_data(now, segment, None);
            }
            self.receiver.request_ack();
            return false;
        }
        true
    }

    fn handle_payload(&mut self, now: Time, segment: &Segment) {
        self.stats.data_segments_received += 1;
        self.receiver.note_arrival(now, self.rtt.base_rto());
        let sack_rtt = self.features.sack.then_some(self.rtt.srtt);
        let received = self.receiver.handle_data(now, segment, sack_rtt);
        self.stats.duplicate_bytes_received = self.receiver.duplicate_bytes;
        if received.is_readable {
            self.raise(Event::Readable);
        }
        if received.is_fin {
            self.raise(Event::PeerClosed);
        }
    }

    fn handle_ack(&mut self, now: Time, segment: &Segment, siblings: &[Sibling]) {
        let ack = unwrap_near(segment.ack, self.config.isn.wrapping_add(1), self.una);
        if ack > self.nxt {
            return self.receiver.request_ack(); // acknowledges what was never sent
        }
        if self.is_without_news(ack, segment) {
            self.update_peer_window(ack, segment.window);
            self.recovery.new_data_only = false;
            return self.rearm();
        }
        let prior_in_flight = self.in_flight();
        let had_outstanding = !self.scoreboard.is_empty();
        let opened = self.update_peer_window(ack, segment.window);
        let mut delivery = Delivery {
            now,
            min_rtt: self.rtt.min_rtt,
            delivered: 0,
            newest: None,
            first_clean: None,
            last_clean: Time::ZERO,
            has_retransmitted: false,
            recovery_point: self.recovery.point,
            original_delivered: false,
        };
        let prior_una = self.una;
        let acked = if ack > self.una { self.advance(ack, &mut delivery) } else { 0 };
        if !self.features.sack && delivery.has_retransmitted {
            delivery.original_delivered = false; // without SACK the retransmission may have repaired it all
        }
        let prior_delivered = delivery.delivered;
        let has_dsack = !segment.sack.is_empty() && self.features.sack && self.handle_sacks(segment, &mut delivery);
        let is_duplicate = ack == prior_una
            && had_outstanding
            && segment.payload_len == 0
            && !opened
            && !segment.flags.contains(Flags::FIN);
        if is_duplicate {
            self.stats.dup_acks_received += 1;
        }
        let has_news = !self.features.sack || delivery.delivered > 0;
        let ctx = AckContext {
            now,
            is_advance: self.una > prior_una,
            is_duplicate: is_duplicate && (has_news || has_dsack),
            has_dsack,
            acked,
            delivered: delivery.delivered,
            has_sacked: delivery.delivered > prior_delivered,
            original_delivered: delivery.original_delivered,
            echo: segment.timestamps.filter(|_| self.features.timestamps).map(|t| t.echo),
        };
        let summary = Summary { prior_in_flight, prior_una, ecn_echo: self.is_echo(segment) };
        self.finish_ack(ctx, &delivery, summary, siblings);
    }

    /// Header prediction, as at the receiver of a bulk transfer: nothing is outstanding or wrong, so the ACK of a data segment
    /// tells at most of a new window.
    #[inline]
    fn is_without_news(&self, ack: u64, segment: &Segment) -> bool {
        ack == self.una
            && self.scoreboard.is_empty()
            && self.recovery.phase == Phase::Open
            && segment.sack.is_empty()
            && !self.is_echo(segment)
    }

    /// After the scoreboard has taken the ACK: samples, recovery, controller, timers.
    fn finish_ack(&mut self, mut ctx: AckContext, delivery: &Delivery, summary: Summary, siblings: &[Sibling]) {
        let now = ctx.now;
        self.count_duplicates(&mut ctx);
        if ctx.delivered > 0 {
            self.rate.on_delivered(now, ctx.delivered);
        }
        let rtt = if delivery.delivered > 0 || ctx.is_advance { self.sample_rtt(&ctx, delivery) } else { None };
        let rate = delivery
            .newest
            .as_ref()
            .and_then(|newest| self.rate.sample(now, newest, self.features.mss, self.rtt.min_rtt));
        let round_start = delivery
            .newest
            .as_ref()
            .is_some_and(|newest| self.transmit.note_round(newest.delivered, self.rate.delivered));
        let was_fast = matches!(self.recovery.phase, Phase::Recovery | Phase::Cwr);
        let lost_before = self.rate.lost;
        self.recovery.new_data_only = false;
        self.check_probe(&ctx, siblings);
        if summary.ecn_echo {
            self.react_to_ecn(&ctx, siblings);
        }
        if self.is_dubious(&ctx) {
            self.react_to_ack(&ctx, siblings);
        }
        let newly_lost = (self.rate.lost - lost_before) as u32;
        if ctx.delivered > 0 || ctx.acked > 0 {
            self.feed_validation(&ctx, siblings);
            self.report_losses(now, siblings);
            // A controller that rules its window in recovery may grow it there.
            let is_fast = (was_fast || matches!(self.recovery.phase, Phase::Recovery | Phase::Cwr))
                && self.cc.recovery_window() == RecoveryWindow::Transport;
            let event = Ack {
                acked: ctx.acked,
                delivered: ctx.delivered,
                acked_bytes: (self.una - summary.prior_una) as u32,
                newly_lost,
                rtt,
                rate,
                prior_in_flight: summary.prior_in_flight,
                may_grow: !is_fast && self.may_grow(now),
                round_start,
                ecn_echo: summary.ecn_echo,
            };
            let view = self.view(now, siblings);
            self.cc.on_ack(&view, &event);
        }
        if matches!(self.recovery.phase, Phase::Recovery | Phase::Cwr) {
            let is_safe = ctx.is_advance && newly_lost == 0;
            self.recovery.prr.on_ack(ctx.delivered, self.in_flight(), is_safe);
        }
        self.restart_timers(&ctx);
    }

    /// The states and counters that can change something on this ACK; a plain one in the open state has none.
    fn is_dubious(&self, ctx: &AckContext) -> bool {
        self.recovery.phase != Phase::Open
            || ctx.is_duplicate
            || ctx.has_dsack
            || self.sacked_out() > 0
            || self.recovery.checks_left > 0
            || self.timers.reorder_at != Time::MAX
    }

    fn advance(&mut self, ack: u64, delivery: &mut Delivery) -> u32 {
        let rack = &mut self.rack;
        let acked = self.scoreboard.acknowledge(ack, |packet| {
            delivery.has_retransmitted |= packet.any(EVER_RETRANS | RETRANS);
            if !packet.is(SACKED) {
                delivery.add(packet, rack);
            }
        });
        let end = self.written;
        self.stats.bytes_acked += ack.min(end) - self.una.min(end);
        self.una = ack;
        self.recovery.consecutive_rtos = 0;
        if self.transmit.is_fin_sent && ack > end {
            self.transmit.is_fin_acked = true;
        }
        if self.scoreboard.is_empty() {
            self.transmit.emptied_at = delivery.now;
        }
        self.raise_writable();
        acked
    }

    /// Returns `true` if the first block is a DSACK.
    fn handle_sacks(&mut self, segment: &Segment, delivery: &mut Delivery) -> bool {
        let zero = self.config.isn.wrapping_add(1);
        let mut blocks = [(0, 0); 4];
        for (slot, &(left, right)) in blocks.iter_mut().zip(segment.sack.as_slice()) {
            *slot = (unwrap_near(left, zero, self.una), unwrap_near(right, zero, self.una));
        }
        // RFC 2883 §4: a first block below the ACK, or inside the second block, reports a duplicate.
        let count = segment.sack.len();
        let first = blocks[0];
        let is_dsack = first.1 <= self.una || (count > 1 && first.0 >= blocks[1].0 && first.1 <= blocks[1].1);
        if is_dsack {
            self.stats.dsacks_received += 1;
            self.undo.on_dsack(first.1);
            self.rack.on_dsack(self.una, self.nxt);
            blocks[0] = (0, 0);
        }
        let (una, nxt, rack) = (self.una, self.nxt, &mut self.rack);
        for block in &mut blocks {
            block.0 = block.0.max(una);
            if block.0 < block.1 && block.1 <= nxt {
                self.scoreboard.sack(block.0, block.1, &mut |packet| delivery.add(packet, rack));
            } else {
                *block = (0, 0);
            }
        }
        self.scoreboard.remember_blocks(blocks);
        is_dsack
    }

    /// Duplicates: counted up to the fast retransmit; without SACK each says that a packet arrived. Not after a timeout: there
    /// they come from what was sent again in vain, and if they let packets out, these would bring further ones without end
    /// while the head is missing.
    fn count_duplicates(&mut self, ctx: &mut AckContext) {
        if ctx.is_duplicate {
            self.recovery.dup_acks += 1;
            let may_count = !self.features.sack && self.recovery.phase != Phase::Loss;
            if may_count && self.recovery.reno_sacked < self.scoreboard.packets_out() {
                self.recovery.reno_sacked += 1;
                ctx.delivered += 1;
            }
        } else if ctx.is_advance {
            if self.recovery.reno_sacked > 0 {
                // The first packet was missing, the others are those that the duplicates told of.
                let known = self.recovery.reno_sacked.min(ctx.acked.saturating_sub(1));
                self.recovery.reno_sacked -= known;
                ctx.delivered -= known.min(ctx.delivered.saturating_sub(1));
            }
            if self.recovery.phase == Phase::Open {
                self.recovery.dup_acks = 0;
                self.recovery.reno_sacked = 0;
            }
        }
    }

    /// RTT of this ACK for the controller; feeds the estimators. Karn: nothing from retransmitted data without timestamps.
    fn sample_rtt(&mut self, ctx: &AckContext, delivery: &Delivery) -> Option<Duration> {
        if let (Some(first), false) = (delivery.first_clean, delivery.has_retransmitted) {
            self.take_rtt_sample(ctx.now.saturating_since(first));
            let newest = ctx.now.saturating_since(delivery.last_clean);
            self.rtt.observe_min(newest);
            return Some(newest);
        }
        let micros = timestamp(ctx.now).wrapping_sub(ctx.echo.filter(|_| ctx.is_advance)?);
        let sample = Duration::from_micros(u64::from(micros));
        self.take_rtt_sample(sample);
        Some(sample)
    }

    pub(crate) fn take_rtt_sample(&mut self, sample: Duration) {
        self.rtt.add_sample(sample, self.una, self.nxt, &self.config.rto);
        self.stats.rtt_samples += 1;
        self.stats.rtt_sum += sample;
    }

    /// May the window grow (RFC 5681 §3.1, RFC 7661 §4.3; Linux `tcp_is_cwnd_limited`)?
    fn may_grow(&self, now: Time) -> bool {
        if self.config.growth == Growth::Always {
            return true;
        }
        let usage = &self.transmit.usage;
        let cwnd = self.cc.cwnd();
        if let Validator::NewCwv(validator) = &self.validator
            && !usage.is_limited
            && !validator.is_validated(now, self.rtt.srtt, cwnd)
        {
            return false;
        }
        usage.is_limited || (cwnd < self.cc.ssthresh() && cwnd < 2.0 * f64::from(usage.max_packets_out))
    }

    fn feed_validation(&mut self, ctx: &AckContext, siblings: &[Sibling]) {
        let in_recovery = matches!(self.recovery.phase, Phase::Recovery | Phase::Loss);
        if let Validator::NewCwv(validator) = &mut self.validator
            && !in_recovery
            && ctx.is_advance
        {
            validator.on_ack(ctx.now, self.rtt.srtt, ctx.acked, self.una, self.nxt);
            self.check_validation(ctx.now, siblings);
        }
    }

    fn restart_timers(&mut self, ctx: &AckContext) {
        if ctx.is_advance {
            if self.restarts_timer() {
                self.restart_rto(ctx.now); // RFC 6298 §5.3
            }
            self.timers.probe_base = ctx.now;
            if self.scoreboard.is_empty() {
                self.timers.reorder_at = Time::MAX;
            }
        } else if ctx.delivered > 0 {
            self.timers.probe_base = ctx.now;
        }
        self.rearm();
    }

    /// The right edge never moves back. Returns `true` if it moved.
    fn update_peer_window(&mut self, ack: u64, window: u32) -> bool {
        if self.config.flow_control == FlowControl::Above {
            self.peer_edge = u64::MAX;
            return false;
        }
        self.peer_window_max = self.peer_window_max.max(window);
        let edge = ack + u64::from(window);
        let moved = edge > self.peer_edge;
        if moved {
            self.peer_edge = edge;
            self.transmit.is_window_blocked = false;
            self.transmit.persist_backoff = 0;
        }
        moved && ack <= self.una
    }

    fn is_echo(&self, segment: &Segment) -> bool {
        self.features.ecn && segment.flags.contains(Flags::ECE)
    }

    /// The configured detection counts duplicate ACKs only.
    pub(crate) fn is_newreno(&self) -> bool {
        self.features.detection.counts_duplicates()
    }
}

/// What was true before the ACK.
struct Summary {
    prior_in_flight: u32,
    prior_una: u64,
    ecn_echo: bool,
}
