//! The server in virtual time: files arrive whole, limits hold, ends are clean, and nothing that comes makes it panic or grow.

mod support;

use playpath_serve::quic::identity::Identity;
use playpath_serve::settings::{Limits, Settings};
use playpath_transport::codec::Packet;
use playpath_transport::mptcp::option::{DSS_ACK, DSS_FIN, DSS_MAP, DSS_SEQ8};
use playpath_transport::{Config, Event, Flags, MptcpOption, Segment, SynOptions};
use playpath_units::{Duration, Rate, Time};
use playpath_video::ServerPolicy;
use playpath_video::cmsd::Cmsd;
use proptest::prelude::*;
use std::net::SocketAddr;
use std::sync::Arc;
use support::{Client, Site, converse, converse_from, packet};

const GET: &str = "GET /clip HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

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

/// RFC 9112 §9.3.2: more requests at once than the send buffer holds answers to, and no more to come.
#[test]
fn requests_in_a_row_are_answered_to_the_last_after_a_half_close() {
    let mut site = Site::new("row", 200_000, Limits::default());
    let mut clients = [client(1, &"GET /clip HTTP/1.1\r\nHost: a\r\n\r\n".repeat(30))];
    let opened = converse(&mut site, &mut clients, Time::from_millis(25), || false);
    clients[0].tcp.close();
    converse_from(&mut site, &mut clients, (opened, Time::from_secs(50)), || false);
    let answers = clients[0].received.windows(15).filter(|part| part == b"HTTP/1.1 200 OK").count();
    assert_eq!((answers, clients[0].has(Event::PeerClosed)), (30, true));
}

#[test]
fn a_peer_without_options_is_served() {
    let mut site = Site::new("bare", 100_000, Limits::default());
    let config = Config { sack: false, timestamps: false, mss: 536, ..Config::linux() };
    let mut clients = [Client::new(Time::ZERO, 1, config, GET)];
    converse(&mut site, &mut clients, Time::from_secs(20), || false);
    assert!(clients[0].body() == site.clip);
}

/// ns-2's agents have no handshake, and a real client no other beginning.
#[test]
fn a_sender_under_the_profile_ns2_is_served() {
    let settings = Settings { tcp: Arc::new(Config::ns2()), ..support::settings(Limits::default()) };
    let mut site = Site::under("ns2", 100_000, settings);
    let mut clients = [client(1, GET)];
    converse(&mut site, &mut clients, Time::from_secs(20), || false);
    assert!(clients[0].body() == site.clip);
}

/// What the server's TCP has measured by then: of 20 ms, and more than the first window (10 packets) in each.
#[test]
fn a_file_comes_with_what_the_server_knows_of_the_way() {
    let mut site = Site::new("cmsd", 300_000, Limits::default());
    site.server.policy = Some(ServerPolicy { max_rate: Some(Rate::from_bits_per_sec(3_000_000)) });
    let missing = "GET /none HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let mut clients = [client(1, "GET /clip HTTP/1.1\r\nHost: a\r\n\r\n"), client(2, missing)];
    let now = converse(&mut site, &mut clients, Time::from_secs(2), || false);
    clients[0].ask(GET);
    support::converse_from(&mut site, &mut clients, (now, Time::from_secs(20)), || false);
    let reported: Vec<Cmsd> =
        fields(&clients[0].received, "CMSD-Dynamic").iter().map(|value| Cmsd::parse(value)).collect();
    assert_eq!(
        reported[0],
        Cmsd { etp_kbps: None, mb_kbps: Some(3000), rtt_ms: Some(20) },
        "only the handshake was measured"
    );
    assert_eq!((reported.len(), reported[1].mb_kbps), (2, Some(3000)));
    // 10 packets of 1448 B in 20 ms are 5.8 Mbit/s; the whole clip in as long would be 120.
    assert!(reported[1].etp_kbps.is_some_and(|etp| (5_800..120_000).contains(&etp)), "{reported:?}");
    assert_eq!(fields(&clients[0].received, "Access-Control-Expose-Headers"), ["CMSD-Dynamic"; 2]);
    assert!(fields(&clients[1].received, "CMSD-Dynamic").is_empty(), "of what is not there nothing is told");
    assert_eq!(fields(&clients[0].received, "Alt-Svc"), ["h3=\":4433\""; 2]);
}

fn fields(received: &[u8], name: &str) -> Vec<String> {
    let text = String::from_utf8_lossy(received);
    let values = text.lines().filter_map(|line| line.split_once(": ")).filter(|(found, _)| *found == name);
    values.map(|(_, value)| value.to_string()).collect()
}

#[test]
fn reports_are_taken_on_any_connection() {
    let mut site = Site::new("reports", 1000, Limits::default());
    let body = "e=ps,sid=\"a\",sta=s,v=2\n\ne=t,sid=\"a\",sta=p,v=2\n";
    let head = "POST /cmcd HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/cmcd";
    let mut clients = [client(1, &format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()))];
    converse(&mut site, &mut clients, Time::from_secs(20), || false);
    let reported: Vec<_> = site.server.clients.reports.drain(..).collect();
    let line = |text: &str| (clients[0].local, text.to_string());
    assert_eq!(reported, [line("e=ps,sid=\"a\",sta=s,v=2"), line("e=t,sid=\"a\",sta=p,v=2")]);
    assert!(clients[0].received.starts_with(b"HTTP/1.1 204 No Content\r\n") && clients[0].body().is_empty());
}

/// A rate above what any server believes; the record says so, and of a client that tells what can be nothing.
#[test]
fn a_claim_that_is_not_believed_is_in_the_record() {
    let mut site = Site::new("doubt", 1000, Limits::default());
    site.server.record(Duration::from_millis(100));
    let request =
        |claim: &str| format!("GET /clip HTTP/1.1\r\nHost: a\r\nCMCD-Object: {claim}\r\nConnection: close\r\n\r\n");
    let mut clients = [client(1, &request("br=3000,tb=900000")), client(2, &request("br=3000,tb=6000"))];
    let now = converse(&mut site, &mut clients, Time::from_secs(20), || false);
    let record = site.server.clients.take_record(now).unwrap().to_json();
    let doubts: Vec<_> = (0..2).map(|i| record["connections"][i]["client_data_doubt"].as_str()).collect();
    assert_eq!(doubts, [Some("CMCD: `tb` = 900000 is out of range; 200000 used"), None]);
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
    assert_eq!(site.server.clients.by_id.len(), 64);
    assert_eq!(site.server.counts.evicted, 10_000 - 64);
    let mut clients = [client(7, GET)];
    converse(&mut site, &mut clients, Time::from_secs(5), || false);
    assert!(clients[0].body() == site.clip);
    converse(&mut site, &mut [], Time::from_secs(200), || false);
    assert_eq!(site.server.clients.by_id.len(), 0, "who does not answer is forgotten");
}

/// Places are for those who use them: idle connections go, busy ones stay and the new client waits.
#[test]
fn idle_connections_make_room() {
    let mut site = Site::new("room", 50_000, Limits { connections: 4, ..Limits::default() });
    let mut idle: Vec<Client> = (0..4).map(|i| client(10 + i, "GET /clip HTTP/1.1\r\nHost: a\r\n\r\n")).collect();
    converse(&mut site, &mut idle, Time::from_secs(2), || false);
    assert_eq!(site.server.clients.by_id.len(), 4);
    idle.push(client(99, GET));
    converse(&mut site, &mut idle, Time::from_secs(9), || false);
    assert!(idle[4].body() == site.clip);
    assert_eq!(site.server.counts.evicted, 1);
}

/// One that sends nothing, one that sends a head without end, one that does not read: each is let go in its time.
#[test]
fn patience_ends() {
    let limits = Limits { idle_timeout: Duration::from_secs(30), ..Limits::default() };
    let mut site = Site::new("patience", 400_000, limits);
    let window = Config { receive_buffer: 100_000, ..Config::linux() };
    let mut clients =
        [client(1, ""), client(2, "GET /clip HTTP/1.1\r\nHost: a\r\nX: "), Client::new(Time::ZERO, 3, window, GET)];
    let mut is_deaf = false;
    let mut count = 0;
    // After 200 packets nothing comes through any more.
    let lose = || {
        count += 1;
        is_deaf |= count > 200;
        is_deaf
    };
    converse(&mut site, &mut clients[2..], Time::from_secs(2), lose);
    assert_eq!(site.server.clients.by_id.len(), 1);
    converse(&mut site, &mut clients[..2], Time::from_secs(100), || false);
    assert_eq!(site.server.clients.by_id.len(), 0);
    assert!(clients[0].has(Event::PeerClosed), "an idle one is closed in order");
    assert!(clients[1].has(Event::Reset), "half a request is reset");
}

/// A record of 512 bytes begins (RFC 8446 §5.1), and goes on by a byte every five seconds.
#[test]
fn a_client_hello_that_drips_in_is_not_waited_for() {
    let tls = Identity::made(&["a.test".into()]).unwrap().into_tls_for(&["h2"]).unwrap();
    let settings = Settings { tls: Some(tls.config), ..support::settings(Limits::default()) };
    let mut site = Site::under("drip", 10, settings);
    let mut clients = [client(1, "\x16\x03\x01\x02\0")];
    converse(&mut site, &mut clients, Time::from_secs(5), || false);
    for seconds in [5, 10, 15, 20] {
        assert_eq!(site.server.clients.by_id.len(), 1);
        clients[0].ask("\x01");
        let times = (Time::from_secs(seconds), Time::from_secs(seconds + 5));
        support::converse_from(&mut site, &mut clients, times, || false);
    }
    assert!(clients[0].has(Event::Reset), "20 s after its first byte");
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
    assert_eq!(site.server.clients.by_id.len(), 0);
}

/// What may come after a handshake: segments of the connection with fields near what is in use, or bytes of any kind.
fn hostile() -> impl Strategy<Value = (u16, i32, i32, u16, u32, Vec<u8>)> {
    let near = || prop_oneof![4 => -3000..3000i32, 1 => any::<i32>()];
    (0u16..0x200, near(), near(), any::<u16>(), 0u32..3, prop::collection::vec(any::<u8>(), 0..1400))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// A connection under way, and then anything: no panic, no growth beyond the window, and the server serves on.
    #[test]
    fn nothing_that_comes_breaks_it(stream in prop::collection::vec(hostile(), 1..60)) {
        let limits = Limits { receive_buffer: 1 << 16, ..Limits::default() };
        let mut site = Site::new(&format!("hostile-{:?}", std::thread::current().id()), 20_000, limits);
        let mut clients = [client(50, "GET /clip HTTP/1.1\r\nHost: a\r\n\r\n")];
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
        prop_assert!(site.server.clients.by_id.len() <= 2);
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

/// MPTCP options with numbers near what is in use, and anything.
fn option() -> impl Strategy<Value = MptcpOption> {
    let near = || prop_oneof![3 => 0u32..20_000, 1 => any::<u32>()];
    let dss = (0u8..32, near(), near(), near(), any::<u16>());
    prop_oneof![
        4 => dss.prop_map(|(flags, ack, data_seq, subflow_seq, len)| MptcpOption::Dss {
            flags: flags & if flags & DSS_MAP == 0 { DSS_ACK | DSS_FIN } else { DSS_ACK | DSS_MAP | DSS_SEQ8 | DSS_FIN },
            data_ack: ack.into(),
            data_seq: data_seq.into(),
            subflow_seq,
            len,
            checksum: None,
        }),
        1 => any::<(u8, u8)>().prop_map(|(address_id, n)| MptcpOption::AddAddress {
            address_id, is_echo: n & 1 != 0, address: [10, 0, 0, n].into(), port: 0, mac: 1
        }),
        1 => (0u8..4).prop_map(|address_id| MptcpOption::RemoveAddress { address_id }),
        1 => any::<bool>().prop_map(|is_backup| MptcpOption::Priority { is_backup }),
        1 => any::<u64>().prop_map(|receiver_key| MptcpOption::FastClose { receiver_key }),
        1 => any::<u64>().prop_map(|data_seq| MptcpOption::Fail { data_seq }),
        1 => any::<[u8; 20]>().prop_map(|mac| MptcpOption::JoinAck { mac }),
    ]
}

/// An MPTCP connection with some joins, as a stranger makes it who knows its token: the places of its paths by port.
struct Stranger {
    site: Site,
    token: u32,
}

impl Stranger {
    fn new(name: &str) -> Stranger {
        let limits = Limits { receive_buffer: 1 << 16, ..Limits::default() };
        Stranger { site: Site::new(name, 20_000, limits), token: 0 }
    }

    fn from(port: u16) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, 3], port))
    }

    /// Send, and what comes back.
    fn send(&mut self, now: Time, port: u16, segment: &Segment, payload: &[u8]) -> Vec<Segment> {
        self.site.server.handle_packet(now, &packet(Self::from(port), segment, 0, payload));
        let answers = self.site.flush(now);
        answers.iter().map(|answer| Packet::parse(answer).unwrap().segment(5).unwrap()).collect()
    }

    fn open(&mut self) {
        let options = SynOptions { mss: 1460, window_scale: Some(0), sack_permitted: true };
        let capable = |keys, receiver_key| MptcpOption::Capable {
            flags: 1,
            keys,
            data_len: 0,
            checksum: None,
            sender_key: 7,
            receiver_key,
        };
        let syn = Segment {
            flags: Flags::SYN,
            syn_options: options,
            window: 60_000,
            mptcp: capable(0, 0),
            ..Segment::default()
        };
        let answer = self.send(Time::ZERO, 1, &syn, b"").remove(0);
        let MptcpOption::Capable { sender_key, .. } = answer.mptcp else { panic!("{answer:?}") };
        let ack = Segment { seq: 1, ack: answer.seq + 1, flags: Flags::ACK, mptcp: capable(2, sender_key), ..syn };
        self.send(Time::ZERO, 1, &Segment { syn_options: SynOptions::default(), ..ack }, b"");
        let connection = self.site.server.clients.by_id.values().next().unwrap();
        self.token = connection.transport.mptcp().unwrap().token();
    }

    fn join(&mut self, now: Time, port: u16, token: u32) -> Vec<Segment> {
        let mptcp = MptcpOption::JoinSyn { address_id: port as u8, is_backup: false, token, nonce: 5 };
        let options = SynOptions { mss: 1460, window_scale: Some(0), sack_permitted: true };
        self.send(
            now,
            port,
            &Segment { flags: Flags::SYN, syn_options: options, window: 60_000, mptcp, ..Segment::default() },
            b"",
        )
    }
}

/// Whoever knows the token gets as many places as there are, and no data without the right code; a wrong token is refused.
#[test]
fn joins_are_counted() {
    let mut stranger = Stranger::new("joins");
    stranger.open();
    let token = stranger.token;
    let refused = stranger.join(Time::ZERO, 900, token ^ 1);
    assert!(refused[0].flags.contains(Flags::RST));
    let answers: Vec<bool> =
        (0..40).map(|i| stranger.join(Time::ZERO, 1000 + i, token)[0].flags.contains(Flags::SYN)).collect();
    assert_eq!(answers.iter().filter(|is_answered| **is_answered).count(), 31, "32 paths with the first");
    // The third ACK with a wrong code is answered by a reset, and the place is free for another.
    let proof = Segment {
        seq: 1,
        ack: 0,
        flags: Flags::ACK,
        window: 60_000,
        mptcp: MptcpOption::JoinAck { mac: [1; 20] },
        ..Segment::default()
    };
    let isn = stranger.join(Time::ZERO, 1000, token)[0].seq;
    let answer = stranger.send(Time::ZERO, 1000, &Segment { ack: isn.wrapping_add(1), ..proof }, b"");
    assert!(answer.iter().any(|segment| segment.flags.contains(Flags::RST)), "{answer:?}");
    assert!(stranger.join(Time::ZERO, 2000, token)[0].flags.contains(Flags::SYN));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// The options of MPTCP, over its first path and others: no panic, no growth.
    #[test]
    fn no_option_breaks_it(stream in prop::collection::vec((option(), hostile(), 1u16..5), 1..60)) {
        let mut stranger = Stranger::new(&format!("options-{:?}", std::thread::current().id()));
        stranger.open();
        let token = stranger.token;
        let mut now = Time::from_millis(1);
        for port in 2..5 {
            stranger.join(now, port, token);
        }
        for (mptcp, (flags, seq, ack, window, kind, bytes), port) in stream {
            now += Duration::from_micros(u64::from(window));
            let payload = if kind == 0 { &[] } else { &bytes[..] };
            let flags = Flags(if kind == 1 { Flags::ACK.0 } else { flags & !Flags::SYN.0 });
            let seq = 1u32.wrapping_add_signed(seq);
            let segment = Segment {
                seq, ack: ack as u32, flags, payload_len: payload.len() as u32, window: window.into(), mptcp, ..Segment::default()
            };
            stranger.send(now, port, &segment, payload);
            stranger.site.server.handle_timeout(now);
            stranger.site.flush(now);
            prop_assert!(stranger.site.server.footprint() < 4 << 16, "{}", stranger.site.server.footprint());
        }
        prop_assert!(stranger.site.server.clients.by_id.len() <= 2);
    }
}
