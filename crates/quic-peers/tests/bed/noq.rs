//! noq-proto, with true keys, made anew each time: seeded but for these, and without a clock of its own.

use super::both::ends;
use super::{DATAGRAM, Ends};
use crate::trusting;
use bytes::BytesMut;
use noq_proto::congestion::{ControllerFactory, CubicConfig, NewRenoConfig};
use noq_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use noq_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig, FourTuple, PathId,
    PathStatus, ServerConfig, StreamEvent, StreamId, TransportConfig, VarInt,
};
use playpath_serve::quic::identity::Identity;
use playpath_transport::quic::config::{Config, Pacing};
use playpath_units::{Duration, Time};
use ring::hmac;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

ends!(Noq, noq_proto, missing_tag: 0);

fn poll(connection: &mut Connection, at: Instant, most: usize, buffer: &mut Vec<u8>) -> Option<noq_proto::Transmit> {
    connection.poll_transmit(at, NonZeroUsize::new(most)?, buffer)
}
fn handle(
    endpoint: &mut Endpoint,
    at: Instant,
    from: SocketAddr,
    bytes: BytesMut,
    answer: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    endpoint.handle(at, FourTuple::new(from, None), None, bytes, answer)
}
fn lost(connection: &mut Connection, path: usize) -> u64 {
    connection.path_stats(PathId::ZERO.saturating_add(path as u8)).map_or(0, |stats| stats.lost_packets)
}
/// A second one, once both ends have said that they know several.
fn open_paths(connection: &mut Connection, at: Instant) {
    if connection.is_multipath_negotiated() && connection.paths().len() == 1 {
        // Until the peer has sent connection ids for it, it cannot be opened.
        let _ = connection.open_path(FourTuple::from_remote(address(1, false)), PathStatus::Available, at);
    }
}

pub type Control = Arc<dyn ControllerFactory + Send + Sync>;

/// noq's own NewReno.
fn newreno() -> Control {
    let mut config = NewRenoConfig::default();
    config.initial_window(10 * u64::from(DATAGRAM));
    Arc::new(config)
}

/// noq's own CUBIC.
pub fn cubic() -> Control {
    let mut config = CubicConfig::default();
    config.initial_window(10 * u64::from(DATAGRAM));
    Arc::new(config)
}

/// noq 1.4.0, `connection/pacing.rs`: the bucket of quinn's, ten packets, but no more than leave in 10 ms, and one at least. Here 10 ms are
/// taken of the path's RTT without its queue: the windows that fill a queue hold more than ten packets in 10 ms.
pub fn noq_s_pacer(rtt: Duration) -> Pacing {
    let part = 10.0 / rtt.as_millis_f64();
    Pacing { burst_of_window: Some(part), min_burst: 1, max_burst: 10, ..Config::default().pacing }
}

fn transport(factory: Control, paths: u32) -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport
        .congestion_controller_factory(factory)
        .initial_mtu((DATAGRAM) as u16)
        .mtu_discovery_config(None)
        .stream_receive_window(VarInt::from_u32(32 << 20))
        .send_window(32 << 20)
        .max_idle_timeout(None)
        .max_concurrent_multipath_paths(paths);
    transport
}

impl Noq {
    /// Under its own NewReno.
    pub fn new(seed: u64, paths: u32) -> Noq {
        Noq::with(newreno(), seed, paths)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "noq's times are the process's; only differences from this one are used"
    )]
    pub fn with(control: Control, seed: u64, paths: u32) -> Noq {
        let transport = Arc::new(transport(control, paths));
        let tls = Identity::made(&["host".to_owned()]).unwrap().into_tls().unwrap().config;
        let mut server = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls).unwrap()));
        server.transport_config(transport.clone());
        let mut client = ClientConfig::new(Arc::new(QuicClientConfig::try_from(trusting::tls()).unwrap()));
        client.transport_config(transport);
        let endpoint = |is_client: bool| {
            let mut config = EndpointConfig::new(Arc::new(hmac::Key::new(hmac::HMAC_SHA256, &[1; 32])));
            let mut bytes = [u8::from(is_client); 32];
            bytes[..8].copy_from_slice(&seed.to_be_bytes());
            config.rng_seed(Some(bytes));
            let server = (!is_client).then(|| Arc::new(server.clone()));
            Endpoint::new(Arc::new(config), server, false)
        };
        let zero = Instant::now();
        let mut first = End::new(endpoint(true));
        first.connection = Some(first.endpoint.connect(zero, client, address(0, false), "host").unwrap());
        Noq::between(zero, [first, End::new(endpoint(false))])
    }
}
