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
    assert_eq!((client.send(0, 0), client.connected(0), client.send(0, 1)), ("+0".into(), "0>0".into(), String::new()));
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
