//! One end of a session without any IO: application bytes in and out, records to and from paths, the scheduler between.
//!
//! Drive it so: call one mutating verb (`write`, `consume`, `handle_record`, `handle_path_down`, `handle_timeout`, …), then
//! [`poll_transmit`](Core::poll_transmit) with fresh views until `None`, then take the events, then wait for
//! [`poll_timeout`](Core::poll_timeout).
//!
//! Order of what leaves: acknowledgement, copies (redundant schedulers), reinjections, new data, relief of a full window, the end
//! of the stream; as `crates/transport/src/mptcp/sending.rs` has it, which this follows.
//!
//! Differences from MPTCP there:
//! 1. The window of a kernel connection belongs to the kernel: penalisation is counted (`penalties_refused`), not done.
//! 2. Acknowledgements are records of their own, one per 10 ms or quarter of the window, on the path that data came in on last.
//! 3. What every usable path carries already is not reinjected: TCP delivers it.
//!
//! Tested by `tests/any_path_death.rs`.

mod sending;

use crate::incoming::Incoming;
use crate::outgoing::Outgoing;
use crate::record::{INITIAL_WINDOW, Record};
use playpath_transport::mptcp::scheduler::Scheduler;
use playpath_units::{Duration, Rate, Time};
use std::collections::VecDeque;

/// Longest time that an acknowledgement waits.
const ACK_DELAY: Duration = Duration::from_millis(10);
const MIN_RTO: Duration = Duration::from_millis(200);

/// Sizes of a session.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Bytes kept until the peer's relay has acknowledged them.
    pub send_buffer: u64,
    /// Bytes kept for the application, in order or not; at least [`INITIAL_WINDOW`].
    pub receive_buffer: u64,
    /// Tell every decision, not switches only.
    pub logs_records: bool,
}

/// Counters of the session, in the simulator's names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Two records of new data in a row on different paths.
    pub path_switches: u64,
    /// Of these, from a path that still had room and was not in recovery: the scheduler's own will.
    pub switches_from_open_path: u64,
    /// Records of new data for which two paths or more had room: only there is anything to choose.
    pub path_choices: u64,
    /// Records given to a further path, for whatever reason.
    pub reinjections: u64,
    /// Of these, because the connection-level window was full.
    pub opportunistic_retransmissions: u64,
    /// Times that nothing was acknowledged for a whole timeout.
    pub data_timeouts: u64,
    /// Times that the scheduler wanted a path's window halved.
    pub penalties_refused: u64,
    /// Records of new data that waited: no path had room, or the scheduler waited for a better one.
    pub waits: u64,
}

/// Counters of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathStats {
    /// Records of new data given to it.
    pub scheduled_packets: u64,
    /// Their payload.
    pub scheduled_bytes: u64,
    /// Records given to it that another path carried, too.
    pub reinjected_packets: u64,
    /// Their payload.
    pub reinjected_bytes: u64,
    /// Payload that arrived over it, copies included.
    pub received_bytes: u64,
    /// Times that it was lost or stalled.
    pub failures: u64,
}

/// What happened, for the log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// New data changed path.
    Switch {
        /// When.
        at: Time,
        /// Path left.
        from: Side,
        /// Path entered.
        to: Side,
        /// Data offset of the first byte on the path entered.
        offset: u64,
        /// The scheduler's.
        reason: &'static str,
    },
    /// A record of new data (with [`Settings::logs_records`]).
    Sent(Given),
    /// A record that another path carried, too.
    Reinjected(Given),
    /// Nothing acknowledged for a whole timeout.
    DataTimeout {
        /// When.
        at: Time,
        /// First offset not acknowledged.
        una: u64,
    },
}

/// A path at the moment of a switch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Side {
    /// Index of the path.
    pub path: usize,
    /// Smoothed RTT.
    pub srtt: Duration,
    /// Payload per second: a window of full packets per smoothed RTT.
    pub window_rate: Rate,
}

/// A record given to a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Given {
    /// When.
    pub at: Time,
    /// Path.
    pub path: usize,
    /// Data offset of its first byte.
    pub offset: u64,
    /// Payload.
    pub bytes: u32,
    /// Why this path.
    pub reason: &'static str,
}

#[derive(Debug, Default)]
struct PathState {
    is_up: bool,
    /// Its timer expired and it has made no progress since.
    is_stalled: bool,
    /// Redundant schedulers: all data before this offset is carried, or acknowledged.
    copied_to: u64,
    stats: PathStats,
}

/// See the module.
pub struct Core {
    settings: Settings,
    scheduler: Box<dyn Scheduler>,
    is_redundant: bool,
    outgoing: Outgoing,
    incoming: Incoming,
    paths: Vec<PathState>,
    last_path: Option<usize>,
    /// Path of the last data that arrived.
    arrived_on: Option<usize>,
    ack_at: Option<Time>,
    acked_next: u64,
    wants_answer: bool,
    data_timer: Option<Time>,
    backoff: u32,
    rto: Duration,
    is_window_blocked: bool,
    stats: Stats,
    events: VecDeque<Event>,
}

impl Core {
    /// A session over at most 32 paths, all of them down.
    pub fn new(settings: Settings, scheduler: Box<dyn Scheduler>, paths: usize) -> Core {
        assert!(paths <= 32, "a session has at most 32 paths, not {paths}");
        Core {
            settings,
            is_redundant: scheduler.is_redundant(),
            scheduler,
            outgoing: Outgoing::new(settings.send_buffer, INITIAL_WINDOW),
            incoming: Incoming::new(settings.receive_buffer, INITIAL_WINDOW),
            paths: (0..paths).map(|_| PathState::default()).collect(),
            last_path: None,
            arrived_on: None,
            ack_at: Some(Time::ZERO),
            acked_next: 0,
            wants_answer: false,
            data_timer: None,
            backoff: 0,
            rto: Duration::from_secs(1),
            is_window_blocked: false,
            stats: Stats::default(),
            events: VecDeque::new(),
        }
    }

    /// Bytes that [`write`](Self::write) takes now.
    pub fn write_space(&self) -> usize {
        self.outgoing.space()
    }
    /// Bytes from the application.
    pub fn write(&mut self, bytes: &[u8]) {
        self.outgoing.write(bytes);
    }
    /// The application writes no more.
    pub fn close(&mut self) {
        self.outgoing.close();
    }
    /// Bytes for the application: the next of them, not always all.
    pub fn readable(&self) -> &[u8] {
        self.incoming.readable()
    }
    /// The application took so many.
    pub fn consume(&mut self, bytes: usize) {
        self.incoming.consume(bytes);
        let untold = self.incoming.edge() - self.incoming.advertised();
        if untold >= self.settings.receive_buffer / 4 {
            self.ack_at = Some(Time::ZERO);
        }
    }

    /// Make room for paths up to `path`.
    pub fn grow_to(&mut self, path: usize) {
        assert!(path < 32, "a session has at most 32 paths");
        self.paths.resize_with(self.paths.len().max(path + 1), PathState::default);
    }

    /// A connection over `path` is there.
    pub fn handle_path_up(&mut self, path: usize) {
        let state = &mut self.paths[path];
        (state.is_up, state.is_stalled, state.copied_to) = (true, false, 0);
        self.ack_at = Some(Time::ZERO);
    }

    /// The connection over `path` is gone: what only it carried is queued for others.
    pub fn handle_path_down(&mut self, path: usize) {
        let state = &mut self.paths[path];
        state.stats.failures += u64::from(state.is_up && !state.is_stalled);
        (state.is_up, state.is_stalled) = (false, false);
        self.outgoing.queue_of_path(path, self.sound_paths(), true);
        self.ack_at = Some(Time::ZERO); // the last one may have gone with it
    }

    /// The connection over `path` makes no progress, or makes it again.
    pub fn handle_path_stalled(&mut self, path: usize, is_stalled: bool) {
        let state = &mut self.paths[path];
        if state.is_stalled == is_stalled {
            return;
        }
        state.is_stalled = is_stalled;
        if is_stalled {
            state.stats.failures += 1;
            self.outgoing.queue_of_path(path, self.sound_paths(), false);
            self.ack_at = Some(Time::ZERO);
        }
    }

    /// A record arrived on `path` (data, ack or fin). Error: the peer broke a rule.
    pub fn handle_record(&mut self, now: Time, path: usize, record: &Record<'_>) -> Result<(), String> {
        match *record {
            Record::Data { offset, payload } => {
                self.paths[path].stats.received_bytes += payload.len() as u64;
                self.arrived_on = Some(path);
                self.incoming.insert(now, offset, payload)?;
                let is_much = self.incoming.next() - self.acked_next >= self.settings.receive_buffer / 4;
                self.request_ack(if is_much { Time::ZERO } else { now + ACK_DELAY });
            }
            Record::Fin { end } => {
                self.arrived_on = Some(path);
                self.incoming.insert_fin(end)?;
                self.request_ack(Time::ZERO);
            }
            Record::Ack { next, edge, wants_answer } => {
                let progress = self.outgoing.on_ack(next, edge);
                let progress = progress.ok_or_else(|| format!("an acknowledgement of {next}, which was never sent"))?;
                if progress {
                    self.backoff = 0;
                    self.rearm(now);
                }
                if wants_answer {
                    self.request_ack(Time::ZERO);
                }
            }
            ref other => return Err(format!("{other:?} in the middle of a session")),
        }
        Ok(())
    }

    /// What to say last on every path when both streams are through: the peer may not have heard it on the others.
    pub fn last_words(&self) -> Record<'static> {
        Record::Ack { next: self.incoming.next(), edge: self.incoming.edge(), wants_answer: false }
    }

    /// Ask the peer for a sign of life.
    pub fn ask_for_answer(&mut self) {
        self.wants_answer = true;
        self.ack_at = Some(Time::ZERO);
    }

    /// When [`handle_timeout`](Self::handle_timeout), or a poll for an acknowledgement, is due.
    pub fn poll_timeout(&self) -> Option<Time> {
        [self.ack_at, self.data_timer].into_iter().flatten().min()
    }

    /// The time of [`poll_timeout`](Self::poll_timeout) has come. Too early is harmless.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.data_timer.is_none_or(|at| now < at) {
            return;
        }
        self.backoff += 1;
        self.stats.data_timeouts += 1;
        self.events.push_back(Event::DataTimeout { at: now, una: self.outgoing.una() });
        if let Some(head) = self.outgoing.head() {
            self.outgoing.queue_reinjection(head.start);
        }
        self.rearm(now);
    }

    /// What happened since the last call, oldest first.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// There is data that could leave if a path had room.
    pub fn has_pending(&mut self) -> bool {
        self.outgoing.unscheduled() > 0 || self.outgoing.next_reinjection().is_some() || self.outgoing.is_fin_due()
    }
    /// Sent and not acknowledged by the peer's relay.
    pub fn has_outstanding(&self) -> bool {
        self.outgoing.has_outstanding()
    }
    /// First offset that the peer's relay has not acknowledged.
    pub fn una(&self) -> u64 {
        self.outgoing.una()
    }
    /// Everything written has been acknowledged, the end included.
    pub fn is_sent(&self) -> bool {
        self.outgoing.is_done()
    }
    /// The peer's stream has ended, and the application has all of it.
    pub fn is_received(&self) -> bool {
        self.incoming.is_done()
    }
    /// Nothing is left to tell the peer.
    pub fn is_all_acknowledged(&self) -> bool {
        self.acked_next == self.incoming.next()
    }
    /// Bytes that the application took.
    pub fn bytes_delivered(&self) -> u64 {
        self.incoming.taken()
    }
    /// Bytes that the peer's relay acknowledged.
    pub fn bytes_acked(&self) -> u64 {
        self.outgoing.una().min(self.outgoing.written())
    }
    /// Most bytes held behind a gap.
    pub fn max_out_of_order_bytes(&self) -> u64 {
        self.incoming.most_held()
    }
    /// Time that data waited behind a gap.
    pub fn hol_blocking_time(&self, now: Time) -> Duration {
        self.incoming.blocked_time(now)
    }
    /// Counters of the session.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }
    /// Counters of a path.
    pub fn path_stats(&self, path: usize) -> &PathStats {
        &self.paths[path].stats
    }
    /// The path's timer expired and it has made no progress since.
    pub fn is_path_stalled(&self, path: usize) -> bool {
        self.paths[path].is_stalled
    }
    /// The scheduler.
    pub fn scheduler(&self) -> &dyn Scheduler {
        &*self.scheduler
    }

    fn sound_paths(&self) -> u32 {
        let sound = |(index, path): (usize, &PathState)| u32::from(path.is_up && !path.is_stalled) << index;
        self.paths.iter().enumerate().map(sound).sum()
    }

    fn request_ack(&mut self, at: Time) {
        self.ack_at = Some(self.ack_at.map_or(at, |before| before.min(at)));
    }

    fn rearm(&mut self, now: Time) {
        let needs = self.outgoing.has_outstanding();
        self.data_timer = needs.then(|| now + self.rto * (2 << self.backoff.min(6)));
    }
}
