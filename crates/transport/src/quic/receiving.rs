//! Processing of a datagram's packets.
//!
//! Reference: RFC 9000 §12.2 (coalesced packets), §12.4 (which frames in which packets), §13.1, §14.1 (small Initials are dropped).
//! Tested by `tests/quic_rules.rs`, against hostile peers by `tests/quic_hostile.rs`.

use super::closing::State;
use super::packet::{Address, Datagram, Frame, Kind, Packet, Space};
use super::streams::{StreamUpdate, Violation};
use super::{Connection, Event, Reason};
use crate::segment::Ecn;
use playpath_units::Time;

/// Least UDP payload of a datagram with an Initial (§14.1).
const MIN_INITIAL: u32 = 1200;

#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub from: Address,
    /// ECN codepoint of the IP header.
    pub ecn: Ecn,
    pub bytes: u32,
}

impl Connection {
    #[inline(always)]
    pub fn handle_datagram(&mut self, now: Time, datagram: &Datagram) {
        let arrival = Arrival { from: datagram.from, ecn: datagram.ecn, bytes: datagram.payload_bytes() };
        if !self.turn_to(datagram.path_id) {
            return;
        }
        self.meet_path(now);
        if !self.begin_datagram(now, arrival) {
            return;
        }
        self.open_packet(now, &datagram.packet, datagram.packet.frames.as_slice(), arrival);
        for packet in &datagram.coalesced {
            self.handle_packet(now, packet, packet.frames.as_slice(), arrival);
        }
    }

    /// A datagram arrived, whose packets follow one by one; `false`: they change nothing.
    #[inline(always)]
    pub(super) fn begin_datagram(&mut self, now: Time, arrival: Arrival) -> bool {
        self.lane.stats.datagrams_received += 1;
        match self.state {
            State::Closed | State::Draining { .. } => return false,
            State::Closing { .. } => self.answer_while_closing(),
            State::Open => {}
        }
        let was_at_limit = self.allowed_by(&self.lane).is_none();
        self.lane.route.on_datagram(arrival.from, arrival.bytes);
        if was_at_limit {
            self.leave_limit(now);
        }
        true
    }

    /// A server that could send nothing may send again: a probe timeout that has expired meanwhile is acted on, or what was lost would never
    /// go before new data (RFC 9002 appendix A.6).
    #[cold]
    fn leave_limit(&mut self, now: Time) {
        self.set_loss_timer(now);
        if self.lane.loss_timer <= now {
            self.on_loss_timer(now);
        }
    }

    /// A packet beside others, or while the handshake lasts. Whether it was taken: neither dropped nor against a rule.
    #[inline(never)]
    pub(super) fn handle_packet(&mut self, now: Time, packet: &Packet, frames: &[Frame], arrival: Arrival) -> bool {
        self.is_settled = false;
        self.take_early(now, packet, frames, arrival).unwrap_or_else(|violation| {
            self.close_for(now, violation.code(), Reason::Violation(violation));
            false
        })
    }

    // Inlined where a datagram has one packet, of data.

    #[inline(always)]
    fn open_packet(&mut self, now: Time, packet: &Packet, frames: &[Frame], arrival: Arrival) {
        if packet.kind != Kind::OneRtt || !self.handshake.is_over() || !self.handshake.receives(Kind::OneRtt) {
            self.handle_packet(now, packet, frames, arrival);
            return;
        }
        let was_settled = std::mem::take(&mut self.is_settled);
        if let Err(violation) = self.take_packet(now, (Kind::OneRtt, was_settled), packet, frames, arrival) {
            self.close_for(now, violation.code(), Reason::Violation(violation));
        }
    }

    fn take_early(
        &mut self,
        now: Time,
        packet: &Packet,
        frames: &[Frame],
        arrival: Arrival,
    ) -> Result<bool, Violation> {
        let is_small = packet.kind == Kind::Initial && !self.is_client && arrival.bytes < MIN_INITIAL;
        if is_small || !self.handshake.receives(packet.kind) {
            self.lane.stats.packets_dropped += 1;
            return Ok(false);
        }
        self.take_packet(now, (packet.kind, false), packet, frames, arrival)
    }

    /// `Ok(false)`: it has come before. `was_settled`: before the packet came.
    #[inline(always)]
    fn take_packet(
        &mut self,
        now: Time,
        (kind, was_settled): (Kind, bool),
        packet: &Packet,
        frames: &[Frame],
        arrival: Arrival,
    ) -> Result<bool, Violation> {
        let space = kind.space();
        let is_highest =
            self.lane.spaces[space as usize].arrivals.largest().is_none_or(|largest| packet.number > largest);
        if !self.numbers(space).arrivals.take(now, packet.number, arrival.ecn) {
            self.lane.stats.packets_dropped += 1;
            return Ok(false);
        }
        if self.state == State::Open {
            self.has_sent_since_arrival = false;
            self.restart_idle(now);
        }
        if kind == Kind::Handshake && !self.is_client {
            self.lane.route.validate(); // §8.1: only who got our Initial has these keys
            self.discard(Space::Initial); // RFC 9001 §4.9.1
        }
        if let Some(ack) = packet.ack() {
            if kind == Kind::ZeroRtt {
                return Err(Violation::Protocol);
            }
            self.on_ack(now, space, ack)?;
        }
        let mut is_eliciting = false;
        let mut is_data_alone = !packet.has_ack;
        for frame in frames {
            is_eliciting |= frame.is_ack_eliciting();
            match *frame {
                Frame::Stream { id, offset, len, fin } if kind == Kind::OneRtt => {
                    self.on_stream(now, (id, offset, len, fin))?;
                }
                _ => {
                    is_data_alone = false;
                    self.on_frame(now, packet, frame, arrival)?;
                }
            }
        }
        // Its own frames may have ended its space.
        if is_eliciting && self.handshake.receives(kind) {
            self.owe_ack(now, space, packet.number, arrival.ecn);
        }
        self.is_settled = was_settled && is_data_alone && !self.lane.spaces[space as usize].arrivals.is_due(now);
        let is_elsewhere = !self.is_client && arrival.from != self.lane.route.remote;
        let is_probing = || !packet.has_ack && frames.iter().all(Frame::is_probing);
        if is_elsewhere && is_highest && !is_probing() && self.handshake.is_confirmed() && self.state == State::Open {
            self.is_settled = false;
            self.follow_peer(now, arrival.from, arrival.bytes);
        }
        Ok(true)
    }

    #[inline(always)]
    fn owe_ack(&mut self, now: Time, space: Space, number: u64, ecn: Ecn) {
        let min_rtt = self.lane.path.rtt.min();
        let arrivals = &mut self.lane.spaces[space as usize].arrivals;
        arrivals.on_eliciting(now, number, ecn, min_rtt, (space, &self.config.ack));
    }

    #[inline(always)]
    fn on_stream(&mut self, now: Time, frame: (u64, u64, u32, bool)) -> Result<(), Violation> {
        let (id, _, len, _) = frame;
        let update = self.streams.on_stream(frame, &self.config)?;
        self.lane.stats.data_bytes_received += u64::from(len);
        if self.multi.is_some() {
            self.note_gaps(now);
        }
        self.notify_stream(id, update);
        Ok(())
    }

    #[inline(never)]
    fn on_frame(&mut self, now: Time, packet: &Packet, frame: &Frame, arrival: Arrival) -> Result<(), Violation> {
        if !is_allowed(packet.kind, frame) {
            return Err(Violation::Protocol);
        }
        match *frame {
            Frame::Crypto { offset, len, is_end } => self.on_crypto(now, packet, (offset, len, is_end))?,
            Frame::Stream { id, offset, len, fin } => self.on_stream(now, (id, offset, len, fin))?,
            Frame::ResetStream { id, final_size, .. } => {
                let update = self.streams.on_reset(now, id, final_size, &self.config)?;
                self.notify_stream(id, update);
            }
            Frame::StopSending { id, code } => self.streams.on_stop_sending(id, code, &self.config)?,
            Frame::MaxData(max) => self.streams.on_max_data(max),
            Frame::MaxStreamData { id, max } => self.streams.on_max_stream_data(id, max, &self.config)?,
            Frame::MaxStreams(max) => self.streams.on_max_streams(max),
            Frame::PathChallenge(token) => self.lane.route.owe_response(token, arrival.from, arrival.bytes),
            Frame::PathResponse(token) => self.on_path_response(now, token),
            Frame::HandshakeDone if !self.is_client => return Err(Violation::Protocol), // §19.20
            Frame::HandshakeDone => {
                self.handshake.confirm();
                self.discard(Space::Handshake); // RFC 9001 §4.9.2
                self.open_paths(now);
            }
            Frame::PathStatus { path_id, sequence, is_backup } => self.on_path_status(path_id, sequence, is_backup),
            Frame::PathAbandon { path_id } => self.on_path_abandon(path_id),
            Frame::Close { code } => self.drain(now, code),
            // Connection ids are bytes, which are kept outside ([`external`](super::external)).
            Frame::NewConnectionId { .. } | Frame::RetireConnectionId { .. } => {}
            Frame::StreamDataBlocked { id, .. } => self.streams.on_stream_data_blocked(id, &self.config)?,
            Frame::Ping | Frame::DataBlocked(_) => {}
        }
        Ok(())
    }

    fn notify_stream(&mut self, id: u64, update: StreamUpdate) {
        match update {
            _ if self.is_quiet => {}
            StreamUpdate::Nothing => {}
            StreamUpdate::Readable => self.raise(Event::Readable(id)),
            StreamUpdate::Opened => {
                self.raise(Event::Opened(id));
                self.raise(Event::Readable(id));
            }
        }
    }

    fn on_crypto(&mut self, now: Time, packet: &Packet, frame: (u64, u32, bool)) -> Result<(), Violation> {
        let space = packet.kind.space();
        let progress = self.handshake.on_crypto(space, frame, packet.parameters.as_deref())?;
        if progress.is_rejected {
            self.reject_early_data();
        }
        if progress.has_parameters
            && let Some(parameters) = self.handshake.peer().copied()
        {
            self.streams.set_limits(&parameters);
            self.restart_idle(now);
        }
        if progress.is_complete {
            self.lane.path.start(now);
            self.raise(Event::Connected);
            if !self.is_client {
                self.discard(Space::Handshake); // confirmed at once (RFC 9001 §4.1.2, §4.9.2)
            }
        }
        Ok(())
    }
}

/// §12.4, table 3.
fn is_allowed(kind: Kind, frame: &Frame) -> bool {
    match (kind, frame) {
        (Kind::Initial | Kind::Handshake, frame) => {
            matches!(frame, Frame::Ping | Frame::Crypto { .. } | Frame::Close { .. })
        }
        (Kind::ZeroRtt, frame) => !matches!(
            frame,
            Frame::Crypto { .. }
                | Frame::HandshakeDone
                | Frame::PathResponse(_)
                | Frame::PathStatus { .. }
                | Frame::PathAbandon { .. }
                | Frame::RetireConnectionId { .. }
        ),
        _ => true,
    }
}
