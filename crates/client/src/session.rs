//! Drives a player by the wall clock over real connections. Same contract as the simulator's session (crates/sim): one mutation,
//! then all actions, then timer and read limits.

use std::io;
use std::net::SocketAddr;
use std::time::Instant;

use playpath_units::{Duration, Time};
use playpath_video::{Action, ConnectionId, Delivery, Player};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::connection::{Connection, Progress};

/// What was transferred.
#[derive(Clone, Copy, Debug, Default)]
pub struct Transfer {
    /// Body bytes handed to the player.
    pub body_bytes: u64,
    /// From the start of the session to its end.
    pub elapsed: Duration,
}

/// A player, its connections and its clock.
pub struct Session<'a> {
    player: &'a mut dyn Player,
    server: SocketAddr,
    path: &'a str,
    start: Instant,
    connections: Vec<Option<Connection>>,
    transfer: Transfer,
    buffer: Vec<u8>,
}

impl<'a> Session<'a> {
    /// A session of `player` with `server`, which serves one large file at `path`.
    pub fn new(player: &'a mut dyn Player, server: SocketAddr, path: &'a str) -> Session<'a> {
        Session {
            player,
            server,
            path,
            start: Instant::now(),
            connections: Vec::new(),
            transfer: Transfer::default(),
            buffer: vec![0; 1 << 16],
        }
    }

    /// Play to the end, at the latest to `until`. Error: the server cannot be reached, or breaks off.
    pub fn play(mut self, until: Time) -> io::Result<Transfer> {
        self.player.handle_start(self.now());
        while !self.player.is_finished() {
            self.act()?;
            let now = self.now();
            if now >= until {
                self.player.handle_stop(now);
                break;
            }
            if now >= self.player.poll_timeout() {
                self.player.handle_timeout(now);
                continue;
            }
            if !self.read_once()? {
                self.wait(until)?;
            }
        }
        self.transfer.elapsed = self.now() - Time::ZERO;
        Ok(self.transfer)
    }

    fn now(&self) -> Time {
        Time::from_nanos(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    fn act(&mut self) -> io::Result<()> {
        while let Some(action) = self.player.poll_action() {
            match action {
                Action::Open(id) => self.open(id)?,
                Action::Request(request) => {
                    if request.delivery != Delivery::AsFastAsPossible {
                        return Err(io::Error::other(
                            "a web server cannot write in chunks at a heartbeat (player kind agent)",
                        ));
                    }
                    self.connection(request.connection)?.send(&request)?;
                }
                Action::Abandon(id) => self.connections.iter_mut().flatten().for_each(|c| c.abandon(id)),
                Action::Close(ConnectionId(id)) => self.connections[id as usize] = None,
            }
        }
        Ok(())
    }

    fn open(&mut self, id: ConnectionId) -> io::Result<()> {
        let connection = Connection::open(self.server, self.path)?;
        self.connections.resize_with(self.connections.len().max(id.0 as usize + 1), || None);
        self.connections[id.0 as usize] = Some(connection);
        self.player.handle_connected(self.now(), id);
        Ok(())
    }

    fn connection(&mut self, id: ConnectionId) -> io::Result<&mut Connection> {
        let found = self.connections.get_mut(id.0 as usize).and_then(Option::as_mut);
        found.ok_or_else(|| io::Error::other(format!("connection {} is not open", id.0)))
    }

    /// One read from the first connection that has something; `false` if none has.
    fn read_once(&mut self) -> io::Result<bool> {
        for index in 0..self.connections.len() {
            let limit = self.player.read_limit(self.now(), ConnectionId(index as u32));
            let Some(connection) = &mut self.connections[index] else { continue };
            match connection.read(limit, &mut self.buffer)? {
                Progress::Nothing => continue,
                Progress::Other => {}
                Progress::Body(id, bytes) => {
                    self.transfer.body_bytes += bytes;
                    let now = self.now();
                    self.player.handle_body(now, id, bytes);
                }
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// Wait for data that is wanted, the player's timer or the end.
    fn wait(&mut self, until: Time) -> io::Result<()> {
        let now = self.now();
        let mut sockets = Vec::with_capacity(self.connections.len());
        for (index, connection) in self.connections.iter().enumerate() {
            let limit = self.player.read_limit(now, ConnectionId(index as u32));
            if let Some(connection) = connection.as_ref().filter(|c| c.wants_to_read(limit)) {
                sockets.push(PollFd::new(&connection.stream, PollFlags::IN));
            }
        }
        let nanos = self.player.poll_timeout().min(until).saturating_since(now).as_nanos();
        let timeout = Timespec { tv_sec: (nanos / 1_000_000_000) as i64, tv_nsec: (nanos % 1_000_000_000) as i64 };
        match poll(&mut sockets, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }
}
