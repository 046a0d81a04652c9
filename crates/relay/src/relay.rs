//! The loop: one thread, poll(2) over listeners, newcomers and the sockets of all sessions.
//!
//! poll and not an edge-triggered set: with `TCP_NOTSENT_LOWAT` a socket announces room only to who asks while there is none, and
//! poll asks each time.

use crate::carrier::{Carrier, set_cc};
use crate::controls::Controls;
use crate::error::StartError;
use crate::log::{Log, Stranger};
use crate::options::{Options, Role};
use crate::session::{RelaySession, Slot};
use playpath_relay::record::{Hello, Record, SessionId};
use playpath_shell::{Failure, timespec};
use playpath_units::{Duration, Time};
use rustix::event::{PollFd, PollFlags, poll};
use serde_json::{Value, json};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::Instant;

/// Connections that have not said hello. The oldest gives way to a new one: who means it says hello at once.
const MOST_NEWCOMERS: usize = 256;
/// Sessions at once. One that has carried nothing gives way to a new one.
const MOST_SESSIONS: usize = 1000;
/// What all sessions together may keep in each direction; each has its share. (Up to 85 sessions of the default sizes have all they want.)
const MEMORY: u64 = 512 << 20;
/// Connections taken before the others are looked at again.
const MOST_AT_ONCE: usize = 64;
/// Ended sessions that are remembered, so that a late connection of one does not begin it anew; also those in the summary.
const MOST_ENDED: usize = 1000;
/// After a failure to accept (no file descriptors or memory left, the network is down), nothing is accepted for so long.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);
const FLUSH: Duration = Duration::from_secs(1);
/// After the first signal, sessions that are about to end may do so in order.
const GRACE: Duration = Duration::from_millis(500);

/// Serve until a signal ends it.
pub fn run(options: &Options) -> Result<(), Failure> {
    let mut relay = Relay::new(options)?;
    relay.serve().map_err(|e| Failure::Run(e.to_string()))?;
    relay.finish()
}

/// What was ready.
#[derive(Clone, Copy)]
enum Ready {
    Listener(usize),
    Newcomer(usize),
    Session(usize, Slot, PollFlags),
}

/// A connection without a hello; none once it is taken or gone.
struct Newcomer {
    connection: Option<Carrier>,
    until: Time,
}

struct Relay {
    options: Rc<Options>,
    start: Instant,
    log: Log,
    listeners: Vec<Socket>,
    newcomers: Vec<Newcomer>,
    accept_at: Time,
    flushed_at: Time,
    sessions: Vec<RelaySession>,
    ended: VecDeque<(SessionId, Value)>,
    ended_count: u64,
    signals: UnixStream,
    signal_count: usize,
    /// A signal came: the end, at the latest.
    stop_at: Option<Time>,
    controls: Controls,
}

impl Relay {
    fn new(options: &Options) -> Result<Relay, StartError> {
        let log = Log::open(options.log.as_deref())?;
        let (signals, end) = UnixStream::pair().map_err(StartError::Signals)?;
        for signal in [SIGTERM, SIGINT, SIGHUP] {
            let end = end.try_clone().map_err(StartError::Signals)?;
            signal_hook::low_level::pipe::register(signal, end).map_err(StartError::Signals)?;
        }
        let listen = |&address: &SocketAddr| listen(address).map_err(|source| StartError::Listen { address, source });
        let listeners: Vec<Socket> = options.listen.iter().map(listen).collect::<Result<_, _>>()?;
        if let (Some(cc), Some(listener)) = (&options.cc, listeners.first()) {
            // Said now, not at the first session.
            set_cc(listener, cc)?;
        }
        Ok(Relay {
            options: Rc::new(options.clone()),
            start: Instant::now(),
            log,
            listeners,
            newcomers: Vec::new(),
            accept_at: Time::ZERO,
            flushed_at: Time::ZERO,
            sessions: Vec::new(),
            ended: VecDeque::new(),
            ended_count: 0,
            signals,
            signal_count: 0,
            stop_at: None,
            controls: Controls::default(),
        })
    }

    fn now(&self) -> Time {
        Time::from_nanos(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    fn serve(&mut self) -> io::Result<()> {
        let _ = playpath_shell::say(&"ready");
        loop {
            let ready = self.wait()?;
            let is_overdue = self.stop_at.is_some_and(|at| self.now() >= at || self.sessions.is_empty());
            if is_overdue || self.signal_count > 1 {
                return Ok(());
            }
            for what in &ready {
                let now = self.now();
                match *what {
                    Ready::Listener(index) => self.accept(now, index),
                    Ready::Newcomer(index) => self.hear(now, index),
                    Ready::Session(index, slot, flags) => {
                        self.sessions[index].handle_ready(now, slot, flags, &mut self.log);
                    }
                }
            }
            let now = self.now();
            self.newcomers.retain(|newcomer| newcomer.connection.is_some() && now < newcomer.until);
            let time_s = now.as_secs_f64();
            let share = MEMORY / self.sessions.len().max(1) as u64;
            for session in &mut self.sessions {
                session.set_share(share);
                // Told before the origin gets the request, about which it asks the bridge.
                self.controls.tell(session, &self.options, time_s, &mut self.log);
                session.settle(now, &mut self.log);
            }
            self.controls.settle(time_s, &mut self.log);
            self.forget_ended(now);
        }
    }

    /// What is ready. A signal is noted.
    fn wait(&mut self) -> io::Result<Vec<Ready>> {
        let now = self.now();
        if self.sessions.is_empty() || now.saturating_since(self.flushed_at) >= FLUSH {
            self.log.flush();
            self.flushed_at = now;
        }
        let is_accepting = self.stop_at.is_none() && now >= self.accept_at;
        let mut what = Vec::new();
        let mut files = vec![PollFd::new(&self.signals, PollFlags::IN)];
        for (index, listener) in self.listeners.iter().enumerate().filter(|_| is_accepting) {
            what.push(Ready::Listener(index));
            files.push(PollFd::new(listener, PollFlags::IN));
        }
        for (index, newcomer) in self.newcomers.iter().enumerate() {
            let Some(connection) = &newcomer.connection else { continue };
            what.push(Ready::Newcomer(index));
            files.push(PollFd::new(&connection.socket, PollFlags::IN));
        }
        for (index, session) in self.sessions.iter().enumerate() {
            for (slot, file, flags) in session.interest() {
                what.push(Ready::Session(index, slot, flags));
                files.push(PollFd::from_borrowed_fd(file, flags));
            }
        }
        let sessions = self.sessions.iter().map(|session| session.deadline(now));
        let newcomers = self.newcomers.iter().map(|newcomer| newcomer.until);
        let accept = (now < self.accept_at).then_some(self.accept_at);
        let helpers = self.controls.patience().map(|patience| now + patience);
        let at = sessions.chain(newcomers).chain(helpers).chain(accept).chain(self.stop_at).min();
        let timeout = at.map(|at| timespec(at.saturating_since(now).as_nanos()));
        match poll(&mut files, timeout.as_ref()) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(Vec::new()),
            Err(e) => return Err(e.into()),
        }
        let is_signal = !files[0].revents().is_empty();
        let found = what.into_iter().zip(&files[1..]).filter(|(_, file)| !file.revents().is_empty());
        let with_flags = |(ready, file): (Ready, &PollFd<'_>)| match ready {
            Ready::Session(index, slot, _) => Ready::Session(index, slot, file.revents()),
            other => other,
        };
        let ready = found.map(with_flags).collect();
        if is_signal {
            self.note_signal(now)?;
        }
        Ok(ready)
    }

    fn note_signal(&mut self, now: Time) -> io::Result<()> {
        self.signal_count += (&self.signals).read(&mut [0; 16])?;
        self.stop_at.get_or_insert(now + GRACE);
        Ok(())
    }

    fn accept(&mut self, now: Time, index: usize) {
        for _ in 0..MOST_AT_ONCE {
            match judge(self.listeners[index].accept()) {
                Accepted::Connection(socket) => {
                    if let Err(e) = self.take(now, socket) {
                        self.log.tell_of_stranger(
                            now.as_secs_f64(),
                            Stranger::Failed,
                            &format!("a connection was not taken: {e}"),
                        );
                    }
                }
                Accepted::Nothing => return,
                Accepted::Failure(e) => {
                    self.log.warn(now.as_secs_f64(), &format!("no more connections: {e}"));
                    self.accept_at = now + ACCEPT_PAUSE;
                    return;
                }
            }
        }
    }

    fn take(&mut self, now: Time, socket: Socket) -> io::Result<()> {
        if matches!(self.options.role, Role::Client { .. }) {
            if self.has_place(now) {
                let session =
                    RelaySession::of_player(now, random()?, u32::from_ne_bytes(random()?), socket, &self.options)?;
                self.sessions.push(session);
            }
            return Ok(());
        }
        let connection = Some(Carrier::new(socket, &self.options)?);
        let waiting = self.newcomers.iter().filter(|newcomer| newcomer.connection.is_some()).count();
        if waiting >= MOST_NEWCOMERS {
            let oldest = self.newcomers.iter_mut().find(|newcomer| newcomer.connection.is_some());
            oldest.expect("somebody waits").connection = None;
            self.log.tell_of_stranger(now.as_secs_f64(), Stranger::Silent, "connections that say no hello are closed");
        }
        self.newcomers.push(Newcomer { connection, until: now + self.options.path_timeout });
        Ok(())
    }

    /// For one more session. The oldest that has carried nothing gives way.
    fn has_place(&mut self, now: Time) -> bool {
        if self.sessions.iter().filter(|session| session.is_running()).count() < MOST_SESSIONS {
            return true;
        }
        let message = format!("there are {MOST_SESSIONS} sessions, and more are wanted");
        self.log.tell_of_stranger(now.as_secs_f64(), Stranger::Crowd, &message);
        let idle = self.sessions.iter_mut().find(|session| session.is_running() && !session.has_carried());
        idle.map(|session| session.give_way(now, &mut self.log)).is_some()
    }

    /// A connection's first record must be a hello.
    fn hear(&mut self, now: Time, index: usize) {
        let Some(mut connection) = self.newcomers[index].connection.take() else { return };
        let mut buffer = [0; 1024];
        let is_open = matches!(connection.read(&mut buffer), Ok(None | Some(1..)));
        match connection.next_record() {
            Ok(None) if is_open => self.newcomers[index].connection = Some(connection),
            Ok(None) => {}
            Ok(Some(Record::Hello(hello))) => self.admit(now, &hello, connection),
            Ok(Some(_)) | Err(_) => {
                let message = format!("{}: no hello of a playpath relay", connection.describe());
                self.log.tell_of_stranger(now.as_secs_f64(), Stranger::Silent, &message);
            }
        }
    }

    /// To its session, which begins with the first connection.
    fn admit(&mut self, now: Time, hello: &Hello, mut connection: Carrier) {
        let found = self.sessions.iter().position(|session| session.id == hello.session && session.is_running());
        let is_past = hello.is_known
            || self.sessions.iter().any(|session| session.id == hello.session)
            || self.ended.iter().any(|(id, _)| *id == hello.session);
        let refusal = match found {
            None if is_past => Some("this session is over"),
            None if !self.has_place(now) => Some("there are too many sessions"),
            _ => None,
        };
        if let Some(reason) = refusal {
            connection.push_record(&Record::Reset { reason: reason.into() });
            // A client that is gone needs no answer.
            let _ = connection.flush();
            return;
        }
        let index = found.unwrap_or_else(|| {
            // Without random numbers, the hello's are not worse than none.
            let group = random().map_or(1, u32::from_ne_bytes).max(1);
            self.sessions.push(RelaySession::of_client(now, hello.session, group, &self.options));
            self.sessions.len() - 1
        });
        self.sessions[index].attach(now, hello, connection, &mut self.log);
    }

    fn forget_ended(&mut self, now: Time) {
        let (ended, log) = (&mut self.ended, &mut self.log);
        let mut count = 0;
        self.sessions.retain(|session| {
            if session.is_over() {
                count += 1;
                ended.push_back((session.id, session.summary(now)));
                log.flush();
            }
            !session.is_over()
        });
        self.ended_count += count;
        ended.drain(..ended.len().saturating_sub(MOST_ENDED));
    }

    /// After the signal: sessions are cut, and the summary is written.
    fn finish(&mut self) -> Result<(), Failure> {
        let now = self.now();
        for session in &mut self.sessions {
            session.stop(now, &mut self.log);
        }
        self.forget_ended(now);
        self.controls.finish();
        self.log.flush();
        let Some(path) = &self.options.summary else { return Ok(()) };
        let is_client = matches!(self.options.role, Role::Client { .. });
        let summary = json!({
            "role": if is_client { "client" } else { "server" }, "scheduler": self.options.scheduler.name(),
            "session_count": self.ended_count, "duration_s": now.as_secs_f64(), "warnings": self.log.warnings,
            "sessions": self.ended.iter().map(|(_, summary)| summary).collect::<Vec<_>>(),
        });
        if path.as_os_str() == "-" {
            let _ = playpath_shell::say(&summary);
            return Ok(());
        }
        std::fs::write(path, format!("{summary}\n"))
            .map_err(|e| Failure::Run(format!("--summary {}: {e}", path.display())))
    }
}

fn listen(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(1024)?;
    Ok(socket)
}

/// What became of an attempt to accept.
enum Accepted {
    Connection(Socket),
    Nothing,
    Failure(io::Error),
}

/// No failure to accept ends the relay: Linux hands errors of the new connection's network out here, too (accept(2)).
fn judge(result: io::Result<(Socket, SockAddr)>) -> Accepted {
    match result {
        Ok((socket, _)) => Accepted::Connection(socket),
        // Nobody is there, or no more: the other end gave up meanwhile.
        Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::ConnectionAborted | ErrorKind::Interrupted) => {
            Accepted::Nothing
        }
        Err(e) => Accepted::Failure(e),
    }
}

fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::Errno;

    /// Firewalls, full tables and networks that are down (EPERM, ENOBUFS, EPROTO, ENETDOWN) ended the relay with all its sessions.
    #[test]
    fn no_failure_to_accept_ends_the_relay() {
        for errno in
            [Errno::PERM, Errno::NOBUFS, Errno::PROTO, Errno::NETDOWN, Errno::MFILE, Errno::NFILE, Errno::NOMEM]
        {
            assert!(matches!(judge(Err(errno.into())), Accepted::Failure(_)), "{errno}");
        }
        for errno in [Errno::AGAIN, Errno::CONNABORTED, Errno::INTR] {
            assert!(matches!(judge(Err(errno.into())), Accepted::Nothing), "{errno}");
        }
    }
    /// A client that says the session id of another, or any it likes, must not get its connections coupled with strangers'.
    #[test]
    fn who_is_coupled_with_whom_is_the_relays_choice() {
        let options = crate::options::of("server --listen 127.0.0.1:0 --origin 127.0.0.1:1").unwrap();
        let group = || {
            let mut relay = Relay::new(&options).unwrap();
            let _client = std::net::TcpStream::connect(relay.listeners[0].local_addr().unwrap().as_socket().unwrap());
            let connection = Carrier::new(relay.listeners[0].accept().unwrap().0, &options).unwrap();
            let hello = Hello { session: [7; 16], path: 0, is_known: false, name: "a".into() };
            relay.admit(Time::ZERO, &hello, connection);
            relay.sessions[0].group
        };
        assert_ne!(group(), group(), "the same hello, another number of 32 bits");
    }
}
