//! The server in virtual time: files arrive whole, limits hold, ends are clean, and nothing that comes makes it panic or grow.

mod support;

use playpath_serve::settings::Limits;
use playpath_transport::{Config, Event, Flags, Segment, SynOptions};
use playpath_units::{Duration, Time};
use proptest::prelude::*;
use std::net::SocketAddr;
use support::{Client, Site, converse, packet};

const GET: &str = "GET /clip HTTP/1.1\r\nConnection: close\r\n\r\n";

fn client(port: u16, request: &str) -> Client {
    Client::new(Time::ZERO, port, Config { isn: u32::MAX - 5000, ..Config::linux() }, request)
}

/// Every eleventh packet of either way is lost; 300 kB and 20 connections at a time.
#[test]
fn files_arrive_whole_and_connections_end() {
    let mut site = Site::new("whole", 300_000, Limits::default());
    let mut clients: Vec<Client> = (0..20).map(|i| client(2000 + i, GET)).collect();
    let mut count = 0;
    let lose = || {
        count += 1;
        count % 11 == 0
    };
    converse(&mut site, &mut clients, Time::from_secs(50), lose);
    for client in &mut clients {
        assert!(client.body() == site.clip, "{} bytes", client.received.len());
        assert!(client.has(Event::PeerClosed));
    }
}

#[test]
fn a_peer_without_options_is_served() {
    let mut site = Site::new("bare", 100_000, Limits::default());
    let config = Config { sack: false, timestamps: false, mss: 536, ..Config::linux() };
    let mut clients = [Client::new(Time::ZERO, 1, config, GET)];
    converse(&mut site, &mut clients, Time::from_secs(20), || false);
    assert!(clients[0].body() == site.clip);
}

/// Ten thousand SYNs of as many peers who never answer: as many as may be half open are kept, and an honest client still gets in.
#[test]
fn a_flood_of_syns_takes_no_more_than_its_share() {
    let limits = Limits { half_open: 64, connections: 100, ..Limits::default() };
    let mut site = Site::new("flood", 1000, limits);
    let syn = |i: u32| {
        let from = SocketAddr::from(([10, 1, (i >> 8) as u8, i as u8], 1000));
        let options = SynOptions { mss: 1460, ..SynOptions::default() };
        packet(
            from,
            &Segment { seq: i, flags: Flags::SYN, syn_options: options, window: 1000, ..Segment::default() },
            0,
            b"",
        )
    };
    for i in 0..10_000 {
        site.server.handle_packet(Time::ZERO, &syn(i));
        site.flush(Time::ZERO);
    }
    assert_eq!(site.server.connections().count(), 64);
    assert_eq!(site.server.counts().evicted, 10_000 - 64);
    let mut clients = [client(7, GET)];
    converse(&mut site, &mut clients, Time::from_secs(5), || false);
    assert!(clients[0].body() == site.clip);
    converse(&mut site, &mut [], Time::from_secs(200), || false);
    assert_eq!(site.server.connections().count(), 0, "who does not answer is forgotten");
}

/// Places are for those who use them: idle connections go, busy ones stay and the new client waits.
#[test]
fn idle_connections_make_room() {
    let mut site = Site::new("room", 50_000, Limits { connections: 4, ..Limits::default() });
    let mut idle: Vec<Client> = (0..4).map(|i| client(10 + i, "GET /clip HTTP/1.1\r\n\r\n")).collect();
    converse(&mut site, &mut idle, Time::from_secs(2), || false);
    assert_eq!(site.server.connections().count(), 4);
    idle.push(client(99, GET));
    converse(&mut site, &mut idle, Time::from_secs(9), || false);
    assert!(idle[4].body() == site.clip);
    assert_eq!(site.server.counts().evicted, 1);
}

/// One that sends nothing, one that sends a head without end, one that does not read: each is let go in its time.
#[test]
fn patience_ends() {
    let limits = Limits { idle_timeout: Duration::from_secs(30), ..Limits::default() };
    let mut site = Site::new("patience", 400_000, limits);
    let window = Config { receive_buffer: 100_000, ..Config::linux() };
    let mut clients = [client(1, ""), client(2, "GET /clip HTTP/1.1\r\nX: "), Client::new(Time::ZERO, 3, window, GET)];
    let mut is_deaf = false;
    let mut count = 0;
    // After 200 packets nothing comes through any more.
    let lose = || {
        count += 1;
        is_deaf |= count > 200;
        is_deaf
    };
    converse(&mut site, &mut clients[2..], Time::from_secs(2), lose);
    assert_eq!(site.server.connections().count(), 1);
    converse(&mut site, &mut clients[..2], Time::from_secs(100), || false);
    assert_eq!(site.server.connections().count(), 0);
    assert!(clients[0].has(Event::PeerClosed), "an idle one is closed in order");
    assert!(clients[1].has(Event::Reset), "half a request is reset");
}

/// A stranger's segment is answered by a reset, and its reset by nothing.
#[test]
fn what_belongs_to_no_connection_is_refused() {
    let mut site = Site::new("refuse", 10, Limits::default());
    let from = SocketAddr::from(([10, 0, 0, 9], 5));
    for (flags, answers) in [(Flags::ACK, 1), (Flags::SYN.with(Flags::ACK), 1), (Flags::RST, 0), (Flags::FIN, 1)] {
        site.server.handle_packet(Time::ZERO, &packet(from, &Segment { flags, ..Segment::default() }, 0, b""));
        assert_eq!(site.flush(Time::ZERO).len(), answers, "{flags:?}");
    }
    assert_eq!(site.server.connections().count(), 0);
}

/// What may come after a handshake: segments of the connection with fields near what is in use, or bytes of any kind.
fn hostile() -> impl Strategy<Value = (u8, i32, i32, u16, u32, Vec<u8>)> {
    let near = || prop_oneof![4 => -3000..3000i32, 1 => any::<i32>()];
    (any::<u8>(), near(), near(), any::<u16>(), 0u32..3, prop::collection::vec(any::<u8>(), 0..1400))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// A connection under way, and then anything: no panic, no growth beyond the window, and the server serves on.
    #[test]
    fn nothing_that_comes_breaks_it(stream in prop::collection::vec(hostile(), 1..60)) {
        let limits = Limits { receive_buffer: 1 << 16, ..Limits::default() };
        let mut site = Site::new(&format!("hostile-{:?}", std::thread::current().id()), 20_000, limits);
        let mut clients = [client(50, "GET /clip HTTP/1.1\r\n\r\n")];
        let mut now = converse(&mut site, &mut clients, Time::from_millis(45), || false);
        let base = Segment { window: 5000, ..Segment::default() };
        for (flags, seq, ack, window, kind, bytes) in stream {
            now += Duration::from_micros(u64::from(window));
            let seq = 0u32.wrapping_sub(4960).wrapping_add_signed(seq);
            let payload_len = if kind == 0 { 0 } else { bytes.len() as u32 };
            let flags = Flags(if kind == 1 { Flags::ACK.0 } else { flags });
            let ack = (ack as u32).wrapping_mul(3);
            let segment = Segment { seq, ack, flags, payload_len, window: window.into(), ..base };
            let mut packet = packet(clients[0].local, &segment, 0, &bytes[..payload_len as usize]);
            if kind == 2 && window % 4 == 0 {
                packet = bytes; // not even IP
            }
            site.server.handle_packet(now, &packet);
            prop_assert!(site.flush(now).len() < 100);
            prop_assert!(site.server.footprint() < 3 << 16, "{}", site.server.footprint());
        }
        prop_assert!(site.server.connections().count() <= 2);
        let mut clients = [client(51, GET)];
        let start = now;
        let mut clock = now;
        for _ in 0..2000 {
            let mut packets = site.flush(clock);
            packets.iter().for_each(|packet| clients[0].handle(clock, packet));
            packets = clients[0].flush(clock);
            packets.iter().for_each(|packet| site.server.handle_packet(clock, packet));
            clock += Duration::from_millis(1);
            clients[0].tcp.handle_timeout(clock);
            site.server.handle_timeout(clock);
        }
        prop_assert!(clients[0].body() == site.clip, "after {}", clock - start);
    }
}
