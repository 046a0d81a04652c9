//! The server of `playpath serve --transport quic` over two paths: noq's client speaks multipath with it (draft-ietf-quic-multipath-21),
//! with true keys, over two links in virtual time.
#![cfg(feature = "noq")]

mod trusting;

use bytes::BytesMut;
use noq_proto::crypto::rustls::QuicClientConfig;
use noq_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig, Event, FourTuple, PathId,
    PathStatus, StreamId, TransportConfig,
};
use playpath_serve::h3::headers;
use playpath_serve::quic::identity::Identity;
use playpath_serve::quic::server::{Server, Settings};
use playpath_serve::quic::session::Envelope;
use playpath_serve::secrets::Random;
use playpath_serve::settings::{Limits, of_quic, sender};
use playpath_serve::store::Store;
use playpath_transport::Ecn;
use playpath_units::{Duration, Time};
use ring::hmac;
use serde_json::json;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

const SERVER: &str = "10.0.0.2:4433";
/// The client's interfaces.
const LOCAL: [&str; 2] = ["10.0.1.1:50000", "10.0.2.1:50000"];
/// Nanoseconds for each byte: 10 Mbit/s.
const NANOS: u64 = 800;
const ONE_WAY: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(30)];

fn local(path: usize) -> SocketAddr {
    LOCAL[path].parse().unwrap()
}

struct World {
    zero: Instant,
    now: Time,
    server: Server,
    endpoint: Endpoint,
    handle: ConnectionHandle,
    client: Connection,
    /// By arrival: to the server, over which path, the bytes.
    under_way: BTreeMap<(Time, u64), (bool, usize, Vec<u8>)>,
    count: u64,
    /// When each path's way to the client is free again, and bytes that took it.
    free: [Time; 2],
    carried: [u64; 2],
    is_dead: [bool; 2],
    stream: Option<StreamId>,
    received: Vec<u8>,
    is_done: bool,
}

fn large() -> Vec<u8> {
    (0..3_000_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

fn server(name: &str, scheduler: &str) -> Server {
    let folder = std::env::temp_dir().join(format!("playpath-multipath-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("large"), large()).unwrap();
    let sender = sender(&json!({ "transport": "quic" }), Some("cubic"), Some(scheduler)).unwrap();
    let (endpoint, limits) = (of_quic(&sender).unwrap(), Limits::default());
    let settings = Settings { endpoint, sender, largest_datagram: 1452, limits };
    let tls = Identity::made(&["h3.test".into()]).unwrap().into_tls().unwrap();
    Server::new(settings, Store::open(&folder).unwrap(), tls, Box::new(Random))
}

impl World {
    #[expect(
        clippy::disallowed_methods,
        reason = "noq's times are the process's; only differences from this one are used"
    )]
    fn new(server: Server) -> World {
        let zero = Instant::now();
        let mut transport = TransportConfig::default();
        transport.max_concurrent_multipath_paths(3);
        // It finds out by itself that a path is dead. Without this its own frames (MAX_STREAM_DATA) stay on the dead path for ever.
        transport.default_path_keep_alive_interval(Some(std::time::Duration::from_millis(200)));
        transport.default_path_max_idle_timeout(Some(std::time::Duration::from_secs(1)));
        let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(trusting::tls()).unwrap()));
        config.transport_config(Arc::new(transport));
        let mut endpoint = Endpoint::new(
            Arc::new(EndpointConfig::new(Arc::new(hmac::Key::new(hmac::HMAC_SHA256, &[1; 32])))),
            None,
            false,
        );
        let (handle, client) = endpoint.connect(zero, config, SERVER.parse().unwrap(), "h3.test").unwrap();
        World {
            zero,
            now: Time::ZERO,
            server,
            endpoint,
            handle,
            client,
            under_way: BTreeMap::new(),
            count: 0,
            free: [Time::ZERO; 2],
            carried: [0; 2],
            is_dead: [false; 2],
            stream: None,
            received: vec![],
            is_done: false,
        }
    }

    fn at(&self) -> Instant {
        self.zero + std::time::Duration::from_nanos(self.now.as_nanos())
    }

    /// A request for the large file.
    fn ask(&mut self) {
        let fields = [(":method", "GET"), (":scheme", "https"), (":authority", "h3.test"), (":path", "/large")];
        let bytes = headers(fields.into_iter());
        let id = self.client.streams().open(Dir::Bi).unwrap();
        assert_eq!(self.client.send_stream(id).write(&bytes).unwrap(), bytes.len());
        self.client.send_stream(id).finish().unwrap();
        self.stream = Some(id);
    }

    fn settle(&mut self) {
        while let Some(event) = self.client.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(self.handle, event) {
                self.client.handle_event(event);
            }
        }
        while let Some(event) = self.client.poll() {
            if let Event::ConnectionLost { reason } = event {
                panic!("{reason}");
            }
        }
        let Some(id) = self.stream else { return };
        let mut stream = self.client.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return };
        loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => self.received.extend(&chunk.bytes),
                Ok(None) => {
                    self.is_done = true;
                    break;
                }
                Err(_) => break,
            }
        }
        let _ = chunks.finalize();
    }

    fn put(&mut self, to_server: bool, path: usize, bytes: Vec<u8>) {
        self.count += 1;
        let mut leaves = self.now;
        if !to_server {
            leaves = leaves.max(self.free[path]) + Duration::from_nanos(NANOS * bytes.len() as u64);
            // A queue of 50 ms.
            if leaves > self.now + Duration::from_millis(50) {
                return;
            }
            self.free[path] = leaves;
            self.carried[path] += bytes.len() as u64;
        }
        if !self.is_dead[path] {
            self.under_way.insert((leaves + ONE_WAY[path], self.count), (to_server, path, bytes));
        }
    }

    fn deliver(&mut self, to_server: bool, path: usize, mut bytes: Vec<u8>) {
        if to_server {
            let envelope = Envelope { remote: local(path), local: None, ecn: Ecn::NotEct };
            return self.server.handle_datagram(self.now, envelope, &mut bytes);
        }
        let (at, way) = (self.at(), FourTuple::new(SERVER.parse().unwrap(), Some(local(path).ip())));
        let event = self.endpoint.handle(at, way, None, BytesMut::from(&bytes[..]), &mut vec![]);
        if let Some(DatagramEvent::ConnectionEvent(_, event)) = event {
            self.client.handle_event(event);
        }
    }

    /// Until `until` or the end of the answer; `step` looks on.
    fn play(&mut self, until: Time, mut step: impl FnMut(&mut World)) {
        while !self.is_done {
            self.settle();
            step(self);
            let at = self.at();
            let mut buffer = vec![];
            while let Some(transmit) = self.client.poll_transmit(at, NonZeroUsize::MIN, &mut buffer) {
                let path = transmit.src_ip.map_or(0, |ip: IpAddr| usize::from(ip == local(1).ip()));
                self.put(true, path, buffer[..transmit.size].to_vec());
                buffer.clear();
            }
            let mut out = vec![];
            while let Some(envelope) = self.server.poll_datagram(self.now, &mut out) {
                let path = usize::from(envelope.remote == local(1));
                self.put(false, path, std::mem::take(&mut out));
            }
            let of_client = self.client.poll_timeout().map_or(Time::MAX, |due| {
                Time::from_nanos(due.saturating_duration_since(self.zero).as_nanos() as u64).max(self.now)
            });
            let arrival = self.under_way.keys().next().map_or(Time::MAX, |key| key.0);
            let next = of_client.min(self.server.poll_timeout().max(self.now)).min(arrival);
            if next > until {
                return;
            }
            self.now = next;
            if of_client <= next {
                self.client.handle_timeout(self.at());
            }
            self.server.handle_timeout(self.now);
            while let Some(entry) = self.under_way.first_entry().filter(|entry| entry.key().0 <= self.now) {
                let (to_server, path, bytes) = entry.remove();
                self.deliver(to_server, path, bytes);
            }
        }
    }

    /// Connect, open the second path, and ask for the file.
    fn begin(&mut self) {
        self.play(Time::from_millis(500), |_| {});
        assert!(self.client.is_multipath_negotiated());
        let way = FourTuple::new(SERVER.parse().unwrap(), Some(local(1).ip()));
        let at = self.at();
        assert_eq!(self.client.open_path(way, PathStatus::Available, at), Ok(PathId::from(1u8)));
        self.play(Time::from_secs(1), |_| {});
        self.ask();
    }

    /// The body, whose head is a HEADERS frame and the head of a DATA frame.
    fn has_file(&self) -> bool {
        self.is_done && self.received.ends_with(&large())
    }
}

/// 3 MB take 2.4 s over one path of 10 Mbit/s, and 1.2 s over two.
#[test]
fn both_paths_carry_a_file() {
    for scheduler in ["linux", "roundrobin", "blest"] {
        let mut world = World::new(server(scheduler, scheduler));
        world.begin();
        let start = world.now;
        world.play(Time::from_secs(20), |_| {});
        assert!(world.has_file(), "{scheduler}: {} bytes", world.received.len());
        let took = world.now.saturating_since(start);
        assert!(took < Duration::from_millis(1900), "{scheduler}: {took}, {:?}", world.carried);
        assert!(world.carried.iter().all(|bytes| *bytes > 900_000), "{scheduler}: {:?}", world.carried);
    }
}

/// From WiFi to LTE: the first path ends in mid-answer, and the other carries the rest, what was lost on the first among it.
#[test]
fn the_other_path_goes_on_where_one_ends() {
    let mut world = World::new(server("ends", "linux"));
    world.begin();
    let start = world.now;
    world.play(Time::from_secs(30), |world| world.is_dead[0] |= world.received.len() > 1_000_000);
    assert!(world.has_file(), "{} bytes", world.received.len());
    // 1 MB in 0.5 s, 2.5 MB in 2 s, and the second after which the client gives the path up.
    let took = world.now.saturating_since(start);
    assert!(took < Duration::from_secs(4), "{took}, {:?}", world.carried);
}

/// Keys are updated on all paths at once (draft §2.5), and packets of both phases come over both.
#[test]
fn key_updates_are_followed_on_both_paths() {
    let mut world = World::new(server("keys", "roundrobin"));
    world.begin();
    let mut updates = 0;
    world.play(Time::from_secs(20), |world| {
        if world.received.len() > 700_000 * (1 + updates) {
            world.client.force_key_update();
            updates += 1;
        }
    });
    assert!(world.has_file(), "{} bytes", world.received.len());
    assert_eq!(updates, 4);
    assert!(world.carried.iter().all(|bytes| *bytes > 900_000), "{:?}", world.carried);
    let lost = world.client.stats().lost_packets;
    assert!(lost < 20, "{lost} of the client's packets");
}

/// The client abandons its first path (draft §3.4): the answer comes whole, and nothing more on that path.
#[test]
fn a_path_that_is_abandoned_is_left() {
    let mut world = World::new(server("abandoned", "linux"));
    world.begin();
    let mut left = None;
    world.play(Time::from_secs(30), |world| {
        if world.received.len() > 1_000_000 && left.is_none() {
            let at = world.at();
            world.client.close_path(at, PathId::ZERO, 0u8.into()).unwrap();
            left = Some(world.now);
        }
    });
    assert!(world.has_file(), "{} bytes", world.received.len());
    let (carried, until) = (world.carried, world.now + Duration::from_secs(2));
    world.is_done = false;
    world.play(until, |_| {});
    assert_eq!(world.carried[0], carried[0]);
    assert!(left.is_some() && carried[1] > 1_500_000, "{carried:?}");
}
