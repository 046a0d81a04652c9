//! quinn-proto, in plaintext: seeded, and without a clock of its own.

use super::{Cell, DATAGRAM, Ends};
use bytes::BytesMut;
use playpath_units::Time;
use quinn_proto::congestion::{ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::crypto::{CryptoError, HmacKey};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig, StreamEvent, StreamId,
    TransportConfig, VarInt,
};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

/// quinn-plaintext's tag has 8 bytes, a true one 16: the link carries them, and the datagram is smaller by them.
const MISSING_TAG: u32 = 8;

struct Key;

impl HmacKey for Key {
    fn sign(&self, _data: &[u8], out: &mut [u8]) {
        out.fill(1);
    }
    fn signature_len(&self) -> usize {
        32
    }
    fn verify(&self, _data: &[u8], _signature: &[u8]) -> Result<(), CryptoError> {
        Ok(())
    }
}

struct End {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    /// Made by the endpoint itself.
    extra: Vec<Vec<u8>>,
}

pub struct Quinn {
    zero: Instant,
    ends: [End; 2],
    stream: Option<StreamId>,
    delivered: u64,
    data: Vec<u8>,
}

fn address(is_client: bool) -> SocketAddr {
    if is_client { "10.0.0.1:50000".parse().unwrap() } else { "10.0.0.2:443".parse().unwrap() }
}

fn transport(control: &str) -> TransportConfig {
    let window = 12_080u64 - 10 * u64::from(MISSING_TAG);
    let factory: Arc<dyn ControllerFactory + Send + Sync> = match control {
        "newreno" => {
            let mut config = NewRenoConfig::default();
            config.initial_window(window);
            Arc::new(config)
        }
        _ => {
            let mut config = CubicConfig::default();
            config.initial_window(window);
            Arc::new(config)
        }
    };
    let mut transport = TransportConfig::default();
    transport
        .congestion_controller_factory(factory)
        .initial_mtu((DATAGRAM - MISSING_TAG) as u16)
        .mtu_discovery_config(None)
        .stream_receive_window(VarInt::from_u32(32 << 20))
        .send_window(32 << 20)
        .max_idle_timeout(None)
        .enable_segmentation_offload(false);
    transport
}

impl Quinn {
    #[expect(
        clippy::disallowed_methods,
        reason = "quinn's times are the process's; only differences from this one are used"
    )]
    pub fn new(cell: &Cell, seed: u64) -> Quinn {
        let transport = Arc::new(transport(cell.control));
        let mut server = quinn_plaintext::server_config();
        server.transport_config(transport.clone());
        let mut client: ClientConfig = quinn_plaintext::client_config();
        client.transport_config(transport);
        let endpoint = |is_client: bool| {
            let mut config = EndpointConfig::new(Arc::new(Key));
            let mut bytes = [u8::from(is_client); 32];
            bytes[..8].copy_from_slice(&seed.to_be_bytes());
            config.rng_seed(Some(bytes));
            let server = (!is_client).then(|| Arc::new(server.clone()));
            Endpoint::new(Arc::new(config), server, false, None)
        };
        let zero = Instant::now();
        let mut first = End { endpoint: endpoint(true), connection: None, extra: vec![] };
        first.connection = Some(first.endpoint.connect(zero, client, address(false), "host").unwrap());
        let second = End { endpoint: endpoint(false), connection: None, extra: vec![] };
        Quinn { zero, ends: [first, second], stream: None, delivered: 0, data: vec![0; 1 << 16] }
    }

    fn at(&self, now: Time) -> Instant {
        self.zero + std::time::Duration::from_nanos(now.as_nanos())
    }
    fn settle(&mut self) {
        for end in &mut self.ends {
            let Some((handle, connection)) = &mut end.connection else { continue };
            while let Some(event) = connection.poll_endpoint_events() {
                if let Some(event) = end.endpoint.handle_event(*handle, event) {
                    connection.handle_event(event);
                }
            }
        }
    }
    fn read(&mut self, id: StreamId) {
        let Some((_, connection)) = &mut self.ends[1].connection else { return };
        let mut stream = connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return };
        while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
            self.delivered += chunk.bytes.len() as u64;
        }
        let _ = chunks.finalize();
    }
}

impl Ends for Quinn {
    type Datagram = Vec<u8>;

    fn poll(&mut self, now: Time, is_client: bool) -> Option<(Vec<u8>, u64)> {
        let at = self.at(now);
        let end = &mut self.ends[usize::from(!is_client)];
        let wire = |bytes: usize| bytes as u64 + 28 + u64::from(MISSING_TAG);
        if let Some(extra) = end.extra.pop() {
            let bytes = wire(extra.len());
            return Some((extra, bytes));
        }
        let (_, connection) = end.connection.as_mut()?;
        let mut buffer = vec![];
        let transmit = connection.poll_transmit(at, 1, &mut buffer)?;
        buffer.truncate(transmit.size);
        Some((buffer, wire(transmit.size)))
    }

    fn handle(&mut self, now: Time, is_client: bool, datagram: Vec<u8>) {
        let at = self.at(now);
        let end = &mut self.ends[usize::from(!is_client)];
        let mut answer = vec![];
        let from = address(!is_client);
        match end.endpoint.handle(at, from, None, None, BytesMut::from(&datagram[..]), &mut answer) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                let (_, connection) = end.connection.as_mut().unwrap();
                connection.handle_event(event);
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                end.connection = Some(end.endpoint.accept(incoming, at, &mut answer, None).expect("accepted"));
            }
            Some(DatagramEvent::Response(transmit)) => end.extra.push(answer[..transmit.size].to_vec()),
            None => {}
        }
        self.settle();
    }

    fn timeout(&mut self) -> Time {
        let zero = self.zero;
        let next = |end: &mut End| {
            let at = end.connection.as_mut()?.1.poll_timeout()?;
            Some(Time::from_nanos(at.saturating_duration_since(zero).as_nanos() as u64))
        };
        self.ends.iter_mut().filter_map(next).min().unwrap_or(Time::MAX)
    }
    fn handle_timeout(&mut self, now: Time) {
        let at = self.at(now);
        for end in &mut self.ends {
            if let Some((_, connection)) = &mut end.connection {
                connection.handle_timeout(at);
            }
        }
        self.settle();
    }
    fn pump(&mut self, _now: Time) {
        if let Some((_, connection)) = &mut self.ends[0].connection {
            while connection.poll().is_some() {}
            self.stream = self.stream.or_else(|| connection.streams().open(Dir::Bi));
            if let Some(id) = self.stream {
                while connection.send_stream(id).write(&self.data).is_ok() {}
            }
        }
        let mut readable = vec![];
        if let Some((_, connection)) = &mut self.ends[1].connection {
            while let Some(event) = connection.poll() {
                match event {
                    quinn_proto::Event::Stream(StreamEvent::Opened { dir }) => {
                        readable.extend(connection.streams().accept(dir));
                    }
                    quinn_proto::Event::Stream(StreamEvent::Readable { id }) => readable.push(id),
                    _ => {}
                }
            }
        }
        readable.into_iter().for_each(|id| self.read(id));
        self.settle();
    }
    fn delivered(&self) -> u64 {
        self.delivered
    }
    fn lost(&self) -> u64 {
        self.ends[0].connection.as_ref().map_or(0, |(_, connection)| connection.stats().path.lost_packets)
    }
}
