//! The end of a connection: idle, closing, draining.
//!
//! Reference: RFC 9000 §10.1 (idle timeout, at least three PTO), §10.2 (CONNECTION_CLOSE; closing and draining last three PTO; an
//! answer to some of the packets that still arrive). Tested by `tests/quic_rules.rs`.

use super::lane::{Lane, Standing};
use super::packet::{Datagram, Frame, Space};
use super::sending::Contents;
use super::{Connection, Event, Reason};
use playpath_units::{Duration, Time};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Open,
    /// Closed by this end: received packets are answered with CONNECTION_CLOSE.
    Closing {
        until: Time,
        code: u64,
        is_due: bool,
        arrivals: u32,
    },
    /// The peer closed: nothing is sent.
    Draining {
        until: Time,
    },
    Closed,
}

impl State {
    pub fn deadline(&self) -> Time {
        match *self {
            State::Closing { until, .. } | State::Draining { until } => until,
            State::Open | State::Closed => Time::MAX,
        }
    }
}

impl Connection {
    /// Close with an application's code; undelivered data are lost.
    pub fn close(&mut self, now: Time, code: u64) {
        self.close_for(now, code, Reason::Local);
    }

    pub(super) fn close_for(&mut self, now: Time, code: u64, reason: Reason) {
        if self.state == State::Open {
            self.state = State::Closing { until: now + self.pto() * 3, code, is_due: true, arrivals: 0 };
            self.raise(Event::Closed(reason));
        }
    }

    pub(super) fn drain(&mut self, now: Time, code: u64) {
        if self.state == State::Open {
            self.raise(Event::Closed(Reason::Peer(code)));
        }
        if self.state != State::Closed {
            self.state = State::Draining { until: now + self.pto() * 3 };
        }
    }

    /// Silently, without a word to the peer.
    pub(super) fn close_silently(&mut self, reason: Reason) {
        self.state = State::Closed;
        self.raise(Event::Closed(reason));
    }

    /// §10.2.1: an answer to the first, second, fourth, eighth … datagram that arrives after the close.
    pub(super) fn answer_while_closing(&mut self) {
        if let State::Closing { is_due, arrivals, .. } = &mut self.state {
            *arrivals += 1;
            *is_due |= arrivals.is_power_of_two();
        }
    }

    /// Restart the idle timer (§10.1).
    #[inline(always)]
    pub(super) fn restart_idle(&mut self, now: Time) {
        self.idle_at = self.idle_time().map_or(Time::MAX, |time| now + time);
    }
    /// The smaller of both ends' timeouts, and at least three PTO.
    #[inline(always)]
    fn idle_time(&self) -> Option<Duration> {
        let (own, peer) = (self.config.idle_timeout, self.handshake.peer_idle());
        let least = match (own.is_zero(), peer.is_zero()) {
            (true, true) => return None,
            (true, false) => peer,
            (false, true) => own,
            (false, false) => own.min(peer),
        };
        Some(least.max(self.pto() * 3))
    }

    /// A sender whom the peer's limits hold up, and who waits for no ACK, says so again after half of that: so the connection stays open while
    /// its reader does not read (§4.1).
    pub(super) fn reminds_at(&self) -> Time {
        let waits = |lane: &Lane| lane.spaces[Space::Data as usize].board.eliciting_in_flight() > 0;
        if !self.streams.is_held_up() || self.lanes().any(waits) {
            return Time::MAX;
        }
        self.idle_time().map_or(Time::MAX, |time| self.idle_at - time / 2)
    }

    /// CONNECTION_CLOSE in the highest space that there are keys for; none from a server that has received nothing, and knows no address.
    pub(super) fn poll_close(&mut self, now: Time, out: &mut Datagram) -> bool {
        let State::Closing { code, is_due, .. } = &mut self.state else { return false };
        if !std::mem::take(is_due) {
            return false;
        }
        let code = *code;
        let Some(kind) = Space::ALL.into_iter().rev().find_map(|space| self.handshake.sends(space)) else {
            return false;
        };
        let works = self.lanes().find(|lane| lane.standing == Standing::Open).map(|lane| lane.id);
        self.turn_to(works.unwrap_or(self.lane.id));
        if self.lane.route.known_remote().is_none() {
            return false;
        }
        out.coalesced.clear();
        self.start_packet(kind, &mut out.packet);
        out.packet.frames.push(Frame::Close { code });
        out.packet.bytes += Frame::Close { code }.bytes(false);
        self.record(now, &out.packet, Contents::of(&out.packet), false);
        self.address(out);
        true
    }
}
