//! The contract of the data level over a driver of its own, for every scheduler: whatever delays, fails and returns, all data arrives;
//! no chunk goes to a path that is not usable, and no new one beyond the window; reinjections of one moment go oldest first; the
//! counters say what the events say. (`mptcp.rs` holds the same over the real driver.)

use playpath_transport::mptcp::level::{Chunk, DataLevel, Event, Paths, Watch};
use playpath_transport::mptcp::scheduler::{self, SubflowView};
use playpath_units::{Duration, Time};
use proptest::prelude::*;
use std::collections::VecDeque;

const PATHS: usize = 3;
const MSS: u32 = 500;
const WINDOW: u64 = 8_000;

/// Paths with windows of eight packets that deliver in order what they hold, or lose all of it.
struct Fake {
    queues: [VecDeque<Chunk>; PATHS],
    is_up: [bool; PATHS],
    put: Vec<(usize, Chunk)>,
}

impl Fake {
    fn usable(&self) -> u32 {
        (0..PATHS).map(|path| u32::from(self.is_up[path]) << path).sum()
    }
}

impl Paths for Fake {
    fn take_changed(&mut self) -> u32 {
        (1 << PATHS) - 1
    }
    fn view(&self, path: usize, _with_pacing: bool, view: &mut SubflowView) {
        let srtt = Duration::from_millis(20 + 100 * path as u64);
        *view = SubflowView {
            path,
            is_usable: self.is_up[path],
            srtt,
            srtt_range: (srtt, srtt),
            cwnd: 8.0,
            ssthresh: 16.0,
            in_flight: self.queues[path].len() as u32,
            buffered_bytes: self.queues[path].iter().map(|chunk| u64::from(chunk.len)).sum(),
            mss: MSS,
            has_segment: view.has_segment,
            ..SubflowView::default()
        };
    }
    fn put(&mut self, path: usize, chunk: &Chunk, view: &mut SubflowView) {
        assert!(self.is_up[path], "a chunk for a path that is not usable");
        self.queues[path].push_back(*chunk);
        self.put.push((path, *chunk));
        self.view(path, false, view);
    }
    fn penalise(&mut self, _now: Time, path: usize) -> bool {
        path > 0 // one of them refuses
    }
    fn longest_rto(&self) -> Duration {
        Duration::from_millis(200)
    }
}

#[derive(Clone, Debug)]
enum Act {
    Write(u64),
    /// So many chunks of a path arrive, and an acknowledgement comes back.
    Deliver(usize, usize),
    Die(usize),
    Return(usize),
    /// The reader takes so much: the window opens.
    Read(u64),
    Wait(u64),
}

struct Run {
    now: Time,
    level: DataLevel,
    fake: Fake,
    /// Bytes that have arrived, by offset.
    arrived: Vec<bool>,
    read: u64,
    last: Option<usize>,
    switches: u64,
    given_again: u64,
}

impl Run {
    fn new(name: &str) -> Run {
        let mut level = DataLevel::new(scheduler::build(name).unwrap(), PATHS, Watch::Chunks);
        level.widen(WINDOW);
        let fake = Fake { queues: Default::default(), is_up: [true; PATHS], put: Vec::new() };
        let (now, arrived) = (Time::from_secs(1), Vec::new());
        Run { now, level, fake, arrived, read: 0, last: None, switches: 0, given_again: 0 }
    }

    fn next(&self) -> u64 {
        self.arrived.iter().position(|has| !has).unwrap_or(self.arrived.len()) as u64
    }

    fn act(&mut self, act: &Act) {
        match *act {
            Act::Write(bytes) => self.level.write(bytes),
            Act::Deliver(path, count) => {
                for _ in 0..count {
                    let Some(chunk) = self.fake.queues[path].pop_front() else { break };
                    assert!(chunk.end() <= self.read + WINDOW, "new data beyond the window");
                    self.arrived.resize(self.arrived.len().max(chunk.end() as usize), false);
                    self.arrived[chunk.start as usize..chunk.end() as usize].fill(true);
                }
            }
            Act::Die(path) if self.fake.is_up[path] => {
                self.fake.is_up[path] = false;
                self.fake.queues[path].clear();
                self.level.note_failure(path);
                self.level.reinject_held(path, self.fake.usable(), |_| true);
                self.level.forget_path(path);
            }
            Act::Return(path) => self.fake.is_up[path] = true,
            Act::Read(bytes) => self.read = (self.read + bytes).min(self.next()),
            Act::Wait(millis) => self.now += Duration::from_millis(millis),
            Act::Die(_) => {}
        }
        let edge = self.read + WINDOW;
        if self.level.handle_ack(self.next(), edge).expect("it was sent") {
            self.level.rearm(self.now, self.fake.longest_rto());
        }
        if self.level.timer() <= self.now {
            self.level.handle_timeout(self.now);
        }
        self.pump();
    }

    fn pump(&mut self) {
        let mut oldest = 0;
        while let Some(path) = self.level.schedule(self.now, &mut self.fake) {
            assert_eq!(self.fake.put.last().map(|(path, _)| *path), Some(path));
        }
        self.fake.put.clear();
        while let Some(event) = self.level.poll_event() {
            match event {
                Event::Switch(switch) => {
                    assert_eq!(Some(switch.from.path), self.last);
                    assert!(switch.to.path != switch.from.path);
                    self.switches += 1;
                    self.last = Some(switch.to.path);
                }
                Event::Sent(given) => self.last = self.last.or(Some(given.path)),
                Event::Reinjected(given) => {
                    self.given_again += 1;
                    // Relief and copies on every path have an order of their own.
                    if !given.reason.starts_with("window full") && !given.reason.starts_with("copy") {
                        assert!(given.offset >= oldest, "the oldest first");
                        oldest = given.offset;
                    }
                }
                Event::DataTimeout { .. } => {}
            }
        }
    }
}

/// Twice the paths' 200 ms, twice as long after each expiry, two minutes at most; that a path's own timeout has grown to a minute in the
/// meantime, since it backs off or has just joined, does not count.
#[test]
fn the_timer_doubles_from_where_it_began() {
    let mut run = Run::new("dft");
    run.act(&Act::Write(500));
    for expected in [400, 800, 1600, 3200, 6400, 12_800, 25_600, 51_200, 102_400, 120_000, 120_000] {
        assert_eq!(run.level.timer(), run.now + Duration::from_millis(expected));
        run.now = run.level.timer();
        run.level.handle_timeout(run.now);
        run.level.rearm(run.now, Duration::from_secs(60));
    }
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let path = || 0usize..PATHS;
    let act = prop_oneof![
        3 => (1u64..6_000).prop_map(Act::Write),
        8 => (path(), 1usize..6).prop_map(|(path, count)| Act::Deliver(path, count)),
        1 => path().prop_map(Act::Die),
        2 => path().prop_map(Act::Return),
        3 => (1u64..6_000).prop_map(Act::Read),
        2 => (1u64..500).prop_map(Act::Wait),
    ];
    prop::collection::vec(act, 0..200)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]
    #[test]
    fn all_data_arrives_and_the_counters_say_what_happened(acts in acts(), index in 0..scheduler::entries().len()) {
        let mut run = Run::new(scheduler::entries()[index].name);
        acts.iter().for_each(|act| run.act(act));
        run.level.close();
        for _ in 0..400 {
            if run.level.bytes_acked() == run.level.written() {
                break;
            }
            (0..PATHS).for_each(|path| run.act(&Act::Return(path)));
            (0..PATHS).for_each(|path| run.act(&Act::Deliver(path, 100)));
            run.act(&Act::Read(u64::MAX >> 1));
            run.act(&Act::Wait(100));
        }
        // Also where nothing was written, and so nothing waited for a path.
        (0..PATHS).for_each(|path| run.act(&Act::Return(path)));
        let written = run.level.written();
        prop_assert_eq!((run.next(), run.level.bytes_acked(), run.level.has_outstanding()), (written, written, false));
        let stats = *run.level.stats();
        prop_assert_eq!((stats.path_switches, stats.reinjections), (run.switches, run.given_again));
        let sum = |count: fn(&DataLevel, usize) -> u64| (0..PATHS).map(|path| count(&run.level, path)).sum::<u64>();
        prop_assert_eq!(sum(|level, path| level.path_stats(path).scheduled_bytes), written);
        prop_assert_eq!(sum(|level, path| level.path_stats(path).reinjected_packets), stats.reinjections);
        prop_assert_eq!(sum(|level, path| level.path_stats(path).penalties), stats.penalisations);
        prop_assert!(stats.opportunistic_retransmissions <= stats.reinjections);
        prop_assert!(stats.switches_from_open_path <= stats.path_switches);
        // The end leaves once everything has, is told again when its path fails, and counts one.
        let path = run.level.fin_path(&mut run.fake).flatten().expect("every path works");
        run.level.note_fin(run.now, path, &run.fake);
        prop_assert_eq!(run.level.fin_path(&mut run.fake), None);
        run.level.reinject_held(path, 0, |_| true);
        prop_assert!(run.level.is_fin_due());
        prop_assert_eq!(run.level.handle_ack(written + 2, 0), None);
        prop_assert_eq!(run.level.handle_ack(written + 1, 0), Some(true));
        prop_assert!(run.level.is_fin_acked());
    }
}
