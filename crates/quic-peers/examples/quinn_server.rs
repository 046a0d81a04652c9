//! A small HTTP/3 server over quinn-proto, to be measured beside `playpath serve` (tools/quic_speed.py).
//!
//! `quinn_server PORT FILE [CONTROL]`: on loopback, any path is answered with FILE; CONTROL is quinn's `cubic` (default), `newreno` or
//! `bbr`, else one of playpath's by name. A thread, a socket, datagrams in batches as quinn sends them (GSO, GRO).

#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "a program on the wall clock")]

use bytes::{Bytes, BytesMut};
use playpath_quic_peers::{Choice, quinn};
use playpath_serve::h3::fields::encode;
use playpath_serve::quic::identity::Identity;
use playpath_transport::codec::quic::put_varint;
use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::crypto::rustls::QuicServerConfig;
use quinn_proto::{
    Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig, Event, ServerConfig, StreamEvent,
    StreamId, Transmit, TransportConfig,
};
use quinn_udp::{BATCH_SIZE, EcnCodepoint, RecvMeta, UdpSockRef, UdpSocketState};
use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::io::{ErrorKind, IoSliceMut};
use std::net::UdpSocket;
use std::sync::Arc;
use std::time::{Duration, Instant};

const MOST_BYTES: usize = 65_535;
/// Datagrams of one call, as quinn's own driver has it.
const SEGMENTS: usize = 10;
const IDLE: Duration = Duration::from_millis(100);

struct Client {
    connection: Connection,
    /// What is left of each answer.
    answers: BTreeMap<StreamId, Vec<Bytes>>,
}

struct Server {
    socket: UdpSocket,
    state: UdpSocketState,
    endpoint: Endpoint,
    clients: HashMap<ConnectionHandle, Client>,
    file: Bytes,
    out: Vec<u8>,
}

impl Client {
    fn take_events(&mut self, file: &Bytes) {
        let mut writable = Vec::new();
        while let Some(event) = self.connection.poll() {
            match event {
                Event::Connected => {
                    if let Some(id) = self.connection.streams().open(Dir::Uni) {
                        let _ = self.connection.send_stream(id).write(&[0x00, 0x04, 0x00]);
                    }
                }
                Event::Stream(StreamEvent::Opened { dir: Dir::Bi }) => {
                    while let Some(id) = self.connection.streams().accept(Dir::Bi) {
                        self.read(id, file);
                        writable.push(id);
                    }
                }
                Event::Stream(StreamEvent::Readable { id }) if id.dir() == Dir::Bi => {
                    self.read(id, file);
                    writable.push(id);
                }
                Event::Stream(StreamEvent::Writable { id }) => writable.push(id),
                _ => {}
            }
        }
        writable.into_iter().for_each(|id| self.write(id));
    }

    /// A request is answered when it has ended.
    fn read(&mut self, id: StreamId, file: &Bytes) {
        let mut stream = self.connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return };
        let is_over = loop {
            match chunks.next(usize::MAX) {
                Ok(Some(_)) => {}
                Ok(None) => break true,
                Err(_) => break false,
            }
        };
        let _ = chunks.finalize();
        if is_over {
            let length = file.len().to_string();
            let section = encode([(":status", "200"), ("content-length", length.as_str())].into_iter());
            let mut head = vec![1];
            put_varint(&mut head, section.len() as u64);
            head.extend(section);
            head.push(0);
            put_varint(&mut head, file.len() as u64);
            self.answers.insert(id, vec![Bytes::from(head), file.clone()]);
        }
    }

    fn write(&mut self, id: StreamId) {
        let Some(answer) = self.answers.get_mut(&id) else { return };
        let mut stream = self.connection.send_stream(id);
        while let Ok(written) = stream.write_chunks(answer) {
            answer.drain(..written.chunks);
            if answer.is_empty() {
                let _ = stream.finish();
                self.answers.remove(&id);
                return;
            }
        }
    }
}

impl Server {
    fn run(&mut self) -> Result<(), Box<dyn Error>> {
        let mut buffer = vec![0; MOST_BYTES * BATCH_SIZE];
        loop {
            self.wait()?;
            self.receive(&mut buffer)?;
            let now = Instant::now();
            let handles: Vec<_> = self.clients.keys().copied().collect();
            handles.into_iter().for_each(|handle| self.turn(now, handle));
        }
    }

    fn wait(&mut self) -> Result<(), Box<dyn Error>> {
        let due = self.clients.values_mut().filter_map(|client| client.connection.poll_timeout()).min();
        let wait = due.map_or(IDLE, |due| due.saturating_duration_since(Instant::now()).min(IDLE));
        let timeout = rustix::event::Timespec { tv_sec: 0, tv_nsec: wait.as_nanos() as i64 };
        let mut ready = [rustix::event::PollFd::new(&self.socket, rustix::event::PollFlags::IN)];
        rustix::event::poll(&mut ready, Some(&timeout))?;
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Result<(), Box<dyn Error>> {
        let mut metas = [RecvMeta::default(); BATCH_SIZE];
        let mut slices: Vec<IoSliceMut> = buffer.chunks_mut(MOST_BYTES).map(IoSliceMut::new).collect();
        let count = match self.state.recv(UdpSockRef::from(&self.socket), &mut slices, &mut metas) {
            Ok(count) => count,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::ConnectionRefused) => 0,
            Err(error) => return Err(error.into()),
        };
        let now = Instant::now();
        for (meta, slice) in metas.iter().zip(&slices).take(count) {
            for datagram in slice[..meta.len].chunks(meta.stride.max(1)) {
                self.handle(now, meta, BytesMut::from(datagram));
            }
        }
        Ok(())
    }

    fn handle(&mut self, now: Instant, meta: &RecvMeta, bytes: BytesMut) {
        let ecn = meta.ecn.and_then(|ecn| quinn_proto::EcnCodepoint::from_bits(ecn as u8));
        self.out.clear();
        match self.endpoint.handle(now, meta.addr, None, ecn, bytes, &mut self.out) {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some(client) = self.clients.get_mut(&handle) {
                    client.connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                if let Ok((handle, connection)) = self.endpoint.accept(incoming, now, &mut self.out, None) {
                    self.clients.insert(handle, Client { connection, answers: BTreeMap::new() });
                }
            }
            Some(DatagramEvent::Response(transmit)) => self.send(&transmit),
            None => {}
        }
    }

    fn turn(&mut self, now: Instant, handle: ConnectionHandle) {
        let Some(mut client) = self.clients.remove(&handle) else { return };
        if client.connection.poll_timeout().is_some_and(|due| due <= now) {
            client.connection.handle_timeout(now);
        }
        client.take_events(&self.file);
        while let Some(event) = client.connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(handle, event) {
                client.connection.handle_event(event);
            }
        }
        self.out.clear();
        while let Some(transmit) = client.connection.poll_transmit(now, SEGMENTS, &mut self.out) {
            self.send(&transmit);
            self.out.clear();
        }
        if !client.connection.is_drained() {
            self.clients.insert(handle, client);
        }
    }

    /// A datagram that the socket does not take is lost.
    fn send(&self, transmit: &Transmit) {
        let ecn = transmit.ecn.and_then(|ecn| EcnCodepoint::from_bits(ecn as u8));
        let contents = &self.out[..transmit.size];
        let segment_size = transmit.segment_size;
        let datagram =
            quinn_udp::Transmit { destination: transmit.destination, ecn, contents, segment_size, src_ip: None };
        let _ = self.state.try_send(UdpSockRef::from(&self.socket), &datagram);
    }
}

fn control(name: &str) -> Result<Arc<dyn ControllerFactory + Send + Sync>, String> {
    Ok(match name {
        "cubic" => Arc::new(CubicConfig::default()),
        "newreno" => Arc::new(NewRenoConfig::default()),
        "bbr" => Arc::new(BbrConfig::default()),
        name => Arc::new(quinn::Factory::new(Choice::new(name)?)?),
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (port, file, name) = match words.as_slice() {
        [port, file] => (port, file, "cubic"),
        [port, file, name] => (port, file, name.as_str()),
        _ => return Err("quinn_server PORT FILE [CONTROL]".into()),
    };
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(control(name)?);
    let tls = Identity::made(&["localhost".to_owned()])?.into_tls()?.config;
    let mut config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    config.transport_config(Arc::new(transport));
    let socket = UdpSocket::bind(format!("127.0.0.1:{port}"))?;
    let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
    let _ = state.set_send_buffer_size(UdpSockRef::from(&socket), 4 << 20);
    let _ = state.set_recv_buffer_size(UdpSockRef::from(&socket), 4 << 20);
    let endpoint = Endpoint::new(Arc::new(EndpointConfig::default()), Some(Arc::new(config)), true, None);
    let file = Bytes::from(std::fs::read(file)?);
    println!("ready");
    Server { socket, state, endpoint, clients: HashMap::new(), file, out: Vec::new() }.run()
}
