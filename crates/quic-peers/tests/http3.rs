//! The server of `playpath serve --transport quic` against quinn-proto's client: real keys, real bytes, a link in virtual time.

mod paths;
mod trusting;

use bytes::BytesMut;
use playpath_serve::h3::fields::decode;
use playpath_serve::h3::headers;
use playpath_serve::quic::identity::{Identity, Tls};
use playpath_serve::quic::server::{Server, Settings};
use playpath_serve::quic::session::Envelope;
use playpath_serve::secrets::Secrets;
use playpath_serve::settings::{Limits, of_quic, sender};
use playpath_serve::store::Store;
use playpath_transport::Ecn;
use playpath_transport::codec::quic::Reader;
use playpath_units::{Duration, Time};
use quinn_proto::{
    ClientConfig, Connection, ConnectionError, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig, Event,
    StreamId, TransportConfig, VarInt,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Instant;

const SERVER: &str = "10.0.0.2:4433";

/// Connection ids that a test can tell.
struct Counted(u64);

impl Secrets for Counted {
    fn key(&mut self) -> std::result::Result<u64, rustix::io::Errno> {
        self.0 += 1;
        Ok(self.0)
    }
}

/// A folder with files, taken away at the end.
struct Site(PathBuf);

impl Site {
    fn new(name: &str) -> Site {
        let folder = std::env::temp_dir().join(format!("playpath-http3-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("small"), b"0123456789").unwrap();
        std::fs::write(folder.join("large"), large()).unwrap();
        Site(folder)
    }
    fn server(&self, limits: Limits) -> Server {
        self.server_that_is(&Identity::made(&["h3.test".into()]).unwrap().into_tls().unwrap(), limits)
    }
    fn server_that_is(&self, tls: &Tls, limits: Limits) -> Server {
        self.server_with("cubic", tls, limits)
    }
    fn server_with(&self, cc: &str, tls: &Tls, limits: Limits) -> Server {
        let sender = sender(&json!({ "transport": "quic" }), Some(cc), None).unwrap();
        let settings = Settings { endpoint: of_quic(&sender).unwrap(), sender, largest_datagram: 1452, limits };
        Server::new(settings, Store::open(&self.0).unwrap(), tls.clone(), Box::new(Counted(0)))
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn large() -> Vec<u8> {
    (0..600_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

struct Client {
    endpoint: Endpoint,
    handle: ConnectionHandle,
    connection: Connection,
    address: SocketAddr,
    received: BTreeMap<StreamId, Vec<u8>>,
    ended: Vec<StreamId>,
    lost: Option<ConnectionError>,
    is_connected: bool,
    reads: bool,
    config: ClientConfig,
}

impl Client {
    fn new(zero: Instant) -> Client {
        Client::with(zero, TransportConfig::default())
    }

    fn with(zero: Instant, transport: TransportConfig) -> Client {
        Client::of(zero, trusting::client(transport))
    }

    /// Sessions are remembered with the settings.
    fn of(zero: Instant, config: ClientConfig) -> Client {
        let mut endpoint = Endpoint::new(Arc::new(EndpointConfig::default()), None, false, None);
        let (handle, connection) = endpoint.connect(zero, config.clone(), SERVER.parse().unwrap(), "h3.test").unwrap();
        Client {
            endpoint,
            handle,
            connection,
            address: "10.0.0.1:50000".parse().unwrap(),
            received: BTreeMap::new(),
            ended: vec![],
            lost: None,
            is_connected: false,
            reads: true,
            config,
        }
    }

    fn settle(&mut self) {
        while let Some(event) = self.connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(self.handle, event) {
                self.connection.handle_event(event);
            }
        }
        while let Some(event) = self.connection.poll() {
            match event {
                Event::Connected => self.is_connected = true,
                Event::ConnectionLost { reason } => self.lost = Some(reason),
                _ => {}
            }
        }
        for (id, bytes) in self.received.iter_mut().filter(|_| self.reads) {
            let mut stream = self.connection.recv_stream(*id);
            let Ok(mut chunks) = stream.read(true) else { continue };
            loop {
                match chunks.next(usize::MAX) {
                    Ok(Some(chunk)) => bytes.extend(&chunk.bytes),
                    Ok(None) => {
                        self.ended.push(*id);
                        break;
                    }
                    Err(_) => break,
                }
            }
            let _ = chunks.finalize();
        }
    }

    fn ask(&mut self, fields: &[(&str, &str)]) -> StreamId {
        self.ask_by("GET", fields)
    }

    fn ask_by(&mut self, method: &str, fields: &[(&str, &str)]) -> StreamId {
        let base = [(":method", method), (":scheme", "https"), (":authority", "h3.test")];
        let bytes = headers(base.into_iter().chain(fields.iter().copied()));
        let id = self.connection.streams().open(Dir::Bi).unwrap();
        let mut stream = self.connection.send_stream(id);
        assert_eq!(stream.write(&bytes).unwrap(), bytes.len());
        stream.finish().unwrap();
        self.received.insert(id, vec![]);
        id
    }

    fn send_control(&mut self) {
        let id = self.connection.streams().open(Dir::Uni).unwrap();
        self.connection.send_stream(id).write(&[0x00, 0x04, 0x00]).unwrap();
    }

    /// Status and body of an answer that has arrived whole.
    fn answer(&self, id: StreamId) -> (String, BTreeMap<String, String>, Vec<u8>) {
        assert!(self.ended.contains(&id), "{id}: {} bytes, {:?}", self.received[&id].len(), self.lost);
        let mut reader = Reader::new(&self.received[&id]);
        assert_eq!(reader.varint(), Some(1));
        let fields: BTreeMap<_, _> = decode(reader.prefixed().unwrap()).unwrap().into_iter().collect();
        let mut body = vec![];
        while !reader.is_empty() {
            assert_eq!(reader.varint(), Some(0));
            body.extend(reader.prefixed().unwrap());
        }
        (fields[":status"].clone(), fields, body)
    }
}

struct World {
    zero: Instant,
    now: Time,
    server: Server,
    client: Client,
    /// On the way: when it arrives, whether to the server, the client's address then, and the bytes.
    under_way: BTreeMap<(Time, u64), (bool, SocketAddr, Vec<u8>)>,
    sent: [u64; 2],
    bytes_to_client: u64,
    bytes_to_server: u64,
    one_way: Duration,
    /// What the client has sent, if that is to be known.
    kept: Option<Vec<Vec<u8>>>,
    /// Every so manyth datagram has a bit turned over on its way; 0: none.
    corrupts: u64,
}

impl World {
    #[expect(
        clippy::disallowed_methods,
        reason = "quinn's times are the process's; only differences from this one count"
    )]
    fn new(server: Server) -> World {
        let zero = Instant::now();
        let client = Client::new(zero);
        let under_way = BTreeMap::new();
        World {
            zero,
            now: Time::ZERO,
            server,
            client,
            under_way,
            sent: [0; 2],
            bytes_to_client: 0,
            bytes_to_server: 0,
            one_way: Duration::from_millis(20),
            kept: None,
            corrupts: 0,
        }
    }

    fn at(&self) -> Instant {
        self.zero + std::time::Duration::from_nanos(self.now.as_nanos())
    }

    fn put(&mut self, to_server: bool, mut bytes: Vec<u8>, is_lost: impl Fn(bool, u64) -> bool) {
        let number = self.sent[usize::from(to_server)];
        self.sent[usize::from(to_server)] += 1;
        if to_server {
            self.kept.iter_mut().for_each(|kept| kept.push(bytes.clone()));
            self.bytes_to_server += bytes.len() as u64;
        } else {
            self.bytes_to_client += bytes.len() as u64;
        }
        if self.corrupts > 0 && number % self.corrupts == self.corrupts - 1 {
            let at = (number as usize * 7919) % bytes.len();
            bytes[at] ^= 1 << (number % 8);
        }
        if !is_lost(to_server, number) {
            let order = self.sent[0] + self.sent[1];
            self.under_way.insert((self.now + self.one_way, order), (to_server, self.client.address, bytes));
        }
    }

    /// Play until `until` or until `is_done`; `is_lost` by direction (`true`: to the server) and number of the datagram.
    fn play(
        &mut self,
        until: Time,
        is_lost: impl Fn(bool, u64) -> bool + Copy,
        mut step: impl FnMut(&mut Client, Time) -> bool,
    ) {
        loop {
            self.client.settle();
            if step(&mut self.client, self.now) {
                return;
            }
            let at = self.at();
            let mut buffer = vec![];
            while let Some(transmit) = self.client.connection.poll_transmit(at, 1, &mut buffer) {
                self.put(true, buffer[..transmit.size].to_vec(), is_lost);
                buffer.clear();
            }
            let mut out = vec![];
            while self.server.poll_datagram(self.now, &mut out).is_some() {
                self.put(false, std::mem::take(&mut out), is_lost);
            }
            let of_client = self.client.connection.poll_timeout().map_or(Time::MAX, |due| {
                let nanos = due.saturating_duration_since(self.zero).as_nanos() as u64;
                Time::from_nanos(nanos).max(self.now)
            });
            let arrival = self.under_way.keys().next().map_or(Time::MAX, |key| key.0);
            let next = of_client.min(self.server.poll_timeout().max(self.now)).min(arrival);
            if next > until {
                return;
            }
            self.now = next;
            if of_client <= next {
                self.client.connection.handle_timeout(self.at());
            }
            self.server.handle_timeout(self.now);
            while let Some(entry) = self.under_way.first_entry().filter(|entry| entry.key().0 <= self.now) {
                let (to_server, from, bytes) = entry.remove();
                self.deliver(to_server, from, bytes);
            }
        }
    }

    /// A request once the client is connected, to its end.
    fn client_asks(&mut self, path: &str, is_lost: impl Fn(bool, u64) -> bool + Copy) {
        let mut id = None;
        self.play(end(), is_lost, |client, _| {
            if client.is_connected && id.is_none() {
                id = Some(client.ask(&[(":path", path)]));
            }
            client.ended.len() == 1
        });
        assert_eq!(self.client.answer(id.expect("connected")).0, "200");
    }

    /// The body of a file.
    fn get(&mut self, path: &str) -> Vec<u8> {
        self.client_asks(path, |_, _| false);
        self.client.answer(self.client.ended[0]).2
    }

    fn deliver(&mut self, to_server: bool, from: SocketAddr, mut bytes: Vec<u8>) {
        if to_server {
            self.server.handle_datagram(self.now, Envelope { remote: from, local: None, ecn: Ecn::NotEct }, &mut bytes);
            return;
        }
        let at = self.at();
        let bytes = BytesMut::from(&bytes[..]);
        let event = self.client.endpoint.handle(at, SERVER.parse().unwrap(), None, None, bytes, &mut vec![]);
        if let Some(DatagramEvent::ConnectionEvent(_, event)) = event {
            self.client.connection.handle_event(event);
        }
    }
}

fn end() -> Time {
    Time::from_secs(120)
}

/// Two files and a part, at the same time, over a link that loses every `n`th datagram each way.
fn fetch(name: &str, n: u64) -> World {
    let site = Site::new(name);
    let mut world = World::new(site.server(Limits::default()));
    let mut ids = vec![];
    let is_lost = |_: bool, number: u64| n > 0 && number % n == n - 1;
    world.play(end(), is_lost, |client, _| {
        if client.is_connected && ids.is_empty() {
            client.send_control();
            ids.push(client.ask(&[(":path", "/large")]));
            ids.push(client.ask(&[(":path", "/small?CMCD=bl%3D1000")]));
            ids.push(client.ask(&[(":path", "/large"), ("range", "bytes=100-4099")]));
            ids.push(client.ask(&[(":path", "/none")]));
        }
        !ids.is_empty() && client.ended.len() == ids.len()
    });
    let answer = |index: usize| world.client.answer(ids[index]);
    assert_eq!((answer(0).0.as_str(), answer(0).2), ("200", large()));
    assert_eq!((answer(1).0.as_str(), answer(1).2.as_slice()), ("200", &b"0123456789"[..]));
    let (status, fields, body) = answer(2);
    assert_eq!((status.as_str(), body.as_slice()), ("206", &large()[100..4100]));
    assert_eq!(fields["content-range"], "bytes 100-4099/600000");
    assert_eq!(answer(3).0, "404");
    world
}

#[test]
fn files_arrive_whole() {
    let world = fetch("whole", 0);
    // Handshake and request one round trip each, then 600 kB from a window of ten: six doublings.
    assert!(world.now < Time::from_millis(500), "{}", world.now);
}

#[test]
fn files_arrive_whole_over_a_link_that_loses() {
    for n in [50, 10, 4] {
        fetch(&format!("lossy{n}"), n);
    }
}

/// The handshake survives the loss of any one of its datagrams.
#[test]
fn a_lost_datagram_of_the_handshake_is_made_good() {
    let site = Site::new("handshake");
    for (to_server, lost) in [(true, 0), (true, 1), (true, 2), (false, 0), (false, 1), (false, 2), (false, 3)] {
        let mut world = World::new(site.server(Limits::default()));
        let mut id = None;
        world.play(
            end(),
            |direction, number| direction == to_server && number == lost,
            |client, _| {
                if client.is_connected && id.is_none() {
                    id = Some(client.ask(&[(":path", "/small")]));
                }
                client.ended.len() == 1
            },
        );
        assert_eq!(world.client.answer(id.expect("connected")).2, b"0123456789", "{to_server} {lost}");
        assert!(world.now < Time::from_secs(5), "{to_server} {lost}: {}", world.now);
    }
}

/// The interop runner's long RTT (750 ms) and corruption, of the handshake and of the transfer.
#[test]
fn a_long_way_and_bits_that_turn_over() {
    let site = Site::new("ways");
    for (rtt_ms, corrupts) in [(750, 0), (30, 3), (30, 20), (750, 20)] {
        let mut world = World::new(site.server(Limits::default()));
        (world.one_way, world.corrupts) = (Duration::from_millis(rtt_ms / 2), corrupts);
        assert_eq!(world.get("/large"), large(), "{rtt_ms} {corrupts}");
        if corrupts == 0 {
            // Handshake, request, and 600 kB from a window of ten: six doublings.
            assert!(world.now < Time::from_millis(9 * rtt_ms), "{}", world.now);
        }
    }
}

/// A second connection with the first one's session: no certificate travels, here one of 2 kB.
#[test]
fn a_session_is_resumed() {
    let site = Site::new("resumed");
    let names: Vec<String> = (0..100).map(|i| format!("host-{i}.h3.test")).collect();
    let tls = Identity::made(&names).unwrap().into_tls().unwrap();
    let mut world = World::new(site.server_that_is(&tls, Limits::default()));
    world.get("/small");
    let config = world.client.config.clone();
    let before = world.bytes_to_client;
    world.client = Client::of(world.zero, config);
    let start = world.now;
    world.client_asks("/small", |_, _| false);
    let resumed = world.bytes_to_client - before;
    assert!(resumed + 1000 < before, "{resumed} {before}");
    assert!(world.now <= start + Duration::from_millis(2 * 40 + 5), "two round trips");
}

/// Where a log goes that the test reads.
#[derive(Clone, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Paper {
    /// What the server writes down of its connections from now on.
    fn of(world: &mut World) -> Paper {
        let paper = Paper::default();
        let place = paper.clone();
        world.server.qlogs = Some(Box::new(move |_| Some(Box::new(place.clone()))));
        paper
    }
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

/// A qlog has what qvis reads (the header of a JSON text sequence, times that rise), every datagram that left or came, each loss once,
/// and the path's figures.
#[test]
fn a_qlog_tells_what_happened() {
    let site = Site::new("qlog");
    let mut world = World::new(site.server(Limits::default()));
    let paper = Paper::of(&mut world);
    world.client_asks("/large", |to_server, number| !to_server && number % 50 == 49);
    let text = paper.text();
    let mut records = text.split('\u{1e}').skip(1).map(|record| serde_json::from_str::<Value>(record).unwrap());
    let head = records.next().unwrap();
    assert_eq!(head["file_schema"], "urn:ietf:params:qlog:file:sequential");
    assert_eq!(head["serialization_format"], "application/qlog+json-seq");
    assert_eq!((&head["qlog_version"], &head["qlog_format"]), (&json!("0.3"), &json!("JSON-SEQ")));
    assert_eq!(head["trace"]["vantage_point"]["type"], "server");
    assert_eq!(head["trace"]["event_schemas"], json!(["urn:ietf:params:qlog:events:quic-02"]));
    let common = &head["trace"]["common_fields"];
    let epoch = json!({ "clock_type": "system", "epoch": "1970-01-01T00:00:00.000Z" });
    assert_eq!((&common["time_format"], &common["reference_time"]), (&json!("relative_to_epoch"), &epoch));
    let events: Vec<Value> = records.collect();
    let times: Vec<f64> = events.iter().map(|event| event["time"].as_f64().unwrap()).collect();
    assert!(times.is_sorted() && times[0] > 1.6e12, "after 2020");
    // What qvis' loader (QlogLoaderV2) finds fault with: sizes in a header, a type outside it, a name without its category.
    for event in &events {
        let (name, data) = (event["name"].as_str().unwrap(), &event["data"]);
        assert!(name.split(':').count() == 2 && data["packet_type"].is_null(), "{event}");
        assert!(data["header"]["packet_size"].is_null() && data["header"]["payload_length"].is_null(), "{event}");
    }
    // The published schema of the events, as an independent implementation has it; it has no path ids. The header is of a later one.
    for event in &events {
        let read = serde_json::from_value::<qlog::events::Event>(event.clone());
        assert!(read.is_ok(), "{event}: {}", read.unwrap_err());
    }
    let named = |name: &str| events.iter().filter(|event| event["name"] == name).collect::<Vec<_>>();
    let sent = named("transport:packet_sent");
    let of_data = sent.iter().filter(|event| event["data"]["header"]["packet_type"] == "1RTT");
    let numbers: Vec<u64> = of_data.map(|event| event["data"]["header"]["packet_number"].as_u64().unwrap()).collect();
    assert!(numbers.is_sorted() && numbers.len() > 420, "600 kB in packets of 1420 bytes: {}", numbers.len());
    let bytes: u64 = sent.iter().map(|event| event["data"]["raw"]["length"].as_u64().unwrap()).sum();
    assert_eq!(bytes, world.bytes_to_client);
    let mut lost: Vec<u64> = named("recovery:packet_lost")
        .iter()
        .map(|event| event["data"]["header"]["packet_number"].as_u64().unwrap())
        .collect();
    assert_eq!(lost.len() as u64, (world.sent[0] - 1) / 50, "every 50th datagram");
    lost.dedup();
    assert!(lost.iter().all(|number| numbers.contains(number)));
    let shown = named("recovery:metrics_updated");
    assert!(shown.iter().any(|event| event["data"]["min_rtt"] == 40.0), "two ways of 20 ms");
    assert!(shown.iter().any(|event| event["data"]["ssthresh"].is_u64()), "CUBIC has cut its window");
}

/// RFC 9000 §3.5: an answer that the client wants no more of ends with the code that the client gave.
#[test]
fn an_answer_that_is_stopped_ends_with_the_client_s_code() {
    let site = Site::new("stopped");
    let mut world = World::new(site.server(Limits::default()));
    let paper = Paper::of(&mut world);
    let mut id = None;
    world.play(
        Time::from_secs(2),
        |_, _| false,
        |client, _| {
            if client.is_connected && id.is_none() {
                id = Some(client.ask(&[(":path", "/large")]));
            }
            let begun = id.filter(|id| !client.received[id].is_empty());
            begun.map(|id| client.connection.recv_stream(id).stop(VarInt::from_u32(0x10c)));
            false
        },
    );
    assert!(world.client.received[&id.unwrap()].len() < 600_000 && world.client.lost.is_none());
    let text = paper.text();
    let reset = r#""frame_type":"reset_stream","stream_id":0,"error_code":268,"#;
    assert_eq!(text.matches(reset).count(), 1, "{}", text.matches("reset_stream").count());
}

/// RFC 9218 §7: a priority that comes before its request counts for more than the request's own header.
#[test]
fn a_priority_may_come_before_its_request() {
    let order = |updates: &[u8]| {
        let site = Site::new("early");
        let mut world = World::new(site.server(Limits::default()));
        let (no_loss, mut has_sent_updates) = (|_: bool, _: u64| false, false);
        world.play(Time::from_millis(300), no_loss, |client, _| {
            if client.is_connected && !has_sent_updates {
                has_sent_updates = true;
                let id = client.connection.streams().open(Dir::Uni).unwrap();
                client.connection.send_stream(id).write(&[&[0x00, 0x04, 0x00], updates].concat()).unwrap();
            }
            false
        });
        for value in ["u=3", "u=5"] {
            world.client.ask(&[(":path", "/large"), ("priority", value)]);
        }
        world.play(end(), no_loss, |client, _| client.ended.len() == 2);
        world.client.ended.iter().map(|id| id.index()).collect::<Vec<_>>()
    };
    assert_eq!(order(&[]), [0, 1], "by their headers");
    let of_second = |urgency: u8| [0x80, 0x0f, 0x07, 0x00, 0x04, 0x04, b'u', b'=', urgency];
    assert_eq!(order(&[of_second(b'7'), of_second(b'1')].concat()), [1, 0], "the latest of two");
}

/// CTA-5004 §3.1: what the player tells in headers reaches the control, which paces by it (Sammy: a multiple of the top rate).
#[test]
fn a_player_s_headers_reach_the_control() {
    let last_rate = |headers: &[(&str, &str)]| {
        let site = Site::new("cmcd-headers");
        let tls = Identity::made(&["h3.test".into()]).unwrap().into_tls().unwrap();
        let mut world = World::new(site.server_with("sammy", &tls, Limits::default()));
        let paper = Paper::of(&mut world);
        let mut id = None;
        world.play(
            end(),
            |_, _| false,
            |client, _| {
                if client.is_connected && id.is_none() {
                    id = Some(client.ask(&[&[(":path", "/large")], headers].concat()));
                }
                client.ended.len() == 1
            },
        );
        let text = paper.text();
        let (_, rest) = text.rsplit_once("\"pacing_rate\":").unwrap();
        rest.split_once(|c: char| !c.is_ascii_digit()).unwrap().0.parse::<f64>().unwrap() / 1e6
    };
    let object = ("cmcd-object", "br=2000,tb=4000,d=4000,ot=v");
    let shown = last_rate(&[object, ("cmcd-request", "bl=8000"), ("cmcd-session", "sid=\"a\",cid=\"b\"")]);
    assert_eq!(shown, 6.0, "its buffer is full: 1.5 times 4 Mbit/s");
    let free = last_rate(&[]);
    assert!(free > 50.0, "by the window, which nothing limits here: {free}");
}

/// RFC 9000 §8.1: until the client has answered, three times what it sent.
#[test]
fn strangers_get_three_times_what_they_sent() {
    let site = Site::new("amplification");
    let mut world = World::new(site.server(Limits::default()));
    // Nothing of the server's arrives, so the client repeats its Initial.
    world.play(Time::from_secs(20), |to_server, _| !to_server, |_, _| false);
    assert!(world.bytes_to_client > 0);
    assert!(world.bytes_to_client <= 3 * world.bytes_to_server, "{} {}", world.bytes_to_client, world.bytes_to_server);
}

/// A NAT gives the client other ports in the middle of a file (RFC 9000 §9.3), more than the server keeps.
#[test]
fn a_rebinding_is_followed() {
    let site = Site::new("rebinding");
    let mut world = World::new(site.server(Limits::default()));
    let mut id = None;
    world.play(
        end(),
        |_, _| false,
        |client, _| {
            if client.is_connected && id.is_none() {
                id = Some(client.ask(&[(":path", "/large")]));
            }
            let received = client.received.values().map(Vec::len).max().unwrap_or(0);
            client.address.set_port(50_000 + (received / 20_000) as u16);
            client.ended.len() == 1
        },
    );
    assert!(large().len() > 17 * 20_000);
    assert_eq!(world.client.answer(id.unwrap()).2, large());
}

/// RFC 9001 §6: the client goes on to the next keys, twice.
#[test]
fn key_updates_are_followed() {
    let site = Site::new("keys");
    let mut world = World::new(site.server(Limits::default()));
    let (mut ids, mut updates) = (vec![], 0);
    world.play(
        end(),
        |_, number| number % 20 == 19,
        |client, _| {
            let wanted = usize::from(client.is_connected) * (client.ended.len() + 1).min(3);
            if ids.len() < wanted {
                if !ids.is_empty() {
                    client.connection.force_key_update();
                    updates += 1;
                }
                ids.push(client.ask(&[(":path", "/large")]));
            }
            client.ended.len() == 3
        },
    );
    assert_eq!(updates, 2);
    for id in ids {
        assert_eq!(world.client.answer(id).2, large());
    }
}

#[test]
fn a_server_that_ends_says_so() {
    let site = Site::new("ends");
    let mut world = World::new(site.server(Limits::default()));
    world.play(end(), |_, _| false, |client, _| client.is_connected);
    world.server.close_all(world.now);
    world.play(end(), |_, _| false, |client, _| client.lost.is_some());
    let Some(ConnectionError::ApplicationClosed(close)) = &world.client.lost else { panic!("{:?}", world.client.lost) };
    assert_eq!(close.error_code.into_inner(), 0x100);
}

/// RFC 9114 §4.1: DATA before HEADERS ends the connection with H3_FRAME_UNEXPECTED; a malformed request only its stream.
#[test]
fn a_client_that_breaks_rules_is_told() {
    let site = Site::new("rules");
    let mut world = World::new(site.server(Limits::default()));
    let mut ids = vec![];
    world.play(
        end(),
        |_, _| false,
        |client, now| {
            if client.is_connected && ids.is_empty() {
                ids.push(client.ask(&[(":path", "/small"), ("x", "a\r\nb")]));
                ids.push(client.ask(&[(":path", "/small")]));
            }
            if client.ended.len() == 1 && ids.len() == 2 {
                let id = client.connection.streams().open(Dir::Bi).unwrap();
                client.connection.send_stream(id).write(&[0x00, 0x01, b'x']).unwrap();
                ids.push(id);
            }
            client.lost.is_some() || now > Time::from_secs(5)
        },
    );
    assert_eq!(world.client.ended, [ids[1]], "the malformed one has no answer");
    let Some(ConnectionError::ApplicationClosed(close)) = &world.client.lost else { panic!("{:?}", world.client.lost) };
    assert_eq!(close.error_code.into_inner(), 0x105);
}

/// RFC 9000 §6: another version is answered with ours, if the datagram is large enough.
#[test]
fn versions_are_negotiated() {
    let site = Site::new("version");
    let mut server = site.server(Limits::default());
    let envelope = Envelope { remote: "10.0.0.1:50000".parse().unwrap(), local: None, ecn: Ecn::NotEct };
    let mut packet = vec![0xc0, 0x6b, 0x33, 0x43, 0xcf, 4, 1, 2, 3, 4, 2, 8, 9];
    let mut out = vec![];
    server.handle_datagram(Time::ZERO, envelope, &mut packet.clone());
    assert!(server.poll_datagram(Time::ZERO, &mut out).is_none(), "too small");
    packet.resize(1200, 0);
    server.handle_datagram(Time::ZERO, envelope, &mut packet);
    assert!(server.poll_datagram(Time::ZERO, &mut out).is_some());
    assert_eq!(out, [0xc0, 0, 0, 0, 0, 2, 8, 9, 4, 1, 2, 3, 4, 0, 0, 0, 1]);
    assert_eq!(server.clients.by_id.len(), 0);
}

/// Places are counted: whoever only knocks takes none for long, and a flood leaves room for an honest client.
#[test]
fn a_flood_of_first_packets_is_bounded() {
    let site = Site::new("flood");
    let limits = Limits { connections: 40, half_open: 10, ..Limits::default() };
    let mut world = World::new(site.server(limits));
    // One true Initial, sent by many addresses with other connection ids: nobody can open those, and none takes a place that lasts.
    let at = world.at();
    let mut buffer = vec![];
    let size = world.client.connection.poll_transmit(at, 1, &mut buffer).unwrap().size;
    for i in 0..500u16 {
        let mut datagram = buffer[..size].to_vec();
        datagram[6..8].copy_from_slice(&i.to_be_bytes());
        let remote = SocketAddr::new("10.9.9.9".parse().unwrap(), 1000 + i);
        world.server.handle_datagram(Time::ZERO, Envelope { remote, local: None, ecn: Ecn::NotEct }, &mut datagram);
        assert!(world.server.clients.by_id.len() <= 10);
    }
    while world.server.poll_datagram(Time::ZERO, &mut vec![]).is_some() {}
    world.put(true, buffer[..size].to_vec(), |_, _| false);
    assert_eq!(world.get("/small"), b"0123456789");
}

/// RFC 9000 §8.1.2: under a flood strangers prove their address first, and take no place until they have.
#[test]
fn a_flood_is_answered_by_retries_that_cost_no_place() {
    let site = Site::new("retry-flood");
    let limits = Limits { connections: 40, half_open: 10, half_open_unproven: 5, ..Limits::default() };
    let mut world = World::new(site.server(limits));
    let mut first = vec![];
    let at = world.at();
    let size = world.client.connection.poll_transmit(at, 1, &mut first).unwrap().size;
    let (mut retries, mut out) = (0, vec![]);
    for i in 0..500u16 {
        let mut datagram = first[..size].to_vec();
        datagram[6..8].copy_from_slice(&i.to_be_bytes());
        let remote = SocketAddr::new("10.9.9.9".parse().unwrap(), 1000 + i);
        world.server.handle_datagram(Time::ZERO, Envelope { remote, local: None, ecn: Ecn::NotEct }, &mut datagram);
        assert!(world.server.clients.by_id.len() <= 5);
        while world.server.poll_datagram(Time::ZERO, &mut out).is_some() {
            retries += usize::from(out[0] & 0xf0 == 0xf0);
            assert!(out.len() < size, "smaller than what it answers");
            out.clear();
        }
    }
    assert_eq!(retries, 495);
    // The honest one proves its address: a Retry, then its Initial again, and the answer.
    world.put(true, first[..size].to_vec(), |_, _| false);
    assert_eq!(world.get("/small"), b"0123456789");
}

/// Every client is asked for a token, and over a link that loses: an address is proven once, and the ids that were told stand in the
/// parameters (§7.3), which quinn checks.
#[test]
fn a_retry_costs_a_round_trip_and_nothing_else() {
    let site = Site::new("retry");
    let limits = Limits { half_open_unproven: 0, ..Limits::default() };
    let mut world = World::new(site.server(limits));
    world.client_asks("/large", |_, _| false);
    assert!(world.client.ended.len() == 1 && world.now > Time::from_millis(160), "{}", world.now);
    let mut world = World::new(site.server(limits));
    world.client_asks("/large", |_, number| number % 5 == 4);
    assert_eq!(world.client.answer(world.client.ended[0]).2, large());
}

/// RFC 9000 §10.3: a server that was started anew with the same key ends the connections of the one before; with another it cannot.
#[test]
fn a_server_that_was_started_anew_ends_what_it_forgot() {
    let site = Site::new("reset");
    let made = || Identity::made(&["h3.test".into()]).unwrap().into_tls().unwrap();
    let tls = made();
    for (now, is_known) in [(tls.clone(), true), (made(), false)] {
        let mut world = World::new(site.server_that_is(&tls, Limits::default()));
        world.client_asks("/small", |_, _| false);
        world.server = site.server_that_is(&now, Limits::default());
        let asked = world.client.ask(&[(":path", "/small")]);
        let until = world.now + Duration::from_secs(2);
        world.play(until, |_, _| false, |client, _| client.lost.is_some());
        assert_eq!(matches!(world.client.lost, Some(ConnectionError::Reset)), is_known, "{:?}", world.client.lost);
        assert!(!world.client.ended.contains(&asked));
    }
}

fn closed_with(client: &Client) -> Option<u64> {
    match &client.lost {
        Some(ConnectionError::ApplicationClosed(close)) => Some(close.error_code.into_inner()),
        _ => None,
    }
}

/// Keeps the connection alive by PINGs, and lets little come.
fn slow() -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport.keep_alive_interval(Some(std::time::Duration::from_secs(5)));
    transport.stream_receive_window(VarInt::from_u32(50_000));
    transport
}

/// A reader that takes nothing of its answer holds its place for `idle_timeout`, however alive its QUIC is; one that reads slowly keeps it.
#[test]
fn a_reader_that_stands_still_is_sent_away() {
    let site = Site::new("slow");
    for (stands_still, code) in [(true, Some(0x107)), (false, None)] {
        let mut world = World::new(site.server(Limits::default()));
        world.client = Client::with(world.zero, slow());
        let (mut id, mut next) = (None, Time::ZERO);
        world.play(
            Time::from_secs(200),
            |_, _| false,
            |client, now| {
                if client.is_connected && id.is_none() {
                    id = Some(client.ask(&[(":path", "/large")]));
                    client.reads = false;
                }
                // 50 kB every 20 s.
                client.reads = !stands_still && now >= next;
                if client.reads {
                    next = now + Duration::from_secs(20);
                }
                client.lost.is_some()
            },
        );
        assert_eq!(closed_with(&world.client), code, "{:?}", world.client.lost);
        let waited = world.now.saturating_since(Time::ZERO);
        assert_eq!(waited < Duration::from_secs(70), stands_still, "{waited}");
    }
}

/// Half a request holds its place for `request_timeout`.
#[test]
fn half_a_request_is_not_waited_for() {
    let site = Site::new("half");
    let mut world = World::new(site.server(Limits::default()));
    world.client = Client::with(world.zero, slow());
    let mut is_begun = false;
    world.play(
        Time::from_secs(200),
        |_, _| false,
        |client, _| {
            if client.is_connected && !is_begun {
                is_begun = true;
                let id = client.connection.streams().open(Dir::Bi).unwrap();
                client.connection.send_stream(id).write(&[1, 40, 0]).unwrap();
            }
            client.lost.is_some()
        },
    );
    assert_eq!(closed_with(&world.client), Some(0x107));
    assert!((Time::from_secs(20)..Time::from_secs(21)).contains(&world.now), "{}", world.now);
}

/// With all places taken a client between requests makes room for a new one, and is told; one that waits for an answer does not.
#[test]
fn an_idle_client_makes_room() {
    let site = Site::new("room");
    for (path, is_let_in) in [("/small", true), ("/large", false)] {
        let mut world = World::new(site.server(Limits { connections: 1, ..Limits::default() }));
        let mut is_requested = false;
        world.play(
            Time::from_millis(200),
            |_, _| false,
            |client, _| {
                if client.is_connected && !is_requested {
                    client.send_control();
                    client.ask(&[(":path", path)]);
                    is_requested = true;
                }
                false
            },
        );
        assert_eq!((world.client.ended.len(), world.server.clients.by_id.len()), (usize::from(is_let_in), 1), "{path}");
        let (mut other, mut first) = (Client::new(world.zero), vec![]);
        let at = world.at();
        let size = other.connection.poll_transmit(at, 1, &mut first).unwrap().size;
        let envelope = Envelope { remote: "10.0.0.9:50000".parse().unwrap(), local: None, ecn: Ecn::NotEct };
        world.server.handle_datagram(world.now, envelope, &mut first[..size]);
        let (mut is_answered, mut out) = (false, vec![]);
        while let Some(to) = world.server.poll_datagram(world.now, &mut out) {
            is_answered |= to.remote == envelope.remote;
            let datagram = std::mem::take(&mut out);
            if to.remote == world.client.address {
                world.deliver(false, to.remote, datagram);
            }
        }
        assert_eq!((is_answered, world.server.clients.by_id.len()), (is_let_in, 1), "{path}");
        world.client.settle();
        assert_eq!(closed_with(&world.client), is_let_in.then_some(0x100), "{path}");
    }
}
