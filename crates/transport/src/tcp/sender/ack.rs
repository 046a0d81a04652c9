//! Processing of an acknowledgement: delivered packets, samples, recovery, the controller, the timers.
//!
//! Reference: RFC 9293 §3.10.7.4, RFC 2018/2883 (SACK, DSACK), RFC 6298 §3 (Karn), draft-cheng (delivery rate).
//! Differences from the references:
//! 1. SRTT is measured on the first packet that a cumulative ACK covers (so it includes delayed ACKs), the controller's `rtt` on the
//!    newest one.
//!
//! Tested by packet scripts and the stream property test.

use super::detection::Detector;
use super::recovery::Phase;
use super::scoreboard::{EVER_RETRANS, RETRANS, SACKED, SentPacket};
use super::{Echo, Sender};
use crate::segment::{Flags, Segment};
use crate::tcp::config::{FlowControl, Growth};
use crate::tcp::handshake::timestamp;
use crate::tcp::moment::Moment;
use crate::tcp::receiver::unwrap_near;
use playpath_cc::Ack;
use playpath_units::{Duration, Time};

/// Information from an ACK for loss recovery.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AckInfo {
    /// SND.UNA before this ACK.
    pub prior_una: u64,
    /// SND.UNA moved.
    pub is_advance: bool,
    /// A duplicate ACK: no progress, no data, and with SACK it reports something new.
    pub is_duplicate: bool,
    pub has_dsack: bool,
    /// Packets acknowledged cumulatively by this ACK.
    pub acked: u32,
    pub delivered: u32,
    pub has_sacked: bool,
    /// This ACK delivers an original that was sent before the last transmission of the head.
    pub is_older_than_head: bool,
    /// A packet that ends at or below the recovery point and was never retransmitted was delivered.
    pub original_delivered: bool,
    /// Retransmissions are still in flight.
    pub has_repairs_out: bool,
    /// Packets that the peer reports as marked.
    pub ce_marked: u32,
    pub echo: Option<u32>,
    pub ecn_echo: bool,
}

/// Collects the packets that one ACK delivers.
struct Delivery {
    now: Time,
    min_rtt: Duration,
    delivered: u32,
    newest: Option<SentPacket>,
    /// Send times of the first and the last one that was never retransmitted.
    first_clean: Option<Time>,
    last_clean: Time,
    /// The last one was never retransmitted.
    ends_clean: bool,
    /// A retransmitted one was cumulatively acknowledged.
    has_retransmitted: bool,
    /// One of them tells RACK a round trip.
    has_timed: bool,
    recovery_point: u64,
    original_delivered: bool,
    /// The lowest original that others overtook.
    late_from: u64,
}

impl Delivery {
    #[inline]
    fn add(&mut self, packet: &SentPacket, detector: &mut Detector) {
        self.delivered += 1;
        if self.newest.as_ref().is_none_or(|newest| packet.sent_at >= newest.sent_at) {
            self.newest = Some(*packet);
        }
        self.ends_clean = !packet.is(EVER_RETRANS);
        let is_ambiguous = if packet.is(EVER_RETRANS) {
            self.now.saturating_since(packet.sent_at) < self.min_rtt
        } else {
            self.first_clean.get_or_insert(packet.sent_at);
            self.last_clean = packet.sent_at;
            self.original_delivered |= packet.end() <= self.recovery_point;
            false
        };
        self.has_timed |= !is_ambiguous;
        if detector.on_delivered(self.now, packet, is_ambiguous) {
            self.late_from = self.late_from.min(packet.start);
        }
    }
}

struct Before {
    in_flight: u32,
    una: u64,
}

impl Sender {
    /// Whether the acknowledgement can come from the peer (RFC 5961 §5.2).
    #[inline]
    pub fn is_plausible_ack(&self, ack: u32) -> bool {
        let una = self.config.isn.wrapping_add(1).wrapping_add(self.stream.una() as u32);
        self.stream.is_plausible_ack(ack.wrapping_sub(una) as i32)
    }

    /// Process a plausible acknowledgement of an acceptable segment.
    pub fn handle_ack(&mut self, at: Moment<'_>, segment: &Segment) {
        let ack = unwrap_near(segment.ack, self.config.isn.wrapping_add(1), self.stream.una());
        self.recovery.on_segment();
        if self.timers.is_persisting() && segment.payload_len == 0 {
            self.restart_rto(at.now); // the peer is there: the wait for the next probe begins anew (Linux `tcp_ack_probe`)
        }
        if self.has_nothing_new(ack, segment) {
            self.update_peer_window(ack, segment.window);
            self.rearm();
            return;
        }
        self.is_settled = false;
        let had_outstanding = !self.scoreboard.is_empty();
        let before = Before { in_flight: self.in_flight(), una: self.stream.una() };
        let opened = self.update_peer_window(ack, segment.window);
        let mut delivery = Delivery {
            now: at.now,
            min_rtt: self.rtt.min_rtt(),
            delivered: 0,
            newest: None,
            first_clean: None,
            last_clean: Time::ZERO,
            ends_clean: false,
            has_retransmitted: false,
            has_timed: false,
            recovery_point: self.recovery.point(),
            original_delivered: false,
            late_from: u64::MAX,
        };
        let sacks = (self.features.sack && !segment.sack.is_empty()).then(|| self.take_blocks(ack, segment));
        let acked = if ack > before.una { self.advance(ack, &mut delivery) } else { 0 };
        if delivery.has_retransmitted {
            // Karn's rule is of what is acknowledged; what is SACKed besides gives a sample (Linux `tcp_ack_update_rtt`).
            delivery.first_clean = None;
            delivery.original_delivered &= self.features.sack; // without SACK the retransmission may have repaired it all
        }
        let prior_delivered = delivery.delivered;
        let acked_rtt = delivery.has_timed.then(|| self.detector.rtt());
        let duplicates = sacks.map_or(0, |(blocks, duplicates)| {
            self.handle_sacks(blocks, &mut delivery);
            duplicates
        });
        if let Some(rtt) = acked_rtt {
            self.detector.set_rtt(rtt); // what is acknowledged comes last (Linux `tcp_ack`)
        }
        if delivery.late_from < u64::MAX {
            // By all that this ACK reports (Linux `tcp_check_sack_reordering`).
            self.detector.on_late_original(delivery.late_from);
        }
        let has_dsack = duplicates > 0;
        let is_duplicate = ack == before.una
            && had_outstanding
            && segment.payload_len == 0
            && (!opened || self.config.counts_window_updates)
            && !segment.flags.contains(Flags::FIN);
        let brings_news = !self.features.sack || delivery.delivered > 0 || has_dsack;
        let head_sent_at = self.scoreboard.front().map_or(Time::ZERO, |head| head.sent_at);
        let mut info = AckInfo {
            prior_una: before.una,
            is_advance: ack > before.una,
            is_duplicate: is_duplicate && brings_news,
            has_dsack,
            acked,
            delivered: delivery.delivered + duplicates, // as Linux (`tcp_dsack_seen`)
            has_sacked: delivery.delivered > prior_delivered,
            is_older_than_head: delivery.first_clean.is_some_and(|sent_at| sent_at < head_sent_at),
            original_delivered: delivery.original_delivered,
            has_repairs_out: self.scoreboard.retrans_out() > 0,
            ce_marked: self.take_marks(segment, delivery.delivered),
            ecn_echo: had_outstanding && ack >= before.una && self.is_echo(segment),
            echo: segment.timestamps.filter(|_| self.features.timestamps).map(|t| t.echo),
        };
        info.ecn_echo |= info.ce_marked > 0;
        self.finish_ack(at, &mut info, &delivery, &before);
    }

    /// Header prediction, as at the receiver of a bulk transfer: nothing is outstanding and nothing is being repaired, so the ACK of a
    /// data segment can at most change the window. An ECN-Echo asks nothing of an idle sender (Linux `tcp_ack`: `no_queue`).
    #[inline]
    fn has_nothing_new(&self, ack: u64, segment: &Segment) -> bool {
        ack == self.stream.una()
            && self.scoreboard.is_empty()
            && self.recovery.phase() == Phase::Open
            && segment.sack.is_empty()
    }

    /// After the scoreboard has taken the ACK: samples, recovery, controller, timers.
    fn finish_ack(&mut self, at: Moment<'_>, info: &mut AckInfo, delivery: &Delivery, before: &Before) {
        self.count_duplicates(info);
        if info.delivered > 0 {
            self.rate.on_delivered(at.now, info.delivered);
        }
        let rtt =
            if delivery.delivered > 0 || info.is_advance { self.sample_rtt(at.now, info, delivery) } else { None };
        let (mut rate, mut round_start) = (None, false);
        if let Some(newest) = &delivery.newest {
            rate = self.rate.sample(at.now, newest, self.features.mss, self.rtt.min_rtt());
            round_start = self.rate.is_round_start(newest.delivered);
        }
        let was_reducing = self.recovery.phase().is_reducing();
        let lost_before = self.rate.lost();
        if self.tail_probe.is_out() {
            self.check_tail_probe(at, info);
        }
        // On Linux the ACK that ends a reduction may begin the next (`tcp_try_to_open`); RFC 3168 §6.1.2 reduces once per round, and what
        // this ACK echoes was sent before the end.
        let echoes_last = self.reduces_as_linux();
        if info.ecn_echo && !echoes_last {
            self.react_to_ecn(at, info);
        }
        let was_partial = self.recovery.is_partial(self.stream.una());
        if self.is_dubious(info) {
            self.react_to_ack(at, info);
        }
        // Not if a late original undid a recovery that goes beyond it.
        if info.ecn_echo && echoes_last && !was_partial {
            self.react_to_ecn(at, info);
        }
        let newly_lost = (self.rate.lost() - lost_before) as u32;
        let is_reducing = self.recovery.phase().is_reducing();
        if info.delivered > 0 || info.acked > 0 {
            self.feed_validation(at, info);
            if self.scoreboard.has_unreported() {
                self.report_losses(at);
            }
            // A controller that sets its window in recovery may increase it there; on Linux also with the ACK that ends a recovery.
            let is_ruled = (is_reducing || (was_reducing && !self.config.counts_deliveries)) && self.is_window_ours;
            let event = Ack {
                acked: info.acked,
                counted: self.counted(info),
                delivered: info.delivered,
                acked_bytes: (self.stream.una() - before.una) as u32,
                newly_lost,
                rtt,
                rate,
                prior_in_flight: before.in_flight,
                may_grow: !is_ruled && self.may_grow(at.now),
                round_start,
                ecn_echo: info.ecn_echo,
                ce_marked: info.ce_marked,
            };
            let view = self.view(at);
            self.control.on_ack(&view, &event);
            if !is_reducing {
                self.validator.on_growth(at.now);
            }
        }
        if is_reducing && info.delivered > 0 {
            let is_safe = info.is_advance && newly_lost == 0;
            let in_flight = self.in_flight();
            self.reduction().on_ack(info.delivered, in_flight, is_safe);
        }
        self.restart_timers(at.now, info);
    }

    /// Whether this ACK may need a reaction. A plain ACK in the open state does not.
    fn is_dubious(&self, info: &AckInfo) -> bool {
        self.recovery.phase() != Phase::Open
            || info.is_duplicate
            || info.has_dsack
            || self.sacked_out() > 0
            || self.head.is_due()
            || self.timers.is_looking()
    }

    fn advance(&mut self, ack: u64, delivery: &mut Delivery) -> u32 {
        let detector = &mut self.detector;
        let acked = self.scoreboard.acknowledge(ack, |packet| {
            delivery.has_retransmitted |= packet.any(EVER_RETRANS | RETRANS);
            if !packet.is(SACKED) {
                delivery.add(packet, detector);
            }
        });
        self.counters.bytes_acked += self.stream.acknowledge(ack);
        self.recovery.on_progress();
        if self.scoreboard.is_empty() {
            self.usage.on_emptied(delivery.now);
        }
        acked
    }

    /// The SACK blocks of an ACK up to `ack` that has yet to be processed, and the packets that the first of them reports as received
    /// twice; if it is such a DSACK, it is taken out.
    fn take_blocks(&mut self, ack: u64, segment: &Segment) -> ([(u64, u64); 4], u32) {
        let (zero, una) = (self.config.isn.wrapping_add(1), self.stream.una());
        let mut blocks = [(0, 0); 4];
        for (slot, &(left, right)) in blocks.iter_mut().zip(segment.sack.as_slice()) {
            *slot = (unwrap_near(left, zero, una), unwrap_near(right, zero, una));
        }
        let duplicates = self.take_dsack(ack, &blocks[..segment.sack.len()]);
        if duplicates > 0 {
            blocks[0] = (0, 0);
        }
        (blocks, duplicates)
    }

    fn handle_sacks(&mut self, mut blocks: [(u64, u64); 4], delivery: &mut Delivery) {
        let (una, nxt) = (self.stream.una(), self.stream.nxt());
        // In the order of the stream, as Linux processes them (`tcp_sacktag_write_queue`); this decides which of the packets delivered
        // is the first and which the newest.
        blocks.sort_unstable();
        let detector = &mut self.detector;
        for block in &mut blocks {
            block.0 = block.0.max(una);
            if block.0 < block.1 && block.1 <= nxt {
                self.scoreboard.sack(block.0, block.1, &mut |packet| delivery.add(packet, detector));
            } else {
                *block = (0, 0);
            }
        }
        self.scoreboard.remember_blocks(blocks);
    }

    /// Packets that the first of `blocks` reports as received twice. A block below the ACK that brings it, which may be an old one, or
    /// inside the second block is a DSACK (RFC 2883 §4). More than was ever sent again the network duplicated (`tcp_dsack_seen`).
    fn take_dsack(&mut self, ack: u64, blocks: &[(u64, u64)]) -> u32 {
        let (left, right) = blocks[0];
        let is_within = |outer: &(u64, u64)| outer.0 <= left && right <= outer.1;
        if left >= right || !(left < ack || blocks.get(1).is_some_and(is_within)) {
            return 0;
        }
        let packets = (right - left).div_ceil(self.features.mss.into()) as u32;
        let counts = self.counters.note();
        counts.dsacks_received += 1;
        counts.dsacked_packets += u64::from(packets);
        if counts.dsacked_packets > counts.retransmitted_packets {
            return 0;
        }
        let una = self.stream.una();
        // Of packets that are still outstanding those count that were sent again: the network may have duplicated others.
        let again = if right <= una { packets } else { self.scoreboard.repaired_within(left, right) };
        self.recovery.on_dsack(right, again);
        if !self.tail_probe.is_up_to(right) {
            self.detector.on_dsack(una.max(ack), self.stream.nxt());
        }
        if self.scoreboard.had_repaired(left) {
            self.detector.on_late_original(left);
        }
        packets
    }

    /// Count duplicate ACKs up to the fast retransmit; without SACK each reports that a packet arrived.
    fn count_duplicates(&mut self, info: &mut AckInfo) {
        let emulates_sack = self.emulates_sack();
        if info.is_duplicate {
            let before = self.duplicates.arrived();
            let most = if emulates_sack { u32::MAX } else { self.scoreboard.packets_out() };
            self.duplicates.add(self.counts_arrivals().then_some(most));
            self.limit_arrivals(0);
            info.delivered += self.duplicates.arrived().saturating_sub(before);
        } else if info.is_advance {
            if self.duplicates.arrived() > 0 {
                let known = self.duplicates.on_advance(info.acked);
                info.delivered -= known.min(info.delivered.saturating_sub(1));
                self.limit_arrivals(info.acked);
            }
            let phase = self.recovery.phase();
            if phase == Phase::Open || (emulates_sack && phase != Phase::Recovery) {
                self.duplicates.clear();
            }
        }
    }

    /// More arrivals than packets are out beside the missing: they were overtaken, not lost; `acked` of them left with this ACK (Linux
    /// `tcp_check_reno_reordering`).
    fn limit_arrivals(&mut self, acked: u32) {
        let packets_out = self.scoreboard.packets_out();
        let holes = self.scoreboard.lost_out().max(1);
        if self.emulates_sack() && self.duplicates.limit(packets_out.saturating_sub(holes)) {
            self.detector.learn_reordering(packets_out + acked);
        }
    }

    /// Whether a duplicate ACK reports an arrival. Not after a timeout: there they are caused by needless retransmissions, and if each let
    /// a packet out, these packets would cause further duplicates endlessly while the head is missing. Linux counts those that new data
    /// may have caused, and none when all is repaired (`tcp_process_loss`, `tcp_fastretrans_alert`).
    fn counts_arrivals(&self) -> bool {
        let (una, nxt) = (self.stream.una(), self.stream.nxt());
        let is_after_timeout = self.recovery.phase() == Phase::Loss;
        match self.emulates_sack() {
            true if self.recovery.phase().is_repairing() && self.recovery.is_at_point(una) => false,
            true => !is_after_timeout || nxt > self.recovery.point(),
            false => !self.features.sack && !is_after_timeout,
        }
    }

    /// RTT of this ACK for the controller; also updates the estimators. Karn's rule: without timestamps there is no sample from
    /// retransmitted data. With timestamps there is one, but the mean does not count it: an observer of the packets, as in the worlds
    /// of real time, could not measure it either.
    fn sample_rtt(&mut self, now: Time, info: &AckInfo, delivery: &Delivery) -> Option<Duration> {
        if self.detector.times_last_packet() {
            return self.sample_last_packet(now, delivery);
        }
        if let Some(first) = delivery.first_clean {
            self.take_rtt_sample(now.saturating_since(first));
            let newest = now.saturating_since(delivery.last_clean);
            self.rtt.observe_min(newest);
            return Some(newest);
        }
        let micros = timestamp(now).wrapping_sub(info.echo.filter(|_| info.is_advance)?);
        let sample = Duration::from_micros(u64::from(micros));
        self.estimate_rtt(sample);
        self.rtt.observe_min(sample); // as Linux (`tcp_ack_update_rtt`)
        Some(sample)
    }

    /// As ns-2's Vegas agent (`detection/reno.rs`).
    fn sample_last_packet(&mut self, now: Time, delivery: &Delivery) -> Option<Duration> {
        let sample = delivery.ends_clean.then(|| now.saturating_since(delivery.last_clean))?;
        self.rtt.observe_min(sample);
        if self.detector.may_time(self.stream.una()) {
            self.take_rtt_sample(sample);
        }
        Some(sample)
    }

    #[inline(always)]
    fn take_rtt_sample(&mut self, sample: Duration) {
        self.estimate_rtt(sample);
        self.counters.rtt_samples += 1;
        self.counters.rtt_sum += sample;
    }

    #[inline(always)]
    pub(super) fn estimate_rtt(&mut self, sample: Duration) {
        self.rtt.add_sample(sample, self.stream.una(), self.stream.nxt(), &self.config.rto);
    }

    /// Packets that count for the window's growth ([`Config::counts_deliveries`](crate::tcp::Config::counts_deliveries)). Linux calls a
    /// control that sets its own window on every ACK (`cong_control`), any other on those that move SND.UNA (`cong_avoid`), and where the
    /// path reorders on those that SACK.
    fn counted(&self, info: &AckInfo) -> u32 {
        match self.config.counts_deliveries {
            false => info.acked,
            true if info.is_advance || !self.is_window_ours => info.delivered,
            true if info.has_sacked && self.detector.is_reordering(self.features.mss) => info.delivered,
            true => 0,
        }
    }

    /// Whether the window may grow (RFC 5681 §3.1, RFC 7661 §4.3; Linux `tcp_is_cwnd_limited`).
    fn may_grow(&self, now: Time) -> bool {
        if self.config.growth == Growth::Always || self.usage.is_full() {
            return true;
        }
        let (cwnd, ssthresh, srtt) = (self.control.cwnd(), self.control.ssthresh(), self.rtt.srtt());
        self.validator.allows_growth(now, srtt, cwnd).unwrap_or_else(|| self.usage.is_limited(cwnd, ssthresh))
    }

    fn feed_validation(&mut self, at: Moment<'_>, info: &AckInfo) {
        if self.validator.watches_acks() && info.is_advance && !self.recovery.phase().is_repairing() {
            let (una, nxt) = (self.stream.una(), self.stream.nxt());
            self.validator.on_ack(at.now, self.rtt.srtt(), info.acked, una, nxt);
            self.check_validation(at);
        }
    }

    fn restart_timers(&mut self, now: Time, info: &AckInfo) {
        if info.is_advance {
            if !self.recovery.is_partial(self.stream.una()) || self.detector.restarts_timer_by_partial_ack() {
                self.restart_rto_by_progress(now);
            }
            if self.scoreboard.is_empty() {
                self.timers.look_again(Time::MAX);
            }
            if !self.timers.is_looking() {
                self.schedule_probe(now, true);
            }
        } else if info.delivered > 0 {
            // While SACKs still arrive for the flight before the head's retransmission, that retransmission cannot have been answered yet.
            // SACKs for later data must not postpone the timeout for ever.
            if info.is_older_than_head && self.detector.restarts_timer_by_sack() {
                self.restart_rto(now);
            }
        }
        self.rearm();
    }

    /// Returns `true` if the ACK did no more than open the window.
    fn update_peer_window(&mut self, ack: u64, window: u32) -> bool {
        // An older one may have overtaken it (RFC 9293 §3.10.7.4: SND.WL2).
        let is_current = ack >= self.stream.una();
        self.config.flow_control == FlowControl::Own && is_current && self.stream.update_window(ack, window)
    }

    fn is_echo(&self, segment: &Segment) -> bool {
        self.features.ecn && !self.features.counts_marks && segment.flags.contains(Flags::ECE)
    }

    /// How many of the packets delivered were marked (RFC 9768). An ACK that delivers nothing may be an old one and is not evaluated.
    fn take_marks(&mut self, segment: &Segment, delivered: u32) -> u32 {
        if !self.features.counts_marks || !self.features.ecn || delivered == 0 {
            return 0;
        }
        match self.marks.take(segment, delivered, self.features.mss) {
            Echo::Marked(0) => 0,
            Echo::Marked(packets) => {
                self.counters.note().packets_marked += u64::from(packets);
                packets
            }
            Echo::Mangled => {
                self.send_without_ect();
                0
            }
        }
    }
}
