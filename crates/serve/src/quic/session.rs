//! One client: the endpoint, TLS and keys, with HTTP/3 on its streams.
//!
//! Sans-IO: datagrams and time come in, datagrams go out. The endpoint decides what is sent and when; this module supplies the bytes. A
//! client that speaks
//! multipath (draft-ietf-quic-multipath-21) is given ids for [`MAX_PATHS`] paths, and opens those that it chooses.

use crate::clients::Client;
use crate::h3::{Broken, EXCESSIVE_LOAD, INTERNAL_ERROR, NO_ERROR};
use crate::incoming::Incoming;
use crate::quic::addresses::{Addresses, Ends};
use crate::quic::ids::{self, Ids};
use crate::quic::keys::{ConnectionKeys, MAX_PATHS, Place};
use crate::quic::streams::Streams;
use crate::record::Recorder;
use crate::settings::Limits;
use crate::store::Store;
use playpath_cc::{AppParameters, CongestionControl};
use playpath_transport::Ecn;
use playpath_transport::codec::quic::{self as codec, Data, Header, OfClient, OfServer, Opened};
use playpath_transport::mptcp::scheduler::Scheduler;
use playpath_transport::quic::Connection;
use playpath_transport::quic::config::Config;
use playpath_transport::quic::packet::{Datagram, Frame, Kind, Packet, Space};
use playpath_transport::quic::qlog::Qlog;
use playpath_transport::quic::receiving::Arrival;
use playpath_units::Time;
use rustls::ServerConfig;
use rustls::quic::{KeyChange, ServerConnection, Version};
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use std::sync::Arc;

/// Most out-of-order bytes of TLS that are buffered, the same as in the endpoint (RFC 9000 §7.5).
const CRYPTO_BUFFER: u64 = 65_536;
/// CRYPTO_ERROR: a TLS alert as an error code (RFC 9000 §20.1).
const CRYPTO_ERROR: u64 = 0x100;

/// Bytes of one space's CRYPTO stream.
#[derive(Default)]
struct Crypto {
    incoming: Incoming,
    read: u64,
    outgoing: Vec<u8>,
}

/// How a datagram came, or how it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    pub remote: SocketAddr,
    /// The own address that it came to, or goes from; `None`: the system's choice.
    pub local: Option<IpAddr>,
    pub ecn: Ecn,
}

/// Ids and secrets of a new connection.
#[derive(Clone, Debug)]
pub struct Opening {
    /// Destination connection id of the client's first packet.
    pub original: Vec<u8>,
    /// Destination connection id of its first packet after a Retry, if it proved its address that way.
    pub retry: Option<Vec<u8>>,
    /// Connection id that this end chose.
    pub own: [u8; 8],
    /// Connection id that the client chose.
    pub peer: Vec<u8>,
    pub reset_token: [u8; 16],
    pub secret: u64,
}

/// Scheduler and congestion control of a client's additional paths, if it has any.
pub struct Further {
    pub controls: Vec<Box<dyn CongestionControl>>,
    /// Chooses the path of the next packet.
    pub scheduler: Box<dyn Scheduler>,
    /// Whether the congestion controls are coupled.
    pub is_coupled: bool,
}

pub struct Session {
    pub endpoint: Connection,
    tls: ServerConnection,
    keys: ConnectionKeys,
    crypto: [Crypto; 3],
    own: [u8; 8],
    /// Connection id that the client chose first.
    peer: Vec<u8>,
    ids: Vec<Ids>,
    /// Kept until it is known whether the client supports multipath.
    further: Option<Box<Further>>,
    app_parameters: Option<AppParameters>,
    addresses: Addresses,
    client: Option<OfClient>,
    has_control: bool,
    /// HTTP/3 above it.
    pub streams: Streams,
    closes_as_application: bool,
    qlog: Option<Qlog>,
    /// Stream bytes transferred in either direction, and the time of the last transfer.
    moved: (u64, Time),
    /// Arrival time of the first datagram.
    pub opened: Time,
}

impl Client for Session {
    fn handle_timeout(&mut self, now: Time, limits: &Limits) {
        if self.endpoint.poll_timeout() <= now {
            self.endpoint.handle_timeout(now);
            self.qlog.iter_mut().for_each(|log| log.look(now, &mut self.endpoint));
        }
        if self.deadline(limits) <= now {
            self.end(now, EXCESSIVE_LOAD.0);
        }
    }

    fn serve(&mut self, now: Time, store: &Store) {
        let Some(remote) = self.remote() else { return };
        if let Err(Broken(code)) = self.streams.serve(now, &mut self.endpoint, remote, store) {
            self.end(now, code);
        }
        if let Some(address) = self.streams.migrated.take() {
            for path_id in 0..self.ids.len() {
                let retired = self.ids[path_id].settle(address.port);
                self.retire(path_id as u8, retired);
            }
        }
        let stats = self.endpoint.stats();
        let moved = stats.bytes_acked + stats.bytes_delivered;
        if moved != self.moved.0 || self.streams.is_idle() {
            self.moved = (moved, now);
        }
    }

    fn is_idle(&self) -> bool {
        self.streams.is_idle()
    }

    fn note(&mut self, now: Time, id: u64, recorder: &mut Recorder) {
        recorder.note_session(now, id, self);
    }
}

impl Session {
    /// Open a session for a client's first packet. `None` if TLS rejects its configuration.
    pub fn new(
        now: Time,
        (config, control, further): (Config, impl Fn(u8) -> Box<dyn CongestionControl> + Send + 'static, Further),
        tls: &Arc<ServerConfig>,
        opening: Opening,
    ) -> Option<Session> {
        let Opening { original, retry, own, peer, reset_token, secret } = opening;
        let config = Config { cid_bytes: own.len() as u32, peer_cid_bytes: peer.len() as u32, ..config };
        let of_server = OfServer {
            original: &original,
            retry: retry.as_deref(),
            own: &own,
            reset_token,
            max_uni_streams: config.max_uni_streams,
            max_ids: ids::MAX,
            max_path_id: MAX_PATHS as u8 - 1,
        };
        let parameters = codec::put_parameters(&config.parameters(), &of_server);
        let tls = ServerConnection::new(tls.clone(), Version::V1, parameters).ok()?;
        let mut endpoint = Connection::listen_with_tls(config, control(0)).renewed_by(control);
        endpoint.keep_secret(secret);
        if retry.is_some() {
            endpoint.validate_address();
        }
        Some(Session {
            endpoint,
            tls,
            keys: ConnectionKeys::new(retry.as_deref().unwrap_or(&original)),
            crypto: <[Crypto; 3]>::default(),
            ids: vec![Ids::new((own, reset_token), peer.clone())],
            further: Some(Box::new(further)),
            app_parameters: None,
            own,
            peer,
            addresses: Addresses::default(),
            client: None,
            has_control: false,
            streams: Streams::default(),
            closes_as_application: false,
            qlog: None,
            moved: (0, now),
            opened: now,
        })
    }

    pub fn set_app_parameters(&mut self, now: Time, parameters: AppParameters) {
        self.endpoint.set_app_parameters(now, parameters);
        self.app_parameters = Some(parameters);
    }

    pub fn log(&mut self, qlog: Qlog) {
        self.endpoint.log_lost();
        self.qlog = Some(qlog);
    }

    /// When [`handle_timeout`](Self::handle_timeout) has to be called.
    pub fn poll_timeout(&self, limits: &Limits) -> Time {
        self.endpoint.poll_timeout().min(self.deadline(limits))
    }

    /// Time limit for a client that has an unfinished request and takes nothing of its answer, or does not complete the request's head.
    /// A client without a request may stay as long as its QUIC connection does.
    fn deadline(&self, limits: &Limits) -> Time {
        if self.endpoint.is_closing() || self.streams.is_idle() {
            return Time::MAX;
        }
        let head = self.streams.oldest_head().map_or(Time::MAX, |asked| asked + limits.request_timeout);
        (self.moved.1 + limits.idle_timeout).min(head)
    }

    /// Whether the connection is closed and needs no further calls.
    pub fn is_over(&self) -> bool {
        self.endpoint.is_closed()
    }

    pub fn close(&mut self, now: Time) {
        self.end(now, NO_ERROR);
    }

    fn end(&mut self, now: Time, code: u64) {
        self.closes_as_application = true;
        self.endpoint.close(now, code);
    }

    /// A datagram arrived; its packets are opened in place.
    pub fn handle_datagram(&mut self, now: Time, envelope: Envelope, bytes: &mut [u8], store: &Store) {
        let ends = (envelope.remote, envelope.local);
        let from = self.addresses.known(ends);
        let arrival = Arrival { from, ecn: envelope.ecn, bytes: bytes.len() as u32 };
        let path_id = match Header::parse(bytes, self.own.len()) {
            Some(Header::Short { destination, .. }) => self.path_of(&bytes[destination]),
            _ => 0,
        };
        // On an additional path only an authenticated packet counts as received.
        if path_id == 0 && !self.endpoint.handle_arrival(now, path_id, arrival) {
            return;
        }
        let mut at = 0;
        while at < bytes.len()
            && let Some(header) = Header::parse(&bytes[at..], self.own.len())
        {
            let (kind, number_at, end, destination) = match header {
                Header::Long { kind, number_at, end, destination, .. } => (kind, number_at, end, destination),
                Header::Short { number_at, destination } => (Kind::OneRtt, number_at, bytes.len() - at, destination),
                Header::Unknown { .. } => return,
            };
            let packet = &mut bytes[at..at + end];
            self.ids.iter_mut().for_each(|ids| ids.arrive(&packet[destination.clone()]));
            at += end;
            if self.endpoint.opens(kind) {
                self.handle_packet(now, Place { kind, path_id }, packet, number_at, (ends, arrival));
            }
        }
        self.serve(now, store);
    }

    /// The path whose id this is (multipath draft §2.1).
    fn path_of(&self, destination: &[u8]) -> u8 {
        self.ids.iter().position(|ids| ids.owns(destination)).unwrap_or(0) as u8
    }

    fn handle_packet(&mut self, now: Time, place: Place, packet: &mut [u8], number_at: usize, came: (Ends, Arrival)) {
        let Some(clear) = self.keys.open(place, packet, number_at) else { return };
        let Place { kind, path_id } = place;
        let (endpoint, (ends, arrival)) = (&self.endpoint, came);
        let is_used = |port| (0..MAX_PATHS).any(|path| endpoint.remote(path).is_some_and(|to| to.port == port));
        let Some(from) = self.addresses.note_source(ends, is_used) else { return };
        let arrival = Arrival { from, ..arrival };
        if path_id > 0 && !self.endpoint.handle_arrival(now, path_id, arrival) {
            return;
        }
        if !clear.is_clean {
            return self.endpoint.fail(now, codec::PROTOCOL_VIOLATION);
        }
        let payload = &packet[clear.payload];
        let opened = match codec::read_frames(payload) {
            Ok(opened) => opened,
            Err(code) => return self.endpoint.fail(now, code),
        };
        if opened.is_multipath && !(self.endpoint.is_multipath() && kind == Kind::OneRtt) {
            return self.endpoint.fail(now, codec::PROTOCOL_VIOLATION); // multipath draft §4
        }
        // ACK is of the first path (§4.1); those of others than the packet's follow by themselves.
        let mut acks: Vec<_> = opened.path_acks.iter().copied().chain(opened.ack.map(|ack| (0, ack))).collect();
        let own = acks.iter().position(|(of, _)| *of == path_id).map(|index| acks.swap_remove(index).1);
        let record =
            Packet { kind, number: clear.number, bytes: packet.len() as u32, ..Packet::default() }.with_ack(own);
        self.qlog.iter_mut().for_each(|log| log.received(now, path_id, &record, &opened.frames));
        let is_taken = self.endpoint.handle_opened(now, &record, &opened.frames, arrival);
        acks.iter().filter(|_| is_taken).for_each(|(of, ack)| self.endpoint.handle_path_ack(now, *of, ack));
        self.qlog.iter_mut().for_each(|log| log.look(now, &mut self.endpoint));
        if !is_taken {
            return;
        }
        self.keep_data(kind.space(), payload, &opened);
        self.keep_ids(now, &opened);
        self.speak_tls(now, kind.space());
    }

    /// Ids that the client gives, and those of ours that it gives back.
    fn keep_ids(&mut self, now: Time, opened: &Opened) {
        for frame in &opened.frames {
            if let Frame::RetireConnectionId { path_id, sequence } = *frame {
                let ids = self.ids.get_mut(usize::from(path_id));
                match ids.map_or(Err(codec::PROTOCOL_VIOLATION), |ids| ids.give_back(sequence)) {
                    Ok(()) => self.endpoint.withdraw(Frame::NewConnectionId { path_id, sequence }),
                    Err(code) => return self.endpoint.fail(now, code),
                }
            }
        }
        if let Some(client) = &mut self.client {
            client.max_path_id = client.max_path_id.max(opened.max_path_id);
        }
        for id in &opened.ids {
            let ids = self.ids.get_mut(usize::from(id.path_id));
            match ids.map_or(Err(codec::PROTOCOL_VIOLATION), |ids| ids.take(id)) {
                Ok(retired) => self.retire(id.path_id, retired),
                Err(code) => return self.endpoint.fail(now, code),
            }
        }
        let retiring =
            self.endpoint.announced().iter().filter(|frame| matches!(frame, Frame::RetireConnectionId { .. }));
        if retiring.count() > ids::MAX_RETIRING {
            self.endpoint.fail(now, ids::CONNECTION_ID_LIMIT_ERROR);
        }
    }

    fn retire(&mut self, path_id: u8, retired: Vec<u64>) {
        for sequence in retired {
            let frame = Frame::RetireConnectionId { path_id, sequence };
            if !self.endpoint.announced().contains(&frame) {
                self.endpoint.announce(frame);
            }
        }
    }

    /// The path that the client may have one more id of ours for.
    pub fn wants_id(&self) -> Option<usize> {
        let limit = self.client.map_or(0, |client| client.max_ids);
        let is_open = self.endpoint.is_established() && !self.endpoint.is_closing();
        let most = self.client.and_then(|client| client.max_path_id).unwrap_or(0).min(MAX_PATHS as u64) as usize;
        self.ids.iter().take(1 + most).position(|ids| is_open && ids.wants(limit))
    }

    /// Issue this connection id to the client, with its stateless reset token.
    pub fn give_id(&mut self, path: usize, cid: [u8; 8], token: [u8; 16]) {
        let sequence = self.ids[path].give(cid, token);
        self.endpoint.announce(Frame::NewConnectionId { path_id: path as u8, sequence });
    }

    /// Ids of ours that the client has given back since the last call.
    pub fn take_given_back(&mut self) -> Vec<[u8; 8]> {
        self.ids.iter_mut().flat_map(Ids::take_given_back).collect()
    }

    /// Store the bytes of the data that the endpoint has accepted; data that it rejects have closed the connection.
    fn keep_data(&mut self, space: Space, payload: &[u8], opened: &Opened) {
        if self.endpoint.is_closing() {
            return;
        }
        for (whose, offset, range) in &opened.data {
            let bytes = &payload[range.clone()];
            match whose {
                Data::Crypto => {
                    let crypto = &mut self.crypto[space as usize];
                    if offset + bytes.len() as u64 <= crypto.read + CRYPTO_BUFFER {
                        crypto.incoming.store(*offset, bytes);
                    }
                }
                Data::Stream(id) if self.endpoint.may_receive(*id, offset + bytes.len() as u64) => {
                    self.streams.keep(*id, *offset, bytes);
                }
                Data::Stream(_) => {} // it is over
                Data::Id(..) => {}
            }
        }
    }

    /// Pass in-order handshake data to TLS, and its output to CRYPTO frames.
    fn speak_tls(&mut self, now: Time, space: Space) {
        let crypto = &mut self.crypto[space as usize];
        let ready = self.endpoint.crypto_in_order(space).saturating_sub(crypto.read);
        if ready == 0 {
            return;
        }
        let was_handshaking = self.tls.is_handshaking();
        let taken = self.tls.read_hs(crypto.incoming.peek(ready));
        crypto.incoming.consume(ready);
        crypto.read += ready;
        if taken.is_err() {
            let alert = self.tls.alert().map_or(40, u8::from); // handshake_failure
            return self.endpoint.fail(now, CRYPTO_ERROR + u64::from(alert));
        }
        if self.client.is_none() && !self.take_parameters(now) {
            return;
        }
        if let Some(keys) = self.tls.zero_rtt_keys().filter(|_| was_handshaking && space == Space::Initial) {
            self.keys.install_early(Some(keys));
            self.endpoint.install_early_keys();
            self.open_control();
        }
        if self.tls.is_handshaking() {
            return self.write_tls(space);
        }
        if was_handshaking {
            self.endpoint.install_keys(Space::Data, true, true);
            self.endpoint.complete_handshake(now);
            self.keys.install_early(None);
            self.open_control();
        }
        self.write_tls(Space::Data); // tickets
    }

    /// Open the control stream as soon as data can be sent on it: with 0-RTT, before the handshake is complete.
    fn open_control(&mut self) {
        if let Some(client) = self.client.as_ref().filter(|_| !self.has_control) {
            self.streams.open_control(&mut self.endpoint, client);
            self.has_control = true;
        }
    }

    fn write_tls(&mut self, mut space: Space) {
        loop {
            let crypto = &mut self.crypto[space as usize];
            let before = crypto.outgoing.len();
            let change = self.tls.write_hs(&mut crypto.outgoing);
            let more = crypto.outgoing.len() - before;
            self.endpoint.write_crypto(space, more as u64);
            match change {
                Some(KeyChange::Handshake { keys }) => {
                    space = Space::Handshake;
                    self.keys.install(space, keys, None);
                    self.endpoint.install_keys(space, true, true);
                }
                // 1-RTT packets are processed only once the handshake is complete (RFC 9001 §5.7).
                Some(KeyChange::OneRtt { keys, next }) => {
                    space = Space::Data;
                    self.keys.install(space, keys, Some(next));
                    self.endpoint.install_keys(space, true, false);
                }
                None if more == 0 => return,
                None => {}
            }
        }
    }

    /// The client's parameters, once TLS has them; `false`: they are wrong.
    fn take_parameters(&mut self, now: Time) -> bool {
        let Some(bytes) = self.tls.quic_transport_parameters() else { return true };
        self.client = codec::read_parameters(bytes, &self.peer);
        match self.client {
            Some(found) => {
                self.endpoint.set_peer_parameters(now, found.common, found.max_datagram);
                if found.max_path_id.is_some() {
                    self.add_paths(now);
                }
                self.further = None;
            }
            None => self.endpoint.fail(now, codec::TRANSPORT_PARAMETER_ERROR),
        }
        self.client.is_some()
    }

    /// The client speaks multipath: it opens those paths that it likes.
    fn add_paths(&mut self, now: Time) {
        let Some(further) = self.further.take() else { return };
        let Further { controls, scheduler, is_coupled } = *further;
        self.endpoint.add_paths(controls, scheduler, is_coupled);
        self.app_parameters
            .into_iter()
            .for_each(|app_parameters| self.endpoint.set_app_parameters(now, app_parameters));
        self.ids.resize_with(MAX_PATHS, Ids::further);
    }

    /// The next datagram is appended to `out`; `None`: there is none now.
    pub fn poll_datagram(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Envelope> {
        loop {
            let datagram = self.endpoint.poll_transmit(now)?;
            self.renew_keys();
            let start = out.len();
            self.ids[usize::from(datagram.path_id)].address(datagram.to.port);
            if let Some((remote, local)) = self.addresses.of(datagram.to.port)
                && self.put_datagram(&datagram, out).is_some()
            {
                self.qlog.iter_mut().for_each(|log| log.sent(now, &datagram));
                return Some(Envelope { remote, local, ecn: datagram.ecn });
            }
            out.truncate(start); // it counts as lost
        }
    }

    /// Only once the client has acknowledged something of the phase at hand (RFC 9001 §6.1).
    fn renew_keys(&mut self) {
        let (endpoint, keys) = (&self.endpoint, &self.keys);
        let is_known = |path| endpoint.largest_acked(path).is_some_and(|number| keys.has_sealed(path, number));
        if keys.are_worn() && endpoint.is_established() && (0..MAX_PATHS).any(is_known) {
            self.keys.update();
        }
    }

    fn put_datagram(&mut self, datagram: &Datagram, out: &mut Vec<u8>) -> Option<()> {
        for packet in datagram.packets() {
            self.put_packet(datagram.path_id, packet, out)?;
        }
        Some(())
    }

    fn put_packet(&mut self, path_id: u8, packet: &Packet, out: &mut Vec<u8>) -> Option<()> {
        let start = out.len();
        let number_bytes = self.endpoint.number_bytes(packet);
        let peer = self.ids[usize::from(path_id)].peer();
        if path_id > 0 && peer.is_empty() {
            return None; // the client opened a path without an id to answer it with
        }
        codec::put_header(out, packet, (peer, &self.own), (number_bytes, self.keys.phase));
        let number_at = out.len() - number_bytes as usize;
        let overhead = packet.kind.overhead((peer.len() as u32, self.own.len() as u32), number_bytes);
        let length = (packet.bytes - overhead) as usize;
        let of_path = self.endpoint.is_multipath().then_some(path_id);
        let (crypto, streams, ids) = (&self.crypto[packet.kind.space() as usize], &self.streams, &self.ids);
        let written =
            codec::put_frames(out, packet, (length, self.closes_as_application, of_path), |whose, offset, bytes| {
                match whose {
                    Data::Crypto => copy(&crypto.outgoing, offset, bytes),
                    Data::Stream(id) => streams.copy(id, offset, bytes),
                    Data::Id(path_id, sequence) => {
                        ids[usize::from(path_id)].copy(sequence, bytes);
                        Ok(())
                    }
                }
            });
        if let Err(id) = written {
            self.endpoint.reset(id, INTERNAL_ERROR); // the file is not what it was: nothing right can be sent any more
            return None;
        }
        self.keys.seal(
            Place { kind: packet.kind, path_id },
            out,
            start,
            (packet.number, number_at, number_bytes as usize),
        )
    }

    pub fn remote(&self) -> Option<SocketAddr> {
        self.addresses.first().map(|(remote, _)| remote)
    }

    pub fn remote_of(&self, path: usize) -> Option<SocketAddr> {
        self.addresses.of(self.endpoint.remote(path)?.port).map(|(remote, _)| remote)
    }
}

fn copy(from: &[u8], offset: u64, to: &mut [u8]) -> Result<(), u64> {
    let range: Range<usize> = offset as usize..offset as usize + to.len();
    to.copy_from_slice(from.get(range).ok_or(offset)?);
    Ok(())
}
