//! RFC 8684's rules of checksums and MP_FAIL, with real bytes over two paths: who asks, what is checked, what follows a wrong one.

mod support;

use playpath_transport::mptcp::checksums::is_checksum_right;
use playpath_transport::mptcp::option::{CAPABLE_CHECKSUM, DSS_FIN, DSS_MAP, DSS_SEQ8};
use playpath_transport::mptcp::{MptcpConfig, MptcpConnection, PathConfig, scheduler};
use playpath_transport::{Config, Event, Flags, MptcpOption, Segment};
use playpath_units::{Duration, Params, Time};
use std::collections::BTreeMap;
use support::Reno;

/// One end with its bytes: those it sends, those that wait for their checksum by path, those that arrived.
struct End {
    mptcp: MptcpConnection,
    out: Vec<u8>,
    unchecked: BTreeMap<usize, BTreeMap<u64, u8>>,
    taken: BTreeMap<usize, u64>,
    arrived: BTreeMap<u64, u8>,
    read: Vec<u8>,
}

/// What left, after it was perhaps altered.
#[derive(Clone, Debug)]
struct Sent {
    is_up: bool,
    path: usize,
    segment: Segment,
    payload: Vec<u8>,
}

struct Net {
    client: End,
    server: End,
    now: Time,
    seen: Vec<Sent>,
}

fn end(config: MptcpConfig, is_client: bool, paths: usize) -> End {
    let entry = scheduler::find("roundrobin").unwrap();
    let build = || (entry.build)(&Params::defaults(entry.params));
    let path = |_| PathConfig {
        tcp: Config { isn: 1000, tunes_window: false, ..Config::linux() },
        cc: Reno::growing(10.0),
        is_backup: false,
    };
    let paths = (0..paths).map(path).collect();
    let mptcp = match is_client {
        true => MptcpConnection::connect(Time::ZERO, config, build(), paths),
        false => MptcpConnection::listen(config, build(), paths),
    };
    let (unchecked, taken, arrived) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    End { mptcp, out: vec![], unchecked, taken, arrived, read: vec![] }
}

impl End {
    fn write(&mut self, bytes: usize) {
        let from = self.out.len();
        self.out.extend((from..from + bytes).map(|i| (i * 31 + i / 256) as u8));
        assert_eq!(self.mptcp.write(bytes as u64), bytes as u64);
    }

    fn send(&mut self, now: Time) -> Option<(usize, Segment, Vec<u8>)> {
        let (path, mut segment) = self.mptcp.poll_transmit(now)?;
        let mut payload = vec![];
        if segment.payload_len > 0 {
            let at = self.mptcp.transmit_offset(path, &segment).expect("a place") as usize;
            payload.extend_from_slice(&self.out[at..at + segment.payload_len as usize]);
        }
        self.mptcp.seal(&mut segment, &payload);
        Some((path, segment, payload))
    }

    /// As an owner of bytes does it (crates/serve/src/http_connection.rs).
    fn take(&mut self, now: Time, sent: &Sent) {
        let (path, segment) = (sent.path, &sent.segment);
        let stream = self.mptcp.receive_offset(path, segment);
        let checks = self.mptcp.checks();
        let within = self.mptcp.subflow(path).map_or(0, |tcp| tcp.receive_offset(segment));
        if !sent.payload.is_empty() && stream.is_none() {
            return;
        }
        self.mptcp.handle_segment(now, path, segment);
        if let Some(stream) = stream {
            let (place, into) = match checks {
                true => (within, self.unchecked.entry(path).or_default()),
                false => (stream, &mut self.arrived),
            };
            into.extend((place..).zip(sent.payload.iter().copied()));
        }
        let at = self.taken.entry(path).or_default();
        while let Some(len) = self.mptcp.whole_mapping(path) {
            let bytes: Vec<u8> = (*at..*at + u64::from(len)).map(|i| self.unchecked[&path][&i]).collect();
            if let Some(data) = self.mptcp.accept_mapping(now, path, &bytes) {
                *at += u64::from(len);
                self.arrived.extend((data..).zip(bytes));
            }
        }
        if self.mptcp.is_fallback() {
            self.arrived.extend(self.unchecked.remove(&0).unwrap_or_default().into_iter().filter(|(i, _)| i >= at));
        }
        let from = self.read.len() as u64;
        self.read.extend((from..from + self.mptcp.read(u64::MAX)).map(|i| self.arrived[&i]));
    }
}

impl Net {
    fn new(paths: usize, client_requires: bool, server_requires: bool) -> Net {
        let config = |key: u64, requires_checksums| MptcpConfig {
            key,
            nonce: key as u32,
            send_buffer: 1 << 20,
            receive_buffer: 200_000,
            is_coupled: false,
            requires_checksums,
        };
        let client = end(config(11, client_requires), true, paths);
        let server = end(config(22, server_requires), false, paths);
        Net { client, server, now: Time::ZERO, seen: vec![] }
    }

    /// For so many milliseconds, which each way takes; `alter` may change what leaves, and says whether it arrives.
    fn run(&mut self, milliseconds: u64, mut alter: impl FnMut(&mut Sent) -> bool) {
        for _ in 0..milliseconds {
            self.now += Duration::from_millis(1);
            for is_up in [true, false] {
                let end = if is_up { &mut self.client } else { &mut self.server };
                if end.mptcp.poll_timeout() <= self.now {
                    end.mptcp.handle_timeout(self.now);
                }
                let mut sent = vec![];
                while let Some((path, segment, payload)) = end.send(self.now) {
                    sent.push(Sent { is_up, path, segment, payload });
                }
                for mut sent in sent {
                    let arrives = alter(&mut sent);
                    self.seen.push(sent.clone());
                    if arrives {
                        if is_up { &mut self.server } else { &mut self.client }.take(self.now, &sent);
                    }
                }
            }
        }
    }

    fn close(&mut self) {
        self.client.mptcp.close(self.now);
        self.server.mptcp.close(self.now);
        self.run(3000, |_| true);
    }
}

fn is_fail(segment: &Segment) -> bool {
    matches!(segment.mptcp, MptcpOption::Fail { .. })
}

/// §3.1: flag A of either side binds both; §3.3: then all that is mapped has a checksum, and without it nothing has.
#[test]
fn either_side_may_ask() {
    for (client, server) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut net = Net::new(2, client, server);
        net.client.write(40_000);
        net.server.write(60_000);
        net.run(500, |_| true);
        net.close();
        assert!(net.server.read == net.client.out && net.client.read == net.server.out, "{client} {server}");
        assert!(net.client.mptcp.is_closed() && net.server.mptcp.is_closed());
        let agreed = client || server;
        let mut mapped = 0;
        for sent in &net.seen {
            match sent.segment.mptcp {
                MptcpOption::Capable { flags, keys, data_len, checksum, .. } => {
                    let asks = flags & CAPABLE_CHECKSUM != 0;
                    assert_eq!(asks, if keys == 0 { client } else { agreed });
                    assert_eq!(checksum.is_some(), agreed && data_len > 0);
                }
                MptcpOption::Dss { flags, data_seq, subflow_seq, len, checksum, .. } if flags & DSS_MAP != 0 => {
                    assert_eq!(checksum.is_some(), agreed);
                    let is_right = |sum| is_checksum_right(sum, data_seq, subflow_seq, len, &sent.payload);
                    assert!(checksum.is_none_or(is_right), "{sent:?}");
                    mapped += 1;
                }
                _ => assert!(sent.payload.is_empty()),
            }
            assert!(sent.segment.option_bytes() <= 40);
        }
        assert!(mapped > 60, "{mapped}");
    }
}

/// §3.7: with another path the subflow is reset by a RST with MP_FAIL, which names where the wrong mapping began; its data comes over the
/// other one.
#[test]
fn a_path_that_alters_data_is_closed_and_the_data_comes_over_the_other() {
    let mut net = Net::new(2, true, false);
    net.run(50, |_| true);
    net.client.write(300_000);
    let mut altered = vec![];
    net.run(3000, |sent| {
        if sent.is_up && sent.path == 1 && sent.payload.len() > 500 {
            sent.payload[300] ^= 4;
            if let MptcpOption::Dss { data_seq, .. } = sent.segment.mptcp {
                altered.push(data_seq);
            }
        }
        true
    });
    assert!(net.server.read == net.client.out, "{} bytes", net.server.read.len());
    assert_eq!([0, 1].map(|path| net.server.mptcp.is_path_usable(path)), [true, false]);
    let fails: Vec<&Sent> = net.seen.iter().filter(|sent| is_fail(&sent.segment)).collect();
    assert_eq!(fails.len(), 1, "{fails:?}");
    assert!(fails[0].segment.flags.contains(Flags::RST) && !fails[0].is_up && fails[0].path == 1);
    assert_eq!(fails[0].segment.mptcp, MptcpOption::Fail { data_seq: altered[0] });
    assert!(!net.server.mptcp.is_fallback() && !net.client.mptcp.is_fallback());
}

/// §3.7: alone, the receiver says MP_FAIL on an ACK, the sender answers with MP_FAIL and an infinite mapping, and both streams go on
/// as plain TCP: what was altered arrives so, as it would there.
#[test]
fn alone_both_fall_back_to_tcp() {
    for lost in [0, 1] {
        let mut net = Net::new(1, true, false);
        net.run(50, |_| true);
        net.client.write(100_000);
        net.server.write(20_000);
        let (mut place, mut fails) = (None, 0);
        net.run(20_000, |sent| {
            if sent.is_up && place.is_none() && sent.payload.len() > 500 {
                place = Some(300);
                sent.payload[300] ^= 4;
            }
            // An MP_FAIL may be lost on its way, or its answer.
            fails += usize::from(is_fail(&sent.segment));
            !(is_fail(&sent.segment) && fails <= lost)
        });
        eprintln!(
            "{lost} {:?} {:?} {:?} {:?}",
            net.client.mptcp.is_fallback(),
            net.server.mptcp.is_fallback(),
            net.client.mptcp.subflow(0).unwrap().state_name(),
            net.server.mptcp.subflow(0).unwrap().state_name()
        );
        net.client.write(50_000);
        net.run(1000, |_| true);
        let mut expected = net.client.out.clone();
        expected[300] ^= 4;
        assert!(net.server.read == expected, "{} bytes, lost {lost}", net.server.read.len());
        assert!(net.client.read == net.server.out, "the other way nothing was wrong");
        assert!(net.server.mptcp.is_fallback() && net.client.mptcp.is_fallback());
        let sides: Vec<bool> = net.seen.iter().filter(|sent| is_fail(&sent.segment)).map(|sent| sent.is_up).collect();
        assert!(sides.contains(&true) && sides.contains(&false), "{sides:?}");
        let is_infinite = |sent: &&Sent| matches!(sent.segment.mptcp, MptcpOption::Dss { flags, len: 0, checksum: Some(0), .. } if flags & DSS_MAP != 0);
        assert!(net.seen.iter().filter(is_infinite).all(|sent| sent.is_up && !sent.payload.is_empty()));
        assert!(net.seen.iter().any(|sent| is_infinite(&sent)));
        let last = net.seen.iter().rev().find(|sent| !sent.payload.is_empty()).unwrap();
        assert_eq!(last.segment.mptcp, MptcpOption::None, "once new data is acknowledged, MPTCP is over");
        net.close();
        assert!(net.client.mptcp.is_closed() && net.server.mptcp.is_closed());
    }
}

/// §3.7: once MP_FAIL has left, no path joins: what went over it would be missing from the plain stream, and nobody would notice. The
/// proof of a join crosses MP_FAIL here, and the server has data for both paths.
#[test]
fn no_path_joins_while_a_failure_waits_for_its_answer() {
    let mut net = Net::new(2, true, true);
    net.server.write(100_000);
    net.client.write(100_000);
    let (mut joins, mut fail) = (false, None);
    let mut proven = false;
    net.run(30, |sent| {
        joins |= sent.is_up && sent.path == 1;
        if joins && sent.is_up && fail.is_none() && !sent.payload.is_empty() {
            sent.payload[0] ^= 4;
        }
        proven |= matches!(sent.segment.mptcp, MptcpOption::JoinAck { .. });
        if is_fail(&sent.segment) && !sent.is_up {
            fail = Some(sent.clone());
            return false;
        }
        sent.is_up || !proven
    });
    net.client.take(net.now, &fail.expect("a wrong checksum"));
    net.run(20_000, |_| true);
    net.close();
    assert!(net.client.mptcp.is_fallback() && net.server.mptcp.is_fallback());
    assert!(net.client.read == net.server.out, "{} bytes", net.client.read.len());
}

/// §3.7: MP_FAIL names the peer's next expected number, which counts the end of the stream, too, once that has arrived.
#[test]
fn an_answer_that_counts_the_end_is_an_answer() {
    let mut net = Net::new(1, true, false);
    net.run(50, |_| true);
    net.server.mptcp.close(net.now);
    net.run(50, |_| true);
    net.client.mptcp.close(net.now);
    let mut is_altered = false;
    net.run(3000, |sent| {
        if let MptcpOption::Dss { flags, checksum: Some(sum), .. } = &mut sent.segment.mptcp
            && sent.is_up
            && *flags & DSS_FIN != 0
            && !std::mem::replace(&mut is_altered, true)
        {
            *sum ^= 4;
        }
        true
    });
    assert!(is_altered && net.server.mptcp.is_fallback() && net.client.mptcp.is_fallback());
    assert!(net.client.mptcp.is_closed() && net.server.mptcp.is_closed());
}

/// A middlebox changes the first payload of the client.
fn alter_once(sent: &mut Sent, is_altered: &mut bool) {
    if sent.is_up && !sent.payload.is_empty() && !std::mem::replace(is_altered, true) {
        sent.payload[0] ^= 4;
    }
}

/// §3.7: the plain stream is the subflow's. While MP_FAIL waits for its answer, longer than the data-level timer runs, nothing is given
/// to the subflow again.
#[test]
fn nothing_is_given_out_twice_while_a_failure_waits_for_its_answer() {
    let mut net = Net::new(1, true, false);
    net.run(50, |_| true);
    net.server.write(1000);
    net.client.write(1000);
    let mut is_altered = false;
    net.run(5000, |sent| {
        alter_once(sent, &mut is_altered);
        sent.is_up
    });
    net.close();
    assert!(is_altered && net.client.mptcp.is_fallback() && net.server.mptcp.is_fallback());
    assert!(net.client.read == net.server.out, "{} bytes", net.client.read.len());
    assert!(net.client.mptcp.is_closed() && net.server.mptcp.is_closed());
}

/// §3.7: who answers MP_FAIL goes on as plain TCP, whose FIN may come before the answer, which was lost.
#[test]
fn the_end_of_the_plain_stream_may_come_before_the_answer() {
    let mut net = Net::new(1, true, false);
    net.run(50, |_| true);
    net.client.write(1000);
    let (mut is_altered, mut answers) = (false, 0);
    for close in [true, false] {
        net.run(if close { 1 } else { 5000 }, |sent| {
            alter_once(sent, &mut is_altered);
            let is_answer = sent.is_up && is_fail(&sent.segment);
            answers += usize::from(is_answer);
            !is_answer || answers > 1
        });
        if close {
            net.client.mptcp.close(net.now);
            net.server.mptcp.close(net.now);
        }
    }
    assert!(answers > 1 && net.client.mptcp.is_fallback() && net.server.mptcp.is_fallback());
    assert_eq!(net.server.read.len(), 1000);
    assert!(net.server.mptcp.take_events().contains(Event::PeerClosed));
}

/// §3.7: checksums were agreed on in the SYNs, and something on the way takes every later option: plain TCP, without checksums.
#[test]
fn options_that_are_lost_after_the_handshake_mean_tcp() {
    let mut net = Net::new(1, true, false);
    net.client.write(30_000);
    net.server.write(30_000);
    net.run(2000, |sent| {
        if !sent.segment.flags.contains(Flags::SYN) {
            sent.segment.mptcp = MptcpOption::None;
        }
        true
    });
    assert!(net.client.mptcp.is_fallback() && net.server.mptcp.is_fallback());
    assert!(net.server.read == net.client.out && net.client.read == net.server.out);
}

/// §3.7: options pass only to the server, so the client alone sees that its data is acknowledged without them. Its infinite mapping tells
/// the server, which has accepted mapped data.
#[test]
fn options_that_pass_in_one_direction_mean_tcp() {
    for requires in [false, true] {
        let mut net = Net::new(1, requires, false);
        net.client.write(30_000);
        net.server.write(30_000);
        let strip = |sent: &mut Sent| {
            if !sent.is_up && !sent.segment.flags.contains(Flags::SYN) {
                sent.segment.mptcp = MptcpOption::None;
            }
            true
        };
        net.run(2000, strip);
        assert!(net.client.mptcp.is_fallback() && net.server.mptcp.is_fallback());
        assert!(net.server.read == net.client.out && net.client.read == net.server.out);
        net.client.mptcp.close(net.now);
        net.server.mptcp.close(net.now);
        net.run(2000, strip);
        assert!(net.client.mptcp.is_closed() && net.server.mptcp.is_closed());
    }
}

/// An MP_FAIL of somebody who has not seen the data sequence numbers moves nothing.
#[test]
fn a_forged_fail_is_ignored() {
    let mut net = Net::new(1, true, false);
    net.run(50, |_| true);
    let forged = Segment { flags: Flags::ACK, mptcp: MptcpOption::Fail { data_seq: 12345 }, ..Segment::default() };
    net.client.mptcp.handle_option(net.now, 0, &forged);
    assert!(!net.client.mptcp.is_fallback());
}

/// §3.3: the receiver closes a subflow on which the checksum that was agreed on is missing, in data or in a DATA_FIN.
#[test]
fn a_mapping_without_its_checksum_closes_the_subflow() {
    for in_fin in [false, true] {
        let mut net = Net::new(2, true, false);
        net.run(50, |_| true);
        net.client.write(50_000);
        net.client.mptcp.close(net.now);
        let mut bare = None;
        net.run(3000, |sent| {
            if let MptcpOption::Dss { flags, checksum, .. } = &mut sent.segment.mptcp
                && sent.is_up
                && *flags & DSS_MAP != 0
                && (*flags & DSS_FIN != 0) == in_fin
                && *bare.get_or_insert(sent.path) == sent.path
            {
                *checksum = None;
            }
            true
        });
        let is_reset = |sent: &&Sent| !sent.is_up && sent.segment.flags.contains(Flags::RST);
        let resets: Vec<usize> = net.seen.iter().filter(is_reset).map(|sent| sent.path).collect();
        assert_eq!(resets, [bare.unwrap()]);
        assert!(net.server.read == net.client.out, "the data came over the other");
        assert!(net.server.mptcp.take_events().contains(Event::PeerClosed), "so did the end");
    }
}

/// Linux maps up to 64 kB at once and repeats mapping and checksum with each segment: none of it is data before the last has come.
#[test]
fn a_mapping_over_several_segments_is_checked_as_a_whole() {
    for alters in [false, true] {
        let mut net = Net::new(1, true, false);
        net.client.write(100);
        net.run(50, |_| true);
        net.client.write(3000);
        let (_, first, _) = net.client.send(net.now).unwrap();
        let MptcpOption::Dss { data_ack, data_seq, subflow_seq, .. } = first.mptcp else { panic!("{:?}", first.mptcp) };
        let data = net.client.out[100..3100].to_vec();
        let checksum = Some(playpath_transport::mptcp::checksums::data_checksum(data_seq, subflow_seq, 3000, &data));
        let whole =
            MptcpOption::Dss { flags: 1 | DSS_MAP | DSS_SEQ8, data_ack, data_seq, subflow_seq, len: 3000, checksum };
        for from in [1000, 2000, 0] {
            assert_eq!(net.server.read.len(), 100);
            let segment = Segment { seq: first.seq + from, payload_len: 1000, mptcp: whole, ..first };
            let mut payload = data[from as usize..from as usize + 1000].to_vec();
            payload[5] ^= u8::from(alters && from == 2000);
            net.server.take(net.now, &Sent { is_up: true, path: 0, segment, payload });
        }
        assert_eq!(net.server.read.len(), if alters { 100 } else { 3100 });
        let mut answers = std::iter::from_fn(|| net.server.mptcp.poll_transmit(net.now)).map(|(_, segment)| segment);
        assert_eq!(answers.any(|segment| segment.mptcp == MptcpOption::Fail { data_seq }), alters);
    }
}

/// §3.7: options pass until both ends have seen the keys, and no more when the first data comes: it has no mapping, or is acknowledged
/// without a DATA_ACK, and both go on as plain TCP. A second path, where there is one, is being joined and never answers.
#[test]
fn options_that_are_lost_before_the_first_data_mean_tcp() {
    for case in 0..36 {
        let (requires, [lost_up, lost_down]) =
            (case % 2 == 1, [[true, true], [true, false], [false, true]][case / 2 % 3]);
        let (client_writes, server_writes) = [(true, true), (true, false), (false, true)][case / 6 % 3];
        let mut net = Net::new(1 + case / 18, requires, false);
        net.run(50, |sent| sent.path == 0);
        if client_writes {
            net.client.write(30_000);
        }
        if server_writes {
            net.server.write(30_000);
        }
        let strip = |sent: &mut Sent| {
            if if sent.is_up { lost_up } else { lost_down } {
                sent.segment.mptcp = MptcpOption::None;
            }
            sent.path == 0
        };
        net.run(2000, strip);
        let arrived = net.server.read == net.client.out && net.client.read == net.server.out;
        assert!(arrived && net.client.mptcp.is_fallback() && net.server.mptcp.is_fallback(), "case {case}");
        net.client.mptcp.close(net.now);
        net.server.mptcp.close(net.now);
        net.run(2000, strip);
        assert!(net.client.mptcp.is_closed() && net.server.mptcp.is_closed(), "case {case}");
    }
}

/// §3.7: who reports a wrong checksum on the only subflow and gets no answer closes it after two minutes, as Linux (`TCP_RTO_MAX`).
#[test]
fn a_failure_that_is_never_answered_ends_the_connection() {
    let mut net = Net::new(1, true, false);
    net.run(50, |_| true);
    net.client.write(1000);
    let (mut is_altered, mut reports) = (false, 0);
    let mut drop_answers = |sent: &mut Sent| {
        alter_once(sent, &mut is_altered);
        reports += usize::from(!sent.is_up && is_fail(&sent.segment));
        !(sent.is_up && is_fail(&sent.segment))
    };
    net.run(110_000, &mut drop_answers);
    assert!(!net.server.mptcp.take_events().contains(Event::Reset));
    net.run(30_000, &mut drop_answers);
    assert!(
        net.server.mptcp.take_events().contains(Event::Reset) && net.client.mptcp.take_events().contains(Event::Reset)
    );
    assert_eq!(reports, 16); // 15 in two minutes: 0, 0.2, 0.6, … 25.4 s after the first, then every 12.8 s; and the reset
}
