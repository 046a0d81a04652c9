//! What anybody can send to the QUIC server who has only read RFC 9001: Initial keys follow from the packet (§5.2). With a whole client
//! behind them `crates/quic-peers/tests/http3.rs` tests it.

use playpath_serve::quic::identity::Identity;
use playpath_serve::quic::server::{MIN_INITIAL, Server, Settings};
use playpath_serve::quic::session::Envelope;
use playpath_serve::secrets::Random;
use playpath_serve::settings::{Limits, of_quic, sender};
use playpath_serve::store::Store;
use playpath_transport::Ecn;
use playpath_transport::codec::quic::{put_header, put_varint};
use playpath_transport::quic::packet::{Kind, Packet};
use playpath_units::Time;
use rustls::Side;
use rustls::crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256;
use rustls::quic::{DirectionalKeys, Version};
use serde_json::json;
use std::path::Path;

const DESTINATION: [u8; 8] = *b"original";

fn server() -> Server {
    let sender = sender(&json!({ "transport": "quic" }), Some("cubic"), None).unwrap();
    let endpoint = of_quic(&sender).unwrap();
    let settings = Settings { endpoint, sender, largest_datagram: 1452, limits: Limits::default() };
    let tls = Identity::made(&["a.test".into()]).unwrap().into_tls().unwrap();
    let store = Store::open(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
    Server::new(settings, store, tls, Box::new(Random))
}

/// A client's Initial with this number and payload, sealed (RFC 9001 §5).
fn initial(keys: &DirectionalKeys, number: u64, payload: &[u8]) -> Vec<u8> {
    let bytes = Kind::Initial.overhead((8, 8), 2) + payload.len() as u32;
    let mut out = Vec::new();
    let packet = Packet { kind: Kind::Initial, number, bytes, ..Packet::default() };
    put_header(&mut out, &packet, (&DESTINATION, b"from him"), (2, false));
    let number_at = out.len() - 2;
    let mut sealed = payload.to_vec();
    let tag = keys.packet.encrypt_in_place(number, &out, &mut sealed).unwrap();
    out.extend(sealed);
    out.extend(tag.as_ref());
    let (head, rest) = out.split_at_mut(number_at);
    let (field, sampled) = rest.split_at_mut(4);
    let sample = &sampled[..keys.header.sample_len()];
    keys.header.encrypt_in_place(sample, &mut head[0], &mut field[..2]).unwrap();
    out
}

/// Of a packet that cannot be opened no timer is set: the place that it took stayed taken until another one needed it, and 128 of them
/// made every stranger prove its address first.
#[test]
fn a_stranger_whose_packets_cannot_be_opened_is_forgotten() {
    let mut server = server();
    let envelope = Envelope { remote: "10.0.0.1:50000".parse().unwrap(), local: None, ecn: Ecn::NotEct };
    let mut datagram = Vec::new();
    let packet = Packet { kind: Kind::Initial, bytes: MIN_INITIAL as u32, ..Packet::default() };
    put_header(&mut datagram, &packet, (&DESTINATION, b"from him"), (2, false));
    datagram.resize(MIN_INITIAL, 0);
    server.handle_datagram(Time::ZERO, envelope, &mut datagram);
    assert!(server.poll_datagram(Time::ZERO, &mut Vec::new()).is_none(), "nothing to answer");
    assert_eq!(server.clients.by_id.len(), 1);
    let due = server.poll_timeout();
    assert_eq!(due, Time::ZERO + Limits::default().open_timeout);
    server.handle_timeout(due);
    server.poll_datagram(due, &mut Vec::new());
    assert_eq!(server.clients.by_id.len(), 0);
}

/// RFC 9000 §12.3: of a packet number that comes again nothing is read, not even what would break a rule. It was: one such datagram
/// made room for 2^61 bytes, and so ended the process.
#[test]
fn a_packet_that_comes_again_is_not_read() {
    let suite = TLS13_AES_128_GCM_SHA256.tls13().and_then(rustls::Tls13CipherSuite::quic_suite).unwrap();
    let keys = suite.keys(&DESTINATION, Side::Client, Version::V1).local;
    let mut stream = vec![0x0e]; // STREAM with an offset and a length (RFC 9000 §19.8)
    [0, 1 << 61, 1].into_iter().for_each(|number| put_varint(&mut stream, number));
    stream.push(b'a');
    stream.resize(MIN_INITIAL, 0);
    let ping = [&[0x01][..], &[0; 30]].concat();
    let mut server = server();
    let envelope = Envelope { remote: "10.0.0.1:50000".parse().unwrap(), local: None, ecn: Ecn::NotEct };
    let mut datagram = [initial(&keys, 0, &ping), initial(&keys, 0, &stream)].concat();
    server.handle_datagram(Time::ZERO, envelope, &mut datagram);
    let mut out = Vec::new();
    assert!(server.poll_datagram(Time::ZERO, &mut out).is_some(), "the first of the two is acknowledged");
    assert_eq!(server.clients.by_id.len(), 1);
}
