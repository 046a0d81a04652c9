//! QUIC as one of the transports: the connection, and the applications' view of its streams.
//!
//! A player's requests have streams of their own (HTTP/3). Other traffic uses a single stream, opened by the end that writes first: the
//! client of
//! a web user, the server of a bulk transfer.

use super::{Endpoint, Multipath, Opening, Other, Packet, PathInfo, Payload, PayloadPool, Streams, Totals, Transport};
use crate::mptcp::Switch;
use crate::mptcp::level::{LevelStats, PathStats};
use crate::quic::config::Config;
use crate::quic::packet::Address;
use crate::quic::qlog::Qlog;
use crate::quic::{Connection, Event, Priority, Reason};
use crate::{Ecn, Events};
use playpath_cc::AppParameters;
use playpath_units::{Duration, Time};
use std::sync::Arc;

/// The first stream that a client opens, and that a server opens (RFC 9000 §2.1).
const CLIENTS_FIRST: u64 = 0;
const SERVERS_FIRST: u64 = 1;

/// Code of a connection that is closed in order (RFC 9114 §8.1, H3_NO_ERROR).
const NO_ERROR: u64 = 0x100;

/// Headers of a datagram over IPv4.
const IP_AND_UDP: u32 = 28;

/// Port of a client that has moved to another address.
const MOVED_PORT: u16 = 50_001;

pub struct QuicEnd {
    connection: Connection,
    /// The one stream of all that the application writes without naming one.
    only: Option<u64>,
    /// The application may send, and was told so: with 0-RTT data before the handshake is over.
    is_announced: bool,
    close_reason: Option<Reason>,
    /// Streams whose buffer took less than was written, until there is room again.
    cut: Vec<u64>,
    qlog: Option<Box<Qlog>>,
    /// Until then it reads; see [`Config::wakes_in`].
    reads_until: Time,
}

/// Client and server of a new connection, over several paths by multipath. The client is without ECT(1): its requests are no scalable sender's.
pub fn pair(server: &Arc<Config>, opening: Opening) -> (Endpoint, Endpoint) {
    let marking = if server.marking == Ecn::Ect1 { Ecn::Ect0 } else { server.marking };
    let client = match (marking, server.peer_wakes_in) {
        own if own == (server.marking, server.wakes_in) => server.clone(),
        (marking, wakes_in) => Arc::new(Config { marking, wakes_in, ..**server }),
    };
    let (window, control) = (server.initial_window, opening.control);
    let client_cc = move |_| Opening::client_control(window);
    let server_cc = move |path| control(window, path);
    let mut ends = [
        Connection::connect(opening.now, client, client_cc(0)).renewed_by(client_cc),
        Connection::listen(server.clone(), server_cc(0)).renewed_by(server_cc.clone()),
    ];
    if opening.paths.len() > 1 {
        let further = || 1..opening.paths.len() as u8;
        let [client, server] = ends;
        ends = [
            client.with_paths(further().map(client_cc).collect(), (opening.scheduler)(), false),
            server.with_paths(further().map(&server_cc).collect(), (opening.scheduler)(), opening.is_coupled),
        ];
        for path in opening.paths.iter().enumerate().filter_map(|(path, facts)| facts.is_backup.then_some(path)) {
            ends.iter_mut().for_each(|end| end.set_backup(path, true));
        }
    }
    let end = |connection: Connection| {
        Endpoint::Other(Other::Quic(Box::new(QuicEnd {
            connection: connection.quiet(),
            only: None,
            is_announced: false,
            close_reason: None,
            cut: Vec::new(),
            qlog: None,
            reads_until: Time::MAX,
        })))
    };
    let [client, server] = ends.map(end);
    (client, server)
}

impl QuicEnd {
    fn report_connected(&mut self, events: Events) -> Events {
        self.is_announced = true;
        events.with(crate::Event::Connected)
    }
    /// The stream of all that is not requests, once an end has opened it.
    fn find_only(&mut self) -> Option<u64> {
        if self.only.is_none() {
            self.only = [CLIENTS_FIRST, SERVERS_FIRST].into_iter().find(|id| self.connection.is_writable(*id));
        }
        self.only
    }
    /// As applications over TCP are told it.
    fn collect_events(&mut self) -> Events {
        let mut events = Events::NONE;
        if !self.is_announced && self.connection.sends_early_data() {
            events = self.report_connected(events);
        }
        while let Some(event) = self.connection.poll_event() {
            events = match event {
                Event::Connected if self.is_announced => events,
                Event::Connected => self.report_connected(events),
                Event::Closed(reason) => {
                    self.close_reason = Some(reason);
                    events.with(crate::Event::Closed)
                }
                // What has bytes in order is asked for: the connection is quiet.
                Event::Opened(_) | Event::Readable(_) | Event::EarlyDataRejected | Event::Migrated(_) => events,
            };
        }
        if self.cut.is_empty() {
            return events;
        }
        let cut = self.cut.len();
        self.cut.retain(|&stream| self.connection.send_space(stream) == 0);
        if self.cut.len() < cut { events.with(crate::Event::Writable) } else { events }
    }
    /// What the connection is about to be told, or asked for, may give it something to send.
    fn wake(&mut self) -> &mut Connection {
        self.connection.unsettle();
        &mut self.connection
    }
    fn look(&mut self, now: Time) {
        self.qlog.iter_mut().for_each(|log| log.look(now, &mut self.connection));
    }
}

impl Transport for QuicEnd {
    fn handle_packet(&mut self, now: Time, packet: &Packet, payload_pool: &mut PayloadPool) {
        let datagram = packet.payload.pool_index().and_then(|place| payload_pool.datagram_mut(place));
        if let Some(datagram) = datagram {
            datagram.ecn = packet.ecn;
            // A NAT's ports are far from those that the client has chosen.
            datagram.from.port = datagram.from.port.wrapping_add(100 * packet.binding);
            if let Some(log) = &mut self.qlog {
                let received = |packet: &_| log.received(now, datagram.path_id, packet, packet.frames.as_slice());
                datagram.packets().for_each(received);
            }
            self.connection.handle_datagram(now, datagram);
            let wakes_in = self.connection.config().wakes_in;
            if !wakes_in.is_zero() {
                self.reads_until = self.reads_until.min(now + wakes_in);
            }
            self.look(now);
        }
    }
    fn handle_too_big(&mut self, now: Time, packet: &Packet, mtu: u32, payload_pool: &mut PayloadPool) {
        let datagram = packet.payload.pool_index().and_then(|place| payload_pool.datagram_mut(place));
        if let Some(datagram) = datagram {
            self.wake().handle_too_big(datagram, mtu.saturating_sub(IP_AND_UDP));
            self.look(now);
        }
    }
    fn handle_timeout(&mut self, now: Time) {
        if self.reads_until <= now {
            self.reads_until = Time::MAX;
        }
        self.wake().handle_timeout(now);
        self.look(now);
    }
    fn log(&mut self, log: Qlog) {
        self.connection.log_lost();
        self.qlog = Some(Box::new(log));
    }
    fn poll_transmit(&mut self, now: Time, out: &mut Packet, payload_pool: &mut PayloadPool) -> bool {
        if self.reads_until < Time::MAX {
            return false;
        }
        let datagram = payload_pool.next_datagram();
        if !self.connection.poll_transmit_into(now, datagram) {
            return false;
        }
        self.qlog.iter_mut().for_each(|log| log.sent(now, datagram));
        let (wire_bytes, ecn) = (datagram.wire_bytes(), datagram.ecn);
        let data_bytes = datagram.stream_bytes();
        // Field by field: most of a packet is the place of a segment, which is not written.
        (out.path, out.binding) = (datagram.link_path(), 0);
        (out.wire_bytes, out.data_bytes, out.ecn) = (wire_bytes, data_bytes, ecn);
        out.payload = Payload::Pooled(payload_pool.take());
        true
    }
    #[inline]
    fn has_nothing(&self) -> bool {
        self.connection.is_settled()
    }
    #[inline]
    fn may_have_more(&self) -> bool {
        !self.connection.is_spent()
    }
    #[inline(never)]
    fn poll_timeout(&self) -> Time {
        if self.reads_until < Time::MAX { self.reads_until } else { self.connection.poll_timeout() }
    }
    #[inline(never)]
    fn take_events(&mut self) -> Events {
        let is_quiet = self.is_announced && self.cut.is_empty() && !self.connection.has_events();
        if is_quiet { Events::NONE } else { self.collect_events() }
    }
    fn write(&mut self, bytes: u64) -> u64 {
        if self.find_only().is_none() {
            self.only = self.wake().open();
        }
        self.only.map_or(0, |stream| Streams::write(self, stream, bytes))
    }
    #[inline]
    fn readable(&self) -> u64 {
        self.connection.unread()
    }
    #[inline(never)]
    fn read(&mut self, now: Time, most: u64) -> u64 {
        self.find_only().map_or(0, |stream| self.connection.read(now, stream, most))
    }
    fn unsent_bytes(&self) -> u64 {
        self.connection.unsent()
    }
    fn has_packet_waiting(&self) -> bool {
        self.connection.unsent() >= u64::from(self.connection.config().datagram_bytes)
    }
    fn close(&mut self, now: Time) {
        self.wake().close(now, NO_ERROR);
    }
    fn abort(&mut self, now: Time) {
        self.wake().close(now, NO_ERROR);
    }
    fn migrate(&mut self, now: Time, path: usize) -> bool {
        self.wake().migrate(now, Address { host: path as u16 + 1, port: MOVED_PORT })
    }
    fn set_app_parameters(&mut self, now: Time, parameters: AppParameters) {
        self.wake().set_app_parameters(now, parameters);
    }
    fn failure(&self) -> Option<&'static str> {
        match self.close_reason? {
            Reason::Idle => Some("idle timeout"),
            Reason::Path => Some("path validation failed"),
            Reason::Violation(_) => Some("protocol violation"),
            Reason::Peer(_) => Some("closed by the server"),
            Reason::Local => None,
        }
    }
    fn survives_rebinding(&self) -> bool {
        true
    }
    fn path_count(&self) -> usize {
        self.connection.path_count()
    }
    fn path_info(&self, path: usize) -> Option<PathInfo> {
        self.connection.path_info(path).map(|info| info.path)
    }
    fn path_totals(&self, path: usize) -> Totals {
        Totals::of_quic(&self.connection, path)
    }
    fn streams(&mut self) -> Option<&mut dyn Streams> {
        Some(self)
    }
    fn multipath(&self) -> Option<&dyn Multipath> {
        self.connection.level_stats().map(|_| self as &dyn Multipath)
    }
    fn multipath_mut(&mut self) -> Option<&mut dyn Multipath> {
        if self.connection.is_multipath() { Some(self) } else { None }
    }
}

/// Of a connection that uses several paths.
impl Multipath for QuicEnd {
    fn log_switches(&mut self) {
        self.connection.log_switches();
    }
    fn poll_switch(&mut self) -> Option<Switch> {
        self.connection.poll_switch()
    }
    fn sent(&self) -> &LevelStats {
        self.connection.level_stats().expect("it uses several paths")
    }
    fn sent_on(&self, path: usize) -> &PathStats {
        self.connection.level_stats_of(path).expect("it uses several paths")
    }
    fn hol_blocking_time(&self, now: Time) -> Duration {
        self.connection.blocked_behind_gaps(now).0
    }
    fn max_out_of_order_bytes(&self) -> u64 {
        self.connection.blocked_behind_gaps(Time::ZERO).1
    }
}

impl Streams for QuicEnd {
    fn open(&mut self) -> Option<u64> {
        self.wake().open()
    }
    fn write(&mut self, stream: u64, bytes: u64) -> u64 {
        let taken = self.wake().write(stream, bytes);
        if taken < bytes && !self.cut.contains(&stream) {
            self.cut.push(stream);
        }
        taken
    }
    fn finish(&mut self, stream: u64) {
        self.wake().finish(stream);
    }
    fn stop(&mut self, stream: u64) {
        self.wake().stop(stream);
    }
    fn set_priority(&mut self, stream: u64, priority: Priority) {
        self.wake().set_priority(stream, priority);
    }
    fn is_writable(&self, stream: u64) -> bool {
        self.connection.is_writable(stream)
    }
    fn read(&mut self, now: Time, stream: u64, most: u64) -> u64 {
        self.connection.read(now, stream, most)
    }
    fn is_read_to_end(&self, stream: u64) -> bool {
        self.connection.is_read_to_end(stream)
    }
    fn unsent_bytes(&self) -> u64 {
        self.connection.unsent()
    }
}
