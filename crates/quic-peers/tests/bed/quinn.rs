//! quinn-proto, in plaintext: seeded, and without a clock of its own.

use super::both::ends;
use super::{Cell, DATAGRAM, Ends};
use bytes::BytesMut;
use playpath_units::Time;
use quinn_proto::congestion::{ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig, StreamEvent, StreamId,
    TransportConfig, VarInt,
};
use ring::hmac;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

/// quinn-plaintext's tag has 8 bytes, a true one 16: the link carries them, and the datagram is smaller by them.
const MISSING_TAG: u64 = 8;

ends!(Quinn, quinn_proto, missing_tag: MISSING_TAG);

fn poll(connection: &mut Connection, at: Instant, most: usize, buffer: &mut Vec<u8>) -> Option<quinn_proto::Transmit> {
    connection.poll_transmit(at, most, buffer)
}
fn handle(
    endpoint: &mut Endpoint,
    at: Instant,
    from: SocketAddr,
    bytes: BytesMut,
    answer: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    endpoint.handle(at, from, None, None, bytes, answer)
}
fn lost(connection: &mut Connection, _path: usize) -> u64 {
    connection.stats().path.lost_packets
}
/// It knows one.
fn open_paths(_connection: &mut Connection, _at: Instant) {}

type Control = Arc<dyn ControllerFactory + Send + Sync>;

/// quinn's own.
fn stock(control: &str) -> Control {
    let window = 12_080u64 - 10 * MISSING_TAG;
    if control == "newreno" {
        let mut config = NewRenoConfig::default();
        config.initial_window(window);
        return Arc::new(config);
    }
    let mut config = CubicConfig::default();
    config.initial_window(window);
    Arc::new(config)
}

fn transport(factory: Control) -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport
        .congestion_controller_factory(factory)
        .initial_mtu((u64::from(DATAGRAM) - MISSING_TAG) as u16)
        .mtu_discovery_config(None)
        .stream_receive_window(VarInt::from_u32(32 << 20))
        .send_window(32 << 20)
        .max_idle_timeout(None);
    transport
}

impl Quinn {
    pub fn new(cell: &Cell, seed: u64) -> Quinn {
        Quinn::with(stock(cell.control), seed)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "quinn's times are the process's; only differences from this one are used"
    )]
    pub fn with(control: Control, seed: u64) -> Quinn {
        let transport = Arc::new(transport(control));
        let mut server = quinn_plaintext::server_config();
        server.transport_config(transport.clone());
        let mut client: ClientConfig = quinn_plaintext::client_config();
        client.transport_config(transport);
        let endpoint = |is_client: bool| {
            let mut config = EndpointConfig::new(Arc::new(hmac::Key::new(hmac::HMAC_SHA256, &[1; 32])));
            let mut bytes = [u8::from(is_client); 32];
            bytes[..8].copy_from_slice(&seed.to_be_bytes());
            config.rng_seed(Some(bytes));
            let server = (!is_client).then(|| Arc::new(server.clone()));
            Endpoint::new(Arc::new(config), server, false, None)
        };
        let zero = Instant::now();
        let mut first = End::new(endpoint(true));
        first.connection = Some(first.endpoint.connect(zero, client, address(0, false), "host").unwrap());
        Quinn::between(zero, [first, End::new(endpoint(false))])
    }
}
