//! A server on a real network: the caller runs TLS, holds keys and bytes, and puts packets into datagrams.
//!
//! The endpoint works with offsets and lengths only, as in the simulator. The caller reports the progress of TLS ([`write_crypto`],
//! [`install_keys`], [`set_peer_parameters`], [`complete_handshake`]), passes the packets that could be decrypted
//! ([`handle_opened`]), and writes real bytes for what [`poll_transmit`](Connection::poll_transmit) returns.
//!
//! Reference: RFC 9001 §4.1 (the interface between TLS and QUIC). Driven by `crates/serve`.
//!
//! [`write_crypto`]: Connection::write_crypto
//! [`install_keys`]: Connection::install_keys
//! [`set_peer_parameters`]: Connection::set_peer_parameters
//! [`complete_handshake`]: Connection::complete_handshake
//! [`handle_opened`]: Connection::handle_opened

use super::closing::State;
use super::config::Config;
use super::handshake::Handshake;
use super::packet::{Ack, Address, Frame, Kind, Packet, Space, TransportParameters};
use super::receiving::Arrival;
use super::streams::Violation;
use super::{Connection, Event, Reason, varint};
use playpath_cc::CongestionControl;
use playpath_units::Time;
use std::collections::VecDeque;
use std::sync::Arc;

/// Frames of connection ids: the announced ones, and those still to be sent.
#[derive(Default)]
#[repr(C)]
pub(super) struct Announcements {
    queue: VecDeque<Frame>,
    standing: Vec<Frame>,
}

impl Announcements {
    pub fn is_due(&self) -> bool {
        !self.queue.is_empty()
    }
    pub fn next(&self) -> Option<Frame> {
        self.queue.front().copied()
    }
    pub fn on_sent(&mut self) {
        self.queue.pop_front();
    }
    pub fn on_lost(&mut self, frame: Frame) {
        if self.standing.contains(&frame) && !self.queue.contains(&frame) {
            self.queue.push_back(frame);
        }
    }
    /// Remove a frame that is acknowledged or no longer needed.
    pub fn withdraw(&mut self, frame: Frame) {
        self.standing.retain(|other| *other != frame);
        self.queue.retain(|other| *other != frame);
    }
}

impl Connection {
    /// A server that waits for the first datagram, and whose TLS is spoken outside.
    pub fn listen_with_tls(config: impl Into<Arc<Config>>, control: Box<dyn CongestionControl>) -> Connection {
        let config = config.into();
        let handshake = Handshake::external(config.tls);
        Connection { handshake, ..Connection::listen(config, control) }
    }

    /// Set the secret of path challenges, which only the validated address may learn: `secret` is drawn for this connection (RFC 9000
    /// §8.2.1).
    pub fn keep_secret(&mut self, secret: u64) {
        self.lane.route.keep_secret(secret);
    }

    /// Keep the numbers of packets that are given up for [`take_lost`](Self::take_lost).
    pub fn log_lost(&mut self) {
        self.lost = Some(Vec::new());
    }

    /// Packets given up since the last call: their paths, spaces and numbers.
    pub fn take_lost(&mut self) -> Vec<(u8, Space, u64)> {
        self.lost.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The client has proved that it receives at its address, by a token (RFC 9000 §8.1.2).
    pub fn validate_address(&mut self) {
        self.lane.route.validate();
    }

    /// TLS has so many more bytes to send in `space`.
    pub fn write_crypto(&mut self, space: Space, bytes: u64) {
        self.handshake.write(space, bytes);
    }

    /// Bytes of the TLS handshake received in order in `space`.
    pub fn crypto_in_order(&self, space: Space) -> u64 {
        self.handshake.in_order(space)
    }

    /// TLS has keys of `space`, to send or to receive with.
    pub fn install_keys(&mut self, space: Space, sends: bool, receives: bool) {
        self.handshake.install(space, sends, receives);
    }

    /// Whether there are keys for such packets, and they are still needed.
    pub fn opens(&self, kind: Kind) -> bool {
        self.handshake.receives(kind)
    }

    /// TLS has keys for the client's 0-RTT packets, and takes them.
    pub fn install_early_keys(&mut self) {
        self.handshake.set_early_keys(true);
    }

    /// A frame of connection ids is to be sent, and again until it is acknowledged.
    pub fn announce(&mut self, frame: Frame) {
        self.announcements.standing.push(frame);
        self.announcements.queue.push_back(frame);
    }

    pub fn withdraw(&mut self, frame: Frame) {
        self.announcements.withdraw(frame);
    }

    /// Announced frames that are not acknowledged yet.
    pub fn announced(&self) -> &[Frame] {
        &self.announcements.standing
    }

    /// Set the client's parameters, and the largest datagram that it accepts (RFC 9000 §18.2).
    pub fn set_peer_parameters(&mut self, now: Time, parameters: TransportParameters, max_datagram: u64) {
        let most = u32::try_from(max_datagram).unwrap_or(u32::MAX);
        if most < self.config.datagram_bytes {
            Arc::make_mut(&mut self.config).datagram_bytes = most;
        }
        self.handshake.remember(parameters);
        self.streams.set_limits(&parameters);
        self.restart_idle(now);
    }

    /// Handle the completion of TLS: the peer has finished the handshake, and has our parameters.
    pub fn complete_handshake(&mut self, now: Time) {
        self.handshake.complete();
        self.handshake.set_early_keys(false); // RFC 9001 §4.9.3
        self.lane.path.start(now);
        self.raise(Event::Connected);
        self.discard(Space::Handshake); // confirmed at once (RFC 9001 §4.1.2, §4.9.2)
        self.set_loss_timer(now);
    }

    /// A datagram arrived on a path, whose packets are handed over one by one; `false`: none is wanted. A further path's only when its
    /// packet could be opened: it is opened by that, too.
    pub fn handle_arrival(&mut self, now: Time, path_id: u8, arrival: Arrival) -> bool {
        if !self.turn_to(path_id) {
            return false;
        }
        self.meet_path(now);
        self.begin_datagram(now, arrival)
    }

    /// Handle an ACK frame for a path other than the current packet's.
    pub fn handle_path_ack(&mut self, now: Time, path_id: u8, ack: &Ack) {
        let at_hand = self.lane.id;
        if self.state != State::Open {
            return;
        }
        // Multipath draft §4.1: a path that was never used is as a packet that was never sent.
        let known = if self.turn_to(path_id) { Ok(()) } else { Err(Violation::Protocol) };
        if let Err(violation) = known.and_then(|()| self.on_ack(now, Space::Data, ack)) {
            self.close_for(now, violation.code(), Reason::Violation(violation));
        }
        self.turn_to(at_hand);
    }

    /// Largest number of a packet of data on a path that was acknowledged.
    pub fn largest_acked(&self, path: usize) -> Option<u64> {
        self.lane(path).and_then(|lane| lane.spaces[Space::Data as usize].board.largest_acked())
    }

    /// Where the peer is on a path, if it has been heard there.
    pub fn remote(&self, path: usize) -> Option<Address> {
        self.lane(path).and_then(|lane| lane.route.known_remote())
    }

    /// A packet of the datagram at hand that could be opened, with all its frames; those in `packet` do not count. `false`: it was
    /// dropped (RFC 9000 §12.3, §14.1) or broke a rule, and nobody has looked at all of its frames.
    #[must_use]
    pub fn handle_opened(&mut self, now: Time, packet: &Packet, frames: &[Frame], arrival: Arrival) -> bool {
        self.handle_packet(now, packet, frames, arrival)
    }

    /// Bytes of a stream up to `end` are within what the peer may send on it (RFC 9000 §4.1); of a stream that is over none are.
    pub fn may_receive(&self, id: u64, end: u64) -> bool {
        self.streams.may_receive(id, end)
    }

    /// The peer broke a rule that only the bytes show: close with this code of RFC 9000 §20.1.
    pub fn fail(&mut self, now: Time, code: u64) {
        self.close_for(now, code, Reason::Local);
    }

    /// Open a unidirectional stream. The peer must allow it: `initial_max_streams_uni` is for the caller to know.
    pub fn open_uni(&mut self) -> u64 {
        self.streams.open_uni(&self.config)
    }

    pub fn is_closing(&self) -> bool {
        self.state != State::Open
    }

    /// The peer has ended the stream, and nothing is left to read behind the next `bytes`.
    pub fn ends_after(&self, id: u64, bytes: u64) -> bool {
        self.streams.ends_after(id, bytes)
    }

    /// All of a stream was sent, its end too, and nothing of it is known to be lost.
    pub fn is_sent(&self, id: u64) -> bool {
        self.streams.is_sent(id)
    }

    /// Length of the packet number of a packet just polled, on the current path, bytes (RFC 9000 §17.1).
    pub fn number_bytes(&self, packet: &Packet) -> u32 {
        let board = &self.lane.spaces[packet.kind.space() as usize].board;
        varint::packet_number_size(packet.number, board.largest_acked())
    }

    /// Everything of a stream below this offset has arrived at the peer; `None`: all of it, and the stream is over.
    pub fn acked_up_to(&self, id: u64) -> Option<u64> {
        self.streams.acked_up_to(id)
    }
}
