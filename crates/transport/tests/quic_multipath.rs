//! One connection over several paths in virtual time: opening, every scheduler, failover, status, copies, coupled controls.

mod quic_support;

use playpath_transport::mptcp::scheduler;
use playpath_transport::quic::Connection;
use playpath_transport::quic::config::Config;
use playpath_transport::quic::packet::{Ack, Datagram, Frame};
use playpath_transport::tls::Resumption;
use playpath_units::{Duration, Time};
use quic_support::Wire;

/// Two ends over paths that each have a wire to the server and one to the client.
struct Net<F: FnMut(Time, bool, &Datagram) -> bool> {
    now: Time,
    client: Connection,
    server: Connection,
    wires: Vec<[Wire; 2]>,
    /// Whether a datagram arrives.
    fate: F,
    /// The client reads at once.
    reads: bool,
    repeats: u32,
}

/// Rate in Mbit/s and one-way delay in ms of each path.
fn net<F: FnMut(Time, bool, &Datagram) -> bool>(
    paths: &[(f64, u64)],
    (scheduler, cc): (&str, &str),
    change: impl Fn(&mut Config),
    fate: F,
) -> Net<F> {
    let mut config = Config { send_buffer: 1 << 22, ..Config::default() };
    change(&mut config);
    let control = |_| playpath_cc::build(cc, config.initial_window).unwrap();
    let is_coupled = playpath_cc::find(cc).unwrap().is_coupled;
    let further = || (1..paths.len()).map(control).collect();
    let made = || scheduler::build(scheduler).unwrap();
    let client = Connection::connect(Time::ZERO, config, control(0)).with_paths(further(), made(), is_coupled);
    let server = Connection::listen(config, control(0)).with_paths(further(), made(), is_coupled);
    let wire = |&(rate, delay): &(f64, u64)| {
        let mut down = Wire::new(Some(rate), delay);
        down.queue_bytes = 60_000;
        [Wire::new(None, delay), down]
    };
    Net { now: Time::ZERO, client, server, wires: paths.iter().map(wire).collect(), fate, reads: true, repeats: 0 }
}

impl<F: FnMut(Time, bool, &Datagram) -> bool> Net<F> {
    fn drain(&mut self) {
        for is_client in [true, false] {
            let end = if is_client { &mut self.client } else { &mut self.server };
            while let Some(datagram) = end.poll_transmit(self.now) {
                if (self.fate)(self.now, is_client, &datagram) {
                    let wires = &mut self.wires[usize::from(datagram.link_path())];
                    wires[usize::from(!is_client)].push(self.now, datagram);
                }
            }
            while let Some(event) = end.poll_event() {
                if let (playpath_transport::quic::Event::Readable(id), true) = (event, self.reads) {
                    end.read(self.now, id, u64::MAX);
                }
            }
        }
    }

    fn run_until(&mut self, end: Time) {
        loop {
            self.drain();
            let wires = self.wires.iter().flatten().map(Wire::next_at).min().unwrap();
            let at = wires.min(self.client.poll_timeout()).min(self.server.poll_timeout());
            if at > end {
                break;
            }
            self.repeats = if at == self.now { self.repeats + 1 } else { 0 };
            assert!(self.repeats < 10_000 && at >= self.now, "at {at} nothing moves");
            self.now = at;
            let due =
                self.wires.iter_mut().flat_map(|wires| wires.iter_mut().enumerate()).find(|(_, w)| w.next_at() == at);
            match due {
                Some((0, wire)) => self.server.handle_datagram(at, &wire.pop()),
                Some((_, wire)) => self.client.handle_datagram(at, &wire.pop()),
                None => {
                    self.client.handle_timeout(at);
                    self.server.handle_timeout(at);
                }
            }
        }
        self.now = end;
    }

    /// The server sends so much on a stream that the client opens; when all of it has arrived, at most at `limit`.
    fn download(&mut self, bytes: u64, limit: Time) -> Time {
        self.run_until(self.now + Duration::from_millis(1000));
        let stream = self.client.open().unwrap();
        self.client.write(stream, 100);
        self.client.finish(stream);
        self.run_until(self.now + Duration::from_millis(500));
        let (mut written, before) = (0, self.client.stats().bytes_delivered);
        while self.now < limit && self.client.stats().bytes_delivered < before + bytes {
            written += self.server.write(stream, bytes - written);
            if written == bytes {
                self.server.finish(stream);
            }
            self.run_until(self.now + Duration::from_millis(10));
        }
        assert_eq!(self.client.stats().bytes_delivered - before, bytes, "at {}", self.now);
        self.now
    }
}

fn all(_: Time, _: bool, _: &Datagram) -> bool {
    true
}

/// Handshake 1 round trip of 40 ms, confirmed after 1.5; then challenge and response of each side: path 1 carries data after 3.
#[test]
fn a_path_is_validated_before_it_carries_data() {
    let mut first_data = None;
    let mut net = net(
        &[(20.0, 20), (20.0, 20)],
        ("roundrobin", "cubic"),
        |_| {},
        |now, is_client, datagram| {
            if datagram.path_id == 1 && !is_client && datagram.packet.stream_bytes() > 0 {
                first_data.get_or_insert(now);
            }
            true
        },
    );
    net.run_until(Time::from_millis(100));
    assert!(!net.server.is_path_usable(1) && net.server.is_path_usable(0));
    net.run_until(Time::from_millis(150));
    assert!(net.server.is_path_usable(1) && net.client.is_path_usable(1));
    net.download(200_000, Time::from_secs(5));
    assert!(first_data.unwrap() > Time::from_millis(120), "{first_data:?}");
}

/// 10 and 20 Mbit/s: 7.5 MB take 2 s over both, 3 s over the faster alone; every scheduler delivers, and all but the redundant one and
/// those that hold to one path gain.
#[test]
fn every_scheduler_uses_both_paths() {
    for entry in scheduler::entries() {
        let run = |paths: &[(f64, u64)]| {
            let mut net = net(paths, (entry.name, "cubic"), |_| {}, all);
            let took = net.download(7_500_000, Time::from_secs(30));
            let shares = [0, 1].map(|path| net.server.path_stats(path).data_bytes_sent);
            (took.as_secs_f64() - 1.5, shares, *net.server.level_stats().unwrap())
        };
        let (both, shares, stats) = run(&[(10.0, 20), (20.0, 40)]);
        let sum: u64 = shares.iter().sum();
        let is_redundant = scheduler::build(entry.name).unwrap().is_redundant();
        assert!(both < if is_redundant { 4.5 } else { 3.1 }, "{}: {both} s, {shares:?}", entry.name);
        assert!(shares.iter().all(|share| share * 10 > sum), "{}: {shares:?}", entry.name);
        assert_eq!(is_redundant, stats.reinjections > 1000, "{}: {stats:?}", entry.name);
        assert!(is_redundant || stats.path_switches > 10, "{}: {stats:?}", entry.name);
    }
}

/// The first path is cut from 2.5 s on, for good: what it held goes over the other after two probe timeouts, in a fraction of a second.
#[test]
fn a_dead_path_is_left() {
    for name in ["linux", "redundant", "blest", "xlink"] {
        let cut = Time::from_millis(2500);
        let mut net = net(
            &[(20.0, 10), (20.0, 30)],
            (name, "cubic"),
            |_| {},
            move |now, _, datagram| datagram.path_id != 0 || now < cut,
        );
        let took = net.download(10_000_000, Time::from_secs(30)).as_secs_f64();
        assert!(!net.server.is_path_usable(0) && net.server.is_path_usable(1), "{name}");
        assert_eq!(net.server.level_stats_of(0).unwrap().failures, 1, "{name}");
        // 1 s over both (5 MB; redundant 2.5), the rest of 5 MB over one: 2 s, and what the failure costs.
        assert!(took < 6.5, "{name}: {took} s");
    }
}

/// It comes back: the next probe that is answered makes it usable, and it carries data again.
#[test]
fn a_path_that_comes_back_is_used_again() {
    let hole = Time::from_millis(2500)..Time::from_millis(3500);
    let mut net = net(
        &[(10.0, 10), (10.0, 30)],
        ("linux", "cubic"),
        |_| {},
        move |now, _, datagram| datagram.path_id != 0 || !hole.contains(&now),
    );
    net.download(12_000_000, Time::from_secs(40));
    assert!(net.server.is_path_usable(0));
    let [first, other] = [0, 1].map(|path| net.server.path_stats(path).data_bytes_sent);
    assert!(first > 3_000_000 && other > 3_000_000, "{first} {other}");
    assert_eq!(net.server.level_stats_of(0).unwrap().failures, 1);
}

/// Both are out from 3 s on: no path works when the probe timeouts of the second pass. As soon as one on the first is answered, after 8 s, all
/// that the second holds goes there, long before the second's own next probe.
#[test]
fn the_path_that_comes_back_takes_what_the_other_holds() {
    let (first, second) = (Time::from_millis(2500)..Time::from_secs(8), Time::from_secs(3));
    let mut net = net(
        &[(10.0, 10), (10.0, 30)],
        ("linux", "cubic"),
        |_| {},
        move |now, _, datagram| if datagram.path_id == 0 { !first.contains(&now) } else { now < second },
    );
    net.run_until(Time::from_secs(1));
    let stream = net.client.open().unwrap();
    net.client.write(stream, 100);
    net.run_until(Time::from_millis(1500));
    net.server.write(stream, 4_000_000);
    net.run_until(Time::from_secs(8));
    let acked = net.server.path_stats(0).bytes_acked;
    while net.server.path_stats(0).bytes_acked == acked {
        net.run_until(net.now + Duration::from_millis(10));
        assert!(net.now < Time::from_secs(20));
    }
    assert!(!net.server.is_path_usable(1) && net.server.is_path_usable(0));
    net.run_until(net.now + Duration::from_millis(500));
    let gained = net.server.path_stats(0).bytes_acked - acked;
    assert!(gained > 100_000, "{gained} bytes");
}

/// The end of the data is lost: it goes again though nothing new waits for a path.
#[test]
fn what_is_lost_last_goes_again() {
    for entry in scheduler::entries() {
        let mut sent = 0;
        let mut net = net(
            &[(1.0, 48), (8.0, 13)],
            (entry.name, "cubic"),
            |_| {},
            move |_, is_client, datagram| {
                let has_data = !is_client && datagram.packet.stream_bytes() > 0;
                sent += u32::from(has_data);
                !has_data || sent % 7 != 0
            },
        );
        for _ in 0..5 {
            let began = net.now;
            let took = net.download(20_000, began + Duration::from_secs(10)) - began;
            assert!(took < Duration::from_secs(4), "{}: {took}", entry.name);
        }
    }
}

/// A path on which nothing comes through is tried again until it works; the other carries all meanwhile.
#[test]
fn a_path_that_opens_late_joins_late() {
    let late = Time::from_secs(4);
    let mut net = net(
        &[(10.0, 10), (10.0, 10)],
        ("linux", "newreno"),
        |_| {},
        move |now, _, datagram| datagram.path_id == 0 || now > late,
    );
    net.run_until(Time::from_secs(4));
    assert!(!net.client.is_path_usable(1));
    net.run_until(Time::from_secs(8));
    assert!(net.client.is_path_usable(1) && net.server.is_path_usable(1));
}

/// Frames about paths are none of 0-RTT: with early data, too, they wait for the handshake.
#[test]
fn a_status_is_not_sent_early() {
    let early = |config: &mut Config| config.tls.resumption = Resumption::EarlyData;
    let mut net = net(&[(10.0, 10), (10.0, 10)], ("linux", "cubic"), early, all);
    for end in [&mut net.client, &mut net.server] {
        end.set_backup(1, true);
    }
    net.download(1_000_000, Time::from_secs(10));
    assert_eq!(net.server.path_stats(1).data_bytes_sent, 0);
}

/// Marked as backup by the client, the server sends nothing there while the other works, and everything when it does not. A status frame
/// that is lost goes again.
#[test]
fn a_backup_path_waits() {
    let (mut lost, cut) = (0, Time::from_millis(4000));
    let mut net = net(
        &[(10.0, 10), (10.0, 10)],
        ("linux", "cubic"),
        |_| {},
        move |now, is_client, datagram| {
            let is_status = |frame: &Frame| matches!(frame, Frame::PathStatus { .. });
            if is_client && datagram.packet.frames.as_slice().iter().any(is_status) && lost == 0 {
                lost += 1;
                return false;
            }
            datagram.path_id != 0 || now < cut
        },
    );
    net.client.set_backup(1, true);
    net.download(1_000_000, Time::from_secs(4));
    let on_backup = net.server.path_stats(1).data_bytes_sent;
    assert_eq!(on_backup, 0);
    net.run_until(Time::from_millis(4000));
    net.download(1_000_000, Time::from_secs(20));
    assert!(net.server.path_stats(1).data_bytes_sent >= 900_000);
}

/// RFC 9000 §21.4, of any path: an ACK of what was not sent there, or of a path that nobody has, closes the connection.
#[test]
fn acknowledgements_of_what_was_never_sent_on_a_path() {
    for (path_id, largest, closes) in [(1, 1, false), (1, 1_000_000, true), (7, 0, true)] {
        let mut net = net(&[(10.0, 10), (10.0, 10)], ("linux", "cubic"), |_| {}, |_, _, _| true);
        net.download(1_000_000, Time::from_secs(4));
        let ack = Ack::new(std::iter::once(&(largest..largest + 1)), 0, None).unwrap();
        net.server.handle_path_ack(net.now, path_id, &ack);
        assert_eq!(net.server.is_closing(), closes, "{largest} on path {path_id}");
    }
}

/// Draft §4.3: sequence numbers are of a path and a sender. The server's three frames on path 0 do not make the client's first on path 1
/// an old one.
#[test]
fn a_status_is_of_a_path_and_a_sender() {
    let mut net = net(&[(10.0, 10), (10.0, 10)], ("linux", "cubic"), |_| {}, |_, _, _| true);
    for is_backup in [true, false, false] {
        net.server.set_backup(0, is_backup);
    }
    net.run_until(net.now + Duration::from_millis(100));
    net.client.set_backup(1, true);
    net.download(1_000_000, Time::from_secs(4));
    assert_eq!(net.server.path_stats(1).data_bytes_sent, 0);
}

/// Of two copies, either arrives: with a third of all packets lost on each path the redundant scheduler delivers, and reads nothing twice.
#[test]
fn copies_survive_heavy_loss() {
    let mut count = 0u64;
    let mut net = net(
        &[(10.0, 10), (10.0, 25)],
        ("redundant", "cubic"),
        |_| {},
        move |now, _, _| {
            count += 1;
            now < Time::from_secs(1) || !(count.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33).is_multiple_of(3)
        },
    );
    net.download(300_000, Time::from_secs(60));
    let stats = net.server.stats();
    assert!(stats.packets_lost > 50, "{stats:?}");
}

/// Behind one bottleneck two paths under LIA take together what one flow takes: less than two CUBICs (RFC 6356 §2), told by the window
/// that each has.
#[test]
fn coupled_controls_know_of_each_other() {
    let windows = |cc: &str| {
        let mut net = net(&[(10.0, 20), (10.0, 20)], ("linux", cc), |_| {}, all);
        net.download(15_000_000, Time::from_secs(60));
        let lost: u64 = (0..2).map(|path| net.server.path_stats(path).packets_lost).sum();
        lost
    };
    let (alone, coupled) = (windows("newreno"), windows("lia"));
    assert!(coupled < alone, "{coupled} lost under LIA, {alone} under NewReno");
}

/// The reader stands still: the window of the connection fills, nothing is lost of it, and it goes on when the reader does.
#[test]
fn a_slow_reader_stops_both_paths() {
    let small = |config: &mut Config| {
        (config.flow.connection, config.flow.max_connection) = (100_000, 100_000);
        (config.flow.stream, config.flow.max_stream) = (100_000, 100_000);
    };
    let mut net = net(&[(10.0, 10), (2.0, 100)], ("linux", "cubic"), small, all);
    net.run_until(Time::from_secs(1));
    let stream = net.client.open().unwrap();
    net.client.write(stream, 100);
    net.run_until(Time::from_millis(1500));
    net.reads = false;
    net.server.write(stream, 1_000_000);
    net.run_until(Time::from_secs(6));
    assert_eq!(net.client.readable(stream), 100_000);
    net.reads = true;
    net.client.read(net.now, stream, u64::MAX);
    net.run_until(Time::from_secs(20));
    assert_eq!(net.client.stats().bytes_delivered, 1_000_000);
}

/// 5 Mbit/s at 30 ms, of which the queue makes 126, and 10 Mbit/s at 200 ms, CUBIC: the slower path carries its part. Before its first ACK it
/// has no range of smoothed RTTs: BLEST, which reads it, would wait for the other path for ever.
#[test]
fn blest_uses_the_slower_path() {
    let mut net = net(&[(5.0, 15), (10.0, 100)], ("blest", "cubic"), |_| {}, all);
    net.download(10_000_000, Time::from_secs(20));
    assert!(net.server.path_stats(1).bytes_acked > 3_000_000, "{:?}", net.server.path_stats(1));
}
