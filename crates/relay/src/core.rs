//! One end of a session without any IO: application bytes in and out, records to and from paths; between them the data level of
//! `playpath-transport`, which MPTCP drives, too.
//!
//! Drive it so: call one mutating verb (`write`, `consume`, `handle_record`, `handle_path_down`, `handle_timeout`, …), then
//! [`poll_transmit`](Core::poll_transmit) with fresh views until `None`, then take the events, then wait for
//! [`poll_timeout`](Core::poll_timeout).
//!
//! Acknowledgements leave first; the rest is in the data level's order.
//!
//! Differences from MPTCP there:
//! 1. The window of a kernel connection belongs to the kernel: penalisation is counted (`penalties_refused`), not done.
//! 2. Acknowledgements are records of their own, one per 10 ms or quarter of the window, on the path that data came in on last.
//! 3. A path may return: what it carried before counts no more then. What its TCP has delivered meanwhile is known only by the
//!    other relay's acknowledgement, so all that it carried is reinjected.
//!
//! Tested by `tests/any_path_death.rs`.

mod wire;

use crate::incoming::{Broken, Incoming};
use crate::record::{INITIAL_WINDOW, Record};
use crate::send_buffer::SendBuffer;
use playpath_transport::mptcp::level::{DataLevel, Event, LevelStats, PathStats, Watch};
use playpath_transport::mptcp::scheduler::{Scheduler, SubflowView};
use playpath_units::{Duration, Time};
use wire::Wire;

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
    /// Tell every decision, not switches and reinjections only.
    pub logs_records: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct PathState {
    is_up: bool,
    /// Its timer expired and it has made no progress since.
    is_stalled: bool,
    /// Payload that arrived over it, copies included.
    received_bytes: u64,
}

impl PathState {
    fn is_sound(self) -> bool {
        self.is_up && !self.is_stalled
    }
}

/// See the module.
pub struct Core {
    settings: Settings,
    level: DataLevel,
    kept: SendBuffer,
    incoming: Incoming,
    paths: Vec<PathState>,
    /// Path of the last data that arrived.
    arrived_on: Option<usize>,
    ack_at: Option<Time>,
    acked_next: u64,
    wants_answer: bool,
    /// Longest of the usable paths.
    rto: Duration,
}

impl Core {
    /// A session over at most [`MOST_PATHS`](crate::record::MOST_PATHS), all of them down.
    pub fn new(settings: Settings, scheduler: Box<dyn Scheduler>, paths: usize) -> Core {
        let watch = if settings.logs_records { Watch::Chunks } else { Watch::Reinjections };
        let mut level = DataLevel::new(scheduler, paths, watch);
        level.widen(INITIAL_WINDOW);
        Core {
            settings,
            level,
            kept: SendBuffer::new(settings.send_buffer),
            incoming: Incoming::new(settings.receive_buffer, INITIAL_WINDOW),
            paths: vec![PathState::default(); paths],
            arrived_on: None,
            ack_at: Some(Time::ZERO),
            acked_next: 0,
            wants_answer: false,
            rto: Duration::from_secs(1),
        }
    }

    /// Memory is short: keep no more than `bytes` in each direction from now on, and [`INITIAL_WINDOW`] at least. What the peer was
    /// told that it may send still fits.
    pub fn set_share(&mut self, bytes: u64) {
        let share = bytes.max(INITIAL_WINDOW);
        self.kept.set_most(self.settings.send_buffer.min(share));
        self.incoming.set_buffer(self.settings.receive_buffer.min(share));
    }

    /// Bytes that [`write`](Self::write) takes now.
    pub fn write_space(&self) -> usize {
        if self.level.is_closing() { 0 } else { self.kept.space() }
    }
    /// Bytes from the application.
    pub fn write(&mut self, bytes: &[u8]) {
        self.kept.write(bytes);
        self.level.write(bytes.len() as u64);
    }
    /// The application writes no more.
    pub fn close(&mut self) {
        self.level.close();
    }
    /// Bytes for the application: the next of them, not always all.
    pub fn readable(&self) -> &[u8] {
        self.incoming.readable()
    }
    /// The application took so many.
    pub fn consume(&mut self, bytes: usize) {
        self.incoming.consume(bytes);
        let untold = self.incoming.edge() - self.incoming.advertised();
        if self.incoming.is_much(untold) {
            self.ack_at = Some(Time::ZERO);
        }
    }

    /// Make room for paths up to `path`, which is less than [`MOST_PATHS`](crate::record::MOST_PATHS).
    pub fn grow_to(&mut self, path: usize) {
        self.paths.resize(self.paths.len().max(path + 1), PathState::default());
        self.level.grow_to(self.paths.len());
    }

    /// A connection over `path` is there.
    pub fn handle_path_up(&mut self, path: usize) {
        let state = &mut self.paths[path];
        (state.is_up, state.is_stalled) = (true, false);
        self.ack_at = Some(Time::ZERO);
    }

    /// The connection over `path` is gone: what only it carried is queued for others.
    pub fn handle_path_down(&mut self, path: usize) {
        self.fail(path);
        self.level.forget_path(path);
        let state = &mut self.paths[path];
        (state.is_up, state.is_stalled) = (false, false);
        self.ack_at = Some(Time::ZERO); // the last one may have gone with it
    }

    /// The connection over `path` makes no progress, or makes it again.
    pub fn handle_path_stalled(&mut self, path: usize, is_stalled: bool) {
        if is_stalled && !self.paths[path].is_stalled {
            self.fail(path);
            self.ack_at = Some(Time::ZERO);
        }
        self.paths[path].is_stalled = is_stalled;
    }

    /// A record arrived on `path` (data, ack or fin). Error: the peer broke a rule.
    pub fn handle_record(&mut self, now: Time, path: usize, record: &Record<'_>) -> Result<(), Broken> {
        match *record {
            Record::Data { offset, payload } => {
                self.paths[path].received_bytes += payload.len() as u64;
                self.arrived_on = Some(path);
                self.incoming.insert(now, offset, payload)?;
                let is_much = self.incoming.is_much(self.incoming.arrivals.next() - self.acked_next);
                self.request_ack(if is_much { Time::ZERO } else { now + ACK_DELAY });
            }
            Record::Fin { end } => {
                self.arrived_on = Some(path);
                self.incoming.insert_fin(now, end)?;
                self.request_ack(Time::ZERO);
            }
            Record::Ack { next, edge, wants_answer } => {
                if self.level.handle_ack(next, edge).ok_or(Broken::NeverSent(next))? {
                    self.kept.forget_before(self.level.bytes_acked());
                    self.level.rearm(now, self.rto);
                }
                if wants_answer {
                    self.request_ack(Time::ZERO);
                }
            }
            Record::Hello(_) | Record::Accept | Record::Reset { .. } => return Err(Broken::OutOfPlace(record.kind())),
        }
        Ok(())
    }

    /// What to say last on every path when both streams are through: the peer may not have heard it on the others.
    pub fn last_words(&self) -> Record<'static> {
        Record::Ack { next: self.incoming.arrivals.next(), edge: self.incoming.edge(), wants_answer: false }
    }

    /// Ask the peer for a sign of life.
    pub fn ask_for_answer(&mut self) {
        self.wants_answer = true;
        self.ack_at = Some(Time::ZERO);
    }

    /// When [`handle_timeout`](Self::handle_timeout), or a poll for an acknowledgement, is due; [`Time::MAX`]: never.
    pub fn poll_timeout(&self) -> Time {
        self.ack_at.unwrap_or(Time::MAX).min(self.level.timer())
    }

    /// The time of [`poll_timeout`](Self::poll_timeout) has come. Too early is harmless.
    pub fn handle_timeout(&mut self, now: Time) {
        if now >= self.level.timer() && self.level.handle_timeout(now, self.rto) {
            self.ask_for_answer(); // for the window
        }
    }

    /// The next record to send, appended to `out`; returns its path. `views`: of all paths, by index.
    pub fn poll_transmit(&mut self, now: Time, views: &mut [SubflowView], out: &mut Vec<u8>) -> Option<usize> {
        debug_assert!(views.iter().enumerate().all(|(index, view)| view.path == index));
        for (view, path) in views.iter_mut().zip(&self.paths) {
            view.is_usable &= path.is_sound();
        }
        let rto = |view: &SubflowView| (view.srtt + view.rttvar * 4).max(MIN_RTO);
        self.rto = views.iter().filter(|view| view.is_usable).map(rto).max().unwrap_or(self.rto);
        if let Some(path) = self.acknowledge(now, views, out) {
            return Some(path);
        }
        let mut wire = Wire { views, kept: &self.kept, rto: self.rto, out };
        if let Some(path) = self.level.schedule(now, &mut wire) {
            return Some(path);
        }
        let path = self.level.fin_path(&mut wire)??;
        wire.end(self.level.written());
        self.level.note_fin(now, path, &wire);
        Some(path)
    }

    /// What happened since the last call, oldest first.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.level.poll_event()
    }

    /// There is data that could leave if a path had room.
    pub fn has_pending(&mut self) -> bool {
        self.level.has_pending() || self.level.is_fin_due()
    }
    /// Sent and not acknowledged by the peer's relay.
    pub fn has_outstanding(&self) -> bool {
        self.level.has_outstanding() || (self.level.is_closing() && !self.level.is_fin_acked())
    }
    /// Everything written has been acknowledged, the end included.
    pub fn is_sent(&self) -> bool {
        self.level.is_fin_acked()
    }
    /// The peer's stream has ended, and the application has all of it.
    pub fn is_received(&self) -> bool {
        self.incoming.is_done()
    }
    /// Nothing is left to tell the peer.
    pub fn is_all_acknowledged(&self) -> bool {
        self.acked_next == self.incoming.arrivals.next()
    }
    /// Bytes that the application took.
    pub fn bytes_delivered(&self) -> u64 {
        self.incoming.taken()
    }
    /// Bytes that the peer's relay acknowledged.
    pub fn bytes_acked(&self) -> u64 {
        self.level.bytes_acked()
    }
    /// Most bytes held behind a gap.
    pub fn max_out_of_order_bytes(&self) -> u64 {
        self.incoming.arrivals.most_out_of_order()
    }
    /// Time that data waited behind a gap.
    pub fn hol_blocking_time(&self, now: Time) -> Duration {
        self.incoming.arrivals.blocked_time(now)
    }
    /// Counters of the session.
    pub fn stats(&self) -> &LevelStats {
        self.level.stats()
    }
    /// Counters of a path.
    pub fn path_stats(&self, path: usize) -> &PathStats {
        self.level.path_stats(path)
    }
    /// Payload that arrived over a path, copies included.
    pub fn received_bytes(&self, path: usize) -> u64 {
        self.paths[path].received_bytes
    }
    /// The path's timer expired and it has made no progress since.
    pub fn is_path_stalled(&self, path: usize) -> bool {
        self.paths[path].is_stalled
    }
    /// The scheduler.
    pub fn scheduler(&self) -> &dyn Scheduler {
        self.level.scheduler()
    }

    /// What `path` carries goes to others; the failure of a path that was sound counts.
    fn fail(&mut self, path: usize) {
        if self.paths[path].is_sound() {
            self.level.note_failure(path);
        }
        let sound = |(index, path): (usize, &PathState)| u32::from(path.is_sound()) << index;
        let usable = self.paths.iter().enumerate().map(sound).sum();
        self.level.reinject_held(path, usable, |_| true);
    }

    fn acknowledge(&mut self, now: Time, views: &[SubflowView], out: &mut Vec<u8>) -> Option<usize> {
        self.ack_at.filter(|&at| at <= now)?;
        let usable = || views.iter().filter(|view| view.is_usable);
        let arrived = usable().find(|view| Some(view.path) == self.arrived_on);
        let path = arrived.or_else(|| usable().min_by_key(|view| view.srtt))?.path;
        let (next, edge) = (self.incoming.arrivals.next(), self.incoming.edge());
        Record::Ack { next, edge, wants_answer: self.wants_answer }.encode(out);
        self.incoming.note_advertised();
        self.acked_next = next;
        self.wants_answer = false;
        self.ack_at = None;
        Some(path)
    }

    fn request_ack(&mut self, at: Time) {
        self.ack_at = Some(self.ack_at.map_or(at, |before| before.min(at)));
    }
}
