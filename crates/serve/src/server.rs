//! The server: assignment of packets to connections, admission of clients, and the choice of the next packet. Sans-IO: packets and time
//! come in, packets
//! go out.
//!
//! Usage: call `handle_packet` or `handle_timeout`, then `poll_packet` until `false`, then wait until `poll_timeout`.
//!
//! Nothing grows without bound: connections and half-open ones are counted ([`Limits`](crate::settings::Limits)), each holds at most its
//! window of unread bytes, and no state is kept for a client that is not answered.

use crate::clients::{Client, Clients};
use crate::http_connection::HttpConnection;
use crate::pair::{AddressPair, header_bytes, refusal};
use crate::record::Recorder;
use crate::secrets::{Random, Secrets};
use crate::secure::Secure;
use crate::settings::Settings;
use crate::store::Store;
use playpath_cc::{AppParameters, CongestionControl};
use playpath_transport::codec::{Packet, TCP};
use playpath_transport::mptcp::option::{CAPABLE_EXTENDED, CAPABLE_SHA256};
use playpath_transport::mptcp::{MptcpConfig, MptcpConnection, PathConfig};
use playpath_transport::transports::Segments;
use playpath_transport::{Config, Connection, Flags, Handshake, MptcpOption, Segment};
use playpath_units::{Duration, Time};
use playpath_video::ServerPolicy;
use playpath_video::cmcd::{parse, report_lines};
use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Segments of no connection, answered by a reset.
    pub refused_segments: u64,
    pub connections: u64,
    /// Connections that made room for others.
    pub evicted: u64,
}

type Ends = (SocketAddr, SocketAddr);

pub struct Server {
    settings: Settings,
    store: Store,
    secrets: Box<dyn Secrets>,
    pub clients: Clients<HttpConnection>,
    /// Connections by address pair. Clients choose these keys, so they are hashed with a random seed.
    ends: HashMap<Ends, (u64, usize)>,
    /// MPTCP connections, by what a join names.
    tokens: HashMap<u32, u64>,
    refusals: VecDeque<Vec<u8>>,
    pub counts: Counts,
    /// Parameters of the video for the congestion control of new connections, used unless the player sends its own.
    pub parameters: Option<AppParameters>,
    /// Players are told of the server with each file: throughput, RTT, and the policy's rate (CTA-5006).
    pub policy: Option<ServerPolicy>,
}

/// Reports of one request that are looked at: a batch of dash.js' has as many as its page says, one unless it says so.
const MAX_REPORTS: usize = 256;
/// Resets that wait to leave; more are not sent.
const MAX_REFUSALS: usize = 64;

impl Server {
    pub fn new(settings: Settings, store: Store) -> Server {
        Server::with_secrets(settings, store, Box::new(Random))
    }

    /// The same as [`new`](Self::new), with a source of sequence numbers and keys.
    pub fn with_secrets(settings: Settings, store: Store, secrets: Box<dyn Secrets>) -> Server {
        Server {
            settings,
            store,
            secrets,
            clients: Clients::default(),
            ends: HashMap::new(),
            tokens: HashMap::new(),
            refusals: VecDeque::new(),
            counts: Counts::default(),
            parameters: None,
            policy: None,
        }
    }

    /// Keep what [`Recorder`] does, so often.
    pub fn record(&mut self, interval: Duration) {
        self.clients.recorder = Some(Recorder::new(interval, self.settings.sender.cc.name()));
    }

    pub fn handle_packet(&mut self, now: Time, bytes: &[u8]) {
        let _ = self.take_packet(now, bytes);
    }

    pub fn handle_timeout(&mut self, now: Time) {
        self.clients.handle_timeout(now, &self.settings.limits, &self.store);
    }

    /// When [`handle_timeout`](Self::handle_timeout) wants to be called; [`Time::MAX`]: never.
    pub fn poll_timeout(&self) -> Time {
        self.clients.poll_timeout()
    }

    /// The next packet is in `out`; `false`: there is none now.
    pub fn poll_packet(&mut self, now: Time, out: &mut Vec<u8>) -> bool {
        if let Some(refusal) = self.refusals.pop_front() {
            *out = refusal;
            return true;
        }
        while let Some(id) = self.clients.ready.front().copied() {
            if let Some(connection) = self.clients.by_id.get_mut(&id)
                && connection.poll_packet(now, out).is_some()
            {
                return true;
            }
            self.clients.ready.pop_front();
            self.settle(now, id);
        }
        false
    }

    /// Reset every connection; their last packets are to be polled for.
    pub fn abort_all(&mut self, now: Time) {
        self.clients.for_all(|connection| connection.abort(now));
    }

    /// Bytes of memory that grow with what peers send.
    pub fn footprint(&self) -> usize {
        self.clients.by_id.values().map(HttpConnection::footprint).sum()
    }

    /// `None`: not for us, or broken.
    fn take_packet(&mut self, now: Time, bytes: &[u8]) -> Option<()> {
        let packet = Packet::parse(bytes).ok().filter(|packet| packet.protocol == TCP)?;
        if !self.settings.addresses.contains(&packet.destination.ip()) || !packet.has_right_checksums() {
            return None;
        }
        let ends = (packet.destination, packet.source);
        let known = self.ends.get(&ends).copied();
        let scale = known.map_or(0, |(id, path)| self.clients.by_id[&id].paths[path].peer_scale());
        let mut segment = packet.segment(scale).ok()?;
        let more = further_options(&packet, &mut segment);
        match known {
            Some((id, _)) if is_new(&segment) && self.clients.by_id[&id].is_over() => {
                self.forget(id);
                self.admit(now, &packet, &segment);
            }
            Some((id, path)) => self.hand_to(now, id, path, (&segment, &more), packet.payload),
            None if is_new(&segment) && packet.destination.port() == self.settings.port => match segment.mptcp {
                MptcpOption::JoinSyn { token, .. } => self.join(now, token, &packet, &segment),
                _ => self.admit(now, &packet, &segment),
            },
            None => self.refuse(&packet, &segment),
        }
        Some(())
    }

    fn hand_to(&mut self, now: Time, id: u64, path: usize, segment: (&Segment, &[MptcpOption]), payload: &[u8]) {
        let Some(connection) = self.clients.by_id.get_mut(&id) else { return };
        connection.handle_segment(now, path, segment, payload);
        connection.serve(now, &self.store);
        self.clients.accesses.extend(connection.take_accesses(now));
        let reports = std::mem::take(&mut connection.reports);
        let remote = connection.paths[0].remote;
        if self.clients.half_open.contains(&id) && connection.transport.is_established() {
            self.clients.half_open.remove(&id);
        }
        self.clients.ready.push_back(id);
        reports.iter().for_each(|body| self.take_reports(now, remote, body));
    }

    /// Apply a session's reports to all its connections, whichever connection they arrived over.
    fn take_reports(&mut self, now: Time, remote: SocketAddr, body: &str) {
        for line in report_lines(body).take(MAX_REPORTS) {
            let report = parse(line).cmcd;
            for (id, connection) in &mut self.clients.by_id {
                if connection.handle_report(now, &report) {
                    self.clients.ready.push_back(*id);
                }
            }
            self.clients.reports.push_back((remote, line.to_string()));
        }
    }

    fn admit(&mut self, now: Time, packet: &Packet<'_>, syn: &Segment) {
        if !self.make_room() {
            return;
        }
        let Ok(transport) = self.transport(packet.source, syn) else { return };
        let path = self.pair(packet, syn);
        let (ends, token) = ((path.local, path.remote), transport.mptcp().map(MptcpConnection::token));
        self.counts.connections += 1;
        let mut connection = HttpConnection::new(now, transport, path);
        self.parameters.iter().for_each(|parameters| connection.set_app_parameters(now, *parameters));
        connection.client_data.policy = self.policy;
        connection.secure = self.settings.tls.as_ref().and_then(Secure::new);
        connection.alt_svc.clone_from(&self.settings.alt_svc);
        let id = self.clients.add(connection);
        self.ends.insert(ends, (id, 0));
        self.tokens.extend(token.map(|token| (token, id)));
        self.hand_to(now, id, 0, (syn, &[]), &[]);
    }

    fn join(&mut self, now: Time, token: u32, packet: &Packet<'_>, syn: &Segment) {
        let known = self.tokens.get(&token).copied();
        let index = known.and_then(|id| {
            let isn = self.secrets.isn().ok()?;
            let config = self.config(isn, packet.source, syn);
            let path = PathConfig { tcp: config, cc: self.control(&config), is_backup: false };
            let pair = self.pair(packet, syn);
            let address_id = self.address_id(packet.destination.ip());
            let connection = self.clients.by_id.get_mut(&id)?;
            Some((id, connection.join(pair, path, address_id)?))
        });
        match index {
            None => self.refuse(packet, syn),
            Some((id, path)) => {
                self.ends.retain(|_, place| *place != (id, path)); // of a path that is gone
                self.ends.insert((packet.destination, packet.source), (id, path));
                self.hand_to(now, id, path, (syn, &[]), &[]);
            }
        }
    }

    fn pair(&self, packet: &Packet<'_>, syn: &Segment) -> AddressPair {
        AddressPair::of_syn(packet, &syn.syn_options, self.settings.mtu, self.settings.limits.receive_buffer)
    }

    /// The first address is that of the connection; the others have their place in the list.
    fn address_id(&self, address: IpAddr) -> u8 {
        self.settings.addresses.iter().position(|own| *own == address).unwrap_or(0) as u8
    }

    /// Transport for a SYN: MPTCP if the client offers a version supported here (RFC 8684 section 3.1: HMAC-SHA256, no extension), with
    /// checksums if it asks for them; otherwise TCP.
    fn transport(&mut self, peer: SocketAddr, syn: &Segment) -> rustix::io::Result<Box<dyn Segments>> {
        let isn = self.secrets.isn()?;
        let config = self.config(isn, peer, syn);
        let offers = matches!(syn.mptcp, MptcpOption::Capable { flags, keys: 0, .. }
            if flags & (CAPABLE_SHA256 | CAPABLE_EXTENDED) == CAPABLE_SHA256);
        if !offers || !self.settings.mptcp {
            return Ok(Box::new(Connection::listen(config, self.control(&config))));
        }
        let mptcp = MptcpConfig {
            key: self.secrets.key()?,
            nonce: self.secrets.nonce()?,
            send_buffer: config.send_buffer,
            receive_buffer: config.receive_buffer,
            is_coupled: self.settings.sender.cc.is_coupled(),
            requires_checksums: false,
        };
        let path = PathConfig { tcp: config, cc: self.control(&config), is_backup: false };
        let mut connection = MptcpConnection::listen(mptcp, self.settings.sender.scheduler.build(), vec![path]);
        let others = self.settings.addresses.iter().zip(0u8..).skip(1);
        connection.announce_addresses(others.map(|(address, id)| (id, *address)).collect());
        if self.clients.recorder.is_some() {
            connection.log_switches();
        }
        Ok(Box::new(connection))
    }

    fn control(&self, config: &Config) -> Box<dyn CongestionControl> {
        self.settings.sender.cc.build(config.initial_window())
    }

    /// TCP settings towards a peer: packets as large as the device takes.
    fn config(&self, isn: u32, peer: SocketAddr, syn: &Segment) -> Config {
        const TIMESTAMP_BYTES: u32 = 12;
        let base = &*self.settings.tcp;
        let timestamps = base.timestamps && syn.timestamps.is_some();
        let options = if timestamps { TIMESTAMP_BYTES } else { 0 };
        Config {
            handshake: Handshake::Full, // real clients begin with one, whatever the profile (ns-2's agents do without)
            mss: (self.settings.mtu - header_bytes(peer) - options).max(1),
            timestamps,
            isn,
            receive_buffer: self.settings.limits.receive_buffer,
            ..*base
        }
    }

    /// A place for one more. `false`: there is none.
    fn make_room(&mut self) -> bool {
        if let Some(oldest) = self.clients.surplus(&self.settings.limits) {
            self.counts.evicted += 1;
            self.forget(oldest);
        }
        if self.clients.by_id.len() < self.settings.limits.connections {
            return true;
        }
        let idle = self.clients.idle();
        if let Some(id) = idle {
            self.counts.evicted += 1;
            self.forget(id);
        }
        idle.is_some()
    }

    fn refuse(&mut self, packet: &Packet<'_>, segment: &Segment) {
        if self.refusals.len() < MAX_REFUSALS
            && let Some(reset) = refusal(packet, segment)
        {
            self.counts.refused_segments += 1;
            self.refusals.push_back(reset);
        }
    }

    /// No packet is left: when it wants to be called again, or its end.
    fn settle(&mut self, now: Time, id: u64) {
        let Some(connection) = self.clients.by_id.get(&id) else { return };
        if connection.is_gone() {
            self.clients.note(now, id);
            return self.forget(id);
        }
        let due = connection.poll_timeout(&self.settings.limits);
        self.clients.call_at(id, due);
    }

    fn forget(&mut self, id: u64) {
        let Some(connection) = self.clients.remove(id) else { return };
        if let Some(mptcp) = connection.transport.mptcp() {
            self.tokens.remove(&mptcp.token());
        }
        for path in &connection.paths {
            self.ends.remove(&(path.local, path.remote));
        }
    }
}

/// A SYN that opens a connection.
fn is_new(segment: &Segment) -> bool {
    segment.flags.contains(Flags::SYN) && !segment.flags.intersects(Flags::ACK.with(Flags::RST))
}

/// Linux packs several MPTCP options into a segment: the one that says where its payload lies goes with it, the others apart.
fn further_options(packet: &Packet<'_>, segment: &mut Segment) -> Vec<MptcpOption> {
    if segment.mptcp == MptcpOption::None {
        return Vec::new();
    }
    let mut options: Vec<MptcpOption> = packet.mptcp().filter(|option| *option != MptcpOption::None).collect();
    let main = options.iter().position(|option| matches!(option, MptcpOption::Dss { .. })).unwrap_or(0);
    if main < options.len() {
        segment.mptcp = options.remove(main);
    }
    options
}
