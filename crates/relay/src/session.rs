//! One session: the connection to the player or to the origin, the connections of its paths, and the [`Core`] between.

mod local;
mod paths;
mod report;

use crate::carrier::{Carrier, Totals, cut};
use crate::log::{Log, Stranger};
use crate::options::{Options, PathOption, Role};
use local::Local;
use playpath_relay::core::{Core, Settings};
use playpath_relay::record::{Record, SessionId};
use playpath_transport::mptcp::scheduler::{Room, SubflowView};
use playpath_units::{Duration, Rate, Time};
use rustix::event::PollFlags;
use socket2::Socket;
use std::io;
use std::net::{Shutdown, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::rc::Rc;

/// How often room on a path is looked for while data waits; an acknowledgement alone wakes nobody up.
const TICK: Duration = Duration::from_millis(1);
/// How often connections are looked at while something is on the way.
const WATCH: Duration = Duration::from_millis(50);
const FIRST_RETRY: Duration = Duration::from_millis(500);
const LAST_RETRY: Duration = Duration::from_secs(5);
/// How long the connections of a session that is over are read, so that what was said last is not lost in a reset.
const DRAIN: Duration = Duration::from_secs(1);
/// Read at once.
const CHUNK: usize = 16 << 10;

/// A socket of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// To the player or the origin.
    Local,
    /// Of a path.
    Path(usize),
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    Finished,
    Failed(String),
    /// The relay was stopped before the session ended.
    Stopped,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Running,
    Draining(Time),
    Over,
}

/// A path of the session, with or without a connection at the moment.
struct Path {
    name: String,
    spec: Option<PathOption>,
    connection: Option<Carrier>,
    closed: Totals,
    retry_at: Time,
    retry_delay: Duration,
    cc: String,
    last_error: Option<String>,
}

/// See the module.
pub struct RelaySession {
    pub id: SessionId,
    options: Rc<Options>,
    room: Room,
    core: Core,
    local: Local,
    paths: Vec<Path>,
    is_known: bool,
    has_had_path: bool,
    started: Time,
    ended: Option<Time>,
    last_heard: Time,
    asked: bool,
    sampled_at: Time,
    waits_for_room: bool,
    phase: Phase,
    outcome: Option<Outcome>,
    /// Tells its connections from those of other sessions, for coupled controls. The relay's own choice, not the client's.
    pub group: u32,
    /// Peers of connections that opened; the relay couples them.
    pub opened: Vec<SocketAddr>,
    /// See [`RelaySession::take_carriers`].
    has_other_carriers: bool,
}

impl RelaySession {
    /// A player has connected: one connection per path is opened.
    pub fn of_player(
        now: Time,
        id: SessionId,
        group: u32,
        player: Socket,
        options: &Rc<Options>,
    ) -> io::Result<RelaySession> {
        let Role::Client { paths } = &options.role else { unreachable!("only clients have players") };
        let mut session = RelaySession::new(now, id, group, Local::player(player)?, options);
        session.core.grow_to(paths.len() - 1);
        session.paths = paths.iter().map(|spec| Path::new(spec.name.clone(), Some(spec.clone()), now)).collect();
        Ok(session)
    }

    /// A client has said hello: connect to the origin.
    pub fn of_client(now: Time, id: SessionId, group: u32, options: &Rc<Options>) -> RelaySession {
        let Role::Server { origin } = options.role else { unreachable!("only servers have an origin") };
        RelaySession::new(now, id, group, Local::origin(origin, now + options.path_timeout), options)
    }

    fn new(now: Time, id: SessionId, group: u32, local: Local, options: &Rc<Options>) -> RelaySession {
        let scheduler = options.scheduler();
        let settings = Settings {
            send_buffer: options.send_buffer,
            receive_buffer: options.receive_buffer,
            logs_records: options.logs_records,
        };
        RelaySession {
            id,
            options: Rc::clone(options),
            room: scheduler.room(),
            core: Core::new(settings, scheduler, 0),
            local,
            paths: Vec::new(),
            is_known: false,
            has_had_path: false,
            started: now,
            ended: None,
            last_heard: now,
            asked: false,
            sampled_at: now,
            waits_for_room: false,
            phase: Phase::Running,
            outcome: None,
            group,
            opened: Vec::new(),
            has_other_carriers: false,
        }
    }

    /// What to wait for on each socket.
    pub fn interest(&self) -> impl Iterator<Item = (Slot, BorrowedFd<'_>, PollFlags)> {
        let local = self.local.socket.as_ref().map(|s| (Slot::Local, s.as_fd(), self.local_interest()));
        let paths = self.paths.iter().enumerate().filter_map(|(index, path)| {
            let connection = path.connection.as_ref()?;
            let wants_room = self.waits_for_room && connection.tells_of_room();
            let mut flags = PollFlags::IN;
            if !connection.is_open() {
                flags = PollFlags::OUT;
            } else if connection.has_queue() || wants_room {
                flags |= PollFlags::OUT;
            }
            Some((Slot::Path(index), connection.socket.as_fd(), flags))
        });
        local.filter(|(_, _, flags)| !flags.is_empty()).into_iter().chain(paths)
    }

    /// When [`settle`](Self::settle) wants to be called, at the latest.
    pub fn deadline(&self, now: Time) -> Time {
        if let Phase::Draining(until) = self.phase {
            return until;
        }
        let open = || self.paths.iter().filter_map(|path| path.connection.as_ref()).filter(|c| c.is_open());
        // Who has no path cannot be asked for a sign of life: nothing is due before the end.
        let can_ask = open().next().is_some() && !self.asked;
        let mut at = self.last_heard + self.options.session_timeout / if can_ask { 2 } else { 1 };
        if open().next().is_some() {
            let is_sound = (0..self.paths.len()).any(|path| self.has_sound(path));
            let least = now + if is_sound { TICK } else { WATCH };
            at = at.min(self.core.poll_timeout().max(least));
            at = at.min(if self.waits_for_room { now + TICK } else { Time::MAX });
            let is_busy = self.core.has_outstanding() || open().any(Carrier::is_in_use);
            at = at.min(if is_busy { now + WATCH } else { Time::MAX });
        }
        for path in self.paths.iter().filter(|path| path.spec.is_some()) {
            let connecting = path.connection.as_ref().map(|c| c.connecting_until.unwrap_or(Time::MAX));
            at = at.min(connecting.unwrap_or(path.retry_at));
        }
        at.min(self.local.connecting_until.unwrap_or(Time::MAX))
    }

    fn has_sound(&self, path: usize) -> bool {
        let is_open = self.paths[path].connection.as_ref().is_some_and(Carrier::is_open);
        is_open && !self.core.is_path_stalled(path)
    }

    /// A socket is ready.
    pub fn handle_ready(&mut self, now: Time, slot: Slot, flags: PollFlags, log: &mut Log) {
        match slot {
            Slot::Local => self.handle_local(now, flags, log),
            Slot::Path(path) => self.handle_path(now, path, flags, log),
        }
    }

    /// After all that was ready: timers, the player or origin, and what may leave.
    pub fn settle(&mut self, now: Time, log: &mut Log) {
        match self.phase {
            Phase::Running => {
                self.check_timers(now, log);
                self.exchange_with_local(now, log);
                self.transmit(now, log);
                self.conclude(now, log);
            }
            Phase::Draining(until) => {
                let is_empty = self.paths.iter().all(|path| path.connection.is_none());
                if is_empty || now >= until {
                    self.paths.iter_mut().for_each(Path::close);
                    self.phase = Phase::Over;
                }
            }
            Phase::Over => {}
        }
    }

    /// As much as it may keep in each direction.
    pub fn set_share(&mut self, bytes: u64) {
        self.core.set_share(bytes);
    }

    /// Bytes of the application have passed, one way or the other.
    pub fn has_carried(&self) -> bool {
        self.core.bytes_acked() + self.core.bytes_delivered() > 0
    }

    /// Somebody else wants its place.
    pub fn give_way(&mut self, now: Time, log: &mut Log) {
        self.end(now, Outcome::Failed("the relay has too many sessions".into()), log);
    }

    /// It takes connections.
    pub fn is_running(&self) -> bool {
        self.phase == Phase::Running
    }

    /// Nothing is left to do.
    pub fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// The relay ends: so does the session.
    pub fn stop(&mut self, now: Time, log: &mut Log) {
        if self.phase == Phase::Running {
            self.end(now, Outcome::Stopped, log);
        }
        self.paths.iter_mut().for_each(Path::close);
        self.phase = Phase::Over;
    }

    fn check_timers(&mut self, now: Time, log: &mut Log) {
        for path in 0..self.paths.len() {
            self.check_path(now, path, log);
        }
        if let Some(failure) = self.local.failure.take() {
            self.fail_local(now, &failure, log);
        }
        if self.local.connecting_until.is_some_and(|until| now >= until) {
            self.fail_local(now, "no answer", log);
        }
        self.check_peer(now, log);
        self.core.handle_timeout(now);
    }

    /// Everything that may leave now, record by record.
    fn transmit(&mut self, now: Time, log: &mut Log) {
        self.look_at_paths(now, log);
        let mut views: Vec<SubflowView> = (0..self.paths.len()).map(|path| self.view(path)).collect();
        let mut out = Vec::with_capacity(2048);
        while self.phase == Phase::Running
            && let Some(path) = self.core.poll_transmit(now, &mut views, &mut out)
        {
            let connection = self.paths[path].connection.as_mut().expect("a usable path has a connection");
            connection.push(&out);
            out.clear();
            if let Err(e) = connection.flush().and_then(|()| connection.refresh(self.room)) {
                self.lose(now, path, &words(&e), log);
            }
            views[path] = self.view(path);
        }
        self.waits_for_room = self.core.has_pending();
        self.log_events(log);
    }

    fn view(&self, path: usize) -> SubflowView {
        match &self.paths[path].connection {
            Some(connection) if connection.is_open() => connection.view(path),
            _ => unusable(path),
        }
    }

    /// Both streams are through: say so on every path, and close.
    fn conclude(&mut self, now: Time, log: &mut Log) {
        let is_flushed = self.paths.iter().filter_map(|path| path.connection.as_ref()).all(|c| !c.has_queue());
        if self.phase == Phase::Running && self.is_through() && self.core.is_all_acknowledged() && is_flushed {
            let words = self.core.last_words();
            self.paths.iter_mut().filter_map(|path| path.connection.as_mut()).for_each(|c| c.push_record(&words));
            self.end(now, Outcome::Finished, log);
        }
    }

    fn is_through(&self) -> bool {
        self.core.is_sent() && self.core.is_received()
    }

    fn end(&mut self, now: Time, outcome: Outcome, log: &mut Log) {
        if self.phase != Phase::Running {
            return;
        }
        let reason = match &outcome {
            Outcome::Finished => None,
            Outcome::Failed(reason) => Some(reason.as_str()),
            Outcome::Stopped => Some("the relay was stopped"),
        };
        if let Some(reason) = reason {
            log.tell_of_stranger(now.as_secs_f64(), Stranger::Failed, &format!("session {}: {reason}", self.tag()));
            let reset = Record::Reset { reason: reason.into() };
            self.paths.iter_mut().filter_map(|path| path.connection.as_mut()).for_each(|c| c.push_record(&reset));
        }
        if let Some(socket) = self.local.socket.take()
            && outcome != Outcome::Finished
        {
            cut(&socket);
        }
        for path in &mut self.paths {
            let Some(connection) = path.connection.as_mut().filter(|c| c.is_open()) else {
                path.close();
                continue;
            };
            // Whoever cannot be told any more learns it from the end of the connection.
            let _ = connection.flush();
            let _ = connection.socket.shutdown(Shutdown::Write);
        }
        self.has_other_carriers = true;
        self.ended = Some(now);
        self.outcome = Some(outcome);
        self.phase = Phase::Draining(now + DRAIN);
        let summary = self.summary(now);
        log.write(now.as_secs_f64(), "session_end", summary);
    }

    /// First bytes of the session id.
    fn tag(&self) -> String {
        self.id[..4].iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl Path {
    fn new(name: String, spec: Option<PathOption>, now: Time) -> Path {
        Path {
            name,
            spec,
            connection: None,
            closed: Totals::default(),
            retry_at: now,
            retry_delay: FIRST_RETRY,
            cc: String::new(),
            last_error: None,
        }
    }

    fn close(&mut self) {
        if let Some(connection) = self.connection.take()
            && connection.is_open()
        {
            self.closed = self.closed.plus(connection.totals());
        }
    }
}

/// A path without a connection, for the scheduler.
fn unusable(path: usize) -> SubflowView {
    SubflowView {
        path,
        is_usable: false,
        is_backup: false,
        is_recovering: false,
        is_loss: false,
        is_ca_open: false,
        srtt: Duration::MAX,
        rttvar: Duration::ZERO,
        srtt_range: (Duration::MAX, Duration::ZERO),
        cwnd: 0.0,
        ssthresh: 0.0,
        in_flight: 0,
        queued: 0,
        buffered_bytes: 0,
        sized_for: 0,
        paced_at: None,
        delivery_rate: Rate::default(),
        mss: u32::MAX,
        has_segment: false,
    }
}

/// "Connection refused", without the number.
fn words(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// A client said hello and its connection died at once. From then on until the session's end, 30 s later, the loop is asked to
    /// come at times that lie ahead, and a few times only (it came without a pause from the 15th second on).
    #[test]
    fn a_session_without_a_path_burns_no_core() {
        let origin = TcpListener::bind("127.0.0.1:0").unwrap();
        let text = format!("server --listen 127.0.0.1:0 --origin {}", origin.local_addr().unwrap());
        let options = Rc::new(crate::options::of(&text).unwrap());
        let mut log = Log::open(None).unwrap();
        let mut now = Time::from_secs(100);
        let mut session = RelaySession::of_client(now, [7; 16], 1, &options);
        session.handle_ready(now, Slot::Local, PollFlags::OUT, &mut log); // connected: nothing is awaited there
        let mut rounds = 0;
        while session.is_running() {
            session.settle(now, &mut log);
            let at = session.deadline(now);
            assert!(!session.is_running() || at > now, "due at {at:?}, and it is {now:?}");
            (now, rounds) = (at, rounds + 1);
        }
        assert_eq!((now, rounds), (Time::from_secs(131), 2), "the end, and its second of grace");
    }
}
