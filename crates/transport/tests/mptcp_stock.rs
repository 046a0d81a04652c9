//! What stock clients do that a pair of our own ends does not: joins from any address, in any order; identifiers of their own; one
//! mapping over several segments; several options in a segment; the end by MP_FASTCLOSE.

mod support;

use playpath_transport::mptcp::option::{DSS_ACK, DSS_MAP, DSS_SEQ8};
use playpath_transport::mptcp::{MptcpConfig, MptcpConnection, PathConfig, scheduler};
use playpath_transport::{Config, Event, Flags, MptcpOption, Segment};
use playpath_units::{Params, Time};
use support::Reno;

const KEYS: (u64, u64) = (0x0102_0304_0506_0708, 0x1112_1314_1516_1718);

fn config(key: u64) -> MptcpConfig {
    MptcpConfig {
        key,
        nonce: key as u32,
        send_buffer: 1 << 20,
        receive_buffer: 100_000,
        is_coupled: false,
        requires_checksums: false,
    }
}

fn path() -> PathConfig {
    PathConfig {
        tcp: Config { isn: 1000, tunes_window: false, ..Config::linux() },
        cc: Reno::growing(10.0),
        is_backup: false,
    }
}

fn lowest_rtt() -> Box<dyn scheduler::Scheduler> {
    let entry = scheduler::find("dft").unwrap();
    (entry.build)(&Params::defaults(entry.params))
}

/// A client over three paths, a server that knows of one and announces two further addresses, the last one first.
struct Ends {
    client: MptcpConnection,
    server: MptcpConnection,
    /// The server's path for each of the client's.
    place: [Option<usize>; 3],
    now: Time,
}

impl Ends {
    fn new() -> Ends {
        let client =
            MptcpConnection::connect(Time::ZERO, config(KEYS.0), lowest_rtt(), (0..3).map(|_| path()).collect());
        let mut server = MptcpConnection::listen(config(KEYS.1), lowest_rtt(), vec![path()]);
        server.announce_addresses((1..3).rev().map(|id| (id, [10, 0, 0, id].into())).collect());
        Ends { client, server, place: [Some(0), None, None], now: Time::ZERO }
    }

    /// Exchange what there is until nothing is left. Of the client's segments those that `drop` names do not arrive.
    fn exchange(&mut self, mut drop: impl FnMut(usize, &Segment) -> bool) {
        for _ in 0..200 {
            self.now += playpath_units::Duration::from_millis(1);
            let sent: Vec<_> = std::iter::from_fn(|| self.client.poll_transmit(self.now)).collect();
            for (path, segment) in sent {
                if drop(path, &segment) {
                    continue;
                }
                let place = self.place[path].or_else(|| self.server.add_path(self::path(), path as u8));
                self.place[path] = place;
                self.server.handle_segment(self.now, place.unwrap(), &segment);
            }
            while let Some((place, segment)) = self.server.poll_transmit(self.now) {
                let path = self.place.iter().position(|known| *known == Some(place)).unwrap();
                self.client.handle_segment(self.now, path, &segment);
            }
            self.server.read(u64::MAX);
            self.client.read(u64::MAX);
        }
    }
}

/// The joins come in reverse: places and identifiers are different numbers, and both paths carry data.
#[test]
fn joins_are_admitted_in_any_order() {
    let mut ends = Ends::new();
    ends.exchange(|_, _| false);
    assert_eq!(ends.place, [Some(0), Some(2), Some(1)]);
    assert_eq!(ends.server.path_count(), 3);
    ends.server.write(200_000);
    ends.exchange(|_, _| false);
    assert_eq!(ends.client.bytes_delivered(), 200_000);
    assert!((0..3).all(|path| ends.server.is_path_usable(path)));
}

/// Identifier 1 is the client's second path, which the server has as its third: that one goes, and its place is used again.
#[test]
fn an_address_is_removed_by_its_identifier() {
    let mut ends = Ends::new();
    let mut last = Segment::default();
    ends.exchange(|path, segment| {
        last = if path == 0 { *segment } else { last };
        false
    });
    let remove = Segment { mptcp: MptcpOption::RemoveAddress { address_id: 1 }, ..last };
    ends.server.handle_option(ends.now, 0, &remove);
    assert_eq!([0, 1, 2].map(|path| ends.server.is_path_usable(path)), [true, true, false]);
    ends.server.write(100_000);
    ends.exchange(|path, _| path == 1);
    assert_eq!(ends.client.bytes_delivered(), 100_000);
    assert_eq!(ends.server.add_path(path(), 1), Some(2));
}

/// Linux maps up to 64 kB at once and repeats the mapping with each segment; one of them comes without, another out of order.
#[test]
fn a_mapping_may_span_segments() {
    let mut ends = Ends::new();
    ends.exchange(|path, _| path > 0);
    ends.client.write(3000);
    let first = loop {
        let (path, segment) = ends.client.poll_transmit(ends.now).expect("data");
        if path == 0 && segment.payload_len > 0 {
            break segment;
        }
    };
    let MptcpOption::Dss { data_ack, data_seq, subflow_seq, .. } = first.mptcp else { panic!("{:?}", first.mptcp) };
    let whole = MptcpOption::Dss {
        flags: DSS_ACK | DSS_MAP | DSS_SEQ8,
        data_ack,
        data_seq,
        subflow_seq,
        len: 3000,
        checksum: None,
    };
    let part = |from: u32, len: u32, mptcp| Segment { seq: first.seq + from, payload_len: len, mptcp, ..first };
    let without = part(
        1000,
        1000,
        MptcpOption::Dss { flags: DSS_ACK, data_ack, data_seq: 0, subflow_seq: 0, len: 0, checksum: None },
    );
    assert_eq!(ends.server.receive_offset(0, &without), None, "its mapping has not come");
    let last = part(2000, 1000, whole);
    assert_eq!(ends.server.receive_offset(0, &last), Some(2000));
    ends.server.handle_segment(ends.now, 0, &last);
    assert_eq!(ends.server.receive_offset(0, &without), Some(1000), "now it has");
    ends.server.handle_segment(ends.now, 0, &without);
    assert_eq!(ends.server.readable(), 0);
    ends.server.handle_segment(ends.now, 0, &part(0, 1000, whole));
    assert_eq!(ends.server.readable(), 3000);
    let beyond = Segment {
        mptcp: MptcpOption::Dss {
            flags: DSS_ACK | DSS_MAP | DSS_SEQ8,
            data_ack,
            data_seq: data_seq + 900_000,
            subflow_seq,
            len: 1000,
            checksum: None,
        },
        ..first
    };
    assert_eq!(ends.server.receive_offset(0, &beyond), None, "outside the window");
}

/// The end by MP_FASTCLOSE, sent and received; one with a wrong key is nobody's.
#[test]
fn a_fast_close_ends_every_subflow() {
    let mut ends = Ends::new();
    ends.exchange(|_, _| false);
    let close = |receiver_key| Segment {
        flags: Flags::ACK,
        mptcp: MptcpOption::FastClose { receiver_key },
        ..Segment::default()
    };
    ends.server.handle_option(ends.now, 1, &close(KEYS.0));
    assert!(ends.server.is_established(), "not our key");
    ends.client.abort();
    let (_, reset) = ends.client.poll_transmit(ends.now).expect("a reset");
    assert!(reset.flags.contains(Flags::RST));
    assert_eq!(reset.mptcp, MptcpOption::FastClose { receiver_key: KEYS.1 });
    while ends.server.poll_event().is_some() {}
    ends.server.handle_segment(ends.now, 0, &reset);
    assert_eq!(ends.server.poll_event(), Some(Event::Reset));
    assert!(!ends.server.is_established());
}
