//! A server with a folder of its own, and clients of the same transport that speak to it in packets, in virtual time.
#![allow(dead_code, reason = "each test file uses a part")]

use playpath_serve::server::Server;
use playpath_serve::settings::{Limits, Settings, of_tcp, sender};
use playpath_serve::store::Store;
use playpath_transport::codec::{self, Envelope, Packet, Payload};
use playpath_transport::{Config, Connection, Event, Flags, Segment};
use playpath_units::{Duration, Time};
use serde_json::json;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

pub const SERVER: &str = "10.0.0.1:80";

/// A server of one file, `clip`, with these bytes.
pub struct Site {
    pub server: Server,
    pub clip: Vec<u8>,
    folder: PathBuf,
}

pub fn settings(limits: Limits) -> Settings {
    let address: SocketAddr = SERVER.parse().unwrap();
    let sender = sender(&json!({}), None, None).unwrap();
    let tcp = of_tcp(&sender).unwrap().0;
    Settings {
        sender,
        tcp,
        addresses: vec![address.ip()],
        port: address.port(),
        mtu: 1500,
        limits,
        mptcp: true,
        tls: None,
        alt_svc: Some("h3=\":4433\"".into()),
    }
}

impl Site {
    pub fn new(name: &str, bytes: usize, limits: Limits) -> Site {
        Site::under(name, bytes, settings(limits))
    }

    pub fn under(name: &str, bytes: usize, settings: Settings) -> Site {
        let folder = std::env::temp_dir().join(format!("playpath-serve-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let clip: Vec<u8> = (0..bytes).map(|i| (i * i / 7 + i / 251) as u8).collect();
        std::fs::write(folder.join("clip"), &clip).unwrap();
        Site { server: Server::new(settings, Store::open(&folder).unwrap()), clip, folder }
    }

    /// Everything that leaves now.
    pub fn flush(&mut self, now: Time) -> Vec<Vec<u8>> {
        let mut packets = Vec::new();
        let mut out = Vec::new();
        while self.server.poll_packet(now, &mut out) {
            packets.push(out.clone());
        }
        packets
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A client that sends one request and keeps what comes.
pub struct Client {
    pub tcp: Connection,
    pub local: SocketAddr,
    request: Vec<u8>,
    pub received: Vec<u8>,
    scales: (u8, u8),
}

impl Client {
    pub fn new(now: Time, port: u16, config: Config, request: &str) -> Client {
        let cc = playpath_cc::build("newreno", 10.0).unwrap();
        let local = SocketAddr::new(IpAddr::from([10, 0, 0, 2]), port);
        let mut tcp = Connection::connect(now, config, cc);
        tcp.write(request.len() as u64);
        Client { tcp, local, request: request.into(), received: Vec::new(), scales: (0, 0) }
    }

    /// Send one more request.
    pub fn ask(&mut self, request: &str) {
        self.request.extend_from_slice(request.as_bytes());
        self.tcp.write(request.len() as u64);
    }

    /// The packet for a segment of ours.
    pub fn packet(&mut self, segment: &Segment) -> Vec<u8> {
        if segment.flags.contains(Flags::SYN) {
            self.scales.0 = segment.syn_options.window_scale.unwrap_or(0);
        }
        let start = self.tcp.transmit_offset(segment) as usize;
        let payload = self.request.get(start..start + segment.payload_len as usize).unwrap_or_default();
        packet(self.local, segment, self.scales.0, payload)
    }

    pub fn flush(&mut self, now: Time) -> Vec<Vec<u8>> {
        let mut packets = Vec::new();
        while let Some(segment) = self.tcp.poll_transmit(now) {
            packets.push(self.packet(&segment));
        }
        packets
    }

    pub fn handle(&mut self, now: Time, bytes: &[u8]) {
        let packet = Packet::parse(bytes).unwrap();
        if packet.destination != self.local {
            return;
        }
        assert!(packet.has_right_checksums());
        let segment = packet.segment(self.scales.1).unwrap();
        if segment.flags.contains(Flags::SYN) {
            self.scales.1 = segment.syn_options.window_scale.unwrap_or(0);
        }
        let at = self.tcp.receive_offset(&segment) as usize;
        self.tcp.handle_segment(now, &segment);
        if segment.payload_len > 0 && at < 1 << 30 {
            self.received.resize(self.received.len().max(at + packet.payload.len()), 0);
            self.received[at..at + packet.payload.len()].copy_from_slice(packet.payload);
        }
        self.tcp.read(u64::MAX);
    }

    pub fn has(&mut self, event: Event) -> bool {
        self.tcp.take_events().contains(event)
    }

    /// The body of the one response.
    pub fn body(&self) -> &[u8] {
        let end = self.received.windows(4).position(|four| four == b"\r\n\r\n").expect("a head") + 4;
        &self.received[end..]
    }
}

/// A packet to the server.
pub fn packet(from: SocketAddr, segment: &Segment, scale: u8, payload: &[u8]) -> Vec<u8> {
    let to = SERVER.parse().unwrap();
    let envelope = Envelope { source: from, destination: to, window_scale: scale, identification: 0 };
    let mut out = Vec::new();
    codec::encode(segment, &[], &envelope, Payload::Bytes(payload), &mut out).unwrap();
    out
}

/// A network in between: each way takes 10 ms, and `lose` says which packets are lost.
pub fn converse(site: &mut Site, clients: &mut [Client], until: Time, lose: impl FnMut() -> bool) -> Time {
    converse_from(site, clients, (Time::ZERO, until), lose)
}

/// As [`converse`], between two times.
pub fn converse_from(
    site: &mut Site,
    clients: &mut [Client],
    (mut now, until): (Time, Time),
    mut lose: impl FnMut() -> bool,
) -> Time {
    const DELAY: Duration = Duration::from_millis(10);
    let mut air: Vec<(Time, bool, Vec<u8>)> = Vec::new();
    loop {
        let mut sent: Vec<(bool, Vec<u8>)> = site.flush(now).into_iter().map(|packet| (false, packet)).collect();
        for client in &mut *clients {
            sent.extend(client.flush(now).into_iter().map(|packet| (true, packet)));
        }
        air.extend(sent.into_iter().filter(|_| !lose()).map(|(up, packet)| (now + DELAY, up, packet)));
        let arrival = air.first().map_or(Time::MAX, |(at, _, _)| *at);
        let timers = clients.iter().map(|client| client.tcp.poll_timeout()).min().unwrap_or(Time::MAX);
        let next = arrival.min(timers).min(site.server.poll_timeout());
        if next > until {
            return now;
        }
        now = now.max(next);
        site.server.handle_timeout(now);
        clients.iter_mut().filter(|client| client.tcp.poll_timeout() <= now).for_each(|c| c.tcp.handle_timeout(now));
        while air.first().is_some_and(|(at, _, _)| *at <= now) {
            match air.remove(0) {
                (_, true, packet) => site.server.handle_packet(now, &packet),
                (_, false, packet) => clients.iter_mut().for_each(|client| client.handle(now, &packet)),
            }
        }
    }
}
