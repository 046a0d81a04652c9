//! The simulator's player over quinn's client, which walks out of one network into another (RFC 9000 §9): `docs/walk.py` runs it.
//!
//! `walker PLAN.json FIRST SECOND AFTER`: PLAN as `playpath-client play` takes it; FIRST and SECOND are own addresses; AFTER so many seconds
//! of the outage of the scenario's first path the client's system notices, and the connection goes on from SECOND. Prints what
//! `playpath-client` prints of a session.
//!
//! Every player and ABR rule that the simulator has. Where the simulator's server writes a live segment as it is encoded, this client asks
//! for each piece as soon as it exists: half a round trip later than a server would write it.

#![expect(clippy::disallowed_methods, reason = "a program on the wall clock")]

#[path = "../trusting/mod.rs"]
mod trusting;

use bytes::BytesMut;
use playpath_scenario::Scenario;
use playpath_serve::h3::headers;
use playpath_shell::{monotonic_nanos, timespec};
use playpath_transport::codec::quic::Reader;
use playpath_units::Time;
use playpath_units::random::RootSeed;
use playpath_video::p1203::p1203_input;
use playpath_video::{Action, ConnectionId, Delivery, Player, Request, RequestId};
use quinn_proto::{
    Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig, Event, StreamId, TransportConfig,
    VarInt,
};
use rustix::event::{PollFd, PollFlags, poll};
use serde_json::{Value, json};
use std::error::Error;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Instant;

/// A part of an object: its stream, and what has come.
struct Piece {
    stream: StreamId,
    unread: Vec<u8>,
    /// Of the frame that is being read: is it DATA, and how much is left?
    frame: (bool, u64),
    wanted: u64,
    got: u64,
}

impl Piece {
    /// RFC 9114 §7.1: type, length, payload.
    fn take(&mut self, bytes: &[u8]) {
        self.unread.extend(bytes);
        loop {
            let step = (self.frame.1).min(self.unread.len() as u64);
            self.got += if self.frame.0 { step } else { 0 };
            self.frame.1 -= step;
            self.unread.drain(..step as usize);
            let mut reader = Reader::new(&self.unread);
            let (0, Some(kind), Some(length)) = (self.frame.1, reader.varint(), reader.varint()) else { return };
            let head = reader.position();
            self.frame = (kind == 0, length);
            self.unread.drain(..head);
        }
    }
}

/// An object that was asked for, as far as it exists.
struct Object {
    id: RequestId,
    body: u64,
    delivery: Delivery,
    began: Time,
    asked: u64,
    reported: u64,
    pieces: Vec<Piece>,
}

impl Object {
    /// In order: what follows a piece that is not whole does not count.
    fn come(&self) -> u64 {
        let whole = self.pieces.iter().take_while(|piece| piece.got == piece.wanted).count();
        self.pieces.iter().take(whole + 1).map(|piece| piece.got).sum()
    }
}

struct Walker {
    start_ns: u64,
    player: Box<dyn Player>,
    path: String,
    server: SocketAddr,
    sockets: [UdpSocket; 2],
    moves_at: Time,
    has_moved: bool,
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    objects: Vec<Object>,
    body_bytes: u64,
}

impl Walker {
    fn new(plan: &Value, locals: [&str; 2], after: f64) -> Result<Walker, Box<dyn Error>> {
        let no_files = |name: &str| Err(format!("{name}: a resolved scenario names no files"));
        let scenario = Scenario::parse(&plan["scenario"].to_string(), &json!({}), &no_files)?;
        let seed = plan["seed"].as_u64().ok_or("no seed")?;
        let packet_bytes = plan["packet_bytes"].as_u64().ok_or("no packet_bytes")? as u32;
        let first = &scenario.paths[0];
        let outage = first.outage.map(|outage| outage.drawn(&format!("path.{}/down", first.name), RootSeed(seed)));
        let bound = |local: &str| {
            let socket = UdpSocket::bind(format!("{local}:0"))?;
            socket.set_nonblocking(true)?;
            Ok::<_, std::io::Error>(socket)
        };
        Ok(Walker {
            start_ns: plan["start_ns"].as_u64().ok_or("no start_ns")?,
            player: scenario.live_player("video", packet_bytes, seed)?,
            path: plan["video"]["path"].as_str().ok_or("no path")?.to_owned(),
            server: plan["video"]["server"].as_str().ok_or("no server")?.parse()?,
            sockets: [bound(locals[0])?, bound(locals[1])?],
            moves_at: outage.map_or(Time::MAX, |outage| outage.from + playpath_units::Duration::from_secs_f64(after)),
            has_moved: false,
            endpoint: Endpoint::new(Arc::new(EndpointConfig::default()), None, true, None),
            connection: None,
            objects: Vec::new(),
            body_bytes: 0,
        })
    }

    fn now(&self) -> Time {
        Time::from_nanos(monotonic_nanos().saturating_sub(self.start_ns))
    }

    fn play(&mut self, until: Time) -> Result<bool, Box<dyn Error>> {
        while monotonic_nanos() < self.start_ns {
            std::thread::sleep(std::time::Duration::from_nanos(self.start_ns.saturating_sub(monotonic_nanos())));
        }
        self.player.handle_start(self.now());
        while !self.player.is_finished() {
            self.receive();
            self.act()?;
            let now = self.now();
            if now >= until {
                self.player.handle_stop(now);
                return Ok(true);
            }
            if now >= self.player.poll_timeout() {
                self.player.handle_timeout(now);
                continue;
            }
            if !self.has_moved && now >= self.moves_at {
                self.has_moved = true;
                self.connection.iter_mut().for_each(|(_, connection)| connection.local_address_changed());
            }
            self.drive()?;
            self.send();
            self.wait(until)?;
        }
        Ok(false)
    }

    fn act(&mut self) -> Result<(), Box<dyn Error>> {
        while let Some(action) = self.player.poll_action() {
            match action {
                Action::Open(_) if self.connection.is_none() => {
                    let config = trusting::client(TransportConfig::default());
                    self.connection = Some(self.endpoint.connect(Instant::now(), config, self.server, "localhost")?);
                }
                Action::Open(_) => return Err("a second connection is not played".into()),
                Action::Request(Request { id, body_bytes, delivery, .. }) => {
                    let began = self.now();
                    let body = body_bytes.max(1);
                    self.objects.push(Object { id, body, delivery, began, asked: 0, reported: 0, pieces: Vec::new() });
                }
                Action::Abandon(id) => {
                    let gone = self.objects.extract_if(.., |object| object.id == id);
                    let streams: Vec<_> = gone.flat_map(|object| object.pieces).map(|piece| piece.stream).collect();
                    let Some((_, connection)) = &mut self.connection else { continue };
                    // One that has ended is not there to be stopped.
                    streams.into_iter().for_each(|id| drop(connection.recv_stream(id).stop(VarInt::from_u32(0x10c))));
                }
                Action::Close(_) => {}
            }
        }
        Ok(())
    }

    fn receive(&mut self) {
        let mut buffer = [0; 65_536];
        for socket in &self.sockets {
            while let Ok((length, from)) = socket.recv_from(&mut buffer) {
                let (now, bytes) = (Instant::now(), BytesMut::from(&buffer[..length]));
                let event = self.endpoint.handle(now, from, None, None, bytes, &mut Vec::new());
                if let (Some(DatagramEvent::ConnectionEvent(_, event)), Some((_, connection))) =
                    (event, &mut self.connection)
                {
                    connection.handle_event(event);
                }
            }
        }
    }

    fn drive(&mut self) -> Result<(), Box<dyn Error>> {
        let now = self.now();
        let Some((handle, connection)) = &mut self.connection else { return Ok(()) };
        if connection.poll_timeout().is_some_and(|due| due <= Instant::now()) {
            connection.handle_timeout(Instant::now());
        }
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        while let Some(event) = connection.poll() {
            match event {
                Event::Connected => self.player.handle_connected(now, ConnectionId(0)),
                Event::ConnectionLost { reason } => return Err(reason.into()),
                _ => {}
            }
        }
        for object in &mut self.objects {
            let exists = object.delivery.written(0, object.body, object.began, now);
            if exists > object.asked {
                let stream = ask(connection, &self.path, object.asked, exists)?;
                let wanted = exists - object.asked;
                object.pieces.push(Piece { stream, unread: Vec::new(), frame: (false, 0), wanted, got: 0 });
                object.asked = exists;
            }
            for piece in object.pieces.iter_mut().filter(|piece| piece.got < piece.wanted) {
                read(connection, piece);
            }
            let come = object.come();
            if come > object.reported {
                self.body_bytes += come - object.reported;
                self.player.handle_body(now, object.id, come - object.reported);
                object.reported = come;
            }
        }
        self.objects.retain(|object| object.reported < object.body);
        Ok(())
    }

    fn send(&mut self) {
        let Some((_, connection)) = &mut self.connection else { return };
        let mut out = Vec::new();
        while let Some(transmit) = connection.poll_transmit(Instant::now(), 1, &mut out) {
            let socket = &self.sockets[usize::from(self.has_moved)];
            // What a dead interface does not take is lost.
            let _ = socket.send_to(&out[..transmit.size], transmit.destination);
            out.clear();
        }
    }

    fn wait(&mut self, until: Time) -> Result<(), Box<dyn Error>> {
        let now = self.now();
        let next = self.objects.iter().map(|object| object.delivery.next_write(0, object.body, object.began, now));
        let moves_at = if self.has_moved { Time::MAX } else { self.moves_at };
        let due = next.fold(self.player.poll_timeout().min(until).min(moves_at), Time::min);
        let transport = self.connection.as_mut().and_then(|(_, connection)| connection.poll_timeout());
        let by_transport = transport.map_or(u64::MAX, |due| {
            due.saturating_duration_since(Instant::now()).as_nanos().try_into().unwrap_or(u64::MAX)
        });
        let wait = due.saturating_since(now).as_nanos().min(by_transport).min(1_000_000_000);
        let [first, second] = &self.sockets;
        let mut waiting = [PollFd::new(first, PollFlags::IN), PollFd::new(second, PollFlags::IN)];
        poll(&mut waiting, Some(&timespec(wait)))?;
        Ok(())
    }
}

/// For the bytes from `from` up to `to` of the file that any object is the first bytes of.
fn ask(connection: &mut Connection, path: &str, from: u64, to: u64) -> Result<StreamId, Box<dyn Error>> {
    let range = format!("bytes={from}-{}", to - 1);
    let (scheme, authority) = ((":scheme", "https"), (":authority", "localhost"));
    let fields = [(":method", "GET"), scheme, authority, (":path", path), ("range", &range)];
    let id = connection.streams().open(Dir::Bi).ok_or("no stream")?;
    connection.send_stream(id).write(&headers(fields.into_iter()))?;
    connection.send_stream(id).finish()?;
    Ok(id)
}

fn read(connection: &mut Connection, piece: &mut Piece) {
    let mut stream = connection.recv_stream(piece.stream);
    let Ok(mut chunks) = stream.read(true) else { return };
    while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
        piece.take(&chunk.bytes);
    }
    let _ = chunks.finalize();
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [plan, first, second, after] = &words[..] else { return Err("walker PLAN.json FIRST SECOND AFTER".into()) };
    let plan: Value = serde_json::from_str(&std::fs::read_to_string(plan)?)?;
    let until = Time::from_secs_f64(plan["until_s"].as_f64().ok_or("no until_s")?);
    let mut walker = Walker::new(&plan, [first, second], after.parse()?)?;
    let is_cut = walker.play(until)?;
    let events = walker.player.events();
    let reported = json!({
        "events": events,
        "p1203": p1203_input(events),
        "elapsed_s": walker.now().as_secs_f64(),
        "body_bytes": walker.body_bytes,
        "read_bytes": walker.body_bytes,
        "is_cut": is_cut,
        "connections": [],
        "series": {},
    });
    println!("{reported}");
    Ok(())
}
