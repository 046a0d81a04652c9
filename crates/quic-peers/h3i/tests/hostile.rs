//! Malformed HTTP/3 by an independent client, h3i, at `playpath serve` over real sockets: each is answered by the code that RFC 9114 or
//! 9204 asks for, and the server goes on serving.
//!
//! `cargo build --release -p playpath-serve`, then
//! `cargo test --manifest-path crates/quic-peers/Cargo.toml --target-dir target -p playpath-h3i`. `PLAYPATH_SERVE` names another program.

use h3i::actions::h3::{Action, ExpectedStreamSendResult, StreamEvent, StreamEventType, WaitType};
use h3i::client::connection_summary::ConnectionSummary;
use h3i::client::sync_client;
use h3i::config::Config;
use h3i::frame::H3iFrame;
use h3i::quiche::h3::Header;
use h3i::quiche::h3::frame::Frame;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const OK: ExpectedStreamSendResult = ExpectedStreamSendResult::Ok;
const CONTROL: u64 = 0x00;
const PUSH: u64 = 0x01;
const QPACK_ENCODER: u64 = 0x02;
const QPACK_DECODER: u64 = 0x03;

struct Server {
    child: Child,
    port: String,
}

impl Server {
    fn start() -> Server {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("www");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("file"), vec![7; 100_000]).unwrap();
        let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/release/playpath-serve");
        let program = std::env::var_os("PLAYPATH_SERVE").map_or(built, PathBuf::from);
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = socket.local_addr().unwrap().port().to_string();
        drop(socket);
        let mut child = Command::new(&program)
            .arg(&folder)
            .args(["--transport", "quic", "--address", "127.0.0.1", "--port", &port])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let loaded: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(loaded["ready"], true);
        Server { child, port }
    }

    /// Does this, and waits until the server has answered.
    fn meets(&self, mut actions: Vec<Action>) -> ConnectionSummary {
        actions.push(Action::FlushPackets);
        actions.push(Action::Wait { wait_type: WaitType::WaitDuration(Duration::from_millis(1500)) });
        let config = Config::new()
            .with_host_port("localhost:".to_owned() + &self.port)
            .with_connect_to("127.0.0.1:".to_owned() + &self.port)
            .with_idle_timeout(3000)
            .verify_peer(false)
            .build()
            .unwrap();
        sync_client::connect(config, actions, None).unwrap()
    }

    /// The code that it closes the connection with.
    fn closes(&self, actions: Vec<Action>) -> Option<u64> {
        let summary = self.meets(actions);
        let error = summary.conn_close_details.peer_error()?;
        assert!(error.is_app, "{error:?}");
        Some(error.error_code)
    }

    /// The status of the answer on stream 0; 0 where the stream was reset.
    fn answers(&self, actions: Vec<Action>) -> u64 {
        let summary = self.meets(actions);
        assert!(summary.conn_close_details.peer_error().is_none(), "{:?}", summary.conn_close_details.peer_error());
        if let Some(headers) = summary.stream_map.headers_on_stream(0).first() {
            let status = headers.status_code().expect("an answer has a status").clone();
            return String::from_utf8(status).unwrap().parse().unwrap();
        }
        let is_reset = |frame: &H3iFrame| matches!(frame, H3iFrame::ResetStream(_));
        assert!(summary.stream_map.stream(0).iter().any(is_reset), "neither answered nor reset");
        0
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn bytes(stream_id: u64, fin_stream: bool, bytes: &[u8]) -> Action {
    Action::StreamBytes { stream_id, fin_stream, bytes: bytes.to_vec(), expected_result: OK }
}
fn opened(stream_id: u64, stream_type: u64) -> Action {
    Action::OpenUniStream { stream_id, fin_stream: false, stream_type, expected_result: OK }
}
/// A control stream that has begun as it should.
fn control() -> Vec<Action> {
    vec![opened(2, CONTROL), bytes(2, false, &[0x04, 0x00])]
}
fn after_settings(more: &[u8]) -> Vec<Action> {
    [control(), vec![bytes(2, false, more)]].concat()
}
fn request(fields: &[(&str, &str)]) -> Action {
    let headers: Vec<Header> =
        fields.iter().map(|(name, value)| Header::new(name.as_bytes(), value.as_bytes())).collect();
    h3i::actions::h3::send_headers_frame_literal(0, true, headers)
}
fn get(path: &str) -> Vec<(&'static str, String)> {
    vec![
        (":method", "GET".into()),
        (":scheme", "https".into()),
        (":authority", "localhost".into()),
        (":path", path.into()),
    ]
}
fn asked(path: &str) -> Action {
    let fields = get(path);
    request(&fields.iter().map(|(name, value)| (*name, value.as_str())).collect::<Vec<_>>())
}

#[test]
fn a_wrong_connection_is_closed_with_the_code_of_the_rule() {
    let server = Server::start();
    let huge_settings = [[0x04, 0x02, 0x06].as_slice(), &[0x00]].concat();
    let cases: Vec<(&str, Vec<Action>, u64)> = vec![
        ("DATA before HEADERS (RFC 9114 §4.1)", vec![bytes(0, true, &[0x00, 0x01, 0x78])], 0x105),
        ("SETTINGS on a request (§7.2.4)", vec![bytes(0, false, &[0x04, 0x00])], 0x105),
        ("GOAWAY on a request (§7.2.6)", vec![bytes(0, false, &[0x07, 0x01, 0x00])], 0x105),
        ("MAX_PUSH_ID on a request (§7.2.7)", vec![bytes(0, false, &[0x0d, 0x01, 0x00])], 0x105),
        ("a frame that ends before its length (§7.1)", vec![bytes(0, true, &[0x01, 0x10, 0x00])], 0x106),
        (
            "a control stream without SETTINGS (§6.2.1)",
            vec![opened(2, CONTROL), bytes(2, false, &[0x07, 0x01, 0x00])],
            0x10a,
        ),
        (
            "two control streams (§6.2.1)",
            [control(), vec![opened(6, CONTROL), bytes(6, false, &[0x04, 0x00])]].concat(),
            0x103,
        ),
        ("a control stream that ends (§6.2.1)", vec![opened(2, CONTROL), bytes(2, true, &[0x04, 0x00])], 0x104),
        ("two SETTINGS (§7.2.4)", after_settings(&[0x04, 0x00]), 0x105),
        ("a setting of HTTP/2 (§7.2.4.1)", vec![opened(2, CONTROL), bytes(2, false, &[0x04, 0x02, 0x02, 0x00])], 0x109),
        (
            "a setting twice (§7.2.4)",
            vec![opened(2, CONTROL), bytes(2, false, &[0x04, 0x04, 0x06, 0x05, 0x06, 0x05])],
            0x109,
        ),
        ("DATA on the control stream (§7.2.1)", after_settings(&[0x00, 0x01, 0x78]), 0x105),
        ("HEADERS on the control stream (§7.2.2)", after_settings(&[0x01, 0x02, 0x00, 0x00]), 0x105),
        ("a frame of HTTP/2 (§7.2.8)", after_settings(&[0x06, 0x00]), 0x105),
        ("a client's push stream (§6.2.2)", vec![opened(2, PUSH)], 0x103),
        (
            "a reference to a table that is empty (RFC 9204 §2.2.1)",
            vec![bytes(0, true, &[0x01, 0x03, 0x02, 0x00, 0x80])],
            0x200,
        ),
        (
            "a static index that is not there (RFC 9204 §3.1)",
            vec![bytes(0, true, &[0x01, 0x04, 0x00, 0x00, 0xff, 0x7f])],
            0x200,
        ),
        (
            "a table larger than allowed (RFC 9204 §4.3.1)",
            vec![opened(2, QPACK_ENCODER), bytes(2, false, &[0x3f, 0x45])],
            0x201,
        ),
        ("an increment of nothing (RFC 9204 §4.4.3)", vec![opened(2, QPACK_DECODER), bytes(2, false, &[0x00])], 0x202),
        (
            "a SETTINGS frame that ends in a setting (§7.1)",
            vec![opened(2, CONTROL), bytes(2, false, &huge_settings[..3]), bytes(2, false, &[0x40])],
            0x106,
        ),
    ];
    let mut wrong = vec![];
    for (what, actions, code) in cases {
        let found = server.closes(actions);
        if found != Some(code) {
            wrong.push(format!("{what}: {found:x?}, not {code:#x}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(server.answers(vec![asked("/file")]), 200);
}

#[test]
fn a_wrong_request_is_refused_by_itself() {
    let server = Server::start();
    let path = (":path", "/file");
    let head = [(":method", "GET"), (":scheme", "https"), (":authority", "localhost")];
    let cases: Vec<(&str, Vec<(&str, &str)>)> = vec![
        ("no path", head.to_vec()),
        ("no method", vec![head[1], head[2], path]),
        ("a pseudo-field twice", [head.as_slice(), &[path, path]].concat()),
        ("a pseudo-field after others", [head.as_slice(), &[("accept", "*/*"), path]].concat()),
        ("a pseudo-field that nobody knows", [head.as_slice(), &[path, (":colour", "red")]].concat()),
        ("a status in a request", [head.as_slice(), &[path, (":status", "200")]].concat()),
        ("a capital letter", [head.as_slice(), &[path, ("Accept", "*/*")]].concat()),
        ("a field of the connection", [head.as_slice(), &[path, ("connection", "close")]].concat()),
        ("a line break in a value", [head.as_slice(), &[path, ("accept", "a\r\nb: c")]].concat()),
        ("a body that does not come (§4.1.2)", [head.as_slice(), &[path, ("content-length", "6")]].concat()),
    ];
    let mut served = vec![];
    for (what, fields) in cases {
        let status = server.answers(vec![request(&fields)]);
        if status != 0 && !(400..500).contains(&status) {
            served.push(format!("{what}: {status}"));
        }
    }
    assert!(served.is_empty(), "{}", served.join("\n"));
    assert_eq!(server.answers(vec![asked("/file")]), 200);
}

/// Greasing (RFC 9114 §7.2.8, §6.2.3): what nobody knows is passed over.
#[test]
fn what_is_reserved_does_no_harm() {
    let server = Server::start();
    let frame = Frame::Unknown { raw_type: 0x21 + 0x1f * 7, payload: vec![1, 2, 3] };
    let grease = Action::SendFrame { stream_id: 2, fin_stream: false, frame, expected_result: OK };
    let actions =
        [control(), vec![grease, opened(6, 0x21 + 0x1f * 5), bytes(6, true, b"anything"), asked("/file")]].concat();
    assert_eq!(server.answers(actions), 200);
}

/// It ends while the answer is under way: others go on.
#[test]
fn an_answer_that_nobody_wants_any_more_ends() {
    let server = Server::start();
    let first = WaitType::StreamEvent(StreamEvent { stream_id: 0, event_type: StreamEventType::Headers });
    let actions = vec![
        asked("/file"),
        Action::FlushPackets,
        Action::Wait { wait_type: first },
        Action::StopSending { stream_id: 0, error_code: 0x10c },
    ];
    assert_eq!(server.answers(actions), 200);
    assert_eq!(server.answers(vec![asked("/file")]), 200);
}
