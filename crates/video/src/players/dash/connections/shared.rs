//! Connections as browsers open them: all kinds of media share those of a host.
//!
//! References: RFC 9112 §9.4; Chromium `net/socket/client_socket_pool.cc` (six per host under HTTP/1.1; a request takes the idle
//! connection that was used last, else a new one, else it waits for whichever is free first, even if one was opened for it),
//! `net/spdy/spdy_session_pool.cc` (one per host under HTTP/2).
//! Differences: requests that wait do so in their order; connections are opened by TCP alone, without TLS; none is opened ahead.
//! Invariants: under HTTP/1.1 a connection has one request at most, and a host `most` connections; under HTTP/2 it has one.
//! Tested by the worked examples below and `crates/sim/tests/http.rs`.

use super::{Io, Protocol};
use crate::players::dash::config::DashConfig;
use crate::{Action, ConnectionId, EventKind, Request, RequestId};
use playpath_units::{Duration, Time};
use std::collections::VecDeque;

/// The connections, and the requests that wait for one.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// Most of them for each host; several requests at once on each.
    most: usize,
    is_multiplexed: bool,
    idle_timeout: Option<Duration>,
    lines: Vec<Line>,
    waiting: VecDeque<(u8, Request)>,
}

#[derive(Debug)]
struct Line {
    connection: ConnectionId,
    host: u8,
    is_ready: bool,
    under_way: Vec<RequestId>,
    last_used: Time,
}

impl Shared {
    pub fn new(config: &DashConfig) -> Shared {
        let (most, is_multiplexed) = match config.protocol {
            Protocol::Http1 { most } => (usize::from(most), false),
            Protocol::Apart | Protocol::Http2 { .. } => (1, true),
        };
        Shared { most, is_multiplexed, idle_timeout: config.connections.idle_timeout, ..Shared::default() }
    }

    /// The request to `host` that waits longest, on the connection that was used last of those that are free.
    fn next_to_send(&mut self, now: Time, host: u8) -> Option<Request> {
        let waiting = self.waiting.iter().position(|(of, _)| *of == host)?;
        let is_multiplexed = self.is_multiplexed;
        let is_free =
            |line: &&mut Line| line.host == host && line.is_ready && (is_multiplexed || line.under_way.is_empty());
        let line = self.lines.iter_mut().filter(is_free).max_by_key(|line| (line.last_used, line.connection))?;
        let (_, mut request) = self.waiting.remove(waiting)?;
        (request.connection, line.last_used) = (line.connection, now);
        line.under_way.push(request.id);
        Some(request)
    }

    /// Whether the requests waiting for `host` need a further connection.
    fn needs_another(&self, host: u8) -> bool {
        let waiting = self.waiting.iter().filter(|(of, _)| *of == host).count();
        let of_host = || self.lines.iter().filter(|line| line.host == host);
        of_host().filter(|line| !line.is_ready).count() < waiting && of_host().count() < self.most
    }
}

impl Io {
    /// Sends as soon as a connection is free, which is opened if need be.
    pub(super) fn send_shared(&mut self, now: Time, host: u8, request: Request) {
        self.close_timed_out(now);
        self.shared.waiting.push_back((host, request));
        self.serve_host(now, host);
    }

    pub fn ready_shared(&self) -> Option<ConnectionId> {
        self.shared.lines.iter().find(|line| line.is_ready).map(|line| line.connection)
    }

    pub fn handle_shared_connected(&mut self, now: Time, connection: ConnectionId) -> bool {
        let Some(line) = self.shared.lines.iter_mut().find(|line| line.connection == connection) else { return false };
        (line.is_ready, line.last_used) = (true, now);
        let host = line.host;
        self.log.push(now, EventKind::Connected { connection });
        self.serve_host(now, host);
        true
    }

    pub(super) fn finish_shared(&mut self, now: Time, request: RequestId) {
        let of_request = |line: &&mut Line| line.under_way.contains(&request);
        let Some(line) = self.shared.lines.iter_mut().find(of_request) else { return };
        line.under_way.retain(|id| *id != request);
        line.last_used = now;
        let host = line.host;
        self.serve_host(now, host);
    }

    /// A response is not wanted any more: under HTTP/1.1 that costs the connection, under HTTP/2 the stream is reset.
    pub(super) fn abandon_shared(&mut self, request: RequestId) {
        self.shared.waiting.retain(|(_, waiting)| waiting.id != request);
        let Some(index) = self.shared.lines.iter().position(|line| line.under_way.contains(&request)) else { return };
        self.actions.push_back(Action::Abandon(request));
        if self.shared.is_multiplexed {
            self.shared.lines[index].under_way.retain(|id| *id != request);
            return;
        }
        let line = self.shared.lines.remove(index);
        self.actions.push_back(Action::Close(line.connection));
        self.open_what_is_needed(line.host);
    }

    pub fn close_shared(&mut self) {
        self.shared.waiting.clear();
        self.actions.extend(self.shared.lines.drain(..).map(|line| Action::Close(line.connection)));
    }

    fn serve_host(&mut self, now: Time, host: u8) {
        while let Some(request) = self.shared.next_to_send(now, host) {
            self.send(now, request);
        }
        self.open_what_is_needed(host);
    }

    fn open_what_is_needed(&mut self, host: u8) {
        while self.shared.needs_another(host) {
            let connection = self.open();
            let (is_ready, under_way, last_used) = (false, Vec::new(), Time::ZERO);
            self.shared.lines.push(Line { connection, host, is_ready, under_way, last_used });
        }
    }

    /// Drop connections that the server has closed after the idle timeout.
    fn close_timed_out(&mut self, now: Time) {
        let Some(limit) = self.shared.idle_timeout else { return };
        let is_over =
            |line: &Line| line.is_ready && line.under_way.is_empty() && now.saturating_since(line.last_used) > limit;
        let closed = self.shared.lines.extract_if(.., |line| is_over(line));
        self.actions.extend(closed.map(|line| Action::Close(line.connection)));
    }
}

#[cfg(test)]
mod tests;
