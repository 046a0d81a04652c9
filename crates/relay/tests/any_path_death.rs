//! Two cores, paths that delay, stall, die and return at any moment: every byte arrives once and in order, in both directions, and no
//! buffer outgrows its setting. The network here is a queue per connection; a path that dies loses all that is in it.

use playpath_relay::core::{Core, Settings};
use playpath_relay::record::{Decoder, Record};
use playpath_transport::mptcp::scheduler::{self, SubflowView};
use playpath_units::{Duration, Rate, Time};
use proptest::prelude::*;
use std::collections::VecDeque;

const PATHS: usize = 3;
const BUFFER: u64 = 200 << 10;
const STEP: Duration = Duration::from_millis(5);

/// What happens in one step of 5 ms.
#[derive(Clone, Debug)]
enum Act {
    Write(usize, usize),
    Read(usize, usize),
    /// So many bytes of the path's queue towards an end arrive.
    Deliver(usize, usize, usize),
    Die(usize),
    Return(usize),
    Stall(usize, bool),
    /// More or fewer sessions share the memory.
    Share(u64),
    Nothing,
}

/// One end and, per path, what is on the way to it.
struct End {
    core: Core,
    towards: Vec<VecDeque<u8>>,
    decoders: Vec<Decoder>,
    written: usize,
    read: Vec<u8>,
}

struct Pair {
    now: Time,
    ends: [End; 2],
    is_up: [bool; PATHS],
    is_stalled: [bool; PATHS],
    streams: [Vec<u8>; 2],
}

impl Pair {
    fn new(scheduler: &str, lengths: [usize; 2], buffer: u64) -> Pair {
        let end = || End {
            core: Core::new(
                Settings { send_buffer: buffer, receive_buffer: buffer, logs_records: true },
                scheduler::build(scheduler).unwrap(),
                PATHS,
            ),
            towards: vec![VecDeque::new(); PATHS],
            decoders: (0..PATHS).map(|_| Decoder::default()).collect(),
            written: 0,
            read: Vec::new(),
        };
        let stream = |seed: usize, len: usize| (0..len).map(|i| (i * 31 + i / 251 + seed) as u8).collect();
        let mut pair = Pair {
            now: Time::from_secs(1),
            ends: [end(), end()],
            is_up: [false; PATHS],
            is_stalled: [false; PATHS],
            streams: [stream(1, lengths[0]), stream(2, lengths[1])],
        };
        (0..PATHS).for_each(|path| pair.act(&Act::Return(path)));
        pair
    }

    fn act(&mut self, act: &Act) {
        match *act {
            Act::Write(side, bytes) => self.write(side, bytes),
            Act::Read(side, bytes) => self.read(side, bytes),
            Act::Deliver(side, path, bytes) if !self.is_stalled[path] => self.deliver(side, path, bytes),
            Act::Die(path) if self.is_up[path] => {
                (self.is_up[path], self.is_stalled[path]) = (false, false);
                for end in &mut self.ends {
                    end.towards[path].clear();
                    end.core.handle_path_down(path);
                }
            }
            Act::Return(path) if !self.is_up[path] => {
                self.is_up[path] = true;
                for end in &mut self.ends {
                    end.decoders[path] = Decoder::default();
                    end.core.handle_path_up(path);
                }
            }
            Act::Stall(path, is_stalled) if self.is_up[path] => {
                self.is_stalled[path] = is_stalled;
                self.ends.iter_mut().for_each(|end| end.core.handle_path_stalled(path, is_stalled));
            }
            Act::Share(bytes) => self.ends.iter_mut().for_each(|end| end.core.set_share(bytes)),
            _ => {}
        }
        self.now += STEP;
        self.pump();
    }

    fn write(&mut self, side: usize, bytes: usize) {
        let (end, stream) = (&mut self.ends[side], &self.streams[side]);
        let count = bytes.min(end.core.write_space()).min(stream.len() - end.written);
        end.core.write(&stream[end.written..end.written + count]);
        end.written += count;
        if end.written == stream.len() {
            end.core.close();
        }
    }

    fn read(&mut self, side: usize, bytes: usize) {
        let end = &mut self.ends[side];
        let count = bytes.min(end.core.readable().len());
        end.read.extend_from_slice(&end.core.readable()[..count]);
        end.core.consume(count);
    }

    fn deliver(&mut self, side: usize, path: usize, bytes: usize) {
        let end = &mut self.ends[side];
        let count = bytes.min(end.towards[path].len());
        let bytes: Vec<u8> = end.towards[path].drain(..count).collect();
        end.decoders[path].push(&bytes);
        while let Some(record) = end.decoders[path].next_record().unwrap() {
            assert!(matches!(record, Record::Data { .. } | Record::Ack { .. } | Record::Fin { .. }));
            end.core.handle_record(self.now, path, &record).unwrap();
        }
    }

    fn pump(&mut self) {
        for side in 0..2 {
            self.ends[side].core.handle_timeout(self.now);
            loop {
                let mut views = self.views(side);
                let mut out = Vec::new();
                let Some(path) = self.ends[side].core.poll_transmit(self.now, &mut views, &mut out) else { break };
                assert!(self.is_up[path], "sent on a dead path");
                self.ends[1 - side].towards[path].extend(out);
            }
            while self.ends[side].core.poll_event().is_some() {}
        }
    }

    /// Windows of ten packets of 512 bytes; in flight is what lies in the queue.
    fn views(&self, side: usize) -> Vec<SubflowView> {
        let view = |path: usize| {
            let queue = self.ends[1 - side].towards[path].len();
            let srtt = Duration::from_millis(20 + 30 * path as u64);
            SubflowView {
                path,
                is_usable: self.is_up[path],
                is_backup: false,
                is_recovering: false,
                is_loss: false,
                is_ca_open: true,
                srtt,
                rttvar: srtt / 4,
                srtt_range: (srtt, srtt),
                cwnd: 10.0,
                ssthresh: 20.0,
                in_flight: queue.div_ceil(512) as u32,
                queued: 0,
                buffered_bytes: queue as u64,
                sized_for: 10,
                paced_at: None,
                delivery_rate: Rate::default(),
                mss: 512,
                has_segment: false,
            }
        };
        (0..PATHS).map(view).collect()
    }

    /// Everything works from now on: how long until both streams are through.
    fn finish(&mut self) {
        (0..PATHS).for_each(|path| self.act(&Act::Return(path)));
        (0..PATHS).for_each(|path| self.act(&Act::Stall(path, false)));
        for _ in 0..5000 {
            if self.ends.iter().all(|end| end.core.is_sent() && end.core.is_received()) {
                return;
            }
            for side in 0..2 {
                self.act(&Act::Write(side, 1 << 20));
                (0..PATHS).for_each(|path| self.act(&Act::Deliver(side, path, 1 << 20)));
                self.act(&Act::Read(side, 1 << 20));
            }
        }
        panic!("the streams do not end");
    }
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let (side, path) = (|| 0usize..2, || 0usize..PATHS);
    let act = prop_oneof![
        3 => (side(), 1usize..20_000).prop_map(|(s, n)| Act::Write(s, n)),
        3 => (side(), 1usize..20_000).prop_map(|(s, n)| Act::Read(s, n)),
        8 => (side(), path(), 1usize..4000).prop_map(|(s, p, n)| Act::Deliver(s, p, n)),
        1 => path().prop_map(Act::Die),
        1 => path().prop_map(Act::Return),
        1 => (path(), any::<bool>()).prop_map(|(p, b)| Act::Stall(p, b)),
        1 => (0u64..300_000).prop_map(Act::Share),
        1 => Just(Act::Nothing),
    ];
    prop::collection::vec(act, 0..300)
}

fn any_scheduler() -> impl Strategy<Value = &'static str> {
    prop::sample::select(scheduler::entries().iter().map(|entry| entry.name).collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]
    #[test]
    fn every_byte_once_and_in_order(acts in acts(), name in any_scheduler(), lengths in (0usize..400_000, 0usize..40_000)) {
        let mut pair = Pair::new(name, [lengths.0, lengths.1], BUFFER);
        for act in &acts {
            pair.act(act);
            for end in &pair.ends {
                prop_assert!(end.core.max_out_of_order_bytes() <= BUFFER);
                prop_assert!(end.core.write_space() as u64 <= BUFFER);
            }
        }
        pair.finish();
        for side in 0..2 {
            prop_assert!(pair.ends[1 - side].read == pair.streams[side], "{name}: the stream of side {side} differs");
        }
    }
}

/// Nothing is acknowledged and nobody tells: after the timeout the oldest data goes to another path, and only it.
#[test]
fn a_silent_path_is_got_around() {
    let mut pair = Pair::new("dft", [2000, 0], 64 << 10);
    pair.act(&Act::Write(0, 2000));
    let before = pair.ends[0].core.stats().reinjections;
    assert_eq!(before, 0);
    for _ in 0..200 {
        pair.act(&Act::Nothing); // 1 s: 2 · RTO of the slowest path (80 + 4·20 = 200 ms at least)
    }
    let stats = pair.ends[0].core.stats();
    assert!(stats.data_timeouts >= 1 && stats.reinjections >= 1, "{stats:?}");
    pair.finish();
    assert_eq!(pair.ends[1].read, pair.streams[0]);
}

/// A redundant scheduler sends each record of data on every path: three new ones on path 0, copies of all three on the others. The end of
/// the stream leaves once.
#[test]
fn redundant_sends_all_on_all() {
    let mut pair = Pair::new("redundant", [1500, 0], 64 << 10);
    pair.act(&Act::Write(0, 1500)); // three records of 500 bytes
    for path in 0..PATHS {
        let stats = pair.ends[0].core.path_stats(path);
        let sent = (stats.scheduled_packets, stats.reinjected_packets);
        assert_eq!(sent, if path == 0 { (3, 0) } else { (0, 3) }, "path {path}");
    }
}
