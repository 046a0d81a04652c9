//! Acknowledgements, losses and the timers of loss detection.
//!
//! Reference: RFC 9002 §5.1 (RTT samples), §6.1 (loss), §6.2 (PTO, backoff, §6.2.2.1 before the peer's address is validated, §6.2.4
//! two probes), §6.4 (discarded keys), §7.6 (persistent congestion), §7.1 (CE); RFC 9000 §13.3 (frames, not packets, go again), §21.4
//! (a peer that acknowledges what was never sent).
//! Differences from the reference:
//! 1. A server's handshake is confirmed when it is complete, so its Handshake keys go without waiting for the ACK of HANDSHAKE_DONE
//!    (RFC 9001 §4.9.2 says the same).
//!
//! Tested by `tests/quic_rules.rs`.

use super::closing::State;
use super::ecn::Verdict;
use super::external::Announcements;
use super::handshake::Handshake;
use super::lane::Lane;
use super::packet::{Ack, Datagram, Frame, Space};
use super::path::{Delivery, Sign};
use super::sent::Sent;
use super::streams::{Streams, Violation};
use super::{Connection, Event, Numbers, Reason};
use playpath_cc::CongestionSignal;
use playpath_units::{Duration, Time};
use std::sync::Arc;

/// Datagram size that every QUIC path supports, bytes of UDP payload (RFC 9000 §14).
const MIN_MAX_DATAGRAM: u32 = 1200;

/// Packets newly acknowledged by one ACK.
#[derive(Default)]
struct Found {
    any: bool,
    eliciting: bool,
    /// The largest left on a path that the connection has left: its round trip says nothing of this one (RFC 9000 §9.4).
    largest_elsewhere: bool,
    marked: u64,
}

/// Lost packets of one moment.
#[derive(Default)]
struct Losses {
    count: u32,
    oldest: Time,
    newest: Time,
    is_persistent: bool,
}

impl Connection {
    /// Probe timeout of the moment without backoff, the peer's ACK delay included.
    pub(super) fn pto(&self) -> Duration {
        self.lane.path.rtt.pto(&self.config.loss) + self.peer_delay()
    }

    pub(super) fn peer_delay(&self) -> Duration {
        self.handshake.peer_delay()
    }

    #[inline(never)]
    pub(super) fn on_ack(&mut self, now: Time, space: Space, ack: &Ack) -> Result<(), Violation> {
        match space {
            Space::Data => self.take_ack(now, Space::Data, ack),
            Space::Initial | Space::Handshake => self.take_early_ack(now, space, ack),
        }
    }
    #[inline(never)]
    fn take_early_ack(&mut self, now: Time, space: Space, ack: &Ack) -> Result<(), Violation> {
        self.take_ack(now, space, ack)
    }

    // Inlined where the space is known.

    #[inline(always)]
    fn take_ack(&mut self, now: Time, space: Space, ack: &Ack) -> Result<(), Violation> {
        if ack.largest >= self.numbers(space).board.next_number() {
            return Err(Violation::Protocol); // §21.4: it was never sent
        }
        let is_larger = self.numbers(space).board.on_largest(ack.largest);
        let mut delivery = self.lane.path.begin_ack();
        let found = self.take_acked(space, ack, &mut delivery);
        if !self.numbers(space).board.given_up.is_empty() {
            self.take_late(space, ack);
        }
        if !found.any {
            return Ok(());
        }
        if is_larger && found.eliciting && !found.largest_elsewhere {
            self.sample_rtt(now, space, ack, &mut delivery);
        }
        self.lane.path.deliver(now, &mut delivery);
        self.numbers(space).board.trim_settled();
        if is_larger {
            self.check_ecn(now, space, ack, found.marked, &mut delivery);
        }
        if self.config.acks_first {
            self.lane.path.finish_ack(now, &delivery, 0);
        }
        let has_no_gap = self.numbers(space).board.has_no_gap();
        let lost = if has_no_gap { 0 } else { self.detect_losses(now, space, delivery.prior_in_flight()) };
        if !self.config.acks_first {
            self.lane.path.finish_ack(now, &delivery, lost);
        }
        self.numbers(space).board.trim();
        if !self.numbers(space).board.given_up.is_empty() {
            let horizon = self.horizon(now);
            self.numbers(space).board.given_up.trim(horizon);
        }
        if !self.is_client || self.is_address_validated() {
            self.lane.pto_count = 0; // §6.2.1
        }
        if self.multi.is_some() {
            self.trust_path();
        }
        Ok(())
    }

    #[inline(always)]
    fn take_acked(&mut self, space: Space, ack: &Ack, delivery: &mut Delivery) -> Found {
        let mut found = Found::default();
        let Connection { handshake, streams, announcements, lane, .. } = self;
        let Lane { spaces, path, route, stats, .. } = &mut **lane;
        let Numbers { board, arrivals, .. } = &mut spaces[space as usize];
        if let Some(largest) = ack.ranges().find_map(|(low, high)| board.acknowledge_forgotten(low, high)) {
            arrivals.on_ack_acked(largest);
        }
        let mut take = |sent: &Sent| {
            found.any = true;
            found.eliciting |= sent.is_eliciting;
            found.largest_elsewhere |= sent.number == ack.largest && sent.path != route.number;
            found.marked += u64::from(sent.is_ect);
            if sent.path == route.number {
                path.on_acked(delivery, sent);
            }
            stats.bytes_acked += u64::from(sent.stream_bytes());
            sent.acked_up_to().into_iter().for_each(|largest| arrivals.on_ack_acked(largest));
        };
        let mut settle = |frame: &Frame| settle_frame(handshake, streams, announcements, space, frame);
        for (low, high) in ack.ranges() {
            if high < board.base() {
                break; // all further ranges are settled
            }
            board.acknowledge(low, high, &mut take, &mut settle);
        }
        found
    }

    fn take_late(&mut self, space: Space, ack: &Ack) {
        if !self.lane.spaces[space as usize].board.given_up.names_any(ack) {
            return;
        }
        let mut given_up = std::mem::take(&mut self.numbers(space).board.given_up);
        given_up.acknowledge(ack, |sent, frames| {
            self.lane.stats.spurious_losses += 1;
            if sent.path == self.lane.route.number && self.config.loss.undo {
                self.lane.path.on_spurious(sent);
            }
            let Connection { handshake, streams, announcements, .. } = self;
            frames.iter().for_each(|frame| settle_frame(handshake, streams, announcements, space, frame));
            let arrivals = &mut self.lane.spaces[space as usize].arrivals;
            sent.acked_up_to().into_iter().for_each(|largest| arrivals.on_ack_acked(largest));
        });
        self.numbers(space).board.given_up = given_up;
    }

    /// §5.1, §5.3: of the largest, less the delay that the peer tells, bounded by its `max_ack_delay` once the handshake is confirmed.
    fn sample_rtt(&mut self, now: Time, space: Space, ack: &Ack, delivery: &mut Delivery) {
        let sample = now.saturating_since(self.lane.spaces[space as usize].board.largest_acked_sent_at());
        let exponent = self.handshake.peer_exponent();
        let reported = match space {
            Space::Initial | Space::Handshake => Duration::ZERO,
            Space::Data => Duration::from_micros((ack.delay << exponent).min(1 << 32)),
        };
        let delay = if self.handshake.is_confirmed() { reported.min(self.peer_delay()) } else { reported };
        self.lane.path.rtt.add_sample(now, sample, delay);
        let stats = &mut self.lane.stats;
        (stats.rtt_samples, stats.rtt_sum) = (stats.rtt_samples + 1, stats.rtt_sum + sample);
        stats.min_rtt = Some(stats.min_rtt.map_or(sample, |least| least.min(sample)));
        delivery.rtt = Some(sample);
    }

    fn check_ecn(&mut self, now: Time, space: Space, ack: &Ack, marked: u64, delivery: &mut Delivery) {
        let sent = self.lane.spaces[space as usize].marked;
        if let Verdict::Congestion(marks) = self.lane.path.ecn.on_ack(space as usize, ack.ecn, marked, sent) {
            delivery.ce_marked = marks as u32;
            let sent_at = self.lane.spaces[space as usize].board.largest_acked_sent_at();
            let sign = Sign {
                signal: CongestionSignal::Ecn,
                newest_sent_at: sent_at,
                oldest_sent_at: sent_at,
                newly_lost: 0,
                prior_packets_out: delivery.prior_in_flight(),
            };
            self.lane.path.on_congestion(now, sign);
        }
    }

    /// Lost packets sent before this time need not be remembered: after three PTO their ACK would have arrived.
    fn horizon(&self, now: Time) -> Time {
        Time::ZERO + now.saturating_since(Time::ZERO).saturating_sub(self.pto() * 3)
    }

    /// §6.1, by an ACK or by a timer; returns how many in-flight packets are given up.
    #[inline(never)]
    fn detect_losses(&mut self, now: Time, space: Space, prior_packets_out: u32) -> u32 {
        let delay = self.lane.path.rtt.loss_delay(&self.config.loss);
        let threshold = self.lane.path.packet_threshold(&self.config.loss);
        let mut losses = Losses::default();
        while let Some(sent) = self.lane.spaces[space as usize].board.next_lost(now, delay, threshold) {
            self.requeue(space, &sent);
            self.lost.iter_mut().for_each(|lost| lost.push((self.lane.id, space, sent.number)));
            if sent.path != self.lane.route.number {
                continue;
            }
            let offset = first_offset(self.lane.spaces[space as usize].board.frames_of(&sent));
            self.lane.path.on_lost(now, &sent, offset);
            self.follow_run(space, &sent, &mut losses);
            if sent.is_in_flight {
                losses.newest = sent.stamp.sent_at;
                if losses.count == 0 {
                    losses.oldest = sent.stamp.sent_at;
                }
                losses.count += 1;
            }
        }
        if losses.count > 0 {
            let sign = Sign {
                signal: CongestionSignal::Loss,
                newest_sent_at: losses.newest,
                oldest_sent_at: losses.oldest,
                newly_lost: losses.count,
                prior_packets_out,
            };
            self.lane.path.on_congestion(now, sign);
            if losses.is_persistent {
                self.lane.stats.persistent_congestions += 1;
                self.lane.path.on_persistent_congestion(now);
            }
        }
        losses.count
    }

    /// §7.6: the run of lost packets without one that was acknowledged between.
    fn follow_run(&mut self, space: Space, sent: &Sent, losses: &mut Losses) {
        let duration = self.lane.path.persistent_duration(&self.config.loss, self.peer_delay());
        let is_sampled = self.lane.path.rtt.first_sample_at().is_some_and(|first| sent.stamp.sent_at > first);
        let run = &mut self.numbers(space).run;
        let follows = run.is_some_and(|(_, last)| last + 1 == sent.number);
        *run = match *run {
            Some((start, _)) if follows => Some((start, sent.number)),
            // §7.6.2: it begins and ends with ack-eliciting packets, after the first RTT sample.
            _ => (sent.is_eliciting && is_sampled).then_some((sent.stamp.sent_at, sent.number)),
        };
        let length = run.map_or(Duration::ZERO, |(start, _)| sent.stamp.sent_at.saturating_since(start));
        losses.is_persistent |= sent.is_eliciting && length >= duration;
    }

    /// Its frames go again (RFC 9000 §13.3).
    pub(super) fn requeue(&mut self, space: Space, sent: &Sent) {
        for &frame in self.lane.spaces[space as usize].board.list_of(sent).as_slice() {
            match frame {
                frame if self.is_carried_elsewhere(sent, &frame) => {}
                frame @ (Frame::PathStatus { .. } | Frame::PathAbandon { .. }) => self.resend_status(frame),
                Frame::Crypto { offset, len, .. } => {
                    self.handshake.on_out(space, |out| out.on_lost(offset..offset + u64::from(len)));
                }
                Frame::HandshakeDone => self.handshake.done_due = true,
                frame @ (Frame::NewConnectionId { .. } | Frame::RetireConnectionId { .. }) => {
                    self.announcements.on_lost(frame);
                }
                frame => self.streams.on_frame_lost(&frame),
            }
        }
    }

    /// A router refused a datagram of ours and says what would fit, in bytes of UDP payload. RFC 9000 §14.2.1: less than 1200 is not believed.
    /// Smaller ones leave from now on, over every path; what was in it goes again at once, and no congestion is seen in it, since no queue
    /// was full (as Linux's TCP does it, `tcp_simple_retransmit`; RFC 9002 says nothing of it).
    pub fn handle_too_big(&mut self, datagram: &Datagram, bytes: u32) {
        if bytes < MIN_MAX_DATAGRAM || self.state != State::Open || !self.turn_to(datagram.path_id) {
            return;
        }
        if bytes < self.config.datagram_bytes {
            let config = Arc::make_mut(&mut self.config);
            (config.datagram_bytes, config.initial_bytes) = (bytes, bytes.min(config.initial_bytes));
            self.on_each_path(|connection| connection.lane.path.set_datagram_bytes(bytes));
            self.turn_to(datagram.path_id);
        }
        for packet in datagram.packets() {
            let space = packet.kind.space();
            let Some(sent) = self.numbers(space).board.give_up(packet.number) else { continue };
            if sent.is_in_flight && sent.path == self.lane.route.number {
                self.lane.path.leave(sent.bytes());
            }
            self.lost.iter_mut().for_each(|lost| lost.push((self.lane.id, space, sent.number)));
            self.requeue(space, &sent);
        }
        self.is_spent = false;
    }

    /// Retransmit the data of 0-RTT packets in 1-RTT packets; this does not count as congestion (RFC 9001 §4.6.2).
    pub(super) fn reject_early_data(&mut self) {
        for sent in self.numbers(Space::Data).board.give_up_all() {
            if sent.is_in_flight {
                self.lane.path.leave(sent.bytes());
            }
            self.requeue(Space::Data, &sent);
        }
        self.raise(Event::EarlyDataRejected);
    }

    /// Discard the keys of a space (RFC 9001 §4.9), and its packets in flight (§6.4).
    pub(super) fn discard(&mut self, space: Space) {
        if self.handshake.has(space) {
            self.handshake.discard(space);
            let in_flight = self.numbers(space).board.discard();
            *self.numbers(space) = super::Numbers::default();
            self.lane.path.discard(in_flight);
            self.lane.pto_count = 0; // §6.2.2
        }
    }

    /// A server's peer has always validated it; a client's, once anything of the handshake was acknowledged (§6.2.2.1).
    fn is_address_validated(&self) -> bool {
        let acked = |space: Space| self.lane.spaces[space as usize].board.largest_acked().is_some();
        !self.is_client || self.handshake.is_confirmed() || acked(Space::Handshake) || acked(Space::Data)
    }

    /// SetLossDetectionTimer (appendix A.8).
    #[inline(always)]
    pub(super) fn set_loss_timer(&mut self, now: Time) {
        let (loss, is_out) = match &self.lane.spaces {
            [.., data] if self.handshake.is_over() => (data.board.loss_time(), data.board.eliciting_in_flight() > 0),
            all => all.iter().fold((Time::MAX, false), |(loss, is_out), space| {
                (loss.min(space.board.loss_time()), is_out || space.board.eliciting_in_flight() > 0)
            }),
        };
        let probes = is_out || !self.is_address_validated();
        self.lane.loss_timer = if self.state != State::Open {
            Time::MAX
        } else if loss < Time::MAX {
            loss
        } else if !probes || self.allowed_by(&self.lane).is_none() {
            Time::MAX // nothing to probe for, or nothing could be sent (§6.2.2.1)
        } else {
            // A round trip that came out shorter may have it due in the past.
            self.next_pto(now).map_or(Time::MAX, |(at, _)| at.max(now))
        };
    }

    /// When a PTO expires, and in which space (appendix A.8, GetPtoTimeAndSpace).
    #[inline(always)]
    fn next_pto(&self, now: Time) -> Option<(Time, Space)> {
        let backoff = 1u64 << self.lane.pto_count.min(20);
        let base = self.lane.path.rtt.pto(&self.config.loss);
        if self.handshake.is_over() {
            let board = &self.lane.spaces[Space::Data as usize].board;
            let at = board.last_eliciting_at() + (base + self.peer_delay()) * backoff;
            return (board.eliciting_in_flight() > 0).then_some((at, Space::Data));
        }
        if self.lane.spaces.iter().all(|space| space.board.eliciting_in_flight() == 0) {
            let space = if self.handshake.has(Space::Handshake) { Space::Handshake } else { Space::Initial };
            return (!self.is_address_validated()).then_some((now + base * backoff, space));
        }
        let timeout = |space: Space| {
            let board = &self.lane.spaces[space as usize].board;
            let delay = match space {
                Space::Data if !self.handshake.is_confirmed() => return None, // §6.2.1
                Space::Data => self.peer_delay(),
                Space::Initial | Space::Handshake => Duration::ZERO,
            };
            (board.eliciting_in_flight() > 0).then(|| (board.last_eliciting_at() + (base + delay) * backoff, space))
        };
        Space::ALL.into_iter().filter_map(timeout).min()
    }

    /// Act on every timer that is due.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.state.deadline() <= now {
            self.state = State::Closed;
        }
        if self.state != State::Open {
            return;
        }
        if self.idle_at <= now {
            self.close_silently(Reason::Idle);
            return;
        }
        if self.reminds_at() <= now {
            self.streams.announce_blocked_again();
        }
        if self.multi.is_some() {
            self.on_each_path(|connection| connection.expire_lane(now));
        } else {
            self.expire_lane(now);
        }
    }

    fn expire_lane(&mut self, now: Time) {
        self.expire_validation(now);
        if self.lane.departs_at <= now {
            self.lane.departs_at = Time::MAX;
        }
        if self.lane.loss_timer <= now {
            self.on_loss_timer(now);
            self.set_loss_timer(now);
        }
    }

    /// OnLossDetectionTimeout (appendix A.9).
    fn on_loss_timer(&mut self, now: Time) {
        let by_time = Space::ALL.into_iter().find(|&space| self.lane.spaces[space as usize].board.loss_time() <= now);
        if let Some(space) = by_time {
            let prior = self.lane.path.packets_out();
            self.detect_losses(now, space, prior);
            return;
        }
        let Some((_, space)) = self.next_pto(now) else { return };
        self.lane.pto_count += 1;
        self.lane.stats.pto_count += 1;
        let has_data = self.lane.spaces[space as usize].board.eliciting_in_flight() > 0;
        self.numbers(space).probes = if has_data { 2 } else { 1 }; // §6.2.4
        if self.multi.is_some() {
            self.suspect_path();
        }
    }

    /// A probe with nothing new takes the frames of the oldest packet that is out (§6.2.4).
    pub(super) fn queue_probe(&mut self, space: Space) {
        if let Some(sent) = self.lane.spaces[space as usize].board.oldest_eliciting().copied() {
            self.requeue(space, &sent);
        }
    }
}

#[inline(always)]
fn settle_frame(
    handshake: &mut Handshake,
    streams: &mut Streams,
    announcements: &mut Announcements,
    space: Space,
    frame: &Frame,
) {
    match *frame {
        Frame::Stream { id, offset, len, fin } => streams.on_data_acked(id, offset..offset + u64::from(len), fin),
        _ => settle_other(handshake, streams, announcements, space, frame),
    }
}

#[inline(never)]
fn settle_other(
    handshake: &mut Handshake,
    streams: &mut Streams,
    announcements: &mut Announcements,
    space: Space,
    frame: &Frame,
) {
    match *frame {
        Frame::Crypto { offset, len, .. } => {
            handshake.on_out(space, |out| out.on_acked(offset..offset + u64::from(len)));
        }
        Frame::NewConnectionId { .. } | Frame::RetireConnectionId { .. } => announcements.withdraw(*frame),
        Frame::ResetStream { id, .. } => streams.on_reset_acked(id),
        _ => {}
    }
}

/// Stream offset of the packet's first byte, for controls that look at what is lost.
fn first_offset<'a>(mut frames: impl Iterator<Item = &'a Frame>) -> u64 {
    let offset = |frame: &Frame| if let Frame::Stream { offset, .. } = frame { Some(*offset) } else { None };
    frames.find_map(offset).unwrap_or(0)
}
