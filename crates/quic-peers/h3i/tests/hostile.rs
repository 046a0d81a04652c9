//! Malformed HTTP/3 by an independent client, h3i, at `playpath serve` over real sockets: each is answered by the code that RFC 9114,
//! 9204 or 9218 asks for, and an honest client is served meanwhile.
//!
//! `cargo build --release -p playpath-serve`, then
//! `cargo test --manifest-path crates/quic-peers/Cargo.toml --target-dir target -p playpath-h3i`. `PLAYPATH_SERVE` names another program.

use h3i::actions::h3::{Action, ExpectedStreamSendResult, StreamEvent, StreamEventType, WaitType};
use h3i::client::connection_summary::ConnectionSummary;
use h3i::client::sync_client;
use h3i::config::Config;
use h3i::frame::H3iFrame;
use h3i::quiche::ConnectionError;
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
        let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/release/playpath-serve");
        let program = std::env::var_os("PLAYPATH_SERVE").map_or(built, PathBuf::from);
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = socket.local_addr().unwrap().port().to_string();
        drop(socket);
        // Its own: written by another test at the same time, the file is empty for a moment.
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(&port);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("file"), vec![7; 100_000]).unwrap();
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
        self.sees(actions)
    }

    /// How many bytes of the file an honest client gets.
    fn serves(&self) -> usize {
        let all = WaitType::StreamEvent(StreamEvent { stream_id: 0, event_type: StreamEventType::Finished });
        let error = ConnectionError { is_app: true, error_code: 0x100, reason: vec![] };
        let wait = Action::Wait { wait_type: all };
        let summary = self.sees(vec![asked("/file"), Action::FlushPackets, wait, Action::ConnectionClose { error }]);
        let body = |frame| match frame {
            H3iFrame::QuicheH3(Frame::Data { payload }) => payload.len(),
            _ => 0,
        };
        summary.stream_map.stream(0).into_iter().map(body).sum()
    }

    fn sees(&self, actions: Vec<Action>) -> ConnectionSummary {
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

    /// What comes on stream 0.
    fn answers(&self, actions: Vec<Action>) -> Answer {
        let summary = self.meets(actions);
        if let Some(error) = summary.conn_close_details.peer_error() {
            return Answer::Closed(error.error_code);
        }
        if let Some(headers) = summary.stream_map.headers_on_stream(0).first() {
            let status = headers.status_code().expect("an answer has a status").clone();
            return Answer::Status(String::from_utf8(status).unwrap().parse().unwrap());
        }
        let code_of = |frame: H3iFrame| match frame {
            H3iFrame::ResetStream(reset) => Some(Answer::Reset(reset.error_code)),
            _ => None,
        };
        summary.stream_map.stream(0).into_iter().find_map(code_of).unwrap_or(Answer::Silence)
    }

    /// Runs `attacks` while another client asks again and again: it gets the whole file each time.
    fn serves_an_honest_client_during(&self, attacks: impl FnOnce() + Send) {
        std::thread::scope(|scope| {
            let attacks = scope.spawn(attacks);
            let mut served = 0;
            while !attacks.is_finished() {
                assert_eq!(self.serves(), 100_000, "download {served}");
                served += 1;
            }
            attacks.join().unwrap();
            assert!(served > 3, "{served}");
        });
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Status(u64),
    /// The stream was reset with this code.
    Reset(u64),
    /// The connection was.
    Closed(u64),
    Silence,
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
/// Behind a request for the file.
fn after_head(more: &[u8]) -> Vec<Action> {
    let Action::SendHeadersFrame { stream_id, literal_headers, headers, frame, expected_result, .. } = asked("/file")
    else {
        unreachable!("it is a request")
    };
    let fin_stream = false;
    let head = Action::SendHeadersFrame { stream_id, fin_stream, literal_headers, headers, frame, expected_result };
    vec![head, bytes(0, true, more)]
}
/// PRIORITY_UPDATE of this kind (RFC 9218 §7.2): u=1.
fn priority_update(last_byte: u8, id: &[u8]) -> Vec<u8> {
    [&[0x80, 0x0f, 0x07, last_byte, id.len() as u8 + 3], id, b"u=1"].concat()
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
    let far = [0x80, 0x10, 0x00, 0x00]; // stream 2^20
    let of_request = |id: &[u8]| priority_update(0x00, id);
    let cases: Vec<(&str, Vec<Action>, u64)> = vec![
        ("DATA before HEADERS (RFC 9114 §4.1)", vec![bytes(0, true, &[0x00, 0x01, 0x78])], 0x105),
        ("SETTINGS on a request (§7.2.4)", vec![bytes(0, false, &[0x04, 0x00])], 0x105),
        ("GOAWAY on a request (§7.2.6)", vec![bytes(0, false, &[0x07, 0x01, 0x00])], 0x105),
        ("MAX_PUSH_ID on a request (§7.2.7)", vec![bytes(0, false, &[0x0d, 0x01, 0x00])], 0x105),
        ("PUSH_PROMISE on a request (§7.2.5)", vec![bytes(0, false, &[0x05, 0x01, 0x00])], 0x105),
        ("PRIORITY_UPDATE on a request (RFC 9218 §7.2)", vec![bytes(0, false, &of_request(&[0x00]))], 0x105),
        ("DATA after trailers (§4.1)", after_head(&[0x01, 0x02, 0x00, 0x00, 0x00, 0x01, 0x78]), 0x105),
        ("HEADERS after trailers (§4.1)", after_head(&[0x01, 0x02, 0x00, 0x00, 0x01, 0x02, 0x00, 0x00]), 0x105),
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
        (
            "a control stream that is reset (§6.2.1)",
            [control(), vec![Action::FlushPackets, Action::ResetStream { stream_id: 2, error_code: 0x100 }]].concat(),
            0x104,
        ),
        ("a QPACK stream that ends (RFC 9204 §4.2)", vec![opened(2, QPACK_ENCODER), bytes(2, true, &[0x20])], 0x104),
        ("two QPACK encoders (RFC 9204 §4.2)", vec![opened(2, QPACK_ENCODER), opened(6, QPACK_ENCODER)], 0x103),
        ("two QPACK decoders (RFC 9204 §4.2)", vec![opened(2, QPACK_DECODER), opened(6, QPACK_DECODER)], 0x103),
        ("two SETTINGS (§7.2.4)", after_settings(&[0x04, 0x00]), 0x105),
        ("a setting of HTTP/2 (§7.2.4.1)", vec![opened(2, CONTROL), bytes(2, false, &[0x04, 0x02, 0x02, 0x00])], 0x109),
        ("setting 0 (§11.2.2)", vec![opened(2, CONTROL), bytes(2, false, &[0x04, 0x02, 0x00, 0x00])], 0x109),
        (
            "SETTINGS of 2^62 bytes (§8.1)",
            vec![opened(2, CONTROL), bytes(2, false, &[0x04, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])],
            0x107,
        ),
        (
            "a setting twice (§7.2.4)",
            vec![opened(2, CONTROL), bytes(2, false, &[0x04, 0x04, 0x06, 0x05, 0x06, 0x05])],
            0x109,
        ),
        ("DATA on the control stream (§7.2.1)", after_settings(&[0x00, 0x01, 0x78]), 0x105),
        ("HEADERS on the control stream (§7.2.2)", after_settings(&[0x01, 0x02, 0x00, 0x00]), 0x105),
        ("PUSH_PROMISE on the control stream (§7.2.5)", after_settings(&[0x05, 0x02, 0x00, 0x00]), 0x105),
        ("MAX_PUSH_ID that shrinks (§7.2.7)", after_settings(&[0x0d, 0x01, 0x08, 0x0d, 0x01, 0x04]), 0x108),
        ("GOAWAY that grows (§5.2)", after_settings(&[0x07, 0x01, 0x00, 0x07, 0x01, 0x04]), 0x108),
        ("CANCEL_PUSH of what nobody promised (§7.2.3)", after_settings(&[0x03, 0x01, 0x00]), 0x108),
        ("an empty MAX_PUSH_ID (§7.1)", after_settings(&[0x0d, 0x00]), 0x106),
        ("GOAWAY with more than its identifier (§7.1)", after_settings(&[0x07, 0x02, 0x00, 0x00]), 0x106),
        ("PRIORITY_UPDATE beyond the limit (RFC 9218 §7.2)", after_settings(&of_request(&far)), 0x108),
        ("PRIORITY_UPDATE of no request (RFC 9218 §7.2)", after_settings(&of_request(&[0x02])), 0x108),
        ("PRIORITY_UPDATE of a push (RFC 9218 §7.2)", after_settings(&priority_update(0x01, &[0x00])), 0x108),
        ("a frame of HTTP/2 (§7.2.8)", after_settings(&[0x06, 0x00]), 0x105),
        ("a client's push stream (§6.2.2)", vec![opened(2, PUSH)], 0x103),
        (
            "a reference to a table that is empty (RFC 9204 §2.2.1)",
            vec![bytes(0, true, &[0x01, 0x03, 0x02, 0x00, 0x80])],
            0x200,
        ),
        (
            "a dynamic index without a table (RFC 9204 §2.2.3)",
            vec![bytes(0, true, &[0x01, 0x03, 0x00, 0x00, 0x80])],
            0x200,
        ),
        ("a dynamic index in trailers (RFC 9204 §2.2.3)", after_head(&[0x01, 0x03, 0x00, 0x00, 0x80]), 0x200),
        (
            "an entry that does not fit (RFC 9204 §3.2.2)",
            vec![opened(2, QPACK_ENCODER), bytes(2, false, &[0x41, 0x61, 0x01, 0x62])],
            0x201,
        ),
        ("a duplicate of nothing (RFC 9204 §3.2.5)", vec![opened(2, QPACK_ENCODER), bytes(2, false, &[0x00])], 0x201),
        (
            "an acknowledgement of nothing (RFC 9204 §4.4.1)",
            vec![opened(2, QPACK_DECODER), bytes(2, false, &[0x80])],
            0x202,
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
            vec![opened(2, CONTROL), bytes(2, false, &[0x04, 0x02, 0x06, 0x40])],
            0x106,
        ),
    ];
    let mut wrong = vec![];
    server.serves_an_honest_client_during(|| {
        for (what, actions, code) in cases {
            let found = server.closes(actions);
            if found != Some(code) {
                wrong.push(format!("{what}: {found:x?}, not {code:#x}"));
            }
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// §4.1.2: its stream is reset by H3_MESSAGE_ERROR, by H3_REQUEST_INCOMPLETE where no head came (§4.1), by H3_EXCESSIVE_LOAD where one is
/// larger than any that is read (§8.1): it need not be malformed.
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
        ("two hosts", [head.as_slice(), &[path, ("host", "elsewhere")]].concat()),
    ];
    let of_bytes: Vec<(&str, Vec<u8>, u64)> = vec![
        ("a head of 2^30 bytes (§8.1)", vec![0x01, 0xc0, 0x00, 0x00, 0x00, 0x40, 0x00, 0x00, 0x00], 0x107),
        ("nothing", vec![], 0x10d),
        ("a frame of no known type alone", vec![0x21, 0x00], 0x10d),
    ];
    let by_fields = cases.into_iter().map(|(what, fields)| (what, request(&fields), 0x10e));
    let by_bytes = of_bytes.into_iter().map(|(what, all, code)| (what, bytes(0, code == 0x10d, &all), code));
    let mut wrong = vec![];
    server.serves_an_honest_client_during(|| {
        for (what, action, code) in by_fields.chain(by_bytes) {
            let found = server.answers(vec![action]);
            if found != Answer::Reset(code) {
                wrong.push(format!("{what}: {found:x?}, not {code:#x}"));
            }
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Greasing (RFC 9114 §7.2.8, §6.2.3): what nobody knows is passed over.
#[test]
fn what_is_reserved_does_no_harm() {
    let server = Server::start();
    // MAX_PUSH_ID that grows, GOAWAY that does not, and the priority of a request to come.
    let grown =
        [&[0x0d, 0x01, 0x04, 0x0d, 0x01, 0x08, 0x07, 0x01, 0x04, 0x07, 0x01, 0x04], &priority_update(0, &[0x04])[..]];
    let grown = grown.concat();
    let frame = Frame::Unknown { raw_type: 0x21 + 0x1f * 7, payload: vec![1, 2, 3] };
    let grease = Action::SendFrame { stream_id: 2, fin_stream: false, frame, expected_result: OK };
    let actions =
        [after_settings(&grown), vec![grease, opened(6, 0x21 + 0x1f * 5), bytes(6, true, b"anything"), asked("/file")]]
            .concat();
    assert_eq!(server.answers(actions), Answer::Status(200));
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
    assert_eq!(server.answers(actions), Answer::Status(200));
    assert_eq!(server.answers(vec![asked("/file")]), Answer::Status(200));
}
