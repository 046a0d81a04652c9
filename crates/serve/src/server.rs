//! The server: which packet belongs to which connection, who is let in, what leaves next. Sans-IO: packets and time come in, packets
//! go out.
//!
//! Drive it so: `handle_packet` or `handle_timeout`, then `poll_packet` until `false`, then wait until `poll_timeout`.
//!
//! Nothing grows without bound: connections and half-open ones are counted ([`Limits`](crate::settings::Limits)), each holds at most its
//! window of unread bytes, and who is not answered leaves no trace.

use crate::conversation::Conversation;
use crate::pair::{AddressPair, header_bytes, refusal};
use crate::settings::Settings;
use crate::store::Store;
use crate::transport::Transport;
use playpath_transport::codec::{Packet, TCP};
use playpath_transport::{Config, Connection, Flags, Segment};
use playpath_units::Time;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;

/// What has happened since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets that are no TCP for an own address, or whose checksum is wrong.
    pub ignored_packets: u64,
    /// Segments of no connection, answered by a reset.
    pub refused_segments: u64,
    /// Connections begun.
    pub connections: u64,
    /// SYNs not answered because all places are taken.
    pub refused_connections: u64,
    /// Connections that made room for others.
    pub evicted: u64,
}

/// Own and remote end.
type Ends = (SocketAddr, SocketAddr);

/// See the module.
pub struct Server {
    settings: Settings,
    store: Store,
    /// By age.
    connections: BTreeMap<u64, Conversation>,
    half_open: BTreeSet<u64>,
    /// Whose keys strangers choose: hashed with a random seed.
    ends: HashMap<Ends, (u64, usize)>,
    /// When each connection wants to be called.
    dues: BTreeSet<(Time, u64)>,
    due_of: HashMap<u64, Time>,
    /// Connections that may have a packet.
    ready: VecDeque<u64>,
    /// Resets to strangers.
    refusals: VecDeque<Vec<u8>>,
    next_id: u64,
    counts: Counts,
}

/// Resets that wait to leave; more are not sent.
const MOST_REFUSALS: usize = 64;

impl Server {
    /// Serve `store`.
    pub fn new(settings: Settings, store: Store) -> Server {
        Server {
            settings,
            store,
            connections: BTreeMap::new(),
            half_open: BTreeSet::new(),
            ends: HashMap::new(),
            dues: BTreeSet::new(),
            due_of: HashMap::new(),
            ready: VecDeque::new(),
            refusals: VecDeque::new(),
            next_id: 0,
            counts: Counts::default(),
        }
    }

    /// A packet has come.
    pub fn handle_packet(&mut self, now: Time, bytes: &[u8]) {
        if self.take_packet(now, bytes).is_none() {
            self.counts.ignored_packets += 1;
        }
    }

    /// Timers that are due.
    pub fn handle_timeout(&mut self, now: Time) {
        while let Some((due, id)) = self.dues.first().copied().filter(|(due, _)| *due <= now) {
            self.dues.remove(&(due, id));
            self.due_of.remove(&id);
            if let Some(connection) = self.connections.get_mut(&id) {
                connection.handle_timeout(now, &self.settings.limits);
                connection.serve(now, &self.store);
                self.ready.push_back(id);
            }
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) wants to be called; [`Time::MAX`]: never.
    pub fn poll_timeout(&self) -> Time {
        self.dues.first().map_or(Time::MAX, |(due, _)| *due)
    }

    /// The next packet is in `out`; `false`: there is none now.
    pub fn poll_packet(&mut self, now: Time, out: &mut Vec<u8>) -> bool {
        if let Some(refusal) = self.refusals.pop_front() {
            *out = refusal;
            return true;
        }
        while let Some(id) = self.ready.front().copied() {
            if let Some(connection) = self.connections.get_mut(&id)
                && connection.poll_packet(now, out).is_some()
            {
                return true;
            }
            self.ready.pop_front();
            self.settle(id);
        }
        false
    }

    /// Reset every connection; their last packets are to be polled for.
    pub fn abort_all(&mut self) {
        for (id, connection) in &mut self.connections {
            connection.abort();
            self.ready.push_back(*id);
        }
    }

    /// Connections that there are, by age.
    pub fn connections(&self) -> impl Iterator<Item = (u64, &Conversation)> {
        self.connections.iter().map(|(id, connection)| (*id, connection))
    }

    /// Counters.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Bytes of memory that grow with what peers send.
    pub fn footprint(&self) -> usize {
        self.connections.values().map(Conversation::footprint).sum()
    }

    /// `None`: not for us, or broken.
    fn take_packet(&mut self, now: Time, bytes: &[u8]) -> Option<()> {
        let packet = Packet::parse(bytes).ok().filter(|packet| packet.protocol == TCP)?;
        if !self.settings.addresses.contains(&packet.destination.ip()) || !packet.has_right_checksums() {
            return None;
        }
        let ends = (packet.destination, packet.source);
        let known = self.ends.get(&ends).copied();
        let scale = known.map_or(0, |(id, path)| self.connections[&id].paths[path].peer_scale());
        let segment = packet.segment(scale).ok()?;
        match known {
            Some((id, _)) if is_new(&segment) && self.connections[&id].is_over() => {
                self.forget(id);
                self.admit(now, &packet, &segment);
            }
            Some((id, path)) => self.hand_to(now, id, path, &segment, packet.payload),
            None if is_new(&segment) && packet.destination.port() == self.settings.port => {
                self.admit(now, &packet, &segment);
            }
            None => self.refuse(&packet, &segment),
        }
        Some(())
    }

    fn hand_to(&mut self, now: Time, id: u64, path: usize, segment: &Segment, payload: &[u8]) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        connection.handle_segment(now, path, segment, payload);
        connection.serve(now, &self.store);
        if self.half_open.contains(&id) && connection.transport.is_established() {
            self.half_open.remove(&id);
        }
        self.ready.push_back(id);
    }

    /// A SYN of a new connection.
    fn admit(&mut self, now: Time, packet: &Packet<'_>, syn: &Segment) {
        if !self.make_room() {
            self.counts.refused_connections += 1;
            return;
        }
        let Ok(isn) = random_u32() else { return };
        let path = AddressPair::of_syn(packet, &syn.syn_options, self.settings.mtu);
        let id = self.next_id;
        self.next_id += 1;
        self.counts.connections += 1;
        self.ends.insert((path.local, path.remote), (id, 0));
        self.half_open.insert(id);
        let connection = Conversation::new(now, self.transport(isn, packet.source, syn), path);
        self.connections.insert(id, connection);
        self.hand_to(now, id, 0, syn, &[]);
    }

    fn transport(&self, isn: u32, peer: SocketAddr, syn: &Segment) -> Transport {
        let config = self.config(isn, peer, syn);
        let cc = self.settings.sender.cc.build(config.initial_window());
        Transport::Tcp(Connection::listen(config, cc))
    }

    /// TCP settings towards a peer: packets as large as the device takes.
    fn config(&self, isn: u32, peer: SocketAddr, syn: &Segment) -> Arc<Config> {
        const TIMESTAMP_BYTES: u32 = 12;
        let base = &*self.settings.sender.config;
        let timestamps = base.timestamps && syn.timestamps.is_some();
        let options = if timestamps { TIMESTAMP_BYTES } else { 0 };
        Arc::new(Config {
            mss: (self.settings.mtu - header_bytes(peer) - options).max(1),
            timestamps,
            isn,
            receive_buffer: self.settings.limits.receive_buffer,
            ..*base
        })
    }

    /// A place for one more. `false`: there is none.
    fn make_room(&mut self) -> bool {
        if self.half_open.len() >= self.settings.limits.half_open
            && let Some(oldest) = self.half_open.first().copied()
        {
            self.counts.evicted += 1;
            self.forget(oldest);
        }
        if self.connections.len() < self.settings.limits.connections {
            return true;
        }
        let idle = self.connections.iter().find(|(_, connection)| connection.is_idle()).map(|(id, _)| *id);
        if let Some(id) = idle {
            self.counts.evicted += 1;
            self.forget(id);
        }
        idle.is_some()
    }

    fn refuse(&mut self, packet: &Packet<'_>, segment: &Segment) {
        if self.refusals.len() < MOST_REFUSALS
            && let Some(reset) = refusal(packet, segment)
        {
            self.counts.refused_segments += 1;
            self.refusals.push_back(reset);
        }
    }

    /// No packet is left: when it wants to be called again, or its end.
    fn settle(&mut self, id: u64) {
        let Some(connection) = self.connections.get(&id) else { return };
        if connection.is_gone() {
            return self.forget(id);
        }
        let due = connection.poll_timeout(&self.settings.limits);
        let before = self.due_of.insert(id, due);
        if before != Some(due) {
            if let Some(before) = before {
                self.dues.remove(&(before, id));
            }
            self.dues.insert((due, id));
        }
    }

    fn forget(&mut self, id: u64) {
        let Some(connection) = self.connections.remove(&id) else { return };
        for path in &connection.paths {
            self.ends.remove(&(path.local, path.remote));
        }
        self.half_open.remove(&id);
        if let Some(due) = self.due_of.remove(&id) {
            self.dues.remove(&(due, id));
        }
    }
}

/// A SYN that opens a connection.
fn is_new(segment: &Segment) -> bool {
    segment.flags.contains(Flags::SYN) && !segment.flags.intersects(Flags::ACK.with(Flags::RST))
}

/// Initial sequence numbers that nobody can guess (RFC 6528).
fn random_u32() -> rustix::io::Result<u32> {
    let mut bytes = [0u8; 4];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(u32::from_ne_bytes(bytes))
}
