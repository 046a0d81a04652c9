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

    /// Whether what waits for `host` needs a connection that nobody has opened yet.
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

    /// A connection that is established.
    pub fn ready_shared(&self) -> Option<ConnectionId> {
        self.shared.lines.iter().find(|line| line.is_ready).map(|line| line.connection)
    }

    /// The handshake is complete. `false` if the connection is not shared.
    pub fn handle_shared_connected(&mut self, now: Time, connection: ConnectionId) -> bool {
        let Some(line) = self.shared.lines.iter_mut().find(|line| line.connection == connection) else { return false };
        (line.is_ready, line.last_used) = (true, now);
        let host = line.host;
        self.log.push(now, EventKind::Connected(connection));
        self.serve_host(now, host);
        true
    }

    /// A response is complete.
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

    /// The server has closed what was idle for too long.
    fn close_timed_out(&mut self, now: Time) {
        let Some(limit) = self.shared.idle_timeout else { return };
        let is_over =
            |line: &Line| line.is_ready && line.under_way.is_empty() && now.saturating_since(line.last_used) > limit;
        let closed = self.shared.lines.extract_if(.., |line| is_over(line));
        self.actions.extend(closed.map(|line| Action::Close(line.connection)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Priority;
    use crate::players::dash::config::DashConfig;

    const HTTP2: Protocol = Protocol::Http2 { video: Priority::UNSAID, audio: Priority::UNSAID };

    /// What the client says at the `n`-th second, in short: "+c" opens connection c, "-c" closes it, "r>c" sends request r on it, "!r"
    /// does not want r any more.
    struct Client {
        io: Io,
        now: Time,
    }

    impl Client {
        fn new(protocol: Protocol) -> Client {
            let mut config = DashConfig { protocol, ..DashConfig::default() };
            config.connections.idle_timeout = Some(Duration::from_secs(60));
            Client { io: Io::new(&config), now: Time::ZERO }
        }

        fn said(&mut self) -> String {
            self.now += Duration::from_secs(1);
            let word = |action: Action| match action {
                Action::Open(connection) => format!("+{}", connection.0),
                Action::Close(connection) => format!("-{}", connection.0),
                Action::Request(request) => format!("{}>{}", request.id.0, request.connection.0),
                Action::Abandon(request) => format!("!{}", request.0),
            };
            self.io.actions.drain(..).map(word).collect::<Vec<_>>().join(" ")
        }

        fn send(&mut self, host: u8, id: u32) -> String {
            self.io.send_shared(self.now, host, Request::of_file(ConnectionId(0), RequestId(id), 1));
            self.said()
        }

        fn connected(&mut self, id: u32) -> String {
            assert!(self.io.handle_shared_connected(self.now, ConnectionId(id)));
            self.said()
        }

        fn finished(&mut self, id: u32) -> String {
            self.io.finish_shared(self.now, RequestId(id));
            self.said()
        }

        fn abandoned(&mut self, id: u32) -> String {
            self.io.abandon_shared(RequestId(id));
            self.said()
        }
    }

    /// Two connections at most: the third request waits for whichever is free first, and so does the second, although connection 1
    /// was opened for it.
    #[test]
    fn requests_share_as_many_connections_as_are_allowed() {
        let mut client = Client::new(Protocol::Http1 { most: 2 });
        assert_eq!((0..3).map(|id| client.send(0, id)).collect::<Vec<_>>(), ["+0", "+1", ""]);
        assert_eq!(client.connected(0), "0>0");
        assert_eq!(client.finished(0), "1>0");
        assert_eq!(client.connected(1), "2>1");
        assert_eq!(client.finished(1), "");
        assert_eq!(client.finished(2), "");
        // Both are idle; connection 1 was used last.
        assert_eq!(client.send(0, 3), "3>1");
        assert_eq!(client.send(0, 4), "4>0");
        assert_eq!(client.send(1, 5), "+2", "another host has connections of its own");
    }

    #[test]
    fn six_are_enough_for_a_browser() {
        let mut client = Client::new(Protocol::Http1 { most: 6 });
        let opened = (0..10).filter(|&id| client.send(0, id).starts_with('+')).count();
        assert_eq!(opened, 6);
    }

    /// Under HTTP/1.1 a response that is not wanted costs its connection; what waits gets another.
    #[test]
    fn abandonment_closes_the_connection() {
        let mut client = Client::new(Protocol::Http1 { most: 1 });
        assert_eq!(
            (client.send(0, 0), client.connected(0), client.send(0, 1)),
            ("+0".into(), "0>0".into(), String::new())
        );
        assert_eq!(client.abandoned(0), "!0 -0 +1");
        assert_eq!(client.connected(1), "1>1");
        assert_eq!((client.finished(1), client.send(0, 2)), (String::new(), "2>1".into()), "it is kept");
    }

    /// What was not sent yet costs nothing; the connection opened for it serves the next request.
    #[test]
    fn what_waits_is_given_up_without_a_word() {
        let mut client = Client::new(Protocol::Http1 { most: 6 });
        assert_eq!((client.send(0, 0), client.abandoned(0)), ("+0".into(), String::new()));
        assert_eq!((client.connected(0), client.send(0, 1)), (String::new(), "1>0".into()));
    }

    #[test]
    fn http2_has_one_connection_for_all() {
        let mut client = Client::new(HTTP2);
        assert_eq!((client.send(0, 0), client.send(0, 1)), ("+0".into(), String::new()));
        assert_eq!(client.connected(0), "0>0 1>0");
        assert_eq!(client.send(0, 2), "2>0");
        assert_eq!(client.abandoned(1), "!1", "the stream is reset, the connection stays");
        assert_eq!(client.send(0, 3), "3>0");
    }

    #[test]
    fn idle_connections_are_replaced_when_the_server_has_closed_them() {
        let mut client = Client::new(Protocol::Http1 { most: 6 });
        assert_eq!(
            (client.send(0, 0), client.connected(0), client.finished(0)),
            ("+0".into(), "0>0".into(), String::new())
        );
        client.now += Duration::from_secs(61);
        assert_eq!(client.send(0, 1), "-0 +1");
    }
}
