//! A crowd of quinn's clients at a running `playpath serve --transport quic`: what its memory comes to (docs/manual/wire.md has the figures).
//!
//! `crowd PORT PID IDLE BUSY FILE`: so many clients connect and stay idle, so many of them ask for FILE at the same time and read it whole.
//! Prints a JSON line for each stage, with the server's resident memory. Loopback only.

#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "a program on the wall clock")]

#[path = "../trusting/mod.rs"]
mod trusting;

use bytes::BytesMut;
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig, Event, StreamId,
    TransportConfig,
};
use serde_json::json;
use std::collections::{BTreeSet, HashMap};
use std::error::Error;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Handshakes under way at a time.
const AT_ONCE: usize = 64;
const PATIENCE: Duration = Duration::from_secs(300);

struct Client {
    connection: Connection,
    is_connected: bool,
    stream: Option<StreamId>,
    read: u64,
    is_done: bool,
}

struct Crowd {
    socket: UdpSocket,
    server: SocketAddr,
    endpoint: Endpoint,
    clients: HashMap<ConnectionHandle, Client>,
    /// Those that have something to do.
    awake: BTreeSet<usize>,
    lost: usize,
}

impl Crowd {
    fn connect(&mut self, config: &ClientConfig) -> Result<(), Box<dyn Error>> {
        let (handle, connection) = self.endpoint.connect(Instant::now(), config.clone(), self.server, "localhost")?;
        let client = Client { connection, is_connected: false, stream: None, read: 0, is_done: false };
        self.clients.insert(handle, client);
        self.awake.insert(handle.0);
        Ok(())
    }

    /// A look at whoever has something to do.
    fn turn(&mut self) {
        self.receive();
        let now = Instant::now();
        for handle in std::mem::take(&mut self.awake) {
            let Some(client) = self.clients.get_mut(&ConnectionHandle(handle)) else { continue };
            if client.connection.poll_timeout().is_some_and(|due| due <= now) {
                client.connection.handle_timeout(now);
            }
            while let Some(event) = client.connection.poll_endpoint_events() {
                if let Some(event) = self.endpoint.handle_event(ConnectionHandle(handle), event) {
                    client.connection.handle_event(event);
                }
            }
            while let Some(event) = client.connection.poll() {
                match event {
                    Event::Connected => client.is_connected = true,
                    Event::ConnectionLost { .. } => self.lost += 1,
                    _ => {}
                }
            }
            client.take();
            let mut out = Vec::new();
            while let Some(transmit) = client.connection.poll_transmit(now, 1, &mut out) {
                let _ = self.socket.send_to(&out[..transmit.size], transmit.destination);
                out.clear();
            }
            if client.is_busy() {
                self.awake.insert(handle);
            }
        }
    }

    fn receive(&mut self) {
        let mut buffer = [0; 2048];
        for _ in 0..1024 {
            let Ok((length, from)) = self.socket.recv_from(&mut buffer) else { return };
            let bytes = BytesMut::from(&buffer[..length]);
            let event = self.endpoint.handle(Instant::now(), from, None, None, bytes, &mut Vec::new());
            if let Some(DatagramEvent::ConnectionEvent(handle, event)) = event
                && let Some(client) = self.clients.get_mut(&handle)
            {
                client.connection.handle_event(event);
                self.awake.insert(handle.0);
            }
        }
    }

    fn until(&mut self, mut is_done: impl FnMut(&mut Crowd) -> bool) -> Result<(), Box<dyn Error>> {
        let end = Instant::now() + PATIENCE;
        while !is_done(self) {
            self.turn();
            if Instant::now() > end {
                return Err("the server is too slow, or lost somebody".into());
            }
        }
        Ok(())
    }
}

impl Client {
    fn is_busy(&self) -> bool {
        !self.is_connected || self.stream.is_some() && !self.is_done
    }

    fn ask(&mut self, file: &str) -> Option<()> {
        let fields = [(":method", "GET"), (":scheme", "https"), (":authority", "localhost"), (":path", file)];
        let id = self.connection.streams().open(Dir::Bi)?;
        let mut stream = self.connection.send_stream(id);
        stream.write(&playpath_serve::h3::headers(fields.into_iter())).ok()?;
        stream.finish().ok()?;
        self.stream = Some(id);
        Some(())
    }

    fn take(&mut self) {
        let Some(id) = self.stream else { return };
        let mut stream = self.connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return };
        loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => self.read += chunk.bytes.len() as u64,
                Ok(None) => {
                    self.is_done = true;
                    break;
                }
                Err(_) => break,
            }
        }
        let _ = chunks.finalize();
    }
}

fn resident_kb(pid: &str) -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find(|line| line.starts_with("VmRSS")).ok_or("no VmRSS")?;
    Ok(line.split_whitespace().nth(1).ok_or("no figure")?.parse()?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [port, pid, idle, busy, file] = words.as_slice() else { return Err("crowd PORT PID IDLE BUSY FILE".into()) };
    let (idle, busy): (usize, usize) = (idle.parse()?, busy.parse()?);
    let mut transport = TransportConfig::default();
    transport.max_idle_timeout(None).mtu_discovery_config(None);
    let config = trusting::client(transport);
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.set_nonblocking(true)?;
    let mut crowd = Crowd {
        socket,
        server: format!("127.0.0.1:{port}").parse()?,
        endpoint: Endpoint::new(Arc::new(EndpointConfig::default()), None, false, None),
        clients: HashMap::new(),
        awake: BTreeSet::new(),
        lost: 0,
    };
    let before = resident_kb(pid)?;
    let start = Instant::now();
    crowd.until(|crowd| {
        let connected = crowd.clients.values().filter(|client| client.is_connected).count();
        while crowd.clients.len() < idle && crowd.clients.len() < connected + AT_ONCE {
            if crowd.connect(&config).is_err() {
                return true;
            }
        }
        connected == idle
    })?;
    let resident = resident_kb(pid)?;
    let kb_each = (resident - before) as f64 / idle as f64;
    println!(
        "{}",
        json!({ "idle": idle, "took_s": start.elapsed().as_secs_f64(), "resident_kb": resident, "before_kb": before,
                "kb_for_each": kb_each, "lost": crowd.lost })
    );
    let handles: Vec<usize> = crowd.clients.keys().map(|handle| handle.0).take(busy).collect();
    for handle in &handles {
        crowd.clients.get_mut(&ConnectionHandle(*handle)).and_then(|client| client.ask(file)).ok_or("cannot ask")?;
    }
    crowd.awake.extend(&handles);
    let (start, mut most, mut looks) = (Instant::now(), resident, 0);
    crowd.until(|crowd| {
        looks += 1;
        if looks % 64 == 0 {
            most = most.max(resident_kb(pid).unwrap_or(0));
        }
        handles.iter().all(|handle| crowd.clients[&ConnectionHandle(*handle)].is_done)
    })?;
    let read: u64 = crowd.clients.values().map(|client| client.read).sum();
    println!(
        "{}",
        json!({ "busy": busy, "took_s": start.elapsed().as_secs_f64(), "read_bytes": read, "most_resident_kb": most,
                "after_kb": resident_kb(pid)?, "lost": crowd.lost })
    );
    Ok(())
}
