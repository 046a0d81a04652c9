//! A session's connection to the player or to the origin.

use super::{CHUNK, Outcome, Phase, RelaySession, words};
use crate::log::Log;
use crate::tcp;
use playpath_units::Time;
use rustix::event::PollFlags;
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr};

/// What the kernel may hold towards the player (it doubles the value for its own accounts). What is beyond waits in the receive buffer,
/// which the other end knows of: a player that stops reading stops the sender, as over one connection.
const TO_PLAYER: usize = 64 << 10;

/// See the module.
#[derive(Default)]
pub(super) struct Local {
    pub(super) socket: Option<Socket>,
    pub(super) connecting_until: Option<Time>,
    pub(super) origin: Option<SocketAddr>,
    /// What the origin knows this session by.
    pub(super) name_at_origin: Option<SocketAddr>,
    is_read_closed: bool,
    is_write_closed: bool,
    /// The origin refused at once.
    pub(super) failure: Option<String>,
}

impl Local {
    /// To the player, who has connected.
    pub(super) fn player(socket: Socket) -> io::Result<Local> {
        socket.set_nonblocking(true)?;
        socket.set_tcp_nodelay(true)?;
        socket.set_send_buffer_size(TO_PLAYER)?;
        Ok(Local { socket: Some(socket), ..Local::default() })
    }

    /// To the origin: begin to connect, and wait for it `until` then.
    pub(super) fn origin(origin: SocketAddr, until: Time) -> Local {
        let local = Local { origin: Some(origin), ..Local::default() };
        match connect(origin) {
            Ok(socket) => Local {
                name_at_origin: socket.local_addr().ok().and_then(|own| own.as_socket()),
                connecting_until: Some(until),
                socket: Some(socket),
                ..local
            },
            Err(e) => Local { failure: Some(words(&e)), ..local },
        }
    }
}

impl RelaySession {
    pub(super) fn local_interest(&self) -> PollFlags {
        let mut flags = PollFlags::empty();
        if self.local.connecting_until.is_some() {
            return PollFlags::OUT;
        }
        flags.set(PollFlags::IN, !self.local.is_read_closed && self.core.write_space() > 0);
        flags.set(PollFlags::OUT, !self.core.readable().is_empty());
        flags
    }

    pub(super) fn handle_local(&mut self, now: Time, flags: PollFlags, log: &mut Log) {
        let Some(socket) = &self.local.socket else { return };
        if self.local.connecting_until.is_some() {
            match socket.take_error() {
                Ok(None) if flags.contains(PollFlags::OUT) => self.local.connecting_until = None,
                Ok(None) => {}
                Ok(Some(e)) | Err(e) => self.fail_local(now, &words(&e), log),
            }
        } else if flags.contains(PollFlags::ERR) {
            let error = socket.take_error().ok().flatten();
            self.fail_local(now, &error.map_or("connection lost".into(), |e| words(&e)), log);
        }
    }

    pub(super) fn exchange_with_local(&mut self, now: Time, log: &mut Log) {
        if self.local.socket.is_none() || self.local.connecting_until.is_some() || self.phase != Phase::Running {
            return;
        }
        if let Err(e) = self.write_local().and_then(|()| self.read_local()) {
            self.fail_local(now, &words(&e), log);
        }
    }

    fn write_local(&mut self) -> io::Result<()> {
        let Some(socket) = &self.local.socket else { return Ok(()) };
        while !self.core.readable().is_empty() {
            match (&*socket).write(self.core.readable()) {
                Ok(count) => self.core.consume(count),
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        if self.core.is_received() && !self.local.is_write_closed {
            self.local.is_write_closed = true;
            // The other side may have closed everything already.
            let _ = socket.shutdown(Shutdown::Write);
        }
        Ok(())
    }

    fn read_local(&mut self) -> io::Result<()> {
        let mut buffer = [0; CHUNK];
        let Some(socket) = &self.local.socket else { return Ok(()) };
        while !self.local.is_read_closed && self.core.write_space() > 0 {
            let size = self.core.write_space().min(buffer.len());
            match (&*socket).read(&mut buffer[..size]) {
                Ok(0) => {
                    self.local.is_read_closed = true;
                    self.core.close();
                }
                Ok(count) => self.core.write(&buffer[..count]),
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    pub(super) fn fail_local(&mut self, now: Time, why: &str, log: &mut Log) {
        let message = format!("{}: {why}", self.local_name());
        self.end(now, Outcome::Failed(message), log);
    }

    fn local_name(&self) -> String {
        self.local.origin.map_or("the player".into(), |origin| format!("the origin {origin}"))
    }
}

fn connect(to: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(to), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_nonblocking(true)?;
    socket.set_tcp_nodelay(true)?;
    match socket.connect(&to.into()) {
        Err(e) if !tcp::is_under_way(&e) => Err(e),
        _ => Ok(socket),
    }
}
