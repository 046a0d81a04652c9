//! No packets of strangers, in any order and at any time, make the server panic, answer without end, keep more than its limits, or
//! wake for nothing; and an honest client that comes afterwards gets its file whole.
#![no_main]

#[path = "../../crates/serve/tests/support/mod.rs"]
mod support;

use libfuzzer_sys::arbitrary::{self, Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;
use playpath_serve::settings::Limits;
use playpath_transport::codec::{Envelope, Packet, Payload, encode};
use playpath_transport::mptcp::option::CAPABLE_SHA256;
use playpath_transport::{Config, Event, Flags, MptcpOption, Segment, SynOptions};
use playpath_units::{Duration, Time};
use std::net::{IpAddr, SocketAddr};
use support::{Client, SERVER, Site, converse_from};

const STRANGERS: usize = 6;
const KEY: u64 = 7;
const LIMITS: Limits = Limits {
    connections: 5,
    half_open: 3,
    half_open_unproven: 3,
    open_timeout: Duration::from_secs(20),
    request_timeout: Duration::from_secs(20),
    idle_timeout: Duration::from_secs(60),
    receive_buffer: 1 << 16,
};
/// What an answer may take at once: the window of every connection in the smallest packets.
const MOST_PACKETS: usize = 5000;

#[derive(Arbitrary, Debug)]
enum Step {
    /// Anything that calls itself a packet.
    Raw(Vec<u8>),
    /// A SYN: plain, of MPTCP, or a join to the newest MPTCP connection, with options of any kind.
    Open {
        stranger: u8,
        how: u8,
        mss: u16,
        scale: Option<u8>,
        has_sack: bool,
    },
    /// The next bytes in order, with the newest ACK, as an honest peer sends them.
    Say {
        stranger: u8,
        text: Vec<u8>,
    },
    /// A request that the server can answer.
    Ask {
        stranger: u8,
        what: u8,
    },
    /// A segment near what is in use.
    Segment {
        stranger: u8,
        seq: i16,
        ack: i16,
        flags: u16,
        window: u16,
        option: Shape,
        bytes: Vec<u8>,
    },
    Wait {
        micros: u16,
    },
    Sleep {
        millis: u16,
    },
}

/// An option of MPTCP, with fields of any kind.
#[derive(Arbitrary, Debug)]
enum Shape {
    None,
    Dss { flags: u8, ack: i16, seq: i16, subflow_seq: u32, len: u16 },
    AddAddress { id: u8, is_echo: bool },
    RemoveAddress { id: u8 },
    Priority(bool),
    FastClose { key: u64 },
    Fail(u64),
    JoinAck([u8; 20]),
    Reset { is_transient: bool, reason: u8 },
}

impl Shape {
    fn option(&self) -> MptcpOption {
        match *self {
            Shape::None => MptcpOption::None,
            Shape::Dss { flags, ack, seq, subflow_seq, len } => MptcpOption::Dss {
                flags: flags & 0x1f,
                data_ack: ack as u64,
                data_seq: seq as u64,
                subflow_seq,
                len,
                checksum: None,
            },
            Shape::AddAddress { id, is_echo } => {
                MptcpOption::AddAddress { address_id: id, is_echo, address: [10, 0, 0, id].into(), port: 0, mac: 1 }
            }
            Shape::RemoveAddress { id } => MptcpOption::RemoveAddress { address_id: id },
            Shape::Priority(is_backup) => MptcpOption::Priority { is_backup },
            Shape::FastClose { key } => MptcpOption::FastClose { receiver_key: key },
            Shape::Fail(data_seq) => MptcpOption::Fail { data_seq },
            Shape::JoinAck(mac) => MptcpOption::JoinAck { mac },
            Shape::Reset { is_transient, reason } => MptcpOption::Reset { is_transient, reason },
        }
    }
}

/// What a stranger knows of its connection.
#[derive(Clone, Copy, Default)]
struct Stranger {
    nxt: u32,
    ack: u32,
    /// The server's key, of its last answer to an offer of MPTCP.
    key: u64,
}

struct Crowd {
    site: Site,
    strangers: [Stranger; STRANGERS],
    now: Time,
}

fn address(stranger: usize) -> SocketAddr {
    SocketAddr::new(IpAddr::from([10, 0, 0, 100 + stranger as u8]), 1000)
}

impl Crowd {
    /// What leaves is well formed, comes from the server, and ends.
    fn drain(&mut self) {
        let packets = self.site.flush(self.now);
        assert!(packets.len() < MOST_PACKETS, "{} packets at once", packets.len());
        for bytes in packets {
            let packet = Packet::parse(&bytes).expect("what it sends can be read");
            assert!(packet.has_right_checksums() && packet.source == SERVER.parse().unwrap());
            let segment = packet.segment(0).expect("what it sends can be read");
            let known = (0..STRANGERS).find(|stranger| address(*stranger) == packet.destination);
            if let Some(stranger) = known.map(|known| &mut self.strangers[known]) {
                stranger.ack = segment.seq.wrapping_add(segment.sequence_len());
                if let MptcpOption::Capable { sender_key, .. } = segment.mptcp {
                    stranger.key = sender_key;
                }
            }
        }
        assert!(self.site.server.footprint() < (3 * LIMITS.connections) << 16, "{}", self.site.server.footprint());
        assert!(self.site.server.clients.by_id.len() <= LIMITS.connections);
    }

    fn handle(&mut self, bytes: &[u8]) {
        self.site.server.handle_packet(self.now, bytes);
        self.drain();
    }

    /// A segment of a stranger's, `seq` and `ack` off what they should be.
    fn send(&mut self, stranger: u8, (seq, ack): (i16, i16), segment: Segment, payload: &[u8]) {
        let index = usize::from(stranger) % STRANGERS;
        let Stranger { nxt, ack: expected, .. } = self.strangers[index];
        let segment = Segment {
            seq: nxt.wrapping_add_signed(seq.into()),
            ack: expected.wrapping_add_signed(ack.into()),
            payload_len: payload.len() as u32,
            ..segment
        };
        let envelope = Envelope {
            source: address(index),
            destination: SERVER.parse().unwrap(),
            window_scale: 0,
            identification: 0,
        };
        let mut bytes = Vec::new();
        // What has too many options for a header cannot be sent.
        if encode(&segment, &[], &envelope, Payload::Bytes(payload), &mut bytes).is_ok() {
            self.handle(&bytes);
        }
    }

    fn open(&mut self, stranger: u8, how: u8, syn_options: SynOptions) {
        let index = usize::from(stranger) % STRANGERS;
        let token = self
            .site
            .server
            .clients
            .by_id
            .values()
            .filter_map(|one| one.transport.mptcp())
            .next_back()
            .map(|m| m.token());
        let mptcp = match (how % 3, token) {
            (0, _) => MptcpOption::None,
            (1, Some(token)) => {
                MptcpOption::JoinSyn { address_id: stranger, is_backup: how & 4 != 0, token, nonce: u32::from(how) }
            }
            _ => capable(0, 0),
        };
        self.strangers[index] = Stranger::default();
        let syn = Segment { flags: Flags::SYN, syn_options, window: 60_000, mptcp, ..Segment::default() };
        self.send(stranger, (0, 0), syn, b"");
        self.strangers[index].nxt = 1;
        let key = self.strangers[index].key;
        let mptcp = if key == 0 { MptcpOption::None } else { capable(2, key) };
        self.send(stranger, (0, 0), Segment { flags: Flags::ACK, window: 60_000, mptcp, ..Segment::default() }, b"");
    }

    fn say(&mut self, stranger: u8, text: &[u8]) {
        let segment = Segment { flags: Flags::ACK.with(Flags::PSH), window: 60_000, ..Segment::default() };
        let text = &text[..text.len().min(1400)];
        self.send(stranger, (0, 0), segment, text);
        let index = usize::from(stranger) % STRANGERS;
        self.strangers[index].nxt = self.strangers[index].nxt.wrapping_add(text.len() as u32);
    }

    fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        for count in 0.. {
            assert!(count < 100_000, "wakes without end");
            let due = self.site.server.poll_timeout();
            if due > until {
                break;
            }
            self.now = self.now.max(due);
            self.site.server.handle_timeout(self.now);
            self.drain();
        }
        self.now = until;
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Raw(bytes) => self.handle(&bytes),
            Step::Open { stranger, how, mss, scale, has_sack } => {
                self.open(stranger, how, SynOptions { mss, window_scale: scale, sack_permitted: has_sack });
            }
            Step::Say { stranger, text } => self.say(stranger, &text),
            Step::Ask { stranger, what } => {
                self.say(stranger, REQUESTS[usize::from(what) % REQUESTS.len()].as_bytes());
            }
            Step::Segment { stranger, seq, ack, flags, window, option, bytes } => {
                let segment = Segment {
                    flags: Flags(flags & 0x1ff),
                    window: window.into(),
                    mptcp: option.option(),
                    ..Segment::default()
                };
                self.send(stranger, (seq, ack), segment, &bytes[..bytes.len().min(1400)]);
            }
            Step::Wait { micros } => self.pass(Duration::from_micros(micros.into())),
            Step::Sleep { millis } => self.pass(Duration::from_millis(millis.into())),
        }
    }
}

const REQUESTS: [&str; 6] = [
    "GET /clip HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /clip HTTP/1.1\r\nHost: a\r\nRange: bytes=100-\r\nConnection: close\r\n\r\n",
    "HEAD /none?CMCD=bl%3D2100 HTTP/1.1\r\nHost: a\r\n\r\n",
    "PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 70000\r\n\r\n",
    "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcdeGET /clip HTTP/1.0\r\n\r\n",
    "GET /",
];

fn capable(keys: u8, receiver_key: u64) -> MptcpOption {
    MptcpOption::Capable { flags: CAPABLE_SHA256, keys, data_len: 0, checksum: None, sender_key: KEY, receiver_key }
}

fuzz_target!(|bytes: &[u8]| {
    let site = Site::new("fuzz", 20_000, LIMITS);
    let mut crowd = Crowd { site, strangers: Default::default(), now: Time::from_millis(1) };
    let mut left = Unstructured::new(bytes);
    while !left.is_empty()
        && let Ok(step) = left.arbitrary()
    {
        crowd.step(step);
    }
    // All patience has ended: nobody is left.
    crowd.pass(Duration::from_secs(400));
    assert_eq!(crowd.site.server.clients.by_id.len(), 0, "kept for ever");
    let start = crowd.now;
    let mut clients =
        [Client::new(start, 9, Config::linux(), "GET /clip HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")];
    converse_from(&mut crowd.site, &mut clients, (start, start + Duration::from_secs(20)), || false);
    assert!(clients[0].body() == crowd.site.clip && clients[0].has(Event::PeerClosed));
});
