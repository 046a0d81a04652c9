//! Drives a player by the wall clock over real connections. The call order is that of the simulator's session (crates/sim): one mutation,
//! then all actions, then timer and read limits.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use playpath_shell::timespec;
use playpath_units::{Duration, Time};
use playpath_video::p1203::p1203_input;
use playpath_video::{Action, ConnectionId, ObjectKind, Player, Request};
use rustix::event::{PollFd, PollFlags, poll};
use serde_json::{Value, json};

use crate::clock::Clock;
use crate::http::{HttpConnection, Progress};
use crate::plan::Place;
use crate::reports::Reports;

/// Start and end of a session, and its sampling interval.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// The viewer presses play.
    pub start: Time,
    pub until: Time,
    /// Interval of the time series; `None`: none.
    pub sampling: Option<Duration>,
}

pub struct Playback<'a> {
    player: Box<dyn Player>,
    place: &'a Place,
    clock: Clock,
    span: Span,
    connections: Vec<Option<HttpConnection>>,
    closed: Vec<Value>,
    body_bytes: u64,
    read_bytes: u64,
    is_cut: bool,
    ended: Option<Arc<AtomicBool>>,
    reports: Option<Reports<'a>>,
    next_sample: Time,
    samples: [Vec<f64>; 3],
    buffer: Vec<u8>,
}

impl<'a> Playback<'a> {
    /// A session of `player` with the server at `place`, which serves one large file.
    pub fn new(player: Box<dyn Player>, place: &'a Place, clock: Clock, span: Span) -> Playback<'a> {
        Playback {
            player,
            place,
            clock,
            span,
            connections: Vec::new(),
            closed: Vec::new(),
            body_bytes: 0,
            read_bytes: 0,
            is_cut: false,
            ended: None,
            reports: None,
            next_sample: span.sampling.map_or(Time::MAX, |_| span.start),
            samples: Default::default(),
            buffer: vec![0; 1 << 16],
        }
    }

    /// Also end the session when the flag is set; the flag is checked every 100 ms.
    pub fn ended_by(mut self, flag: Arc<AtomicBool>) -> Playback<'a> {
        self.ended = Some(flag);
        self
    }

    /// Its reports go to the collector at `place`; they and its requests bear the session's `sid`.
    pub fn reporting_to(mut self, place: &'a Place, sid: String) -> Playback<'a> {
        self.reports = Some(Reports::new(place, sid));
        self
    }

    /// Play to the end, at the latest to the end of the span. Error: the server cannot be reached, or breaks off.
    pub fn play(&mut self) -> io::Result<()> {
        self.clock.sleep_until(self.span.start);
        self.player.handle_start(self.clock.now());
        while !self.player.is_finished() {
            self.act()?;
            let now = self.clock.now();
            self.sample(now);
            if now >= self.span.until || self.ended.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
                self.is_cut = true;
                self.player.handle_stop(now);
                break;
            }
            if now >= self.player.poll_timeout() {
                self.player.handle_timeout(now);
                continue;
            }
            if !self.read_once()? {
                self.wait()?;
            }
        }
        for index in 0..self.connections.len() {
            self.close(index);
        }
        let clock = self.clock;
        self.reports.as_mut().map_or(Ok(()), |reports| reports.finish(clock)).map_err(|e| of_collector(&e))
    }

    /// The playback log in the simulator's format.
    pub fn to_json(&self) -> Value {
        let [time_s, level, bytes] = &self.samples;
        let elapsed = self.clock.now().saturating_since(self.span.start);
        json!({
            "events": self.player.events(),
            "p1203": p1203_input(self.player.events()),
            "start_s": self.span.start.as_secs_f64(),
            "elapsed_s": elapsed.as_secs_f64(),
            "body_bytes": self.body_bytes,
            "read_bytes": self.read_bytes,
            "is_cut": self.is_cut,
            "connections": self.closed,
            "reports": self.reports.as_ref().map_or(0, |reports| reports.count),
            "series": { "time_s": time_s, "buffer_level_s": level, "buffer_bytes": bytes },
        })
    }

    fn act(&mut self) -> io::Result<()> {
        while let Some(action) = self.player.poll_action() {
            match action {
                Action::Open(id) => self.open(id)?,
                Action::Request(request) => self.send(request)?,
                Action::Abandon(id) => self.connections.iter_mut().flatten().for_each(|c| c.abandon(id)),
                Action::Close(ConnectionId(id)) => self.close(id as usize),
            }
        }
        Ok(())
    }

    fn send(&mut self, mut request: Request) -> io::Result<()> {
        if let (Some(reports), Some(cmcd)) = (&mut self.reports, &mut request.cmcd) {
            reports.sign(cmcd);
            if request.object.kind == ObjectKind::Report {
                return reports.send(cmcd).map_err(|e| of_collector(&e));
            }
        }
        let clock = self.clock;
        self.connection(request.connection)?.send(&request, clock)
    }

    fn open(&mut self, id: ConnectionId) -> io::Result<()> {
        let connection = HttpConnection::open(self.place, self.clock.now())?;
        self.connections.resize_with(self.connections.len().max(id.0 as usize + 1), || None);
        self.connections[id.0 as usize] = Some(connection);
        Ok(())
    }

    /// A connection with unread data is reset by the kernel, others are closed in order: as in the simulator.
    fn close(&mut self, index: usize) {
        let Some(connection) = self.connections[index].take() else { return };
        self.closed.push(json!({
            "number": index,
            "port": connection.port(),
            "read_bytes": connection.read_bytes,
            "start_s": connection.opened.as_secs_f64(),
            "end_s": self.clock.now().as_secs_f64(),
        }));
    }

    fn connection(&mut self, id: ConnectionId) -> io::Result<&mut HttpConnection> {
        let found = self.connections.get_mut(id.0 as usize).and_then(Option::as_mut);
        found.ok_or_else(|| io::Error::other(format!("connection {} is not open", id.0)))
    }

    /// One read from the first connection that has something; `false` if none has.
    fn read_once(&mut self) -> io::Result<bool> {
        for index in 0..self.connections.len() {
            let limit = self.player.read_limit(self.clock.now(), ConnectionId(index as u32));
            let Some(connection) = self.connections[index].as_mut().filter(|c| c.is_connected) else { continue };
            let before = connection.read_bytes;
            let progress = connection.read(limit, &mut self.buffer)?;
            self.read_bytes += connection.read_bytes - before;
            match progress {
                Progress::Nothing => continue,
                Progress::Other => {}
                Progress::ServerData(id, cmsd) => {
                    let now = self.clock.now();
                    self.player.handle_server_data(now, id, &cmsd);
                }
                Progress::Body(id, bytes) => {
                    self.body_bytes += bytes;
                    let now = self.clock.now();
                    self.player.handle_body(now, id, bytes);
                }
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// Wait for data that is wanted, a handshake, the player's timer, the next sample or the end.
    fn wait(&mut self) -> io::Result<()> {
        let now = self.clock.now();
        let mut sockets = Vec::with_capacity(self.connections.len());
        for (index, connection) in self.connections.iter().enumerate() {
            let limit = self.player.read_limit(now, ConnectionId(index as u32));
            match connection {
                Some(c) if !c.is_connected => sockets.push(PollFd::new(&c.stream, PollFlags::OUT)),
                Some(c) if c.wants_to_read(limit) => sockets.push(PollFd::new(&c.stream, PollFlags::IN)),
                _ => {}
            }
        }
        sockets.extend(self.reports.as_ref().and_then(Reports::poll_fd));
        let poll_interval = if self.ended.is_some() { now + Duration::from_millis(100) } else { Time::MAX };
        let due = self.player.poll_timeout().min(self.span.until).min(self.next_sample).min(poll_interval);
        match poll(&mut sockets, Some(&timespec(due.saturating_since(now).as_nanos()))) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
        self.reports.as_mut().map_or(Ok(()), Reports::handle).map_err(|e| of_collector(&e))?;
        self.finish_handshakes()
    }

    fn finish_handshakes(&mut self) -> io::Result<()> {
        for index in 0..self.connections.len() {
            let Some(connection) = self.connections[index].as_mut().filter(|c| !c.is_connected) else { continue };
            let mut socket = [PollFd::new(&connection.stream, PollFlags::OUT)];
            if poll(&mut socket, Some(&timespec(0)))? > 0 {
                connection.finish_connect()?;
                self.player.handle_connected(self.clock.now(), ConnectionId(index as u32));
            }
        }
        Ok(())
    }

    fn sample(&mut self, now: Time) {
        let Some(interval) = self.span.sampling.filter(|_| now >= self.next_sample) else { return };
        self.samples[0].push(now.as_secs_f64());
        self.samples[1].push(self.player.buffer_level(now).as_secs_f64());
        self.samples[2].push(self.player.buffer_bytes(now) as f64);
        while self.next_sample <= now {
            self.next_sample += interval;
        }
    }
}

fn of_collector(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("reports: {error}"))
}
