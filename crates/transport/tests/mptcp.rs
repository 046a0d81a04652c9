//! Two MPTCP ends over several paths in virtual time: handshakes, integrity with real bytes, aggregation, path death, backup,
//! fallback, windows.

mod support;

use playpath_cc::AppParameters;
use playpath_transport::mptcp::option::{DSS_ACK, DSS_ACK8, DSS_MAP, DSS_SEQ8};
use playpath_transport::mptcp::scheduler;
use playpath_transport::mptcp::{MptcpConfig, MptcpConnection, PathConfig};
use playpath_transport::transports::Segments;
use playpath_transport::{Config, Event, Flags, MptcpOption, Pacing, Segment};
use playpath_units::random::{RootSeed, Stream};
use playpath_units::{Duration, Rate, Time};
use proptest::prelude::*;
use sha2::{Digest, Sha256};
use support::Reno;

/// One direction of one path.
#[derive(Clone, Copy)]
struct Link {
    rate: Rate,
    delay: Duration,
    queue: Duration,
    loss: f64,
    jitter: f64,
    free_at: Time,
    /// Nothing passes from the first to the second time.
    down: (Time, Time),
}

impl Link {
    fn new(mbps: f64, delay_ms: u64) -> Link {
        Link {
            rate: Rate::from_bits_per_sec_f64(mbps * 1e6),
            delay: Duration::from_millis(delay_ms),
            queue: Duration::from_millis(200),
            loss: 0.0,
            jitter: 0.0,
            free_at: Time::ZERO,
            down: (Time::MAX, Time::MAX),
        }
    }

    fn carry(&mut self, now: Time, bytes: u32, random: &mut Stream) -> Option<Time> {
        let start = self.free_at.max(now);
        let is_down = now >= self.down.0 && now < self.down.1;
        if random.chance(self.loss) || is_down || start.saturating_since(now) > self.queue {
            return None;
        }
        self.free_at = start + self.rate.time_to_send(bytes.into());
        Some(self.free_at + self.delay + Duration::from_secs_f64(random.uniform() * self.jitter))
    }
}

struct End {
    mptcp: MptcpConnection,
    out: Vec<u8>,
    written: usize,
    arrived: Vec<u8>,
    read: Vec<u8>,
    events: Vec<Event>,
    reads: bool,
    closes: bool,
}

impl End {
    fn new(mptcp: MptcpConnection, total: usize, salt: u8) -> End {
        let out = (0..total).map(|i| (i.wrapping_mul(31).wrapping_add(i >> 8) as u8) ^ salt).collect();
        End { mptcp, out, written: 0, arrived: vec![], read: vec![], events: vec![], reads: true, closes: true }
    }

    fn app(&mut self, now: Time) {
        while let Some(event) = self.mptcp.poll_event() {
            self.events.push(event);
        }
        self.written += self.mptcp.write((self.out.len() - self.written) as u64) as usize;
        if self.closes && self.written == self.out.len() && self.mptcp.is_established() {
            self.mptcp.close(now);
        }
        if self.reads {
            self.take(u64::MAX);
        }
    }

    fn take(&mut self, most: u64) -> usize {
        let taken = self.mptcp.read(most) as usize;
        let from = self.read.len();
        self.read.extend_from_slice(&self.arrived[from..from + taken]);
        taken
    }

    fn is_done(&self) -> bool {
        self.mptcp.is_closed() && self.mptcp.readable() == 0
    }
}

struct Net {
    now: Time,
    client: End,
    server: End,
    up: Vec<Link>,
    down: Vec<Link>,
    random: Stream,
    in_transit: Vec<(Time, u64, bool, usize, Segment, Vec<u8>)>,
    serial: u64,
    strips_options: bool,
    /// Data sequence numbers travel in four bytes.
    narrows: bool,
    seen: Vec<(Time, bool, usize, Segment)>,
    records: bool,
}

fn mptcp_config(receive_buffer: u64, key: u64) -> MptcpConfig {
    MptcpConfig {
        key,
        nonce: key as u32 ^ 0x55,
        send_buffer: 4 << 20,
        receive_buffer,
        is_coupled: false,
        requires_checksums: false,
    }
}

/// Linux's settings, with a receive window as large as the buffer from the beginning.
fn fixed() -> Config {
    Config { tunes_window: false, ..Config::linux() }
}

fn paths(links: &[Link], tcp: Config) -> Vec<PathConfig> {
    let one = |_: &Link| PathConfig { tcp, cc: playpath_cc::build("newreno", 10.0).unwrap(), is_backup: false };
    links.iter().map(one).collect()
}

impl Net {
    fn new(links: &[Link], name: &str, sizes: (usize, usize), receive_buffer: u64, seed: u64) -> Net {
        let tcp = Config { isn: u32::MAX - 3000, ..fixed() };
        let scheduler = || scheduler::build(name).unwrap();
        let client =
            MptcpConnection::connect(Time::ZERO, mptcp_config(receive_buffer, 11), scheduler(), paths(links, tcp));
        let server = MptcpConnection::listen(mptcp_config(receive_buffer, 22), scheduler(), paths(links, tcp));
        Net {
            now: Time::ZERO,
            client: End::new(client, sizes.0, 7),
            server: End::new(server, sizes.1, 99),
            up: links.to_vec(),
            down: links.to_vec(),
            random: RootSeed(seed).stream("net"),
            in_transit: vec![],
            serial: 0,
            strips_options: false,
            narrows: false,
            seen: vec![],
            records: false,
        }
    }

    fn drain(&mut self) {
        for is_client in [true, false] {
            let (end, links) =
                if is_client { (&mut self.client, &mut self.up) } else { (&mut self.server, &mut self.down) };
            while let Some((path, mut segment)) = end.mptcp.poll_transmit(self.now) {
                let mut payload = vec![];
                if segment.payload_len > 0 {
                    let at = end.mptcp.transmit_offset(path, &segment).expect("a mapping") as usize;
                    payload = end.out[at..at + segment.payload_len as usize].to_vec();
                }
                assert!(segment.option_bytes() <= 40, "{segment:?}");
                if self.records {
                    self.seen.push((self.now, is_client, path, segment));
                }
                if let (true, MptcpOption::Dss { flags, data_seq, .. }) = (self.narrows, &mut segment.mptcp) {
                    *flags &= !DSS_SEQ8;
                    *data_seq = u64::from(*data_seq as u32);
                }
                if self.strips_options {
                    segment.mptcp = MptcpOption::None;
                }
                if let Some(at) = links[path].carry(self.now, segment.wire_bytes(), &mut self.random) {
                    self.serial += 1;
                    self.in_transit.push((at, self.serial, is_client, path, segment, payload));
                }
            }
        }
    }

    fn deliver(&mut self) {
        loop {
            let due = (0..self.in_transit.len()).filter(|&i| self.in_transit[i].0 <= self.now);
            let Some(i) = due.min_by_key(|&i| (self.in_transit[i].0, self.in_transit[i].1)) else { return };
            let (_, _, is_client, path, segment, payload) = self.in_transit.swap_remove(i);
            let end = if is_client { &mut self.server } else { &mut self.client };
            let before = end.mptcp.receive_offset(path, &segment);
            end.mptcp.handle_segment(self.now, path, &segment);
            let at = before.or_else(|| end.mptcp.receive_offset(path, &segment));
            if let (Some(at), false) = (at, payload.is_empty()) {
                let at = at as usize;
                end.arrived.resize(end.arrived.len().max(at + payload.len()), 0);
                end.arrived[at..at + payload.len()].copy_from_slice(&payload);
            }
        }
    }

    fn step(&mut self, limit: Time) {
        self.client.app(self.now);
        self.server.app(self.now);
        self.drain();
        let timeouts = self.client.mptcp.poll_timeout().min(self.server.mptcp.poll_timeout());
        let arrival = self.in_transit.iter().map(|x| x.0).min().unwrap_or(Time::MAX);
        self.now = timeouts.min(arrival).max(self.now).min(limit);
        self.deliver();
        for end in [&mut self.client, &mut self.server] {
            if end.mptcp.poll_timeout() <= self.now {
                end.mptcp.handle_timeout(self.now);
            }
        }
    }

    fn run_until(&mut self, end: Time) {
        while self.now < end {
            self.step(end);
        }
        self.client.app(self.now);
        self.server.app(self.now);
        self.drain();
    }

    /// Until both ends are closed and everything is read.
    fn run_to_end(&mut self, limit: Time) {
        let mut events = 0;
        while !(self.client.is_done() && self.server.is_done()) {
            self.step(limit);
            events += 1;
            assert!(self.now < limit, "stuck: {:?} {:?}", self.client.mptcp.stats(), self.server.mptcp.stats());
            assert!(events < 5_000_000, "spins at {}", self.now);
        }
        self.client.app(self.now);
        self.server.app(self.now);
        assert!(self.server.read == self.client.out, "client to server");
        assert!(self.client.read == self.server.out, "server to client");
        for (name, end) in [("client", &self.client), ("server", &self.server)] {
            assert!(
                end.events.contains(&Event::PeerClosed) && end.events.contains(&Event::Closed),
                "{name} {:?}",
                end.events.last()
            );
            assert!(!end.events.contains(&Event::Reset));
        }
    }
}

fn three() -> [Link; 3] {
    [Link::new(2.0, 25), Link::new(2.0, 50), Link::new(2.0, 50)]
}

/// MP_CAPABLE on path 0; ADD_ADDR after the third ACK, the second one after the echo of the first; joins take their own round trips; every option checks out.
#[test]
fn handshakes_take_their_own_round_trips() {
    let mut net = Net::new(&three(), "dft", (0, 0), 1 << 20, 1);
    (net.client.closes, net.server.closes, net.records) = (false, false, true);
    let ready = |net: &Net| [0, 1, 2].map(|p| (net.client.mptcp.is_path_usable(p), net.server.mptcp.is_path_usable(p)));
    net.run_until(Time::from_millis(52));
    assert_eq!(ready(&net)[0], (true, false));
    net.run_until(Time::from_millis(80));
    assert_eq!(ready(&net), [(true, true), (false, false), (false, false)]);
    // ADD_ADDR leaves the server at 75 ms and is there at 100; the SYN-ACK of the join is back at 200; its proof at 250.
    net.run_until(Time::from_millis(248));
    assert_eq!(ready(&net)[1], (false, false));
    net.run_until(Time::from_millis(253));
    assert_eq!(ready(&net)[1..], [(false, true), (false, false)]);
    // The echo is back at 125 ms: all of it 50 ms later on the third path.
    net.run_until(Time::from_millis(298));
    assert_eq!(ready(&net)[2], (false, false));
    net.run_until(Time::from_millis(303));
    assert_eq!(ready(&net)[2], (false, true));
    net.run_until(Time::from_millis(360));
    assert_eq!(ready(&net), [(true, true); 3]);
    let has = |wanted: fn(&MptcpOption) -> bool| net.seen.iter().filter(|(_, _, _, s)| wanted(&s.mptcp)).count();
    assert_eq!(has(|o| matches!(o, MptcpOption::Capable { keys: 0, .. })), 1);
    assert_eq!(has(|o| matches!(o, MptcpOption::Capable { keys: 1, .. })), 1);
    assert_eq!(has(|o| matches!(o, MptcpOption::AddAddress { is_echo: false, .. })), 2);
    assert_eq!(has(|o| matches!(o, MptcpOption::AddAddress { is_echo: true, .. })), 2);
    assert_eq!(has(|o| matches!(o, MptcpOption::JoinSyn { .. })), 2);
    assert_eq!(has(|o| matches!(o, MptcpOption::JoinAck { .. })), 2);
}

/// A join with a wrong code is not admitted.
#[test]
fn a_forged_join_is_refused() {
    let mut net = Net::new(&three()[..2], "dft", (0, 0), 1 << 20, 1);
    (net.client.closes, net.server.closes) = (false, false);
    net.run_until(Time::from_millis(120));
    for entry in &mut net.in_transit {
        if let MptcpOption::JoinSyn { nonce, .. } = &mut entry.4.mptcp {
            *nonce ^= 1; // both codes depend on it
        }
    }
    net.run_until(Time::from_secs(1));
    assert!(!net.client.mptcp.is_path_usable(1) && !net.server.mptcp.is_path_usable(1));
    let mut net = Net::new(&three()[..2], "dft", (0, 0), 1 << 20, 1);
    (net.client.closes, net.server.closes) = (false, false);
    net.run_until(Time::from_millis(120));
    for entry in &mut net.in_transit {
        if let MptcpOption::JoinSyn { token, .. } = &mut entry.4.mptcp {
            *token ^= 1;
        }
    }
    net.run_until(Time::from_millis(900));
    assert!(net.server.mptcp.subflow(1).is_none());
}

/// A wrong code in the third ACK: the server never uses the path.
#[test]
fn a_forged_proof_is_refused() {
    let mut net = Net::new(&three()[..2], "dft", (0, 1_000_000), 1 << 20, 1);
    while net.now < Time::from_secs(3) {
        net.step(Time::from_secs(3));
        for entry in &mut net.in_transit {
            if let MptcpOption::JoinAck { mac } = &mut entry.4.mptcp {
                mac[7] = 0xaa; // the same each time
            }
        }
    }
    assert!(!net.server.mptcp.is_path_usable(1));
    assert_eq!(net.server.mptcp.subflow_stats(1).scheduled_packets, 0);
    net.run_to_end(Time::from_secs(60));
}

/// Paths of unlike MSS: segments are cut for the smallest, queued several deep by `linux`, and never span two mappings.
#[test]
fn a_segment_never_spans_two_mappings() {
    let mut links = three();
    links[1].loss = 0.02;
    let mut net = Net::new(&links, "linux", (0, 2_000_000), 1 << 20, 1);
    let all = || -> Vec<_> {
        let path = |(i, mut path): (usize, PathConfig)| {
            path.tcp.mss = [1448, 524, 1448][i];
            path
        };
        paths(&links, fixed()).into_iter().enumerate().map(path).collect()
    };
    let build = || scheduler::build("linux").unwrap();
    net.client.mptcp = MptcpConnection::connect(Time::ZERO, mptcp_config(1 << 20, 1), build(), all());
    net.server.mptcp = MptcpConnection::listen(mptcp_config(1 << 20, 2), build(), all());
    net.records = true;
    net.run_to_end(Time::from_secs(60));
    let late = net.seen.iter().filter(|(at, is_client, ..)| !is_client && *at > Time::from_secs(1));
    assert!(late.clone().count() > 1000);
    assert!(late.clone().all(|(.., segment)| segment.payload_len <= 500));
}

/// Three equal paths of 2 Mbit/s carry at least 95 % of what headers leave: 1424 of 1500 bytes each.
#[test]
fn three_paths_add_up() {
    for name in ["dft", "linux", "roundrobin", "gr-sty"] {
        let links = [Link::new(2.0, 25); 3];
        let mut net = Net::new(&links, name, (0, 30_000_000), 4 << 20, 1);
        net.run_until(Time::from_secs(5));
        // What waits behind a gap has arrived, too.
        let arrived = |net: &Net| net.client.read.len() as f64 + net.client.mptcp.out_of_order_bytes() as f64;
        let before = arrived(&net);
        net.run_until(Time::from_secs(35));
        let goodput = (arrived(&net) - before) * 8.0 / 30.0;
        let capacity = 6e6 * 1424.0 / 1500.0;
        assert!(goodput > 0.95 * capacity && goodput <= 1.001 * capacity, "{name}: {goodput} of {capacity}");
    }
}

/// As Linux's the window begins at what fits into 16 bits, and follows what is read in a round trip: three paths of 2 Mbit/s and 450 ms
/// with their queues take 340 kB, which it reaches without ever offering all of its 6 MB.
#[test]
fn the_window_of_a_client_follows_what_it_reads() {
    window_follows(Config::linux());
}

/// So it does without timestamps, where each subflow measures the round trip by how fast the connection's window fills.
#[test]
fn the_window_of_a_client_follows_without_timestamps() {
    window_follows(Config { timestamps: false, ..Config::linux() });
}

fn window_follows(tcp: Config) {
    let mut net = Net::new(&[Link::new(2.0, 25); 3], "dft", (0, 30_000_000), 6 << 20, 1);
    let config = |key| mptcp_config(6 << 20, key);
    let all = || paths(&[Link::new(2.0, 25); 3], tcp);
    net.client.mptcp = MptcpConnection::connect(Time::ZERO, config(1), scheduler::build("dft").unwrap(), all());
    net.server.mptcp = MptcpConnection::listen(config(2), scheduler::build("dft").unwrap(), all());
    net.records = true;
    net.run_until(Time::from_secs(20));
    let reported = |from: u64, to: u64| {
        let range = Time::from_millis(from)..Time::from_millis(to);
        let acks = net
            .seen
            .iter()
            .filter(|(at, is_client, _, s)| *is_client && range.contains(at) && !s.flags.contains(Flags::SYN));
        acks.map(|(.., segment)| segment.window).max().unwrap()
    };
    assert_eq!(reported(0, 90), 64_240, "before anything was read");
    assert!((340_000..6 << 20).contains(&reported(10_000, 20_000)), "{}", reported(10_000, 20_000));
    assert!(net.client.read.len() as f64 * 8.0 > 0.9 * 20.0 * 6e6 * 1424.0 / 1500.0, "{}", net.client.read.len());
}

/// What comes behind a gap of its subflow raises the window, too, as in Linux (`tcp_data_queue_ofo`): while the DATA_ACK stands still,
/// ten segments and more let the right edge move by two segments each.
#[test]
fn segments_behind_a_gap_raise_the_window() {
    let mut link = Link::new(20.0, 25);
    link.down = (Time::from_millis(230), Time::from_millis(232));
    let mut net = Net::new(&[link], "dft", (0, 1_000_000), 1 << 20, 1);
    let config = |key| mptcp_config(6 << 20, key);
    let all = || paths(&[link], Config::linux());
    net.client.mptcp = MptcpConnection::connect(Time::ZERO, config(1), scheduler::build("dft").unwrap(), all());
    net.server.mptcp = MptcpConnection::listen(config(2), scheduler::build("dft").unwrap(), all());
    net.records = true;
    net.run_until(Time::from_secs(1));
    let reported = |(_, is_client, _, s): &(Time, bool, usize, Segment)| match s.mptcp {
        MptcpOption::Dss { data_ack, .. } if *is_client && !s.sack.is_empty() => Some((data_ack, s.window)),
        _ => None,
    };
    let behind: Vec<_> = net.seen.iter().filter_map(reported).collect();
    let (ack, first) = behind[0];
    let (count, last) =
        behind.iter().filter(|(at, _)| *at == ack).fold((0, 0), |(count, _), (_, window)| (count + 1, *window));
    assert!(count > 10 && last >= first + 20 * 1424, "{count} ACKs, {first} to {last}");
}

/// Data sequence numbers of eight bytes are acknowledged with as many (RFC 8684 §3.3, Linux `use_64bit_ack`), so that beside twelve bytes
/// of timestamps one SACK block fits, not two.
#[test]
fn wide_sequence_numbers_are_acknowledged_in_full_and_leave_room_for_one_sack_block() {
    let mut links = [Link::new(2.0, 25); 2];
    links[0].loss = 0.05;
    let mut net = Net::new(&links, "dft", (0, 1_000_000), 1 << 20, 1);
    net.records = true;
    net.run_until(Time::from_secs(10));
    let bare = net.seen.iter().filter(|(_, is_client, _, s)| *is_client && s.payload_len == 0);
    let dss = bare.filter_map(|(.., s)| match s.mptcp {
        MptcpOption::Dss { flags, .. } if flags & DSS_MAP == 0 => Some((flags, s.sack.len())),
        _ => None,
    });
    let acks: Vec<_> = dss.skip_while(|(flags, _)| flags & DSS_ACK8 == 0).collect();
    assert!(acks.len() > 200 && acks.iter().any(|(_, blocks)| *blocks == 1), "{}", acks.len());
    assert!(acks.iter().all(|(flags, blocks)| *flags == DSS_ACK | DSS_ACK8 && *blocks <= 1));
}

/// Sized for ten packets, Linux's send buffer takes 2 · 10 · 4352 = 87 040 bytes of memory. After two data fragments (46 segments of 1424,
/// ten of them in the network) it has room, so it is given a third, whatever that adds: all that the connection's buffer holds, which has
/// 4096 bytes more: 64 segments, of which 54 wait.
#[test]
fn linux_commits_what_its_send_buffer_takes() {
    let mut net = Net::new(&[Link::new(2.0, 25); 2], "linux", (0, 30_000_000), 4 << 20, 1);
    net.run_until(Time::from_millis(80));
    let waiting = net.server.mptcp.subflow(0).unwrap().unsent_bytes() / 1424;
    assert_eq!(waiting, 54);
}

/// Linux prepares a buffer on the subflow that it chooses before it looks at the peer's window (`mptcp_sendmsg_frag`). If the subflow is
/// idle for longer than an RTO, that restarts its window, although nothing leaves. Here the first path fills what the reader opens, and
/// the second, idle one is tried.
#[test]
fn a_closed_window_restarts_idle_subflows_of_linux() {
    let mut net = Net::new(&[Link::new(8.0, 25); 2], "linux", (0, 3_000_000), 1 << 20, 1);
    net.run_until(Time::from_millis(600));
    net.client.reads = false;
    net.run_until(Time::from_secs(8));
    let second = |net: &Net| {
        let cwnd = net.server.mptcp.subflow(1).unwrap().info().path.cwnd;
        (cwnd, net.server.mptcp.subflow_stats(1).scheduled_packets)
    };
    let (before, given) = second(&net);
    net.client.take(20_000);
    net.run_until(Time::from_millis(8200));
    let (after, given_after) = second(&net);
    assert_eq!(given, given_after);
    assert!(before > 20.0 && after <= before / 2.0, "{before} {after}");
}

/// `sk_stream_is_writeable`: as much room as half of what the buffer holds.
#[test]
fn a_writer_is_woken_when_a_third_of_the_buffer_is_free() {
    let mut net = Net::new(&[Link::new(8.0, 25); 2], "dft", (0, 0), 4 << 20, 1);
    (net.client.closes, net.server.closes) = (false, false);
    net.run_until(Time::from_millis(300));
    (net.server.out, net.server.written) = (vec![0; 8 << 20], 8 << 20);
    net.server.mptcp.write(8 << 20);
    let (mut now, mut space) = (300, 0);
    while !net.server.events.contains(&Event::Writable) {
        (now, space) = (now + 1, net.server.mptcp.send_space());
        net.run_until(Time::from_millis(now));
    }
    let third = (4 << 20) / 3;
    assert!(third - 20_000 < space && space < third + 20_000, "{space}");
}

/// Every data segment of the server in the order of leaving: changes of path are counted whatever it carries, so there are as many as of
/// new data at least.
#[test]
fn switches_on_the_wire_count_all_that_leaves() {
    let mut links = three();
    links[1].loss = 0.03;
    let mut net = Net::new(&links, "roundrobin", (0, 1_000_000), 1 << 20, 3);
    net.records = true;
    net.run_to_end(Time::from_secs(60));
    let stats = *net.server.mptcp.stats();
    let data = net.seen.iter().filter(|(_, is_client, _, segment)| !is_client && segment.payload_len > 0);
    let left: Vec<usize> = data.map(|(_, _, path, _)| *path).collect();
    assert_eq!(stats.wire_switches, left.windows(2).filter(|pair| pair[0] != pair[1]).count() as u64);
    assert!(stats.wire_switches > 50, "{stats:?}");
}

/// A megabyte, the end of it on a slow path when everything is given out. With an urgent player they go on the fast one, too.
#[test]
fn a_player_with_little_left_gets_copies() {
    let copies = |is_urgent| {
        let links = [Link { queue: Duration::from_millis(20), ..Link::new(4.0, 10) }, Link::new(4.0, 200)];
        let mut net = Net::new(&links, "xlink", (0, 1_000_000), 1 << 20, 1);
        let reported = AppParameters {
            playout_buffer_bytes: 1_000_000,
            playout_buffer_free_bytes: Some(0),
            video_rate: Rate::from_bits_per_sec(1_000_000),
            is_urgent,
            ..AppParameters::default()
        };
        net.server.mptcp.set_app_parameters(Time::ZERO, reported);
        while net.client.read.len() < 1_000_000 {
            net.run_until(net.now + Duration::from_millis(5));
        }
        (net.server.mptcp.stats().reinjections, net.now)
    };
    let ((none, without), (some, with)) = (copies(false), copies(true));
    assert_eq!(none, 0, "eight seconds are left");
    assert!(some > 10 && with < without, "{some} copies, {with:?} and {without:?}");
}

/// What the application tells before a path joins reaches that path's control, too: `sammy` paces once it has heard of a player, and
/// else not at all.
#[test]
fn a_path_that_joins_late_hears_what_was_told() {
    for tells in [true, false] {
        let mut net = Net::new(&three()[..2], "dft", (0, 1_000_000), 1 << 20, 1);
        let one = |tcp| PathConfig { tcp, cc: playpath_cc::build("sammy", 10.0).unwrap(), is_backup: false };
        let tcp = Config { isn: u32::MAX - 3000, ..fixed() };
        let scheduler = scheduler::build("dft").unwrap();
        net.server.mptcp = MptcpConnection::listen(mptcp_config(1 << 20, 22), scheduler, vec![one(tcp), one(tcp)]);
        let reported = AppParameters {
            playout_buffer_bytes: 1_000_000,
            playout_buffer_free_bytes: Some(1_000_000),
            video_rate: Rate::from_bits_per_sec(2_000_000),
            object_bytes: Some(1_000_000),
            object_duration: Some(Duration::from_secs(4)),
            top_rate: Some(Rate::from_bits_per_sec(2_000_000)),
            is_urgent: true,
        };
        if tells {
            net.server.mptcp.set_app_parameters(Time::ZERO, reported);
        }
        net.run_until(Time::from_millis(10));
        assert!(net.server.mptcp.subflow(1).is_none(), "not open yet");
        net.run_until(Time::from_secs(1));
        let late = net.server.mptcp.subflow(1).expect("it has joined");
        assert_eq!(late.congestion_control().pacing_rate().is_some(), tells);
    }
}

/// A slow path holds the oldest data, everything else is given out and the writer waits for a send buffer of 120 kB: the oldest goes
/// on the fast path, too, and the slow one is penalised.
#[test]
fn a_full_send_buffer_is_relieved() {
    let relieved = |send_buffer| {
        let links = [Link::new(2.0, 10), Link::new(1.0, 600)];
        let mut net = Net::new(&links, "dft", (0, 2_000_000), 4 << 20, 1);
        let config = |key| MptcpConfig { send_buffer, ..mptcp_config(4 << 20, key) };
        let all = || paths(&links, fixed());
        net.client.mptcp = MptcpConnection::connect(Time::ZERO, config(1), scheduler::build("dft").unwrap(), all());
        net.server.mptcp = MptcpConnection::listen(config(2), scheduler::build("dft").unwrap(), all());
        net.run_to_end(Time::from_secs(120));
        let stats = net.server.mptcp.stats();
        (stats.opportunistic_retransmissions, stats.penalisations)
    };
    assert_eq!(relieved(16 << 20), (0, 0), "neither window nor buffer is ever full");
    let (retransmissions, penalties) = relieved(120_000);
    assert!(retransmissions > 0 && penalties > 0, "{retransmissions} {penalties}");
}

/// The scheduler hands a subflow one segment after the other; none of them is the end of what was written but the last of all. So
/// at most every second one is pushed: it ends a group of two. (A receiver acknowledges at once what is pushed.)
#[test]
fn only_the_end_is_pushed() {
    let mut net = Net::new(&three(), "dft", (0, 3_000_000), 4 << 20, 1);
    net.records = true;
    net.run_to_end(Time::from_secs(60));
    let of =
        |from_client: bool| net.seen.iter().filter(move |(_, client, ..)| *client == from_client).map(|seen| &seen.3);
    let data: Vec<_> = of(false).filter(|segment| segment.payload_len > 0).collect();
    let pushed = data.iter().filter(|segment| segment.flags.contains(Flags::PSH)).count();
    assert!(data.last().is_some_and(|last| last.flags.contains(Flags::PSH)), "the end of the stream");
    assert!(2 * pushed <= data.len() + 6, "{pushed} of {} segments", data.len());
}

/// A path dies in mid-stream and comes back: no byte is lost, the pause is short, the path is used again.
#[test]
fn a_path_may_die_and_come_back() {
    let mut links = three();
    links[0].down = (Time::from_secs(5), Time::from_secs(15));
    let mut net = Net::new(&links, "dft", (0, 12_000_000), 1 << 20, 1);
    net.run_until(Time::from_secs(5));
    let mut longest = Duration::ZERO;
    let (mut last, mut at) = (net.client.read.len(), net.now);
    while net.now < Time::from_secs(15) {
        net.step(Time::from_secs(15));
        if net.client.read.len() > last {
            (last, at) = (net.client.read.len(), net.now);
        }
        longest = Duration::max(longest, net.now.saturating_since(at));
    }
    // The RTO of the dead path (some 300 ms with its queue of up to 200 ms), then a round trip of the others.
    assert!(longest < Duration::from_millis(1200), "{longest}");
    assert!(!net.server.mptcp.is_path_usable(0));
    let before = net.server.mptcp.subflow_stats(0).scheduled_packets;
    net.run_to_end(Time::from_secs(60));
    assert!(net.server.mptcp.subflow_stats(0).scheduled_packets > before + 100, "the path is used again");
    assert!(net.server.mptcp.stats().reinjections > 0);
}

/// The first number follows from the key (RFC 8684 section 3.1): the first key from `seed` on with which it is less than `bytes` before a
/// multiple of 2^32.
fn key_before_wrap(seed: u64, bytes: u32) -> u64 {
    let first = |key: &u64| u32::from_be_bytes(Sha256::digest(key.to_be_bytes())[28..].try_into().unwrap());
    (seed..).find(|key| first(key).wrapping_neg() < bytes).unwrap()
}

/// Data sequence numbers and DATA_ACKs of either side pass a multiple of 2^32, where four bytes begin anew; numbers with eight bytes and
/// with four, over paths that lose packets.
#[test]
fn data_sequence_numbers_may_begin_anew() {
    for narrows in [false, true] {
        let mut net = Net::new(&three(), "dft", (1_000_000, 1_000_000), 1 << 20, 5);
        for links in [&mut net.up, &mut net.down] {
            links[1].loss = 0.02;
        }
        let (client, server) = (key_before_wrap(1, 500_000), key_before_wrap(1 << 32, 500_000));
        let all = || paths(&three(), Config { isn: u32::MAX - 3000, ..fixed() });
        let build = || scheduler::build("dft").unwrap();
        net.client.mptcp = MptcpConnection::connect(Time::ZERO, mptcp_config(1 << 20, client), build(), all());
        net.server.mptcp = MptcpConnection::listen(mptcp_config(1 << 20, server), build(), all());
        (net.narrows, net.records) = (narrows, true);
        net.run_to_end(Time::from_secs(60));
        let low = |is_client: bool| {
            let numbers =
                net.seen.iter().filter(move |seen| seen.1 == is_client).filter_map(|seen| match seen.3.mptcp {
                    MptcpOption::Dss { data_seq, len: 1.., .. } => Some(data_seq as u32),
                    _ => None,
                });
            (numbers.clone().min().unwrap(), numbers.max().unwrap())
        };
        for (least, most) in [low(true), low(false)] {
            assert!(least < 1_000_000 && most > u32::MAX - 500_000, "{least} to {most}");
        }
    }
}

/// A backup carries nothing until the others have failed; MP_PRIO changes that.
#[test]
fn backups_wait() {
    let mut links = three();
    links[0].down = (Time::from_secs(5), Time::MAX);
    let mut net = Net::new(&links[..2], "dft", (0, 4_000_000), 1 << 20, 1);
    net.run_until(Time::from_millis(100));
    net.client.mptcp.set_backup(1, true);
    net.server.mptcp.set_backup(1, true);
    net.run_until(Time::from_secs(5));
    assert_eq!(net.server.mptcp.subflow_stats(1).scheduled_packets, 0);
    net.run_to_end(Time::from_secs(60));
    assert!(net.server.mptcp.subflow_stats(1).scheduled_packets > 1000);
    // Told by the peer alone, through the option.
    let mut net = Net::new(&three()[..2], "dft", (0, 4_000_000), 1 << 20, 1);
    net.run_until(Time::from_secs(2));
    net.client.mptcp.set_backup(1, true);
    net.run_until(Time::from_millis(2200));
    let before = net.server.mptcp.subflow_stats(1).scheduled_packets;
    net.run_until(Time::from_secs(5));
    assert_eq!(net.server.mptcp.subflow_stats(1).scheduled_packets, before);
}

/// RFC 8684 §3.1: the third ACK, which has the keys, is lost; nothing that the client signals takes their place, for without them the
/// server could not make sense of what follows.
#[test]
fn no_signal_goes_before_the_keys() {
    let mut links = three();
    links[0].down = (Time::from_nanos(2 * links[0].delay.as_nanos()), Time::from_millis(400));
    let mut net = Net::new(&links, "dft", (0, 10_000), 1 << 20, 1);
    net.run_until(Time::from_millis(500));
    net.client.mptcp.set_backup(0, true);
    net.run_to_end(Time::from_secs(60));
    assert!(!net.client.mptcp.is_fallback() && !net.server.mptcp.is_fallback());
}

/// REMOVE_ADDR takes a path out on both sides without loss of data.
#[test]
fn a_path_may_be_removed() {
    let mut net = Net::new(&three(), "dft", (0, 4_000_000), 1 << 20, 1);
    net.run_until(Time::from_secs(3));
    net.client.mptcp.remove_path(0);
    net.run_until(Time::from_millis(3200));
    assert!(!net.server.mptcp.is_path_usable(0));
    net.run_to_end(Time::from_secs(60));
}

/// A segment whose place, ACK or timestamp is made up is not the peer's: its TCP refuses it, and its options say nothing (Linux reads
/// them after `tcp_validate_incoming`). The ACK is the narrowest of the three: a subflow's own window is without end.
#[test]
fn options_of_a_segment_that_tcp_refuses_do_not_count() {
    let mut net = Net::new(&three(), "dft", (0, 4_000_000), 1 << 20, 1);
    net.records = true;
    net.run_until(Time::from_secs(3));
    let true_one = net.seen.iter().rev().find(|(_, is_client, path, _)| *is_client && *path == 0).unwrap().3;
    let made_up = [
        Segment { seq: true_one.seq.wrapping_sub(1 << 30), ..true_one },
        Segment { ack: true_one.ack.wrapping_add(1 << 30), ..true_one },
        Segment { flags: Flags::default(), ..true_one },
        Segment { timestamps: None, ..true_one },
    ];
    let remove = MptcpOption::RemoveAddress { address_id: 1 };
    for segment in made_up {
        net.server.mptcp.handle_segment(net.now, 0, &Segment { mptcp: remove, ..segment });
        net.server.mptcp.handle_option(net.now, 0, &Segment { mptcp: remove, ..segment });
        assert!(net.server.mptcp.is_path_usable(1), "{segment:?}");
    }
    net.server.mptcp.handle_segment(net.now, 0, &Segment { mptcp: remove, ..true_one });
    assert!(!net.server.mptcp.is_path_usable(1));
    net.run_to_end(Time::from_secs(60));
}

/// What a subflow has acknowledged, or refuses, is not for the owner of the bytes to store: nobody has read it yet (RFC 9293 §3.10.7.4).
#[test]
fn a_copy_on_a_subflow_is_not_taken() {
    let mut net = Net::new(&[Link::new(2.0, 25)], "dft", (0, 4_000_000), 1 << 20, 1);
    (net.client.reads, net.records) = (false, true);
    net.run_until(Time::from_secs(1));
    let copy = net.seen.iter().find(|(_, is_client, _, segment)| !is_client && segment.payload_len > 0).unwrap().3;
    let next = net.in_transit.iter().find(|packet| !packet.2 && packet.4.payload_len > 0).unwrap().4;
    let far = Segment { seq: next.seq.wrapping_sub(1 << 30), ..next };
    for (segment, is_taken) in
        [(copy, false), (Segment { flags: Flags::default(), ..copy }, false), (far, false), (next, true)]
    {
        let place = net.client.mptcp.take_segment(net.now, 0, &segment, &[]);
        assert_eq!(place.is_some(), is_taken, "{segment:?}");
    }
}

/// Options are stripped on the way: plain TCP on path 0, with the same bytes.
#[test]
fn fallback_to_plain_tcp() {
    let mut net = Net::new(&three(), "dft", (300_000, 500_000), 64_000, 1);
    net.strips_options = true;
    net.run_to_end(Time::from_secs(60));
    assert!(net.client.mptcp.is_fallback() && net.server.mptcp.is_fallback());
    assert!(net.server.mptcp.subflow(1).is_none());
}

/// A reader that stops closes the connection-level window; nothing overruns it; reading goes on where it stopped.
#[test]
fn the_window_is_the_connections() {
    let mut net = Net::new(&three(), "dft", (0, 2_000_000), 100_000, 1);
    net.client.reads = false;
    net.run_until(Time::from_secs(5));
    assert_eq!(net.client.mptcp.readable() + net.client.mptcp.out_of_order_bytes(), 100_000);
    let mut read = 0;
    while net.now < Time::from_secs(25) {
        let end = net.now + Duration::from_millis(100);
        net.run_until(end);
        read += net.client.take(10_000);
    }
    // 100 kB/s for 20 s.
    assert!(read as f64 > 0.99 * 200.0 * 10_000.0, "{read}");
    net.client.reads = true;
    net.run_to_end(Time::from_secs(60));
}

/// A slow path holds up a small window: time behind gaps is counted, opportunistic retransmission and penalisation answer.
#[test]
fn head_of_line_blocking_is_seen_and_relieved() {
    // The fast path's window is some 10 kB (a queue of 20 ms), so the slow one is used, too.
    let mut links = [Link::new(2.0, 10), Link::new(0.5, 150)];
    links[0].queue = Duration::from_millis(20);
    let mut net = Net::new(&links, "dft", (0, 10_000_000), 60_000, 1);
    net.run_until(Time::from_secs(20));
    let blocked = net.client.mptcp.hol_blocking_time(net.now);
    assert!(blocked > Duration::from_millis(500) && blocked < Duration::from_secs(20), "{blocked}");
    let stats = net.server.mptcp.stats();
    assert!(stats.opportunistic_retransmissions > 0 && stats.penalisations > 0, "{stats:?}");
    assert!(net.client.mptcp.max_out_of_order_bytes() > 10_000);
    assert!(net.client.mptcp.max_out_of_order_bytes() <= 60_000);
}

/// Every path carries (nearly) every byte.
#[test]
fn redundant_sends_everything_everywhere() {
    let mut net = Net::new(&[Link::new(4.0, 20), Link::new(4.0, 25)], "redundant", (0, 1_000_000), 1 << 20, 1);
    net.run_to_end(Time::from_secs(60));
    let carried = |path| {
        let stats = net.server.mptcp.subflow_stats(path);
        stats.scheduled_bytes + stats.reinjected_bytes
    };
    assert!(carried(0) > 950_000, "{}", carried(0));
    // The second path joins two round trips later and may skip what is acknowledged by then.
    assert!(carried(1) > 700_000, "{}", carried(1));
}

/// Coupled controls see their siblings: LIA on two equal paths that share nothing still moves data on both.
#[test]
fn coupled_controls_see_siblings() {
    let links = [Link::new(2.0, 25); 2];
    let coupled = |key| MptcpConfig { is_coupled: true, ..mptcp_config(1 << 20, key) };
    let lia = || {
        let path =
            |_: &Link| PathConfig { tcp: fixed(), cc: playpath_cc::build("lia", 10.0).unwrap(), is_backup: false };
        links.iter().map(path).collect::<Vec<_>>()
    };
    let mut net = Net::new(&links, "dft", (0, 8_000_000), 1 << 20, 1);
    let build = || scheduler::build("dft").unwrap();
    net.client.mptcp = MptcpConnection::connect(Time::ZERO, coupled(11), build(), lia());
    net.server.mptcp = MptcpConnection::listen(coupled(22), build(), lia());
    net.run_until(Time::from_secs(10));
    for path in 0..2 {
        assert!(net.server.mptcp.subflow_stats(path).scheduled_bytes > 1_000_000);
    }
    net.run_to_end(Time::from_secs(60));
}

/// A scheduler that writes segment by segment leaves a subflow's queue empty after each: that does not make the application the
/// limit (Linux's MPTCP never says so). So BBR sees its rate, leaves the start-up, and paces at what each path carries: 2 Mbit/s,
/// at most 1.25 times that while it probes. In start-up it would be 2.89 times.
#[test]
fn bbr_leaves_the_start_up_on_every_subflow() {
    let links = [Link::new(2.0, 25); 2];
    let bbr = || {
        let path =
            |_: &Link| PathConfig { tcp: fixed(), cc: playpath_cc::build("bbr", 10.0).unwrap(), is_backup: false };
        links.iter().map(path).collect::<Vec<_>>()
    };
    let mut net = Net::new(&links, "dft", (0, 20_000_000), 1 << 20, 1);
    let build = || scheduler::build("dft").unwrap();
    net.client.mptcp = MptcpConnection::connect(Time::ZERO, mptcp_config(1 << 20, 11), build(), bbr());
    net.server.mptcp = MptcpConnection::listen(mptcp_config(1 << 20, 22), build(), bbr());
    for second in 5..15 {
        net.run_until(Time::from_secs(second));
        for path in 0..2 {
            let info = net.server.mptcp.subflow(path).unwrap().info();
            assert!(!info.app_limited);
            let paced = info.path.pacing_rate.unwrap().as_mbps();
            assert!(paced < 1.3 * 2.0, "path {path} at {second} s: {paced} Mbit/s");
        }
    }
}

/// Linux's pacing rates are of `mss_cache`, 1448 with timestamps; a segment's payload is 24 bytes of DSS smaller: 1424. So with a gain of 1
/// a subflow is paced at cwnd * 1448 * 8 / srtt; under the profile `rfc` at cwnd * 1424 * 8 / srtt.
#[test]
fn subflows_are_paced_as_if_options_were_payload() {
    for (profile, bytes) in [("linux", 1448.0), ("rfc", 1424.0)] {
        let links = [Link::new(2.0, 25); 2];
        let tcp = Config { pacing: Pacing::Gain(1.0), ..Config::profile(profile).unwrap() };
        let build = || scheduler::build("dft").unwrap();
        let mut net = Net::new(&links, "dft", (0, 3_000_000), 1 << 20, 1);
        net.client.mptcp = MptcpConnection::connect(Time::ZERO, mptcp_config(1 << 20, 11), build(), paths(&links, tcp));
        net.server.mptcp = MptcpConnection::listen(mptcp_config(1 << 20, 22), build(), paths(&links, tcp));
        net.run_until(Time::from_secs(3));
        for path in 0..2 {
            let info = net.server.mptcp.subflow(path).unwrap().info();
            let expected = info.path.cwnd * bytes * 8.0 / info.path.rtt.as_secs_f64();
            let paced = info.path.pacing_rate.unwrap().as_bits_per_sec() as f64;
            assert!((paced / expected - 1.0).abs() < 1e-6, "{profile}, path {path}: {paced}, not {expected}");
        }
    }
}

/// Profiles without a handshake, SACK or timestamps work, too.
#[test]
fn every_profile_carries_mptcp() {
    for (profile, _) in Config::PROFILES {
        let links = three();
        let mut net = Net::new(&links, "dft", (0, 0), 1 << 20, 1);
        let tcp = Config::profile(profile).unwrap();
        let build = || scheduler::build("dft").unwrap();
        net.client = End::new(
            MptcpConnection::connect(Time::ZERO, mptcp_config(1 << 20, 1), build(), paths(&links, tcp)),
            10_000,
            1,
        );
        net.server =
            End::new(MptcpConnection::listen(mptcp_config(1 << 20, 2), build(), paths(&links, tcp)), 3_000_000, 2);
        net.run_to_end(Time::from_secs(60));
        assert!((0..3).all(|path| net.server.mptcp.subflow_stats(path).scheduled_packets > 200), "{profile}");
    }
}

/// The first subflow uses MSS 1448 less the DSS; a SYN carries no DSS.
#[test]
fn segments_fit_the_mtu() {
    let mut net = Net::new(&three(), "dft", (0, 300_000), 1 << 20, 1);
    net.records = true;
    net.run_to_end(Time::from_secs(60));
    assert!(net.seen.iter().all(|(_, _, _, s)| s.wire_bytes() <= 1500));
    assert!(net.seen.iter().any(|(_, _, _, s)| s.wire_bytes() == 1500));
    assert!(net.seen.iter().filter(|x| x.3.flags.contains(Flags::SYN)).all(|x| x.3.payload_len == 0));
}

#[derive(Clone, Debug)]
struct Case {
    seed: u64,
    name: &'static str,
    loss: f64,
    jitter: f64,
    sizes: (usize, usize),
    delays: Vec<u64>,
    death: Option<(usize, u64, u64)>,
    buffer: u64,
}

fn cases() -> impl Strategy<Value = Case> {
    let names: Vec<_> = scheduler::entries().iter().map(|entry| entry.name).collect();
    let death = prop::option::of((0usize..3, 100u64..2000, 200u64..5000));
    let channel = (prop_oneof![Just(0.0), Just(0.02), Just(0.15)], prop_oneof![Just(0.0), Just(0.04)]);
    let buffer = prop_oneof![Just(8_000u64), Just(40_000), Just(1_000_000)];
    let sizes = (0usize..100_000, 0usize..300_000);
    (any::<u64>(), prop::sample::select(names), channel, sizes, prop::collection::vec(1u64..200, 1..4), death, buffer)
        .prop_map(|(seed, name, (loss, jitter), sizes, delays, death, buffer)| Case {
            seed,
            name,
            loss,
            jitter,
            sizes,
            death: death.filter(|d| d.0 < delays.len()),
            delays,
            buffer,
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Whatever the channels do, every scheduler delivers every byte once and in order, and both sides close.
    #[test]
    fn the_reader_gets_what_was_written(case in cases()) {
        let links: Vec<_> = case.delays.iter().enumerate().map(|(i, &delay)| {
            let mut link = Link::new(5.0, delay);
            (link.loss, link.jitter) = (case.loss, case.jitter);
            if let Some((path, from, len)) = case.death && path == i {
                link.down = (Time::from_millis(from), Time::from_millis(from + len));
            }
            link
        }).collect();
        let mut net = Net::new(&links, case.name, case.sizes, case.buffer, case.seed);
        let tcp = Config { max_retries: u32::MAX, max_syn_retries: u32::MAX, ..fixed() };
        let build = || scheduler::build(case.name).unwrap();
        let reno = || -> Vec<_> {
            links.iter().map(|_| PathConfig { tcp, cc: Reno::growing(10.0), is_backup: false }).collect()
        };
        net.client.mptcp = MptcpConnection::connect(Time::ZERO, mptcp_config(case.buffer, case.seed), build(), reno());
        net.server.mptcp = MptcpConnection::listen(mptcp_config(case.buffer, !case.seed), build(), reno());
        net.run_to_end(Time::from_secs(3000));
    }
}
