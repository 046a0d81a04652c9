//! The connections of a session's paths: made, read, watched, lost and made anew.

use super::{CHUNK, FIRST_RETRY, LAST_RETRY, Outcome, Path, Phase, RelaySession, WATCH, words};
use crate::carrier::Carrier;
use crate::log::Log;
use playpath_relay::record::{Hello, Record};
use playpath_units::Time;
use rustix::event::PollFlags;
use serde_json::json;
use std::net::SocketAddr;

impl RelaySession {
    /// A connection of this session has come in (server). What follows its hello is read at once.
    pub fn attach(&mut self, now: Time, hello: &Hello, mut connection: Carrier, log: &mut Log) {
        let path = usize::from(hello.path);
        self.core.grow_to(path);
        while self.paths.len() <= path {
            self.paths.push(Path::new(format!("path{}", self.paths.len()), None, now));
        }
        if self.paths[path].connection.is_some() {
            self.lose(now, path, "replaced by a new connection", log);
        }
        self.paths[path].name.clone_from(&hello.name);
        connection.push_record(&Record::Accept);
        self.open(now, path, connection, log);
        self.take_records(now, path, log);
    }

    /// What the origin knows this session by, and the peers of the connections that carry it; none when it is over. `None` if
    /// nothing has changed since the last call.
    pub fn take_carriers(&mut self) -> Option<(SocketAddr, Vec<SocketAddr>)> {
        if !std::mem::take(&mut self.has_other_carriers) {
            return None;
        }
        let open = self.paths.iter().filter_map(|path| path.connection.as_ref()).filter(|c| c.is_open());
        let carriers = if self.is_running() { open.filter_map(Carrier::peer).collect() } else { Vec::new() };
        Some((self.local.name_at_origin?, carriers))
    }

    pub(super) fn handle_path(&mut self, now: Time, path: usize, flags: PollFlags, log: &mut Log) {
        let state = &mut self.paths[path];
        let Some(connection) = &mut state.connection else { return };
        if connection.is_open() {
            if flags.contains(PollFlags::OUT)
                && let Err(e) = connection.flush()
            {
                return self.lose(now, path, &words(&e), log);
            }
            if flags.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR) {
                self.read_path(now, path, log);
            }
            return;
        }
        let name = state.name.clone();
        let hello = Hello { session: self.id, path: path as u8, is_known: self.is_known, name };
        match connection.finish_connect(now, hello) {
            Ok(()) => {
                let connection = self.paths[path].connection.take().expect("it was there");
                self.open(now, path, connection, log);
            }
            Err(e) => self.lose(now, path, &words(&e), log),
        }
    }

    fn open(&mut self, now: Time, path: usize, mut connection: Carrier, log: &mut Log) {
        if let Err(e) = connection.refresh(self.room) {
            return self.lose(now, path, &words(&e), log);
        }
        if connection.unproved_until.is_none() {
            self.note_proved(now);
        }
        let state = &mut self.paths[path];
        state.cc = connection.cc();
        let fields = json!({
            "session": self.tag(), "path": self.paths[path].name, "connection": connection.describe(),
            "cc": self.paths[path].cc,
        });
        log.write(now.as_secs_f64(), "path_up", fields);
        self.opened.extend(connection.peer());
        self.has_other_carriers = true;
        self.core.handle_path_up(path);
        self.paths[path].connection = Some(connection);
    }

    fn read_path(&mut self, now: Time, path: usize, log: &mut Log) {
        let mut buffer = [0; CHUNK];
        // A few buffers full at most: the others want to be read, too.
        for _ in 0..16 {
            let Some(connection) = &mut self.paths[path].connection else { return };
            match connection.read(&mut buffer) {
                Ok(Some(0)) if self.is_through() => return self.paths[path].close(),
                Ok(Some(0)) => return self.lose(now, path, "closed by the other relay", log),
                Ok(Some(count)) => {
                    if self.phase == Phase::Running {
                        self.take_records(now, path, log);
                    }
                    if count < buffer.len() {
                        return;
                    }
                }
                Ok(None) => return,
                Err(e) => return self.lose(now, path, &words(&e), log),
            }
        }
    }

    /// A path that speaks another protocol, as a captive portal or a server with a banner does, is lost; a relay that breaks a rule
    /// ends the session.
    fn take_records(&mut self, now: Time, path: usize, log: &mut Log) {
        let mut error = None;
        while let Some(connection) = &mut self.paths[path].connection {
            let is_proved = connection.unproved_until.is_none();
            match connection.next_record() {
                Ok(None) => return,
                Err(e) => return self.lose(now, path, &e.to_string(), log),
                Ok(Some(Record::Accept)) if !is_proved => {
                    connection.unproved_until = None;
                    self.paths[path].retry_delay = FIRST_RETRY;
                    self.is_known = true;
                    self.note_proved(now);
                }
                Ok(Some(record)) if !is_proved && !matches!(record, Record::Reset { .. }) => {
                    let reason = format!("answers the hello by a record \"{}\"", record.kind());
                    return self.lose(now, path, &reason, log);
                }
                Ok(Some(Record::Reset { reason })) => {
                    let outcome = if self.core.is_received() {
                        Outcome::Finished
                    } else {
                        Outcome::Failed(format!("the other relay: {reason}"))
                    };
                    return self.end(now, outcome, log);
                }
                Ok(Some(record)) => error = self.core.handle_record(now, path, &record).err().map(|e| e.to_string()),
            }
            (self.last_heard, self.asked) = (now, false);
            if let Some(error) = error.take() {
                let peer = self.paths[path].connection.as_ref().map_or(String::new(), Carrier::describe);
                return self.end(now, Outcome::Failed(format!("path {}, {peer}: {error}", self.paths[path].name)), log);
            }
        }
    }

    /// A path leads to the other relay.
    fn note_proved(&mut self, now: Time) {
        if !self.has_had_path {
            (self.has_had_path, self.last_heard) = (true, now);
        }
    }

    /// The connection of a path is gone, or never came to be.
    pub(super) fn lose(&mut self, now: Time, path: usize, reason: &str, log: &mut Log) {
        let state = &mut self.paths[path];
        let was_open = state.connection.as_ref().is_some_and(Carrier::is_open);
        state.close();
        self.has_other_carriers |= was_open;
        state.retry_at = now + state.retry_delay;
        state.retry_delay = (state.retry_delay * 2).min(LAST_RETRY);
        state.last_error = Some(reason.into());
        if self.phase != Phase::Running {
            return;
        }
        let fields = json!({ "session": self.tag(), "path": self.paths[path].name, "reason": reason });
        log.write(now.as_secs_f64(), if was_open { "path_down" } else { "path_failed" }, fields);
        self.core.handle_path_down(path);
    }

    pub(super) fn check_path(&mut self, now: Time, path: usize, log: &mut Log) {
        let state = &mut self.paths[path];
        match &state.connection {
            Some(connection) if connection.connecting_until.is_some_and(|until| now >= until) => {
                self.lose(now, path, "no answer", log);
            }
            Some(connection) if connection.is_doubtful(now - self.options.path_timeout) => {
                self.lose(now, path, "no answer to the hello", log);
            }
            None if state.spec.is_some() && now >= state.retry_at => {
                let spec = state.spec.as_ref().expect("just looked");
                match Carrier::connect(now, spec, &self.options) {
                    Ok(connection) => state.connection = Some(connection),
                    Err(e) => self.lose(now, path, &words(&e), log),
                }
            }
            _ => {}
        }
    }

    /// Without a path, or without an answer, for too long.
    pub(super) fn check_peer(&mut self, now: Time, log: &mut Log) {
        let is_open = self.paths.iter().any(|path| path.connection.as_ref().is_some_and(Carrier::is_open));
        let silence = now.saturating_since(self.last_heard);
        let limit = self.options.session_timeout;
        let tried = |path: &Path| path.connection.is_none() && path.last_error.is_some();
        if !self.has_had_path && self.paths.iter().all(tried) && !self.paths.is_empty() {
            self.end(now, Outcome::Failed(format!("no path to the other relay: {}", self.path_errors())), log);
        } else if silence >= limit && !is_open {
            let message = format!("no path to the other relay for {limit}: {}", self.path_errors());
            self.end(now, Outcome::Failed(message), log);
        } else if silence >= limit {
            self.end(now, Outcome::Failed(format!("the other relay has not answered for {limit}")), log);
        } else if silence >= limit / 2 && !self.asked && is_open {
            self.asked = true;
            self.core.ask_for_answer();
        }
    }

    fn path_errors(&self) -> String {
        let of = |path: &Path| {
            let to = path.spec.as_ref().map_or(String::new(), |spec| format!(" ({})", spec.remote));
            format!("{}{to}: {}", path.name, path.last_error.as_deref().unwrap_or("no connection"))
        };
        self.paths.iter().map(of).collect::<Vec<_>>().join("; ")
    }

    pub(super) fn look_at_paths(&mut self, now: Time, log: &mut Log) {
        let is_sample_due = now.saturating_since(self.sampled_at) >= WATCH;
        if is_sample_due {
            self.sampled_at = now;
        }
        for path in 0..self.paths.len() {
            let Some(connection) = self.paths[path].connection.as_mut().filter(|c| c.is_open()) else { continue };
            if let Err(e) = connection.flush().and_then(|()| connection.refresh(self.room)) {
                self.lose(now, path, &words(&e), log);
                continue;
            }
            if is_sample_due {
                connection.sample_rtt();
            }
            // A portal's kernel acknowledges whatever it is sent: the timer says nothing of it.
            let is_stalled = connection.is_stalled() || connection.is_doubtful(now);
            if is_stalled != self.core.is_path_stalled(path) {
                self.core.handle_path_stalled(path, is_stalled);
                let fields = json!({ "session": self.tag(), "path": self.paths[path].name });
                log.write(now.as_secs_f64(), if is_stalled { "path_stalled" } else { "path_recovered" }, fields);
            }
        }
    }
}
