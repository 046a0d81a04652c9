//! Cross traffic over real sockets: the simulator's sources, with the same draws. Each source downloads from its own port of
//! the origin; datagrams are sent by the server's side.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use playpath_scenario::{LiveKind, LiveSource};
use playpath_shell::timespec;
use playpath_units::random::Stream;
use playpath_units::{Duration, Time};
use playpath_video::traffic::{OnOffModel, OnOffSource, WebModel, WebUser};
use playpath_video::{ConnectionId, Player, Request, RequestId};
use rustix::event::{PollFd, PollFlags, poll};
use serde_json::{Value, json};

use crate::clock::Clock;
use crate::http::{HttpConnection, Progress};
use crate::plan::{Place, Plan, PlanError};
use crate::playback::{Playback, Span};

/// More than any run transfers.
const ENDLESS: u64 = 1 << 60;
/// How often a source looks whether the run is over.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// All sources of a run, at the client's side.
pub struct Sources {
    results: Arc<Mutex<Vec<Tally>>>,
    is_over: Arc<AtomicBool>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

#[derive(Default)]
struct Tally {
    name: String,
    received: Arc<AtomicU64>,
    started: Option<Time>,
    ended: Option<Time>,
    session: Option<Value>,
    error: Option<String>,
}

impl Sources {
    pub fn start(plan: &Plan) -> Result<Sources, PlanError> {
        let results = Arc::new(Mutex::new(Vec::new()));
        let is_over = Arc::new(AtomicBool::new(false));
        let mut threads = Vec::new();
        let sources = plan.scenario.live_sources(plan.seed);
        if sources.len() != plan.sources.len() {
            return Err(PlanError::Sources { found: plan.sources.len(), wanted: sources.len() });
        }
        for (number, (source, place)) in sources.into_iter().zip(&plan.sources).enumerate() {
            let received = Arc::new(AtomicU64::new(0));
            let tally = Tally { name: source.name.clone(), received: received.clone(), ..Tally::default() };
            results.lock().expect("no holder panics").push(tally);
            let player = match source.kind {
                LiveKind::Video => Some(plan.scenario.live_player(&source.name, plan.packet_bytes, plan.seed)?),
                _ => None,
            };
            let worker = Worker {
                number,
                until: source.stop.unwrap_or(plan.until).min(plan.until),
                place: place.clone(),
                clock: plan.clock,
                sampling: plan.trace.then(|| plan.scenario.sample_interval()),
                received,
                results: results.clone(),
                is_over: is_over.clone(),
            };
            threads.push(std::thread::spawn(move || worker.run(source, player)));
        }
        Ok(Sources { results, is_over, threads })
    }

    /// End them all: what each of them got.
    pub fn finish(self, clock: Clock) -> Value {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads {
            // A thread that panicked has printed its message on standard error; its counters hold what it received until then.
            let _ = thread.join();
        }
        let now = clock.now();
        let results = self.results.lock().expect("no holder panics");
        results.iter().map(|tally| tally.to_json(now)).collect()
    }
}

impl Tally {
    fn to_json(&self, now: Time) -> Value {
        let seconds = |time: Time| time.as_secs_f64();
        json!({
            "name": self.name,
            "read_bytes": self.received.load(Ordering::Relaxed),
            "start_s": self.started.map(seconds),
            "end_s": self.started.map(|_| seconds(self.ended.unwrap_or(now))),
            "session": self.session,
            "error": self.error,
        })
    }
}

struct Worker {
    number: usize,
    until: Time,
    place: Place,
    clock: Clock,
    sampling: Option<Duration>,
    received: Arc<AtomicU64>,
    results: Arc<Mutex<Vec<Tally>>>,
    is_over: Arc<AtomicBool>,
}

impl Worker {
    fn run(self, source: LiveSource, player: Option<Box<dyn Player>>) {
        // The clock shows 0 before the start of the run too: a source that starts at 0 must not begin earlier.
        self.clock.sleep_until(Time::ZERO);
        while self.clock.now() < source.start && !self.is_over() {
            self.clock.sleep_until(source.start.min(self.clock.now() + POLL_INTERVAL));
        }
        if self.is_over() {
            return;
        }
        self.note(|tally| tally.started = Some(self.clock.now()));
        let ended = match (source.kind, player) {
            (LiveKind::Video, Some(player)) => self.watch(source.start, player),
            (LiveKind::Web(model, stream), _) => self.browse(model, stream),
            (LiveKind::Udp(..), _) => self.take_datagrams(),
            _ => self.fetch_without_end(),
        };
        let error = ended.err().map(|e| format!("{}: {e}", self.place.server));
        self.note(|tally| (tally.ended, tally.error) = (Some(self.clock.now()), error));
    }

    fn note(&self, change: impl FnOnce(&mut Tally)) {
        change(&mut self.results.lock().expect("no holder panics")[self.number]);
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed) || self.clock.now() >= self.until
    }

    /// A competing session. The end of the run cuts it in a glance at the latest.
    fn watch(&self, start: Time, player: Box<dyn Player>) -> io::Result<()> {
        let span = Span { start, until: self.until, sampling: self.sampling };
        let mut session = Playback::new(player, &self.place, self.clock, span).ended_by(self.is_over.clone());
        let played = session.play();
        let json = session.to_json();
        self.received.store(json["read_bytes"].as_u64().unwrap_or(0), Ordering::Relaxed);
        self.note(|tally| tally.session = Some(json));
        played
    }

    fn fetch_without_end(&self) -> io::Result<()> {
        let mut connection = self.connect()?;
        self.fetch(&mut connection, 0, ENDLESS)?;
        Ok(())
    }

    /// Think, fetch an object, think again; on one connection.
    fn browse(&self, model: WebModel, stream: Stream) -> io::Result<()> {
        let mut connection = self.connect()?;
        let mut user = WebUser::new(model, self.clock.now(), stream);
        let mut number = 0;
        while !self.is_over() {
            let due = user.poll_timeout().min(self.clock.now() + POLL_INTERVAL);
            self.clock.sleep_until(due);
            if let Some(bytes) = user.handle_timeout(self.clock.now()) {
                if !self.fetch(&mut connection, number, bytes)? {
                    return Ok(());
                }
                number += 1;
                user.handle_transfer_done(self.clock.now());
            }
        }
        Ok(())
    }

    fn connect(&self) -> io::Result<HttpConnection> {
        let mut connection = HttpConnection::open(&self.place, self.clock.now())?;
        while !self.is_over() {
            if ready(&connection, PollFlags::OUT)? {
                connection.finish_connect()?;
                break;
            }
        }
        Ok(connection)
    }

    /// Read an object to its end; `false` if the run ended first.
    fn fetch(&self, connection: &mut HttpConnection, number: u32, bytes: u64) -> io::Result<bool> {
        if !connection.is_connected {
            return Ok(false);
        }
        connection.send(&request(number, bytes), self.clock)?;
        let mut buffer = vec![0; 1 << 16];
        let mut left = bytes;
        while left > 0 {
            if self.is_over() {
                return Ok(false);
            }
            match connection.read(u64::MAX, &mut buffer)? {
                Progress::Body(_, count) => left -= count,
                Progress::ServerData(..) | Progress::Other => {}
                Progress::Nothing => drop(ready(connection, PollFlags::IN)?),
            }
            self.received.store(connection.read_bytes, Ordering::Relaxed);
        }
        Ok(true)
    }

    /// Receives the datagrams of the server's side.
    fn take_datagrams(&self) -> io::Result<()> {
        let client = self.place.client.ok_or_else(|| io::Error::other("a datagram source needs `client`"))?;
        let socket = UdpSocket::bind((client, self.place.server.port()))?;
        socket.set_read_timeout(Some(std::time::Duration::from_nanos(POLL_INTERVAL.as_nanos())))?;
        let mut buffer = vec![0; 1 << 16];
        while !self.is_over() {
            match socket.recv(&mut buffer) {
                Ok(count) => drop(self.received.fetch_add(count as u64, Ordering::Relaxed)),
                Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}

/// Sends the datagrams of a source from the server's side, with these bits as ECN field, until the process ends.
pub fn send_datagrams(
    (model, ecn_bits): (OnOffModel, u8),
    stream: Stream,
    span: (Time, Time),
    place: &Place,
    clock: Clock,
) {
    let (start, until) = span;
    let Some(client) = place.client else { return };
    let mut source = OnOffSource::new(model, start, stream);
    let bytes = vec![0; model.packet_bytes as usize];
    let socket = match UdpSocket::bind(place.server) {
        Ok(socket) => socket,
        Err(e) => return eprintln!("playpath-client serve: {}: {e}", place.server),
    };
    if let Err(e) = write_traffic_class(&socket, ecn_bits) {
        return eprintln!("playpath-client serve: {}: {e}", place.server);
    }
    while source.poll_timeout() < until {
        clock.sleep_until(source.poll_timeout());
        while let Some(size) = source.handle_timeout(clock.now()) {
            // Refused by the far end's port, or by a full device: lost, as datagrams are.
            let _ = socket.send_to(&bytes[..size as usize], (client, place.server.port()));
        }
    }
}

fn write_traffic_class(socket: &UdpSocket, class: u8) -> io::Result<()> {
    match socket.local_addr()? {
        SocketAddr::V4(_) => rustix::net::sockopt::set_ip_tos(socket, class)?,
        SocketAddr::V6(_) => rustix::net::sockopt::set_ipv6_tclass(socket, class.into())?,
    }
    Ok(())
}

fn ready(connection: &HttpConnection, flags: PollFlags) -> io::Result<bool> {
    let mut sockets = [PollFd::new(&connection.stream, flags)];
    let poll_interval = timespec(POLL_INTERVAL.as_nanos());
    match poll(&mut sockets, Some(&poll_interval)) {
        Ok(count) => Ok(count > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(e) => Err(e.into()),
    }
}

fn request(number: u32, body_bytes: u64) -> Request {
    Request::of_file(ConnectionId(0), RequestId(number), body_bytes)
}
