//! HTTP/2 by hand and at random: which frame comes next, what windows hold back, what a reset costs, and that every byte comes once.

use playpath_http::http2::{CONNECTION_WINDOW, FRAME_HEADER, Frame, Http2Connection, MAX_FRAME, STREAM_WINDOW, Server};
use playpath_http::{Ordered, Received};
use playpath_units::Time;
use playpath_video::{ConnectionId, Delivery, Request, RequestId};
use proptest::prelude::*;
use serde_json::Value;
use std::collections::BTreeMap;

const HEADER: u32 = 100;

fn request(id: u32, body_bytes: u64, priority: &str) -> Request {
    Request {
        request_header_bytes: 60,
        response_header_bytes: HEADER,
        priority: Some(priority.parse().unwrap()),
        ..Request::of_file(ConnectionId(0), RequestId(id), body_bytes)
    }
}

fn server(requests: &[Request]) -> Server {
    let mut server = Server::new([]);
    requests.iter().for_each(|request| server.handle_request(Time::ZERO, request, 0));
    server
}

/// Frames as (stream, body bytes) until there is none; headers as body bytes of 0.
fn schedule(server: &mut Server) -> Vec<(u32, u64)> {
    let frames = std::iter::from_fn(|| server.next_frame(Time::ZERO));
    frames.map(|Frame { stream, body, .. }| (stream.unwrap().0, body)).collect()
}

/// Video of 40 000 bytes asked for first, audio of 20 000 bytes more urgent: 40 000 = 2 · 16 384 + 7232, 20 000 = 16 384 + 3616.
#[test]
fn the_more_urgent_stream_goes_first() {
    let mut server = server(&[request(0, 40_000, "u=3, i"), request(1, 20_000, "u=1, i")]);
    let expected = [(0, 0), (1, 0), (1, 16_384), (1, 3616), (0, 16_384), (0, 16_384), (0, 7232)];
    assert_eq!(schedule(&mut server), expected);
}

/// A request that comes later overtakes what is not framed yet, and nothing else.
#[test]
fn urgency_holds_from_the_next_frame_on() {
    let mut server = server(&[request(0, 40_000, "u=3")]);
    let first: Vec<_> = (0..2).map(|_| server.next_frame(Time::ZERO).unwrap().body).collect();
    assert_eq!(first, [0, 16_384]);
    server.handle_request(Time::ZERO, &request(1, 5000, "u=2"), 0);
    assert_eq!(schedule(&mut server), [(1, 0), (1, 5000), (0, 16_384), (0, 7232)]);
}

/// Equal urgency: not incremental one after the other, then incremental by turns. 20 000 = 16 384 + 3616.
#[test]
fn incremental_streams_share_and_others_do_not() {
    let mut server = server(&[
        request(0, 20_000, "u=3, i"),
        request(1, 20_000, "u=3"),
        request(2, 20_000, "u=3"),
        request(3, 20_000, "u=3, i"),
    ]);
    let expected: Vec<(u32, u64)> =
        vec![(1, 16_384), (1, 3616), (2, 16_384), (2, 3616), (0, 16_384), (3, 16_384), (0, 3616), (3, 3616)];
    assert_eq!(schedule(&mut server)[4..], expected);
}

/// By bytes, and without a claim to what came before it joined: A has had two frames when B comes; then they alternate.
#[test]
fn who_joins_has_no_claim_to_what_others_had() {
    let mut server = server(&[request(0, 5 * MAX_FRAME, "i")]);
    let first: Vec<_> = (0..3).map(|_| server.next_frame(Time::ZERO).unwrap().body).collect();
    assert_eq!(first, [0, MAX_FRAME, MAX_FRAME]);
    server.handle_request(Time::ZERO, &request(1, 2 * MAX_FRAME, "i"), 0);
    let streams: Vec<u32> = schedule(&mut server).iter().map(|(stream, _)| *stream).collect();
    assert_eq!(streams, [1, 0, 1, 0, 1, 0]);
}

/// 6 MiB of one stream, 15 MiB of all: three streams of 8 MiB get 6 + 6 + 3, and go on when the client opens the windows again.
#[test]
fn windows_hold_back() {
    const MIB: u64 = 1 << 20;
    let mut server = server(&[request(0, 8 * MIB, "u=1"), request(1, 8 * MIB, "u=1"), request(2, 8 * MIB, "u=1")]);
    let framed = |server: &mut Server| {
        let mut sums = [0; 3];
        schedule(server).iter().for_each(|(stream, body)| sums[*stream as usize] += body);
        sums.map(|sum| sum / MIB)
    };
    assert_eq!((STREAM_WINDOW, CONNECTION_WINDOW), (6 * MIB, 15 * MIB));
    assert_eq!(framed(&mut server), [6, 6, 3]);
    server.handle_window_update(Some(RequestId(1)), MIB);
    assert_eq!(framed(&mut server), [0, 0, 0], "the connection's window is shut");
    server.handle_window_update(None, 5 * MIB);
    assert_eq!(framed(&mut server), [0, 1, 3], "stream 0 waits for its own window");
    server.handle_window_update(Some(RequestId(0)), 2 * MIB);
    assert_eq!(framed(&mut server), [1, 0, 0], "the fifth of the connection's");
}

/// 40 drawn cases, up to six requests, most of which come while others are served: the DATA frames are those of nghttp2 1.52, as
/// `tests/python/nghttp2.py` has recorded them.
#[test]
fn frames_come_in_the_order_of_nghttp2() {
    let cases: Value = serde_json::from_str(include_str!("data/nghttp2.json")).unwrap();
    let number = |value: &Value| value.as_u64().unwrap();
    for case in cases.as_array().unwrap() {
        let (mut server, mut sent) = (server(&[]), Vec::new());
        let mut requests = case["requests"].as_array().unwrap().iter().zip(0..).peekable();
        loop {
            while let Some((asked, id)) = requests.next_if(|(asked, _)| number(&asked["after"]) <= sent.len() as u64) {
                let priority = asked["priority"].as_str().unwrap();
                server.handle_request(Time::ZERO, &request(id, number(&asked["bytes"]), priority), 0);
            }
            let Some(frame) = server.next_frame(Time::ZERO) else { break };
            if frame.body > 0 {
                sent.push((u64::from(frame.stream.unwrap().0), frame.body));
            }
        }
        let pair = |frame: &Value| (number(&frame[0]), number(&frame[1]));
        let expected: Vec<_> = case["frames"].as_array().unwrap().iter().map(pair).collect();
        assert_eq!(sent, expected, "{}", case["requests"]);
    }
}

/// Data that does not exist yet holds nobody up: of a chunked response the second half is encoded a second later.
#[test]
fn a_stream_without_data_lets_others_by() {
    let chunked = Delivery::AsEncoded {
        pieces: 2,
        encoded: 1,
        next_at: Time::from_secs(1),
        every: playpath_units::Duration::from_secs(1),
    };
    let mut server = server(&[Request { delivery: chunked, ..request(0, 2000, "u=0") }, request(1, 3000, "u=5")]);
    assert_eq!(schedule(&mut server), [(0, 0), (1, 0), (0, 1000), (1, 3000)]);
    assert_eq!(server.next_write(Time::ZERO), Time::from_secs(1));
    let late = server.next_frame(Time::from_secs(1)).unwrap();
    assert_eq!((late.body, late.is_last), (1000, true));
}

/// Both ends of a connection over a wire without latency, whose server's socket takes so many bytes at once.
struct Wire {
    connection: Http2Connection,
    to_server: u64,
    to_client: u64,
    bodies: BTreeMap<RequestId, u64>,
    /// All that was written by the server.
    written: u64,
}

impl Wire {
    fn new() -> Wire {
        let connection = Http2Connection::default();
        let to_server = connection.begin();
        Wire { connection, to_server, to_client: 0, bodies: BTreeMap::new(), written: 0 }
    }

    fn send(&mut self, request: Request) {
        self.to_server += self.connection.send(request);
    }

    /// The server reads `most` of what is under way.
    fn up(&mut self, most: u64) {
        let bytes = most.min(self.to_server);
        self.to_server -= bytes;
        for request in self.connection.handle_at_server(bytes) {
            self.connection.respond(Time::ZERO, &request, None);
        }
    }

    /// The server writes `most`.
    fn write(&mut self, mut most: u64) {
        while most > 0 {
            let bytes = self.connection.poll_write(Time::ZERO).min(most);
            if bytes == 0 {
                return;
            }
            self.connection.wrote(bytes);
            (self.to_client, self.written, most) = (self.to_client + bytes, self.written + bytes, most - bytes);
        }
    }

    /// The client reads `most` of what is under way.
    fn down(&mut self, most: u64) {
        let bytes = most.min(self.to_client);
        self.to_client -= bytes;
        let bodies = &mut self.bodies;
        self.to_server += self.connection.handle_at_client(bytes, &mut |id, came| match came {
            Received::Body(body) => *bodies.entry(id).or_default() += body,
            Received::ServerData(shown) => panic!("nobody told {shown:?}"),
        });
    }

    fn settle(&mut self) {
        while self.to_server > 0 || self.to_client > 0 || self.connection.poll_write(Time::ZERO) > 0 {
            self.up(u64::MAX);
            self.write(1 << 20);
            self.down(u64::MAX);
        }
    }
}

/// 100 000 bytes are wanted no more when 40 000 bytes of the connection were written: the frame under way is finished and comes to
/// nothing, no other follows. Said first: preface 24 + 33 + 13 by the client, 27 + 13 and an acknowledgement of 9 by the server.
#[test]
fn a_reset_stream_costs_what_was_begun() {
    let mut wire = Wire::new();
    assert_eq!(wire.to_server, 70);
    wire.send(request(0, 100_000, "u=1, i"));
    assert_eq!(wire.to_server, 70 + FRAME_HEADER + 60);
    wire.up(u64::MAX);
    wire.write(40_000);
    wire.down(u64::MAX);
    let delivered = wire.bodies[&RequestId(0)];
    // 40 000 less 49 of the connection, 109 of the header and three frame headers.
    assert_eq!(delivered, 40_000 - 49 - 109 - 3 * FRAME_HEADER);
    let said = wire.connection.abandon(RequestId(0));
    assert_eq!((said, wire.connection.abandon(RequestId(0))), (13, 0), "RST_STREAM once");
    wire.to_server += said;
    wire.settle();
    assert_eq!(wire.bodies[&RequestId(0)], delivered, "what still comes is not handed over");
    // The third frame ends at 49 + 109 + 3 · 16 393.
    assert_eq!(wire.written, 49 + 109 + 3 * (FRAME_HEADER + MAX_FRAME));
    assert!(wire.connection.is_idle());
}

/// A response without a body ends with its header.
#[test]
fn an_empty_response_is_complete() {
    let mut wire = Wire::new();
    wire.send(request(0, 0, "u=1"));
    wire.settle();
    assert!(wire.connection.is_idle() && wire.bodies.is_empty());
}

#[derive(Clone, Debug)]
enum Step {
    Send(u64, u8, bool),
    Abandon(u32),
    Up(u64),
    Write(u64),
    Down(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0..20_000_000_u64, 0..8_u8, any::<bool>()).prop_map(|(body, urgency, i)| Step::Send(body, urgency, i)),
        1 => (0..20_u32).prop_map(Step::Abandon),
        4 => (1..3000_u64).prop_map(Step::Up),
        6 => (1..4_000_000_u64).prop_map(Step::Write),
        6 => (1..4_000_000_u64).prop_map(Step::Down),
    ];
    prop::collection::vec(step, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Every byte that was asked for and not given up comes once, and never more than the windows is under way.
    #[test]
    fn every_byte_comes_once(steps in steps()) {
        let mut wire = Wire::new();
        let mut wanted: BTreeMap<RequestId, u64> = BTreeMap::new();
        let mut asked = 0;
        for step in steps {
            match step {
                Step::Send(body, urgency, is_incremental) => {
                    wanted.insert(RequestId(asked), body);
                    wire.send(request(asked, body, &format!("u={urgency}{}", if is_incremental { ", i" } else { "" })));
                    asked += 1;
                }
                Step::Abandon(id) => {
                    wire.to_server += wire.connection.abandon(RequestId(id));
                    if wire.bodies.get(&RequestId(id)) != wanted.get(&RequestId(id)) {
                        wanted.remove(&RequestId(id));
                    }
                }
                Step::Up(bytes) => wire.up(bytes),
                Step::Write(bytes) => wire.write(bytes),
                Step::Down(bytes) => wire.down(bytes),
            }
            let frames = CONNECTION_WINDOW / MAX_FRAME * 2 + 100;
            prop_assert!(wire.to_client <= CONNECTION_WINDOW + frames * (FRAME_HEADER + u64::from(HEADER)));
        }
        wire.settle();
        prop_assert!(wire.connection.is_idle());
        for (id, body) in wanted {
            prop_assert_eq!(wire.bodies.get(&id).copied().unwrap_or(0), body, "{:?}", id);
        }
    }
}
