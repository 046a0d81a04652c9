//! No bytes make what reads QUIC, HTTP/3 and HTTP/2 panic: headers, frames, transport parameters, QPACK, HPACK, requests, the control
//! stream; nor the server, at any time, whatever datagrams come; it keeps to its limits, answers a stranger at most three times what it sent, and forgets
//! them all.
#![no_main]

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use playpath_serve::h2::{Http2, PREFACE};
use playpath_serve::h3::Control;
use playpath_serve::h3::fields::{decode, encode};
use playpath_serve::h3::request::Request;
use playpath_serve::quic::identity::{Identity, Tls};
use playpath_serve::quic::server::{Server, Settings};
use playpath_serve::quic::session::Envelope;
use playpath_serve::secrets::Random;
use playpath_serve::settings::{Limits, of_quic, sender};
use playpath_serve::store::Store;
use playpath_transport::Ecn;
use playpath_transport::codec::quic::{Header, read_frames, read_parameters};
use playpath_units::{Duration, Time};
use serde_json::json;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::LazyLock;
use std::time::SystemTime;

#[derive(Arbitrary, Debug)]
struct Input {
    payload: Vec<u8>,
    datagrams: Vec<Strange>,
}

/// A datagram of a stranger.
#[derive(Arbitrary, Debug)]
struct Strange {
    first: u8,
    is_version_1: bool,
    id: [u8; 8],
    rest: Vec<u8>,
    /// To 1200 bytes.
    is_padded: bool,
    /// Before it.
    pause: u16,
}

static TLS: LazyLock<Tls> = LazyLock::new(|| {
    let made = Identity::made(&["h3.test".into()]).expect("a name that may stand in a certificate");
    made.into_tls().expect("its own key")
});

const LIMITS: Limits = Limits {
    connections: 5,
    half_open: 3,
    half_open_unproven: 2,
    open_timeout: Duration::from_secs(20),
    request_timeout: Duration::from_secs(20),
    idle_timeout: Duration::from_secs(60),
    receive_buffer: 1 << 16,
};

fn store() -> Store {
    Store::open(Path::new(env!("CARGO_MANIFEST_DIR"))).expect("the folder of this package")
}

fn read(payload: &[u8]) {
    Header::parse(payload, 8);
    let _ = read_frames(payload);
    let _ = read_parameters(payload, &[1]);
    if let Some(fields) = decode(payload) {
        let again = encode(fields.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        assert_eq!(decode(&again), Some(fields));
    }
    let (store, mut request, mut control) = (store(), Request::default(), Control::default());
    let mut at = 0;
    while let Ok((consumed, _)) = request.handle(&payload[at..], &store, SystemTime::UNIX_EPOCH)
        && consumed > 0
    {
        at += consumed;
    }
    at = 0;
    while let Ok((consumed, _)) = control.handle(2, (at == 0, false), &payload[at..])
        && consumed > 0
    {
        at += consumed;
    }
}

/// Frames of HTTP/2, as they come or each with the right length.
fn read_http2(payload: &[u8], is_framed: bool) {
    let framed = || payload.chunks(40).flat_map(|frame| [&[0, 0, frame.len().saturating_sub(6) as u8], frame].concat());
    let frames = if is_framed { framed().collect() } else { payload.to_vec() };
    let (store, mut http, input) = (store(), Http2::default(), [PREFACE, &frames].concat());
    let mut at = 0;
    while let Ok((consumed, _)) = http.handle(Time::ZERO, &input[at..], &store)
        && consumed > 0
    {
        at += consumed;
        while http.poll().is_some() {}
    }
    assert!(http.footprint() <= 128 * 1024);
}

fuzz_target!(|input: Input| {
    read(&input.payload);
    read_http2(&input.payload, false);
    read_http2(&input.payload, true);
    let sender = sender(&json!({ "transport": "quic" }), Some("cubic"), None).expect("CUBIC over QUIC");
    let endpoint = of_quic(&sender).expect("QUIC");
    let settings = Settings { endpoint, sender, largest_datagram: 1452, limits: LIMITS };
    let mut server = Server::new(settings, store(), TLS.clone(), Box::new(Random));
    let remote: SocketAddr = ([10, 0, 0, 1], 5000).into();
    let (mut now, mut sent, mut answered) = (Time::ZERO, 0, 0);
    for Strange { first, is_version_1, id, rest, is_padded, pause } in input.datagrams {
        let version = if is_version_1 { 1u32 } else { 7 };
        let mut datagram = [&[first][..], &version.to_be_bytes(), &[8], &id, &[0], &rest].concat();
        if is_padded {
            datagram.resize(datagram.len().max(1200), 0);
        }
        now += Duration::from_millis(pause.into());
        sent += datagram.len();
        server.handle_timeout(now);
        server.handle_datagram(now, Envelope { remote, local: None, ecn: Ecn::NotEct }, &mut datagram);
        let mut out = Vec::new();
        while server.poll_datagram(now, &mut out).is_some() {}
        answered += out.len();
        assert!(answered <= 3 * sent, "{answered} for {sent}");
        assert!(server.clients.by_id.len() <= LIMITS.half_open);
    }
    now += Duration::from_secs(200);
    server.handle_timeout(now);
    while server.poll_datagram(now, &mut Vec::new()).is_some() {}
    assert_eq!(server.clients.by_id.len(), 0);
});
