//! What is quinn's own.

use super::both::{Sample, server};
use bytes::{Bytes, BytesMut};
use playpath_quic_peers::{Choice, quinn};
use playpath_serve::quic::identity::Identity;
use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::crypto::rustls::QuicServerConfig;
use quinn_proto::{
    Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig, Event, SendStream, ServerConfig,
    StreamEvent, StreamId, Transmit, TransportConfig,
};
use quinn_udp::RecvMeta;
use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

server!(quinn_proto);

fn control(name: &str) -> Result<Arc<dyn ControllerFactory + Send + Sync>, String> {
    Ok(match (name, name.strip_prefix("playpath:")) {
        (_, Some(ours)) => Arc::new(quinn::Factory::new(Choice::new(ours)?)?),
        ("cubic", _) => Arc::new(CubicConfig::default()),
        ("newreno", _) => Arc::new(NewRenoConfig::default()),
        ("bbr", _) => Arc::new(BbrConfig::default()),
        (name, _) => return Err(format!("{name}: quinn has cubic, newreno, bbr; ours are playpath:NAME")),
    })
}

fn endpoint(name: &str) -> Result<Endpoint, Box<dyn Error>> {
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(control(name)?);
    let tls = Identity::made(&["localhost".to_owned()])?.into_tls()?.config;
    let mut config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    config.transport_config(Arc::new(transport));
    Ok(Endpoint::new(Arc::new(EndpointConfig::default()), Some(Arc::new(config)), true, None))
}

fn handle(
    endpoint: &mut Endpoint,
    now: Instant,
    meta: &RecvMeta,
    bytes: BytesMut,
    out: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    let ecn = meta.ecn.and_then(|ecn| quinn_proto::EcnCodepoint::from_bits(ecn as u8));
    endpoint.handle(now, meta.addr, None, ecn, bytes, out)
}

fn poll_transmit(
    connection: &mut Connection,
    now: Instant,
    max_datagrams: usize,
    out: &mut Vec<u8>,
) -> Option<Transmit> {
    connection.poll_transmit(now, max_datagrams, out)
}

/// What is written is taken off; false: no more can be now.
fn write(stream: &mut SendStream, bytes: &mut Bytes) -> bool {
    stream.write_chunks(std::slice::from_mut(bytes)).is_ok()
}

fn sample(connection: &mut Connection) -> Sample {
    let path = connection.stats().path;
    Sample { sent: path.sent_packets, lost: path.lost_packets, rtt: path.rtt, cwnd: path.cwnd }
}
