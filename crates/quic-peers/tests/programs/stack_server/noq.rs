//! What is noq's own.

use super::both::{Sample, server};
use bytes::{Bytes, BytesMut};
use noq_proto::congestion::{Bbr3Config, ControllerFactory, CubicConfig, NewRenoConfig};
use noq_proto::crypto::rustls::QuicServerConfig;
use noq_proto::{
    Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig, Event, FourTuple, PathId, SendStream,
    ServerConfig, StreamEvent, StreamId, Transmit, TransportConfig,
};
use playpath_quic_peers::{Choice, noq};
use playpath_serve::quic::identity::Identity;
use quinn_udp::RecvMeta;
use std::error::Error;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

server!(noq_proto);

fn control(name: &str) -> Result<Arc<dyn ControllerFactory + Send + Sync>, String> {
    Ok(match (name, name.strip_prefix("playpath:")) {
        (_, Some(ours)) => Arc::new(noq::Factory::new(Choice::new(ours)?)?),
        ("cubic", _) => Arc::new(CubicConfig::default()),
        ("newreno", _) => Arc::new(NewRenoConfig::default()),
        ("bbr3", _) => Arc::new(Bbr3Config::default()),
        (name, _) => return Err(format!("{name}: noq has cubic, newreno, bbr3; ours are playpath:NAME")),
    })
}

/// Of two paths if the client asks for them.
fn endpoint(name: &str) -> Result<Endpoint, Box<dyn Error>> {
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(control(name)?).max_concurrent_multipath_paths(2);
    let tls = Identity::made(&["localhost".to_owned()])?.into_tls()?.config;
    let mut config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    config.transport_config(Arc::new(transport));
    Ok(Endpoint::new(Arc::new(EndpointConfig::default()), Some(Arc::new(config)), true))
}

fn handle(
    endpoint: &mut Endpoint,
    now: Instant,
    meta: &RecvMeta,
    bytes: BytesMut,
    out: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    let ecn = meta.ecn.and_then(|ecn| noq_proto::EcnCodepoint::from_bits(ecn as u8));
    endpoint.handle(now, FourTuple::new(meta.addr, meta.dst_ip), ecn, bytes, out)
}

fn poll_transmit(
    connection: &mut Connection,
    now: Instant,
    max_datagrams: usize,
    out: &mut Vec<u8>,
) -> Option<Transmit> {
    connection.poll_transmit(now, NonZeroUsize::new(max_datagrams)?, out)
}

/// What is written is taken off; false: no more can be now.
fn write(stream: &mut SendStream, bytes: &mut Bytes) -> bool {
    stream.write_chunks(&mut std::slice::from_mut(bytes)).is_ok()
}

/// RTT and window are the first path's.
fn sample(connection: &mut Connection) -> Sample {
    let stats = connection.stats();
    let path = connection.path_stats(PathId::ZERO).unwrap_or_default();
    Sample { sent: stats.sent_packets, lost: stats.lost_packets, rtt: path.rtt, cwnd: path.cwnd }
}
